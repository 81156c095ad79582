"""Rows of tables by their numbers, alone and in bags."""
from __future__ import annotations

import math
from typing import Any

from stele.arrays import functions as F
from stele.arrays.checked import checked
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.eager.handle import TRACING
from stele.errors import DTypeError, OptionError, ShapeError, TraceError
from stele.ir.door import public
from stele.ir.graph import Value
from stele.ir.types import bool_, int64
from stele.ops import functional
from stele.ops.arguments import choice, whole
from stele.ops.elementwise.arithmetic import Maximum, Minimum
from stele.ops.elementwise.binary import equal, not_equal, where
from stele.ops.elementwise.unary import stop_gradient
from stele.ops.gather import Gather, ScatterAdd
from stele.ops.generate import iota, quantity
from stele.ops.linear import cast, expand_dims, full, reshape
from stele.ops.norms import vector_norm
from stele.ops.scattering import segment_max, segment_sum
from stele.ops.sorting import searchsorted
from stele.ops.statistics import max, sum


def rows(weight: Value, input: Value, *, padding_idx: int | None = None, scale_grad_by_freq: bool = False) -> Value:
    """The rows of a table, without a derivative for one of them, or with that over how often each is asked for."""
    y = Gather(0)(weight, input)
    at = (-1,)
    if scale_grad_by_freq:
        i = reshape(cast(input, int64), (-1,))
        times = ScatterAdd(0, weight.shape[0])(full(i.shape, 1.0, weight.dtype), i)
        still = stop_gradient(y)
        y = still + (y - still) / expand_dims(Gather(0)(times, input), at)
    if padding_idx is not None:
        y = where(expand_dims(equal(input, padding_idx), at), stop_gradient(y), y)
    return y


def shortened(weight: Value, input: Value, *, max_norm: float, norm_type: float) -> Value:
    """The table with those of its rows that are asked for no longer than they may be."""
    i = reshape(cast(input, int64), (-1,))
    asked = ScatterAdd(0, weight.shape[0])(full(i.shape, 1.0, weight.dtype), i) > 0
    size = vector_norm(weight, ord=norm_type, axis=1)
    factor = where(asked & (size > max_norm), max_norm / (size + 1e-7), 1.0)
    return weight * expand_dims(factor, (1,))


