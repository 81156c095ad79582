"""The one native function of a program: its kernels in order, on all threads of the pool."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.cpu.pool_code import CONTEXT
from stele.backend.cpu.region import Region
from stele.backend.cpu.series import function, places, series
from stele.backend.cpu.steps import Steps
from stele.backend.cpu.target import Target
from stele.backend.llvm.emit import Emitter, Known
from stele.backend.llvm.launch import BUFS, SIZES, STATUS, Launch, i1, i8, i32, i64, pointer, word, word_at
from stele.ir.graph import Value
from stele.ir.origin import lines
from stele.ir.record import Record
from stele.ir.report import KernelNote, Report
from stele.ir.sizes import Dim, names, size
from stele.ir.stages import show
from stele.kernel.chain import parts
from stele.kernel.fuse import show_kernel
from stele.kernel.kinds import Contraction, Library
from stele.kernel.memory import FRESH
from stele.kernel.slots import Slots
from stele.kernel.steps import Again, Choice, Crossing, Loop, Run, Step, runs
from stele.ops.foreign import Foreign

IDLE = 4096
"""Steps of a loop that starts no kernel from one look at the clock to the next."""
POOL_CROSS = ir.FunctionType(ir.VoidType(), [pointer, pointer])
POOL_RUN = ir.FunctionType(ir.VoidType(), [pointer, pointer, pointer, i64, pointer])
POOL_SERIES = ir.FunctionType(ir.VoidType(), [*[pointer] * 4, i64, i1])


class Link(Record):
    """An emitted kernel that may yet become part of a chain, and its number among the emitted."""

    step: Run
    launches: tuple[Launch, ...]
    number: int


class Entry(Steps):
    """Emits `i32 program(ctx*, pool*)` into a module, the kernels it calls into others; `written` is given each."""

    def __init__(self, slots: Slots, target: Target, precision: Precision, written: Callable[[ir.Module], None],
                 report: Report, known: Known | None = None, clocks: int | None = None, draft: str = "") -> None:
        module = ir.Module("program")
        super().__init__(slots, ir.Function(module, ir.FunctionType(i32, [pointer, pointer]), "program"))
        self.module, self.clocks, self.written = module, clocks, written
        self.emitter = Emitter(module, slots, target, written, precision, report, known, draft)
        self.kernels = report.kernels
        self.launched: list[Launch] = []
        self.multiplies = False
        self.hosts: list[tuple[Value, int, list[int], list[int]]] = []   # slots: of what is called, reads and makes
        self.pool_run, self.pool_finish = (ir.Function(module, POOL_RUN, name) for name in ("pool_run", "pool_finish"))
        self.pool_series = ir.Function(module, POOL_SERIES, "pool_series")
        self.pool_poll = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, pointer]), "pool_poll")
        self.first_write: int | None = None
        self.series: list[Launch] = []      # what is to be started, in order,
        self.finishes = False               # and whether nothing may stop it
        self.chain: list[Link] = []
        self.cut = 0        # into how many parts the tasks of the chain fall
        self.ctx, self.pool = self.function.args
        self.final = self.b.gep(self.ctx, [i64(CONTEXT)], source_etype=i8)
        self.bufs, self.sizes, self.status = (word(self.b, self.ctx, k) for k in (BUFS, SIZES, STATUS))

    def emit(self, steps: Sequence[Step], first_write: int | None) -> None:
        """The whole program; from clock `first_write` on, where state is overwritten, nothing stops it any more."""
        self.first_write = first_write
        self.steps(steps)
        self.b.ret(i32(0))
        self.written(self.module)

    def begin(self, step: Run | Crossing) -> None:
        """Goes to the clock of a kernel, and shows it."""
        self.slots.clock, kernel = step.clock, step.kernel
        show("fuse", lambda: f"{show_kernel(kernel)}  # {', '.join(lines(kernel.where))}", f"k{len(self.kernels)}")

    def kernel(self, step: Run) -> tuple[Launch, ...]:
        """Emits a kernel's functions."""
        self.begin(step)
        launches, asked = self.emitter.emit(f"k{len(self.kernels)}", step.kernel)
        what = " ".join(v.op.name for v in step.kernel.body)
        self.kernels.append(KernelNote(step.kernel.kind, what, asked, step.kernel.where))
        self.launched += launches
        self.multiplies = self.multiplies or (isinstance(step.kernel, Contraction | Library)
                                              and not isinstance(step.kernel.anchor.op, Foreign))
        return tuple(launches)

    def steps(self, steps: Sequence[Step]) -> None:
        super().steps(steps)
        self.run_all()

    def run(self, step: Run) -> None:
        link = Link(step, self.kernel(step), len(self.kernels) - 1)
        if not (count := self.parts((*self.chain, link))):
            self.run_chain()
        self.chain.append(link)
        self.cut = count

    def cross(self, step: Crossing) -> None:
        """A call into Python, unless what it makes is kept and made already. What it raises ends the program."""
        self.run_all()
        self.begin(step)
        slots, v, name = self.slots, step.kernel.anchor, step.kernel.anchor.op.name
        self.kernels.append(KernelNote(step.kernel.kind, name, (), v.where))
        position = slots.new("host", 0, name, v.where)
        self.hosts.append((v, position, [*map(slots.of, v.args)], [slots.at[key] for key, _ in slots.arrays(v)]))
        name_sizes(slots, (n for t in (*(a.type for a in v.args), *(t for _, t in slots.arrays(v))) for n in t.shape))
        self.ask()
        begun = self.now()
        fresh = self.b.icmp_signed("!=", self.integer(size(FRESH) if slots.is_kept(step.kernel) else 1), i64(0))
        with self.b.if_then(fresh):
            self.b.call(self.module.globals.get("pool_cross") or ir.Function(self.module, POOL_CROSS, "pool_cross"),
                        [self.ctx, self.address(position)])
        self.count(begun, len(self.kernels) - 1)
        self.check()

    def parts(self, links: Sequence[Link]) -> int:
        """How many parts tasks may take through all of some kernels; 0 if each has to wait for the one before, or is
        timed."""
        if self.clocks is not None:
            return 0
        count = parts([link.step.kernel for link in links], self.slots)
        even = count and all(isinstance(n, int) and n % count == 0 for link in links for launch in link.launches
                             for n in (launch.tasks, launch.parts))
        return count if even and not self.is_final(links[-1].step.clock) else 0

    def run_chain(self) -> None:
        """Starts the kernels that were gathered: one after the other for each part, where there are several."""
        links, self.chain = self.chain, []
        if len(links) < 2:
            for link in links:
                self.start(link.launches, link.step.clock, link.number)
            return
        first, last, count = links[0].step.clock, links[-1].step.clock, self.cut
        launches = [launch for link in links for launch in link.launches]
        spaces, scratch = self.spaces(first, last, count, max(int(launch.scratch) for launch in launches))
        for slot in self.slots.table:
            if slot.first <= last and slot.last >= first:
                slot.first, slot.last = min(slot.first, first), max(slot.last, last)
        chain = Launch(f"chain{links[0].number}", count, scratch)
        Region(self.module, chain.function, self.slots, {}).emit_chain(launches, count, spaces)
        self.launched.append(chain)
        self.start((chain,), last, links[-1].number)

    def spaces(self, first: int, last: int, count: int, start: int) -> tuple[dict[int, tuple[int, int]], int]:
        """What lives between two clocks alone, one part of `count` at a time, in scratch from `start` on: offsets and
        bytes of a part by position; and where scratch ends."""
        slots, found = self.slots, dict[int, tuple[int, int]]()
        for root in sorted({slots.root(k) for k, s in enumerate(slots.table) if s.kind == "temp" and s.first >= first}):
            family = [k for k in range(len(slots.table)) if slots.root(k) == root]
            bytes_ = slots.table[root].bytes
            inside = all(first <= slots.table[k].first and slots.table[k].last <= last for k in family)
            if inside and isinstance(bytes_, int) and bytes_ % (64 * count) == 0:
                start = -(-start // 64) * 64
                found |= dict.fromkeys(family, (start, bytes_ // count))
                start += bytes_ // count
                slots.table[root].bytes = 0
        return found, start

    def is_final(self, clock: int) -> bool:
        """Whether state may have been overwritten, so that nothing stops the program any more."""
        return self.first_write is not None and clock >= self.first_write

    def loop(self, loop: Loop) -> None:
        self.run_chain()
        if (rows := loop.rows) is None:
            self.run_series()
            self.repeat(loop)
            return
        self.slots.rows = rows
        launches = {step: self.kernel(step) for step in runs(loop.body)}
        self.slots.rows = None
        name = f"loop{len(self.kernels)}"
        Region(self.module, name, self.slots, launches).emit(loop, rows)
        self.kernels.append(KernelNote("scan", loop.value.op.name, (), loop.value.where))
        self.start((Launch(name, rows.tasks),), rows.first, len(self.kernels) - 1)

    def choice(self, choice: Choice) -> None:
        self.run_all()
        super().choice(choice)

    def again(self, loop: Again) -> None:
        """A loop with a test. The pool asks before each kernel whether to leave; where there is none, the loop does."""
        self.run_all()
        super().again(loop)

    def asks(self, loop: Loop) -> int:
        """A loop that starts no kernel asks for itself: the pool asks before each."""
        starts = any(not isinstance(step, Loop) or step.rows for step in loop.body)
        return 0 if starts or self.is_final(loop.clock) else IDLE

    def ask(self) -> None:
        self.b.call(self.pool_poll, [self.pool, self.ctx])
        self.check()

    def start(self, launches: Sequence[Launch], clock: int, number: int) -> None:
        """Launches on the pool one after the other, then a look at the status; those of known size are gathered."""
        final = self.is_final(clock)
        if final != self.finishes:
            self.run_series()
        self.finishes = final
        if self.clocks is None and all(isinstance(launch.tasks, int) for launch in launches):
            self.series += launches
            return
        self.run_series()
        begun = self.now()
        for launch in launches:
            self.b.call(self.pool_finish if final else self.pool_run, [
                self.pool, function(self.module, launch.function), self.final if final else self.ctx,
                self.integer(launch.tasks), places(self.b, self.module, launch)])
        self.count(begun, number)
        if not final:
            self.check()

    def run_all(self) -> None:
        """Starts all kernels that were gathered, before what else a program does."""
        self.run_chain()
        self.run_series()

    def run_series(self) -> None:
        """Starts what was gathered, each launch with a look at the status."""
        launches, self.series = self.series, []
        if launches:
            self.b.call(self.pool_series, [self.pool, self.final if self.finishes else self.ctx,
                        *series(self.module, launches), i64(len(launches)), i1(self.finishes)])
            if not self.finishes:
                self.check()

    def now(self) -> ir.Value | None:
        """The clock in nanoseconds, where kernels are timed."""
        time: Any = self.module.globals.get("pool_time")
        if self.clocks is not None:
            return self.b.call(time or ir.Function(self.module, ir.FunctionType(i64, []), "pool_time"), [])

    def count(self, begun: ir.Value | None, number: int) -> None:
        """Adds what has passed since `begun`, and one more start, to what is kept of a kernel."""
        if begun is None or self.clocks is None or (end := self.now()) is None:
            return
        spent, starts, last = (word_at(self.b, self.address(self.clocks), 3 * number + k) for k in range(3))
        for place, more in (spent, self.b.sub(end, begun)), (starts, i64(1)):
            self.b.store(self.b.add(self.b.load(place, typ=i64), more), place)
        self.b.store(begun, last)

    def check(self) -> None:
        """Leaves with the status code if a kernel set one, or the pool because the program is to stop."""
        code = self.b.load(self.status, typ=i64)
        leave, stay = (self.function.append_basic_block(name) for name in ("leave", "stay"))
        self.b.cbranch(self.b.icmp_signed("!=", code, i64(0)), leave, stay)
        self.b.position_at_end(leave)
        self.b.ret(self.b.trunc(code, i32))
        self.b.position_at_end(stay)


def name_sizes(slots: Slots, dims: Iterable[Dim]) -> None:
    """Gives a position to each size in some expressions; a loop copies the table of those there are before its body."""
    for n in dims:
        for name in sorted(names(n)):
            slots.size(name)
