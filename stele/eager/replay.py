"""Expressions that were seen before: one walk says what they are, and how their numbers were had the last time."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stele import config
from stele.backend.base import Program
from stele.backend.newest import Newest
from stele.backend.source import written
from stele.eager.live import Live, is_there
from stele.ir.graph import Literal, Op, Parameter, Value

MOST, MOST_OPS = 1 << 11, 1 << 15
NAMED, GRADIENTS, LEAF, THERE, GONE, ARITY = 1, 2, 4, 8, 16, 5   # of a value: its live owner, its numbers, its history
FREED = "freed"
FEW, LONGEST = 8, 1 << 10   # patterns kept of results of one template, and the values of one

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
    key: list[Any] = [config.BACKEND.text(), config.MEMORY.text(), through, len(wanted)]
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
    sizes: Mapping[str, int]
    exact: Program | None = None
    literals: list[Any] = field(default_factory=list[Any])
    general: Program | None = None
    numbers: list[int] = field(default_factory=list[int])
    opens: bool = False         # whether some of them are on the way to the results of calls


EVALUATIONS: Newest[Any, Evaluation] = Newest(MOST)
PATTERNS: Newest[Any, list[tuple[Any, Callable[..., bool]]]] = Newest(MOST)
"""Evaluations of single results of calls alone, by the template of the last: each with its options, as code that knows
such an expression and gives it numbers."""


def recognise(past: Evaluation, seen: Seen) -> None:
    """Notes how to know an expression again whose evaluation is kept, if it is one result of calls."""
    if seen.key[3] == 1 and len(seen.calls) == len(seen.pending) and not seen.first and len(seen.values) <= LONGEST:
        template = seen.calls[0][2][0]
        PATTERNS[template] = [(seen.key[:2], known_again(past, seen)), *PATTERNS.get(template, ())][:FEW]


def known_again(past: Evaluation, seen: Seen) -> Callable[..., bool]:
    """A function of a pending value and of what runs programs: False where the value is of another pattern, else it has
    its numbers. Templates tell the types of operands, and numbers in the text.
    """
    known: dict[str, Any] = {"owned": owned, "program": past.exact, "sizes": past.sizes}
    lines, first, n = ["def call(v0, run):"], dict[Any, int](), 1
    calls = {k: (flags, call) for k, flags, call, _ in seen.calls}
    for k, v in enumerate(seen.values):
        if (before := first.setdefault(v, k)) != k:
            lines.append(f"    if v{k} is not v{before}: return False")
        elif k not in calls:
            lines.append(f"    if v{k}.data is None: return False")
        else:
            flags, (known[f"t{k}"], operands, _) = calls[k]
            names, n = [f"v{n + j}" for j in range(len(operands))], n + len(operands)
            lines += [f"    c, h = v{k}.call, v{k}.owner",
                      f"    if c is None or c[0] is not t{k} or c[2] or v{k}.data is not None or "
                      + (f"h is None or owned(v{k})[0] != {flags}" if flags else
                         f"h is not None and h() is not None and owned(v{k})[0]") + ": return False",
                      f"    [{', '.join(names)}] = c[1]"]
    leaves = [f"v{k}" for k in first.values() if k not in calls]
    lines += [f"    if len({{{', '.join(leaves)}}}) != {len(leaves)}: return False"] * (len(leaves) > 1)
    lines += [f"    made = run(program, [{', '.join(f'v{k}.data' for k in past.inputs)}], (v0,), sizes)",
              f"    [{', '.join(f'v{k}.data' for k in past.results)}] = made"]
    for k, op in past.forgotten:
        known[f"op{k}"] = op
        lines.append(f"    v{k}.op, v{k}.args, v{k}.call = op{k}, (), None")
    return written("a pattern", [*lines, "    return True"], known)


def recognised(wanted: Live, run: Callable[..., Any]) -> bool:
    """Gives a pending value its numbers where its pattern is known."""
    if wanted.call is not None and (patterns := PATTERNS.get(wanted.call[0])) is not None:
        options = config.BACKEND.text(), config.MEMORY.text()
        for own, given in patterns:
            if own == options and given(wanted, run):
                return True
    return False
