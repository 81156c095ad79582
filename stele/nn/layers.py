"""Layers without memory of earlier inputs."""
from __future__ import annotations

from math import gcd, sqrt
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import ones, zeros
from stele.arrays.families import avg_pool2d, max_pool2d
from stele.arrays.random import dropout
from stele.arrays.tensor import Tensor, lift
from stele.errors import DTypeError, ShapeError
from stele.ir.door import public
from stele.nn import init
from stele.nn.module import Module, given, wrong
from stele.ops import functional
from stele.ops.arguments import choice, number, pair, positive
from stele.ops.arguments import padding as pads
from stele.ops.random import chance

Pair = tuple[int, int]
affine = lift(functional.linear)


class Linear(Module):
    """An affine map x @ weight.T + bias of the last axis: (..., in_features) -> (..., out_features).

    `weight` is (`out_features`, `in_features`), `bias` (out_features,) unless bias=False; both uniform within 1 /
    sqrt(in_features), PyTorch's default. In the dtype of x and the weights, where they meet. Raises ShapeError for an
    input of another last axis.

    >>> layer = nn.Linear(3, 2)
    >>> layer(st.ones((8, 5, 3))).shape, layer.weight.shape
    ((8, 5, 2), (2, 3))
    """

    @public
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        inputs = positive(in_features, "in_features of Linear")
        outputs = positive(out_features, "out_features of Linear")
        self.weight = init.uniform((outputs, inputs), 1 / sqrt(inputs))
        self.bias = init.uniform((outputs,), 1 / sqrt(inputs)) if bias else None

    def extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"{inputs}, {outputs}" + ", bias=False" * (self.bias is None)

    def forward(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor:
            x = given(self, x)
        try:
            return affine(x, self.weight) if self.bias is None else affine(x, self.weight, self.bias)
        except ShapeError:
            inputs = self.weight.shape[1]
            raise wrong(self, f"{inputs} features on the last axis", x, {
                "Write x.flatten(1) before it.": x.ndim > 2 and x[0].size == inputs,
                "Write x.reshape(-1, 1) before it.": x.ndim == 1 and inputs == 1,
                "Did you mean x.T?": x.ndim == 2 and x.shape[0] == inputs}) from None


def images(layer: Module, x: Any, channels: int | None = None, axes: str = "HW") -> Tensor:
    """The input of a layer that takes images (N, channels, H, W), or what has other axes."""
    x, n, them = given(layer, x), len(axes) + 2, ("signals", "images", "volumes")[len(axes) - 1]
    if x.ndim != n or (channels is not None and x.shape[1] != channels):
        shape = ", ".join(["N", "C" if channels is None else str(channels), *axes])
        last = x.ndim > 2 and x.shape[-1] == channels
        order = ", ".join(map(str, (n - 1, *range(1, n - 1)))), ", ".join(map(str, (n - 2, *range(n - 2))))
        raise wrong(layer, f"{them} ({shape})", x, {
            f"Channels stand on axis 1 here: write x.permute(0, {order[0]}).": x.ndim == n and last,
            f"Channels stand on axis 1 here: write x.permute({order[1]})[None].": x.ndim == n - 1 and last,
            f"Write x[None] for one of them, or x[:, None] for {them} of one channel.": x.ndim == n - 1,
            f"Write x.reshape(N, C, {', '.join(axes)}).": x.ndim != n})
    return x


def windows(layer: str, kernel: int | Pair, stride: int | Pair | None, padding: int | Pair) -> tuple[Pair, Pair, Pair]:
    """Kernel, stride and padding of a pooling layer, one number per axis; the stride is the kernel by default."""
    return (pair(kernel, f"kernel_size of {layer}", 1),
            pair(kernel if stride is None else stride, f"stride of {layer}", 1), pads(padding, f"padding of {layer}"))


class MaxPool2d(Module):
    """The largest element of each window of images (N, C, H, W) -> (N, C, OH, OW), as of `st.max_pool2d`.

    `kernel_size`, `stride` (the kernel size without one) and `padding` are a number, or one per axis. Raises ShapeError
    where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool2d(2)(st.zeros((8, 3, 32, 32))).shape
    (8, 3, 16, 16)
    """

    @public
    def __init__(self, kernel_size: int | Pair, stride: int | Pair | None = None, padding: int | Pair = 0) -> None:
        self.kernel, self.stride, self.padding = windows("MaxPool2d", kernel_size, stride, padding)

    def extra_repr(self) -> str:
        return f"{self.kernel}, stride={self.stride}" + f", padding={self.padding}" * (self.padding != (0, 0))

    def forward(self, x: Tensor) -> Tensor:
        return max_pool2d(images(self, x), self.kernel, stride=self.stride, padding=self.padding)


class AvgPool2d(Module):
    """The mean of each window of images (N, C, H, W) -> (N, C, OH, OW), as of `st.avg_pool2d`: padding counts as zeros.

    `kernel_size`, `stride` (the kernel size without one) and `padding` are a number, or one per axis. Raises ShapeError
    where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool2d(2)(st.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[1.5]]]]
    """

    @public
    def __init__(self, kernel_size: int | Pair, stride: int | Pair | None = None, padding: int | Pair = 0) -> None:
        self.kernel, self.stride, self.padding = windows("AvgPool2d", kernel_size, stride, padding)

    def extra_repr(self) -> str:
        return f"{self.kernel}, stride={self.stride}" + f", padding={self.padding}" * (self.padding != (0, 0))

    def forward(self, x: Tensor) -> Tensor:
        return avg_pool2d(images(self, x), self.kernel, stride=self.stride, padding=self.padding)


class BatchNorm2d(Module):
    """Images (N, C, H, W) normalised per channel: (x - mean) / sqrt(var + `eps`) * weight + bias.

    Batch normalisation (Ioffe and Szegedy, 2015): in training, of the batch's own statistics, which `running_mean` and
    `running_var` follow: running = (1 - momentum) * running + `momentum` * batch, with the unbiased variance (PyTorch's
    rule); after `eval()` of the running ones. `weight` begins as ones, `bias` as zeros, both (`num_features`,). Raises
    ShapeError for other shapes and sizes below 1, DTypeError for complex numbers.

    >>> layer = nn.BatchNorm2d(3)
    >>> y = layer(st.ones((2, 3, 4, 4)) * 10)
    >>> y.shape, layer.running_mean.tolist()
    ((2, 3, 4, 4), [1.0, 1.0, 1.0])
    """

    optional = ("num_batches_tracked",)     # files from before it was kept, and from elsewhere, do not have it

    @public
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        channels = positive(num_features, "num_features of BatchNorm2d")
        self.eps = number(eps, "eps of BatchNorm2d", 0)
        self.momentum = number(momentum, "momentum of BatchNorm2d", 0, 1)
        self.weight, self.bias = init.ones((channels,)), init.zeros((channels,))
        self.running_mean, self.running_var = zeros((channels,)), ones((channels,))
        self.num_batches_tracked = zeros((), dtype="int64")

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}, momentum={self.momentum}"

    def forward(self, x: Tensor) -> Tensor:
        x = images(self, x, self.weight.shape[0])
        if self.training:
            mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
            n = x.size // x.shape[1]
            self.follow(self.running_mean, mean.detach())
            self.follow(self.running_var, var.detach() * (n / F.maximum(n - 1, 1)))
            self.num_batches_tracked += 1
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight * F.rsqrt(var + self.eps)
        shift = self.bias - mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def follow(self, running: Tensor, now: Tensor) -> None:
        """Moves a running statistic towards that of the batch."""
        running.assign(running * (1 - self.momentum) + now * self.momentum)


