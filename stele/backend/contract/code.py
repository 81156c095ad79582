"""What contractions are written in: integers and addresses with operators, loops, folds and kernels."""
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.llvm import nest
from stele.backend.llvm.access import Address, Extent, Index, Near, Operand, Write, size_of
from stele.backend.llvm.launch import Builder, Launch, i8, i64, new_function
from stele.backend.llvm.vectors import masked_load, masked_store, store_lanes
from stele.ir.record import Record
from stele.ir.sizes import Dim
from stele.kernel.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """An i64 of code: `x * 4 + y` writes instructions, `x // y` and `x % y` of numbers that are not negative."""

    b: Builder
    value: ir.Value

    def __add__(self, other: Number) -> Int: return Int(self.b, self.b.add(self.value, raw(other)))
    def __sub__(self, other: Number) -> Int: return Int(self.b, self.b.sub(self.value, raw(other)))
    def __rsub__(self, other: int) -> Int: return Int(self.b, self.b.sub(raw(other), self.value))
    def __mul__(self, other: Number) -> Int: return Int(self.b, self.b.mul(self.value, raw(other)))
    def __and__(self, other: Number) -> Int: return Int(self.b, self.b.and_(self.value, raw(other)))
    def __xor__(self, other: Number) -> Int: return Int(self.b, self.b.xor(self.value, raw(other)))
    def __rshift__(self, other: Number) -> Int: return Int(self.b, self.b.lshr(self.value, raw(other)))
    def __floordiv__(self, other: Number) -> Int: return Int(self.b, self.b.udiv(self.value, raw(other)))
    def __mod__(self, other: Number) -> Int: return Int(self.b, self.b.urem(self.value, raw(other)))
    def __lt__(self, other: Number) -> ir.Value: return self.b.icmp_signed("<", self.value, raw(other))
    def __gt__(self, other: Number) -> ir.Value: return self.b.icmp_signed(">", self.value, raw(other))
    def __ge__(self, other: Number) -> ir.Value: return self.b.icmp_signed(">=", self.value, raw(other))
    def equals(self, other: Number) -> ir.Value: return self.b.icmp_signed("==", self.value, raw(other))
    __radd__ = __add__
    __rmul__ = __mul__


Number = int | Int
Pair = tuple[Number, Number]
Numbers = tuple[Number, ...]
Vectors = list[ir.Value]


def raw(x: Number) -> ir.Value:
    """A number as LLVM knows it."""
    return nest.number(x) if isinstance(x, int) else x.value


def bound(x: Number) -> int | ir.Value:
    """A number as the end of a loop, whose length may be known."""
    return x if isinstance(x, int) else x.value


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """The address of an element: `x + k` is that of the element k behind it."""

    b: Builder
    address: ir.Value
    dtype: ir.Type

    def __add__(self, offset: Number) -> Ref:
        return Ref(self.b, self.b.gep(self.address, [raw(offset)], source_etype=self.dtype), self.dtype)

    def bytes(self, offset: Number) -> Ref:
        """The address so many bytes behind."""
        return Ref(self.b, self.b.gep(self.address, [raw(offset)], source_etype=i8), self.dtype)

    def of(self, dtype: ir.Type) -> Ref:
        """The same address, of elements of another type."""
        return Ref(self.b, self.address, dtype)

    def load(self, lanes: int = 1, mask: ir.Value | None = None) -> ir.Value:
        """`lanes` elements from here on, a scalar if 1; 0 where a mask does not select."""
        if mask is not None:
            return masked_load(self.b, self.address, self.dtype, mask)
        return nest.load(self.b, self.address, self.dtype, lanes)

    def store(self, x: ir.Value, mask: ir.Value | None = None) -> None:
        """An element or a vector from here on, where a mask selects."""
        if mask is not None:
            masked_store(self.b, x, self.address, self.dtype, mask)
        else:
            nest.store(self.b, x, self.address, self.dtype)

    def keep(self, x: ir.Value, count: int) -> None:
        """The first so many lanes of a vector from here on."""
        store_lanes(self.b, x, self.address, self.dtype, count)

    def number(self) -> Int:
        """The integer that lies here."""
        return Int(self.b, self.load())

    def prefetch(self, level: int = 1) -> None:
        """Asks for the cache line, wherever it is, to come into a cache."""
        nest.prefetch(self.b, self.address, level=level)


