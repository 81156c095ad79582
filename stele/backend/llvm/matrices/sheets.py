"""What algorithms on small matrices are written in: sheets, which hold as many matrices as there are lanes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from llvmlite import ir

from stele.backend.contract.code import Int, Number, bound, raw
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, Launch, i8, word
from stele.backend.llvm.nest import at, fold, least, loop, suffix, vector
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.scalars import TYPES, Scalar
from stele.backend.llvm.vectors import masked_load, masked_store, transpose
from stele.ir.graph import Value
from stele.ir.sizes import ceil
from stele.ir.types import DType, int32, int64, product
from stele.kernel.machine import LINE, Machine

SIDE = 4
"""Sums side by side: each waits for what it adds to."""
UNROLLED = 4
"""Rows of matrices whose loops are written out."""
REFUSED = 3
"""The status of matrices that an op has no result for; with it comes which of the op's reasons it is."""


class Sheet:
    """Matrices side by side: element [i, k] of all of them is one vector, in memory of the thread's own."""

    def __init__(self, w: Work, base: ir.Value, dtype: DType, rows: int, columns: int, apart: tuple[int, int]) -> None:
        self.w, self.base, self.dtype, self.rows, self.columns, self.apart = w, base, dtype, rows, columns, apart

    @property
    def mT(self) -> Sheet:
        """The same memory seen with rows and columns exchanged."""
        down, across = self.apart
        return Sheet(self.w, self.base, self.dtype, self.columns, self.rows, (across, down))

    def place(self, i: Number, k: Number) -> ir.Value:
        down, across = self.apart
        return at(self.w.b, self.base, raw(i * down + k * across), vector(TYPES[self.dtype.name], self.w.lanes))

    def __getitem__(self, place: tuple[Number, Number]) -> Scalar:
        kind = vector(TYPES[self.dtype.name], self.w.lanes)
        return self.w.s.element(self.w.b.load(self.place(*place), typ=kind, align=self.bytes), self.dtype)

    def __setitem__(self, place: tuple[Number, Number], x: Scalar) -> None:
        self.w.b.store(self.w.s.splat(x).value, self.place(*place), align=self.bytes)

    @property
    def bytes(self) -> int:
        """Of a vector."""
        return self.dtype.bytes * self.w.lanes


def put(a: Sheet, i: Number, k: Number, x: Scalar) -> None:
    """a[i, k] = x"""
    a[i, k] = x


def lay(a: Sheet, i: Number, k: Number, block: Sequence[Sequence[Scalar]]) -> None:
    """Puts a block where its first element is a[i, k]."""
    for u, row in enumerate(block):
        for v, x in enumerate(row):
            a[i + u, k + v] = x


