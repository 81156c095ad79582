"""What a model gives when it is computed in float64: how far rounding alone takes its results."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import stele as st
from stele.arrays.tensor import Tensor
from stele.backend.reference import run
from stele.eager.follow import Follower
from stele.interop.convert.source import Source, leaves
from stele.ir.graph import Array
from stele.ir.types import bfloat16, float16, float32, float64
from stele.tracing.trace import Traced, answered, traced_on
from stele.transform.retype import retype

SMALLER = {t.numpy: float64.numpy for t in (float16, bfloat16, float32)}


def exact(source: Source, arrays: Sequence[Array]) -> list[Array]:
    """The results of a model on arrays, computed in float64 op by op, in the dtypes that it has.

    Raises SteleError for a model that is not one of float64 where its smaller floats are made that: GraphError for
    results that it does not compute, others of ops that need the dtype they have.
    """
    given = tuple(map(st.tensor, arrays))
    with st.no_grad():
        traced, _ = answered(traced_on(lambda *x: [*leaves(source.call(*x))], given, {}, Follower()))
    graph = retype(traced.graph, widened)
    held = [x.numpy() for x in operands(traced, given)]
    made = run(graph, [x.astype(SMALLER.get(x.dtype, x.dtype)) for x in held])
    return [y.astype(v.dtype.numpy) for v, y in zip(traced.graph.results, made)]


def operands(traced: Traced, given: Sequence[Tensor]) -> list[Any]:
    """What the parameters of a trace stand for."""
    kinds = {"argument": given, "handle": traced.handles}
    read = [kinds[kind][k] if kind in kinds else st.asarray(traced.arrays[k].get()) for kind, k in traced.inputs]
    return [*read, *map(Tensor, traced.constants)]


def widened(a: Any) -> Any:
    """A dtype or an array of smaller floats in float64."""
    if isinstance(a, np.ndarray):
        x = cast(Array, a)
        return x.astype(SMALLER.get(x.dtype, x.dtype))
    return float64 if a in (float16, bfloat16, float32) else a
