"""Layers that learn the size of their input from the first call."""
from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

from stele.arrays.tensor import Tensor
from stele.eager.handle import tracing_into
from stele.errors import ArgumentError, ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import unfit
from stele.nn.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from stele.nn.layers import Linear
from stele.nn.module import Module, given
from stele.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from stele.tracing.noted import before, noted


class Lazy(Module):
    """A layer without its parameters: the first call makes them, and the layer is then one of the class `becomes`."""

    becomes: ClassVar[Any]
    axis: ClassVar[int] = 1
    beyond: ClassVar[tuple[str, ...]] = ()      # what it has unless told otherwise, other than what it becomes

    @speaks
    def __init__(self, *args: Any, **options: Any) -> None:
        if said := unfit(signature(self.becomes), (1, *args), options):
            raise ArgumentError(f"{type(self).__name__} cannot be called so: {said}",
                                hint=f"Beside its size it takes what {self.becomes.__name__} does.")
        given = signature(self.becomes).bind(1, *args, **options).arguments
        self._wanting = args, {**{name: True for name in self.beyond if name not in given}, **options}

    def extra_repr(self) -> str:
        if self._wanting is None:
            return self.becomes.extra_repr(self)
        args, options = self._wanting
        return ", ".join(["?", *map(repr, args), *(f"{name}={x!r}" for name, x in options.items())])

    def forward(self, x: Tensor) -> Any:
        if self._wanting is None:
            return self.becomes.forward(self, x)
        x = given(self, x)
        if not -x.ndim <= self.axis < x.ndim:
            raise ShapeError(f"this {type(self).__name__} takes its size from axis {self.axis}, got shape {x.shape}")
        args, options = self._wanting
        with tracing_into(None):
            self.becomes.__init__(self, x.shape[self.axis], *args, **options)
        self._wanting = None
        was = before(self.buffers())     # made just now, and written for the first time
        return noted(was, x, self.becomes.forward(self, x))


class LazyLinear(Lazy, Linear):
    """A `Linear` whose in_features are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of `Linear`.

    >>> layer = nn.LazyLinear(2)
    >>> layer(st.ones((8, 3))).shape, layer.weight.shape
    ((8, 2), (2, 3))
    """

    becomes, axis = Linear, -1


class LazyConv1d(Lazy, Conv1d):
    """A `Conv1d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConv1d(4, 3)(st.ones((2, 3, 9))).shape
    (2, 4, 7)
    """

    becomes = Conv1d


class LazyConv2d(Lazy, Conv2d):
    """A `Conv2d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConv2d(4, 3)(st.ones((2, 3, 9, 9))).shape
    (2, 4, 7, 7)
    """

    becomes = Conv2d


class LazyConv3d(Lazy, Conv3d):
    """A `Conv3d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConv3d(4, 3)(st.ones((2, 3, 9, 9, 9))).shape
    (2, 4, 7, 7, 7)
    """

    becomes = Conv3d


class LazyConvTranspose1d(Lazy, ConvTranspose1d):
    """A `ConvTranspose1d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConvTranspose1d(4, 3)(st.ones((2, 3, 9))).shape
    (2, 4, 11)
    """

    becomes = ConvTranspose1d


class LazyConvTranspose2d(Lazy, ConvTranspose2d):
    """A `ConvTranspose2d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConvTranspose2d(4, 3)(st.ones((2, 3, 9, 9))).shape
    (2, 4, 11, 11)
    """

    becomes = ConvTranspose2d


class LazyConvTranspose3d(Lazy, ConvTranspose3d):
    """A `ConvTranspose3d` whose in_channels are those of its first input; `args` and `options` are the others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError. Shapes and dtypes are those
    of the layer that it becomes. Raises ShapeError for an input without channels.

    >>> nn.LazyConvTranspose3d(4, 3)(st.ones((2, 3, 9, 9, 9))).shape
    (2, 4, 11, 11, 11)
    """

    becomes = ConvTranspose3d


class LazyBatchNorm1d(Lazy, BatchNorm1d):
    """A `BatchNorm1d` whose num_features are the channels of its first input; `args` and `options` are others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Features are (N, C), signals (N, C, L); float32 without another dtype of theirs. Raises ShapeError for other shapes,
    DTypeError for complex numbers.

    >>> nn.LazyBatchNorm1d()(st.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    becomes = BatchNorm1d


class LazyBatchNorm2d(Lazy, BatchNorm2d):
    """A `BatchNorm2d` whose num_features are the channels of its first input; `args` and `options` are others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Images are (N, C, H, W); float32 without another dtype of theirs. Raises ShapeError for other shapes,
    DTypeError for complex numbers.

    >>> nn.LazyBatchNorm2d(eps=1e-3)(st.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    becomes = BatchNorm2d


class LazyBatchNorm3d(Lazy, BatchNorm3d):
    """A `BatchNorm3d` whose num_features are the channels of its first input; `args` and `options` are others of it.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Volumes are (N, C, D, H, W); float32 without another dtype of theirs. Raises ShapeError for other shapes,
    DTypeError for complex numbers.

    >>> nn.LazyBatchNorm3d()(st.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    becomes = BatchNorm3d


class LazyInstanceNorm1d(Lazy, InstanceNorm1d):
    """An `InstanceNorm1d` whose num_features are the channels of its first input; `args`, `options` are others of it.

    `affine` and `track_running_stats` are True unless given, as PyTorch has them here.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Signals are (N, C, L) or (C, L); float32 without another dtype of theirs. Raises ShapeError for other shapes,
    DTypeError for complex numbers.

    >>> nn.LazyInstanceNorm1d()(st.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    becomes, axis, beyond = InstanceNorm1d, -2, ("affine", "track_running_stats")


class LazyInstanceNorm2d(Lazy, InstanceNorm2d):
    """An `InstanceNorm2d` whose num_features are the channels of its first input; `args`, `options` are others of it.

    `affine` and `track_running_stats` are True unless given, as PyTorch has them here.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Images are (N, C, H, W) or (C, H, W); float32 without another dtype of theirs. Raises ShapeError for other shapes,
    DTypeError for complex numbers.

    >>> nn.LazyInstanceNorm2d()(st.ones((3, 4, 4))).shape
    (3, 4, 4)
    """

    becomes, axis, beyond = InstanceNorm2d, -3, ("affine", "track_running_stats")


class LazyInstanceNorm3d(Lazy, InstanceNorm3d):
    """An `InstanceNorm3d` whose num_features are the channels of its first input; `args`, `options` are others of it.

    `affine` and `track_running_stats` are True unless given, as PyTorch has them here.

    The parameters are made by the first call; before it, asking for them raises GraphError.
    Volumes are (N, C, D, H, W) or (C, D, H, W); float32 without another dtype of theirs. Raises ShapeError for other
    shapes, DTypeError for complex numbers.

    >>> nn.LazyInstanceNorm3d()(st.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    becomes, axis, beyond = InstanceNorm3d, -4, ("affine", "track_running_stats")
