"""Activations as layers."""
from __future__ import annotations

from typing import Any

from stele.arrays.creation import full
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional
from stele.nn.applied import Applied
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import number, positive


class ReLU6(Applied):
    """The rectifier between 0 and 6 as a layer, as of `nn.functional.relu6`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.ReLU6()(st.tensor([-1.0, 9.0])).tolist()
    [0.0, 6.0]
    """

    function = staticmethod(functional.relu6)

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        self.keep()


class ELU(Applied):
    """The exponential linear unit as a layer, as of `nn.functional.elu`.

    `alpha` is minus its limit on the left. x has any shape. Raises DTypeError for complex numbers.

    >>> nn.ELU(2.0)(st.tensor([-100.0, 2.0])).tolist()
    [-2.0, 2.0]
    """

    function = staticmethod(functional.elu)

    @speaks
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.keep(alpha=alpha)


class SELU(Applied):
    """The scaled exponential linear unit as a layer, as of `nn.functional.selu`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.SELU()(st.tensor([0.0, 1.0]))
    tensor([0.      , 1.050701])
    """

    function = staticmethod(functional.selu)

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        self.keep()


class CELU(Applied):
    """The continuously differentiable exponential linear unit as a layer, as of `nn.functional.celu`.

    `alpha` is minus its limit on the left. x has any shape. Raises DTypeError for complex numbers.

    >>> nn.CELU(0.5)(st.tensor([-100.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    function = staticmethod(functional.celu)

    @speaks
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.keep(alpha=alpha)


class LeakyReLU(Applied):
    """The leaky rectifier as a layer, as of `nn.functional.leaky_relu`.

    Negative elements are multiplied by `negative_slope`. x has any shape. Raises DTypeError for complex numbers.

    >>> nn.LeakyReLU(0.5)(st.tensor([-2.0, 3.0])).tolist()
    [-1.0, 3.0]
    """

    function = staticmethod(functional.leaky_relu)

    @speaks
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.keep(negative_slope=negative_slope)


class RReLU(Applied):
    """The leaky rectifier with random slopes as a layer, as of `nn.functional.rrelu`.

    In training slopes are drawn between `lower` and `upper`, after `eval()` they are their mean. x has any shape.
    Raises DTypeError for complex numbers.

    >>> nn.RReLU().eval()(st.tensor([-24.0, 1.0])).tolist()
    [-5.5, 1.0]
    """

    function = staticmethod(functional.rrelu)

    @speaks
    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        self.keep(lower=lower, upper=upper)

    def forward(self, *x: Any) -> Any:
        return self.function(*x, **self.options(), training=self.training)


class GLU(Applied):
    """The gated linear unit as a layer, as of `nn.functional.glu`.

    It halves the axis `dim`. Raises ShapeError where x does not have that axis or it is of odd length, DTypeError for
    complex numbers.

    >>> nn.GLU()(st.tensor([3.0, 4.0, 0.0, 0.0])).tolist()
    [1.5, 2.0]
    """

    function = staticmethod(functional.glu)

    @speaks
    def __init__(self, dim: int = -1) -> None:
        self.keep(dim=dim)


class Hardtanh(Applied):
    """Elements between two bounds as a layer, as of `nn.functional.hardtanh`.

    The bounds are `min_val` and `max_val`. x has any shape. Raises ShapeError unless min_val is below max_val,
    DTypeError for complex numbers.

    >>> nn.Hardtanh()(st.tensor([-2.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    function = staticmethod(functional.hardtanh)

    @speaks
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        low, high = number(min_val, "min_val of Hardtanh"), number(max_val, "max_val of Hardtanh")
        if not low < high:
            raise ShapeError(f"Hardtanh needs min_val < max_val, got {low} and {high}")
        self.keep(min_val=low, max_val=high)


class Hardsigmoid(Applied):
    """The sigmoid in three straight parts as a layer, as of `nn.functional.hardsigmoid`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Hardsigmoid()(st.tensor([-3.0, 0.0])).tolist()
    [0.0, 0.5]
    """

    function = staticmethod(functional.hardsigmoid)

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        self.keep()


class Hardswish(Applied):
    """The swish in straight parts as a layer, as of `nn.functional.hardswish`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Hardswish()(st.tensor([-3.0, 9.0])).tolist()
    [0.0, 9.0]
    """

    function = staticmethod(functional.hardswish)

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        self.keep()


class Hardshrink(Applied):
    """Elements near 0 set to 0, as a layer, as of `nn.functional.hardshrink`.

    Those from -`lambd` to lambd are. x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Hardshrink()(st.tensor([-2.0, 0.3])).tolist()
    [-2.0, 0.0]
    """

    function = staticmethod(functional.hardshrink)

    @speaks
    def __init__(self, lambd: float = 0.5) -> None:
        self.keep(lambd=lambd)


class Softshrink(Applied):
    """Elements moved towards 0 as a layer, as of `nn.functional.softshrink`.

    They move by `lambd`, not beyond 0. x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Softshrink()(st.tensor([-2.0, 0.3])).tolist()
    [-1.5, 0.0]
    """

    function = staticmethod(functional.softshrink)

    @speaks
    def __init__(self, lambd: float = 0.5) -> None:
        self.keep(lambd=lambd)


class Tanhshrink(Applied):
    """The difference x - tanh(x) as a layer, as of `nn.functional.tanhshrink`.

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is no tensor.

    >>> nn.Tanhshrink()(st.tensor([0.0, 1.0]))
    tensor([0.        , 0.23840582])
    """

    function = staticmethod(functional.tanhshrink)


class Threshold(Applied):
    """Elements above a threshold as a layer, as of `nn.functional.threshold`.

    In place of those that are not above the `threshold` stands the number `value`. x has any shape. Raises DTypeError
    for complex numbers.

    >>> nn.Threshold(1.0, -7.0)(st.tensor([0.5, 2.0])).tolist()
    [-7.0, 2.0]
    """

    function = staticmethod(functional.threshold)

    @speaks
    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self.keep(threshold=threshold, value=value)


class Softplus(Applied):
    """The smooth rectifier as a layer, as of `nn.functional.softplus`.

    log(1 + exp(`beta` * x)) / beta, and x itself where beta * x is above the `threshold`. x has any shape. Raises
    DTypeError for complex numbers.

    >>> nn.Softplus()(st.tensor([0.0, 30.0]))
    tensor([ 0.6931472, 30.       ])
    """

    function = staticmethod(functional.softplus)

    @speaks
    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.keep(beta=beta, threshold=threshold)


class Softsign(Applied):
    """The function x / (1 + |x|) as a layer, as of `nn.functional.softsign`.

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is no tensor.

    >>> nn.Softsign()(st.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """

    function = staticmethod(functional.softsign)


class Mish(Applied):
    """The function x * tanh(softplus(x)) as a layer, as of `nn.functional.mish`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Mish()(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.8650984])
    """

    function = staticmethod(functional.mish)

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        self.keep()


class LogSigmoid(Applied):
    """The logarithm of the sigmoid as a layer, as of `nn.functional.logsigmoid`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.LogSigmoid()(st.tensor([-200.0])).tolist()
    [-200.0]
    """

    function = staticmethod(functional.logsigmoid)


class Softmax(Applied):
    """The softmax along an axis as a layer, as of `nn.functional.softmax`.

    The axis is `dim`; without one ArgumentError asks for it. Of floats.

    >>> nn.Softmax(dim=-1)(st.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """

    function = staticmethod(functional.softmax)

    @speaks
    def __init__(self, dim: int | None = None) -> None:
        self.keep(dim=dim)


class Softmax2d(Module):
    """The softmax over the channels of images (N, C, H, W) or (C, H, W), at each pixel.

    Raises ShapeError for other axes. Of floats.

    >>> nn.Softmax2d()(st.zeros((2, 1, 1))).flatten().tolist()
    [0.5, 0.5]
    """

    def forward(self, x: Tensor) -> Tensor:
        x = given(self, x)
        if x.ndim not in (3, 4):
            raise wrong(self, "images (N, C, H, W) or (C, H, W)", x, {})
        return functional.softmax(x, -3)


class LogSoftmax(Applied):
    """The logarithm of the softmax along an axis as a layer, as of `nn.functional.log_softmax`.

    The axis is `dim`; without one ArgumentError asks for it. Of floats.

    >>> nn.LogSoftmax(dim=-1)(st.tensor([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """

    function = staticmethod(functional.log_softmax)

    @speaks
    def __init__(self, dim: int | None = None) -> None:
        self.keep(dim=dim)


class Softmin(Applied):
    """The softmax of -x along an axis as a layer, as of `nn.functional.softmin`.

    The axis is `dim`; without one ArgumentError asks for it. Of floats.

    >>> nn.Softmin(dim=-1)(st.tensor([0.0, 1000.0])).tolist()
    [1.0, 0.0]
    """

    function = staticmethod(functional.softmin)

    @speaks
    def __init__(self, dim: int | None = None) -> None:
        self.keep(dim=dim)


class PReLU(Module):
    """The leaky rectifier whose slope is a parameter, as of `nn.functional.prelu`.

    `weight` has `num_parameters` slopes, one, or one for each channel on axis 1; they begin as `init`. x has any shape.
    Raises ShapeError for less than one slope, DTypeError for complex numbers.

    >>> layer = nn.PReLU()
    >>> layer(st.tensor([-4.0, 2.0])).tolist(), layer.weight.tolist()
    ([-1.0, 2.0], [0.25])
    """

    @speaks
    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        count = positive(num_parameters, "num_parameters of PReLU")
        self.weight = full((count,), number(init, "init of PReLU"), requires_grad=True)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}"

    def forward(self, x: Tensor) -> Tensor:
        return functional.prelu(x, self.weight)
