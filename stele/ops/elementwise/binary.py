"""Powers, whole division and bits."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError
from stele.ir.graph import Array, Value, literal
from stele.ir.scalars import S, Scalars
from stele.ir.types import bool_, float32, highest, lowest, uint8
from stele.ops.arguments import choice, whole
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
from stele.ops.elementwise.base import Binary, Operand, function, meet
from stele.ops.elementwise.unary import Round, Trunc, log, reciprocal, rsqrt, sqrt, square
from stele.ops.linear import cast, ones_like, zeros_like


class Pow(Binary):
    """x to the power z. Integers wrap; to a negative power they are 0, but for 1 and -1."""

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.2, 3)

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return tuple(cast(v, uint8) if v.dtype == bool_ else v for v in super().prepare(*args))

    def reference(self, *x: Array) -> Array:
        if floats(x) or not (x[1] < 0).any():
            return np.power(x[0], x[1])
        return np.where(x[1] >= 0, np.power(x[0], np.abs(x[1])), np.where(np.abs(x[0]) == 1, x[0] ** (x[1] & 1), 0))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        return s.pow(x[0], x[1]) if x[0].dtype.is_float else whole_power(s, x[0], x[1])

    def partials(self, y: Value, *x: Value) -> Any:
        none = Equal()(x[0], 0)
        if not x[1].dtype.is_complex:       # which have no order
            none = And()(none, x[1] >= 0)
        return Select()(Equal()(x[1], 0), 0.0, x[1] * self(x[0], x[1] - 1)), \
            Select()(none, zeros_like(y), y * log(Select()(none, 1.0, x[0])))


def whole_power(s: Scalars[S], x: S, z: S) -> S:
    """Integers to the power of integers: squares of x where z has a bit; few exponents have more than the first six."""
    signed = x.dtype.kind == "i"
    lost = (z < 0) & s.ne(x, 1) & s.ne(x, -1) if signed else None

    def squares(y: S, x: S, first: int, last: int) -> tuple[S, S]:
        for k in range(first, last):
            y = s.select(s.ne(z & (1 << k), 0), y * x, y)
            x = x * x
        return y, x

    y, more = squares(x * 0 + 1, x, 0, 6)
    y = s.rare(s.ne(z >> 6, 0), lambda: squares(y, more, 6, x.dtype.bits - signed)[0], y)
    return y if lost is None else s.select(lost, 0, y)


class FloorDivide(Binary):
    """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`.

    Integers stay integers, and are 0 where z is 0 (NumPy's rule); an infinity over a number stays one, and a number
    over an infinity is a zero (the array API standard's rule, where NumPy has NaN and -1). The derivative is 0. Raises
    DTypeError for two bools.

    >>> st.floor_divide(st.tensor([7, -7, 7]), st.tensor([2, 2, 0])).tolist()
    [3, -4, 0]
    """

    samples: ClassVar[tuple[float, float]] = (0.5, 5)
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array:
        y = np.floor_divide(x[0], x[1])
        return np.where(np.isinf(x[0]) | np.isinf(x[1]), x[0] / x[1], y).astype(y.dtype) if floats(x) else y

    def scalar(self, s: Scalars[S], *x: S) -> S: return (s.quotient if x[0].dtype.is_float else s.idiv)(x[0], x[1])


class Remainder(Binary):
    """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`.

    Where z is 0 integers give 0 and floats NaN (NumPy's rule). Raises DTypeError for two bools.

    >>> st.remainder(st.tensor([7, -7, 7]), st.tensor([3, 3, -3])).tolist()
    [1, 2, -2]
    """

    samples: ClassVar[tuple[float, float]] = (0.5, 5)
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.remainder(x[0], x[1])

    def scalar(self, s: Scalars[S], *x: S) -> S:
        if x[0].dtype.is_float:
            return s.remainder(x[0], x[1])
        return s.select(s.eq(x[1], 0), 0, x[0] - x[1] * s.idiv(x[0], x[1]))

    def partials(self, y: Value, *x: Value) -> Any: return 1, -FloorDivide()(x[0], x[1])


def floats(x: tuple[Array, ...]) -> bool:
    """Whether operands are neither bool nor integer."""
    return x[0].dtype.kind not in "biu"


class AtLeast(Maximum):
    """The larger of x and a bound z; where they tie, the gradient is that of x alone."""

    def partials(self, y: Value, *x: Value) -> Any:
        return cast(GreaterEqual()(x[0], x[1]), y.dtype), cast(Less()(x[0], x[1]), y.dtype)


class AtMost(Minimum):
    """The smaller of x and a bound z; where they tie, the gradient is that of x alone."""

    def partials(self, y: Value, *x: Value) -> Any:
        return cast(LessEqual()(x[0], x[1]), y.dtype), cast(Greater()(x[0], x[1]), y.dtype)


class Bits(Binary):
    """Two operands of one bool or integer dtype."""

    of_float: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([12, -7, 5], np.int32), np.array([10, 3, 0], np.int32))), \
               (cls(), (np.array([True, True, False]), np.array([True, False, False])))


class And(Bits):
    """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_and(st.tensor([12, 5]), 10).tolist()
    [8, 0]
    """

    def reference(self, *x: Array) -> Array: return np.bitwise_and(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] & x[1]


class Or(Bits):
    """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_or(st.tensor([12, 5]), 10).tolist()
    [14, 15]
    """

    def reference(self, *x: Array) -> Array: return np.bitwise_or(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] | x[1]


class Xor(Bits):
    """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_xor(st.tensor([12, 5]), 10).tolist()
    [6, 15]
    """

    def reference(self, *x: Array) -> Array: return np.bitwise_xor(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] ^ x[1]


class Shift(Bits):
    """An integer moved by 0 to bits-1 places."""

    of_bool: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([12, -7, 5], np.int32), np.array([1, 3, 0], np.int32))), \
               (cls(), (np.array([12, 2**32 - 7], np.uint32), np.array([1, 5], np.uint32)))


class ShiftLeft(Shift):
    """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z.

    A shift by the width of the dtype or more leaves 0. x and z broadcast. Raises DTypeError for floats and bools.

    >>> st.bitwise_left_shift(st.tensor([1, -3]), 4).tolist()
    [16, -48]
    """

    def reference(self, *x: Array) -> Array: return np.left_shift(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] << x[1]


class ShiftRight(Shift):
    """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z.

    Signed dtypes keep their sign, unsigned ones shift zeros in. x and z broadcast. Raises DTypeError for floats and
    bools.

    >>> st.bitwise_right_shift(st.tensor([17, -3]), 1).tolist()
    [8, -2]
    """

    def reference(self, *x: Array) -> Array: return np.right_shift(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] >> x[1]


sum_of        = function(Add(), "add")           # as operators, without the keywords of the functions below
difference    = function(Sub(), "subtract")
quotient      = function(Div(), "divide")
multiply      = function(Mul(), "multiply")
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
bitwise_and   = function(And(), "bitwise_and")
bitwise_or    = function(Or(), "bitwise_or")
bitwise_xor   = function(Xor(), "bitwise_xor")
shift_left    = function(ShiftLeft(), "bitwise_left_shift")
shift_right   = function(ShiftRight(), "bitwise_right_shift")

def rooted(x: Value) -> Value:
    """What x ** 0.5 is the root of: of real numbers it is 0 at -0 and inf at -inf, where a root is -0 and NaN."""
    return x if x.dtype.is_complex else Select()(Equal()(x, -math.inf), math.inf, x) + 0.0


POWERS: dict[float, Callable[[Value], Value]] = {
    0.5: lambda x: sqrt(rooted(x)), -0.5: lambda x: rsqrt(rooted(x)),
    1: lambda x: x, 2: square, 3: lambda x: square(x) * x, -1: reciprocal,
    4: lambda x: square(square(x)), -2: lambda x: square(reciprocal(x)),
}


OPERANDS: tuple[Any, ...] = Value, int, float, complex, np.generic


def times(z: Operand, alpha: float) -> Operand:
    """z * `alpha`; what is no operand is left for the op to refuse."""
    is_operand = isinstance(z, OPERANDS) and not (isinstance(z, int) and z.bit_length() > 1023)     # no float
    return z * alpha if alpha != 1 and is_operand else z


def add(x: Operand, z: Operand, *, alpha: float = 1) -> Value:
    """The sum x + z, or x + `alpha` * z, elementwise, broadcast by NumPy's rule.

    Two arrays meet in the dtype that holds both (int32 and float16 in float16, float16 and bfloat16 in float32); a
    Python number takes the array's dtype, where a float among integers makes float32. Integers wrap; bools are joined
    by or. Raises ShapeError where the shapes do not broadcast.

    >>> st.add(st.tensor([[1], [2]]), st.tensor([10, 20])).tolist()
    [[11, 21], [12, 22]]
    >>> (st.tensor([1, 2]) + 0.5).dtype
    float32
    """
    return Add()(x, times(z, alpha))


def subtract(x: Operand, z: Operand, *, alpha: float = 1) -> Value:
    """The difference x - z, or x - `alpha` * z, elementwise; shapes and dtypes meet as in `add`.

    Raises DTypeError for two bools.

    >>> st.subtract(st.tensor([5, 7]), 2).tolist()
    [3, 5]
    """
    return Sub()(x, times(z, alpha))


def divide(x: Operand, z: Operand, *, rounding_mode: str | None = None) -> Value:
    """The quotient x / z, elementwise, a float: integers and bools become float32. Shapes meet as in `add`.

    By IEEE 754, x / 0 is an infinity and 0 / 0 is NaN. Rounded to whole numbers down under `rounding_mode` "floor",
    which is `floor_divide`, and towards 0 under "trunc": then integers stay integers. Raises OptionError for another
    mode.

    >>> st.divide(st.tensor([1, 2, 0]), st.tensor([2, 0, 0])).tolist()
    [0.5, inf, nan]
    >>> st.divide(st.tensor([7, -7]), 2, rounding_mode="trunc").tolist()
    [3, -3]
    """
    if rounding_mode is None:
        return Div()(x, z)
    if choice(rounding_mode, "rounding_mode", ("floor", "trunc")) == "floor":
        return FloorDivide()(x, z)
    a, b = meet((x, z))
    if a.dtype.is_float:
        return Trunc()(Div()(a, b))
    y = FloorDivide()(a, b)
    is_off = And()(NotEqual()(y * b, a), NotEqual()(a < 0, b < 0))
    return y + cast(And()(is_off, NotEqual()(b, 0)), y.dtype)


def round(x: Operand, *, decimals: int = 0) -> Value:
    """The nearest whole number, or the nearest with so many `decimals`, a half to the even one, in the dtype of x.

    Negative decimals are tens, hundreds and so on, of integers too (NumPy's rules). The derivative is 0. x has any
    shape. Raises ArgumentError for decimals that are no whole number, DTypeError for what is no number.

    >>> st.round(st.tensor([0.5, 1.5, 2.5, -0.7])).tolist()
    [0.0, 2.0, 2.0, -1.0]
    >>> st.round(st.tensor([1.26, 1.74]), decimals=1).tolist() == st.tensor([1.3, 1.7]).tolist()
    True
    >>> st.round(st.tensor([14, 15, 25, 26]), decimals=-1).tolist()
    [10, 20, 20, 30]
    """
    x = x if isinstance(x, Value) else literal(x)
    by = 10 ** abs(whole(decimals, "decimals of round", -308, 308))
    if decimals == 0 or not (x.dtype.is_float or decimals < 0):
        return Round()(x)
    if x.dtype.is_float:
        return Round()(x * float(by)) / float(by) if decimals > 0 else Round()(x / float(by)) * float(by)
    if by > highest(x.dtype):
        return zeros_like(x)
    y = FloorDivide()(x, by)
    rest = x - y * by
    is_up = Or()(rest > by // 2, And()(Equal()(rest, by // 2), NotEqual()(y & 1, 0)))
    return (y + cast(is_up, y.dtype)) * by


def pow(x: Operand, z: Operand) -> Value:
    """The power x ** z, elementwise; shapes and dtypes meet as in `add`.

    Integers to the power of integers stay integers, and wrap; a float exponent makes them float32. A negative base has
    powers of whole z only, others are NaN; z = 0 gives 1, even of NaN. Raises DTypeError for integers to a negative
    Python number; by an array of exponents those are 0, but for bases 1 and -1. The gradient in z is 0 where x is 0.

    >>> st.pow(st.tensor([2, 3]), 3).tolist(), st.pow(st.tensor([4, 9]), 0.5).tolist()
    ([8, 27], [2.0, 3.0])
    """
    z = int(z) if isinstance(z, np.integer) else z  # type: ignore[arg-type]
    if not isinstance(x, Value) or not isinstance(z, int | float):
        return Pow()(x, z)
    if isinstance(z, float) and not x.dtype.is_float:
        x = cast(x, float32)
    if x.dtype.is_float:
        return POWERS[z](x) if z in POWERS else Pow()(x, z)
    if z < 0:
        raise DTypeError(f"{x.dtype} to the power {z}: integers to negative powers are no integers",
                         hint=f"Write x ** {float(z)}.")
    (x, _), y = meet((x, z)), ones_like(x)
    for bit in f"{z:b}":
        y = square(y) * x if bit == "1" else square(y)
    return y


def where(condition: Operand, x: Operand, z: Operand) -> Value:
    """The elements of x where the condition holds, else those of z, all three broadcast."""
    return Select()(condition, x, z)


def clip(x: Value, *, min: Operand | None = None, max: Operand | None = None) -> Value:
    """The elements of x held between `min` and `max`, numbers or arrays; None, the default, bounds nothing.

    max where min > max, NaN where x is NaN (NumPy's rules). The derivative is 1 from bound to bound, both included,
    as in PyTorch. Of integers, a min below their dtype and a max above it bound nothing, and a float bound makes
    float32. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.clip(st.tensor([-2.0, 0.5, 9.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    >>> st.clip(st.tensor([1, 5, 9]), min=4).tolist()
    [4, 5, 9]
    """
    if min is not None and not (is_whole(x, min) and min <= lowest(x.dtype)):
        x = AtLeast()(x, min)
    if max is not None and not (is_whole(x, max) and max >= highest(x.dtype)):
        x = AtMost()(x, max)
    return x


def is_whole(x: Value, bound: Any) -> bool:
    """Whether integers meet a whole number."""
    return x.dtype.kind in "ui" and isinstance(bound, int | np.integer)


def logical_and(x: Operand, z: Operand) -> Value:
    """Whether both x and z are true, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_and(st.tensor([0, 1, 2]), st.tensor([True, False, True])).tolist()
    [False, False, True]
    """
    return And()(*truths(x, z))


def logical_or(x: Operand, z: Operand) -> Value:
    """Whether x or z or both are true, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_or(st.tensor([0, 1, 2]), st.tensor([False, False, True])).tolist()
    [False, True, True]
    """
    return Or()(*truths(x, z))


def logical_xor(x: Operand, z: Operand) -> Value:
    """Whether one of x and z is true and the other is not, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_xor(st.tensor([0, 1, 2]), st.tensor([True, False, True])).tolist()
    [True, True, False]
    """
    return Xor()(*truths(x, z))


def truths(*args: Any) -> tuple[Value, ...]:
    """Operands as bools."""
    return tuple(cast(v if isinstance(v, Value) else literal(v), bool_) for v in args)


ALL = (Pow, FloorDivide, Remainder, AtLeast, AtMost, And, Or, Xor, ShiftLeft, ShiftRight)
