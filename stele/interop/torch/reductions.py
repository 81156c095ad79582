"""PyTorch's reductions, running totals and sorts."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.torch.elementwise import Rules, truth
from stele.nn import functional as F

Reduction = Callable[..., Any]


def axes(dim: Any) -> tuple[int, ...] | int | None:
    """Axes as Stele names them: None and no axis are all of them."""
    return tuple(dim) if isinstance(dim, list | tuple) and dim else dim if isinstance(dim, int) else None


def over(f: Reduction) -> Reduction:
    """A reduction over axes, of which none are all."""
    return lambda x, dim=None, keep=False, dtype=None: f(
        x if dtype is None else x.astype(dtype), axis=axes(dim), keepdims=keep)


def whole(f: Reduction) -> Reduction:
    """A reduction of all elements."""
    return lambda x, dtype=None: f(x if dtype is None else x.astype(dtype))


def extreme(x: Any, largest: bool, dim: Any, keep: bool) -> Any:
    """The largest or smallest elements; of yes and no, too."""
    f = st.max if largest else st.min
    if x.dtype == "bool":
        return f(x.astype("uint8"), axis=axes(dim), keepdims=keep) != 0
    return f(x, axis=axes(dim), keepdims=keep)


def extreme_at(largest: bool) -> Reduction:
    """The largest or smallest elements along an axis, and where they stand."""
    def rule(x: Any, dim: int, keep: bool = False) -> Any:
        if not x.ndim:
            return x, st.tensor(0)
        at = position(largest)(x, dim, True)
        y = st.take_along_axis(x, at, axis=dim)
        return (y, at) if keep else (st.squeeze(y, axis=dim), st.squeeze(at, axis=dim))

    return rule


def position(largest: bool) -> Reduction:
    """Where the largest or smallest element stands, along an axis or among all."""
    def rule(x: Any, dim: Any = None, keep: bool = False) -> Any:
        if not x.ndim:
            return st.tensor(0)
        return (st.argmax if largest else st.argmin)(x, axis=dim, keepdims=keep)

    return rule


def var(x: Any, dim: Any = None, correction: Any = 1, keep: bool = False) -> Any:
    """The variance over axes."""
    return st.var(x, axis=axes(dim), keepdims=keep, correction=1 if correction is None else correction)


def with_mean(f: Reduction) -> Reduction:
    """The variance or deviation over axes, and the mean."""
    def rule(x: Any, dim: Any = None, correction: Any = 1, keep: bool = False) -> Any:
        return f(x, axis=axes(dim), keepdims=keep, correction=1 if correction is None else correction)

    return rule


def bincount(x: Any, weights: Any = None, least: Any = 0) -> Any:
    """How often each number stands in x, or the weights there added up."""
    return st.bincount(x, weights if weights is None or weights.dtype.is_float else weights.astype("float64"), least)


def histc(x: Any, bins: Any = 100, low: Any = 0, high: Any = 0) -> Any:
    """How many elements lie in equal parts between two numbers; between the least and largest where these agree."""
    return st.histogram(x, bins, range=None if low == high else (low, high))[0]


def unique(x: Any, ordered: bool = True, inverse: bool = False, counts: bool = False) -> Any:
    """The distinct elements in order, where each element of x stands among them, and how often they are there."""
    y, places, often = st.unique(x, return_inverse=True, return_counts=True)
    none = st.zeros((0,), dtype="int64")
    return y, places.reshape(tuple(x.shape)) if inverse else none, often if counts else none


def vector_norm(x: Any, p: Any = 2, dim: Any = None, keep: bool = False, dtype: Any = None) -> Any:
    """The norm of order p over axes; where it is 0, so is its gradient."""
    return st.linalg.vector_norm(x, ord=p, axis=axes(dim), keepdims=keep, dtype=dtype)


def sort(x: Any, dim: int, descending: bool) -> Any:
    """Elements in order along an axis, and where they stood."""
    return st.sort(x, axis=dim, descending=descending, return_indices=True) if x.ndim else (x, st.tensor(0))


def topk(x: Any, k: Any, dim: int, largest: bool, ordered: bool) -> Any:
    """The k largest or smallest along an axis, and where they stand."""
    return tuple(st.topk(x, k, axis=dim, largest=largest, sorted=ordered)) if x.ndim else (x, st.tensor(0))


def softmax(f: Reduction) -> Reduction:
    """Softmax or its logarithm; numbers of no axes are one alone."""
    def rule(x: Any, dim: int, how: Any = None) -> Any:
        wide = x.astype("float32") if how is True else x.astype(how) if isinstance(how, str) else x
        return f(wide, dim) if x.ndim else f(wide.reshape((1,)), 0).reshape(())

    return rule


def cumsum(x: Any, dim: int, dtype: Any) -> Any:
    """Running totals along an axis."""
    x = x if dtype is None else x.astype(dtype)
    return st.cumulative_sum(x, axis=dim) if x.ndim else x


def middle(f: Reduction) -> Reduction:
    """The lower one of the two in the middle along an axis, and where it stands."""
    return lambda x, dim, keep=False: f(x, axis=dim, keepdims=keep, method="lower", return_indices=True)


def mode(x: Any, dim: int = -1, keep: bool = False) -> Any:
    """The most frequent element along an axis, the least of several, and where it stands last."""
    y, at = st.sort(st.swapaxes(x, dim, -1), axis=-1, return_indices=True)
    place = st.arange(y.shape[-1])
    is_new = st.concat([st.ones_like(y[..., :1], dtype="bool"), y[..., 1:] != y[..., :-1]], axis=-1)
    often = place - st.cummax(st.where(is_new, place, 0), axis=-1)
    k = st.argmax(often, axis=-1, keepdims=True)
    found = [st.swapaxes(st.take_along_axis(z, k, axis=-1), dim, -1) for z in (y, at)]
    return tuple(found if keep else [z.squeeze(dim) for z in found])


def segment_reduce(x: Any, reduce: str, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
                   unsafe: bool = False, initial: Any = None) -> Any:
    """Sums, means, products or extremes of stretches of rows."""
    if lengths is None or lengths.ndim > 1 or axis or initial is not None:
        raise DataError("segment_reduce takes lengths of rows here, got offsets, another axis or an initial value")
    of = st.repeat(st.arange(lengths.shape[0]), lengths, size=x.shape[0])
    f = {"prod": st.segment_prod, "max": st.segment_max, "min": st.segment_min}.get(reduce, st.segment_sum)
    y = f(x, of, lengths.shape[0])
    return y / lengths.astype(x.dtype).reshape((-1, *[1] * (x.ndim - 1))) if reduce == "mean" else y


RULES: Rules = {
    "mode": mode, "segment_reduce": segment_reduce,
    "sum": whole(st.sum), "sum.dim_IntList": over(st.sum), "mean": whole(st.mean), "mean.dim": over(st.mean),
    "prod": whole(st.prod), "prod.dim_int": over(st.prod),
    "amax": lambda x, dim, keep: extreme(x, True, dim, keep),
    "amin": lambda x, dim, keep: extreme(x, False, dim, keep),
    "max": lambda x: extreme(x, True, None, False), "min": lambda x: extreme(x, False, None, False),
    "any any.dim any.dims": over(lambda x, **how: st.any(truth(x), **how)),
    "all all.dim all.dims": over(lambda x, **how: st.all(truth(x), **how)),
    "argmax": position(True), "argmin": position(False), "max.dim": extreme_at(True), "min.dim": extreme_at(False),
    "var.correction": var, "var_mean.correction": with_mean(st.var_mean),
    "std_mean.correction": with_mean(st.std_mean), "bincount": bincount, "histc": histc, "_unique2": unique,
    "var.dim": lambda x, dim, unbiased, keep: var(x, dim, int(unbiased), keep),
    "cumsum": cumsum, "sort": sort, "sort.stable": lambda x, stable, dim, descending: sort(x, dim, descending),
    "topk": topk, "kthvalue": lambda x, k, dim=-1, keep=False: tuple(st.kthvalue(x, k, dim, keep)),
    "median": lambda x: st.median(x, method="lower"), "nanmedian": lambda x: st.nanmedian(x, method="lower"),
    "median.dim": middle(st.median), "nanmedian.dim": middle(st.nanmedian),
    "cummax": lambda x, dim: st.cummax(x, axis=dim, return_indices=True),
    "cummin": lambda x, dim: st.cummin(x, axis=dim, return_indices=True),
    "cumprod": lambda x, dim, dtype=None: st.cumulative_prod(x if dtype is None else x.astype(dtype), axis=dim),
    "logcumsumexp": lambda x, dim: st.logcumsumexp(x, axis=dim),
    "searchsorted.Tensor searchsorted.Scalar": lambda x, z, out_int32=False, right=False, side=None, sorter=None:
        st.searchsorted(x, z, "right" if right or side == "right" else "left", sorter, out_int32=out_int32),
    "bucketize.Tensor": st.bucketize,
    "_softmax softmax.int": softmax(st.softmax), "_log_softmax log_softmax.int": softmax(st.log_softmax),
    "logsumexp": over(st.logsumexp), "linalg_vector_norm": vector_norm,
    "multilabel_margin_loss_forward": lambda x, target, how: (
        F.multilabel_margin_loss(x, target, ("none", "mean", "sum")[how]), None),
}
