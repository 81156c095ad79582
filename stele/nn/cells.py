"""What recurrent layers do in one step, and cells, which do no more."""
from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import init
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import choice, flag, instance, is_series, positive


def output(state: Any) -> Any:
    """What a state shows: itself, or the first of its parts."""
    return state[0] if is_series(state) else state


class Step(Module):
    """What a layer and its cell share: how many gates there are, and how the state moves on."""

    gates: ClassVar[int] = 1
    hidden_size: int

    def parted(self, state: Any) -> list[Tensor]:
        """The parts of a state."""
        return [state]

    def joined(self, parts: Sequence[Tensor]) -> Any:
        """The state of these parts."""
        return parts[0]

    def advance(self, state: Any, gates: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Any:
        """The new state; `gates` is what the input adds to them."""
        raise NotImplementedError

    def zeros(self, batch: Any, like: Tensor, w_hr: Tensor | None) -> Any:
        """The state that a layer begins with."""
        return zeros((batch, self.hidden_size), dtype=like.dtype, device=like.device)

    def apart(self, x: Tensor) -> list[Tensor]:
        """The gates side by side on the last axis, apart."""
        return [x[..., k * self.hidden_size:(k + 1) * self.hidden_size] for k in range(self.gates)]


def affine(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """What an input, or the last state, adds to the gates: x @ w.T, plus a bias where there is one."""
    return x @ w.T if b is None else x @ w.T + b


class RNNStep(Step):
    """A step of Elman's network (1990)."""

    nonlinearity: str

    def advance(self, state: Any, gates: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Any:
        h = affine(state, w_hh, b_hh) + gates
        return F.tanh(h) if self.nonlinearity == "tanh" else F.relu(h)


class GRUStep(Step):
    """A step of gated recurrent units, reset after the product."""

    gates = 3

    def advance(self, state: Any, gates: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Any:
        (a_r, a_z, a_n), (c_r, c_z, c_n) = self.apart(gates), self.apart(affine(state, w_hh, b_hh))
        r, z = F.sigmoid(a_r + c_r), F.sigmoid(a_z + c_z)
        n = F.tanh(a_n + r * c_n)
        return (1 - z) * n + z * state


class LSTMStep(Step):
    """A step of long short-term memory, whose hidden state may be projected."""

    gates = 4

    def parted(self, state: Any) -> list[Tensor]:
        if not is_series(state) or len(state) != 2:
            raise ShapeError(f"the state of {type(self).__name__} is a pair (hidden, cell)")
        return list(state)

    def joined(self, parts: Sequence[Tensor]) -> Any:
        return tuple(parts)

    def zeros(self, batch: Any, like: Tensor, w_hr: Tensor | None) -> Any:
        none = super().zeros(batch, like, None)
        return (none if w_hr is None else zeros((batch, w_hr.shape[0]), dtype=like.dtype, device=like.device)), none

    def advance(self, state: Any, gates: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Any:
        h, c = state
        i, f, g, o = self.apart(gates + h @ w_hh.T if b_hh is None else gates + h @ w_hh.T + b_hh)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        return (h if w_hr is None else h @ w_hr.T), c


class Cell(Step):
    """The part that RNNCell, GRUCell and LSTMCell share: sizes, and weights by PyTorch's names and layouts."""

    @speaks
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        name = type(self).__name__
        self.input_size = positive(input_size, f"input_size of {name}")
        self.hidden_size = positive(hidden_size, f"hidden_size of {name}")
        self.bias = flag(bias, f"bias of {name}")
        rows = self.gates * self.hidden_size
        self.weight_ih, self.weight_hh = (init.zeros((rows, n)) for n in (self.input_size, hidden_size))
        self.bias_ih, self.bias_hh = (init.zeros((rows,)) if bias else None for _ in range(2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights and biases anew."""
        init.redraw(self.parameters(), 1 / sqrt(self.hidden_size))

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ", bias=False" * (not self.bias)

    def initial(self, x: Tensor) -> Any:
        """Zeros, for x (N, features)."""
        return self.zeros(x.shape[0], x if x.dtype == self.weight_ih.dtype else x @ self.weight_ih.T, None)

    def forward(self, x: Tensor, hx: Any = None) -> Any:
        x = given(self, x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise wrong(self, f"(N, {self.input_size}) or ({self.input_size},)", x, {})
        rows = x if x.ndim == 2 else x.unsqueeze(0)
        if hx is None:
            parts = self.parted(self.initial(rows))
        else:
            wanted = (*x.shape[:-1], self.hidden_size)
            for part in (parts := self.parted(hx)):
                if tuple(instance(part, f"the state of {type(self).__name__}", Tensor).shape) != wanted:
                    raise ShapeError(f"the state of this {type(self).__name__} is {wanted}, got {part.shape}")
            parts = parts if x.ndim == 2 else [part.unsqueeze(0) for part in parts]
        gates = affine(rows, self.weight_ih, self.bias_ih)
        new = self.advance(self.joined(parts), gates, self.weight_hh, self.bias_hh, None)
        return new if x.ndim == 2 else self.joined([part.squeeze(0) for part in self.parted(new)])


class RNNCell(RNNStep, Cell):
    """One step of `RNN`: (x, h) -> the new h, tanh(x W + h U + bias), or relu by `nonlinearity`.

    x is (N, `input_size`) or (input_size,), h (N, `hidden_size`) or (hidden_size,), zeros without one. Weights are
    PyTorch's: weight_ih, weight_hh and, with `bias`, bias_ih and bias_hh. Of floats. Raises ShapeError for others.

    >>> nn.RNNCell(3, 5)(st.zeros((2, 3))).shape
    (2, 5)
    """

    @speaks
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        self.nonlinearity = choice(nonlinearity, "nonlinearity of RNNCell", ("tanh", "relu"))
        super().__init__(input_size, hidden_size, bias)


class GRUCell(GRUStep, Cell):
    """One step of `GRU`: (x, h) -> the new h.

    x is (N, `input_size`) or (input_size,), h (N, `hidden_size`) or (hidden_size,), zeros without one. Weights are
    PyTorch's: weight_ih, weight_hh and, with `bias`, bias_ih and bias_hh. Of floats. Raises ShapeError for others.

    >>> nn.GRUCell(3, 5)(st.zeros((2, 3)), st.ones((2, 5))).shape
    (2, 5)
    """


class LSTMCell(LSTMStep, Cell):
    """One step of `LSTM`: (x, (h, c)) -> the new (h, c).

    x is (N, `input_size`) or (input_size,), h and c are (N, `hidden_size`) or (hidden_size,), zeros without them.
    Weights are PyTorch's: weight_ih, weight_hh and, with `bias`, bias_ih and bias_hh. Of floats. Raises ShapeError for
    others.

    >>> h, c = nn.LSTMCell(3, 5)(st.zeros((2, 3)))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """
