"""Derivatives of every op in native code: at five shapes, in both modes, of second order, and at many places."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import SMOOTH, Case, filled, like

from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.ir.graph import Array, Graph, Value, closed, parameter, substitute
from stele.ir.types import Type, dtype, float64
from stele.ops import ALL
from stele.ops.elementwise.base import Elementwise
from stele.pipeline import Options, build
from stele.transform.autodiff import jvp, vjp
from stele.transform.batch import batch

SHAPES = ((), (0,), (3,), (2, 3), (2, 0, 3))
STEP = 1e-6
OF_ALL = ("AllSum", "AllMax", "AllGather")
PLACES = 2
LONG = ("Zeta",)
"""Ops whose derivatives are so long that LLVM takes a minute for all shapes: one has to do."""


class Law(NamedTuple):
    """A function with numbers, and directions for its float operands and cotangents of its float results."""

    graph: Graph
    x: list[Array]
    dx: list[Array]
    g: list[Array]
    dg: list[Array]


def law(graph: Graph, x: Sequence[Array], seed: int) -> Law:
    y = run(graph, [*x])
    return Law(graph, [*x], like(x, seed), like(y, seed + 1), like(y, seed + 2))


def shaped(cls: type[Any]) -> Iterator[Case]:
    """An op on operands of its examples, and an elementwise one on all shapes."""
    rng = np.random.default_rng(3)
    examples = [*cls.examples()]
    yield from (Case(op, tuple(filled(a, cls, rng) for a in operands)) for op, operands in examples)
    op, operands = examples[0]
    for shape in SHAPES if issubclass(cls, Elementwise) else ():
        yield Case(op, tuple(filled(a.with_shape(shape), cls, rng) if isinstance(a, Type) else np.resize(a, shape)
                             for a in operands))


def laws_of(name: str) -> tuple[list[Law], list[tuple[Graph, list[Array]]]]:
    """What holds for an op: laws of one call, and functions at several places."""
    cases = [case for case in shaped(ALL[name]) if case.is_differentiable()]
    found = [law(*case.wide(), seed=k) for k, case in enumerate(cases)]
    several: list[tuple[Graph, list[Array]]] = []
    if cases and name not in OF_ALL:
        graph, x = cases[0].wide()
        for n in () if issubclass(ALL[name], Elementwise) else (0, 1):
            many = batch(graph, [True] * len(x), n)
            found.append(law(many, [np.repeat(a[None], n, 0) for a in x], 10 + n))
        several.append((graph, [np.stack([a * (1 + 0.1 * k) if a.dtype == np.float64 else a for k in range(PLACES)])
                                for a in x]))
    return found[:1] if name in LONG else found, several


class Program:
    """Results of several graphs over inputs with numbers, computed by one native program."""

    def __init__(self) -> None:
        self.parameters: list[Value] = []
        self.numbers: list[Array] = []
        self.results: list[Value] = []

    def inputs(self, numbers: Sequence[Array]) -> list[Value]:
        made = [parameter(f"p{len(self.parameters) + k}", Type(dtype(a.dtype), a.shape)) for k, a in enumerate(numbers)]
        self.parameters += made
        self.numbers += numbers
        return made

    def outputs(self, results: Sequence[Value]) -> slice:
        self.results += results
        return slice(len(self.results) - len(results), len(self.results))

    def run(self, *numbers: Sequence[Array]) -> list[list[Array]]:
        """What comes out for each of several choices of the numbers, in native code, which the law has to confirm."""
        graph = closed(self.parameters, self.results)
        program = build(graph, options=Options(backend="cpu"))
        made = [[y.array for y in program.run([Buffer.of(np.ascontiguousarray(a)) for a in choice], {})]
                for choice in numbers]
        for a, b in zip(made[0], run(graph, [*numbers[0]]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)
        return made


def inner(a: Sequence[Array], b: Sequence[Array]) -> float:
    return float(sum((x * y).sum() for x, y in zip(a, b, strict=True)))


def moving(x: Sequence[Array]) -> list[int]:
    return [k for k, a in enumerate(x) if a.dtype == np.float64]


def moved(x: Sequence[Array], dx: Sequence[Array], step: float) -> list[Array]:
    found = [*x]
    for k, t in zip(moving(x), dx, strict=True):
        found[k] = found[k] + step * t
    return found


DIFFERENTIABLE = [*dict.fromkeys(p.values[0].op.name for p in SMOOTH)]


def derived(program: Program, second: bool, graph: Graph, x: list[Array], dx: list[Array], g: list[Array],
            dg: list[Array]) -> list[slice]:
    """Float results, their tangents, the cotangents, and the tangents of these if `second`."""
    back = vjp(graph)
    px, pdx, pg, pdg = (program.inputs(a) for a in (x, dx, g, dg))
    made = ([y for y in substitute(graph, px) if y.dtype == float64], substitute(jvp(graph), [*px, *pdx]),
            substitute(back, [*px, *pg]), substitute(jvp(back), [*px, *pg, *pdx, *pdg]) if second else [])
    return [program.outputs(values) for values in made]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_in_native_code(name: str) -> None:
    laws, several = laws_of(name)
    assert len(laws) >= (1 if name in LONG else 5 if issubclass(ALL[name], Elementwise) else 1 if name in OF_ALL else 3)
    program, up, down = Program(), list[Array](), list[Array]()
    places = [derived(program, k < 2, *each) for k, each in enumerate(laws)]
    for _, x, dx, g, dg in laws:
        for end, step in ((up, STEP), (down, -STEP)):
            end += [*moved(x, dx, step), *dx, *moved(g, dg, step), *dg]
    stacks = [stacked(program, graph, x) for graph, x in several]
    rest = program.numbers[len(up):]
    now, above, below = program.run(program.numbers, [*up, *rest], [*down, *rest])
    slope = [(a - b) / (2 * STEP) if a.dtype == np.float64 else a for a, b in zip(above, below)]
    for (y, dy, gx, second), (_, _, dx, g, _) in zip(places, laws):
        compared(now[dy], slope[y], 2e-6)
        np.testing.assert_allclose(inner(g, now[dy]), inner(now[gx], dx), rtol=1e-9, atol=1e-9)
        compared(now[second], slope[gx] if now[second] else [], 2e-5)
    for many, each in stacks:
        for a, *parts in zip(now[many], *(now[k] for k in each), strict=True):
            np.testing.assert_allclose(a, np.stack(parts), rtol=1e-9, atol=1e-9)


def compared(found: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def stacked(program: Program, graph: Graph, x: Sequence[Array]) -> tuple[slice, list[slice]]:
    """Results and gradients at all places by the rules of the ops, and at one place after the other."""
    many, back = batch(graph, [True] * len(x), PLACES), vjp(graph)
    g = like(run(many, [*x]), 7)
    px, pg = program.inputs(x), program.inputs(g)
    all_places = program.outputs([*substitute(many, px), *substitute(batch(back, [True] * (len(x) + len(g)), PLACES),
                                                                     [*px, *pg])])
    return all_places, [program.outputs([*substitute(graph, [v[k] for v in px]),
                                         *substitute(back, [v[k] for v in (*px, *pg)])]) for k in range(PLACES)]
