"""Loops whose rows do not meet: which axis of each value counts them, and the body for any number of rows."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stele.ir.graph import Graph, Literal, Parameter, Value
from stele.ir.sizes import Dim, Size
from stele.ir.types import Shape, Type, product
from stele.kernel.kinds import Host, role_of
from stele.ops.contraction import MatMul
from stele.ops.control import Scan
from stele.ops.linear import Broadcast, Concatenate, Reshape, Slice, Sum, Transpose

NONE = -1
"""The value is the same for all rows."""


class Meets(Exception):
    """Rows of the loop depend on each other, or are laid out so that they cannot be told apart."""


def independent(scan: Scan) -> dict[Value, int] | None:
    """For each value of the body its axis of rows (or NONE), if no row ever looks at another one, and none needs the
    calling thread, as Python does: that thread would wait at every step for all the others, which wait for it.
    """
    body = scan.body
    state = (*body.parameters[:scan.carries + scan.slices], *body.results)
    if not scan.carries or any(not v.shape for v in state) or any(role_of(v) is Host for v in body.everything):
        return None
    axes = Axes(body.parameters[0].shape[0])
    try:
        for v in state:
            axes.put(v, 0)
        order = body.values
        while axes.changed:
            axes.changed = False
            for v in order:
                axes.relate(v)
        for v in order:
            if v not in axes.of:
                axes.put(v, NONE)
            axes.relate(v)
    except Meets:
        return None
    constants = body.parameters[scan.carries + scan.slices:]
    return axes.of if all(axes.of.get(p, NONE) in (0, NONE) for p in constants) else None


class Axes:
    """The axis of rows of each value, found by relating operands and results of ops until nothing changes."""

    def __init__(self, rows: Dim) -> None:
        self.rows, self.of, self.changed = rows, dict[Value, int](), True

    def put(self, v: Value, axis: int) -> None:
        """v has its rows on this axis; raises Meets if it was known otherwise."""
        if axis != NONE and v.shape[axis:axis + 1] != (self.rows,):
            raise Meets
        if self.of.setdefault(v, axis) != axis:
            raise Meets
        self.changed = True

    def tell(self, v: Value, axis: int) -> None:
        if self.of.get(v) != axis:
            self.put(v, axis)

    def relate(self, v: Value) -> None:
        """What the axes of an op's operands and result say about each other."""
        match v.op:
            case Parameter():
                return
            case Literal():
                self.tell(v, NONE)
            case Broadcast():
                self.broadcast(v)
            case MatMul() if v.ndim == 2:
                self.tell(v.args[1], NONE)
                self.equal(v.args[0], v)
                if self.of.get(v) == 1:
                    raise Meets
            case _ if v.op.family == "elementwise":
                for a in v.args:
                    self.equal(a, v)
                    self.equal(v, a)
            case _:
                self.moved(v)

    def equal(self, a: Value, b: Value) -> None:
        if a in self.of and b.ndim == a.ndim:
            self.tell(b, self.of[a])
        elif b in self.of and b.ndim == a.ndim:
            self.tell(a, self.of[b])

    def broadcast(self, v: Value) -> None:
        (x,) = v.args
        extra = v.ndim - x.ndim
        if x in self.of and self.of[x] != NONE:
            self.tell(v, self.of[x] + extra)
        elif (axis := self.of.get(v, NONE)) != NONE:
            inside = axis >= extra and x.shape[axis - extra] == self.rows
            self.tell(x, axis - extra if inside else NONE)

    def moved(self, v: Value) -> None:
        """Ops that move or sum elements: rows go through where the op leaves their axis alone."""
        known = {self.of[a] for a in v.args if a in self.of}
        if v not in self.of and known <= {NONE}:
            return
        if not v.args:
            self.tell(v, NONE)
        for a in v.args:
            if a not in self.of:
                continue
            axis = through(v, a, self.of[a])
            if axis is None:
                raise Meets
            self.tell(v, axis)
        for a in v.args:
            if isinstance(v.op, Concatenate | Slice) and v in self.of:
                self.tell(a, self.of[v])
            elif a not in self.of and v in self.of and self.of[v] != NONE and isinstance(v.op, Reshape | Transpose):
                self.tell(a, v.op.axes[self.of[v]] if isinstance(v.op, Transpose) else self.of[v])


def through(v: Value, a: Value, axis: int) -> int | None:
    """Where the rows of an operand are in the result; None if the op does something to them."""
    if axis == NONE:
        return NONE
    match v.op:
        case Slice(starts, shape, steps):
            return axis if starts[axis] == 0 and shape[axis] == a.shape[axis] and steps[axis] == 1 else None
        case Concatenate(along):
            return axis if along % v.ndim != axis else None
        case Transpose(axes):
            return axes.index(axis)
        case Reshape(shape):
            alone = axis == 0 and shape and shape[0] == a.shape[0] and product(shape[1:]) == product(a.shape[1:])
            return 0 if alone else None
        case Sum(axes):
            return axis - sum(k % a.ndim < axis for k in axes) if axis not in {k % a.ndim for k in axes} else None
    return None


def with_rows(body: Graph, axes: dict[Value, int], rows: Size) -> Graph:
    """The body for `rows` rows."""
    made: dict[Value, Value] = {}
    for v in (*body.parameters, *body.values):
        if v not in made:
            made[v] = renewed(v, [made[a] for a in v.args], axes.get(v, NONE), rows)
    return Graph(tuple(made[p] for p in body.parameters), tuple(made[v] for v in body.results))


def renewed(v: Value, args: Sequence[Value], axis: int, rows: Size) -> Value:
    """v over other operands, with the number of rows in its attributes replaced."""
    op = v.op
    if axis != NONE and isinstance(op, Parameter):
        op = Parameter(op.label, v.type.with_shape(resized(v.shape, axis, rows)))
    elif axis != NONE and isinstance(op, Broadcast | Reshape | Slice):
        op = replace(op, shape=resized(op.shape, axis, rows))
    elif not isinstance(op, Parameter) and all(a is b for a, b in zip(args, v.args)):
        return v
    result: Type = op.type(*(a.type for a in args))  # type: ignore[assignment]
    return Value(op, tuple(args), result, v.where)


def resized(shape: Shape, axis: int, rows: Size) -> Shape:
    """The shape with another length on one axis."""
    return (*shape[:axis], rows, *shape[axis + 1:])
