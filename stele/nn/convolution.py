"""Layers of convolutions over one, two and three axes, forward and transposed."""
from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional, init
from stele.nn.module import Module
from stele.nn.takes import images
from stele.ops.arguments import choice, each, flag, is_series, padding, positive

Each = int | tuple[int, ...]
MODES = ("zeros", "reflect", "replicate", "circular")


class Kernels(Module):
    """Weights that are moved over the last axes of an input, and a bias for each channel of the result."""

    axes: ClassVar[str] = "HW"
    is_transposed: ClassVar[bool] = False
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def make(self, in_channels: int, out_channels: int, kernel_size: Each, groups: int, bias: bool, **moves: Any
             ) -> None:
        """Checks what the layer was given, and draws its parameters."""
        name, axes = type(self).__name__, len(self.axes)
        self.in_channels = positive(in_channels, f"in_channels of {name}")
        self.out_channels = positive(out_channels, f"out_channels of {name}")
        self.groups = positive(groups, f"groups of {name}")
        if self.in_channels % groups or self.out_channels % groups:
            raise ShapeError(f"{name} needs in_channels and out_channels that {groups} groups divide, "
                             f"got {self.in_channels} and {self.out_channels}")
        for key, given in moves.items():
            low = 0 if key == "output_padding" else 1
            setattr(self, key, padding(given, f"{key} of {name}", axes) if key == "padding" else
                    each(given, f"{key} of {name}", low, axes))
        self.kernel_size = each(kernel_size, f"kernel_size of {name}", 1, axes)
        first, second = self.out_channels, self.in_channels
        if self.is_transposed:
            first, second = second, first
        self.weight = init.zeros((first, second // groups, *self.kernel_size))
        self.bias = init.zeros((self.out_channels,)) if flag(bias, f"bias of {name}") else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        init.redraw((self.weight, self.bias), 1 / sqrt(init.fans(tuple(self.weight.shape))[0]))

    def extra_repr(self) -> str:
        moves = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
        said = [f"{key}={held!r}" for key, usual in moves.items()
                if (held := getattr(self, key, usual)) not in (usual, (usual,) * len(self.axes))]
        said += [f"groups={self.groups}"] * (self.groups != 1) + ["bias=False"] * (self.bias is None)
        said += [f"padding_mode={self.padding_mode!r}"] * (self.padding_mode != "zeros")
        return ", ".join([f"{self.in_channels}, {self.out_channels}, {self.kernel_size}", *said])


class Convolution(Kernels):
    """The layers of `nn.functional.conv1d`, `conv2d` and `conv3d`."""

    @speaks
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Each, stride: Each = 1,
                 padding: Each | str = 0, dilation: Each = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros") -> None:
        self.make(in_channels, out_channels, kernel_size, groups, bias, stride=stride, padding=padding,
                  dilation=dilation)
        self.padding_mode = choice(padding_mode, f"padding_mode of {type(self).__name__}", MODES)
        if self.padding == "same" and any(n != 1 for n in self.stride):
            raise ShapeError(f"padding='same' of {type(self).__name__} is for a stride of 1, got {self.stride}")

    def forward(self, x: Tensor) -> Tensor:
        conv: Any = (functional.conv1d, functional.conv2d, functional.conv3d)[len(self.axes) - 1]
        x, around = images(self, x, self.in_channels, self.axes), self.padding
        if self.padding_mode != "zeros" and around != "valid":
            x, around = functional.pad(x, self.widths(), self.padding_mode), 0
        return conv(x, self.weight, self.bias, self.stride, around, self.dilation, self.groups)

    def widths(self) -> list[int]:
        """The padding as `nn.functional.pad` takes it: before and behind the last axis, then the one before it."""
        if self.padding == "same":
            more = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            sides = [(n // 2, n - n // 2) for n in more]
        else:
            sides = [(n, n) if isinstance(n, int) else n for n in self.padding]
            sides = sides * len(self.axes) if len(sides) == 1 else sides
        return [n for side in sides[::-1] for n in side]


class ConvolutionTranspose(Kernels):
    """The layers of `nn.functional.conv_transpose1d`, `conv_transpose2d` and `conv_transpose3d`."""

    is_transposed: ClassVar[bool] = True
    output_padding: tuple[int, ...]

    @speaks
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Each, stride: Each = 1, padding: Each = 0,
                 output_padding: Each = 0, groups: int = 1, bias: bool = True, dilation: Each = 1,
                 padding_mode: str = "zeros") -> None:
        self.make(in_channels, out_channels, kernel_size, groups, bias, stride=stride, padding=padding,
                  output_padding=output_padding, dilation=dilation)
        self.padding_mode = choice(padding_mode, f"padding_mode of {type(self).__name__}, which is cut off the result,",
                                   ("zeros",))

    def forward(self, x: Tensor, output_size: tuple[int, ...] | None = None) -> Tensor:
        conv: Any = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[
            len(self.axes) - 1]
        x = images(self, x, self.in_channels, self.axes)
        more = self.output_padding if output_size is None else self.needed(x, output_size)
        return conv(x, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def needed(self, x: Tensor, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """The output_padding with which the result has these last sizes; raises ShapeError where there is none."""
        k = len(self.axes)
        sizes = each(wanted[-k:] if is_series(wanted) and len(wanted) == x.ndim else wanted,
                     f"output_size of {type(self).__name__}", 1, k)
        sides = [(n, n) if isinstance(n, int) else n for n in self.padding]
        least = [(n - 1) * s + d * (kernel - 1) + 1 - sum(around) for n, s, d, kernel, around in zip(
            x.shape[-k:], self.stride, self.dilation, self.kernel_size, sides * k if len(sides) == 1 else sides)]
        if not all(low <= n < low + max(s, d) for low, n, s, d in zip(least, sizes, self.stride, self.dilation)):
            most = [low + s - 1 for low, s in zip(least, self.stride)]
            raise ShapeError(f"{type(self).__name__} makes sizes from {least} to {most} of {x.shape}, got "
                             f"output_size={wanted}")
        return tuple(n - low for n, low in zip(sizes, least))


class Conv1d(Convolution):
    """A convolution of signals (N, in_channels, L) -> (N, out_channels, OL), as of `st.conv1d`, plus a bias.

    `in_channels`, `out_channels`, `kernel_size`, `stride`, `padding`, `dilation`, `groups`, `bias` and `padding_mode`
    are as in `nn.Conv2d`, for one axis. Raises ShapeError for sizes below 1 and where x does not fit, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> layer = nn.Conv1d(2, 8, 5, padding="same")
    >>> layer(st.zeros((1, 2, 100))).shape, layer.weight.shape
    ((1, 8, 100), (8, 2, 5))
    """

    axes: ClassVar[str] = "L"


class Conv2d(Convolution):
    """A convolution of images (N, in_channels, H, W) -> (N, out_channels, OH, OW), as of `st.conv2d`, plus a bias.

    One image (in_channels, H, W) is taken too. `weight` is (`out_channels`, `in_channels`/groups, *`kernel_size`) and
    `bias` (out_channels,) unless bias=False; both uniform within 1 / sqrt(in_channels/groups * KH * KW), PyTorch's
    default. `stride`, `padding`, `dilation` and `groups` are those of `st.conv2d`. What stands in the padding says
    `padding_mode`: "zeros", or what "reflect", "replicate" and "circular" mean in `nn.functional.pad`. Raises
    ShapeError where groups do not divide the channels, and for an input of other channels. In the dtype of x and the
    weights, where they meet.

    >>> layer = nn.Conv2d(3, 8, 3, stride=2, padding=1)
    >>> layer(st.zeros((1, 3, 32, 32))).shape, layer.weight.shape
    ((1, 8, 16, 16), (8, 3, 3, 3))
    """


class Conv3d(Convolution):
    """A convolution of volumes, as of `st.conv3d`, plus a bias.

    (N, in_channels, D, H, W) becomes (N, out_channels, OD, OH, OW). `in_channels`, `out_channels`, `kernel_size`,
    `stride`, `padding`, `dilation`, `groups`, `bias` and `padding_mode` are as in `nn.Conv2d`, for three axes. Raises
    ShapeError for sizes below 1 and where x does not fit, DTypeError for other dtypes than floats, OptionError for
    another word as padding.

    >>> layer = nn.Conv3d(3, 8, (1, 3, 3), padding=(0, 1, 1))
    >>> layer(st.zeros((1, 3, 4, 16, 16))).shape, layer.weight.shape
    ((1, 8, 4, 16, 16), (8, 3, 1, 3, 3))
    """

    axes: ClassVar[str] = "DHW"


class ConvTranspose1d(ConvolutionTranspose):
    """The transpose of a convolution of signals, as of `st.conv_transpose1d`, plus a bias.

    (N, in_channels, L) becomes (N, out_channels, OL). `in_channels`, `out_channels`, `kernel_size`, `stride`,
    `padding`, `output_padding`, `groups`, `bias`, `dilation` and `padding_mode` are as in `nn.ConvTranspose2d`, for one
    axis. Raises ShapeError for sizes below 1 and where x does not fit, DTypeError for other dtypes than floats,
    OptionError for another word as padding.

    >>> nn.ConvTranspose1d(8, 2, 4, stride=2, padding=1)(st.zeros((1, 8, 50))).shape
    (1, 2, 100)
    """

    axes: ClassVar[str] = "L"


class ConvTranspose2d(ConvolutionTranspose):
    """The transpose of a convolution of images, as of `st.conv_transpose2d`, plus a bias.

    (N, in_channels, H, W) becomes (N, out_channels, OH, OW); one image (in_channels, H, W) is taken too. `weight` is
    (`in_channels`, `out_channels`/groups, *`kernel_size`) and `bias` (out_channels,) unless bias=False; both uniform
    within 1 / sqrt(out_channels/groups * KH * KW), PyTorch's default. `stride`, `padding`, `output_padding`, `groups`
    and `dilation` are those of `st.conv_transpose2d`; layer(x, output_size) says instead which of the sizes that a
    stride allows the result has. A `padding_mode` is "zeros", nothing else. Raises ShapeError
    where groups do not divide the channels, and for an input of other channels, OptionError for another padding_mode.
    In the dtype of x and the weights, where they meet.

    >>> layer = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)
    >>> layer(st.zeros((1, 8, 16, 16))).shape, layer.weight.shape
    ((1, 3, 32, 32), (8, 3, 4, 4))
    >>> layer(st.zeros((1, 8, 16, 16)), output_size=(33, 32)).shape
    (1, 3, 33, 32)
    """


class ConvTranspose3d(ConvolutionTranspose):
    """The transpose of a convolution of volumes, as of `st.conv_transpose3d`, plus a bias.

    (N, in_channels, D, H, W) becomes (N, out_channels, OD, OH, OW). `in_channels`, `out_channels`, `kernel_size`,
    `stride`, `padding`, `output_padding`, `groups`, `bias`, `dilation` and `padding_mode` are as in
    `nn.ConvTranspose2d`, for three axes. Raises ShapeError for sizes below 1 and where x does not fit, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> nn.ConvTranspose3d(8, 2, 2, stride=2)(st.zeros((1, 8, 3, 4, 4))).shape
    (1, 2, 6, 8, 8)
    """

    axes: ClassVar[str] = "DHW"
