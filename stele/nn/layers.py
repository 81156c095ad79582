"""Layers without memory of earlier inputs."""
from __future__ import annotations

from math import sqrt

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor, lift
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional, init
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import choice, flag, positive, whole
from stele.ops.functional import linear

affine = lift(linear)


class Linear(Module):
    """An affine map x @ weight.T + bias of the last axis: (..., in_features) -> (..., out_features).

    `weight` is (`out_features`, `in_features`), `bias` (out_features,) unless bias=False; both uniform within 1 /
    sqrt(in_features), PyTorch's default. Raises ShapeError for an input of another last axis. In the dtype of x and the
    weights, where they meet.

    >>> layer = nn.Linear(3, 2)
    >>> layer(st.ones((8, 5, 3))).shape, layer.weight.shape
    ((8, 5, 2), (2, 3))
    """

    @speaks
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features = positive(in_features, "in_features of Linear")
        self.out_features = positive(out_features, "out_features of Linear")
        self.weight = init.zeros((out_features, in_features))
        self.bias = init.zeros((out_features,)) if flag(bias, "bias of Linear") else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        init.redraw((self.weight, self.bias), 1 / sqrt(self.in_features))

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + ", bias=False" * (self.bias is None)

    def forward(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor:
            x = given(self, x)
        try:
            return affine(x, self.weight) if self.bias is None else affine(x, self.weight, self.bias)
        except ShapeError:
            inputs = self.in_features
            raise wrong(self, f"{inputs} features on the last axis", x, {
                "Write x.flatten(1) before it.": x.ndim > 2 and x[0].size == inputs,
                "Write x.reshape(-1, 1) before it.": x.ndim == 1 and inputs == 1,
                "Did you mean x.T?": x.ndim == 2 and x.shape[0] == inputs}) from None


class Bilinear(Module):
    """The sum over i and j of a[i] * weight[o, i, j] * b[j], plus bias[o], as of `nn.functional.bilinear`.

    Called with (..., `in1_features`) and (..., `in2_features`), it gives (..., `out_features`). `weight` is
    (out_features, in1_features, in2_features), `bias` (out_features,) unless bias=False; both uniform within 1 /
    sqrt(in1_features), PyTorch's default. Raises ShapeError for inputs of other last axes. In the dtype of x and the
    weights, where they meet.

    >>> nn.Bilinear(3, 4, 2)(st.ones((8, 3)), st.ones((8, 4))).shape
    (8, 2)
    """

    @speaks
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        self.in1_features = positive(in1_features, "in1_features of Bilinear")
        self.in2_features = positive(in2_features, "in2_features of Bilinear")
        self.out_features = positive(out_features, "out_features of Bilinear")
        self.weight = init.zeros((out_features, in1_features, in2_features))
        self.bias = init.zeros((out_features,)) if flag(bias, "bias of Bilinear") else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        init.redraw((self.weight, self.bias), 1 / sqrt(self.in1_features))

    def extra_repr(self) -> str:
        return f"{self.in1_features}, {self.in2_features}, {self.out_features}" + ", bias=False" * (self.bias is None)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for v, features in (given(self, x), self.in1_features), (given(self, y), self.in2_features):
            if not v.ndim or v.shape[-1] != features:
                raise wrong(self, f"{features} features on the last axis", v, {})
        return functional.bilinear(x, y, self.weight, self.bias)


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one: (N, ...) -> (N, features) unless told otherwise.

    Raises ShapeError for axes that x does not have. In the dtype of x.

    >>> nn.Flatten()(st.zeros((8, 3, 5, 5))).shape, nn.Flatten(0, -2)(st.zeros((8, 3, 5, 5))).shape
    ((8, 75), (120, 5))
    """

    @speaks
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = whole(start_dim, "start_dim of Flatten"), whole(end_dim, "end_dim of Flatten")

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={held}" for key, held, usual in (
            ("start_dim", self.start_dim, 1), ("end_dim", self.end_dim, -1)) if held != usual)

    def forward(self, x: Tensor) -> Tensor:
        return given(self, x).flatten(self.start_dim, self.end_dim)


class ReLU(Module):
    """The rectified linear unit as a layer: max(x, 0) of any shape, as of `st.relu`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.ReLU()(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(Module):
    """The Gaussian error linear unit as a layer, of any shape, as of `st.gelu`; `approximate` is "none" or "tanh".

    Raises DTypeError for complex numbers, OptionError for another formula.

    >>> nn.GELU(approximate="tanh")(st.tensor([-1.0, 1.0]))
    tensor([-0.158808,  0.841192])
    """

    @speaks
    def __init__(self, approximate: str = "none") -> None:
        self.approximate = choice(approximate, "approximate of GELU", ("none", "tanh"))

    def extra_repr(self) -> str:
        return f"{self.approximate!r}" * (self.approximate != "none")

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate=self.approximate)


class SiLU(Module):
    """The sigmoid linear unit as a layer: x * sigmoid(x) of any shape, as of `st.silu`.

    Raises DTypeError for other dtypes than floats.

    >>> nn.SiLU()(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7310586])
    """

    @speaks
    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Tanh(Module):
    """The hyperbolic tangent as a layer, of any shape, as of `st.tanh`.

    Integers become float32. Raises DTypeError for what is no number.

    >>> nn.Tanh()(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7615942])
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Module):
    """The logistic function as a layer: 1 / (1 + exp(-x)) of any shape, as of `st.sigmoid`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.Sigmoid()(st.tensor([0.0, 2.0]))
    tensor([0.5      , 0.8807971])
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)
