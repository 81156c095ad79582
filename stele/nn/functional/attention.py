"""Attention: values weighed by how queries and keys fit."""
from __future__ import annotations

import math
from typing import Any

from stele.arrays.checked import checked
from stele.arrays.random import dropout
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import quotient
from stele.ir.types import bool_, int64, number_of, same, show
from stele.ops.arguments import pair
from stele.ops.composite import Softmax
from stele.ops.contraction import matmul
from stele.ops.elementwise.binary import equal, where
from stele.ops.generate import Iota
from stele.ops.linear import cast, expand_dims, reshape, swap_last
from stele.ops.random import chance
from stele.ops.statistics import max


def weights(query: Value, key: Value, attn_mask: Value | None, *, is_causal: bool, scale: float | None, window: Any
            ) -> Value:
    """The softmax of how each query fits each key: (..., L, S); zeros where a query may look at no key."""
    by = number_of(query.shape[-1]) ** -0.5 if scale is None else scale
    scores = matmul(query, swap_last(key)) * by
    last = scores.ndim - 1
    queries, keys = (Iota(scores.shape[-2:], axis, int64)() for axis in (0, 1))
    if is_causal:
        scores = where(queries >= keys, scores, -math.inf)
    if window is not None:
        left, right = pair(window, "window_size of scaled_dot_product_attention")
        scores = where(queries - keys <= left, scores, -math.inf)
        scores = where(keys - queries <= right, scores, -math.inf)
    if attn_mask is None and window is None:
        return Softmax(last)(scores)
    if attn_mask is not None:
        scores = where(attn_mask, scores, -math.inf) if attn_mask.dtype == bool_ else \
            scores + cast(attn_mask, scores.dtype)
    is_blind = equal(max(scores, axis=-1, keepdims=True), -math.inf)
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


def looked(query: Value, key: Value, attn_mask: Value | None, value: Value, *, is_causal: bool, scale: float | None,
           enable_gqa: bool, window: Any = None) -> tuple[Value, Value]:
    """The weights, and the values as they are to be multiplied with them."""
    fits(query, key, value)
    if not enable_gqa or query.ndim < 3:
        return weights(query, key, attn_mask, is_causal=is_causal, scale=scale, window=window), value
    axis = (-3,)
    mask = attn_mask if attn_mask is None or attn_mask.ndim < 3 else in_groups(attn_mask, key) \
        if not same(attn_mask.shape[-3], 1) else expand_dims(attn_mask, axis)
    p = weights(in_groups(query, key), expand_dims(key, axis), mask, is_causal=is_causal, scale=scale, window=window)
    return p, expand_dims(value, axis)


looking, product = lift(looked), lift(matmul)


@checked
def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike,
                                 attn_mask: TensorLike | None = None, dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: float | None = None, enable_gqa: bool = False,
                                 window_size: int | tuple[int, int] | None = None) -> Tensor:
    """The values weighed by softmax(`query` @ key.T * scale): (..., L, EV) (Vaswani et al., 2017).

    `query` is (..., L, E), `key` (..., S, E) and `value` (..., S, EV), whose outer axes broadcast; `scale` is
    1 / sqrt(E) without one. `attn_mask`, which broadcasts to (..., L, S), says where to look (bools), or is added to
    what goes into the softmax; a query that may look nowhere gets zeros. With `is_causal` query i looks at keys 0 to i,
    with a `window_size` (left, right) at keys i - left to i + right; one number is both.
    Weights are dropped with the probability `dropout_p` as by `dropout`. With `enable_gqa` several heads of queries,
    neighbours on axis -3, look at one head of keys and values. Compiled, the weights of 16 MiB or more lie in memory
    one head at a time in each thread, and gradients compute them again. Raises ShapeError where they do not fit.

    >>> q, k, v = st.ones((1, 2)), st.tensor([[1.0, 0.0], [0.0, 1.0]]), st.tensor([[2.0], [4.0]])
    >>> F.scaled_dot_product_attention(q, k, v).tolist()
    [[3.0]]
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).tolist()
    [[2.0]]
    """
    q = constant(query)
    p, v = looking(q, key, attn_mask, value, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
                   window=window_size)
    y = product(dropout(p, dropout_p) if chance(dropout_p) else p, v)
    return y.reshape(*q.shape[:-1], y.shape[-1]) if enable_gqa and q.ndim > 2 else y
