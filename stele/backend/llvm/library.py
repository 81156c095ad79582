"""Products by a library: the op that stands for a call, and the call as a kernel over blocks of the result."""
from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from llvmlite import ir

from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import Builder, Launch, i8, i32, i64, new_kernel, pointer
from stele.backend.llvm.nest import least, loop
from stele.ir.graph import Array, Op, Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import Type, float32
from stele.kernel.kinds import Library

ROWS, COLUMNS = 256, 1024
"""The block of the result that is one call: large enough that packing inside of the library is paid for."""
LONGEST = 1 << 29
"""Multiplications of one call, about: nothing stops a program while it runs."""
ROW_MAJOR, AS_IS, TRANSPOSED = 101, 111, 112


class Gemm(Op):
    """x @ w as one call of `cblas_sgemm` or `cblas_dgemm`; an operand may lie in memory transposed."""

    left: bool = False
    right: bool = False
    family: ClassVar[str] = "foreign"

    def type(self, *x: Type) -> Type:
        a, b = x
        return a.with_shape((a.shape[1 if self.left else 0], b.shape[0 if self.right else 1]))

    def reference(self, *x: Array) -> Any:
        return np.matmul(x[0].T if self.left else x[0], x[1].T if self.right else x[1])


def emit_gemm(module: ir.Module, name: str, kernel: Library, slots: Slots) -> list[Launch]:
    """Adds the function that makes blocks of one product, one call each."""
    (y,) = kernel.results
    op = y.op
    assert isinstance(op, Gemm)
    x, w = y.args
    (m, n), k = y.shape, x.shape[0 if op.left else 1]
    frame = Frame(new_kernel(module, name), slots, {})
    b = frame.b
    rows, columns, depth = map(frame.integer, (m, n, k))
    most = columns_of(k)
    across = frame.integer(ceil(n, most))
    with loop(b, *frame.tasks) as task:
        i, j = b.mul(b.udiv(task, across), i64(ROWS)), b.mul(b.urem(task, across), i64(most))
        height, width = least(b, b.sub(rows, i), i64(ROWS)), least(b, b.sub(columns, j), i64(most))
        lead = rows if op.left else depth, depth if op.right else columns, columns
        starts = i if op.left else b.mul(i, depth), b.mul(j, depth) if op.right else j, b.add(b.mul(i, columns), j)
        a, c, out = (b.gep(frame.buffer(v), [b.mul(start, i64(y.dtype.bytes))], source_etype=i8)
                     for v, start in zip((x, w, y), starts))
        call(b, module, y, (op.left, op.right), (height, width, depth), (a, c, out), lead)
    b.ret_void()
    return [Launch(name, ceil(m, ROWS) * ceil(n, most))]


def columns_of(k: Dim) -> int:
    """Columns of a block of the result for this depth: fewer where it is long."""
    columns = COLUMNS
    while isinstance(k, int) and ROWS * columns * k > LONGEST and columns > ROWS:
        columns //= 2
    return columns


def call(b: Builder, module: ir.Module, y: Value, transposed: tuple[bool, bool], sizes: tuple[ir.Value, ...],
         addresses: tuple[ir.Value, ...], lead: tuple[ir.Value, ...]) -> None:
    """C = A B."""
    real = ir.FloatType() if y.dtype == float32 else ir.DoubleType()
    name = "sgemm" if y.dtype == float32 else "dgemm"
    kind = ir.FunctionType(ir.VoidType(), [*[i32] * 6, real, pointer, i32, pointer, i32, real, pointer, i32])
    function = module.globals.get(name) or ir.Function(module, kind, name)
    forms = (i32(TRANSPOSED if is_transposed else AS_IS) for is_transposed in transposed)
    m, n, k, *leads = (b.trunc(size, i32) for size in (*sizes, *lead))
    b.call(function, [i32(ROW_MAJOR), *forms, m, n, k, real(1), addresses[0], leads[0], addresses[1], leads[1],
                      real(0), addresses[2], leads[2]])
