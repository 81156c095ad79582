"""The functions of the public interface on tensors."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from typing import Literal
from typing import overload
from stele.arrays.tensor import DTypeLike
from stele.arrays.tensor import TensorLike
from typing import Any
from stele.arrays.tensor import Tensor

def exp(x: TensorLike) -> Tensor:
    """The exponential of x, e to the power x. Integers and bools become float32.

    Overflows to inf above 88.7 in float32; errors in units of the last place stand in docs/approximations.md. x has any
    shape and dtype. Raises DTypeError for what is no number.

    >>> st.exp(st.tensor([0.0, 1.0, 100.0]))
    tensor([1.       , 2.7182817,       inf])
    """
def log(x: TensorLike) -> Tensor:
    """The natural logarithm of x: -inf at 0, NaN below it. Integers and bools become float32.

    The derivative is 1 / x wherever it is asked for, also below 0; at 0 it is inf, which times a zero cotangent is NaN:
    choose the argument, not the result (see `where`). x has any shape and dtype. Raises DTypeError for what is no
    number.

    >>> st.log(st.tensor([1.0, 0.0, -1.0])).tolist()
    [0.0, -inf, nan]
    """
def log1p(x: TensorLike) -> Tensor:
    """The number log(1 + x), without losing the digits of a small x to the sum. Integers become float32.

    -inf at -1, NaN below it. Written out, st.log(1 + x) is made this too where a program sees both steps. x has any
    shape and dtype. Raises DTypeError for what is no number.

    >>> st.log1p(st.tensor([1e-8, -1.0]))
    tensor([1.e-08,   -inf])
    >>> float(np.log(np.float32(1) + np.float32(1e-8)))
    0.0
    """
def expm1(x: TensorLike) -> Tensor:
    """The number exp(x) - 1, without cancellation where x is near 0. Integers become float32.

    Written out, st.exp(x) - 1 is made this too where a program sees both steps. x has any shape and dtype. Raises
    DTypeError for what is no number.

    >>> st.expm1(st.tensor([1e-6, -100.0]))
    tensor([ 1.0000005e-06, -1.0000000e+00])
    """
def sqrt(x: TensorLike) -> Tensor:
    """The square root of x, correctly rounded; NaN below 0. Integers and bools become float32.

    The derivative at 0 is inf, as in PyTorch: add a small number under the root of what may be 0. x has any shape and
    dtype. Raises DTypeError for what is no number.

    >>> st.sqrt(st.tensor([4, 2]))
    tensor([2.       , 1.4142135])
    >>> st.grad(st.sqrt)(st.tensor(0.0)).tolist()
    inf
    """
def rsqrt(x: TensorLike) -> Tensor:
    """The reciprocal of the square root of x: inf at 0, NaN below it. Integers become float32.

    It is 1 / sqrt(x), two rounded operations, and no approximation of the CPU's. x has any shape and dtype. Raises
    DTypeError for what is no number.

    >>> st.rsqrt(st.tensor([4.0, 0.0])).tolist()
    [0.5, inf]
    """
def square(x: TensorLike) -> Tensor:
    """The square of x, in the dtype of x: integers wrap, bools stay bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.square(st.tensor([-3, 4])).tolist()
    [9, 16]
    """
def sin(x: TensorLike) -> Tensor:
    """The sine of x, which is in radians; NaN at infinities. Integers become float32.

    Never leaves [-1, 1]; far arguments are reduced by as many digits of pi as they need. x has any shape and dtype.
    Raises DTypeError for what is no number.

    >>> st.sin(st.tensor([0.0, 1.0, 1e10]))
    tensor([ 0.        ,  0.84147096, -0.48750603])
    """
def cos(x: TensorLike) -> Tensor:
    """The cosine of x, which is in radians; NaN at infinities. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.cos(st.tensor([0.0, 3.1415927])).tolist()
    [1.0, -1.0]
    """
def tan(x: TensorLike) -> Tensor:
    """The tangent of x, sin(x) / cos(x), with x in radians. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.tan(st.tensor([0.0, 0.5]))
    tensor([0.       , 0.5463025])
    """
def atan(x: TensorLike) -> Tensor:
    """The angle in [-pi/2, pi/2], in radians, whose tangent is x. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.atan(st.tensor([0.0, 1.0, float("inf")]))
    tensor([0.       , 0.7853981, 1.5707964])
    """
def sinh(x: TensorLike) -> Tensor:
    """The hyperbolic sine of x, (exp(x) - exp(-x)) / 2, exact to the last digits near 0 too. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.sinh(st.tensor([1e-4, 1.0]))
    tensor([9.9999990e-05, 1.1752012e+00])
    """
def cosh(x: TensorLike) -> Tensor:
    """The hyperbolic cosine of x, (exp(x) + exp(-x)) / 2. Integers become float32.

    Finite wherever the result is, also where exp(x) alone overflows. x has any shape and dtype. Raises DTypeError for
    what is no number.

    >>> x = st.tensor([0.0, 89.0])
    >>> st.cosh(x), st.exp(x)
    (tensor([1.0000000e+00, 2.2448066e+38]), tensor([ 1., inf]))
    """
def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent of x, from -1 to 1. Integers and bools become float32.

    The derivative is 1 - y * y of the result y. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.tanh(st.tensor([0.0, 1.0, 100.0]))
    tensor([0.       , 0.7615942, 1.       ])
    """
def asin(x: TensorLike) -> Tensor:
    """The angle in [-pi/2, pi/2], in radians, whose sine is x; NaN outside of [-1, 1]. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.asin(st.tensor([0.0, 0.5, 1.0, 2.0]))
    tensor([0.       , 0.5235988, 1.5707964,       nan])
    """
def acos(x: TensorLike) -> Tensor:
    """The angle in [0, pi], in radians, whose cosine is x; NaN outside of [-1, 1]. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.acos(st.tensor([1.0, 0.5, -1.0, 2.0]))
    tensor([0.       , 1.0471976, 3.1415927,       nan])
    """
def cbrt(x: TensorLike) -> Tensor:
    """The cube root of x, negative where x is. Integers become float32. The derivative at 0 is inf.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.cbrt(st.tensor([27.0, -8.0])).tolist()
    [3.0, -2.0]
    """
def asinh(x: TensorLike) -> Tensor:
    """The number whose hyperbolic sine is x, log(x + sqrt(x * x + 1)), without cancellation. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.asinh(st.tensor([0.0, 1.0, -1e30]))
    tensor([  0.       ,   0.8813736, -69.7707   ])
    """
def acosh(x: TensorLike) -> Tensor:
    """The number of 0 or more whose hyperbolic cosine is x; NaN below 1. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.acosh(st.tensor([1.0, 2.0, 0.5]))
    tensor([0.       , 1.3169579,       nan])
    """
def atanh(x: TensorLike) -> Tensor:
    """The number whose hyperbolic tangent is x: an infinity at 1 and -1, NaN beyond. Integers become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.atanh(st.tensor([0.0, 0.5, -1.0, 2.0]))
    tensor([0.       , 0.5493061,      -inf,       nan])
    """
def exp2(x: TensorLike) -> Tensor:
    """The power 2 ** x, exact for whole x. Integers and bools become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.exp2(st.tensor([-1.0, 0.5, 10.0]))
    tensor([5.0000000e-01, 1.4142135e+00, 1.0240000e+03])
    """
def log2(x: TensorLike) -> Tensor:
    """The logarithm of x to base 2: -inf at 0, NaN below it. Integers and bools become float32.

    Exact for powers of 2. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.log2(st.tensor([8.0, 0.0, -1.0])).tolist()
    [3.0, -inf, nan]
    """
def log10(x: TensorLike) -> Tensor:
    """The logarithm of x to base 10: -inf at 0, NaN below it. Integers and bools become float32.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.log10(st.tensor([1000.0, 0.0, -1.0])).tolist()
    [3.0, -inf, nan]
    """
def atan2(x: TensorLike, z: TensorLike) -> Tensor:
    """The angle in [-pi, pi], in radians, of the point (z, x): atan(x / z), in the quadrant that both signs say.

    Shapes and dtypes meet as in `add`; integers become float32. A zero has its sign: atan2(0.0, -0.0) is pi. The
    gradient where both are 0 is 0, as in PyTorch. Raises ShapeError where shapes do not broadcast, DTypeError for
    complex numbers.

    >>> st.atan2(st.tensor([1.0, 1.0, -0.0]), st.tensor([1.0, -1.0, -1.0]))
    tensor([ 0.7853982,  2.3561945, -3.1415927])
    """
def hypot(x: TensorLike, z: TensorLike) -> Tensor:
    """The length sqrt(x * x + z * z), without an over- or underflow of the squares. Integers become float32.

    inf where either is an infinity, even beside NaN. The gradient where both are 0 is 0. Shapes and dtypes meet as in
    `add`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.hypot(st.tensor([3.0, 3e30]), st.tensor([4.0, 4e30])).tolist()[0]
    5.0
    """
def logaddexp(x: TensorLike, z: TensorLike) -> Tensor:
    """The number log(exp(x) + exp(z)), where no x or z overflows. Integers become float32.

    Shapes and dtypes meet as in `add`. For more than two along an axis see `logsumexp`. Raises ShapeError where shapes
    do not broadcast, DTypeError for complex numbers.

    >>> st.logaddexp(st.tensor([0.0, 1000.0]), st.tensor([0.0, 1000.0]))
    tensor([6.9314718e-01, 1.0006932e+03])
    """
