"""A small program for each kind of kernel, as text: what is fused, its loops, and the plan of memory.

`STELE_RECORD=1 pytest tests/test_golden.py` writes `tests/golden/` anew; what a change does is read in its diff.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from stele.backend.llvm.library import Gemm
from stele.backend.parts import cut
from stele.ir.graph import Graph, Value, parameter
from stele.ir.report import Report
from stele.ir.sizes import Dim, size
from stele.ir.text import show
from stele.ir.types import DType, Type, float32, float64, int64
from stele.kernel.fuse import fuse
from stele.kernel.kinds import Kernel
from stele.ops.branch import branch as choose
from stele.ops.contraction import MatMul
from stele.ops.control import inside, scan
from stele.ops.convolution import conv2d
from stele.ops.cumulative import cumulative_sum
from stele.ops.elementwise.unary import relu, tanh
from stele.ops.functional import softmax
from stele.ops.gather import ScatterAdd
from stele.ops.joining import concatenate
from stele.ops.lapack import Solve
from stele.ops.linear import Sum, Transfer
from stele.ops.sorting import sort
from stele.pipeline import LIBRARY, Options, Request, optimise, write
from stele.transform.autodiff import gradients
from tests.replay.digest import plan
from tests.replay.machines import MACHINES

FOLDER = Path(__file__).resolve().parent / "golden"


def x(name: str, *shape: Dim, dtype: DType = float32) -> Value:
    return parameter(name, Type(dtype, shape))


def product() -> tuple[list[Value], list[Value]]:
    """What follows a product is in its store."""
    a, w, b = x("a", 8, 4), x("w", 4, 16), x("b", 16)
    return [a, w, b], [relu(MatMul()(a, w) + b)]


def convolution() -> tuple[list[Value], list[Value]]:
    image, w = x("image", 2, 4, 9, 9), x("w", 8, 4, 3, 3)
    return [image, w], [conv2d(relu(image), w, padding=1)]


def rows() -> tuple[list[Value], list[Value]]:
    """Two sums over a row and what is made of them: one kernel, for any number of rows."""
    v = x("v", size("n"), 40)
    return [v], [softmax(v * 2, axis=1)]


def column() -> tuple[list[Value], list[Value]]:
    v = x("v", 300, 7)
    return [v], [Sum((0,))(v), concatenate([v, v * 2], axis=0)]


def scatter() -> tuple[list[Value], list[Value]]:
    rows, at = x("rows", 5, 3), x("at", 5, dtype=int64)
    return [rows, at], [ScatterAdd(0, 9)(rows, at)]


def library() -> tuple[list[Value], list[Value]]:
    a, w = x("a", 8, 4, dtype=float64), x("w", 4, 16, dtype=float64)
    return [a, w], [tanh(Gemm(False, False)(a, w))]


def recurrence() -> tuple[list[Value], list[Value]]:
    """A loop and its gradient: forward, backward, and what is left of the steps."""
    xs, w = x("xs", 6, 2, 4), x("w", 4, 4)
    start = Sum((0,))(xs)
    (last,), _ = scan(lambda h, row: ((tanh(row[0] + MatMul()(h[0], w)),), ()), [start], [xs])
    (dw,) = gradients([last], [start], [w])
    assert dw is not None
    return [xs, w], [last, dw]


def order() -> tuple[list[Value], list[Value]]:
    """Running totals of what is put in order."""
    a = x("a", 6, 5)
    return [a], [cumulative_sum(sort(a * 2), axis=1)]


def matrices() -> tuple[list[Value], list[Value]]:
    """Solutions of small systems, one in each lane, and what is made of them."""
    a, b = x("a", 20, 3, 3), x("b", 20, 3, 2)
    return [a, b], [relu(Solve()(a * 2, b))]


def host() -> tuple[list[Value], list[Value]]:
    """A matrix too large for a kernel: NumPy is called between two nests."""
    a, b = x("a", 90, 90), x("b", 90, 2)
    return [a, b], [relu(Solve()(a * 2, b)) + 1]


def branch() -> tuple[list[Value], list[Value]]:
    """One of two graphs, as a test says."""
    a = x("a", 6, 5)
    (u,), (v,) = (inside([a.type], Value) for _ in range(2))
    return [a], list(choose(Sum((0, 1))(a) > 0, [((u,), (tanh(u),)), ((v,), (v * Sum((0,))(v),))], [a], set()))


PROGRAMS: dict[str, Callable[[], tuple[list[Value], list[Value]]]] = {
    f.__name__: f for f in (product, convolution, rows, column, scatter, library, recurrence, order, matrices, host,
                            branch)}


def graph_of(name: str) -> Graph:
    parameters, results = PROGRAMS[name]()
    return Graph(tuple(parameters), tuple(results))


def text_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the compiler shows of a program, without the lines of this file, and the plan of its memory."""
    options = Options(without=frozenset({LIBRARY}))
    laid, _ = write(Request(graph_of(name), {}, (), options, MACHINES["x86-64-v3"]), lambda module: None, Report())
    shown = re.sub(r"  # .*", "", capsys.readouterr().err)
    return f"{shown}\n== memory\n{plan(laid)}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_what_it_was(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("STELE_SHOW", "fuse,loops")
    text, path = text_of(name, capsys), FOLDER / f"{name}.txt"
    if "STELE_RECORD" in os.environ:
        path.write_text(text)
    assert text == path.read_text()


def test_every_kind_of_kernel_has_a_text() -> None:
    kinds = {type(kernel) for name in PROGRAMS for kernel in fuse(optimise(graph_of(name), Options())).kernels}
    assert kinds == set(get_args(Kernel))
    assert {path.stem for path in FOLDER.iterdir()} == {*PROGRAMS, "devices"}


def test_what_each_device_computes_is_what_it_was() -> None:
    """A graph of two devices: its parts in their order, what each takes and gives, and its graph."""
    a, w = x("a", 4, 3), x("w", 3, 2)
    away = Transfer("cpu:1")
    there = tanh(MatMul()(away(a), away(w)))
    graph = Graph((a, w), (Sum((0,))(a) + Sum((0, 1))(Transfer("cpu")(relu(there))), there, a * 2))
    parts = [f"== {part.device}: {len(part.inputs)} in, {len(part.outputs)} out\n{show(part.graph)}"
             for part in cut(graph)]
    text, path = re.sub(r"  # .*", "", "\n".join(parts)) + "\n", FOLDER / "devices.txt"
    if "STELE_RECORD" in os.environ:
        path.write_text(text)
    assert text == path.read_text()
