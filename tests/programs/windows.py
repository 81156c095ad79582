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


def system(g: Growth, x: str) -> Any:
    """Square matrices, which the kind makes ones that are far from singular, and right sides for them."""
    a = g.shape(x)
    g.need(len(a) > 1 and a[-1] == a[-2] and g.dtype(x).bits > 16)
    (_, z), _ = product(g, x)
    g.need(g.ndim(z) == 1 or g.shape(z)[-2] == a[-1])
    return (x, z), {}


def dominant(x: Array) -> Array:
    n = x.shape[-1]
    return np.tanh(x) + np.eye(n, dtype=x.dtype) * x.dtype.type(2 * max(n, 1))


def solve(x: Array, z: Array) -> Array:
    """NumPy solves in float64 at most: what is left over is solved for again, which such systems bear."""
    if z.ndim == 1:
        return solve(x, z[:, None])[..., 0]
    a = dominant(x)
    narrow = a.astype(np.float64)
    y = np.linalg.solve(narrow, z.astype(np.float64)).astype(a.dtype)
    for _ in range(2):
        rest = z - a @ y
        y = y + np.linalg.solve(narrow, np.where(np.isfinite(rest), rest, 0).astype(np.float64))
    return y


def sides(g: Growth, kernel: tuple[int, int], most: int = 3) -> Any:
    """Padding as users write it: a number, one for each axis, or for each side; below the window where it must be."""
    low = [min(most, k - 1) for k in kernel]
    match g.integer(0, 3):
        case 0: return 0
        case 1: return g.integer(0, min(low))
        case 2: return tuple(g.integer(0, n) for n in low)
        case _: return tuple((g.integer(0, n), g.integer(0, n)) for n in low)


def convolution(g: Growth, x: str) -> Any:
    """Weights for x as images, and how the window moves."""
    g.need(g.ndim(x) == 4 and not g.is_open(x, 1))
    channels = g.shape(x)[1]
    groups = g.choose([k for k in (1, 1, 1, 2, 3, 4, channels) if channels and channels % k == 0])
    kernel = g.choose([(1, 1), (3, 3), (3, 3), (2, 3), (5, 5), (1, 4), (7, 2)])
    out = groups * g.choose([1, 2, 3, 8])
    w = g.input_for(x, lambda shape: (out, channels // groups, *kernel))
    room = max(kernel[0], 2), max(kernel[1], 2)
    return (x, w), {"stride": g.choose([1, 1, 2, 3, (2, 1), (1, 3)]), "padding": sides(g, room, 4), "groups": groups,
                    "dilation": g.choose([1, 1, 1, 2, (1, 2), (3, 1)])}


def pooling(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) == 4)
    size = g.choose([(2, 2), (2, 2), (3, 3), (3, 2), (1, 2)])
    return (x,), {"size": size, "stride": g.choose([None, 1, 2, (2, 1), (3, 2)]), "padding": sides(g, size)}


def pair(n: Any) -> tuple[int, int]:
    return (n, n) if isinstance(n, int) else n


def pads(p: Any) -> Pads:
    top, left = pair(p)
    return pair(top), pair(left)


def slid(x: Array, size: tuple[int, int], stride: Any, padding: Any, dilation: Any = 1, fill: float = 0) -> Array:
    """The windows of padded images: (N, C, OH, OW, KH, KW)."""
    x = np.pad(x, ((0, 0), (0, 0), *pads(padding)), constant_values=fill)
    (sh, sw), (dh, dw) = pair(stride), pair(dilation)
    reach = ((size[0] - 1) * dh + 1, (size[1] - 1) * dw + 1)
    return np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))[:, :, ::sh, ::sw, ::dh, ::dw]


def conv2d(x: Array, w: Array, stride: Any, padding: Any, dilation: Any, groups: int) -> Array:
    v = slid(x, (w.shape[2], w.shape[3]), stride, padding, dilation)
    n, c, oh, ow, kh, kw = v.shape
    v = v.reshape(n, groups, c // groups, oh, ow, kh, kw)
    w = w.reshape(groups, w.shape[0] // groups, c // groups, kh, kw)
    return np.einsum("ngchwij,gocij->ngohw", v, w, optimize=True).reshape(n, -1, oh, ow)


def max_pool2d(x: Array, size: Any, stride: Any, padding: Any) -> Array:
    return slid(x, size, size if stride is None else stride, padding, fill=-np.inf).max((4, 5))


def avg_pool2d(x: Array, size: Any, stride: Any, padding: Any) -> Array:
    return slid(x, size, size if stride is None else stride, padding).mean((4, 5))
