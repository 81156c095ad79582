"""Recurrent layers, each one `scan` over time."""
from __future__ import annotations

from math import sqrt
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.tensor import Tensor
from stele.higher.scan import scan
from stele.ir.door import public
from stele.nn import init
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import positive


class Recurrent(Module):
    """The part that GRU and LSTM share: sizes, and weights by PyTorch's names and layouts."""

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
        """The input with time first: (T, N, features)."""
        x, inputs = given(self, x), self.weights(0)[0].shape[1]
        if x.ndim != 3 or x.shape[-1] != inputs:
            order, one = ("N, T", "x[None]") if self.batch_first else ("T, N", "x[:, None]")
            raise wrong(self, f"({order}, {inputs})", x, {
                f"Write {one} for one sequence.": x.ndim == 2 and x.shape[1] == inputs,
                "Write x[..., None] for one feature.": x.ndim == 2 and inputs == 1,
                "Features stand on the last axis: write st.moveaxis(x, 1, -1).": x.ndim == 3 and x.shape[1] == inputs})
        return x.permute(1, 0, 2) if self.batch_first else x

    def weights(self, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The tensors weight_ih, weight_hh, bias_ih and bias_hh of layer k."""
        own: dict[str, Any] = vars(self)
        return tuple(own[f"{name}_l{k}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))  # type: ignore[return-value]

    def parts(self, x: Tensor) -> list[Tensor]:
        """The gates side by side on the last axis, apart."""
        return [x[..., k * self.hidden:(k + 1) * self.hidden] for k in range(self.gates)]


class GRU(Recurrent):
    """Gated recurrent units (Cho et al., 2014): x -> (all hidden states of the last layer, last hidden states of all).

    x is (T, N, `input_size`), or (N, T, input_size) with `batch_first`; states are (T, N, `hidden_size`) in the same
    order, and (`num_layers`, N, hidden_size). Each step, from h = 0: r, z = sigmoid(x W + h U) in parts, n = tanh(x W +
    bias + r * (h U + bias)), h = (1 - z) * n + z * h: reset after the product, as PyTorch and cuDNN. Weights are
    PyTorch's too: weight_ih_l0 (3 hidden_size, input_size), weight_hh_l0, bias_ih_l0, bias_hh_l0 ..., gates in the
    order r, z, n, uniform within 1 / sqrt(hidden_size). In the dtype of x and the weights, where they meet. Raises
    ShapeError for an input of other axes.

    >>> y, h = nn.GRU(3, 5)(st.zeros((7, 2, 3)))
    >>> y.shape, h.shape
    ((7, 2, 5), (1, 2, 5))
    """

    gates = 3

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, last = self.time_first(x), list[Tensor]()
        for k in range(self.layers):
            h, y = self.layer(y, *self.weights(k))
            last.append(h)
        return (y.permute(1, 0, 2) if self.batch_first else y), F.stack(last)

    def layer(self, x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden state of one layer, and all of them."""
        def step(h: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
            (a_r, a_z, a_n), (c_r, c_z, c_n) = self.parts(gates), self.parts(h @ w_hh.T + b_hh)
            r, z = F.sigmoid(a_r + c_r), F.sigmoid(a_z + c_z)
            n = F.tanh(a_n + r * c_n)
            h = (1 - z) * n + z * h
            return h, h

        return scan(step, zeros((x.shape[1], self.hidden), dtype=x.dtype, device=x.device), x @ w_ih.T + b_ih)


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997): x -> (all hidden states, (last hidden, last cell)).

    x is (T, N, `input_size`), or (N, T, input_size) with `batch_first`; hidden states are (T, N, `hidden_size`) in the
    same order, those of the last layer; the last ones (`num_layers`, N, hidden_size), of all. Each step, from zeros: i,
    f, o = sigmoid(x W + h U), g = tanh(x W + h U), c = f * c + i * g, h = o * tanh(c), with the forget gate of Gers et
    al. (2000). Weights are PyTorch's: weight_ih_l0 (4 hidden_size, input_size), weight_hh_l0, bias_ih_l0, bias_hh_l0
    ..., gates in the order i, f, g, o, uniform within 1 / sqrt(hidden_size). In the dtype of x and the weights, where
    they meet. Raises ShapeError for an input of other axes.

    >>> y, (h, c) = nn.LSTM(3, 5, num_layers=2, batch_first=True)(st.zeros((2, 7, 3)))
    >>> y.shape, h.shape, c.shape
    ((2, 7, 5), (2, 2, 5), (2, 2, 5))
    """

    gates = 4

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, last = self.time_first(x), list[tuple[Tensor, Tensor]]()
        for k in range(self.layers):
            state, y = self.layer(y, *self.weights(k))
            last.append(state)
        hidden, cell = (F.stack([state[j] for state in last]) for j in (0, 1))
        return (y.permute(1, 0, 2) if self.batch_first else y), (hidden, cell)

    def layer(self, x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> tuple[Any, Tensor]:
        """The last hidden and cell state of one layer, and all hidden states."""
        def step(state: tuple[Tensor, Tensor], gates: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            h, c = state
            i, f, g, o = self.parts(gates + h @ w_hh.T + b_hh)
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
            h = F.sigmoid(o) * F.tanh(c)
            return (h, c), h

        none = zeros((x.shape[1], self.hidden), dtype=x.dtype, device=x.device)
        return scan(step, (none, none), x @ w_ih.T + b_ih)
