"""Keras's layers of attention."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.errors import ShapeError
from stele.interop.keras.call import Call, Kind, Kinds, kept, named
from stele.interop.keras.model import Variable
from stele.interop.keras.options import Options
from stele.nn import functional as F


def projected(c: Call, name: str, x: Any) -> Any:
    """x (N, T, F) as heads (N, H, T, D)."""
    kernel, bias = c[f"{name}/kernel"], c[f"{name}/bias"]
    y = st.einsum("ntf,fhd->nhtd", x, kernel)
    return y if bias is None else y + bias[:, None]


def chosen(scores: Any, mask: Any) -> Any:
    """The shares of scores among those that count."""
    return st.softmax(scores if mask is None else st.where(mask, scores, -1e9 if scores.dtype != "float16" else -3e4))


def both(a: Any, b: Any) -> Any:
    """What counts by either mask, where there is one."""
    return b if a is None else a if b is None else a & b


def causal(rows: Any, columns: Any) -> Any:
    """Which places see which: those before them, and themselves."""
    return st.arange(rows)[:, None] >= st.arange(columns)


def close(rows: Any, columns: Any, width: int) -> Any:
    """Which places see which: those that are less than a width away."""
    return st.abs(st.arange(rows)[:, None] - st.arange(columns)) < width


def heads(c: Call, query: Any, value: Any, key: Any = None, query_mask: Any = None, value_mask: Any = None,
          key_mask: Any = None, attention_mask: Any = None, return_attention_scores: bool = False,
          use_causal_mask: bool = False) -> Any:
    """Attention of several heads, of which some may share keys and values; over all axes between the batch and the
    features.
    """
    given = [*c.masks, None, None, None]
    masks = [own if own is not None else found for own, found in zip((query_mask, value_mask, key_mask), given)]
    shape, key, axes = query.shape, value if key is None else key, c.options.get("attention_axes")
    if axes is not None and len(axes) != query.ndim - 2:
        raise ShapeError(f"{c.options.source} attends over axes {axes}, got {tuple(query.shape)}")
    query, value, key = (x.reshape((x.shape[0], -1, x.shape[-1])) if x.ndim != 3 else x for x in (query, value, key))
    q, k, v = (projected(c, name, x) for name, x in (("query", query), ("key", key), ("value", value)))
    mask = attention_mask.astype("bool") if attention_mask is not None else None
    mask = both(mask, None if masks[0] is None else masks[0][:, :, None])
    for one in masks[1:]:
        mask = both(mask, None if one is None else one[:, None, :])
    mask = both(mask, causal(query.shape[1], value.shape[1]) if use_causal_mask else None)
    near = None if c.options.get("sliding_window") is None else c.options.whole("sliding_window")
    mask = both(mask, None if near is None else close(query.shape[1], value.shape[1], near))
    mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    k, v = (st.repeat(one, q.shape[1] // one.shape[1], axis=1) if one.shape[1] < q.shape[1] else one for one in (k, v))
    shares, dropped = chosen(q @ st.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5, mask), c.options.number("dropout", 0.0)
    if mask is not None and (dropped or return_attention_scores or len(shape) != 3):
        shares = st.where(mask, shares, 0.0)    # what sees nothing is zero there, and else the mean of all
    found = F.dropout(shares, dropped, c.run.training) @ v
    found = found * st.sigmoid(projected(c, "gate", query)) if c.options.flag("use_gate") else found
    kernel, bias = c["attention_output/kernel"], c["attention_output/bias"]
    wide = st.swapaxes(found, 1, 2).reshape((*query.shape[:2], -1)) @ kernel.reshape((-1, *kernel.shape[2:]))
    y = (wide if bias is None else wide + bias).reshape((*shape[:-1], kernel.shape[-1]))
    return (y, shares) if return_attention_scores else y


def lacks(options: Options) -> str | None:
    """Options of several heads for which there is no rule, in words."""
    shape = options.get("output_shape")
    axes = options.get("attention_axes")
    if axes not in (None, [1], [1, 2], [1, 2, 3]):
        return f"attention_axes={axes!r:.40}"
    return f"output_shape={shape!r:.40}" if isinstance(shape, list) and len(shape) != 1 else None


def attention(c: Call, xs: list[Any], mask: Any = None, return_attention_scores: bool = False,
              use_causal_mask: bool = False) -> Any:
    """Attention without projections, by products or by sums."""
    q, v, k = (*xs, xs[1])[:3]
    query_mask, value_mask, *_ = [*(c.masks if mask is None else mask), None, None]
    inside = both(None if value_mask is None else value_mask[:, None, :],
                  causal(q.shape[1], v.shape[1]) if use_causal_mask else None)
    shares = chosen(scores(c, q, k), inside)
    y = F.dropout(shares, c.options.number("dropout", 0.0), c.run.training) @ v
    y = y if query_mask is None else st.where(query_mask[..., None], y, 0.0)
    return (y, shares) if return_attention_scores else y


def scores(c: Call, q: Any, k: Any) -> Any:
    """How well queries and keys fit, (N, T, S)."""
    scale = c["scale"]
    if c.layer.kind == "Attention" and c.options.word("score_mode", ("dot", "concat"), "dot") == "dot":
        y = q @ st.swapaxes(k, -1, -2)
        return y if scale is None else y * scale
    sums = q[:, :, None] + k[:, None]
    if c.layer.kind == "AdditiveAttention":
        return st.sum(st.tanh(sums) if scale is None else scale * st.tanh(sums), axis=-1)
    return c["concat_score_weight"] * st.sum(st.tanh(sums if scale is None else scale * sums), axis=-1)


def projections(before: str = "") -> tuple[Variable, ...]:
    """The variables of all projections, which lie under names with something before them; a gate always has that."""
    return tuple(v for name, place, option in (
        ("query", f"{before}query", ""), ("key", f"{before}key", ""), ("gate", "_gate", "use_gate=True"),
        ("value", f"{before}value", ""), ("attention_output", f"{before}output", ""))
        for v in named(f"kernel:{option} bias:use_bias,{option}", f"{place}_dense", f"{name}/"))


KINDS: Kinds = {
    "MultiHeadAttention": Kind(heads, projections(), mask=kept, lacks=lacks),
    "GroupQueryAttention": Kind(heads, projections("_"), mask=kept),
    "Attention": Kind(attention, named("scale:use_scale concat_score_weight:score_mode=concat"), mask=kept),
    "AdditiveAttention": Kind(attention, named("scale:use_scale"), mask=kept),
}
