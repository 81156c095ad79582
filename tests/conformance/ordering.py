"""How Stele spells PyTorch's calls that sort, search, add up on the way, and put what they made at computed places."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from tests.conformance.words import kind, refuse

Call = Callable[..., Any]


def row(x: Any) -> Any:
    """An array of one axis at least: PyTorch's numbers have one that is named 0 or -1."""
    return x if x.ndim else st.reshape(x, (1,))


def as_row(f: Call) -> Call:
    """A call that changes no shape, of a number as of a row of one."""
    def call(x: Any, *args: Any, **rest: Any) -> Any:
        y = f(row(x), *args, **rest)
        return (tuple(st.reshape(v, x.shape) for v in y) if isinstance(y, tuple) else st.reshape(y, x.shape)) \
            if not x.ndim else y
    return call


def running(f: Call) -> Call:
    return as_row(lambda x, dim, dtype=None: f(x if dtype is None else x.astype(kind(dtype)), axis=dim))


def extreme(f: Call) -> Call:
    """The best so far, and where it stands: the latest of equals."""
    def call(x: Any, dim: int) -> Any:
        y = f(x, axis=dim)
        place = st.arange(x.shape[dim]).reshape([-1 if k == dim % x.ndim else 1 for k in range(x.ndim)])
        return y, st.cummax(st.where(x == y, place, 0), axis=dim)
    return as_row(call)


def sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    i = st.argsort(x, axis=dim, descending=descending)
    return st.sort(x, axis=dim, descending=descending), i


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return st.topk(x, k, axis=dim, largest=largest)


def bucketize(x: Any, edges: Any, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(edges, x, out_int32, right)


def searchsorted(row: Any, x: Any, out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Any = None) -> Any:
    if sorter is not None and row.ndim > 1:
        row, sorter = st.take_along_axis(row, sorter, axis=-1), None
    y = st.searchsorted(row, x, side=side or ("right" if right else "left"), sorter=sorter)
    return y.astype("int32") if out_int32 else y


def gather(x: Any, dim: int, i: Any) -> Any:
    y = beside(row(x), dim, row(i))
    return st.reshape(st.take_along_axis(y, row(i), axis=dim), i.shape)


def beside(x: Any, dim: int, i: Any) -> Any:
    """x as far as positions go beside an axis."""
    if i.ndim != x.ndim or 0 in i.shape:
        return st.zeros((*i.shape[:dim], 1, *i.shape[dim + 1:]), dtype=x.dtype) if 0 in i.shape else x
    return x[tuple(slice(None) if k == dim % x.ndim else slice(n) for k, n in enumerate(i.shape))]


def take_along(x: Any, i: Any, dim: int | None = None) -> Any:
    if dim is None:
        return st.take(st.reshape(x, -1), st.reshape(i, -1))
    return st.take_along_axis(x, i, axis=dim)


def scatter(x: Any, dim: int, i: Any, v: Any, reduce: str | None = None) -> Any:
    if 0 in i.shape:
        return x
    return st.scatter(x, i, v, axis=dim, mode={None: "set", "add": "add", "multiply": "mul"}[reduce])


def index_add(x: Any, dim: int, i: Any, v: Any, alpha: float = 1) -> Any:
    return st.reshape(st.index_add(row(x), row(i), row(v) * alpha, axis=dim), x.shape)


def axes(dim: Any) -> Any:
    return None if dim == () else tuple(dim) if isinstance(dim, list) else dim


def statistic(f: Call) -> Call:
    def call(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        x = x if dtype is None else x.astype(kind(dtype))
        y = f(row(x), axis=axes(dim), keepdims=keepdim)
        return y if x.ndim else st.reshape(y, ())
    return call


def median(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle, NaN before all."""
    if dim is None:
        return median(st.reshape(x, -1), 0)[0]
    y = row(x)
    n = y.shape[dim]
    nan = st.isnan(y)
    found, i = st.kthvalue(y, (n + 1) // 2, axis=dim, keepdims=True)
    is_nan = st.any(nan, axis=dim, keepdims=True)
    i = st.where(is_nan, st.argmax(y, axis=dim, keepdims=True), i)
    found = st.where(is_nan, float("nan"), found)
    shape = x.shape if not x.ndim else found.shape if keepdim else st.squeeze(found, axis=dim).shape
    return st.reshape(found, shape), st.reshape(i, shape)


def quantile(x: Any, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
    y = st.quantile(row(x), q, axis=dim, keepdims=keepdim, method=interpolation)
    return y if x.ndim else st.reshape(y, q.shape if isinstance(q, st.Tensor) else ())


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    found = st.nonzero(row(x))
    if as_tuple:
        return found
    rows = st.stack(found, axis=1)
    return rows if x.ndim else rows[:, :0]


def unique(x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
           ) -> Any:
    refuse(dim is not None and x.ndim != 1, "distinct rows (dim=)")
    found = st.unique_all(x)
    if not return_inverse and not return_counts:
        return found.values
    return (found.values, *(found[2:3] if return_inverse else ()), *(found[3:] if return_counts else ()))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, dim: int = -1) -> Any:
    return st.trapezoid(y, x, dx=dx, axis=dim)


ORDERED: dict[str, Call] = {
    "argsort": as_row(lambda x, dim=-1, descending=False, stable=False: st.argsort(x, axis=dim, descending=descending)),
    "sort": as_row(sort), "topk": as_row(topk), "bucketize": bucketize, "searchsorted": searchsorted,
    "isin": lambda x, z, assume_unique=False, invert=False: st.isin(x, z, invert=invert),
    "cumsum": running(st.cumulative_sum), "cumprod": running(st.cumulative_prod), "cummax": extreme(st.cummax),
    "cummin": extreme(st.cummin), "logcumsumexp": running(st.logcumsumexp),
    "diff": lambda x, n=1, dim=-1, prepend=None, append=None: st.diff(x, n=n, axis=dim, prepend=prepend, append=append),
    "gather": gather, "take_along_dim": take_along, "scatter": scatter, "index_add": index_add,
    "scatter_add": lambda x, dim, i, v: scatter(x, dim, i, v, "add"),
    "count_nonzero": lambda x, dim=None: st.reshape(st.count_nonzero(row(x), axis=axes(dim)), ()) if not x.ndim
        else st.count_nonzero(x, axis=axes(dim)),
    "nansum": statistic(st.nansum), "nanmean": statistic(st.nanmean), "median": median, "quantile": quantile,
    "nonzero": nonzero, "unique": unique, "trapezoid": trapezoid,
}
