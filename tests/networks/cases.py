"""Recurrent layers and attention, made and called in words that PyTorch understands too, and the arrays they name."""
from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def drawn(n: int, t: int) -> dict[str, Array]:
    """What calls name, for batches of n and t steps: all floats have derivatives."""
    rng = np.random.default_rng([n, t])

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "x": normal(t, n, 3), "xb": normal(n, t, 3), "one": normal(t, 3), "row": normal(n, 3), "alone": normal(3),
        "h": normal(n, 4), "c": normal(n, 4), "g": normal(4), "k": normal(4),
        "h1": normal(1, n, 4), "h2": normal(2, n, 4), "h4": normal(4, n, 4), "c4": normal(4, n, 4),
        "c1": normal(1, n, 4), "p4": normal(4, n, 2), "g1": normal(1, 4), "k1": normal(1, 4),
        "a": normal(t, n, 8), "ab": normal(n, t, 8), "a1": normal(t, 8), "s": normal(7, n, 8), "sb": normal(n, 7, 8),
        "key": normal(7, n, 5), "value": normal(7, n, 6), "s1": normal(7, 8), "adds": normal(t, t),
        "adds7": normal(t, 7), "more": normal(n, 7), "hides": np.arange(7 * t).reshape(t, 7) % 3 == 1,
        "later": np.triu(np.ones((t, t), bool), 1),
        "blank": np.arange(7 * n).reshape(n, 7) % 4 == 1, "gone": np.arange(t * n).reshape(n, t) % t == 1,
        "each": np.arange(14 * n * t).reshape(2 * n, t, 7) % 5 == 1, "blank1": np.arange(7) == 2,
        "lengths": np.append(rng.integers(1, t + 1, n)[1:], t)[:n],
    }


class Net(NamedTuple):
    """A layer, and a call of it as `m`."""

    make: str
    call: str


def packed(call: str) -> str:
    """The results of a layer that was called with packed sequences, padded again."""
    return f"[(rnn.pad_packed_sequence(y, batch_first=m.batch_first), last) for y, last in [{call}]]"


def named(net: Net) -> list[str]:
    """The arrays that a call names, in the order of `drawn`."""
    names = {node.id for node in ast.walk(ast.parse(net.call)) if isinstance(node, ast.Name)}
    return [name for name in drawn(1, 1) if name in names]


RECURRENT = [
    Net("nn.RNN(3, 4)", "m(x)"), Net("nn.RNN(3, 4, 2, 'relu', False)", "m(x, h2)"),
    Net("nn.RNN(3, 4, 2, bidirectional=True, batch_first=True)", "m(xb, h4)"), Net("nn.RNN(3, 4)", "m(one, g1)"),
    Net("nn.GRU(3, 4, bias=False)", "m(x)"), Net("nn.GRU(3, 4, 2, batch_first=True, bidirectional=True)", "m(xb, h4)"),
    Net("nn.GRU(3, 4)", "m(x, h1)"), Net("nn.GRU(3, 4, 2, dropout=0.5).eval()", "m(x)"), Net("nn.GRU(3, 4)", "m(one)"),
    Net("nn.LSTM(3, 4, bias=False)", "m(x, (h1, c1))"), Net("nn.LSTM(3, 4)", "m(one, (g1, k1))"),
    Net("nn.LSTM(3, 4, 2, bidirectional=True)", "m(x, (h4, c4))"), Net("nn.LSTM(3, 4, 2, proj_size=2)", "m(x)"),
    Net("nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2)", "m(xb, (p4, c4))"),
    Net("nn.RNN(3, 4, bidirectional=True)", packed("m(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))")),
    Net("nn.GRU(3, 4, 2, bidirectional=True, batch_first=True)",
        packed("m(rnn.pack_padded_sequence(xb, lengths, True, False), h4)")),
    Net("nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)",
        packed("m(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False), (p4, c4))")),
    Net("nn.RNNCell(3, 4)", "m(row)"), Net("nn.RNNCell(3, 4, False, 'relu')", "m(row, h)"),
    Net("nn.RNNCell(3, 4)", "m(alone, g)"), Net("nn.GRUCell(3, 4)", "m(row)"),
    Net("nn.GRUCell(3, 4, bias=False)", "m(row, h)"), Net("nn.GRUCell(3, 4)", "m(alone)"),
    Net("nn.LSTMCell(3, 4)", "m(row)"), Net("nn.LSTMCell(3, 4, bias=False)", "m(row, (h, c))"),
    Net("nn.LSTMCell(3, 4)", "m(alone, (g, k))"),
]
MHA = "nn.MultiheadAttention(8, 2"
OTHER = f"{MHA}, kdim=5, vdim=6"
LAYER = "nn.TransformerEncoderLayer(8, 2, 6, 0.0"
DECODER = "nn.TransformerDecoderLayer(8, 2, 6, 0.0"
ATTENTION = [
    Net(f"{MHA})", "m(a, a, a)"), Net(f"{MHA}, bias=False)", "m(a, s, s)"), Net(f"{MHA})", "m(a1, s1, s1, blank1)"),
    Net(f"{MHA}, 0.3, batch_first=True).eval()", "m(ab, sb, sb, blank, average_attn_weights=False)"),
    Net(f"{OTHER})", "m(a, key, value, attn_mask=hides)"),
    Net(f"{OTHER}, add_bias_kv=True)", "m(a, key, value, blank)"),
    Net(f"{MHA}, add_bias_kv=True, add_zero_attn=True)", "m(a, s, s, blank, True, each, False)"),
    Net(f"{MHA}, add_zero_attn=True)", "m(a, s, s, more, attn_mask=adds7, need_weights=False)[0]"),
    Net(f"{MHA})", "m(a, a, a, attn_mask=adds, need_weights=False)[0]"),
    Net(f"{MHA})", "m(a, a, a, attn_mask=later, is_causal=True, need_weights=False)[0]"),
    Net(f"{LAYER})", "m(a)"), Net(f"{LAYER}, 'gelu', 1e-3, True, True, False)", "m(ab, later, gone, True)"),
    Net(f"{LAYER}, F.silu)", "m(a1)"), Net(f"{DECODER})", "m(a, s)"),
    Net(f"{DECODER}, 'gelu', 1e-3, True, True, False)", "m(ab, sb, later, hides, gone, blank, True)"),
    Net(f"nn.TransformerEncoder({LAYER}), 2, nn.LayerNorm(8))", "m(a, later, is_causal=True)"),
    Net(f"nn.TransformerDecoder({DECODER}), 2)", "m(a, s, tgt_mask=later, memory_key_padding_mask=blank)"),
    Net("nn.Transformer(8, 2, 1, 2, 6, 0.0, batch_first=True)", "m(sb, ab, None, later, src_key_padding_mask=blank)"),
    Net("nn.Transformer(8, 2, 2, 1, 6, 0.0, norm_first=True, bias=False)", "m(s, a)"),
]
NETS = [*RECURRENT, *ATTENTION]
