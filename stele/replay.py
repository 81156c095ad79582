"""Expressions that were seen before: one walk says what they are, a plan how their numbers were had the last time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stele import config
from stele.backend.base import Program
from stele.ir.graph import Literal, Op, Parameter, Value

MOST, MOST_OPS = 1 << 11, 1 << 15
NAMED, GRADIENTS, LEAF, THERE, GONE, ARITY = 1, 2, 4, 8, 16, 5   # of a value: its live owner, its numbers, its history
FREED = "freed"
T = TypeVar("T")


INTERNED: dict[int, Op] = {}
OPS: dict[str, Op] = {}


def interned(op: Op) -> Op:
    """The op that stands for all that read as it does, so that its identity is enough to tell it from others."""
    if id(op) in INTERNED:
        return op
    if len(OPS) > MOST_OPS:
        OPS.clear()
        INTERNED.clear()
    found = OPS.setdefault(repr(op), op)
    INTERNED[id(found)] = found
    return found


@dataclass(slots=True)
class Seen:
    """An expression as one walk sees it: its values in order, operands first.

    `key` is equal for two expressions only if they have the same ops, wiring, types of leaves and owners, literal
    numbers aside: calls of templates are told by their form, other ops by identity: `held`. `first` are pending
    values of live leaves, which are computed before and count as leaves here. `ends` are the places of the values of
    leaves that want gradients, `there` is how many values had numbers.
    """

    key: Any = ()
    values: list[Value] = field(default_factory=list)
    literals: list[Any] = field(default_factory=list)
    held: list[Op] = field(default_factory=list)
    first: list[Value] = field(default_factory=list)
    ends: list[tuple[int, Any]] = field(default_factory=list)
    there: int = 0

    def is_stale(self) -> bool:
        """Whether computing `first` has computed more of these values."""
        return sum([v.data is not None for v in self.values]) != self.there + len(self.first)

    def places(self) -> dict[Value, int]:
        """Where each value stands."""
        return {v: k for k, v in enumerate(self.values)}


def look(wanted: Sequence[Value], through: bool = False) -> Seen | None:
    """What pending values are, up to values that have numbers, or with `through` up to the ends of all history.

    None where they are symbolic. For code outside of traces: owners are what they are outside.
    """
    place: dict[Value, int] = {}
    key: list[Any] = [config.BACKEND.text(), through]
    seen = Seen()
    values, stack, asked = seen.values, [*reversed(wanted)], frozenset(wanted)
    while stack:
        v = stack.pop()
        if v in place:
            continue
        pending = v.data is None
        if not pending and not through:
            key.append(v.type)
            seen.there += 1
        else:
            flags, h = (0, None) if v.owner is None else owned(v)
            is_first = pending and flags & LEAF and v not in asked
            call = v.call if pending and not is_first and v.call is not None and v.call.is_untouched() else None
            args = () if is_first else v.args if call is None else call.operands
            if todo := [a for a in args if a not in place]:
                stack.append(v)
                stack += reversed(todo)
                continue
            if flags & LEAF and flags & GRADIENTS:
                seen.ends.append((len(values), h))
            if call is not None:
                values += call.hidden
                seen.literals += call.template.literals
                key += (call.template.form, flags, *[place[a] for a in args])
            elif is_first:
                seen.first.append(v)
                key += (v.type, flags)
            elif not args and pending and type(v.op) is Parameter:
                return None
            else:
                key += alone(v, flags, [place[a] for a in args], seen)
        place[v] = len(values)
        values.append(v)
    seen.key = (*key, *[place[v] for v in wanted])
    return seen


def owned(v: Value) -> tuple[int, Any]:
    """What the live owner of a value makes of it, and the owner."""
    h = v.owner()
    if h is None or h._value is not v:
        return 0, None
    return NAMED | (h._requires_grad and GRADIENTS) | (h.leaf and LEAF), h


def alone(v: Value, flags: int, args: Sequence[int], seen: Seen) -> tuple[Any, ...]:
    """What the key says of a value that is no call; its number or op is noted."""
    op, pending = v.op, v.data is None
    seen.there += not pending
    if not args and not pending:
        return v.type, flags | (type(op) is Parameter and op.label == FREED and GONE)
    if type(op) is Literal:
        seen.literals.append(op.value or str(op.value))
        return op.dtype.name, flags
    op = interned(op)
    seen.held.append(op)
    return id(op), flags | (not pending and THERE) | len(args) << ARITY, *args


class Store(Generic[T]):
    """Plans by key, the newest so many; each holds the ops whose ids its key is made of."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.plans: dict[Any, tuple[T, list[Op]]] = {}

    def get(self, key: Any) -> T | None:
        found = self.plans.get(key)
        return None if found is None else found[0]

    def put(self, key: Any, plan: T, ops: list[Op]) -> None:
        self.plans[key] = plan, ops
        if len(self.plans) > self.most:
            del self.plans[next(iter(self.plans))]


@dataclass
class Plan:
    """How the numbers of an expression are had: by numbers of values, what programs take and give, and whose history
    nobody needs any more. One program is for the literals of its first time, one takes any behind its other inputs.
    """

    inputs: list[int]
    results: list[int]
    forgotten: list[int]
    exact: Program | None = None
    literals: list[Any] = field(default_factory=list)
    general: Program | None = None
    numbers: list[int] = field(default_factory=list)


EVALUATIONS: Store[Plan] = Store()


def forget(v: Value, label: str = "value") -> None:
    """Drops the history of a value that has its numbers."""
    v.op, v.args, v.call = Parameter(label, v.type), (), None
