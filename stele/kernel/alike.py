"""Equal layers are looked at once: what is found of some values holds for all that are computed alike."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar

from stele.ir.graph import Value, walk

T = TypeVar("T")
SAME = frozenset(("elementwise", "generate", "contraction"))
"""Families whose ops take elements of operands at the same places, whichever op it is."""


class Alike(Generic[T]):
    """What was found of values by how they are computed: ops, but for those that differ in no index, types, and which
    operand is which. Ops of one graph and one machine."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], T] = {}
        self.kinds: dict[tuple[object, ...], int] = {}
        self.kind: dict[Value, int] = {}

    def of(self, results: Sequence[Value], body: Collection[Value], find: Callable[[], T],
           marked: Sequence[Value] = (), *more: object) -> T:
        """What `find` finds of `results` computed by the values of `body`, or found of others: it may depend on how
        these are computed, on which of them are `marked`, and on `more`."""
        number: dict[Value, int] = {}
        made: list[int] = []
        for v in walk(results, stop=lambda v: v not in body):
            number[v] = len(number)
            if v in body:
                made.append(self.kind_of(v))
                made += [number[a] for a in v.args]
        key = tuple(made), tuple([number[v] for v in results]), tuple([number.get(v) for v in marked]), more
        if key not in self.found:
            self.found[key] = find()
        return self.found[key]

    def kind_of(self, v: Value) -> int:
        """The same number for ops and operands that are alike."""
        if v not in self.kind:
            family = v.op.family
            kind = family if family in SAME else v.op, v.type, *(a.type for a in v.args)
            self.kind[v] = self.kinds.setdefault(kind, len(self.kinds))
        return self.kind[v]
