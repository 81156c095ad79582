"""Every op with operands to test it on, and what the tables of tests do with them."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from stele.backend.reference import run
from stele.ir.graph import Array, Graph, Item, Op, Value, parameter
from stele.ir.types import TupleType, Type, dtype, float32, float64
from stele.ops import ALL
from stele.transform.retype import retype


class Case(NamedTuple):
    """An op on operands with numbers."""

    op: Op
    operands: tuple[Array, ...]

    def graph(self) -> Graph:
        """The op as a graph of its operands."""
        parameters = tuple(parameter(f"x{k}", Type(dtype(a.dtype), a.shape)) for k, a in enumerate(self.operands))
        return Graph(parameters, parts(self.op(*parameters)))

    def wide(self) -> tuple[Graph, list[Array]]:
        """The same in float64."""
        return widen(self.graph(), float64), [a.astype("f8") if a.dtype == np.float32 else a for a in self.operands]

    def is_differentiable(self) -> bool:
        """Whether the op has a float32 operand and a float32 result, and derivatives that mean something."""
        graph = self.graph()
        return self.op.name != "StopGradient" and all(
            any(v.dtype == float32 for v in side) for side in (graph.parameters, graph.results))


def parts(v: Value) -> tuple[Value, ...]:
    """The arrays a value is."""
    return tuple(Item(k)(v) for k in range(len(v.type.items))) if isinstance(v.type, TupleType) else (v,)


def widen(graph: Graph, dtype: Any) -> Graph:
    """The same graph computing in `dtype` wherever it says float32."""
    def change(a: Any) -> Any:
        if isinstance(a, np.ndarray):
            return a.astype(dtype.numpy) if a.dtype == np.dtype("float32") else a
        return dtype if a == float32 else a

    return retype(graph, change)


def filled(operand: Any, op: type[Op], rng: np.random.Generator) -> Array:
    """An operand of an example with numbers of the op's domain."""
    if not isinstance(operand, Type):
        return np.asarray(operand)
    low, high = getattr(op, "samples", (-3, 3))
    return np.asarray(rng.uniform(low, high, operand.shape)).astype(operand.dtype.numpy)  # type: ignore[arg-type]


def all_cases() -> Iterator[Any]:
    """Each example of each op, named."""
    rng = np.random.default_rng(0)
    for name, cls in ALL.items():
        for k, (op, operands) in enumerate(cls.examples()):
            yield pytest.param(Case(op, tuple(filled(a, cls, rng) for a in operands)), id=f"{name}-{k}")


CASES = list(all_cases())
SMOOTH = [p for p in CASES if p.values[0].is_differentiable()]


def difference(graph: Graph, args: Sequence[Array], dx: Sequence[Array]) -> list[Array]:
    """The tangents of the float results by central differences."""
    step = 1e-6
    moving = [k for k, a in enumerate(args) if a.dtype == np.float64]
    ends = []
    for sign in (1, -1):
        moved = list(args)
        for k, t in zip(moving, dx):
            moved[k] = moved[k] + sign * step * t
        ends.append(run(graph, moved))
    return [(a - b) / (2 * step) for a, b in zip(*ends) if a.dtype == np.float64]


def like(arrays: Sequence[Array], seed: int) -> list[Array]:
    """Random directions for the float ones."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=a.shape)) for a in arrays if a.dtype == np.float64]


def dot(a: Sequence[Array], b: Sequence[Array]) -> float:
    """The inner product of two lists of arrays."""
    return float(sum((x * y).sum() for x, y in zip(a, b)))
