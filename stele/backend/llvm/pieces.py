"""Long kernels run piece by piece, and ask between pieces whether the program is to stop."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from stele.backend.llvm.dims import integer
from stele.backend.llvm.launch import Builder, i64, pointer
from stele.backend.llvm.library import Gemm
from stele.backend.llvm.nest import least, most
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, product
from stele.kernel.cost import instructions
from stele.kernel.kinds import Kernel, Matrices
from stele.ops.contraction import Conv2d, Conv2dInputGrad, Conv2dWeightGrad, MatMul

PIECE = 1 << 28
"""Work between two questions: some 10 ms of one thread. A multiplication of a product counts 1."""
STEP = 16
"""What an instruction of a loop counts: it may be one without vectors, or wait for memory."""
DRAW = 32
"""Instructions that make an element from its index, at most."""
WATCH = ir.FunctionType(i64, [pointer, i64])


def work(kernel: Kernel) -> Dim:
    """About how much work a kernel is."""
    is_work = isinstance(kernel, Matrices)
    return sum((work_of(v) for v in kernel.body if is_work or not isinstance(v.type, TupleType)), 0)


def work_of(v: Value) -> Dim:
    """About how much work a value is, its operands given."""
    match v.op:
        case MatMul(): return v.type.size * v.args[0].shape[-1]
        case Gemm(left): return v.type.size * v.args[0].shape[0 if left else 1]
        case Conv2d(): return v.type.size * product(v.args[1].shape[1:])
        case Conv2dInputGrad(): return v.args[0].type.size * product(v.args[1].shape[1:])
        case Conv2dWeightGrad(): return v.args[0].type.size * product(v.shape[1:])
        case _ if v.op.family == "matrices": return v.args[0].type.size * (max(v.args[0].shape[-2:]) * STEP)
        case _ if v.op.family == "elementwise":
            return v.type.size * (STEP * instructions(v.op, *(a.dtype for a in v.args)))
        case _ if v.op.family == "generate": return v.type.size * (STEP * DRAW)
        case _: return (v.type.size + sum((a.type.size for a in v.args), 0)) * STEP


def is_stopped(b: Builder, ctx: ir.Value, thread: ir.Value) -> ir.Value:
    """Whether the program is to stop."""
    watch = b.module.globals.get("pool_watch") or ir.Function(b.module, WATCH, "pool_watch")
    return b.icmp_signed("!=", b.call(watch, [ctx, thread]), i64(0))


def run(b: Builder, code: ir.Value, arguments: Sequence[ir.Value], tasks: Dim, size: Dim,
        named: Callable[[str], ir.Value]) -> None:
    """Calls a kernel with `(ctx, thread, begin, end)`; in pieces, if its `tasks` together take more than one.

    `size` is its work, `named` gives the sizes that are not known.
    """
    if tasks == 1 or (isinstance(size, int) and size <= PIECE):
        b.call(code, arguments)
        return
    ctx, thread, begin, end = arguments
    each = b.sdiv(b.mul(integer(b, tasks, named), i64(PIECE)), most(b, integer(b, size, named), i64(1)))
    step = most(b, each, i64(1))
    before, (piece, ask, after) = b.block, [b.append_basic_block(name) for name in ("piece", "ask", "after")]
    b.branch(piece)
    b.position_at_end(piece)
    first = b.phi(i64)
    last = least(b, b.add(first, step), end)
    b.call(code, [ctx, thread, first, last])
    b.cbranch(b.icmp_signed("<", last, end), ask, after)
    b.position_at_end(ask)
    first.add_incoming(begin, before)
    first.add_incoming(last, ask)
    b.cbranch(is_stopped(b, ctx, thread), after, piece)
    b.position_at_end(after)
