"""Steps of a program as native code: kernels in order, loops of the graph as loops of the machine."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from stele.backend.llvm.dims import i64, integer
from stele.ir.sizes import Dim
from stele.kernel.slots import Carry, Loop, Run, Slots, Step

i8, i32, ptr, void = ir.IntType(8), ir.IntType(32), ir.PointerType(), ir.VoidType()
KERNEL = ir.FunctionType(void, [ptr, i64, i64, i64])
BUFS, SIZES, STATUS, SCRATCH, SCRATCH_BYTES, WORDS = range(6)


class Steps:
    """Code being written at `b` that runs steps on the tables `bufs` and `sizes`; heirs say how a kernel is run."""

    def __init__(self, slots: Slots, function: ir.Function) -> None:
        self.slots, self.function = slots, function
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.bufs: ir.Value = None
        self.sizes: ir.Value = None

    def run(self, step: Run) -> None:
        """One kernel."""
        raise NotImplementedError

    def loop(self, loop: Loop) -> None:
        """One scan."""
        raise NotImplementedError

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self.loop(step)
            else:
                self.run(step)

    def repeat(self, loop: Loop) -> None:
        """A scan: pointers of slices and carries move, the body runs, `length` times."""
        length = self.integer(loop.length)
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.start))
        self.counted(i64(0), length, lambda t: self.once(loop, length, t))
        for carry in loop.carries:
            if carry.spare is None:
                self.copy(self.address(carry.final), self.address(carry.inside), self.integer(carry.bytes))
            elif not isinstance(loop.length, int) or loop.length == 0:
                self.copy_unless(self.b.icmp_signed(">", length, i64(0)), carry)

    def once(self, loop: Loop, length: ir.Value, t: ir.Value) -> None:
        """Step t of a scan."""
        last = self.b.sub(self.b.sub(length, t), i64(1))
        at = last if loop.reverse else t
        for position, whole, bytes_ in loop.moving:
            self.set(position, self.moved(self.address(whole), self.b.mul(at, self.integer(bytes_))))
        even = self.b.icmp_signed("==", self.b.and_(last, i64(1)), i64(0))
        for carry in loop.carries:
            if carry.spare is not None:
                self.set(carry.new, self.b.select(even, self.address(carry.final), self.address(carry.spare)))
        self.steps(loop.body)
        for to, source, bytes_ in loop.copies:
            self.copy(self.address(to), self.address(source), self.integer(bytes_))
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.new))

    def counted(self, start: ir.Value, stop: ir.Value, body: Callable[[ir.Value], None]) -> None:
        """for t in start..stop."""
        before = self.b.block
        head, inside, after = (self.function.append_basic_block(name) for name in ("head", "body", "after"))
        self.b.branch(head)
        self.b.position_at_end(head)
        t = self.b.phi(i64)
        t.add_incoming(start, before)
        self.b.cbranch(self.b.icmp_signed("<", t, stop), inside, after)
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
        memmove = self.function.module.declare_intrinsic("llvm.memmove", [ptr, ptr, i64])
        self.b.call(memmove, [to, source, bytes_, ir.IntType(1)(0)])

    def field(self, ctx: ir.Value, k: int) -> ir.Value:
        """Word k of ctx."""
        return self.b.load(self.moved(ctx, i64(8 * k)), typ=i64 if k == SCRATCH_BYTES else ptr)

    def moved(self, address: ir.Value, bytes_: ir.Value) -> ir.Value:
        return self.b.gep(address, [bytes_], source_etype=i8)

    def place(self, position: int) -> ir.Value:
        return self.moved(self.bufs, i64(8 * position))

    def address(self, position: int) -> ir.Value:
        return self.b.load(self.place(position), typ=ptr)

    def set(self, position: int, address: ir.Value) -> None:
        self.b.store(address, self.place(position))

    def integer(self, x: Dim) -> ir.Value:
        return integer(self.b, x, lambda name: self.b.load(
            self.moved(self.sizes, i64(8 * self.slots.size(name))), typ=i64))
