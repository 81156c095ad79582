"""The one native function of a program: its kernels in order, loops of the graph as loops of the machine."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.cpu.target import Target
from stele.backend.llvm.dims import i64, integer
from stele.backend.llvm.emit import Emitter
from stele.backend.llvm.launch import Launch
from stele.ir.sizes import Dim
from stele.kernel.slots import Carry, Loop, Run, Slots, Step

i32, i8, ptr, void = ir.IntType(32), ir.IntType(8), ir.PointerType(), ir.VoidType()
POOL_RUN = ir.FunctionType(void, [ptr, ptr, ptr, i64])
BUFS, SIZES, STATUS = range(3)


@dataclass(frozen=True)
class Emitted:
    """A kernel as emitted: its launches, for reports."""

    run: Run
    launches: tuple[Launch, ...]


class Entry:
    """Emits `i32 program(ctx*, pool*)` into a module, and the kernels it calls."""

    def __init__(self, module: ir.Module, slots: Slots, target: Target, clocks: int | None = None) -> None:
        self.module, self.slots, self.target, self.clocks = module, slots, target, clocks
        self.emitter = Emitter(module, slots, target)
        self.emitted: list[Emitted] = []
        self.pool_run, self.pool_finish = (ir.Function(module, POOL_RUN, name) for name in ("pool_run", "pool_finish"))
        self.first_write: int | None = None
        self.function = ir.Function(module, ir.FunctionType(i32, [ptr, ptr]), "program")
        self.ctx, self.pool = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.bufs, self.sizes, self.status = (self.field(k) for k in (BUFS, SIZES, STATUS))

    def field(self, k: int) -> ir.Value:
        """Word k of ctx."""
        return self.b.load(self.b.gep(self.ctx, [i64(8 * k)], source_etype=i8), typ=ptr)

    def emit(self, steps: Sequence[Step], first_write: int | None) -> None:
        """The whole program; from clock `first_write` on, where state is overwritten, nothing stops it any more."""
        self.first_write = first_write
        self.steps(steps)
        self.b.ret(i32(0))

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self.loop(step)
            else:
                self.run(step)

    def run(self, step: Run) -> None:
        """One kernel: its launches, then a look at the status."""
        self.slots.clock = step.clock
        launches = tuple(self.emitter.emit(f"k{len(self.emitted)}", step.kernel))
        self.emitted.append(Emitted(step, launches))
        final = self.first_write is not None and step.clock >= self.first_write
        start = self.cycles()
        for launch in launches:
            function = self.module.get_global(launch.function)
            self.b.call(self.pool_finish if final else self.pool_run,
                        [self.pool, function, self.ctx, self.integer(launch.tasks)])
        self.count(start, len(self.emitted) - 1)
        if not final:
            self.check()

    def cycles(self) -> ir.Value | None:
        """The machine's clock, where kernels are to be timed."""
        if self.clocks is None:
            return None
        return self.b.call(self.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(i64, [])), [])

    def count(self, start: ir.Value | None, kernel: int) -> None:
        """Adds the cycles since `start` to those of a kernel."""
        if start is None or self.clocks is None:
            return
        place = self.b.gep(self.address(self.clocks), [i64(8 * kernel)], source_etype=i8)
        passed = self.b.sub(self.cycles(), start)
        self.b.store(self.b.add(self.b.load(place, typ=i64), passed), place)

    def check(self) -> None:
        """Leaves with the status code if a kernel set one, or the pool because the program is to stop."""
        code = self.b.load(self.status, typ=i64)
        self.leave_if(self.b.icmp_signed("!=", code, i64(0)), self.b.trunc(code, i32))

    def leave_if(self, condition: ir.Value, code: ir.Value) -> None:
        leave, stay = (self.function.append_basic_block(name) for name in ("leave", "stay"))
        self.b.cbranch(condition, leave, stay)
        self.b.position_at_end(leave)
        self.b.ret(code)
        self.b.position_at_end(stay)

    def loop(self, loop: Loop) -> None:
        """A scan: pointers of slices and carries move, the body runs, `length` times."""
        length = self.integer(loop.length)
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.start))
        self.counted(length, lambda t: self.loop_step(loop, length, t))
        for carry in loop.carries:
            if carry.spare is None:
                self.copy(self.address(carry.final), self.address(carry.inside), self.integer(carry.bytes))
            elif not isinstance(loop.length, int) or loop.length == 0:
                self.copy_unless(self.b.icmp_signed(">", length, i64(0)), carry)

    def loop_step(self, loop: Loop, length: ir.Value, t: ir.Value) -> None:
        last = self.b.sub(self.b.sub(length, t), i64(1))
        at = last if loop.reverse else t
        for position, whole, bytes_ in loop.moving:
            offset = self.b.mul(at, self.integer(bytes_))
            self.set(position, self.b.gep(self.address(whole), [offset], source_etype=i8))
        even = self.b.icmp_signed("==", self.b.and_(last, i64(1)), i64(0))
        for carry in loop.carries:
            if carry.spare is not None:
                self.set(carry.new, self.b.select(even, self.address(carry.final), self.address(carry.spare)))
        self.steps(loop.body)
        for to, source, bytes_ in loop.copies:
            self.copy(self.address(to), self.address(source), self.integer(bytes_))
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.new))

    def counted(self, length: ir.Value, body: Callable[[ir.Value], None]) -> None:
        """for t in 0..length."""
        before = self.b.block
        head, inside, after = (self.function.append_basic_block(name) for name in ("head", "body", "after"))
        self.b.branch(head)
        self.b.position_at_end(head)
        t = self.b.phi(i64)
        t.add_incoming(i64(0), before)
        self.b.cbranch(self.b.icmp_signed("<", t, length), inside, after)
        self.b.position_at_end(inside)
        body(t)
        t.add_incoming(self.b.add(t, i64(1)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(after)

    def copy_unless(self, condition: ir.Value, carry: Carry) -> None:
        copy, after = (self.function.append_basic_block(name) for name in ("copy", "after"))
        self.b.cbranch(condition, after, copy)
        self.b.position_at_end(copy)
        self.copy(self.address(carry.final), self.address(carry.start), self.integer(carry.bytes))
        self.b.branch(after)
        self.b.position_at_end(after)

    def copy(self, to: ir.Value, source: ir.Value, bytes_: ir.Value) -> None:
        """Bytes that may overlap only wholly."""
        memmove = self.module.declare_intrinsic("llvm.memmove", [ptr, ptr, i64])
        self.b.call(memmove, [to, source, bytes_, ir.IntType(1)(0)])

    def place(self, position: int) -> ir.Value:
        return self.b.gep(self.bufs, [i64(8 * position)], source_etype=i8)

    def address(self, position: int) -> ir.Value:
        return self.b.load(self.place(position), typ=ptr)

    def set(self, position: int, address: ir.Value) -> None:
        self.b.store(address, self.place(position))

    def integer(self, x: Dim) -> ir.Value:
        return integer(self.b, x, lambda name: self.b.load(
            self.b.gep(self.sizes, [i64(8 * self.slots.size(name))], source_etype=i8), typ=i64))
