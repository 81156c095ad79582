"""The words contractions are written in: kernels, counted loops, folds, vectors in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from stele.backend.llvm.access import Builder, i64, pointer, size_of

context_type = ir.LiteralStructType([pointer, pointer, pointer, pointer, i64])
kernel_type = ir.FunctionType(ir.VoidType(), [pointer, i64, i64, i64])


@contextmanager
def kernel(module: ir.Module, name: str) -> Iterator[tuple[Builder, ir.Value, ir.Value, ir.Value, ir.Value]]:
    """A kernel being written: `(b, ctx, scratch, task, first)`, where `first` is true for the thread's first task."""
    function = ir.Function(module, kernel_type, name)
    function.attributes.add("nounwind")
    ctx, thread, begin, end = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    scratch = b.load(b.gep(ctx, [ir.IntType(32)(0), ir.IntType(32)(3)], source_etype=context_type), typ=pointer)
    nbytes = b.load(b.gep(ctx, [ir.IntType(32)(0), ir.IntType(32)(4)], source_etype=context_type), typ=i64)
    scratch = b.gep(scratch, [b.mul(thread, nbytes)], source_etype=ir.IntType(8))
    with loop(b, begin, end) as task:
        yield b, ctx, scratch, task, b.icmp_signed("==", task, begin)
    b.ret_void()


def as_value(x: int | ir.Value) -> ir.Value:
    return i64(x) if isinstance(x, int) else x


@contextmanager
def loop(b: Builder, start: int | ir.Value, stop: int | ir.Value, step: int = 1) -> Iterator[ir.Value]:
    """`for i in range(start, stop, step)`: the builder stands in the body; no loop where it would run once."""
    if isinstance(start, int) and isinstance(stop, int) and start < stop <= start + step:
        yield i64(start)
        return
    before, head = b.block, b.append_basic_block("loop")
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(i64)
    i.add_incoming(as_value(start), before)
    body, after = b.append_basic_block("body"), b.append_basic_block("after")
    b.cbranch(b.icmp_signed("<", i, as_value(stop)), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, i64(step), flags=("nsw",)), b.block)
    b.branch(head)
    b.position_at_end(after)


Body = Callable[[ir.Value, list[ir.Value]], list[ir.Value]]


def fold(b: Builder, count: int | ir.Value, carried: list[ir.Value], body: Body) -> list[ir.Value]:
    """The values after `carried = body(i, carried)` for `i` in `range(count)`."""
    if isinstance(count, int) and count == 1:
        return body(i64(0), carried)
    before, head = b.block, b.append_basic_block("fold")
    b.branch(head)
    b.position_at_end(head)
    phis = [b.phi(x.type) for x in [i64(0), *carried]]
    for phi, x in zip(phis, [i64(0), *carried]):
        phi.add_incoming(x, before)
    inside, after = b.append_basic_block("step"), b.append_basic_block("folded")
    b.cbranch(b.icmp_signed("<", phis[0], as_value(count)), inside, after)
    b.position_at_end(inside)
    result = body(phis[0], phis[1:])
    for phi, x in zip(phis, [b.add(phis[0], i64(1), flags=("nsw",)), *result]):
        phi.add_incoming(x, b.block)
    b.branch(head)
    b.position_at_end(after)
    return phis[1:]


def total(b: Builder, *terms: int | ir.Value) -> ir.Value:
    """The sum of i64 terms."""
    known = sum(t for t in terms if isinstance(t, int))
    values = [t for t in terms if not isinstance(t, int)]
    result: ir.Value | None = None
    for value in values:
        result = value if result is None else b.add(result, value)
    if result is None:
        return i64(known)
    return b.add(result, i64(known)) if known else result


def scaled(b: Builder, x: int | ir.Value, factor: int | ir.Value) -> ir.Value:
    """`x * factor` as an i64."""
    if isinstance(x, int) and isinstance(factor, int):
        return i64(x * factor)
    return as_value(x) if factor == 1 else b.mul(as_value(x), as_value(factor))


def least(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", x, y), x, y)


def split(b: Builder, x: ir.Value, *sizes: int | ir.Value) -> list[ir.Value]:
    """The mixed-radix digits of `x`, most significant first; the first digit is unbounded."""
    digits: list[ir.Value] = []
    for size in reversed(sizes):
        digits.append(i64(0) if size == 1 else b.urem(x, as_value(size)))
        x = x if size == 1 else b.udiv(x, as_value(size))
    return [x, *reversed(digits)]


def at(b: Builder, base: ir.Value, offset: int | ir.Value, dtype: ir.Type) -> ir.Value:
    """The address `offset` elements after `base`."""
    return base if isinstance(offset, int) and offset == 0 else b.gep(base, [as_value(offset)], source_etype=dtype)


def bytes_at(b: Builder, base: ir.Value, offset: int) -> ir.Value:
    return b.gep(base, [i64(offset)], source_etype=ir.IntType(8)) if offset else base


def load(b: Builder, address: ir.Value, dtype: ir.Type, lanes: int = 1) -> ir.Value:
    """`lanes` elements at `address` (a scalar if 1)."""
    return b.load(address, typ=dtype if lanes == 1 else ir.VectorType(dtype, lanes), align=size_of(dtype))


def store(b: Builder, x: ir.Value, address: ir.Value, dtype: ir.Type) -> None:
    b.store(x, address, align=size_of(dtype))


def splat(b: Builder, x: ir.Value, lanes: int) -> ir.Value:
    """`lanes` copies of a scalar."""
    if lanes == 1:
        return x
    vector = ir.VectorType(x.type, lanes)
    one = b.insert_element(ir.Constant(vector, ir.Undefined), x, ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    return b.shuffle_vector(one, ir.Constant(vector, ir.Undefined), first)


def shuffle(b: Builder, x: ir.Value, y: ir.Value, picks: Sequence[int]) -> ir.Value:
    """Lanes of `x` and `y` laid end to end, picked by number."""
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), len(picks)), list(picks)))


def suffix(vector: ir.VectorType) -> str:
    """How intrinsics call a vector type: `v16f32`."""
    return f"v{vector.count}f{8 * size_of(vector.element)}"


def zero(dtype: ir.Type, lanes: int) -> ir.Value:
    return ir.Constant(ir.VectorType(dtype, lanes), None)


def lanes_below(b: Builder, count: ir.Value, lanes: int) -> ir.Value:
    """The mask of the lanes `l < count`."""
    steps = ir.Constant(ir.VectorType(i64, lanes), list(range(lanes)))
    return b.icmp_signed("<", steps, splat(b, count, lanes))


def table(module: ir.Module, name: str, values: Sequence[int]) -> ir.Value:
    """A constant table of i64."""
    kind = ir.ArrayType(i64, len(values))
    data = ir.GlobalVariable(module, kind, name)
    data.global_constant, data.linkage, data.unnamed_addr = True, "internal", True
    data.initializer = ir.Constant(kind, list(values))
    return data


def round_up(x: int, step: int) -> int:
    return -(-x // step) * step
