"""Ops that only say what they mean in NumPy: all that a host op is."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stele.arrays.tensor import lift
from stele.ir.graph import Array, Item, Op, Value
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, int64
from stele.ops.contraction import widened
from stele.ops.linear import Sum


class Running(Op):
    """Sums of all elements up to each one along an axis, in the operand's dtype; of bools whether one was true."""

    axis: int
    reverse: bool = False

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array, **_: Any) -> Array:
        way = np.flip(x[0], self.axis) if self.reverse else x[0]
        add = np.logical_or if x[0].dtype == bool else np.add
        wide = way.astype(np.float32) if x[0].dtype.itemsize == 2 and x[0].dtype.kind in "fV" else way
        y = add.accumulate(wide, self.axis).astype(x[0].dtype)
        return np.flip(y, self.axis) if self.reverse else y

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Running(self.axis, not self.reverse)(g),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return self(dx[0])


class Ordered(Op):
    """Elements of the last axis in order, and where each one was: two results, one of them int64."""

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        return TupleType((x[0], Type(int64, x[0].shape)))

    def reference(self, *x: Array, **_: Any) -> tuple[Array, Array]:
        at = np.argsort(widened(x[0]), axis=-1, kind="stable")      # bfloat16 by itself does not sort NaN
        return np.take_along_axis(x[0], at, -1), at

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        back = Item(1)(Ordered()(Item(1)(y)))
        return None if g[0] is None else Along()(g[0], back),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        return Along()(dx[0], Item(1)(y)), None


class Along(Op):
    """Elements of the last axis at positions: a permutation of it."""

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array, **_: Any) -> Array:
        return np.take_along_axis(*x, -1)

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Along()(g, Item(1)(Ordered()(x[1]))), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else Along()(dx[0], x[1])


class Spread(Op):
    """An array as many times as a size says, which may be open."""

    times: Dim

    def type(self, *x: Type) -> Type:
        return x[0].with_shape((self.times, *x[0].shape))

    def reference(self, *x: Array, **_: Any) -> Array:
        return np.broadcast_to(x[0], (self.times, *x[0].shape))

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Sum((0,))(g),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return self(dx[0])


class Squares(Op):
    """The first squares, of no operand."""

    count: int

    def type(self, *x: Type) -> Type:
        return Type(int64, (self.count,))

    def reference(self, *x: Array, **_: Any) -> Array:
        return np.arange(self.count) ** 2


class Does(Op):
    """The operand, after `act` was called with it; its derivative is that of the operand."""

    act: Callable[[Array], Any]

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array, **_: Any) -> Any:
        made = self.act(x[0])
        return x[0] if made is None else made

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return g,

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return dx[0]


class Double(Op):
    """A composite of a host op: twice the running sum along the first axis."""

    family = "composite"

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array, **_: Any) -> Array:
        return 2 * Running(0).reference(*x)

    def expand(self, x: Value) -> Value:
        return Running(0)(x) * 2


OPS: dict[str, type[Op]] = {op.__name__: op for op in (Running, Ordered, Along, Spread, Squares)}


def _running(x: Value, *, axis: int = 0, reverse: bool = False) -> Value: return Running(axis, reverse)(x)
def _ordered(x: Value) -> tuple[Value, ...]: return tuple(Item(k)(y) for y in (Ordered()(x),) for k in range(2))
def _double(x: Value) -> Value: return Double()(x)
def _squares(x: Value, *, count: int) -> Value: return Squares(count)() + x
def _spread(x: Value, z: Value) -> Value: return Spread(z.shape[0])(x)


running, ordered, double = map(lift, (_running, _ordered, _double))
squares, spread = map(lift, (_squares, _spread))


def does(act: Callable[[Array], Any]) -> Callable[..., Any]:
    """A function of tensors that calls `act` whenever its numbers are computed, and gives what that gives, or x."""
    op = Does(act)

    def _does(x: Value) -> Value: return op(x)
    return lift(_does)
