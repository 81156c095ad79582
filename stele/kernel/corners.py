"""Corners of matrices beyond a diagonal: where masks made of positions leave only zeros, or what nobody looks at."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from stele.ir.graph import Literal, Op, Value
from stele.ir.record import Record
from stele.ir.sizes import Dim, Size
from stele.ir.types import Shape
from stele.kernel.index import Opaque, variable
from stele.kernel.space import Index, needs
from stele.ops.elementwise.arithmetic import Add, Div, Greater, GreaterEqual, Less, LessEqual, Mul, Select, Sub
from stele.ops.elementwise.binary import And
from stele.ops.generate import Iota
from stele.ops.linear import Cast, Movement

Facts = dict[Dim | None, Any]
"""What an element is where an expression is not negative, or everywhere (None): a number, or an index expression."""
COMPARE: dict[type[Op], tuple[int, int]] = {GreaterEqual: (1, 0), Greater: (1, -1), Less: (-1, -1), LessEqual: (-1, 0)}
"""A comparison of x and z holds where `a * (x - z) + b >= 0`."""
DEEP = 64
"""Ops between a mask and what it tells, at most."""


class Corner(Record):
    """The elements (i, j) of a matrix with `side * (j - i) >= start`: above a diagonal (side 1) or below one (-1)."""

    side: int
    start: int


Corners = tuple[tuple[Corner, ...], ...]
"""Those of the operands and of the result of a matrix product."""
NONE: Corners = ((), (), ())


class Finding:
    """Finds corners in a graph with these users of values and these values among its results.

    A number stands for what it is where all others are finite: 0 * x is 0. What is in no corner is as the graph says,
    for every row and every column of a matrix with corners has an element outside of them.
    """

    def __init__(self, users: Mapping[Value, Sequence[Value]], wanted: Collection[Value]) -> None:
        self.users, self.wanted = users, wanted
        self.found: dict[tuple[Value, Index], Facts] = {}
        self.unread: dict[Value, set[Dim | None]] = {}
        self.has_masks = any(isinstance(v.op, Iota) for v in users)

    def of(self, v: Value) -> Corners:
        """The corners of a matrix product: where its operands are zero, and where it is not looked at."""
        if not self.has_masks:
            return NONE
        zero = [(a, {e for e, n in self.facts(a, position(a.shape)).items() if n == 0}) for a in v.args]
        return tuple(corners(places, a.shape) for a, places in (*zero, (v, self.ignored(v))))

    def ignored(self, v: Value) -> set[Dim | None]:
        """Where nothing depends on the elements of v, of which nothing is known."""
        stack = [v]
        while stack:
            v = stack[-1]
            readers = () if v in self.unread or v in self.wanted else self.users[v]
            alike = [u for u in readers if u.op.family == "elementwise" and u.shape == v.shape]
            asked = alike if len(alike) == len(readers) else alike[:0]      # a reader of another kind looks everywhere
            found = [self.facts(u, position(u.shape)) for u in asked]
            if waiting := [u for u in asked if u not in self.unread]:
                stack += waiting
            else:
                unread = [{*e, *self.unread[u]} for e, u in zip(found, asked)]
                self.unread.setdefault(v, set[Dim | None]().union(*unread[:1]).intersection(*unread))
                stack.pop()
        return self.unread[v]

    def facts(self, v: Value, index: Index, depth: int = DEEP) -> Facts:
        """What is known of element `index` of v."""
        if (key := (v, index)) not in self.found:
            self.found[key] = self.computed(v, index, depth - 1) if depth else {}
        return self.found[key]

    def computed(self, v: Value, index: Index, depth: int) -> Facts:
        if isinstance(v.op, Literal):
            return {None: v.op.value}
        if isinstance(v.op, Iota):
            return {None: index[v.op.axis % v.ndim]}
        try:
            is_known = isinstance(v.op, Movement) or v.op.family == "elementwise"
            operands = needs(v, index, {}) if is_known else []
        except Opaque:
            return {}
        args = [{} if n.bounds else self.facts(n.x, n.at, depth) for n in operands]
        if isinstance(v.op, Movement):
            return args[0]
        each = {e: known(v, [a.get(e, a.get(None)) for a in args]) for a in args for e in a}
        if None in each and isinstance(each[None], Size) and type(v.op) in COMPARE:
            return {each[None]: True, -each[None] - 1: False}
        return {e: n for e, n in each.items() if n is not None}


def position(shape: Shape) -> Index:
    """Any element of an array: the same variables for the last two axes of all."""
    return tuple(variable(f"c{k}") for k in range(len(shape), 0, -1))


def known(v: Value, x: list[Any]) -> Any:
    """The result of an op on numbers, positions and what is not known (None), where it is known; of a comparison of
    positions an expression that is not negative where it holds."""
    match v.op, x:
        case Select(), [int() as c, a, b]:                      return a if c else b
        case Mul() | And(), _ if 0 in x:                        return 0
        case Div(), [0, _]:                                     return 0
        case Add() | Sub(), [n, _] if n == -inf:                return n
        case Add(), [_, n] if n == -inf:                        return n
        case Add(), [int() | Size() as a, int() | Size() as b]: return a + b
        case Sub(), [int() | Size() as a, int() | Size() as b]: return a - b
        case Cast(dtype), [Size() as n] if dtype.bits >= 32:    return n
        case op, [int() | Size() as a, int() | Size() as b] if type(op) in COMPARE and isinstance(a - b, Size):
            return (a - b) * COMPARE[type(op)][0] + COMPARE[type(op)][1]
    if any(n is None or isinstance(n, Size) for n in x):
        return None
    numbers = [np.asarray(n, np.float64 if a.dtype.is_float else a.dtype.numpy) for n, a in zip(x, v.args)]
    with np.errstate(all="ignore"):
        return v.op.reference(*numbers).item()


def corners(found: Collection[Dim | None], shape: Shape) -> tuple[Corner, ...]:
    """The corners of a matrix in which an expression of its position is not negative, the largest on each side."""
    (i, j), (m, n) = position(shape)[-2:], shape[-2:]
    corners: list[Corner] = []
    for side, excess in ((1, n - m), (-1, m - n)):
        starts = [start for e in found if e is not None and isinstance(start := (j - i) * side - e, int)]
        if starts and isinstance(excess, int) and min(starts) > max(0, excess):
            corners.append(Corner(side, min(starts)))
    return tuple(corners)
