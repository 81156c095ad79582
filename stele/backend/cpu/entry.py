"""The one native function of a program: its kernels in order, on all threads of the pool."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.cpu.region import Region
from stele.backend.cpu.steps import Steps
from stele.backend.cpu.target import Target
from stele.backend.llvm.emit import Emitter
from stele.backend.llvm.launch import BUFS, SIZES, STATUS, Launch, i32, i64, pointer, word, word_at
from stele.ir.origin import Where
from stele.kernel.slots import Loop, Run, Slots, Step, runs

POOL_RUN = ir.FunctionType(ir.VoidType(), [pointer, pointer, pointer, i64])


@dataclass(frozen=True)
class Emitted:
    """A kernel as emitted, for reports."""

    kind: str
    what: str
    where: Where
    launches: tuple[Launch, ...]


class Entry(Steps):
    """Emits `i32 program(ctx*, pool*)` into a module, the kernels it calls into others; `written` is given each."""

    def __init__(self, slots: Slots, target: Target, precision: Precision, written: Callable[[ir.Module], None],
                 clocks: int | None = None) -> None:
        module = ir.Module("program")
        super().__init__(slots, ir.Function(module, ir.FunctionType(i32, [pointer, pointer]), "program"))
        self.module, self.clocks, self.written = module, clocks, written
        self.emitter = Emitter(module, slots, target, written, precision)
        self.emitted: list[Emitted] = []
        self.pool_run, self.pool_finish = (ir.Function(module, POOL_RUN, name) for name in ("pool_run", "pool_finish"))
        self.first_write: int | None = None
        self.ctx, self.pool = self.function.args
        self.bufs, self.sizes, self.status = (word(self.b, self.ctx, k) for k in (BUFS, SIZES, STATUS))

    def emit(self, steps: Sequence[Step], first_write: int | None) -> None:
        """The whole program; from clock `first_write` on, where state is overwritten, nothing stops it any more."""
        self.first_write = first_write
        self.steps(steps)
        self.b.ret(i32(0))
        self.written(self.module)

    def kernel(self, step: Run) -> tuple[Launch, ...]:
        """Emits a kernel's functions."""
        self.slots.clock = step.clock
        launches = tuple(self.emitter.emit(f"k{len(self.emitted)}", step.kernel))
        what = " ".join(v.op.name for v in step.kernel.body)
        self.emitted.append(Emitted(step.kernel.kind, what, step.kernel.where, launches))
        return launches

    def run(self, step: Run) -> None:
        self.start(self.kernel(step), step.clock, len(self.emitted) - 1)

    def loop(self, loop: Loop) -> None:
        if (rows := loop.rows) is None:
            self.repeat(loop)
            return
        self.slots.rows = rows
        launches = {step: self.kernel(step) for step in runs(loop.body)}
        self.slots.rows = None
        name = f"loop{len(self.emitted)}"
        Region(self.module, name, self.slots, launches).emit(loop, rows)
        self.emitted.append(Emitted("scan", loop.value.op.name, loop.value.where, ()))
        self.start((Launch(name, rows.tasks),), rows.first, len(self.emitted) - 1)

    def start(self, launches: Sequence[Launch], clock: int, number: int) -> None:
        """Launches on the pool one after the other, then a look at the status."""
        final = self.first_write is not None and clock >= self.first_write
        begun = None if self.clocks is None else self.cycles()
        for launch in launches:
            self.b.call(self.pool_finish if final else self.pool_run, [
                self.pool, self.module.get_global(launch.function), self.ctx, self.integer(launch.tasks)])
        self.count(begun, number)
        if not final:
            self.check()

    def cycles(self) -> ir.Value:
        """The machine's clock."""
        return self.b.call(self.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(i64, [])), [])

    def count(self, begun: ir.Value | None, number: int) -> None:
        """Adds the cycles since `begun` to those of a kernel."""
        if begun is None or self.clocks is None:
            return
        place = word_at(self.b, self.address(self.clocks), number)
        passed = self.b.sub(self.cycles(), begun)
        self.b.store(self.b.add(self.b.load(place, typ=i64), passed), place)

    def check(self) -> None:
        """Leaves with the status code if a kernel set one, or the pool because the program is to stop."""
        code = self.b.load(self.status, typ=i64)
        leave, stay = (self.function.append_basic_block(name) for name in ("leave", "stay"))
        self.b.cbranch(self.b.icmp_signed("!=", code, i64(0)), leave, stay)
        self.b.position_at_end(leave)
        self.b.ret(self.b.trunc(code, i32))
        self.b.position_at_end(stay)
