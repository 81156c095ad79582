"""Ops whose meaning is an expression of other ops; the pieces fuse."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, axes_of, axis_of, bfloat16, float16, float32, float64, is_zero
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import needs_float
from stele.ops.elementwise.unary import (
    absolute,
    erf,
    exp,
    isfinite,
    log,
    rsqrt,
    sigmoid,
    sqrt,
    square,
    stop_gradient,
    tanh,
)
from stele.ops.linear import broadcast, cast, expand_dims, full, further, kept_shape, zeros_like
from stele.ops.statistics import max, mean, over, sum


class Composite(Op):
    """`expand(*x)` says the meaning in other ops; derivatives are those of the expansion unless the op knows better.

    What is narrower than float32 is computed in float32 and rounded once, at the end.
    """

    family: ClassVar[str] = "composite"
    samples: ClassVar[tuple[float, float]] = (-3, 3)

    def __call__(self, *args: Any) -> Value:
        x = self.prepare(*args)
        narrow = next((v.dtype for v in x if v.dtype in (float16, bfloat16)), None)
        if narrow is None:
            return super().__call__(*x)
        y = super().__call__(*(cast(v, float32) if v.dtype == narrow else v for v in x))
        return cast(y, narrow) if y.dtype == float32 else y

    def expand(self, *x: Value) -> Value:
        """The result in terms of other ops."""
        raise NotImplementedError(self.name)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        once = list(dict.fromkeys(x))
        found = dict(zip(once, d.gradients([self.expand(*x)], [g], once, once)))
        return tuple(found.pop(v, None) for v in x)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return d.tangents([self.expand(*x)], x, dx, x)[0]


class FloatComposite(Composite):
    """One float operand, a result of its type."""

    def type(self, *x: Type) -> Type:
        needs_float(self, x[0].dtype)
        return x[0]

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (2, 3)),)),


class AlongAxis(FloatComposite):
    """A function of the whole of one axis."""

    axis: int

    def type(self, *x: Type) -> Type:
        axis_of(self.axis, x[0].ndim)
        return super().type(*x)

    def total(self, x: Value) -> Value:
        """The sum along the axis, in its place."""
        return broadcast(sum(x, axis=self.axis, keepdims=True), x.shape)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return replace(self, axis=further((self.axis,), x[0][0])[0])(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1), (Type(float32, (2, 3, 2)),)), (cls(-1), (Type(float32, (4,)),))


class Softmax(AlongAxis):
    """exp(x) / sum(exp(x)) along an axis, of x less its largest element."""

    def reference(self, *x: Array) -> Array:
        e = np.exp(x[0] - x[0].max(axis=self.axis, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=self.axis, keepdims=True)

    def expand(self, *x: Value) -> Value:
        e = exp(x[0] - largest(x[0], self.axis))
        return e / sum(e, axis=self.axis, keepdims=True)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return y * (g - self.total(g * y)),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return y * (dx[0] - self.total(dx[0] * y))


class LogSoftmax(AlongAxis):
    """log(softmax(x)) along an axis, without rounding small probabilities to zero."""

    def reference(self, *x: Array) -> Array:
        z = x[0] - x[0].max(axis=self.axis, keepdims=True, initial=-np.inf)
        return z - np.log(np.exp(z).sum(axis=self.axis, keepdims=True))

    def expand(self, *x: Value) -> Value:
        z = x[0] - largest(x[0], self.axis)
        return z - log(sum(exp(z), axis=self.axis, keepdims=True))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return g - exp(y) * self.total(g),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return dx[0] - self.total(dx[0] * exp(y))


def largest(x: Value, axis: int | tuple[int, ...]) -> Value:
    """The largest element along an axis, as a constant to subtract; zero where the axis has none."""
    axes = over(axis, x.ndim)
    if any(is_zero(x.shape[a]) for a in axes):
        return full(kept_shape(x.shape, axes), 0, x.dtype)
    return stop_gradient(max(x, axis=axis, keepdims=True))


class OverAxes(FloatComposite):
    """A number of what lies along axes, which are dropped; `slope` says how it moves with each element."""

    axes: tuple[int, ...]

    def slope(self, y: Value, x: Value) -> Value:
        """dy/dx, of the shape of x."""
        raise NotImplementedError(self.name)

    def type(self, *x: Type) -> Type:
        axes = axes_of(self.axes, x[0].ndim)
        return super().type(*x).with_shape(tuple(n for k, n in enumerate(x[0].shape) if k not in axes))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return expand_dims(g, axes_of(self.axes, x[0].ndim)) * self.slope(y, x[0]),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return sum(dx[0] * self.slope(y, x[0]), axis=self.axes)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return replace(self, axes=further(self.axes, x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((0, 2)), (Type(float32, (2, 3, 2)),)), (cls((-1,)), (Type(float32, (4,)),))


class LogSumExp(OverAxes):
    """log(sum(exp(x))) over axes, which are dropped; no x overflows."""

    def reference(self, *x: Array) -> Array:
        top: Array = x[0].max(axis=self.axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, np.zeros_like(top))
        return np.log(np.exp(x[0] - top).sum(axis=self.axes)) + top.squeeze(self.axes)

    def expand(self, *x: Value) -> Value:
        top = largest(x[0], self.axes)
        top = Select()(isfinite(top), top, zeros_like(top))
        return sum(log(sum(exp(x[0] - top), axis=self.axes, keepdims=True)) + top, axis=self.axes)

    def slope(self, y: Value, x: Value) -> Value:
        """The softmax over the axes."""
        return exp(x - expand_dims(y, axes_of(self.axes, x.ndim)))


class Norm(OverAxes):
    """sqrt(sum(x * x)) over axes, which are dropped: no square over- or underflows. Where it is 0 so is the derivative.
    """

    def reference(self, *x: Array) -> Array:
        wide = np.abs(x[0].astype(np.float64))
        top = np.asarray(wide.max(axis=self.axes, keepdims=True, initial=0))
        top[~np.isfinite(top) | (top == 0)] = 1
        y = np.sqrt(((wide / top) ** 2).sum(axis=self.axes)) * top.squeeze(self.axes)
        return np.asarray(y).astype(x[0].dtype)

    def expand(self, *x: Value) -> Value:
        if x[0].dtype == float32:
            return cast(sqrt(sum(square(cast(x[0], float64)), axis=self.axes)), float32)
        top = largest(absolute(x[0]), self.axes)
        top = Select()(isfinite(top), Select()(Equal()(top, 0), 1.0, top), 1.0)
        return sum(sqrt(sum(square(x[0] / top), axis=self.axes, keepdims=True)) * top, axis=self.axes)

    def slope(self, y: Value, x: Value) -> Value:
        """The direction of x."""
        y = expand_dims(y, axes_of(self.axes, x.ndim))
        is_zero = Equal()(y, 0)
        return Select()(is_zero, 0.0, x / Select()(is_zero, 1.0, y))


class Normalize(FloatComposite):
    """(x - mean) / sqrt(variance + eps) over axes: the core of layer, group, instance and batch normalisation."""

    axes: tuple[int, ...]
    eps: float

    def reference(self, *x: Array) -> Array:
        centred = x[0] - x[0].mean(axis=self.axes, keepdims=True, dtype=np.float64)
        y = centred / np.sqrt((centred * centred).mean(axis=self.axes, keepdims=True) + self.eps)
        return y.astype(x[0].dtype)

    def expand(self, *x: Value) -> Value:
        centred = x[0] - mean(x[0], axis=self.axes, keepdims=True)
        return centred * rsqrt(mean(square(centred), axis=self.axes, keepdims=True) + self.eps)

    def project(self, t: Value, y: Value, x: Value) -> Value:
        """The derivative applied to t; it is symmetric, so it serves both modes."""
        centred = x - mean(x, axis=self.axes, keepdims=True)
        scale = rsqrt(mean(square(centred), axis=self.axes, keepdims=True) + self.eps)
        along = y * mean(t * y, axis=self.axes, keepdims=True)
        return (t - mean(t, axis=self.axes, keepdims=True) - along) * scale

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self.project(g, y, x[0]),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return self.project(dx[0], y, x[0])

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return replace(self, axes=further(self.axes, x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((-1,), 1e-5), (Type(float32, (2, 5)),)), (cls((0, 2), 1e-3), (Type(float32, (3, 2, 4)),))


class Gelu(FloatComposite):
    """x times the normal distribution function of x; `approximate` uses tanh instead of erf."""

    approximate: bool

    def reference(self, *x: Array) -> Array:
        v = x[0].astype(np.float64)
        inner = np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)) if self.approximate else \
            np.vectorize(math.erf, otypes=[np.float64])(v / math.sqrt(2))
        return np.asarray(v * 0.5 * (1 + inner)).astype(x[0].dtype)

    def expand(self, *x: Value) -> Value:
        v = x[0]
        if self.approximate:
            return v * 0.5 * (tanh((v + square(v) * v * 0.044715) * math.sqrt(2 / math.pi)) + 1)
        return v * 0.5 * (erf(v * math.sqrt(0.5)) + 1)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(False), (Type(float32, (2, 3)),)), (cls(True), (Type(float32, (2, 3)),))


class Silu(FloatComposite):
    """x * sigmoid(x)."""

    def reference(self, *x: Array) -> Array:
        return x[0] * np.exp(-np.logaddexp(x[0].dtype.type(0), -x[0]))

    def expand(self, *x: Value) -> Value:
        return x[0] * sigmoid(x[0])


ALL = (Softmax, LogSoftmax, LogSumExp, Norm, Normalize, Gelu, Silu)
