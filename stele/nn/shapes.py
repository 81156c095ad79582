"""Layers without parameters: what moves, resamples and compares elements."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor
from stele.interop.keywords import speaks
from stele.nn import functional
from stele.nn.applied import Applied
from stele.nn.module import Module, given
from stele.ops.arguments import whole, wholes

Each = int | Sequence[int]


class PixelShuffle(Applied):
    """Blocks of channels as pixels, as of `nn.functional.pixel_shuffle`.

    (*, C * r**2, H, W) becomes (*, C, H * r, W * r) for r = `upscale_factor`. In the dtype of x. Raises ShapeError
    where the channels are no multiple of r**2.

    >>> nn.PixelShuffle(2)(st.zeros((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    function = staticmethod(functional.pixel_shuffle)

    @speaks
    def __init__(self, upscale_factor: int) -> None:
        self.keep(upscale_factor=upscale_factor)


class PixelUnshuffle(Applied):
    """Blocks of pixels as channels, as of `nn.functional.pixel_unshuffle`.

    (*, C, H * r, W * r) becomes (*, C * r**2, H, W) for r = `downscale_factor`. In the dtype of x. Raises ShapeError
    where H and W are no multiples of r.

    >>> nn.PixelUnshuffle(2)(st.zeros((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    function = staticmethod(functional.pixel_unshuffle)

    @speaks
    def __init__(self, downscale_factor: int) -> None:
        self.keep(downscale_factor=downscale_factor)


class ChannelShuffle(Applied):
    """Channels in another order, as of `nn.functional.channel_shuffle`.

    The first of each of the `groups`, the second of each, and so on. (N, C, *) keeps its shape and dtype. Raises
    ShapeError where the groups do not divide the channels.

    >>> nn.ChannelShuffle(2)(st.arange(4.0).reshape(1, 4)).tolist()
    [[0.0, 2.0, 1.0, 3.0]]
    """

    function = staticmethod(functional.channel_shuffle)

    @speaks
    def __init__(self, groups: int) -> None:
        self.keep(groups=groups)


class Upsample(Applied):
    """Signals, images or volumes at another size, as of `nn.functional.interpolate`.

    `size`, `scale_factor`, `mode`, `align_corners` and `recompute_scale_factor` are those of the function. (N, C, L),
    (N, C, H, W) or (N, C, D, H, W), in their dtype. Raises ShapeError for other axes and where nothing is left,
    OptionError for another mode.

    >>> nn.Upsample(scale_factor=2)(st.zeros((1, 3, 4, 4))).shape
    (1, 3, 8, 8)
    """

    function = staticmethod(functional.interpolate)

    @speaks
    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:
        self.keep(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners,
                  recompute_scale_factor=recompute_scale_factor)


class UpsamplingNearest2d(Applied):
    """Images (N, C, H, W) at another size, of the nearest pixels, as of `nn.functional.interpolate`.

    `size` is that of the result, or `scale_factor` how many times larger it is. In the dtype of x. Raises ShapeError
    for other axes and where nothing is left.

    >>> nn.UpsamplingNearest2d(scale_factor=2)(st.tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    function = staticmethod(functional.interpolate)

    @speaks
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        self.keep(size=size, scale_factor=scale_factor)


class UpsamplingBilinear2d(Applied):
    """Images (N, C, H, W) at another size, between pixels whose outer centres stay in place.

    `size` is that of the result, or `scale_factor` how many times larger it is. As of `nn.functional.interpolate` with
    mode "bilinear" and align_corners=True. In the dtype of x. Raises ShapeError for other axes and where nothing is
    left.

    >>> nn.UpsamplingBilinear2d((1, 3))(st.tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.5, 2.0]]]]
    """

    function = staticmethod(functional.interpolate)

    @speaks
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        self.keep(size=size, scale_factor=scale_factor)

    def forward(self, *x: Any) -> Any:
        return self.function(*x, **self.options(), mode="bilinear", align_corners=True)


class Unfold(Applied):
    """The patches of images as columns, as of `nn.functional.unfold`.

    `kernel_size`, `dilation`, `padding` and `stride` are those of the function. Images are (N, C, H, W) or (C, H, W).
    In the dtype of x. Raises ShapeError for other axes and where no window fits.

    >>> nn.Unfold(2)(st.zeros((1, 3, 4, 4))).shape
    (1, 12, 9)
    """

    function = staticmethod(functional.unfold)

    @speaks
    def __init__(self, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1) -> None:
        self.keep(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(Applied):
    """Columns added up to images, as of `nn.functional.fold`.

    `output_size`, `kernel_size`, `dilation`, `padding` and `stride` are those of the function. Columns are (N, C * KH *
    KW, patches). In the dtype of x. Images are (N, C, H, W). Raises ShapeError where they are not as many.

    >>> nn.Fold((4, 4), 2)(st.zeros((1, 12, 9))).shape
    (1, 3, 4, 4)
    """

    function = staticmethod(functional.fold)

    @speaks
    def __init__(self, output_size: Each, kernel_size: Each, dilation: Each = 1, padding: Each = 0,
                 stride: Each = 1) -> None:
        self.keep(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class CosineSimilarity(Applied):
    """The cosine of the angle between vectors along an axis, as of `nn.functional.cosine_similarity`.

    `dim` is the axis, and norms count as `eps` at least. Integers become float32. Raises ShapeError where they do not
    broadcast.

    >>> nn.CosineSimilarity()(st.ones((1, 2)), st.tensor([[1.0, -1.0]])).tolist()
    [0.0]
    """

    function = staticmethod(functional.cosine_similarity)

    @speaks
    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.keep(dim=dim, eps=eps)


class PairwiseDistance(Applied):
    """The distances of vectors on the last axis, as of `nn.functional.pairwise_distance`.

    `p` is the order of the norm, `eps` is added to each difference; the axis stays with `keepdim`. Integers become
    float32. Raises ShapeError where they do not broadcast.

    >>> nn.PairwiseDistance()(st.zeros((1, 2)), st.tensor([[3.0, 4.0]])).shape
    (1,)
    """

    function = staticmethod(functional.pairwise_distance)

    @speaks
    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self.keep(p=p, eps=eps, keepdim=keepdim)


class LocalResponseNorm(Applied):
    """The elements of x over what their neighbours on other channels say, as of `nn.functional.local_response_norm`.

    `size`, `alpha`, `beta` and `k` are those of the function. (N, C, *) keeps its shape. Raises ShapeError for fewer
    axes, DTypeError for other dtypes than floats.

    >>> nn.LocalResponseNorm(2)(st.zeros((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    function = staticmethod(functional.local_response_norm)

    @speaks
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.keep(size=size, alpha=alpha, beta=beta, k=k)


class Identity(Module):
    """The input itself, whatever the layer is made with.

    `args` and `kwargs` are not looked at: it stands in for layers that take some. x has any shape and dtype; nothing is
    refused.

    >>> nn.Identity(54, unused=True)(st.ones(2)).tolist()
    [1.0, 1.0]
    """

    @speaks
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Any) -> Any:
        return x


class Unflatten(Module):
    """An axis as several: the axis `dim` becomes axes of the sizes `unflattened_size`, as of `st.unflatten`.

    One of the sizes may be -1, which is what is left. In the dtype of x. Raises ShapeError where x does not have that
    axis, and where the sizes do not multiply to its length.

    >>> nn.Unflatten(1, (3, -1))(st.zeros((2, 6))).shape
    (2, 3, 2)
    """

    @speaks
    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        self.dim = whole(dim, "dim of Unflatten")
        self.unflattened_size = wholes(unflattened_size, "every size of Unflatten", -1)

    def extra_repr(self) -> str:
        return f"{self.dim}, {self.unflattened_size}"

    def forward(self, x: Tensor) -> Tensor:
        return F.unflatten(given(self, x), self.dim, self.unflattened_size)
