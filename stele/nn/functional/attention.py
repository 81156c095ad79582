"""Attention: values weighed by how queries and keys fit."""
from __future__ import annotations

import math
from itertools import pairwise
from math import prod
from typing import Any

from stele.arrays.checked import checked
from stele.arrays.creation import arange
from stele.arrays.functions import concatenate
from stele.arrays.opensize import plain
from stele.arrays.random import dropout
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.errors import DTypeError, ShapeError
from stele.higher.checkpoint import checkpoint
from stele.higher.scan import scan
from stele.ir.graph import Value
from stele.ir.sizes import quotient
from stele.ir.types import bool_, float16, float32, int64, number_of, same, show
from stele.ops.arguments import pair
from stele.ops.composite import Softmax
from stele.ops.contraction import matmul
from stele.ops.elementwise.binary import equal, not_equal, where
from stele.ops.generate import Iota
from stele.ops.linear import cast, expand_dims, pad_axis, reshape, slice_axis, swap_last
from stele.ops.random import chance
from stele.ops.shaping import moveaxis
from stele.ops.statistics import any

Ids = tuple[Value, Value] | None
Marks = tuple[Tensor, Tensor] | None
LARGE, AT_A_TIME, LEAST, QUARTERS = 1 << 24, 1 << 22, 16, 4
"""Bytes of one head's weights from which queries take turns; bytes of the weights of those whose turn it is; how many
they are at least; and parts of queries that look back alone, which so look at 5/8 of the keys instead of all."""


def weights(query: Value, key: Value, attn_mask: Value | None, first: Value | None, ids: Ids, *, is_causal: bool,
            scale: float | None, window: Any) -> Value:
    """The softmax of how each query fits each key: (..., L, S); zeros where a query may look at no key. The queries are
    those from the `first` on, and look at keys of the same one of `ids`."""
    if query.dtype == key.dtype == float16:     # products of large numbers pass its largest
        wide = cast(query, float32), cast(key, float32)
        return cast(weights(*wide, attn_mask, first, ids, is_causal=is_causal, scale=scale, window=window), float16)
    by = max(number_of(query.shape[-1]), 1) ** -0.5 if scale is None else scale     # without features all fit alike
    scores = matmul(query, swap_last(key)) * by
    last = scores.ndim - 1
    queries, keys = (Iota(scores.shape[-2:], axis, int64)() for axis in (0, 1))
    if first is not None:
        queries = queries + first
    if is_causal:
        scores = where(queries >= keys, scores, -math.inf)
    if window is not None:
        left, right = pair(window, "window_size of scaled_dot_product_attention")
        scores = where(queries - keys <= left, scores, -math.inf)
        scores = where(keys - queries <= right, scores, -math.inf)
    if ids is not None:
        scores = where(equal(expand_dims(ids[0], (-1,)), expand_dims(ids[1], (-2,))), scores, -math.inf)
    if attn_mask is None and window is None and (ids is None or ids[0] is ids[1]):
        return Softmax(last)(scores)
    if attn_mask is not None:
        scores = where(attn_mask, scores, -math.inf) if attn_mask.dtype == bool_ else \
            scores + cast(attn_mask, scores.dtype)
    is_blind = equal(any(not_equal(scores, -math.inf), axis=-1, keepdims=True), False)       # where there are none, too
    return where(is_blind, 0.0, Softmax(last)(where(is_blind, 0.0, scores)))


def in_groups(x: Value, groups: Value) -> Value:
    """Heads (..., H, L, E) as groups that look at one head of keys each: (..., G, H / G, L, E)."""
    heads, many = x.shape[-3], groups.shape[-3]
    if not same(quotient(heads, many) * many, heads):
        raise ShapeError(f"enable_gqa needs heads of queries that those of keys divide, got {heads} and {many}")
    return reshape(x, (*x.shape[:-3], many, quotient(heads, many), *x.shape[-2:]))


def fits(query: Value, key: Value, value: Value) -> None:
    """Raises ShapeError unless queries, keys and values go together."""
    if min(query.ndim, key.ndim, value.ndim) < 2 or not same(query.shape[-1], key.shape[-1]) \
            or not same(key.shape[-2], value.shape[-2]):
        raise ShapeError("scaled_dot_product_attention needs a query (..., L, E), a key (..., S, E) and a value "
                         f"(..., S, EV), got {show(query.shape)}, {show(key.shape)} and {show(value.shape)}")


