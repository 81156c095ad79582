"""Programs of one step each: every kind by itself, with gradients where it has them, and which ops they come to."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stele import pipeline
from stele.ir.graph import Graph, walk
from stele.ir.types import DTYPES, Sizes
from tests.programs.grammar import FEATURES, Growth, Refused
from tests.programs.kinds import Kind
from tests.programs.numbers import draw
from tests.programs.program import Program, Step

SHAPES = (4, 4), (3, 4, 4), (2, 3, 5, 7), (40,), (2, 1, 40), (2, 3, 6, 5), (2, 2, 5, 6, 6), (3, 40)


def program_of(kind: Kind, rng: np.random.Generator, gradient: bool) -> Program | None:
    """A program that takes one step of a kind; None where its arguments found nothing they fit."""
    dtypes = [d for d in DTYPES.values() if d.kind in (kind.domain if not gradient else "f") and
              (not gradient or d.bits > 16)]
    complexes = [d for d in dtypes if d.is_complex]
    dtypes = complexes if complexes and rng.random() < 0.5 else dtypes
    d = dtypes[int(rng.integers(len(dtypes)))]
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    at = int(rng.integers(len(shape)))
    lengths = [shape[at], shape[at] + 3] if rng.random() < 0.3 else [shape[at]]
    growth = Growth(rng, FEATURES, [{} for _ in lengths], set(), [*DTYPES], gradient)
    for s in (full := (*shape[:at], -1, *shape[at + 1:]), full, shape[-1:], (shape[-1], 3)):
        growth.added("x", [draw(rng, d, tuple(n if k == -1 else k for k in s), 0, True) for n in lengths])
    try:
        args, attributes = kind.make(growth, "x0")
        growth.refuse_dtypes(kind, args)
        name = growth.take(Step((), kind.name, args, attributes))
    except Refused:
        return None
    results = growth.steps[-1].targets or (name,)
    made = Program(tuple(growth.inputs), tuple(growth.steps), results, False,
                   tuple(tuple(a) for a in growth.arguments)).pruned()
    floats = any(a.dtype.kind == "f" for a in made.arguments[0])
    return replace(made, gradient=gradient and floats and all(growth.dtype(n).kind == "f" for n in results))


def programs_of(kind: Kind, tries: int = 400) -> Iterator[Program]:
    """Programs of a kind, every second try with gradients where the kind is smooth."""
    rng = np.random.default_rng(0)
    for k in range(tries):
        made = program_of(kind, rng, kind.smooth and "f" in kind.domain and k % 2 == 0)
        if made is not None:
            yield made


class Seen:
    """While it is entered, the names of all ops that graphs hold, before and after every pass."""

    def __init__(self) -> None:
        self.names = set[str]()

    def __enter__(self) -> Seen:
        self.own, pipeline.watch = pipeline.watch, self.watch
        return self

    def __exit__(self, *_: object) -> None:
        pipeline.watch = self.own

    def watch(self, name: str, before: Graph, after: Graph, sizes: Sizes | None) -> None:
        for graph in (before, after):
            self.look(graph)

    def look(self, graph: Graph) -> None:
        for v in walk(graph.results):
            self.names.add(type(v.op).__name__)
            if v.op.family == "control":
                for inner in v.op.graphs:
                    self.look(inner)
