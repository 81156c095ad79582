"""Follows a running script: lints every program it makes, and sees what no single program shows."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from stele.follow import Follower
from stele.handle import TRACING, owner
from stele.inspect.lint.checks import check, training_mode
from stele.inspect.lint.finding import Finding, spelled
from stele.inspect.lint.subject import Gradient, Subject, of_evaluated, of_traced
from stele.ir.graph import Value
from stele.ir.origin import NOWHERE, Where, here
from stele.plan import Plan

EVERY_CALL = 6  # a function that was traced in so many calls running is traced in every call
EVERY = 3       # a line that has looked at numbers in so many steps running does so in every step


@dataclass
class Look:
    """A line that asks for numbers: the step it last did so in, and in how many steps running."""

    step: int = -1
    running: int = 0


@dataclass
class Left:
    """A gradient that `backward` left in `.grad`, over all steps: its value in one of them, and whether it was used."""

    value: Value
    is_used: bool = False


class Watch(Follower):
    """Findings in all programs of a run, and `steps`, the number of those that computed gradients."""

    def __init__(self) -> None:
        self.found: set[Finding] = set()
        self.unlearned: set[Finding] = set()
        self.plans: dict[Plan, bool] = {}
        self.new: dict[Where, int] = defaultdict(int)       # programs made in calls running, by line
        self.looks: dict[Where, Look] = defaultdict(Look)
        self.left: dict[Where, dict[str, Left]] = defaultdict(dict)
        self.pending: WeakKeyDictionary[Value, Left] = WeakKeyDictionary()
        self.programs = self.steps = 0

    def findings(self) -> list[Finding]:
        """What was found. Without a single gradient in the run, nothing was learned from any of its programs."""
        gradients = tuple(Gradient(of, left.value, False, left.is_used)
                          for each in self.left.values() for of, left in each.items())
        return sorted({*self.found, *check(Subject(gradients=gradients)), *(() if self.steps else self.unlearned)})

    def lint(self, subject: Subject) -> bool:
        """Adds what is found in one program; whether it computes gradients."""
        self.programs += 1
        self.found.update(check(subject))
        if not subject.has_gradients:
            self.unlearned.update(training_mode(replace(subject, differentiable=False)))
        return subject.has_gradients

    def take(self, values: Sequence[Value]) -> None:
        """A gradient among these is used."""
        for v in values:
            if (left := self.pending.get(v)) is not None:
                left.is_used = True

    def looked(self, v: Value) -> None:
        if TRACING.get() is not None:
            return
        self.take([v])
        where = here()
        look = self.looks[where]
        if self.steps and look.step != self.steps:
            look.running = look.running + 1 if look.step == self.steps - 1 else 1
            look.step = self.steps
            if look.running == EVERY:
                self.found.update(check(Subject(looks=(where,))))

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        self.take(order)
        self.steps += self.lint(of_evaluated(order))
        targets = set(wanted)
        for v in order:
            handle = owner(v)
            if handle is None or not handle.leaf or handle._grad is None or handle._grad._value not in targets:
                continue
            g: Value = handle._grad._value
            of = f"{v.type}" + (f" made at {spelled(v.where)}" if v.where else "")
            self.pending[g] = self.left[g.where].setdefault(of, Left(g))

    def called(self, plan: Plan, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        lines = NOWHERE.union(*(v.where for v in plan.traced.graph.results))
        self.new[lines] = 0 if plan in self.plans else self.new[lines] + 1
        if self.new[lines] == EVERY_CALL and lines:
            self.found.update(check(Subject(traced=(lines,))))
        if plan not in self.plans:
            self.plans[plan] = self.lint(of_traced(plan.traced, {id(plan.traced.handles[h]) for h, (base, _) in
                                                                 enumerate(plan.getters) if base is None}))
        self.take([handles[k]._value for kind, k in plan.inputs if kind == "handle"])
        self.steps += self.plans[plan]
