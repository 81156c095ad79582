"""Normalisations as layers: over batches, examples, groups of channels and last axes."""
from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, ClassVar

from stele.arrays import functions as F
from stele.arrays.creation import ones, zeros
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional, init
from stele.nn.functional.normalization import over_batch
from stele.nn.module import Module, given, wrong
from stele.nn.takes import images
from stele.ops.arguments import flag, number, positive, wholes


def scales(shape: tuple[int, ...], has_weight: bool, has_bias: bool) -> tuple[Tensor | None, Tensor | None]:
    """A weight of ones and a bias of zeros, where there are such."""
    return init.ones(shape) if has_weight else None, init.zeros(shape) if has_bias else None


def refill(*numbers: tuple[Tensor | None, int]) -> None:
    """Gives tensors, those that there are, the same number everywhere."""
    for x, new in numbers:
        if x is not None:
            x.assign(new)


class Scaled(Module):
    """What normalises, and then scales and moves where it is asked to."""

    weight: Tensor | None
    bias: Tensor | None = None

    def reset_parameters(self) -> None:
        """The weight is ones again, and the bias zeros."""
        refill((self.weight, 1), (self.bias, 0))


class ChannelNorm(Scaled):
    """What is normalised per channel: scales, and running statistics, each where it is asked for."""

    optional = ("num_batches_tracked",)     # files from before it was kept, and from elsewhere, do not have it
    axes: ClassVar[str] = "HW"
    usual: ClassVar[bool] = True            # whether there are scales and running statistics unless told otherwise

    def make(self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool,
             bias: bool) -> None:
        """Checks what the layer was given, and makes its tensors."""
        name = type(self).__name__
        self.num_features = positive(num_features, f"num_features of {name}")
        self.eps = number(eps, f"eps of {name}", 0)
        self.momentum = None if momentum is None else number(momentum, f"momentum of {name}", 0, 1)
        self.affine = flag(affine, f"affine of {name}")
        self.track_running_stats = tracks = flag(track_running_stats, f"track_running_stats of {name}")
        self.weight, self.bias = scales((self.num_features,), affine, affine and flag(bias, f"bias of {name}"))
        self.running_mean = zeros((self.num_features,)) if tracks else None
        self.running_var = ones((self.num_features,)) if tracks else None
        self.num_batches_tracked = zeros((), dtype="int64") if tracks else None

    def reset_running_stats(self) -> None:
        """The running statistics are those of a new layer again."""
        refill((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0))

    def reset_parameters(self) -> None:
        """All is as in a new layer again: weight, bias and running statistics."""
        super().reset_parameters()
        self.reset_running_stats()

    def extra_repr(self) -> str:
        said = [f"{self.num_features}", f"eps={self.eps}", f"momentum={self.momentum}"]
        said += [f"{key}={held}" for key, held in (("affine", self.affine), (
            "track_running_stats", self.track_running_stats)) if held != self.usual]
        return ", ".join(said + ["bias=False"] * (self.affine and self.bias is None))


