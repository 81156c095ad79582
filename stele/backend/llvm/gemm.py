"""Matrix products `C[b, i, j] = sum_k A[b, i, k] * B[b, k, j]` with fused operands and a fused store."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.llvm import amx
from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Extent,
    Index,
    Near,
    Operand,
    Pair,
    Plain,
    Temp,
    Write,
    blocks_of,
    i64,
    size_of,
    size_value,
)
from stele.backend.llvm.gemm_plan import Blocking, Gemm, Mode, plan
from stele.backend.llvm.launch import Launch, new_function, pointer
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import Tile
from stele.backend.llvm.nest import (
    LINE,
    at,
    bytes_at,
    fold,
    kernel,
    lanes_below,
    least,
    load,
    loop,
    round_up,
    scaled,
    split,
    store,
    total,
    zero,
)
from stele.backend.llvm.pack import Panel, Parts, Place, masked_load, masked_store, pack_panel
from stele.backend.llvm.reach import reach
from stele.backend.llvm.schemes import Scheme
from stele.ir.sizes import Dim


@dataclass(frozen=True)
class Side:
    """One operand as the kernels see it: `axis` runs across a panel of `width`, `block` of them make a task's part."""

    operand: Operand
    scheme: Scheme
    tile: Tile
    mode: Mode
    axis: int
    extent: Extent
    width: int
    block: int
    temp: int

    def room(self, depth: int = 1) -> int:
        """Elements of a panel of some depth."""
        return self.tile.room(self.width, depth)

    @property
    def steps(self) -> tuple[int, int]:
        """Elements between neighbours across and in depth, where the microkernel reads."""
        if self.mode != "direct":
            return 1, self.room()
        strides = self.memory.strides
        return strides[self.axis], strides[3 - self.axis]

    def pack(self, b: Builder, ctx: ir.Value, batch: ir.Value, to: ir.Value, across: Pair, deep: Pair,
             buffer: ir.Value, parts: Parts) -> None:
        """One panel, as the tile wants it."""
        tile = self.tile
        place: Place = (lambda x, k: (batch, x, k)) if self.axis == 1 else (lambda x, k: (batch, k, x))
        if tile.pieces:
            where = "left" if self.axis == 1 else "right"
            amx.pack(b, ctx, self.operand, self.axis, place, to, across, deep, where, tile.pieces)
        else:
            panel = Panel(tile.dtype, tile.lanes, self.width)
            pack_panel(b, ctx, panel, self.operand, self.axis, place, to, across, deep, buffer, parts)

    @property
    def memory(self) -> Plain:
        """Where the operand lies, which is read in place."""
        assert self.operand.plain is not None
        return self.operand.plain


