"""Functions of one element."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value, literal
from stele.ir.types import Type, bool_, float32
from stele.ir.types import dtype as named
from stele.ops.elementwise.arithmetic import LessEqual, Select
from stele.ops.elementwise.base import FloatUnary, Operand, Unary, function, needs_integer
from stele.ops.linear import cast, zeros_like

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


class Exp(FloatUnary):
    """e to the power x."""

    def reference(self, *x: Array) -> Array: return np.exp(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.exp(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y,


class Expm1(FloatUnary):
    """exp(x) - 1, exact for small x."""

    def reference(self, *x: Array) -> Array: return np.expm1(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.expm1(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y + 1,


class Log(FloatUnary):
    """Natural logarithm."""

    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.log(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.log(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0]),


class Log1p(FloatUnary):
    """log(1 + x), exact for small x."""

    samples: ClassVar[tuple[float, float]] = (-0.9, 5)
    def reference(self, *x: Array) -> Array: return np.log1p(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.log1p(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0] + 1),


class Sqrt(FloatUnary):
    """Square root."""

    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.sqrt(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.sqrt(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return 0.5 / y,


class Rsqrt(FloatUnary):
    """1 / sqrt(x)."""

    samples: ClassVar[tuple[float, float]] = (0.1, 5)
    def reference(self, *x: Array) -> Array: return np.reciprocal(np.sqrt(x[0]))
    def scalar(self, s: Any, *x: Any) -> Any: return 1 / s.sqrt(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * y * y * -0.5,


class Sin(FloatUnary):
    """Sine of x in radians."""

    def reference(self, *x: Array) -> Array: return np.sin(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.sin(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return cos(x[0]),


class Cos(FloatUnary):
    """Cosine of x in radians."""

    def reference(self, *x: Array) -> Array: return np.cos(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.cos(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return -sin(x[0]),


class Tan(FloatUnary):
    """Tangent of x in radians."""

    samples: ClassVar[tuple[float, float]] = (-1.3, 1.3)
    def reference(self, *x: Array) -> Array: return np.tan(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.sin(x[0]) / s.cos(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * y + 1,


class Atan(FloatUnary):
    """The angle in (-pi/2, pi/2) whose tangent is x."""

    def reference(self, *x: Array) -> Array: return np.arctan(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.atan(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return reciprocal(x[0] * x[0] + 1),


class Tanh(FloatUnary):
    """Hyperbolic tangent."""

    def reference(self, *x: Array) -> Array: return np.tanh(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.tanh(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return 1 - y * y,


class Sinh(FloatUnary):
    """Hyperbolic sine."""

    def reference(self, *x: Array) -> Array: return np.sinh(x[0])

    def scalar(self, s: Any, *x: Any) -> Any:
        far, near, scale = halved(s, x[0])
        e = s.expm1(near)
        y = s.select(far, e * scale, (e + e / (e + 1)) * 0.5)
        return s.select(x[0] > 0, y, s.select(x[0] < 0, -y, x[0]))

    def partials(self, y: Value, *x: Value) -> Any: return cosh(x[0]),


class Cosh(FloatUnary):
    """Hyperbolic cosine."""

    def reference(self, *x: Array) -> Array: return np.cosh(x[0])

    def scalar(self, s: Any, *x: Any) -> Any:
        far, near, scale = halved(s, x[0])
        e = s.exp(near)
        return s.select(far, e * scale, (e + 1 / e) * 0.5)

    def partials(self, y: Value, *x: Value) -> Any: return sinh(x[0]),


def halved(s: Any, x: Any) -> tuple[Any, Any, float]:
    """Whether |x| is so large that exp(-|x|) does not count; then |x| - 3/4, else |x|; and exp(3/4) / 2.

    Half of exp(|x|) is finite where exp(|x|) is not; |x| - 3/4 is exact, and |x| - log(2) would not be.
    """
    a = abs(x)
    far = a > 40
    return far, s.select(far, a - 0.75, a), math.exp(0.75) / 2


class Sigmoid(FloatUnary):
    """1 / (1 + exp(-x))."""

    def reference(self, *x: Array) -> Array: return np.exp(-np.logaddexp(x[0].dtype.type(0), -x[0]))
    def scalar(self, s: Any, *x: Any) -> Any: return s.sigmoid(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return y * (1 - y),


class Erf(FloatUnary):
    """The error function."""

    def reference(self, *x: Array) -> Array: return np.asarray(ERF(x[0].astype(np.float64))).astype(x[0].dtype)
    def scalar(self, s: Any, *x: Any) -> Any: return s.erf(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return exp(-square(x[0])) * TWO_OVER_SQRT_PI,


ERF = np.frompyfunc(math.erf, 1, 1)


class Softplus(FloatUnary):
    """log(1 + exp(x)), written so that no x overflows."""

    samples: ClassVar[tuple[float, float]] = (-20, 20)
    def reference(self, *x: Array) -> Array: return np.logaddexp(x[0].dtype.type(0), x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.max(x[0], 0) + s.log1p(s.exp(-abs(x[0])))
    def partials(self, y: Value, *x: Value) -> Any: return sigmoid(x[0]),


class Square(Unary):
    """x * x."""

    def reference(self, *x: Array) -> Array: return np.multiply(x[0], x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] * x[0]
    def partials(self, y: Value, *x: Value) -> Any: return x[0] * 2,


class Reciprocal(FloatUnary):
    """1 / x."""

    samples: ClassVar[tuple[float, float]] = (0.2, 5)
    def reference(self, *x: Array) -> Array: return np.reciprocal(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return 1 / x[0]
    def partials(self, y: Value, *x: Value) -> Any: return -square(y),


class Relu(Unary):
    """x where it is not negative, else 0; a NaN stays. The gradient at 0 is 0."""

    def reference(self, *x: Array) -> Array: return np.where(x[0] < 0, x[0].dtype.type(0), x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.select(x[0] < 0, 0, x[0])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Select()(LessEqual()(y, 0), zeros_like(g), g),

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        return Select()(LessEqual()(y, 0), zeros_like(y), dx[0])


class Abs(Unary):
    """x without its sign; the gradient at 0 is 0."""

    def reference(self, *x: Array) -> Array: return np.abs(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return abs(x[0])
    def partials(self, y: Value, *x: Value) -> Any: return sign(x[0]),


class Sign(Unary):
    """-1, 0 or 1; a NaN stays."""

    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.sign(x[0])

    def scalar(self, s: Any, *x: Any) -> Any:
        zero = x[0] + 0     # of either sign is 0
        return s.select(x[0] > 0, 1, s.select(x[0] < 0, -1 if x[0].dtype.kind != "u" else 0, zero))


class Whole(Unary):
    """A number made whole; integers stay as they are."""

    def reference(self, *x: Array) -> Array: return x[0] if x[0].dtype.kind in "biu" else self.rounded(x[0])

    def rounded(self, x: Array) -> Array:
        """Floats made whole."""
        raise NotImplementedError(self.name)


class Floor(Whole):
    """The largest whole number not above x."""

    def rounded(self, x: Array) -> Array: return np.floor(x)
    def scalar(self, s: Any, *x: Any) -> Any: return s.floor(x[0]) if x[0].dtype.is_float else x[0]


class Ceil(Whole):
    """The smallest whole number not below x."""

    def rounded(self, x: Array) -> Array: return np.ceil(x)
    def scalar(self, s: Any, *x: Any) -> Any: return s.ceil(x[0]) if x[0].dtype.is_float else x[0]


class Round(Whole):
    """The nearest whole number, ties to even."""

    def rounded(self, x: Array) -> Array: return np.rint(x)
    def scalar(self, s: Any, *x: Any) -> Any: return s.round(x[0]) if x[0].dtype.is_float else x[0]


class Trunc(Whole):
    """x without its fraction."""

    def rounded(self, x: Array) -> Array: return np.trunc(x)
    def scalar(self, s: Any, *x: Any) -> Any: return s.trunc(x[0]) if x[0].dtype.is_float else x[0]


class Test(FloatUnary):
    """One float operand, a bool result."""

    def type(self, *x: Type) -> Type:
        return x[0].with_dtype(bool_)


class IsNan(Test):
    """Whether x is not a number."""

    def reference(self, *x: Array) -> Array: return np.isnan(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.ne(x[0], x[0])


class IsInf(Test):
    """Whether x is plus or minus infinity."""

    def reference(self, *x: Array) -> Array: return np.isinf(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return s.eq(abs(x[0]), math.inf)


class IsFinite(Test):
    """Whether x is neither infinite nor NaN."""

    def reference(self, *x: Array) -> Array: return np.isfinite(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return abs(x[0]) < math.inf


class Not(Unary):
    """Every bit of a bool or an integer turned over."""

    def type(self, *x: Type) -> Type:
        needs_integer(self, x[0].dtype)
        return x[0]

    def reference(self, *x: Array) -> Array: return np.invert(x[0])
    def scalar(self, s: Any, *x: Any) -> Any: return ~x[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([True, False]),)), (cls(), (np.array([-7, 0, 12], np.int32),))


class StopGradient(Unary):
    """x, seen as a constant by derivatives."""

    def reference(self, *x: Array) -> Array: return x[0]
    def scalar(self, s: Any, *x: Any) -> Any: return x[0]


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
softplus      = function(Softplus())
square        = function(Square())
reciprocal    = function(Reciprocal())
relu          = function(Relu())
absolute      = function(Abs(), "absolute")
sign          = function(Sign())
floor         = function(Floor())
ceil          = function(Ceil())
round         = function(Round())
trunc         = function(Trunc())
isnan         = function(IsNan())
isinf         = function(IsInf())
isfinite      = function(IsFinite())
invert        = function(Not(), "invert")
stop_gradient = function(StopGradient(), "stop_gradient")


def logical_not(x: Operand) -> Value:
    """Whether x is false: zero, if it is a number."""
    return Not()(cast(x if isinstance(x, Value) else literal(x), bool_))


def log_sigmoid(x: Value) -> Value:
    """log(sigmoid(x)), for any x."""
    return -softplus(-(x if x.dtype.is_float else cast(x, float32)))


def leaky_relu(x: Value, *, slope: float = 0.01) -> Value:
    """x where it is not negative, else slope * x."""
    return Select()(x < 0, x * slope, x)


def elu(x: Value, *, alpha: float = 1.0) -> Value:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return Select()(x > 0, x, expm1(Select()(x > 0, zeros_like(x), x)) * alpha)


def astype(x: Value, *, dtype: Any) -> Value:
    """x as another dtype: float to integer truncates, to bool tests != 0."""
    return cast(x, named(dtype))


ALL = (Exp, Expm1, Log, Log1p, Sqrt, Rsqrt, Sin, Cos, Tan, Atan, Sinh, Cosh, Tanh, Sigmoid, Erf, Softplus, Square,
       Reciprocal, Relu, Abs, Sign, Floor, Ceil, Round, Trunc, IsNan, IsInf, IsFinite, Not, StopGradient)
