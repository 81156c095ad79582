"""ONNX's ops for classical models: linear ones, support vectors, and what prepares their features."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import stele as st
from stele.errors import DataError
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import Call, Rules, host, value

DOMAIN = "ai.onnx.ml"
KERNELS = "LINEAR", "POLY", "RBF", "SIGMOID"
POSTS = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"


def numbers(c: Call, name: str, dtype: Any = np.float32) -> Array:
    """An attribute as a vector, empty where it is left out."""
    return np.asarray(host(c.get(name, ())), dtype).reshape(-1)


def word(c: Call, name: str, known: tuple[str, ...], default: str) -> str:
    """An attribute that is one of the words that are known."""
    if (found := c.get(name, default)) not in known:
        raise DataError(f"{name} of {c.node} is one of {', '.join(known)}, got {found!r:.80}")
    return found


def one(c: Call, name: str) -> float:
    """The first number of an attribute."""
    if not (found := numbers(c, name)).size:
        raise DataError(f"{c.node} needs {name}")
    return float(found[0])


def table(c: Call, name: str, rows: int) -> Array:
    """An attribute as so many rows."""
    found = numbers(c, name)
    if not rows or found.size % rows:
        raise DataError(f"{name} of {c.node} are rows of one length, {rows} of them, got {found.size} numbers")
    return found.reshape(rows, -1)


def floats(x: Any) -> Any:
    """Features that are multiplied: float32 for whole numbers."""
    return x if x.dtype in (st.float32, st.float64) else x.astype("float32")


def post(how: str, y: Any) -> Any:
    """What becomes of scores, by the word of POSTS: softmax, also without what is 0, logistic, probit."""
    if how == "SOFTMAX":
        return st.softmax(y, -1)
    if how == "LOGISTIC":
        return st.sigmoid(y)
    if how == "SOFTMAX_ZERO":
        return st.where(y == 0, 0, st.softmax(st.where(y == 0, -st.inf, y), -1)).astype(y.dtype)
    return st.ndtri(y) if how == "PROBIT" else y


def scores(c: Call, y: Any, positive: bool) -> Any:
    """The scores of classes: of two where there is one, which is that of the second, a probability if `positive`."""
    how = word(c, "post_transform", POSTS, "NONE")
    if y.shape[1] == 1:
        y = st.concat([1 - y if (positive and how == "NONE") or how == "PROBIT" else -y, y], axis=1)
    return post(how, y).astype("float32")


def names(c: Call) -> list[Any]:
    """The names of classes, texts or numbers; none where they have none."""
    return c.get("classlabels_strings") or c.get("classlabels_ints") or c.get("classlabels_int64s") or []


def labels(c: Call, at: Any) -> Any:
    """The names of classes by their numbers, the numbers themselves where they have none."""
    if not (found := names(c)):
        return at
    return value(np.asarray(found, object)[host(at)]) if isinstance(found[0], str) else st.tensor(found)[at]


def weighted(c: Call, x: Any, rows: int) -> Any:
    """Products of features with so many rows of coefficients, and what is added to them."""
    y, b = floats(x) @ st.tensor(table(c, "coefficients", rows).T), numbers(c, "intercepts")
    return y + st.tensor(b) if b.size else y


def linear_classifier(c: Call, x: Any) -> Any:
    """The class with the largest score."""
    classes = max(len(names(c)), 1)
    rows = numbers(c, "intercepts").size or classes
    y = weighted(c, x, rows)
    at = (y[:, 0] > 0).astype("int64") if rows == 1 else st.argmax(y, axis=1)
    return labels(c, at), scores(c, y, positive=True)


def linear_regressor(c: Call, x: Any) -> Any:
    """Sums of weighted features."""
    return post(word(c, "post_transform", POSTS, "NONE"), weighted(c, x, c.get("targets", 1)))


def kernel(c: Call, x: Any, vectors: Array) -> Any:
    """How near rows are to support vectors (N, V)."""
    gamma, shift, degree = (*numbers(c, "kernel_params"), 0.0, 0.0, 0.0)[:3]
    how = word(c, "kernel_type", KERNELS, "LINEAR")
    if how == "RBF":
        away = x[:, None, :] - st.tensor(vectors)
        return st.exp(-float(gamma) * (away * away).sum(axis=-1))
    y = x @ st.tensor(vectors.T)
    if how == "POLY":
        return (y * float(gamma) + float(shift)) ** int(degree)
    return st.tanh(y * float(gamma) + float(shift)) if how == "SIGMOID" else y


def svm_regressor(c: Call, x: Any) -> Any:
    """What support vectors say, or whether a row is one of theirs: 1 or -1."""
    count, w = c.get("n_supports", 0), numbers(c, "coefficients")
    x = floats(x)
    near = kernel(c, x, table(c, "support_vectors", count)) if count else x
    y = (near @ st.tensor(w) + one(c, "rho"))[:, None]
    if c.get("one_class", 0):
        return st.where(y > 0, 1, -1).astype("float32")
    return post(word(c, "post_transform", POSTS, "NONE"), y).astype("float32")


def svm_classifier(c: Call, x: Any) -> Any:
    """The class that wins most pairs; its scores are those of pairs, or probabilities."""
    rho, of = numbers(c, "rho"), numbers(c, "vectors_per_class", np.int64)
    classes = max(len(names(c)), 1)
    x = floats(x)
    if not of.size:
        y = x @ st.tensor(table(c, "coefficients", classes).T) + one(c, "rho")
        return labels(c, st.argmax(y, axis=1)), scores(c, y, positive=False)
    pairs = [*combinations(range(classes), 2)]
    weights, starts = table(c, "coefficients", classes - 1), [*np.cumsum([0, *of])]
    if weights.shape[1] != of.sum() or len(of) != classes or len(rho) != len(pairs):
        raise DataError(f"{c.node} has vectors for each of {classes} classes and a coefficient for each vector and "
                        f"other class, got {of.sum()} vectors, {weights.size} coefficients, {len(rho)} bounds")
    products, votes = np.zeros((of.sum(), len(pairs)), np.float32), np.zeros((2, len(pairs), classes), np.float32)
    for k, (i, j) in enumerate(pairs):
        products[starts[i]:starts[i + 1], k] = weights[j - 1, starts[i]:starts[i + 1]]
        products[starts[j]:starts[j + 1], k] = weights[i, starts[j]:starts[j + 1]]
        votes[0, k, i] = votes[1, k, j] = 1
    y = kernel(c, x, table(c, "support_vectors", of.sum())) @ st.tensor(products) + st.tensor(rho)
    won = (y > 0).astype("float32")
    at = st.argmax(won @ st.tensor(votes[0]) + (1 - won) @ st.tensor(votes[1]), axis=1)
    a, b = numbers(c, "prob_a"), numbers(c, "prob_b")
    if a.size:
        y = coupled(1 - st.sigmoid(y * st.tensor(a) + st.tensor(b)), pairs, classes)
    return labels(c, at), scores(c, y, positive=False)


def coupled(p: Any, pairs: list[tuple[int, int]], k: int) -> Any:
    """Probabilities of k classes (N, k) of those within pairs (N, pairs): Wu, Lin and Weng, 2004, their second way,
    with the steps and the bound of LIBSVM, each row until it is within it."""
    sides = np.zeros((2, len(pairs), k * k), np.float32)
    for row, (i, j) in enumerate(pairs):
        sides[0, row, i * k + j] = sides[1, row, j * k + i] = 1
    p = st.clip(p, 1e-7, 1 - 1e-7)
    r = (p @ st.tensor(sides[0]) + (1 - p) @ st.tensor(sides[1])).reshape((-1, k, k))
    q = st.eye(k) * (r * r).sum(axis=1)[:, None, :] - r * st.swapaxes(r, 1, 2)
    start = st.broadcast_to(st.full((k,), 1 / k), (p.shape[0], k))

    def step(_: Any, y: Any) -> Any:
        slope = (q @ y[:, :, None])[:, :, 0]
        total = (y * slope).sum(axis=1)
        done = st.abs(slope - total[:, None]).max(axis=1) < 0.005 / k
        new = y
        for t in range(k):
            move = (total - slope[:, t]) / q[:, t, t]
            total = (total + move * (move * q[:, t, t] + 2 * slope[:, t])) / (1 + move) ** 2
            slope = (slope + move[:, None] * q[:, t]) / (1 + move)[:, None]
            new = (new + move[:, None] * st.eye(k)[t]) / (1 + move)[:, None]
        return st.where(done[:, None], y, new)

    return st.fori_loop(0, max(100, k), step, start)


def normalise(c: Call, x: Any) -> Any:
    """Rows divided by their norm."""
    x = floats(x)
    size = {"MAX": lambda: st.abs(x).max(axis=-1, keepdims=True), "L1": lambda: st.abs(x).sum(axis=-1, keepdims=True),
            "L2": lambda: st.sqrt((x * x).sum(axis=-1, keepdims=True))}[word(c, "norm", ("MAX", "L1", "L2"), "MAX")]()
    return x / st.where(size == 0, 1, size)


def scale(c: Call, x: Any) -> Any:
    """Features less an offset, scaled."""
    return (floats(x) - st.tensor(numbers(c, "offset"))) * st.tensor(numbers(c, "scale"))


def impute(c: Call, x: Any) -> Any:
    """Other numbers in place of one, or of NaN."""
    end = "float" if c.get("imputed_value_floats") else "int64"
    old = c.get(f"replaced_value_{end}", 0)
    new = st.tensor(numbers(c, f"imputed_value_{end}s", x.dtype.numpy))
    return st.where(st.isnan(x) if np.isnan(old) else x == old, new, x)


def one_hot(c: Call, x: Any) -> Any:
    """A last axis of 1 for the category of each element and 0 for others."""
    if words := c.get("cats_strings"):
        made = st.tensor((host(x)[..., None] == np.asarray(words, object)).astype(np.float32))
    else:
        made = (x[..., None] == st.tensor(numbers(c, "cats_int64s", np.int64))).astype("float32")
    if not c.get("zeros", 1) and not bool(made.any(axis=-1).all()):
        raise DataError("OneHotEncoder with zeros=0 needs one of its categories everywhere, got another value")
    return made


def features(c: Call, *x: Any) -> Any:
    """Features side by side."""
    widths = c.get("inputdimensions")
    rows = [part.reshape((part.shape[0], -1))[:, :width] for part, width in zip(x, widths, strict=True)]
    return st.concat([floats(part) for part in rows], axis=1)


def category(c: Call, x: Any) -> Any:
    """Texts for numbers, or numbers for texts."""
    texts, codes = c.get("cats_strings"), c.get("cats_int64s")
    numbered = host(x).dtype.kind in "iu"
    table = dict(zip(codes, texts) if numbered else zip(texts, codes))
    default = c.get("default_string", "_Unused") if numbered else c.get("default_int64", -1)
    found = [table.get(key, default) for key in host(x).ravel().tolist()]
    return value(np.array(found, object if numbered else np.int64).reshape(x.shape))


def zipped(c: Call, y: Any) -> Any:
    """A dict of scores by class for each row."""
    return [dict(zip(names(c), row, strict=True)) for row in host(y).tolist()]


def dense(c: Call, x: Any) -> Any:
    """The numbers of a dict in the order of a vocabulary: rows where there are several."""
    keys = c.get("string_vocabulary") or c.get("int64_vocabulary")
    rows = [[row.get(key, 0) for key in keys] for row in (x if isinstance(x, list) else [x])]
    return value(np.asarray(rows, np.float32 if any(isinstance(v, float) for row in rows for v in row) else None))


RULES: Rules = {f"{DOMAIN}:{name}": f for name, f in {
    "LinearClassifier": linear_classifier, "LinearRegressor": linear_regressor, "SVMClassifier": svm_classifier,
    "SVMRegressor": svm_regressor, "Normalizer": normalise, "Scaler": scale, "Imputer": impute,
    "OneHotEncoder": one_hot, "FeatureVectorizer": features, "CategoryMapper": category, "ZipMap": zipped,
    "DictVectorizer": dense,
    "Binarizer": lambda c, x: (x > c.get("threshold", 0.0)).astype(x.dtype),
    "ArrayFeatureExtractor": lambda c, x, k: st.take(x if x.ndim > 1 else x.reshape(1, -1), k.reshape(-1), axis=-1),
}.items()}
