"""Every example in a docstring runs, the README's too, and everything public says what it returns."""
from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import json
import pathlib
import pkgutil
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, metrics, nn, optim, train
from stele.arrays.spellings import METHODS
from stele.interop import caffe, flax, huggingface, keras, onnx, torch
from stele.ir.types import DType

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(m.name for m in pkgutil.walk_packages(st.__path__, "stele.")
                 if m.name.startswith("stele.interop.torch.") or not m.name.startswith("stele.interop."))
"""All but those that need the libraries that they are about: what is about PyTorch loads it late."""

ROOMS = (nn, nn.init, nn.functional, nn.utils.rnn, optim, metrics, data, data.transforms, st.io, train, st.linalg,
         st.fft, st.random, st.debug, st.errors, huggingface, onnx, keras, flax, caffe)

# What examples may name beside what they make; parameters whose name says all; classes that st makes in another way.
ROOM: dict[str, Any] = {"st": st, "np": np, "nn": nn, "F": nn.functional, "optim": optim, "metrics": metrics,
                        "data": data, "train": train, "io": io, "json": json, "pathlib": pathlib}
PLAIN = {"x", "z", "axis", "keepdims", "dtype", "input", "inplace"}
MADE = (st.Tensor, *(getattr(st.errors, name) for name in st.errors.__all__))
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


def public() -> Iterator[tuple[str, Any]]:
    """What users import, with its name."""
    for module in (st, *ROOMS):
        for name in module.__all__:
            x = getattr(module, name)
            if callable(x) and not isinstance(x, DType):
                yield f"{module.__name__}.{name}", x


PUBLIC = dict(public())


class Close(doctest.OutputChecker):
    """Floats may differ in their last digits and in the width they print with: CPUs without fma round otherwise."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        texts = ["".join(text.split()) for text in (want, got)]
        same, alike = (NUMBER.sub("#", text) for text in texts)
        return super().check_output(want, got, optionflags) or (same == alike and np.allclose(
            *(np.array(NUMBER.findall(text), np.float64) for text in texts), rtol=3e-6, atol=0))


def run(test: doctest.DocTest) -> None:
    """Runs the examples of a docstring."""
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(Close(), verbose=False).run(test, out=said.append)
    assert not failed, "".join(said)


def examples(name: str, x: Any) -> doctest.DocTest:
    """The examples of a public name, which see what its readers see."""
    return doctest.DocTestParser().get_doctest(x.__doc__ or "", ROOM | {"__name__": "example"}, name, None, None)


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_of_public_names_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    run(examples(name, PUBLIC[name]))


@pytest.mark.parametrize("name", MODULES)
def test_other_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = {x.__doc__ for x in PUBLIC.values()}
    for test in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs=ROOM):
        if test.docstring not in done:
            run(test)


@pytest.mark.parametrize("name", torch.__all__)
def test_what_is_about_pytorch_is_shown(name: str) -> None:
    """Where PyTorch is not installed, too: the contract of these names is looked at beside it."""
    assert any(name.lower() in named(example.source) for example in examples(name, getattr(torch, name)).examples)


def is_sentence(text: str | None) -> bool:
    """Whether the first line of a docstring is one: four words or more, and a period."""
    first = (text or "").partition("\n")[0]
    return first.endswith(".") and len(first.split()) >= 4


def named(source: str) -> set[str]:
    """What an example's code names, in lower case; words in comments and strings are none of it."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [n.attr for n in nodes if isinstance(n, ast.Attribute)] + [n.id for n in nodes if isinstance(n, ast.Name)]
    return {n.lower() for n in names}


def lacks(name: str, x: Any) -> Iterator[str]:
    """What the docstring of a public name should say and does not."""
    text, own = x.__doc__ or "", name.rpartition(".")[2]
    if not is_sentence(text):
        yield f"{name} does not begin with a sentence"
    shown = examples(name, x).examples
    if not any(own.lower() in named(example.source) for example in shown):
        yield f"{name} has no example that names it"
    if not any(example.want for example in shown) or any(example.options for example in shown):
        yield f"{name} has no example whose result is compared"
    for parameter in inspect.signature(x).parameters.keys() - PLAIN if x not in MADE else ():
        if not re.search(rf"\b{parameter}\b", text):
            yield f"{name} does not say what {parameter} is"
    for method, f in inspect.getmembers_static(x) if inspect.isclass(x) else ():
        said = not (callable(f) or isinstance(f, property)) or is_sentence(inspect.getdoc(getattr(x, method)))
        if not said and not method.startswith("_") and method not in (*METHODS, *dir(Exception)):   # not ours
            yield f"{name}.{method} does not begin with a sentence"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_contract(name: str) -> None:
    assert not list(lacks(name, PUBLIC[name]))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_a_room_shows_its_public_names_and_no_others(room: ModuleType) -> None:
    assert dir(room) == sorted(room.__all__) and dir(room) == [n for n in dir(room) if hasattr(room, n)]


