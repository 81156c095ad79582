"""Products, convolutions and pooling: arguments of every stride, dilation, group and padding, and what NumPy says."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.programs.numbers import Array

if TYPE_CHECKING:
    from tests.programs.grammar import Growth

Pads = tuple[tuple[int, int], tuple[int, int]]


def product(g: Growth, x: str) -> Any:
    """x times anything it may be multiplied with."""
    def fits(z: str) -> bool:
        a, b = g.shape(x), g.shape(z)
        if not a or not b or g.dtype(z) != g.dtype(x) or len(a) + len(b) < 3:
            return False
        try:
            return a[-1] == (b[-2] if len(b) > 1 else b[0]) and bool(np.broadcast_shapes(a[:-2], b[:-2]) or True)
        except ValueError:
            return False
    found = g.names(fits)
    if not found and g.ndim(x):
        k = g.ndim(x) - 1
        found = [g.input_for(x, lambda shape: (shape[k], 3), open_axis=k)]
    return (x, g.choose(found)), {}


def sides(g: Growth, kernel: tuple[int, ...], most: int = 3) -> Any:
    """Padding as users write it: a number, one for each axis, or for each side; below the window where it must be."""
    low = [min(most, k - 1) for k in kernel]
    match g.integer(0, 3):
        case 0: return 0
        case 1: return g.integer(0, min(low))
        case 2: return tuple(g.integer(0, n) for n in low)
        case _: return tuple((g.integer(0, n), g.integer(0, n)) for n in low)


def convolution(*ranks: int, transposed: bool = False) -> Any:
    """Weights for x as images of as many axes as one of these, and how the window moves: every third time such as are
    taken for Winograd's algorithm, at open heights and widths too, for which channels have to be several."""
    def make(g: Growth, x: str) -> Any:
        axes = g.ndim(x) - 2
        g.need(axes in ranks and not g.is_open(x, 1) and (not transposed or all(g.shape(x)[2:])))
        channels = g.shape(x)[1]
        if axes == 2 and g.integer(0, 2) == 0:
            many = g.choose([5, 8, 16, 24])
            w = g.input_for(x, lambda shape: (channels, many, 3, 3) if transposed else (many, channels, 3, 3))
            padding = g.integer(0, 1) if transposed else sides(g, (3, 3), 4)
            return (x, w), {"stride": 1, "groups": 1, "dilation": 1, "padding": padding,
                            **({"output_padding": 0} if transposed else {})}
        groups = g.choose([k for k in (1, 1, 1, 2, 3, 4, channels) if channels and channels % k == 0])
        kernel = [(1, 1, 1), (3, 3, 3), (2, 3, 3), (2, 5, 5), (3, 1, 4), (1, 7, 2)][g.integer(0, 5)][-axes:]
        each = g.choose([1, 2, 3, 8])
        w = g.input_for(x, lambda shape: (channels, each, *kernel) if transposed else
                        (groups * each, channels // groups, *kernel))
        moves = {"stride": g.choose([1, 1, 2, 3, (1, 2, 1)[-axes:], (2, 1, 3)[-axes:]]), "groups": groups,
                 "dilation": g.choose([1, 1, 1, 2, (2, 1, 2)[-axes:], (1, 3, 1)[-axes:]])}
        if transposed:
            return (x, w), {**moves, "padding": g.integer(0, min(2, min(kernel) // 2)),
                            "output_padding": g.integer(0, min(each_of(moves["stride"], axes)) - 1)}
        return (x, w), {**moves, "padding": sides(g, tuple(max(n, 2) for n in kernel), 4)}
    return make


def pooling(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) == 4)
    size = g.choose([(2, 2), (2, 2), (3, 3), (3, 2), (1, 2)])
    return (x,), {"size": size, "stride": g.choose([None, 1, 2, (2, 1), (3, 2)]), "padding": sides(g, size)}


def each_of(n: Any, axes: int) -> tuple[int, ...]:
    """A number for every axis, or one for each."""
    return (n,) * axes if isinstance(n, int) else n


def slid(x: Array, size: tuple[int, ...], stride: Any, padding: Any, dilation: Any = 1, fill: float = 0) -> Array:
    """The windows of padded images: (N, C, OH, OW, KH, KW), or with other axes."""
    axes = len(size)
    around = [each_of(p, 2) for p in each_of(padding, axes)]
    x = np.pad(x, ((0, 0), (0, 0), *around), constant_values=fill)
    dilation = each_of(dilation, axes)
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    steps = [slice(None, None, n) for n in (*each_of(stride, axes), *dilation)]
    return np.lib.stride_tricks.sliding_window_view(x, reach, range(2, 2 + axes))[:, :, *steps]


def convolved(x: Array, w: Array, stride: Any, padding: Any, dilation: Any, groups: int) -> Array:
    """A convolution of as many axes as the weights have."""
    axes = w.ndim - 2
    v = slid(x, w.shape[2:], stride, padding, dilation)
    v = v.reshape(len(v), groups, -1, *v.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, -1, *w.shape[2:])
    o, k = "dhw"[-axes:], "ijk"[-axes:]
    y = np.einsum(f"ngc{o}{k},gzc{k}->ngz{o}", v, w, optimize=True)
    return y.reshape(len(y), -1, *y.shape[3:])


def spread(x: Array, w: Array, stride: Any, padding: int, output_padding: int, dilation: Any, groups: int) -> Array:
    """The transpose of a convolution: one of x with zeros between its elements, by the kernel turned round."""
    axes = w.ndim - 2
    stride, dilation = each_of(stride, axes), each_of(dilation, axes)
    wide = np.zeros((*x.shape[:2], *((n - 1) * s + 1 for n, s in zip(x.shape[2:], stride))), x.dtype)
    wide[:, :, *(slice(None, None, s) for s in stride)] = x
    turned = np.flip(w, range(2, w.ndim)).reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
    reach = [d * (k - 1) - padding for d, k in zip(dilation, w.shape[2:])]
    around = [(n, n + output_padding) for n in reach]
    cut = [slice(max(0, -n), s - max(0, -m)) for (n, m), s in zip(around, wide.shape[2:])]
    return convolved(wide[:, :, *cut], turned.reshape(-1, *turned.shape[2:]), 1,
                     tuple((max(0, n), max(0, m)) for n, m in around), dilation, groups)


def max_pool2d(x: Array, size: Any, stride: Any, padding: Any) -> Array:
    return slid(x, size, size if stride is None else stride, padding, fill=-np.inf).max((4, 5))


def avg_pool2d(x: Array, size: Any, stride: Any, padding: Any) -> Array:
    return slid(x, size, size if stride is None else stride, padding).mean((4, 5))
