"""Convolutions over one, two and three axes, forward and transposed, and products with weights."""
from __future__ import annotations

from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import same, show
from stele.ops import functional
from stele.ops.contraction import Pair, matmul
from stele.ops.convolution import Padding, Single, Triple, convolved, transposed
from stele.ops.einsum import einsum
from stele.ops.linear import expand_dims, reshape


def conv1d(input: Value, weight: Value, bias: Value | None = None, stride: int | Single = 1,
           padding: int | Single | Padding | str = 0, dilation: int | Single = 1, groups: int = 1) -> Value:
    """The cross-correlation of signals (N, C, L) or (C, L) with a `weight` (O, C/groups, K), plus a `bias` (O,).

    `stride`, `padding`, `dilation`, `groups` and errors are as in `conv2d`, for one axis. Raises ShapeError where
    channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for another word as
    padding.

    >>> F.conv1d(st.tensor([[1.0, 2.0, 4.0]]), st.tensor([[[-1.0, 1.0]]]), st.tensor([0.5])).tolist()
    [[1.5, 2.5]]
    """
    return batched(convolved, 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Value, weight: Value, bias: Value | None = None, stride: int | Pair = 1,
           padding: int | Pair | Padding | str = 0, dilation: int | Pair = 1, groups: int = 1) -> Value:
    """The cross-correlation of images (N, C, H, W) or (C, H, W) with a `weight` (O, C/groups, KH, KW), plus a `bias`.

    As `st.conv2d`: `stride` and `dilation` are a number, or one per axis; `padding` with zeros too, or
    ((top, bottom), (left, right)), "valid", or "same" (of stride 1). With `groups`, each group of C/groups channels
    makes O/groups. Raises ShapeError where channels do not fit or the kernel is larger than the padded image, and
    DTypeError for other dtypes than floats.

    >>> F.conv2d(st.ones((1, 4, 4)), st.ones((1, 1, 3, 3)), padding="same")[0, 0].tolist()
    [4.0, 6.0, 6.0, 4.0]
    """
    return batched(convolved, 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Value, weight: Value, bias: Value | None = None, stride: int | Triple = 1,
           padding: int | Triple | Padding | str = 0, dilation: int | Triple = 1, groups: int = 1) -> Value:
    """The cross-correlation of volumes (N, C, D, H, W) or (C, D, H, W) with a `weight` (O, C/groups, KD, KH, KW).

    A `bias` (O,) is added; `stride`, `padding`, `dilation`, `groups` and errors are as in `conv2d`, for three axes.
    Raises ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError
    for another word as padding.

    >>> F.conv3d(st.ones((1, 2, 3, 4, 5)), st.ones((6, 2, 3, 3, 3)), padding=(0, 1, 1)).shape
    (1, 6, 1, 4, 5)
    """
    return batched(convolved, 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input: Value, weight: Value, bias: Value | None = None, stride: int | Single = 1,
                     padding: int | Single | Padding = 0, output_padding: int | Single = 0, groups: int = 1,
                     dilation: int | Single = 1) -> Value:
    """The transpose of `conv1d`, signals (N, C, L) or (C, L) with a `weight` (C, O/groups, K), plus a `bias` (O,).

    `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in `conv_transpose2d`. Raises
    ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for
    another word as padding.

    >>> F.conv_transpose1d(st.tensor([[1.0, 2.0]]), st.tensor([[[1.0, 10.0]]]), stride=2).tolist()
    [[1.0, 10.0, 2.0, 20.0]]
    """
    return batched(transposed, 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input: Value, weight: Value, bias: Value | None = None, stride: int | Pair = 1,
                     padding: int | Pair | Padding = 0, output_padding: int | Pair = 0, groups: int = 1,
                     dilation: int | Pair = 1) -> Value:
    """The transpose of `conv2d`, images (N, C, H, W) or (C, H, W) with a `weight` (C, O/groups, KH, KW), plus a `bias`.

    As `st.conv_transpose2d`: OH = (H - 1) * `stride` - 2 * `padding` + `dilation` * (KH - 1) + `output_padding` + 1,
    all of them a number or one per axis. With `groups`, each group of C/groups channels makes O/groups. Raises
    ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats.

    >>> F.conv_transpose2d(st.ones((1, 2, 2)), st.ones((1, 1, 2, 2)))[0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    return batched(transposed, 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input: Value, weight: Value, bias: Value | None = None, stride: int | Triple = 1,
                     padding: int | Triple | Padding = 0, output_padding: int | Triple = 0, groups: int = 1,
                     dilation: int | Triple = 1) -> Value:
    """The transpose of `conv3d`, volumes (N, C, D, H, W) or (C, D, H, W) with a `weight` (C, O/groups, KD, KH, KW).

    A `bias` (O,) is added; `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in
    `conv_transpose2d`, for three axes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> F.conv_transpose3d(st.ones((1, 2, 3, 4, 4)), st.ones((2, 5, 3, 3, 3)), stride=2, padding=1).shape
    (1, 5, 5, 7, 7)
    """
    return batched(transposed, 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def batched(f: Any, axes: int, x: Value, weight: Value, bias: Value | None, *how: Any) -> Value:
    """A convolution of a batch, or of one example, plus a bias for each channel."""
    is_one = x.ndim == axes + 1
    y = f(axes, expand_dims(x, (0,)) if is_one else x, weight, *how)
    y = y if bias is None else y + reshape(bias, (-1, *(1,) * axes))
    return reshape(y, y.shape[1:]) if is_one else y


def linear(input: Value, weight: Value, bias: Value | None = None) -> Value:
    """The affine map x @ weight.T + bias of the last axis: (..., inputs) -> (..., outputs).

    `weight` is (outputs, inputs) and `bias` (outputs,), or a row (inputs,) and a number. Dtypes meet as in `multiply`.
    Raises ShapeError for another last axis.

    >>> F.linear(st.tensor([1.0, 2.0]), st.tensor([[1.0, 1.0], [0.0, 3.0]]), st.ones(2)).tolist()
    [4.0, 7.0]
    """
    if weight.ndim == 1:
        y = matmul(input, weight)
        return y if bias is None else y + bias
    return functional.linear(input, weight, bias)


def bilinear(input1: Value, input2: Value, weight: Value, bias: Value | None = None) -> Value:
    """The sum over i and j of a[i] * weight[o, i, j] * b[j], plus bias[o], of last axes: (..., outputs).

    `input1` (..., I) holds a, `input2` (..., J) b; `weight` is (outputs, I, J) and `bias` (outputs,). Dtypes meet as in
    `multiply`. Raises ShapeError where they do not fit.

    >>> F.bilinear(st.tensor([1.0, 2.0]), st.tensor([3.0]), st.ones((1, 2, 1))).tolist()
    [9.0]
    """
    if weight.ndim != 3 or not input1.ndim or input1.ndim != input2.ndim or not all(map(
            same, (*input1.shape, input2.shape[-1]), (*input2.shape[:-1], *weight.shape[1:]))):
        raise ShapeError(f"bilinear needs (..., I), (..., J) and a weight (outputs, I, J), got {show(input1.shape)}, "
                         f"{show(input2.shape)} and {show(weight.shape)}")
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias
