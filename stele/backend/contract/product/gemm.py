"""Matrix products `C[b, i, j] = sum_k A[b, i, k] * B[b, k, j]` with fused operands and a fused store."""
from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract import amx
from stele.backend.contract.code import Code, Int, Number, Numbers, Ref, Sink, Site, memory, place, read
from stele.backend.contract.panels import Panel
from stele.backend.contract.product.schedule import Gemm, Mode, Schedule, few_rows, schedule
from stele.backend.contract.reach import reach
from stele.backend.contract.tile import SOON, Tile
from stele.backend.llvm.access import Address, Count, Extent, Near, Operand, Temp, Write, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up, splat
from stele.ir.record import Record
from stele.ir.sizes import Dim
from stele.kernel.corners import NONE
from stele.kernel.machine import LINE, Machine

Span = tuple[Int, Int]
SUMS = 8
"""As many sums at once keep multipliers busy that take four cycles each."""


def gemm(module: ir.Module, name: str, machine: Machine, spec: Gemm, left: Operand, right: Operand, write: Write,
         near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of one product to `module`.

    `left` has the axes `(batch, m, k)`, `right` `(batch, k, n)`, `write` and `near` `(batch, m, n)`. Returns the
    launches, to be run in order, and the temporaries whose addresses `temp` will give.
    """
    cut = schedule(machine, spec, left, right, precision)
    site, spec, sink = Site(module, name, machine, temp), cut.part, Sink(write, near)
    x = Side(site, spec, cut, left, cut.left, 1, spec.m, cut.tile.rows, 0)
    y = Side(site, spec, cut, right, cut.right, 2, spec.n, cut.tile.columns, int(cut.left == "shared"))
    shared = [side for side in (x, y) if side.mode in ("shared", "either")]
    temps, launches = [side.temporary() for side in shared], [side.kernel() for side in shared]
    if cut.slice is None:
        return [*launches, _Product(site, spec, cut, x, y, sink).emit()], temps
    sums = _Partials(site, spec, cut.slice, len(temps))
    launches.append(_Product(site, spec, cut, x, y, sums).emit())
    return [*launches, sums.reduce(sink)], [*temps, Temp(sums.bytes())]


class Side(Record):
    """One operand as the kernels see it: `axis` runs across a panel of `width`. An operand packed once lies in
    temporary `temp` as `[batch][panel][product][depth][width]`.
    """

    site: Site
    spec: Gemm
    schedule: Schedule
    operand: Operand
    mode: Mode
    axis: int
    extent: Extent
    width: int
    temp: int

    @property
    def tile(self) -> Tile:
        return self.schedule.tile

    def room(self, depth: int = 1) -> int:
        """Elements of a panel of some depth."""
        return self.tile.room(self.width, depth)

    @property
    def depth(self) -> int:
        """The depth of a panel that a task packs."""
        return round_up(self.schedule.k, self.tile.deep)

    @property
    def strides(self) -> tuple[int, ...]:
        """Of memory that is read in place."""
        assert self.operand.plain is not None
        return self.operand.plain.strides

    def steps(self, b: Code) -> tuple[int, Number]:
        """Elements between neighbours across and in depth, where the microkernel reads."""
        if self.mode == "either":
            return 1, b.either(self.is_packed(b), self.room(), self.strides[1])
        return (self.strides[self.axis], self.strides[3 - self.axis]) if self.mode == "in place" else (1, self.room())

    def is_packed(self, b: Code) -> ir.Value:
        """Whether this call packs an operand that it may read in place."""
        return b.extent(self.spec.m) > few_rows(self.tile.machine, self.spec, self.operand)

    def pitch(self, b: Code) -> Int:
        """Elements of one panel of an operand packed once."""
        return b.blocks(b.extent(self.spec.k), self.tile.deep) * self.room(self.tile.deep)

    def batch(self, b: Code, batch: Int) -> Int:
        return batch if self.operand.batched else b.int(0)

    def pack(self, b: Code, batch: Int, to: Ref, across: Span, deep: Span, buffer: Ref, apart: Number) -> None:
        """One panel of each product, as the tile wants it; panels of products lie `apart`."""
        tile, sizes = self.tile, (across[1], b.extent(self.spec.k))

        def index(x: Number, k: Number) -> Numbers:
            return (batch, x, k) if self.axis == 1 else (batch, k, x)

        if tile.pieces:
            where = "left" if self.axis == 1 else "right"
            amx.pack(b, self.operand, self.axis, index, to, across, deep, where, tile.pieces)
        else:
            Panel(self.operand, self.axis, index, tile.dtype, tile.lanes, self.width, self.schedule.scheme, sizes,
                  apart).fill(b, to, across, deep, buffer)

    @property
    def _panels(self) -> tuple[tuple[Extent, int], ...]:
        return (self.spec.batch if self.operand.batched else 1, 1), (self.extent, self.width)

    def temporary(self) -> Temp:
        """The memory of an operand packed once."""
        deep, products = self.tile.deep, self.schedule.scheme.products
        return Temp(Count(products * self.room(deep) * size_of(self.spec.dtype), (*self._panels, (self.spec.k, deep))))

    def kernel(self) -> Launch:
        """Packs the operand; a task is one panel."""
        spec, lanes, products = self.spec, self.tile.lanes, self.schedule.scheme.products
        with self.site.kernel(f".pack{self.temp}") as (b, scratch, task, _):
            extent, depth = b.extent(self.extent), b.extent(spec.k)
            (batch, number), pitch = b.split(task, b.blocks(extent, self.width)), self.pitch(b)
            to = self.site.room(b, self.temp, spec.dtype) + task * products * pitch
            buffer = scratch.room(products * lanes * lanes * size_of(spec.dtype), spec.dtype)
            with b.if_then(self.is_packed(b)) if self.mode == "either" else nullcontext():
                self.pack(b, batch, to, (number * self.width, extent), (b.int(0), depth), buffer, pitch)
        return self.site.launch(f".pack{self.temp}", Count(1, self._panels), scratch, (self.axis - 1, self.temp),
                                Count(1, self._panels[:1]))

    def pack_some(self, b: Code, batch: Int, to: Ref, start: Int, count: Int, end: Int, deep: Span, buffer: Ref
                  ) -> None:
        """The panels of one task. A few depths of all panels come after a few of all: rows of memory are read to their
        end."""
        tile, products = self.tile, self.schedule.scheme.products
        with b.loop(*deep, tile.deep) as k, b.loop(0, count, self.width) as p:
            offset = p * (products * tile.room(1, self.depth)) + (k - deep[0]) * self.room()
            across, few = (start + p, end), (k, b.least(deep[1], k + tile.deep))
            self.pack(b, batch, to + offset, across, few, buffer, self.depth * self.width)

    def panel(self, b: Code, batch: Int, packed: Ref, corner: Int, p: Int, k0: Int) -> Ref:
        """Where a panel begins: `corner + p` across, `k0` deep."""
        products = self.schedule.scheme.products
        if self.mode == "task":
            return packed + p * (products * self.tile.room(1, self.depth))
        batch = self.batch(b, batch)
        if self.mode == "shared":
            return self._own(b, batch, corner + p, k0)
        deep = k0 * self.strides[3 - self.axis]
        across = (corner + p) * self.strides[self.axis]
        there = place(b, self.operand, (), self.spec.dtype) + (batch * self.strides[0] + across + deep)
        if self.mode == "in place":
            return there
        own = self._own(b, batch, corner + p, k0)
        return replace(own, address=b.select(self.is_packed(b), own.address, there.address))

    def _own(self, b: Code, batch: Int, x: Int, k0: Int) -> Ref:
        """Where the panel from `x` on begins, `k0` deep, of an operand packed once."""
        number = batch * b.blocks(b.extent(self.extent), self.width) + x // self.width
        start = number * self.schedule.scheme.products * self.pitch(b)
        return self.site.room(b, self.temp, self.spec.dtype) + (start + k0 * self.room())


class _Product(Record):
    """The kernel that multiplies; its scratch is `[transposing buffer][C of the task][left panels][right panels]`.

    Where the left operand stays in place, its last rows, too few for a tile, are copied to the room of left panels.
    """

    site: Site
    spec: Gemm
    schedule: Schedule
    left: Side
    right: Side
    sink: Sink | _Partials

    def emit(self) -> Launch:
        spec, cut = self.spec, self.schedule
        with self.site.kernel() as (b, scratch, task, _), cut.tile.ready(b):
            rooms = scratch.rooms(self._rooms(), spec.dtype)
            m, n, k = (b.extent(e) for e in (spec.m, spec.n, spec.k))
            down, across = b.blocks(m, cut.m), b.blocks(n, cut.n)
            part, batch, i, j = b.split(task, b.extent(spec.batch), down, across)
            i, j = i * cut.m, j * cut.n
            start = b.int(0)
            if cut.slice is not None:
                start = part * cut.slice
                k = b.least(k, start + cut.slice)
            corner = (part if cut.slice is not None else batch, i, j)
            if self._single:
                self._block(b, rooms, batch, corner, (m, n, k), (start, k), start)
            else:
                past = b.either(start < k, k, start + 1)
                with b.loop(start, past, cut.k) as k0:
                    self._block(b, rooms, batch, corner, (m, n, k), (k0, b.least(k, k0 + cut.k)), start)
        slices = () if cut.slice is None else ((spec.k, cut.slice),)
        terms = ((spec.batch, 1), (spec.m, cut.m), (spec.n, cut.n), *slices)
        return self.site.launch("", Count(1, terms), scratch, parts=Count(1, terms[:1]))

    @property
    def _single(self) -> bool:
        """Whether the whole depth is one block, so that C needs no memory between blocks."""
        return isinstance(self.spec.k, int) and self.spec.k <= self.schedule.k

    def _tail(self) -> int:
        """Bytes for the copy of the last rows of a left operand in place, if there may be some."""
        spec, tile = self.spec, self.schedule.tile
        if self.left.mode != "in place" or (isinstance(spec.m, int) and spec.m % tile.rows == 0):
            return 0
        assert isinstance(spec.k, int)      # which is more than a step between rows, where these share elements
        return memory(tile.rows * max(self.left.strides[1], spec.k) + tile.lanes, spec.dtype)

    def _copy_tail(self, b: Code, to: Ref, batch: Int, i: Int, rows: Int, deep: Span) -> None:
        """The rows after the last whole tile, laid like the operand itself."""
        tile = self.schedule.tile
        with b.loop(0, rows % tile.rows) as r, b.loop(*deep, tile.lanes) as k:
            row = i + (rows - rows % tile.rows) + r
            vector = read(b, self.left.operand, (batch, row, k), 2, tile.lanes, b.below(deep[1] - k, tile.lanes))
            (to + (r * self.left.strides[1] + (k - deep[0]))).store(vector)

    def _rooms(self) -> tuple[int, int, int, int]:
        """Bytes of the four parts of scratch."""
        tile, dtype, cut = self.schedule.tile, self.spec.dtype, self.schedule
        depth, many = round_up(cut.k, tile.deep), cut.scheme.products
        tiles = many * self._few[1] if self._single else cut.m // tile.rows * (cut.n // tile.columns)
        return (many * tile.lanes * tile.lanes * size_of(dtype), memory(tiles * tile.size, dtype),
                round_up(cut.m * depth * tile.bytes, 64) if self.left.mode == "task" else self._tail(),
                many * cut.n * depth * tile.bytes if self.right.mode == "task" else 0)

    def _block(self, b: Code, rooms: list[Ref], batch: Int, corner: tuple[Int, Int, Int], ends: tuple[Int, Int, Int],
               deep: Span, start: Int) -> None:
        """One block of depth: pack what is the task's own, then all tiles."""
        cut, tile, (m, n, k), (i, j) = self.schedule, self.schedule.tile, ends, corner[1:]
        first, last = deep[0].equals(start), deep[1] >= k
        buffer, sums, *packed = rooms
        rows, columns = b.least(cut.m, m - i), b.least(cut.n, n - j)
        for side, to, x, count, end in ((self.left, packed[0], i, rows, m), (self.right, packed[1], j, columns, n)):
            if side.mode == "task":
                side.pack_some(b, side.batch(b, batch), to, x, count, end, deep, buffer)
        if self._tail():
            self._copy_tail(b, packed[0], batch, i, rows, deep)
        few, wide = self._few
        span = wide * tile.columns
        with b.loop(0, columns if cut.n > span else 1, span) as group:
            if few:
                with b.if_then(rows < few + 1):
                    self._few_rows(b, rooms, batch, corner, group, deep, first)
            with b.loop(group, group + span, tile.columns) if wide > 1 else nullcontext(group) as jn:
                y = self.right.panel(b, batch, packed[1], j, jn, deep[0])
                with b.loop(0, rows if cut.m > tile.rows else 1, tile.rows) as im:
                    x = self.left.panel(b, batch, packed[0], i, im, deep[0])
                    if self._tail():
                        x = replace(x, address=b.select(im + tile.rows > rows, packed[0].address, x.address))
                    number = self._number(im, jn)
                    c = sums if self._single and wide == 1 else \
                        sums + ((jn - group) // tile.columns if self._single else number) * tile.size
                    here = corner[0], i + im, j + jn
                    with b.if_then(last, likely=True):
                        self._approach(b, here, m)
                    with b.if_then(rows > few) if few else nullcontext():
                        self._products(b, x, y, c, im, here, deep, first)
                    with b.if_then(last, likely=True):
                        b.apart("drain", [c], here, self._drain)

    def _number(self, im: Int, jn: Int) -> Int:
        """The number of a tile among those of a task."""
        cut, tile = self.schedule, self.schedule.tile
        return im // tile.rows * (cut.n // tile.columns) + jn // tile.columns

    @property
    def _few(self) -> tuple[int, int]:
        """How many rows are few, and how many panels of columns these take side by side: as many sums as multipliers
        need, where most of a whole tile's would be of rows that are not there. None are, where the rows are known."""
        spec, cut, tile = self.spec, self.schedule, self.schedule.tile
        if isinstance(spec.m, int) or not isinstance(spec.n, int) or tile.pieces or spec.corners != NONE:
            return 0, 1
        n = (cut.n, spec.n)
        wide = next(w for w in (4, 2, 1) if w == 1 or (w * tile.vectors <= 4 and not any(
            x % (w * tile.columns) for x in n)))
        few = max(SUMS // (wide * tile.vectors), 1)
        return (few, wide) if few < tile.rows else (0, 1)

    def _few_rows(self, b: Code, rooms: list[Ref], batch: Int, corner: tuple[Int, Int, Int], group: Int, deep: Span,
                  first: ir.Value) -> None:
        """The sums of few rows, which panels side by side from `group` on have."""
        (few, wide), tile, (i, j), (_, sums, *packed) = self._few, self.schedule.tile, corner[1:], rooms
        rows = replace(tile, rows=few, vectors=wide * tile.vectors)
        x = packed[0] if self._tail() else self.left.panel(b, batch, packed[0], i, b.int(0), deep[0])
        panels = [self.right.panel(b, batch, packed[1], j, group + w * tile.columns, deep[0]) for w in range(wide)]
        (across, along), (_, down) = self.left.steps(b), self.right.steps(b)

        def body(k: Int, acc: list[ir.Value]) -> list[ir.Value]:
            row, columns = x + k * along, [y + k * down for y in panels]
            return rows.step(b, acc, lambda r: splat(b, (row + r * across).load(), tile.lanes), lambda v: (
                columns[v // tile.vectors] + v % tile.vectors * tile.lanes).load(tile.lanes))

        made, none = b.fold(deep[1] - deep[0], rows.zeros(), body), tile.zeros()[0]
        start = b.int(0) if self._single else self._number(b.int(0), group)
        for w in range(wide):
            own = [made[r * rows.vectors + w * tile.vectors + v] for r in range(few) for v in range(tile.vectors)]
            tile.store(b, own, sums + (start + w) * tile.size, tile.columns,
                       None if self._single else lambda old: b.select(first, none, old))

    def _products(self, b: Code, x: Ref, y: Ref, c: Ref, im: Int, corner: tuple[Int, Int, Int], deep: Span,
                  first: ir.Value) -> None:
        """The products of a tile over the depths that its elements are made of."""
        tile, depth = self.schedule.tile, self.left.depth
        low, high = reach(b, self.spec.corners, tile, corner[1], corner[2], deep)
        low = low & -tile.deep if tile.pieces else low
        ahead, coming = low - deep[0], self._coming(b, y, im)
        with b.loop(0, self.schedule.scheme.products) as p:
            left, right, sums = (
                start + (skip + p * apart) for start, skip, apart in (
                    (x, ahead * self.left.steps(b)[1], depth * tile.rows),
                    (y, ahead * self.right.steps(b)[1], depth * tile.columns),
                    (c, b.int(0), tile.size)))
            self._tile(b, left, right, high - low, sums, first, coming)

    @property
    def _lines(self) -> int:
        """Cache lines of the next right panel that are asked for at a step of tiles, so that it comes meanwhile."""
        tile, shared = self.schedule.tile, self.right.mode == "shared"
        step = self.right.room(tile.deep) * size_of(self.spec.dtype)
        return -(-step // (LINE * (self.schedule.m // tile.rows))) if tile.pieces and shared else 0

    def _coming(self, b: Code, y: Ref, im: Int) -> Ref:
        """Where the share of the next right panel begins that the tile of the rows from `im` on asks for."""
        if not self._lines:
            return y
        tile = self.schedule.tile
        share = self.left.depth // tile.deep * self._lines * LINE // size_of(self.spec.dtype)
        done = im // tile.rows * share
        return y + (self.right.pitch(b) + done)

    def _tile(self, b: Code, x: Ref, y: Ref, depth: Int, c: Ref, first: ir.Value, coming: Ref) -> None:
        """The microkernel over one block of depth, its result added to what `c` holds from the blocks before."""
        tile = self.schedule.tile
        if tile.pieces:
            amx.tile(b, x, y, depth, c, None if self._single else first, coming, self._lines, tile.pieces)
            return
        (across, deep), (_, down) = self.left.steps(b), self.right.steps(b)

        def body(k: Int, acc: list[ir.Value]) -> list[ir.Value]:
            row, column = x + k * deep, y + k * down
            if self.left.mode == "shared":
                tile.ahead(row)
            if tile.is_far(self.schedule.k):
                tile.soon(*(column, down) if isinstance(down, int) else (column + down * SOON, 0))
            return tile.multiply(b, acc, row, column, across)

        none = tile.zeros()[0]
        tile.store(b, b.fold(depth, tile.zeros(), body), c, tile.columns,
                   None if self._single else lambda old: b.select(first, none, old))

    def _approach(self, b: Code, corner: tuple[Int, Int, Int], m: Int) -> None:
        """Asks for the memory of a tile's destination, whose rows lie far apart, while the tile is computed."""
        tile, (batch, i, j) = self.schedule.tile, corner
        with b.loop(0, b.least(tile.rows, m - i)) as r:
            for q in range(self.schedule.scheme.side ** 2):
                for v in range(tile.vectors):
                    self.sink.near(b, self._whole(b, q, (batch, i + r, j + v * tile.lanes)))

    def _whole(self, b: Code, q: int, index: tuple[Int, Int, Int]) -> Numbers:
        """Where an element of part q of the result stands in the whole."""
        down, across = divmod(q, self.schedule.scheme.side)
        m, n = b.extent(self.spec.m), b.extent(self.spec.n)
        return index[0], index[1] + down * m, index[2] + across * n

    def _drain(self, b: Code, sums: list[Ref], corner: list[Int]) -> None:
        """Takes a finished tile to its destination: row by row, sums of products, what follows, then the stores."""
        tile, spec, scheme, (c,), (batch, i, j) = self.schedule.tile, self.spec, self.schedule.scheme, sums, corner
        m, n = (b.extent(x) for x in (spec.m, spec.n))
        whole = isinstance(spec.n, int) and spec.n % tile.lanes == 0
        rows, columns = b.least(tile.rows, m - i), b.least(tile.columns, n - j)
        with b.loop(0, rows) as r, b.loop(0, columns, tile.lanes) as v:
            column, here = j + v, r * tile.columns + v
            mask = None if whole else b.below(n - column, tile.lanes)
            places = [c + (here + p * tile.size) for p in range(scheme.products)]
            for q, vector in enumerate(scheme.result(b, [place.load(tile.lanes) for place in places])):
                self.sink.put(b, self._whole(b, q, (batch, i + r, column)), 2, mask, vector)


class _Partials(Record):
    """Sums of the slices of a deep product, `[slice][m][n]`, added in order at the end."""

    site: Site
    spec: Gemm
    slice: int
    number: int

    def bytes(self) -> Dim:
        spec = self.spec
        return Count(size_of(spec.dtype), ((spec.k, self.slice), (spec.m, 1), (spec.n, 1)))

    def _place(self, b: Code, slice: Int, i: Int, j: Int) -> Ref:
        m, n = b.extent(self.spec.m), b.extent(self.spec.n)
        offset = (slice * m + i) * n + j
        return self.site.room(b, self.number, self.spec.dtype) + offset

    def put(self, b: Code, index: Numbers, axis: int | None, mask: ir.Value | None, x: ir.Value) -> None:
        """Takes sums where they belong, as a `Sink` does: index `(slice, i, j)`."""
        self._place(b, *map(b.int, index)).store(x, mask)

    def near(self, b: Code, index: Numbers) -> None:
        """Partial sums lie side by side: the machine sees by itself where they go."""

    def reduce(self, sink: Sink) -> Launch:
        """Adds the slices, first to last; a task is one row."""
        spec, lanes = self.spec, self.site.machine.lanes(size_of(self.spec.dtype))
        with self.site.kernel(".sum") as (b, scratch, row, _):
            n, slices = b.extent(spec.n), b.blocks(b.extent(spec.k), self.slice)
            with b.loop(0, n, lanes) as j:
                mask = b.below(n - j, lanes)
                first, apart = self._place(b, b.int(0), row, j), b.extent(spec.m) * n
                sink.put(b, (b.int(0), row, j), 2, mask, b.total(slices, first, apart, lanes, mask))
        return self.site.launch(".sum", Count(1, ((spec.m, 1),)), scratch)
