"""Sorting many short rows side by side, a row in each lane, by a network of exchanges that is the same for all.

As many elements as there are lanes are sorted in registers by Batcher's merge exchange (Knuth, The Art of Computer
Programming 3, 5.2.2 M); sorted runs become one by his bitonic merge, of which as many stages as registers hold are done
between a load and a store.
"""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, Launch, i8, word
from stele.backend.llvm.memory import Mask
from stele.backend.llvm.nest import at, fold, integers, least, loop, prefetch, splat, vector
from stele.backend.llvm.ordered.rank import Rank
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.vectors import masked_load, masked_store, transpose
from stele.ir.graph import Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import product
from stele.kernel.machine import Machine
from stele.ops.sorting import ArgSort, Ordering

LONGEST, ALONE = 16384, 256
"""Elements of rows up to which the network is faster than digits, of many rows and of few."""
MANY = 4
"""Rows that are many."""
Element = tuple[ir.Value, ...]


def is_short(n: Dim, rows: Dim) -> bool:
    """Whether rows are sorted by the network."""
    return isinstance(n, int) and n <= (ALONE if isinstance(rows, int) and rows < MANY else LONGEST)


def emit_network(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function that sorts rows, or says where their elements stand in order."""
    return [Network(module, name, y, slots, target).emit()]


def merge_exchange(n: int) -> list[tuple[int, int]]:
    """The exchanges that sort a power of two of elements."""
    found: list[tuple[int, int]] = []
    p = n // 2
    while p:
        d, r, q = p, 0, n // 2
        while True:
            found += [(i, i + d) for i in range(n - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
    return found


class Network:
    """The one function of a sort of (rows, n): a unit is as many rows as there are lanes of words.

    An element on its way is a signed word of its order: its rank, or for positions its rank above its position, which
    follows in a second word where a rank takes a whole one. Rows are laid across lanes in squares, and back behind the
    network.
    """

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Ordering)
        self.y, (self.x,) = y, y.args
        self.n, self.rows = int(self.x.shape[-1]), product(self.x.shape[:-1])    # type: ignore[arg-type]
        bits, self.finds = self.x.dtype.bits, isinstance(y.op, ArgSort)
        self.rank = Rank(self.x.dtype, y.op.descending, keeps_zeros=not self.finds)
        self.parts = 2 if self.finds and bits == 64 else 1
        self.half = 16 if bits <= 16 else 32        # bits of a position
        self.word = ir.IntType(min(64, 2 * self.half) if self.finds else max(32, bits))
        self.lanes = max(2, target.vector_bytes * 8 // self.word.width)
        self.long = -(-self.n // self.lanes) * self.lanes     # with what fills up squares: behind all others
        self.room = max(self.lanes, 1 << max(self.n - 1, 0).bit_length())
        self.stages = (target.registers // 2 // self.parts).bit_length() - 1
        self.f = Function(module, name, slots, self.lanes, target)
        self.b, self.target = self.f.b, target
        self.words = vector(self.word, self.lanes)

    def emit(self) -> Launch:
        b, f, lanes = self.b, self.f, self.lanes
        thread = f.frame.function.args[1]
        self.scratch = at(b, word(b, f.frame.ctx, SCRATCH), b.mul(thread, word(b, f.frame.ctx, SCRATCH_BYTES)), i8)
        with f.units(ceil(self.rows, lanes), share_of(self.n * lanes, self.target)) as unit:
            first = b.mul(unit, i64(lanes))
            whole, none = self.n // lanes, integers(ir.IntType(1), (0,) * lanes)
            (negative,) = fold(b, whole, [none], lambda k, seen: [b.or_(seen[0], self.load(first, k, None))])
            if rest := self.n % lanes:
                negative = b.or_(negative, self.load(first, i64(whole), f.memory.lanes_below(i64(rest))))
            with loop(b, self.long, self.room) as k:
                self.put(self.place(k), (self.highest(), splat(b, b.trunc(k, self.word), lanes))[:self.parts])
            size = lanes
            while size < self.long:
                self.merge(size)
                size *= 2
            with loop(b, 0, whole) as k:
                self.store(first, k, None)
            if rest:
                self.store(first, i64(whole), f.memory.lanes_below(i64(rest)))
            if self.x.dtype.is_float and not self.finds:
                any_ = b.icmp_unsigned("!=", b.bitcast(negative, ir.IntType(lanes)), ir.IntType(lanes)(0))
                with b.if_then(any_, likely=False), loop(b, 0, lanes) as lane:
                    self.zeros(self.row(first, lane))
        assert f.launch
        return Launch(f.launch.function, f.launch.tasks, scratch=self.room * lanes * self.word.width // 8 * self.parts)

    # Elements of all rows of a unit

    def place(self, k: ir.Value) -> ir.Value:
        """The address of element k."""
        return at(self.b, self.scratch, k, self.words)

    def get(self, place: ir.Value) -> Element:
        return tuple(self.b.load(at(self.b, place, part * self.room, self.words), typ=self.words, align=self.align)
                     for part in range(self.parts))

    def put(self, place: ir.Value, x: Element) -> None:
        for part, one in enumerate(x):
            self.b.store(one, at(self.b, place, part * self.room, self.words), align=self.align)

    @property
    def align(self) -> int:
        return self.lanes * self.word.width // 8

    def number(self, k: int) -> ir.Value:
        return splat(self.b, ir.Constant(self.word, k), self.lanes)

    def highest(self) -> ir.Value:
        """What stands behind all elements."""
        return self.number((1 << self.word.width - 1) - 1)

    def exchange(self, x: list[Element], i: int, j: int) -> None:
        """The smaller element at i, the larger at j."""
        b, first, second = self.b, x[i], x[j]
        is_less = b.icmp_signed("<", first[0], second[0])
        if self.parts == 2:
            is_less = b.or_(is_less, b.and_(b.icmp_signed("==", first[0], second[0]),
                                            b.icmp_signed("<", first[1], second[1])))
        x[i] = tuple(b.select(is_less, one, other) for one, other in zip(first, second))
        x[j] = tuple(b.select(is_less, other, one) for one, other in zip(first, second))

    # Between rows and lanes

    def row(self, first: ir.Value, lane: int | ir.Value) -> ir.Value:
        """A row of this unit; the last one again where there are no more."""
        b = self.b
        last = b.sub(self.f.frame.integer(self.rows), i64(1))
        return b.mul(least(b, b.add(first, i64(lane) if isinstance(lane, int) else lane), last), i64(self.n))

    def load(self, first: ir.Value, square: ir.Value, mask: Mask) -> ir.Value:
        """A square of elements of each row, laid across lanes and sorted; whether one is the negative zero."""
        b, lanes, kind = self.b, self.lanes, self.rank.bits
        base, k = self.f.frame.buffer(self.x), b.mul(square, i64(lanes))
        top, negative = ir.Constant(kind, 1 << kind.width - 1), integers(ir.IntType(1), (0,) * lanes)
        place = b.add(splat(b, b.trunc(k, self.word) if self.word != i64 else k, lanes),
                      integers(self.word, tuple(range(lanes))))
        words: list[ir.Value] = []
        for lane in range(lanes):
            start = at(b, base, b.add(self.row(first, lane), k), kind)
            x = masked_load(b, start, kind, mask) if mask else b.load(start, typ=vector(kind, lanes),
                                                                      align=kind.width // 8)
            for v in (self.x, self.y):      # the same of the next unit, while this one is sorted
                prefetch(b, at(b, self.f.frame.buffer(v), b.add(b.add(self.row(first, lane), k), i64(self.n * lanes)),
                               ir.IntType(v.dtype.bits)), to_write=v is self.y, level=2)
            negative = b.or_(negative, b.icmp_unsigned("==", x, splat(b, top, lanes)))
            y = self.rank.of(b, x, self.word)
            if self.finds and self.parts == 1:
                y = b.or_(b.shl(y, self.number(self.half)), place)
            y = b.xor(y, self.number(1 << self.word.width - 1))
            words.append(y if mask is None else b.select(mask, y, self.highest()))
        columns = [(x, splat(b, b.add(k, i64(lane)), lanes))[:self.parts]
                   for lane, x in enumerate(transpose(b, words))]
        for i, j in merge_exchange(lanes):
            self.exchange(columns, i, j)
        for lane, x in enumerate(columns):
            self.put(self.place(b.add(k, i64(lane))), x)
        return negative

    def store(self, first: ir.Value, square: ir.Value, mask: Mask) -> None:
        """A square of results, laid back in rows."""
        b, lanes = self.b, self.lanes
        base, k = self.f.frame.buffer(self.y), b.mul(square, i64(lanes))
        found = [self.get(self.place(b.add(k, i64(lane))))[-1] for lane in range(lanes)]
        for lane, x in enumerate(transpose(b, found)):
            if self.parts == 1:
                x = b.xor(x, self.number(1 << self.word.width - 1))
                x = b.and_(x, self.number((1 << self.half) - 1)) if self.finds else self.rank.back(b, x)
            if self.finds and self.word != i64:
                x = b.zext(x, vector(i64, lanes))
            kind = x.type.element
            start = at(b, base, b.add(self.row(first, lane), k), kind)
            if mask is None:
                b.store(x, start, align=kind.width // 8)
            else:
                masked_store(b, x, start, kind, mask)

    def zeros(self, row: ir.Value) -> None:
        """The zeros of a sorted row as they come, of either sign."""
        b, kind = self.b, self.rank.bits
        source, to = (at(b, self.f.frame.buffer(v), row, kind) for v in (self.x, self.y))
        rank = Rank(self.x.dtype, self.rank.descending)
        zero = rank.of(b, ir.Constant(kind, 0), kind)

        def counted(k: ir.Value, before: list[ir.Value]) -> list[ir.Value]:
            own = rank.of(b, b.load(at(b, source, k, kind), typ=kind), kind)
            return [b.add(before[0], b.zext(b.icmp_unsigned("<", own, zero), i64))]

        def moved(k: ir.Value, place: list[ir.Value]) -> list[ir.Value]:
            x = b.load(at(b, source, k, kind), typ=kind)
            is_zero = b.icmp_unsigned("==", rank.of(b, x, kind), zero)
            with b.if_then(is_zero):
                b.store(x, at(b, to, place[0], kind))
            return [b.add(place[0], b.zext(is_zero, i64))]

        fold(b, self.n, fold(b, self.n, [i64(0)], counted), moved)

    # The network behind registers

    def merge(self, size: int) -> None:
        """Each two sorted runs of a size become one: stages at distances from that size down to one, some at a time."""
        total, passes = size.bit_length(), -(-size.bit_length() // self.stages)
        shares = [total // passes + (k < total % passes) for k in range(passes)]
        self.mirrored(size, shares[0])
        apart = size >> shares[0]
        for share in shares[1:]:
            self.cleaned(apart, share)
            apart >>= share

    def mirrored(self, size: int, stages: int) -> None:
        """The first stages of a merge, whose first one exchanges the ends of both runs and goes inwards."""
        b, many = self.b, 1 << stages - 1
        step = size // many
        with loop(b, 0, -(-(self.long - size) // (2 * size))) as pair, loop(b, 0, step) as i:
            start = b.mul(pair, i64(2 * size))
            low = self.place(b.add(start, i))
            high = self.place(b.sub(b.add(start, i64(2 * size - 1)), i))
            places = [*(at(b, low, j * step, self.words) for j in range(many)),
                      *(at(b, high, -j * step, self.words) for j in reversed(range(many)))]
            x = [self.get(place) for place in places]
            for j in range(many):
                self.exchange(x, j, 2 * many - 1 - j)
            self.halves(x, many // 2)
            for place, one in zip(places, x):
                self.put(place, one)

    def cleaned(self, apart: int, stages: int) -> None:
        """Stages at a distance, half of it, and so on."""
        b = self.b
        step = apart >> stages - 1
        with loop(b, 0, -(-self.long // (2 * apart))) as block, loop(b, 0, step) as i:
            start = self.place(b.add(b.mul(block, i64(2 * apart)), i))
            places = [at(b, start, j * step, self.words) for j in range(1 << stages)]
            x = [self.get(place) for place in places]
            self.halves(x, len(x) // 2)
            for place, one in zip(places, x):
                self.put(place, one)

    def halves(self, x: list[Element], apart: int) -> None:
        """Exchanges of elements at a distance, half of it, and so on."""
        while apart:
            for i in range(len(x)):
                if i & apart == 0:
                    self.exchange(x, i, i + apart)
            apart //= 2
