"""What the checks look at: one program as it was traced, before any pass."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from stele.eager.follow import Follower
from stele.eager.handle import Handle, owner
from stele.eager.live import is_there
from stele.ir.graph import Value, label_of, nested, users
from stele.ir.origin import Where, here, is_gradient
from stele.tracing.trace import Traced


class Gradient(NamedTuple):
    """A gradient that `backward` leaves in `.grad`: whose, its value, its tensor if that is a parameter, whether it is
    of an argument, and whether anything takes it.
    """

    of: str
    value: Value
    parameter: Handle | None
    is_argument: bool
    is_used: bool


class Grown(NamedTuple):
    """A gradient that was added to one that a step had used: whose, and where."""

    of: str
    where: Where


class Stepped(NamedTuple):
    """An optimiser whose steps were seen, and where."""

    optimizer: Any
    where: Where


@dataclass(frozen=True)
class Subject:
    """A program, or a part of what is known of one: its values with those of nested graphs, whether they may still be
    differentiated, the gradients it leaves, the optimisers that step, the gradients that are never zeroed, the places
    where Python asks for numbers in every step, and those of functions that are traced in every call.
    """

    values: tuple[Value, ...] = ()
    differentiable: bool = False
    gradients: tuple[Gradient, ...] = ()
    optimizers: tuple[Stepped, ...] = ()
    grown: tuple[Grown, ...] = ()
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
    def left_out(self) -> tuple[Gradient, ...]:
        """The gradients that nothing takes, of parameters that none of the optimisers holds."""
        held = {id(p) for stepped in self.optimizers for p in stepped.optimizer.parameters}
        return tuple(g for g in self.gradients if held and not g.is_used and g.parameter is not None
                     and id(g.parameter) not in held)

    @property
    def has_gradients(self) -> bool:
        return len(self.forward) < len(self.values)

    @property
    def is_inference(self) -> bool:
        """Whether nothing is learned from what this program computes."""
        return not (self.differentiable or self.has_gradients)


class Steps(Follower):
    """Sees which optimisers step, and where, and which modules are called, for the names of their parameters."""

    def __init__(self) -> None:
        self.optimizers: dict[int, Stepped] = {}
        self.modules: dict[int, Any] = {}
        self.paths: dict[int, str] = {}

    def stepped(self, optimizer: Any) -> None:
        self.optimizers.setdefault(id(optimizer), Stepped(optimizer, here()))

    def passed(self, module: Any, y: Any) -> None:
        if id(module) not in self.modules:
            self.modules[id(module)] = module
            for path, p in module.named_parameters():
                self.paths[id(p)] = max(path, self.paths.get(id(p), ""), key=lambda path: path.count("."))

    def name(self, handle: Handle, otherwise: str) -> str:
        """The path of a parameter in the outermost module that was called; of others what else they are known by."""
        path = self.paths.get(id(handle))
        return otherwise if path is None or otherwise.endswith(f".{path}") else path

    def names(self, traced: Traced) -> dict[int, str]:
        """What the tensors of a traced function are called, by number."""
        label = {h: label_of(traced.graph.parameters[k]) for h, k in traced.read.items()}
        return {h: self.name(x, label.get(h, "a tensor")) for h, x in enumerate(traced.handles)}


def of_traced(traced: Traced, arguments: Collection[int], steps: Steps) -> Subject:
    """A traced function; `arguments` are the identities of the tensors it was called with, `steps` what was seen."""
    graph = traced.graph
    values = tuple(graph.everything)
    names = steps.names(traced)
    takers = users(v for v in graph if not is_gradient(v.where))
    left = [(h, g) for h, part in traced.grads if (g := traced.result(part)) is not None]
    given = {h for h, x in enumerate(traced.handles) if id(x) in arguments}
    gradients = tuple(Gradient(names[h], g, None if h in given else traced.handles[h], h in given,
                               bool(takers.get(g))) for h, g in left)
    return Subject(values, any(m.requires_grad for m in traced.made), gradients)


def of_evaluated(order: Sequence[Value]) -> Subject:
    """Pending values that are computed now; a live tensor among them that carries gradients may still get some."""
    live = (h for v in order if v.args and (h := owner(v)) is not None)
    values = (v for v in order if not is_there(v) or not is_gradient(v.where))
    return Subject(tuple(nested(values)), any(h.requires_grad and not h.leaf for h in live))
