"""Convolutions as users call them: over one, two and three axes, forward and transposed."""
from __future__ import annotations

from typing import Any

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import same, show
from stele.ops.contraction import KIN, Pair, is_empty
from stele.ops.linear import pad_axis

Single = tuple[int]
Triple = tuple[int, int, int]
Padding = tuple[Pair, ...]
Each = int | tuple[int, ...]


def each(n: Each, axes: int) -> tuple[int, ...]:
    """A number for all axes, or one for each."""
    return (n,) * axes if isinstance(n, int) else tuple(n)


def pads(padding: Each | Padding | str, kernel: tuple[Dim, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
         ) -> Padding:
    """Padding as (before, behind) of each axis: from a number, one per axis, or 'valid' and 'same' (stride 1)."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if isinstance(padding, str):
        if padding != "same" or set(stride) != {1}:
            raise ShapeError(f"padding must be a number, one per axis, 'valid', or 'same' with stride 1; got "
                             f"{padding!r} with stride {stride}")
        reach = [d * (int(k) - 1) for k, d in zip(kernel, dilation)]
        return tuple((n // 2, n - n // 2) for n in reach)
    sides: Any = each(padding, len(kernel))  # type: ignore[arg-type]
    return tuple(each(side, 2) for side in sides)  # type: ignore[return-value]


def convolved(axes: int, x: Value, w: Value, stride: Each, padding: Each | Padding | str, dilation: Each,
              groups: int) -> Value:
    """The cross-correlation of x with w over the last so many axes."""
    needs_floats(f"conv{axes}d", x, w)
    stride, dilation = each(stride, axes), each(dilation, axes)
    return KIN[axes][0](stride, pads(padding, w.shape[2:], stride, dilation), dilation, groups)(x, w)


def transposed(axes: int, x: Value, w: Value, stride: Each, padding: Each | Padding, output_padding: Each, groups: int,
               dilation: Each) -> Value:
    """The transpose in x of `convolved`, which makes sizes of which that could have made those of x."""
    name, letters = f"conv_transpose{axes}d", "DHW"[3 - axes:] if axes > 1 else "L"
    needs_floats(name, x, w)
    if x.ndim != axes + 2 or w.ndim != axes + 2:
        raise ShapeError(f"{name} needs x as (N, C, {', '.join(letters)}) and w as (C, O/groups, "
                         f"{', '.join(f'K{a}' for a in letters)}), got {show(x.shape)} and {show(w.shape)}")
    if not same(x.shape[1], w.shape[0]) or groups < 1 or x.shape[1] % groups != 0:
        raise ShapeError(f"{name} needs x.shape[1] == w.shape[0], which its groups divide, got {show(x.shape)} and "
                         f"{show(w.shape)} with groups={groups}", hint="w is (C, O/groups, ...): C comes first.")
    stride, dilation, more = each(stride, axes), each(dilation, axes), each(output_padding, axes)
    sides = pads(padding, w.shape[2:], stride, dilation)
    if min(*stride, *dilation) < 1 or not all(0 <= m < max(s, d) for m, s, d in zip(more, stride, dilation)):
        raise ShapeError(f"{name} needs a stride and a dilation of 1 or more and an output_padding below one of them, "
                         f"got stride={stride}, dilation={dilation} and output_padding={more}")
    size = [(n - 1) * s - lo - hi + d * (k - 1) + m + 1
            for n, k, s, (lo, hi), m, d in zip(x.shape[2:], w.shape[2:], stride, sides, more, dilation)]
    if any(map(is_empty, x.shape[2:])):
        raise ShapeError(f"{name} of {show(x.shape)}: what has no elements on an axis is the convolution of nothing",
                         hint="An image needs one pixel or more; a batch may be empty.")
    if any(map(is_empty, size)):
        raise ShapeError(f"{name} of {show(x.shape)} by {show(w.shape)} leaves nothing within padding={sides}",
                         hint="Use less padding.")
    extra = [m // s * s for m, s in zip(more, stride)]      # beyond what the strides leave open
    short = [max(0, e - hi) for e, (_, hi) in zip(extra, sides)]
    sides = tuple((lo, max(0, hi - e)) for e, (lo, hi) in zip(extra, sides))
    y = KIN[axes][1](stride, sides, dilation, groups, tuple(n - e for n, e in zip(size, short)))(x, w)
    for k, n in enumerate(short):
        y = pad_axis(y, 2 + k, 0, n)
    return y


def needs_floats(name: str, x: Value, w: Value) -> None:
    """Raises DTypeError for other operands than floats."""
    if not x.dtype.is_float or not w.dtype.is_float:
        raise DTypeError(f"{name} needs float operands, got {x.dtype} and {w.dtype}",
                         hint="Convert with .astype('float32').")


def conv1d(x: Value, w: Value, *, stride: int | Single = 1, padding: int | Single | Padding | str = 0,
           dilation: int | Single = 1, groups: int = 1) -> Value:
    """The cross-correlation of signals x (N, C, L) with kernels `w` (O, C/groups, K): (N, O, OL).

    OL = (L + before + behind - `dilation` * (K - 1) - 1) // `stride` + 1; the rest is as in `conv2d`: `padding`, in
    ((before, behind),) too, `groups`, dtypes and errors. Raises ShapeError where channels do not fit or nothing is
    left, DTypeError for other dtypes than floats, OptionError for another word as padding.

    >>> x = st.tensor([[[1.0, 2.0, 4.0, 8.0]]])
    >>> st.conv1d(x, st.tensor([[[-1.0, 1.0]]])).tolist()
    [[[1.0, 2.0, 4.0]]]
    >>> st.conv1d(x, st.ones((2, 1, 3)), stride=2, padding=1).shape
    (1, 2, 2)
    """
    return convolved(1, x, w, stride, padding, dilation, groups)


def conv2d(x: Value, w: Value, *, stride: int | Pair = 1, padding: int | Pair | Padding | str = 0,
           dilation: int | Pair = 1, groups: int = 1) -> Value:
    """The cross-correlation of images x (N, C, H, W) with kernels `w` (O, C/groups, KH, KW): (N, O, OH, OW).

    OH = (H + top + bottom - `dilation` * (KH - 1) - 1) // `stride` + 1, and so OW. stride and dilation are a number, or
    one per axis; `padding` with zeros too, or ((top, bottom), (left, right)), "valid", or "same" (of stride 1). With
    `groups`, each group of C/groups channels makes O/groups. Sums are in float32 at least. Raises ShapeError where
    channels do not fit or the kernel is larger than the padded image, and DTypeError for other dtypes than floats.

    >>> x, w = st.ones((1, 1, 4, 4)), st.ones((1, 1, 3, 3))
    >>> st.conv2d(x, w, padding="same")[0, 0].tolist()
    [[4.0, 6.0, 6.0, 4.0], [6.0, 9.0, 9.0, 6.0], [6.0, 9.0, 9.0, 6.0], [4.0, 6.0, 6.0, 4.0]]
    >>> st.conv2d(x, w, stride=2, padding=(1, 0)).shape
    (1, 1, 2, 1)
    """
    return convolved(2, x, w, stride, padding, dilation, groups)


def conv3d(x: Value, w: Value, *, stride: int | Triple = 1, padding: int | Triple | Padding | str = 0,
           dilation: int | Triple = 1, groups: int = 1) -> Value:
    """The cross-correlation of volumes x (N, C, D, H, W) with kernels `w` (O, C/groups, KD, KH, KW).

    It is (N, O, OD, OH, OW). `stride`, `padding`, `dilation` and `groups` are as in `conv2d`, for three axes, and so
    are dtypes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats,
    OptionError for another word as padding.

    >>> x, w = st.ones((1, 2, 3, 4, 5)), st.ones((6, 2, 3, 3, 3))
    >>> st.conv3d(x, w, padding=(0, 1, 1)).shape, float(st.conv3d(x, w).max())
    ((1, 6, 1, 4, 5), 54.0)
    """
    return convolved(3, x, w, stride, padding, dilation, groups)


def conv_transpose1d(x: Value, w: Value, *, stride: int | Single = 1, padding: int | Single | Padding = 0,
                     output_padding: int | Single = 0, groups: int = 1, dilation: int | Single = 1) -> Value:
    """The transpose of `conv1d`, signals x (N, C, L) with kernels `w` (C, O/groups, K): (N, O, OL).

    OL = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1; `stride`, `padding`,
    `output_padding`, `groups`, `dilation` and errors are as in `conv_transpose2d`. Raises ShapeError where channels do
    not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for another word as padding.

    >>> st.conv_transpose1d(st.tensor([[[1.0, 2.0]]]), st.tensor([[[1.0, 10.0, 100.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 102.0, 20.0, 200.0]]]
    """
    return transposed(1, x, w, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(x: Value, w: Value, *, stride: int | Pair = 1, padding: int | Pair | Padding = 0,
                     output_padding: int | Pair = 0, groups: int = 1, dilation: int | Pair = 1) -> Value:
    """The transpose of `conv2d`, images x (N, C, H, W) with kernels `w` (C, O/groups, KH, KW): (N, O, OH, OW).

    Each element of x adds a kernel, times itself, to the result, `stride` apart. `padding` cuts the result at both ends
    of an axis, `output_padding`, which is below the stride or the dilation, makes it longer at the end:
    OH = (H - 1) * stride - 2 * padding + dilation * (KH - 1) + output_padding + 1. All are a number, or one per axis.
    With `groups`, each group of C/groups channels makes O/groups; `dilation` is as in `conv2d`. It is the gradient of
    conv2d in x. Raises ShapeError where channels do not fit or nothing is left, DTypeError for others than floats.

    >>> x, w = st.ones((1, 1, 2, 2)), st.ones((1, 1, 2, 2))
    >>> st.conv_transpose2d(x, w)[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    >>> st.conv_transpose2d(st.ones((1, 3, 8, 8)), st.ones((3, 4, 4, 4)), stride=2, padding=1).shape
    (1, 4, 16, 16)
    """
    return transposed(2, x, w, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(x: Value, w: Value, *, stride: int | Triple = 1, padding: int | Triple | Padding = 0,
                     output_padding: int | Triple = 0, groups: int = 1, dilation: int | Triple = 1) -> Value:
    """The transpose of `conv3d`, volumes x (N, C, D, H, W) with kernels `w` (C, O/groups, KD, KH, KW).

    It is (N, O, OD, OH, OW). `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in
    `conv_transpose2d`, for three axes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> x, w = st.ones((1, 2, 3, 4, 4)), st.ones((2, 5, 3, 3, 3))
    >>> st.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1).shape
    (1, 5, 6, 8, 8)
    """
    return transposed(3, x, w, stride, padding, output_padding, groups, dilation)
