"""ONNX's convolutions and poolings, over any number of axes."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.onnx.values import Call, Rules, host
from stele.nn import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
Sides = list[tuple[int, int]]


def sides(c: Call, x: Any, kernel: Sequence[int], stride: Sequence[int], apart: Sequence[int]) -> Sides:
    """The padding of each axis, before and behind: as it is given, or so that as many windows fit as strides."""
    n, how = len(kernel), c.get("auto_pad", "NOTSET")
    if how == "VALID":
        return [(0, 0)] * n
    if how in ("SAME_UPPER", "SAME_LOWER"):
        found: Sides = []
        for size, k, s, d in zip(x.shape[-n:], kernel, stride, apart):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            less, more = total // 2, total - total // 2
            found.append((less, more) if how == "SAME_UPPER" else (more, less))
        return found
    pads = c.get("pads") or [0] * (2 * n)
    return list(zip(pads[:n], pads[n:]))


def moves(c: Call, kernel: Sequence[int]) -> tuple[list[int], list[int]]:
    """Strides and dilations."""
    ones = [1] * len(kernel)
    return c.get("strides") or ones, c.get("dilations") or ones


def conv(c: Call, x: Any, w: Any, bias: Any = None) -> Any:
    """The convolution over all axes behind the channels."""
    kernel = w.shape[2:]
    stride, apart = moves(c, kernel)
    f = CONVOLUTIONS.get(len(kernel))
    if f is None:
        raise DataError(f"convolutions go over 1 to 3 axes, not {len(kernel)}")
    return f(x, w, bias, tuple(stride), tuple(sides(c, x, kernel, stride, apart)), tuple(apart), c.get("group", 1))


def conv_transpose(c: Call, x: Any, w: Any, bias: Any = None) -> Any:
    """The transpose of a convolution: what it makes is cut by the padding, or to an `output_shape`."""
    kernel = w.shape[2:]
    n = len(kernel)
    stride, apart = moves(c, kernel)
    more = c.get("output_padding") or [0] * n
    whole = [(size - 1) * s + d * (k - 1) + 1 + m for size, s, d, k, m in zip(x.shape[2:], stride, apart, kernel, more)]
    wanted = c.get("output_shape") or (None if c.get("auto_pad", "NOTSET") in ("NOTSET", "VALID") else [
        size * s for size, s in zip(x.shape[2:], stride)])
    if wanted is None:
        pads = sides(c, x, kernel, stride, apart)
    else:
        totals = [a - b for a, b in zip(whole, wanted[-n:])]
        lower = c.get("auto_pad", "NOTSET") == "SAME_UPPER"
        pads = [(t // 2, t - t // 2) if lower else (t - t // 2, t // 2) for t in totals]
    y = TRANSPOSED[n](x, w, None, tuple(stride), 0, 0, c.get("group", 1), tuple(apart))
    if any(m and m > hi for m, (_, hi) in zip(more, pads)) or any(t < 0 for pair in pads for t in pair):
        grown = [(0, max(m - hi, 0)) for m, (_, hi) in zip(more, pads)]
        y = padded(y, [(max(-lo, 0), g + max(-hi, 0)) for (lo, hi), (_, g) in zip(pads, grown)])
    kept = wanted[-n:] if wanted else [a - lo - hi for a, (lo, hi) in zip(whole, pads)]
    y = y[(slice(None), slice(None), *(slice(max(lo, 0), max(lo, 0) + t) for (lo, _), t in zip(pads, kept)))]
    return y if bias is None else y + bias.reshape((-1,) + (1,) * n)


def padded(x: Any, widths: Sides, value: float = 0.0) -> Any:
    """x with numbers around its last axes."""
    flat = [n for pair in reversed(widths) for n in pair]
    return F.pad(x, flat, value=value) if any(flat) else x


def ceiled(c: Call, x: Any, kernel: Sequence[int], stride: Sequence[int], apart: Sequence[int], pads: Sides) -> Sides:
    """Padding that also holds the last window of each axis where sizes are rounded up."""
    if not c.get("ceil_mode", 0):
        return [(0, 0)] * len(kernel)
    more: Sides = []
    for n, k, s, d, (lo, hi) in zip(x.shape[2:], kernel, stride, apart, pads):
        reach = d * (k - 1) + 1
        count = -(-(n + lo + hi - reach) // s) + 1
        count = count if (count - 1) * s < n + lo else count - 1
        more.append((0, max((count - 1) * s + reach - n - lo - hi, 0)))
    return more


def max_pool(c: Call, x: Any) -> Any:
    """The largest element of each window, and its place in the whole array."""
    kernel = c.get("kernel_shape")
    stride, apart = moves(c, kernel)
    pads = sides(c, x, kernel, stride, apart)
    pads = [(lo, hi + m) for (lo, hi), (_, m) in zip(pads, ceiled(c, x, kernel, stride, apart, pads))]
    wide = x if x.dtype.is_float else x.astype("float64")
    y, places = MAXIMA[len(kernel)](padded(wide, pads, -math.inf), tuple(kernel), tuple(stride), 0, tuple(apart),
                                    return_indices=True)
    y = y.astype(x.dtype)
    return (y, counted(c, x, places, pads)) if c.wants(1) else y


def counted(c: Call, x: Any, places: Any, pads: Sides) -> Any:
    """Places in padded planes as places in the whole array, by rows or by columns."""
    sizes = x.shape[2:]
    wide = [n + lo + hi for n, (lo, hi) in zip(sizes, pads)]
    at: list[Any] = []
    for n, (lo, _) in reversed(list(zip(wide, pads))):
        at.insert(0, places % n - lo)
        places = places // n
    order = range(len(sizes)) if not c.get("storage_order", 0) else reversed(range(len(sizes)))
    flat: Any = 0
    for k in order:
        flat = flat * sizes[k] + at[k]
    planes = st.arange(x.shape[0] * x.shape[1]).reshape((x.shape[0], x.shape[1], *(1,) * len(sizes)))
    return flat + planes * math.prod(sizes)


def average_pool(c: Call, x: Any) -> Any:
    """The mean of each window, of the padding too where that is asked for."""
    kernel = c.get("kernel_shape")
    stride, apart = moves(c, kernel)
    pads = sides(c, x, kernel, stride, apart)
    more = ceiled(c, x, kernel, stride, apart, pads)
    inside = st.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    inside = padded(inside, pads, 1.0 if c.get("count_include_pad", 0) else 0.0)
    total = windowed(padded(padded(x, pads), more), kernel, stride, apart)
    return total / windowed(padded(inside, more), kernel, stride, apart)


def windowed(x: Any, kernel: Sequence[int], stride: Sequence[int], apart: Sequence[int]) -> Any:
    """The sum of each window."""
    if all(d == 1 for d in apart):
        return MEANS[len(kernel)](x, tuple(kernel), tuple(stride)) * math.prod(kernel)
    n, ch, *sizes = x.shape
    w = st.ones((1, 1, *kernel), dtype=x.dtype)
    y = CONVOLUTIONS[len(kernel)](x.reshape((n * ch, 1, *sizes)), w, None, tuple(stride), 0, tuple(apart))
    return y.reshape((n, ch, *y.shape[2:]))


def lp_pool(c: Call, x: Any) -> Any:
    """The p-norm of each window."""
    kernel, p = c.get("kernel_shape"), c.get("p", 2)
    stride, apart = moves(c, kernel)
    pads = sides(c, x, kernel, stride, apart)
    more = ceiled(c, x, kernel, stride, apart, pads)
    return windowed(padded(padded(st.abs(x) ** p, pads), more), kernel, stride, apart) ** (1 / p)


def spread(x: Any) -> tuple[int, ...]:
    """The axes behind the channels."""
    return tuple(range(2, x.ndim))


def max_unpool(c: Call, x: Any, places: Any, shape: Any = None) -> Any:
    """Elements put back at the places where the pool found them, zeros elsewhere."""
    kernel = c.get("kernel_shape")
    stride, _ = moves(c, kernel)
    pads = sides(c, x, kernel, stride, [1] * len(kernel))
    own = [(n - 1) * s + k - lo - hi for n, s, k, (lo, hi) in zip(x.shape[2:], stride, kernel, pads)]
    wanted = own if shape is None else [int(n) for n in host(shape)[2:]]
    planes = st.arange(x.shape[0] * x.shape[1]).reshape((x.shape[0], x.shape[1], *(1,) * len(kernel)))
    flat = st.zeros(x.shape[0] * x.shape[1] * math.prod(wanted), dtype=x.dtype)
    at = places - planes * math.prod(own) + planes * math.prod(wanted)
    if wanted != own:       # places are those in a plane of another size
        inside = places - planes * math.prod(own)
        coordinates: list[Any] = []
        for n in reversed(own):
            coordinates.insert(0, inside % n)
            inside = inside // n
        at = 0
        for n, k in zip(wanted, coordinates):
            at = at * n + k
        at = at + planes * math.prod(wanted)
    return st.scatter(flat, at.reshape(-1), x.reshape(-1), axis=0).reshape((*x.shape[:2], *wanted))


RULES: Rules = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool,
    "GlobalAveragePool": lambda c, x: st.mean(x, axis=spread(x), keepdims=True),
    "GlobalMaxPool": lambda c, x: st.max(x, axis=spread(x), keepdims=True),
    "GlobalLpPool": lambda c, x: st.sum(
        st.abs(x) ** c.get("p", 2), axis=spread(x), keepdims=True) ** (1 / c.get("p", 2)),
    "MaxUnpool": max_unpool,
}
