"""What a file of Keras says, as plain values: layers with their options, and the calls of them in order."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stele.interop.keras.options import Options


class Ref(NamedTuple):
    """A result of a call: the layer's name, which of its calls, and which of the results."""

    layer: str
    call: int
    place: int


class Variable(NamedTuple):
    """A variable of a kind of layers: its name, the part of the layer that holds it, the option without which there is
    none, and whether gradients move it.
    """

    name: str
    place: str = ""
    option: str = ""
    moves: bool = True


class Stored(NamedTuple):
    """A variable of one layer: its name in the model, where its numbers lie, and whether gradients move it. States of a
    recurrence lie nowhere: "".
    """

    name: str
    place: str
    moves: bool


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer: what it is, its variables by the names that its rule has for them, layers and a graph within it."""

    name: str
    kind: str
    options: Options
    variables: Mapping[str, Stored]
    parts: Mapping[str, Layer]
    graph: Graph | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


@dataclass(frozen=True)
class Step:
    """A call of a layer: its name and number, and arguments that hold references in the place of tensors."""

    layer: Layer
    key: tuple[str, int]
    args: Any
    kwargs: Any


class Input(NamedTuple):
    """What a model is given: a name, a shape with None for open sizes or None if nothing is known, a dtype."""

    name: str
    shape: tuple[int | None, ...] | None
    dtype: str


@dataclass(frozen=True)
class Graph:
    """A model: inputs and outputs as containers of references, its layers, and their calls in order."""

    inputs: Any
    outputs: Any
    known: Mapping[str, Input]
    layers: tuple[Layer, ...]
    steps: tuple[Step, ...]


def leaves(tree: Any) -> list[Ref]:
    """The references in containers, in order."""
    if isinstance(tree, Ref):
        return [tree]
    inner = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    return [ref for part in inner for ref in leaves(part)]


def mapped(f: Callable[[Ref], Any], tree: Any) -> Any:
    """Containers with something else in the place of references."""
    if isinstance(tree, Ref):
        return f(tree)
    if isinstance(tree, Mapping):
        return {key: mapped(f, part) for key, part in tree.items()}
    return [mapped(f, part) for part in tree] if isinstance(tree, list) else tree


def stored_in(layers: Sequence[Layer]) -> Iterator[tuple[Layer, Stored]]:
    """The variables of layers and of all within them, each once."""
    seen: set[str] = set()
    waiting = list(reversed(layers))
    while waiting:
        layer = waiting.pop()
        if layer.name not in seen:
            seen.add(layer.name)
            yield from ((layer, stored) for stored in layer.variables.values())
            inner = [*layer.parts.values(), *(layer.graph.layers if layer.graph else ())]
            waiting += reversed(inner)
