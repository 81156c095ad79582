"""Kinds in the words of others: NumPy's functions on tensors, and Python's operators between arrays and tensors."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.programs.kind import Kind, Made

if TYPE_CHECKING:
    from tests.programs.grammar import Growth

Word = Callable[..., Any]
SHARE = 0.5             # of the weight of a kind that it has in other words

# What takes here what it takes there.
SAME = """
    exp log log1p expm1 sqrt reciprocal sin cos tan sinh cosh tanh asinh log2 log10 exp2 cbrt asin acos acosh atan atanh
    floor ceil trunc isnan isinf isfinite square abs sign negative logical_not add subtract multiply divide power
    logaddexp hypot fmax fmin fmod maximum minimum floor_divide remainder equal not_equal less less_equal greater
    greater_equal logical_and logical_or logical_xor pow clip where sum mean prod max min all any var std argmax argmin
    median flip roll tril triu squeeze broadcast_to take take_along_axis rot90 diagonal matmul reshape
"""
# fmt: off
WORDS: dict[str, Word] = {
    **{f"np.{name}": getattr(np, name) for name in SAME.split()},
    "np.round":            np.round,
    "np.shift_left":       np.left_shift,
    "np.shift_right":      np.right_shift,
    "np.cumulative_sum":   np.cumsum,
    "np.cumulative_prod":  np.cumprod,
    "np.permute":          lambda x, order: np.transpose(x, order),
    "np.repeat":           lambda x, times, axis: np.repeat(x, times, axis),
    "np.tile":             lambda x, repetitions: np.tile(x, repetitions),
    "np.unsqueeze":        np.expand_dims,
    "np.pad":              lambda x, widths, value: np.pad(x, widths, constant_values=value),
    "np.concatenate":      lambda *x, axis: np.concatenate(x, axis),
    "np.stack":            lambda *x, axis: np.stack(x, axis),
    "np.split":            lambda x, size, axis: np.split(x, list(range(size, x.shape[axis], size)), axis),
    "np.sort":             lambda x, axis, descending: np.sort(x, axis),
    "np.extend":           lambda x, widths, mode: np.pad(x, widths, mode),
    "np.argsort":          lambda x, axis, descending: np.argsort(x, axis, kind="stable"),
    "np.einsum":           lambda *x, equation: np.einsum(equation, *x),
    "np.searchsorted":     lambda x, z, side: np.searchsorted(np.sort(np.reshape(x, -1)), z, side),
    "np.histogram":        lambda x, bins, range: np.histogram(x, bins, range)[0],
    "np.gather":           lambda x, *i: np.take(x, i[0], 0) if len(i) == 1 else x[i],
    "ufunc.sum":           lambda x, **how: np.add.reduce(x, **how),
    "ufunc.prod":          lambda x, **how: np.multiply.reduce(x, **how),
    "ufunc.max":           lambda x, **how: np.maximum.reduce(x, **how),
    "ufunc.min":           lambda x, **how: np.minimum.reduce(x, **how),
    "ufunc.any":           lambda x, **how: np.logical_or.reduce(x, **how),
    "ufunc.all":           lambda x, **how: np.logical_and.reduce(x, **how),
    "ufunc.cumulative_sum":   lambda x, axis: np.add.accumulate(x, axis),
    "ufunc.cumulative_prod":  lambda x, axis: np.multiply.accumulate(x, axis),
    "linalg.norm":         lambda x, axis: np.linalg.norm(x, axis=axis),
    "operator.add":           operator.add,
    "operator.subtract":      operator.sub,
    "operator.multiply":      operator.mul,
    "operator.divide":        operator.truediv,
    "operator.floor_divide":  operator.floordiv,
    "operator.remainder":     operator.mod,
    "operator.power":         operator.pow,
    "operator.pow":           operator.pow,
    "operator.equal":         operator.eq,
    "operator.not_equal":     operator.ne,
    "operator.less":          operator.lt,
    "operator.less_equal":    operator.le,
    "operator.greater":       operator.gt,
    "operator.greater_equal": operator.ge,
    "operator.matmul":        operator.matmul,
    "operator.abs":           operator.abs,
    "operator.negative":      operator.neg,
}
# fmt: on


def closed(kind: Kind) -> Callable[[Growth, str], Made]:
    """Arguments for NumPy's word of a kind, of an axis whose length is known, in ascending order."""
    def made(g: Growth, x: str) -> Made:
        args, attributes = kind.make(g, x)
        g.need(not attributes.get("descending") and not any(g.is_open(x, k) for k in range(g.ndim(x))))
        return args, attributes
    return made


def in_other_words(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """The kinds that have other words, once in each."""
    found = {k.name: k for k in kinds}
    return tuple(replace(kind := found[name.rpartition(".")[2]], name=name, stele=word, feature="mixed",
                         weight=kind.weight * SHARE,
                         make=closed(kind) if name in ("np.split", "np.sort", "np.argsort") else kind.make)
                 for name, word in WORDS.items())


def spoken(words: Mapping[str, Any]) -> dict[str, Any]:
    """Names for a program's text: those with a dot are found in rooms, `np` holds the numbers of NumPy's as well."""
    rooms: dict[str, dict[str, Any]] = {"np": {d: getattr(np, d) for d in NUMBERS}}
    for name, word in words.items():
        room, dot, own = name.rpartition(".")
        if dot:
            rooms.setdefault(room, {})[own] = word
    return {**words, **{room: SimpleNamespace(**inside) for room, inside in rooms.items()}}


NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