class BatchNorm(ChannelNorm):
    """Batch normalisation (Ioffe and Szegedy, 2015) over one, two and three axes."""

    @speaks
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, bias: bool = True) -> None:
        self.make(num_features, eps, momentum, affine, track_running_stats, bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.taken(x)
        count, mean = self.num_batches_tracked if self.training else None, self.running_mean
        share: float | Tensor | None = self.momentum
        if share is None:
            share = 0.0 if count is None or mean is None else 1 / (count + 1).astype(mean.dtype)
        y = over_batch(x, mean, self.running_var, self.weight, self.bias, self.training or mean is None, share,
                       self.eps)
        if count is not None:
            count.assign(count + 1)
        return y

    def taken(self, x: Any) -> Tensor:
        """The input, of its axes."""
        return images(self, x, self.num_features, self.axes, alone=False)


class BatchNorm1d(BatchNorm):
    """Features (N, C) or signals (N, C, L) normalised per channel, as `nn.BatchNorm2d` does with images.

    `num_features`, `eps`, `momentum`, `affine`, `track_running_stats` and `bias` are as there. In the dtype of x and
    the weights, where they meet. Raises DTypeError for complex numbers.

    >>> nn.BatchNorm1d(1)(st.tensor([[1.0], [3.0]])).round(3).tolist()
    [[-1.0], [1.0]]
    """

    axes: ClassVar[str] = "L"

    def taken(self, x: Any) -> Tensor:
        x = given(self, x)
        if x.ndim == 2 and x.shape[1] != self.num_features:
            raise wrong(self, f"(N, {self.num_features}) or (N, {self.num_features}, L)", x, {
                "Write x[None] for one signal.": x.shape[0] == self.num_features,
                "Write x[:, None] for signals of one channel.": self.num_features == 1})
        return x if x.ndim == 2 else super().taken(x)


class BatchNorm2d(BatchNorm):
    """Images (N, C, H, W) normalised per channel: (x - mean) / sqrt(var + `eps`) * weight + bias.

    Batch normalisation (Ioffe and Szegedy, 2015): in training, of the batch's own statistics, which `running_mean` and
    `running_var` follow: running = (1 - momentum) * running + `momentum` * batch, with the unbiased variance (PyTorch's
    rule); after `eval()` of the running ones. With momentum None they are the means over all batches, which
    `num_batches_tracked` counts. `weight` begins as ones, `bias` as zeros, both (`num_features`,); without `affine`
    there is neither, with bias=False no bias. With track_running_stats=False (`track_running_stats`) there are no
    running ones, and the batch's own are taken after `eval()` too. Raises ShapeError for an input of other channels. In
    the dtype of x and the weights, where they meet. Raises DTypeError for complex numbers.

    >>> layer = nn.BatchNorm2d(3)
    >>> y = layer(st.ones((2, 3, 4, 4)) * 10)
    >>> y.shape, layer.running_mean.tolist()
    ((2, 3, 4, 4), [1.0, 1.0, 1.0])
    """


class BatchNorm3d(BatchNorm):
    """Volumes (N, C, D, H, W) normalised per channel, as `nn.BatchNorm2d` does with images.

    `num_features`, `eps`, `momentum`, `affine`, `track_running_stats` and `bias` are as there. In the dtype of x and
    the weights, where they meet. Raises DTypeError for complex numbers.

    >>> nn.BatchNorm3d(3)(st.zeros((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    axes: ClassVar[str] = "DHW"


class InstanceNorm(ChannelNorm):
    """Instance normalisation (Ulyanov et al., 2016) over one, two and three axes."""

    usual: ClassVar[bool] = False

    @speaks
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
                 track_running_stats: bool = False, bias: bool = True) -> None:
        self.make(num_features, eps, momentum, affine, track_running_stats, bias)

    def forward(self, x: Tensor) -> Tensor:
        x = images(self, x, self.num_features, self.axes)
        is_one = x.ndim == len(self.axes) + 1
        y = functional.instance_norm(x[None] if is_one else x, self.running_mean, self.running_var, self.weight,
                                     self.bias, self.training or self.running_mean is None, self.momentum or 0.0,
                                     self.eps)
        return y[0] if is_one else y


class InstanceNorm1d(InstanceNorm):
    """Signals (N, C, L) or (C, L), each channel of each normalised by itself, as `nn.InstanceNorm2d` does with images.

    `num_features`, `eps`, `momentum`, `affine`, `track_running_stats` and `bias` are as there. In the dtype of x and
    the weights, where they meet. Raises DTypeError for complex numbers.

    >>> nn.InstanceNorm1d(2, eps=0)(st.tensor([[1.0, 3.0], [10.0, 30.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    axes: ClassVar[str] = "L"


class InstanceNorm2d(InstanceNorm):
    """Images (N, C, H, W) or (C, H, W), each channel of each normalised by itself, as of `nn.functional.instance_norm`.

    (x - mean) / sqrt(var + `eps`), over the pixels. With `affine` times `weight`, plus `bias` unless bias=False, both
    (`num_features`,). With `track_running_stats` running_mean and running_var follow the means over the examples, as in
    `nn.BatchNorm2d` with their `momentum`, and stand in for them after `eval()`. Raises ShapeError for an input of
    other channels. In the dtype of x and the weights, where they meet. Raises DTypeError for complex numbers.

    >>> nn.InstanceNorm2d(3)(st.zeros((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """


class InstanceNorm3d(InstanceNorm):
    """Volumes (N, C, D, H, W) or (C, D, H, W), each channel normalised by itself, as `nn.InstanceNorm2d` with images.

    `num_features`, `eps`, `momentum`, `affine`, `track_running_stats` and `bias` are as there. In the dtype of x and
    the weights, where they meet. Raises DTypeError for complex numbers.

    >>> nn.InstanceNorm3d(3)(st.zeros((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    axes: ClassVar[str] = "DHW"


class LastAxes(Scaled):
    """What is normalised over its last axes."""

    normalized_shape: tuple[int, ...]

    def sized(self, normalized_shape: Any) -> tuple[int, ...]:
        """Notes the sizes of those axes."""
        self.normalized_shape = wholes(normalized_shape, f"normalized_shape of {type(self).__name__}", 1)
        return self.normalized_shape

    def said(self, *options: str) -> str:
        """The sizes and options, as `repr` shows them."""
        sizes = self.normalized_shape
        return ", ".join([str(sizes[0]) if len(sizes) == 1 else str(sizes), *options])

    def taken(self, x: Any) -> Tensor:
        """The input, of these last axes."""
        x, sizes = given(self, x), self.normalized_shape
        n = len(sizes)
        if x.ndim < n or x.shape[-n:] != sizes:
            takes = f"{sizes[0]} features on the last axis" if n == 1 else f"{sizes} as its last axes"
            raise wrong(self, takes, x, {
                "Write st.moveaxis(x, 1, -1) before it.": n == 1 and x.ndim > 2 and x.shape[1] == sizes[0]})
        return x


class LayerNorm(LastAxes):
    """The last axes normalised: (x - mean) / sqrt(var + `eps`) * weight + bias, as of `st.layer_norm`.

    Layer normalisation (Ba et al., 2016), over one axis or several, whose sizes are `normalized_shape`. `weight` begins
    as ones, `bias` as zeros, both of that shape; with elementwise_affine=False (`elementwise_affine`) there is neither,
    with bias=False no bias. Raises ShapeError for an input of other last axes. Of floats.

    >>> nn.LayerNorm(2, eps=0)(st.tensor([[1.0, 3.0], [10.0, 30.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    >>> nn.LayerNorm((3, 4))(st.zeros((2, 3, 4))).shape
    (2, 3, 4)
    """

    @speaks
    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True) -> None:
        shape = self.sized(normalized_shape)
        self.eps = number(eps, "eps of LayerNorm", 0)
        self.elementwise_affine = flag(elementwise_affine, "elementwise_affine of LayerNorm")
        self.weight, self.bias = scales(shape, elementwise_affine, elementwise_affine and flag(
            bias, "bias of LayerNorm"))

    def extra_repr(self) -> str:
        return self.said(f"eps={self.eps}", *["elementwise_affine=False"] * (not self.elementwise_affine),
                         *["bias=False"] * (self.elementwise_affine and self.bias is None))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(self.taken(x), self.weight, self.bias, axes=len(self.normalized_shape), eps=self.eps)


class RMSNorm(LastAxes):
    """The last axes over the root of the mean of their squares: x / sqrt(mean(x**2) + `eps`) * weight.

    Zhang and Sennrich (2019), as of `nn.functional.rms_norm`, over one axis or several, whose sizes are
    `normalized_shape`; without eps it is the spacing of x's dtype at 1. `weight` begins as ones of that shape; with
    elementwise_affine=False (`elementwise_affine`) there is none. Raises ShapeError for an input of other last axes. Of
    floats.

    >>> nn.RMSNorm(2, eps=0)(st.tensor([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    @speaks
    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True
                 ) -> None:
        shape = self.sized(normalized_shape)
        self.eps = None if eps is None else number(eps, "eps of RMSNorm", 0)
        self.elementwise_affine = flag(elementwise_affine, "elementwise_affine of RMSNorm")
        self.weight, _ = scales(shape, elementwise_affine, False)

    def extra_repr(self) -> str:
        return self.said(*[f"eps={self.eps}"] * (self.eps is not None),
                         *["elementwise_affine=False"] * (not self.elementwise_affine))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(self.taken(x), self.normalized_shape, self.weight, self.eps)


class GroupNorm(Scaled):
    """Examples (N, C, *) normalised per group of channels: (x - mean) / sqrt(var + `eps`) * weight + bias.

    Group normalisation (Wu and He, 2018): each example's C = `num_channels` channels, in `num_groups` groups of
    neighbours, are normalised with all that stands behind the channel axis. One group is layer normalisation, as many
    groups as channels instance normalisation. `weight` begins as ones, `bias` as zeros, both (num_channels,), unless
    affine=False (`affine`) or bias=False. Raises ShapeError where the groups do not divide the channels, and for an
    input of other channels. Of floats.

    >>> layer = nn.GroupNorm(2, 4)
    >>> x = st.arange(16.0).reshape(2, 4, 2)
    >>> layer(x).shape, st.abs(layer(x)[:, :2].mean(axis=(1, 2))).max() < 1e-5
    ((2, 4, 2), tensor(True))
    """

    @speaks
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, bias: bool = True
                 ) -> None:
        self.num_groups = positive(num_groups, "num_groups of GroupNorm")
        self.num_channels = positive(num_channels, "num_channels of GroupNorm")
        if num_channels % num_groups:
            raise ShapeError(f"GroupNorm needs groups that divide the channels, got {num_groups} and {num_channels}",
                             hint=f"{gcd(num_groups, num_channels)} divides both.")
        self.eps, self.affine = number(eps, "eps of GroupNorm", 0), flag(affine, "affine of GroupNorm")
        self.weight, self.bias = scales((num_channels,), affine, affine and flag(bias, "bias of GroupNorm"))

    def extra_repr(self) -> str:
        plain = ", affine=False" * (not self.affine) + ", bias=False" * (self.affine and self.bias is None)
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}{plain}"

    def forward(self, x: Tensor) -> Tensor:
        x, channels = given(self, x), self.num_channels
        if x.ndim < 2 or x.shape[1] != channels:
            raise wrong(self, f"(N, {channels}, *)", x, {
                "Channels stand on axis 1 here: write st.moveaxis(x, -1, 1).": x.ndim > 2 and x.shape[-1] == channels,
                "Write x[None] for one example.": x.ndim > 0 and x.shape[0] == channels})
        return functional.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
