"""Connectionist temporal classification: sequences of labels without their alignment."""
from __future__ import annotations

from typing import Any

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Value, literal
from stele.ir.sizes import Dim
from stele.ir.types import MOST_BYTES, int64, show
from stele.ops.along import take_along
from stele.ops.arguments import Reduction, whole, wholes
from stele.ops.control import scan
from stele.ops.cumulative import cumulative_sum
from stele.ops.elementwise.arithmetic import Maximum, Minimum
from stele.ops.elementwise.binary import equal, not_equal, where
from stele.ops.elementwise.unary import exp, log, stop_gradient
from stele.ops.functional import reduced
from stele.ops.gather import Gather
from stele.ops.generate import iota, quantity
from stele.ops.linear import broadcast, cast, expand_dims, full, pad_axis, reshape, slice_axis
from stele.ops.statistics import max, sum, widened

NEVER = -1e30       # the logarithm of what cannot be, with which differences stay numbers


def ctc_loss(log_probs: Value, targets: Value, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: Reduction = "mean", zero_infinity: bool = False) -> Value:
    """The negative log-probability of sequences of labels, over all their alignments (Graves et al., 2006).

    `log_probs` are (T, N, C), what `log_softmax` gives, of T steps; `targets` (N, S) hold the labels, or all of them
    one behind the other, (sum of lengths,). Of example n the first `input_lengths[n]` steps and `target_lengths[n]`
    labels count; both are tensors or sequences of numbers. `blank` is the class between labels. One example, without N,
    is taken too. `reduction` "mean" divides each loss by its number of labels and takes the mean, "sum" and "none" are
    the others. A sequence that its steps cannot hold has an infinite loss, or 0 with `zero_infinity`; no steps hold no
    labels. The gradient is that of the scores which a log_softmax made the probabilities of (PyTorch's rule): after one
    it is the same. Of floats. Raises ShapeError for other shapes, IndexOutOfRange for a length of more than there is.

    >>> x = st.log(st.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]))
    >>> st.exp(-F.ctc_loss(x, st.tensor([[1]]), [2], [1]))
    tensor(0.75)
    """
    is_one = log_probs.ndim == 2
    x = expand_dims(log_probs, (1,)) if is_one else log_probs
    if x.ndim != 3 or targets.ndim not in (1, 2) or x.shape[0] == 0:
        raise ShapeError("ctc_loss needs log_probs (T, N, C) and targets (N, S), or all labels in a row, got "
                         f"{show(log_probs.shape)} and {show(targets.shape)}")
    steps = lengths(input_lengths, x.shape[1], x.shape[0])
    many = lengths(target_lengths, x.shape[1], targets.shape[-1])
    labels = in_rows(targets, many, target_lengths, is_one)
    loss = -likelihoods(normal(widened(x)), labels, steps, many, whole(blank, "blank of ctc_loss", 0))
    impossible = loss > -NEVER / 2
    loss = where(impossible, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        loss = loss / cast(Maximum()(many, 1), loss.dtype)
    return cast(reduced(reshape(loss, ()) if is_one else loss, reduction), x.dtype)


def lengths(n: Any, examples: Dim, most: Dim) -> Value:
    """How long each example is, at most so long."""
    found = n if isinstance(n, Value) else literal(np.asarray(wholes(n, "every length", 0, MOST_BYTES), np.int64))
    return looked_up(broadcast(reshape(cast(found, int64), (-1,)), (examples,)), most)


def looked_up(n: Value, most: Dim) -> Value:
    """Whole numbers from 0 to `most`: looked up, so that no other passes."""
    return Gather(0)(iota(most + 1), n)


def in_rows(targets: Value, many: Value, given: Any, is_one: bool) -> Value:
    """The labels of each example as a row, as long as the longest; what stands behind its end is of no meaning."""
    labels = cast(targets, int64)
    if targets.ndim == 2:
        return labels
    if is_one:
        return expand_dims(labels, (0,))
    longest = targets.shape[0] if isinstance(given, Value) else int(np.max(given, initial=0))
    start = looked_up(cumulative_sum(many, axis=0), targets.shape[0]) - many
    at = expand_dims(start, (1,)) + expand_dims(iota(longest), (0,))
    if targets.shape[0] == 0:
        return full((many.shape[0], longest), 0, int64)
    return Gather(0)(labels, Minimum()(at, quantity(targets.shape[0] - 1)))


def normal(x: Value) -> Value:
    """x, with the derivative of scores whose softmax it is the logarithm of: what sums to 1 has no derivative."""
    total = sum(exp(x), axis=-1, keepdims=True)
    return x - (total - stop_gradient(total))


def likelihoods(x: Value, labels: Value, steps: Value, many: Value, blank: int) -> Value:
    """The log-probability of each row of labels: the forward variables of all states (blank, label, blank, ...)."""
    n, s = labels.shape
    states = 2 * s + 1
    k = expand_dims(iota(states), (0,))
    is_label, place = equal(k % 2, 1), k // 2
    if s == 0:
        state = full((n, 1), blank, int64)
    else:
        inside = is_label & (place < expand_dims(many, (1,)))
        behind = take_along(labels, broadcast(Minimum()(place, quantity(s - 1)), (n, states)), 1)
        state = where(inside, behind, blank)
    emitted = take_along(x, broadcast(expand_dims(state, (0,)), (x.shape[0], n, states)), 2)
    before = shifted(state, 2, -1)
    skips = not_equal(state, blank) & not_equal(state, before) & (k >= 2)
    first = Maximum()(where(k <= 1, reshape(slice_axis(emitted, 0, 0, 1), (n, states)), NEVER), NEVER)

    def step(carries: tuple[Value, ...], now: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        alpha, (own, t) = carries[0], now
        others = [alpha, shifted(alpha, 1, NEVER), where(skips, shifted(alpha, 2, NEVER), NEVER)]
        best = stop_gradient(Maximum()(Maximum()(others[0], others[1]), others[2]))
        total = log(exp(others[0] - best) + exp(others[1] - best) + exp(others[2] - best)) + best
        new = Maximum()(total + own, NEVER)
        return [where(expand_dims(t < steps, (1,)), new, alpha)], []

    rest = x.shape[0] - 1
    (alpha,), _ = scan(step, [first], [slice_axis(emitted, 0, 1, rest), iota(rest) + 1])
    ends = equal(k, expand_dims(many * 2, (1,))) | equal(k, expand_dims(many * 2 - 1, (1,)))
    last = where(ends, alpha, NEVER)
    top = stop_gradient(max(last, axis=1, keepdims=True))
    found = log(sum(exp(last - top), axis=1)) + reshape(top, (n,))
    return where(steps > 0, found, where(equal(many, 0), *(literal(x, found.dtype) for x in (0.0, NEVER))))


def shifted(x: Value, by: int, fill: float) -> Value:
    """The states so many places before, and a number where there is none."""
    n = x.shape[1]
    moved = slice_axis(pad_axis(x, 1, by, 0), 1, 0, n)
    return where(expand_dims(iota(n), (0,)) >= by, moved, fill)
