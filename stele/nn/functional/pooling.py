"""Pooling over windows: maximum, mean and norms, with the places of maxima, and back from them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import product, show
from stele.ops import pooling
from stele.ops.arguments import each
from stele.ops.elementwise.binary import equal, pow, where
from stele.ops.elementwise.unary import absolute, stop_gradient
from stele.ops.linear import full, reshape
from stele.ops.pooling import Geometry, MaxPool, geometry, max_pool
from stele.ops.scattering import scatter

Each = int | Sequence[int]


def planes(name: str, x: Value, axes: int) -> Value:
    """x, which has so many axes behind its channels; raises ShapeError for what has others."""
    if x.ndim not in (axes + 1, axes + 2):
        last = ", ".join("DHW"[3 - axes:] if axes > 1 else "L")
        raise ShapeError(f"{name} needs (N, C, {last}) or (C, {last}), got {show(x.shape)}")
    return x


def windows(name: str, x: Value, axes: int, kernel_size: Each, stride: Each | None, padding: Each = 0,
            dilation: Each = 1, ceil_mode: bool = False) -> Geometry:
    """Where the windows of a pool lie in x."""
    size = each(kernel_size, f"kernel_size of {name}", 1, axes)
    step = size if stride is None or stride == () else each(stride, f"stride of {name}", 1, axes)
    sides = each(padding, f"padding of {name}", 0, axes)
    if any(2 * p > k for p, k in zip(sides, size)):
        raise ShapeError(f"{name} takes a padding of at most half its kernel_size, got {sides} for {size}",
                         hint="Write F.pad(x, widths) before it for more.")
    return geometry(planes(name, x, axes), axes, size, step, sides, each(dilation, f"dilation of {name}", 1, axes),
                    ceil_mode)


def maxima(x: Value, at: Geometry, return_indices: bool) -> Any:
    """The largest element of each window, and where it stands if that is asked for."""
    y = max_pool(x, at)
    return (y, MaxPool(*at[:4]).indices(y, x)) if return_indices else y


def max_pool1d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The largest element of each window of signals (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `dilation`, `ceil_mode`, `return_indices` and errors are as in `max_pool2d`.
    Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.max_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[3.0, 2.0]]
    """
    at = windows("max_pool1d", input, 1, kernel_size, stride, padding, dilation, ceil_mode)
    return maxima(input, at, return_indices)


def max_pool2d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The largest element of each window of images (N, C, H, W) or (C, H, W), in their dtype.

    `kernel_size`, `stride` (the kernel size without one), `padding` and `dilation` are a number, or one per axis;
    OH = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, rounded up with `ceil_mode`, where a window
    begins inside. Padding never wins; the gradient goes to the first largest. With `return_indices` its place comes
    too, as int64, counted over rows and columns. Raises ShapeError where no window fits, DTypeError for other dtypes
    than floats.

    >>> y, i = F.max_pool2d(st.arange(16.0).reshape(1, 4, 4), 2, return_indices=True)
    >>> y.tolist(), i.tolist()
    ([[[5.0, 7.0], [13.0, 15.0]]], [[[5, 7], [13, 15]]])
    """
    at = windows("max_pool2d", input, 2, kernel_size, stride, padding, dilation, ceil_mode)
    return maxima(input, at, return_indices)


def max_pool3d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The largest element of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `dilation`, `ceil_mode`, `return_indices` and errors are as in `max_pool2d`.
    Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[7.0]]]]
    """
    at = windows("max_pool3d", input, 3, kernel_size, stride, padding, dilation, ceil_mode)
    return maxima(input, at, return_indices)


def avg_pool1d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Value:
    """The mean of each window of signals (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad` and errors are as in `avg_pool2d`. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[2.0, 1.0]]
    """
    at = windows("avg_pool1d", input, 1, kernel_size, stride, padding, 1, ceil_mode)
    return pooling.avg_pool(input, at, count_include_pad)


def avg_pool2d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Value:
    """The mean of each window of images (N, C, H, W) or (C, H, W), in their dtype.

    `kernel_size`, `stride`, `padding` and `ceil_mode` are as in `max_pool2d`. Padding counts as zeros, unless
    count_include_pad=False: then neither sums nor counts have it; what `ceil_mode` adds beyond it counts in no case. A
    `divisor_override` divides the sums in place of the counts of `count_include_pad`. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool2d(st.arange(16.0).reshape(1, 4, 4), 2).tolist()
    [[[2.5, 4.5], [10.5, 12.5]]]
    """
    at = windows("avg_pool2d", input, 2, kernel_size, stride, padding, 1, ceil_mode)
    return pooling.avg_pool(input, at, count_include_pad, divisor_override)


