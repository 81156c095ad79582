"""The frame of a kernel function: its context, its buffers and sizes, counted loops."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from llvmlite import ir

from ...ir.graph import Value
from ...ir.sizes import Dim
from ...kernel.loops import Buffer, Temporary
from .dims import i64, integer

i1, i8, i16, i32, pointer = ir.IntType(1), ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.PointerType()
KERNEL = ir.FunctionType(ir.VoidType(), [pointer, i64, i64, i64])
BUFS, SIZES, STATUS, SCRATCH, SCRATCH_BYTES = range(5)


class Slots(Protocol):
    """Positions in the tables of a program: buffers of values, private temporaries, named sizes, sites of checks."""

    def of(self, v: Value) -> int: ...
    def temp(self, bytes_: Dim) -> int: ...
    def size(self, name: str) -> int: ...
    def site(self, v: Value) -> int: ...


class Frame:
    """A kernel function being written at `b`. What it reads once (addresses, sizes) is read in its entry block.

    `at` holds the value of each loop variable that is known at `b`.
    """

    def __init__(self, b: ir.IRBuilder, slots: Slots, temporaries: dict[Temporary, int]) -> None:
        self.b, self.function = b, b.function
        self.ctx, self.thread, self.begin, self.end = self.function.args
        self.slots, self.temporaries = slots, temporaries
        self.at: dict[str, ir.Value] = {}
        self.once: dict[object, ir.Value] = {}

    def at_entry(self, key: object, make: Callable[[], ir.Value]) -> ir.Value:
        """A value computed once, in the entry block."""
        if key not in self.once:
            with self.b.goto_entry_block():
                self.once[key] = make()
        return self.once[key]

    def field(self, k: int) -> ir.Value:
        """Word k of the context."""
        return self.at_entry(k, lambda: self.b.load(self.b.gep(self.ctx, [i64(8 * k)], source_etype=i8),
                                                    typ=i64 if k == SCRATCH_BYTES else pointer))

    def word(self, table: int, k: int, kind: ir.Type) -> ir.Value:
        """Entry k of a table of the context."""
        base = self.field(table)
        return self.at_entry((table, k), lambda: self.b.load(self.b.gep(base, [i64(8 * k)], source_etype=i8), typ=kind))

    def buffer(self, x: Buffer) -> ir.Value:
        """The address of a buffer."""
        return self.word(BUFS, self.temporaries[x] if isinstance(x, Temporary) else self.slots.of(x), pointer)

    def named(self, name: str) -> ir.Value:
        """A loop variable or a named size."""
        return self.at[name] if name[0] == "%" else self.word(SIZES, self.slots.size(name), i64)

    def integer(self, x: Dim) -> ir.Value:
        return integer(self.b, x, self.named)

    def local(self, kind: ir.Type) -> ir.Value:
        """Memory of the function for one register."""
        with self.b.goto_entry_block():
            return self.b.alloca(kind)

    @contextmanager
    def loop(self, start: ir.Value, stop: ir.Value, step: int = 1) -> Iterator[ir.Value]:
        """`for i in range(start, stop, step)`: the builder stands in the body; no loop where it runs just once."""
        first, last = constant(start), constant(stop)
        if first is not None and last is not None and 0 < last - first <= step:
            yield start
            return
        b, before = self.b, self.b.block
        head, body, after = (b.append_basic_block(n) for n in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(i64)
        i.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", i, stop), body, after)
        b.position_at_end(body)
        yield i
        i.add_incoming(b.add(i, i64(step), flags=("nsw",)), b.block)
        b.branch(head)
        b.position_at_end(after)

    def least(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def report(self, code: int, value: Value, payload: ir.Value) -> None:
        """Notes (code, site, payload) in the status unless something is there already."""
        b, status = self.b, self.field(STATUS)
        first = b.extract_value(b.cmpxchg(status, i64(0), i64(code), "monotonic"), 1)
        with b.if_then(first, likely=False):
            b.store(i64(self.slots.site(value)), b.gep(status, [i64(8)], source_etype=i8))
            b.store(payload, b.gep(status, [i64(16)], source_etype=i8))


def new_kernel(module: ir.Module, name: str) -> ir.IRBuilder:
    """A kernel function; the builder stands behind its entry block."""
    function = ir.Function(module, KERNEL, name)
    function.attributes.add("nounwind")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    start = function.append_basic_block("start")
    b.branch(start)
    b.position_at_end(start)
    return b


def constant(x: ir.Value) -> int | None:
    """The number that an integer is, if it is known."""
    return x.constant if isinstance(x, ir.Constant) else None