def gemm(module: ir.Module, name: str, machine: Machine, spec: Gemm, left: Operand, right: Operand, write: Write,
         near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of one product to `module`.

    `left` has the axes `(batch, m, k)`, `right` `(batch, k, n)`, `write` and `near` `(batch, m, n)`. Returns the
    launches, to be run in order, and the temporaries whose addresses `temp` will give.
    """
    blocking = plan(machine, spec, left, right, precision)
    tile, scheme, spec = blocking.tile, blocking.scheme, blocking.part
    x = Side(left, scheme, tile, blocking.left, 1, spec.m, tile.rows, blocking.m, 0)
    y = Side(right, scheme, tile, blocking.right, 2, spec.n, tile.columns, blocking.n, int(blocking.left == "shared"))
    temps = [_panels(spec, side) for side in (x, y) if side.mode == "shared"]
    launches = [_pack_kernel(module, f"{name}.pack{side.temp}", machine, spec, side, temp)
                for side in (x, y) if side.mode == "shared"]
    if blocking.slice is None:
        return [*launches, _Product(module, name, machine, spec, blocking, x, y, write, near, temp).emit()], temps
    sums = _Partials(spec, blocking.slice, len(temps), temp)
    temps.append(Temp(sums.bytes()))
    launches.append(_Product(module, name, machine, spec, blocking, x, y, sums.write, sums.near, temp).emit())
    return [*launches, sums.reduce(module, f"{name}.sum", machine, write)], temps


def _batches(spec: Gemm, operand: Operand) -> Extent:
    return spec.batch if operand.batched else 1


def _panels(spec: Gemm, side: Side) -> Temp:
    """The temporary of an operand packed once: `[batch][panel][product][depth][width]`."""
    deep = side.tile.deep
    terms = ((_batches(spec, side.operand), 1), (side.extent, side.width), (spec.k, deep))
    return Temp(Count(side.scheme.products * side.room(deep) * size_of(spec.dtype), terms))


def _pitch(b: Builder, ctx: ir.Value, spec: Gemm, side: Side) -> ir.Value:
    """Elements of one panel of an operand packed once."""
    deep = side.tile.deep
    return scaled(b, blocks_of(b, size_value(b, ctx, spec.k), deep), side.room(deep))


def _pack_kernel(module: ir.Module, name: str, machine: Machine, spec: Gemm, side: Side, temp: Address) -> Launch:
    """Packs one operand; a task is one panel."""
    lanes = machine.lanes(size_of(spec.dtype))
    with kernel(module, name) as (b, ctx, scratch, task, _):
        extent, depth = size_value(b, ctx, side.extent), size_value(b, ctx, spec.k)
        (batch, number), pitch = split(b, task, blocks_of(b, extent, side.width)), _pitch(b, ctx, spec, side)
        to = at(b, temp(b, ctx, side.temp), scaled(b, scaled(b, task, side.scheme.products), pitch), spec.dtype)
        side.pack(b, ctx, batch, to, (scaled(b, number, side.width), extent), (i64(0), depth), scratch,
                  Parts(side.scheme, side.axis, (extent, depth), pitch))
    buffer = side.scheme.products * lanes * lanes * size_of(spec.dtype)
    terms = (_batches(spec, side.operand), 1), (side.extent, side.width)
    return Launch(name, Count(1, terms), buffer, packs=(side.axis - 1, side.temp), parts=Count(1, terms[:1]))


@dataclass(frozen=True)
class _Product:
    """The kernel that multiplies; its scratch is `[transposing buffer][C of the task][left panels][right panels]`.

    Where the left operand stays in place, its last rows, too few for a tile, are copied to the room of left panels.
    """

    module: ir.Module
    name: str
    machine: Machine
    spec: Gemm
    blocking: Blocking
    left: Side
    right: Side
    write: Write
    near: Near
    temp: Address

    def emit(self) -> Launch:
        spec, blocking = self.spec, self.blocking
        self._write_drain()
        with kernel(self.module, self.name) as (b, ctx, scratch, task, _):
            if blocking.tile.pieces:
                amx.begin(b)
            m, n, k = (size_value(b, ctx, e) for e in (spec.m, spec.n, spec.k))
            down, across = blocks_of(b, m, blocking.m), blocks_of(b, n, blocking.n)
            part, batch, i, j = split(b, task, size_value(b, ctx, spec.batch), down, across)
            i, j = scaled(b, i, blocking.m), scaled(b, j, blocking.n)
            start: ir.Value = i64(0)
            if blocking.slice is not None:
                start = scaled(b, part, blocking.slice)
                k = least(b, k, total(b, start, blocking.slice))
            corner = (part if blocking.slice is not None else batch, i, j)
            if self._single:
                self._block(b, ctx, scratch, batch, corner, (m, n, k), (start, k), start)
            else:
                past = b.select(b.icmp_signed("<", start, k), k, total(b, start, 1))
                with loop(b, start, past, blocking.k) as k0:
                    deep = k0, least(b, k, total(b, k0, blocking.k))
                    self._block(b, ctx, scratch, batch, corner, (m, n, k), deep, start)
            if blocking.tile.pieces:
                amx.end(b)
        slices = () if blocking.slice is None else ((spec.k, blocking.slice),)
        terms = ((spec.batch, 1), (spec.m, blocking.m), (spec.n, blocking.n), *slices)
        return Launch(self.name, Count(1, terms), sum(self._layout()), parts=Count(1, terms[:1]))

    @property
    def _single(self) -> bool:
        """Whether the whole depth is one block, so that C needs no memory between blocks."""
        return isinstance(self.spec.k, int) and self.spec.k <= self.blocking.k

    def _tail(self) -> int:
        """Bytes for the copy of the last rows of a left operand in place, if there may be some."""
        spec, tile = self.spec, self.blocking.tile
        if self.left.mode != "direct" or (isinstance(spec.m, int) and spec.m % tile.rows == 0):
            return 0
        return round_up((tile.rows * self.left.memory.strides[1] + tile.lanes) * size_of(spec.dtype), 64)

    def _copy_tail(self, b: Builder, ctx: ir.Value, to: ir.Value, batch: ir.Value, i: ir.Value, rows: ir.Value,
                   deep: Pair) -> None:
        """The rows after the last whole tile, laid like the operand itself."""
        lanes, stride, dtype = self.blocking.tile.lanes, self.left.memory.strides[1], self.spec.dtype
        with loop(b, 0, b.urem(rows, i64(self.blocking.tile.rows))) as r, loop(b, deep[0], deep[1], lanes) as k:
            row = total(b, i, b.sub(rows, b.urem(rows, i64(self.blocking.tile.rows))), r)
            vector = self.left.operand.read(b, ctx, (batch, row, k), 2, lanes, lanes_below(b, b.sub(deep[1], k), lanes))
            store(b, vector, at(b, to, total(b, scaled(b, r, stride), b.sub(k, deep[0])), dtype), dtype)

    def _layout(self) -> tuple[int, int, int, int]:
        """Bytes of the four parts of scratch."""
        tile, size, blocking = self.blocking.tile, size_of(self.spec.dtype), self.blocking
        depth = round_up(blocking.k, tile.deep)
        tiles = blocking.scheme.products if self._single else blocking.m // tile.rows * (blocking.n // tile.columns)
        return (blocking.scheme.products * tile.lanes * tile.lanes * size,
                round_up(tiles * tile.size * size, 64),
                round_up(blocking.m * depth * tile.bytes, 64) if self.left.mode == "task" else self._tail(),
                blocking.scheme.products * blocking.n * depth * tile.bytes if self.right.mode == "task" else 0)

    def _block(self, b: Builder, ctx: ir.Value, scratch: ir.Value, batch: ir.Value, corner: Index, ends: Index,
               deep: Pair, start: ir.Value) -> None:
        """One block of depth: pack what is the task's own, then all tiles."""
        tile, spec, (m, n, k) = self.blocking.tile, self.spec, ends
        first, last = b.icmp_signed("==", deep[0], start), b.icmp_signed(">=", deep[1], k)
        rooms = self._layout()
        places, (i, j) = [bytes_at(b, scratch, sum(rooms[:number])) for number in range(len(rooms))], corner[1:]
        rows, columns = least(b, i64(self.blocking.m), b.sub(m, i)), least(b, i64(self.blocking.n), b.sub(n, j))
        for side, to, x, count, end in ((self.left, places[2], i, rows, m), (self.right, places[3], j, columns, n)):
            if side.mode == "task":
                own = batch if side.operand.batched else i64(0)
                self._pack(b, ctx, side, own, to, (x, count, end), deep, places[0])
        if self._tail():
            self._copy_tail(b, ctx, places[2], batch, i, rows, deep)
        panels, depth = self.blocking.n // tile.columns, round_up(self.blocking.k, tile.deep)
        with loop(b, 0, columns if self.blocking.n > tile.columns else 1, tile.columns) as jn:
            y = self._source(b, ctx, self.right, batch, places[3], j, jn, deep[0])
            with loop(b, 0, rows if self.blocking.m > tile.rows else 1, tile.rows) as im:
                x = self._source(b, ctx, self.left, batch, places[2], i, im, deep[0])
                if self._tail():
                    x = b.select(b.icmp_signed(">", b.add(im, i64(tile.rows)), rows), places[2], x)
                number = total(b, scaled(b, b.udiv(im, i64(tile.rows)), panels), b.udiv(jn, i64(tile.columns)))
                c = places[1] if self._single else at(b, places[1], scaled(b, number, tile.size), spec.dtype)
                here = corner[0], b.add(i, im), b.add(j, jn)
                with b.if_then(last, likely=True):
                    self._approach(b, ctx, here, m)
                low, high = reach(b, spec.corners, tile, here[1], here[2], deep)
                low = b.and_(low, i64(-tile.deep)) if tile.pieces else low
                ahead, coming = b.sub(low, deep[0]), self._coming(b, ctx, y, im)
                with loop(b, 0, self.blocking.scheme.products) as p:
                    left, right, sums = (
                        at(b, place, total(b, start, scaled(b, p, apart)), spec.dtype) for place, start, apart in (
                            (x, scaled(b, ahead, self.left.steps[1]), depth * tile.rows),
                            (y, scaled(b, ahead, self.right.steps[1]), depth * tile.columns),
                            (c, i64(0), tile.size)))
                    self._tile(b, left, right, b.sub(high, low), sums, first, coming)
                with b.if_then(last, likely=True):
                    b.call(self.module.get_global(f"{self.name}.drain"), [ctx, c, *here])

    def _pack(self, b: Builder, ctx: ir.Value, side: Side, batch: ir.Value, to: ir.Value, part: Index, deep: Pair,
              buffer: ir.Value) -> None:
        """The panels of one task, `part` = (first position, how many, where the operand ends).

        A few depths of all panels come after a few of all: rows of memory are read to their end.
        """
        (x, count, end), tile = part, self.blocking.tile
        depth = round_up(self.blocking.k, tile.deep)
        parts = Parts(side.scheme, side.axis, (end, size_value(b, ctx, self.spec.k)), depth * side.width)
        with loop(b, deep[0], deep[1], tile.deep) as k, loop(b, 0, count, side.width) as p:
            start = total(b, scaled(b, p, side.scheme.products * tile.room(1, depth)),
                          scaled(b, b.sub(k, deep[0]), side.room()))
            across, few = (b.add(x, p), end), (k, least(b, deep[1], total(b, k, tile.deep)))
            side.pack(b, ctx, batch, at(b, to, start, self.spec.dtype), across, few, buffer, parts)

    def _source(self, b: Builder, ctx: ir.Value, side: Side, batch: ir.Value, packed: ir.Value, corner: ir.Value,
                p: ir.Value, k0: ir.Value) -> ir.Value:
        """Where a panel begins: `corner + p` across, `k0` deep."""
        dtype = self.spec.dtype
        if side.mode == "task":
            depth = round_up(self.blocking.k, side.tile.deep)
            return at(b, packed, scaled(b, p, side.scheme.products * side.tile.room(1, depth)), dtype)
        batch = batch if side.operand.batched else i64(0)
        if side.mode == "direct":
            strides = side.memory.strides
            deep = scaled(b, k0, strides[3 - side.axis])
            across = scaled(b, b.add(corner, p), strides[side.axis])
            return at(b, side.memory.base(b, ctx), total(b, scaled(b, batch, strides[0]), across, deep), dtype)
        panels = blocks_of(b, size_value(b, ctx, side.extent), side.width)
        number = total(b, scaled(b, batch, panels), b.udiv(b.add(corner, p), i64(side.width)))
        start = scaled(b, scaled(b, number, side.scheme.products), _pitch(b, ctx, self.spec, side))
        return at(b, self.temp(b, ctx, side.temp), total(b, start, scaled(b, k0, side.room())), dtype)

    @property
    def _lines(self) -> int:
        """Cache lines of the next right panel that are asked for at a step of tiles, so that it comes meanwhile."""
        tile, shared = self.blocking.tile, self.right.mode == "shared"
        step = self.right.room(tile.deep) * size_of(self.spec.dtype)
        return -(-step // (LINE * (self.blocking.m // tile.rows))) if tile.pieces and shared else 0

    def _coming(self, b: Builder, ctx: ir.Value, y: ir.Value, im: ir.Value) -> ir.Value:
        """Where the share of the next right panel begins that the tile of the rows from `im` on asks for."""
        if not self._lines:
            return y
        tile, dtype = self.blocking.tile, self.spec.dtype
        share = round_up(self.blocking.k, tile.deep) // tile.deep * self._lines * LINE // size_of(dtype)
        done = scaled(b, b.udiv(im, i64(tile.rows)), share)
        return at(b, y, total(b, _pitch(b, ctx, self.spec, self.right), done), dtype)

    def _tile(self, b: Builder, x: ir.Value, y: ir.Value, depth: ir.Value, c: ir.Value, first: ir.Value,
              coming: ir.Value) -> None:
        """The microkernel over one block of depth, its result added to what `c` holds from the blocks before."""
        tile, dtype = self.blocking.tile, self.spec.dtype
        if tile.pieces:
            amx.tile(b, x, y, depth, c, None if self._single else first, coming, self._lines, tile.pieces)
            return
        (across, deep), (_, down) = self.left.steps, self.right.steps

        def body(k, acc):
            row, column = at(b, x, scaled(b, k, deep), dtype), at(b, y, scaled(b, k, down), dtype)
            if self.left.mode == "shared":
                tile.ahead(b, row)
            if tile.is_far(self.blocking.k):
                tile.soon(b, column, down)
            return tile.multiply(b, acc, row, column, across)

        acc = fold(b, depth, tile.zeros(), body)
        none = tile.zeros()[0]
        tile.store(b, acc, c, tile.columns, None if self._single else lambda old: b.select(first, none, old))

    def _approach(self, b: Builder, ctx: ir.Value, corner: Index, m: ir.Value) -> None:
        """Asks for the memory of a tile's destination, whose rows lie far apart, while the tile is computed."""
        tile, (batch, i, j) = self.blocking.tile, corner
        with loop(b, 0, least(b, i64(tile.rows), b.sub(m, i))) as r:
            for q in range(self.blocking.scheme.side ** 2):
                for v in range(tile.vectors):
                    self.near(b, ctx, self._whole(b, ctx, q, (batch, b.add(i, r), total(b, j, v * tile.lanes))))

    def _whole(self, b: Builder, ctx: ir.Value, q: int, index: Index) -> Index:
        """Where an element of part q of the result stands in the whole."""
        down, across = divmod(q, self.blocking.scheme.side)
        m, n = size_value(b, ctx, self.spec.m), size_value(b, ctx, self.spec.n)
        return index[0], total(b, index[1], *[m] * down), total(b, index[2], *[n] * across)

    def _write_drain(self) -> None:
        """Writes `void drain(ctx*, c*, batch, i, j)`, which takes a finished tile to its destination: row by row, sums
        of products, what follows, then the stores.

        A function of its own, for LLVM keeps constants of what follows in registers, which the microkernel needs.
        """
        tile, dtype, spec, scheme = self.blocking.tile, self.spec.dtype, self.spec, self.blocking.scheme
        b = new_function(self.module, f"{self.name}.drain", pointer, pointer, i64, i64, i64)
        b.function.linkage = "internal"
        b.function.attributes.add("noinline")
        ctx, c, batch, i, j = b.function.args
        m, n = (size_value(b, ctx, x) for x in (spec.m, spec.n))
        whole = isinstance(spec.n, int) and spec.n % tile.lanes == 0
        rows, columns = least(b, i64(tile.rows), b.sub(m, i)), least(b, i64(tile.columns), b.sub(n, j))
        with loop(b, 0, rows) as r, loop(b, 0, columns, tile.lanes) as v:
            column, place = b.add(j, v), total(b, scaled(b, r, tile.columns), v)
            mask = None if whole else lanes_below(b, b.sub(n, column), tile.lanes)
            places = [at(b, c, total(b, place, p * tile.size), dtype) for p in range(scheme.products)]
            made = scheme.result(b, [load(b, address, dtype, tile.lanes) for address in places])
            for q, vector in enumerate(made):
                self.write(b, ctx, self._whole(b, ctx, q, (batch, b.add(i, r), column)), 2, tile.lanes, mask, vector)
        b.ret_void()


@dataclass(frozen=True)
class _Partials:
    """Sums of the slices of a deep product, `[slice][m][n]`, added in order at the end."""

    spec: Gemm
    slice: int
    number: int
    temp: Address

    def bytes(self) -> Dim:
        spec = self.spec
        return Count(size_of(spec.dtype), ((spec.k, self.slice), (spec.m, 1), (spec.n, 1)))

    def _address(self, b: Builder, ctx: ir.Value, index: Index) -> ir.Value:
        m, n = size_value(b, ctx, self.spec.m), size_value(b, ctx, self.spec.n)
        offset = total(b, b.mul(b.add(b.mul(index[0], m), index[1]), n), index[2])
        return at(b, self.temp(b, ctx, self.number), offset, self.spec.dtype)

    def write(self, b: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int, mask: ir.Value | None,
              vector: ir.Value) -> None:
        """The `Write` of the product: index `(slice, i, j)`."""
        address = self._address(b, ctx, index)
        if mask is None:
            store(b, vector, address, self.spec.dtype)
        else:
            masked_store(b, vector, address, self.spec.dtype, mask)

    def near(self, b: Builder, ctx: ir.Value, index: Index) -> None:
        """Partial sums lie side by side: the machine sees by itself where they go."""

    def reduce(self, module: ir.Module, name: str, machine: Machine, write: Write) -> Launch:
        """Adds the slices, first to last; a task is one row."""
        spec, lanes = self.spec, machine.lanes(size_of(self.spec.dtype))
        with kernel(module, name) as (b, ctx, _, row, _):
            n, slices = size_value(b, ctx, spec.n), blocks_of(b, size_value(b, ctx, spec.k), self.slice)
            with loop(b, 0, n, lanes) as j:
                mask = lanes_below(b, b.sub(n, j), lanes)

                def add(s, acc, j=j, mask=mask):
                    return [b.fadd(acc[0], masked_load(b, self._address(b, ctx, (s, row, j)), spec.dtype, mask))]

                write(b, ctx, (i64(0), row, j), 2, lanes, mask, fold(b, slices, [zero(spec.dtype, lanes)], add)[0])
        return Launch(name, Count(1, ((spec.m, 1),)), 0)
