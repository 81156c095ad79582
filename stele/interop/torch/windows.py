"""PyTorch's poolings and sums of columns, with those of their gradients that it names."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F

MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def spread(x: Any, n: int) -> Any:
    """One option for each of n axes, None where there is none."""
    return None if x in ([], None) else tuple(x) * n if len(x) == 1 else tuple(x)


def mean(n: int) -> Callable[..., Any]:
    """The mean of each window over n axes."""
    def rule(x: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, padded: bool, divisor: Any = None) -> Any:
        more = {} if n == 1 else {"divisor_override": divisor}
        return MEANS[n](x, spread(kernel, n), spread(stride, n), spread(padding, n), ceil, padded, **more)

    return rule


def largest(n: int, places: bool = True) -> Callable[..., Any]:
    """The largest element of each window over n axes, and its place in the plane."""
    def rule(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        return MAXIMA[n](x, spread(kernel, n), spread(stride, n), spread(padding, n), spread(dilation, n), ceil,
                         return_indices=places)

    return rule


def fractional(f: Callable[..., Any]) -> Callable[..., Any]:
    """The largest elements of windows that lie where samples say, and their places in the plane."""
    return lambda x, kernel, size, samples: f(x, tuple(kernel), tuple(size), return_indices=True,
                                              _random_samples=samples)


def pulled(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a pooling for that of its result."""
    def rule(g: Any, x: Any, *options: Any) -> Any:
        _, pull = st.vjp(lambda x: f(x, *options), x)
        return pull(g)[0]

    return rule


def put_back(g: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, places: Any) -> Any:
    """The gradient of maxima, at the places where they stood."""
    planes = tuple(x.shape[:-2])
    n = x.shape[-2] * x.shape[-1]
    flat = st.scatter(st.zeros((*planes, n), dtype=g.dtype), places.reshape((*planes, -1)), g.reshape((*planes, -1)),
                      axis=-1, mode="add")
    return flat.reshape(tuple(x.shape))


def columns_summed(x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Columns of windows, each added to where it lies."""
    return F.fold(x, tuple(size), tuple(kernel), tuple(dilation), tuple(padding), tuple(stride))


RULES: Rules = {
    "avg_pool1d": mean(1), "avg_pool2d": mean(2), "avg_pool3d": mean(3),
    "avg_pool2d_backward": pulled(mean(2)),
    "max_pool2d_with_indices": largest(2), "max_pool3d_with_indices": largest(3),
    "max_pool1d": largest(1, False), "max_pool2d": largest(2, False), "max_pool3d": largest(3, False),
    "max_pool2d_with_indices_backward": put_back,
    "_adaptive_avg_pool2d adaptive_avg_pool2d": lambda x, size: F.adaptive_avg_pool2d(x, tuple(size)),
    "_adaptive_avg_pool3d": lambda x, size: F.adaptive_avg_pool3d(x, tuple(size)),
    "adaptive_avg_pool1d": lambda x, size: F.adaptive_avg_pool1d(x, size[0]),
    "adaptive_max_pool2d": lambda x, size: F.adaptive_max_pool2d(x, tuple(size), return_indices=True),
    "adaptive_max_pool3d": lambda x, size: F.adaptive_max_pool3d(x, tuple(size), return_indices=True),
    "_adaptive_avg_pool2d_backward": lambda g, x: pulled(F.adaptive_avg_pool2d)(g, x, tuple(g.shape[-2:])),
    "fractional_max_pool2d": fractional(F.fractional_max_pool2d),
    "fractional_max_pool3d": fractional(F.fractional_max_pool3d),
    "col2im": columns_summed,
    "im2col": lambda x, kernel, dilation, padding, stride: F.unfold(
        x, tuple(kernel), tuple(dilation), tuple(padding), tuple(stride)),
}
