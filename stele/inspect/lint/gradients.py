"""Gradients over a run: which are used, along which tensors move, and which hold one that was used before."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

from stele.call.plan import Plan
from stele.eager.handle import Handle, owner
from stele.eager.live import is_there
from stele.inspect.lint.subject import Gradient, Grown, Steps
from stele.ir.graph import Literal, Value, walk
from stele.ir.origin import Where
from stele.ops.elementwise.arithmetic import Add
from stele.ops.elementwise.unary import StopGradient
from stele.tracing.trace import Traced


class Course(NamedTuple):
    """What a program does with the gradient of one tensor, whose name is `of`: the one it finds and goes on with, the
    sum it makes with it, the one it leaves instead, and whether it moves the tensor along it.
    """

    of: str
    old: Value | None
    sum: Value | None
    left: Value | None
    moves: bool


def courses(traced: Traced, steps: Steps) -> dict[int, Course]:
    """The course of each gradient that a traced function meets, by the number of its tensor."""
    inputs = {h: traced.graph.parameters[k] for h, k in traced.read.items()}
    found = {h: inputs.get(g) for h, g in traced.grads_read if g is not None}
    left = {h: traced.result(part) for h, part in traced.grads}
    moved = {h: traced.graph.results[j] for h, j in traced.writes}
    of = steps.names(traced)
    return {h: course(of[h], found.get(h), left.get(h), left.get(h, found.get(h)), moved.get(h))
            for h in {**found, **left}}


def course(of: str, old: Value | None, left: Value | None, last: Value | None, moved: Value | None) -> Course:
    """The course of a gradient: from the one that is found to the last one, and to what the tensor becomes."""
    steps = set[Value]() if moved is None else set(walk([moved]))
    behind = walk([left]) if left is not None else steps if last is None else ()
    sum = next((v for v in behind if isinstance(v.op, Add) and old in v.args), None)
    along = last or sum or old
    return Course(of, old if old in steps.union(behind) else None, sum, left, along in steps)


def growing(traced: Traced, steps: Steps) -> tuple[Grown, ...]:
    """The gradients that every call of a function adds to, moves along, and leaves for the next one to add to."""
    return tuple(Grown(c.of, c.sum.where) for c in courses(traced, steps).values()
                 if c.sum is not None and c.left is not None and c.moves)


def made(g: Value) -> Value:
    """What a gradient in `.grad` was made by, which stands there without the way back."""
    return g.args[0] if isinstance(g.op, StopGradient) and g.args else g


def is_free(g: Value) -> bool:
    """Whether a gradient is made of nothing but numbers of the program."""
    return all(v.args or isinstance(v.op, Literal) for v in walk([g]))


@dataclass
class Use:
    """A gradient over all steps: its value in one of them, its tensor where a module holds it, whether it was used."""

    value: Value
    handle: Handle | None
    is_used: bool = False


@dataclass
class Left:
    """A gradient in `.grad`: of which tensor, and where it was asked for; whether the tensor has moved along it, and
    whether there is one in it along which the tensor had moved before.
    """

    of: str
    handle: ref[Handle]
    where: Where
    use: Use | None = None
    is_spent: bool = False
    is_stale: bool = False


class Coming(NamedTuple):
    """A gradient that a call will leave, which is told of before it runs: where it comes from, and what it replaces."""

    left: Left
    where: Where
    before: Value | None


class Gradients:
    """What is known of all gradients of a run."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.known: WeakKeyDictionary[Value, Left] = WeakKeyDictionary()
        self.uses: dict[Where, dict[str, Use]] = {}
        self.grown: dict[Grown, None] = {}
        self.plans: dict[Plan, dict[int, Course]] = {}
        self.made: list[Coming] = []

    def found(self) -> tuple[Gradient, ...]:
        """The gradients that evaluations left, each once."""
        return tuple(Gradient(of, use.value, use.handle, False, use.is_used)
                     for each in self.uses.values() for of, use in each.items())

    def take(self, values: Iterable[Value]) -> None:
        """A gradient among these is used."""
        for v in values:
            if (left := self.known.get(v)) is not None and left.use is not None:
                left.use.is_used = True

    def of(self, handle: Handle, v: Value) -> Left | None:
        """What is known of a value, if it is a gradient of this tensor."""
        left = self.known.get(v)
        return left if left is not None and left.handle() is handle else None

    def evaluated(self, order: Sequence[Value], new: Sequence[tuple[Handle, str, bool]]) -> None:
        """Values are about to be computed, with the gradients of `new` tensors among them, each with its name and
        whether a module holds it. Those of numbers that were known before cost nothing: the zeros of what has no slope.
        """
        new = [each for each in new if not is_free(each[0]._grad._value)]
        self.settle()
        self.move(order)
        added = {h._grad._value: self.added(h) for h, _, _ in new}
        sums = {made(g) for g, old in added.items() if old is not None}
        self.take(a for v in order if not is_there(v) and v not in sums for a in v.args)
        for handle, of, is_held in new:
            g = handle._grad._value
            old = added[g]
            use = old.use if old is not None else None
            use = use or self.uses.setdefault(g.where, {}).setdefault(of, Use(g, handle if is_held else None))
            is_stale = old is not None and (old.is_spent or old.is_stale)
            self.known[g] = Left(of, ref(handle), g.where, use, False, is_stale)

    def added(self, handle: Handle) -> Left | None:
        """The gradient that a tensor had, where the one it has now adds to it."""
        g = made(handle._grad._value)
        return next((left for a in g.args if (left := self.of(handle, a)) is not None), None) \
            if isinstance(g.op, Add) else None

    def move(self, values: Iterable[Value]) -> None:
        """Tensors whose new values are among these, yet to be computed, move along the gradients in them."""
        for v in values:
            handle = owner(v) if v.args and not is_there(v) else None
            if handle is None or not handle.leaf or not handle.requires_grad:
                continue
            behind = dict.fromkeys(walk([v], stop=is_there))
            g = None if handle._grad is None else handle._grad._value
            for left in [left for a in behind if (left := self.of(handle, a)) is not None]:
                self.spend(left)
                clipped = () if g is None else (g, *made(g).args[:1])
                self.known.update({a: left for a in clipped if a in behind and a not in self.known})

    def spend(self, left: Left) -> None:
        """A tensor moves along this gradient."""
        left.is_spent = True
        if left.is_stale:
            self.grown[Grown(left.of, left.where)] = None

    def called(self, plan: Plan, handles: Sequence[Handle]) -> None:
        """A compiled function is about to run."""
        self.settle()
        self.move(x._value for x in handles)
        self.take(handles[k]._value for kind, k in plan.inputs if kind == "handle")
        if plan not in self.plans:
            self.plans[plan] = courses(plan.traced, self.steps)
        self.made.clear()
        for h, c in self.plans[plan].items():
            before = None if handles[h]._grad is None else handles[h]._grad._value
            old = None if before is None or c.old is None else self.of(handles[h], before)
            is_stale = old is not None and (old.is_stale or (c.sum is not None and old.is_spent))
            where = c.sum or c.left
            left = old if where is None else Left(c.of, ref(handles[h]), where.where, None, False, is_stale)
            if left is not None and c.moves:
                self.spend(left)
            if left is not None and c.left is not None:
                self.made.append(Coming(left, c.left.where, before))

    def settle(self) -> None:
        """Finds what the last call has left in `.grad`."""
        for left, where, before in self.made:
            handle = left.handle()
            g = None if handle is None or handle._grad is None else handle._grad._value
            if g is not None and g is not before and g.where == where:
                self.known[g] = left
