"""What layers write when they are called on placeholders: noted beside their results, for who makes functions of these.

A tensor that a layer writes keeps its numbers then. A function that computes a result of that call, or a gradient that
comes through it, writes the tensor at each of its own calls, as the layer would.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from stele.arrays.looking import is_traced
from stele.arrays.tensor import Tensor
from stele.eager.evaluate import evaluate
from stele.eager.handle import TRACING, Handle, named
from stele.eager.hooks import Sight, watch
from stele.eager.live import is_pending, is_there
from stele.errors import GraphError
from stele.ir.graph import Item, Value, rebuild, replaced, walk
from stele.ops.derived import Watched
from stele.tracing import tree
from stele.tracing.state import Naming

PLACEHOLDERS: set[ref[Value]] = set()       # those that there are: without any nobody has to look what is written
CALLED: WeakKeyDictionary[Naming, int] = WeakKeyDictionary()    # what was called while there were any, and when last
ORDER = count()


def called(x: Naming) -> None:
    """Notes that something with names for its tensors is called, if there are placeholders."""
    if PLACEHOLDERS:
        CALLED[x] = next(ORDER)


def members(handles: Iterable[Handle]) -> list[tuple[str, Handle]]:
    """Those of handles that something called while there were placeholders has names for, as (name, handle): what names
    most of them says first, of several what was called last.
    """
    own = {id(x): x for x in handles}
    calls = sorted(CALLED.items(), key=lambda call: -call[1])
    found = [[(name, own[id(x)]) for name, x in of.named_members() if id(x) in own] for of, _ in calls]
    return [(name, own.pop(id(x))) for names in sorted(found, key=len, reverse=True) for name, x in names
            if id(x) in own]


class Write(NamedTuple):
    """A tensor that a call writes: what it was, and what it is from then on."""

    handle: Handle
    old: Value
    new: Value


class Noted(Sight):
    """One call: what it was given, what it made, what it writes. Its results are marked by it, and so are gradients on
    their way through them."""

    def __init__(self, given: Sequence[Value], made: Sequence[Value], writes: Sequence[Write]) -> None:
        super().__init__(lambda g: watch(g, self))
        self.given, self.made, self.writes, self.number = given, made, writes, next(ORDER)


Held = Sequence[tuple[Tensor, Value]]


def before(held: Iterable[Tensor | None]) -> Held:
    """Tensors as they are before a call that may write them; none where nobody notes it."""
    return [(x, x._value) for x in held if x is not None] if PLACEHOLDERS and TRACING.get() is None else ()


def noted(was: Held, given: Any, y: Any) -> Any:
    """What a call made of what it was `given`, marked where it depends on placeholders: tensors are then what they were
    before it. Raises GraphError where it writes such values and returns none, or writes a parameter.
    """
    writes = [Write(x, old, x._value) for x, old in was if x._value is not old and not is_traced(old)]
    if not writes:
        return y
    leaves, spec = tree.flatten(y)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and is_traced(leaf._value)]
    if not places:
        if any(is_traced(w.new) for w in writes):
            raise GraphError("what is called on placeholders writes tensors and returns none, so that no function "
                             "could tell when", hint="Return a tensor of the placeholders from `forward`.")
        return y
    if taken := [w.old for w in writes if w.handle.requires_grad and is_traced(w.new)]:
        raise GraphError(f"a layer that is called on placeholders writes a parameter, {taken[0].type}, whose gradient "
                         "is of what it writes", hint="Train it by st.compile, or leave out its max_norm.")
    inputs = [x.value for x in tree.flatten(given)[0] if isinstance(x, Tensor)]
    marked = dict(zip(places, mark(inputs, [leaves[k]._value for k in places], writes)))
    return tree.unflatten(spec, [Tensor(marked[k], leaf.requires_grad) if k in marked else leaf
                                 for k, leaf in enumerate(leaves)])


def mark(given: Sequence[Value], made: Sequence[Value], writes: Sequence[Write]) -> list[Value]:
    """The results of a call marked by what it writes, which is what it was before."""
    evaluate([w.old for w in writes if is_pending(w.old)])
    for w in writes:
        w.handle.value = w.old
    outside, held = {*given, *(w.old for w in writes)}, {id(w.handle) for w in writes}
    for v in walk([*made, *(w.new for w in writes)], stop=lambda v: v in outside or is_there(v)):
        if v not in outside and id(named(v)) in held:
            v.owner = None      # type: ignore[attr-defined]    # no tensor is it before a function writes it
    return watch(made, Noted(given, made, writes))


def marks(v: Value) -> Noted | None:
    """By which call a value is marked."""
    return v.op.rule if isinstance(v.op, Watched) and isinstance(v.op.rule, Noted) else None


def calls_of(results: Sequence[Value]) -> list[Noted]:
    """The calls whose results are needed, also by what such calls write, in the order in which they were made."""
    found: set[Noted] = set()
    more: Sequence[Value] = results
    while more:
        new = {call for v in walk(more, stop=is_there) if (call := marks(v)) is not None} - found
        found |= new
        more = [w.new for call in new for w in call.writes]
    return sorted(found, key=lambda call: call.number)


def settled(results: Sequence[Value], updates: Sequence[tuple[Handle, Value]]
            ) -> tuple[list[Value], list[tuple[Handle, Value]]]:
    """Results without marks, and updates with those of the calls that they need, in which each call finds what the one
    before it has written; so do the updates that are given.
    """
    if not (calls := calls_of([*results, *(new for _, new in updates)])):
        return [*results], [*updates]
    meaning: dict[Value, Value] = {}
    now: dict[int, tuple[Handle, Value]] = {}
    for call in calls:
        unmarked(call.given, meaning)
        found = {w.old: now.get(id(w.handle), (w.handle, w.handle.value))[1] for w in call.writes}
        inside = {**meaning, **found}
        unmarked(call.made, inside)
        new = unmarked([w.new for w in call.writes], inside)
        meaning |= {v: x for v, x in inside.items() if v not in found}
        now |= {id(w.handle): (w.handle, v) for w, v in zip(call.writes, new)}
    behind = {x.value: now[id(x)][1] for x, _ in updates if id(x) in now}
    given = unmarked([new for _, new in updates], {**meaning, **behind})
    own = {id(x) for x, _ in updates}
    return unmarked(results, meaning), [*((x, v) for (x, _), v in zip(updates, given)),
                                        *(pair for key, pair in now.items() if key not in own)]


def unmarked(results: Sequence[Value], meaning: dict[Value, Value]) -> list[Value]:
    """Results without marks, where some values have another `meaning`, to which all that are walked through come."""
    def make(v: Value, args: list[Value]) -> Value:
        return args[0].args[v.op.k] if isinstance(v.op, Item) and marks(v.args[0]) else rebuild(v, args)
    return replaced(results, meaning, is_there, make)
