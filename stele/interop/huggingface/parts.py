"""What these models share: activations by their names, and attention with or without what came before."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import stele as st
from stele import Tensor, nn
from stele.errors import ShapeError
from stele.nn import functional as F


def gelu_by_tanh(x: Tensor) -> Tensor:
    """The approximation of gelu that GPT-2 was trained with."""
    return st.gelu(x, approximate="tanh")


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu":              st.gelu,
    "gelu_new":          gelu_by_tanh,
    "gelu_fast":         gelu_by_tanh,
    "gelu_pytorch_tanh": gelu_by_tanh,
    "relu":              st.relu,
    "silu":              st.silu,
    "swish":             st.silu,
    "tanh":              st.tanh,
}


def texts(ids: Tensor) -> Tensor:
    """Tokens (N, L) as they are. Raises ShapeError for those of other axes."""
    if ids.ndim != 2:
        raise ShapeError(f"a model takes tokens (N, L), got {ids.shape}",
                         hint="Write x[None] of one text." if ids.ndim == 1 else None)
    return ids


def images(x: Tensor) -> Tensor:
    """Images (N, C, H, W) as they are. Raises ShapeError for those of other axes."""
    if x.ndim != 4:
        raise ShapeError(f"a model takes images (N, C, H, W), got {x.shape}",
                         hint="Write x[None] of one image." if x.ndim == 3 else None)
    return x


def heads(x: Tensor, n: int) -> Tensor:
    """Features as n heads: (N, L, n * E) -> (N, n, L, E)."""
    return x.reshape(x.shape[0], x.shape[1], n, -1).swapaxes(1, 2)


def attended(q: Tensor, k: Tensor, v: Tensor, cache: nn.KVCache | None = None, window: int | None = None,
             **how: Any) -> Tensor:
    """Heads' values by how queries (N, H, L, E) and keys fit, as features again: (N, L, H * E).

    With a cache, which takes keys and values, queries look at all until their own; with a window at so many.
    """
    if cache is not None:
        at = cache.length + st.arange(q.shape[2])
        k, v, sees = cache.update(k, v)
        if window is not None:
            sees = sees & (st.arange(k.shape[2]) > at.reshape(-1, 1) - window)
        how = {**how, "attn_mask": sees, "is_causal": False}
    elif window is not None:
        how = {**how, "window_size": (window - 1, 0)}
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1], **how)
    return y.swapaxes(1, 2).flatten(2)


def looks(mask: Any) -> Tensor | None:
    """A mask (N, S), 1 where there is a token, as one of attention: (N, 1, 1, S)."""
    if mask is None:
        return None
    given = mask if isinstance(mask, Tensor) else st.tensor(mask)
    return (given != 0).reshape(given.shape[0], 1, 1, given.shape[1])


def first_of(cache: list[nn.KVCache] | None) -> Any:
    """The position of the first token: behind those of the cache."""
    return cache[0].length if cache else 0