class Code(Builder):
    """Writes the kernels of contractions."""

    @property
    def ctx(self) -> ir.Value:
        return self.function.args[0]

    def int(self, x: Number) -> Int:
        return Int(self, nest.number(x)) if isinstance(x, int) else x

    def extent(self, x: Extent) -> Int:
        """A size."""
        return Int(self, i64(x) if isinstance(x, int) else x.emit(self, self.ctx))

    @contextmanager
    def loop(self, start: Number, stop: Number, step: int = 1) -> Generator[Int]:
        """`for i in range(start, stop, step)`."""
        with nest.loop(self, bound(start), bound(stop), step) as i:
            yield Int(self, i)

    def fold(self, count: Number, carried: Vectors, body: Callable[[Int, Vectors], Vectors]) -> Vectors:
        """The values after `carried = body(i, carried)` for `i` in `range(count)`."""
        return nest.fold(self, bound(count), carried, lambda i, acc: body(Int(self, i), acc))

    def carry(self, carried: list[Int], holds: Callable[[list[Int]], ir.Value], body: Callable[[list[Int]], list[Int]]
              ) -> None:
        """`while holds(carried): carried = body(carried)`."""
        def of(values: Vectors) -> list[Int]:
            return [Int(self, x) for x in values]

        nest.repeat(self, [x.value for x in carried], lambda now: holds(of(now)),
                    lambda now: [x.value for x in body(of(now))])

    def total(self, count: Number, place: Ref, apart: Number, lanes: int, mask: ir.Value | None = None) -> ir.Value:
        """The sum of so many vectors, each `apart` elements behind the one before, first to last."""
        return self.fold(count, [nest.zero(place.dtype, lanes)], lambda k, acc: [
            self.fadd(acc[0], (place + k * apart).load(lanes, mask))])[0]

    def least(self, x: Number, y: Number) -> Int:
        return Int(self, nest.least(self, raw(x), raw(y)))

    def most(self, x: Number, y: Number) -> Int:
        return Int(self, nest.most(self, raw(x), raw(y)))

    def either(self, holds: ir.Value, x: Number, y: Number) -> Int:
        """x where it holds, else y."""
        return Int(self, self.select(holds, raw(x), raw(y)))

    def split(self, x: Int, *sizes: Number) -> list[Int]:
        """The mixed-radix digits of `x`, most significant first; the first digit is unbounded."""
        return [Int(self, digit) for digit in nest.split(self, x.value, *map(bound, sizes))]

    def blocks(self, size: Int, block: int) -> Int:
        """`ceil(size / block)`."""
        if isinstance(size.value, ir.Constant):
            return self.int(-(-size.value.constant // block))
        return (size + (block - 1)) // block if block > 1 else size

    def below(self, count: Number, lanes: int) -> ir.Value:
        """The mask of the lanes `l < count`."""
        return nest.lanes_below(self, raw(count), lanes)

    def numbers(self, word: str, values: Sequence[int]) -> Ref:
        """A constant table of numbers, which the kernel knows by a word."""
        name = f"{self.function.name}.{word}"
        return Ref(self, self.module.globals.get(name) or nest.table(self.module, name, values or [0]), i64)


    def apart(self, word: str, places: Sequence[Ref], numbers: Sequence[Number],
              write: Callable[[Code, list[Ref], list[Int]], None]) -> None:
        """Calls a function that `write` writes, of addresses and numbers, which is named once in a kernel: what LLVM
        would keep in registers for the code around it, it takes from the sums of a loop."""
        taken = [x.value for x in numbers if isinstance(x, Int) and not isinstance(x.value, ir.Constant)]
        given = [self.ctx, *(place.address for place in places), *taken]
        b = new_function(self.module, f"{self.function.name}.{word}", *(x.type for x in given), writer=Code)
        b.function.linkage = "internal"
        b.function.attributes.add("noinline")
        held = dict(zip(map(id, given[1:]), b.function.args[1:]))
        write(b, [Ref(b, held[id(place.address)], place.dtype) for place in places],
              [Int(b, held.get(id(raw(x)), raw(x))) for x in numbers])
        b.ret_void()
        self.call(b.function, given)


class Scratch:
    """Memory of a thread's own: rooms end to end, as many as are asked for."""

    def __init__(self, start: Ref) -> None:
        self.start, self.bytes = start, 0

    def room(self, size: int, dtype: ir.Type) -> Ref:
        """One more, of so many bytes."""
        self.bytes += size
        return self.start.bytes(self.bytes - size).of(dtype)

    def rooms(self, sizes: Sequence[int], dtype: ir.Type) -> list[Ref]:
        """More, of so many bytes each."""
        return [self.room(size, dtype) for size in sizes]


class Site(Record):
    """Where the kernels of one contraction are written: their module and name, the machine, its temporaries."""

    module: ir.Module
    name: str
    machine: Machine
    temp: Address

    @contextmanager
    def kernel(self, suffix: str = "") -> Generator[tuple[Code, Scratch, Int, ir.Value]]:
        """A kernel being written: `(b, scratch, task, first)`, where `first` is true for the thread's first task."""
        with nest.kernel(self.module, self.name + suffix, Code) as (b, _, scratch, task, first):
            yield b, Scratch(Ref(b, scratch, i8)), Int(b, task), first

    def launch(self, suffix: str, tasks: Dim, scratch: Scratch, packs: tuple[int, int] | None = None, parts: Dim = 1,
               together: int = 1) -> Launch:
        """The start of a kernel that is written."""
        return Launch(self.name + suffix, tasks, scratch.bytes, packs, parts, together)

    def room(self, b: Code, k: int, dtype: ir.Type) -> Ref:
        """Where temporary `k` begins."""
        return Ref(b, self.temp(b, b.ctx, k), dtype)


class Sink(Record):
    """What happens to results: `put` takes lanes along an axis to where they belong, whatever is fused behind them
    included; `near` asks for that memory ahead of time.
    """

    write: Write
    nearby: Near | None = None

    def put(self, b: Code, index: Numbers, axis: int | None, mask: ir.Value | None, x: ir.Value) -> None:
        self.write(b, b.ctx, values(index), axis, 1 if axis is None else x.type.count, mask, x)

    def near(self, b: Code, index: Numbers) -> None:
        if self.nearby is not None:
            self.nearby(b, b.ctx, values(index))


def values(index: Numbers) -> Index:
    return tuple(map(raw, index))


def read(b: Code, operand: Operand, index: Numbers, axis: int | None, lanes: int, mask: ir.Value | None) -> ir.Value:
    """Elements of an operand in lanes along an axis, or one."""
    return operand.read(b, b.ctx, values(index), axis, lanes, mask)


def place(b: Code, operand: Operand, index: Numbers, dtype: ir.Type) -> Ref:
    """Where an element of an operand lies that is memory; axes that are not given are 0."""
    assert operand.plain is not None
    offset = sum(b.int(i) * stride for i, stride in zip(index, operand.plain.strides))
    return Ref(b, operand.plain.base(b, b.ctx), dtype) + offset


def memory(count: int, dtype: ir.Type) -> int:
    """Bytes of so many elements, in whole cache lines."""
    return nest.round_up(count * size_of(dtype), nest.LINE)
