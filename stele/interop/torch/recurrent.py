"""PyTorch's recurrent layers, by the steps of Stele's own."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F
from stele.nn.cells import GRUStep, LSTMStep, RNNStep, Step, affine, output


def recurrent(kind: type[Step], **options: Any) -> Callable[..., Any]:
    """The rule of a recurrent layer whose steps are of a kind."""
    def rule(x: Any, given: Any, weights: Any, biases: bool, layers: int, dropout: float, train: bool, both: bool,
             batch_first: bool) -> Any:
        step, ways = kind(), 1 + both
        step.__dict__.update(options)
        states = given if isinstance(given, list) else [given]
        y = st.swapaxes(x, 0, 1) if batch_first else x
        each = len(weights) // (layers * ways)
        last: list[Any] = []
        for k in range(layers):
            made = [walked(step, y, [s[j] for s in states], weights[j * each:(j + 1) * each], biases, j % 2 if both
                           else 0) for j in range(k * ways, (k + 1) * ways)]
            last += [step.parted(state) for state, _ in made]
            y = st.concatenate([out for _, out in made], axis=-1) if both else made[0][1]
            y = F.dropout(y, dropout, train) if k + 1 < layers else y
        return st.swapaxes(y, 0, 1) if batch_first else y, *(st.stack(list(part)) for part in zip(*last))

    return rule


def walked(step: Step, x: Any, begin: list[Any], weights: list[Any], biases: bool, reverse: int) -> Any:
    """The last state and all outputs of one layer in one direction."""
    w_ih, w_hh, *more = weights
    b_ih, b_hh = more[:2] if biases else (None, None)
    w_hr = more[-1] if len(more) % 2 else None
    step.hidden_size = w_ih.shape[0] // step.gates

    def one(state: Any, gates: Any) -> Any:
        state = step.advance(state, gates, w_hh, b_hh, w_hr)
        return state, output(state)

    return st.scan(one, step.joined(begin), affine(x, w_ih, b_ih), reverse=bool(reverse))


RULES: Rules = {
    "lstm.input": recurrent(LSTMStep), "gru.input": recurrent(GRUStep),
    "rnn_tanh.input": recurrent(RNNStep, nonlinearity="tanh"),
    "rnn_relu.input": recurrent(RNNStep, nonlinearity="relu"),
}