class LayerNorm(Module):
    """The last axis normalised: (x - mean) / sqrt(var + `eps`) * weight + bias, as of `st.layer_norm`.

    Layer normalisation (Ba et al., 2016). `weight` begins as ones, `bias` as zeros, both (`normalized_shape`,). Of
    floats. Raises ShapeError for an input of another last axis.

    >>> nn.LayerNorm(2, eps=0)(st.tensor([[1.0, 3.0], [10.0, 30.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    @public
    def __init__(self, normalized_shape: int, eps: float = 1e-5) -> None:
        features = positive(normalized_shape, "normalized_shape of LayerNorm")
        self.eps = number(eps, "eps of LayerNorm", 0)
        self.weight, self.bias = init.ones((features,)), init.zeros((features,))

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        x, features = given(self, x), self.weight.shape[0]
        if not x.ndim or x.shape[-1] != features:
            raise wrong(self, f"{features} features on the last axis", x, {
                "Write st.moveaxis(x, 1, -1) before it.": x.ndim > 2 and x.shape[1] == features})
        return F.layer_norm(x, self.weight, self.bias, eps=self.eps)


class GroupNorm(Module):
    """Examples (N, C, *) normalised per group of channels: (x - mean) / sqrt(var + `eps`) * weight + bias.

    Group normalisation (Wu and He, 2018): each example's C = `num_channels` channels, in `num_groups` groups of
    neighbours, are normalised with all that stands behind the channel axis. One group is layer normalisation, as many
    groups as channels instance normalisation. `weight` begins as ones, `bias` as zeros, both (num_channels,), unless
    affine=False. Of floats. Raises ShapeError where the groups do not divide the channels, and for an input of other
    channels.

    >>> layer = nn.GroupNorm(2, 4)
    >>> x = st.arange(16.0).reshape(2, 4, 2)
    >>> layer(x).shape, st.abs(layer(x)[:, :2].mean(axis=(1, 2))).max() < 1e-5
    ((2, 4, 2), tensor(True))
    """

    @public
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        self.num_groups = positive(num_groups, "num_groups of GroupNorm")
        self.num_channels = positive(num_channels, "num_channels of GroupNorm")
        if num_channels % num_groups:
            raise ShapeError(f"GroupNorm needs groups that divide the channels, got {num_groups} and {num_channels}",
                             hint=f"{gcd(num_groups, num_channels)} divides both.")
        self.eps = number(eps, "eps of GroupNorm", 0)
        self.weight = init.ones((num_channels,)) if affine else None
        self.bias = init.zeros((num_channels,)) if affine else None

    def extra_repr(self) -> str:
        plain = "" if self.weight is not None else ", affine=False"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}{plain}"

    def forward(self, x: Tensor) -> Tensor:
        x, channels = given(self, x), self.num_channels
        if x.ndim < 2 or x.shape[1] != channels:
            raise wrong(self, f"(N, {channels}, *)", x, {
                "Channels stand on axis 1 here: write st.moveaxis(x, -1, 1).": x.ndim > 2 and x.shape[-1] == channels,
                "Write x[None] for one example.": x.ndim > 0 and x.shape[0] == channels})
        n, _, *rest = x.shape
        groups = x.reshape(n, self.num_groups, channels // self.num_groups, *rest)
        y = F.normalize(groups, axis=tuple(range(2, groups.ndim)), eps=self.eps).reshape(x.shape)
        per_channel = (channels, *(1 for _ in rest))
        if self.weight is None or self.bias is None:
            return y
        return y * self.weight.reshape(per_channel) + self.bias.reshape(per_channel)


class Dropout(Module):
    """In training the elements of x, each zero with probability `p` and divided by 1 - p otherwise; else x itself.

    As of `st.dropout`. `model.eval()` turns it off, `model.train()` on again. x has any shape. x has any shape and
    dtype, which stays; in training integers become float32. Raises ShapeError unless 0 <= p < 1.

    >>> layer = nn.Dropout(0.5)
    >>> layer.eval()(st.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    @public
    def __init__(self, p: float = 0.5) -> None:
        self.p = chance(p)

    def extra_repr(self) -> str:
        return f"{self.p}"

    def forward(self, x: Tensor) -> Tensor:
        x = given(self, x)
        return dropout(x, self.p) if self.training and self.p else x


class Embedding(Module):
    """The rows of `weight` at integer indices of any shape: (...) -> (..., embedding_dim), as of `st.embedding`.

    weight is (`num_embeddings`, `embedding_dim`), standard normal, PyTorch's default. Raises DTypeError for other than
    integers and, when run, IndexOutOfRange for a row that there is not.

    >>> layer = nn.Embedding(100, 8)
    >>> layer(st.tensor([[1, 2, 99]])).shape
    (1, 3, 8)
    """

    @public
    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        count = positive(num_embeddings, "num_embeddings of Embedding")
        features = positive(embedding_dim, "embedding_dim of Embedding")
        self.weight = init.normal((count, features))

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape))

    def forward(self, index: Tensor) -> Tensor:
        index = given(self, index)
        if index.dtype.kind not in "iu":
            raise DTypeError(f"this Embedding takes integers, the numbers of rows, got {index.value.type}",
                             hint="Write x.astype('int64').")
        return F.embedding(self.weight, index)


class Flatten(Module):
    """The axes behind the first one as one: (N, ...) -> (N, features).

    In the dtype of x. Raises ArgumentError for what is no tensor.

    >>> nn.Flatten()(st.zeros((8, 3, 5, 5))).shape
    (8, 75)
    """

    def forward(self, x: Tensor) -> Tensor:
        return given(self, x).flatten(1)


class ReLU(Module):
    """The rectified linear unit as a layer: max(x, 0) of any shape, as of `st.relu`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> nn.ReLU()(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(Module):
    """The Gaussian error linear unit as a layer, of any shape, as of `st.gelu`; `approximate` is "none" or "tanh".

    Raises DTypeError for complex numbers, OptionError for another formula.

    >>> nn.GELU(approximate="tanh")(st.tensor([-1.0, 1.0]))
    tensor([-0.158808,  0.841192])
    """

    @public
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
