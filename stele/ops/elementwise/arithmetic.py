"""Arithmetic, comparison and choice."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value
from stele.ir.types import Type, bool_, float32
from stele.ops.elementwise.base import Binary, Compare, Ternary, Unary, meet
from stele.ops.linear import broadcast, cast, zeros_like


class Add(Binary):
    """x + z."""

    def reference(self, *x: Array) -> Array: return np.add(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] + x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1, 1


class Sub(Binary):
    """x - z."""

    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.subtract(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] - x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1, -1


class Mul(Binary):
    """x * z."""

    def reference(self, *x: Array) -> Array: return np.multiply(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] * x[1]
    def partials(self, y: Value, *x: Value) -> Any: return x[1], x[0]


class Div(Binary):
    """x / z, in floats."""

    samples: ClassVar[tuple[float, float]] = (0.3, 3)

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return tuple(v if v.dtype.is_float else cast(v, float32) for v in meet(args))

    def reference(self, *x: Array) -> Array: return np.divide(x[0], x[1]).astype(x[0].dtype)
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] / x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1 / x[1], -y / x[1]


class Neg(Unary):
    """The negative, -x."""

    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.negative(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return -x[0]
    def partials(self, y: Value, *x: Value) -> Any: return -1,


class Maximum(Binary):
    """The larger of x and z; NaN if either is NaN; ties share the gradient evenly."""

    def reference(self, *x: Array) -> Array: return np.maximum(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.max(x[0], x[1])
    def partials(self, y: Value, *x: Value) -> Any: return winner(x[0], x[1]), winner(x[1], x[0])


class Minimum(Binary):
    """The smaller of x and z; NaN if either is NaN; ties share the gradient evenly."""

    def reference(self, *x: Array) -> Array: return np.minimum(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.min(x[0], x[1])
    def partials(self, y: Value, *x: Value) -> Any: return winner(x[1], x[0]), winner(x[0], x[1])


def winner(x: Value, z: Value) -> Value:
    """1 where x > z, a half where they tie, else 0."""
    return cast(Greater()(x, z), x.dtype) + cast(Equal()(x, z), x.dtype) * 0.5


class Less(Compare):
    """x < z."""

    rounding: ClassVar[Any] = math.floor, math.ceil

    def reference(self, *x: Array) -> Array: return np.less(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] < x[1]


class LessEqual(Compare):
    """x <= z."""

    rounding: ClassVar[Any] = math.ceil, math.floor

    def reference(self, *x: Array) -> Array: return np.less_equal(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] <= x[1]


class Greater(Compare):
    """x > z."""

    rounding: ClassVar[Any] = math.ceil, math.floor

    def reference(self, *x: Array) -> Array: return np.greater(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] > x[1]


class GreaterEqual(Compare):
    """x >= z."""

    rounding: ClassVar[Any] = math.floor, math.ceil

    def reference(self, *x: Array) -> Array: return np.greater_equal(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] >= x[1]


class Equal(Compare):
    """x == z."""

    def reference(self, *x: Array) -> Array: return np.equal(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.eq(x[0], x[1])


class NotEqual(Compare):
    """x != z."""

    def reference(self, *x: Array) -> Array: return np.not_equal(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.ne(x[0], x[1])


class Select(Ternary):
    """x where the condition holds, else z: Select()(condition, x, z)."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, z = meet(args[1:])
        (c,) = meet(args[:1])
        c, x, z = (broadcast(v, meet((cast(c, x.dtype), x))[0].shape) for v in (c, x, z))
        return cast(c, bool_), x, z

    def type(self, *x: Type) -> Type:
        return x[1]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([True, False, True]), Type(float32, (3,)), Type(float32, (3,)))),

    def reference(self, *x: Array) -> Array: return np.where(x[0], x[1], x[2])
    def scalar(self, s: Any, *x: Any) -> Any: return s.select(x[0], x[1], x[2])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return None, self(x[0], g, zeros_like(g)), self(x[0], zeros_like(g), g)

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        if dx[1] is None and dx[2] is None:
            return None
        return self(x[0], *(zeros_like(v) if t is None else t for t, v in zip(dx[1:], x[1:])))


ALL = (Add, Sub, Mul, Div, Neg, Maximum, Minimum, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, Select)
