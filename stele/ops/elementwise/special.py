"""Special functions: gamma and its kin, Bessel functions, the normal distribution, and products with a logarithm."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import Type, float32
from stele.ops.arguments import whole
from stele.ops.elementwise import references
from stele.ops.elementwise.arithmetic import Equal, LessEqual, Select
from stele.ops.elementwise.base import FloatUnary, Operand, function, meet
from stele.ops.elementwise.binary import clip, logical_and, maximum
from stele.ops.elementwise.elementary import FloatBinary, exp2
from stele.ops.elementwise.unary import absolute, cos, exp, isnan, log, log1p, reciprocal, sign, square
from stele.ops.linear import cast

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
MOST_DERIVED = 160      # how often digamma is derived: n! of further derivatives leaves float64 from 171 on


class Lgamma(FloatUnary):
    """The logarithm of the absolute value of the gamma function: inf at 0, -1, -2, ... Integers become float32.

    Its derivative is `digamma`. x has any shape. Raises DTypeError for complex numbers.

    >>> st.lgamma(st.tensor([1.0, 5.0, -0.5, 0.0]))
    tensor([0.       , 3.1780539, 1.2655121,       inf])
    """

    samples: ClassVar[tuple[float, float]] = (0.2, 6)
    def reference(self, *x: Array) -> Array: return references.lgamma(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.lgamma(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return digamma(x[0]),


class Digamma(FloatUnary):
    """The derivative of `lgamma`: -inf at 0, NaN at -1, -2, ... Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.digamma(st.tensor([1.0, 2.0, 0.0, -1.0]))
    tensor([-0.5772157 ,  0.42278433,        -inf,         nan])
    """

    samples: ClassVar[tuple[float, float]] = (0.2, 6)
    def reference(self, *x: Array) -> Array: return references.digamma(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.digamma(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return Polygamma(1)(x[0]),


class Polygamma(FloatUnary):
    """Derivative number n of `digamma`, for n of 1 or more."""

    n: int
    samples: ClassVar[tuple[float, float]] = (0.5, 6)

    def reference(self, *x: Array) -> Array: return references.polygamma(x[0], self.n)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.polygamma(x[0], self.n)
    def partials(self, y: Value, *x: Value) -> Any: return Polygamma(self.n + 1)(x[0]),

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1), (Type(float32, (2, 3)),)), (cls(3), (Type(float32, (4,)),))


class Zeta(FloatBinary):
    """The sum of 1 / (k + z) ** x over k = 0, 1, 2, ..., the zeta function of Hurwitz; Riemann's for z = 1.

    inf at x = 1 and, for x above 1, at its poles z = 0, -1, -2, ... NaN for x below 1 and, at other z below 0, for x
    that is not whole. Shapes and dtypes meet as in `add`; integers become float32. Raises ShapeError where shapes do
    not broadcast, DTypeError for complex numbers.

    >>> st.zeta(st.tensor([2.0, 4.0, 1.0]), 1.0)
    tensor([1.6449341, 1.0823232,       inf])
    """

    samples: ClassVar[tuple[float, float]] = (1.5, 5)
    def reference(self, *x: Array) -> Array: return references.zeta(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.zeta(x[0], x[1])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        (of_x,) = d.gradients([references.euler_maclaurin(x[0], x[1])], [g], [x[0]])
        return of_x, g * self.slope(*x)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        of_x = None if dx[0] is None else d.tangents([references.euler_maclaurin(x[0], x[1])], [x[0]], [dx[0]])[0]
        of_z = None if dx[1] is None else dx[1] * self.slope(*x)
        return of_x + of_z if of_x is not None and of_z is not None else of_z if of_x is None else of_x

    def slope(self, x: Value, z: Value) -> Value:
        """The derivative in z."""
        return -x * self(x + 1, z)


class I0(FloatUnary):
    """The modified Bessel function of the first kind and order 0. Integers become float32.

    Overflows to inf beyond 91.9 in float32: for large x see `i0e`. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.i0(st.tensor([0.0, 1.0, -10.0]))
    tensor([1.0000000e+00, 1.2660659e+00, 2.8157168e+03])
    """

    def reference(self, *x: Array) -> Array: return references.bessel(x[0], 0, False)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.i0(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return i1(x[0]),


class I0e(FloatUnary):
    """The product exp(-|x|) * i0(x), which overflows nowhere. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i0e(st.tensor([0.0, 1.0, 1000.0]))
    tensor([1.        , 0.46575963, 0.01261724])
    """

    def reference(self, *x: Array) -> Array: return references.bessel(x[0], 0, True)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.i0e(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return i1e(x[0]) - sign(x[0]) * y,


class I1(FloatUnary):
    """The modified Bessel function of the first kind and order 1, the derivative of `i0`. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i1(st.tensor([0.0, 1.0, -10.0]))
    tensor([ 0.0000000e+00,  5.6515908e-01, -2.6709883e+03])
    """

    def reference(self, *x: Array) -> Array: return references.bessel(x[0], 1, False)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.i1(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return i0(x[0]) - beside_zero(y, x[0]),


class I1e(FloatUnary):
    """The product exp(-|x|) * i1(x), which overflows nowhere. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i1e(st.tensor([0.0, 1.0, 1000.0]))
    tensor([0.        , 0.20791042, 0.01261093])
    """

    def reference(self, *x: Array) -> Array: return references.bessel(x[0], 1, True)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.i1e(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return i0e(x[0]) - sign(x[0]) * y - beside_zero(y, x[0]),


def beside_zero(y: Value, x: Value) -> Value:
    """y / x, and its limit 1/2 at 0."""
    is_zero = Equal()(x, 0)
    return Select()(is_zero, 0.5, y / Select()(is_zero, 1.0, x))


class Erfinv(FloatUnary):
    """The number whose `erf` is x: infinities at 1 and -1, NaN beyond. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erfinv(st.tensor([0.0, 0.5, -1.0, 2.0]))
    tensor([0.        , 0.47693628,       -inf,        nan])
    """

    samples: ClassVar[tuple[float, float]] = (-0.9, 0.9)
    def reference(self, *x: Array) -> Array: return references.erfinv(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.erfinv(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(square(y)) * (ROOT_PI / 2),


class Erfcx(FloatUnary):
    """The product exp(x * x) * erfc(x), which falls as 1 / x where erfc vanishes. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erfcx(st.tensor([0.0, 1.0, 1000.0]))
    tensor([1.0000000e+00, 4.2758358e-01, 5.6418933e-04])
    """

    def reference(self, *x: Array) -> Array: return references.erfcx(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.erfcx(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return x[0] * y * 2 - 2 / ROOT_PI,


class Ndtr(FloatUnary):
    """The probability that a standard normal number is below x. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.ndtr(st.tensor([0.0, 1.0, -10.0]))
    tensor([5.0000000e-01, 8.4134477e-01, 7.6198530e-24])
    """

    def reference(self, *x: Array) -> Array: return references.ndtr(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.ndtr(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(square(x[0]) * -0.5) * (1 / ROOT_TWO_PI),


class LogNdtr(FloatUnary):
    """The logarithm of the probability that a standard normal number is below x. Integers become float32.

    Finite also where `ndtr(x)` is 0. x has any shape. Raises DTypeError for complex numbers.

    >>> st.log_ndtr(st.tensor([0.0, -100.0]))
    tensor([-6.9314718e-01, -5.0055244e+03])
    """

    def reference(self, *x: Array) -> Array: return references.log_ndtr(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.log_ndtr(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return math.sqrt(2 / math.pi) / erfcx(x[0] * -math.sqrt(0.5)),


class Ndtri(FloatUnary):
    """The number below which a standard normal one is with probability x: the inverse of `ndtr`.

    -inf at 0, inf at 1, NaN outside of them. Integers become float32. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.ndtri(st.tensor([0.5, 0.975, 0.0]))
    tensor([0.      , 1.959964,     -inf])
    """

    samples: ClassVar[tuple[float, float]] = (0.1, 0.9)
    def reference(self, *x: Array) -> Array: return references.ndtri(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.ndtri(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(square(y) * 0.5) * ROOT_TWO_PI,


class Sinc(FloatUnary):
    """The quotient sin(pi x) / (pi x), and 1 at 0: 0 at every other whole number. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.sinc(st.tensor([0.0, 0.5, 1.0]))
    tensor([1.        , 0.63661975, 0.        ])
    """

    def reference(self, *x: Array) -> Array: return references.sinc(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.sinc(x[0])

    def partials(self, y: Value, *x: Value) -> Any:
        z, is_small = square(x[0] * math.pi), absolute(x[0]) < 0.1
        series = x[0] * (((z * (1 / 280) - 1 / 10) * z + 1) * (-math.pi ** 2 / 3))
        return Select()(is_small, series, (cos(x[0] * math.pi) - y) / Select()(is_small, 1.0, x[0])),


class Logit(FloatUnary):
    """The number whose `sigmoid` is x, log(x / (1 - x))."""

    samples: ClassVar[tuple[float, float]] = (0.1, 0.9)

    def reference(self, *x: Array) -> Array:
        middle = np.abs(x[0] - 0.5) < 0.25
        return np.where(middle, 2 * np.arctanh(np.where(middle, x[0] + x[0] - 1, 0)), np.log(x[0] / (1 - x[0])))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        middle = abs(x[0] - 0.5) < 0.25
        near = s.atanh(s.select(middle, x[0] + x[0] - 1, 0.0))
        return s.select(middle, near + near, s.log(x[0] / (1 - x[0])))

    def partials(self, y: Value, *x: Value) -> Any: return Select()(isnan(y), y, reciprocal(x[0] * (1 - x[0]))),


class Entr(FloatUnary):
    """The entropy -x * log(x) of each element: 0 at 0, -inf below. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.entr(st.tensor([0.0, 0.5, 1.0]))
    tensor([ 0.        ,  0.34657359, -0.        ])
    """

    samples: ClassVar[tuple[float, float]] = (0.1, 3)

    def reference(self, *x: Array) -> Array:
        y = np.where(x[0] == 0, np.abs(x[0]), np.where(x[0] < 0, -np.inf, -x[0] * np.log(x[0])))
        return y.astype(x[0].dtype)

    def scalar(self, s: Scalars[S], *x: S) -> S:
        y = s.select(x[0] < 0, -math.inf, -x[0] * s.log(x[0]))
        return s.select(s.eq(x[0], 0), abs(x[0]), y)

    def partials(self, y: Value, *x: Value) -> Any: return -log(x[0]) - 1,


class XLogY(FloatBinary):
    """The product x * log(z), and 0 where x is 0, unless z is NaN. Shapes and dtypes meet as in `add`.

    Integers become float32. The gradient is 0 where x is 0 and z is not positive. Raises ShapeError
    where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.xlogy(st.tensor([0.0, 2.0]), st.tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """

    samples: ClassVar[tuple[float, float]] = (0.3, 3)

    def reference(self, *x: Array) -> Array:
        return np.where((x[0] == 0) & (x[1] == x[1]), x[0] * 0, x[0] * np.log(x[1]))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        return s.select(s.eq(x[0], 0) & s.eq(x[1], x[1]), 0.0, x[0] * s.log(x[1]))

    def partials(self, y: Value, *x: Value) -> Any:
        none = logical_and(Equal()(x[0], 0), LessEqual()(x[1], 0))
        z = Select()(none, 1.0, x[1])
        return Select()(none, 0.0, log(z)), x[0] / z


class XLog1py(FloatBinary):
    """The product x * log(1 + z), and 0 where x is 0, unless z is NaN. Shapes and dtypes meet as in `add`.

    Integers become float32. The gradient is 0 where x is 0 and z is -1 or less. Raises ShapeError
    where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.xlog1py(st.tensor([0.0, 2.0]), st.tensor([-1.0, 1e-8]))
    tensor([0.e+00, 2.e-08])
    """

    samples: ClassVar[tuple[float, float]] = (0.3, 3)

    def reference(self, *x: Array) -> Array:
        return np.where((x[0] == 0) & (x[1] == x[1]), x[0] * 0, x[0] * np.log1p(x[1]))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        return s.select(s.eq(x[0], 0) & s.eq(x[1], x[1]), 0.0, x[0] * s.log1p(x[1]))

    def partials(self, y: Value, *x: Value) -> Any:
        none = logical_and(Equal()(x[0], 0), LessEqual()(x[1], -1))
        z = Select()(none, 0.0, x[1])
        return Select()(none, 0.0, log1p(z)), x[0] / (z + 1)


lgamma   = function(Lgamma())
digamma  = function(Digamma())
i0       = function(I0())
i0e      = function(I0e())
i1       = function(I1())
i1e      = function(I1e())
erfinv   = function(Erfinv())
erfcx    = function(Erfcx())
ndtr     = function(Ndtr())
ndtri    = function(Ndtri())
log_ndtr = function(LogNdtr(), "log_ndtr")
sinc     = function(Sinc())
entr     = function(Entr())
zeta     = function(Zeta())
xlogy    = function(XLogY())
xlog1py  = function(XLog1py())


def polygamma(n: int, x: Value) -> Value:
    """Derivative number `n` of `digamma`: itself for 0, trigamma for 1. Integers become float32.

    x has any shape. Raises ShapeError for an n below 0 and above 160: soon after that n! is beyond float64.

    >>> st.polygamma(1, st.tensor([1.0, 2.0]))
    tensor([1.644934 , 0.644934])
    """
    n = whole(n, "n of polygamma", 0, MOST_DERIVED)
    return Polygamma(n)(x) if n else digamma(x)


def logit(x: Value, *, eps: float | None = None) -> Value:
    """The number whose `sigmoid` is x, log(x / (1 - x)): infinities at 0 and 1, NaN outside of them.

    With `eps`, x is first held between eps and 1 - eps. Integers become float32. x has any shape. Raises DTypeError for
    complex numbers.

    >>> st.logit(st.tensor([0.5, 0.0, 0.9]))
    tensor([0.       ,      -inf, 2.1972244])
    """
    return Logit()(x if eps is None else clip(x, min=float(eps), max=1 - float(eps)))


def logaddexp2(x: Operand, z: Operand) -> Value:
    """The number log2(2 ** x + 2 ** z), where no x or z overflows. Integers become float32.

    Shapes and dtypes meet as in `add`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.logaddexp2(st.tensor([0.0, 2000.0]), st.tensor([0.0, 2000.0])).tolist()
    [1.0, 2001.0]
    """
    x, z = (v if v.dtype.is_float else cast(v, float32) for v in meet((x, z)))
    high, low = maximum(x, z), -maximum(-x, -z)
    apart = Select()(Equal()(high, low), 0.0, low - high)
    return high + log1p(exp2(apart)) * (1 / math.log(2))


ALL = (Lgamma, Digamma, Polygamma, Zeta, I0, I0e, I1, I1e, Erfinv, Erfcx, Ndtr, LogNdtr, Ndtri, Sinc, Logit, Entr,
       XLogY, XLog1py)
