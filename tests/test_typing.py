"""What type checkers, editors and `help` are told of the public interface is what it does."""
from __future__ import annotations

import inspect
import json
import pickle
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import make_stubs
import pytest

import stele as st
from stele.arrays.spoken import is_lifted
from stele.errors import ArgumentError

TESTS = Path(__file__).parent
PROGRAM, MISTAKES = TESTS / "typed_program.py", TESTS / "typed_mistakes.py"
X = st.ones(2, 3)


def pyright() -> list[str] | None:
    """The command of pyright beside this Python or on the path, None where there is none."""
    beside = Path(sys.executable).with_name("pyright")
    found = str(beside) if beside.exists() else shutil.which("pyright")
    return None if found is None else [found, "--pythonpath", sys.executable]


def lifted() -> list[tuple[str, Any]]:
    """The functions and methods that are made of functions of values, by name."""
    rooms: list[tuple[str, Any]] = [(f"st.{name}", getattr(st, name)) for name in st.__all__]
    rooms += [(f"x.{name}", f.fget if isinstance(f, property) else f) for name, f in vars(st.Tensor).items()]
    return [(name, f) for name, f in rooms if is_lifted(f)]


@pytest.mark.parametrize("name", make_stubs.MODULES)
def test_stubs_are_current(name: str) -> None:
    file = make_stubs.file(name, ".pyi")
    assert file.read_text() == make_stubs.stub(name), f"{file.name} is old: run python tools/make_stubs.py"


def test_stubs_say_every_name_that_users_see() -> None:
    rooms = "functions", "families", "everyday", "tensor"
    stubs = {name: make_stubs.file(f"arrays.{name}", ".pyi").read_text() for name in rooms}
    for name, f in lifted():
        room, _, own = name.partition(".")
        file = "tensor" if room != "st" else f.__module__.rpartition(".")[2]
        assert f"def {own}(" in stubs[file], name
        assert f.__name__ == own and f.__module__ == f"stele.arrays.{file}", name


def test_signatures_speak_of_tensors() -> None:
    said = {name: str(inspect.signature(f)) for name, f in lifted()}
    assert len(said) > 180
    assert said["st.relu"] == "(x: TensorLike) -> Tensor"
    assert said["st.ptp"] == \
        "(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor"
    assert said["st.mean"].replace("x: TensorLike", "self") == said["x.mean"]
    assert said["st.median"].endswith("return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]")
    assert said["x.__radd__"] == said["x.__iadd__"] == said["x.__eq__"] == "(self, z: TensorLike) -> Tensor"
    assert said["x.T"] == "(self) -> Tensor"
    assert str(inspect.signature(X.reshape)) == \
        "(shape: int | Sequence[int], *more: int | Sequence[int], copy: bool | None = None) -> Tensor"
    inside = re.compile(r"\b(Value|Axes|DType|Key|Shape|Any|Operand|Dim|Pair|Sizes)\b")
    assert not {f"{name}{signature}" for name, signature in said.items() if inside.search(signature)}


def test_a_signature_holds_positions_and_names() -> None:
    assert st.sum(X, 0, True).shape == st.sum(x=X, axis=0, keepdims=True).shape == (1, 3)
    assert st.relu(x=X).shape == st.add(x=X, z=1).shape == st.where(condition=X > 0, x=X, z=0).shape == (2, 3)


@pytest.mark.parametrize("call, message", [
    (lambda: st.sum(), r"sum needs x at .* It is sum\(x: TensorLike, axis"), (lambda: st.sum(axis=0), "sum needs x"),
    (lambda: st.add(X), "add needs z"), (lambda: st.roll(X, axis=0), "roll needs shift"),
    (lambda: st.relu(X, X), "relu takes at most 1 argument, each once; got 2")])
def test_an_argument_too_few_or_too_many_is_answered_with_the_signature(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_functions_travel_by_name() -> None:
    assert pickle.loads(pickle.dumps([st.relu, st.abs, st.sum])) == [st.relu, st.abs, st.sum]


def test_the_typed_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert capsys.readouterr().out.endswith("(2, 1, 5) True\n")


def test_a_strict_type_checker_finds_the_mistakes_and_nothing_else(tmp_path: Path) -> None:
    if (command := pyright()) is None:
        pytest.skip("pyright is not installed: pip install pyright")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict",
                                                             "extraPaths": [str(TESTS.parent)]}))
    for program in (PROGRAM, MISTAKES):
        shutil.copy(program, tmp_path)
    ran = subprocess.run([*command, "--outputjson", "-p", str(tmp_path)], capture_output=True, text=True, timeout=600)
    if not ran.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {ran.stderr.strip()[-200:]}")
    found = {(Path(d["file"]).name, d["range"]["start"]["line"] + 1): d["message"]
             for d in json.loads(ran.stdout)["generalDiagnostics"] if d["severity"] == "error"}
    lines = MISTAKES.read_text().splitlines()
    planted = {(MISTAKES.name, k) for k, line in enumerate(lines, 1) if "# mistake:" in line}
    assert len(planted) >= 12
    assert not {at: what for at, what in found.items() if at not in planted}, "found where there is no mistake"
    assert not planted - found.keys(), "mistakes that were not found"
