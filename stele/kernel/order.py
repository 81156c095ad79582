"""The order in which kernels run: what reads large products comes right behind them, what it needs beside before; and
what gives memory back runs before what takes more."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from stele.errors import GraphError
from stele.ir.graph import Value
from stele.ir.sizes import names
from stele.ir.types import TupleType, product
from stele.kernel.groups import Group, Groups
from stele.ops.arguments import is_series
from stele.ops.contraction import MatMul
from stele.transform.recompute import LARGE

T = TypeVar("T")
OPEN = 1 << 10      # what is taken for a size that is known when a program runs, as its memory is compared


def ordered(groups: Groups) -> Iterator[Group]:
    """The groups in an order in which they can run; raises GraphError if they wait for each other."""
    unit: dict[Group, tuple[Group, ...]] = {g: (g,) for g in groups.groups}

    def needs(members: tuple[Group, ...]) -> list[tuple[Group, ...]]:
        return [unit[n] for g in members for n in groups.needs(g) if unit[n] is not members]

    for group in sorted(groups.groups, key=lambda g: at(groups, g)):
        if unit[group] == (group,) and is_product(group) and large(group, groups):
            members = at_once(group, groups, unit, needs)
            unit |= dict.fromkeys(members, members)
    order = in_order(sorted(dict.fromkeys(unit.values()), key=lambda members: at(groups, members[-1])), needs)
    return (g for members in Memory(groups, unit).saved(order)
            for g in in_order(members, lambda g: groups.needs(g).intersection(unit[g])))


def at(groups: Groups, group: Group) -> int:
    return groups.order[group.results[-1]]


def is_product(group: Group) -> bool:
    return group.anchor is not None and isinstance(group.anchor.op, MatMul) and group.anchor.ndim > 2


def large(group: Group, groups: Groups) -> list[Group]:
    """What reads large results of a group, in order."""
    found = {r for v in group.results if isinstance(n := product(v.shape), int) and n * v.dtype.bytes >= LARGE
             for r in groups.readers.get(v, ())}
    return sorted(found, key=lambda g: at(groups, g))


def at_once(group: Group, groups: Groups, unit: dict[Group, tuple[Group, ...]],
            needs: Callable[[tuple[Group, ...]], list[tuple[Group, ...]]]) -> tuple[Group, ...]:
    """A group and those that can read what it, and they, make much of, without waiting for others that do."""
    found, k = [group], 0
    while k < len(found):
        for reader in large(found[k], groups):
            if reader not in found and len(unit[reader]) == 1 and not waits(reader, found, needs):
                found.append(reader)
        k += 1
    return tuple(sorted(found, key=lambda g: at(groups, g)))


def waits(reader: Group, found: list[Group], needs: Callable[[tuple[Group, ...]], list[tuple[Group, ...]]]) -> bool:
    """Whether a group needs another one that needs what is found."""
    seen: set[tuple[Group, ...]] = set()
    stack = [members for members in needs((reader,)) if members[0] not in found]
    while stack:
        members = stack.pop()
        if any(g in found for g in members):
            return True
        if members not in seen:
            seen.add(members)
            stack += needs(members)
    return False


def in_order(items: Iterable[T], needs: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Each behind what it needs, else in the order given."""
    place = {item: k for k, item in enumerate(items)}
    done, waiting = set[T](), set[T]()
    for item in place:
        stack = [item]
        while stack:
            top = stack[-1]
            waits = {n for n in needs(top) if n not in done}
            if waits and top in waiting:
                raise GraphError(f"kernels were joined so that they wait for each other: {shown((top, *waits))}",
                                 hint="This is a fault of kernel/fuse.py; please report it with the program.")
            waiting.add(top)
            stack += sorted(waits, key=place.__getitem__, reverse=True)
            if not waits:
                stack.pop()
                if top not in done:
                    done.add(top)
                    yield top


class Memory:
    """What units of groups take while they run and what they give back: the last one who reads a value does."""

    def __init__(self, groups: Groups, unit: dict[Group, tuple[Group, ...]]) -> None:
        self.groups = groups
        self.made = {v: unit[g] for g in unit for v in g.results}
        self.read: dict[tuple[Group, ...], list[Value]] = {}
        self.left: dict[Value, dict[tuple[Group, ...], None]] = {v: {} for v in self.made}    # who has yet to read it
        for members in dict.fromkeys(unit.values()):
            roots = (groups.values.seen_through(v) for g in members for v in g.inputs)
            self.read[members] = [v for v in dict.fromkeys(roots) if self.made.get(v, members) is not members]
            for v in self.read[members]:
                self.left[v][members] = None
        self.waits = {members: len(read) for members, read in self.read.items()}

    def saved(self, order: Iterable[tuple[Group, ...]]) -> Iterator[tuple[Group, ...]]:
        """The units in this order, but for those that give memory back: they run before the next that takes more."""
        done, saving = set[tuple[Group, ...]](), dict[tuple[Group, ...], None]()
        for members in order:
            while members not in done:
                one = next(iter(saving)) if saving and self.taken(members) > 0 else members
                saving.pop(one, None)
                done.add(one)
                saving |= dict.fromkeys(self.after(one))
                yield one

    def after(self, members: tuple[Group, ...]) -> list[tuple[Group, ...]]:
        """What gives memory back once a unit has run, and did not before."""
        touched = dict[tuple[Group, ...], None]()
        for v in self.read[members]:
            del self.left[v][members]
            touched |= dict.fromkeys(self.left[v] if len(self.left[v]) == 1 else ())
        for g in members:
            for reader in (r for v in g.results for r in self.left[v]):
                self.waits[reader] -= 1
                touched[reader] = None
        return [m for m in touched if not self.waits[m] and self.taken(m) < 0]

    def taken(self, members: tuple[Group, ...]) -> int:
        """Bytes that a unit takes, less those that it gives back."""
        made = sum(bytes_of(v) for g in members for v in g.results if v not in self.groups.wanted)
        return made - sum(bytes_of(v) for v in self.read[members]
                          if len(self.left[v]) == 1 and v not in self.groups.wanted)


def bytes_of(v: Value) -> int:
    """The bytes of a value, of one of open sizes where they are large."""
    parts = v.type.items if isinstance(v.type, TupleType) else (v.type,)
    sizes = [(product(t.shape), t.dtype.bytes) for t in parts]
    return sum((n if isinstance(n, int) else n.at(dict.fromkeys(names(n), OPEN))) * each for n, each in sizes)


def shown(items: Iterable[object]) -> str:
    """Groups, and groups of groups, as an error names them."""
    return ", ".join(shown(x) if is_series(x) else str(x) for x in items)
