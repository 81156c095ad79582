"""Follows a running script: lints every program it makes, and sees what no single program shows."""
from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stele.call.plan import Plan
from stele.eager.handle import TRACING, Handle, owner
from stele.inspect.lint.checks import check, training_mode
from stele.inspect.lint.finding import Finding, spelled
from stele.inspect.lint.gradients import Gradients
from stele.inspect.lint.subject import Steps, Subject, of_evaluated, of_traced
from stele.ir.graph import Value
from stele.ir.origin import NOWHERE, Where, here

EVERY_CALL = 6  # a function that was traced in so many calls running is traced in every call
EVERY = 3       # a line that has looked at numbers in so many steps running does so in every step


@dataclass
class Look:
    """A line that asks for numbers: the step it last did so in, and in how many steps running."""

    step: int = -1
    running: int = 0


def is_asked_by_a_trainer() -> bool:
    """Whether it is `stele.train` that looks, which tells the loss of every step, and no line of the user's."""
    frame = sys._getframe(2)    # type: ignore[reportPrivateUsage]
    while frame is not None and (name := frame.f_globals.get("__name__", "")).startswith("stele."):
        if name.startswith("stele.train."):
            return True
        frame = frame.f_back
    return False


class Watch(Steps):
    """Findings in all programs of a run, and `steps`, the number of those that computed gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[Finding] = set()
        self.unlearned: set[Finding] = set()
        self.plans: dict[Plan, bool] = {}
        self.new: dict[Where, int] = defaultdict(int)       # programs made in calls running, by line
        self.looks: dict[Where, Look] = defaultdict(Look)
        self.gradients = Gradients(self)
        self.programs = self.steps = 0

    def findings(self) -> list[Finding]:
        """What was found. Without a single gradient in the run, nothing was learned from any of its programs."""
        optimizers = tuple(self.optimizers.values())
        left = [self.gradients.found(), *(self.of_plan(plan).gradients for plan in self.plans)]
        whole = (Subject(gradients=found, optimizers=optimizers) for found in left)
        return sorted({*self.found, *check(Subject(grown=tuple(self.gradients.grown))),
                       *(finding for subject in whole for finding in check(subject)),
                       *(() if self.steps else self.unlearned)})

    def lint(self, subject: Subject) -> bool:
        """Adds what is found in one program; whether it computes gradients. What is left of them the end will tell."""
        self.programs += 1
        self.found.update(check(replace(subject, gradients=())))
        if not subject.has_gradients:
            self.unlearned.update(training_mode(replace(subject, differentiable=False)))
        return subject.has_gradients

    def looked(self, v: Value) -> None:
        if TRACING.get() is not None:
            return
        self.gradients.take([v])
        if is_asked_by_a_trainer():
            return
        where = here()
        look = self.looks[where]
        if self.steps and look.step != self.steps:
            look.running = look.running + 1 if look.step == self.steps - 1 else 1
            look.step = self.steps
            if look.running == EVERY:
                self.found.update(check(Subject(looks=(where,))))

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        targets, new = set(wanted), list[tuple[Handle, str, bool]]()
        for v in order:
            h = owner(v)
            if h is not None and h.leaf and h._grad is not None and h._grad._value in targets:
                made = f"{v.type}" + (f" made at {spelled(v.where)}" if v.where else "")
                new.append((h, self.name(h, made), id(h) in self.paths))
        self.gradients.evaluated(order, new)
        self.steps += self.lint(of_evaluated(order))

    def called(self, plan: Plan, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        lines = NOWHERE.union(*(v.where for v in plan.traced.graph.results))
        self.new[lines] = 0 if plan in self.plans else self.new[lines] + 1
        if self.new[lines] == EVERY_CALL and lines:
            self.found.update(check(Subject(traced=(lines,))))
        if plan not in self.plans:
            self.plans[plan] = self.lint(self.of_plan(plan))
        self.gradients.called(plan, handles)
        self.steps += self.plans[plan]

    def of_plan(self, plan: Plan) -> Subject:
        """The function behind a plan."""
        given = {id(plan.traced.handles[h]) for h, (base, _) in enumerate(plan.getters) if base is None}
        return of_traced(plan.traced, given, self)
