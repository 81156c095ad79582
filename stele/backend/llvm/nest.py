"""The words contractions are written in: kernels, counted loops, folds, vectors in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from llvmlite import ir

from stele.backend.llvm.access import size_of
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, B, Builder, i1, i8, i32, i64, known, new_kernel, word
from stele.kernel.machine import LINE


@contextmanager
def kernel(module: ir.Module, name: str, writer: Callable[[ir.Block], B] = Builder
           ) -> Generator[tuple[B, ir.Value, ir.Value, ir.Value, ir.Value]]:
    """A kernel being written: `(b, ctx, scratch, task, first)`, where `first` is true for the thread's first task."""
    b = new_kernel(module, name, writer)
    ctx, thread, begin, end = b.function.args
    scratch = b.gep(word(b, ctx, SCRATCH), [b.mul(thread, word(b, ctx, SCRATCH_BYTES))], source_etype=i8)
    with loop(b, begin, end) as task:
        yield b, ctx, scratch, task, b.icmp_signed("==", task, begin)
    b.ret_void()


def as_value(x: int | ir.Value) -> ir.Value:
    return number(x) if isinstance(x, int) else x


@lru_cache(maxsize=4096)
def number(x: int) -> ir.Constant:
    """An i64; the same object for the same number, as all constants and types here, so that it is written as text once.
    """
    return i64(x)


@lru_cache(maxsize=256)
def vector(dtype: ir.Type, lanes: int) -> ir.VectorType:
    return ir.VectorType(dtype, lanes)


@lru_cache(maxsize=256)
def undefined(dtype: ir.Type, lanes: int) -> ir.Constant:
    found = ir.FormattedConstant(vector(dtype, lanes), "")
    found.constant = "undef"
    return found


@contextmanager
def loop(b: Builder, start: int | ir.Value, stop: int | ir.Value, step: int = 1) -> Generator[ir.Value]:
    """`for i in range(start, stop, step)`: the builder stands in the body; no loop where it would run once."""
    first, last = known(start), known(stop)
    if first is not None and last is not None and first < last <= first + step:
        yield as_value(start)
        return
    before, (head, body, after) = b.block, [b.append_basic_block(name) for name in ("head", "body", "after")]
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(i64)
    i.add_incoming(as_value(start), before)
    b.cbranch(b.icmp_signed("<", i, as_value(stop)), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, i64(step), flags=("nsw",)), b.block)
    b.branch(head)
    b.position_at_end(after)


Body = Callable[[ir.Value, list[ir.Value]], list[ir.Value]]


def fold(b: Builder, count: int | ir.Value, carried: list[ir.Value], body: Body) -> list[ir.Value]:
    """The values after `carried = body(i, carried)` for `i` in `range(count)`."""
    if known(count) == 1:
        return body(i64(0), carried)
    before = b.block
    with loop(b, 0, count) as i:
        inside = b.block
        b.position_at_start(i.parent)
        phis = [b.phi(x.type) for x in carried]
        b.position_at_end(inside)
        for phi, x, y in zip(phis, carried, body(i, [*phis])):
            phi.add_incoming(x, before)
            phi.add_incoming(y, b.block)
    return [*phis]


def repeat(b: Builder, carried: list[ir.Value], holds: Callable[[list[ir.Value]], ir.Value],
           body: Callable[[list[ir.Value]], list[ir.Value]]) -> None:
    """`while holds(carried): carried = body(carried)`."""
    before, (head, inside, after) = b.block, [b.append_basic_block(name) for name in ("test", "again", "over")]
    b.branch(head)
    b.position_at_end(head)
    phis = [b.phi(x.type) for x in carried]
    b.cbranch(holds([*phis]), inside, after)
    b.position_at_end(inside)
    for phi, x, y in zip(phis, carried, body([*phis])):
        phi.add_incoming(x, before)
        phi.add_incoming(y, b.block)
    b.branch(head)
    b.position_at_end(after)


def each_bit(b: Builder, bits: ir.Value, body: Callable[[ir.Value], None]) -> None:
    """`body(lane)` for each bit that is set, lowest first."""
    def one(now: list[ir.Value]) -> list[ir.Value]:
        (left,) = now
        body(b.cttz(left, i1(1)))
        return [b.and_(left, b.sub(left, bits.type(1)))]

    repeat(b, [bits], lambda now: b.icmp_unsigned("!=", now[0], bits.type(0)), one)


