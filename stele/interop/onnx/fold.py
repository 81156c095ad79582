"""Batch normalisations behind convolutions become part of these: a model to run, not to train."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from stele.interop.onnx.model import Array, Graph, Model, Node
from stele.interop.onnx.reader import taken

Weights = Mapping[str, Callable[[], Array]]


def folded(model: Model) -> Model:
    """The model with the scales and shifts of its normalisations in the weights of the convolutions before them.

    One with grouped convolutions stays as it is: what these read is then cheap enough to be computed for each tap,
    and they get slower by a fifth.
    """
    graph = model.graph
    if any(n.op == "Conv" and n.get("group", 1) > 1 for n in graph.nodes):
        return model
    fixed = graph.weights.keys() - {i.name for i in graph.inputs}
    uses = Counter([x for n in graph.nodes for x in taken(n)] + [o.name for o in graph.outputs])
    makers = {output: n for n in graph.nodes for output in n.outputs}
    weights, nodes = dict(graph.weights), {id(n): n for n in graph.nodes}
    for norm in graph.nodes:
        conv = makers.get(norm.inputs[0]) if is_plain(norm) else None
        if conv and conv.op == "Conv" and not conv.domain and uses[norm.inputs[0]] == 1 and {
                x for x in (*conv.inputs[1:], *norm.inputs[1:]) if x} <= fixed:
            made = [f"{norm.outputs[0]}.{part}" for part in ("weight", "bias")]
            numbers = scaled(conv, norm, graph.weights)
            weights |= {name: (lambda x=x: x) for name, x in zip(made, numbers)}
            nodes[id(norm)] = replace(conv, inputs=(conv.inputs[0], *made), outputs=norm.outputs[:1], proto=None)
            del nodes[id(conv)]
    kept = tuple(nodes.values())
    used = {x for n in kept for x in taken(n)} | {o.name for o in graph.outputs}
    return replace(model, graph=Graph(graph.name, graph.inputs, graph.outputs, kept, {
        name: load for name, load in weights.items() if name in used}))


def is_plain(n: Node) -> bool:
    """Whether a node normalises by numbers that are known, and gives nothing else."""
    return (n.op == "BatchNormalization" and not n.domain and n.version >= 9 and not n.get("training_mode", 0)
            and not any(n.outputs[1:]))


def scaled(conv: Node, norm: Node, weights: Weights) -> tuple[Array, Array]:
    """The weight and bias of a convolution that normalises what it gives."""
    def numbers(name: str) -> Array:
        return weights[name]().astype(np.float64)

    scale, shift, mean, variance = map(numbers, norm.inputs[1:5])
    w = weights[conv.inputs[1]]()
    bias = numbers(conv.inputs[2]) if len(conv.inputs) > 2 and conv.inputs[2] else np.zeros(len(w))
    by = scale / np.sqrt(variance + norm.get("epsilon", 1e-5))
    made = w.astype(np.float64) * by.reshape((-1,) + (1,) * (w.ndim - 1))
    return made.astype(w.dtype), ((bias - mean) * by + shift).astype(w.dtype)
