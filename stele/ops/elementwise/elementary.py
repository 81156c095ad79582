"""Inverse functions, logarithms and powers of other bases, roots and angles."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import float32, float64
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import Binary, FloatUnary, function, meet
from stele.ops.elementwise.unary import cosh, reciprocal, rsqrt, sigmoid, square
from stele.ops.linear import cast


class Asin(FloatUnary):
    """The angle in [-pi/2, pi/2], in radians, whose sine is x; NaN outside of [-1, 1]. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.asin(st.tensor([0.0, 0.5, 1.0, 2.0]))
    tensor([0.       , 0.5235988, 1.5707964,       nan])
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (-0.9, 0.9)

    def reference(self, *x: Array) -> Array: return np.arcsin(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.asin(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return rsqrt((1 - x[0]) * (x[0] + 1)),


class Acos(FloatUnary):
    """The angle in [0, pi], in radians, whose cosine is x; NaN outside of [-1, 1]. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.acos(st.tensor([1.0, 0.5, -1.0, 2.0]))
    tensor([0.       , 1.0471976, 3.1415927,       nan])
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (-0.9, 0.9)

    def reference(self, *x: Array) -> Array: return np.arccos(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.acos(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return -rsqrt((1 - x[0]) * (x[0] + 1)),


class Asinh(FloatUnary):
    """The number whose hyperbolic sine is x, log(x + sqrt(x * x + 1)), without cancellation. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.asinh(st.tensor([0.0, 1.0, -1e30]))
    tensor([  0.       ,   0.8813736, -69.7707   ])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.arcsinh(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.asinh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(cosh(y)),


class Acosh(FloatUnary):
    """The number of 0 or more whose hyperbolic cosine is x; NaN below 1. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.acosh(st.tensor([1.0, 2.0, 0.5]))
    tensor([0.       , 1.3169579,       nan])
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (1.1, 5)

    def reference(self, *x: Array) -> Array: return np.arccosh(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.acosh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return rsqrt(x[0] - 1) * rsqrt(x[0] + 1),


class Atanh(FloatUnary):
    """The number whose hyperbolic tangent is x: an infinity at 1 and -1, NaN beyond. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.atanh(st.tensor([0.0, 0.5, -1.0, 2.0]))
    tensor([0.       , 0.5493061,      -inf,       nan])
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (-0.9, 0.9)

    def reference(self, *x: Array) -> Array: return np.arctanh(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.atanh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal((1 - x[0]) * (x[0] + 1)),


class Log2(FloatUnary):
    """The logarithm of x to base 2: -inf at 0, NaN below it. Integers and bools become float32.

    Exact for powers of 2. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.log2(st.tensor([8.0, 0.0, -1.0])).tolist()
    [3.0, -inf, nan]
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.1, 5)

    def reference(self, *x: Array) -> Array: return np.log2(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.log2(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0]) * (1 / math.log(2)),


class Log10(FloatUnary):
    """The logarithm of x to base 10: -inf at 0, NaN below it. Integers and bools become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.log10(st.tensor([1000.0, 0.0, -1.0])).tolist()
    [3.0, -inf, nan]
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.1, 5)

    def reference(self, *x: Array) -> Array: return np.log10(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.log10(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0]) * (1 / math.log(10)),


class Exp2(FloatUnary):
    """The power 2 ** x, exact for whole x. Integers and bools become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.exp2(st.tensor([-1.0, 0.5, 10.0]))
    tensor([5.0000000e-01, 1.4142135e+00, 1.0240000e+03])
    """

    def reference(self, *x: Array) -> Array: return np.exp2(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.exp2(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * math.log(2),


class Cbrt(FloatUnary):
    """The cube root of x, negative where x is. Integers become float32. The derivative at 0 is inf.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.cbrt(st.tensor([27.0, -8.0])).tolist()
    [3.0, -2.0]
    """

    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.cbrt(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.cbrt(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(square(y) * 3),


class FloatBinary(Binary):
    """Two operands, made float32 where they are integers."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return tuple(v if v.dtype.is_float else cast(v, float32) for v in meet(args))


class Atan2(FloatBinary):
    """The angle in [-pi, pi], in radians, of the point (z, x): atan(x / z), in the quadrant that both signs say.

    Shapes and dtypes meet as in `add`; integers become float32. A zero has its sign: atan2(0.0, -0.0) is pi. The
    gradient where both are 0 is 0, as in PyTorch. Raises ShapeError where shapes do not broadcast, DTypeError for
    complex numbers.

    >>> st.atan2(st.tensor([1.0, 1.0, -0.0]), st.tensor([1.0, -1.0, -1.0]))
    tensor([ 0.7853982,  2.3561945, -3.1415927])
    """

    samples: ClassVar[tuple[float, float]] = (0.3, 3)
    def reference(self, *x: Array) -> Array: return np.arctan2(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.atan2(x[0], x[1])

    def partials(self, y: Value, *x: Value) -> Any:
        size = square(x[0]) + square(x[1])
        scale = reciprocal(Select()(Equal()(size, 0), 1.0, size))
        return x[1] * scale, -x[0] * scale


class Hypot(FloatBinary):
    """The length sqrt(x * x + z * z), without an over- or underflow of the squares. Integers become float32.

    inf where either is an infinity, even beside NaN. The gradient where both are 0 is 0. Shapes and dtypes meet as in
    `add`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.hypot(st.tensor([3.0, 3e30]), st.tensor([4.0, 4e30])).tolist()[0]
    5.0
    """

    samples: ClassVar[tuple[float, float]] = (0.3, 3)
    def reference(self, *x: Array) -> Array: return np.hypot(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.hypot(x[0], x[1])

    def partials(self, y: Value, *x: Value) -> Any:
        is_zero = Equal()(y, 0)
        size = Select()(is_zero, 1.0, y)
        return tuple(Select()(is_zero, 0.0, a / size) for a in x)


class LogAddExp(FloatBinary):
    """The number log(exp(x) + exp(z)), where no x or z overflows. Integers become float32.

    Shapes and dtypes meet as in `add`. For more than two along an axis see `logsumexp`. Raises ShapeError where shapes
    do not broadcast, DTypeError for complex numbers.

    >>> st.logaddexp(st.tensor([0.0, 1000.0]), st.tensor([0.0, 1000.0]))
    tensor([6.9314718e-01, 1.0006932e+03])
    """

    def reference(self, *x: Array) -> Array:
        return np.asarray(np.logaddexp(*(a.astype(np.float64) for a in x))).astype(x[0].dtype)

    def scalar(self, s: Scalars[S], *x: S) -> S:
        u, v = (s.cast(e, float64) for e in x)      # the sum cancels where the result is near 0
        apart = s.select(s.eq(u, v), 0.0, abs(u - v))
        y = s.max(u, v) + s.log1p(s.exp(-apart))
        return y if x[0].dtype == float64 else s.cast(y, float32)

    def partials(self, y: Value, *x: Value) -> Any: return sigmoid(x[0] - x[1]), sigmoid(x[1] - x[0])


asin      = function(Asin())
acos      = function(Acos())
asinh     = function(Asinh())
acosh     = function(Acosh())
atanh     = function(Atanh())
log2      = function(Log2())
log10     = function(Log10())
exp2      = function(Exp2())
cbrt      = function(Cbrt())
atan2     = function(Atan2())
hypot     = function(Hypot())
logaddexp = function(LogAddExp())


ALL = (Asin, Acos, Asinh, Acosh, Atanh, Log2, Log10, Exp2, Cbrt, Atan2, Hypot, LogAddExp)
