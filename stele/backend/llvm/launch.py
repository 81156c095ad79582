"""The native calling convention: words of a context, functions that run tasks, and how they are started."""
from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from llvmlite import ir

from stele.ir.record import Record
from stele.ir.sizes import Dim

i1, i8, i32, i64, pointer = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.PointerType()
KERNEL = ir.FunctionType(ir.VoidType(), [pointer, i64, i64, i64])
LAUNCHED = ir.FunctionType(ir.VoidType(), [*KERNEL.args, pointer])
"""What is started: a kernel that is told the places of its buffers."""
BUFS, SIZES, STATUS, SCRATCH, SCRATCH_BYTES, POOL, WORDS = range(7)


class Builder(ir.IRBuilder):
    """Writes LLVM IR. Integers that are known are computed here, and what a block has computed is not computed again:
    what is not written need not be printed, parsed and removed.
    """

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._made: dict[tuple[Any, ...], tuple[ir.Value, tuple[ir.Value, ...]]] = {}

    def once(self, what: Hashable, operands: tuple[ir.Value, ...], make: Callable[[], ir.Value]) -> ir.Value:
        """`make()`, or what this block has made of the same operands."""
        numbers = map(known, operands)
        key = self.block, what, *(id(x) if n is None else (n,) for x, n in zip(operands, numbers))
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(), operands     # which stay there, and so do their ids
        return found[0]

    def add(self, lhs: ir.Value, rhs: ir.Value, *, flags: Sequence[str] = ()) -> ir.Value:
        if known(lhs) == 0 or known(rhs) == 0:
            return rhs if known(lhs) == 0 else lhs
        return self._computed(operator.add, partial(super().add, flags=flags), lhs, rhs, *flags)

    def sub(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return lhs if known(rhs) == 0 else self._computed(operator.sub, super().sub, lhs, rhs)

    def mul(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        if known(lhs) in (0, 1) or known(rhs) in (0, 1):
            return rhs if known(lhs) == 1 or known(rhs) == 0 else lhs
        return self._computed(operator.mul, super().mul, lhs, rhs)

    def _computed(self, numbers: Callable[[int, int], int], make: Callable[..., ir.Value], lhs: ir.Value, rhs: ir.Value,
                  *flags: str) -> ir.Value:
        x, y = known(lhs), known(rhs)
        if x is not None and y is not None:
            return i64(numbers(x, y))
        return self.once((numbers, *flags), (lhs, rhs), partial(make, lhs, rhs))

    def gep(self, ptr: ir.Value, indices: Sequence[ir.Value], *, source_etype: ir.Type | None = None) -> ir.Value:
        if len(indices) == 1 and known(indices[0]) == 0:
            return ptr
        return self.once(source_etype, (ptr, *indices), partial(super().gep, ptr, indices, source_etype=source_etype))

    def icmp_signed(self, cmpop: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return self.once(cmpop, (lhs, rhs), partial(super().icmp_signed, cmpop, lhs, rhs))


def known(x: int | ir.Value) -> int | None:
    """The number that an i64 is, if it is known."""
    if isinstance(x, int):
        return x
    return x.constant if type(x) is ir.Constant and x.type == i64 else None


class Launch(Record):
    """One function to run as `tasks` independent tasks; each thread needs `scratch` bytes of its own.

    `packs` says that this function alone turns an operand into a temporary, by their numbers: where the operand is the
    same at the next call, it need not run again. Tasks fall into `parts` of the result along its leading axes,
    which come one after the other; so many in a row are best run `together`, by one thread. `places` are its buffers:
    positions in the table of a program, and bytes behind.
    """

    function: str
    tasks: Dim
    scratch: Dim = 0
    packs: tuple[int, int] | None = None
    parts: Dim = 1
    together: int = 1
    places: tuple[tuple[int, int], ...] = ()


B = TypeVar("B", bound=Builder)


def new_kernel(module: ir.Module, name: str, writer: Callable[[ir.Block], B] = Builder) -> B:
    """A kernel function; the builder stands behind its entry block."""
    return new_function(module, name, *KERNEL.args, writer=writer)


def new_function(module: ir.Module, name: str, *arguments: ir.Type, writer: Callable[[ir.Block], B] = Builder) -> B:
    """A function that returns nothing; the builder stands behind its entry block."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), name)
    function.attributes.add("nounwind")
    b = writer(function.append_basic_block("entry"))
    start = function.append_basic_block("start")
    b.branch(start)
    b.position_at_end(start)
    return b


def word_at(b: Builder, table: ir.Value, k: int) -> ir.Value:
    """The address of word k of a table."""
    return b.gep(table, [i64(8 * k)], source_etype=i8)


def word(b: Builder, ctx: ir.Value, k: int) -> ir.Value:
    """Word k of a context."""
    return b.load(word_at(b, ctx, k), typ=i64 if k == SCRATCH_BYTES else pointer)
