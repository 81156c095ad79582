"""ONNX's RNN, GRU and LSTM, by `scan`: one direction after the other."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.onnx.values import Call, Rules
from stele.nn import functional as F

USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
Activation = Callable[[Any], Any]


def activation(name: str, alpha: Any, beta: Any) -> Activation:
    """An activation by ONNX's name."""
    known: dict[str, Activation] = {
        "relu": st.relu, "tanh": st.tanh, "sigmoid": st.sigmoid, "softsign": F.softsign, "softplus": F.softplus,
        "leakyrelu": lambda x: F.leaky_relu(x, 0.01 if alpha is None else alpha),
        "thresholdedrelu": lambda x: st.where(x > (1.0 if alpha is None else alpha), x, 0.0),
        "elu": lambda x: F.elu(x, 1.0 if alpha is None else alpha),
        "hardsigmoid": lambda x: st.clip((0.2 if alpha is None else alpha) * x + (0.5 if beta is None else beta), 0, 1),
        "scaledtanh": lambda x: alpha * st.tanh(beta * x), "affine": lambda x: alpha * x + beta,
    }
    if name.lower() not in known:
        raise DataError(f"there is no activation {name!r}; there are {', '.join(known)}")
    return known[name.lower()]


def recurrence(cell: Callable[..., Any], gates: int, states: int) -> Any:
    """A recurrent layer of cells with so many gates and states."""
    def rule(c: Call, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, *given: Any) -> Any:
        hidden, batch_first = r.shape[2], bool(c.get("layout", 0))
        x = st.permute_dims(x, (1, 0, 2)) if batch_first else x
        starts = [None if s is None else st.permute_dims(s, (1, 0, 2)) if batch_first else s for s in given[:states]]
        peephole = given[states] if len(given) > states else None
        direction, fs = c.get("direction", "forward"), functions(c, len(w), c.node.op)
        ys: list[Any] = []
        lasts: list[list[Any]] = []
        for k in range(w.shape[0]):
            backward = direction == "reverse" or k == 1
            init = [st.zeros((x.shape[1], hidden), dtype=x.dtype) if s is None else s[k] for s in starts]
            init += [st.zeros((x.shape[1], hidden), dtype=x.dtype)] * (states - len(init))
            bias = st.zeros(2 * gates * hidden, dtype=x.dtype) if b is None else b[k]
            step = cell(c, w[k], r[k], bias, hidden, fs[k], None if peephole is None else peephole[k])
            last, y = walked(step, x, init, lengths, backward)
            ys.append(y)
            lasts.append(last)
        y, last = st.stack(ys, axis=1), [st.stack([part[j] for part in lasts]) for j in range(states)]
        if batch_first:
            y, last = st.permute_dims(y, (2, 0, 1, 3)), [st.permute_dims(s, (1, 0, 2)) for s in last]
        return (y, *last)

    return rule


def functions(c: Call, directions: int, kind: str) -> list[list[Activation]]:
    """The activations of each direction of a kind of recurrence."""
    usual = USUAL[kind]
    names = c.get("activations") or usual * directions
    alphas, betas = list(c.get("activation_alpha") or []), list(c.get("activation_beta") or [])
    made = [activation(name, alphas[k] if k < len(alphas) else None, betas[k] if k < len(betas) else None)
            for k, name in enumerate(names)]
    return [made[k * len(usual):(k + 1) * len(usual)] for k in range(directions)]


def walked(step: Callable[..., Any], x: Any, init: list[Any], lengths: Any, backward: bool) -> tuple[list[Any], Any]:
    """The last states and all outputs of one direction; a sequence that is over keeps its state, and gives zeros."""
    steps = st.arange(x.shape[0])

    def one(state: Any, row: Any) -> Any:
        now, k = row
        new = step(now, *state)
        if lengths is None:
            return new, new[0]
        on = (k < lengths).reshape((-1, 1))
        return tuple(st.where(on, a, b) for a, b in zip(new, state)), st.where(on, new[0], 0.0).astype(x.dtype)

    last, y = st.scan(one, tuple(init), (x, steps), reverse=backward)
    return list(last), y


def held(x: Any, c: Call) -> Any:
    """What goes into an activation, held to a bound where there is one."""
    clip = c.get("clip")
    return x if clip is None else st.clip(x, -clip, clip)


def rnn(c: Call, w: Any, r: Any, b: Any, n: int, fs: list[Activation], p: Any) -> Any:
    """h = f(x W + h R + b)."""
    bias = b[:n] + b[n:]
    return lambda x, h: (fs[0](held(x @ w.T + h @ r.T + bias, c)),)


def gru(c: Call, w: Any, r: Any, b: Any, n: int, fs: list[Activation], p: Any) -> Any:
    """Gates z, r, h in this order."""
    after = c.get("linear_before_reset", 0)

    def step(x: Any, h: Any) -> Any:
        wide, back = x @ w.T + b[:3 * n], h @ r[:2 * n].T + b[3 * n:5 * n]
        z = fs[0](held(wide[:, :n] + back[:, :n], c))
        reset = fs[0](held(wide[:, n:2 * n] + back[:, n:], c))
        if after:
            new = wide[:, 2 * n:] + reset * (h @ r[2 * n:].T + b[5 * n:])
        else:
            new = wide[:, 2 * n:] + (reset * h) @ r[2 * n:].T + b[5 * n:]
        return ((1 - z) * fs[1](held(new, c)) + z * h,)

    return step


def lstm(c: Call, w: Any, r: Any, b: Any, n: int, fs: list[Activation], p: Any) -> Any:
    """Gates i, o, f, c in this order, with peepholes for i, o and f."""
    bias = b[:4 * n] + b[4 * n:]
    return lambda x, h, cell: gated(c, x @ w.T + h @ r.T + bias, cell, fs, p)


def gated(c: Call, gates: Any, cell: Any, fs: list[Activation], p: Any) -> tuple[Any, Any]:
    """The state of an LSTM and its cell, of what goes into the gates."""
    n = cell.shape[-1]
    look = (0.0, 0.0, 0.0) if p is None else (p[:n], p[n:2 * n], p[2 * n:])
    i, o, f, g = (gates[:, k * n:(k + 1) * n] for k in range(4))
    i = fs[0](held(i + look[0] * cell, c))
    f = 1 - i if c.get("input_forget", 0) else fs[0](held(f + look[2] * cell, c))
    new = f * cell + i * fs[1](held(g, c))
    o = fs[0](held(o + look[1] * new, c))
    return o * fs[2](new), new


RULES: Rules = {
    "RNN": recurrence(rnn, 1, 1), "GRU": recurrence(gru, 3, 1), "LSTM": recurrence(lstm, 4, 2),
}
