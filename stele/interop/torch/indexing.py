"""PyTorch's ops at computed indices: gathers, scatters, tables."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F

BAGS = "sum", "mean", "max"
REDUCED = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
NEUTRAL = {"sum": 0, "prod": 1}


def key(indices: Sequence[Any]) -> tuple[Any, ...]:
    """Indices as a key: None is a whole axis."""
    return tuple(slice(None) if i is None else i.astype("int64") if i.dtype == "int32" else i for i in indices)


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """x with values at indices, or with values added."""
    y, own = x.clone(), [i for i in indices if i is not None]
    if not accumulate or any(i.dtype == "bool" for i in own):
        y[key(indices)] = y[key(indices)] + values if accumulate else values
        return y
    if len(own) == len(indices):
        return st.index_put(x, key(indices), values, accumulate=True)
    places = st.arange(size(x.shape)).reshape(tuple(x.shape))[key(indices)]
    added = st.broadcast_to(values, tuple(places.shape)).reshape(-1)
    return st.index_add(x.reshape(-1), places.reshape(-1), added).reshape(tuple(x.shape))


def size(shape: Sequence[Any]) -> Any:
    """How many elements an array of a shape has."""
    n: Any = 1
    for k in shape:
        n = n * k
    return n


def row(x: Any) -> Any:
    """Numbers of no axes as one of one."""
    return x if x.ndim else x.reshape((1,))


def gather(x: Any, dim: int, index: Any, *_: Any) -> Any:
    """Of each place the element at an index along an axis."""
    if not (x.ndim and index.ndim):
        return st.take(row(x), index, axis=0)
    return st.gather(x, dim, index)


def scatter(x: Any, dim: int, index: Any, source: Any, mode: str = "set") -> Any:
    """x with elements put in at indices along an axis, or combined with what is there."""
    if not x.ndim:
        return scatter(row(x), 0, row(index), row(source) if isinstance(source, st.Tensor) else source, mode
                       ).reshape(())
    if not isinstance(source, st.Tensor):
        source = st.full(tuple(index.shape), source, dtype=x.dtype)
    if not index.ndim:
        index, source = row(index), row(source)
    source = source[tuple(slice(0, n) for n in index.shape)]
    return st.scatter(x, index, source.astype(x.dtype), axis=dim, mode=mode)


def scatter_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, include: bool = True) -> Any:
    """x with elements combined at indices along an axis, with what was there or without."""
    count = scatter(st.zeros_like(x), dim, index, st.ones_like(source), "add")
    if reduce == "mean":
        total = scatter_reduce(x, dim, index, source, "sum", include)
        n = st.maximum(count + 1 if include else count, 1).astype(x.dtype)
        return total / n if x.dtype.is_float else total // n
    if include:
        return scatter(x, dim, index, source, REDUCED[reduce])
    least = NEUTRAL.get(reduce)
    none = bound(x.dtype, reduce == "amax") if least is None else least
    return st.where(count > 0, scatter(st.full_like(x, none), dim, index, source, REDUCED[reduce]), x)


def scatter_by(x: Any, dim: int, index: Any, source: Any, how: str) -> Any:
    """x with elements added to, or multiplied with, what is there."""
    return scatter(x, dim, index, source, {"add": "add", "multiply": "mul"}[how])


def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, include: bool = True) -> Any:
    """x with parts along an axis combined at indices, with what was there or without."""
    behind = source.ndim - 1 - dim % source.ndim
    at = st.broadcast_to(index.reshape((-1,) + (1,) * behind), tuple(source.shape))
    return scatter_reduce(x, dim, at, source, reduce, include)


def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """x with elements put in at places counted through the whole array, or added there."""
    flat = index_put(x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return flat.reshape(tuple(x.shape))


def bound(dtype: Any, lowest: bool) -> Any:
    """The lowest or highest number of a dtype."""
    if dtype.is_float:
        return -st.inf if lowest else st.inf
    return st.iinfo(dtype).min if lowest else st.iinfo(dtype).max


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with the elements of a source, one after the other, where a mask holds."""
    x, mask = st.broadcast_arrays(x, mask)
    at = (st.cumulative_sum(mask.reshape(-1).astype("int64"), axis=0) - 1).reshape(tuple(x.shape))
    flat = source.reshape(-1)
    return st.where(mask, st.take(flat, st.clip(at, 0, st.maximum(flat.shape[0] - 1, 0)), axis=0), x)


def masked_select(x: Any, mask: Any) -> Any:
    """The elements where a mask holds, in a row."""
    x, mask = st.broadcast_arrays(x, mask)
    return x[mask]


def embedding(table: Any, index: Any, padding: int = -1, by_count: bool = False, *_: Any) -> Any:
    """Rows of a table; that of the padding learns nothing."""
    return F.embedding(index, table, padding if padding >= 0 else None, scale_grad_by_freq=by_count)


def embedding_gradient(g: Any, index: Any, rows: Any, padding: int, by_count: bool) -> Any:
    """What the rows of a table get of a gradient."""
    at, flat = index.reshape(-1), g.reshape((-1, g.shape[-1]))
    if by_count:
        often = st.index_add(st.zeros(rows, dtype=g.dtype), at, st.ones_like(flat[:, 0]))
        flat = flat / st.take(often, at, axis=0)[:, None]
    flat = st.where((at == padding)[:, None], 0, flat) if padding >= 0 else flat
    return st.index_add(st.zeros((rows, g.shape[-1]), dtype=g.dtype), at, flat)


def embedding_bag(table: Any, index: Any, offsets: Any, by_count: bool, mode: int, sparse: bool, weights: Any,
                  closed: bool, padding: int) -> Any:
    """Sums, means or maxima of rows; what PyTorch keeps for its own gradients is left out."""
    y = F.embedding_bag(index, table, offsets, mode=BAGS[mode], scale_grad_by_freq=by_count,
                        per_sample_weights=weights, include_last_offset=closed,
                        padding_idx=padding if padding >= 0 else None)
    return y, None, None, None


def nonzero(x: Any) -> Any:
    """Where elements are not zero: a row for each."""
    return st.stack(list(st.nonzero(x)), axis=1) if x.ndim else st.nonzero(x.reshape((1,)))[0][:, None][:, :0]


RULES: Rules = {
    "repeat_interleave.Tensor": lambda n, size=None: st.repeat(st.arange(n.shape[0], dtype=n.dtype), n, size=size),
    "index.Tensor": lambda x, indices: x[key(indices)], "index_put": index_put,
    "index_select": lambda x, dim, i: st.take(row(x), i, axis=dim) if x.ndim else st.take(row(x), i, axis=0
                                                                                          ).reshape(()),
    "gather": gather, "scatter.value scatter.src": scatter,
    "scatter_add": lambda x, dim, i, source: scatter(x, dim, i, source, "add"), "scatter_reduce.two": scatter_reduce,
    "scatter.reduce scatter.value_reduce": scatter_by,
    "masked_scatter": masked_scatter, "index_reduce": index_reduce, "put": put,
    "masked_select": masked_select,
    "embedding": embedding, "embedding_dense_backward": embedding_gradient,
    "_embedding_bag _embedding_bag_forward_only": embedding_bag, "nonzero": nonzero,
    "one_hot": lambda x, classes: st.one_hot(x, classes),
}
