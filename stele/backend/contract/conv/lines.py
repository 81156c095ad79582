"""Convolutions over one axis: a long line is cut into many that overlap, as images of one row.

Where line `r` of an image begins, the operand is read at `r` times a step; what lies outside of it is 0.
"""
from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Sink, read
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import within
from stele.backend.contract.conv.stencil import Conv, Stencil
from stele.backend.llvm.access import Extent, Index, Length, Operand, size_of
from stele.backend.llvm.launch import Builder
from stele.backend.llvm.nest import round_up
from stele.ir.record import Record
from stele.kernel.machine import Machine

VECTORS = 64
"""Vectors of a line at most."""


class Lines(Record):
    """A line of `length` elements as `count` lines: element `x` of line `r` is its element `r * step + x - low`."""

    count: int
    length: int
    step: int
    low: int = 0

    def place(self, b: Code, index: Index, axis: int) -> tuple[Int, Int]:
        """Whose line an index belongs to, and the element of that line."""
        number, x = Int(b, index[0]), Int(b, index[axis])
        return number // self.count, number % self.count * self.step + x - self.low

    def operand(self, whole: Operand) -> Operand:
        """The operand (n, c, 1, length) as one of (n * count, c, 1, ...)."""
        def part(b: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int, mask: ir.Value | None
                 ) -> ir.Value:
            assert isinstance(b, Code) and lane_axis == 3
            n, x = self.place(b, index, 3)
            inside = within(b, x, b.int(self.length), lanes)
            at = n, Int(b, index[1]), Int(b, index[2]), x
            return read(b, whole, at, 3, lanes, inside if mask is None else b.and_(mask, inside))

        return Operand(part, whole.lane_axis, None, whole.batched)

    def sink(self, whole: Sink) -> Sink:
        """What takes results (n, c, length) as one of (n * count, c, step)."""
        is_ragged = self.count * self.step > self.length

        def part(b: Builder, ctx: ir.Value, index: Index, axis: int | None, lanes: int, mask: ir.Value | None,
                 vector: ir.Value) -> None:
            assert isinstance(b, Code) and axis == 2
            n, x = self.place(b, index, 2)
            if is_ragged:
                inside = within(b, x, b.int(self.length), lanes)
                mask = inside if mask is None else b.and_(mask, inside)
            whole.put(b, (n, Int(b, index[1]), x), 2, mask, vector)

        return Sink(part)


def extent(batch: Extent, count: int) -> Extent:
    """So many times as many."""
    if isinstance(batch, int):
        return batch * count
    return Length(batch.size * count, lambda b, ctx: b.mul(batch.emit(b, ctx), ir.IntType(64)(count)))


def steps(machine: Machine, length: int, channels: int, dtype: ir.Type, unit: int) -> int | None:
    """How long a line's target may be, so that the line of all channels takes a part of the second cache, in whole
    vectors of each phase; None if it need not be cut."""
    lanes = machine.lanes(size_of(dtype)) * unit
    most = max(4, min(VECTORS, machine.l2 // 2 // (channels * lanes * size_of(dtype))))
    cuts = -(-length // (most * lanes))
    return round_up(-(-length // cuts), lanes) if cuts > 1 else None


def cut_layer(machine: Machine, layer: Layer, source: Operand, sink: Sink) -> tuple[Layer, Operand, Sink]:
    """A convolution in one direction, of lines that are not too long for it."""
    stencil, kernel = layer.stencil, layer.kernel
    if stencil.source[0] != 1 or stencil.target[0] != 1 or kernel[0] != 1 or kernel[1] == 1:
        return layer, source, sink
    (_, phases), (_, spread), (_, low) = stencil.phases, stencil.spread, stencil.low
    step = steps(machine, stencil.target[1], layer.depth + layer.width, layer.dtype, spread)
    if step is None:
        return layer, source, sink
    count, each = -(-stencil.target[1] // step), step // spread
    short = Stencil((1, (each + stencil.reach[1]) * phases), (1, step), stencil.phases, stencil.spread, (0, 0),
                    stencil.taps)
    seen, made = Lines(count, stencil.source[1], each * phases, low), Lines(count, stencil.target[1], step)
    return replace(layer, batch=extent(layer.batch, count), stencil=short), seen.operand(source), \
        made.sink(sink)


def cut_weight(machine: Machine, conv: Conv, x: Operand, g: Operand) -> tuple[Conv, Operand, Operand]:
    """A gradient of the weight, of lines that are not too long for it."""
    (height, width), (tall, wide), (_, stride), (_, dilation) = conv.size, conv.kernel, conv.stride, conv.dilation
    if height != 1 or tall != 1 or conv.target[0] != 1:
        return conv, x, g
    step = steps(machine, conv.target[1], (conv.channels + conv.outputs) // conv.groups, conv.dtype, 1)
    if step is None:
        return conv, x, g
    count, low = -(-conv.target[1] // step), conv.padding[1][0]
    size = (step - 1) * stride + dilation * (wide - 1) + 1
    short = replace(conv, batch=extent(conv.batch, count), size=(1, size), padding=((0, 0), (0, 0)))
    seen, given = Lines(count, width, step * stride, low), Lines(count, conv.target[1], step)
    return short, seen.operand(x), given.operand(g)
