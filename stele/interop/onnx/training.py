"""ONNX's optimisers, one step of each, and its trees."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.values import Call, Rules, host

DOMAIN = "ai.onnx.preview.training"


def each(f: Any, kinds: int) -> Any:
    """One step for each of several tensors: what is theirs stands behind R and T by kind."""
    def rule(c: Call, rate: Any, step: Any, *x: Any) -> Any:
        n = len(x) // kinds
        made = [f(c, rate, step, *(x[kind * n + k] for kind in range(kinds))) for k in range(n)]
        return tuple(row[j] for j in range(len(made[0])) for row in made)

    return rule


def adagrad(c: Call, rate: Any, step: Any, x: Any, g: Any, h: Any) -> Any:
    """Adagrad, whose rate decays."""
    rate = rate / (1 + step.astype(x.dtype) * c.get("decay_factor", 0.0))
    g = g + c.get("norm_coefficient", 0.0) * x
    new = h + g * g
    return x - rate * g / (st.sqrt(new) + c.get("epsilon", 1e-6)), new


def adam(c: Call, rate: Any, step: Any, x: Any, g: Any, v: Any, h: Any) -> Any:
    """Adam, its corrections in the rate."""
    a, b, t = c.get("alpha", 0.9), c.get("beta", 0.999), step.astype(x.dtype)
    g = g + c.get("norm_coefficient", 0.0) * x
    new, squares = a * v + (1 - a) * g, b * h + (1 - b) * g * g
    rate = st.where(step > 0, rate * st.sqrt(1 - b ** t) / (1 - a ** t), rate)
    y = x - rate * new / (st.sqrt(squares) + c.get("epsilon", 1e-6))
    return (1 - c.get("norm_coefficient_post", 0.0)) * y, new, squares


def momentum(c: Call, rate: Any, step: Any, x: Any, g: Any, v: Any) -> Any:
    """Momentum, its own or Nesterov's."""
    a = c.get("alpha")
    g = g + c.get("norm_coefficient") * x
    b = st.where(step > 0, c.get("beta"), 1.0).astype(x.dtype)
    new = a * v + b * g
    return x - rate * (g + a * new if c.get("mode") == "nesterov" else new), new


def gradient(c: Call, *x: Any) -> Any:
    """The gradients of a value of the graph with respect to others, from which it is computed once more."""
    names, y = c.get("xs"), c.get("y")

    def f(*given: Any) -> Any:
        values = {**c.values, **dict(zip(names, given))}
        behind, nodes = set(names), []
        for node in c.model.graph.nodes:
            if node is not c.node and behind & set(node.inputs):
                behind |= set(node.outputs)
                nodes.append(node)
        c.again(nodes, values)
        return values[y]

    made, pull = st.vjp(f, *(c.values[name] for name in names))
    return tuple(pull(st.ones_like(made)))


def trees(c: Call, x: Any) -> Any:
    """What the leaves add up to to which rows come down trees: (rows, targets)."""
    rows, kinds = host(x), host(c.get("nodes_modes")).tolist()
    splits, sets = host(c.get("nodes_splits")), membership(c, kinds)
    leaves, targets = host(c.get("leaf_weights")), c.get("leaf_targetids")
    made: list[list[list[float]]] = [[[] for _ in range(c.get("n_targets"))] for _ in rows]
    for found, row in zip(made, rows):
        for root in c.get("tree_roots"):
            at, is_leaf = root, False
            while not is_leaf:
                v = row[c.get("nodes_featureids")[at]]
                yes = COMPARED[kinds[at]](v, splits[at]) if kinds[at] != MEMBER else float(v) in sets[at]
                if np.isnan(v) and c.get("nodes_missing_value_tracks_true"):
                    yes = bool(c.get("nodes_missing_value_tracks_true")[at])
                side = "true" if yes else "false"
                is_leaf = bool(c.get(f"nodes_{side}leafs")[at])
                at = c.get(f"nodes_{side}nodeids")[at]
            found[targets[at]].append(float(leaves[at]))
    fold = (lambda v: np.mean(v), np.sum, np.min, np.max)[c.get("aggregate_function", 1)]
    total = np.array([[fold(v) if v else 0.0 for v in row] for row in made])
    return post(c.get("post_transform", 0), st.tensor(total.astype(rows.dtype)))


MEMBER = 6
COMPARED: list[Any] = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal]


def membership(c: Call, kinds: list[int]) -> dict[int, set[float]]:
    """The numbers of each node that asks for one of a set: NaN stands between the sets."""
    values = c.get("membership_values")
    parts: list[set[float]] = [set()]
    for v in [] if values is None else host(values).tolist():
        parts = [*parts, set()] if np.isnan(v) else [*parts[:-1], parts[-1] | {v}]
    return dict(zip((k for k, kind in enumerate(kinds) if kind == MEMBER), parts))


def post(which: int, y: Any) -> Any:
    """What becomes of the totals: nothing, softmax, logistic, softmax of what is not 0, probit."""
    if which == 1:
        return st.softmax(y, -1)
    if which == 2:
        return st.sigmoid(y)
    if which == 3:
        return st.where(y == 0, 0, st.softmax(st.where(y == 0, -st.inf, y), -1)).astype(y.dtype)
    return st.ndtri(y) if which == 4 else y


RULES: Rules = {
    f"{DOMAIN}:Gradient": gradient, "ai.onnx.ml:TreeEnsemble": trees,
    f"{DOMAIN}:Adagrad": each(adagrad, 3), f"{DOMAIN}:Adam": each(adam, 4), f"{DOMAIN}:Momentum": each(momentum, 3),
}
