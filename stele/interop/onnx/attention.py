"""ONNX Runtime's attention of heads side by side, of its domain com.microsoft."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.onnx.runtime import DOMAIN, biased, only, to_float
from stele.interop.onnx.values import Call, Rules, number
from stele.ir.types import below
from stele.nn import functional as F

OTHERS = "k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens"
"""Inputs of GroupQueryAttention behind those that there are."""


def heads(x: Any, n: int) -> Any:
    """Features (B, L, n h) by heads, (B, n, L, h)."""
    return x if x.ndim == 4 else st.permute_dims(x.reshape((*x.shape[:2], n, -1)), (0, 2, 1, 3))


def joined(x: Any) -> Any:
    """Heads (B, n, L, h) side by side, (B, L, n h)."""
    y = st.permute_dims(x, (0, 2, 1, 3))
    return y.reshape((*y.shape[:2], y.shape[2] * y.shape[3]))


def masked(c: Call, mask: Any, batch: Any, length: Any) -> Any:
    """What is added to scores (B, n, L, T) for a mask: of keys, of pairs, or where keys of each row end and begin."""
    if mask.ndim == 1:
        places = st.arange(length)
        ends, begins = mask[:batch].reshape((-1, 1)), mask[batch:].reshape((-1, 1))
        mask = places < ends if mask.shape[0] != 2 * batch else (places < ends) & (places >= begins)
    if mask.ndim > 3:
        raise DataError(f"{c.node.op} has a mask of up to 3 axes, got {mask.shape}")
    wide = mask.reshape((mask.shape[0], *[1] * (4 - mask.ndim), *mask.shape[1:]))
    return st.where(wide > 0, 0.0, c.get("mask_filter_value", -10000.0))


def attended(c: Call, q: Any, k: Any, v: Any, more: Any, causal: bool, before: Any = None, window: int = -1,
             sink: Any = None) -> Any:
    """Heads of queries by those of keys and values, of which there may be fewer. Causal queries see what is up to them,
    from a window on; they stand behind as many keys as were before, in all or (B, 1, 1, 1). A sink is a score more of
    each head (n,) that takes its part and gives nothing."""
    scale, cap = c.get("scale") or q.shape[-1] ** -0.5, c.get("softcap")
    is_written = cap or sink is not None
    if causal and (is_written or before is not None):
        behind = st.arange(q.shape[2]).reshape((-1, 1)) + (0 if before is None else before) - st.arange(k.shape[2])
        seen = (behind >= 0) & (behind < window) if window > 0 else behind >= 0
        more, causal, window = seen if more is None else st.where(seen, more, -st.inf), False, -1
    if not is_written:
        return F.scaled_dot_product_attention(q, k, v, more, 0.0, causal, scale, q.shape[1] != k.shape[1],
                                              (window - 1, 0) if window > 0 else None)
    k, v = (st.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    scores = q.astype("float32") @ st.matrix_transpose(k).astype("float32") * scale
    scores = cap * st.tanh(scores / cap) if cap else scores
    scores = scores if more is None else st.where(more, scores, -st.inf) if more.dtype == "bool" else scores + more
    if sink is None:
        return st.softmax(scores, -1).astype(v.dtype) @ v
    last = st.broadcast_to(sink.astype("float32").reshape((-1, 1, 1)), (*scores.shape[:-1], 1))
    return st.softmax(st.concatenate([scores, last], axis=-1), -1)[..., :-1].astype(v.dtype) @ v


def attention(c: Call, x: Any, w: Any, bias: Any = None, mask: Any = None, past: Any = None, more: Any = None,
              past_sequence_length: Any = None) -> Any:
    """Attention of x to itself, whose queries, keys and values are one product."""
    only(c, "do_rotary", "past_present_share_buffer", past_sequence_length=past_sequence_length)
    return of_product(c, biased(x @ w, bias), mask, past, more)


def quantised_attention(c: Call, x: Any, w: Any, bias: Any, x_scale: Any, w_scale: Any, mask: Any = None,
                        x_zero: Any = None, w_zero: Any = None, past: Any = None) -> Any:
    """The same of quantised numbers."""
    only(c, "do_rotary", "past_present_share_buffer")
    return of_product(c, to_float(c, x, w, x_scale, w_scale, x_zero, w_zero, bias), mask, past, None)


def of_product(c: Call, y: Any, mask: Any, past: Any, more: Any) -> Any:
    """Attention by queries, keys and values side by side, behind those of before."""
    sizes = c.get("qkv_hidden_sizes") or [y.shape[-1] // 3] * 3
    q, k, v = (heads(part, c.get("num_heads")) for part in st.split(y, [*sizes], axis=-1))
    y, k, v = behind(c, q, k, v, mask, more, *((None, None) if past is None else past))
    return (y, st.stack([k, v])) if c.wants(1) else y


def behind(c: Call, q: Any, k: Any, v: Any, mask: Any, more: Any, past_k: Any, past_v: Any) -> tuple[Any, Any, Any]:
    """Attention of heads to keys and values, and to those of before, and what all of these are."""
    before = None if past_k is None else past_k.shape[2]
    if past_k is not None:
        k, v = st.concatenate([past_k, k], axis=2), st.concatenate([past_v, v], axis=2)
    if mask is not None:
        more = biased(masked(c, mask, q.shape[0], k.shape[2]), more)
    return joined(attended(c, q, k, v, more, bool(c.get("unidirectional")), before)), k, v


def many_heads(c: Call, q: Any, k: Any = None, v: Any = None, bias: Any = None, mask: Any = None, more: Any = None,
               past_k: Any = None, past_v: Any = None, past_sequence_length: Any = None,
               cache_indirection: Any = None) -> Any:
    """Attention of queries to keys and values, apart or packed in one array."""
    only(c, past_sequence_length=past_sequence_length, cache_indirection=cache_indirection,
         output_qk=c.wants(3) or None)
    if q.ndim == 5:             # (B, S, n, 3, h)
        q, k, v = (q[:, :, :, j].reshape((*q.shape[:2], -1)) for j in range(3))
    elif k.ndim == 5:
        k, v = (k[:, :, :, j].reshape((*k.shape[:2], -1)) for j in range(2))
    if bias is not None:
        size = q.shape[-1]
        q = q + bias[:size]
        k, v = (x if x.ndim == 4 else x + b for x, b in ((k, bias[size:2 * size]), (v, bias[2 * size:])))
    q, k, v = (heads(x, c.get("num_heads")) for x in (q, k, v))
    return behind(c, q, k, v, mask, more, past_k, past_v)[:max(c.count, 1)]


def turned(x: Any, cos: Any, sin: Any, pairs: bool) -> Any:
    """Heads (B, n, L, h) whose first parts are turned by angles (B or 1, L, r / 2)."""
    half = cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    part, rest = x[..., :2 * half], x[..., 2 * half:]
    a, b = (part[..., ::2], part[..., 1::2]) if pairs else (part[..., :half], part[..., half:])
    made = [a * cos - b * sin, b * cos + a * sin]
    y = st.stack(made, axis=-1).reshape(part.shape) if pairs else st.concatenate(made, axis=-1)
    return st.concatenate([y, rest], axis=-1).astype(x.dtype)


def rotary(c: Call, x: Any, at: Any, cos: Any, sin: Any) -> Any:
    """x with its positions turned in: by places (B, L), or from a first one on."""
    wide = heads(x, c.get("num_heads", 0) or x.shape[-1] // (2 * cos.shape[-1]))
    places = at if at.ndim == 2 else (at.reshape(()) + st.arange(wide.shape[2]))[None]
    y = turned(wide, st.take(cos, places, axis=0), st.take(sin, places, axis=0), bool(c.get("interleaved")))
    return y if x.ndim == 4 else joined(y)


def grouped(c: Call, q: Any, k: Any, v: Any, past_k: Any, past_v: Any, last: Any, total: Any, cos: Any = None,
            sin: Any = None, at: Any = None, more: Any = None, sink: Any = None, *others: Any) -> Any:
    """Attention of heads in groups, each row behind as many keys as were before, of those that there may be."""
    only(c, "qk_output", "sliding_window_cache", "kv_cache_bit_width", **dict(zip(OTHERS, others)))
    n, own, causal = c.get("num_heads"), c.get("kv_num_heads"), bool(c.get("causal", 1))
    if k is None:
        size = q.shape[-1] // (n + 2 * own)
        q, k, v = st.split(q, [n * size, own * size, own * size], axis=-1)
    q, k, v = heads(q, n), heads(k, own), heads(v, own)
    before = st.maximum(last.reshape((-1, 1)) + 1 - q.shape[2], 0)
    if c.get("do_rotary"):
        places = before + st.arange(q.shape[2]) if at is None else at
        angles = st.take(cos, places, axis=0), st.take(sin, places, axis=0)
        q, k = (turned(x, *angles, bool(c.get("rotary_interleaved"))) for x in (q, k))
    before, length = None if past_k is None else before.reshape((-1, 1, 1, 1)), number(total)
    if past_k is not None:
        k, v = (placed(x, new, before, length) for x, new in ((past_k, k), (past_v, v)))
    if not causal:
        seen = st.arange(length) <= last.reshape((-1, 1, 1, 1))
        more = seen if more is None else st.where(seen, more, -st.inf)
    sink = st.zeros(n) if sink is None and c.get("smooth_softmax", -1) > 0 else sink
    y = attended(c, q, k[:, :, :length], v[:, :, :length], more, causal, before, c.get("local_window_size", -1), sink)
    return (joined(y), k, v)[:max(c.count, 1)]


def placed(past: Any, new: Any, before: Any, total: Any) -> Any:
    """Keys (B, n, T, h) of which those of before are past, behind them new ones, and zeros."""
    b, n, length, h = past.shape
    more = [st.zeros((b, n, total - length, h), dtype=past.dtype)] if below(length, total) else []
    wide = st.concatenate([past, *more], axis=2)
    place = st.arange(wide.shape[2]).reshape((-1, 1)) - before
    taken = st.take_along_axis(new, st.clip(place, 0, new.shape[2] - 1), axis=2)
    return st.where(place < 0, wide, st.where(place < new.shape[2], taken, 0.0)).astype(past.dtype)


RULES: Rules = {f"{DOMAIN}:{name}": f for name, f in {
    "Attention": attention, "QAttention": quantised_attention, "MultiHeadAttention": many_heads,
    "GroupQueryAttention": grouped, "RotaryEmbedding": rotary,
}.items()}
