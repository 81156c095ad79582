"""Recurrent layers, each one `scan` over time."""
from __future__ import annotations

from math import sqrt
from typing import Any

from stele import functions as F
from stele.ir.door import public
from stele.nn import init
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import positive
from stele.scan import scan
from stele.tensor import Tensor


class Recurrent(Module):
    """Weights by PyTorch's names and layouts: weight_ih_l0 (gates*hidden_size, input_size), weight_hh_l0 ..."""

    gates: int

    @public
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        name = type(self).__name__
        inputs = positive(input_size, f"input_size of {name}")
        hidden = positive(hidden_size, f"hidden_size of {name}")
        self.hidden, self.layers, self.batch_first = hidden, positive(num_layers, f"num_layers of {name}"), batch_first
        for k in range(self.layers):
            for name, shape in (("weight_ih", (self.gates * hidden, inputs if k == 0 else hidden)),
                                ("weight_hh", (self.gates * hidden, hidden)),
                                ("bias_ih", (self.gates * hidden,)), ("bias_hh", (self.gates * hidden,))):
                setattr(self, f"{name}_l{k}", init.uniform(shape, 1 / sqrt(hidden)))

    def extra_repr(self) -> str:
        inputs = vars(self)["weight_ih_l0"].shape[1]
        return f"{inputs}, {self.hidden}" + f", num_layers={self.layers}" * (self.layers != 1) + \
            ", batch_first=True" * self.batch_first

    def time_first(self, x: Tensor) -> Tensor:
        """(T, N, features)."""
        x, inputs = given(self, x), self.weights(0)[0].shape[1]
        if x.ndim != 3 or x.shape[-1] != inputs:
            order, one = ("N, T", "x[None]") if self.batch_first else ("T, N", "x[:, None]")
            raise wrong(self, f"({order}, {inputs})", x, {
                f"Write {one} for one sequence.": x.ndim == 2 and x.shape[1] == inputs,
                "Write x[..., None] for one feature.": x.ndim == 2 and inputs == 1,
                "Features stand on the last axis: write st.moveaxis(x, 1, -1).": x.ndim == 3 and x.shape[1] == inputs})
        return x.permute(1, 0, 2) if self.batch_first else x

    def weights(self, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """weight_ih, weight_hh, bias_ih, bias_hh of layer k."""
        own: dict[str, Any] = vars(self)
        return tuple(own[f"{name}_l{k}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))  # type: ignore[return-value]

    def parts(self, x: Tensor) -> list[Tensor]:
        """The gates side by side on the last axis, apart."""
        return [x[..., k * self.hidden:(k + 1) * self.hidden] for k in range(self.gates)]


class GRU(Recurrent):
    """Gated recurrent units (Cho et al., 2014), reset after the product, gates in the order r, z, n.

    (T, N, input_size), or (N, T, input_size) with `batch_first`, -> all hidden states in the same order, and the last
    ones (num_layers, N, hidden_size).

    >>> import stele as st
    >>> y, h = GRU(3, 5)(st.zeros((7, 2, 3)))
    >>> y.shape, h.shape
    ((7, 2, 5), (1, 2, 5))
    """

    gates = 3

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, last = self.time_first(x), []
        for k in range(self.layers):
            h, y = self.layer(y, *self.weights(k))
            last.append(h)
        return (y.permute(1, 0, 2) if self.batch_first else y), F.stack(last)

    def layer(self, x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> tuple[Tensor, Tensor]:
        """(last hidden state, all of them) for one layer."""
        def step(h: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
            (a_r, a_z, a_n), (c_r, c_z, c_n) = self.parts(gates), self.parts(h @ w_hh.T + b_hh)
            r, z = F.sigmoid(a_r + c_r), F.sigmoid(a_z + c_z)
            n = F.tanh(a_n + r * c_n)
            h = (1 - z) * n + z * h
            return h, h

        return scan(step, F.zeros((x.shape[1], self.hidden), dtype=x.dtype), x @ w_ih.T + b_ih)


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), gates in the order i, f, g, o.

    (T, N, input_size), or (N, T, input_size) with `batch_first`, -> all hidden states in the same order, and the last
    hidden and cell states, each (num_layers, N, hidden_size).
    """

    gates = 4

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, last = self.time_first(x), []
        for k in range(self.layers):
            state, y = self.layer(y, *self.weights(k))
            last.append(state)
        hidden, cell = (F.stack([state[j] for state in last]) for j in (0, 1))
        return (y.permute(1, 0, 2) if self.batch_first else y), (hidden, cell)

    def layer(self, x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> tuple[Any, Tensor]:
        """((last hidden state, last cell state), all hidden states) for one layer."""
        def step(state: tuple[Tensor, Tensor], gates: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            h, c = state
            i, f, g, o = self.parts(gates + h @ w_hh.T + b_hh)
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
            h = F.sigmoid(o) * F.tanh(c)
            return (h, c), h

        zeros = F.zeros((x.shape[1], self.hidden), dtype=x.dtype)
        return scan(step, (zeros, zeros), x @ w_ih.T + b_ih)
