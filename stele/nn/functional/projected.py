"""The cross-entropy of many classes from the features that make their logits, which are never all in memory."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Placed, Value, literal
from stele.ir.origin import inherit
from stele.ir.sizes import Dim, ceil
from stele.ir.types import Type, float32, int64, same, show
from stele.nn.functional.classes import cross_entropy
from stele.nn.functional.convolution import linear
from stele.ops.arguments import Reduction, number
from stele.ops.composite import Composite, LogSumExp
from stele.ops.contraction import matmul
from stele.ops.control import scan
from stele.ops.elementwise.arithmetic import Minimum
from stele.ops.elementwise.binary import not_equal, where
from stele.ops.elementwise.unary import exp
from stele.ops.functional import labelled, reduced
from stele.ops.gather import Gather
from stele.ops.generate import iota, quantity
from stele.ops.linear import Slice, along, cast, expand_dims, reshape, swap_last, zeros_like
from stele.ops.statistics import mean, sum

LOGITS, LEAST = 1 << 22, 64
"""Logits that are in memory at a time, unless they are those of fewer rows than these."""


class LogSumExpOfLinear(Composite):
    """log(sum(exp(w @ x + b))) over the classes, for each row x: (N, D), (C, D) and (C,) make (N,).

    Logits are there for some rows at a time, in a loop. The derivative computes them again instead of keeping them.
    """

    def type(self, *x: Type) -> Type:
        rows, w, b = x
        if rows.ndim != 2 or w.ndim != 2 or b.ndim != 1 or not same(rows.shape[1], w.shape[1]) \
                or not same(w.shape[0], b.shape[0]):
            raise ShapeError(f"{self.name} takes (N, D), (C, D) and (C,), got {', '.join(show(t.shape) for t in x)}")
        return rows.with_shape(rows.shape[:1])

    def reference(self, *x: Array) -> Array:
        z: Array = x[0] @ x[1].T + x[2]
        top: Array = z.max(axis=1, initial=-np.inf)
        top = np.where(np.isfinite(top), top, np.zeros_like(top))
        return np.log(np.exp(z - top[:, None]).sum(axis=1)) + top

    def expand(self, *x: Value) -> Value:
        rows, w, b = x
        if (many := at_a_time(rows.shape[0], w.shape[0])) is None:
            return LogSumExp((1,))(logits(rows, w, b))

        def step(carries: Any, _: Any) -> Any:
            at, _ = places(carries[0], many, rows.shape[0])
            found = LogSumExp((1,))(logits(Gather(0)(rows, at), w, b))
            return (following(carries[0], many, rows.shape[0], found),), (found,)

        with inherit(rows.where):       # a rewrite has none for the inside of a loop
            _, (y,) = scan(step, (literal(0, int64),), (), length=ceil(rows.shape[0], many))
        return joined(y, rows.shape[0])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        rows, w, b = x

        def back(rows: Value, g: Value, y: Value) -> tuple[Value, Value, Value]:
            share = exp(logits(rows, w, b) - expand_dims(y, (1,))) * expand_dims(g, (1,))
            return matmul(share, w), matmul(swap_last(share), rows), sum(share, axis=0)

        if (many := at_a_time(rows.shape[0], w.shape[0])) is None:
            return back(rows, g, y)

        def step(carries: Any, _: Any) -> Any:
            first, dw, db = carries
            at, is_row = places(first, many, rows.shape[0])
            own, more, here = back(Gather(0)(rows, at), where(is_row, Gather(0)(g, at), 0.0), Gather(0)(y, at))
            dw, db = dw + more, db + here
            return (following(first, many, rows.shape[0], own, dw, db), dw, db), (own,)

        start = literal(0, int64), zeros_like(w), zeros_like(b)
        (_, dw, db), (own,) = scan(step, start, (), length=ceil(rows.shape[0], many))
        return joined(own, rows.shape[0]), dw, db

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        rows, (w, _), (b, has_own) = along(x[0], n), x[1], x[2]
        return LogSumExp((2,))(matmul(rows, swap_last(w)) + (expand_dims(b, (1,)) if has_own else b))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 4)), Type(float32, (5, 4)), Type(float32, (5,)))),


def logits(x: Value, w: Value, b: Value) -> Value:
    return matmul(x, swap_last(w)) + b


def at_a_time(rows: Dim, classes: Dim) -> int | None:
    """How many of the rows have their logits in memory at a time; None for all."""
    many = max(LEAST, LOGITS // max(classes, 1)) if isinstance(classes, int) else LEAST
    if not isinstance(rows, int):
        return many
    return None if rows <= many else -(-rows // -(-rows // many))


def places(first: Value, many: int, rows: Dim) -> tuple[Value, Value]:
    """The numbers of so many rows from the first on, the last row again behind it, and which of them are rows."""
    at = first + iota(many)
    return Minimum()(at, quantity(rows - 1)), at < quantity(rows)


def following(first: Value, many: int, rows: Dim, *made: Value) -> Value:
    """The first row of the next step: `first` + many, whichever way a number of what this step has made goes.

    So the next step needs all that this one makes, and its products are made in the loop: of steps that are free of
    each other the compiler makes one product, of all rows.
    """
    ends = ceil(rows, many) * many
    for v in made:
        number = sum(Slice((0,) * v.ndim, (1,) * v.ndim, (1,) * v.ndim)(v))
        first = where(number < 0, first, Minimum()(first, quantity(ends)))
    return first + many


def joined(x: Value, rows: Dim) -> Value:
    """The rows of all chunks, without what fills up the last."""
    whole = reshape(x, (-1, *x.shape[2:]))
    return Slice((0,) * whole.ndim, (rows, *whole.shape[1:]), (1,) * whole.ndim)(whole)


def linear_cross_entropy(input: Value, linear_weight: Value, target: Value, *, linear_bias: Value | None = None,
                         weight: Value | None = None, reduction: Reduction = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0) -> Value:
    """The `cross_entropy` of `linear(input, linear_weight, linear_bias)` and a target, without all logits in memory.

    `input` is (N, D) or (D,), `linear_weight` (C, D), `linear_bias` (C,) and `target` holds labels, (N,) or ().
    The logits, (N, C), are computed for some rows at a time, and again for the gradient; with classes by the ten
    thousands that is most of the memory of a step. `weight`, `reduction`, `ignore_index` (None is -100) and
    `label_smoothing` are those of `cross_entropy`. A linear_weight (C, ..., D), with a target (N, ...), and targets
    that are probabilities, which are as many as logits, go by all logits. In the dtype of the input. Raises ShapeError
    for other shapes, DTypeError for labels that are no integers and, when run, IndexOutOfRange for a label that is no
    class.

    >>> x, w = st.tensor([[2.0, 0.0], [0.0, 2.0]]), st.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> F.linear_cross_entropy(x, w, st.tensor([0, 2])), F.cross_entropy(x @ w.T, st.tensor([0, 2]))
    (tensor(0.2395448), tensor(0.2395448))
    """
    ignored, w, x = -100 if ignore_index is None else ignore_index, linear_weight, input
    if x.ndim not in (1, 2) or w.ndim < 2 or not same(x.shape[-1], w.shape[-1]) or (w.ndim > 2 and x.ndim < 2):
        raise ShapeError("linear_cross_entropy needs an input (N, D) or (D,) and a linear_weight (C, D), or (C, ..., "
                         f"D) with an input (N, D), got {show(x.shape)} and {show(w.shape)}")
    if w.ndim > 2 or target.dtype.is_float:
        flat = linear(x, reshape(w, (-1, w.shape[-1])), None if linear_bias is None else reshape(linear_bias, (-1,)))
        z = reshape(flat, (*x.shape[:-1], *w.shape[:-1]))
        return cross_entropy(z, target, weight, ignored, reduction, label_smoothing)
    if target.ndim != x.ndim - 1 or not all(same(a, b) for a, b in zip(target.shape, x.shape)):
        raise ShapeError("linear_cross_entropy needs a label for each row of the input, got "
                         f"{show(x.shape)} and {show(target.shape)}")
    if x.ndim == 1:
        loss = linear_cross_entropy(reshape(x, (1, -1)), w, reshape(target, (1,)), linear_bias=linear_bias,
                                    weight=weight, ignore_index=ignore_index, label_smoothing=label_smoothing,
                                    reduction=reduction)
        return reshape(loss, ()) if reduction == "none" else loss
    b = zeros_like(Slice((0, 0), (w.shape[0], 1), (1, 1))(w)) if linear_bias is None else linear_bias
    return of_labels(x, w, reshape(b, (-1,)), target, weight, reduction, ignored,
                     number(label_smoothing, "label_smoothing", 0, 1))


def of_labels(x: Value, w: Value, b: Value, target: Value, weight: Value | None, reduction: str, ignored: int,
              smoothing: float) -> Value:
    """The loss of labels: log(sum(exp(z))) less the label's logit, which alone is computed besides; z = w @ x + b."""
    kept = not_equal(cast(target, int64), ignored)
    labels = labelled(where(kept, target, zeros_like(target)), w.shape[0])
    lse = LogSumExpOfLinear()(x, w, b)
    loss = lse - (sum(x * Gather(0)(w, labels), axis=1) + Gather(0)(b, labels))
    shares = cast(kept, loss.dtype)
    if weight is not None:
        shares = shares * Gather(0)(weight, labels)
        loss = loss * Gather(0)(weight, labels)
    if smoothing:       # the mean of all logits is linear in x as they are
        even = w if weight is None else w * expand_dims(weight, (1,))
        own, mass = (b, 1.0) if weight is None else (b * weight, mean(weight))
        loss = loss * (1 - smoothing) + smoothing * (lse * mass - (matmul(x, mean(even, axis=0)) + mean(own)))
    loss = where(kept, loss, 0.0)
    return sum(loss) / sum(shares) if reduction == "mean" else reduced(loss, reduction)
