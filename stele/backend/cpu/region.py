"""Kernels as one whose rows or parts do not meet: each task runs all of a loop, or all of a chain, for its own."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from stele.backend.cpu.series import function, places
from stele.backend.cpu.steps import Steps
from stele.backend.llvm.launch import (
    BUFS,
    LAUNCHED,
    SCRATCH,
    SCRATCH_BYTES,
    SIZES,
    STATUS,
    WORDS,
    Launch,
    i64,
    pointer,
    word,
    word_at,
)
from stele.backend.llvm.nest import least
from stele.backend.llvm.nest import loop as counted
from stele.backend.llvm.pieces import PIECE, is_stopped, work
from stele.ir.sizes import at, names
from stele.kernel.slots import Slots
from stele.kernel.steps import Loop, Rows, Run, runs

Launches = Mapping[Run, tuple[Launch, ...]]


class Region(Steps):
    """Emits a function that is started, with tables of its own, whose addresses are those of a task's rows.

    The kernels of the body, emitted before, are called here directly, all tasks of each.
    """

    def __init__(self, module: ir.Module, name: str, slots: Slots, launches: Launches) -> None:
        super().__init__(slots, ir.Function(module, LAUNCHED, name))
        self.module, self.launches = module, launches
        self.outer, self.thread, self.begin, self.end, _ = self.function.args

    def emit(self, loop: Loop, rows: Rows) -> None:
        """The whole function, of a loop."""
        self.tables()
        with counted(self.b, self.begin, self.end) as task:
            self.task(loop, rows, task)
        self.b.ret_void()

    def emit_chain(self, launches: Sequence[Launch], parts: int, spaces: Mapping[int, tuple[int, int]]) -> None:
        """The whole function, of launches that fall into `parts`; of a buffer in `spaces` only the part at hand exists:
        in the scratch of the thread at an offset, so many bytes."""
        self.tables()
        self.copy(self.bufs, word(self.b, self.outer, BUFS), i64(8 * len(self.slots.table)))
        self.copy(self.sizes, word(self.b, self.outer, SIZES), i64(8 * len(self.slots.names)))
        scratch = self.b.mul(self.thread, word(self.b, self.outer, SCRATCH_BYTES))
        with counted(self.b, self.begin, self.end) as part:
            for position, (offset, bytes_) in spaces.items():
                start = self.b.sub(self.b.add(scratch, i64(offset)), self.b.mul(part, i64(bytes_)))
                self.set(position, self.moved(word(self.b, self.outer, SCRATCH), start))
            self.ask()
            for launch in launches:
                each = self.integer(launch.tasks // parts)
                first = self.b.mul(part, each)
                where = places(self.b, self.module, launch)
                self.b.call(function(self.module, launch.function),
                            [self.ctx, self.thread, first, self.b.add(first, each), where])
        self.b.ret_void()

    def tables(self) -> None:
        """A context of the function's own, with room for its tables."""
        self.bufs, self.sizes, self.ctx = map(self.words, (len(self.slots.table), len(self.slots.names), WORDS))
        for k, value in ((BUFS, self.bufs), (SIZES, self.sizes), *((k, word(self.b, self.outer, k)) for k in range(
                STATUS, WORDS))):
            self.b.store(value, word_at(self.b, self.ctx, k))

    def ask(self) -> None:
        """Leaves where the program is to stop."""
        with self.b.if_then(is_stopped(self.b, self.ctx, self.thread), likely=False):
            self.b.ret_void()

    def words(self, count: int) -> ir.Value:
        """Room for so many words on the stack."""
        return self.b.inttoptr(self.b.ptrtoint(self.b.alloca(i64, count), i64), pointer)

    def task(self, loop: Loop, rows: Rows, task: ir.Value) -> None:
        """The loop for the rows of one task."""
        self.ask()
        self.copy(self.bufs, word(self.b, self.outer, BUFS), i64(8 * len(self.slots.table)))
        self.copy(self.sizes, word(self.b, self.outer, SIZES), i64(8 * len(self.slots.names)))
        start = self.b.mul(task, i64(rows.grain))
        left = self.b.sub(self.integer(rows.total), start)
        count = least(self.b, left, i64(rows.grain))
        self.b.store(count, word_at(self.b, self.sizes, self.slots.size(rows.name)))
        for which, slots in ((start, rows.shifted), (task, rows.spaces)):
            for position, bytes_ in slots.items():
                self.set(position, self.moved(self.address(position), self.b.mul(which, self.integer(bytes_))))
        self.repeat(loop)

    def run(self, step: Run) -> None:
        for launch in self.launches[step]:
            where = places(self.b, self.module, launch)
            self.b.call(function(self.module, launch.function),
                        [self.ctx, self.thread, i64(0), self.integer(launch.tasks), where])

    def loop(self, loop: Loop) -> None:
        self.repeat(loop)

    def asks(self, loop: Loop) -> int:
        """Every so many steps that they take some time; a size that is open counts as that of a task."""
        each = sum((work(step.kernel) for step in runs(loop.body)), 1)
        known = at(each, dict.fromkeys(names(each), self.slots.machine.steps))
        return 1 << max(0, min(12, (PIECE // known).bit_length() - 1))
