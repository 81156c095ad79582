"""ONNX's optimisers, one step of each, and gradients."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.interop.onnx.values import Call, Rules

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


RULES: Rules = {
    f"{DOMAIN}:Gradient": gradient,
    f"{DOMAIN}:Adagrad": each(adagrad, 3), f"{DOMAIN}:Adam": each(adam, 4), f"{DOMAIN}:Momentum": each(momentum, 3),
}
