"""Activations lie in memory as bfloat16: what kernels leave for each other, and loops for what comes behind them.

All is computed in float32 and rounded where it is stored. float32 stay parameters and what only moves them; sums, but
those over windows, and what is computed of them until it is spread; what leads to a result by elementwise ops and
movement alone, such as gradients on their way to weights; what a loop carries; what others than loops of ours read; all
of a loop that numbers like these end, factors of its products too: rounded, they might come no nearer.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from stele.ir.graph import (
    Constant,
    Graph,
    Item,
    Literal,
    Op,
    Parameter,
    Value,
    label_of,
    parameter,
    rebuild,
    users,
    walk,
)
from stele.ir.origin import inherit
from stele.ir.record import Single
from stele.ir.report import Report
from stele.ir.rewrite import substituted, within
from stele.ir.types import TupleType, bfloat16, float32
from stele.ops.branch import Cond
from stele.ops.contraction import MatMul
from stele.ops.control import Scan
from stele.ops.elementwise.arithmetic import Equal, Maximum, Minimum, NotEqual, Select
from stele.ops.gather import Gather
from stele.ops.linear import Broadcast, Cast, Concatenate, Reshape, cast
from stele.ops.repeat import While
from stele.ops.windows import Window

SMALL = 1 << 10
"""Elements below which an array is not worth rounding: a page of them."""
Memory = Callable[[Graph], tuple[Collection[Value], Collection[Value]]]
"""Of a graph: what its loops and products store for other kernels, and what others than these read from memory."""


def narrow(graph: Graph, memory: Memory, report: Report | None = None) -> Graph:
    """The graph whose activations are bfloat16 in memory; parameters and results keep their dtypes.

    A value v that is stored becomes float32(bfloat16(v)) for all that read it.
    """
    return Narrowing(Lying.of(graph, memory), frozenset(), report or Report()).graph(frozenset())


class Lying(Single):
    """What a graph stores, what is read from memory as it lies, what it adds up; and the same of graphs in loops and
    branches, of which what they ask to be equal counts as read: where one is rounded, no number is its maximum."""

    graph: Graph
    stored: frozenset[Value]
    read: frozenset[Value]
    sums: frozenset[Value]
    inner: dict[Value, list[Lying]]

    @classmethod
    def of(cls, graph: Graph, memory: Memory, is_inner: bool = False) -> Lying:
        stored, read = memory(graph)
        values = graph.values
        inner = {v: [cls.of(each, memory, True) for each in v.op.graphs] for v in values if roles(v.op) is not None}
        given = (a for v in inner for k, a in enumerate(v.args) if not takes(v.op, inner[v], k))
        equal = sources(a for v in values if is_inner and isinstance(v.op, Equal | NotEqual) for a in v.args)
        lying = map(base, (*read, *given, *equal))
        return cls(graph, frozenset(stored), frozenset(lying), frozenset(sums(values)), inner)


Roles = tuple[int, int, int]


def roles(op: Op) -> Roles | None:
    """Of a loop or a branch: which operand its graphs' first parameter is, and the first operand and the first result
    that may be bfloat16; None for all else, and for loops that go on as long as floats say."""
    match op:
        case Scan():                            return 0, op.carries, op.carries
        case While() if not floats_end(op):     return 0, op.carries, op.carries
        case Cond():                            return 1, 1, 0
        case _:                                 return None


def floats_end(loop: While) -> bool:
    """Whether the test of a loop looks at floats, or at what the steps before made of them."""
    found, count = walk(loop.test.results), 0
    while len(found) != count:
        count = len(found)
        carried = {k for graph in loop.graphs for k, p in enumerate(graph.parameters[:loop.carries]) if p in found}
        found = walk([*loop.test.results, *(loop.body.results[k] for k in sorted(carried))])
    return any(not isinstance(v.type, TupleType) and v.dtype.is_float for v in found)


def takes(op: Op, inner: Sequence[Lying], k: int) -> bool:
    """Whether graphs that an op holds may be given its operand k as bfloat16."""
    known = roles(op)
    assert known is not None
    start, first, _ = known
    return k >= first and all(lying.graph.parameters[k - start] not in lying.read for lying in inner)


class Narrowing:
    """One graph, or one of those that a loop or a branch holds, whose results `ys` become bfloat16."""

    def __init__(self, lying: Lying, ys: Collection[int], report: Report) -> None:
        self.old, self.lying, self.ys, self.report = (graph := lying.graph), lying, ys, report
        self.values = graph.values
        self.users = users(self.values)
        self.exact = leading((v for k, v in enumerate(graph.results) if k not in ys), self.values)
        self.place = {v: k for k, v in enumerate(self.values)}
        self.compared = compared(self.values)
        self.chosen = set[Value]()
        for v in self.values:
            if self.is_large(v) and self.decided(v):
                self.chosen.add(v)
        self.halves: dict[Value, Value] = {}
        for v in self.values:
            if isinstance(v.op, While) and v not in lying.inner:
                report.decided("kept", f"{v.op.name}, as {float32}", "its own numbers end it", v.where)

    def graph(self, given: Collection[int]) -> Graph:
        """The graph that takes some of its parameters as bfloat16."""
        old = self.old.parameters
        new = [parameter(label_of(p), p.type.with_dtype(bfloat16)) if k in given else p for k, p in enumerate(old)]
        meaning = {p: cast(q, p.dtype) for p, q in zip(old, new)}
        for v in self.values:
            if v not in meaning:
                with inherit(v.where):
                    meaning[v] = self.rewritten(v, [meaning[a] for a in v.args])
        results = (self.half(meaning[v]) if k in self.ys else meaning[v] for k, v in enumerate(self.old.results))
        return Graph(tuple(new), tuple(results), self.old.guards)

    def rewritten(self, v: Value, x: list[Value]) -> Value:
        """The value on new operands. Movement is that of bfloat16, so that views stay views."""
        if v in self.lying.inner:
            return self.holder(v, x)
        moved = x if is_movement(v) else x[:1] if isinstance(v.op, Gather) else []
        if moved and all(map(is_widened, moved)):
            x[:len(moved)] = map(self.half, moved)
        y = within(v.op, whole)(*x) if isinstance(v.op, While) else rebuild(v, x)
        if isinstance(y.type, TupleType):
            return y
        return cast(self.half(y), v.dtype) if v in self.chosen or y.dtype != v.dtype else y

    def holder(self, v: Value, x: list[Value]) -> Value:
        """A loop or a branch that is given operands as they lie, and gives bfloat16 where all that take it may."""
        inner, (start, _, _) = self.lying.inner[v], roles(v.op) or (0, 0, 0)
        given = {k for k, a in enumerate(x) if is_widened(a) and takes(v.op, inner, k)}
        taken = {(u.op.k, u in self.chosen) for u in self.users[v] if isinstance(u.op, Item)}
        ys = {k for k, is_chosen in taken if is_chosen and (k, False) not in taken}
        new = (Narrowing(each, ys, self.report).graph({k - start for k in given}) for each in inner)
        return within(v.op, lambda _: next(new))(*(self.half(a) if k in given else a for k, a in enumerate(x)))

    def half(self, x: Value) -> Value:
        """x rounded to bfloat16."""
        if x.dtype == bfloat16 or is_widened(x):
            return x if x.dtype == bfloat16 else x.args[0]
        if x not in self.halves:
            joins = isinstance(x.op, Concatenate)      # which stores what it joins
            self.halves[x] = rebuild(x, [*map(self.half, x.args)]) if joins else cast(x, bfloat16)
        return self.halves[x]

    def is_large(self, v: Value) -> bool:
        """Whether v is float32 numbers in memory, a page or more of them."""
        if isinstance(v.type, TupleType) or v.dtype != float32 or (isinstance(n := v.type.size, int) and n < SMALL):
            return False
        return v in self.lying.stored or (isinstance(v.op, Item) and v.args[0] in self.lying.inner)

    def decided(self, v: Value) -> bool:
        """Whether v becomes bfloat16; the report learns why."""
        exact = self.reason(v)
        readers = ", ".join(dict.fromkeys(u.op.name for u in self.users[v]))
        self.report.decided("kept", f"{v.op.name} {v.type}, as {float32 if exact else bfloat16}",
                            exact or f"it waits in memory for {readers}", v.where)
        return not exact

    def reason(self, v: Value) -> str:
        """Why v stays float32, where it does."""
        match v:
            case Value(Item(k), [Value(op) as holder]) if k < (roles(op) or (0, 0, 0))[2] or any(
                    each.graph.results[k] in each.sums for each in self.lying.inner[holder]):
                return "a loop carries it, or what makes it adds it up"
            case _ if v in self.lying.sums:     return "a sum, or made of sums"
            case _ if v in self.exact:          return "it leads to a result by elementwise ops and movement alone"
            case _ if v in self.lying.read:     return "others than loops and products read it"
            case _ if is_given(v):              return "parameters, moved"
            case _ if not all(map(self.is_rounded, self.known(v))):     return "rounded, it would equal none of these"
            case _:                             return ""


    def known(self, v: Value) -> list[Value]:
        """What v is asked to equal, of what comes before it: a maximum is one of these numbers."""
        return [a for a in self.compared.get(v, ()) if self.place[a] < self.place[v]]

    def is_rounded(self, v: Value) -> bool:
        """Whether all numbers of v are those of bfloat16, which another rounding leaves alone."""
        match v:
            case _ if v in self.chosen:                     return True
            case Value(Literal(value=x)):                   return not int(np.float32(x).view(np.uint32)) & 0xFFFF
            case Value(Select(), [_, *either]):             return all(map(self.is_rounded, either))
            case Value(Maximum() | Minimum(), either):      return all(map(self.is_rounded, either))
            case _ if moves(v):                             return all(map(self.is_rounded, v.args))
            case _:                                         return False


def whole(graph: Graph) -> Graph:
    """The graph, and those that it holds, whose products do not round their factors."""
    becomes: dict[Value, Value] = {}
    for v in graph.values:
        op = replace(v.op, rounds=False) if isinstance(v.op, MatMul) else within(v.op, whole)
        if op is not v.op:
            with inherit(v.where):
                becomes[v] = op(*v.args)
    return substituted(graph, becomes)


def sums(values: Collection[Value]) -> set[Value]:
    """Sums, but of windows, and what is computed of them until it is spread."""
    found: set[Value] = set()
    for v in values:
        spreads = isinstance(v.op, Broadcast | Window) or not (v.op.family == "elementwise" or is_movement(v))
        if (v.op.family == "reduction" and not isinstance(v.args[0].op, Window)) or (
                not spreads and not found.isdisjoint(v.args)):
            found.add(v)
    return found


def leading(results: Iterable[Value], values: Sequence[Value]) -> set[Value]:
    """What leads to results by elementwise ops and movement alone; `values` are in order."""
    found = set(results)
    for v in reversed(values):
        if v in found and (v.op.family == "elementwise" or is_movement(v) or isinstance(v.op, Gather)):
            found.update(v.args)
    return found


def sources(values: Iterable[Value]) -> set[Value]:
    """Values, and what they are moved from, windows too."""
    found, waiting = set[Value](), [*values]
    while waiting:
        if (v := waiting.pop()) not in found:
            found.add(v)
            waiting += v.args if moves(v) else ()
    return found


def moves(v: Value) -> bool:
    return is_movement(v) or isinstance(v.op, Window)


def compared(values: Iterable[Value]) -> dict[Value, list[Value]]:
    """What values, moved, are asked to equal."""
    found: dict[Value, list[Value]] = {}
    for v in values:
        if isinstance(v.op, Equal | NotEqual) and v.args[0].dtype == float32:
            for one, other in (v.args, v.args[::-1]):
                for source in sources([one]):
                    found.setdefault(source, []).append(other)
    return found


def base(v: Value) -> Value:
    """The value whose memory v is a view of."""
    return base(v.args[0]) if isinstance(v.op, Reshape) else v


def is_movement(v: Value) -> bool:
    return v.op.family == "movement"


def is_given(v: Value) -> bool:
    """Whether v is parameters, moved at most."""
    return isinstance(v.op, Parameter | Constant) or (is_movement(v) and all(map(is_given, v.args)))


def is_widened(v: Value) -> bool:
    """Whether v is float32 numbers that lie in memory as bfloat16."""
    return isinstance(v.op, Cast) and v.dtype == float32 and v.args[0].dtype == bfloat16
