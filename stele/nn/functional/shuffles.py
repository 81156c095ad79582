"""Elements of images moved: padding, blocks between channels and pixels, patches between images and columns."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, quotient
from stele.ir.types import below, product, same, show
from stele.ops import padding
from stele.ops.arguments import each, positive
from stele.ops.linear import pad_axis, reshape, slice_axis, transpose
from stele.ops.windows import Unwindow, Window


def pad(input: Value, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Value:
    """The array with something around it; `pad` has (before, behind) of the last axis, then of the one before it.

    Negative widths cut. `mode` "constant" puts a `value` there, 0 without one; "reflect", "replicate" and "circular"
    what `st.pad` says of them. In the dtype of x and of the value, where they meet. Raises ShapeError for an odd number
    of widths and for more than there are axes.

    >>> F.pad(st.tensor([[1.0, 2.0]]), (1, 0, 0, 1), value=9.0).tolist()
    [[9.0, 1.0, 2.0], [9.0, 9.0, 9.0]]
    >>> F.pad(st.tensor([1.0, 2.0, 3.0]), (2, -1), mode="reflect").tolist()
    [3.0, 2.0, 1.0, 2.0]
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ShapeError(f"pad has (before, behind) of the last axes of {show(input.shape)}, got {tuple(pad)}")
    pairs = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    sides = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    wide = tuple((above(a), above(b)) for a, b in sides)
    if mode == "circular":
        return padding.pad(cut(input, sides), widths=wide, mode=mode)
    return cut(padding.pad(input, widths=wide, value=0.0 if value is None else value, mode=mode), sides)


def above(width: Dim) -> Dim:
    """A width, or 0 where it is negative."""
    return 0 if below(width, 0) else width


def cut(x: Value, widths: Sequence[tuple[Dim, Dim]]) -> Value:
    """x without what negative widths take away."""
    for axis, (low, high) in enumerate(widths):
        low, high = above(-low), above(-high)
        if (low, high) != (0, 0):
            x = slice_axis(x, axis, low, x.shape[axis] - low - high)
    return x


def pixel_shuffle(input: Value, upscale_factor: int) -> Value:
    """Blocks of r * r channels as pixels: (*, C * r**2, H, W) -> (*, C, H * r, W * r) for r = `upscale_factor`.

    Shi et al. (2016). In the dtype of x. Raises ShapeError where r * r does not divide the channels.

    >>> F.pixel_shuffle(st.arange(4.0).reshape(4, 1, 1), 2).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    r = positive(upscale_factor, "upscale_factor of pixel_shuffle")
    if input.ndim < 3 or not same(quotient(input.shape[-3], r * r) * r * r, input.shape[-3]):
        raise ShapeError(f"pixel_shuffle needs (*, C, H, W) with C a multiple of {r * r}, got {show(input.shape)}")
    *outer, c, h, w = input.shape
    n = len(outer)
    parts = reshape(input, (*outer, quotient(c, r * r), r, r, h, w))
    moved = transpose(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(moved, (*outer, quotient(c, r * r), h * r, w * r))


def pixel_unshuffle(input: Value, downscale_factor: int) -> Value:
    """Blocks of r * r pixels as channels, the inverse of `pixel_shuffle`: (*, C, H * r, W * r) -> (*, C * r**2, H, W).

    r is `downscale_factor`. In the dtype of x. Raises ShapeError where it does not divide the last two axes.

    >>> F.pixel_unshuffle(st.arange(4.0).reshape(1, 2, 2), 2).tolist()
    [[[0.0]], [[1.0]], [[2.0]], [[3.0]]]
    """
    r = positive(downscale_factor, "downscale_factor of pixel_unshuffle")
    if input.ndim < 3 or not all(same(quotient(n, r) * r, n) for n in input.shape[-2:]):
        raise ShapeError(f"pixel_unshuffle needs (*, C, H, W) with H and W multiples of {r}, got {show(input.shape)}")
    *outer, c, h, w = input.shape
    n = len(outer)
    parts = reshape(input, (*outer, c, quotient(h, r), r, quotient(w, r), r))
    moved = transpose(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(moved, (*outer, c * r * r, quotient(h, r), quotient(w, r)))


def channel_shuffle(input: Value, groups: int) -> Value:
    """The channels of (N, C, *) in another order: the first of each of the `groups`, the second of each, and so on.

    Zhang et al. (2018). In the dtype of x. Raises ShapeError where groups does not divide C.

    >>> F.channel_shuffle(st.arange(4.0).reshape(1, 4), 2).tolist()
    [[0.0, 2.0, 1.0, 3.0]]
    """
    g = positive(groups, "groups of channel_shuffle")
    if input.ndim < 2 or not same(quotient(input.shape[1], g) * g, input.shape[1]):
        raise ShapeError(f"channel_shuffle needs (N, C, *) with C a multiple of groups={g}, got {show(input.shape)}")
    n, c, *rest = input.shape
    parts = reshape(input, (n, g, quotient(c, g), *rest))
    return reshape(transpose(parts, (0, 2, 1, *range(3, parts.ndim))), input.shape)


def unfold(input: Value, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
           padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Value:
    """The patches of images (N, C, H, W) or (C, H, W) as columns (N, C * KH * KW, patches), row by row (im2col).

    `kernel_size`, `dilation`, `padding` (with zeros) and `stride` are a number, or one per axis. (`st.unfold` is of one
    axis.) In the dtype of x. Raises ShapeError where no patch fits.

    >>> F.unfold(st.arange(4.0).reshape(1, 2, 2), (1, 2)).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
    if input.ndim not in (3, 4):
        raise ShapeError(f"unfold needs images (N, C, H, W) or (C, H, W), got {show(input.shape)}")
    size, apart, sides, step = patches("unfold", kernel_size, dilation, padding, stride)
    x, first = input, input.ndim - 2
    for k in range(2):
        x = Window(first + k, size[k], step[k], apart[k])(pad_axis(x, first + k, sides[k], sides[k]))
    *outer, c, oh, ow, kh, kw = x.shape
    n = len(outer)
    moved = transpose(x, (*range(n + 1), n + 3, n + 4, n + 1, n + 2))
    return reshape(moved, (*outer, c * kh * kw, oh * ow))


