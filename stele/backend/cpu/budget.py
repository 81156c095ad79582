"""A program in so many bytes: what is kept, and what is computed again, by the true plan of its memory."""
from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple

from stele.backend.cpu import pool
from stele.backend.cpu.build import Laid, Lowered, lay_out, planned
from stele.backend.cpu.entry import Entry
from stele.backend.llvm.pieces import STEP, work_of
from stele.errors import OutOfMemory
from stele.ir.graph import Value
from stele.ir.origin import lines
from stele.ir.report import Report
from stele.ir.sizes import Dim, at
from stele.ir.types import TupleType
from stele.kernel.again import rerun, without
from stele.kernel.inplace import doubtful, overwritable
from stele.kernel.kinds import Repeat
from stele.kernel.machine import LINE, Machine
from stele.kernel.memory import Piece, Place, Plan, layout
from stele.kernel.slots import Slot, Slots, bytes_of
from stele.kernel.spare import Paper, Task, Tasks, Unaffordable, sooner
from stele.kernel.steps import Again, Crossing, Loop, Run, Step, everything, within
from stele.ops.control import Scan
from stele.transform.segments import LEVELS

START = 100_000
"""What the start of a kernel costs, in multiplications of a product: a microsecond."""
RUNG, RUNS, FEW = 0.96, 20_000, 4
"""From one number of bytes in between that is tried to the next; how many kernels run on paper for a budget, and how
many numbers of bytes are tried at least: one in four of those behind them."""
SHOWN, UNKNOWN = 5, 16      # arrays that an error names; steps of a loop with a test
KINDS = {"temp": "a value", "parameter": "a parameter", "constant": "a constant", "result": "a result",
         "kept": "what is kept,"}


class Space(NamedTuple):
    """Bytes that a step takes beside values, and from which clock to which, counted from its own."""

    bytes: Dim
    first: int
    last: int


class Found(NamedTuple):
    """Kernels of a draft in an order, some of them again: what that costs, and the memory it takes."""

    draft: Draft
    cost: float
    order: Sequence[int]
    lowered: Lowered
    laid: Laid
    plan: Plan