def bags(weight: Value, input: Value, offsets: Value | None, per_sample_weights: Value | None, *, mode: str,
         include_last_offset: bool, padding_idx: int | None, scale_grad_by_freq: bool) -> Value:
    """The rows of a table summed up, averaged or compared, bag by bag."""
    y = rows(weight, input, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    y = y if per_sample_weights is None else y * expand_dims(per_sample_weights, (-1,))
    is_row = full(input.shape, True, bool_) if padding_idx is None else not_equal(input, padding_idx)
    counts = cast(is_row, weight.dtype)
    nothing = -math.inf if mode == "max" else 0.0
    y = where(expand_dims(is_row, (-1,)), y, nothing)
    if offsets is None:
        total, many = (max if mode == "max" and input.shape[1] != 0 else sum)(y, axis=1), sum(counts, axis=1)
    else:
        count = offsets.shape[0] - include_last_offset
        found = searchsorted(offsets, cast(iota(input.shape[0]), offsets.dtype), side="right") - 1
        bag = Minimum()(found, quantity(count - 1))
        total = (segment_max if mode == "max" else segment_sum)(y, bag, count)
        many = segment_sum(counts, bag, count)
    many = expand_dims(many, (-1,))
    if mode == "mean":
        return total / Maximum()(many, 1)
    return where(many > 0, total, 0.0) if mode == "max" else total


taken, kept_short, bagged = lift(rows), lift(shortened), lift(bags)


@checked
def embedding(input: TensorLike, weight: TensorLike, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of a table `weight` (rows, width) at integers of any shape: input.shape + (width,).

    The row `padding_idx` has no derivative. With `max_norm` rows that are asked for and whose `norm_type`-norm is
    larger are first shortened to it, in the table itself. With `scale_grad_by_freq` the derivative of a row is divided
    by how often it is asked for. `sparse` changes nothing: in a compiled step SGD without momentum, Adagrad and
    SparseAdam touch only rows that occur, if the gradient is forgotten behind the step (optimizer.zero_grad()); a
    gradient that is there between steps is dense. Raises DTypeError for other than integers and, when run,
    IndexOutOfRange for a row that there is not.

    >>> F.embedding(st.tensor([2, 0]), st.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])).tolist()
    [[2.0, 2.5], [0.0, 0.5]]
    """
    index, table = looked_up("embedding", input, weight)
    if max_norm is not None:
        table.assign(kept_short(table.detach(), index, max_norm=max_norm, norm_type=norm_type))
    return taken(table, index, padding_idx=place("embedding", padding_idx, table),
                 scale_grad_by_freq=scale_grad_by_freq)


def looked_up(name: str, input: Any, weight: Any) -> tuple[Tensor, Tensor]:
    """Indices and the table they are of."""
    index, table = constant(input), constant(weight)
    if table.ndim != 2:
        raise ShapeError(f"{name} needs a weight (rows, width), got {table.shape}")
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{name} takes integers, the numbers of rows, got {index.value.type}",
                         hint="The indices come first, then the table." if table.dtype.kind in "iu" else
                              "Write input.astype('int64').")
    return index, table


def place(name: str, padding_idx: int | None, table: Tensor) -> int | None:
    """The row that stands for padding, counted from the first."""
    if padding_idx is None:
        return None
    n = table.shape[0]
    k = whole(padding_idx, f"padding_idx of {name}", *((-n, n - 1) if type(n) is int else ()))
    return k + n if k < 0 else k


@checked
def embedding_bag(input: TensorLike, weight: TensorLike, offsets: TensorLike | None = None,
                  max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                  mode: str = "mean", sparse: bool = False, per_sample_weights: TensorLike | None = None,
                  include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sums, means or maxima (`mode`) of rows of a table `weight` (rows, width), bag by bag: (bags, width).

    The input holds integers (bags, n), or all of them in a row with `offsets`, where each bag begins, and, with
    `include_last_offset`, where the last one ends. With mode "sum" each row is multiplied by its `per_sample_weights`,
    in the shape of the input. A row `padding_idx` is in no bag; an empty bag is zeros. `max_norm`, `norm_type`,
    `scale_grad_by_freq`, `sparse` and errors are as in `embedding`. Raises ShapeError for other shapes, DTypeError for
    other rows than integers, OptionError for another mode.

    >>> table = st.tensor([[1.0], [2.0], [4.0]])
    >>> F.embedding_bag(st.tensor([0, 1, 2]), table, st.tensor([0, 2]), mode="sum").tolist()
    [[3.0], [4.0]]
    """
    index, table = looked_up("embedding_bag", input, weight)
    choice(mode, "mode of embedding_bag", ("mean", "sum", "max"))
    if index.ndim != (2 if offsets is None else 1) or (offsets is not None and constant(offsets).ndim != 1):
        raise ShapeError(f"embedding_bag needs integers (bags, n), or a row of them with offsets, got {index.shape}"
                         + (" and offsets" if offsets is not None else ""))
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise OptionError(f"{'sparse' if sparse else 'scale_grad_by_freq'} of embedding_bag is for mode 'mean' and "
                          "'sum', not 'max'")
    if per_sample_weights is not None and mode != "sum":
        raise OptionError(f"per_sample_weights of embedding_bag are for mode 'sum', not {mode!r}")
    if max_norm is not None:
        table.assign(kept_short(table.detach(), index, max_norm=max_norm, norm_type=norm_type))
    return bagged(table, index, offsets, per_sample_weights, mode=mode, include_last_offset=include_last_offset,
                  padding_idx=place("embedding_bag", padding_idx, table), scale_grad_by_freq=scale_grad_by_freq)


encoded = lift(functional.one_hot)


@checked
@public
def one_hot(tensor: TensorLike, num_classes: int = -1) -> Tensor:
    """The labels of a `tensor` as rows of 0 with a 1 at the label, int64: tensor.shape + (num_classes,).

    Without `num_classes` there are as many as the largest label says, which only numbers that are there can say: inside
    of a compiled function TraceError asks for it. Raises DTypeError for other than integers and, when run,
    IndexOutOfRange for a label that is no class.

    >>> F.one_hot(st.tensor([2, 0])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    labels = constant(tensor)
    if num_classes == -1:
        if TRACING.get() is not None:
            raise TraceError("one_hot needs num_classes where the labels have no numbers yet",
                             hint="Write F.one_hot(labels, num_classes=10).")
        num_classes = int(F.max(labels)) + 1 if labels.size and not labels.dtype.is_float else 0
    return encoded(labels, classes=whole(num_classes, "num_classes of one_hot", 0), dtype="int64")
