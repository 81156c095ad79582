"""Powers, whole division and bits."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value
from stele.ir.types import Type, float32
from stele.ops.elementwise.arithmetic import (
    Add,
    Div,
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Neg,
    NotEqual,
    Select,
    Sub,
)
from stele.ops.elementwise.base import Binary, function, needs_integer
from stele.ops.elementwise.unary import log, reciprocal, rsqrt, sqrt, square
from stele.ops.linear import cast, zeros_like


@dataclass(frozen=True)
class Pow(Binary):
    """x to the power z, in floats."""

    samples: ClassVar[tuple[float, float]] = (0.2, 3)

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return tuple(v if v.dtype.is_float else cast(v, float32) for v in super().prepare(*args))

    def reference(self, *x: Array) -> Array: return np.power(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.pow(x[0], x[1])

    def partials(self, y: Value, *x: Value) -> Any:
        positive = x[0] > 0
        return x[1] * self(x[0], x[1] - 1), Select()(positive, y * log(Select()(positive, x[0], 1.0)), zeros_like(y))


@dataclass(frozen=True)
class FloorDivide(Binary):
    """x / z rounded down to a whole number; of integers 0 where z is 0."""

    samples: ClassVar[tuple[float, float]] = (0.5, 5)
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.floor(x[0] / x[1]) if floats(x) else np.floor_divide(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return s.floor(x[0] / x[1]) if x[0].dtype.is_float else s.idiv(x[0], x[1])


@dataclass(frozen=True)
class Remainder(Binary):
    """x - z * floor(x / z): it has the sign of z; of integers 0 where z is 0."""

    samples: ClassVar[tuple[float, float]] = (0.5, 5)
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array:
        return x[0] - x[1] * np.floor(x[0] / x[1]) if floats(x) else np.remainder(x[0], x[1])

    def scalar(self, s: Any, *x: Any) -> Any:
        if x[0].dtype.is_float:
            return x[0] - x[1] * s.floor(x[0] / x[1])
        return s.select(s.eq(x[1], 0), 0, x[0] - x[1] * s.idiv(x[0], x[1]))

    def partials(self, y: Value, *x: Value) -> Any: return 1, -FloorDivide()(x[0], x[1])


def floats(x: tuple[Array, ...]) -> bool:
    """Whether operands are neither bool nor integer."""
    return x[0].dtype.kind not in "biu"


@dataclass(frozen=True)
class Bits(Binary):
    """Two operands of one bool or integer dtype."""

    def type(self, *x: Type) -> Type:
        needs_integer(self, x[0].dtype)
        return x[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([12, -7, 5], np.int32), np.array([10, 3, 0], np.int32))), \
               (cls(), (np.array([True, True, False]), np.array([True, False, False])))


@dataclass(frozen=True)
class And(Bits):
    """Bits that both have."""

    def reference(self, *x: Array) -> Array: return np.bitwise_and(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] & x[1]


@dataclass(frozen=True)
class Or(Bits):
    """Bits that either has."""

    def reference(self, *x: Array) -> Array: return np.bitwise_or(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] | x[1]


@dataclass(frozen=True)
class Xor(Bits):
    """Bits that differ."""

    def reference(self, *x: Array) -> Array: return np.bitwise_xor(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] ^ x[1]


@dataclass(frozen=True)
class Shift(Bits):
    """An integer moved by 0 to bits-1 places."""

    def type(self, *x: Type) -> Type:
        needs_integer(self, x[0].dtype, with_bool=False)
        return x[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([12, -7, 5], np.int32), np.array([1, 3, 0], np.int32))), \
               (cls(), (np.array([12, 2**32 - 7], np.uint32), np.array([1, 5], np.uint32)))


@dataclass(frozen=True)
class ShiftLeft(Shift):
    """x * 2**z, wrapping."""

    def reference(self, *x: Array) -> Array: return np.left_shift(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] << x[1]


@dataclass(frozen=True)
class ShiftRight(Shift):
    """x / 2**z rounded down; unsigned dtypes shift zeros in."""

    def reference(self, *x: Array) -> Array: return np.right_shift(x[0], x[1])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] >> x[1]


add           = function(Add(), "add")
subtract      = function(Sub(), "subtract")
multiply      = function(Mul(), "multiply")
divide        = function(Div(), "divide")
negative      = function(Neg(), "negative")
maximum       = function(Maximum(), "maximum")
minimum       = function(Minimum(), "minimum")
equal         = function(Equal(), "equal")
not_equal     = function(NotEqual(), "not_equal")
less          = function(Less(), "less")
less_equal    = function(LessEqual(), "less_equal")
greater       = function(Greater(), "greater")
greater_equal = function(GreaterEqual(), "greater_equal")
floor_divide  = function(FloorDivide(), "floor_divide")
remainder     = function(Remainder(), "remainder")
logical_and   = function(And(), "logical_and")
logical_or    = function(Or(), "logical_or")
logical_xor   = function(Xor(), "logical_xor")
shift_left    = function(ShiftLeft(), "shift_left")
shift_right   = function(ShiftRight(), "shift_right")
where         = function(Select(), "where")

POWERS: dict[float, Callable[[Value], Value]] = {
    0.5: sqrt, -0.5: rsqrt, 1: lambda x: x, 2: square, 3: lambda x: square(x) * x, -1: reciprocal,
    4: lambda x: square(square(x)), -2: lambda x: square(reciprocal(x)),
}


def pow(x: Any, z: Any) -> Value:
    """x to the power z; a small number as exponent becomes products or roots."""
    return POWERS[z](x) if isinstance(x, Value) and isinstance(z, int | float) and z in POWERS else Pow()(x, z)


def clip(x: Value, *, low: Any = None, high: Any = None) -> Value:
    """x held between low and high."""
    x = x if low is None else Maximum()(x, low)
    return x if high is None else Minimum()(x, high)


ALL = (Pow, FloorDivide, Remainder, And, Or, Xor, ShiftLeft, ShiftRight)