class Draft:
    """A program as it is without a budget, or with its loops in segments at some levels, and its kernels as tasks."""

    def __init__(self, lowered: Lowered, laid: Laid, plan: Plan, sizes: Mapping[str, int], levels: int = 0) -> None:
        self.lowered, self.laid, self.plan, self.levels = lowered, laid, plan, levels
        self.sizes = {**sizes, **plan.private}
        self.threads = pool.current().threads
        self.starts = [step.clock for step in laid.steps]
        self.spaces: list[list[Space]] = [[] for _ in self.starts]
        ends = [*(c - 1 for c in self.starts[1:]), max((p.last for p in plan.places), default=0)]
        for position, place in enumerate(plan.places):
            if place.kind == "temp" and place.home is None and position not in self.values:
                k = next((k for k, end in enumerate(ends) if place.first <= end), len(ends) - 1)
                first, last = (min(clock, ends[k]) - self.starts[k] for clock in (place.first, place.last))
                self.spaces[k].append(Space(place.bytes, first, last))

    @cached_property
    def values(self) -> dict[int, int]:
        """The numbers of the values that kernels make, by their positions."""
        slots = self.laid.slots
        made = (slots.at[key] for kernel in self.lowered.fused.kernels for v in kernel.results
                for key, _ in slots.arrays(v))
        return {p: k for k, p in enumerate(dict.fromkeys(made))}

    @cached_property
    def wanted(self) -> set[Value]:
        """What the graph gives."""
        return {v for kernel in self.lowered.fused.kernels for v in kernel.results
                if any(self.laid.slots.table[self.laid.slots.at[key]].kind == "result"
                       for key, _ in self.laid.slots.arrays(v))}

    @cached_property
    def overwritten(self) -> dict[int, int]:
        """The steps that write over a parameter, by its position."""
        steps = {clock: k for k, clock in enumerate(self.starts)}
        return {x: steps[self.laid.slots.table[y].first] for y, x in self.laid.in_place.items()}

    def whole(self, plan: Plan) -> int:
        """The bytes of a call."""
        return plan.at(self.sizes).whole(self.threads)

    @cached_property
    def tasks(self) -> tuple[Tasks, list[int]]:
        """The tasks in an order that takes less memory, and their kernels."""
        slots, steps = self.laid.slots, self.laid.steps
        sizes = [at(slot.bytes, self.sizes) if (slot := slots.table[p]).kind == "temp" else 0 for p in self.values]
        found = [self.task(k) for k in range(len(steps))]
        crossed = {k for k, step in enumerate(steps) if any(isinstance(each, Crossing | Again)
                                                            for each in everything([step]))}
        crossed |= {bisect_right(self.starts, clock) - 1 for clock in doubtful(steps)}
        reading: dict[int, set[int]] = {}
        for k, kernel in enumerate(self.lowered.fused.kernels):
            for p in map(slots.of, kernel.inputs):
                reading.setdefault(p, set()).add(k)
        after = {k: (reading.get(p, set()) | crossed) - {k} for p, k in self.overwritten.items()}
        order = sooner(Tasks(found, sizes), after)
        place = {k: j for j, k in enumerate(order)}
        until = {k: place[n] for k in order if (n := found[k].until) is not None}
        return Tasks([found[k]._replace(until=until.get(k)) for k in order], sizes), order

    def task(self, k: int) -> Task:
        """A kernel as a task."""
        slots, step, kernel, values = self.laid.slots, self.laid.steps[k], self.lowered.fused.kernels[k], self.values
        reads = dict.fromkeys(slots.of(v) for v in kernel.inputs)
        makes = [(slots.at[key], t) for v in kernel.results for key, t in slots.arrays(v)]
        beside = layout((Piece(j, *space) for j, space in enumerate(self.spaces[k])), self.sizes).bytes
        later = without(kernel, self.wanted)
        results = sum(at(bytes_of(t), self.sizes) for v in later.results for key, t in slots.arrays(v)
                      if slots.table[slots.at[key]].kind == "result")
        over: dict[int, int] = {}
        for y, x in overwritable(kernel, slots) if isinstance(step, Run) else ():
            new, old = slots.of(y), slots.of(x)
            if slots.table[new].kind == slots.table[old].kind == "temp" and old in values and new in values:
                over |= {} if values[new] in over or values[old] in over.values() else {values[new]: values[old]}
        once = isinstance(step, Crossing) or any(slots.table[p].kind in ("kept", "moving") for p, _ in makes)
        again = None if once else beside + results
        until = min((self.overwritten[p] for p in map(slots.of, later.inputs) if p in self.overwritten), default=None)
        return Task(tuple(values[p] for p in reads if p in values), tuple(values[p] for p, _ in makes), over, beside,
                    again, price(step, slots, self.sizes, self.lowered.target), until)

    @property
    def packing(self) -> float:
        """What it costs more to make at every call what might be kept."""
        return 0.0 if self.lowered.steady else sum(
            at(n, self.sizes) for each in self.spaces for n, _, _ in each) * self.lowered.target.memory / 4

    @property
    def itself(self) -> Found:
        """The kernels as they are, each once."""
        tasks, _ = self.tasks
        return Found(self, tasks.price + self.packing, range(len(self.starts)), self.lowered, self.laid, self.plan)

    @property
    def least(self) -> int:
        """Bytes in between without which some kernel cannot run."""
        tasks, _ = self.tasks
        return max((needed(task, tasks.bytes) for task in tasks.tasks), default=0)

    def plan_in(self, limit: float) -> Found | None:
        """The kernels with so many bytes in between, and the memory that they take then, but for what chains of kernels
        take together; None where that is known to be too little."""
        tasks, kernels = self.tasks
        try:
            paper = Paper(tasks, limit)
        except Unaffordable:
            return None
        cost, order = paper.cost + self.packing, [kernels[k] for k in paper.order]
        graph, fused = rerun(self.lowered.graph, self.lowered.fused, order)
        lowered = self.lowered._replace(graph=graph, fused=fused)
        laid = lay_out(lowered, Report())
        places = [Place(s.kind, s.bytes, s.first, s.last, s.home) for s in laid.slots.table]
        for step, k in zip(laid.steps, order):
            spaces = ((n, step.clock + first, step.clock + last) for n, first, last in self.spaces[k])
            places += [Place("temp", n, first, last, None) for n, first, last in spaces]
        kept = [p for p in self.plan.places if p.kind == "kept"]    # constants that kernels pack are so in every draft
        places += kept[sum(p.kind == "kept" for p in places):]
        private = {**self.plan.private, **laid.slots.private}
        return Found(self, cost, order, lowered, laid, Plan(tuple(places), laid.in_place, self.plan.scratch, private))


