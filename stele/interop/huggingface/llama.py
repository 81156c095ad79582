"""Models like Llama (Touvron et al., 2023): rotary positions, RMS normalisation, grouped queries, SwiGLU; also Mistral
and Qwen.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import stele as st
from stele import Tensor, nn
from stele.errors import DataError
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.generation import LanguageModel
from stele.interop.huggingface.parts import ACTIVATIONS, attended, first_of, heads, texts
from stele.ir.graph import Array
from stele.ops.arguments import is_series

ROTARY: Mapping[str, None] = dict.fromkeys(("default", "linear", "llama3"))
SLIDING = "sliding_attention"


def speeds(c: Config, features: int) -> Array:
    """By how much each pair of features turns at a step: float32 (features / 2,). Raises DataError for other forms."""
    given = c.part("rope_parameters") or c.part("rope_scaling") or Config({}, c.source)
    base = given.number("rope_theta", c.number("rope_theta", 10000.0), 1.0)
    turns = base ** (-np.arange(0, features, 2) / features)
    form = given.word("rope_type", given.word("type", "default"), ROTARY)
    if c.number("partial_rotary_factor", given.number("partial_rotary_factor", 1.0)) != 1.0:
        raise DataError(f"{c.source} turns a part of the features alone, which this Llama does not")
    if form == "linear":
        turns = turns / given.number("factor", least=1e-6)
    if form == "llama3":
        low, high = given.number("low_freq_factor"), given.number("high_freq_factor")
        waves = given.whole("original_max_position_embeddings") * turns / (2 * math.pi)     # in the old context
        share = np.clip((waves - low) / (high - low or 1.0), 0.0, 1.0)
        turns = turns * (share + (1 - share) / given.number("factor", least=1e-6))
    return turns.astype(np.float32)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Pairs, an element and the one half of the features behind it, turned: (N, H, L, E)."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return st.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


class Sizes:
    """What the attention of a configuration is made of."""

    def __init__(self, c: Config) -> None:
        self.width = c.whole("hidden_size")
        self.heads = c.whole("num_attention_heads")
        self.groups = c.whole("num_key_value_heads", self.heads)
        self.features = c.whole("head_dim", max(self.width // self.heads, 1))
        if self.heads % self.groups or self.features % 2:
            raise DataError(f"{c.source} has {self.groups} heads of keys for {self.heads} of queries, and "
                            f"{self.features} features of each; the one divides the other, and features make pairs")


class LlamaAttention(nn.Module):
    """Attention to what came before, of several queries to each key."""

    def __init__(self, c: Config, window: int | None) -> None:
        s, self.window, kind = Sizes(c), window, c.word("model_type", "llama")
        self.heads, self.groups, self.dropout = s.heads, s.groups, c.chance("attention_dropout")
        bias = kind == "qwen2" or c.flag("attention_bias", False)
        self.q_proj = nn.Linear(s.width, s.heads * s.features, bias)
        self.k_proj, self.v_proj = (nn.Linear(s.width, s.groups * s.features, bias) for _ in range(2))
        self.o_proj = nn.Linear(s.heads * s.features, s.width, bias and kind != "qwen2")
        eps = c.number("rms_norm_eps", 1e-6)
        self.q_norm, self.k_norm = (nn.RMSNorm(s.features, eps) if kind == "qwen3" else None for _ in range(2))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        q, k, v = (heads(project(x), n) for project, n in (
            (self.q_proj, self.heads), (self.k_proj, self.groups), (self.v_proj, self.groups)))
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        y = attended(turned(q, cos, sin), turned(k, cos, sin), v, cache, self.window, is_causal=True,
                     dropout_p=self.dropout if self.training else 0.0)
        return self.o_proj(y)


class LlamaMLP(nn.Module):
    """Two layers of each place, the inner one gated (Shazeer, 2020)."""

    def __init__(self, c: Config) -> None:
        width, inner, bias = c.whole("hidden_size"), c.whole("intermediate_size"), c.flag("mlp_bias", False)
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias)
        self.act = ACTIVATIONS[c.word("hidden_act", "silu", ACTIVATIONS)]

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """Both, each behind a normalisation and beside the way around it."""

    def __init__(self, c: Config, window: int | None) -> None:
        width, eps = c.whole("hidden_size"), c.number("rms_norm_eps", 1e-6)
        self.input_layernorm, self.self_attn = nn.RMSNorm(width, eps), LlamaAttention(c, window)
        self.post_attention_layernorm, self.mlp = nn.RMSNorm(width, eps), LlamaMLP(c)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


def windows(c: Config, layers: int) -> list[int | None]:
    """How far back each layer looks; None where that is all the way."""
    kinds: Any = c.get("layer_types", None)
    if c.get("sliding_window", None) is None or not c.flag("use_sliding_window", True):
        return [None] * layers
    far = c.whole("sliding_window")
    if kinds is None:
        first = c.whole("max_window_layers", 0, least=0) if "use_sliding_window" in c.values else 0
        kinds = [SLIDING if k >= first else "" for k in range(layers)]
    if not is_series(kinds) or len(kinds) != layers:
        raise DataError(f"layer_types says of each of {layers} layers what it is in {c.source}")
    return [far if kind == SLIDING else None for kind in kinds]


class LlamaModel(nn.Module):
    """Tokens (N, L) -> features (N, L, hidden_size)."""

    def __init__(self, c: Config) -> None:
        width, layers = c.whole("hidden_size"), c.layers("num_hidden_layers")
        self.embed_tokens = nn.Embedding(c.whole("vocab_size"), width)
        self.layers = nn.ModuleList([LlamaDecoderLayer(c, far) for far in windows(c, layers)])
        self.norm, self.speeds = nn.RMSNorm(width, c.number("rms_norm_eps", 1e-6)), speeds(c, Sizes(c).features)

    def forward(self, input_ids: Tensor, cache: list[nn.KVCache] | None = None) -> Tensor:
        x = self.embed_tokens(texts(input_ids))
        angles = (first_of(cache) + st.arange(input_ids.shape[1])).astype("float32").reshape(-1, 1) * self.speeds
        cos, sin = st.cos(angles).astype(x.dtype), st.sin(angles).astype(x.dtype)
        for k, layer in enumerate(self.layers):
            x = layer(x, cos, sin, cache[k] if cache else None)
        return self.norm(x)


class LlamaForCausalLM(LanguageModel):
    """Tokens (N, L) -> logits of the one behind each, (N, L, vocab_size)."""

    base = "model"

    def __init__(self, c: Config) -> None:
        self.model, s = LlamaModel(c), Sizes(c)
        self.lm_head = nn.Linear(s.width, c.whole("vocab_size"), bias=False)
        if c.flag("tie_word_embeddings", False):
            self.lm_head.weight = self.model.embed_tokens.weight
        self.says(c, "max_position_embeddings", c.layers("num_hidden_layers"), s.groups, s.features)

    def features(self, input_ids: Tensor, cache: Any = None) -> Tensor:
        return self.model(input_ids, cache)
