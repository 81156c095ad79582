"""A network of layers by name, each wired to those before it, as a configuration lists them."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import stele as st
from stele import nn
from stele.arrays.tensor import Tensor, tensor

# The sizes of its input that a layer asks for first, and the axis that each one is the length of.
SIZES = {"in_features": -1, "input_size": -1, "embed_dim": -1, "d_model": -1, "normalized_shape": -1,
         "in_channels": 1, "num_features": 1, "num_channels": 1}
INPUT = "input"
OF_LISTS = "concat", "concatenate", "stack", "cat"      # functions that take their inputs as one list


class Function(nn.Module):
    """A function of `stele` or `nn.functional` as a layer, with its options."""

    def __init__(self, f: Callable[..., Any], options: Mapping[str, Any], takes_list: bool) -> None:
        self.f, self.options, self.takes_list = f, dict(options), takes_list

    def forward(self, *x: Any) -> Any:
        return self.f(list(x), **self.options) if self.takes_list else self.f(*x, **self.options)


class Wired(NamedTuple):
    """A layer by its name, and the names of what it takes: layers, or the network's inputs."""

    name: str
    layer: nn.Module
    of: tuple[str, ...]


class Network(nn.Module):
    """Layers one after the other, or wired by name; what the last one gives is what the network gives.

    Parameters are called as their layers are: conv1.weight. Of a layer that gives several tensors, as recurrent ones
    do, the first is taken.
    """

    def __init__(self, layers: Sequence[Wired]) -> None:
        self.wired = tuple(layers)

    def held(self) -> dict[str, Any]:
        return {layer.name: layer.layer for layer in self.wired}

    def forward(self, *inputs: Any) -> Any:
        known = dict(zip(input_names(len(inputs)), inputs))
        y: Any = inputs[0]
        for name, layer, of in self.wired:
            y = known[name] = first(layer(*(known[source] for source in of)))
        return y


def input_names(count: int) -> list[str]:
    """What the inputs of a network are called: "input", then "input2" and so on."""
    return [INPUT if k == 1 else f"{INPUT}{k}" for k in range(1, count + 1)]


def first(y: Any) -> Any:
    """The first of several tensors."""
    return first(y[0]) if isinstance(y, tuple) else y


def kinds() -> dict[str, Any]:
    """What may stand in a network, by name: the layers of `stele.nn`, then functions."""
    layers = {name: x for name in nn.__all__ if inspect.isclass(x := getattr(nn, name)) and issubclass(x, nn.Module)
              and not name.startswith("Lazy") and not name.endswith("Loss")}
    functions = {name: getattr(nn.functional, name) for name in nn.functional.__all__}
    names: list[str] = [*vars(st)["__all__"], *OF_LISTS]
    more = {name: f for name in names if inspect.isfunction(f := getattr(st, name))
            and inspect.unwrap(f).__module__.startswith("stele.ops.")}
    return {**more, **functions, **layers}


def sized(kind: Any, options: Mapping[str, Any], x: Sequence[Any]) -> dict[str, Any]:
    """The options of a layer, with the size of its input where the layer asks for it and nobody said it."""
    asked = [name for name in inspect.signature(kind).parameters if name in SIZES and name not in options]
    if not asked or not x or not hasattr(x[0], "shape"):
        return dict(options)
    axis = SIZES[asked[0]]
    return {asked[0]: int(x[0].shape[axis])} | dict(options) if x[0].ndim > max(axis, 0) else dict(options)


def as_tensor(x: Any) -> Any:
    """An array of a batch as a layer sees it."""
    return x if isinstance(x, Tensor) else tensor(x)
