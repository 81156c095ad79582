"""Pooling as layers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.ir.door import public
from stele.nn import functional
from stele.nn.applied import Applied

Each = int | Sequence[int]


class MaxPool1d(Applied):
    """The largest element of each window of signals (N, C, L), as of `nn.functional.max_pool1d`.

    `kernel_size`, `stride`, `padding`, `dilation`, `return_indices` and `ceil_mode` are those of the function. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool1d(2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.max_pool1d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, dilation: Each = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
                  return_indices=return_indices, ceil_mode=ceil_mode)


class MaxPool3d(Applied):
    """The largest element of each window of volumes (N, C, D, H, W), as of `nn.functional.max_pool3d`.

    `kernel_size`, `stride`, `padding`, `dilation`, `return_indices` and `ceil_mode` are those of the function. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.MaxPool3d(2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.max_pool3d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, dilation: Each = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
                  return_indices=return_indices, ceil_mode=ceil_mode)


class AvgPool1d(Applied):
    """The mean of each window of signals (N, C, L), as of `nn.functional.avg_pool1d`.

    `kernel_size`, `stride`, `padding`, `ceil_mode` and `count_include_pad` are those of the function. Raises ShapeError
    where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool1d(2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.avg_pool1d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
                  count_include_pad=count_include_pad)


class AvgPool3d(Applied):
    """The mean of each window of volumes (N, C, D, H, W), as of `nn.functional.avg_pool3d`.

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad` and `divisor_override` are those of the
    function. Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> nn.AvgPool3d(2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.avg_pool3d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
                  count_include_pad=count_include_pad, divisor_override=divisor_override)


class AdaptiveAvgPool1d(Applied):
    """The means of windows that share signals (N, C, L), as of `nn.functional.adaptive_avg_pool1d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool1d(2)(st.zeros((1, 3, 7))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool1d)

    @public
    def __init__(self, output_size: Any) -> None:
        self.keep(output_size=output_size)


class AdaptiveAvgPool2d(Applied):
    """The means of windows that share images (N, C, H, W), as of `nn.functional.adaptive_avg_pool2d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool2d(2)(st.zeros((1, 3, 7, 7))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool2d)

    @public
    def __init__(self, output_size: Any) -> None:
        self.keep(output_size=output_size)


class AdaptiveAvgPool3d(Applied):
    """The means of windows that share volumes (N, C, D, H, W), as of `nn.functional.adaptive_avg_pool3d`.

    `output_size` is the size after it, a number or one for each axis, of which None keeps it. Integers become float32.
    Raises ShapeError for other axes and for less than 1 window.

    >>> nn.AdaptiveAvgPool3d(2)(st.zeros((1, 3, 7, 7, 7))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_avg_pool3d)

    @public
    def __init__(self, output_size: Any) -> None:
        self.keep(output_size=output_size)


class AdaptiveMaxPool1d(Applied):
    """The largest elements of windows that share signals (N, C, L), as of `nn.functional.adaptive_max_pool1d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool1d(2)(st.zeros((1, 3, 7))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.adaptive_max_pool1d)

    @public
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self.keep(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool2d(Applied):
    """The largest elements of windows that share images (N, C, H, W), as of `nn.functional.adaptive_max_pool2d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool2d(2)(st.zeros((1, 3, 7, 7))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool2d)

    @public
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self.keep(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool3d(Applied):
    """The largest elements of windows that share volumes (N, C, D, H, W), as of `nn.functional.adaptive_max_pool3d`.

    `output_size` is the size after it, `return_indices` as in `nn.functional.max_pool2d`. Raises ShapeError for other
    axes and for less than 1 window, DTypeError for complex numbers.

    >>> nn.AdaptiveMaxPool3d(2)(st.zeros((1, 3, 7, 7, 7))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.adaptive_max_pool3d)

    @public
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self.keep(output_size=output_size, return_indices=return_indices)


class LPPool1d(Applied):
    """The norm of each window of signals (N, C, L), as of `nn.functional.lp_pool1d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool1d(2, 2)(st.zeros((1, 3, 4))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.lp_pool1d)

    @public
    def __init__(self, norm_type: float, kernel_size: Each, stride: Each | None = None,
                 ceil_mode: bool = False) -> None:
        self.keep(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool2d(Applied):
    """The norm of each window of images (N, C, H, W), as of `nn.functional.lp_pool2d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool2d(2, 2)(st.zeros((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    function = staticmethod(functional.lp_pool2d)

    @public
    def __init__(self, norm_type: float, kernel_size: Each, stride: Each | None = None,
                 ceil_mode: bool = False) -> None:
        self.keep(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool3d(Applied):
    """The norm of each window of volumes (N, C, D, H, W), as of `nn.functional.lp_pool3d`.

    `norm_type`, `kernel_size`, `stride` and `ceil_mode` are those of the function. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> nn.LPPool3d(2, 2)(st.zeros((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    function = staticmethod(functional.lp_pool3d)

    @public
    def __init__(self, norm_type: float, kernel_size: Each, stride: Each | None = None,
                 ceil_mode: bool = False) -> None:
        self.keep(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class MaxUnpool1d(Applied):
    """Maxima put back where they stood in signals (N, C, L), as of `nn.functional.max_unpool1d`.

    Called with maxima and their places; `kernel_size`, `stride` and `padding` are those of the pool. Raises ShapeError
    where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool1d(2)(st.ones((1, 1, 1)), st.zeros((1, 1, 1), dtype="int64")).shape
    (1, 1, 2)
    """

    function = staticmethod(functional.max_unpool1d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding)


class MaxUnpool2d(Applied):
    """Maxima put back where they stood in images (N, C, H, W), as of `nn.functional.max_unpool2d`.

    Called with maxima and their places; `kernel_size`, `stride` and `padding` are those of the pool. Raises ShapeError
    where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool2d(2)(st.ones((1, 1, 1, 1)), st.zeros((1, 1, 1, 1), dtype="int64")).shape
    (1, 1, 2, 2)
    """

    function = staticmethod(functional.max_unpool2d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding)


class MaxUnpool3d(Applied):
    """Maxima put back where they stood in volumes (N, C, D, H, W), as of `nn.functional.max_unpool3d`.

    Called with maxima and their places; `kernel_size`, `stride` and `padding` are those of the pool. Raises ShapeError
    where indices have another shape, DTypeError for indices that are no integers.

    >>> nn.MaxUnpool3d(2)(st.ones((1, 1, 1, 1, 1)), st.zeros((1, 1, 1, 1, 1), dtype="int64")).shape
    (1, 1, 2, 2, 2)
    """

    function = staticmethod(functional.max_unpool3d)

    @public
    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        self.keep(kernel_size=kernel_size, stride=stride, padding=padding)