def avg_pool3d(input: Value, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Value:
    """The mean of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad`, `divisor_override` and errors are as in
    `avg_pool2d`. Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[3.5]]]]
    """
    at = windows("avg_pool3d", input, 3, kernel_size, stride, padding, 1, ceil_mode)
    return pooling.avg_pool(input, at, count_include_pad, divisor_override)


def lp_pool1d(input: Value, norm_type: float, kernel_size: int | Sequence[int],
              stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Value:
    """The norm sum(x ** p) ** (1 / p) of each window of signals (N, C, L) or (C, L), for p = `norm_type`.

    `kernel_size`, `stride`, `ceil_mode` and errors are as in `lp_pool2d`. Raises ShapeError where no window fits,
    DTypeError for complex numbers.

    >>> F.lp_pool1d(st.tensor([[3.0, 4.0, 0.0, 2.0]]), 2.0, 2).tolist()
    [[5.0, 2.0]]
    """
    return norms("lp_pool1d", input, 1, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Value, norm_type: float, kernel_size: int | Sequence[int],
              stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Value:
    """The norm sum(x ** p) ** (1 / p) of each window of images (N, C, H, W) or (C, H, W), for p = `norm_type`.

    With p infinite it is the largest absolute value. `kernel_size`, `stride` and `ceil_mode` are as in `max_pool2d`,
    and so are errors; a window that `ceil_mode` lets reach beyond counts as full (PyTorch's rule). Where a norm is 0
    its derivative is 0. Raises ShapeError where no window fits, DTypeError for complex numbers.

    >>> F.lp_pool2d(st.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2.0, 2).tolist()
    [[[5.0]]]
    """
    return norms("lp_pool2d", input, 2, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Value, norm_type: float, kernel_size: int | Sequence[int],
              stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Value:
    """The norm sum(x ** p) ** (1 / p) of each window of volumes (N, C, D, H, W) or (C, D, H, W), for p = `norm_type`.

    `kernel_size`, `stride`, `ceil_mode` and errors are as in `lp_pool2d`. Raises ShapeError where no window fits,
    DTypeError for complex numbers.

    >>> F.lp_pool3d(st.ones((1, 2, 2, 2)), 1.0, 2).tolist()
    [[[[8.0]]]]
    """
    return norms("lp_pool3d", input, 3, norm_type, kernel_size, stride, ceil_mode)


def norms(name: str, x: Value, axes: int, p: float, kernel_size: Each, stride: Each | None, ceil_mode: bool) -> Value:
    """The norm of each window."""
    at = windows(name, x, axes, kernel_size, stride, 0, 1, ceil_mode)
    if p == 0:
        raise ShapeError(f"norm_type of {name} cannot be 0")
    if math.isinf(p):
        return max_pool(absolute(x), at) if p > 0 else -max_pool(-absolute(x), at)
    total = pooling.avg_pool(pow(x, p), at) * math.prod(at.size)
    is_zero = equal(total, 0)
    return where(is_zero, 0.0, pow(where(is_zero, 1.0, total), 1 / p))


def max_unpool1d(input: Value, indices: Value, kernel_size: int | Sequence[int],
                 stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
                 output_size: int | Sequence[int] | None = None) -> Value:
    """The maxima of `max_pool1d` put back where its `indices` say, among zeros: (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `output_size` and errors are as in `max_unpool2d`. Raises ShapeError where
    indices have another shape, DTypeError for indices that are no integers.

    >>> y, i = F.max_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(y, i, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """
    return put_back("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Value, indices: Value, kernel_size: int | Sequence[int],
                 stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
                 output_size: int | Sequence[int] | None = None) -> Value:
    """The maxima of `max_pool2d` put back where its `indices` say, among zeros: (N, C, H, W) or (C, H, W).

    H is (OH - 1) * stride - 2 * padding + kernel_size unless an `output_size` says it, that of the last axes or of all;
    `kernel_size`, `stride` and `padding` are those of the pool. In the dtype of the input; indices are integers. Raises
    ShapeError for indices of another shape and, when run, IndexOutOfRange for one beyond the result.

    >>> y, i = F.max_pool2d(st.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(y, i, 2).tolist()
    [[[0.0, 0.0], [0.0, 3.0]]]
    """
    return put_back("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Value, indices: Value, kernel_size: int | Sequence[int],
                 stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
                 output_size: int | Sequence[int] | None = None) -> Value:
    """The maxima of `max_pool3d` put back where its `indices` say, among zeros: (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `output_size` and errors are as in `max_unpool2d`. Raises ShapeError where
    indices have another shape, DTypeError for indices that are no integers.

    >>> y, i = F.max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True)
    >>> F.max_unpool3d(y, i, 2).shape
    (1, 2, 2, 2)
    """
    return put_back("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def put_back(name: str, axes: int, x: Value, i: Value, kernel_size: Each, stride: Each | None, padding: Each,
             output_size: Each | None) -> Value:
    """Elements of planes at given places, among zeros. Of several at one place the last one stands there; all of them
    have its derivative (PyTorch's rule)."""
    if planes(name, x, axes).ndim != i.ndim:
        raise ShapeError(f"{name} needs indices in the shape of x, got {show(i.shape)} and {show(x.shape)}")
    size = each(kernel_size, f"kernel_size of {name}", 1, axes)
    step = size if stride is None or stride == () else each(stride, f"stride of {name}", 1, axes)
    sides, outer = each(padding, f"padding of {name}", 0, axes), x.shape[:x.ndim - axes]
    made: tuple[Dim, ...] = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-axes:], step, sides, size))
    if output_size is not None:
        made = each(output_size[-axes:] if isinstance(output_size, list | tuple) else output_size,
                    f"output_size of {name}", 1, axes)
    flat = [reshape(v, (*outer, product(v.shape[-axes:]))) for v in (x, i)]
    none = full((*outer, product(made)), 0.0, x.dtype)
    total = scatter(none, flat[1], flat[0], axis=-1, mode="add")
    put = scatter(none, flat[1], stop_gradient(flat[0]), axis=-1)
    return reshape(put + (total - stop_gradient(total)), (*outer, *made))
