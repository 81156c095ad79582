"""Transformers, by PyTorch's names and options (Vaswani et al., 2017)."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import full
from stele.arrays.tensor import Tensor
from stele.interop.keywords import speaks
from stele.nn import init
from stele.nn.attention import MultiheadAttention
from stele.nn.containers import ModuleList
from stele.nn.dropout import Dropout
from stele.nn.layers import Linear
from stele.nn.module import Module
from stele.nn.normalization import LayerNorm
from stele.ops.arguments import choice, flag, function, instance, number, positive, times

Activation = str | Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class Block(Module):
    """What layers of encoders and decoders share: attention to themselves, two affine maps, and norms."""

    norms = 2

    @speaks
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True) -> None:
        name = type(self).__name__
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, positive(dim_feedforward, f"dim_feedforward of {name}"), bias)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        for k in range(1, self.norms + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, number(layer_norm_eps, f"layer_norm_eps of {name}", 0),
                                                bias=bias))
        self.dropout = Dropout(dropout)
        self.norm_first = flag(norm_first, f"norm_first of {name}")
        self.activation = ACTIVATIONS[choice(activation, f"activation of {name}", list(ACTIVATIONS))] \
            if isinstance(activation, str) else function(activation, f"activation of {name}")

    def around(self, x: Tensor, norm: Any, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x and what a part makes of it, normalised before or behind."""
        return x + self.dropout(part(norm(x))) if self.norm_first else norm(x + self.dropout(part(x)))

    def feed(self, x: Tensor) -> Tensor:
        """The two affine maps."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(Block):
    """One layer of an encoder: attention of x to itself and two affine maps, each added to its input and normalised.

    x is (L, N, `d_model`), (N, L, d_model) with `batch_first`, or (L, d_model), and the result is like it; `nhead`
    heads, `dim_feedforward` features between the maps, whose `activation` is "relu", "gelu" or a function. Norms have
    `layer_norm_eps` and stand behind the sums, with `norm_first` before the parts; `dropout` is for training, without
    `bias` nothing has one. forward takes src_mask, src_key_padding_mask and is_causal, as of `MultiheadAttention`.
    Weights are PyTorch's: self_attn, linear1, linear2, norm1, norm2. Of floats. Raises ShapeError for other axes.

    >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(st.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        causal = flag(is_causal, "is_causal") and src_mask is None
        x = self.around(src, self.norm1, lambda x: self.self_attn(
            x, x, x, src_key_padding_mask, False, src_mask, is_causal=causal)[0])
        return self.around(x, self.norm2, self.feed)

    norm1: LayerNorm
    norm2: LayerNorm


class TransformerDecoderLayer(Block):
    """One layer of a decoder: attention of x to itself, to a memory, and two affine maps, each added and normalised.

    x is (L, N, `d_model`), the memory (S, N, d_model), batch first with `batch_first`; `nhead`, `dim_feedforward`,
    `dropout`, `activation`, `layer_norm_eps`, `norm_first` and `bias` are as of `TransformerEncoderLayer`. forward
    takes tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal and memory_is_causal.
    Weights are PyTorch's: self_attn, multihead_attn, linear1, linear2, norm1 to norm3. Of floats. Raises ShapeError for
    other axes.

    >>> nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)(st.ones((2, 5, 8)), st.ones((2, 7, 8))).shape
    (2, 5, 8)
    """

    norms = 3

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        causal = flag(tgt_is_causal, "tgt_is_causal") and tgt_mask is None
        sees_before = flag(memory_is_causal, "memory_is_causal") and memory_mask is None
        x = self.around(tgt, self.norm1, lambda x: self.self_attn(
            x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=causal)[0])
        x = self.around(x, self.norm2, lambda x: self.multihead_attn(
            x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=sees_before)[0])
        return self.around(x, self.norm3, self.feed)

    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm


def copies(layer: Any, n: int, holder: str) -> ModuleList:
    """A layer several times over, each with weights of its own."""
    instance(layer, f"the layer of {holder}", Module)
    return ModuleList([copy.deepcopy(layer) for _ in range(times(n, f"num_layers of {holder}", 1))])


def behind(norm: Any) -> Module | None:
    """The layer that stands behind all others, if there is one."""
    return None if norm is None else instance(norm, "the norm behind all layers", Module)


class TransformerEncoder(Module):
    """`num_layers` copies of an `encoder_layer`, one after the other, and a `norm` behind them.

    forward takes src (L, N, d_model), a mask and src_key_padding_mask for all layers, and is_causal, as of
    `TransformerEncoderLayer`. `enable_nested_tensor` and `mask_check` change nothing, as in PyTorch's results. Weights
    are PyTorch's: layers.0 ..., norm; copies begin alike. Of floats. Raises ShapeError for other axes.

    >>> layer = nn.TransformerEncoderLayer(8, 2, 16)
    >>> nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))(st.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    @speaks
    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        self.layers, self.norm = copies(encoder_layer, num_layers, "TransformerEncoder"), behind(norm)

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, False if is_causal is None else is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a `decoder_layer`, one after the other, and a `norm` behind them.

    forward takes tgt (L, N, d_model), the memory (S, N, d_model) and the masks of `TransformerDecoderLayer`, for all
    layers. Weights are PyTorch's: layers.0 ..., norm; copies begin alike. Of floats. Raises ShapeError for other axes.

    >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
    >>> nn.TransformerDecoder(layer, 2)(st.ones((5, 2, 8)), st.ones((7, 2, 8))).shape
    (5, 2, 8)
    """

    @speaks
    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers, self.norm = copies(decoder_layer, num_layers, "TransformerDecoder"), behind(norm)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                        False if tgt_is_causal is None else tgt_is_causal, memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of src and a decoder of tgt that looks at what it makes: (src, tgt) -> a result like tgt.

    `num_encoder_layers` and `num_decoder_layers` of `d_model` features and `nhead` heads with their norms, or a
    `custom_encoder` and a `custom_decoder`; `dim_feedforward`, `dropout`, `activation`, `layer_norm_eps`,
    `batch_first`, `norm_first` and `bias` are as of `TransformerEncoderLayer`. forward takes src_mask, tgt_mask and the
    other masks of both. Weights are PyTorch's: encoder, decoder; matrices are uniform as by `nn.init.xavier_uniform`.
    Of floats. Raises ShapeError for other axes.

    >>> model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(st.ones((2, 7, 8)), st.ones((2, 5, 8)), tgt_is_causal=True).shape
    (2, 5, 8)
    """

    @speaks
    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = "relu",
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True) -> None:
        options: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                        bias)
        self.encoder: Any = TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, LayerNorm(d_model, layer_norm_eps, bias=bias)
            ) if custom_encoder is None else function(custom_encoder, "custom_encoder of Transformer")
        self.decoder: Any = TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, LayerNorm(d_model, layer_norm_eps, bias=bias)
            ) if custom_decoder is None else function(custom_decoder, "custom_decoder of Transformer")
        for p in self.parameters():
            if p.ndim > 1:
                p.assign(init.xavier_uniform(tuple(p.shape)))

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False
                ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> Tensor:
        """The float mask (sz, sz) of causal attention: zeros, and -inf where a query may not look."""
        return F.triu(full((sz, sz), float("-inf")), 1)
