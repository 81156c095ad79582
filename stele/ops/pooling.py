"""Pooling over windows of the last axes: maximum and average."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Placed, Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import Type, axes_of, below, bool_, float32, int32, int64, lowest, show
from stele.ops.arguments import refuse
from stele.ops.composite import Composite
from stele.ops.contraction import Pair, is_empty
from stele.ops.convolution import Each, Padding, each, pads
from stele.ops.elementwise.arithmetic import Equal, Maximum, Minimum, Select
from stele.ops.elementwise.base import needs_float
from stele.ops.elementwise.binary import And, FloorDivide, Remainder
from stele.ops.generate import Iota, factor, iota, iota_like, quantity
from stele.ops.linear import Sum, broadcast, cast, expand_dims, full
from stele.ops.padding import pad
from stele.ops.reduction import Max, Min
from stele.ops.windows import Window


class Pool(Composite):
    """Windows of `size` elements `dilation` apart, every `stride` of the last axes, padded; one entry per axis.

    Padding counts as part of what windows move over, and no window lies in it alone.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[Dim, Dim], ...]
    dilation: tuple[int, ...]

    def type(self, *x: Type) -> Type:
        needs_float(self, x[0].dtype)
        first = x[0].ndim - len(self.size)
        if first < 0:
            raise ShapeError(f"{self.name} needs {len(self.size)} axes or more, got {show(x[0].shape)}")
        if min(*self.size, *self.stride, *self.dilation) < 1:
            raise ShapeError(f"{self.name} needs windows, strides and dilations of 1 or more, got {self.size}, "
                             f"{self.stride} and {self.dilation}")
        reach = self.reach()
        if any(isinstance(p, int) and p >= k for side, k in zip(self.padding, reach) for p in side):
            raise ShapeError(f"{self.name} needs padding below the window size, got {self.padding} for {reach}")
        wide = x[0].with_shape((*x[0].shape[:first], *(
            n + lo + hi for n, (lo, hi) in zip(x[0].shape[first:], self.padding)))).shape   # if it can be addressed
        out = tuple((n - k) // s + 1 for n, k, s in zip(wide[first:], reach, self.stride))
        if any(map(is_empty, out)):
            raise ShapeError(f"{self.name}: a window {reach} does not fit in {show(x[0].shape[first:])} "
                             f"padded by {self.padding}")
        return x[0].with_shape((*x[0].shape[:first], *out))

    def reach(self) -> tuple[int, ...]:
        """How many elements of each axis a window spans."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.size, self.dilation))

    def last(self) -> tuple[int, ...]:
        """The axes of the elements of a window."""
        return tuple(range(-len(self.size), 0))

    def moves(self, ndim: int) -> tuple[Window, ...]:
        """The windows of an array of so many axes, one axis after the other."""
        first = ndim - len(self.size)
        return tuple(Window(first + k, *move) for k, move in enumerate(zip(self.size, self.stride, self.dilation)))

    def windows(self, x: Value, fill: float) -> Value:
        """The padded array with the elements of each window on last axes of their own."""
        moves = self.moves(x.ndim)
        x = pad(x, widths=(*((0, 0),) * (x.ndim - len(self.size)), *self.padding), value=fill)
        return reduce(lambda y, window: window(y), moves, x)

    def windows_of(self, x: Array, fill: float) -> Array:
        """The same in NumPy."""
        moves, first = self.moves(x.ndim), x.ndim - len(self.size)
        sides: Any = self.padding
        x = x[(..., *(slice(max(-lo, 0), n + min(hi, 0)) for n, (lo, hi) in zip(x.shape[first:], sides)))]
        x = np.pad(x, [(0, 0)] * first + [(max(lo, 0), max(hi, 0)) for lo, hi in sides], constant_values=fill)
        for window in moves:
            x = window.reference(x)  # type: ignore[reportUnknownArgumentType]
        return x  # type: ignore[reportUnknownVariableType]

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        image = Type(float32, (2, 2, 5, 6)),
        return (cls((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)), image), \
               (cls((3, 2), (2, 1), ((1, 1), (0, 1)), (1, 1)), image), \
               (cls((2,), (1,), ((0, 1),), (3,)), (Type(float32, (2, 6)),)), \
               (cls((2,), (3,), ((1, -2),), (1,)), (Type(float32, (2, 6)),))


class MaxPool(Pool):
    """The largest element of each window; padding never wins; the gradient goes to the first largest."""

    def reference(self, *x: Array) -> Array:
        return self.windows_of(x[0], -math.inf).max(axis=self.last())

    def expand(self, *x: Value) -> Value:
        windows = self.windows(x[0], lowest(x[0].dtype))
        return Max(axes_of(self.last(), windows.ndim))(windows)

    def first(self, y: Value, x: Value) -> tuple[Value, Value]:
        """The place in its window of each element, and that of the first largest; padding never is, even beside
        infinities."""
        windows, last = self.windows(x, lowest(x.dtype)), self.last()
        parts = [Iota(self.size, k, int32)() * math.prod(self.size[k + 1:]) for k in range(len(self.size))]
        place = broadcast(reduce(lambda a, b: a + b, parts), windows.shape)
        hit = Equal()(windows, expand_dims(y, last))
        if any(p != 0 for side in self.padding for p in side):
            hit = And()(hit, self.windows(full(x.shape, True, bool_), False))
        return place, Min(axes_of(last, windows.ndim))(Select()(hit, place, math.prod(self.size)))

    def chosen(self, y: Value, x: Value) -> Value:
        """Whether an element of a window is its first largest."""
        place, first = self.first(y, x)
        return Equal()(place, expand_dims(first, self.last()))

    def indices(self, y: Value, x: Value) -> Value:
        """Where the first largest element of each window stands, counted in row-major order over those axes."""
        _, place = self.first(y, x)
        axes, at = len(self.size), cast(Minimum()(place, math.prod(self.size) - 1), int64)
        found: Value | None = None
        for k in range(axes):
            inside = Remainder()(FloorDivide()(at, math.prod(self.size[k + 1:])), self.size[k])
            start = iota_like(at, at.ndim - axes + k) * self.stride[k] - factor(self.padding[k][0])
            own = start + inside * self.dilation[k]
            found = own if found is None else found * factor(x.shape[x.ndim - axes + k]) + own
        return found  # type: ignore[return-value]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        spread = Select()(self.chosen(y, x[0]), expand_dims(g, self.last()), 0.0)
        windows = self.windows(x[0], 0.0)
        return tuple(d.gradients([windows], [spread], x, x))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        moved = Select()(self.chosen(y, x[0]), self.windows(dx[0], 0.0), 0.0)
        return Sum(axes_of(self.last(), moved.ndim))(moved)


class AvgPool(Pool):
    """The mean of each window; padding counts as zeros."""

    def reference(self, *x: Array) -> Array:
        return self.windows_of(x[0], 0.0).mean(axis=self.last(), dtype=np.float64).astype(x[0].dtype)

    def expand(self, *x: Value) -> Value:
        windows = self.windows(x[0], 0.0)
        return Sum(axes_of(self.last(), windows.ndim))(windows) * (1 / math.prod(self.size))


class Geometry(NamedTuple):
    """Where windows lie along the last axes: the fields of a `Pool`, whose padding reaches as far as they do, and how
    far users asked for it to."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[Dim, Dim], ...]
    dilation: tuple[int, ...]
    asked: Padding


def geometry(x: Value, axes: int, size: Each, stride: Each | None, padding: Each | Padding | str, dilation: Each = 1,
             ceil_mode: bool = False) -> Geometry:
    """Windows over the last axes of x; with `ceil_mode` those too that begin inside and end beyond, as far as
    an array of all that they reach can be addressed."""
    kernel, steps, apart = each(size, axes), each(size if stride is None else stride, axes), each(dilation, axes)
    asked = pads(padding, kernel, steps, apart)
    if not ceil_mode or min((*kernel, *steps, *apart)) < 1:     # which windows refuse
        return Geometry(kernel, steps, asked, apart, asked)
    sides: list[tuple[Dim, Dim]] = []
    for n, k, s, d, (lo, hi) in zip(x.shape[x.ndim - axes:], kernel, steps, apart, asked):
        reach = d * (k - 1) + 1
        out = ceil(n + lo + hi - reach, s) + 1
        if s + hi > reach and below(ceil(n + lo, s), out):      # a window that would lie in padding alone
            out = ceil(n + lo, s)
        sides.append((lo, (out - 1) * s + reach - n - lo))
    x.type.with_shape((*x.shape[:x.ndim - axes], *(n + lo + hi for n, (lo, hi) in zip(x.shape[x.ndim - axes:], sides))))
    return Geometry(kernel, steps, tuple(sides), apart, asked)


def max_pool(x: Value, at: Geometry) -> Value:
    """The largest element of each window."""
    return MaxPool(*at[:4])(x)


def avg_pool(x: Value, at: Geometry, count_include_pad: bool = True, divisor: float | None = None) -> Value:
    """The mean of each window, of zeros in padding too, or without them, or the sum over a given divisor. What lies
    beyond the padding is never counted."""
    if divisor == 0:
        refuse("divisor_override", "a number other than 0", divisor)
    y = AvgPool(*at[:4])(x)
    whole = math.prod(at.size)
    if divisor is not None:
        return y * (whole / divisor)
    if at.padding == (at.asked if count_include_pad else ((0, 0),) * len(at.size)):
        return y
    for k, n in enumerate(x.shape[x.ndim - len(at.size):]):
        axis = y.ndim - len(at.size) + k
        y = y * (at.size[k] / cast(expand_dims(counted(y.shape[axis], n, at, k, count_include_pad), tuple(
            range(1, y.ndim - axis))), y.dtype))
    return y


def counted(windows: Dim, n: Dim, at: Geometry, k: int, count_include_pad: bool) -> Value:
    """How many elements of each window along one axis count."""
    low, high = at.asked[k] if count_include_pad else (0, 0)
    start = iota(windows) * at.stride[k] - factor(at.padding[k][0])
    end = Minimum()(start + at.size[k], quantity(n + high))
    return end - Maximum()(start, -low)


def max_pool2d(x: Value, *, size: int | Pair, stride: int | Pair | None = None,
               padding: int | Pair | Padding | str = 0, dilation: int | Pair = 1, ceil_mode: bool = False) -> Value:
    """The largest element of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype.

    `size`, `stride` (the size without one), `padding` and `dilation` are a number, or one per axis;
    OH = (H + 2 * padding - dilation * (size - 1) - 1) // stride + 1, so a rest is left out, unless `ceil_mode` asks for
    a last window that reaches beyond. Padding never wins; the gradient goes to the first largest. Raises ShapeError for
    padding of a window's size or more and for windows that do not fit, DTypeError for other dtypes than floats.

    >>> x = st.arange(16.0).reshape(1, 1, 4, 4)
    >>> st.max_pool2d(x, 2)[0, 0].tolist(), st.max_pool2d(x, 3, stride=1, padding=1).shape
    ([[5.0, 7.0], [13.0, 15.0]], (1, 1, 4, 4))
    """
    return max_pool(x, geometry(batch(x, "max_pool2d"), 2, size, stride, padding, dilation, ceil_mode))


def avg_pool2d(x: Value, *, size: int | Pair, stride: int | Pair | None = None,
               padding: int | Pair | Padding | str = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: float | None = None) -> Value:
    """The mean of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype; padding counts as zeros.

    `size`, `stride` (the size without one), `padding` and `ceil_mode` are as in `max_pool2d`. With
    count_include_pad=False the mean is that of the image's own elements; a `divisor_override` divides the sums in place
    of their number. What lies beyond the padding is in no `count_include_pad`. Raises ShapeError where no window fits,
    DTypeError for other dtypes than floats, OptionError for another word as `padding`.

    >>> st.avg_pool2d(st.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0].tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    >>> st.avg_pool2d(st.ones((1, 1, 2, 2)), 2, padding=1)[0, 0].tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    return avg_pool(x, geometry(batch(x, "avg_pool2d"), 2, size, stride, padding, 1, ceil_mode), count_include_pad,
                    divisor_override)


def batch(x: Value, name: str) -> Value:
    """A batch of images; raises ShapeError for what has other axes."""
    if x.ndim != 4:
        raise ShapeError(f"{name} needs an image batch (N, C, H, W), got {show(x.shape)}")
    return x


ALL = (MaxPool, AvgPool)
