"""What PyTorch's exporter says of a model, as plain values: nothing here needs PyTorch."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple


class Ref(NamedTuple):
    """A value of the program, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """One call of an op: `inputs` are all arguments that its schema has, in order, but for those that say where."""

    name: str
    op: str                             # as "add.Tensor", "relu", "operator.mul"
    inputs: tuple[Any, ...]
    dtypes: tuple[str | None, ...]      # of its results, None for one that is no tensor
    where: str = ""                     # the line of the user's that calls it
    layer: str = ""                     # the path of the module that does

    def __str__(self) -> str:
        return f"{self.op} ({self.name})" + f" at {self.where}" * bool(self.where)


@dataclass(frozen=True)
class Graph:
    """Nodes in order, of named inputs; outputs are a container of what they give."""

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: Any
    last_uses: list[list[str]] = field(init=False)      # found at once: a trace would see it come into being

    def __post_init__(self) -> None:
        object.__setattr__(self, "last_uses", self.found())

    def found(self) -> list[list[str]]:
        """For each node the values that no later one takes: nobody need hold them any longer."""
        kept, found = set(refs(self.outputs)), list[list[str]]()
        for node in reversed(self.nodes):
            taken = {*refs(node.inputs), node.name} - kept
            kept |= taken
            found.append(sorted(taken))
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of the whole: a number has to be what it was when the model was exported, unless it is open."""

    name: str
    shape: tuple[int | str, ...] | None     # None for what is no tensor
    constant: Any = None


@dataclass(frozen=True, slots=True)
class Program:
    """An exported model: a graph, what it takes beside its arguments, and what it writes.

    Args and result are the containers of a call, with numbers of inputs and outputs in the places of tensors.
    """

    graph: Graph
    weights: Mapping[str, str]          # by the input of the graph, the name of a parameter or buffer
    constants: Mapping[str, Any]        # by the input of the graph
    inputs: tuple[Input, ...]
    names: tuple[str, ...]              # of the arguments
    args: tuple[Any, ...]
    result: Any
    written: tuple[tuple[int, str], ...]    # outputs that are new numbers of a buffer
    returned: tuple[int, ...]               # outputs that the call returns


def parts(x: Any) -> dict[Any, Any]:
    """What a container holds, by key; nothing of what is none."""
    if is_dataclass(x):
        return {f.name: getattr(x, f.name) for f in fields(x)}
    if isinstance(x, list | tuple):
        return dict(enumerate(x))   # pyright: ignore[reportUnknownArgumentType]
    return dict(x) if isinstance(x, Mapping) else {}    # pyright: ignore[reportUnknownArgumentType]


def alike(x: Any, held: Mapping[Any, Any]) -> Any:
    """A container as x is, of what it holds by key; mappings as dicts."""
    if isinstance(x, Mapping):
        return dict(held)
    if is_dataclass(x):
        return type(x)(**held)
    return type(x)(*held.values()) if hasattr(x, "_fields") else type(x)(held.values())


def refs(x: Any) -> Iterator[str]:
    """The names of values in arguments, those that graphs in them take too."""
    if isinstance(x, Ref):
        yield x.name
    elif isinstance(x, tuple | list):
        for part in x:      # pyright: ignore[reportUnknownVariableType]
            yield from refs(part)


def filled(x: Any, values: Mapping[str, Any]) -> Any:
    """Arguments with values in the places of their names."""
    if isinstance(x, Ref):
        return values[x.name]
    if isinstance(x, tuple | list):
        return [filled(part, values) for part in x]     # pyright: ignore[reportUnknownVariableType]
    return x


def graphs(x: Any) -> Iterator[Graph]:
    """The graphs in arguments."""
    if isinstance(x, Graph):
        yield x
    elif isinstance(x, tuple | list):
        for part in x:      # pyright: ignore[reportUnknownVariableType]
            yield from graphs(part)
