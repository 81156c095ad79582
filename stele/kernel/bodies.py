"""Kernels, and the loops and branches around them, laid out on the table of buffers."""
from __future__ import annotations

from collections.abc import Sequence

from stele.ir.graph import Constant, Graph, Value, closed
from stele.ir.sizes import Dim, size
from stele.ir.types import TupleType, Type
from stele.kernel.inplace import is_over
from stele.kernel.kinds import Host, Kernel, Repeat
from stele.kernel.rows import independent, with_rows
from stele.kernel.slots import Key, Slots, bytes_of
from stele.kernel.steps import Again, Carry, Choice, Copies, Crossing, Loop, Rows, Run, Shown, Step, Way
from stele.ops.branch import Cond
from stele.ops.control import Scan
from stele.ops.repeat import While

Copied = list[tuple[int, Value]]


def step(slots: Slots, kernel: Kernel) -> Step:
    """A kernel at the next clock."""
    slots.clock += 1
    if isinstance(kernel, Repeat):
        match kernel.anchor.op:
            case Cond():  return choice(slots, kernel.anchor, kernel.anchor.op)
            case While(): return again(slots, kernel.anchor, kernel.anchor.op)
            case op:      return loop(slots, kernel.anchor, op)
    keep = slots.kept if slots.settled.issuperset(kernel.body) and not any(
        key in slots.at for v in kernel.results for key, _ in slots.arrays(v)) else slots.value
    for v in kernel.results:
        for key, type_ in slots.arrays(v):
            if key not in slots.at:
                slots.at[key] = keep(bytes_of(type_), str(type_), v.where)
            slots.made(slots.at[key])
    for v in kernel.inputs:
        slots.touch(slots.of(v))
    return Crossing(kernel, slots.clock) if isinstance(kernel, Host) else Run(kernel, slots.clock)


def inner(slots: Slots, graph: Graph, given: Sequence[int]) -> tuple[Graph, tuple[Kernel, ...]]:
    """A graph that an op holds, whose parameters are at these positions, and its kernels."""
    graph = closed(graph.parameters, graph.results)     # ops may hold one graph, and each its own places for it
    fused = slots.fuse(graph)
    slots.views |= fused.views
    slots.at |= zip(graph.parameters, given)
    return graph, fused.kernels


def loop(slots: Slots, value: Value, scan: object) -> Loop:
    """A scan: its body laid out on the same table, between two clocks that its operands must reach."""
    types = value.type
    assert isinstance(scan, Scan) and isinstance(types, TupleType)
    n, m, clock = scan.carries, scan.carries + scan.slices, slots.clock
    outer = [whole(slots, value, k, t) for k, t in enumerate(types.items)]
    given = [slots.of(a) for a in value.args]
    around, (body, rows) = slots.rows, apart(slots, scan, given, outer)
    slots.rows = rows or around
    moving = [(slots.new("moving", 0, "slice"), position, stride(slots, p))
              for position, p in zip(given[n:m], body.parameters[n:m])]
    inside = [slots.new("moving", 0, "carry") for _ in range(n)]
    body, kernels = inner(slots, body, [*inside, *(k for k, _, _ in moving), *given[m:]])
    copied: Copied = []
    stacked = {k: v for v, k in zip(body.results[n:], [slots.new("moving", 0, "slice") for _ in outer[n:]])}
    ys = {slots.base(v) for k, v in stacked.items() if claim(slots, v, k, copied)}
    moving += [(k, position, stride(slots, v)) for (k, v), position in zip(stacked.items(), outer[n:])]
    passed: Copied = []
    behind = sources(slots, body.results[:n], inside)
    carried = [carry(slots, *parts, ys, passed) for parts in zip(body.results, given, inside, outer, lags(behind, n))]
    steps = tuple(step(slots, kernel) for kernel in kernels)
    slots.clock += 1
    for position in (*given, *outer, *(place for c in carried for place in c.ring)):
        slots.touch(position)
    copies, shown = copied_at(slots, copied), shown_at(slots, passed)
    if rows is not None:
        rows.last = slots.clock
        for position in rows.shifted:
            slots.live(position, rows)
    slots.rows = around
    return Loop(scan.length, scan.reverse, tuple(moving), tuple(carried), copies, shown, steps, value, rows, clock)


def apart(slots: Slots, scan: Scan, given: list[int], outer: list[int]) -> tuple[Graph, Rows | None]:
    """The body of a loop, and how its rows go apart if they never meet (and no loop around them does that)."""
    axes = independent(scan) if slots.rows is None else None
    if axes is None:
        return scan.body, None
    rows = Rows(f"rows{len(slots.private)}", scan.body.parameters[0].shape[0], slots.machine.steps, slots.clock)
    body = with_rows(scan.body, axes, size(rows.name))
    steps: dict[int, Dim] = {}
    for position, v in (*zip(given, body.parameters), *zip(outer, body.results)):
        each = rows.step(bytes_of(v.type))
        if steps.setdefault(position, each) != each:
            return scan.body, None
    rows.shifted |= {position: each for position, each in steps.items() if each != 0}
    slots.private[rows.name] = rows.grain
    slots.size(rows.name)
    return body, rows


