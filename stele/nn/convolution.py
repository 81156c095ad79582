"""Layers of convolutions over one, two and three axes, forward and transposed."""
from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

from stele.arrays.families import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.ir.door import public
from stele.nn import init
from stele.nn.layers import images
from stele.nn.module import Module
from stele.ops.arguments import each, padding, positive

Each = int | tuple[int, ...]


class Kernels(Module):
    """Weights that are moved over the last axes of an input, and a bias for each channel of the result."""

    axes: ClassVar[str] = "HW"
    is_transposed: ClassVar[bool] = False
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    weight: Tensor
    bias: Tensor | None

    def make(self, in_channels: int, out_channels: int, kernel_size: Each, groups: int, bias: bool, **moves: Any
             ) -> None:
        """Checks what the layer was given, and draws its parameters."""
        name, axes = type(self).__name__, len(self.axes)
        self.inputs = positive(in_channels, f"in_channels of {name}")
        self.outputs = positive(out_channels, f"out_channels of {name}")
        self.groups = positive(groups, f"groups of {name}")
        if self.inputs % groups or self.outputs % groups:
            raise ShapeError(f"{name} needs in_channels and out_channels that {groups} groups divide, "
                             f"got {self.inputs} and {self.outputs}")
        for key, given in moves.items():
            low = 0 if key == "output_padding" else 1
            setattr(self, key, padding(given, f"{key} of {name}", axes) if key == "padding" else
                    each(given, f"{key} of {name}", low, axes))
        first, second = (self.inputs, self.outputs) if self.is_transposed else (self.outputs, self.inputs)
        shape = (first, second // groups, *each(kernel_size, f"kernel_size of {name}", 1, axes))
        bound = 1 / sqrt(init.fans(shape)[0])
        self.weight = init.uniform(shape, bound)
        self.bias = init.uniform((self.outputs,), bound) if bias else None

    def extra_repr(self) -> str:
        moves = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
        said = [f"{key}={held!r}" for key, usual in moves.items()
                if (held := getattr(self, key, usual)) not in (usual, (usual,) * len(self.axes))]
        said += [f"groups={self.groups}"] * (self.groups != 1) + ["bias=False"] * (self.bias is None)
        return ", ".join([f"{self.inputs}, {self.outputs}, {tuple(self.weight.shape[2:])}", *said])

    def convolved(self, x: Tensor) -> Tensor:
        """The layer's function of images of its channels, without the bias."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolved(images(self, x, self.inputs, self.axes))
        return y if self.bias is None else y + self.bias.reshape(1, -1, *(1,) * len(self.axes))


class Convolution(Kernels):
    """The layers of `st.conv1d`, `st.conv2d` and `st.conv3d`."""

    @public
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Each, stride: Each = 1,
                 padding: Each | str = 0, dilation: Each = 1, groups: int = 1, bias: bool = True) -> None:
        self.make(in_channels, out_channels, kernel_size, groups, bias, stride=stride, padding=padding,
                  dilation=dilation)

    def convolved(self, x: Tensor) -> Tensor:
        conv: Any = (conv1d, conv2d, conv3d)[len(self.axes) - 1]
        return conv(x, self.weight, stride=self.stride, padding=self.padding, dilation=self.dilation,
                    groups=self.groups)


class ConvolutionTranspose(Kernels):
    """The layers of `st.conv_transpose1d`, `st.conv_transpose2d` and `st.conv_transpose3d`."""

    is_transposed: ClassVar[bool] = True
    output_padding: tuple[int, ...]

    @public
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Each, stride: Each = 1, padding: Each = 0,
                 output_padding: Each = 0, groups: int = 1, bias: bool = True, dilation: Each = 1) -> None:
        self.make(in_channels, out_channels, kernel_size, groups, bias, stride=stride, padding=padding,
                  output_padding=output_padding, dilation=dilation)

    def convolved(self, x: Tensor) -> Tensor:
        conv: Any = (conv_transpose1d, conv_transpose2d, conv_transpose3d)[len(self.axes) - 1]
        return conv(x, self.weight, stride=self.stride, padding=self.padding, output_padding=self.output_padding,
                    groups=self.groups, dilation=self.dilation)


class Conv1d(Convolution):
    """A convolution of signals (N, in_channels, L) -> (N, out_channels, OL), as of `st.conv1d`, plus a bias.

    `in_channels`, `out_channels`, `kernel_size`, `stride`, `padding`, `dilation`, `groups` and `bias` are as in
    `nn.Conv2d`, for one axis. Raises ShapeError for sizes below 1 and where x does not fit, DTypeError for other dtypes
    than floats, OptionError for another word as padding.

    >>> layer = nn.Conv1d(2, 8, 5, padding="same")
    >>> layer(st.zeros((1, 2, 100))).shape, layer.weight.shape
    ((1, 8, 100), (8, 2, 5))
    """

    axes: ClassVar[str] = "L"


class Conv2d(Convolution):
    """A convolution of images (N, in_channels, H, W) -> (N, out_channels, OH, OW), as of `st.conv2d`, plus a bias.

    `weight` is (`out_channels`, `in_channels`/groups, *`kernel_size`) and `bias` (out_channels,) unless bias=False;
    both uniform within 1 / sqrt(in_channels/groups * KH * KW), PyTorch's default. `stride`, `padding`, `dilation` and
    `groups` are those of `st.conv2d`. In the dtype of x and the weights, where they meet. Raises ShapeError where
    groups do not divide the channels, and for an input of other channels.

    >>> layer = nn.Conv2d(3, 8, 3, stride=2, padding=1)
    >>> layer(st.zeros((1, 3, 32, 32))).shape, layer.weight.shape
    ((1, 8, 16, 16), (8, 3, 3, 3))
    """


class Conv3d(Convolution):
    """A convolution of volumes, as of `st.conv3d`, plus a bias.

    (N, in_channels, D, H, W) becomes (N, out_channels, OD, OH, OW). `in_channels`, `out_channels`, `kernel_size`,
    `stride`, `padding`, `dilation`, `groups` and `bias` are as in `nn.Conv2d`, for three axes. Raises ShapeError for
    sizes below 1 and where x does not fit, DTypeError for other dtypes than floats, OptionError for another word as
    padding.

    >>> layer = nn.Conv3d(3, 8, (1, 3, 3), padding=(0, 1, 1))
    >>> layer(st.zeros((1, 3, 4, 16, 16))).shape, layer.weight.shape
    ((1, 8, 4, 16, 16), (8, 3, 1, 3, 3))
    """

    axes: ClassVar[str] = "DHW"


class ConvTranspose1d(ConvolutionTranspose):
    """The transpose of a convolution of signals, as of `st.conv_transpose1d`, plus a bias.

    (N, in_channels, L) becomes (N, out_channels, OL). `in_channels`, `out_channels`, `kernel_size`, `stride`,
    `padding`, `output_padding`, `groups`, `bias` and `dilation` are as in `nn.ConvTranspose2d`, for one axis. Raises
    ShapeError for sizes below 1 and where x does not fit, DTypeError for other dtypes than floats, OptionError for
    another word as padding.

    >>> nn.ConvTranspose1d(8, 2, 4, stride=2, padding=1)(st.zeros((1, 8, 50))).shape
    (1, 2, 100)
    """

    axes: ClassVar[str] = "L"


class ConvTranspose2d(ConvolutionTranspose):
    """The transpose of a convolution of images, as of `st.conv_transpose2d`, plus a bias.

    (N, in_channels, H, W) becomes (N, out_channels, OH, OW). `weight` is (`in_channels`, `out_channels`/groups,
    *`kernel_size`) and `bias` (out_channels,) unless bias=False; both uniform within 1 / sqrt(out_channels/groups * KH
    * KW), PyTorch's default. `stride`, `padding`, `output_padding`, `groups` and `dilation` are those of
    `st.conv_transpose2d`. In the dtype of x and the weights, where they meet. Raises ShapeError where groups do not
    divide the channels, and for an input of other channels.

    >>> layer = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)
    >>> layer(st.zeros((1, 8, 16, 16))).shape, layer.weight.shape
    ((1, 3, 32, 32), (8, 3, 4, 4))
    """


class ConvTranspose3d(ConvolutionTranspose):
    """The transpose of a convolution of volumes, as of `st.conv_transpose3d`, plus a bias.

    (N, in_channels, D, H, W) becomes (N, out_channels, OD, OH, OW). `in_channels`, `out_channels`, `kernel_size`,
    `stride`, `padding`, `output_padding`, `groups`, `bias` and `dilation` are as in `nn.ConvTranspose2d`, for three
    axes. Raises ShapeError for sizes below 1 and where x does not fit, DTypeError for other dtypes than floats,
    OptionError for another word as padding.

    >>> nn.ConvTranspose3d(8, 2, 2, stride=2)(st.zeros((1, 8, 3, 4, 4))).shape
    (1, 2, 6, 8, 8)
    """

    axes: ClassVar[str] = "DHW"