def price(step: Step, slots: Slots, sizes: Mapping[str, int], machine: Machine) -> float:
    """What a step costs, in multiplications of a product: its own, and the more of instructions and what it moves. Of
    branches all may run, and what has a test some times."""
    if not isinstance(step, Run | Crossing):
        rows = step.rows if isinstance(step, Loop) else None
        inner = sizes if rows is None else {**sizes, rows.name: at(rows.total, sizes)}
        times = at(step.length, sizes) if isinstance(step, Loop) else UNKNOWN if isinstance(step, Again) else 1
        return times * sum(price(each, slots, inner, machine) for steps in within(step) for each in steps)
    products = other = 0
    for v in step.kernel.body:
        work = 0 if isinstance(v.type, TupleType) else at(work_of(v), sizes)
        if v.op.family in ("contraction", "foreign"):
            products += work
        else:
            other += work // STEP
    made = [bytes_of(t) for v in step.kernel.results for _, t in slots.arrays(v)]
    read = [bytes_of(v.type) for v in step.kernel.inputs if not isinstance(v.type, TupleType)]
    return START + products + max(other, sum(at(n, sizes) for n in (*made, *read)) * machine.memory / 4)


def ladder(draft: Draft) -> list[int]:
    """Numbers of bytes in between to plan for, less and less: the same whatever the budget, so that what costs less is
    found for larger ones too."""
    rungs, least = [draft.plan.at(draft.sizes).arena.bytes], max(draft.least, LINE)
    while rungs[-1] > least:
        rungs.append(max(int(rungs[-1] * RUNG), least))
    return rungs


def those_in(budget: int, draft: Draft) -> list[Found]:
    """Some plans of a draft that take no more than so many bytes: from the first on those for a little less, too, where
    it does not take long to try."""
    rungs, tasks = ladder(draft), len(draft.starts)
    fitting = [draft.itself] if draft.whole(draft.plan) <= budget else []
    most = (budget - draft.whole(draft.plan) + rungs[0]) / RUNG
    rungs, few = [rung for rung in rungs if rung <= most], RUNS // max(tasks, 1) + FEW
    for rung in (*rungs[:few], *rungs[few::4], *rungs[-1:]):
        if (found := draft.plan_in(rung)) is not None and draft.whole(found.plan) <= budget:
            fitting.append(found)
        if fitting and rung < rungs[0] * RUNG ** few:
            break
    return fitting


def smallest(draft: Draft) -> Found:
    """The plan for the least memory that is known."""
    found = (draft.plan_in(rung) for rung in reversed(ladder(draft)[1:]))
    least = next((each for each in found if each is not None), draft.itself)
    return min(least, draft.itself, key=lambda each: draft.whole(each.plan))


def needed(task: Task, sizes: Sequence[int]) -> int:
    """The bytes without which a task cannot run."""
    both = {*task.reads, *task.makes}
    return sum(sizes[p] for p in both) + task.beside - sum(sizes[x] for x in task.over.values())


def planned_in(budget: int, lowered: Lowered, sizes: Mapping[str, int], emit: Callable[[Laid, str], Entry],
               drawn: Callable[[Laid], Entry], cut: Callable[[int], Lowered], report: Report) -> tuple[Laid, Entry]:
    """The program that costs the least of those that take no more than so many bytes: what is computed again for
    gradients costs its time, and so does what is made at every call and not kept. `drawn` emits on paper, `cut` gives
    the program with its loops in segments at some levels. Raises OutOfMemory if there is none.
    """
    laid = lay_out(lowered, report)
    entry = emit(laid, "")
    first = Draft(lowered, laid, planned(laid, entry), sizes)
    if (whole := first.whole(first.plan)) <= budget:
        report.decided("kept", "all that gradients need", "it fits", price=whole, limit=budget)
        return laid, entry
    drafts = [first, *further(first, drawn, cut)]
    fitting = [found for draft in drafts for found in those_in(budget, draft)]
    least = None if fitting else min(map(smallest, drafts), key=lambda found: found.draft.whole(found.plan))
    for k, found in enumerate(sorted(fitting if least is None else [least], key=lambda found: found.cost)):
        report.kernels.clear()
        laid = lay_out(found.lowered, Report())
        entry = emit(laid, f".again{k}")
        found = found._replace(laid=laid, plan=planned(laid, entry))
        if first.whole(found.plan) <= budget:
            note(report, found, found.cost / first.tasks[0].price, whole, budget)
            return laid, entry
        least = min((least or found, found), key=lambda found: found.draft.whole(found.plan))
    raise refusal(budget, least or fitting[0])


