"""Recurrent layers, each one `scan` over time."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

from stele.arrays import functions as F
from stele.arrays.checked import operand
from stele.arrays.creation import zeros
from stele.arrays.random import dropout
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor
from stele.errors import ArgumentError, ShapeError
from stele.higher.scan import scan
from stele.interop.keywords import speaks
from stele.nn import init
from stele.nn.cells import GRUStep, LSTMStep, RNNStep, Step, affine, output
from stele.nn.module import Module, given, wrong
from stele.nn.utils.rnn import JoinedSequence, PackedSequence
from stele.ops.arguments import choice, flag, function, number, positive, times, whole
from stele.tracing import tree

Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]
Ragged = PackedSequence | JoinedSequence | None
PARTS = "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"


class Layered(Step):
    """The part that RNN, GRU and LSTM share: sizes, directions, and weights by PyTorch's names and layouts."""

    proj_size = 0

    @speaks
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False) -> None:
        name = type(self).__name__
        self.input_size = positive(input_size, f"input_size of {name}")
        self.hidden_size = positive(hidden_size, f"hidden_size of {name}")
        self.num_layers, self.bias = times(num_layers, f"num_layers of {name}", 1), flag(bias, f"bias of {name}")
        self.batch_first = flag(batch_first, f"batch_first of {name}")
        self.dropout = number(dropout, f"dropout of {name}", 0, 1)
        self.bidirectional = flag(bidirectional, f"bidirectional of {name}")
        hidden, out = self.gates * self.hidden_size, self.proj_size or self.hidden_size
        shapes: list[tuple[int, ...]] = [(), (hidden, out), (hidden,), (hidden,), (out, self.hidden_size)]
        for k, way in self.passes():
            shapes[0] = (hidden, self.input_size if k == 0 else out * (1 + self.bidirectional))
            for part, shape in zip(PARTS, shapes):
                if (bias or not part.startswith("bias")) and (self.proj_size or part != "weight_hr"):
                    setattr(self, f"{part}_l{k}{way}", init.zeros(shape))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights and biases anew."""
        init.redraw(self.parameters(), 1 / sqrt(self.hidden_size))

    def passes(self) -> list[tuple[int, str]]:
        """The layers, each in its directions, as the names of weights say them."""
        return [(k, way) for k in range(self.num_layers) for way in ("", "_reverse")[:1 + self.bidirectional]]

    def extra_repr(self) -> str:
        said = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
                "proj_size": 0}
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *(
            f"{name}={getattr(self, name)}" for name, usual in said.items() if getattr(self, name) != usual)])

    def weights(self, k: int, way: str = "") -> Weights:
        """The tensors weight_ih, weight_hh, bias_ih, bias_hh and weight_hr of layer k, None for what it has not."""
        return tuple(getattr(self, f"{part}_l{k}{way}", None) for part in PARTS)     # type: ignore[return-value]

    def time_first(self, x: Tensor) -> Tensor:
        """The input with time first: (T, N, features), or (T, features)."""
        x, inputs = given(self, x), self.input_size
        if x.ndim not in (2, 3) or x.shape[-1] != inputs:
            order = "N, T" if self.batch_first else "T, N"
            raise wrong(self, f"({order}, {inputs}) or (T, {inputs})", x, {
                "Write x[..., None] for one feature.": x.ndim == 2 and inputs == 1,
                "Features stand on the last axis: write st.moveaxis(x, 1, -1).": x.ndim == 3 and x.shape[1] == inputs})
        return x.permute(1, 0, 2) if self.batch_first and x.ndim == 3 else x

    def forward(self, x: Any, hx: Any = None) -> tuple[Any, Any]:
        ordered: Callable[[Tensor], Tensor] = lambda x: self.time_first(x.permute(1, 0, 2) if self.batch_first else x)
        if isinstance(x, PackedSequence):
            y, last = self.run(ordered(x.padded), hx, x)
            return x._replace(padded=y), last
        if isinstance(x, JoinedSequence):
            y, last = self.run(ordered(x.data), hx, x)
            return x._replace(data=y), last
        y = self.time_first(x)
        if y.ndim == 2:
            rows: Callable[[Tensor], Tensor] = lambda h: h.unsqueeze(1)
            one: Callable[[Tensor], Tensor] = lambda h: h.squeeze(1)
            y, last = self.run(rows(y), hx if hx is None else tree.map(rows, hx), None)
            return one(y), tree.map(one, last)
        y, last = self.run(y, hx, None)
        return (y.permute(1, 0, 2) if self.batch_first else y), last

    def run(self, y: Tensor, hx: Any, ragged: Ragged) -> tuple[Tensor, Any]:
        """The outputs of all layers over time, and the last states of each."""
        ways, last = 1 + self.bidirectional, list[Any]()
        begin = self.begin(hx, ragged.last.shape[0] if isinstance(ragged, JoinedSequence) else y.shape[1])
        for k in range(self.num_layers):
            made = [self.layer(y, begin and self.joined([h[k * ways + way] for h in begin]),
                               self.weights(k, "_reverse" * way), ragged, bool(way)) for way in range(ways)]
            last += [state for state, _ in made]
            y = made[0][1] if ways == 1 else F.concatenate([out for _, out in made], axis=-1)
            if self.dropout and self.training and k + 1 < self.num_layers:
                y = y * 0.0 if self.dropout == 1 else dropout(y, self.dropout)
        return y, self.stacked(last)

    def begin(self, hx: Any, batch: Any) -> list[Tensor] | None:
        """The parts of the first states of all layers, or None where none were given; raises ShapeError for others."""
        if hx is None:
            return None
        name = type(self).__name__
        parts = [operand(part, f"the state that this {name} begins with") for part in self.parted(hx)]
        many = self.num_layers * (1 + self.bidirectional)
        sizes = [(many, batch, size) for size in (self.proj_size or self.hidden_size, self.hidden_size)]
        for part, shape in zip(parts, sizes):
            if tuple(part.shape) != shape:
                raise ShapeError(f"the state that this {name} begins with is {shape}, layers first, got {part.shape}")
        return parts

    def stacked(self, states: Sequence[Any]) -> Any:
        """The states of all layers as one."""
        return self.joined([F.stack(list(parts)) for parts in zip(*map(self.parted, states))])

    def layer(self, x: Tensor, state: Any, weights: Weights, ragged: Ragged, reverse: bool) -> tuple[Any, Tensor]:
        """The last state of one layer in one direction, and what it gives at all times."""
        w_ih, w_hh, b_ih, b_hh, w_hr = weights

        def step(state: Any, x: Any) -> tuple[Any, Tensor]:
            state = self.advance(state, affine(x, w_ih, b_ih), w_hh, b_hh, w_hr)
            return state, output(state)

        def padded(state: Any, part: Any) -> tuple[Any, Tensor]:
            new, y = step(state, part[0])
            kept = [where(part[1], a, b) for a, b in zip(self.parted(new), self.parted(state))]
            return self.joined(kept), where(part[1], y, 0.0)

        none = self.zeros(x.shape[1], affine(x, w_ih, b_ih), w_hr)
        if isinstance(ragged, JoinedSequence):
            return self.columns(step, none, state, x, ragged, reverse)
        state = none if state is None else state
        return scan(step, state, x, reverse=reverse) if ragged is None else \
            scan(padded, state, (x, ragged.alive()), reverse=reverse)

    def columns(self, step: Callable[[Any, Any], tuple[Any, Tensor]], none: Any, begin: Any, x: Tensor,
                ragged: JoinedSequence, reverse: bool) -> tuple[Any, Tensor]:
        """The same for sequences one behind the other, each of which begins anew, with zeros where nothing is given."""
        def one(state: Any, part: Any) -> tuple[Any, list[Tensor]]:
            new, number = part[1].unsqueeze(-1), F.maximum(part[2], 0)
            first = self.parted(none) if begin is None else [h[number] for h in self.parted(begin)]
            state, _ = step(self.joined([where(new, a, b) for a, b in zip(first, self.parted(state))]), part[0])
            return state, self.parted(state)

        _, parts = scan(one, none, (x, ragged.begins(reverse), ragged.number), reverse=reverse)
        ends = ragged.first if reverse else ragged.last
        last = self.joined([part.reshape(-1, part.shape[-1])[ends] for part in parts])
        return last, where(ragged.number.unsqueeze(-1) >= 0, parts[0], 0.0)


class RNN(RNNStep, Layered):
    """Elman's recurrent layer: x -> (all hidden states of the last layer, the last ones of all layers).

    Each step is h = tanh(x W + h U + bias), or relu by `nonlinearity`. x is (T, N, `input_size`), (N, T, input_size)
    with `batch_first`, or (T, input_size) of one sequence; the first result is of the same order with `hidden_size`
    features, twice as many when `bidirectional`, where backward states stand behind forward ones. The other is
    (`num_layers` * directions, N, hidden_size), as is `hx`, which forward takes for the zeros that it else begins with.
    Between layers elements are dropped with the probability `dropout` in training. x may be an
    `nn.utils.rnn.PackedSequence` of ragged sequences, or a `JoinedSequence` of them without padding, and the first
    result is then one, too.

    Weights are PyTorch's: weight_ih_l0 (hidden_size, input_size), weight_hh_l0, bias_ih_l0, bias_hh_l0 (no biases with
    bias=False: `bias`), weight_ih_l0_reverse ..., uniform within 1 / sqrt(hidden_size). Of floats, in the
    dtype of x and the weights, where they meet. Raises ShapeError for an input or a state of other axes.

    >>> y, h = nn.RNN(3, 5, bidirectional=True)(st.zeros((7, 2, 3)))
    >>> y.shape, h.shape
    ((7, 2, 10), (2, 2, 5))
    """

    @speaks
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False
                 ) -> None:
        self.nonlinearity = choice(nonlinearity, "nonlinearity of RNN", ("tanh", "relu"))
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)


class GRU(GRUStep, Layered):
    """Gated recurrent units (Cho et al., 2014): x -> (all hidden states of the last layer, last hidden states of all).

    x is (T, N, `input_size`), (N, T, input_size) with `batch_first`, or (T, input_size); arguments (`num_layers`,
    `bias`, `dropout`, `bidirectional`), results and `hx` are as of `RNN`. A step: r, z = sigmoid(x W + h U) in parts,
    n = tanh(x W + bias + r * (h U + bias)), h = (1 - z) * n + z * h: reset after the product, as PyTorch and cuDNN.
    Weights are PyTorch's too: weight_ih_l0 (3 `hidden_size`, input_size), weight_hh_l0, bias_ih_l0, bias_hh_l0 ...,
    gates in the order r, z, n, uniform within 1 / sqrt(hidden_size). Of floats. Raises ShapeError for an input of other
    axes.

    >>> y, h = nn.GRU(3, 5)(st.zeros((7, 2, 3)))
    >>> y.shape, h.shape
    ((7, 2, 5), (1, 2, 5))
    """


class LSTM(LSTMStep, Layered):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997): x -> (all hidden states, (last hidden, last cell)).

    x is (T, N, `input_size`), (N, T, input_size) with `batch_first`, or (T, input_size); arguments (`num_layers`,
    `bias`, `dropout`, `bidirectional`) and results are as of `RNN`, `hx` is a pair (hidden, cell). Each step:
    i, f, o = sigmoid(x W + h U), g = tanh(x W + h U), c = f * c + i * g, h = o * tanh(c), with the forget gate of Gers
    et al. (2000); with `proj_size` h is its product with weight_hr_l0 (proj_size, hidden_size) (Sak et al., 2014).
    Weights are PyTorch's: weight_ih_l0 (4 `hidden_size`, input_size), weight_hh_l0, bias_ih_l0, bias_hh_l0 ..., gates
    in the order i, f, g, o, uniform within 1 / sqrt(hidden_size). Of floats. Raises ShapeError for an input of other
    axes.

    >>> y, (h, c) = nn.LSTM(3, 5, num_layers=2, batch_first=True)(st.zeros((2, 7, 3)))
    >>> y.shape, h.shape, c.shape
    ((2, 7, 5), (2, 2, 5), (2, 2, 5))
    """

    @speaks
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0
                 ) -> None:
        self.proj_size = whole(proj_size, "proj_size of LSTM", 0, positive(hidden_size, "hidden_size of LSTM") - 1)
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)