def test_a_contract_that_says_nothing_is_found() -> None:
    def add(x: Any, w: Any) -> Any:
        """x + w."""

    class Layer:
        """A layer of two axes that returns x.

        >>> st.zeros((2, 2)).shape
        (2, 3)
        """

        def forward(self, x: Any) -> Any: ...

    assert list(lacks("st.add", add)) == ["st.add does not begin with a sentence",
                                          "st.add has no example that names it",
                                          "st.add has no example whose result is compared"]
    assert list(lacks("nn.Layer", Layer)) == ["nn.Layer has no example that names it",
                                              "nn.Layer.forward does not begin with a sentence"]
    for told in ("st.zeros(2)   # add", "'add'", "st.add(1, 2)", "st.add(1, 2)  # doctest: +SKIP\n3"):
        add.__doc__ = f"The sum of x and w.\n\n>>> {told}\n"
        assert list(lacks("st.add", add))
    add.__doc__ = "The sum of x and another number."
    assert "st.add does not say what w is" in lacks("st.add", add)
    with pytest.raises(AssertionError, match=r"(?s)Expected:\s+\(2, 3\)\s+Got:\s+\(2, 2\)"):
        run(examples("nn.Layer", Layer))
    assert Close().check_output("tensor([1., 0.5000001])\n", "tensor([1. , 0.5])\n", 0)
    assert not Close().check_output("tensor([1., 0.5])\n", "tensor([1., 0.51])\n", 0)


def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len(example.splitlines()) <= 25
    space: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example, "README.md", "exec"), space)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert losses[-1] < 0.05 < losses[0]


def test_the_tour_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "tour.py"), run_name="__main__")
    assert "one native call" in capsys.readouterr().out


def on_the_map(text: str) -> set[str]:
    """The files that the map's picture names, as paths: a room stands before its files, or above and further left."""
    found: set[str] = set()
    rooms: list[tuple[int, list[str]]] = [(-1, ["stele"])]
    for line in text.split("```\n")[1].splitlines()[1:]:
        words = line[2:].split()
        column = len(line) - len(line[2:].lstrip())
        named = [w[:-1] for w in words[:next((k for k, w in enumerate(words) if not w.endswith("/")), len(words))]]
        while rooms[-1][0] >= column:
            rooms.pop()
        if named:
            rooms.append((column, [f"{base}/{name}" for base in rooms[-1][1] for name in named]))
        found |= {f"{base}/{name}" for base in rooms[-1][1] for name in re.findall(r"(?<![/\w])\w+\.py\b", line)}
    return found


def test_the_map_names_every_file() -> None:
    named = on_the_map((ROOT / "docs" / "map.md").read_text(encoding="utf-8"))
    there = {f.relative_to(ROOT).as_posix() for f in (ROOT / "stele").rglob("*.py")}
    rooms = {f for f in there if f.endswith("/__init__.py")} - named       # they go without saying
    programs = {f for f in named if f.startswith("stele/rosetta/") and f.count("/") == 3}   # not in every framework
    assert there - rooms == named - (programs - there), f"not on docs/map.md: {sorted(there - rooms - named)}; " \
        f"not there: {sorted(named - there - programs)}"


def test_a_file_of_another_room_is_not_on_the_map() -> None:
    text = "```\nstele/\n  a.py\n1 ir/        graph.py\n    types.py: by tools/make.py\n" \
        "      more.py\n    deep/ x.py\n  nn/ y.py\n```\n"
    assert on_the_map(text) == {"stele/a.py", "stele/ir/graph.py", "stele/ir/types.py", "stele/ir/more.py",
                                "stele/ir/deep/x.py", "stele/nn/y.py"}
