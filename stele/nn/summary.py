"""`summary`: the layers of a model in the order in which an input passes them, with what each makes and holds."""
from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from stele.arrays.creation import zeros
from stele.arrays.tensor import Tensor
from stele.eager.follow import Follower
from stele.errors import DataError
from stele.ir.door import public
from stele.ir.types import show
from stele.nn.module import PATHS, Module, bare, locate
from stele.ops.arguments import instance, is_array, is_series
from stele.tracing import tree
from stele.tracing.trace import traced_on


@dataclass(frozen=True)
class Row:
    """One pass through a layer: its path, its kind, the shapes of what it made, and the parameters of its own."""

    path: str
    kind: str
    shape: str
    parameters: int


@dataclass(frozen=True)
class Summary:
    """A table of layers that prints, as `summary` makes it.

    `name` is that of the model; `rows` has one for each pass through a layer. `parameters` counts each tensor once,
    `bytes` is what all tensors take, buffers too.

    >>> found = nn.summary(nn.Linear(4, 3), (8, 4))
    >>> found.parameters, found.bytes, found.rows[0].shape
    (15, 60, '(8, 3)')
    """

    name: str
    rows: tuple[Row, ...]
    parameters: int
    bytes: int

    def cells(self) -> list[tuple[str, str, str, str]]:
        """The table, its head first."""
        return [("layer", "kind", "output", "parameters"),
                *((row.path or "(model)", row.kind, row.shape, f"{row.parameters:,}" if row.parameters else "")
                  for row in self.rows)]

    def total(self) -> str:
        """The line below the table."""
        return f"{self.name}: {self.parameters:,} parameters, {self.bytes / 1e6:,.2f} MB with buffers"

    def __str__(self) -> str:
        cells = self.cells()
        a, b, c, d = (max(map(len, column)) for column in zip(*cells))
        lines = [f"{p:{a}}  {q:{b}}  {r:{c}}  {s:>{d}}".rstrip() for p, q, r, s in cells]
        return "\n".join([*lines, self.total()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.cells()]
        body = "".join(f"<tr>{row}</tr>" for row in (head.replace("td>", "th>"), *rows))
        return f"<table>{body}</table><p>{escape(self.total())}</p>"


class Passes(Follower):
    """The modules that an input passes, each when it is done."""

    def __init__(self) -> None:
        self.seen: list[tuple[Module, str]] = []

    def passed(self, module: Any, y: Any) -> None:
        leaves, _ = tree.flatten(y)
        self.seen.append((module, ", ".join(show(x.value.type.shape) for x in leaves if isinstance(x, Tensor))))


@public
def summary(model: Module, *inputs: Any) -> Summary:
    """The layers of a `model` that the `inputs` pass, each with the shapes of its results and its number of parameters.

    An input is a tensor, a NumPy array, or the shape of a float32 tensor as a tuple of numbers. Nothing is computed,
    and the model's state stays as it is. Without inputs the layers stand in the order in which the model holds them.
    Raises what the model's `forward` raises for these inputs, DataError for an input that is neither array nor shape.

    >>> nn.summary(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (2, 4))
    layer    kind        output  parameters
    0        Linear      (2, 3)          15
    1        ReLU        (2, 3)
    (model)  Sequential  (2, 3)
    Sequential: 15 parameters, 0.00 MB with buffers
    """
    passes = Passes()
    model = instance(bare(model), "model of summary", Module)
    if inputs:
        traced_on(lambda *x: model(*x), tuple(map(given, inputs)), {}, passes)
    else:
        locate(model)
        passes.seen = [(module, "") for _, module in model.named_modules()]
    counted: set[int] = set()
    rows = tuple(Row(PATHS.get(module, ""), type(module).__name__, shape, own(module, counted))
                 for module, shape in passes.seen)
    tensors = model.state_dict().values()
    return Summary(type(model).__name__, rows, sum(math.prod(p.shape) for p in model.parameters()),
                   sum(math.prod(x.shape) * x.dtype.bytes for x in tensors))


def own(module: Module, counted: set[int]) -> int:
    """How many parameters a module holds itself, not those of its layers, nor those that an earlier row counts."""
    below = {id(p) for _, child in module.named_children() for p in child.parameters()}
    new = {id(p): math.prod(p.shape) for p in module.parameters() if id(p) not in below | counted}
    counted.update(new)
    return sum(new.values())


def given(x: Any) -> Tensor | np.ndarray[Any, Any]:
    """An input as an array."""
    if isinstance(x, Tensor) or is_array(x):
        return x
    if is_series(x) and all(isinstance(n, int) for n in x):
        return zeros(tuple(x))
    raise DataError(f"an input is a tensor, an array or a shape such as (1, 3, 32, 32), got {x!r:.60}")