def looked(query: Value, key: Value, attn_mask: Value | None, value: Value, first: Value | None = None,
           query_ids: Value | None = None, key_ids: Value | None = None, *, is_causal: bool, scale: float | None,
           enable_gqa: bool, window: Any = None) -> tuple[Value, Value]:
    """The weights, and the values as they are to be multiplied with them."""
    fits(query, key, value)
    ids = None if query_ids is None or key_ids is None else (query_ids, key_ids)
    if not enable_gqa or query.ndim < 3:
        return weights(query, key, attn_mask, first, ids, is_causal=is_causal, scale=scale, window=window), value
    axis = (-3,)
    if ids is not None:
        a, b = (expand_dims(each, (-2,)) if each.ndim > 1 else each for each in ids)
        ids = a, a if ids[0] is ids[1] else b
    mask = attn_mask if attn_mask is None or attn_mask.ndim < 3 else in_groups(attn_mask, key) \
        if not same(attn_mask.shape[-3], 1) else expand_dims(attn_mask, axis)
    p = weights(in_groups(query, key), expand_dims(key, axis), mask, first, ids, is_causal=is_causal, scale=scale,
                window=window)
    return p, expand_dims(value, axis)


def at_a_time(query: Tensor, key: Tensor) -> int | None:
    """How many queries have their weights in memory at a time; None for all of them, where a head's are few."""
    heads, queries, keys = (plain(n) for n in (prod(query.shape[:-2]), query.shape[-2], key.shape[-2]))
    if not all(isinstance(n, int) for n in (heads, queries, keys)) or queries * keys * 4 <= LARGE:
        return None
    steps = -(-queries // (AT_A_TIME // (4 * keys * heads) or 1))
    many = -(-queries // steps)
    return LEAST if many < LEAST else many


def apart(x: Value, many: int) -> Value:
    """Rows (..., L, N) as (steps, ..., many, N), zeros behind the last."""
    steps = -(-x.shape[-2] // many)
    x = pad_axis(x, x.ndim - 2, 0, steps * many - x.shape[-2])
    return moveaxis(reshape(x, (*x.shape[:-2], steps, many, x.shape[-1])), -3, 0)


def joined(x: Value, rows: int) -> Value:
    """What `apart` made of so many rows."""
    x = moveaxis(x, 0, -3)
    return slice_axis(reshape(x, (*x.shape[:-3], -1, x.shape[-1])), x.ndim - 3, 0, rows)


looking, product, cut, together = lift(looked), lift(matmul), lift(apart), lift(joined)


def attended(query: Tensor, key: TensorLike, attn_mask: TensorLike | None, value: TensorLike, marks: Marks,
             dropout_p: float, first: Tensor | None = None, **how: Any) -> Tensor:
    """The weighed values of queries, of which `first` is the first."""
    p, v = looking(query, key, attn_mask, value, first, *(marks or ()), **how)
    return product(dropout(p, dropout_p) if chance(dropout_p) else p, v)


def by_rows(query: Tensor, key: Tensor, attn_mask: TensorLike | None, value: TensorLike, marks: Marks,
            dropout_p: float, many: int, **how: Any) -> Tensor:
    """The same, for so many queries at a time, whose weights gradients compute again. Queries that look back alone come
    in quarters, each with the keys that it may see."""
    mask, v, n = None if attn_mask is None else constant(attn_mask), constant(value), query.shape[-2]
    if not how["is_causal"] or n != key.shape[-2] or n < QUARTERS * many:
        return in_steps(query, key, mask, v, marks, dropout_p, many, 0, **how)
    ends = [n * k // QUARTERS for k in range(QUARTERS + 1)]
    return concatenate([in_steps(
        query[..., a:b, :], key[..., :b, :], seen(mask, a, b), v[..., :b, :],
        None if marks is None else (marks[0][..., a:b], marks[1][..., :b]), dropout_p, many, a, **how)
        for a, b in pairwise(ends)], axis=-2)


def seen(mask: Tensor | None, first: int, end: int) -> Tensor | None:
    """What a mask says of the queries from `first` to `end`, and of the keys up to there."""
    if mask is None or not mask.ndim:
        return mask
    mask = mask if mask.shape[-1] == 1 else mask[..., :end]
    return mask if mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., first:end, :]


def in_steps(query: Tensor, key: Tensor, mask: Tensor | None, value: Tensor, marks: Marks, dropout_p: float,
             many: int, start: int, **how: Any) -> Tensor:
    """The same, of queries of which the first is number `start`."""
    moves = mask is not None and mask.ndim > 1 and mask.shape[-2] != 1
    blocks = cut(query, many)
    steps = {"first": arange(len(blocks)) * many + start, "q": blocks}
    steps |= {"own": cut(mask, many)} if moves else {}
    steps |= {} if marks is None else {"ids": cut(marks[0].unsqueeze(-1), many)}

    @checkpoint
    def part(first: Tensor, q: Tensor, own: Tensor | None = mask, ids: Tensor | None = None) -> Tensor:
        both = None if ids is None or marks is None else (ids.squeeze(-1), marks[1])
        return attended(q, key, own, value, both, dropout_p, first, **how)

    return together(scan(lambda state, x: (state, part(**x)), (), steps)[1], query.shape[-2])


def marked(ids: TensorLike, x: Tensor, what: str) -> Tensor:
    """The segments of queries or keys (N..., L, E), with an axis for each that they have between N and L."""
    made = constant(ids)
    if made.dtype.kind not in "iub":
        raise DTypeError(f"segment_ids are whole numbers, got {made.dtype}", hint="Convert them with .astype('int64').")
    between = x.ndim - 1 - made.ndim
    if made.ndim < 1 or between < 0 or not same(made.shape[-1], x.shape[-2]) \
            or not all(same(n, m) or same(n, 1) for n, m in zip(made.shape[:-1], x.shape)):
        raise ShapeError(f"segment_ids of {what} (N, ..., L, E) are (N, L) or (L,), got {made.shape} for {x.shape}")
    return made.reshape(*made.shape[:-1], *[1] * between, made.shape[-1])


@checked
def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike,
                                 attn_mask: TensorLike | None = None, dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: float | None = None, enable_gqa: bool = False,
                                 window_size: int | tuple[int, int] | None = None,
                                 segment_ids: TensorLike | tuple[TensorLike, TensorLike] | None = None) -> Tensor:
    """The values weighed by softmax(`query` @ key.T * scale): (..., L, EV) (Vaswani et al., 2017).

    `query` is (..., L, E), `key` (..., S, E) and `value` (..., S, EV), whose outer axes broadcast; `scale` is
    1 / sqrt(E) without one. `attn_mask`, which broadcasts to (..., L, S), says where to look (bools), or is added to
    what goes into the softmax; a query that may look nowhere gets zeros. With `is_causal` query i looks at keys 0 to i,
    with a `window_size` (left, right) at keys i - left to i + right; one number is both.
    `segment_ids` (N, L) or (L,), whole numbers, let a query look at keys of its own segment alone: sequences that stand
    one behind the other, whose mask never lies in memory; a pair of them is those of queries and those of keys.
    Weights are dropped with the probability `dropout_p` as by `dropout`. With `enable_gqa` several heads of queries,
    neighbours on axis -3, look at one head of keys and values. Compiled, the weights of 16 MiB or more lie in memory
    one head at a time in each thread, and gradients compute them again; where those of one head are more, for some
    queries at a time. Raises ShapeError where they do not fit.

    >>> q, k, v = st.ones((1, 2)), st.tensor([[1.0, 0.0], [0.0, 1.0]]), st.tensor([[2.0], [4.0]])
    >>> F.scaled_dot_product_attention(q, k, v).tolist()
    [[3.0]]
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).tolist()
    [[2.0]]
    >>> F.scaled_dot_product_attention(k, k, v, segment_ids=[3, 7]).tolist()
    [[2.0], [4.0]]
    """
    q, k = constant(query), constant(key)
    how: Any = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa, "window": window_size}
    many = at_a_time(q, k) if min(q.ndim, k.ndim) > 1 else None
    marks = None
    if segment_ids is not None:
        ids: Any = segment_ids if isinstance(segment_ids, tuple) else (segment_ids, segment_ids)
        own = marked(ids[0], q, "queries")
        alike = ids[0] is ids[1] and k.ndim > 1 and same(q.shape[-2], k.shape[-2])
        marks = own, own if alike else marked(ids[1], k, "keys")
    y = attended(q, k, attn_mask, value, marks, dropout_p, **how) if many is None else \
        by_rows(q, k, attn_mask, value, marks, dropout_p, many, **how)
    return y.reshape(*q.shape[:-1], y.shape[-1]) if enable_gqa and q.ndim > 2 else y