def least(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", x, y), x, y)


def most(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", x, y), y, x)


def split(b: Builder, x: ir.Value, *sizes: int | ir.Value) -> list[ir.Value]:
    """The mixed-radix digits of `x`, most significant first; the first digit is unbounded."""
    digits: list[ir.Value] = []
    for size in reversed(sizes):
        digits.append(i64(0) if size == 1 else b.urem(x, as_value(size)))
        x = x if size == 1 else b.udiv(x, as_value(size))
    return [x, *reversed(digits)]


def at(b: Builder, base: ir.Value, offset: int | ir.Value, dtype: ir.Type) -> ir.Value:
    """The address `offset` elements after `base`."""
    return b.gep(base, [as_value(offset)], source_etype=dtype)


def load(b: Builder, address: ir.Value, dtype: ir.Type, lanes: int = 1) -> ir.Value:
    """`lanes` elements at `address` (a scalar if 1)."""
    return b.load(address, typ=dtype if lanes == 1 else vector(dtype, lanes), align=size_of(dtype))


def prefetch(b: Builder, address: ir.Value, to_write: bool = False, level: int = 1) -> None:
    """Asks for the cache line at an address, which may be anywhere, to come into a cache."""
    kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
    function = b.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
    b.call(function, [address, i32(int(to_write)), i32(4 - level), i32(1)])


def prefetch_lines(b: Builder, address: ir.Value, start: int, size: int) -> None:
    """Asks for the cache lines of `size` bytes that lie `start` bytes behind an address."""
    for line in range(0, size, LINE):
        prefetch(b, b.gep(address, [number(start + line)], source_etype=i8))


def store(b: Builder, x: ir.Value, address: ir.Value, dtype: ir.Type) -> None:
    b.store(x, address, align=size_of(dtype))


class Splat(ir.FormattedConstant):
    """One constant in every lane, in LLVM's short form."""

    def __init__(self, kind: ir.Type, value: ir.Constant) -> None:
        super().__init__(kind, "")
        self.constant = f"splat ({value.type} {value.get_reference()})"


def splat(b: Builder, x: ir.Value, lanes: int) -> ir.Value:
    """`lanes` copies of a scalar."""
    if lanes == 1:
        return x
    if isinstance(x, ir.Constant):
        return Splat(vector(x.type, lanes), x)
    nothing = undefined(x.type, lanes)
    return b.once(lanes, (x,), lambda: b.shuffle_vector(b.insert_element(nothing, x, i32(0)), nothing,
                                                        zero(i32, lanes)))


def shuffle(b: Builder, x: ir.Value, y: ir.Value, picks: Sequence[int]) -> ir.Value:
    """Lanes of `x` and `y` laid end to end, picked by number."""
    return b.shuffle_vector(x, y, integers(i32, tuple(picks)))


@lru_cache(maxsize=4096)
def integers(kind: ir.IntType, values: tuple[int, ...]) -> ir.Constant:
    """A constant vector."""
    return ir.Constant(vector(kind, len(values)), list(values))


def suffix(kind: ir.Type) -> str:
    """How intrinsics name a type: f32, v16f32, i64."""
    return f"v{kind.count}{suffix(kind.element)}" if isinstance(kind, ir.VectorType) else kind.intrinsic_name


@lru_cache(maxsize=256)
def zero(dtype: ir.Type, lanes: int) -> ir.Value:
    return ir.Constant(vector(dtype, lanes), None)


def lanes_below(b: Builder, count: ir.Value, lanes: int) -> ir.Value:
    """The mask of the lanes `l < count`."""
    return b.icmp_signed("<", integers(i64, tuple(range(lanes))), splat(b, count, lanes))


def table(module: ir.Module, name: str, values: Sequence[int]) -> ir.Value:
    """A constant table of i64."""
    kind = ir.ArrayType(i64, len(values))
    data = ir.GlobalVariable(module, kind, name)
    data.global_constant, data.linkage, data.unnamed_addr = True, "internal", True
    data.initializer = ir.Constant(kind, list(values))
    return data


def round_up(x: int, step: int) -> int:
    return -(-x // step) * step


def multiply_add(b: Builder, fma: bool, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """`x * y + z`, rounded once where the machine can."""
    if not fma:
        return b.fadd(b.fmul(x, y), z)
    name = f"llvm.fma.{suffix(x.type)}"
    kind = ir.FunctionType(x.type, [x.type] * 3)
    return b.call(b.module.globals.get(name) or b.module.declare_intrinsic(name, fnty=kind), [x, y, z])
