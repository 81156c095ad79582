"""The native calling convention: words of a context, functions that run tasks, and how they are started."""
from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from stele.ir.sizes import Dim

i1, i8, i32, i64, pointer = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.PointerType()
KERNEL = ir.FunctionType(ir.VoidType(), [pointer, i64, i64, i64])
BUFS, SIZES, STATUS, SCRATCH, SCRATCH_BYTES, WORDS = range(6)


@dataclass(frozen=True)
class Launch:
    """One function to run as `tasks` independent tasks; each thread needs `scratch` bytes of its own.

    `packs` says that this function alone turns an operand into a temporary, by their numbers: where the operand is the
    same at the next call, it need not run again. Tasks fall into `parts` of the result along its leading axes,
    which come one after the other.
    """

    function: str
    tasks: Dim
    scratch: Dim = 0
    packs: tuple[int, int] | None = None
    parts: Dim = 1


def new_kernel(module: ir.Module, name: str) -> ir.IRBuilder:
    """A kernel function; the builder stands behind its entry block."""
    return new_function(module, name, *KERNEL.args)


def new_function(module: ir.Module, name: str, *arguments: ir.Type) -> ir.IRBuilder:
    """A function that returns nothing; the builder stands behind its entry block."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), name)
    function.attributes.add("nounwind")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    start = function.append_basic_block("start")
    b.branch(start)
    b.position_at_end(start)
    return b


def word_at(b: ir.IRBuilder, table: ir.Value, k: int) -> ir.Value:
    """The address of word k of a table."""
    return b.gep(table, [i64(8 * k)], source_etype=i8)


def word(b: ir.IRBuilder, ctx: ir.Value, k: int) -> ir.Value:
    """Word k of a context."""
    return b.load(word_at(b, ctx, k), typ=i64 if k == SCRATCH_BYTES else pointer)
