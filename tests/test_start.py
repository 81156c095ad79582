"""What starts with `import stele` and with the command: no module that only some programs need."""
from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from typing import ClassVar

import pytest
from formats import ROOT

import stele as st
from stele.cli import COMMANDS
from stele.ir.record import Record
from stele.ops import ALL
from stele.ops.elementwise.arithmetic import Add

OTHERS = {"argparse", "hashlib", "importlib.abc", "json", "llvmlite", "ml_dtypes", "pathlib", "rich", "safetensors",
          "tempfile", "urllib"}
LATER = ("stele.backend.cpu", "stele.backend.llvm", "stele.cli", "stele.commands", "stele.data", "stele.inspect",
         "stele.kernel", "stele.nn", "stele.optim", "stele.rosetta", "stele.saving", "stele.train")
AT_ONCE = {"stele.transform", "stele.transform.autodiff", "stele.transform.retype"}    # gradients, sizes


def loaded(code: str) -> set[str]:
    """The modules of a fresh process that ran `code`."""
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys\nprint('loaded', *sys.modules)"], cwd=ROOT,
                          capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
    return set(done.stdout.partition("loaded ")[2].split())


def test_import_loads_what_every_program_needs() -> None:
    modules = loaded("import numpy, sys; before = set(sys.modules); import stele; "
                     "[sys.modules.pop(name) for name in before if name != 'sys']")
    assert "stele.arrays.tensor" in modules
    assert not modules & OTHERS
    assert not [name for name in modules if name.startswith(LATER)]
    assert {name for name in modules if name.startswith("stele.transform")} <= AT_ONCE


@pytest.mark.parametrize("words", [["--version"], [], ["--help"], ["train", "--help"]])
def test_the_command_loads_no_command_that_is_not_run(words: list[str]) -> None:
    modules = loaded(f"import sys; sys.argv[1:] = {words}\nfrom stele.cli import main\n"
                     "try: main()\nexcept SystemExit as end: assert not end.code")
    assert {"stele.cli", "stele.commands.arguments"} <= modules
    assert not modules & (OTHERS - {"argparse", "pathlib", "urllib"})   # paths are what the command takes
    assert not {name for name in modules if name.startswith(("stele.inspect", "stele.nn", "stele.data"))}
    assert {name for name in modules if name.startswith(("stele.commands.", "stele.train.", "stele.rosetta."))} == {
        f"stele.commands.{name}" for name in ("arguments", "options", "parser", "words")}


def test_a_command_is_bound_to_a_function_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    for answer in COMMANDS.values():
        cells = dict(zip(answer.__code__.co_freevars, (cell.cell_contents for cell in answer.__closure__ or ())))
        asked.append((cells["module"], cells["name"]))
    assert len(asked) == len(COMMANDS)
    for module, name in asked:
        assert callable(getattr(__import__(module, fromlist=[name]), name))


def test_functions_that_load_later_are_named_like_the_others() -> None:
    assert {"lint", "load", "save"} <= set(dir(st))
    assert st.lint.__module__ == "stele.inspect.lint.function" and st.save is st.save
    assert st.load.__module__ == st.save.__module__ == "stele.saving"


@pytest.mark.parametrize("name", sorted(ALL))
def test_an_op_is_frozen_and_decorated_only_for_fields_of_its_own(name: str) -> None:
    op = ALL[name]
    own = [field.name for field in fields(op) if field.name in vars(op).get("__annotations__", {})]
    assert ("__dataclass_params__" in vars(op)) == bool(own), f"{name} has the fields {own}"
    one = object.__new__(op)
    with pytest.raises(FrozenInstanceError):
        one.anything = 1    # type: ignore[attr-defined]


def test_ops_without_fields_are_equal_by_class() -> None:
    neg, add = ALL["Neg"], ALL["Add"]
    assert neg() == neg() and neg() != add() and hash(neg()) == hash(neg()) and repr(add()) == "Add()" == repr(Add())


def test_records_are_called_as_functions_are() -> None:
    class Point(Record):
        x: int
        y: int = 0
        origin: ClassVar[str] = "here"

    class Named(Point):
        name: str = "p"

    assert Point(1) == Point(x=1, y=0) and Point(1) != Point(1, 2) and hash(Point(1)) == hash(Point(y=0, x=1))
    assert repr(Named(1, name="q")).endswith("Named(x=1, y=0, name='q')") and Named(1) != Point(1)
    assert replace(Named(1), y=5) == Named(1, 5) and [f.name for f in fields(Named)] == ["x", "y", "name"]
    match Named(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    for args, named in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 2}), ((1,), {"x": 2})):
        with pytest.raises(TypeError, match="Point takes x, y"):
            Point(*args, **named)
    with pytest.raises(FrozenInstanceError):
        del Point(1).x  # type: ignore[misc]


@pytest.mark.parametrize("name", ["nn", "optim", "data", "train", "metrics", "io", "linalg", "fft", "saving", "files",
                                  "interop.onnx", "commands", "debug", "staged"])
def test_every_room_may_come_first(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import stele.{name}"], cwd=ROOT, check=True)