def further(first: Draft, drawn: Callable[[Laid], Entry], cut: Callable[[int], Lowered]) -> Iterator[Draft]:
    """Drafts that take less memory than the first: what was kept is made at every call, loops run in segments."""
    lowered = first.lowered

    def draft(lowered: Lowered, levels: int) -> Draft:
        laid = lay_out(lowered, Report())
        return Draft(lowered, laid, planned(laid, drawn(laid)), first.sizes, levels)

    if first.plan.kept.bytes:
        lowered = lowered._replace(steady=())
        yield draft(lowered, 0)
    if not any(isinstance(v.op, Scan) for v in lowered.graph.everything):
        return
    for levels in range(1, LEVELS + 1):
        now = cut(levels)._replace(steady=lowered.steady)
        if now.graph.digest == lowered.graph.digest:
            return
        yield draft(lowered := now, levels)


def note(report: Report, found: Found, times: float, whole: int, budget: int) -> None:
    """Says what is computed again, and what that costs."""
    kernels, runs = found.draft.lowered.fused.kernels, Counter(found.order)
    report.decided("again", f"{len(found.order) - len(kernels)} runs of kernels beside {len(kernels)}",
                   f"all that gradients need does not fit; {times:.3f} times the price", price=whole, limit=budget)
    for k, kernel in enumerate(kernels):
        if found.draft.levels and isinstance(kernel, Repeat) and isinstance(kernel.anchor.op, Scan):
            report.decided("again", f"{kernel.anchor.op.length} segments of a loop",
                           f"their steps at {found.draft.levels} levels", kernel.where)
        if runs[k] > 1:
            what = ", ".join(f"{v.op.name} {v.type}" for v in kernel.results)
            report.decided("again", what, f"computed {runs[k]} times", kernel.where)


def refusal(budget: int, found: Found) -> OutOfMemory:
    """The error of a budget that is too small for the plan that takes the least."""
    draft, plan, table = found.draft, found.plan, found.laid.slots.table
    sizes = draft.sizes
    own = [(at(p.bytes, sizes), p, k) for k, p in enumerate(plan.places) if p.home is None and p.kind in KINDS
           and k not in plan.in_place]
    temps = [(n, p.first, p.last) for n, p, _ in own if p.kind == "temp"]
    clock = max((first for _, first, _ in temps), default=0,
                key=lambda c: sum(n for n, first, last in temps if first <= c <= last))
    there = [(n, p, k) for n, p, k in own if p.kind != "temp" or p.first <= clock <= p.last]
    largest = [f"{n:,} for {KINDS[p.kind]}{said(table, k)}" for n, p, k in nlargest(SHOWN, there, key=lambda x: x[0])]
    memory = plan.at(sizes)
    parts = {"of what is given": memory.given, "of results": memory.results, "in between": memory.arena.bytes,
             "kept from call to call": memory.kept.bytes, "of threads": memory.scratch * draft.threads}
    whole = ", ".join(f"{n:,} {name}" for name, n in parts.items() if n)
    return OutOfMemory(f"a program may take {budget:,} bytes, and no plan is known that takes less than "
                       f"{draft.whole(plan):,}: {whole}. The largest arrays that are there at one time: "
                       f"{'; '.join(largest)}", hint="Ask for more memory, or take a smaller batch.")


def said(table: Sequence[Slot], k: int) -> str:
    """What lies in a place, and the lines that ask for it."""
    if k >= len(table) or table[k].what == "workspace":
        return " that a kernel works in"
    where = ", ".join(lines(table[k].where))
    return f" {table[k].what}{where and ' at '}{where}"
