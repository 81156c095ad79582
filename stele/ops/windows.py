"""Windows along an axis and their transpose."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Placed, Value
from stele.ir.sizes import Dim, quotient
from stele.ir.types import Shape, Type, axis_of, bool_, float32, same, show
from stele.ops.linear import (
    Linear,
    Movement,
    Pad,
    Slice,
    Source,
    fold,
    further,
    pad_axis,
    reshape,
    slice_axis,
    transpose,
    unfold,
)


class Window(Movement):
    """Windows along `axis` as a new last axis: y[..., o, ..., k] = x[..., o*stride + k*dilation, ...]."""

    axis: int
    size: Dim
    stride: Dim
    dilation: Dim

    def type(self, *x: Type) -> Type:
        axis = axis_of(self.axis, x[0].ndim)
        reach = x[0].shape[axis] - self.dilation * (self.size - 1) - 1
        if isinstance(reach, int) and reach < 0:
            raise ShapeError(f"a window of {self.size} with dilation {self.dilation} does not fit in axis {axis} "
                             f"of {show(x[0].shape)}", hint="Pad it first.")
        windows = quotient(reach, self.stride) + 1
        return x[0].with_shape((*x[0].shape[:axis], windows, *x[0].shape[axis + 1:], self.size))

    def reference(self, x: Array) -> Array:
        reach = self.dilation * (self.size - 1) + 1
        window_view: Any = np.lib.stride_tricks.sliding_window_view
        views = window_view(x, reach, self.axis)
        cut: list[Any] = [slice(None)] * x.ndim
        cut[self.axis] = slice(None, None, self.stride)
        return views[(*cut, slice(None, None, self.dilation))]

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        axis = axis_of(self.axis, x.ndim)
        return Source(tuple(j * self.stride + i[-1] * self.dilation if k == axis else j for k, j in enumerate(i[:-1])))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        size, stride, dilation = int(self.size), int(self.stride), int(self.dilation)
        return Unwindow(self.axis, size, stride, dilation, x[0].shape[self.axis])(g),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (axis,) = further((self.axis,), x[0][0])
        return Window(axis, self.size, self.stride, self.dilation)(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 3, 1, 1), (Type(float32, (2, 5, 3)),)), (cls(0, 2, 2, 1), (Type(float32, (5, 2)),)), \
               (cls(-1, 2, 1, 3), (Type(float32, (6,)),))


class Unwindow(Linear):
    """The transpose of Window: adds up what windows along `axis` say of each of its `length` elements."""

    axis: int
    size: int
    stride: int
    dilation: int
    length: Dim
    family: ClassVar[str] = "composite"

    def type(self, *x: Type) -> Type:
        axis = axis_of(self.axis, x[0].ndim - 1)
        if not same(x[0].shape[-1], self.size):
            raise ShapeError(f"unwindow needs windows of {self.size} on the last axis, got {show(x[0].shape)}")
        return x[0].with_shape((*x[0].shape[:axis], self.length, *x[0].shape[axis + 1:-1]))

    def reference(self, x: Array) -> Array:
        y = np.zeros(self.type(Type(bool_, x.shape)).shape, x.dtype)  # type: ignore[arg-type]
        along = np.moveaxis(y, self.axis, 0)
        for k in range(self.size):
            part = np.moveaxis(x[..., k], self.axis, 0)
            along[k * self.dilation:: self.stride][:len(part)] += part
        return y

    def expand(self, x: Value) -> Value:
        axis = axis_of(self.axis, x.ndim - 1)
        n = x.shape[axis]
        if self.stride == self.size and self.dilation == 1:
            order = (*range(axis + 1), x.ndim - 1, *range(axis + 1, x.ndim - 1))
            tiled = reshape(transpose(x, order), (*x.shape[:axis], n * self.size, *x.shape[axis + 1:-1]))
            return pad_axis(tiled, axis, 0, self.length - n * self.size)
        parts: list[Value] = []
        for k in range(self.size):
            part = reshape(slice_axis(x, -1, k, 1), x.shape[:-1])
            low, reach = k * self.dilation, (n - 1) * self.stride + 1
            parts.append(pad_axis(part, axis, low, self.length - low - reach, self.stride - 1))
        return reduce(lambda a, b: a + b, parts)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Window(self.axis, self.size, self.stride, self.dilation)(g),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        axis = axis_of(self.axis, y.ndim) + 1
        return Unwindow(axis, self.size, self.stride, self.dilation, self.length)(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 3, 1, 1, 5), (Type(float32, (2, 3, 3, 3)),)), \
               (cls(0, 2, 2, 1, 5), (Type(float32, (2, 2, 2)),)), \
               (cls(-1, 2, 1, 3, 6), (Type(float32, (3, 2)),))


class Taps(Movement):
    """What each tap of a kernel meets of images that lie as their phases, (N, C, SH, SW, rows of `width`), at `length`
    positions in a row: y[n, c, a, b, p] = x[n, c, a*dh % SH, b*dw % SW, a*dh // SH * width + b*dw // SW + p].
    """

    kernel: tuple[int, int]
    dilation: tuple[int, int]
    width: Dim
    length: Dim

    def type(self, *x: Type) -> Type:
        if x[0].ndim != 5:
            raise ShapeError(f"{self.name} needs phases of images (N, C, SH, SW, positions), got {show(x[0].shape)}")
        return x[0].with_shape((*x[0].shape[:2], *self.kernel, self.length))

    def reference(self, x: Array) -> Array:
        y = np.zeros(self.type(Type(bool_, x.shape)).shape, x.dtype)  # type: ignore[arg-type]
        for a, b in np.ndindex(*self.kernel):
            i = self.at((0, 0, a, b, 0), x.shape)
            y[:, :, a, b] = x[:, :, i[2], i[3], i[4]:][:, :, :self.length]  # type: ignore[index, misc]
        return y

    def at(self, i: tuple[Dim, ...], shape: Shape) -> tuple[Dim, ...]:
        """The index of what element i shows."""
        down, across = i[2] * self.dilation[0], i[3] * self.dilation[1]
        sh, sw = int(shape[2]), int(shape[3])
        return i[0], i[1], down % sh, across % sw, (down // sh) * self.width + across // sw + i[4]

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        return Source(self.at(i, x.shape))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        parts: list[Value] = []
        for a, b in np.ndindex(*self.kernel):
            _, _, down, across, start = self.at((0, 0, a, b, 0), x[0].shape)
            part = Slice((0, 0, a, b, 0), (*g.shape[:2], 1, 1, g.shape[4]), (1,) * 5)(g)
            low = 0, 0, down, across, start
            high = tuple(n - lo - k for n, lo, k in zip(x[0].shape, low, part.shape))
            parts.append(Pad(low, high, (0,) * 5)(part))
        return reduce(lambda a, b: a + b, parts),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return unfold(self(fold(x[0][0])), n)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((2, 3), (1, 1), 5, 8), (Type(float32, (2, 3, 1, 1, 15)),)), \
               (cls((3, 2), (1, 3), 4, 6), (Type(float32, (1, 2, 2, 2, 12)),))


ALL = (Window, Unwindow, Taps)
