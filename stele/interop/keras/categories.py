"""Keras's layers that make categories of numbers, and rows of zeros and ones of categories."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.interop.keras.call import Call, Kind, Kinds
from stele.interop.keras.options import Options

MODES = "int", "one_hot", "multi_hot", "count"


def encoded(c: Call, at: Any, depth: int, whole: str, dtype: str, weights: Any = None) -> Any:
    """Numbers of categories as they are, or as rows of what stands where (..., depth)."""
    mode = c.options.word("output_mode", MODES, "multi_hot")
    if mode == "int":
        return at.astype(whole)
    if mode == "one_hot" and at.ndim > 1 and at.shape[-1] == 1:
        at = at[..., 0]
    there = at[..., None] == st.arange(depth, dtype=at.dtype)
    if mode == "one_hot":
        return there.astype(dtype)
    axis = min(at.ndim - 1, 1)
    if mode == "multi_hot":
        return there.any(axis=axis).astype(dtype)
    made = there.astype(dtype)
    return (made if weights is None else made * weights[..., None].astype(dtype)).sum(axis=axis)


def category_encoding(c: Call, x: Any, count_weights: Any = None) -> Any:
    """Categories that have numbers already."""
    return encoded(c, x.astype("int64"), c.options.whole("num_tokens"), "int64", c.dtype, count_weights)


def discretization(c: Call, x: Any) -> Any:
    """How many bounds lie at or below each number."""
    bounds = numbers(c.options, "bin_boundaries", float)
    at = st.searchsorted(st.tensor(np.asarray(bounds, np.float32)), x.astype("float32"), "right")
    return encoded(c, at, len(bounds) + 1, "int32", c.dtype)


def numbers(options: Options, name: str, kind: type) -> list[Any]:
    """A list of numbers that an option says."""
    found = options.get(name)
    if not isinstance(found, list) or any(type(v) not in (int, kind) for v in found):
        raise options.wrong(name, "a list of numbers")
    return found


def integer_lookup(c: Call, x: Any) -> Any:
    """The places of numbers in a vocabulary, behind those of a mask and of what is not in it; or the other way."""
    o, unknown = c.options, c.options.whole("num_oov_indices", 1, 0)
    words, has_mask = numbers(o, "vocabulary", int), o.get("mask_token") is not None and o.get("output_mode") == "int"
    front = [o.get("mask_token")] * has_mask + [o.get("oov_token", -1)] * unknown
    table = np.asarray(words if words[:len(front)] == front and front else [*front, *words], np.int64)
    x = x.astype("int64")
    if o.flag("invert"):
        return st.take(st.tensor(table), x, axis=0)
    same = x[..., None] == st.tensor(table[len(front):])
    other = has_mask + x % unknown if unknown else st.full_like(x, -1)
    at = st.where(same.any(axis=-1), st.argmax(same, axis=-1) + len(front), other)
    return encoded(c, st.where(x == front[0], 0, at) if has_mask else at, len(table), "int64", "int64")


def lacking(options: Options) -> str | None:
    """What a vocabulary may not be."""
    if options.get("vocabulary") is None:
        return "a vocabulary that was adapted, which lies in a file of its own: give it as vocabulary="
    return "farmhash" if options.get("oov_method", "floormod") != "floormod" else tf_idf(options)


def tf_idf(options: Options) -> str | None:
    """What no rows are made of."""
    return "output_mode 'tf_idf'" if options.get("output_mode") == "tf_idf" else None


KINDS: Kinds = {
    "CategoryEncoding": Kind(category_encoding), "Discretization": Kind(discretization),
    "IntegerLookup": Kind(integer_lookup, lacks=lacking),
}
