"""What every rewrite of a loop needs: its parts by role, and loops of a graph changed one by one."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from stele.ir.graph import Graph, Item, Value, closed, fed, parameter, substitute, users, walk
from stele.ir.rewrite import substituted
from stele.ir.sizes import Dim
from stele.ir.types import TupleType
from stele.ops.control import Parts, Scan, stacked
from stele.ops.elementwise.arithmetic import Add
from stele.ops.repeat import While

T = TypeVar("T")
Results = Mapping[int, Value]
Change = Callable[["Loop"], Results | None]


@dataclass(frozen=True, eq=False)
class Loop:
    """A Scan or a While in a graph; `used` are the results somebody takes.

    Of a While the body is both of its graphs, the test behind the carries: as an output of each step, that is used.
    """

    value: Value
    used: frozenset[int]

    @property
    def op(self) -> Scan | While:
        assert isinstance(self.value.op, Scan | While)
        return self.value.op

    @property
    def scan(self) -> Scan:
        assert isinstance(self.value.op, Scan)
        return self.value.op

    @property
    def length(self) -> Dim | None:
        """How many steps there are, at least one if it is known."""
        return self.op.length if isinstance(self.op, Scan) else None

    @property
    def carries(self) -> int:
        return self.op.carries

    @cached_property
    def body(self) -> Graph:
        if isinstance(self.op, Scan):
            return self.op.body
        body, test = self.op.body, self.op.test
        return Graph(body.parameters, (*body.results, *substitute(test, body.parameters)), body.guards)

    def split(self, x: Sequence[T]) -> Parts:
        """Operands, or parameters of the body, by role."""
        if isinstance(self.op, Scan):
            return self.op.split(x)
        carries, constants = self.op.split(x)
        return Parts(carries, (), constants)

    @cached_property
    def inner(self) -> Parts:
        """The body's parameters by role."""
        return self.split(self.body.parameters)

    @cached_property
    def outer(self) -> Parts:
        """The operands by role."""
        return self.split(self.value.args)

    @property
    def values(self) -> tuple[Value, ...]:
        """All values of the body, operands first."""
        return self.body.values

    @cached_property
    def users(self) -> dict[Value, list[Value]]:
        return users(self.values)

    @cached_property
    def late(self) -> set[Value]:
        """Values of the body that depend on a carry."""
        return fed(self.values, self.inner.carries)

    @cached_property
    def sums(self) -> dict[int, Value]:
        """Carries that the loop only adds to, each with what a step adds."""
        return {k: f for k, p in enumerate(self.inner.carries) if (f := self.added(k, p)) is not None}

    def added(self, k: int, p: Value) -> Value | None:
        """What each step adds to carry k, where that is all the loop does with it."""
        new = self.body.results[k]
        if self.users.get(p) != [new] or self.users.get(new) or sum(y in (p, new) for y in self.body.results) > 1:
            return None
        match new:
            case Value(Add(), [a, b]) if a is p and b is not p: return b
            case Value(Add(), [a, b]) if b is p and a is not p: return a
        return None

    @cached_property
    def core(self) -> set[Value]:
        """What the next step needs: the values behind all carries but sums."""
        last = self.body.results[self.carries:] if isinstance(self.op, While) else ()
        return set(walk([*last, *(self.body.results[k] for k in range(self.carries) if k not in self.sums)]))

    def with_parts(self, carries: Iterable[tuple[Value, Value, Value]], ys: Iterable[Value],
                   slices: Iterable[tuple[Value, Value]], constants: Iterable[tuple[Value, Value]]) -> Value:
        """The loop with other parts: carries as (initial, parameter, new), the others as (operand, parameter)."""
        carry, xs, fixed = list(carries), list(slices), list(constants)
        parameters = (*(p for _, p, _ in carry), *(p for _, p in xs), *(p for _, p in fixed))
        news, last = tuple(new for _, _, new in carry), tuple(ys)
        if isinstance(self.op, Scan):
            body = Graph(parameters, (*news, *last), self.body.guards)
            scan: Scan | While = Scan(body, len(carry), len(xs), self.op.length, self.op.reverse)
        else:
            scan = While(closed(parameters, last), Graph(parameters, news, self.body.guards), len(carry))
        args = (*(x for x, _, _ in carry), *(x for x, _ in xs), *(x for x, _ in fixed))
        return Value(scan, args, scan.type(*(a.type for a in args)), self.value.where)  # type: ignore[arg-type]


def loops(graph: Graph, tested: bool = False) -> list[Loop]:
    """The Scans of a graph, and those with a test where they are asked for, each with the results that are taken."""
    values = graph.values
    used: dict[Value, set[int]] = {v: set() for v in values if isinstance(v.op, Scan)}
    used |= {v: {v.op.carries} for v in values if tested and isinstance(v.op, While)}
    for v in values:
        if isinstance(v.op, Item) and v.args[0] in used:
            used[v.args[0]].add(v.op.k)
    return [Loop(v, frozenset(ks)) for v, ks in used.items()]


def changed(graph: Graph, change: Change) -> Graph:
    """The graph with each loop's results taken from elsewhere, where `change` says so."""
    found = {loop.value: new for loop in loops(graph, tested=True) if (new := change(loop)) is not None}
    return replaced(graph, found)


def replaced(graph: Graph, found: Mapping[Value, Results]) -> Graph:
    """The graph with the given results of loops taken from elsewhere."""
    becomes = {v: found[v.args[0]][v.op.k] for v in (graph.values if found else ())
               if isinstance(v.op, Item) and v.args[0] in found}
    return substituted(graph, becomes) if becomes else graph


def stack_parameter(v: Value, loop: Loop) -> Value:
    """A name for the stack of v over all steps, before there is one."""
    return parameter("stack", stacked(v.type, loop.scan.length))


def items(value: Value, positions: Mapping[int, int]) -> dict[int, Value]:
    """`Item(new)` of a loop for each old position; what a test gives is no result."""
    assert isinstance(value.type, TupleType)
    types = value.type.items
    return {old: Value(Item(new), (value,), types[new], value.where) for old, new in positions.items()
            if new < len(types)}
