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
from stele.interop.keras.windows import CONVOLUTIONS, outer, over
from stele.nn import functional as F

MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "concat": lambda x, z: st.concatenate([x, z], axis=-1), "sum": lambda x, z: x + z, "ave": lambda x, z: (x + z) / 2,
    "mul": lambda x, z: x * z}


def recurrence(cell: Callable[..., Any], states: int, place: str) -> Rule:
    """A recurrent layer of cells with so many states; their variables are under the name of the cell."""
    def rule(c: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
        x, initial_state = apart(x, initial_state)
        kernel, recurrent, bias = (c[f"{place}/{name}"] for name in ("kernel", "recurrent_kernel", "bias"))
        first, *more = (bias[0], bias[1]) if bias is not None and bias.ndim == 2 else (bias,)
        wide = st.swapaxes(dropped(c, "dropout", x) @ kernel, 0, 1)
        step = cell(c, recurrent, more[0] if more else None, recurrent.shape[0])
        begin = begun(c, initial_state, (x.shape[0], recurrent.shape[0]), states)
        y, last = stepped(c, wide, begin, lambda now, *state: step(now if first is None else now + first, *state), mask)
        return (y, *last) if c.options.flag("return_state") else y

    return rule


def begun(c: Call, given: Any, shape: tuple[Any, ...], states: int) -> tuple[Any, ...]:
    """The states that a layer begins with: those that it is given, those it ended with if it is stateful, or zeros."""
    if given is not None:
        return tuple(given) if isinstance(given, list) else (given,)
    kept = [c[f"state_{k}"] for k in range(states)]
    return tuple(st.zeros(shape, dtype=c.dtype) if x is None else x for x in kept)


def stepped(c: Call, wide: Any, begin: tuple[Any, ...], step: Callable[..., Any], mask: Any) -> tuple[Any, Any]:
    """What a cell gives over all steps of its products (T, N, *), or at the last, and its states there.

    `step(now, h, *state)` takes h with what `recurrent_dropout` leaves of the first state.
    """
    mask = c.mask if mask is None else mask
    keep = dropped(c, "recurrent_dropout", begin[0][:, None] * 0 + 1)[:, 0]
    zeros = c.options.flag("zero_output_for_mask")

    def one(state: Any, row: Any) -> Any:
        now, on = row if mask is not None else (row, None)
        new = step(now, state[0] * keep, *state)
        if on is None:
            return new, new[0]
        on = on.reshape((on.shape[0], *(1,) * (new[0].ndim - 1)))
        held = tuple(st.where(on, a, b) for a, b in zip(new, state))
        return held, st.where(on, new[0], 0.0) if zeros else held[0]

    back = c.options.flag("go_backwards")
    last, y = st.scan(one, begin, wide if mask is None else (wide, st.swapaxes(mask, 0, 1)), reverse=back)
    for k, x in enumerate(last):
        if (kept := c.raw(f"state_{k}")) is not None:
            kept.assign(x.detach().astype(kept.dtype))
    if c.options.flag("return_sequences"):
        return st.swapaxes(st.flip(y, axis=0) if back else y, 0, 1), last
    return (y[0] if back else y[-1]), last


def convolved(c: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
    """An LSTM whose products are convolutions, over images (N, T, *): the state's of stride 1 and padding "same"."""
    x, initial_state = apart(x, initial_state)
    kernel, recurrent, bias = (c[f"conv_lstm_cell/{name}"] for name in ("kernel", "recurrent_kernel", "bias"))
    x = dropped(c, "dropout", x)
    flat = front(c, x.reshape((x.shape[0] * x.shape[1], *x.shape[2:])))
    wide = over(c, flat, outer(kernel), 1)
    wide = wide if bias is None else wide + bias.reshape((-1, *(1,) * (wide.ndim - 2)))
    wide = st.swapaxes(wide.reshape((*x.shape[:2], *wide.shape[1:])), 0, 1)
    w, around = outer(recurrent), [((k - 1) // 2, k // 2) for k in recurrent.shape[:-2]]
    begin = begun(c, initial_state and [front(c, one) for one in initial_state],
                  (x.shape[0], recurrent.shape[-2], *wide.shape[3:]), 2)
    step = gated(c, lambda h: CONVOLUTIONS[w.ndim - 2](h, w, None, 1, tuple(around)), recurrent.shape[-2])
    y, last = stepped(c, wide, begin, step, mask)
    y = behind(c, y.reshape((-1, *y.shape[2:]))).reshape((*y.shape[:2], *behind(c, y[:, 0]).shape[1:])) \
        if c.options.flag("return_sequences") else behind(c, y)
    return (y, *(behind(c, one) for one in last)) if c.options.flag("return_state") else y


def front(c: Call, x: Any) -> Any:
    """x with its channels behind the batch, which is where the layer has them or not."""
    return x if c.channels_first() else st.permute(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def behind(c: Call, x: Any) -> Any:
    """x, whose channels are behind the batch, in the layout of the layer."""
    return x if c.channels_first() else st.permute(x, (0, *range(2, x.ndim), 1))


def apart(x: Any, initial_state: Any) -> tuple[Any, Any]:
    """A sequence and the states to begin with, which Keras 2 gave as one list."""
    return (x[0], x[1:]) if isinstance(x, list) else (x, initial_state)


def dropped(c: Call, name: str, x: Any) -> Any:
    """x (N, T, *) with the same features left out in all of its steps, while the model is trained."""
    p = c.options.number(name, 0.0)
    return x * F.dropout(st.ones((x.shape[0], 1, *x.shape[2:]), dtype=x.dtype), p) if c.run.training and p else x


def parts(x: Any, units: int, n: int) -> list[Any]:
    """Gates side by side, apart."""
    return [x[:, k * units:(k + 1) * units] for k in range(n)]


def rnn(c: Call, w: Any, b: Any, units: int) -> Any:
    """h = f(x + h W)."""
    f = activation(c)
    return lambda x, h, old: (f(x + h @ w),)


def lstm(c: Call, w: Any, b: Any, units: int) -> Any:
    """Gates i, f, c, o in this order."""
    return gated(c, lambda h: h @ w, units)


def gated(c: Call, product: Callable[[Any], Any], units: int) -> Any:
    """A step of an LSTM, whose state goes through a product."""
    f, g = activation(c), activation(c, "recurrent_activation")

    def step(x: Any, h: Any, old: Any, carry: Any) -> Any:
        i, forget, new, o = parts(x + product(h), units, 4)
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


def stateful(options: Options) -> str | None:
    """States that are kept from call to call, of layers that have no rule for that."""
    within = [one["config"] for one in (options.get("layer"), options.get("backward_layer"))
              if isinstance(one, dict) and isinstance(one.get("config"), dict)]
    return "stateful" if any(values.get("stateful") for values in (options.values, *within)) else None


def convolution(options: Options) -> str | None:
    """What an LSTM of convolutions has no rule for."""
    return stateful(options) or GATES(options)


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
    x, initial_state = apart(x, initial_state)
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


GATES = unknown("activation", "recurrent_activation")

KINDS: Kinds = {
    "SimpleRNN": Kind(recurrence(rnn, 1, "simple_rnn_cell"), variables("simple_rnn_cell"), mask=sequence_mask,
                      lacks=unknown("activation"), states=1),
    "GRU": Kind(recurrence(gru, 1, "gru_cell"), variables("gru_cell"), mask=sequence_mask, lacks=GATES, states=1),
    "LSTM": Kind(recurrence(lstm, 2, "lstm_cell"), variables("lstm_cell"), mask=sequence_mask, lacks=GATES, states=2),
    **{f"ConvLSTM{n}D": Kind(convolved, variables("conv_lstm_cell"), mask=sequence_mask, lacks=convolution)
       for n in (1, 2, 3)},
    "Bidirectional": Kind(bidirectional, parts=both_ways, mask=both_masks, lacks=stateful),
    "TimeDistributed": Kind(each_step, parts=lambda options: {"layer": options.get("layer")}, mask=kept),
}
