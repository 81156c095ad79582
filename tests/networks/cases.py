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
NETS = RECURRENT
