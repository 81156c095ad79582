"""Attention with weights of its own, what it remembers of earlier keys, and positions."""
from __future__ import annotations

import math
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import arange, zeros
from stele.arrays.random import dropout
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, constant, lift
from stele.eager.handle import no_grad
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.ir.types import float32, float64
from stele.nn import init
from stele.nn.cells import affine
from stele.nn.functional.attention import looked
from stele.nn.layers import Linear
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import flag, instance, number, positive, wholes
from stele.ops.random import chance
from stele.tracing.noted import before, noted

look = lift(looked)


class KVCache(Module):
    """The keys and values of earlier calls: (`batch`, `heads`, `capacity`, `features`), of which `length` are there.

    `MultiheadAttention` and models take one as `cache`; `update` writes new ones behind the earlier ones, in place in
    a compiled function. Of floats, without gradients. Raises ShapeError for keys of other axes.

    Of several layers, each but the last one's is made with the last one's as `before`: all have its length, which it
    alone moves on, so that a compiled function checks once whether there is room, and writes the others in place too.

    >>> cache = nn.KVCache(1, 2, 8, 4)
    >>> keys, values, sees = cache.update(st.ones((1, 2, 3, 4)), st.ones((1, 2, 3, 4)))
    >>> keys.shape, cache.length.tolist(), sees[:, :4].tolist()[1]
    ((1, 2, 8, 4), 3, [True, True, False, False])
    """

    @speaks
    def __init__(self, batch: int, heads: int, capacity: int, features: int, dtype: Any = "float32",
                 before: KVCache | None = None) -> None:
        shape = wholes((batch, heads, capacity, features), "the sizes of KVCache", 0)
        self.keys, self.values = zeros(shape, dtype=dtype), zeros(shape, dtype=dtype)
        self.is_last = before is None
        self.length: Tensor = zeros((), dtype="int64") if before is None else \
            instance(before, "before of KVCache", KVCache).length

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.keys.shape))

    @public
    def update(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All keys and values, new ones (N, heads, L, features) written, and which each of the L may look at."""
        k, v, own = given(self, keys), given(self, values), self.keys.shape
        if k.ndim != 4 or k.shape != v.shape or k.shape[1] != own[1] or k.shape[3] != own[3] or k.shape[0] != own[0]:
            raise ShapeError(f"this KVCache takes keys and values ({own[0]}, {own[1]}, L, {own[3]}), got {k.shape} and "
                             f"{v.shape}")
        was = before((self.keys, self.values, self.length))
        with no_grad():
            at = self.length + arange(k.shape[2])
            self.keys[:, :, at] = k
            self.values[:, :, at] = v
            if self.is_last:
                self.length += k.shape[2]
        return noted(was, (k, v), (self.keys, self.values, arange(own[2]) <= at.reshape(-1, 1)))

    def reset(self) -> None:
        """Forgets all keys and values."""
        with no_grad():
            self.length.assign(0)

    def forward(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.update(keys, values)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads (Vaswani et al., 2017): (query, key, value) -> (result, weights).

    query is (L, N, `embed_dim`), key (S, N, `kdim`) and value (S, N, `vdim`), both embed_dim without those; (N, L, ...)
    with `batch_first`, (L, ...) of one example. The result is like query, the weights (N, L, S), their mean over heads,
    or (N, heads, L, S) with average_attn_weights=False, or None with need_weights=False.

    key_padding_mask (N, S) and attn_mask (L, S) or (N * heads, L, S) are bools, True where nobody may look (the
    opposite of `F.scaled_dot_product_attention`), or floats that are added; with is_causal query i looks at keys 0 to
    i. A query that may look nowhere gets zeros. `add_bias_kv` puts a learned key and value behind the others,
    `add_zero_attn` zeros. In training weights are dropped with the probability `dropout`. A `KVCache` given as cache=
    takes the keys and values behind those of earlier calls, at which queries look as well.

    Weights are PyTorch's: in_proj_weight (3 embed_dim, embed_dim), or q_proj_weight, k_proj_weight and v_proj_weight
    where kdim or vdim differ, in_proj_bias (with `bias`), bias_k, bias_v, out_proj. Of floats. Raises ShapeError for
    heads that do not divide embed_dim and inputs of other axes, DTypeError for masks of integers.

    >>> y, p = nn.MultiheadAttention(4, 2, batch_first=True)(st.ones((5, 3, 4)), st.ones((5, 6, 4)), st.ones((5, 6, 4)))
    >>> y.shape, p.shape
    ((5, 3, 4), (5, 3, 6))
    """

    @speaks
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False) -> None:
        name = "MultiheadAttention"
        e, self.num_heads = positive(embed_dim, f"embed_dim of {name}"), positive(num_heads, f"num_heads of {name}")
        self.embed_dim, self.head_dim = e, e // num_heads
        if self.head_dim * num_heads != e:
            raise ShapeError(f"{name} needs heads that divide embed_dim, got {num_heads} and {e}")
        self.kdim = e if kdim is None else positive(kdim, f"kdim of {name}")
        self.vdim = e if vdim is None else positive(vdim, f"vdim of {name}")
        self.dropout = number(dropout, f"dropout of {name}", 0, 1)
        self.batch_first = flag(batch_first, f"batch_first of {name}")
        self.add_zero_attn = flag(add_zero_attn, f"add_zero_attn of {name}")
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == e:
            self.in_proj_weight = init.xavier_uniform((3 * e, e))
        else:
            self.q_proj_weight = init.xavier_uniform((e, e))
            self.k_proj_weight = init.xavier_uniform((e, self.kdim))
            self.v_proj_weight = init.xavier_uniform((e, self.vdim))
        self.in_proj_bias = init.zeros((3 * e,)) if flag(bias, f"bias of {name}") else None
        self.bias_k, self.bias_v = (init.normal((1, 1, e), e ** -0.5) if flag(add_bias_kv, f"add_bias_kv of {name}")
                                    else None for _ in range(2))
        self.out_proj = Linear(e, e, bias)
        if bias:
            self.out_proj.bias = init.zeros((e,))

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}" + ", batch_first=True" * self.batch_first

    def projections(self) -> list[tuple[Tensor, Tensor | None]]:
        """The weights and biases of queries, keys and values."""
        e, w = self.embed_dim, self.in_proj_weight
        weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if w is None else \
            [w[k * e:(k + 1) * e] for k in range(3)]
        b = self.in_proj_bias
        return [(w, None if b is None else b[k * e:(k + 1) * e]) for k, w in enumerate(weights)]

    def inputs(self, *given_: Any) -> list[Tensor]:
        """Query, key and value, batch first."""
        found = [given(self, x) for x in given_]
        sizes = self.embed_dim, self.kdim, self.vdim
        for x, n, what in zip(found, sizes, ("query", "key", "value")):
            if x.ndim != found[0].ndim or x.ndim not in (2, 3) or x.shape[-1] != n:
                order = "N, L" if self.batch_first else "L, N"
                raise wrong(self, f"a {what} ({order}, {n}), or (L, {n}) of one example", x, {})
        return [x.unsqueeze(0) if x.ndim == 2 else x if self.batch_first else x.swapaxes(0, 1) for x in found]

    def heads(self, x: Tensor) -> Tensor:
        """Features as heads: (N, heads, L, E / heads)."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).swapaxes(1, 2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False, cache: KVCache | None = None) -> tuple[Tensor, Tensor | None]:
        parts = self.inputs(query, key, value)
        if query is key is value and self.in_proj_weight is not None:   # one product
            all_ = affine(parts[0], self.in_proj_weight, self.in_proj_bias)
            q, k, v = (all_[..., j * self.embed_dim:(j + 1) * self.embed_dim] for j in range(3))
        else:
            q, k, v = (affine(x, w, b) for x, (w, b) in zip(parts, self.projections()))
        n, keys = k.shape[0], k.shape[1]
        for bias in (self.bias_k, self.bias_v) if self.bias_k is not None and self.bias_v is not None else ():
            row = F.broadcast_to(bias, (n, 1, self.embed_dim))
            k, v = (F.concatenate([k, row], axis=1), v) if bias is self.bias_k else (k, F.concatenate([v, row], axis=1))
        q, k, v = map(self.heads, (q, k, v))
        if self.add_zero_attn:
            k, v = (F.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)]) for x in (k, v))
        mask = self.mask(attn_mask, key_padding_mask, n, keys, k.shape[2])
        if cache is not None and instance(cache, "cache of MultiheadAttention", KVCache):
            k, v, sees = cache.update(k, v)
            if mask is not None:
                raise ArgumentError("MultiheadAttention with a cache takes no masks: queries look at all until then")
            mask, is_causal = sees, False
        p, v = look(q, k, mask, v, is_causal=flag(is_causal, "is_causal of MultiheadAttention"), scale=None,
                    enable_gqa=False)
        if self.training and self.dropout:
            p = p * 0.0 if self.dropout == 1 else dropout(p, chance(self.dropout))
        y = (p @ v).swapaxes(1, 2).flatten(2)
        is_mean = flag(average_attn_weights, "average_attn_weights of MultiheadAttention")
        y, p = self.out_proj(y), p.mean(axis=1) if is_mean else p
        if constant(query).ndim == 2:
            y, p = y.squeeze(0), p.squeeze(0)
        elif not self.batch_first:
            y = y.swapaxes(0, 1)
        return y, (p if flag(need_weights, "need_weights of MultiheadAttention") else None)

    def mask(self, attn: Tensor | None, padding: Tensor | None, batch: Any, keys: Any, all_keys: Any) -> Tensor | None:
        """Both masks as one that says where to look, or what to add: (N or 1, heads or 1, L or 1, S)."""
        for x in (constant(x) for x in (padding, attn) if x is not None):
            if x.dtype.name != "bool" and not x.dtype.is_float:
                raise DTypeError(f"a mask of MultiheadAttention is of bools or floats, got {x.dtype}",
                                 hint="Write mask == 1.")
            if x.shape[-1:] != (keys,):
                raise ShapeError(f"a mask of MultiheadAttention ends in the number of keys, {keys}, got {x.shape}")
        masks = [constant(padding).reshape(-1, 1, 1, keys)] if padding is not None else []
        if attn is not None:
            attn = constant(attn)
            masks.append(attn if attn.ndim < 3 else attn.reshape(batch, self.num_heads, *attn.shape[1:]))
        if not masks:
            return None
        if all(x.dtype.name == "bool" for x in masks):
            found = ~(masks[0] | masks[-1])
            return F.pad(found, self.more(found, keys, all_keys), value=True)
        first, *rest = (where(x, -math.inf, 0.0) if x.dtype.name == "bool" else x for x in masks)
        found = first + rest[0] if rest else first
        return F.pad(found, self.more(found, keys, all_keys))

    def more(self, x: Tensor, keys: Any, all_keys: Any) -> list[tuple[int, Any]]:
        """How far a mask goes on for keys that nobody gave."""
        return [*((0, 0) for _ in x.shape[1:]), (0, all_keys - keys)]


class Positions(Module):
    """What turns pairs of features by angles that grow with the position."""

    features: int
    base: float

    def make(self, features: int, base: float) -> None:
        """Checks and notes how many features there are, and what the slowest angle is made of."""
        name = type(self).__name__
        if positive(features, f"features of {name}") % 2:
            raise ShapeError(f"{name} takes pairs of features, got {features}")
        self.features, self.base = features, number(base, f"base of {name}")

    def angles(self, x: Tensor, positions: Tensor | None) -> Tensor:
        """The angle of each position and pair of features, (..., features / 2): of 0 to L - 1 unless given."""
        if x.ndim < 2 or x.shape[-1] != self.features:
            raise wrong(self, f"(..., L, {self.features})", x, {})
        at = arange(x.shape[-2]) if positions is None else constant(positions)
        dtype = float64 if x.dtype == float64 else float32
        speeds = F.exp(arange(0, self.features, 2).astype(dtype) * (-math.log(self.base) / self.features))
        return at.astype(dtype).unsqueeze(-1) * speeds

    def extra_repr(self) -> str:
        return f"{self.features}"


class RotaryEmbedding(Positions):
    """Rotary positions (Su et al., 2021): pairs of the last axis turned by angles that grow with the position.

    x is (..., L, `features`), the result is like it: pair k of position t turns by t * `base` ** (-2 k / features).
    `positions` of forward are 0 to L - 1 unless given, (L,) or what broadcasts with the axes before the last. Pairs are
    an element and the one features / 2 behind it, or neighbours with `interleaved`. Of floats. Raises ShapeError for an
    odd number of features.

    >>> nn.RotaryEmbedding(2)(st.tensor([[1.0, 0.0], [1.0, 0.0]])).numpy().round(4).tolist()
    [[1.0, 0.0], [0.5403, 0.8415]]
    """

    @speaks
    def __init__(self, features: int, base: float = 10000.0, interleaved: bool = False) -> None:
        self.make(features, base)
        self.interleaved = flag(interleaved, "interleaved of RotaryEmbedding")

    def extra_repr(self) -> str:
        return super().extra_repr() + ", interleaved=True" * self.interleaved

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        x = given(self, x)
        angles = self.angles(x, positions)
        cos, sin = F.cos(angles).astype(x.dtype), F.sin(angles).astype(x.dtype)
        half = self.features // 2
        a, b = (x[..., ::2], x[..., 1::2]) if self.interleaved else (x[..., :half], x[..., half:])
        parts = a * cos - b * sin, a * sin + b * cos
        return F.stack(parts, axis=-1).reshape(x.shape) if self.interleaved else F.concatenate(parts, axis=-1)


class SinusoidalEmbedding(Positions):
    """Embeddings x (..., L, `features`) plus sines and cosines of their positions, in turn (Vaswani et al., 2017).

    Element 2 k of position t is sin(t * `base` ** (-2 k / features)), the one behind it the cosine. `positions` of
    forward are 0 to L - 1 unless given, along the last axis but one. Of floats. Raises ShapeError for an odd number of
    features.

    >>> nn.SinusoidalEmbedding(2)(st.zeros((2, 2))).numpy().round(4).tolist()
    [[0.0, 1.0], [0.8415, 0.5403]]
    """

    @speaks
    def __init__(self, features: int, base: float = 10000.0) -> None:
        self.make(features, base)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        x = given(self, x)
        angles = self.angles(x, positions)
        waves = F.stack([F.sin(angles), F.cos(angles)], axis=-1)
        return x + waves.reshape(*angles.shape[:-1], self.features).astype(x.dtype)


class ALiBi(Module):
    """What is added to the scores of attention so that near keys count more (Press et al., 2022): (`heads`, L, S).

    Called with the numbers of queries and keys (L, S), as float32: -slope * |i - j|, with the slopes of the paper,
    2 ** (-8 / heads), its square and so on; for other than powers of 2 every other one of twice as many is added.
    `attn_mask` of `F.scaled_dot_product_attention` takes it. Raises ArgumentError for sizes that are none.

    >>> nn.ALiBi(2)(1, 3).tolist()
    [[[0.0, -0.0625, -0.125]], [[0.0, -0.00390625, -0.0078125]]]
    """

    @speaks
    def __init__(self, heads: int) -> None:
        self.heads = positive(heads, "heads of ALiBi")

    def extra_repr(self) -> str:
        return f"{self.heads}"

    def slopes(self) -> list[float]:
        """One for each head."""
        near = 2 ** int(math.log2(self.heads))
        most = [2 ** (-8 * (k + 1) / near) for k in range(near)]
        return most + [2 ** (-4 * (k + 1) / near) for k in range(0, 2 * (self.heads - near), 2)]

    def forward(self, queries: Any, keys: Any) -> Tensor:
        far = F.abs(arange(queries).reshape(-1, 1) - arange(keys)).astype("float32")
        return constant([-s for s in self.slopes()]).reshape(-1, 1, 1) * far
