"""Branches inside the graph: of several functions the one that an index names."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import (
    Array,
    Graph,
    Item,
    Op,
    Placed,
    Value,
    closed,
    parameter,
    substitute,
)
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, bool_, float32, int32
from stele.ops.called import refuse_turns
from stele.ops.control import Traced, enclosed, evaluated, fits, read_back
from stele.ops.elementwise.arithmetic import LessEqual, Select
from stele.ops.elementwise.unary import tanh
from stele.ops.linear import broadcast, full, reshape, zeros_like


class Cond(Op):
    """The results of one of several graphs over the same operands; the others are not computed.

    Operands (index, *operands). The index is a whole number, held to the range of branches, or a bool: 0 or 1.
    """

    branches: tuple[Graph, ...]
    family: ClassVar[str] = "control"

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        index, *operands = x
        if index.shape or index.dtype.kind not in "biu":
            raise DTypeError(f"Cond: the index is one bool or whole number, got {index}")
        results = [tuple(v.type for v in branch.results) for branch in self.branches]
        for branch in self.branches:
            inner = tuple(v.type for v in branch.parameters)
            if len(operands) != len(inner) or not all(map(fits, operands, inner)):
                raise ShapeError(f"Cond: a branch takes {', '.join(map(str, inner))}; "
                                 f"got {', '.join(map(str, operands))}")
        for k, types in enumerate(results):
            if len(types) != len(results[0]) or not all(map(fits, types, results[0])):
                raise ShapeError(f"Cond: branch {k} gives {', '.join(map(str, types))}; "
                                 f"branch 0 {', '.join(map(str, results[0]))}")
        return TupleType(results[0])

    def taken(self, index: Array) -> Graph:
        """The branch that an index names."""
        return self.branches[min(max(int(index), 0), len(self.branches) - 1)]

    def reference(self, *x: Array) -> tuple[Array, ...]:
        return evaluated(self.taken(x[0]), x[1:])

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        live = [k for k, gk in enumerate(g) if gk is not None]
        wrt = [k for k, wanted in enumerate(d.wanted[1:]) if wanted]
        given = [[parameter(f"g{k}", branch.results[k].type) for k in live] for branch in self.branches]
        found = [d.gradients([b.results[k] for k in live], gs, [b.parameters[k] for k in wrt])
                 for b, gs in zip(self.branches, given)]
        there = [j for j in range(len(wrt)) if any(gs[j] is not None for gs in found)]
        kept = [[v for v in read_back(b, gs, [f for f in fs if f is not None]) if v not in b.parameters]
                for b, gs, fs in zip(self.branches, given, found)]
        stacks, places = packed(kept)
        forward = tuple(closed(b.parameters, (*b.results, *filled(vs, at, stacks)))
                        for b, vs, at in zip(self.branches, kept, places))
        done = Cond(forward)(*x)
        backward: list[Graph] = []
        for branch, gs, fs, vs, at in zip(self.branches, given, found, kept, places):
            read = [parameter(f"r{k}", t) for k, t in enumerate(stacks)]
            results = [f if (f := fs[j]) is not None else zeros_like(branch.parameters[wrt[j]]) for j in there]
            results = substitute(Graph(tuple(vs), tuple(results)), [read[k] for k in at])
            backward.append(closed((*branch.parameters, *read, *gs), results))
        n = len(self.branches[0].results)
        back = Cond(tuple(backward))(*x, *(Item(n + k)(done) for k in range(len(stacks))), *(g[k] for k in live))
        cotangents: list[Value | None] = [None] * len(x)
        for k, j in enumerate(there):
            cotangents[wrt[j] + 1] = Item(k)(back)
        return tuple(cotangents)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        moving = [k for k, t in enumerate(dx[1:]) if t is not None]
        given = [[parameter(f"d{k}", branch.parameters[k].type) for k in moving] for branch in self.branches]
        found = [d.tangents(b.results, [b.parameters[k] for k in moving], dp) for b, dp in zip(self.branches, given)]
        there = [k for k in range(len(self.branches[0].results)) if any(ts[k] is not None for ts in found)]
        branches = tuple(closed((*b.parameters, *dp), [
            zeros_like(b.results[k]) if (t := ts[k]) is None else t for k in there])
            for b, dp, ts in zip(self.branches, given, found))
        done = Cond(branches)(*x, *(dx[k + 1] for k in moving)) if there else None
        return tuple(Item(there.index(k))(done) if k in there else None for k in range(len(found[0])))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """Where places choose for themselves all branches are computed, and each place takes its own."""
        (index, is_placed), *operands = x
        flags, values = [flag for _, flag in operands], [a for a, _ in operands]
        branches = tuple(d.batch(branch, flags, n) for branch in self.branches)
        if not is_placed:
            done = replace(self, branches=branches)(index, *values)
            return tuple(Item(k)(done) for k in range(len(branches[0].results)))
        refuse_turns(self.branches, "a branch that each example chooses")
        results = zip(*(substitute(branch, values) for branch in branches))
        return tuple(reduce(lambda y, at: picked(index, at[0], y, at[1]), enumerate(ys[1:]), ys[0]) for ys in results)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        def made() -> tuple[Graph, ...]:
            (x, w), (z, u), (a, b) = ([parameter(name, Type(float32, (3,))) for name in "xw"] for _ in range(3))
            return Graph((x, w), (x * w, tanh(x))), Graph((z, u), (tanh(tanh(z) * u), z)), Graph((a, b), (b, a - b))

        operands = Type(float32, (3,)), Type(float32, (3,))
        return (cls(made()[:2]), (Type(bool_, ()), *operands)), (cls(made()), (Type(int32, ()), *operands))


def picked(index: Value, k: int, below: Value, above: Value) -> Value:
    """Of results at many places `below` where the index is at most k, else `above`."""
    chosen = index if index.dtype == bool_ else ~LessEqual()(index, k)
    return Select()(broadcast(reshape(chosen, (*index.shape, *([1] * (above.ndim - 1)))), above.shape), above, below)


def packed(kept: Sequence[Sequence[Value]]) -> tuple[list[Type], list[list[int]]]:
    """Types that hold what each branch keeps, one branch at a time, and where each of its values is among these."""
    place: dict[tuple[Type, int], int] = {}
    places: list[list[int]] = []
    for values in kept:
        count: dict[Type, int] = {}
        at: list[int] = []
        for v in values:
            count[v.type] = number = count.get(v.type, -1) + 1
            at.append(place.setdefault((v.type, number), len(place)))
        places.append(at)
    return [t for t, _ in place], places


def filled(values: Sequence[Value], at: Sequence[int], types: Sequence[Type]) -> list[Value]:
    """What a branch keeps in the places of all: zeros where it keeps nothing."""
    own = dict(zip(at, values))
    return [own[k] if k in own else full(t.shape, 0, t.dtype) for k, t in enumerate(types)]


def branch(index: Value, branches: Sequence[Traced], operands: Sequence[Value], known: Collection[Value]
           ) -> tuple[Value, ...]:
    """The results of one of some functions of the operands, which read the `known` values beside them."""
    graphs, captured = enclosed(branches, known, "a branch")
    done = Cond(tuple(graphs))(index, *operands, *captured)
    return tuple(Item(k)(done) for k in range(len(graphs[0].results)))


ALL = (Cond,)
