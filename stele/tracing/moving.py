"""Containers that a function puts others in place of: what they hold is found in those that are there at each call."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stele.tracing import tree
from stele.tracing.state import Attributes, Slot, State, Within, is_long, is_open


@dataclass(frozen=True, slots=True)
class Now:
    """The entries or attributes of whatever a slot holds now."""

    slot: Slot
    form: Callable[[Any], Any]

    def __getitem__(self, key: Any) -> Any:
        return self.form(self.slot.get())[key]

    def __len__(self) -> int:
        return len(self.form(self.slot.get()))

    def keys(self) -> Any:
        return self.form(self.slot.get()).keys()


def itself(x: Any) -> Any:
    """What a list or dict holds, it holds itself."""
    return x


def is_plain(x: Any) -> bool:
    """Whether an object is what it holds, so that another of its class may stand for it."""
    return (isinstance(x, list | dict | deque) and not is_long(x)) or tree.is_record(x) or is_open(type(x))


class Moves:
    """Which objects of a state are others in the next call, since the function sets the slots that hold them: all that
    are reached through such slots alone, and that it neither writes into nor keeps.
    """

    def __init__(self, state: State, written: Sequence[Slot], kept: set[int]) -> None:
        self.written = {(id(slot.base), slot.key) for slot in written}
        self.objects = {id(x): x for _, x in state.objects}
        self.owner = {id(vars(x)): id(x) for x in self.objects.values() if hasattr(x, "__dict__")}
        self.moved: dict[int, Slot] = {}
        self.bases: dict[int, Any] = {}
        places: dict[int, list[Slot]] = {}
        for slot, x in state.objects:
            places.setdefault(id(x), []).append(slot)
        fixed = kept | state.alone | {self.holder(slot.base) for slot in written}
        waiting = {k: slots for k, slots in places.items() if k not in fixed and is_plain(self.objects[k])}
        while found := [k for k, slots in waiting.items() if all(map(self.moves, slots))]:
            self.moved |= {k: waiting.pop(k)[0] for k in found}

    def holder(self, base: Any) -> int:
        """The object whose entries or attributes these are."""
        return id(base.of) if isinstance(base, Attributes) else self.owner.get(id(base), id(base))

    def moves(self, slot: Slot) -> bool:
        """Whether a slot holds something else in the next call, or is another then."""
        base = slot.base
        return (id(base), slot.key) in self.written or (
            self.moves(base.slot) if isinstance(base, Within) else self.holder(base) in self.moved)

    def at(self, slot: Slot) -> Slot:
        """A slot of what is there now."""
        return slot._replace(base=self.now(slot.base))

    def now(self, base: Any) -> Any:
        """A base of slots as it is found at each call."""
        if id(base) not in self.bases:
            if isinstance(base, Within):
                made: Any = Within(self.at(base.slot))
            elif (k := self.holder(base)) in self.moved:
                form = Attributes if isinstance(base, Attributes) else itself if k == id(base) else vars
                made = Now(self.at(self.moved[k]), form)
            else:
                made = base
            self.bases[id(base)] = made
        return self.bases[id(base)]


def rebase(state: State, written: Sequence[Slot], kept: set[int]) -> None:
    """Has a state find what it holds by way of the slots that a function sets, but for objects that are kept, by id."""
    if not written:
        return
    moves = Moves(state, written, kept)
    state.kinds = [(moves.at(slot), type(x)) for slot, x in state.objects if id(x) in moves.moved]
    state.objects = [(moves.at(slot), x) for slot, x in state.objects if id(x) not in moves.moved
                     and not (isinstance(x, np.ndarray) and (id(slot.base), slot.key) in moves.written)]
    state.numbers = [(moves.at(slot), x) for slot, x in state.numbers]
    state.tuples = [(moves.at(slot), x) for slot, x in state.tuples]
    state.lengths = [(moves.now(base), n, path) for base, n, path in state.lengths]
    for space in state.spaces.values():
        space.base = moves.now(space.base)
    state.tensors = {k: [*map(moves.at, slots)] for k, slots in state.tensors.items()}
    state.arrays = {k: moves.at(slot) for k, slot in state.arrays.items()}
