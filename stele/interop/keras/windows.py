"""Keras's convolutions and poolings, over one to three axes, with channels last or behind the batch."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import stele as st
from stele.interop.keras.activations import ACTIVATION, activation
from stele.interop.keras.call import Call, Kind, Kinds, Rule, named
from stele.nn import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
WIDE_MAXIMA = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
WIDE_MEANS = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
Sides = Sequence[tuple[Any, Any]]


def sides(c: Call, x: Any, kernel: Sequence[int], stride: Sequence[int], apart: Sequence[int]) -> Sides:
    """What is put before and behind each axis of x, by the padding that the layer asks for."""
    how = c.options.word("padding", ("valid", "same", "causal"), "valid")
    reach = [d * (k - 1) for k, d in zip(kernel, apart)]
    if how == "causal":
        return [(r, 0) for r in reach]
    if how == "valid":
        return [(0, 0)] * len(kernel)
    totals = [r if s == 1 else max((-(-n // s) - 1) * s + r + 1 - n, 0) for n, s, r in zip(x.shape[2:], stride, reach)]
    return [(t // 2, t - t // 2) for t in totals]


def padded(x: Any, widths: Sides, value: float = 0.0) -> Any:
    """x with numbers around its last axes."""
    flat = [n for pair in reversed(widths) for n in pair]
    return F.pad(x, flat, value=value) if any(type(n) is not int or n for n in flat) else x


def shifted(c: Call, y: Any) -> Any:
    """y plus the bias of each channel, where there is one."""
    return y if c["bias"] is None else y + c["bias"].reshape((-1,) + (1,) * (y.ndim - 2))


def finished(c: Call, y: Any) -> Any:
    """The activation of what a layer gives."""
    return activation(c)(y)


def over(c: Call, x: Any, w: Any, groups: int) -> Any:
    """The convolution of x (N, C, *) with weights (O, C / groups, *)."""
    n = x.ndim - 2
    stride, apart = (c.options.each(name, n, 1) for name in ("strides", "dilation_rate"))
    return CONVOLUTIONS[n](x, w, None, stride, tuple(sides(c, x, w.shape[2:], stride, apart)), apart, groups)


def outer(w: Any) -> Any:
    """A kernel (*, C, O) as weights (O, C, *)."""
    return st.permute(w, (w.ndim - 1, w.ndim - 2, *range(w.ndim - 2)))


def each(w: Any) -> Any:
    """A kernel (*, C, M) as weights of one channel each, (C * M, 1, *)."""
    n = w.ndim - 2
    return st.permute(w, (n, n + 1, *range(n))).reshape((-1, 1, *w.shape[:n]))


def conv(c: Call, x: Any) -> Any:
    """A convolution."""
    return finished(c, c.laid(x, lambda x: shifted(c, over(c, x, outer(c["kernel"]), c.options.whole("groups", 1)))))


def depthwise(c: Call, x: Any) -> Any:
    """A convolution of each channel by itself."""
    return finished(c, c.laid(x, lambda x: shifted(c, over(c, x, each(c["kernel"]), x.shape[1]))))


def separable(c: Call, x: Any) -> Any:
    """A convolution of each channel by itself, then one over channels."""
    def both(x: Any) -> Any:
        y = over(c, x, each(c["depthwise_kernel"]), x.shape[1])
        return shifted(c, CONVOLUTIONS[x.ndim - 2](y, outer(c["pointwise_kernel"])))

    return finished(c, c.laid(x, both))


def transposed(c: Call, x: Any) -> Any:
    """The transpose of a convolution, cut or filled up as Keras does with each padding."""
    return finished(c, c.laid(x, lambda x: shifted(c, spread(c, x))))


def spread(c: Call, x: Any) -> Any:
    """The transpose alone, of x (N, C, *)."""
    n, w = x.ndim - 2, c["kernel"]
    stride, apart = (c.options.each(name, n, 1) for name in ("strides", "dilation_rate"))
    more = [None] * n if c.options.get("output_padding") is None else c.options.each("output_padding", n, least=0)
    is_same = c.options.word("padding", ("valid", "same"), "valid") == "same"
    cuts = [cut(d * (k - 1) + 1, s, m, is_same) for k, s, d, m in zip(w.shape[:n], stride, apart, more)]
    inner = [max(min(pair), 0) for pair in cuts]
    y = TRANSPOSED[n](x, st.permute(w, (n + 1, n, *range(n))), None, stride, tuple(inner), 0, 1, apart)
    left = [(lo - p, hi - p) for (lo, hi), p in zip(cuts, inner)]
    y = y[(slice(None), slice(None), *(slice(max(lo, 0), size - max(hi, 0)) for (lo, hi), size in
                                       zip(left, y.shape[2:])))] if any(k > 0 for pair in left for k in pair) else y
    return padded(y, [(max(-lo, 0), max(-hi, 0)) for lo, hi in left])


def cut(reach: int, stride: int, more: int | None, is_same: bool) -> tuple[int, int]:
    """What is cut before and behind an axis of the whole transpose: less than 0 is filled up with zeros.

    Padding "valid" keeps it whole, at least as long as the strides reach; "same" gives as many as strides reach over,
    or one more than those between the first and the last, for odd windows, and `more`.
    """
    if not is_same:
        return 0, -(max(reach, stride) - reach if more is None else more)
    total = stride + reach - 2 if more is None else reach + reach % 2 - 2 + more
    before = min(total // 2 + total % 2, reach - 1)
    return reach - 1 - before, reach - 1 - (total - before)


def pool(is_mean: bool) -> Rule:
    """The mean or the largest element of each window; padding is no part of either."""
    def rule(c: Call, x: Any) -> Any:
        return c.laid(x, lambda x: means(c, x) if is_mean else maxima(c, x))

    return rule


def moves(c: Call, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of windows and how far they are apart."""
    size = c.options.each("pool_size", n)
    return size, size if c.options.get("strides") is None else c.options.each("strides", n)


