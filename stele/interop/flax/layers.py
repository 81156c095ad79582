"""How Flax keeps the tensors of each kind of layer: under which names, in which order of axes."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stele import nn
from stele.errors import DataError
from stele.ir.graph import Array

STEPPED = nn.RNN | nn.GRU | nn.LSTM     # what Flax makes of a cell
Arrays = dict[tuple[str, ...], Array]
"""By collection ("params", "batch_stats") and the names below a layer."""


class Layout(NamedTuple):
    """What Flax keeps of a layer, and the tensors of the layer from that, by name."""

    there: Callable[[Any, str], Arrays]
    back: Callable[[Any, Mapping[tuple[str, ...], Array]], dict[str, Array]]
    checked: Callable[[Any, str], None] = lambda layer, style: None     # raises for numbers that have no place there


def held(layer: Any, name: str) -> Array | None:
    """The numbers of a tensor, None where the layer has none."""
    found: Any = layer.__dict__.get(name)
    return None if found is None else np.array(found.numpy())


def inner(layer: Any, found: Mapping[tuple[str, ...], Array]) -> Arrays:
    """What is kept of a layer that Flax makes of a cell: the cell is within it."""
    is_layer = isinstance(layer, STEPPED)
    return {(where, "cell", *names) if is_layer else (where, *names): x for (where, *names), x in found.items()}


def same(x: Array) -> Array:
    """As it is."""
    return x


def kernel(w: Array) -> Array:
    """Weights (O, I, *) as a kernel (*, I, O)."""
    return np.moveaxis(w, (0, 1), (-1, -2))


def weight(k: Array) -> Array:
    """A kernel (*, I, O) as weights (O, I, *)."""
    return np.moveaxis(k, (-1, -2), (0, 1))


def spread(w: Array) -> Array:
    """Weights (I, O, *) of a transposed convolution as a kernel (*, I, O), turned round: Flax does not turn it."""
    return np.flip(np.moveaxis(w, (0, 1), (-2, -1)), tuple(range(w.ndim - 2)))


def gathered(k: Array) -> Array:
    """A kernel of a transposed convolution as weights."""
    return np.moveaxis(np.flip(k, tuple(range(k.ndim - 2))), (-2, -1), (0, 1))


Row = tuple[str, str, str, Callable[[Array], Array], Callable[[Array], Array]]


def rows(*table: Row) -> Layout:
    """A layer whose tensors are kept one by one: the collection and name there, the name here, and both ways."""
    def there(layer: Any, style: str) -> Arrays:
        return {(where, name): f(x) for where, name, own, f, _ in table if (x := held(layer, own)) is not None}

    def back(layer: Any, found: Mapping[tuple[str, ...], Array]) -> dict[str, Array]:
        return {own: f(found[where, name]) for where, name, own, _, f in table if (where, name) in found}

    return Layout(there, back)


def row(name: str, own: str, there: Callable[[Array], Array] = same, back: Callable[[Array], Array] = same,
        where: str = "params") -> Row:
    """One tensor."""
    return where, name, own, there, back


def suffix(cell: Any) -> str:
    """What stands behind the names of a layer's one pass; a cell's have nothing. Raises DataError for several."""
    if not isinstance(cell, STEPPED):
        return ""
    if cell.num_layers > 1 or cell.bidirectional or cell.proj_size:
        raise DataError(f"a cell of Flax is one layer in one direction, got {lined(cell)}",
                        hint="Hold one layer for each cell.")
    return "_l0"


def lined(layer: Any) -> str:
    """A layer in one line."""
    return f"{type(layer).__name__}({layer.extra_repr()})"


def gates(letters: Sequence[str], with_input: bool, states: Sequence[str] = ()) -> Layout:
    """A cell whose gates are layers of their own, i* and h*: `states` names those that have a bias of the state, which
    there is no other for; biases of the others are one, with the input's (`with_input`) or with the state's.
    """
    def there(layer: Any, style: str) -> Arrays:
        end, found = suffix(layer), Arrays()
        tensors = [held(layer, f"{name}{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        if any(x is None for x in tensors):
            raise DataError(f"a cell of Flax has biases, got {lined(layer)}", hint="Write bias=True.")
        w, u, b, c = (np.split(x, len(letters)) for x in tensors if x is not None)
        if style == "nnx":
            return inner(layer, fused(tensors, with_input, [letters.index(gate) for gate in states]))
        for k, gate in enumerate(letters):
            found["params", f"i{gate}", "kernel"], found["params", f"h{gate}", "kernel"] = w[k].T, u[k].T
            apart = gate in states
            if with_input:
                found["params", f"i{gate}", "bias"] = b[k] if apart else b[k] + c[k]
            if apart or not with_input:
                found["params", f"h{gate}", "bias"] = c[k] if apart and with_input else b[k] + c[k]
        return inner(layer, found)

    def back(layer: Any, found: Mapping[tuple[str, ...], Array]) -> dict[str, Array]:
        end = suffix(layer)
        found = {(where, *[n for n in names if n != "cell"]): x for (where, *names), x in found.items()}
        if ("params", "dense_i", "kernel") in found:
            w, u, one = (found["params", f"dense_{side}", name].T for side, name in (
                ("i", "kernel"), ("h", "kernel"), ("i" if with_input else "h", "bias")))
            b, c = (one, np.zeros_like(one)) if with_input else (np.zeros_like(one), one)
        else:
            w, u, b, c = (np.concatenate([
                part(found, f"{side}{gate}", name) for gate in letters]) for name in WEIGHTS for side in "ih")
        return {f"weight_ih{end}": w, f"weight_hh{end}": u, f"bias_ih{end}": b, f"bias_hh{end}": c}

    return Layout(there, back)


def part(found: Mapping[tuple[str, ...], Array], layer: str, name: str) -> Array:
    """The weights or the bias of one gate; a bias that there is not is zeros."""
    x = found.get(("params", layer, name))
    return np.zeros_like(found["params", layer, "kernel"][0]) if x is None else x.T


def fused(tensors: Sequence[Array | None], with_input: bool, apart: Sequence[int]) -> Arrays:
    """A cell of nnx, whose gates are side by side: it has one bias, without those of the state that are `apart`."""
    w, u, b, c = (x for x in tensors if x is not None)
    size = u.shape[1]
    for k in apart:
        c[k * size:(k + 1) * size] = 0
    return {("params", "dense_i", "kernel"): w.T, ("params", "dense_h", "kernel"): u.T,
            ("params", "dense_i" if with_input else "dense_h", "bias"): b + c}


def side_by_side(given: Mapping[tuple[str, ...], Array]) -> dict[tuple[str, ...], Array]:
    """A tree in which the gates of each LSTMCell of nnx, which are apart, stand as those of OptimizedLSTMCell."""
    found = {**given}
    for path in [path[:-2] for path in given if path[-2:] == ("if_", "kernel")]:
        sides = {side: [f"{side}{gate}{'_' if side + gate == 'if' else ''}" for gate in "ifgo"] for side in "ih"}
        for side, name in (("i", "kernel"), ("h", "kernel"), ("h", "bias")):
            parts = [(*path, layer, name) for layer in sides[side]]
            if found.keys() >= {*parts}:
                found[(*path, f"dense_{side}", name)] = np.concatenate([found.pop(part) for part in parts], -1)
    return found


def stateless(layer: Any, style: str) -> None:
    """Raises DataError for a GRU whose new states have a bias of the old one, which nnx has no place for."""
    bias = held(layer, f"bias_hh{suffix(layer)}")
    if style == "nnx" and bias is not None and np.split(bias, 3)[2].any():
        raise DataError("a GRUCell of nnx has no bias of the state in new states, which a GRU here has, got one "
                        "other than 0", hint="Give the tree of linen: to_flax(module).")


WEIGHTS = "kernel", "bias"
ATTENTION, APART = ("query", "key", "value"), ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def heads_there(layer: Any, style: str) -> Arrays:
    """Attention: what is projected is apart there, and heads have an axis."""
    h, found = layer.num_heads, Arrays()
    if layer.bias_k is not None or layer.add_zero_attn:
        raise DataError(f"attention of Flax adds no keys and values of its own, got {lined(layer)}",
                        hint="Write add_bias_kv=False, add_zero_attn=False.")
    whole, bias = held(layer, "in_proj_weight"), held(layer, "in_proj_bias")
    parts = [held(layer, name) for name in APART] if whole is None else np.split(whole, 3)
    for k, (name, w) in enumerate(zip(ATTENTION, parts)):
        assert w is not None
        found["params", name, "kernel"] = w.T.reshape((w.shape[1], h, -1))
        if bias is not None:
            found["params", name, "bias"] = np.split(bias, 3)[k].reshape((h, -1))
    w, b = held(layer.out_proj, "weight"), held(layer.out_proj, "bias")
    assert w is not None
    found["params", "out", "kernel"] = w.T.reshape((h, -1, w.shape[0]))
    return found if b is None else found | {("params", "out", "bias"): b}


def heads_back(layer: Any, found: Mapping[tuple[str, ...], Array]) -> dict[str, Array]:
    """The same the other way round."""
    parts = [(k := found["params", name, "kernel"]).reshape((k.shape[0], -1)).T for name in ATTENTION]
    made = dict(zip(APART, parts)) if layer.in_proj_weight is None else {"in_proj_weight": np.concatenate(parts)}
    out = found["params", "out", "kernel"]
    made["out_proj.weight"] = out.reshape((-1, out.shape[-1])).T
    if ("params", "out", "bias") in found:
        made["in_proj_bias"] = np.concatenate([found["params", name, "bias"].reshape(-1) for name in ATTENTION])
        made["out_proj.bias"] = found["params", "out", "bias"]
    return made


BIAS = row("bias", "bias")
SCALE = row("scale", "weight")
AFFINE = rows(row("kernel", "weight", kernel, weight), BIAS)
TRANSPOSED = rows(row("kernel", "weight", spread, gathered), BIAS)
NORM = rows(SCALE, BIAS)
BATCH = rows(SCALE, BIAS, row("mean", "running_mean", where="batch_stats"),
             row("var", "running_var", where="batch_stats"))

LAYERS: Mapping[type, Layout] = {
    nn.Linear: AFFINE, nn.Conv1d: AFFINE, nn.Conv2d: AFFINE, nn.Conv3d: AFFINE,
    nn.ConvTranspose1d: TRANSPOSED, nn.ConvTranspose2d: TRANSPOSED, nn.ConvTranspose3d: TRANSPOSED,
    nn.BatchNorm1d: BATCH, nn.BatchNorm2d: BATCH, nn.BatchNorm3d: BATCH,
    nn.InstanceNorm1d: BATCH, nn.InstanceNorm2d: BATCH, nn.InstanceNorm3d: BATCH,
    nn.LayerNorm: NORM, nn.GroupNorm: NORM, nn.RMSNorm: rows(SCALE),
    nn.Embedding: rows(row("embedding", "weight")),
    nn.PReLU: rows(row("negative_slope", "weight", lambda w: w.reshape(()), lambda a: a.reshape((1,)))),
    **dict.fromkeys((nn.GRU, nn.GRUCell), gates("rzn", True, "n")._replace(checked=stateless)),
    **dict.fromkeys((nn.LSTM, nn.LSTMCell), gates("ifgo", False)),
    **dict.fromkeys((nn.RNN, nn.RNNCell), gates(("",), True)),
    nn.MultiheadAttention: Layout(heads_there, heads_back),
}


def layout(layer: nn.Module) -> Layout | None:
    """How a layer is kept, None where it is a module of one's own, which is kept by its parts."""
    return next((LAYERS[base] for base in type(layer).__mro__ if base in LAYERS), None)
