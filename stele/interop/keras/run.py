"""A model of Keras computed layer by layer with Stele's ops: on numbers, or traced into a program."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import stele as st
from stele.errors import ArgumentError, SteleError, kind
from stele.interop.imported import layer as named
from stele.interop.keras.call import Call
from stele.interop.keras.model import Graph, Input, Layer, Ref, leaves, mapped
from stele.interop.keras.table import KINDS


class Result(NamedTuple):
    """A tensor, and which of its steps count, where not all do."""

    x: Any
    mask: Any


class Run:
    """A run of a model: its weights by name, and whether it is being trained."""

    def __init__(self, weights: Mapping[str, st.Tensor], training: bool) -> None:
        self.weights, self.training = weights, training

    def graph(self, graph: Graph, given: Mapping[str, Result]) -> Any:
        """The results of a model for its inputs by name, in their containers."""
        values = {(name, 0): [found] for name, found in given.items()}

        def result(ref: Ref) -> Result:
            return values[ref.layer, ref.call][ref.place]

        for step in graph.steps:
            args, kwargs = (mapped(lambda ref: result(ref).x, part) for part in (step.args, step.kwargs))
            masks = [result(ref).mask for ref in leaves(step.args)]
            with named(step.layer.name):
                made, behind = self.layer(step.layer, args, kwargs, masks)
            values[step.key] = [Result(*pair) for pair in zip(flat(made), flat(behind))]
        return mapped(result, graph.outputs)

    def layer(self, layer: Layer, args: Sequence[Any], kwargs: Mapping[str, Any], masks: Sequence[Any]) -> Any:
        """What a layer gives, and the masks of it, both in the containers of its results."""
        try:
            if layer.graph is not None:
                inner = dict(zip(order(layer.graph), zip(flat(args[0]), masks)))
                made = self.graph(layer.graph, {name: Result(cast(x, layer.graph.known[name]), mask)
                                                for name, (x, mask) in inner.items()})
                return picked(made, 0), picked(made, 1)
            c = Call(layer, self, args, masks)
            y = KINDS[layer.kind].rule(c, *(computed(c, x) for x in args), **kwargs)
            behind = KINDS[layer.kind].mask(c, y)
            return y, behind if isinstance(behind, list) else [behind] * len(flat(y))
        except (SteleError, ValueError, TypeError, IndexError) as error:
            error.add_note(f"This was raised by layer {layer} of the Keras model.")
            raise


def computed(c: Call, x: Any) -> Any:
    """An argument in the dtype that a layer computes in, where it is of floats."""
    if isinstance(x, list):
        return [computed(c, part) for part in x]
    return x.astype(c.dtype) if isinstance(x, st.Tensor) and x.dtype.kind == "f" and x.dtype != c.dtype else x


def cast(x: Any, wanted: Input) -> Any:
    """An input in its dtype."""
    if not isinstance(x, st.Tensor):
        raise ArgumentError(f"input {wanted.name or 'x'} of the model is a tensor, got {kind(x)}")
    return x if x.dtype == wanted.dtype else x.astype(wanted.dtype)


def order(graph: Graph) -> list[str]:
    """The names of a model's inputs, in the order of its containers."""
    return [ref.layer for ref in leaves(graph.inputs)]


def flat(tree: Any) -> list[Any]:
    """What is in containers, in Keras's order: that of sorted names in dicts."""
    if isinstance(tree, Result) or not isinstance(tree, dict | list | tuple):
        return [tree]
    inner = [tree[key] for key in sorted(tree)] if isinstance(tree, dict) else tree
    return [x for part in inner for x in flat(part)]


def picked(tree: Any, k: int) -> Any:
    """The tensors, or the masks, of results in containers."""
    if isinstance(tree, Result):
        return tree[k]
    if isinstance(tree, dict):
        return {key: picked(part, k) for key, part in tree.items()}
    return [picked(part, k) for part in tree]
