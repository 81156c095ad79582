"""One graph for all sizes out of traces at several: where they differ in numbers only, those become sizes or inputs.

Python may ask for the number of an open size, compute with it and forget where a result came from: `math.sqrt(n)`,
`range(len(x))`. The function is then traced once more with that size one larger. If both graphs differ in nothing but
numbers, a whole number among attributes and shapes is taken to follow the size as a straight line, and every other
number is an input. That holds at the size of the trace by construction; another size is traced for itself, and runs
the same program where that leads to the same graph. Where it leads to one that differs in whole numbers, which follow
no line (`len(x) // 2`, `round(n / 3)`), these become sizes of their own, of which each trace says the values.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from stele.backend.buffers import Buffer
from stele.eager.live import Live
from stele.errors import ShapeError, SteleError
from stele.ir.graph import Constant, Graph, Literal, Op, Parameter, Value, closed, walk
from stele.ir.origin import lines, setting
from stele.ir.sizes import Dim, Size, at, size
from stele.ir.types import SIZES, Sizes, TupleType
from stele.tracing.trace import Traced

FREE = "number_"    # how the names of sizes begin that stand for numbers of no formula


class Apart(Exception):
    """Graphs that differ in more than numbers."""


def general(traced: Traced, others: Mapping[str, Traced], sizes: Sizes) -> Traced:
    """The trace with a graph for all sizes; `others` are those with one of the sizes, by name, one larger.

    Raises ShapeError where they differ in more than numbers.
    """
    try:
        with setting(SIZES, sizes):
            unread = traced.unread.intersection(*(other.unread for other in others.values()))
            return replace(Lines(traced, others, sizes).traced(), unread=unread)
    except (Apart, SteleError):
        asked = "; ".join(f"{name} at {', '.join(lines(where))}" for name, where in sizes.asked.items())
        raise ShapeError("what is computed depends on the number of a size that was asked for: " + asked) from None


def freed(traced: Traced, earlier: Iterable[Traced], sizes: Sizes) -> tuple[Traced, Mapping[str, int]]:
    """The trace with a graph for which one of the `earlier` ones may stand too: all whole numbers in which they differ
    are sizes of their own, with the values of those; the trace itself where none differs in numbers only."""
    for other in {t.graph.digest: t for t in earlier}.values():
        wider = Sizes(dict(sizes.hints), [*sizes.guards])
        try:
            with setting(SIZES, wider):
                found = Freed(traced, [other.graph], wider).traced()
        except (Apart, SteleError):
            continue
        sizes.hints, sizes.guards = wider.hints, wider.guards
        return found, {name: n for name, n in wider.hints.items() if name.startswith(FREE)}
    return traced, {}


class Meeting:
    """Graphs walked in step: the first one is rebuilt with what the others say of its numbers."""

    def __init__(self, traced: Traced, others: Sequence[Graph], sizes: Sizes) -> None:
        self.base, self.others, self.sizes = traced, others, sizes
        self.constants: list[Live] = []
        inputs = traced.graph.parameters
        self.known = dict(zip(inputs[len(inputs) - len(traced.constants):], traced.constants))

    def traced(self) -> Traced:
        """The first trace with the graph for all sizes, and the constants that are inputs of it."""
        graph = self.base.graph
        count = len(graph.parameters) - len(self.base.constants)
        inputs, results = self.graph([graph, *self.others], count)
        made = closed([*inputs, *self.constants], results)
        return replace(self.base, graph=replace(made, guards=tuple(self.sizes.guards)), constants=self.constants)

    def graph(self, graphs: Sequence[Graph], count: int) -> tuple[Sequence[Value], list[Value]]:
        """Inputs, so many, and results of graphs as one; parameters behind the inputs are constants."""
        meaning: dict[Value, Value] = {}
        firsts: list[dict[Value, Value]] = [{} for _ in graphs]
        inputs = graphs[0].parameters[:count]
        for vs in together([g.parameters[:count] for g in graphs]):
            meaning[vs[0]] = vs[0]
            for first, v in zip(firsts, vs):
                first[v] = vs[0]
        for vs in together([walk(g.results, stop=first.__contains__) for g, first in zip(graphs, firsts)]):
            if vs[0] in meaning:
                continue
            for args in together([v.args for v in vs]):
                demand(all(first[a] is args[0] for first, a in zip(firsts, args)))
            meaning[vs[0]] = self.value(vs, [meaning[a] for a in vs[0].args])
            for first, v in zip(firsts, vs):
                first[v] = vs[0]
        for results in together([g.results for g in graphs]):
            demand(all(first[v] is results[0] for first, v in zip(firsts, results)))
        return inputs, [meaning[v] for v in graphs[0].results]

    def value(self, vs: Sequence[Value], args: Sequence[Value]) -> Value:
        """One value over the inputs and values that there are."""
        v, ops = vs[0], [v.op for v in vs]
        if not isinstance(ops[0], Parameter) and all(op == ops[0] for op in ops):
            op: Op = ops[0]
        elif all(isinstance(op, Literal | Constant | Parameter) for op in ops):
            return self.constant(vs)
        else:
            op = self.merged(ops)
        made = Value(op, tuple(args), op.typed(*(a.type for a in args)), v.where)    # type: ignore[arg-type]
        demand(isinstance(v.type, TupleType) or self.at_hand(made.type.shape) == self.at_hand(v.type.shape))
        return made

    def constant(self, vs: Sequence[Value]) -> Live:
        """An input with the numbers of the first of some constants."""
        v = vs[0]
        type = self.merged([u.type for u in vs])
        data = self.known[v].data if v in self.known else Buffer.of(np.array(v.op.reference(), order="C"))
        self.constants.append(Live(Parameter("constant", type), (), type, v.where, data))
        return self.constants[-1]

    def merged(self, xs: Sequence[Any]) -> Any:
        """One attribute for several: a number that differs as a line over the sizes that were moved."""
        x = xs[0]
        if all(type(y) is type(x) and y == x for y in xs):
            return x
        if all(isinstance(y, int | Size) and not isinstance(y, bool) for y in xs):
            return self.number(xs)
        if all(isinstance(y, tuple) for y in xs):
            return tuple(self.merged(parts) for parts in together(xs))
        demand(is_dataclass(x) and not isinstance(x, type | Graph) and all(type(y) is type(x) for y in xs))
        parts: dict[str, Any] = {}
        for f in (f for f in fields(x) if f.init):
            ys = [getattr(y, f.name) for y in xs]
            demand("int" not in str(f.type) or all(y == ys[0] for y in ys))     # axes and counts are no sizes
            parts[f.name] = self.merged(ys)
        return replace(x, **parts)  # type: ignore[type-var]

    def number(self, xs: Sequence[Dim]) -> Dim:
        """One dimension for several."""
        raise NotImplementedError

    def at_hand(self, shape: Sequence[Dim]) -> tuple[int, ...]:
        """A shape at the sizes of this call."""
        return tuple(at(n, self.sizes.hints) for n in shape)


class Lines(Meeting):
    """Numbers follow the sizes as straight lines: the others have one of the sizes, by name, one larger."""

    def __init__(self, traced: Traced, others: Mapping[str, Traced], sizes: Sizes) -> None:
        super().__init__(traced, [t.graph for t in others.values()], sizes)
        self.steps = [(size(name), sizes.hints[name]) for name in others]

    def number(self, xs: Sequence[Dim]) -> Dim:
        """The dimension that grows by as much as was seen when a size grows by one."""
        found = xs[0]
        for x, (name, hint) in zip(xs[1:], self.steps):
            slope = x - xs[0]
            demand(isinstance(slope, int))
            found = found + (name - hint) * slope   # type: ignore[operator]
        return found


class Freed(Meeting):
    """Numbers that differ are sizes of their own, one for all places where the graphs have the same ones."""

    def __init__(self, traced: Traced, others: Sequence[Graph], sizes: Sizes) -> None:
        super().__init__(traced, others, sizes)
        self.names: dict[tuple[Dim, ...], str] = {}

    def number(self, xs: Sequence[Dim]) -> Dim:
        """The size that these are values of."""
        name = self.names.setdefault(tuple(xs), f"{FREE}{len(self.names)}")
        self.sizes.hints[name] = at(xs[0], self.sizes.hints)
        return size(name)


def together(parts: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """The parts side by side, which are equally many."""
    demand(len({len(part) for part in parts}) == 1)
    return list(zip(*parts))


def demand(holds: bool) -> None:
    """Raises Apart unless a condition holds."""
    if not holds:
        raise Apart