def maxima(c: Call, x: Any) -> Any:
    """The largest element of each window of x (N, C, *)."""
    n = x.ndim - 2
    size, stride = moves(c, n)
    return MAXIMA[n](padded(x, sides(c, x, size, stride, (1,) * n), -math.inf), size, stride)


def means(c: Call, x: Any) -> Any:
    """The mean of each window of x (N, C, *), over what lies inside of x."""
    n = x.ndim - 2
    size, stride = moves(c, n)
    pads = sides(c, x, size, stride, (1,) * n)
    y = MEANS[n](padded(x, pads), size, stride)
    if c.options.word("padding", ("valid", "same"), "valid") == "valid":
        return y
    return y / MEANS[n](padded(st.ones((1, 1, *x.shape[2:]), dtype=x.dtype), pads), size, stride)


def whole(reduce: Any) -> Rule:
    """One number for each channel."""
    def rule(c: Call, x: Any, mask: Any = None) -> Any:
        axes = tuple(range(2, x.ndim)) if c.channels_first() else tuple(range(1, x.ndim - 1))
        keeps, mask = c.options.flag("keepdims"), c.mask if mask is None else mask
        if mask is None or reduce is st.max:
            return reduce(x, axis=axes, keepdims=keeps)
        inside = st.expand_dims(mask, 1 if c.channels_first() else 2).astype(x.dtype)
        return st.sum(x * inside, axis=axes, keepdims=keeps) / st.sum(inside, axis=axes, keepdims=keeps)

    return rule


def adaptive(pools: Mapping[int, Any]) -> Rule:
    """Windows that are as large as a size of the result asks for."""
    def rule(c: Call, x: Any) -> Any:
        return c.laid(x, lambda x: pools[x.ndim - 2](x, c.options.each("output_size", x.ndim - 2)))

    return rule


CONV = named("kernel bias:use_bias")
SEPARABLE = named("depthwise_kernel pointwise_kernel bias:use_bias")

KINDS: Kinds = {
    **{f"Conv{n}D": Kind(conv, CONV, lacks=ACTIVATION) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": Kind(transposed, CONV, lacks=ACTIVATION) for n in (1, 2, 3)},
    **{f"DepthwiseConv{n}D": Kind(depthwise, CONV, lacks=ACTIVATION) for n in (1, 2)},
    **{f"SeparableConv{n}D": Kind(separable, SEPARABLE, lacks=ACTIVATION) for n in (1, 2)},
    **{f"MaxPooling{n}D": Kind(pool(False)) for n in (1, 2, 3)},
    **{f"AveragePooling{n}D": Kind(pool(True)) for n in (1, 2, 3)},
    **{f"AdaptiveMaxPooling{n}D": Kind(adaptive(WIDE_MAXIMA)) for n in (1, 2, 3)},
    **{f"AdaptiveAveragePooling{n}D": Kind(adaptive(WIDE_MEANS)) for n in (1, 2, 3)},
    **{f"GlobalMaxPooling{n}D": Kind(whole(st.max)) for n in (1, 2, 3)},
    **{f"GlobalAveragePooling{n}D": Kind(whole(st.mean)) for n in (1, 2, 3)},
}