class Recurrent(Module):
    """Any `cell` as a layer: x (T, N, features) -> (what it gives at all times, its last state).

    A cell is called as cell(x, state) with x (N, features), and returns the new state: a tensor, or a tuple of tensors
    whose first one it gives. The state that it begins with is `hx` of forward, or what the cell's `initial(x)` returns:
    nn.RNNCell, nn.GRUCell and nn.LSTMCell have that. With `batch_first` x is (N, T, features), with `reverse` time runs
    backward. Of any dtype. Raises ArgumentError where there is no state to begin with.

    >>> class Sum(nn.Module):
    ...     def forward(self, x, state):
    ...         return state + x
    >>> y, last = nn.Recurrent(Sum())(st.ones((3, 1, 2)), st.zeros((1, 2)))
    >>> y[:, 0, 0].tolist(), last.tolist()
    ([1.0, 2.0, 3.0], [[3.0, 3.0]])
    """

    @speaks
    def __init__(self, cell: Callable[[Any, Any], Any], batch_first: bool = False, reverse: bool = False) -> None:
        self.cell = function(cell, "cell of Recurrent")
        self.batch_first = flag(batch_first, "batch_first of Recurrent")
        self.reverse = flag(reverse, "reverse of Recurrent")

    def forward(self, x: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        x = given(self, x)
        if x.ndim < 2:
            raise wrong(self, "(T, N, features)", x, {})
        x = x.swapaxes(0, 1) if self.batch_first else x
        if hx is None:
            begin: Any = getattr(self.cell, "initial", None)
            if begin is None:
                raise ArgumentError(f"a {type(self.cell).__name__} says no state to begin with",
                                    hint="Give it one: layer(x, state), or write initial(self, x).")
            hx = begin(zeros(x.shape[1:], dtype=x.dtype, device=x.device))
        cell = self.cell

        def step(state: Any, x: Any) -> tuple[Any, Any]:
            state = cell(x, state)
            return state, output(state)

        last, y = scan(step, hx, x, reverse=self.reverse)
        return (y.swapaxes(0, 1) if self.batch_first else y), last