class Work:
    """A kernel of small matrices being written: its unit is as many of them as there are lanes in so many `vectors`."""

    def __init__(self, module: ir.Module, name: str, v: Value, slots: Slots, target: Machine, vectors: int) -> None:
        self.v, self.dtype, self.target = v, v.args[0].dtype, target
        self.count, self.lanes = product(v.args[0].shape[:-2]), target.lanes(self.dtype.bytes)
        if not (isinstance(self.count, int) and self.count <= self.lanes):
            self.lanes *= vectors
        self.f = Function(module, name, slots, self.lanes, target)
        self.b, self.s, self.used = self.f.b, self.f.s, 0
        self.side = 4 if target.registers >= 32 else 3      # so that a tile and what it is made of are in registers
        self.writes_out = max(n for a in v.args for n in a.shape[-2:]) <= UNROLLED
        b, (ctx, thread, *_) = self.b, self.f.frame.function.args
        self.scratch = at(b, word(b, ctx, SCRATCH), b.mul(thread, word(b, ctx, SCRATCH_BYTES)), i8)

    def emit(self, algorithm: Callable[[Work], None]) -> Launch:
        """Writes what is done with each unit, and ends the kernel."""
        n = max(n for a in self.v.args for n in a.shape[-2:])
        with self.f.units(ceil(self.count, self.lanes), share_of(n * n * n * self.lanes, self.target)) as unit:
            self.first = self.b.mul(unit, Int(self.b, raw(self.lanes)).value)
            algorithm(self)
        assert self.f.launch
        return Launch(self.f.launch.function, self.f.launch.tasks, scratch=self.used)

    def number(self, x: float) -> Scalar:
        return self.s.constant(x, self.dtype)

    def integer(self, x: Number) -> Scalar:
        return self.s.element(raw(x), int64)

    def sheet(self, rows: int, columns: int, dtype: DType | None = None) -> Sheet:
        """A new one, with room for whole squares of lanes. Between rows of whole squares there is an element more:
        elements of a column that are a power of two apart would share few lines of a cache."""
        dtype = dtype or self.dtype
        base, down = at(self.b, self.scratch, self.used, i8), columns + (columns % self.lanes == 0)
        self.used += (-(-rows * down // self.lanes) * self.lanes) * self.lanes * dtype.bytes
        self.used = -(-self.used // LINE) * LINE
        return Sheet(self, base, dtype, rows, columns, (down, 1))

    def unit(self, rows: int, columns: int) -> Sheet:
        """The unit matrix, as a new one."""
        y = self.sheet(rows, columns)
        self.each(0, rows, lambda i: self.each(0, columns, lambda k: put(y, i, k, self.number(0))))
        self.each(0, min(rows, columns), lambda k: put(y, k, k, self.number(1)))
        return y

    def given(self, k: int = 0) -> Sheet:
        """An operand, as a new sheet: squares of what lies in memory, laid across lanes."""
        x = self.v.args[k]
        rows, columns = (int(n) for n in x.shape[-2:])
        y, b, kind = self.sheet(rows, columns, x.dtype), self.b, TYPES[x.dtype.name]
        starts = [at(b, self.f.frame.buffer(x), row, kind) for row in self.matrices(rows * columns)]

        def square(i: Number, k: Number, e: Number) -> None:
            mask = self.f.memory.lanes_below(b.sub(raw(rows * columns), raw(e)))
            found = [masked_load(b, at(b, start, raw(e), kind), kind, mask) for start in starts]
            for lane, part in enumerate(transpose(b, found)):
                y[i, k + lane] = self.s.element(part, x.dtype)

        self.squares(y, square)
        return y

    def squares(self, y: Sheet, body: Callable[[Number, Number, Number], None]) -> None:
        """`body(i, k, e)` for each square that begins with element [i, k], which is the element e in memory."""
        if y.columns % self.lanes == 0:
            self.each(0, y.rows, lambda i: self.each(0, y.columns, lambda k: body(i, k, i * y.columns + k), self.lanes))
        else:
            self.each(0, y.rows * y.columns, lambda e: body(0, e, e), self.lanes)

    def result(self, y: Sheet, k: int | None = None) -> None:
        """Lays a sheet back in memory, as the result or one of several."""
        b, total, kind = self.b, y.rows * y.columns, TYPES[y.dtype.name]
        buffer = self.f.frame.buffer(self.v if k is None else (self.v, k))
        starts = [at(b, buffer, row, kind) for row in self.matrices(total)]
        there = [b.icmp_signed("<", b.add(self.first, raw(lane)), self.f.frame.integer(self.count))
                 for lane in range(self.lanes)]

        def square(i: Number, k: Number, e: Number) -> None:
            mask = self.f.memory.lanes_below(b.sub(raw(total), raw(e)))
            parts = transpose(b, [y[i, k + lane].value for lane in range(self.lanes)])
            for part, start, is_there in zip(parts, starts, there):
                here = b.and_(*self.s.together(mask, is_there))
                masked_store(b, part, at(b, start, raw(e), kind), kind, here)

        self.squares(y, square)

    def matrices(self, size: int) -> list[ir.Value]:
        """How far the matrix of each lane is from the first one; the last one again where there are no more."""
        b, last = self.b, self.b.sub(self.f.frame.integer(self.count), raw(1))
        return [b.mul(least(b, b.add(self.first, raw(lane)), last), raw(size)) for lane in range(self.lanes)]

    def each(self, start: Number, stop: Number, body: Callable[[Number], None], step: int = 1) -> None:
        """`for i in range(start, stop, step): body(i)`."""
        if self.writes_out and isinstance(start, int) and isinstance(stop, int):
            for i in range(start, stop, step):
                body(i)
            return
        with loop(self.b, bound(start), bound(stop), step) as i:
            body(Int(self.b, i))

    def back(self, start: Number, stop: Number, body: Callable[[Number], None]) -> None:
        """The same from the last to the first."""
        self.each(start, stop, lambda i: body(stop - 1 - (i - start)))

    def groups(self, start: Number, stop: Number, body: Callable[[Number, range], None]) -> None:
        """`body(i, side)` for numbers from i on, as many as `side` counts: SIDE of them, then those left one by one."""
        if isinstance(start, int) and isinstance(stop, int):
            whole: Number = start + max(stop - start, 0) // SIDE * SIDE
        else:
            count = Int(self.b, raw(stop)) - start
            whole = (count & -SIDE) + start
        self.each(start, whole, lambda i: body(i, range(SIDE)), SIDE)
        self.each(whole, stop, lambda i: body(i, range(1)))

    def blocks(self, start: Number, stop: int, body: Callable[[Number, range], None], back: bool = False) -> None:
        """`body(i, side)` for blocks of numbers from i on, as many as `side` counts: as many as a tile has rows, and at
        the end what is left. A start that is known at run time alone is a whole number of blocks. From the last to the
        first with `back`.
        """
        first = start if isinstance(start, int) else 0
        whole = first + max(stop - first, 0) // self.side * self.side
        runs = [lambda: self.each(start, whole, lambda i: body(whole - self.side - i + first if back else i,
                                                               range(self.side)), self.side)]
        if whole < stop:
            runs.append(lambda: body(whole, range(stop - whole)))
        for run in reversed(runs) if back else runs:
            run()

    def fold(self, start: Number, stop: Number, carried: Sequence[Scalar],
             body: Callable[[Number, list[Scalar]], Sequence[Scalar]]) -> list[Scalar]:
        """The elements after `carried = body(i, carried)` for i in range(start, stop)."""
        now = [self.s.splat(x) for x in carried]
        if self.writes_out and isinstance(start, int) and isinstance(stop, int):
            for i in range(start, stop):
                now = [self.s.splat(x) for x in body(i, now)]
            return now
        def typed(x: Sequence[ir.Value]) -> list[Scalar]:
            return [self.s.element(v, a.dtype) for v, a in zip(x, now)]

        count = Int(self.b, raw(stop)) - start
        return typed(fold(self.b, bound(count), [x.value for x in now], lambda k, x: [
            self.s.splat(y).value for y in body(Int(self.b, k) + start, typed(x))]))

    def less(self, x: Sequence[Scalar], start: Number, stop: Number,
             terms: Callable[[Number], Sequence[tuple[Scalar, Scalar]]]) -> list[Scalar]:
        """Each of x less the sum of its products."""
        return self.fold(start, stop, x, lambda k, total: [self.s.fma(-p, q, t) for t, (p, q) in zip(total, terms(k))])

    def tile(self, x: Sheet, rows: tuple[Number, range], columns: tuple[Number, range], a: Sheet, b: Sheet,
             start: Number, stop: Number) -> list[list[Scalar]]:
        """A block of x less that of a @ b, of whose sums those from `start` to `stop` are taken: a tile of sums loads
        half as much for each product as a column of them."""
        (i, side), (j, wide) = rows, columns

        def terms(k: Number) -> list[tuple[Scalar, Scalar]]:
            left, right = [a[i + u, k] for u in side], [b[k, j + v] for v in wide]
            return [(p, q) for p in left for q in right]

        found = iter(self.less([x[i + u, j + v] for u in side for v in wide], start, stop, terms))
        return [[next(found) for _ in wide] for _ in side]

    def plus(self, x: Sequence[Scalar], start: Number, stop: Number,
             terms: Callable[[Number], Sequence[tuple[Scalar, Scalar]]]) -> list[Scalar]:
        """Each of x and the sum of its products."""
        return self.fold(start, stop, x, lambda k, total: [self.s.fma(p, q, t) for t, (p, q) in zip(total, terms(k))])

    def over(self, x: Scalar) -> Callable[[Scalar], Scalar]:
        """What divides numbers by x, which is not 0: products with 1 / x beside a power of two, as that alone may leave
        the range of the dtype. A division takes as long as ten products.
        """
        s, far = self.s, 2.0 ** (500 if self.dtype.bits == 64 else 60)
        scale = s.select(abs(x) < 1 / far, far, s.select(abs(x) > far, 1 / far, self.number(1)))
        inverse = 1 / (x * scale)
        return lambda y: y * scale * inverse

    def any(self, mask: Scalar) -> ir.Value:
        """Whether something holds in some lane."""
        x = self.s.splat(mask).value
        function = self.b.module.declare_intrinsic(f"llvm.vector.reduce.or.{suffix(x.type)}",
                                                   fnty=ir.FunctionType(x.type.element, [x.type]))
        return self.b.call(function, [x])

    def where(self, mask: Scalar) -> AbstractContextManager[object]:
        """What is left out unless something holds in some lane."""
        return self.b.if_then(self.any(mask))

    def again(self, most: int, body: Callable[[], Scalar]) -> Scalar:
        """`body()`, and again while it says so of some lane, at most so often; what it said last."""
        b, before = self.b, self.b.block
        head, after = (b.append_basic_block(name) for name in ("again", "enough"))
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(ir.IntType(64))
        k.add_incoming(raw(0), before)
        said = body()
        goes_on = b.and_(self.any(said), b.icmp_signed("<", k, raw(most)))
        k.add_incoming(b.add(k, raw(1)), b.block)
        b.cbranch(goes_on, head, after)
        b.position_at_end(after)
        return said

    def refuse(self, mask: Scalar, reason: int = 0) -> None:
        """The program ends where something holds in some lane: the op has no result, for one of its reasons."""
        with self.b.if_then(self.any(mask), likely=False):
            self.f.frame.report(REFUSED, self.v, raw(reason))

    def signed(self, size: Scalar, like: Scalar) -> Scalar:
        """A size with the sign of another number."""
        is_below = self.s.bitcast(like, int64 if self.dtype.bits == 64 else int32) < 0
        return self.s.select(is_below, -size, size)

    def exchange(self, x: Sheet, k: Number, where: Scalar) -> None:
        """Rows k and `where`, which is further down and in each lane another one. Of few rows each one that some lane
        means is exchanged in the lanes that do; of more than there are lanes it is done element by element."""
        if x.rows <= self.lanes:
            self.each(k + 1, x.rows, lambda i: self.swap(x, k, i, self.s.eq(where, self.integer(i))))
            return
        b, kind, places = self.b, TYPES[x.dtype.name], self.sheet(1, 1, int64)
        with self.where(self.s.ne(where, self.integer(k))):
            places[0, 0] = where

            def lane(n: Number) -> None:
                other = Int(b, b.load(at(b, places.place(0, 0), raw(n), ir.IntType(64)), typ=ir.IntType(64)))

                def swap(c: Number) -> None:
                    here, there = (at(b, x.place(i, c), raw(n), kind) for i in (k, other))
                    one, two = (b.load(place, typ=kind) for place in (here, there))
                    b.store(two, here)
                    b.store(one, there)

                self.each(0, x.columns, swap)

            self.each(0, self.lanes, lane)

    def swap(self, x: Sheet, k: Number, i: Number, mask: Scalar) -> None:
        """Exchanges two rows in the lanes of a mask."""
        with self.where(mask):
            def element(c: Number) -> None:
                one, other = x[k, c], x[i, c]
                x[k, c], x[i, c] = self.s.select(mask, other, one), self.s.select(mask, one, other)
            self.each(0, x.columns, element)