def stride(slots: Slots, v: Value) -> Dim:
    """Bytes from one step's slice to the next one's, all rows counted."""
    return bytes_of(v.type) if slots.rows is None else slots.rows.whole(bytes_of(v.type))


def whole(slots: Slots, value: Value, k: int, type_: Type) -> int:
    """The whole array a loop fills: final carry k or stacked result k."""
    if (value, k) not in slots.at:
        slots.at[value, k] = slots.new("temp", bytes_of(type_), str(type_), value.where)
    slots.made(slots.at[value, k])
    return slots.at[value, k]


def is_placed(slots: Slots, key: Key) -> bool:
    """Whether a value has a place already."""
    return key in slots.at or (isinstance(key, Value) and isinstance(key.op, Constant))


def claim(slots: Slots, v: Value, position: int, copied: Copied) -> bool:
    """Whether v is made at this position; copied there where it has a place already."""
    key = slots.base(v)
    if is_placed(slots, key):
        copied.append((position, v))
        return False
    slots.at[key] = position
    return True


def copied_at(slots: Slots, copied: Copied) -> Copies:
    """What is copied behind some steps."""
    for _, v in copied:
        slots.touch(slots.of(v))
    return tuple((to, slots.of(v), bytes_of(v.type)) for to, v in copied)


def shown_at(slots: Slots, passed: Copied) -> Shown:
    """What is shown behind some steps."""
    for _, v in passed:
        slots.touch(slots.of(v))
    return tuple((to, slots.of(v)) for to, v in passed)


Sources = dict[int, tuple[int, int]]
"""Carries that a step does not make: which one each of them is from then on, and of how many steps before."""


def sources(slots: Slots, results: Sequence[Value], inside: Sequence[int]) -> Sources:
    """Where new carries come from that are old ones, or others' new ones."""
    first: dict[Key, int] = {}
    at = {position: j for j, position in enumerate(inside)}
    found: Sources = {}
    for k, v in enumerate(results):
        if not is_placed(slots, key := slots.base(v)):
            if first.setdefault(key, k) != k:
                found[k] = first[key], 0
        elif slots.of(v) in at:
            found[k] = at[slots.of(v)], 1
    return found


def way_back(behind: Sources, k: int) -> list[tuple[int, int]]:
    """The carries whose values carry k comes to have, itself first, and how many steps later."""
    found, steps = {k: 0}, 0
    while k in behind and behind[k][0] not in found:
        k, more = behind[k]
        steps += more
        found[k] = steps
    return list(found.items())


def lags(behind: Sources, count: int) -> list[int]:
    """For how many steps others keep what a carry was."""
    ends = [way_back(behind, k)[-1] for k in range(count)]
    return [max(steps for end, steps in ends if end == k) if k not in behind else 0 for k in range(count)]


def carry(slots: Slots, v: Value, start: int, inside: int, final: int, lag: int, ys: set[Key], passed: Copied) -> Carry:
    """How one carry of a scan moves on; a new value that is also a stacked result is read where it was stacked."""
    bytes_ = bytes_of(v.type)
    if (key := slots.base(v)) in ys:
        return Carry(inside, slots.at[key], start, final, (), bytes_)
    new = slots.new("moving", 0, "carry")
    turns = isinstance(key, tuple) and isinstance(key[0].op, Cond)
    if turns:       # a branch may leave what is carried as it is
        slots.turning[new] = inside
    if not claim(slots, v, new, passed):
        return Carry(inside, new, start, final, (), bytes_, False)
    ring = tuple(slots.value(bytes_, "carry") for _ in range(lag + 2 if lag else 1))
    return Carry(inside, new, start, final, ring if lag else (final, *ring), bytes_, not turns and not lag)


