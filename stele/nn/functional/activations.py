"""Activations, element by element and along an axis."""
from __future__ import annotations

from stele.errors import ArgumentError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import quotient
from stele.ir.types import DType, axis_of, same, show
from stele.ops import functional
from stele.ops.arguments import number
from stele.ops.composite import LogSoftmax, Softmax
from stele.ops.elementwise import unary
from stele.ops.elementwise.base import needs_float
from stele.ops.elementwise.binary import where
from stele.ops.linear import cast, reshape, slice_axis, zeros_like

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805   # of `selu`: Klambauer et al. (2017), equation 14


def relu(input: Value, inplace: bool = False) -> Value:
    """The rectified linear unit max(x, 0), in the dtype of the input.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.relu(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return unary.relu(input)


def relu6(input: Value, inplace: bool = False) -> Value:
    """The rectifier between bounds, min(max(x, 0), 6). Its derivative is 0 at both of them.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.relu6(st.tensor([-1.0, 2.0, 9.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return hardtanh(input, 0.0, 6.0)


def hardtanh(input: Value, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Value:
    """The elements of x, those below `min_val` or above `max_val` set to these. The derivative at both bounds is 0.

    Integers become float32. x has any shape. Raises ShapeError where min_val is above max_val.

    >>> F.hardtanh(st.tensor([-2.0, 0.5, 2.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    if min_val > max_val:
        raise ShapeError(f"hardtanh needs min_val <= max_val, got {min_val} and {max_val}")
    return where(input <= min_val, min_val, where(input >= max_val, max_val, input))


def threshold(input: Value, threshold: float, value: float, inplace: bool = False) -> Value:
    """The elements of x above a `threshold`, and the number `value` in place of the others.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.threshold(st.tensor([0.5, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
    return where(input <= threshold, value, input)


def leaky_relu(input: Value, negative_slope: float = 0.01, inplace: bool = False) -> Value:
    """The leaky rectifier: x where it is positive, else `negative_slope` * x, the derivative at 0 too (PyTorch's).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.leaky_relu(st.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2,  3. ])
    """
    return where(input > 0, input, input * negative_slope)


def prelu(input: Value, weight: Value) -> Value:
    """The leaky rectifier whose slope is a parameter: x where it is positive, else `weight` * x (He et al., 2015).

    weight is one number, or one for each channel, which stands on axis 1. Dtypes meet as in `multiply`. Raises
    ShapeError for another number of them.

    >>> F.prelu(st.tensor([[-2.0, -2.0]]), st.tensor([0.1, 0.5])).tolist()
    [[-0.2, -1.0]]
    """
    if weight.ndim > 1 or (weight.ndim and not same(weight.shape[0], 1) and (
            input.ndim < 2 or not same(weight.shape[0], input.shape[1]))):
        raise ShapeError(f"prelu needs one weight, or one for each channel on axis 1, got {show(weight.shape)} for "
                         f"{show(input.shape)}")
    several = input.ndim > 1 and weight.ndim
    return where(input > 0, input, input * reshape(weight, (-1, *(1,) * (input.ndim - 2)) if several else ()))


def elu(input: Value, alpha: float = 1.0, inplace: bool = False) -> Value:
    """The exponential linear unit: x where it is positive, else `alpha` * (exp(x) - 1) (Clevert et al., 2016).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.elu(st.tensor([-100.0, 2.0])).tolist()
    [-1.0, 2.0]
    """
    return unary.elu(input, alpha=alpha)


def selu(input: Value, inplace: bool = False) -> Value:
    """The scaled exponential linear unit, which keeps mean 0 and variance 1 (Klambauer et al., 2017).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.selu(st.tensor([0.0, 1.0]))
    tensor([0.      , 1.050701])
    """
    return unary.elu(input, alpha=ALPHA) * SCALE


def celu(input: Value, alpha: float = 1.0, inplace: bool = False) -> Value:
    """The continuously differentiable `elu`: max(x, 0) + min(0, `alpha` * (exp(x / alpha) - 1)) (Barron, 2017).

    Integers become float32. Raises ShapeError for an alpha of 0.

    >>> F.celu(st.tensor([-100.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    if alpha == 0:
        raise ShapeError("celu divides by alpha: it cannot be 0")
    is_low = input <= 0
    return where(is_low, unary.expm1(where(is_low, input, zeros_like(input)) / alpha) * alpha, input)


def gelu(input: Value, approximate: str = "none") -> Value:
    """The Gaussian error linear unit, x times the probability that a standard normal number is below x.

    `approximate="tanh"` takes the formula with tanh of Hendrycks and Gimpel (2016). x has any shape. Raises DTypeError
    for other dtypes than floats, OptionError for another formula.

    >>> F.gelu(st.tensor([-1.0, 1.0]))
    tensor([-0.15865526,  0.8413447 ])
    """
    return functional.gelu(input, approximate=approximate)


def silu(input: Value, inplace: bool = False) -> Value:
    """The sigmoid linear unit x * sigmoid(x), also called swish (Ramachandran et al., 2017).

    x has any shape. Raises DTypeError for other dtypes than floats.

    >>> F.silu(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7310586])
    """
    return functional.silu(input)


def mish(input: Value, inplace: bool = False) -> Value:
    """The smooth activation x * tanh(softplus(x)) (Misra, 2019).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.mish(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.8650984])
    """
    return input * unary.tanh(unary.softplus(input))


def hardsigmoid(input: Value, inplace: bool = False) -> Value:
    """The sigmoid in three straight parts: x / 6 + 1/2, between 0 and 1. Its derivative is 0 at -3, 3 and NaN.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardsigmoid(st.tensor([-3.0, 0.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    y = where(input <= -3, 0.0, where(input >= 3, 1.0, input / 6 + 0.5))
    return where((input > -3) & (input < 3), y, unary.stop_gradient(y))


def hardswish(input: Value, inplace: bool = False) -> Value:
    """The swish in straight parts, x * hardsigmoid(x) (Howard et al., 2019).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardswish(st.tensor([-3.0, 1.0, 9.0]))
    tensor([0.       , 0.6666667, 9.       ])
    """
    return where(input <= -3, 0.0, where(input >= 3, input, input * (input / 6 + 0.5)))


def hardshrink(input: Value, lambd: float = 0.5) -> Value:
    """The elements of x, those from -`lambd` to lambd set to 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardshrink(st.tensor([-2.0, 0.3])).tolist()
    [-2.0, 0.0]
    """
    return where((input >= -lambd) & (input <= lambd), 0.0, input)


def softshrink(input: Value, lambd: float = 0.5) -> Value:
    """The elements of x moved towards 0 by `lambd`, and 0 where they would pass it. Raises ShapeError for lambd < 0.

    Integers become float32. x has any shape.

    >>> F.softshrink(st.tensor([-2.0, 0.3])).tolist()
    [-1.5, 0.0]
    """
    number(lambd, "lambd of softshrink", 0)
    return where((input >= -lambd) & (input <= lambd), input * 0.0, where(input > 0, input - lambd, input + lambd))


def tanhshrink(input: Value) -> Value:
    """The difference x - tanh(x).

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.tanhshrink(st.tensor([0.0, 1.0]))
    tensor([0.        , 0.23840582])
    """
    return input - unary.tanh(input)


def softsign(input: Value) -> Value:
    """The sigmoid without exponentials, x / (1 + |x|).

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.softsign(st.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    return input / (unary.absolute(input) + 1)


def softplus(input: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """The smooth rectifier log(1 + exp(`beta` * x)) / beta, and x itself where beta * x is above the `threshold`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.softplus(st.tensor([0.0, 30.0])).tolist()[1], F.softplus(st.tensor(0.0), beta=2.0)
    (30.0, tensor(0.3465736))
    """
    steep = input * beta
    return where(steep > threshold, input, unary.softplus(steep) / beta)


def logsigmoid(input: Value) -> Value:
    """The logarithm of the sigmoid of x, finite also where that rounds to 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.logsigmoid(st.tensor([0.0, -200.0]))
    tensor([  -0.6931472, -200.       ])
    """
    return unary.log_sigmoid(input)


def sigmoid(input: Value) -> Value:
    """The logistic function 1 / (1 + exp(-x)).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.sigmoid(st.tensor([0.0, 2.0]))
    tensor([0.5      , 0.8807971])
    """
    return unary.sigmoid(input)


def tanh(input: Value) -> Value:
    """The hyperbolic tangent, element by element.

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.tanh(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7615942])
    """
    return unary.tanh(input)


def glu(input: Value, dim: int = -1) -> Value:
    """The gated linear unit a * sigmoid(b) of the first half a and the second half b of an axis (Dauphin et al., 2016).

    The result is half as long along `dim`. Integers become float32. Raises ShapeError for an axis of odd length.

    >>> F.glu(st.tensor([3.0, 4.0, 0.0, 0.0])).tolist()
    [1.5, 2.0]
    """
    axis = axis_of(dim, input.ndim)
    n, half = input.shape[axis], quotient(input.shape[axis], 2)
    if not same(half * 2, n):
        raise ShapeError(f"glu halves axis {axis}, which is of odd length in {show(input.shape)}")
    return slice_axis(input, axis, 0, half) * unary.sigmoid(slice_axis(input, axis, half, half))


def softmax(input: Value, dim: int | None = None, dtype: DType | None = None) -> Value:
    """The probabilities exp(x) / sum(exp(x)) along the axis `dim`, after a conversion to `dtype` where one is given.

    PyTorch guesses a dim that is not given from the number of axes; here ArgumentError asks for it.

    >>> F.softmax(st.tensor([[0.0, 0.0], [1000.0, 0.0]]), dim=1).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    return along(Softmax, "softmax", input, dim, dtype)


def log_softmax(input: Value, dim: int | None = None, dtype: DType | None = None) -> Value:
    """The logarithm of the softmax of x along the axis `dim`, as in `softmax`.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> F.log_softmax(st.tensor([0.0, -1000.0]), dim=0).tolist()
    [0.0, -1000.0]
    """
    return along(LogSoftmax, "log_softmax", input, dim, dtype)


def softmin(input: Value, dim: int | None = None, dtype: DType | None = None) -> Value:
    """The softmax of -x along the axis `dim`, as in `softmax`: the smallest element weighs most.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> F.softmin(st.tensor([0.0, 1000.0]), dim=0).tolist()
    [1.0, 0.0]
    """
    return along(Softmax, "softmin", -input, dim, dtype)


def along(op: type[Softmax | LogSoftmax], name: str, x: Value, dim: int | None, dtype: DType | None) -> Value:
    """An op along one axis of x; a number is an axis of one."""
    if dim is None:
        raise ArgumentError(f"{name} needs dim", hint=f"Write F.{name}(x, dim=-1) for the last axis.")
    x = x if dtype is None else cast(x, dtype)
    axis = axis_of(dim, max(x.ndim, 1))
    needs_float(op(axis), x.dtype)
    return op(axis)(x) if x.ndim else reshape(op(0)(reshape(x, (1,))), ())
