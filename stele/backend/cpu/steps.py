"""Steps of a program as native code: kernels in order, loops of the graph as loops of the machine."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from llvmlite import ir

from stele.backend.llvm.dims import integer
from stele.backend.llvm.launch import Builder, i1, i8, i64, pointer, word_at
from stele.backend.llvm.nest import loop as counted
from stele.ir.sizes import Dim
from stele.ir.types import DType
from stele.kernel.slots import Slots
from stele.kernel.steps import Again, Carry, Choice, Copies, Crossing, Loop, Run, Shown, Step, everything


class Steps:
    """Code being written at `b` that runs steps on the tables `bufs` and `sizes`; heirs say how a kernel is run."""

    bufs: ir.Value
    sizes: ir.Value

    def __init__(self, slots: Slots, function: ir.Function) -> None:
        self.slots, self.function = slots, function
        self.b = Builder(function.append_basic_block("entry"))

    def run(self, step: Run) -> None:
        """One kernel."""
        raise NotImplementedError

    def cross(self, step: Crossing) -> None:
        """One call into Python, which only the calling thread makes."""
        raise NotImplementedError

    def loop(self, loop: Loop) -> None:
        """One scan."""
        raise NotImplementedError

    def ask(self) -> None:
        """Leaves where the program is to stop."""
        raise NotImplementedError

    def asks(self, loop: Loop) -> int:
        """After how many steps a loop asks for itself whether it is to stop, a power of two; 0 where it need not."""
        raise NotImplementedError

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Run():      self.run(step)
                case Crossing(): self.cross(step)
                case Loop():     self.loop(step)
                case Choice():   self.choice(step)
                case Again():    self.again(step)

    def repeat(self, loop: Loop) -> None:
        """A scan: pointers of slices and carries move, the body runs, `length` times."""
        length = self.integer(loop.length)
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.start))
        with counted(self.b, 0, length) as t:
            self.once(loop, length, t)
        for carry in loop.carries:
            if not carry.counted:
                self.finish(carry)
            elif not carry.ring:
                self.copy(self.address(carry.final), self.address(carry.inside), self.integer(carry.bytes))
            elif not isinstance(loop.length, int) or loop.length == 0:
                self.copy_unless(self.b.icmp_signed(">", length, i64(0)), carry)

    def once(self, loop: Loop, length: ir.Value, t: ir.Value) -> None:
        """Step t of a scan."""
        every = self.asks(loop)
        if every and not (isinstance(loop.length, int) and loop.length < every):
            with self.b.if_then(self.b.icmp_signed("==", self.b.and_(t, i64(every - 1)), i64(every - 1))):
                self.ask()
        last = self.b.sub(self.b.sub(length, t), i64(1))
        at = last if loop.reverse else t
        for position, whole, bytes_ in loop.moving:
            self.set(position, self.moved(self.address(whole), self.b.mul(at, self.integer(bytes_))))
        even = self.b.icmp_signed("==", self.b.and_(last, i64(1)), i64(0))
        for carry in loop.carries:
            if not carry.counted:
                self.turn(carry)
            elif carry.ring:
                self.set(carry.new, self.b.select(even, *map(self.address, carry.ring)))
        self.body(loop)

    def body(self, loop: Loop | Again) -> None:
        """One step of a loop, and what it carries on."""
        self.steps(loop.body)
        if isinstance(loop, Loop):
            self.copies(loop.copies)
        self.show(loop.shown)
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.new))

    def copies(self, copies: Copies) -> None:
        for to, source, bytes_ in copies:
            self.copy(self.address(to), self.address(source), self.integer(bytes_))

    def show(self, shown: Shown) -> None:
        for to, source in shown:
            self.set(to, self.address(source))

    def turn(self, carry: Carry) -> None:
        """The place of a new carry: the one behind that of the old value."""
        if not carry.ring:
            return
        inside, places = self.address(carry.inside), [*map(self.address, carry.ring)]
        chosen = places[0]
        for before, then in pairwise(places):
            chosen = self.b.select(self.b.icmp_unsigned("==", inside, before), then, chosen)
        self.set(carry.new, chosen)

    def finish(self, carry: Carry) -> None:
        """Behind the last step: what is carried is shown where it is, or copied to where it has to be."""
        last = self.address(carry.inside)
        if carry.shown is not None:
            self.set(carry.shown, last)
            return
        with self.b.if_then(self.b.icmp_unsigned("!=", last, final := self.address(carry.final))):
            self.copy(final, last, self.integer(carry.bytes))

    def again(self, loop: Again) -> None:
        """A loop with a test."""
        head, body, after = (self.function.append_basic_block(name) for name in ("test", "again", "done"))
        for carry in loop.carries:
            self.set(carry.inside, self.address(carry.start))
        self.b.branch(head)
        self.b.position_at_end(head)
        if not any(isinstance(step, Run | Crossing) for step in everything((*loop.test, *loop.body))):
            self.ask()
        self.steps(loop.test)
        goes = self.b.load(self.address(loop.goes), typ=i8)
        self.b.cbranch(self.b.icmp_unsigned("!=", goes, i8(0)), body, after)
        self.b.position_at_end(body)
        for carry in loop.carries:
            self.turn(carry)
        self.body(loop)
        self.b.branch(head)
        self.b.position_at_end(after)
        for carry in loop.carries:
            self.finish(carry)

    def choice(self, choice: Choice) -> None:
        """A branch: one of its ways."""
        index = self.index(choice.index, choice.dtype, len(choice.ways))
        ways = [self.function.append_basic_block("way") for _ in choice.ways]
        after = self.function.append_basic_block("behind")
        switch = self.b.switch(index, ways[-1])
        for k, block in enumerate(ways[:-1]):
            switch.add_case(i64(k), block)
        for way, block in zip(choice.ways, ways):
            self.b.position_at_end(block)
            self.steps(way.body)
            self.copies(way.copies)
            self.show(way.shown)
            self.b.branch(after)
        self.b.position_at_end(after)

    def index(self, position: int, dtype: DType, count: int) -> ir.Value:
        """The number there, from 0 to count - 1."""
        bits = ir.IntType(8 * dtype.bytes)
        k = self.b.load(self.address(position), typ=bits)
        if dtype.kind == "i":
            k = self.b.sext(k, i64) if dtype.bytes < 8 else k
            return self.b.select(self.b.icmp_signed("<", k, i64(0)), i64(0), k)
        k = self.b.zext(k, i64) if dtype.bytes < 8 else k
        return self.b.select(self.b.icmp_unsigned(">=", k, i64(count)), i64(count - 1), k)

    def copy_unless(self, condition: ir.Value, carry: Carry) -> None:
        with self.b.if_then(self.b.not_(condition)):
            self.copy(self.address(carry.final), self.address(carry.start), self.integer(carry.bytes))

    def copy(self, to: ir.Value, source: ir.Value, bytes_: ir.Value) -> None:
        """Bytes that may overlap only wholly."""
        memmove = self.function.module.declare_intrinsic("llvm.memmove", [pointer, pointer, i64])
        self.b.call(memmove, [to, source, bytes_, i1(0)])

    def moved(self, address: ir.Value, bytes_: ir.Value) -> ir.Value:
        return self.b.gep(address, [bytes_], source_etype=i8)

    def place(self, position: int) -> ir.Value:
        return word_at(self.b, self.bufs, position)

    def address(self, position: int) -> ir.Value:
        return self.b.load(self.place(position), typ=pointer)

    def set(self, position: int, address: ir.Value) -> None:
        self.b.store(address, self.place(position))

    def integer(self, x: Dim) -> ir.Value:
        return integer(self.b, x, lambda name: self.b.load(
            word_at(self.b, self.sizes, self.slots.size(name)), typ=i64))
