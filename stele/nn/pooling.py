"""Pooling as layers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional
from stele.nn.applied import Applied
from stele.ops.arguments import each, flag, number

Each = int | Sequence[int]


class Pool(Applied):
    """Windows over the last axes."""

    axes: ClassVar[int] = 2

    def check(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, dilation: Each = 1) -> None:
        """Refuses windows that there cannot be."""
        name = type(self).__name__
        step = kernel_size if stride is None else stride
        for key, size in (("kernel_size", kernel_size), ("stride", step), ("padding", padding), ("dilation", dilation)):
            each(size, f"{key} of {name}", 0 if key == "padding" else 1, self.axes)


class MaxPool(Pool):
    """The largest elements of windows."""

    @speaks
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, dilation: Each = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        self.check(kernel_size, stride, padding, dilation)
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
                  return_indices=flag(return_indices, "return_indices"), ceil_mode=flag(ceil_mode, "ceil_mode"))


class AvgPool(Pool):
    """The means of windows, of which a divisor may be given."""

    @speaks
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        self.check(kernel_size, stride, padding)
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=flag(ceil_mode, "ceil_mode"),
                  count_include_pad=flag(count_include_pad, "count_include_pad"), divisor_override=divisor_override)


class AdaptiveAvgPool(Applied):
    """The means of windows that share an input."""

    @speaks
    def __init__(self, output_size: Any) -> None:
        self.keep(output_size=output_size)


class AdaptiveMaxPool(Applied):
    """The largest elements of windows that share an input."""

    @speaks
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self.keep(output_size=output_size, return_indices=flag(return_indices, "return_indices"))


class LPPool(Pool):
    """The norms of windows."""

    @speaks
    def __init__(self, norm_type: float, kernel_size: Each, stride: Each | None = None, ceil_mode: bool = False
                 ) -> None:
        self.check(kernel_size, stride)
        self.keep(norm_type=number(norm_type, "norm_type"), kernel_size=kernel_size, stride=stride,
                  ceil_mode=flag(ceil_mode, "ceil_mode"))


class MaxUnpool(Pool):
    """Maxima put back where they stood."""

    @speaks
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        self.check(kernel_size, stride, padding)
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: Tensor, indices: Tensor, output_size: Each | None = None) -> Tensor:
        return self.function(x, indices, **self.options(), output_size=output_size)


class FractionalMaxPool(Pool):
    """The largest elements of windows at random places."""

    @speaks
    def __init__(self, kernel_size: Each, output_size: Each | None = None,
                 output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                 _random_samples: Tensor | None = None) -> None:
        self.check(kernel_size)
        if (output_size is None) == (output_ratio is None):
            raise ShapeError(f"{type(self).__name__} needs an output_size or an output_ratio, and not both")
        self.keep(kernel_size=kernel_size, output_size=output_size, output_ratio=output_ratio,
                  return_indices=flag(return_indices, "return_indices"), _random_samples=_random_samples)


class MaxPool1d(MaxPool):
    """The largest element of each window of signals (N, C, L), as of `nn.functional.max_pool1d`.

    `kernel_size`, `stride`, `padding`, `dilation`, `return_indices` and `ceil_mode` are those of the function. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool1d(2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    axes: ClassVar[int] = 1
    function = staticmethod(functional.max_pool1d)


class MaxPool2d(MaxPool):
    """The largest element of each window of images (N, C, H, W), as of `nn.functional.max_pool2d`.

    `kernel_size`, `stride`, `padding`, `dilation`, `return_indices` and `ceil_mode` are those of the function. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool2d(2)(st.zeros((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.max_pool2d)


class MaxPool3d(MaxPool):
    """The largest element of each window of volumes (N, C, D, H, W), as of `nn.functional.max_pool3d`.

    `kernel_size`, `stride`, `padding`, `dilation`, `return_indices` and `ceil_mode` are those of the function. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool3d(2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    axes: ClassVar[int] = 3
    function = staticmethod(functional.max_pool3d)


class AvgPool1d(Pool):
    """The mean of each window of signals (N, C, L), as of `nn.functional.avg_pool1d`.

    `kernel_size`, `stride`, `padding`, `ceil_mode` and `count_include_pad` are those of the function. Raises ShapeError
    where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool1d(2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    axes: ClassVar[int] = 1
    function = staticmethod(functional.avg_pool1d)

    @speaks
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        self.check(kernel_size, stride, padding)
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=flag(ceil_mode, "ceil_mode"),
                  count_include_pad=flag(count_include_pad, "count_include_pad"))


class AvgPool2d(AvgPool):
    """The mean of each window of images (N, C, H, W), as of `nn.functional.avg_pool2d`.

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad` and `divisor_override` are those of the
    function. Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool2d(2)(st.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[1.5]]]]
    """

    function = staticmethod(functional.avg_pool2d)


class AvgPool3d(AvgPool):
    """The mean of each window of volumes (N, C, D, H, W), as of `nn.functional.avg_pool3d`.

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad` and `divisor_override` are those of the
    function. Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool3d(2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    axes: ClassVar[int] = 3
    function = staticmethod(functional.avg_pool3d)


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """The means of windows that share signals (N, C, L), as of `nn.functional.adaptive_avg_pool1d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool1d(2)(st.zeros((1, 3, 7))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """The means of windows that share images (N, C, H, W), as of `nn.functional.adaptive_avg_pool2d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool2d(2)(st.zeros((1, 3, 7, 7))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """The means of windows that share volumes (N, C, D, H, W), as of `nn.functional.adaptive_avg_pool3d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool3d(2)(st.zeros((1, 3, 7, 7, 7))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest elements of windows that share signals (N, C, L), as of `nn.functional.adaptive_max_pool1d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool1d(2)(st.zeros((1, 3, 7))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest elements of windows that share images (N, C, H, W), as of `nn.functional.adaptive_max_pool2d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool2d(2)(st.zeros((1, 3, 7, 7))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest elements of windows that share volumes (N, C, D, H, W), as of `nn.functional.adaptive_max_pool3d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool3d(2)(st.zeros((1, 3, 7, 7, 7))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool3d)


class LPPool1d(LPPool):
    """The norm of each window of signals (N, C, L), as of `nn.functional.lp_pool1d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool1d(2, 2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    axes: ClassVar[int] = 1
    function = staticmethod(functional.lp_pool1d)


class LPPool2d(LPPool):
    """The norm of each window of images (N, C, H, W), as of `nn.functional.lp_pool2d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool2d(2, 2)(st.zeros((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.lp_pool2d)


class LPPool3d(LPPool):
    """The norm of each window of volumes (N, C, D, H, W), as of `nn.functional.lp_pool3d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool3d(2, 2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    axes: ClassVar[int] = 3
    function = staticmethod(functional.lp_pool3d)


class MaxUnpool1d(MaxUnpool):
    """Maxima put back where they stood in signals (N, C, L), as of `nn.functional.max_unpool1d`.

    Called with maxima and their places, and an output_size if there is one; `kernel_size`, `stride` and `padding` are
    those of the pool. Raises ShapeError where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool1d(2)(st.ones((1, 1, 1)), st.zeros((1, 1, 1), dtype="int64")).shape
    (1, 1, 2)
    """

    axes: ClassVar[int] = 1
    function = staticmethod(functional.max_unpool1d)


class MaxUnpool2d(MaxUnpool):
    """Maxima put back where they stood in images (N, C, H, W), as of `nn.functional.max_unpool2d`.

    Called with maxima and their places, and an output_size if there is one; `kernel_size`, `stride` and `padding` are
    those of the pool. Raises ShapeError where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool2d(2)(st.ones((1, 1, 1, 1)), st.zeros((1, 1, 1, 1), dtype="int64")).shape
    (1, 1, 2, 2)
    """

    function = staticmethod(functional.max_unpool2d)


class MaxUnpool3d(MaxUnpool):
    """Maxima put back where they stood in volumes (N, C, D, H, W), as of `nn.functional.max_unpool3d`.

    Called with maxima and their places, and an output_size if there is one; `kernel_size`, `stride` and `padding` are
    those of the pool. Raises ShapeError where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool3d(2)(st.ones((1, 1, 1, 1, 1)), st.zeros((1, 1, 1, 1, 1), dtype="int64")).shape
    (1, 1, 2, 2, 2)
    """

    axes: ClassVar[int] = 3
    function = staticmethod(functional.max_unpool3d)


class FractionalMaxPool2d(FractionalMaxPool):
    """The largest elements of windows at random places of images (N, C, H, W).

    `kernel_size`, `output_size`, `output_ratio`, `return_indices` and `_random_samples` are those of
    `nn.functional.fractional_max_pool2d`. In the dtype of x. Raises ShapeError where windows do not fit.

    >>> nn.FractionalMaxPool2d(2, output_size=3)(st.zeros((1, 3, 5, 5))).shape
    (1, 3, 3, 3)
    """

    function = staticmethod(functional.fractional_max_pool2d)


class FractionalMaxPool3d(FractionalMaxPool):
    """The largest elements of windows at random places of volumes (N, C, D, H, W).

    `kernel_size`, `output_size`, `output_ratio`, `return_indices` and `_random_samples` are those of
    `nn.functional.fractional_max_pool3d`. In the dtype of x. Raises ShapeError where windows do not fit.

    >>> nn.FractionalMaxPool3d(2, output_size=3)(st.zeros((1, 3, 5, 5, 5))).shape
    (1, 3, 3, 3, 3)
    """

    axes: ClassVar[int] = 3
    function = staticmethod(functional.fractional_max_pool3d)
