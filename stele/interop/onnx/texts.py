"""ONNX's ops on texts, and those that classical models need: on the host."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx.defs import get_schema

import stele as st
from stele.errors import DataError
from stele.interop.onnx.values import Call, Rule, Rules, host, value


def each(f: Callable[..., Any], *x: Any) -> Any:
    """f of each text."""
    arrays = np.broadcast_arrays(*map(host, x))
    made = np.empty(arrays[0].shape, object)
    for k in np.ndindex(made.shape):
        made[k] = f(*(a[k] for a in arrays))
    return made


def normalise(c: Call, x: Any) -> Any:
    """Texts without stop words, in another case."""
    stop, exact = c.get("stopwords") or [], bool(c.get("is_case_sensitive", 0))
    change = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}[c.get("case_change_action", "NONE")]
    words = set(stop) if exact else {w.lower() for w in stop}
    rows = [[change(w) for w in row if (w if exact else w.lower()) not in words] for row in np.atleast_2d(x)]
    rows = [row or [""] for row in rows]
    if len({len(row) for row in rows}) > 1:
        raise DataError("StringNormalizer leaves rows of different lengths")
    made = np.array(rows, object)
    return made[0] if x.ndim == 1 else made


def split(c: Call, x: Any) -> Any:
    """The parts of texts between delimiters, filled up with empty ones, and how many there are."""
    by, most = c.get("delimiter") or None, c.get("maxsplit", -1)
    parts = [text.split(by, most) for text in x.ravel()]
    width = max(map(len, parts), default=0)
    filled = np.array([row + [""] * (width - len(row)) for row in parts], object).reshape((*x.shape, width))
    return filled, st.tensor(np.array([len(row) for row in parts], np.int64).reshape(x.shape))


def matches(c: Call, x: Any) -> Any:
    """Whether texts match a pattern from end to end."""
    pattern = re.compile(c.get("pattern"))
    return st.tensor(each(lambda text: pattern.fullmatch(text) is not None, x).astype(bool))


def encode(c: Call, x: Any) -> Any:
    """Values for keys, and a default for what is none of them."""
    def listed(kind: str) -> Any:
        for end in ("strings", "int64s", "floats"):
            if (found := c.get(f"{kind}_{end}")) is not None:
                return found, end
        return list(host(c.get(f"{kind}_tensor")).ravel()), "tensor"

    keys, _ = listed("keys")
    values, of = listed("values")
    usual = f"default_{of.removesuffix('s')}"
    default = c.get(usual, {"strings": "_Unused", "int64s": -1, "floats": -0.0}.get(of))
    default = default.reshape(-1)[0] if isinstance(default, np.ndarray) else default
    table = {key_of(k): v for k, v in zip(keys, values)}
    made = each(lambda k: table.get(key_of(k), default), x)
    dtypes = {"strings": object, "int64s": np.int64, "floats": np.float32}
    dtype = dtypes.get(of) or (host(c.get("values_tensor")).dtype)
    return value(made.astype(dtype))


def key_of(x: Any) -> Any:
    """A key, where NaN is one."""
    return "NaN" if isinstance(x, float | np.floating) and np.isnan(x) else x


def ngrams(c: Call, x: Any) -> Any:
    """How often n-grams of a pool occur in rows, or what they weigh."""
    least, most, skips = c.get("min_gram_length"), c.get("max_gram_length"), c.get("max_skip_count")
    pool = c.get("pool_strings") or c.get("pool_int64s")
    starts, places, weights = c.get("ngram_counts"), c.get("ngram_indexes"), c.get("weights")
    grams: dict[tuple[Any, ...], int] = {}
    for n, (a, b) in enumerate(zip(starts, [*starts[1:], len(pool)]), 1):
        for k in range(a, b, n):
            grams[tuple(pool[k:k + n])] = len(grams)
    rows = np.atleast_2d(host(x))
    made = np.zeros((len(rows), max(places) + 1), np.float32)
    for row, counts in zip(rows.tolist(), made):
        for n in range(least, most + 1):
            for skip in range(1, skips + 2) if n > 1 else (1,):
                for k in range(len(row) - (n - 1) * skip):
                    if (found := grams.get(tuple(row[k:k + (n - 1) * skip + 1:skip]))) is not None:
                        counts[places[found]] += 1
    scale = np.ones(made.shape[1], np.float32)
    if weights:
        scale[places] = weights
    made = {"TF": made, "IDF": (made > 0) * scale, "TFIDF": made * scale}[c.get("mode")].astype(np.float32)
    return st.tensor(made if host(x).ndim > 1 else made[0])


MOVED = frozenset(["ArrayFeatureExtractor", "Compress", "DepthToSpace", "Expand", "GatherElements", "NonZero", "OneHot",
                   "Pad", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "SpaceToDepth", "Tile", "Trilu",
                   "Unique"])
"""Ops that move texts as they move numbers, and have no rule for them of their own."""


def is_texts(x: Any) -> bool:
    """Whether x is an array of texts."""
    return isinstance(x, np.ndarray) and x.dtype == object and all(isinstance(text, str) for text in x.ravel())


def moved(f: Rule) -> Rule:
    """A rule for numbers, on texts: each as its place among all of them in order, the empty one as 0."""
    def rule(c: Call, *inputs: Any) -> Any:
        words = sorted({"", *(text for x in inputs if is_texts(x) for text in x.ravel().tolist())})
        place = {text: k for k, text in enumerate(words)}
        made = f(c, *(value(each(place.__getitem__, x).astype(np.int64)) if is_texts(x) else x for x in inputs))
        says = get_schema(c.node.op, c.version, c.node.domain)
        kinds = {i.type_str for i, x in zip(says.inputs, inputs) if is_texts(x)}
        many = made if isinstance(made, tuple) else (made,)
        return tuple(np.array(words, object)[host(y)] if o.type_str in kinds else y for o, y in zip(says.outputs, many))

    return rule


RULES: Rules = {
    "StringConcat": lambda c, x, y: each(lambda a, b: a + b, x, y), "StringNormalizer": normalise, "StringSplit": split,
    "RegexFullMatch": matches, "TfIdfVectorizer": ngrams, "ai.onnx.ml:LabelEncoder": encode,
}