def fold(input: Value, output_size: int | Sequence[int], kernel_size: int | Sequence[int],
         dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Value:
    """The transpose of `unfold`: columns (N, C * KH * KW, patches) added up to images (N, C, *output_size).

    `kernel_size`, `dilation`, `padding` and `stride` are as there, `output_size` is (H, W). One example, without N, is
    taken too. In the dtype of x. Raises ShapeError where the columns are not as many.

    >>> F.fold(st.ones((2, 2)), (1, 3), (1, 2)).tolist()
    [[[1.0, 2.0, 1.0]]]
    """
    if input.ndim not in (2, 3):
        raise ShapeError(f"fold needs columns (N, C * KH * KW, patches) or one of them, got {show(input.shape)}")
    size, apart, sides, step = patches("fold", kernel_size, dilation, padding, stride)
    h, w = each(output_size, "output_size of fold", 1)
    full = h + 2 * sides[0], w + 2 * sides[1]
    many = [quotient(n - d * (k - 1) - 1, s) + 1 for n, k, d, s in zip(full, size, apart, step)]
    *outer, rows, columns = input.shape
    block = product(size)
    if not same(columns, product(tuple(many))) or not same(quotient(rows, block) * block, rows):
        raise ShapeError(f"fold to {(h, w)} needs (N, C * {block}, {many[0]} * {many[1]}), got {show(input.shape)}")
    n, c = len(outer), quotient(rows, block)
    x = transpose(reshape(input, (*outer, c, *size, *many)), (*range(n + 1), n + 3, n + 4, n + 1, n + 2))
    x = Unwindow(n + 2, size[1], step[1], apart[1], full[1])(x)
    x = Unwindow(n + 1, size[0], step[0], apart[0], full[0])(x)
    return cut(x, [(0, 0)] * (n + 1) + [(-p, -p) for p in sides])


def patches(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[tuple[int, ...], ...]:
    """What says where patches lie, one entry per axis."""
    return (each(kernel_size, f"kernel_size of {name}", 1), each(dilation, f"dilation of {name}", 1),
            each(padding, f"padding of {name}", 0), each(stride, f"stride of {name}", 1))
