"""Sorting many short rows side by side, a row in each lane, by a network of exchanges that is the same for all.

The network is Batcher's merge exchange for any number of elements: Knuth, The Art of Computer Programming 3, 5.2.2 M.
"""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, Launch, i8, i32, word
from stele.backend.llvm.nest import at, integers, least, loop, most, splat, vector
from stele.backend.llvm.ordered.rank import Rank
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.vectors import masked_load, masked_store, transpose
from stele.ir.graph import Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import product
from stele.kernel.machine import Machine
from stele.ops.sorting import ArgSort, Ordering

LONGEST, ALONE = 2048, 256
"""Elements of rows up to which the network is faster than digits, of many rows and of few."""
MANY = 4
"""Rows that are many."""


def is_short(n: Dim, rows: Dim) -> bool:
    """Whether rows are sorted by the network."""
    return isinstance(n, int) and n <= (ALONE if isinstance(rows, int) and rows < MANY else LONGEST)


def emit_network(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function that sorts rows, or says where their elements stand in order."""
    return [Network(module, name, y, slots, target).emit()]


class Network:
    """The one function of a sort of (rows, n): a unit is as many rows as there are lanes of words.

    An element is its rank above its position in one word; where a rank takes a whole word, in two. Rows are laid across
    lanes in squares, and back behind the network.
    """

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Ordering)
        self.y, (self.x,) = y, y.args
        self.n, self.rows = int(self.x.shape[-1]), product(self.x.shape[:-1])    # type: ignore[arg-type]
        self.rank = Rank(self.x.dtype, y.op.descending)
        self.is_pair, self.finds = self.x.dtype.bits == 64, isinstance(y.op, ArgSort)
        self.lanes = max(2, target.vector_bytes // 8)
        self.long = -(-self.n // self.lanes) * self.lanes     # with what fills up squares: behind all others
        self.f = Function(module, name, slots, self.lanes, target)
        self.b, self.target = self.f.b, target
        self.words = vector(i64, self.lanes)

    def emit(self) -> Launch:
        b, f = self.b, self.f
        thread = f.frame.function.args[1]
        self.scratch = at(b, word(b, f.frame.ctx, SCRATCH), b.mul(thread, word(b, f.frame.ctx, SCRATCH_BYTES)), i8)
        with f.units(ceil(self.rows, self.lanes), share_of(self.n * self.lanes, self.target)) as unit:
            first = b.mul(unit, i64(self.lanes))
            with loop(b, 0, self.long, self.lanes) as k:
                self.load(first, k)
            self.exchanges()
            with loop(b, 0, self.n, self.lanes) as k:
                self.store(first, k)
        assert f.launch
        size = self.long * self.lanes * 8
        return Launch(f.launch.function, f.launch.tasks, scratch=size * (2 if self.is_pair else 1))

    def place(self, k: ir.Value, part: int = 0) -> ir.Value:
        """Where the words of element k of all rows are."""
        return at(self.b, self.scratch, self.b.add(k, i64(part * self.long)), self.words)

    def get(self, k: ir.Value, part: int = 0) -> ir.Value:
        return self.b.load(self.place(k, part), typ=self.words, align=self.lanes * 8)

    def put(self, x: ir.Value, k: ir.Value, part: int = 0) -> None:
        self.b.store(x, self.place(k, part), align=self.lanes * 8)

    def row(self, first: ir.Value, lane: int) -> ir.Value:
        """A row of this unit; the last one again where there are no more."""
        last = self.b.sub(self.f.frame.integer(self.rows), i64(1))
        return self.b.mul(least(self.b, self.b.add(first, i64(lane)), last), i64(self.n))

    def load(self, first: ir.Value, k: ir.Value) -> None:
        """A square of elements from k on: ranks and positions of each row, laid across lanes."""
        b, lanes = self.b, self.lanes
        base, kind = self.f.frame.buffer(self.x), self.rank.bits
        mask = self.f.memory.lanes_below(b.sub(i64(self.n), k))
        place = b.add(splat(b, k, lanes), integers(i64, tuple(range(lanes))))
        ranks: list[ir.Value] = []
        for lane in range(lanes):
            x = masked_load(b, at(b, base, b.add(self.row(first, lane), k), kind), kind, mask)
            rank = self.rank.of(b, x, i64 if self.is_pair else i32)
            rank = b.select(mask, rank, splat(b, ir.Constant(rank.type.element, -1), lanes))
            ranks.append(rank if self.is_pair else b.or_(b.shl(b.zext(rank, self.words), integers(i64, (32,) * lanes)),
                                                         place))
        for lane, x in enumerate(transpose(b, ranks)):
            here = b.add(k, i64(lane))
            self.put(x, here)
            if self.is_pair:
                self.put(splat(b, here, lanes), here, 1)

    def store(self, first: ir.Value, k: ir.Value) -> None:
        """A square of results from k on, laid back in rows."""
        b, lanes, n = self.b, self.lanes, i64(self.n)
        found = [self.get(b.add(k, i64(lane)), 1 if self.is_pair else 0) for lane in range(lanes)]
        mask = self.f.memory.lanes_below(b.sub(n, k))
        base = self.f.frame.buffer(self.y)
        for lane, x in enumerate(transpose(b, found)):
            at_row = self.row(first, lane)
            place = x if self.is_pair else b.and_(x, integers(i64, (0xFFFF_FFFF,) * lanes))
            with b.if_then(b.icmp_signed("<", b.add(first, i64(lane)), self.f.frame.integer(self.rows))):
                if self.finds:
                    masked_store(b, place, at(b, base, b.add(at_row, k), i64), i64, mask)
                else:
                    source = self.f.memory.offset(self.f.frame.buffer(self.x), at_row, self.x.dtype)
                    y = self.f.memory.gather(source, place, mask, self.x.dtype)
                    self.f.memory.store_lanes(self.f.memory.offset(base, b.add(at_row, k), self.x.dtype), mask, y)

    def exchanges(self) -> None:
        """The network: pairs i and i + d with i & p == r, for each p from above, and for each p as many d."""
        b, steps = self.b, max(self.long - 1, 0).bit_length()
        with loop(b, 0, steps) as a:
            p = b.shl(i64(1), b.sub(i64(steps - 1), a))
            with loop(b, 0, b.add(a, i64(1))) as c:
                is_first = b.icmp_signed("==", c, i64(0))
                r = b.select(is_first, i64(0), p)
                d = b.select(is_first, p, b.sub(b.shl(i64(1), b.sub(i64(steps), c)), p))
                room = b.sub(i64(self.long), d)
                rest = b.sub(b.and_(room, b.sub(b.add(p, p), i64(1))), r)
                whole = b.lshr(b.and_(room, b.sub(i64(0), b.add(p, p))), i64(1))
                count = b.add(whole, most(b, i64(0), least(b, rest, p)))
                below = b.sub(p, i64(1))
                with loop(b, 0, count) as m:
                    high = b.sub(m, b.and_(m, below))
                    i = b.or_(b.or_(b.add(high, high), r), b.and_(m, below))
                    self.exchange(i, b.add(i, d))

    def exchange(self, i: ir.Value, j: ir.Value) -> None:
        """The smaller word at i, the larger at j."""
        b = self.b
        x, z = self.get(i), self.get(j)
        if not self.is_pair:
            is_less = b.icmp_unsigned("<", x, z)
            self.put(b.select(is_less, x, z), i)
            self.put(b.select(is_less, z, x), j)
            return
        u, v = self.get(i, 1), self.get(j, 1)
        is_less = b.or_(b.icmp_unsigned("<", x, z), b.and_(b.icmp_unsigned("==", x, z), b.icmp_unsigned("<", u, v)))
        for part, (one, other) in enumerate(((x, z), (u, v))):
            self.put(b.select(is_less, one, other), i, part)
            self.put(b.select(is_less, other, one), j, part)
