"""What the checks look at: one program as it was traced, before any pass."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from stele.handle import owner
from stele.ir.graph import Value, users, walk
from stele.ir.origin import Where, is_gradient
from stele.trace import Traced


class Gradient(NamedTuple):
    """A gradient that `backward` leaves in `.grad`: whose, its value, whether of an argument, and whether anything
    takes it.
    """

    of: str
    value: Value
    is_argument: bool
    is_used: bool


@dataclass(frozen=True)
class Subject:
    """A program, or a part of what is known of one: its values with those of nested graphs, whether they may still be
    differentiated, the gradients it leaves, the places where Python asks for numbers in every step, and those of
    functions that are traced in every call.
    """

    values: tuple[Value, ...] = ()
    differentiable: bool = False
    gradients: tuple[Gradient, ...] = ()
    looks: tuple[Where, ...] = ()
    traced: tuple[Where, ...] = ()

    @cached_property
    def forward(self) -> tuple[Value, ...]:
        """The values as the user wrote them, without those of gradients."""
        return tuple(v for v in self.values if not is_gradient(v.where))

    @cached_property
    def users(self) -> dict[Value, list[Value]]:
        """For each value those that take it, gradients aside."""
        return users(self.forward)

    @property
    def has_gradients(self) -> bool:
        return len(self.forward) < len(self.values)

    @property
    def is_inference(self) -> bool:
        """Whether nothing is learned from what this program computes."""
        return not (self.differentiable or self.has_gradients)


def nested(values: Iterable[Value]) -> Iterator[Value]:
    """The values, and those of the graphs their ops hold."""
    for v in values:
        yield v
        for graph in v.op.graphs:
            yield from nested(graph)


def of_traced(traced: Traced, arguments: Collection[int]) -> Subject:
    """A traced function; `arguments` are the identities of the tensors it was called with."""
    graph = traced.graph
    values = tuple(nested(walk([*graph.parameters, *graph.results])))
    label = {h: p.op.label for (kind, h), p in zip(traced.inputs, graph.parameters) if kind == "handle"}  # type: ignore[attr-defined]
    takers = users(v for v in graph if not is_gradient(v.where))
    left = [(h, graph.results[traced.made[part.what].result]) for h, part in traced.grads if part.kind == "made"]
    gradients = tuple(Gradient(label.get(h, "a tensor"), g, id(traced.handles[h]) in arguments, bool(takers.get(g)))
                      for h, g in left)
    return Subject(values, any(m.requires_grad for m in traced.made), gradients)


def of_evaluated(order: Sequence[Value]) -> Subject:
    """Pending values that are computed now; a live tensor among them that carries gradients may still get some."""
    live = (h for v in order if v.args and (h := owner(v)) is not None)
    values = (v for v in order if v.data is None or not is_gradient(v.where))
    return Subject(tuple(nested(values)), any(h.requires_grad and not h.leaf for h in live))
