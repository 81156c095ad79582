"""PyTorch's products, convolutions, distances, attention and Fourier transforms."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
FORWARD, BACKWARD = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")


def addmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * (a @ b); with beta 0 x does not count."""
    return added(x, a @ b, beta, alpha)


def addbmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """The same with the sum of the products of many matrices."""
    return added(x, st.einsum("bnm,bmp->np", a, b), beta, alpha)


def added(x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """beta * x + alpha * y."""
    y = y if alpha == 1 else y * alpha
    return st.broadcast_to(y, tuple(y.shape)) if beta == 0 else y + (x if beta == 1 else x * beta)


def convolution(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, more: Any,
                groups: int) -> Any:
    """The convolution over all axes behind the channels, or its transpose."""
    n = w.ndim - 2
    if n not in CONVOLUTIONS:
        raise DataError(f"convolutions go over 1 to 3 axes, not {n}")
    stride, padding, dilation, more = (of_all(a, n) for a in (stride, padding, dilation, more))
    if transposed:
        return TRANSPOSED[n](x, w, bias, stride, padding, more, groups, dilation)
    return CONVOLUTIONS[n](x, w, bias, stride, padding, dilation, groups)


def of_all(x: Any, n: int) -> Any:
    """One option for each axis."""
    return x if isinstance(x, str) else tuple(x) * n if len(x) == 1 else tuple(x)


def layer(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution as layers say it."""
    return convolution(x, w, bias, stride, padding, dilation, False, [0], groups)


def transposed_layer(x: Any, w: Any, bias: Any, stride: Any, padding: Any, more: Any, groups: int, dilation: Any
                     ) -> Any:
    """A transposed convolution as layers say it."""
    return convolution(x, w, bias, stride, padding, dilation, True, more, groups)


def convolution_gradient(g: Any, x: Any, w: Any, sizes: Any, stride: Any, padding: Any, dilation: Any,
                         transposed: bool, more: Any, groups: int, wanted: Sequence[bool]) -> Any:
    """The gradients of a convolution's input, weight and bias, of those that are wanted."""
    _, pull = st.vjp(lambda x, w: convolution(x, w, None, stride, padding, dilation, transposed, more, groups), x, w)
    dx, dw = pull(g)
    bias = st.sum(g, axis=(0, *range(2, g.ndim))) if wanted[2] else None
    return dx if wanted[0] else None, dw if wanted[1] else None, bias


def distances(x: Any, z: Any, p: float, *_: Any) -> Any:
    """The p-norms of all differences between rows of x and of z."""
    return st.norm(x[..., :, None, :] - z[..., None, :, :], p=p, axis=-1)


def trilinear(x: Any, y: Any, z: Any, x_lacks: Any, y_lacks: Any, z_lacks: Any, summed: Any, _: int = 1) -> Any:
    """The product of three arrays, each without some of the axes that it repeats over, summed over axes."""
    axes = ascii_letters[:x.ndim + len(x_lacks)]

    def but(lacks: Any) -> str:
        return "".join(a for k, a in enumerate(axes) if k not in lacks)

    return st.einsum(f"{but(x_lacks)},{but(y_lacks)},{but(z_lacks)}->{but(summed)}", x, y, z)


def linear(x: Any, w: Any, bias: Any = None) -> Any:
    """x @ w.T, plus a bias."""
    return F.linear(x, w, bias) if w.ndim > 1 else x @ w if bias is None else x @ w + bias


def attention(q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, scale: Any, grouped: bool) -> Any:
    """Means of values by how well queries and keys agree."""
    return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale, grouped)


def real_to_complex(x: Any, dims: Sequence[int], how: int, onesided: bool) -> Any:
    """The Fourier transform of real numbers: half of it, or all."""
    norm = FORWARD[how]
    return st.fft.rfftn(x, axes=tuple(dims), norm=norm) if onesided else st.fft.fftn(x, axes=tuple(dims), norm=norm)


def complex_to_real(x: Any, dims: Sequence[int], how: int, last: Any) -> Any:
    """The inverse of the Fourier transform of real numbers, of which the last axis has so many."""
    sizes = [*(x.shape[k] for k in dims[:-1]), last]
    return st.fft.irfftn(x, s=tuple(sizes), axes=tuple(dims), norm=BACKWARD[how])


def complex_to_complex(x: Any, dims: Sequence[int], how: int, forward: bool) -> Any:
    """The Fourier transform, or its inverse."""
    f, norm = (st.fft.fftn, FORWARD[how]) if forward else (st.fft.ifftn, BACKWARD[how])
    return f(x, axes=tuple(dims), norm=norm)


def grouped(x: Any, w: Any, ends: Any = None, bias: Any = None, dtype: Any = None) -> Any:
    """Products of rows with the matrix of their group, of which each ends at a row: zeros behind the last one."""
    if ends is None or bias is not None or (x.ndim, w.ndim) != (2, 3):
        raise DataError("grouped products are of rows (M, K) with matrices (G, K, N) here, without a bias")
    groups, k, n = w.shape
    of = st.searchsorted(ends, st.arange(x.shape[0], dtype=ends.dtype), "right")
    apart = st.where((of[:, None] == st.arange(groups))[..., None], x[:, None], 0)
    y = apart.reshape((-1, groups * k)) @ w.reshape((groups * k, n))
    return y if dtype is None else y.astype(dtype)


RULES: Rules = {
    "_grouped_mm": grouped, "transformers::grouped_mm_fallback": grouped,
    "mm bmm matmul mv dot": lambda x, z: x @ z, "addmm baddbmm": addmm, "addbmm": addbmm, "linear": linear,
    "convolution": convolution, "convolution_backward": convolution_gradient,
    "conv1d conv2d conv3d conv1d.padding conv2d.padding conv3d.padding": layer,
    "conv_transpose1d conv_transpose2d.input conv_transpose3d.input": transposed_layer,
    "scaled_dot_product_attention": attention, "_cdist_forward": distances,
    "_trilinear": trilinear,
    "_pdist_forward": lambda x, p: F.pdist(x, p),
    "_fft_r2c": real_to_complex, "_fft_c2r": complex_to_real, "_fft_c2c": complex_to_complex,
}
