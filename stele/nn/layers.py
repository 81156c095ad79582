"""Layers without memory of earlier inputs."""
from __future__ import annotations

from math import sqrt
from typing import Any

from stele import functions as F
from stele.errors import DTypeError, ShapeError
from stele.ir.door import public
from stele.nn import init
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import choice, number, pair, positive, refuse
from stele.ops.arguments import padding as pads
from stele.random import chance, dropout
from stele.tensor import Tensor

Pair = tuple[int, int]


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) -> (..., out_features); weight (out_features, in_features)."""

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
        x = given(self, x)
        try:
            return F.affine(x, self.weight) if self.bias is None else F.affine(x, self.weight, self.bias)
        except ShapeError:
            inputs = self.weight.shape[1]
            raise wrong(self, f"{inputs} features on the last axis", x, {
                "Write x.flatten(1) before it.": x.ndim > 2 and x[0].size == inputs,
                "Write x.reshape(-1, 1) before it.": x.ndim == 1 and inputs == 1,
                "Did you mean x.T?": x.ndim == 2 and x.shape[0] == inputs}) from None


def images(layer: Module, x: Any, channels: int | None = None) -> Tensor:
    """The input of a layer that takes images (N, channels, H, W)."""
    x = given(layer, x)
    if x.ndim != 4 or (channels is not None and x.shape[1] != channels):
        last = x.ndim > 2 and x.shape[-1] == channels
        raise wrong(layer, f"images ({'N, C' if channels is None else f'N, {channels}'}, H, W)", x, {
            "Channels stand on axis 1 here: write x.permute(0, 3, 1, 2).": x.ndim == 4 and last,
            "Channels stand on axis 1 here: write x.permute(2, 0, 1)[None].": x.ndim == 3 and last,
            "Write x[None] for one image, or x[:, None] for images of one channel.": x.ndim == 3,
            "Write x.reshape(N, C, H, W).": x.ndim != 4})
    return x


class Conv2d(Module):
    """Convolution (N, in_channels, H, W) -> (N, out_channels, H', W').

    The weight is (out_channels, in_channels/groups, kernel height, kernel width).
    """

    @public
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Pair, stride: int | Pair = 1,
                 padding: int | Pair = 0, dilation: int | Pair = 1, groups: int = 1, bias: bool = True) -> None:
        inputs = positive(in_channels, "in_channels of Conv2d")
        outputs = positive(out_channels, "out_channels of Conv2d")
        self.groups = positive(groups, "groups of Conv2d")
        if inputs % groups or outputs % groups:
            raise ShapeError(f"Conv2d needs in_channels and out_channels that {groups} groups divide, "
                             f"got {inputs} and {outputs}")
        shape = (outputs, inputs // groups, *pair(kernel_size, "kernel_size of Conv2d", 1))
        bound = 1 / sqrt(init.fans(shape)[0])
        self.stride, self.dilation = pair(stride, "stride of Conv2d", 1), pair(dilation, "dilation of Conv2d", 1)
        self.padding = pads(padding, "padding of Conv2d")
        self.weight = init.uniform(shape, bound)
        self.bias = init.uniform((outputs,), bound) if bias else None

    def extra_repr(self) -> str:
        outputs, inputs, *kernel = self.weight.shape
        options = {"stride": (self.stride, (1, 1)), "padding": (self.padding, (0, 0)),
                   "dilation": (self.dilation, (1, 1)), "groups": (self.groups, 1)}
        said = [f"{name}={value}" for name, (value, usual) in options.items() if value != usual]
        return ", ".join([f"{inputs * self.groups}, {outputs}, {tuple(kernel)}", *said]) + \
            ", bias=False" * (self.bias is None)

    def forward(self, x: Tensor) -> Tensor:
        x = images(self, x, self.weight.shape[1] * self.groups)
        y = F.conv2d(x, self.weight, stride=self.stride, padding=self.padding, dilation=self.dilation,
                     groups=self.groups)
        return y if self.bias is None else y + self.bias.reshape(1, -1, 1, 1)


def windows(layer: str, kernel: int | Pair, stride: int | Pair | None, padding: int | Pair) -> tuple[Pair, Pair, Pair]:
    """Kernel, stride and padding of a pooling layer, one number per axis; the stride is the kernel by default."""
    return (pair(kernel, f"kernel_size of {layer}", 1),
            pair(kernel if stride is None else stride, f"stride of {layer}", 1), pads(padding, f"padding of {layer}"))


class MaxPool2d(Module):
    """The largest of each window of (N, C, H, W)."""

    @public
    def __init__(self, kernel_size: int | Pair, stride: int | Pair | None = None, padding: int | Pair = 0) -> None:
        self.kernel, self.stride, self.padding = windows("MaxPool2d", kernel_size, stride, padding)

    def extra_repr(self) -> str:
        return f"{self.kernel}, stride={self.stride}" + f", padding={self.padding}" * (self.padding != (0, 0))

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(images(self, x), self.kernel, stride=self.stride, padding=self.padding)


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W), padding counted."""

    @public
    def __init__(self, kernel_size: int | Pair, stride: int | Pair | None = None, padding: int | Pair = 0) -> None:
        self.kernel, self.stride, self.padding = windows("AvgPool2d", kernel_size, stride, padding)

    def extra_repr(self) -> str:
        return f"{self.kernel}, stride={self.stride}" + f", padding={self.padding}" * (self.padding != (0, 0))

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(images(self, x), self.kernel, stride=self.stride, padding=self.padding)