def heaviside(x: TensorLike, z: TensorLike) -> Tensor:
    """The step function of x: 0 below 0, 1 above it, z at 0, NaN of NaN. Shapes and dtypes meet as in `add`.

    The derivative is 0, and 1 in z where x is 0. Raises ShapeError where shapes do not broadcast, DTypeError for
    complex numbers.

    >>> st.heaviside(st.tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
def signbit(x: TensorLike) -> Tensor:
    """Whether the sign bit of x is set, as bools: true for -0.0 too, and for a NaN that has one.

    Integers are true below 0. x has any shape. Raises DTypeError for complex numbers.

    >>> st.signbit(st.tensor([-2.5, -0.0, 0.0, 7.0])).tolist()
    [True, True, False, False]
    """
def copysign(x: TensorLike, z: TensorLike) -> Tensor:
    """The magnitude of x with the sign of z, which a zero and a NaN have too. Integers become float32.

    Shapes and dtypes meet as in `add`. The gradient in z is 0, and in x 0 where x is 0, as in PyTorch. Raises
    ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.copysign(st.tensor([1.0, -2.0]), st.tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
def spacing(x: TensorLike) -> Tensor:
    """The distance from x to the next number of its dtype away from 0, below 0 that is negative; NaN of infinities.

    x has any shape; integers become float32. Raises DTypeError for complex numbers.

    >>> st.spacing(st.tensor([1.0, -4.0])).tolist()
    [1.1920928955078125e-07, -4.76837158203125e-07]
    """
def nextafter(x: TensorLike, z: TensorLike) -> Tensor:
    """The number of the dtype that is next to x on the way to z: z where they are equal, NaN if either is.

    Shapes and dtypes meet as in `add`; integers become float32. The gradient is that of x. Raises ShapeError where
    shapes do not broadcast, DTypeError for complex numbers.

    >>> st.nextafter(st.tensor([1.0, 0.0]), st.tensor([2.0, -1.0])).tolist()
    [1.0000001192092896, -1.401298464324817e-45]
    """
def positive(x: TensorLike) -> Tensor:
    """The elements of x themselves: +x. Raises DTypeError for bools.

    x has any shape.

    >>> (+st.tensor([1.5, -2.0])).tolist(), st.positive(st.tensor([3])).tolist()
    ([1.5, -2.0], [3])
    """
def fmod(x: TensorLike, z: TensorLike) -> Tensor:
    """The remainder x - z * trunc(x / z), as C's fmod: it has the sign of x. Shapes and dtypes meet as in `add`.

    Where z is 0 integers give 0 and floats NaN. Raises DTypeError for two bools. For Python's % see `remainder`.

    >>> st.fmod(st.tensor([7, -7, 7]), st.tensor([3, 3, -3])).tolist()
    [1, -1, 1]
    """
def fmax(x: TensorLike, z: TensorLike) -> Tensor:
    """The larger of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`.

    Where they tie it is x, which has the gradient, as in PyTorch. Raises ShapeError where shapes do not broadcast,
    DTypeError for complex numbers.

    >>> st.fmax(st.tensor([1.0, float("nan"), 5.0]), 3.0).tolist()
    [3.0, 3.0, 5.0]
    """
def fmin(x: TensorLike, z: TensorLike) -> Tensor:
    """The smaller of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`.

    Ties as of `fmax`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.fmin(st.tensor([1.0, float("nan"), 5.0]), 3.0).tolist()
    [1.0, 3.0, 3.0]
    """
def frac(x: TensorLike) -> Tensor:
    """The fraction x - trunc(x), of the sign of x; 0 of integers. The derivative is 1.

    x has any shape. Raises DTypeError for complex numbers and bools.

    >>> st.frac(st.tensor([1.75, -1.25])).tolist()
    [0.75, -0.25]
    """
def frexp(x: TensorLike) -> tuple[Tensor, Tensor]:
    """The mantissas m and exponents e with x = m * 2**e and 1/2 <= |m| < 1; e is int32. Integers become float32.

    Zeros, infinities and NaN are their own mantissas, with exponent 0. The gradient goes through the mantissas. x has
    any shape. Raises DTypeError for complex numbers.

    >>> m, e = st.frexp(st.tensor([8.0, -0.75]))
    >>> m.tolist(), e.tolist()
    ([0.5, -0.75], [4, 0])
    """
def ldexp(x: TensorLike, z: TensorLike) -> Tensor:
    """The number x * 2**z, for whole z, which may be an array; exact where the result is a normal number.

    Integers become float32; x and z broadcast. Raises ShapeError where shapes do not broadcast, DTypeError for complex
    numbers.

    >>> st.ldexp(st.tensor([0.5, -0.75]), st.tensor([4, 0])).tolist()
    [8.0, -0.75]
    """
def isclose(x: TensorLike, z: TensorLike, rtol: float=1e-05, atol: float=1e-08, equal_nan: bool=False) -> Tensor:
    """Whether |x - z| <= `atol` + `rtol` * |z|, elementwise, as bools; infinities are close to themselves alone.

    A NaN is close to nothing, but to a NaN with `equal_nan`. Shapes and dtypes meet as in `add`. Raises ShapeError
    where shapes do not broadcast.

    >>> st.isclose(st.tensor([1.0, 2.0, float("inf")]), st.tensor([1.000001, 2.1, float("inf")])).tolist()
    [True, False, True]
    """
def nan_to_num(x: TensorLike, nan: float=0.0, posinf: float | None=None, neginf: float | None=None) -> Tensor:
    """The elements of x, with `nan` for NaN, `posinf` and `neginf` for infinities: the ends of the dtype unless given.

    Integers stay as they are. x has any shape and dtype. Raises ArgumentError for what is neither an array nor a
    number.

    >>> st.nan_to_num(st.tensor([float("nan"), float("inf"), 1.0]), posinf=9).tolist()
    [0.0, 9.0, 1.0]
    """
def isposinf(x: TensorLike) -> Tensor:
    """Whether each element of x is plus infinity, as bools.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isposinf(st.tensor([float("inf"), float("-inf"), 1.0])).tolist()
    [True, False, False]
    """
def isneginf(x: TensorLike) -> Tensor:
    """Whether each element of x is minus infinity, as bools.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isneginf(st.tensor([float("inf"), float("-inf"), 1.0])).tolist()
    [False, True, False]
    """
def lerp(x: TensorLike, z: TensorLike, weight: TensorLike) -> Tensor:
    """The number x + `weight` * (z - x) on the way from x to z, exact at both ends. Shapes and dtypes meet as in `add`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.lerp(st.tensor([0.0, 10.0]), st.tensor([4.0, 20.0]), 0.25).tolist()
    [1.0, 12.5]
    """
def float_power(x: TensorLike, z: TensorLike) -> Tensor:
    """The power x ** z in float64, whatever the dtypes of x and z; of complex numbers in complex128.

    Raises ShapeError where shapes do not broadcast.

    >>> st.float_power(st.tensor([2, 3]), -1).dtype
    float64
    """
def rad2deg(x: TensorLike) -> Tensor:
    """Angles in degrees of angles x in radians, x * (180 / pi). Integers become float32.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.rad2deg(st.tensor([0.0, 3.1415927]))
    tensor([  0., 180.])
    """
def deg2rad(x: TensorLike) -> Tensor:
    """Angles in radians of angles x in degrees, x * (pi / 180). Integers become float32.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.deg2rad(st.tensor([0.0, 180.0]))
    tensor([0.       , 3.1415927])
    """
def sigmoid(x: TensorLike) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)), from 0 to 1. Integers and bools become float32.

    No x overflows. For the logarithm of it use `log_sigmoid`, for a loss of it `binary_cross_entropy`: both take x
    itself. x has any shape. Raises DTypeError for complex numbers.

    >>> st.sigmoid(st.tensor([0.0, 2.0, -1000.0]))
    tensor([0.5      , 0.8807971, 0.       ])
    """
def log_sigmoid(x: TensorLike) -> Tensor:
    """The logarithm of `sigmoid(x)`: -softplus(-x), finite also where the sigmoid rounds to 0. Integers become float32.

    Written out, st.log(st.sigmoid(x)) is made this too where a program sees both steps. x has any shape. Raises
    DTypeError for complex numbers.

    >>> st.log_sigmoid(st.tensor([0.0, -200.0]))
    tensor([  -0.6931472, -200.       ])
    """
def erf(x: TensorLike) -> Tensor:
    """The error function of x, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erf(st.tensor([0.0, 1.0, 10.0]))
    tensor([0.       , 0.8427008, 1.       ])
    """
def erfc(x: TensorLike) -> Tensor:
    """The number 1 - erf(x), accurate also where erf(x) is near 1 and the difference cancels. Integers become float32.

    From 2 at -inf to 0 at inf. It keeps its digits as long as it is a normal number: to 9.19 in float32, to 26.5 in
    float64. x has any shape. Raises DTypeError for complex numbers.

    >>> x = st.tensor([0.0, 1.0, 9.0])
    >>> st.erfc(x), 1 - st.erf(x)
    (tensor([1.0000000e+00, 1.5729921e-01, 4.1370318e-37]), tensor([1.        , 0.15729922, 0.        ]))
    """
def relu(x: TensorLike) -> Tensor:
    """The rectified linear unit: x where it is not negative, else 0, in the dtype of x; a NaN stays.

    The derivative at 0 is 0, as in PyTorch. x has any shape. Raises DTypeError for complex numbers.

    >>> st.relu(st.tensor([-2.0, 0.0, 3.0])).tolist()
    [0.0, 0.0, 3.0]
    >>> st.grad(lambda x: st.relu(x).sum())(st.tensor([-2.0, 0.0, 3.0])).tolist()
    [0.0, 0.0, 1.0]
    """
def leaky_relu(x: TensorLike, slope: float=0.01) -> Tensor:
    """The leaky rectifier: x where it is not negative, else `slope` * x (Maas et al., 2013). Integers become float32.

    The derivative at 0 is 1, as of JAX's; PyTorch's is slope. x has any shape. Raises DTypeError for complex numbers.

    >>> st.leaky_relu(st.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2,  3. ])
    """
def elu(x: TensorLike, alpha: float=1.0) -> Tensor:
    """The exponential linear unit: x where it is positive, else `alpha` * (exp(x) - 1) (Clevert et al., 2016).

    Integers become float32. The derivative at 0 is alpha, as in PyTorch. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.elu(st.tensor([-100.0, -1.0, 2.0]))
    tensor([-1.        , -0.63212055,  2.        ])
    """
def softplus(x: TensorLike) -> Tensor:
    """The number log(1 + exp(x)), a smooth relu whose derivative is `sigmoid`. Integers become float32.

    Computed as max(x, 0) + log1p(exp(-abs(x))), so that no x overflows. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.softplus(st.tensor([-100.0, 0.0, 100.0]))
    tensor([  0.       ,   0.6931472, 100.       ])
    """
def reciprocal(x: TensorLike) -> Tensor:
    """The reciprocal 1 / x: inf of the sign of a zero. Integers and bools become float32, unlike NumPy's.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.reciprocal(st.tensor([4, 0])).tolist()
    [0.25, inf]
    """
def abs(x: TensorLike) -> Tensor:
    """The absolute value of x, in its dtype; the least integer of a dtype stays as it is, since nothing else fits.

    Of complex numbers it is the distance from 0, a real number, which overflows only where it does not fit itself. The
    derivative at 0 is 0, as in PyTorch. x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.abs(st.tensor([-2.5, 0.0, 1.0])).tolist()
    [2.5, 0.0, 1.0]
    >>> st.grad(lambda x: st.abs(x).sum())(st.tensor([-2.5, 0.0, 1.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
def sign(x: TensorLike) -> Tensor:
    """The sign of x in its own dtype: -1, 0 or 1; a NaN stays. The derivative is 0.

    Of a complex number it is the number of absolute value 1 in its direction, x / abs(x), and 0 of 0 (the array API
    standard's rule), which has a derivative. x has any shape. Raises DTypeError for bools.

    >>> st.sign(st.tensor([-2.5, -0.0, 7.0])).tolist()
    [-1.0, 0.0, 1.0]
    >>> st.sign(st.tensor([3 + 4j, 0.0]))
    tensor([0.6+0.8j, 0. +0.j ], dtype=complex64)
    """
def floor(x: TensorLike) -> Tensor:
    """The largest whole number not above x, in the dtype of x; integers stay as they are. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.floor(st.tensor([1.7, -1.2])).tolist()
    [1.0, -2.0]
    """
def ceil(x: TensorLike) -> Tensor:
    """The smallest whole number not below x, in the dtype of x; integers stay as they are. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.ceil(st.tensor([1.2, -1.7])).tolist()
    [2.0, -1.0]
    """
def trunc(x: TensorLike) -> Tensor:
    """The whole number that is x without its fraction, towards 0, in the dtype of x. The derivative is 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.trunc(st.tensor([1.7, -1.7])).tolist()
    [1.0, -1.0]
    """
def round(x: TensorLike, decimals: int=0) -> Tensor:
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
def isnan(x: TensorLike) -> Tensor:
    """Whether each element of x is not a number, as bools; no integer is one of those.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isnan(st.tensor([1.0, float("nan")])).tolist()
    [False, True]
    """
def isinf(x: TensorLike) -> Tensor:
    """Whether each element of x is plus or minus infinity, as bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isinf(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
    [False, True, False]
    """
def isfinite(x: TensorLike) -> Tensor:
    """Whether each element of x is neither infinite nor NaN, as bools.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.isfinite(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
    [True, False, False]
    """
def logical_not(x: TensorLike) -> Tensor:
    """Whether each element of x is false, as bools: a number is false if it is zero, so NaN is true.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> st.logical_not(st.tensor([0.0, 2.0])).tolist()
    [True, False]
    """
def stop_gradient(x: TensorLike) -> Tensor:
    """The numbers of x as a constant to derivatives: what it was computed from gets no gradient through it.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> x = st.tensor(3.0)
    >>> st.grad(lambda x: x * x)(x).tolist(), st.grad(lambda x: x * st.stop_gradient(x))(x).tolist()
    (6.0, 3.0)
    """
def add(x: TensorLike, z: TensorLike, alpha: float=1) -> Tensor:
    """The sum x + z, or x + `alpha` * z, elementwise, broadcast by NumPy's rule.

    Two arrays meet in the dtype that holds both (int32 and float16 in float16, float16 and bfloat16 in float32); a
    Python number takes the array's dtype, where a float among integers makes float32. Integers wrap; bools are joined
    by or. Raises ShapeError where the shapes do not broadcast.

    >>> st.add(st.tensor([[1], [2]]), st.tensor([10, 20])).tolist()
    [[11, 21], [12, 22]]
    >>> (st.tensor([1, 2]) + 0.5).dtype
    float32
    """
def subtract(x: TensorLike, z: TensorLike, alpha: float=1) -> Tensor:
    """The difference x - z, or x - `alpha` * z, elementwise; shapes and dtypes meet as in `add`.

    Raises DTypeError for two bools.

    >>> st.subtract(st.tensor([5, 7]), 2).tolist()
    [3, 5]
    """
def multiply(x: TensorLike, z: TensorLike) -> Tensor:
    """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and.

    Raises ShapeError where shapes do not broadcast.

    >>> st.multiply(st.tensor([[1.0], [2.0]]), st.tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
def divide(x: TensorLike, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
    """The quotient x / z, elementwise, a float: integers and bools become float32. Shapes meet as in `add`.

    By IEEE 754, x / 0 is an infinity and 0 / 0 is NaN. Rounded to whole numbers down under `rounding_mode` "floor",
    which is `floor_divide`, and towards 0 under "trunc": then integers stay integers. Raises OptionError for another
    mode.

    >>> st.divide(st.tensor([1, 2, 0]), st.tensor([2, 0, 0])).tolist()
    [0.5, inf, nan]
    >>> st.divide(st.tensor([7, -7]), 2, rounding_mode="trunc").tolist()
    [3, -3]
    """
def negative(x: TensorLike) -> Tensor:
    """The negative of x, in its dtype; unsigned integers wrap. Raises DTypeError for bools.

    x has any shape.

    >>> st.negative(st.tensor([1.5, -2.0])).tolist()
    [-1.5, 2.0]
    """
def floor_divide(x: TensorLike, z: TensorLike) -> Tensor:
    """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`.

    Integers stay integers, and are 0 where z is 0 (NumPy's rule); an infinity over a number stays one, and a number
    over an infinity is a zero (the array API standard's rule, where NumPy has NaN and -1). The derivative is 0. Raises
    DTypeError for two bools.

    >>> st.floor_divide(st.tensor([7, -7, 7]), st.tensor([2, 2, 0])).tolist()
    [3, -4, 0]
    """
def remainder(x: TensorLike, z: TensorLike) -> Tensor:
    """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`.

    Where z is 0 integers give 0 and floats NaN (NumPy's rule). Raises DTypeError for two bools.

    >>> st.remainder(st.tensor([7, -7, 7]), st.tensor([3, 3, -3])).tolist()
    [1, 2, -2]
    """
def pow(x: TensorLike, z: TensorLike) -> Tensor:
    """The power x ** z, elementwise; shapes and dtypes meet as in `add`.

    Integers to the power of integers stay integers, and wrap; a float exponent makes them float32. A negative base has
    powers of whole z only, others are NaN; z = 0 gives 1, even of NaN. Raises DTypeError for integers to a negative
    Python number; by an array of exponents those are 0, but for bases 1 and -1. The gradient in z is 0 where x is 0.

    >>> st.pow(st.tensor([2, 3]), 3).tolist(), st.pow(st.tensor([4, 9]), 0.5).tolist()
    ([8, 27], [2.0, 3.0])
    """
def clip(x: TensorLike, min: TensorLike | None=None, max: TensorLike | None=None) -> Tensor:
    """The elements of x held between `min` and `max`, numbers or arrays; None, the default, bounds nothing.

    max where min > max, NaN where x is NaN (NumPy's rules). The derivative is 1 from bound to bound, both included,
    as in PyTorch. Of integers, a min below their dtype and a max above it bound nothing, and a float bound makes
    float32. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.clip(st.tensor([-2.0, 0.5, 9.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    >>> st.clip(st.tensor([1, 5, 9]), min=4).tolist()
    [4, 5, 9]
    """
def maximum(x: TensorLike, z: TensorLike) -> Tensor:
    """The larger of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

    Where they tie, each gets half of the gradient, as in PyTorch. For the largest element of one array see `max`.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.maximum(st.tensor([1.0, 5.0]), 3.0).tolist()
    [3.0, 5.0]
    >>> st.grad(lambda x: st.maximum(x, 3.0).sum())(st.tensor([1.0, 3.0, 5.0])).tolist()
    [0.0, 0.5, 1.0]
    """
def minimum(x: TensorLike, z: TensorLike) -> Tensor:
    """The smaller of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

    Where they tie, each gets half of the gradient, as in PyTorch. For the smallest element of one array see `min`.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.minimum(st.tensor([1.0, 5.0, float("nan")]), 3.0).tolist()
    [1.0, 3.0, nan]
    """
def equal(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x == z, elementwise, as bools; NaN equals nothing, not even itself. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast.

    >>> st.equal(st.tensor([1, 2]), 2).tolist()
    [False, True]
    >>> st.equal(st.tensor([200]).astype("uint8"), 456).tolist()
    [False]
    """
def not_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x != z, elementwise, as bools; NaN differs from everything, itself included. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast.

    >>> st.not_equal(st.tensor([1.0, float("nan")]), st.tensor([1.0, float("nan")])).tolist()
    [False, True]
    """
def less(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x < z, elementwise, as bools; false where either is NaN. Shapes meet as in `add`.

    Integers are compared with a Python number as they are, whatever it is: nothing is rounded to the array's dtype.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.less(st.tensor([1, 2, 3]), 2.5).tolist()
    [True, True, False]
    """
def less_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x <= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.less_equal(st.tensor([1, 2, 3]), 2).tolist()
    [True, True, False]
    """
def greater(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x > z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.greater(st.tensor([1, 2, 3]), st.tensor([[2], [3]])).tolist()
    [[False, False, True], [False, False, False]]
    """
def greater_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x >= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.greater_equal(st.tensor([1, 2, 3]), 2).tolist()
    [False, True, True]
    """
def logical_and(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether both x and z are true, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_and(st.tensor([0, 1, 2]), st.tensor([True, False, True])).tolist()
    [False, False, True]
    """
def logical_or(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x or z or both are true, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_or(st.tensor([0, 1, 2]), st.tensor([False, False, True])).tolist()
    [False, True, True]
    """
def bitwise_and(x: TensorLike, z: TensorLike) -> Tensor:
    """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_and(st.tensor([12, 5]), 10).tolist()
    [8, 0]
    """
def bitwise_or(x: TensorLike, z: TensorLike) -> Tensor:
    """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_or(st.tensor([12, 5]), 10).tolist()
    [14, 15]
    """
def bitwise_xor(x: TensorLike, z: TensorLike) -> Tensor:
    """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`.

    Raises DTypeError for floats.

    >>> st.bitwise_xor(st.tensor([12, 5]), 10).tolist()
    [6, 15]
    """
def bitwise_invert(x: TensorLike) -> Tensor:
    """Every bit of a bool or an integer turned over: ~x. Raises DTypeError for floats.

    x has any shape.

    >>> st.bitwise_invert(st.tensor([0, 5])).tolist(), (~st.tensor([True, False])).tolist()
    ([-1, -6], [False, True])
    """
def bitwise_left_shift(x: TensorLike, z: TensorLike) -> Tensor:
    """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z.

    A shift by the width of the dtype or more leaves 0. x and z broadcast. Raises DTypeError for floats and bools.

    >>> st.bitwise_left_shift(st.tensor([1, -3]), 4).tolist()
    [16, -48]
    """
def bitwise_right_shift(x: TensorLike, z: TensorLike) -> Tensor:
    """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z.

    Signed dtypes keep their sign, unsigned ones shift zeros in. x and z broadcast. Raises DTypeError for floats and
    bools.

    >>> st.bitwise_right_shift(st.tensor([17, -3]), 1).tolist()
    [8, -2]
    """
def logical_xor(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether one of x and z is true and the other is not, elementwise, as bools; a number is true unless it is zero.

    Shapes broadcast, dtypes are any. Raises ShapeError where shapes do not.

    >>> st.logical_xor(st.tensor([0, 1, 2]), st.tensor([True, False, True])).tolist()
    [True, True, False]
    """
def sum(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The sum over one axis, several, or all of them; keepdims leaves them with length 1. Of no elements it is 0.

    Bools and signed integers add up as int64, unsigned ones as uint64, floats in their dtype, unless a `dtype` is
    given. The number `initial` counts too, and of x those elements alone where `where`, bools that broadcast to x, is
    True. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> st.sum(x).tolist(), st.sum(x, axis=0).tolist()
    (21.0, [5.0, 7.0, 9.0])
    >>> st.sum(x, axis=(0, -1), keepdims=True).shape
    (1, 1)
    """
def mean(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        where: TensorLike | None=None) -> Tensor:
    """The arithmetic mean over one axis, several, or all of them, with `where` as in `sum`. Of no elements it is NaN.

    Integers and bools are averaged as float32; float16 and bfloat16 add up in float32 and are rounded once. Where a
    `dtype` is given x is turned into it first. Parts of complex numbers are averaged each by itself: a NaN in one
    leaves the other. Raises ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

    >>> x = st.tensor([[1, 2], [3, 6]])
    >>> st.mean(x).tolist(), st.mean(x, axis=1, keepdims=True).tolist()
    (3.0, [[1.5], [4.5]])
    """
def prod(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The product over one axis, several, or all of them, with `initial` and `where` as in `sum`. Of no elements: 1.

    Integers multiply as they add up, and wrap, unless a `dtype` is given. The gradient of an element is the product of
    the others, also beside zeros, where dividing the product by the element would be 0 / 0. Raises ShapeError for an
    axis that x does not have, DTypeError for another `dtype` than there is.

    >>> st.prod(st.tensor([2.0, 3.0, 4.0])).tolist()
    24.0
    >>> st.grad(st.prod)(st.tensor([0.0, 3.0, 4.0])).tolist()
    [12.0, 0.0, 0.0]
    """
@overload
def max(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, return_indices:
        Literal[False]=False, initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The largest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

    Elements that tie share the gradient evenly, as of PyTorch's amax. With `return_indices` a pair, of the elements
    that `argmax` finds along one axis or in the flat array and of their positions, as of PyTorch's max: these have the
    gradient alone. `initial` and `where` as of `sum`: which elements count is asked beside an initial alone. Raises
    ShapeError where there is no element, and no initial; ArgumentError for where without it, or positions beside them.

    >>> x = st.tensor([[1.0, 7.0], [7.0, 2.0]])
    >>> st.max(x).tolist(), st.max(x, axis=1).tolist()
    (7.0, [7.0, 7.0])
    >>> st.grad(st.max)(x).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
@overload
def max(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, initial: float | None=None, where:
        TensorLike | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def min(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, return_indices:
        Literal[False]=False, initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The smallest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

    Elements that tie share the gradient evenly, as of PyTorch's amin. `return_indices` as of `max`, with `argmin`;
    `initial` and `where` too. Raises ShapeError where there is no element, and no initial.

    >>> st.min(st.tensor([[1.0, 7.0], [5.0, 2.0]]), axis=0, keepdims=True).tolist()
    [[1.0, 2.0]]
    """
@overload
def min(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, initial: float | None=None, where:
        TensorLike | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def var(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: float=0, dtype:
        DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
    """The variance over one axis, several, or all of them, as in `sum`: the mean square distance from the mean.

    The squares are divided by n - `correction`: 0, the default, as in NumPy; PyTorch's default is 1, the unbiased
    estimate. NaN where that is not positive, as the array API standard has it; NumPy and PyTorch divide by 0. n counts
    the elements where `where` is True, as of `sum`. Integers and bools become float32; 16-bit floats add up in float32;
    a `dtype` is what x is turned into first. Of complex numbers it is real: the squares are those of distances. Raises
    ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

    >>> x = st.tensor([1.0, 2.0, 3.0, 4.0])
    >>> st.var(x), st.var(x, correction=1)
    (tensor(1.25), tensor(1.6666666))
    """
def std(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: float=0, dtype:
        DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
    """The standard deviation over one axis, several, or all of them: the root of `var`, with the same `correction`.

    `dtype` and `where` too. The gradient where all elements are equal is 0, where that of a root would be NaN. Integers
    become float32. Raises ShapeError for an axis that x does not have.

    >>> st.std(st.tensor([[1.0, 3.0], [2.0, 8.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
def var_mean(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction:
        float=0) -> tuple[Tensor, Tensor]:
    """The variance and the mean over one axis, several, or all of them: `var`, with the same `correction`, and `mean`.

    Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> variance, mean = st.var_mean(st.tensor([1.0, 3.0]))
    >>> float(variance), float(mean)
    (1.0, 2.0)
    """
def std_mean(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction:
        float=0) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over one axis, several, or all of them, with the `correction` of `var`.

    Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> deviation, mean = st.std_mean(st.tensor([1.0, 3.0]))
    >>> float(deviation), float(mean)
    (1.0, 2.0)
    """
def allclose(x: TensorLike, z: TensorLike, rtol: float=1e-05, atol: float=1e-08, equal_nan: bool=False) -> Tensor:
    """Whether all of |x - z| <= `atol` + `rtol` * |z|, with x and z broadcast, as one bool; see `isclose`.

    A NaN is close to nothing, but to a NaN with `equal_nan`. Raises ShapeError where shapes do not broadcast.

    >>> st.allclose(st.tensor([1.0, 2.0]), st.tensor([1.000001, 2.0])).tolist()
    True
    """
def all(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, where: TensorLike |
        None=None) -> Tensor:
    """Whether every element over one axis, several, or all of them is true (not 0), as bools. Of no elements: True.

    x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2], [0, 3]])
    >>> st.all(x).tolist(), st.all(x, axis=1).tolist()
    (False, [True, False])
    """
def any(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, where: TensorLike |
        None=None) -> Tensor:
    """Whether any element over one axis, several, or all of them is true (not 0), as bools. Of no elements: False.

    x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

    >>> st.any(st.tensor([[1.0, -2.0], [3.0, 4.0]]) < 0, axis=1).tolist()
    [True, False]
    """
def argmax(x: TensorLike, axis: int | None=None, keepdims: bool=False) -> Tensor:
    """The position of the largest element along an axis, or in the flat array, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
    largest (NumPy's rules). Raises ShapeError along an axis of
    length 0.

    >>> x = st.tensor([[1.0, 7.0, 7.0], [9.0, 2.0, 0.0]])
    >>> st.argmax(x).tolist(), st.argmax(x, axis=1).tolist()
    (3, [1, 0])
    """
def argmin(x: TensorLike, axis: int | None=None, keepdims: bool=False) -> Tensor:
    """The position of the smallest element along an axis, or in the flat array, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
    smallest (NumPy's rules). Raises ShapeError along an axis of
    length 0.

    >>> st.argmin(st.tensor([[1.0, 7.0], [9.0, 2.0]]), axis=0).tolist()
    [0, 1]
    """
def matmul(x: TensorLike, w: TensorLike) -> Tensor:
    """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast.

    A vector counts as a row on the left and as a column on the right, whose axis is dropped. Dtypes meet as in `add`;
    integers wrap, 16-bit floats are summed in float32. Raises ShapeError where the inner sizes differ, and for a number
    (write x * w).

    >>> x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x @ st.tensor([1.0, 10.0])).tolist(), (x @ x).tolist()
    ([21.0, 43.0], [[7.0, 10.0], [15.0, 22.0]])
    >>> st.matmul(st.zeros((8, 2, 3)), st.zeros((3, 5))).shape
    (8, 2, 5)
    """
def real(x: TensorLike) -> Tensor:
    """The real part of each element, in the dtype of the parts: float32 of complex64. Real numbers stay as they are.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.real(st.tensor([1 + 2j, 3.0])).tolist()
    [1.0, 3.0]
    """
def imag(x: TensorLike) -> Tensor:
    """The imaginary part of each element, in the dtype of the parts: float32 of complex64. Of real numbers it is 0.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.imag(st.tensor([1 + 2j, 3.0])).tolist()
    [2.0, 0.0]
    """
def conj(x: TensorLike) -> Tensor:
    """The complex conjugate of each element: its imaginary part is negated. Real numbers stay as they are.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.conj(st.tensor([1 + 2j, -3j])).tolist()
    [(1-2j), (-0+3j)]
    """
def angle(x: TensorLike, deg: bool=False) -> Tensor:
    """The angle of each element, in radians from -pi to pi: atan2(imag(x), real(x)), in the dtype of the parts.

    With `deg` in degrees. Of real numbers it is 0, or pi where they are negative; integers become float32. x has any
    shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.angle(st.tensor([2.0, 3j, -1.0]))
    tensor([0.       , 1.5707964, 3.1415927])
    """
def complex(x: TensorLike, z: TensorLike) -> Tensor:
    """The complex numbers x + z * 1j of their parts, broadcast: complex128 where one is float64, else complex64.

    Nothing is computed, so that infinities and zeros of either sign stay. Raises DTypeError for complex parts.

    >>> st.complex(st.tensor([1.0, 2.0]), float("inf")).tolist()
    [(1+infj), (2+infj)]
    """
def softmax(x: TensorLike, axis: int=-1, dtype: DTypeLike | None=None) -> Tensor:
    """The probabilities exp(x) / sum(exp(x)) along an axis; of x less its largest element, so that nothing overflows.

    Shape and dtype of x, which becomes another `dtype` first where one is given. NaN where all of them are -inf, or one
    is inf, as in PyTorch. Raises DTypeError for other dtypes than floats. For the logarithm use `log_softmax`, for a
    loss `cross_entropy`: both take x itself.

    >>> st.softmax(st.tensor([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    >>> st.softmax(st.zeros((2, 4)), axis=0)[0].tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
def log_softmax(x: TensorLike, axis: int=-1, dtype: DTypeLike | None=None) -> Tensor:
    """The logarithm of `softmax(x)` along an axis, without rounding small probabilities to 0.

    Shape and dtype of x, or another `dtype` as in `softmax`.
    Written out, st.log(st.softmax(x)) is made this too where a program sees both steps. Raises DTypeError for other
    dtypes than floats.

    >>> st.log_softmax(st.tensor([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """
def logsumexp(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The number log(sum(exp(x))) over one axis, several, or all of them, in the dtype of x; no x overflows.

    -inf of no elements, and where all of them are -inf. Its gradient is `softmax(x)`. Raises DTypeError for other
    dtypes than floats.

    >>> st.logsumexp(st.tensor([[1000.0, 1000.0], [0.0, 0.0]]), axis=1)
    tensor([1.0006932e+03, 6.9314718e-01])
    """
def silu(x: TensorLike) -> Tensor:
    """The sigmoid linear unit x * sigmoid(x), also called swish (Ramachandran et al., 2017), in the dtype of x.

    x has any shape. Raises DTypeError for other dtypes than floats.

    >>> st.silu(st.tensor([-200.0, 0.0, 1.0]))
    tensor([-0.       ,  0.       ,  0.7310586])
    """
def gelu(x: TensorLike, approximate: str='none') -> Tensor:
    """The Gaussian error linear unit: x times the probability that a standard normal number is below x.

    Shape and dtype of x (Hendrycks and Gimpel, 2016); `approximate="tanh"` takes their formula with tanh, any other
    than "none" raises OptionError. Raises DTypeError for other dtypes than floats.

    >>> x = st.tensor([-1.0, 0.0, 1.0])
    >>> st.gelu(x)
    tensor([-0.15865526,  0.        ,  0.8413447 ])
    >>> st.gelu(x, approximate="tanh")
    tensor([-0.158808,  0.      ,  0.841192])
    """
def normalize(x: TensorLike, axis: int | Sequence[int] | None=-1, eps: float=1e-05) -> Tensor:
    """The numbers (x - mean) / sqrt(variance + `eps`), with both taken over axis: one, several, or None for all.

    Shape and dtype of x; the variance is divided by n. 16-bit floats are averaged in float32. Raises DTypeError for
    other dtypes than floats. `layer_norm` is this over the last axes, with a scale.

    >>> st.normalize(st.tensor([[1.0, 3.0], [10.0, 30.0]]), eps=0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
def layer_norm(x: TensorLike, weight: TensorLike | None=None, bias: TensorLike | None=None, axes: int=1, eps:
        float=1e-05) -> Tensor:
    """The elements of x normalised over its last `axes` axes, times `weight`, plus `bias` (Ba et al., 2016).

    (x - mean) / sqrt(variance + `eps`), with the variance divided by n; weight and bias have the shape of those axes.
    Raises ShapeError where axes is more than x has, and DTypeError for other dtypes than floats.

    >>> x = st.tensor([[1.0, 3.0], [10.0, 30.0]])
    >>> st.layer_norm(x, weight=st.tensor([1.0, 2.0]), bias=st.ones(2), eps=0).tolist()
    [[0.0, 3.0], [0.0, 3.0]]
    """
def pick(x: TensorLike, labels: TensorLike, axis: int=-1) -> Tensor:
    """The element of x at each label along an axis: y[i, j] = x[i, `labels`[i, j], j] for axis 1 of three.

    labels are integers in the shape of x without that axis, which is that of the result. An element is compared with
    its position, not fetched, so the pick fuses with what made x, and so does its gradient. Raises ShapeError for
    labels of another shape, DTypeError for other than integers and, when run, IndexOutOfRange for one outside of 0 .. n
    - 1.

    >>> st.pick(st.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), st.tensor([2, 0])).tolist()
    [3.0, 4.0]
    """
def one_hot(labels: TensorLike, classes: int, dtype: DTypeLike=...) -> Tensor:
    """The labels as rows of 0 with a 1 at the label: labels.shape + (`classes`,), float32 unless a dtype is given.

    Raises DTypeError for `labels` other than integers and, when run, IndexOutOfRange for one outside of 0 .. classes -
    1.

    >>> st.one_hot(st.tensor([2, 0]), classes=3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
def cross_entropy(logits: TensorLike, labels: TensorLike, axis: int=-1, reduction: str='mean', weight: TensorLike |
        None=None, ignore_index: int | None=None, label_smoothing: float=0.0) -> Tensor:
    """The mean of -log(softmax(logits)[label]) along an axis, for integer labels or for probabilities of the classes.

    Integer `labels` have the shape of `logits` without the axis of classes, probabilities have that of the logits. A
    `weight` for each class multiplies its losses, a label of `ignore_index` has none, and the mean is then over the
    weights that took part; `label_smoothing` mixes the labels with as much of a uniform distribution (PyTorch's rules).
    `reduction` is "mean", "sum", or "none" for the losses one by one. Raises ShapeError for labels of another shape,
    DTypeError for logits that are no floats and labels that are no integers, OptionError for another reduction and,
    when run, IndexOutOfRange for a label that is no class.

    >>> logits = st.tensor([[0.0, 0.0], [0.0, 1000.0]])
    >>> st.cross_entropy(logits, st.tensor([0, 1]), reduction="none")
    tensor([0.6931472, 0.       ])
    >>> st.cross_entropy(logits, st.tensor([0, 0]))
    tensor(500.3466)
    >>> st.cross_entropy(logits, st.tensor([0, -1]), ignore_index=-1), st.cross_entropy(logits, st.ones((2, 2)) / 2)
    (tensor(0.6931472), tensor(250.34657))
    """
def mse(x: TensorLike, target: TensorLike, reduction: str='mean') -> Tensor:
    """The mean squared difference of x and `target`, which broadcast against each other.

    `reduction` is "mean", "sum", or "none" for the squares one by one; OptionError for another. `nn.mse_loss` refuses
    shapes that differ, where (N, 1) and (N,) would make (N, N). Integers become float32.

    >>> st.mse(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    >>> st.mse(st.zeros((3, 1)), st.zeros(3), reduction="none").shape
    (3, 3)
    """
def binary_cross_entropy(logits: TensorLike, targets: TensorLike, reduction: str='mean') -> Tensor:
    """The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), for `logits` x and `targets` t from 0 to 1.

    Computed as softplus(x) - x t, so that no x overflows: give what goes into a sigmoid, not what comes out. Both
    broadcast; `reduction` is "mean", "sum", or "none" for the losses one by one (OptionError for another). Integers
    become float32.

    >>> st.binary_cross_entropy(st.tensor([0.0, 1000.0]), st.tensor([1.0, 0.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
def take(x: TensorLike, i: TensorLike | Sequence[int], axis: int | None=None, mode: str='raise') -> Tensor:
    """The elements `i` of an axis: x.shape[:axis] + i.shape + x.shape[axis+1:]; negative ones count from the end.

    Without an axis those of the elements in row-major order, as of NumPy and PyTorch. Elements named twice sum their
    gradients. An index outside of the axis is the nearest one under `mode` "clip", and counted round under "wrap".
    Raises DTypeError for other than integers, OptionError for another mode and, when run, IndexOutOfRange for an index
    outside of the axis.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.take(x, st.tensor([0, -1]), axis=1).tolist()
    [[1, 3], [4, 6]]
    >>> st.take(x, st.tensor([[0, 5], [1, 1]])).tolist()
    [[1, 6], [2, 2]]
    """
def embedding(table: TensorLike, i: TensorLike) -> Tensor:
    """The rows `i` of a `table` (rows, width), integers of any shape: i.shape + (width,), in the table's dtype.

    Rows named twice sum their gradients. Raises DTypeError for other than integers and, when run, IndexOutOfRange for a
    row outside of 0 .. rows - 1; `take` counts negative ones from the end.

    >>> table = st.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
    >>> st.embedding(table, st.tensor([2, 0, 2])).tolist()
    [[2.0, 2.5], [0.0, 0.5], [2.0, 2.5]]
    """
def gather(x: TensorLike, axis: int, i: TensorLike) -> Tensor:
    """The elements at positions `i` along an axis (PyTorch's gather): as `take_along_axis`, of as much of x as i names.

    Other axes of i may be shorter than those of x, whose rest is not looked at; nothing broadcasts. A number has one
    axis, 0 or -1. In the dtype of x. Raises ShapeError for an axis that x does not have and where i has other axes or
    is longer elsewhere, DTypeError for other positions than integers and, when run, IndexOutOfRange for one that the
    axis does not have.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.gather(x, 1, st.tensor([[2, 0]])).tolist()
    [[3, 1]]
    """
def index_select(x: TensorLike, axis: int, i: TensorLike) -> Tensor:
    """The elements `i` of an axis, a vector of positions: `take` with PyTorch's order of arguments.

    A number has one axis, 0 or -1, and so it stays a number where i is one position. In the dtype of x. Raises
    ShapeError for an axis that x does not have, DTypeError for other positions than integers and, when run,
    IndexOutOfRange for one that the axis does not have.

    >>> st.index_select(st.tensor([[1, 2], [3, 4]]), 1, st.tensor([1])).tolist()
    [[2], [4]]
    """
def index_copy(x: TensorLike, axis: int, i: TensorLike, source: TensorLike) -> Tensor:
    """The array with its elements `i` of an axis replaced by the parts of `source`; the last of those that name one.

    source broadcasts to the shape of x with as many elements along the axis as i, a vector. In the dtype of x. Raises
    ShapeError for an axis that x does not have and where source does not broadcast, DTypeError for other positions than
    integers and, when run, IndexOutOfRange for one that the axis does not have.

    >>> st.index_copy(st.zeros(3), 0, st.tensor([2, 0]), st.tensor([1.0, 2.0])).tolist()
    [2.0, 0.0, 1.0]
    """
def index_fill(x: TensorLike, axis: int, i: TensorLike, value: float) -> Tensor:
    """The array with its elements `i` of an axis replaced by the number `value`.

    i is a vector. Raises ShapeError for an axis that x does not have, DTypeError for other positions than integers and,
    when run, IndexOutOfRange for one that the axis does not have.

    >>> st.index_fill(st.zeros((2, 2)), 1, st.tensor([1]), 5).tolist()
    [[0.0, 5.0], [0.0, 5.0]]
    """
def index_put(x: TensorLike, indices: Sequence[TensorLike], values: TensorLike, accumulate: bool=False) -> Tensor:
    """The array with x[indices] replaced by `values`, or with them added if they are to `accumulate`.

    `indices` are integer arrays of the first axes that broadcast against each other. As `x[i, j] = values` of a copy:
    the last of those that name one element stays; if they accumulate, all count. Raises ShapeError where values do not
    broadcast and for more indices than axes, DTypeError for other positions than integers.

    >>> st.index_put(st.zeros(3), (st.tensor([1, 1]),), st.tensor([1.0, 2.0]), accumulate=True).tolist()
    [0.0, 3.0, 0.0]
    """
def masked_fill(x: TensorLike, mask: TensorLike, value: TensorLike) -> Tensor:
    """The array with the number `value` where `mask`, which broadcasts to its shape, is true; in the dtype of x.

    Raises DTypeError for other than a bool mask, ShapeError for a value of more than one element.

    >>> st.masked_fill(st.tensor([1.0, 2.0]), st.tensor([True, False]), 0).tolist()
    [0.0, 2.0]
    """
def select(conditions: Sequence[TensorLike], choices: Sequence[TensorLike], default: TensorLike=0) -> Tensor:
    """The element of the first of the `choices` whose condition is true, else of `default` (NumPy's select).

    `conditions`, bool arrays, and choices are lists of one length; all broadcast, and choices meet in one dtype. Raises
    ShapeError where lists or shapes do not fit, DTypeError for conditions that are no bools.

    >>> x = st.arange(5)
    >>> st.select([x < 2, x > 3], [x, x * 10], default=-1).tolist()
    [0, 1, -1, -1, 40]
    """
def narrow(x: TensorLike, axis: int, start: int, length: int) -> Tensor:
    """The `length` elements of an axis from `start` on, which may count from the end (PyTorch's narrow).

    In the dtype of x. Raises BadKey where they do not lie within the axis.

    >>> st.narrow(st.arange(5), 0, 1, 3).tolist()
    [1, 2, 3]
    """
def reshape(x: TensorLike, shape: int | Sequence[int], *more: int | Sequence[int], copy: bool | None=None) -> Tensor:
    """The same elements in row-major order under another `shape`, given as one sequence or as this size and `more`.

    One size may be -1: what is left. Values never change, so it is all the same whether they are to be a `copy`. In the
    dtype of x. Raises ShapeError where the numbers of elements differ, or two sizes are -1.

    >>> x = st.arange(6)
    >>> st.reshape(x, (2, 3)).tolist(), st.reshape(x, 3, -1).shape
    ([[0, 1, 2], [3, 4, 5]], (3, 2))
    """
def permute(x: TensorLike, axes: int | Sequence[int]=(), *more: int | Sequence[int]) -> Tensor:
    """The array with its axes in the order of `axes`, one sequence or this number and `more`; reversed without them.

    Axis k of the result is axis axes[k] of x. In the dtype of x. Raises ShapeError unless each axis is named once.

    >>> x = st.zeros((2, 3, 5))
    >>> st.permute(x, 0, 2, 1).shape, st.permute(x).shape
    ((2, 5, 3), (5, 3, 2))
    """
def swapaxes(x: TensorLike, a: int, b: int) -> Tensor:
    """The array with its axes `a` and `b` exchanged; of a number, whose axes are 0 and -1, itself.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.swapaxes(st.zeros((2, 3, 5)), 0, -1).shape
    (5, 3, 2)
    """
def transpose(x: TensorLike, *axes: int | Sequence[int]) -> Tensor:
    """The array with two axes exchanged, or with all of its `axes` in another order; reversed without any.

    Two numbers are the axes to exchange, as PyTorch's; a tuple, or as many as there are, are their order, as NumPy's.
    In the dtype of x. Raises ShapeError for axes that x does not have, and unless the order names each once.

    >>> x = st.zeros((2, 3, 5))
    >>> st.transpose(x, 0, 2).shape, x.transpose(1, 2, 0).shape, x.transpose().shape
    ((5, 3, 2), (3, 5, 2), (5, 3, 2))
    """
def moveaxis(x: TensorLike, source: int | Sequence[int], target: int | Sequence[int]) -> Tensor:
    """The array with the axis `source` moved to the place `target`, or several to several; others keep their order.

    In the dtype of x. Raises ShapeError for axes that x does not have, that are named twice, and for more of the one
    than of the other.

    >>> images = st.zeros((8, 32, 32, 3))
    >>> st.moveaxis(images, -1, 1).shape, st.moveaxis(images, (0, 3), (3, 0)).shape
    ((8, 3, 32, 32), (3, 32, 32, 8))
    """
def flip(x: TensorLike, axis: int | Sequence[int] | None=None) -> Tensor:
    """The array with the order along one axis, several, or all of them reversed; a number as it is.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.flip(x).tolist(), st.flip(x, axis=1).tolist()
    ([[6, 5, 4], [3, 2, 1]], [[3, 2, 1], [6, 5, 4]])
    """
def flatten(x: TensorLike, start: int=0, end: int=-1) -> Tensor:
    """The array with the axes from `start` to `end`, both included, as one; of no axes it becomes (1,).

    In the dtype of x. Raises ShapeError for an axis that x does not have, and where end stands before start.

    >>> x = st.zeros((8, 3, 5, 5))
    >>> st.flatten(x).shape, st.flatten(x, 1).shape, st.flatten(x, 2, 3).shape
    ((600,), (8, 75), (8, 3, 25))
    """
def squeeze(x: TensorLike, axis: int | Sequence[int] | None=None, strict: bool=True) -> Tensor:
    """The array without axes of length 1: the given ones, or all of them (of a placeholder those that are named stay).

    In the dtype of x. Raises ShapeError for a given axis of another length, as NumPy; unless `strict` it stays, as
    PyTorch has it.

    >>> x = st.zeros((1, 3, 1))
    >>> st.squeeze(x).shape, st.squeeze(x, -1).shape
    ((3,), (1, 3))
    """
def unsqueeze(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """The array with axes of length 1 put in, at the positions that axis gives them in the result: one, or several.

    In the dtype of x. Raises ShapeError for a position that the result does not have.

    >>> x = st.zeros((2, 3))
    >>> st.unsqueeze(x, 0).shape, st.unsqueeze(x, (0, -1)).shape
    ((1, 2, 3), (1, 2, 3, 1))
    """
def concatenate(xs: Sequence[TensorLike], axis: int | None=0, dtype: DTypeLike | None=None) -> Tensor:
    """The arrays `xs`, a list of one or more, one behind the other along an axis; dtypes meet as in `add`.

    In another `dtype` where one is given. Without an axis their elements in row-major order. A part (0,) beside arrays
    of more axes adds nothing, as of PyTorch. Raises ShapeError for no arrays, and where shapes differ along another
    axis.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.concatenate([x, x[:1]]).tolist(), st.concatenate([x, x], axis=-1).shape
    ([[1, 2], [3, 4], [1, 2]], (2, 4))
    """
def stack(xs: Sequence[TensorLike], axis: int=0, dtype: DTypeLike | None=None) -> Tensor:
    """The arrays `xs`, a list of one or more of one shape, side by side along a new axis; dtypes meet as in `add`.

    In another `dtype` where one is given. Raises ShapeError for no arrays, and for shapes that differ.

    >>> st.stack([st.tensor([1, 2]), st.tensor([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
def append(x: TensorLike, values: TensorLike, axis: int | None=None) -> Tensor:
    """The array with `values` behind it along an axis; without one the elements of both in row-major order.

    Dtypes meet as in `concatenate`. Raises ShapeError for an axis that x does not have and where shapes differ along
    another.

    >>> st.append(st.tensor([1, 2]), st.tensor([[3], [4]])).tolist()
    [1, 2, 3, 4]
    """
def hstack(xs: Sequence[TensorLike], dtype: DTypeLike | None=None) -> Tensor:
    """The arrays `xs` beside each other: along the second axis, vectors along their own.

    Dtypes meet, unless a `dtype` is given, as in `concatenate`. Raises ShapeError for no arrays, and where shapes
    differ along another axis.

    >>> st.hstack([st.tensor([1, 2]), st.tensor([3])]).tolist()
    [1, 2, 3]
    """
def vstack(xs: Sequence[TensorLike], dtype: DTypeLike | None=None) -> Tensor:
    """The arrays `xs` below each other, vectors as rows: along the first axis.

    Dtypes meet, unless a `dtype` is given, as in `concatenate`. Raises ShapeError for no arrays, and where shapes
    differ along another axis.

    >>> st.vstack([st.tensor([1, 2]), st.tensor([[3, 4], [5, 6]])]).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
def dstack(xs: Sequence[TensorLike]) -> Tensor:
    """The arrays `xs` behind each other: along the third axis, as `atleast_3d` makes them.

    Dtypes meet as in `concatenate`. Raises ShapeError for no arrays, and where shapes differ along another axis.

    >>> st.dstack([st.zeros(2), st.ones(2)]).shape
    (1, 2, 2)
    """
def column_stack(xs: Sequence[TensorLike]) -> Tensor:
    """The vectors `xs` as columns of a matrix; arrays of more axes beside them.

    Dtypes meet as in `concatenate`. Raises ShapeError for no arrays, and where shapes differ along another axis.

    >>> st.column_stack([st.tensor([1, 2]), st.tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
def block_diag(*xs: TensorLike) -> Tensor:
    """The matrices `xs` along the diagonal of one, with zeros elsewhere; a vector is a row, a number (1, 1).

    Dtypes meet as in `concatenate`. Raises ShapeError for more than two axes and for no
    arrays.

    >>> st.block_diag(st.tensor([[1, 2]]), st.tensor(3)).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
def atleast_1d(*xs: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """The arrays `xs` with one axis or more: a number becomes (1,). Of one array it is one, of several a tuple.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_1d(st.tensor(3)).shape
    (1,)
    """
def atleast_2d(*xs: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """The arrays `xs` with two axes or more: a vector becomes a row (1, n). Of one array it is one, of several a tuple.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_2d(st.zeros(3)).shape
    (1, 3)
    """
def atleast_3d(*xs: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """The arrays `xs` with three axes or more: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1), as in NumPy.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_3d(st.zeros(3)).shape, st.atleast_3d(st.zeros((2, 3))).shape
    ((1, 3, 1), (2, 3, 1))
    """
def unstack(x: TensorLike, axis: int=0) -> tuple[Tensor, ...]:
    """The parts of an array along an axis, which they lose, as a tuple: the inverse of `stack`.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> [part.tolist() for part in st.unstack(st.tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
def split(x: TensorLike, size: int | Sequence[int], axis: int=0) -> tuple[Tensor, ...]:
    """The parts of an array along an axis, as a tuple: of `size` elements each, or of the sizes that it lists.

    The last of equal parts may be shorter. In the dtype of x. Raises ShapeError for sizes that do not add up to the
    length of the axis.

    >>> [part.tolist() for part in st.split(st.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    >>> [part.shape for part in st.split(st.zeros((2, 5)), (1, 4), axis=1)]
    [(2, 1), (2, 4)]
    """
def array_split(x: TensorLike, sections: int | Sequence[int], axis: int=0) -> tuple[Tensor, ...]:
    """The array in so many `sections` along an axis, the first ones longer by one, or cut before each place it lists.

    NumPy's array_split, PyTorch's tensor_split; `split` takes the sizes of parts. In the dtype of x. Raises ShapeError
    for an axis that x does not have and for no sections.

    >>> [part.tolist() for part in st.array_split(st.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    >>> [part.tolist() for part in st.array_split(st.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]
    """
def chunk(x: TensorLike, chunks: int, axis: int=0) -> tuple[Tensor, ...]:
    """The array in as many parts as `chunks` along an axis, or fewer: all but the last have ceil(n / chunks) elements.

    In the dtype of x. Raises ShapeError for an axis that x does not have and for no chunks.

    >>> [part.tolist() for part in st.chunk(st.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
def hsplit(x: TensorLike, sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The array in equal `sections` along its second axis (a vector along its own), or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.hsplit(st.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
def vsplit(x: TensorLike, sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The array, of two axes or more, in equal `sections` along its first, or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.vsplit(st.zeros((4, 2)), [1])]
    [(1, 2), (3, 2)]
    """
def dsplit(x: TensorLike, sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The array in equal `sections` along its third axis, or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.dsplit(st.zeros((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
def insert(x: TensorLike, i: TensorLike | slice | Sequence[int], values: TensorLike, axis: int | None=None) -> Tensor:
    """The array with `values` put in before its elements `i` of an axis, an int, a list or a slice (NumPy's insert).

    Without an axis x is taken flat. values are cast to the dtype of x and broadcast. Raises BadKey for a place that
    there is not.

    >>> st.insert(st.tensor([1, 2, 3]), 1, 9).tolist()
    [1, 9, 2, 3]
    >>> st.insert(st.zeros((2, 2)), [0, 2], st.ones((2, 1)), axis=1).tolist()
    [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]
    """
def delete(x: TensorLike, i: TensorLike | slice | Sequence[int], axis: int | None=None) -> Tensor:
    """The array without its elements `i` of an axis, an int, a list or a slice (NumPy's delete); flat without an axis.

    In the dtype of x. Raises BadKey for a place that there is not.

    >>> st.delete(st.arange(5), [0, -1]).tolist(), st.delete(st.zeros((2, 3)), 1, axis=1).shape
    ([1, 2, 3], (2, 2))
    """
def cartesian_prod(*xs: TensorLike) -> Tensor:
    """Every choice of one element of each of the vectors `xs`, as rows; of one vector that vector.

    Dtypes meet as in `stack`. Raises ShapeError for other than vectors.

    >>> st.cartesian_prod(st.tensor([1, 2]), st.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
def combinations(x: TensorLike, r: int=2, with_replacement: bool=False) -> Tensor:
    """Every choice of `r` elements of a vector in their order, as rows; `with_replacement` one may stand several times.

    In the dtype of x. Raises ShapeError where x is no vector, and for a negative r.

    >>> st.combinations(st.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
def pad(x: TensorLike, widths: int | Sequence[int | Sequence[int]], value: TensorLike=0.0, mode: str='constant',
        stat_length: TensorLike | None=None, end_values: TensorLike=0) -> Tensor:
    """The array with something around it: `widths` has a pair (before, behind) for each axis, or is one for all axes.

    A number in the place of a pair is for both sides. `mode` "constant" puts the number `value` there, "edge" or
    "replicate" the nearest element, "reflect" the elements from there backwards, "symmetric" the same with the edge
    twice, "wrap" or "circular" those of the other end; "mean", "median", "maximum" and "minimum" what these are along
    the axis, or of so many elements at the end as `stat_length` says; "linear_ramp" even steps to `end_values`. These
    three may have pairs too, as widths. x and a number that is the value meet in one dtype as in `add`, but 0, the
    default, takes that of x; else the dtype is that of x. Raises ShapeError for another number of pairs, for negative
    widths and for an axis of nothing to repeat, OptionError for another mode.

    >>> st.pad(st.tensor([[1, 2]]), [(0, 1), (2, 0)], value=9).tolist()
    [[9, 9, 1, 2], [9, 9, 9, 9]]
    >>> st.pad(st.tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
def roll(x: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int] | None=None) -> Tensor:
    """The array moved along an axis by `shift` places; what leaves at the end enters at the start.

    Several axes each by their shift, or all by one; without an axis the elements in row-major order. A shift may be
    negative, or longer than the axis. In the dtype of x. Raises ShapeError for more shifts than axes.

    >>> st.roll(st.arange(5), 2, 0).tolist(), st.roll(st.arange(5), -1).tolist()
    ([3, 4, 0, 1, 2], [1, 2, 3, 4, 0])
    >>> st.roll(st.arange(4).reshape(2, 2), (1, 1), (0, 1)).tolist()
    [[3, 2], [1, 0]]
    """
def tile(x: TensorLike, repetitions: int | Sequence[int]) -> Tensor:
    """The array beside itself along each axis, as often as `repetitions` say: of the last axes, more add axes in front.

    In the dtype of x. Raises ShapeError for negative repetitions.

    >>> st.tile(st.tensor([1, 2]), 2).tolist(), st.tile(st.tensor([[1, 2]]), (2, 1)).tolist()
    ([1, 2, 1, 2], [[1, 2], [1, 2]])
    """
def rot90(x: TensorLike, k: int=1, axes: Sequence[int]=(0, 1)) -> Tensor:
    """The array turned by 90 degrees, `k` times, in the plane of two `axes`: from the first towards the second.

    In the dtype of x. Raises ShapeError unless axes are two that x has.

    >>> st.rot90(st.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
def fliplr(x: TensorLike) -> Tensor:
    """The array with the order along its second axis reversed. Raises ShapeError for fewer than two axes.

    In the dtype of x.

    >>> st.fliplr(st.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
def flipud(x: TensorLike) -> Tensor:
    """The array with the order along its first axis reversed. Raises ShapeError for a number.

    In the dtype of x.

    >>> st.flipud(st.tensor([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
def unfold(x: TensorLike, axis: int, size: int, step: int=1) -> Tensor:
    """The windows of `size` elements along an axis, one every `step`, as a new last axis (PyTorch's Tensor.unfold).

    Nothing is copied where a program reads them. A number has one axis, 0 or -1. In the dtype of x. Raises ShapeError
    where not one window fits.

    >>> st.unfold(st.arange(5), 0, 3, step=2).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
def unflatten(x: TensorLike, axis: int, sizes: Sequence[int]) -> Tensor:
    """The array with an axis as several, of these `sizes`, one of which may be -1: what is left.

    In the dtype of x. Raises ShapeError for an axis that x does not have and where sizes do not multiply to its length.

    >>> st.unflatten(st.zeros((2, 6)), 1, (3, -1)).shape
    (2, 3, 2)
    """
def broadcast_arrays(*xs: TensorLike) -> tuple[Tensor, ...]:
    """The arrays `xs`, each repeated to the shape that all of them broadcast to, as a tuple.

    Each in its own dtype. Raises ShapeError where the shapes do not fit.

    >>> [x.shape for x in st.broadcast_arrays(st.zeros((3, 1)), st.zeros(4))]
    [(3, 4), (3, 4)]
    """
def broadcast_to(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """The array repeated to a `shape` by NumPy's rule: along axes of length 1, and along new ones in front.

    Nothing is copied where a program reads it. In the dtype of x. Raises ShapeError where the shapes do not fit.

    >>> st.broadcast_to(st.tensor([1, 2]), (3, 2)).tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
def meshgrid(*arrays: TensorLike | Sequence[TensorLike], indexing: str='xy', sparse: bool=False) -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid, as a tuple of one array for each of the `arrays` of one axis, or none.

    The arrays may also be one list; a list of numbers is an array. With `indexing` "ij" array k lies along axis k of
    all results; with "xy" the first two are exchanged, as of a picture whose first axis counts rows. `sparse` results
    are 1 long on other axes than their own. Each in its own dtype. Raises ShapeError for arrays of more axes,
    OptionError for another indexing.

    >>> x, y = st.meshgrid(st.tensor([1, 2, 3]), st.tensor([10, 20]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
def tril(x: TensorLike, k: int=0) -> Tensor:
    """The lower triangle of x: zeros above diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.tril(st.ones((3, 3), dtype="int64")).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
def triu(x: TensorLike, k: int=0) -> Tensor:
    """The upper triangle of x: zeros below diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.triu(st.ones((2, 3), dtype="int64"), k=1).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
def diagonal(x: TensorLike, offset: int=0, axis1: int=0, axis2: int=1) -> Tensor:
    """The elements x[i, i + `offset`] of the matrices on two axes, `axis1` and `axis2`, as a new last axis.

    In the dtype of x. Raises ShapeError for axes that x does not have, or that are one.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.diagonal(x).tolist(), st.diagonal(x, offset=1).tolist(), st.diagonal(x, offset=-1).tolist()
    ([1, 5], [2, 6], [4])
    """
def diag(x: TensorLike, k: int=0) -> Tensor:
    """Of a vector the matrix that has it on diagonal `k`, of a matrix its diagonal k (0 the main one, 1 above it).

    In the dtype of x. Raises ShapeError for another number of axes.

    >>> st.diag(st.tensor([1, 2])).tolist(), st.diag(st.tensor([[1, 2], [3, 4]]), k=1).tolist()
    ([[1, 0], [0, 2]], [2])
    """
def diag_embed(x: TensorLike, offset: int=0, axis1: int=-2, axis2: int=-1) -> Tensor:
    """Matrices with the last axis of x on the diagonal `offset`, and zeros elsewhere.

    They stand on the axes `axis1` and `axis2` of the result. In the dtype of x. Raises ShapeError for axes that it does
    not have.

    >>> st.diag_embed(st.tensor([1, 2]), offset=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
def matrix_transpose(x: TensorLike) -> Tensor:
    """The array with its last two axes exchanged: each matrix of a stack transposed (`x.mT`).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.matrix_transpose(st.zeros((8, 2, 3))).shape
    (8, 3, 2)
    """
def eval(*tensors: Tensor) -> Any:
    """The `tensors` with their numbers computed now, all in one program: one as it is, several as a tuple.

    Numbers are computed by themselves where they are looked at; several that share work cost less together. Each in its
    own dtype. They may have any shapes. Raises ArgumentError for other than tensors.

    >>> x = st.arange(3.0)
    >>> y, z = st.eval(x.sum(), st.exp(x).sum())
    >>> float(y)
    3.0
    """
__all__ = ['exp', 'log', 'log1p', 'expm1', 'sqrt', 'rsqrt', 'square', 'sin', 'cos', 'tan', 'atan', 'sinh', 'cosh',
    'tanh', 'asin', 'acos', 'cbrt', 'asinh', 'acosh', 'atanh', 'exp2', 'log2', 'log10', 'atan2', 'hypot', 'logaddexp',
    'heaviside', 'signbit', 'copysign', 'spacing', 'nextafter', 'positive', 'fmod', 'fmax', 'fmin', 'frac', 'frexp',
    'ldexp', 'isclose', 'nan_to_num', 'isposinf', 'isneginf', 'lerp', 'float_power', 'rad2deg', 'deg2rad', 'sigmoid',
    'log_sigmoid', 'erf', 'erfc', 'relu', 'leaky_relu', 'elu', 'softplus', 'reciprocal', 'abs', 'sign', 'floor', 'ceil',
    'trunc', 'round', 'isnan', 'isinf', 'isfinite', 'logical_not', 'stop_gradient', 'add', 'subtract', 'multiply',
    'divide', 'negative', 'floor_divide', 'remainder', 'pow', 'clip', 'maximum', 'minimum', 'equal', 'not_equal',
    'less', 'less_equal', 'greater', 'greater_equal', 'logical_and', 'logical_or', 'bitwise_and', 'bitwise_or',
    'bitwise_xor', 'bitwise_invert', 'bitwise_left_shift', 'bitwise_right_shift', 'logical_xor', 'sum', 'mean', 'prod',
    'max', 'min', 'var', 'std', 'var_mean', 'std_mean', 'allclose', 'all', 'any', 'argmax', 'argmin', 'matmul', 'real',
    'imag', 'conj', 'angle', 'complex', 'softmax', 'log_softmax', 'logsumexp', 'silu', 'gelu', 'normalize',
    'layer_norm', 'pick', 'one_hot', 'cross_entropy', 'mse', 'binary_cross_entropy', 'take', 'embedding', 'gather',
    'index_select', 'index_copy', 'index_fill', 'index_put', 'masked_fill', 'select', 'narrow', 'reshape', 'permute',
    'swapaxes', 'transpose', 'moveaxis', 'flip', 'flatten', 'squeeze', 'unsqueeze', 'concatenate', 'stack', 'append',
    'hstack', 'vstack', 'dstack', 'column_stack', 'block_diag', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'unstack',
    'split', 'array_split', 'chunk', 'hsplit', 'vsplit', 'dsplit', 'insert', 'delete', 'cartesian_prod', 'combinations',
    'pad', 'roll', 'tile', 'rot90', 'fliplr', 'flipud', 'unfold', 'unflatten', 'broadcast_arrays', 'broadcast_to',
    'meshgrid', 'tril', 'triu', 'diagonal', 'diag', 'diag_embed', 'matrix_transpose', 'eval', 'cat', 'concat',
    'row_stack', 'permute_dims', 'movedim', 'ravel', 'swapdims', 'expand_dims', 'unbind', 'tensor_split', 'amax',
    'amin', 'clamp', 'mul', 'sub', 'div', 'true_divide', 'neg', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'mm', 'bmm', 'mv',
    'absolute', 'power', 'mod', 'fix', 'arctan', 'arctan2', 'arcsin', 'arccos', 'arcsinh', 'arccosh', 'arctanh',
    'expit', 'degrees', 'radians', 'invert', 'bitwise_not', 'left_shift', 'right_shift', 'around', 'rint', 'fabs',
    'conjugate', 'sgn']
cat = concatenate
concat = concatenate
row_stack = vstack
permute_dims = permute
movedim = moveaxis
ravel = flatten
swapdims = swapaxes
expand_dims = unsqueeze
unbind = unstack
tensor_split = array_split
amax = max
amin = min
clamp = clip
mul = multiply
sub = subtract
div = divide
true_divide = divide
neg = negative
eq = equal
ne = not_equal
lt = less
le = less_equal
gt = greater
ge = greater_equal
mm = matmul
bmm = matmul
mv = matmul
absolute = abs
power = pow
mod = remainder
fix = trunc
arctan = atan
arctan2 = atan2
arcsin = asin
arccos = acos
arcsinh = asinh
arccosh = acosh
arctanh = atanh
expit = sigmoid
degrees = rad2deg
radians = deg2rad
invert = bitwise_invert
bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift
around = round
rint = round
fabs = abs
conjugate = conj
sgn = sign
