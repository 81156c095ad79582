"""GPT-2 (Radford et al., 2019), under the names of its checkpoints."""
from __future__ import annotations

from typing import Any

import stele as st
from stele import Tensor, nn
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.generation import LanguageModel
from stele.interop.huggingface.parts import ACTIVATIONS, attended, first_of, heads, texts
from stele.nn import init

Caches = list[nn.KVCache] | None


class Conv1D(nn.Module):
    """An affine map whose weight is (in, out)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight, self.bias = init.normal((inputs, outputs), 0.02), init.zeros((outputs,))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class GPT2Attention(nn.Module):
    """Attention to what came before."""

    def __init__(self, c: Config, layer: int) -> None:
        width = c.whole("n_embd")
        self.heads, self.dropout = c.heads(width, "n_head"), c.chance("attn_pdrop", 0.1)
        self.scale = (width // self.heads) ** -0.5 if c.flag("scale_attn_weights", True) else 1.0
        if c.flag("scale_attn_by_inverse_layer_idx", False):
            self.scale /= layer + 1
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)

    def forward(self, x: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        q, k, v = (heads(part, self.heads) for part in st.chunk(self.c_attn(x), 3, axis=-1))
        y = attended(q, k, v, cache, is_causal=True, scale=self.scale, dropout_p=self.dropout if self.training else 0.0)
        return self.c_proj(y)


class GPT2MLP(nn.Module):
    """Two layers of each place."""

    def __init__(self, c: Config) -> None:
        width = c.whole("n_embd")
        inner = c.whole("n_inner", 4 * width)
        self.c_fc, self.c_proj = Conv1D(width, inner), Conv1D(inner, width)
        self.act = ACTIVATIONS[c.word("activation_function", "gelu_new", ACTIVATIONS)]

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(self.act(self.c_fc(x)))


class GPT2Block(nn.Module):
    """Both, each behind a normalisation and beside the way around it."""

    def __init__(self, c: Config, layer: int) -> None:
        width, eps = c.whole("n_embd"), c.number("layer_norm_epsilon", 1e-5)
        self.ln_1, self.attn = nn.LayerNorm(width, eps), GPT2Attention(c, layer)
        self.ln_2, self.mlp = nn.LayerNorm(width, eps), GPT2MLP(c)
        self.dropout = nn.Dropout(c.chance("resid_pdrop", 0.1))

    def forward(self, x: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        x = x + self.dropout(self.attn(self.ln_1(x), cache))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class GPT2Model(nn.Module):
    """Tokens (N, L) -> features (N, L, n_embd)."""

    def __init__(self, c: Config) -> None:
        width = c.whole("n_embd")
        self.wte, self.wpe = nn.Embedding(c.whole("vocab_size"), width), nn.Embedding(c.whole("n_positions"), width)
        self.h = nn.ModuleList([GPT2Block(c, k) for k in range(c.layers("n_layer"))])
        self.ln_f, self.drop = nn.LayerNorm(width, c.number("layer_norm_epsilon", 1e-5)), \
            nn.Dropout(c.chance("embd_pdrop", 0.1))

    def forward(self, input_ids: Tensor, cache: Caches = None) -> Tensor:
        places = first_of(cache) + st.arange(texts(input_ids).shape[1])
        x = self.drop(self.wte(input_ids) + self.wpe(places))
        for k, block in enumerate(self.h):
            x = block(x, cache[k] if cache else None)
        return self.ln_f(x)


class GPT2LMHeadModel(LanguageModel):
    """Tokens (N, L) -> logits of the one behind each, (N, L, vocab_size)."""

    base = "transformer"

    def __init__(self, c: Config) -> None:
        self.transformer = GPT2Model(c)
        width, words = c.whole("n_embd"), c.whole("vocab_size")
        self.lm_head = nn.Linear(width, words, bias=False)
        if c.flag("tie_word_embeddings", True):
            self.lm_head.weight = self.transformer.wte.weight
        n = c.heads(width, "n_head")
        self.says(c, "n_positions", c.layers("n_layer"), n, width // n)

    def features(self, input_ids: Tensor, cache: Any = None) -> Tensor:
        return self.transformer(input_ids, cache)
