"""Keras's recurrent layers, by `scan`, and the layers around layers of sequences."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import stele as st
from stele.interop.keras.activations import activation, unknown
from stele.interop.keras.call import Call, Kind, Kinds, Rule, kept, named
from stele.interop.keras.options import Options
from stele.nn import functional as F

MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "concat": lambda x, z: st.concatenate([x, z], axis=-1), "sum": lambda x, z: x + z, "ave": lambda x, z: (x + z) / 2,
    "mul": lambda x, z: x * z}


def recurrence(cell: Callable[..., Any], gates: int, states: int, place: str) -> Rule:
    """A recurrent layer of cells with so many gates and states; their variables are under the name of the cell."""
    def rule(c: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
        kernel, recurrent, bias = (c[f"{place}/{name}"] for name in ("kernel", "recurrent_kernel", "bias"))
        units, mask = recurrent.shape[0], c.mask if mask is None else mask
        begin = initial_state if isinstance(initial_state, list) else [initial_state] if initial_state is not None \
            else [st.zeros((x.shape[0], units), dtype=c.dtype)] * states
        first, *more = (bias[0], bias[1]) if bias is not None and bias.ndim == 2 else (bias,)
        wide = st.swapaxes(dropped(c, "dropout", x) @ kernel, 0, 1)
        step = cell(c, recurrent, more[0] if more else None, units)
        keep = dropped(c, "recurrent_dropout", begin[0][:, None] * 0 + 1)[:, 0]
        zeros = c.options.flag("zero_output_for_mask")

        def one(state: Any, row: Any) -> Any:
            now, on = row if mask is not None else (row, None)
            new = step(now if first is None else now + first, state[0] * keep, *state)
            if on is None:
                return new, new[0]
            held = tuple(st.where(on[:, None], a, b) for a, b in zip(new, state))
            return held, st.where(on[:, None], new[0], 0.0) if zeros else held[0]

        back = c.options.flag("go_backwards")
        xs = wide if mask is None else (wide, st.swapaxes(mask, 0, 1))
        last, y = st.scan(one, tuple(begin), xs, reverse=back)
        if c.options.flag("return_sequences"):
            y = st.swapaxes(st.flip(y, axis=0) if back else y, 0, 1)
        else:
            y = y[0] if back else y[-1]
        return (y, *last) if c.options.flag("return_state") else y

    return rule


def dropped(c: Call, name: str, x: Any) -> Any:
    """x (N, T, F) with the same features left out in all of its steps, while the model is trained."""
    p = c.options.number(name, 0.0)
    return x * F.dropout(st.ones((x.shape[0], 1, x.shape[2]), dtype=x.dtype), p) if c.run.training and p else x


def parts(x: Any, units: int, n: int) -> list[Any]:
    """Gates side by side, apart."""
    return [x[:, k * units:(k + 1) * units] for k in range(n)]


def rnn(c: Call, w: Any, b: Any, units: int) -> Any:
    """h = f(x + h W)."""
    f = activation(c)
    return lambda x, h, old: (f(x + h @ w),)


def lstm(c: Call, w: Any, b: Any, units: int) -> Any:
    """Gates i, f, c, o in this order."""
    f, g = activation(c), activation(c, "recurrent_activation")

    def step(x: Any, h: Any, old: Any, carry: Any) -> Any:
        i, forget, new, o = parts(x + h @ w, units, 4)
        carry = g(forget) * carry + g(i) * f(new)
        return g(o) * f(carry), carry

    return step


def gru(c: Call, w: Any, b: Any, units: int) -> Any:
    """Gates z, r, h in this order; the reset is applied behind the product, or before it."""
    f, g = activation(c), activation(c, "recurrent_activation")
    after = c.options.flag("reset_after", True)

    def step(x: Any, h: Any, old: Any) -> Any:
        wide = x[:, :2 * units]
        whole = h @ (w if after else w[:, :2 * units])
        whole = whole if b is None else whole + b
        z, r = (g(part) for part in parts(wide + whole[:, :2 * units], units, 2))
        inner = r * whole[:, 2 * units:] if after else (r * h) @ w[:, 2 * units:]
        return (z * old + (1 - z) * f(x[:, 2 * units:] + inner),)

    return step


def sequence_mask(c: Call, y: Any) -> Any:
    """The mask goes on with the sequence; states have none."""
    first = c.mask if c.options.flag("return_sequences") else None
    return [first, *[None] * (len(y) - 1)] if isinstance(y, tuple) else first


def lacks(*activations: str) -> Callable[[Options], str | None]:
    """What a recurrent layer has no rule for."""
    f = unknown(*activations)
    return lambda options: "stateful" if options.get("stateful") else f(options)


def both_ways(options: Options) -> Mapping[str, Any]:
    """The layers of both directions, as Keras makes them of the one that is given."""
    one, other = options.get("layer"), options.get("backward_layer")
    if not isinstance(one, dict) or not isinstance(one.get("config"), dict):
        raise options.wrong("layer", "a layer")
    other = other if isinstance(other, dict) else {**one, "config": {
        **one["config"], "go_backwards": not one["config"].get("go_backwards", False)}}
    return {f"{way}_layer": {**layer, "config": {
        **layer["config"], "name": f"{way}_{str(layer['config'].get('name')).removeprefix(f'{way}_')}",
        "zero_output_for_mask": layer["config"].get("return_sequences", False)}}
        for way, layer in (("forward", one), ("backward", other))}


def bidirectional(c: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
    """Both directions, merged."""
    mask = c.mask if mask is None else mask
    half = len(initial_state) // 2 if initial_state else 0
    begins = (initial_state[:half], initial_state[half:]) if initial_state else (None, None)
    made = [c.part(f"{way}_layer", x, mask, initial_state=begin) for way, begin in zip(("forward", "backward"), begins)]
    (y, *states), (z, *more) = (one if isinstance(one, tuple) else (one,) for one in made)
    z = st.flip(z, axis=1) if z.ndim == 3 else z
    if c.options.get("merge_mode", "concat") is None:
        return (y, z, *states, *more)
    y = MERGES[c.options.word("merge_mode", MERGES, "concat")](y, z)
    return (y, *states, *more) if states else y


def both_masks(c: Call, y: Any) -> Any:
    """The mask goes on with sequences."""
    first = y[0] if isinstance(y, tuple) else y
    mask = c.mask if first.ndim == 3 else None
    return [mask if one.ndim == 3 else None for one in y] if isinstance(y, tuple) else mask


def each_step(c: Call, x: Any, mask: Any = None) -> Any:
    """A layer on each step of x (N, T, *)."""
    y = c.part("layer", x.reshape((x.shape[0] * x.shape[1], *x.shape[2:])))
    return y.reshape((*x.shape[:2], *y.shape[1:]))


def variables(place: str) -> Any:
    """Those of a cell."""
    return named("kernel recurrent_kernel bias:use_bias", "cell", f"{place}/")


KINDS: Kinds = {
    "SimpleRNN": Kind(recurrence(rnn, 1, 1, "simple_rnn_cell"), variables("simple_rnn_cell"), mask=sequence_mask,
                      lacks=lacks("activation")),
    "GRU": Kind(recurrence(gru, 3, 1, "gru_cell"), variables("gru_cell"), mask=sequence_mask,
                lacks=lacks("activation", "recurrent_activation")),
    "LSTM": Kind(recurrence(lstm, 4, 2, "lstm_cell"), variables("lstm_cell"), mask=sequence_mask,
                 lacks=lacks("activation", "recurrent_activation")),
    "Bidirectional": Kind(bidirectional, parts=both_ways, mask=both_masks),
    "TimeDistributed": Kind(each_step, parts=lambda options: {"layer": options.get("layer")}, mask=kept),
}
