"""Pooling over windows of images: maximum and average."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, bool_, float32, int32, lowest, show
from stele.ops.composite import Composite
from stele.ops.contraction import Pair, is_empty
from stele.ops.convolution import Padding, each, pads
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import needs_float
from stele.ops.elementwise.binary import And
from stele.ops.generate import Iota
from stele.ops.linear import Sum, broadcast, expand_dims, fold, full, unfold
from stele.ops.reduction import Max, Min
from stele.ops.shaping import pad
from stele.ops.windows import Window

LAST = (-2, -1)


class Pool2d(Composite):
    """(N, C, H, W) -> (N, C, OH, OW): windows of `size` every `stride` of the padded image; fields per axis."""

    size: Pair
    stride: Pair
    padding: Padding

    def type(self, *x: Type) -> Type:
        needs_float(self, x[0].dtype)
        if x[0].ndim != 4:
            raise ShapeError(f"{self.name} needs an image batch (N, C, H, W), got {show(x[0].shape)}")
        if min(*self.size, *self.stride) < 1:
            raise ShapeError(f"{self.name} needs windows and strides of 1 or more, got {self.size} and {self.stride}")
        if any(p >= k for side, k in zip(self.padding, self.size) for p in side):
            raise ShapeError(f"{self.name} needs padding below the window size, got {self.padding} for {self.size}")
        out = tuple((n + lo + hi - k) // s + 1
                    for n, k, s, (lo, hi) in zip(x[0].shape[2:], self.size, self.stride, self.padding))
        if any(map(is_empty, out)):
            raise ShapeError(f"{self.name}: a window {self.size} does not fit in {show(x[0].shape[2:])} "
                             f"padded by {self.padding}")
        return x[0].with_shape((*x[0].shape[:2], *out))

    def windows(self, x: Value, fill: float) -> Value:
        """The padded image as (N, C, OH, OW, KH, KW)."""
        x = pad(x, widths=((0, 0), (0, 0), *self.padding), value=fill)
        for k in range(2):
            x = Window(2 + k, self.size[k], self.stride[k], 1)(x)
        return x

    def windows_of(self, x: Array, fill: float) -> Array:
        """The same in NumPy."""
        x = np.pad(x, ((0, 0), (0, 0), *self.padding), constant_values=fill)
        views = np.lib.stride_tricks.sliding_window_view(x, self.size, (2, 3))  # type: ignore[call-overload]
        return views[:, :, ::self.stride[0], ::self.stride[1]]

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return unfold(self(fold(x[0][0])), n)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        image = Type(float32, (2, 2, 5, 6)),
        return (cls((2, 2), (2, 2), ((0, 0), (0, 0))), image), (cls((3, 2), (2, 1), ((1, 1), (0, 1))), image)


class MaxPool2d(Pool2d):
    """The largest element of each window; padding never wins; the gradient goes to the first largest."""

    def reference(self, *x: Array) -> Array:
        return self.windows_of(x[0], -math.inf).max(axis=LAST)

    def expand(self, *x: Value) -> Value:
        return Max((4, 5))(self.windows(x[0], lowest(x[0].dtype)))

    def chosen(self, y: Value, x: Value) -> Value:
        """Whether an element of a window is its first largest; padding never is, even beside infinities."""
        windows = self.windows(x, lowest(x.dtype))
        place = Iota(self.size, 0, int32)() * self.size[1] + Iota(self.size, 1, int32)()
        place = broadcast(place, windows.shape)
        hit = Equal()(windows, expand_dims(y, LAST))
        if any(p for side in self.padding for p in side):
            hit = And()(hit, self.windows(full(x.shape, True, bool_), False))
        first = Min((4, 5))(Select()(hit, place, self.size[0] * self.size[1]))
        return Equal()(place, expand_dims(first, LAST))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        spread = Select()(self.chosen(y, x[0]), expand_dims(g, LAST), 0.0)
        windows = self.windows(x[0], 0.0)
        return tuple(d.gradients([windows], [spread], x, x))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else Sum((4, 5))(Select()(self.chosen(y, x[0]), self.windows(dx[0], 0.0), 0.0))


class AvgPool2d(Pool2d):
    """The mean of each window; padding counts as zeros."""

    def reference(self, *x: Array) -> Array:
        return self.windows_of(x[0], 0.0).mean(axis=LAST, dtype=np.float64).astype(x[0].dtype)

    def expand(self, *x: Value) -> Value:
        return Sum((4, 5))(self.windows(x[0], 0.0)) * (1 / (self.size[0] * self.size[1]))


def max_pool2d(x: Value, *, size: int | Pair, stride: int | Pair | None = None,
               padding: int | Pair | Padding | str = 0) -> Value:
    """The largest element of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype.

    `size`, `stride` (the size without one) and `padding` are a number, or one per axis;
    OH = (H + 2 * padding - size) // stride + 1, so a rest is left out. Padding never wins; the gradient goes to the
    first largest. Raises ShapeError for padding of a window's size or more and for windows that do not fit, DTypeError
    for other dtypes than floats.

    >>> x = st.arange(16.0).reshape(1, 1, 4, 4)
    >>> st.max_pool2d(x, 2)[0, 0].tolist(), st.max_pool2d(x, 3, stride=1, padding=1).shape
    ([[5.0, 7.0], [13.0, 15.0]], (1, 1, 4, 4))
    """
    return MaxPool2d(*geometry(size, stride, padding))(x)


def avg_pool2d(x: Value, *, size: int | Pair, stride: int | Pair | None = None,
               padding: int | Pair | Padding | str = 0) -> Value:
    """The mean of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype; padding counts as zeros.

    `size`, `stride` (the size without one) and `padding` are as in `max_pool2d`, and so are the errors.

    >>> st.avg_pool2d(st.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0].tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    >>> st.avg_pool2d(st.ones((1, 1, 2, 2)), 2, padding=1)[0, 0].tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    return AvgPool2d(*geometry(size, stride, padding))(x)


def geometry(size: int | Pair, stride: int | Pair | None, padding: int | Pair | Padding | str) -> tuple[Any, Any, Any]:
    """Window, stride and padding, one entry per axis."""
    kernel, steps = each(size, 2), each(size if stride is None else stride, 2)
    return kernel, steps, pads(padding, kernel, steps, (1, 1))


ALL = (MaxPool2d, AvgPool2d)
