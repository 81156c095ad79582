"""Functions of one element."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value, literal
from stele.ir.scalars import S, Scalars
from stele.ir.types import Type, bool_, float32
from stele.ops.elementwise.arithmetic import Equal, LessEqual, Select
from stele.ops.elementwise.base import FloatUnary, Operand, Unary, function
from stele.ops.linear import cast, zeros_like
from stele.ops.parts import conj, expm1_parts, log1p_parts, log_of_next, near_zero

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


class Exp(FloatUnary):
    """The exponential of x, e to the power x. Integers and bools become float32.

    Overflows to inf above 88.7 in float32; errors in units of the last place stand in docs/approximations.md. x has any
    shape and dtype. Raises DTypeError for what is no number.

    >>> st.exp(st.tensor([0.0, 1.0, 100.0]))
    tensor([1.       , 2.7182817,       inf])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.exp(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.exp(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y,


class Expm1(FloatUnary):
    """The number exp(x) - 1, without cancellation where x is near 0. Integers become float32.

    Written out, st.exp(x) - 1 is made this too where a program sees both steps. x has any shape and dtype. Raises
    DTypeError for what is no number.

    >>> st.expm1(st.tensor([1e-6, -100.0]))
    tensor([ 1.0000005e-06, -1.0000000e+00])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return near_zero(x[0], np.expm1, expm1_parts, lambda z: np.exp(z) - 1)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.expm1(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y + 1,


class Log(FloatUnary):
    """The natural logarithm of x: -inf at 0, NaN below it. Integers and bools become float32.

    The derivative is 1 / x wherever it is asked for, also below 0; at 0 it is inf, which times a zero cotangent is NaN:
    choose the argument, not the result (see `where`). x has any shape and dtype. Raises DTypeError for what is no
    number.

    >>> st.log(st.tensor([1.0, 0.0, -1.0])).tolist()
    [0.0, -inf, nan]
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.log(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.log(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0]),


class Log1p(FloatUnary):
    """The number log(1 + x), without losing the digits of a small x to the sum. Integers become float32.

    -inf at -1, NaN below it. Written out, st.log(1 + x) is made this too where a program sees both steps. x has any
    shape and dtype. Raises DTypeError for what is no number.

    >>> st.log1p(st.tensor([1e-8, -1.0]))
    tensor([1.e-08,   -inf])
    >>> float(np.log(np.float32(1) + np.float32(1e-8)))
    0.0
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (-0.9, 5)
    def reference(self, *x: Array) -> Array: return near_zero(x[0], np.log1p, log1p_parts, log_of_next)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.log1p(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0] + 1),


class Sqrt(FloatUnary):
    """The square root of x, correctly rounded; NaN below 0. Integers and bools become float32.

    The derivative at 0 is inf, as in PyTorch: add a small number under the root of what may be 0. x has any shape and
    dtype. Raises DTypeError for what is no number.

    >>> st.sqrt(st.tensor([4, 2]))
    tensor([2.       , 1.4142135])
    >>> st.grad(st.sqrt)(st.tensor(0.0)).tolist()
    inf
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.sqrt(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.sqrt(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return 0.5 / y,


class Rsqrt(FloatUnary):
    """The reciprocal of the square root of x: inf at 0, NaN below it. Integers become float32.

    It is 1 / sqrt(x), two rounded operations, and no approximation of the CPU's. x has any shape and dtype. Raises
    DTypeError for what is no number.

    >>> st.rsqrt(st.tensor([4.0, 0.0])).tolist()
    [0.5, inf]
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return x[0].dtype.type(1) / np.sqrt(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return 1 / s.sqrt(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * y * y * -0.5,


class Sin(FloatUnary):
    """The sine of x, which is in radians; NaN at infinities. Integers become float32.

    Never leaves [-1, 1]; far arguments are reduced by as many digits of pi as they need. x has any shape and dtype.
    Raises DTypeError for what is no number.

    >>> st.sin(st.tensor([0.0, 1.0, 1e10]))
    tensor([ 0.        ,  0.84147096, -0.48750603])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.sin(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.sin(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return cos(x[0]),


class Cos(FloatUnary):
    """The cosine of x, which is in radians; NaN at infinities. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.cos(st.tensor([0.0, 3.1415927])).tolist()
    [1.0, -1.0]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.cos(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.cos(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return -sin(x[0]),


class Tan(FloatUnary):
    """The tangent of x, sin(x) / cos(x), with x in radians. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.tan(st.tensor([0.0, 0.5]))
    tensor([0.       , 0.5463025])
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (-1.3, 1.3)
    def reference(self, *x: Array) -> Array: return np.tan(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.tan(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * y + 1,


class Atan(FloatUnary):
    """The angle in [-pi/2, pi/2], in radians, whose tangent is x. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.atan(st.tensor([0.0, 1.0, float("inf")]))
    tensor([0.       , 0.7853981, 1.5707964])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.arctan(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.atan(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0] * x[0] + 1),


class Tanh(FloatUnary):
    """The hyperbolic tangent of x, from -1 to 1. Integers and bools become float32.

    The derivative is 1 - y * y of the result y. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.tanh(st.tensor([0.0, 1.0, 100.0]))
    tensor([0.       , 0.7615942, 1.       ])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array:
        y: Any = np.array(np.tanh(x[0]))
        z: Any = x[0]
        if y.dtype.kind == "c":     # NumPy's zero has the sign of sin(2 * imag) there
            is_endless = np.isinf(z.real) & np.isfinite(z.imag)
            y.imag = np.where(is_endless, np.copysign(0, z.imag), y.imag)
        return y

    def scalar(self, s: Scalars[S], *x: S) -> S: return s.tanh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return 1 - y * y,


class Sinh(FloatUnary):
    """The hyperbolic sine of x, (exp(x) - exp(-x)) / 2, exact to the last digits near 0 too. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.sinh(st.tensor([1e-4, 1.0]))
    tensor([9.9999990e-05, 1.1752012e+00])
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.sinh(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.sinh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return cosh(x[0]),


class Cosh(FloatUnary):
    """The hyperbolic cosine of x, (exp(x) + exp(-x)) / 2. Integers become float32.

    Finite wherever the result is, also where exp(x) alone overflows. x has any shape and dtype. Raises DTypeError for
    what is no number.

    >>> x = st.tensor([0.0, 89.0])
    >>> st.cosh(x), st.exp(x)
    (tensor([1.0000000e+00, 2.2448066e+38]), tensor([ 1., inf]))
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.cosh(x[0])

    def scalar(self, s: Scalars[S], *x: S) -> S: return s.cosh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return sinh(x[0]),


class Sigmoid(FloatUnary):
    """The logistic function 1 / (1 + exp(-x)), from 0 to 1. Integers and bools become float32.

    No x overflows. For the logarithm of it use `log_sigmoid`, for a loss of it `binary_cross_entropy`: both take x
    itself. x has any shape. Raises DTypeError for complex numbers.

    >>> st.sigmoid(st.tensor([0.0, 2.0, -1000.0]))
    tensor([0.5      , 0.8807971, 0.       ])
    """

    def reference(self, *x: Array) -> Array: return np.where(x[0] < 0, e := np.exp(-np.abs(x[0])), 1) / (1 + e)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.sigmoid(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * (1 - y),


class Erf(FloatUnary):
    """The error function of x, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erf(st.tensor([0.0, 1.0, 10.0]))
    tensor([0.       , 0.8427008, 1.       ])
    """

    def reference(self, *x: Array) -> Array: return np.asarray(ERF(x[0].astype(np.float64))).astype(x[0].dtype)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.erf(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(-square(x[0])) * TWO_OVER_SQRT_PI,


class Erfc(FloatUnary):
    """The number 1 - erf(x), accurate also where erf(x) is near 1 and the difference cancels. Integers become float32.

    From 2 at -inf to 0 at inf. It keeps its digits as long as it is a normal number: to 9.19 in float32, to 26.5 in
    float64. x has any shape. Raises DTypeError for complex numbers.

    >>> x = st.tensor([0.0, 1.0, 9.0])
    >>> st.erfc(x), 1 - st.erf(x)
    (tensor([1.0000000e+00, 1.5729921e-01, 4.1370318e-37]), tensor([1.        , 0.15729922, 0.        ]))
    """

    def reference(self, *x: Array) -> Array: return np.asarray(ERFC(x[0].astype(np.float64))).astype(x[0].dtype)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.erfc(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(-square(x[0])) * -TWO_OVER_SQRT_PI,


ERF, ERFC = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


class Softplus(FloatUnary):
    """The number log(1 + exp(x)), a smooth relu whose derivative is `sigmoid`. Integers become float32.

    Computed as max(x, 0) + log1p(exp(-abs(x))), so that no x overflows. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.softplus(st.tensor([-100.0, 0.0, 100.0]))
    tensor([  0.       ,   0.6931472, 100.       ])
    """

    samples: ClassVar[tuple[float, float]] = (-20, 20)
    def reference(self, *x: Array) -> Array: return np.logaddexp(x[0].dtype.type(0), x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.max(x[0], 0) + s.log1p(s.exp(-abs(x[0])))
    def partials(self, y: Value, *x: Value) -> Any: return sigmoid(x[0]),


class Square(Unary):
    """The square of x, in the dtype of x: integers wrap, bools stay bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.square(st.tensor([-3, 4])).tolist()
    [9, 16]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.multiply(x[0], x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] * x[0]
    def partials(self, y: Value, *x: Value) -> Any: return x[0] * 2,


class Reciprocal(FloatUnary):
    """The reciprocal 1 / x: inf of the sign of a zero. Integers and bools become float32, unlike NumPy's.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.reciprocal(st.tensor([4, 0])).tolist()
    [0.25, inf]
    """

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.2, 5)
    def reference(self, *x: Array) -> Array: return x[0].dtype.type(1) / x[0]
    def scalar(self, s: Scalars[S], *x: S) -> S: return 1 / x[0]
    def partials(self, y: Value, *x: Value) -> Any: return -square(y),


class Relu(Unary):
    """The rectified linear unit: x where it is not negative, else 0, in the dtype of x; a NaN stays.

    The derivative at 0 is 0, as in PyTorch. x has any shape. Raises DTypeError for complex numbers.

    >>> st.relu(st.tensor([-2.0, 0.0, 3.0])).tolist()
    [0.0, 0.0, 3.0]
    >>> st.grad(lambda x: st.relu(x).sum())(st.tensor([-2.0, 0.0, 3.0])).tolist()
    [0.0, 0.0, 1.0]
    """

    def reference(self, *x: Array) -> Array: return np.where(x[0] < 0, x[0].dtype.type(0), x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.select(x[0] < 0, 0, x[0])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Select()(LessEqual()(y, 0), zeros_like(g), g),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return Select()(LessEqual()(y, 0), zeros_like(y), dx[0])


class Abs(Unary):
    """The absolute value of x, in its dtype; the least integer of a dtype stays as it is, since nothing else fits.

    Of complex numbers it is the distance from 0, a real number, which overflows only where it does not fit itself. The
    derivative at 0 is 0, as in PyTorch. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.abs(st.tensor([-2.5, 0.0, 1.0])).tolist()
    [2.5, 0.0, 1.0]
    >>> st.grad(lambda x: st.abs(x).sum())(st.tensor([-2.5, 0.0, 1.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

    of_complex: ClassVar[bool] = True

    def type(self, *x: Type) -> Type: return x[0].with_dtype(x[0].dtype.real)
    def reference(self, *x: Array) -> Array: return np.abs(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return abs(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return conj(sign(x[0])),


class Sign(Unary):
    """The sign of a real number in its own dtype: -1, 0 or 1; a NaN stays."""

    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.sign(x[0]) + x[0].dtype.type(0)

    def scalar(self, s: Scalars[S], *x: S) -> S:
        zero = x[0] + 0     # of either sign is 0
        return s.select(x[0] > 0, 1, s.select(x[0] < 0, -1 if x[0].dtype.kind != "u" else 0, zero))


class Whole(Unary):
    """A number made whole; integers stay as they are."""

    def reference(self, *x: Array) -> Array: return x[0] if x[0].dtype.kind in "biu" else self.rounded(x[0])

    def rounded(self, x: Array) -> Array:
        """Floats made whole."""
        raise NotImplementedError(self.name)


class Floor(Whole):
    """The largest whole number not above x, in the dtype of x; integers stay as they are. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.floor(st.tensor([1.7, -1.2])).tolist()
    [1.0, -2.0]
    """

    def rounded(self, x: Array) -> Array: return np.floor(x)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.floor(x[0]) if x[0].dtype.is_float else x[0]


class Ceil(Whole):
    """The smallest whole number not below x, in the dtype of x; integers stay as they are. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.ceil(st.tensor([1.2, -1.7])).tolist()
    [2.0, -1.0]
    """

    def rounded(self, x: Array) -> Array: return np.ceil(x)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.ceil(x[0]) if x[0].dtype.is_float else x[0]


class Round(Whole):
    """The nearest whole number, a half to the even one, in the dtype of x. The derivative is 0."""

    of_complex: ClassVar[bool] = True

    def rounded(self, x: Array) -> Array: return np.rint(x)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.round(x[0]) if x[0].dtype.is_float else x[0]


class Trunc(Whole):
    """The whole number that is x without its fraction, towards 0, in the dtype of x. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.trunc(st.tensor([1.7, -1.7])).tolist()
    [1.0, -1.0]
    """

    def rounded(self, x: Array) -> Array: return np.trunc(x)
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.trunc(x[0]) if x[0].dtype.is_float else x[0]


class Test(FloatUnary):
    """One float operand, a bool result."""

    def type(self, *x: Type) -> Type:
        return super().type(*x).with_dtype(bool_)


class IsNan(Test):
    """Whether each element of x is not a number, as bools; no integer is one of those.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isnan(st.tensor([1.0, float("nan")])).tolist()
    [False, True]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.isnan(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.ne(x[0], x[0])


class IsInf(Test):
    """Whether each element of x is plus or minus infinity, as bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isinf(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
    [False, True, False]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.isinf(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.eq(abs(x[0]), math.inf)


class IsFinite(Test):
    """Whether each element of x is neither infinite nor NaN, as bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isfinite(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
    [True, False, False]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.isfinite(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return abs(x[0]) < math.inf


class Not(Unary):
    """Every bit of a bool or an integer turned over: ~x. Raises DTypeError for floats.

    x has any shape.

    >>> st.bitwise_invert(st.tensor([0, 5])).tolist(), (~st.tensor([True, False])).tolist()
    ([-1, -6], [False, True])
    """

    of_float: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.invert(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return ~x[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([True, False]),)), (cls(), (np.array([-7, 0, 12], np.int32),))


class StopGradient(Unary):
    """The numbers of x as a constant to derivatives: what it was computed from gets no gradient through it.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> x = st.tensor(3.0)
    >>> st.grad(lambda x: x * x)(x).tolist(), st.grad(lambda x: x * st.stop_gradient(x))(x).tolist()
    (6.0, 3.0)
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return x[0]
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0]


exp           = function(Exp())
expm1         = function(Expm1())
log           = function(Log())
log1p         = function(Log1p())
sqrt          = function(Sqrt())
rsqrt         = function(Rsqrt())
sin           = function(Sin())
cos           = function(Cos())
tan           = function(Tan())
atan          = function(Atan())
sinh          = function(Sinh())
cosh          = function(Cosh())
tanh          = function(Tanh())
sigmoid       = function(Sigmoid())
erf           = function(Erf())
erfc          = function(Erfc())
softplus      = function(Softplus())
square        = function(Square())
reciprocal    = function(Reciprocal())
relu          = function(Relu())
absolute      = function(Abs())
floor         = function(Floor())
ceil          = function(Ceil())
trunc         = function(Trunc())
isnan         = function(IsNan())
isinf         = function(IsInf())
isfinite      = function(IsFinite())
invert        = function(Not(), "bitwise_invert")
stop_gradient = function(StopGradient(), "stop_gradient")


def sign(x: Operand) -> Value:
    """The sign of x in its own dtype: -1, 0 or 1; a NaN stays. The derivative is 0.

    Of a complex number it is the number of absolute value 1 in its direction, x / abs(x), and 0 of 0 (the array API
    standard's rule), which has a derivative. x has any shape. Raises DTypeError for bools.

    >>> st.sign(st.tensor([-2.5, -0.0, 7.0])).tolist()
    [-1.0, 0.0, 1.0]
    >>> st.sign(st.tensor([3 + 4j, 0.0]))
    tensor([0.6+0.8j, 0. +0.j ], dtype=complex64)
    """
    if not isinstance(x, Value) or not x.dtype.is_complex:
        return Sign()(x)
    x = x * Select()(absolute(x) > 1, 0.25, 2.0**100)      # whose size is a number with all its digits
    size = absolute(x)
    is_zero = Equal()(size, 0)
    return Select()(is_zero, 0.0, x / Select()(is_zero, 1.0, size))


def logical_not(x: Operand) -> Value:
    """Whether each element of x is false, as bools: a number is false if it is zero, so NaN is true.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.logical_not(st.tensor([0.0, 2.0])).tolist()
    [True, False]
    """
    return Not()(cast(x if isinstance(x, Value) else literal(x), bool_))


def log_sigmoid(x: Value) -> Value:
    """The logarithm of `sigmoid(x)`: -softplus(-x), finite also where the sigmoid rounds to 0. Integers become float32.

    Written out, st.log(st.sigmoid(x)) is made this too where a program sees both steps. x has any shape. Raises
    DTypeError for complex numbers.

    >>> st.log_sigmoid(st.tensor([0.0, -200.0]))
    tensor([  -0.6931472, -200.       ])
    """
    return -softplus(-(x if x.dtype.is_float else cast(x, float32)))


def leaky_relu(x: Value, *, slope: float = 0.01) -> Value:
    """The leaky rectifier: x where it is not negative, else `slope` * x (Maas et al., 2013). Integers become float32.

    The derivative at 0 is 1, as of JAX's; PyTorch's is slope. x has any shape. Raises DTypeError for complex numbers.

    >>> st.leaky_relu(st.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2,  3. ])
    """
    return Select()(x < 0, x * slope, x)


def elu(x: Value, *, alpha: float = 1.0) -> Value:
    """The exponential linear unit: x where it is positive, else `alpha` * (exp(x) - 1) (Clevert et al., 2016).

    Integers become float32. The derivative at 0 is alpha, as in PyTorch. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.elu(st.tensor([-100.0, -1.0, 2.0]))
    tensor([-1.        , -0.63212055,  2.        ])
    """
    is_low = x <= 0
    return Select()(is_low, expm1(Select()(is_low, x, zeros_like(x))) * alpha, x)


ALL = (Exp, Expm1, Log, Log1p, Sqrt, Rsqrt, Sin, Cos, Tan, Atan, Sinh, Cosh, Tanh, Sigmoid, Erf, Erfc, Softplus,
       Square, Reciprocal, Relu, Abs, Sign, Floor, Ceil, Round, Trunc, IsNan, IsInf, IsFinite, Not, StopGradient)
