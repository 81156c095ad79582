"""ONNX's ensembles of trees: all nodes in one table, through which all rows go down all trees at once."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele.errors import DataError
from stele.interop.onnx.classical import DOMAIN, POSTS, floats, labels, names, numbers, post, scores, word
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import Call, Rules, host

MODES = "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"
COMPARED: list[Callable[[Any, Any], Any]] = [
    lambda v, s: v <= s, lambda v, s: v < s, lambda v, s: v >= s, lambda v, s: v > s, lambda v, s: v == s,
    lambda v, s: v != s]
MEMBER, LEAF = 6, 7
DEEPEST = 4096      # splits behind each other
FOLDS = "AVERAGE", "SUM", "MIN", "MAX"


class Forest(NamedTuple):
    """Trees as columns of one table, a row for each node: which feature is compared how with which split, and where
    it goes on, also with NaN. `leaves` are weights by target (rows, targets), of which a node has `leaf`."""

    roots: Array
    feature: Array
    mode: Array
    split: Array
    sets: Array         # what a node of MEMBER asks for, NaN behind
    yes: Array
    no: Array
    nan: Array
    leaf: Array
    leaves: Array


def old(c: Call, kind: str, targets: int) -> Forest:
    """The trees of TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes are numbered within each tree."""
    def ids(name: str) -> Array:
        return numbers(c, name, np.int64)

    def column(name: str) -> Array:
        tensor = c.get(f"{name}_as_tensor")
        return numbers(c, name) if tensor is None else host(tensor).reshape(-1)

    trees = ids("nodes_treeids")
    keys = [*zip(trees.tolist(), ids("nodes_nodeids").tolist())]
    at = {key: k for k, key in enumerate(keys)}
    if unknown := set(c.get("nodes_modes", ())) - {*MODES}:
        raise DataError(f"nodes_modes are of {', '.join(MODES)}, got {unknown!r:.80}")
    mode = np.array([MODES.index(word) for word in c.get("nodes_modes", ())], np.int64)
    own = np.arange(len(keys))

    def to(tree: Array, node: Array) -> Array:
        return np.array([at[key] for key in zip(tree.tolist(), node.tolist())], np.int64)

    try:
        inner = mode != LEAF
        yes, no = own.copy(), own.copy()
        for side, name in ((yes, "nodes_truenodeids"), (no, "nodes_falsenodeids")):
            side[inner] = to(trees[inner], ids(name)[inner])
        ends = to(ids(f"{kind}_treeids"), ids(f"{kind}_nodeids"))
    except (KeyError, IndexError):
        raise DataError("trees need a node of their own behind each side of a split and for each weight") from None
    missing = ids("nodes_missing_value_tracks_true") if c.get("nodes_missing_value_tracks_true") else np.zeros_like(own)
    roots = np.unique(trees, return_index=True)[1]
    return forest(roots, ids("nodes_featureids"), mode, column("nodes_values"), (), yes, no, missing, ends,
                  ids(f"{kind}_ids"), column(f"{kind}_weights"), targets, word(c, "aggregate_function", FOLDS, "SUM"))


def new(c: Call) -> Forest:
    """The trees of TreeEnsemble, whose leaves have numbers of their own, which stand behind those of nodes here."""
    inner, splits = host(c.get("nodes_modes")).astype(np.int64), host(c.get("nodes_splits"))
    weights = host(c.get("leaf_weights"))
    count, own = inner.size, np.arange(inner.size, inner.size + weights.size)
    yes, no = (np.concatenate([numbers(c, f"nodes_{side}nodeids", np.int64)
                               + count * (numbers(c, f"nodes_{side}leafs", np.int64) > 0), own])
               for side in ("true", "false"))
    more = np.zeros(weights.size, np.int64)
    missing = numbers(c, "nodes_missing_value_tracks_true", np.int64)
    asked = c.get("membership_values")
    return forest(numbers(c, "tree_roots", np.int64), np.concatenate([numbers(c, "nodes_featureids", np.int64), more]),
                  np.concatenate([inner, more + LEAF]), np.concatenate([splits, more.astype(splits.dtype)]),
                  () if asked is None else host(asked).reshape(-1), yes, no,
                  np.concatenate([missing if missing.size else np.zeros(count, np.int64), more]), own,
                  numbers(c, "leaf_targetids", np.int64), weights, c.get("n_targets"),
                  named(c, "aggregate_function", FOLDS, 1))


def forest(roots: Array, feature: Array, mode: Array, split: Array, asked: Sequence[Any] | Array, yes: Array, no: Array,
           missing: Array, ends: Array, targets: Array, weights: Array, count: int, fold: str) -> Forest:
    """A table whose columns fit: of weights that stand at the nodes `ends`, one for each target."""
    if not len(feature) == len(mode) == len(split) == len(yes) == len(missing) or not len(ends) == len(
            targets) == len(weights):
        raise DataError("trees need as many features, modes, splits and sides as there are nodes")
    for x, most in ((yes, len(mode)), (no, len(mode)), (roots, len(mode)), (targets, count)):
        if x.size and not 0 <= x.min() <= x.max() < most:
            raise DataError(f"trees number their nodes and targets below {most}, got {x.min()} to {x.max()}")
    nothing = {"MIN": np.inf, "MAX": -np.inf}.get(fold, 0)
    held, leaf = np.unique(ends, return_inverse=True)
    leaves = np.full((len(held) + 1, count), nothing, weights.dtype)
    if fold in ("MIN", "MAX"):
        leaves[leaf + 1, targets] = weights
    else:
        np.add.at(leaves, (leaf + 1, targets), weights)
    rows = np.zeros(len(mode), np.int64)
    rows[held] = np.arange(1, len(held) + 1)
    return Forest(roots, feature, mode, split, members(mode, asked), yes, no, missing > 0, rows, leaves)


def members(mode: Array, asked: Sequence[Any] | Array) -> Array:
    """What each node asks for where it asks for one of a set: NaN stands between the sets (nodes, the largest)."""
    parts: list[list[float]] = [[]]
    for v in asked:
        if np.isnan(v):
            parts.append([])
        else:
            parts[-1].append(v)
    made = np.full((len(mode), max(map(len, parts))), np.nan, np.asarray(asked).dtype)
    for k, part in zip(np.flatnonzero(mode == MEMBER), parts):
        made[k, :len(part)] = part
    return made


def deepest(f: Forest) -> int:
    """How many splits lie behind each other at most. Raises DataError for trees that go round."""
    level, depth = f.roots, 0       # all nodes that some row may be at
    while (level := level[f.mode[level] != LEAF]).size:
        if (depth := depth + 1) > DEEPEST:
            raise DataError(f"trees end in leaves within {DEEPEST} splits, got more, or a circle of nodes")
        level = np.unique([f.yes[level], f.no[level]])
    return depth


def grown(f: Forest, x: Any) -> Any:
    """The weights of the leaves that rows (N, features) end in: (N, trees, targets)."""
    if f.feature.size and not 0 <= f.feature.min() <= f.feature.max() < x.shape[1]:
        raise DataError(f"trees ask for feature {f.feature.max()}, got {x.shape[1]} of them")
    feature, mode, split, yes, no, nan = map(st.tensor, (f.feature, f.mode, f.split, f.yes, f.no, f.nan))
    kinds = [k for k in np.unique(f.mode).tolist() if k != LEAF]

    def step(_: Any, at: Any) -> Any:
        v = st.take_along_axis(x, feature[at], axis=1)
        up = st.isnan(v) & nan[at]
        for k in kinds:
            said = COMPARED[k](v, split[at]) if k != MEMBER else (v[..., None] == st.tensor(f.sets)[at]).any(axis=-1)
            up = up | (said & (mode[at] == k) if len(kinds) > 1 else said)
        return st.where(up, yes[at], no[at])

    start = st.broadcast_to(st.tensor(f.roots), (x.shape[0], len(f.roots)))
    return st.tensor(f.leaves)[st.tensor(f.leaf)[st.fori_loop(0, deepest(f), step, start)]]


def folded(f: Forest, x: Any, fold: str) -> Any:
    """What the leaves of all trees come to: (N, targets), 0 for a target that none has."""
    y = grown(f, x)
    if fold in ("MIN", "MAX"):
        y = y.min(axis=1) if fold == "MIN" else y.max(axis=1)
        return st.where(st.isinf(y), 0, y)
    return y.sum(axis=1) / (len(f.roots) if fold == "AVERAGE" else 1)


def based(c: Call, y: Any) -> Any:
    """Totals with what stands before all trees."""
    base = c.get("base_values_as_tensor")
    found = numbers(c, "base_values") if base is None else host(base).reshape(-1)
    return y + st.tensor(found.astype(y.dtype.numpy)) if found.size else y


def regressor(c: Call, x: Any) -> Any:
    """Totals of trees, as float32."""
    y = folded(old(c, "target", c.get("n_targets", 1)), floats(x), c.get("aggregate_function", "SUM"))
    return post(word(c, "post_transform", POSTS, "NONE"), based(c, y)).astype("float32")


def classifier(c: Call, x: Any) -> Any:
    """The class with the largest total. Where all weights are of one of two classes, they speak for the second."""
    classes = len(names(c))
    ids = numbers(c, "class_ids", np.int64)
    f = old(c, "class", max(classes, int(ids.max(initial=0)) + 1))
    y = folded(f, floats(x), "SUM")
    if classes != 2 or len(np.unique(ids)) != 1:
        y = based(c, y)
        return labels(c, st.argmax(y, axis=1)), scores(c, y, positive=False)
    base = numbers(c, "base_values")
    y = y[:, ids[0]:ids[0] + 1] + float(base[-1] if base.size else 0)
    positive = bool(f.leaves.min(initial=0) >= 0)
    at = (y[:, 0] > (0.5 if positive else 0)).astype("int64")
    return labels(c, at), scores(c, y, positive)


def ensemble(c: Call, x: Any) -> Any:
    """Totals of trees, in the dtype of the rows."""
    fold, how = named(c, "aggregate_function", FOLDS, 1), named(c, "post_transform", POSTS, 0)
    return post(how, folded(new(c), x, fold)).astype(x.dtype)


def named(c: Call, name: str, known: tuple[str, ...], default: int) -> str:
    """A word that a node says by its place."""
    if not 0 <= (k := c.get(name, default)) < len(known):
        raise DataError(f"{name} of {c.node} is a number below {len(known)}, got {k}")
    return known[k]


RULES: Rules = {f"{DOMAIN}:TreeEnsemble": ensemble, f"{DOMAIN}:TreeEnsembleClassifier": classifier,
                f"{DOMAIN}:TreeEnsembleRegressor": regressor}
