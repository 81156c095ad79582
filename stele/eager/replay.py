"""Expressions that were seen before: one walk says what they are, and how their numbers were had the last time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stele import config
from stele.backend.base import Program
from stele.backend.newest import Newest
from stele.eager.live import Live, is_there
from stele.ir.graph import Literal, Op, Parameter, Value

MOST, MOST_OPS = 1 << 11, 1 << 15
NAMED, GRADIENTS, LEAF, THERE, GONE, ARITY = 1, 2, 4, 8, 16, 5   # of a value: its live owner, its numbers, its history
FREED = "freed"
FEW = 4     # patterns kept of results of one template

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
    """An expression as one walk sees it: its values, the wanted first, then the operands of each of them in turn.

    `key` is equal for two expressions only if they have the same ops, wiring, types of leaves and owners, literal
    numbers aside: calls of templates are told by their form, other ops by identity: `held`. `first` are pending
    values of live leaves, which are computed before and count as leaves here. `ends` are the places of the values of
    leaves that want gradients, `pending` what else had no numbers, `calls` what of it is a call: place, flags, call,
    origins.
    """

    values: list[Any]
    key: Any = ()
    literals: list[Any] = field(default_factory=list[Any])
    held: list[Op] = field(default_factory=list[Op])
    first: list[Live] = field(default_factory=list[Live])
    ends: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])
    pending: list[Value] = field(default_factory=list[Value])
    calls: list[tuple[int, int, Any, Any]] = field(default_factory=list[tuple[int, int, Any, Any]])

    def opened(self) -> list[Any]:
        """The values, and behind them those on the way to the results of calls."""
        return self.values + [v for _, _, call, where in self.calls for v in call[0].hidden(call, where)]

    def places(self) -> dict[Value, int]:
        """Where each value stands, hidden ones too."""
        return {v: k for k, v in enumerate(self.opened())}


def look(wanted: Sequence[Value], through: bool = False) -> Seen | None:
    """What pending values are, up to values that have numbers, or with `through` up to the ends of all history.

    None where they are symbolic. For code outside of traces: owners are what they are outside.
    """
    place: dict[Value, int] = {}
    key: list[Any] = [config.BACKEND.text(), through, len(wanted)]
    seen = Seen([*wanted])
    values = seen.values
    for k, v in enumerate(values):      # which grows
        if (before := place.setdefault(v, k)) != k:
            key.append(~before)
        elif not isinstance(v, Live):   # made of nothing
            seen.pending.append(v)
            key += alone(v, 0, seen)
            values += v.args
        elif not (pending := v.data is None) and not through:
            key.append(v.type.mark)
        else:
            flags, h = (0, None) if v.owner is None else owned(v)
            if flags & LEAF and flags & GRADIENTS:
                seen.ends.append((k, h))
            if pending and flags & LEAF and k >= len(wanted):
                seen.first.append(v)
                key += v.type.mark, flags
            elif pending and (call := v.call) is not None and not any(
                    is_there(x) or x.owner is not None for written in call[2] for x in written):
                seen.pending.append(v)
                seen.calls.append((k, flags, call, v.where))
                seen.literals += call[0].literals
                key += call[0].form, flags
                values += call[1]
            elif pending and not v.args and type(v.op) is Parameter:
                return None
            else:
                seen.pending += [v] * pending
                key += alone(v, flags, seen)
                values += v.args
    seen.key = tuple(key)
    return seen


def owned(v: Live) -> tuple[int, Any]:
    """What the live owner of a value makes of it, and the owner."""
    h = v.owner()
    if h is None or h._value is not v:
        return 0, None
    return NAMED | (h._requires_grad and GRADIENTS) | (h.leaf and LEAF), h


def alone(v: Value, flags: int, seen: Seen) -> tuple[Any, ...]:
    """What the key says of a value that is no call; its number or op is noted."""
    op, args, there = v.op, v.args, is_there(v)
    if there and not args:
        return v.type.mark, flags | (type(op) is Parameter and op.label == FREED and GONE)
    if type(op) is Literal:
        seen.literals.append(op.token)
        return op.dtype.name, flags
    op = interned(op)
    seen.held.append(op)
    return id(op), flags | (there and THERE) | len(args) << ARITY


@dataclass
class Evaluation:
    """How the numbers of an expression are had: by numbers of values, what programs take and give, and whose history
    nobody needs any more. One program is for the literals of its first time, one takes any behind its other inputs. Its
    key is made of ids of ops, which are `held`.
    """

    held: list[Op]
    inputs: list[int]
    results: list[int]
    forgotten: list[tuple[int, Op]]     # with what they are then: a value that is nothing but its numbers
    exact: Program | None = None
    literals: list[Any] = field(default_factory=list[Any])
    general: Program | None = None
    numbers: list[int] = field(default_factory=list[int])


EVALUATIONS: Newest[Any, Evaluation] = Newest(MOST)
PATTERNS: Newest[Any, list[tuple[Evaluation, Any, list[tuple[int, Any]]]]] = Newest(MOST)
"""Evaluations of single results of calls alone, by the template of the last: each with the backend and the result's
owner, and with the places and templates of the calls, which tell types and numbers too: enough to know it without a
walk."""


def recognise(past: Evaluation, seen: Seen) -> None:
    """Notes how to know an expression again whose evaluation is kept, if it is one result of calls that nobody owns,
    and a tree: which operands are one value the pattern does not say.
    """
    calls = [(k, call[0]) for k, _, call, _ in seen.calls]
    owners = [flags for _, flags, _, _ in seen.calls]
    if past.results == [0] and len(calls) == len(seen.pending) and not any(owners[1:]) and not seen.first \
            and len(set(seen.values)) == len(seen.values):
        found = past, (seen.key[0], owners[0]), calls
        PATTERNS[calls[0][1]] = [found, *PATTERNS.get(calls[0][1], ())][:FEW]


def recognised(wanted: Live) -> tuple[Evaluation, Any, list[Any], list[Live]] | None:
    """The evaluation, program, inputs and values of a pending expression whose pattern is known."""
    for past, key, calls in PATTERNS.get(wanted.call[0], ()) if wanted.call else ():
        values = [wanted]       # and operands of calls, which are live too
        for k, template in calls:
            v = values[k]
            call = v.call
            if call is None or call[0] is not template or call[2] or v.data is not None or (
                    k and v.owner() is not None and owned(v)[0]):
                break
            values += call[1]
        else:
            buffers = [values[k].data for k in past.inputs]
            if None not in buffers and len(set(values)) == len(values) and (
                    config.BACKEND.text(), owned(wanted)[0]) == key:
                return past, past.exact, buffers, values
    return None