class BatchNorm2d(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias per channel of (N, C, H, W).

    In training, statistics of the batch, and running ones follow with `momentum`; else the running ones.
    """

    optional = ("num_batches_tracked",)     # files from before it was kept, and from elsewhere, do not have it

    @public
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        channels = positive(num_features, "num_features of BatchNorm2d")
        self.eps = number(eps, "eps of BatchNorm2d", 0)
        self.momentum = number(momentum, "momentum of BatchNorm2d", 0, 1)
        self.weight, self.bias = init.ones((channels,)), init.zeros((channels,))
        self.running_mean, self.running_var = F.zeros((channels,)), F.ones((channels,))
        self.num_batches_tracked = F.zeros((), dtype="int64")

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
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axis."""

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


class Dropout(Module):
    """In training, zeros with probability p and the rest scaled by 1/(1-p); else x itself."""

    @public
    def __init__(self, p: float = 0.5) -> None:
        self.p = chance(p)

    def extra_repr(self) -> str:
        return f"{self.p}"

    def forward(self, x: Tensor) -> Tensor:
        x = given(self, x)
        return dropout(x, self.p) if self.training and self.p else x


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim) by index: integers of any shape -> (..., embedding_dim)."""

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


class Sequential(Module):
    """Modules one after the other, named by their numbers.

    >>> model = Sequential(Linear(4, 3), ReLU(), Linear(3, 2))
    >>> [name for name, _ in model.named_parameters()]
    ['0.weight', '0.bias', '2.weight', '2.bias']
    >>> len(model), type(model[1]).__name__
    (3, 'ReLU')
    """

    @public
    @public
    def __init__(self, *layers: Module) -> None:
        for layer in layers:
            if isinstance(layer, type):
                refuse("a layer of Sequential", "a module", layer, f"Make one: {layer.__name__}(...).")
            if not callable(layer):
                refuse("a layer of Sequential", "a module", layer, "Write nn.Sequential(*layers)." if isinstance(
                    layer, list | tuple) else "Write nn.Sequential(*layers.values())." if isinstance(layer, dict)
                    else None)
        self.layers = layers

    def held(self) -> dict[str, Any]:
        return {str(k): layer for k, layer in enumerate(self.layers)}

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, k: int) -> Module:
        return self.layers[k]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Flatten(Module):
    """(N, ...) -> (N, features)."""

    def forward(self, x: Tensor) -> Tensor:
        return given(self, x).flatten(1)


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(Module):
    """x * P(Z <= x) for a standard normal Z; `approximate="tanh"` takes the tanh form."""

    @public
    def __init__(self, approximate: str = "none") -> None:
        self.approximate = choice(approximate, "approximate of GELU", ("none", "tanh"))

    def extra_repr(self) -> str:
        return f"{self.approximate!r}" * (self.approximate != "none")

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate=self.approximate)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)