def choice(slots: Slots, value: Value, cond: Cond) -> Choice:
    """A branch: all ways laid out one behind the other, of which one is gone."""
    types, clock = value.type, slots.clock
    assert isinstance(types, TupleType)
    index, *given = [slots.of(a) for a in value.args]
    slots.touch(index)
    inside = [inner(slots, branch, given) for branch in cond.branches]
    made = [[is_first(slots, graph, k) for k in range(len(types.items))] for graph, _ in inside]
    places = [landing(slots, value, k, t, [row[k] for row in made]) for k, t in enumerate(types.items)]
    ways: list[Way] = []
    for (graph, kernels), own in zip(inside, made):
        for v, is_made, (place, home) in zip(graph.results, own, places):
            if is_made:
                slots.at[slots.base(v)] = place if home is None else home
        steps = tuple(step(slots, kernel) for kernel in kernels)
        slots.clock += 1
        copied: Copied = []
        shown: list[tuple[int, int]] = []
        for v, (place, home) in zip(graph.results, places):
            at = slots.of(v)
            slots.touch(at)
            if at != place and (home is not None or slots.turning.get(place) == at):
                shown.append((place, at))
                slots.table[place].shows += (at,)
            elif at != place:
                copied.append((place, v))
        ways.append(Way(steps, copied_at(slots, copied), tuple(shown)))
    for place, _ in places:
        slots.touch(place)
    return Choice(index, value.args[0].dtype, tuple(ways), value, clock)


def is_first(slots: Slots, graph: Graph, k: int) -> bool:
    """Whether a branch makes result k, as no result before."""
    key = slots.base(graph.results[k])
    return not is_placed(slots, key) and all(slots.base(v) != key for v in graph.results[:k])


def landing(slots: Slots, value: Value, k: int, type_: Type, made: Sequence[bool]) -> tuple[int, int | None]:
    """Where result k of a branch is; and where it is made, if it shows either that or what some way hands through."""
    if (value, k) in slots.at or all(made):
        return whole(slots, value, k, type_), None
    home = slots.value(bytes_of(type_), str(type_), value.where)
    place = slots.at[value, k] = slots.new("moving", 0, str(type_), value.where)
    return place, home


def again(slots: Slots, value: Value, op: While) -> Again:
    """A loop with a test: both graphs laid out on the same table, between two clocks that its operands must reach."""
    types, clock, n = value.type, slots.clock, op.carries
    assert isinstance(types, TupleType)
    given = [slots.of(a) for a in value.args]
    inside, news = ([slots.new("moving", 0, "carry") for _ in range(n)] for _ in range(2))
    slots.turning |= zip(news, inside)
    results = [result(slots, value, k, t) for k, t in enumerate(types.items)]
    test, before = inner(slots, op.test, [*inside, *given[n:]])
    testing = tuple(step(slots, kernel) for kernel in before)
    slots.clock += 1
    slots.touch(goes := slots.of(test.results[0]))
    body, kernels = inner(slots, op.body, [*inside, *given[n:]])
    passed: Copied = []
    behind = sources(slots, body.results, inside)
    own = [claim(slots, v, new, passed) for v, new in zip(body.results, news)]
    steps = tuple(step(slots, kernel) for kernel in kernels)
    slots.clock += 1
    shown, late = shown_at(slots, passed), lags(behind, n)
    alike = [[j for j in range(n) if way_back(behind, j)[-1] == (k, 0)] for k in range(n)]     # old ones in one place
    over = [own[k] and all(is_over(slots, steps, body.results[k], news[k], inside[j]) for j in alike[k])
            for k in range(n)]
    many = [late[k] + 2 if late[k] else not over[k] for k in range(n)]
    spares = [[spare(slots, types.items[k], clock) for _ in range(many[k] if own[k] else 0)] for k in range(n)]
    away = [late[k] > 0 or not own[k] for k in range(n)]      # nothing is made at its last place
    rings = [tuple(spares[k] if away[k] else (final, *spares[k])) for k, (final, _) in enumerate(results)]
    for k, (final, place) in enumerate(results):
        if place is not None:
            slots.table[final].bytes = 0 if away[k] else slots.table[final].bytes
            near = [j for j, _ in way_back(behind, k)]
            slots.table[place].shows = tuple(dict.fromkeys(
                [final, *(given[j] for j in near), *(p for j in near for p in rings[j]),
                 *(at for to, at in shown if to in [news[j] for j in near])]))
    for position in (*given, *(final for final, _ in results)):
        slots.touch(position)
    carries = tuple(Carry(inside[k], news[k], given[k], final, rings[k], bytes_of(types.items[k]), False, place)
                    for k, (final, place) in enumerate(results))
    return Again(testing, goes, carries, shown, steps, value, clock, slots.clock)


def spare(slots: Slots, type_: Type, clock: int) -> int:
    """Another place for a carry, from the beginning of a loop to its end."""
    place = slots.value(bytes_of(type_), "carry")
    slots.table[place].first = clock
    return place


def result(slots: Slots, value: Value, k: int, type_: Type) -> tuple[int, int | None]:
    """Where a loop with a test makes carry k, and what shows the last one, unless it has a place of its own."""
    if (value, k) in slots.at:
        return whole(slots, value, k, type_), None
    shown = slots.at[value, k] = slots.new("moving", 0, str(type_), value.where)
    return slots.value(bytes_of(type_), str(type_), value.where), shown
