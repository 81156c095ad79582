"""What an ONNX file says, as plain values: nodes in order, their attributes, weights that stay on disk until used."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from stele.tracing.state import Opaque

Array = np.ndarray[Any, np.dtype[Any]]


class Input(NamedTuple):
    """An input or output of a graph: `dtype` as ONNX numbers it, 0 for what is no tensor; sizes are numbers, names or
    None, and `shape` is None where even their count is open."""

    name: str
    dtype: int
    shape: tuple[int | str | None, ...] | None
    kind: str = "tensor"        # or "sequence", "optional", "map"


@dataclass(frozen=True, eq=False)
class Node:
    """One node: of an op at a version of its domain."""

    op: str
    domain: str
    version: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: Any = None       # as it stands in the file

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default."""
        return self.attributes.get(name, default)

    def __str__(self) -> str:
        of = f"{self.domain}.{self.op}" if self.domain else self.op
        return f"{of} {self.name or '-> ' + ', '.join(self.outputs)}"


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes, each behind those that it takes from; `weights` are read when they are asked for."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    weights: Mapping[str, Callable[[], Array]] = field(default_factory=dict[str, Callable[[], Array]])


@dataclass(frozen=True, eq=False)
class Model(Opaque):
    """A whole file, which nobody writes to, so that programs ask for none of its parts again. `versions` are those of
    its domains, `functions` its own by domain and name."""

    graph: Graph
    versions: Mapping[str, int]
    functions: Mapping[tuple[str, str], Function]
    metadata: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Function:
    """Nodes under a name, which other nodes call: `defaults` are attributes that a call may leave out."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    defaults: Mapping[str, Any]
    nodes: tuple[Node, ...]


def graphs(x: Any) -> list[Graph]:
    """The graphs that an attribute holds."""
    return [g for g in cast(list[Any], x if isinstance(x, list) else [x]) if isinstance(g, Graph)]


class Reference(NamedTuple):
    """An attribute of a node inside of a function that is one of the call."""

    name: str
