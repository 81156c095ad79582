"""Reductions: axes are folded by a commutative combination and dropped."""
from __future__ import annotations

import math
import typing as t
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import (
    REWRITING,
    Type,
    axes_of,
    axis_of,
    bool_,
    dtype,
    float32,
    highest,
    int64,
    is_zero,
    lowest,
    product,
    show,
    summed_in,
)
from stele.ops.cumulative import CumProd
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import needs_real
from stele.ops.elementwise.binary import logical_or
from stele.ops.elementwise.unary import isnan
from stele.ops.generate import iota_like, quantity
from stele.ops.linear import Sum, broadcast, cast, expand_dims, further, reshape, transpose, zeros_like


class Reduction(Op):
    """`combine` folded over `axes`, starting from `identity`; the axes are dropped."""

    axes: tuple[int, ...]
    family: ClassVar[str] = "reduction"
    samples: ClassVar[tuple[float, float]] = (-3, 3)

    def type(self, *x: Type) -> Type:
        axes = axes_of(self.axes, x[0].ndim)
        return x[0].with_shape(tuple(n for k, n in enumerate(x[0].shape) if k not in axes))

    def identity(self, x: Type) -> t.Any:
        """What combines with any element to that element."""
        raise NotImplementedError(self.name)

    def combine(self, s: Scalars[S], a: S, b: S) -> S:
        """Two partial results as one, said to a scalar builder."""
        raise NotImplementedError(self.name)

    def partial(self, y: Value, x: Value) -> Value:
        """dy/dx, elementwise on the shape of x; y has the shape of x too."""
        raise NotImplementedError(self.name)

    def vjp(self, d: t.Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self.spread(g, x[0]) * self.partial(self.spread(y, x[0]), x[0]),

    def jvp(self, d: t.Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        return Sum(self.axes)(dx[0] * self.partial(self.spread(y, x[0]), x[0]))

    def spread(self, y: Value, x: Value) -> Value:
        """y repeated to the shape of x."""
        return broadcast(expand_dims(y, axes_of(self.axes, x.ndim)), x.shape)

    def batch(self, d: t.Any, n: Dim, x: Sequence[Placed], y: Value) -> t.Any:
        return type(self)(further(self.axes, x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[t.Any, ...]:
        return (cls((0, 2)), (Type(float32, (2, 3, 4)),)), (cls((-1,)), (Type(float32, (3,)),))


def is_nothing(x: Type, axes: tuple[int, ...]) -> bool:
    """Whether axes hold no elements, where users ask for the best one; of none it is the worst number in programs."""
    return not REWRITING.get() and any(is_zero(x.shape[a]) for a in axes)


class Extreme(Reduction):
    """The best element; ties share the gradient evenly."""

    def type(self, *x: Type) -> Type:
        needs_real(self, x[0].dtype)
        y = super().type(*x)
        if is_nothing(x[0], self.axes):
            raise ShapeError(f"{self.name} over axes {self.axes} of {show(x[0].shape)} has nothing to choose from")
        return y

    def partial(self, y: Value, x: Value) -> Value:
        best = cast(Equal()(x, y), x.dtype)
        return best / self.spread(Sum(self.axes)(best), x)


class Max(Extreme):
    """The largest element; NaN if any is NaN; ties share the gradient evenly."""

    def identity(self, x: Type) -> t.Any: return lowest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.max(a, b)

    def reference(self, *x: Array) -> Array:
        return np.asarray(x[0].max(axis=self.axes, initial=lowest(dtype(x[0].dtype))))


class Min(Extreme):
    """The smallest element; NaN if any is NaN; ties share the gradient evenly."""

    def identity(self, x: Type) -> t.Any: return highest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.min(a, b)

    def reference(self, *x: Array) -> Array:
        return np.asarray(x[0].min(axis=self.axes, initial=highest(dtype(x[0].dtype))))


class Prod(Reduction):
    """The product of the elements, integers as `summed_in`, halves in float32; derivatives of any order are right at
    zero."""

    def type(self, *x: Type) -> Type:
        return super().type(*x).with_dtype(summed_in(x[0].dtype))

    def identity(self, x: Type) -> t.Any: return 1
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a * b

    def reference(self, *x: Array) -> Array:
        own = summed_in(dtype(x[0].dtype)).numpy
        return np.asarray(x[0].prod(axis=self.axes, dtype=np.float32 if own.itemsize == 2 else own), own)

    def partial(self, y: Value, x: Value) -> Value: return Others(self.axes)(x)


class Others(Op):
    """For each element the product of all others, along `axes`."""

    axes: tuple[int, ...]
    family: ClassVar[str] = "composite"
    samples: ClassVar[tuple[float, float]] = (-3, 3)

    def type(self, *x: Type) -> Type:
        axes_of(self.axes, x[0].ndim)
        return x[0]

    def reference(self, x: Array) -> Array:
        moved = np.moveaxis(x, axes := axes_of(self.axes, x.ndim), range(len(axes)))
        rows = moved.reshape(math.prod(moved.shape[:len(axes)]), *moved.shape[len(axes):])
        y = np.stack([np.delete(rows, k, 0).prod(0) for k in range(len(rows))]) if len(rows) else rows
        return np.moveaxis(y.astype(x.dtype).reshape(moved.shape), range(len(axes)), axes)

    def expand(self, x: Value) -> Value:
        """The product of all, without zeros, divided by each: where one is zero it alone has others, and where more
        are, none has."""
        whole, zero = Prod(self.axes), Equal()(x, 0)
        zeros = whole.spread(Sum(self.axes)(cast(zero, x.dtype)), x)
        filled = Select()(zero, 1.0, x)
        others = whole.spread(whole(filled), x) / filled
        return Select()(Equal()(zeros, cast(zero, x.dtype)), others, zeros_like(x))

    def apart(self, x: Value) -> Value:
        """What comes before times what comes behind, which has derivatives at zeros too."""
        axes = axes_of(self.axes, x.ndim)
        order = (*axes, *(k for k in range(x.ndim) if k not in axes))
        moved = transpose(x, order)
        rows = reshape(moved, (product(moved.shape[:len(axes)]), *moved.shape[len(axes):]))
        before, behind = (run.before(run(rows)) for run in (CumProd(0), CumProd(0, reverse=True)))
        return transpose(reshape(before * behind, moved.shape), tuple(order.index(k) for k in range(x.ndim)))

    def vjp(self, d: t.Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return tuple(d.gradients([self.apart(x[0])], [g], x, x))

    def jvp(self, d: t.Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return d.tangents([self.apart(x[0])], x, dx, x)[0]

    def batch(self, d: t.Any, n: Dim, x: Sequence[Placed], y: Value) -> t.Any:
        return Others(further(self.axes, x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[t.Any, ...]:
        return (cls((0, 2)), (Type(float32, (2, 3, 4)),)), (cls((-1,)), (np.array([2, 0, 3], np.float32),))


class Truth(Reduction):
    """Over bools; a number is true unless it is zero."""

    def prepare(self, *args: t.Any) -> tuple[Value, ...]:
        return tuple(cast(v, bool_) for v in super().prepare(*args))

    def type(self, *x: Type) -> Type:
        return super().type(*x).with_dtype(bool_)

    @classmethod
    def examples(cls) -> tuple[t.Any, ...]:
        return (cls((1,)), (np.array([[True, False], [True, True], [False, False]]),)),


class All(Truth):
    """Whether every element is true."""

    def identity(self, x: Type) -> t.Any: return True
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a & b
    def reference(self, *x: Array) -> Array: return np.asarray(x[0].all(axis=self.axes))


class Any(Truth):
    """Whether any element is true."""

    def identity(self, x: Type) -> t.Any: return False
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a | b
    def reference(self, *x: Array) -> Array: return np.asarray(x[0].any(axis=self.axes))


class Position(Op):
    """The position along `axis` of the first best element, as int64; a NaN is best of all."""

    axis: int
    family: ClassVar[str] = "composite"

    def type(self, *x: Type) -> Type:
        if is_nothing(x[0], (axis_of(self.axis, x[0].ndim),)):
            raise ShapeError(f"{self.name} along axis {self.axis} of {show(x[0].shape)} has nothing to choose from")
        return Max((self.axis,)).type(*x).with_dtype(int64)

    def first(self, best: Reduction, x: Value) -> Value:
        """The first position where x equals its best element."""
        hit = Equal()(x, best.spread(best(x), x))
        hit = logical_or(hit, isnan(x)) if x.dtype.is_float else hit
        return Min(best.axes)(Select()(hit, iota_like(x, self.axis), quantity(x.shape[self.axis] - 1)))

    def batch(self, d: t.Any, n: Dim, x: Sequence[Placed], y: Value) -> t.Any:
        return type(self)(*further((self.axis,), x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[t.Any, ...]:
        return (cls(1), (Type(float32, (2, 4, 3)),)), (cls(-1), (np.array([1, 3, 3, 2]),))


class ArgMax(Position):
    """The position along `axis` of the first largest element, as int64; a NaN is largest of all."""

    def reference(self, x: Array) -> Array: return np.asarray(np.argmax(x, self.axis))
    def expand(self, x: Value) -> Value: return self.first(Max((self.axis,)), x)


class ArgMin(Position):
    """The position along `axis` of the first smallest element, as int64; a NaN is smallest of all."""

    def reference(self, x: Array) -> Array: return np.asarray(np.argmin(x, self.axis))
    def expand(self, x: Value) -> Value: return self.first(Min((self.axis,)), x)


ALL = (Max, Min, Prod, Others, All, Any, ArgMax, ArgMin)
