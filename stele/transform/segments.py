"""Loops in segments: what gradients read of a loop's steps is computed again from the state before a segment."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from stele.ir.graph import Graph, Item, Value, closed, parameter, users
from stele.ir.origin import inherit
from stele.ir.report import Report
from stele.ir.rewrite import everywhere, substituted
from stele.ir.sizes import Dim, at
from stele.ops.checkpoint import Checkpoint
from stele.ops.control import Scan
from stele.ops.linear import Concatenate, fold, reshape, slice_axis
from stele.transform.join import join
from stele.transform.loops import Loop, loops
from stele.transform.prune import live_carries, needed, prune
from stele.transform.share import shared

LEVELS = 3
"""At how many levels loops run in segments at most: of n steps the fourth root of n is kept then at each."""
LEAST = 4
"""Steps of a loop that is worth segments."""
ONCE = ("host", "matrices")
"""Families of ops that Python may compute: loops of them stay as they are, so that nobody is called twice."""

Dropped = Mapping[Value, set[int]]
"""The stacks of loops that are not kept, by loop."""


def segments(graph: Graph, report: Report | None = None, levels: int = 0, sizes: Mapping[str, int] = {}) -> Graph:
    """The graph whose loops keep, of what only loops back read of their steps, the states before segments of them.

    A loop of n steps and the loop back become loops over segments. The one gives the state before each; the step of the
    other runs a segment once more, for what its steps back read: so much memory as the states of all segments and one
    segment take, the square root of n, for one forward more. With further `levels` a segment's loops are cut in turn.
    """
    return everywhere(partial(segmented, report=report, levels=levels, sizes=sizes), graph) if levels else graph


def segmented(graph: Graph, report: Report | None, levels: int, sizes: Mapping[str, int]) -> Graph:
    """One level of `segments`."""
    after = shared(prune(join(graph)))
    there = {loop.value: loop for loop in loops(after)}
    dropped = read_back(after, there)
    becomes: dict[Value, Value] = {}
    taken: dict[Value, list[Value]] = {}
    for u in after.values:
        if isinstance(u.op, Item):
            taken.setdefault(u.args[0], []).append(u)
    for n in dict.fromkeys(loop.scan.length for loop in there.values()):
        alike = {v: loop for v, loop in there.items() if loop.scan.length == n and is_cut(loop, dropped)}
        if not alike or (steps := best(n, alike, dropped, levels, sizes)) is None:
            continue
        cut = Cut(alike, dropped, n // steps, steps, n % steps, levels, sizes)
        for v, loop in alike.items():
            with inherit(v.where):
                found = cut.results(loop)
            becomes |= {u: found[u.op.k] for u in taken[v] if u.op.k in found}   # type: ignore[attr-defined]
            if report and v in dropped:
                report.fired("segments", "what gradients read of a loop is computed again from states between", v.where)
    return substituted(after, becomes) if becomes else graph


def read_back(graph: Graph, there: Mapping[Value, Loop]) -> Dropped:
    """Stacks that only loops in the other direction read, slice by slice: those of derivatives."""
    found: dict[Value, set[int]] = {}
    for x, readers in users(graph.values).items():
        if not isinstance(x.op, Item) or (loop := there.get(x.args[0])) is None or x.op.k < loop.carries:
            continue
        alone = all(is_back(x, there.get(reader), loop) for reader in readers)
        if alone and x not in graph.results and is_repeatable(loop):
            found.setdefault(loop.value, set()).add(x.op.k)
    return found


def is_back(x: Value, reader: Loop | None, loop: Loop) -> bool:
    """Whether a reader of a stack of a loop walks back over it, and takes it in no other way."""
    return reader is not None and reader.scan.length == loop.scan.length and is_repeatable(reader) \
        and reader.scan.reverse != loop.scan.reverse and x not in (*reader.outer.carries, *reader.outer.constants)


def is_repeatable(loop: Loop) -> bool:
    """Whether no op of a loop calls Python."""
    return not any(v.op.family in ONCE for v in loop.body.everything)


def is_cut(loop: Loop, dropped: Dropped) -> bool:
    """Whether a loop takes or gives stacks that are not kept."""
    return loop.value in dropped or any(is_dropped(x, dropped) for x in loop.outer.slices)


def is_dropped(x: Value, dropped: Dropped) -> bool:
    return isinstance(x.op, Item) and x.op.k in dropped.get(x.args[0], ())


def best(n: Dim, alike: Mapping[Value, Loop], dropped: Dropped, levels: int, sizes: Mapping[str, int]) -> int | None:
    """How many steps a segment has, so that states, segments and what is copied take the least; None where there are
    too few. Where steps are left, or may be, what loops take and keep is cut, and joined again, by copies."""
    if (count := at(n, sizes)) < LEAST:
        return None
    state = stack = copied = 0
    for v, loop in alike.items():
        gone = dropped.get(v, set[int]())
        state += sum(bytes_of(loop.inner.carries[k], sizes) for k in living(loop, gone))
        stack += sum(bytes_of(loop.body.results[k], sizes) for k in gone)
        copied += sum(bytes_of(x, sizes) for x in loop.outer.slices if not is_dropped(x, dropped))
        copied += sum(bytes_of(loop.body.results[k], sizes) * count for k in loop.used - gone if k >= loop.carries)

    def taken(steps: int) -> float:
        moved = 0 if isinstance(n, int) and count % steps == 0 else copied
        return state * count / steps + stack * levels * steps ** (1 / levels) + moved

    even = (count * (max(stack, 1) / max(state, 1)) ** levels) ** (1 / (levels + 1))
    usual = round(count / min(max(even, 2), count / 2))
    return min((usual, *(k for k in range(2, count // 2 + 1) if count % k == 0)), key=taken)


def bytes_of(v: Value, sizes: Mapping[str, int]) -> int:
    return at(v.type.size * v.dtype.bytes, sizes)


def living(loop: Loop, ks: Iterable[int]) -> list[int]:
    """The carries that some results of a loop need."""
    return sorted(live_carries(Loop(loop.value, frozenset(ks)), set()))


@dataclass(eq=False)
class Cut:
    """Loops alike in `count` segments of so many `steps`, behind which some are `left`.

    `states` are stacks of what carries are before each segment, `rests` the loops over the steps that are left.
    """

    loops: Mapping[Value, Loop]
    dropped: Dropped
    count: Dim
    steps: int
    left: Dim
    levels: int
    sizes: Mapping[str, int]
    states: dict[tuple[Value, int], Value] = field(default_factory=dict[tuple[Value, int], Value])
    rests: dict[Value, Value] = field(default_factory=dict[Value, Value])

    @property
    def whole(self) -> Dim:
        """The steps of all segments."""
        return self.count * self.steps

    def results(self, loop: Loop) -> dict[int, Value]:
        """What is taken of a loop, but for stacks that are not kept."""
        start = dict(enumerate(loop.outer.carries))
        if self.left == 0:
            return self.main(loop, start)
        if loop.scan.reverse:
            behind = self.rest(loop, start)
            before = self.main(loop, {k: behind[k] for k in start})
        else:
            before = self.main(loop, start)
            behind = self.rest(loop, {k: before[k] for k in start})
        ends = before if loop.scan.reverse else behind
        return {k: ends[k] if k in start else Concatenate(0)(before[k], behind[k]) for k in before}

    def main(self, loop: Loop, start: Mapping[int, Value]) -> dict[int, Value]:
        """The loop over segments: its last carries, and the stacks that are kept of all its steps."""
        step, v = Step(self), loop.value
        carries = {k: parameter("carry", p.type) for k, p in enumerate(loop.inner.carries)}
        kept = [k for k in sorted(loop.used) if k not in carries and k not in self.dropped.get(v, ())]
        inner = step.run(loop, carries, kept)
        states = living(loop, self.dropped[v]) if v in self.dropped else []
        results = step.held([inner[k] for k in (*carries, *kept)], [*carries.values()])
        given = (*carries.values(), *step.slices.values(), *step.constants.values())
        body = closed(given, (*results, *(carries[k] for k in states)))
        outer = Scan(body, len(carries), len(step.slices), self.count, loop.scan.reverse)(
            *start.values(), *map(self.cut, step.slices), *step.constants)
        parts = [Item(j)(outer) for j in range(len(body.results))]
        self.states |= {(v, k): part for k, part in zip(states, parts[len(results):])}
        return {k: parts[j] if k in carries else fold(parts[j]) for j, k in enumerate((*carries, *kept))}

    def cut(self, x: Value) -> Value:
        """A stack of all steps by segments; states are by segments as they are."""
        if x in self.states.values():
            return x
        whole = x if self.left == 0 else slice_axis(x, 0, 0, self.whole)
        return reshape(whole, (self.count, self.steps, *x.shape[1:]))

    def rest(self, loop: Loop, start: Mapping[int, Value]) -> dict[int, Value]:
        """The loop over the steps that are left, which keeps all its stacks."""
        done = replace(loop.scan, length=self.left)(*start.values(), *map(self.behind, loop.outer.slices),
                                                    *loop.outer.constants)
        self.rests[loop.value] = done
        return {k: Item(k)(done) for k in range(len(loop.body.results))}

    def behind(self, x: Value) -> Value:
        """What is left of a stack behind the segments."""
        if is_dropped(x, self.dropped):
            return x.op(self.rests[x.args[0]])
        return slice_axis(x, 0, self.whole, self.left)


class Step:
    """The step of a loop over segments: what it takes by role, each with its parameter, as it comes to be needed."""

    def __init__(self, cut: Cut) -> None:
        self.of = cut
        self.slices: dict[Value, Value] = {}
        self.constants: dict[Value, Value] = {}
        self.again: dict[Value, dict[int, Value]] = {}

    def run(self, loop: Loop, start: Mapping[int, Value], ys: Iterable[int]) -> dict[int, Value]:
        """A segment of a loop from some of its carries on: these, and some stacks of it."""
        inner, outer = loop.inner, loop.outer
        places = (*start, *ys)
        there = needed(loop, set(places))
        slices = [(x, p) for x, p in zip(outer.slices, inner.slices) if p in there]
        constants = [(x, p) for x, p in zip(outer.constants, inner.constants) if p in there]
        body = Graph((*(inner.carries[k] for k in start), *(p for _, p in slices), *(p for _, p in constants)),
                     tuple(loop.body.results[k] for k in places), loop.body.guards)
        done = Scan(body, len(start), len(slices), self.of.steps, loop.scan.reverse)(
            *start.values(), *(self.stack(x) for x, _ in slices), *(self.constant(x) for x, _ in constants))
        return {k: Item(j)(done) for j, k in enumerate(places)}

    def stack(self, x: Value) -> Value:
        """A segment of a stack, computed again where it is not kept."""
        if not isinstance(x.op, Item) or not is_dropped(x, self.of.dropped):
            return self.slices.setdefault(x, parameter("segment", x.type.with_shape((self.of.steps, *x.shape[1:]))))
        if (v := x.args[0]) not in self.again:
            loop, ks = self.of.loops[v], sorted(self.of.dropped[v])
            self.again[v] = self.run(loop, {k: self.state(v, k) for k in living(loop, ks)}, ks)
        return self.again[v][x.op.k]

    def state(self, v: Value, k: int) -> Value:
        """A carry of a loop before the segment."""
        x = self.of.states[v, k]
        return self.slices.setdefault(x, parameter("state", x.type.with_shape(x.shape[1:])))

    def constant(self, x: Value) -> Value:
        return self.constants.setdefault(x, parameter("fixed", x.type))

    def held(self, results: Sequence[Value], carries: Sequence[Value]) -> list[Value]:
        """The results of the step by one op that no pass looks through, so that nothing of it is done for all segments
        at once; its loops are cut in turn."""
        given = (*carries, *self.slices.values(), *self.constants.values())
        body = segments(closed(given, results), None, self.of.levels - 1, self.of.sizes)
        done = Checkpoint(body, 0, 0, 0)(*given)
        return [Item(j)(done) for j in range(len(results))]
