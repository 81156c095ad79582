"""BERT (Devlin et al., 2019), under the names of its checkpoints."""
from __future__ import annotations

from typing import Any

import stele as st
from stele import Tensor, nn
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.parts import ACTIVATIONS, attended, heads, looks, texts
from stele.nn import init

Hidden = tuple[Tensor, Tensor | None]


class Normed(nn.Module):
    """An affine map, and what went around it, normalised."""

    def __init__(self, c: Config, inputs: int) -> None:
        width = c.whole("hidden_size")
        self.dense = nn.Linear(inputs, width)
        self.LayerNorm, self.dropout = nn.LayerNorm(width, c.number("layer_norm_eps", 1e-12)), \
            nn.Dropout(c.chance("hidden_dropout_prob", 0.1))

    def forward(self, x: Tensor, around: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + around)


class SelfAttention(nn.Module):
    """Attention of all to all."""

    def __init__(self, c: Config, bias: bool = True) -> None:
        width = c.whole("hidden_size")
        self.heads, self.chance = c.heads(width, "num_attention_heads"), c.chance("attention_probs_dropout_prob", 0.1)
        self.query, self.key, self.value = (nn.Linear(width, width, bias) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (heads(project(x), self.heads) for project in (self.query, self.key, self.value))
        return attended(q, k, v, attn_mask=mask, dropout_p=self.chance if self.training else 0.0)


class BertAttention(nn.Module):
    """Attention and what went around it; the checkpoints call its first part `self`."""

    def __init__(self, c: Config) -> None:
        self.self, self.output = SelfAttention(c), Normed(c, c.whole("hidden_size"))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.output(self.self(x, mask), x)


class Activated(nn.Module):
    """An affine map and an activation."""

    def __init__(self, c: Config, outputs: int, act: str | None = None) -> None:
        self.dense = nn.Linear(c.whole("hidden_size"), outputs)
        self.act = ACTIVATIONS[act or c.word("hidden_act", "gelu", ACTIVATIONS)]

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.dense(x))


class BertLayer(nn.Module):
    """Attention, then two layers of each place."""

    def __init__(self, c: Config) -> None:
        inner = c.whole("intermediate_size")
        self.attention, self.intermediate, self.output = BertAttention(c), Activated(c, inner), Normed(c, inner)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        y = self.attention(x, mask)
        return self.output(self.intermediate(y), y)


class BertEncoder(nn.Module):
    """All layers."""

    def __init__(self, c: Config) -> None:
        self.layer = nn.ModuleList([BertLayer(c) for _ in range(c.layers("num_hidden_layers"))])

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class BertEmbeddings(nn.Module):
    """What tokens, places and kinds of texts add up to."""

    def __init__(self, c: Config) -> None:
        width = c.whole("hidden_size")
        self.word_embeddings = nn.Embedding(c.whole("vocab_size"), width)
        self.position_embeddings = nn.Embedding(c.whole("max_position_embeddings"), width)
        self.token_type_embeddings = nn.Embedding(c.whole("type_vocab_size", 2), width)
        self.LayerNorm, self.dropout = nn.LayerNorm(width, c.number("layer_norm_eps", 1e-12)), \
            nn.Dropout(c.chance("hidden_dropout_prob", 0.1))

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        kinds = self.token_type_embeddings.weight[0] if token_type_ids is None else \
            self.token_type_embeddings(token_type_ids)
        x = self.word_embeddings(texts(input_ids)) + self.position_embeddings(st.arange(input_ids.shape[1])) + kinds
        return self.dropout(self.LayerNorm(x))


class BertModel(nn.Module):
    """Tokens (N, L) -> features (N, L, hidden_size), and those of the first token once more through the pooler.

    `attention_mask` (N, L) is 1 where there is a token, `token_type_ids` (N, L) says of which text it is.
    """

    def __init__(self, c: Config, pools: bool = True) -> None:
        self.embeddings, self.encoder = BertEmbeddings(c), BertEncoder(c)
        self.pooler = Activated(c, c.whole("hidden_size"), "tanh") if pools else None

    def forward(self, input_ids: Tensor, attention_mask: Any = None, token_type_ids: Tensor | None = None) -> Hidden:
        x = self.encoder(self.embeddings(input_ids, token_type_ids), looks(attention_mask))
        return x, None if self.pooler is None else self.pooler(x[:, 0])


class BertPredictions(nn.Module):
    """Features -> logits of tokens, by the embeddings of the tokens."""

    def __init__(self, c: Config, words: Tensor) -> None:
        width, count = c.whole("hidden_size"), c.whole("vocab_size")
        self.transform, self.bias = Transform(c), init.zeros((count,))
        self.decoder = nn.Linear(width, count)
        self.decoder.bias = self.bias
        if c.flag("tie_word_embeddings", True):
            self.decoder.weight = words

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.transform(x))


class Transform(Activated):
    """An affine map, an activation and a normalisation."""

    def __init__(self, c: Config) -> None:
        super().__init__(c, c.whole("hidden_size"))
        self.LayerNorm = nn.LayerNorm(c.whole("hidden_size"), c.number("layer_norm_eps", 1e-12))

    def forward(self, x: Tensor) -> Tensor:
        return self.LayerNorm(super().forward(x))


class WithBert(nn.Module):
    """BERT below a head."""

    base = "bert"
    pools = False

    def __init__(self, c: Config) -> None:
        self.bert = BertModel(c, self.pools)
        self.dropout = nn.Dropout(c.chance("classifier_dropout", c.chance("hidden_dropout_prob", 0.1)))


class BertForMaskedLM(WithBert):
    """Tokens (N, L) -> logits of what stands in each place, (N, L, vocab_size)."""

    def __init__(self, c: Config) -> None:
        super().__init__(c)
        self.cls = nn.ModuleDict({"predictions": BertPredictions(c, self.bert.embeddings.word_embeddings.weight)})

    def forward(self, input_ids: Tensor, attention_mask: Any = None, token_type_ids: Tensor | None = None) -> Tensor:
        return self.cls["predictions"](self.bert(input_ids, attention_mask, token_type_ids)[0])


class BertForSequenceClassification(WithBert):
    """Tokens (N, L) -> logits of classes, (N, classes)."""

    pools = True

    def __init__(self, c: Config) -> None:
        super().__init__(c)
        self.classifier = nn.Linear(c.whole("hidden_size"), c.labels())

    def forward(self, input_ids: Tensor, attention_mask: Any = None, token_type_ids: Tensor | None = None) -> Tensor:
        _, pooled = self.bert(input_ids, attention_mask, token_type_ids)
        assert pooled is not None
        return self.classifier(self.dropout(pooled))


class BertForTokenClassification(WithBert):
    """Tokens (N, L) -> logits of the class of each, (N, L, classes)."""

    def __init__(self, c: Config) -> None:
        super().__init__(c)
        self.classifier = nn.Linear(c.whole("hidden_size"), c.labels())

    def forward(self, input_ids: Tensor, attention_mask: Any = None, token_type_ids: Tensor | None = None) -> Tensor:
        return self.classifier(self.dropout(self.bert(input_ids, attention_mask, token_type_ids)[0]))
