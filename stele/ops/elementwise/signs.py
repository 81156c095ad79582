"""What an element is made of: its sign, its neighbours, its exponent, its fraction, what is left of a division."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import DTYPES, DType, Type, complex128, float32, float64, int32, uint32
from stele.ops.elementwise.arithmetic import Div, Equal, Greater, GreaterEqual, LessEqual, NotEqual, Select, Sub
from stele.ops.elementwise.base import Binary, FloatUnary, Operand, function, meet
from stele.ops.elementwise.binary import And, FloorDivide, Or, Pow, clip
from stele.ops.elementwise.elementary import FloatBinary, exp2
from stele.ops.elementwise.unary import Test, Trunc, absolute, isfinite, isnan, sign, trunc
from stele.ops.linear import cast, ones_like, zeros_like


def wide(s: Scalars[S], x: S) -> S:
    """x, as float32 where it is narrower."""
    return x if x.dtype.bits > 16 else s.cast(x, float32)


def bits(s: Scalars[S], x: S) -> S:
    """The bits of a float as a signed integer of its width."""
    return s.bitcast(x, DTYPES[f"int{x.dtype.bits}"])


def is_negative(s: Scalars[S], x: S) -> S:
    """Whether the sign bit is set."""
    return bits(s, wide(s, x)) < 0


class SignBit(Test):
    """Whether the sign bit of x is set, as bools: true for -0.0 too, and for a NaN that has one.

    Integers are true below 0. x has any shape. Raises DTypeError for complex numbers.

    >>> st.signbit(st.tensor([-2.5, -0.0, 0.0, 7.0])).tolist()
    [True, True, False, False]
    """

    def reference(self, *x: Array) -> Array: return np.signbit(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return is_negative(s, x[0])


class CopySign(FloatBinary):
    """The magnitude of x with the sign of z, which a zero and a NaN have too. Integers become float32.

    Shapes and dtypes meet as in `add`. The gradient in z is 0, and in x 0 where x is 0, as in PyTorch. Raises
    ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.copysign(st.tensor([1.0, -2.0]), st.tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

    def reference(self, *x: Array) -> Array: return np.copysign(x[0], x[1])

    def scalar(self, s: Scalars[S], *x: S) -> S:
        magnitude = abs(x[0])
        return s.select(is_negative(s, x[1]), -magnitude, magnitude)

    def partials(self, y: Value, *x: Value) -> Any: return sign(x[0]) * CopySign()(ones_like(x[0]), x[1]), None


class NextAfter(FloatBinary):
    """The number of the dtype that is next to x on the way to z: z where they are equal, NaN if either is.

    Shapes and dtypes meet as in `add`; integers become float32. The gradient is that of x. Raises ShapeError where
    shapes do not broadcast, DTypeError for complex numbers.

    >>> st.nextafter(st.tensor([1.0, 0.0]), st.tensor([2.0, -1.0])).tolist()
    [1.0000001192092896, -1.401298464324817e-45]
    """

    def reference(self, *x: Array) -> Array: return np.where(x[0] == x[1], x[1], np.nextafter(x[0], x[1]))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        half = x[0].dtype.bits == 16
        here = s.cast(s.unpack(x[0]), int32) if half else bits(s, x[0])
        sign = 1 << 15 if half else -(1 << here.dtype.bits - 1)
        is_below, is_positive = x[0] < x[1], s.eq(here & sign, 0)
        step = s.select(is_below ^ is_positive, here - 1, here + 1)
        step = s.select(s.eq(x[0], 0), s.select(is_below, s.constant(1, here.dtype), sign + 1), step)
        y = s.pack(s.cast(step, uint32), x[0].dtype) if half else s.bitcast(step, x[0].dtype)
        y = s.select(s.eq(x[0], x[1]), x[1], y)
        return s.select(s.eq(x[0], x[0]) & s.eq(x[1], x[1]), y, math.nan)

    def partials(self, y: Value, *x: Value) -> Any: return 1, None


class Fmod(Binary):
    """The remainder x - z * trunc(x / z), as C's fmod: it has the sign of x. Shapes and dtypes meet as in `add`.

    Where z is 0 integers give 0 and floats NaN. Raises DTypeError for two bools. For Python's % see `remainder`.

    >>> st.fmod(st.tensor([7, -7, 7]), st.tensor([3, 3, -3])).tolist()
    [1, -1, 1]
    """

    samples: ClassVar[tuple[float, float]] = (0.5, 5)
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.fmod(x[0], x[1])

    def scalar(self, s: Scalars[S], *x: S) -> S:
        if x[0].dtype.is_float:
            return s.fmod(x[0], x[1])
        rest = x[0] - x[1] * s.idiv(x[0], x[1])
        if x[0].dtype.kind == "i":
            rest = s.select(s.ne(rest, 0) & ((rest ^ x[0]) < 0), rest - x[1], rest)
        return s.select(s.eq(x[1], 0), 0, rest)

    def partials(self, y: Value, *x: Value) -> Any: return 1, -Trunc()(Div()(x[0], x[1]))


class Exponent(FloatUnary):
    """The whole number e for which x is m * 2**e with 1/2 <= |m| < 1, as int32; 0 of zeros, infinities and NaN."""

    def type(self, *x: Type) -> Type: return super().type(*x).with_dtype(int32)
    def reference(self, *x: Array) -> Array: return np.frexp(x[0].astype(np.float64))[1] * np.isfinite(x[0])

    def scalar(self, s: Scalars[S], *x: S) -> S:
        a = abs(wide(s, x[0]))
        fraction, bias = (23, 126) if a.dtype == float32 else (52, 1022)
        is_small = a < 2.0 ** (1 - bias)
        field = bits(s, s.select(is_small, a * 2.0 ** (fraction + 1), a)) >> fraction
        e = s.cast(field, int32) - s.select(is_small, s.constant(bias + fraction + 1, int32), bias)
        return s.select((a > 0) & (a < math.inf), e, 0)


signbit   = function(SignBit(), "signbit")
copysign  = function(CopySign())
nextafter = function(NextAfter())
fmod      = function(Fmod())


def spacing(x: Value) -> Value:
    """The distance from x to the next number of its dtype away from 0, below 0 that is negative; NaN of infinities.

    x has any shape; integers become float32. Raises DTypeError for complex numbers.

    >>> st.spacing(st.tensor([1.0, -4.0])).tolist()
    [1.1920928955078125e-07, -4.76837158203125e-07]
    """
    x = x if x.dtype.is_float else cast(x, float32)
    step = nextafter(absolute(x), math.inf) - absolute(x)
    return Select()(x < 0, -step, step)


def positive(x: Value) -> Value:
    """The elements of x themselves: +x. Raises DTypeError for bools.

    x has any shape.

    >>> (+st.tensor([1.5, -2.0])).tolist(), st.positive(st.tensor([3])).tolist()
    ([1.5, -2.0], [3])
    """
    return Sub()(x, zeros_like(x)) if x.dtype.kind == "b" else x


def frac(x: Value) -> Value:
    """The fraction x - trunc(x), of the sign of x; 0 of integers. The derivative is 1.

    x has any shape. Raises DTypeError for complex numbers and bools.

    >>> st.frac(st.tensor([1.75, -1.25])).tolist()
    [0.75, -0.25]
    """
    return x - trunc(x)


def frexp(x: Value) -> tuple[Value, Value]:
    """The mantissas m and exponents e with x = m * 2**e and 1/2 <= |m| < 1; e is int32. Integers become float32.

    Zeros, infinities and NaN are their own mantissas, with exponent 0. The gradient goes through the mantissas. x has
    any shape. Raises DTypeError for complex numbers.

    >>> m, e = st.frexp(st.tensor([8.0, -0.75]))
    >>> m.tolist(), e.tolist()
    ([0.5, -0.75], [4, 0])
    """
    x = x if x.dtype.is_float else cast(x, float32)
    e = Exponent()(x)
    return ldexp(x, -e), e


def ldexp(x: Value, z: Value) -> Value:
    """The number x * 2**z, for whole z, which may be an array; exact where the result is a normal number.

    Integers become float32; x and z broadcast. Raises ShapeError where shapes do not broadcast, DTypeError for complex
    numbers.

    >>> st.ldexp(st.tensor([0.5, -0.75]), st.tensor([4, 0])).tolist()
    [8.0, -0.75]
    """
    x = x if x.dtype.is_float else cast(x, float32)
    most = 3.0 * {"float16": 14, "float64": 1022}.get(x.dtype.name, 126)       # beyond it results are no others
    if not z.dtype.is_complex:
        z = clip(cast(z, float64 if x.dtype == float64 else float32), min=-most, max=most)
    third = FloorDivide()(z, 3)
    part, last = (cast(v, x.dtype) for v in (third, z - third * 2))
    return x * exp2(part) * exp2(last) * exp2(part)


def heaviside(x: Operand, z: Operand) -> Value:
    """The step function of x: 0 below 0, 1 above it, z at 0, NaN of NaN. Shapes and dtypes meet as in `add`.

    The derivative is 0, and 1 in z where x is 0. Raises ShapeError where shapes do not broadcast, DTypeError for
    complex numbers.

    >>> st.heaviside(st.tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    x, z = meet((x, z))
    step = cast(Greater()(x, 0), x.dtype)
    if x.dtype.is_float:
        step = Select()(NotEqual()(x, x), math.nan, step)
    return Select()(Equal()(x, 0), z, step)


def fmax(x: Operand, z: Operand) -> Value:
    """The larger of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`.

    Where they tie it is x, which has the gradient, as in PyTorch. Raises ShapeError where shapes do not broadcast,
    DTypeError for complex numbers.

    >>> st.fmax(st.tensor([1.0, float("nan"), 5.0]), 3.0).tolist()
    [3.0, 3.0, 5.0]
    """
    x, z = meet((x, z))
    return Select()(Or()(GreaterEqual()(x, z), isnan(z)), x, z)


def fmin(x: Operand, z: Operand) -> Value:
    """The smaller of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`.

    Ties as of `fmax`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.fmin(st.tensor([1.0, float("nan"), 5.0]), 3.0).tolist()
    [1.0, 3.0, 3.0]
    """
    x, z = meet((x, z))
    return Select()(Or()(LessEqual()(x, z), isnan(z)), x, z)


def isclose(x: Operand, z: Operand, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """Whether |x - z| <= `atol` + `rtol` * |z|, elementwise, as bools; infinities are close to themselves alone.

    A NaN is close to nothing, but to a NaN with `equal_nan`. Shapes and dtypes meet as in `add`. Raises ShapeError
    where shapes do not broadcast.

    >>> st.isclose(st.tensor([1.0, 2.0, float("inf")]), st.tensor([1.000001, 2.1, float("inf")])).tolist()
    [True, False, True]
    """
    x, z = meet((x, z))
    if x.dtype.is_float:
        near = LessEqual()(absolute(x - z), absolute(z) * rtol + atol)
        close = Or()(Equal()(x, z), And()(near, isfinite(z)))
        return Or()(close, And()(isnan(x), isnan(z))) if equal_nan else close
    wide_x, wide_z = cast(x, float64), cast(z, float64)
    return LessEqual()(absolute(wide_x - wide_z), absolute(wide_z) * rtol + atol)


def isposinf(x: Value) -> Value:
    """Whether each element of x is plus infinity, as bools.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isposinf(st.tensor([float("inf"), float("-inf"), 1.0])).tolist()
    [True, False, False]
    """
    return Equal()(x, math.inf)


def isneginf(x: Value) -> Value:
    """Whether each element of x is minus infinity, as bools.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isneginf(st.tensor([float("inf"), float("-inf"), 1.0])).tolist()
    [False, True, False]
    """
    return Equal()(x, -math.inf)


def nan_to_num(x: Value, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Value:
    """The elements of x, with `nan` for NaN, `posinf` and `neginf` for infinities: the ends of the dtype unless given.

    Integers stay as they are. x has any shape and dtype. Raises ArgumentError for what is neither an array nor a
    number.

    >>> st.nan_to_num(st.tensor([float("nan"), float("inf"), 1.0]), posinf=9).tolist()
    [0.0, 9.0, 1.0]
    """
    if not x.dtype.is_float:
        return x
    most = largest(x.dtype)
    y = Select()(isnan(x), float(nan), x)
    y = Select()(isposinf(x), most if posinf is None else float(posinf), y)
    return Select()(isneginf(x), -most if neginf is None else float(neginf), y)


def largest(dtype: DType) -> float:
    """The largest finite number of a float dtype."""
    fraction, bias = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127)}.get(dtype.name, (52, 1023))
    return (2 - 2.0 ** -fraction) * 2.0 ** bias


def lerp(x: Operand, z: Operand, weight: Operand) -> Value:
    """The number x + `weight` * (z - x) on the way from x to z, exact at both ends. Shapes and dtypes meet as in `add`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.lerp(st.tensor([0.0, 10.0]), st.tensor([4.0, 20.0]), 0.25).tolist()
    [1.0, 12.5]
    """
    x, z, weight = meet((x, z, weight))
    apart = z - x
    return Select()(weight < 0.5, x + weight * apart, z - apart * (1 - weight))


def float_power(x: Operand, z: Operand) -> Value:
    """The power x ** z in float64, whatever the dtypes of x and z; of complex numbers in complex128.

    Raises ShapeError where shapes do not broadcast.

    >>> st.float_power(st.tensor([2, 3]), -1).dtype
    float64
    """
    return Pow()(*(cast(v, complex128 if v.dtype.is_complex else float64) for v in meet((x, z))))


def rad2deg(x: Value) -> Value:
    """Angles in degrees of angles x in radians, x * (180 / pi). Integers become float32.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.rad2deg(st.tensor([0.0, 3.1415927]))
    tensor([  0., 180.])
    """
    return x * (180 / math.pi)


def deg2rad(x: Value) -> Value:
    """Angles in radians of angles x in degrees, x * (pi / 180). Integers become float32.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.deg2rad(st.tensor([0.0, 180.0]))
    tensor([0.       , 3.1415927])
    """
    return x * (math.pi / 180)


ALL = (SignBit, CopySign, NextAfter, Fmod, Exponent)
