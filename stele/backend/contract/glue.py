"""Contractions as kernels: their operands read through cheap loops, their results stored through what follows."""
from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract.code import Sink, Site
from stele.backend.contract.conv.algorithms import (
    convolution,
    input_gradient,
    small_layer,
    small_weight_gradient,
    weight_gradient,
)
from stele.backend.contract.conv.layer import Small
from stele.backend.contract.conv.stencil import Conv
from stele.backend.contract.pairs import dot, paired
from stele.backend.contract.product.gemm import gemm
from stele.backend.contract.product.schedule import Gemm
from stele.backend.llvm.access import Extent, Index, Length, Near, Operand, Plain, Temp, Write
from stele.backend.llvm.blocks import Blocks
from stele.backend.llvm.dims import i64
from stele.backend.llvm.elements import Lanes
from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import BUFS, Builder, Launch, pointer
from stele.backend.llvm.nest import Splat, prefetch
from stele.backend.llvm.scalars import LLVMScalars
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import Shape, bfloat16, float32, float64, product
from stele.kernel.index import coefficient, substitute
from stele.kernel.kinds import Contraction
from stele.kernel.loops import Load, Store
from stele.kernel.lower import Piece, accumulator, operand, outcome
from stele.kernel.machine import Machine
from stele.ops.contraction import Conv2d, Conv2dInputGrad, Conv2dWeightGrad, Convolution, MatMul


class Glue:
    """One contraction among its operands and results."""

    def __init__(self, module: ir.Module, name: str, kernel: Contraction, slots: Slots, target: Machine,
                 precision: Precision) -> None:
        self.module, self.name, self.kernel, self.slots, self.target = module, name, kernel, slots, target
        self.v = kernel.anchor
        op = self.v.op
        self.rounds = precision == "bf16" and target.bf16 and isinstance(op, MatMul) and op.rounds and \
            self.v.dtype in (float32, bfloat16)
        self.precision: Precision = "fast" if precision == "bf16" and not self.rounds else precision
        self.inner = frozenset(kernel.body) - {self.v}
        self.dtype = ir.DoubleType() if self.v.dtype == float64 else ir.FloatType()
        self.once: dict[ir.Function, dict[object, ir.Value]] = {}
        self.positions: dict[int, ir.GlobalVariable] = {}

    def emit(self) -> list[Launch]:
        """The functions of the contraction, as launches in order."""
        launches, temps = self.contraction()
        for k, temp in enumerate(temps):
            self.position(k).initializer = i64(self.slots.temp(temp.bytes))
        return launches

    def contraction(self) -> tuple[list[Launch], list[Temp]]:
        x, w = self.v.args
        around = self.module, self.name, self.target
        flat = (*self.v.shape[:2], product(self.v.shape[2:]))
        match self.v.op:
            case MatMul():
                lead, (m, k), n = product(x.shape[:-2]), x.shape[-2:], w.shape[-1]
                left, right, depth = self.operand(x, (lead, m, k)), self.operand(w, (lead, k, n)), self.extent(k)
                spec = Gemm(self.extent(lead), self.extent(m), self.extent(n), depth, self.dtype,
                            corners=self.kernel.corners)
                if self.rounds and self.target.amx:
                    spec = replace(spec, pieces=1)
                elif self.rounds:
                    spec = replace(spec, k=self.extent((k + 1) // 2), product=dot, corners=((), (), spec.corners[2]))
                    left, right = paired(left, 2, depth), paired(right, 1, depth)
                return gemm(*around, spec, left, right, self.write((lead, m, n)), self.near((lead, m, n)), self.temp,
                            self.precision)
            case Convolution() if not all(isinstance(n, int) for a in (self.v, x, w) for n in a.shape[2:]):
                return self.open_convolution(x, w, Site(*around, self.temp))
            case Conv2d():
                conv = self.conv(self.v.op, x.shape, w.shape)
                return convolution(*around, conv, self.operand(x, x.shape), self.operand(w, w.shape),
                                   self.write(flat), self.near(flat), self.temp, self.precision)
            case Conv2dInputGrad():
                conv = self.conv(self.v.op, self.v.shape, w.shape)
                return input_gradient(*around, conv, self.operand(x, x.shape), self.operand(w, w.shape),
                                      self.write(flat), self.near(flat), self.temp, self.precision)
            case Conv2dWeightGrad():
                conv = self.conv(self.v.op, w.shape, self.v.shape)
                return weight_gradient(*around, conv, self.operand(w, w.shape), self.operand(x, x.shape),
                                       self.write(self.v.shape), self.temp, self.precision)
            case _:
                raise AssertionError(self.v)

    def conv(self, op: Convolution, x: Shape, w: Shape) -> Conv:
        stride, padding, dilation, groups = op.attributes
        return Conv(self.extent(x[0]), int(x[1]), int(w[0]), (int(x[2]), int(x[3])), (int(w[2]), int(w[3])), self.dtype,
                    stride, padding, dilation, groups)

    def open_convolution(self, x: Value, w: Value, site: Site) -> tuple[list[Launch], list[Temp]]:
        """A convolution of images whose sizes are known at a call."""
        v, op = self.v, self.v.op
        assert isinstance(op, Convolution)
        (top, _), (left, _) = op.padding
        back, slope = isinstance(op, Conv2dInputGrad), isinstance(op, Conv2dWeightGrad)
        source, target = (w, x) if slope else (x, v)
        low = (2 - top, 2 - left) if back else (top, left)
        sides = [tuple(map(self.extent, a.shape[2:])) for a in (source, target)]
        layer = Small(self.extent(source.shape[0]), 1, int(source.shape[1]), int(target.shape[1]), back, (3, 3),
                     self.dtype, (sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]), low)
        if slope:
            return small_weight_gradient(site, layer, self.operand(w, w.shape), self.operand(x, x.shape),
                                        Sink(self.write(v.shape)))
        return small_layer(site, layer, self.operand(x, x.shape), self.operand(w, w.shape), Sink(self.write(v.shape)))

    def extent(self, x: Dim) -> Extent:
        return x if isinstance(x, int) else Length(x, lambda b, ctx: self.frame(b).integer(x))

    def frame(self, b: Builder) -> Frame:
        """The frame of the function that is being written at b."""
        frame = Frame(b, self.slots, {})
        frame.once = self.once.setdefault(b.function, {})
        return frame

    def position(self, k: int) -> ir.GlobalVariable:
        """The place of temporary k in the table of buffers: a constant of the module, known once its size is."""
        if k not in self.positions:
            found = ir.GlobalVariable(self.module, i64, f"{self.name}.temporary{k}")
            found.global_constant, found.linkage = True, "internal"
            self.positions[k] = found
        return self.positions[k]

    def temp(self, b: Builder, ctx: ir.Value, k: int) -> ir.Value:
        """The address of temporary k."""
        frame = self.frame(b)
        bufs = frame.field(BUFS)
        return frame.at_entry(("temporary", k), lambda: b.load(
            b.gep(bufs, [b.load(self.position(k), typ=i64)], source_etype=pointer), typ=pointer))

    # Operands and results

    def operand(self, v: Value, shape: Shape) -> Operand:
        """How element (i, j, ...) of v, seen as `shape`, is read."""
        piece = operand(v, self.inner, shape)
        axes = [f"%c{k}" for k in range(len(shape))]
        loads = [s for s in piece.block if isinstance(s, Load)]
        within = range(len(shape) == 3, len(shape))     # of a batch of matrices; its own axis has no lanes
        lane = next((k for k in reversed(within) if any(coefficient(s.offset, axes[k]) == 1 for s in loads)),
                    len(shape) - 1)

        def read(b: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int,
                 mask: ir.Value | None) -> ir.Value:
            blocks = self.blocks(b, index, lane_axis, lanes, mask)
            blocks.block(piece.block)
            x = blocks.s.cast(blocks.one(piece.x, 0), accumulator(self.v))
            return x.value if lane_axis is None else masked(blocks, blocks.s.splat(x).value, mask)

        batched = any(coefficient(s.offset, axes[0]) != 0 for s in loads)
        return Operand(read, lane, self.plain(piece, axes), batched or len(shape) != 3, v in self.slots.settled)

    def plain(self, piece: Piece, axes: list[str]) -> Plain | None:
        """The operand as memory with known strides, if that is all it is."""
        load = piece.x
        if piece.block.steps != (load,) or not isinstance(load, Load) or load.bounds or load.computed:
            return None
        strides = tuple(n for axis in axes if isinstance(n := coefficient(load.offset, axis), int))
        rest = substitute(load.offset, dict.fromkeys(axes, 0))
        if len(strides) == len(axes) and isinstance(rest, int) and load.dtype == self.v.dtype == accumulator(self.v):
            return Plain(lambda b, ctx: self.base(b, load, rest), strides)
        return None

    def base(self, b: Builder, load: Load, rest: Dim) -> ir.Value:
        """The address of the first element of an operand in memory."""
        address = self.frame(b).buffer(load.value)
        return b.gep(address, [i64(rest)], source_etype=self.dtype) if rest != 0 else address

    def write(self, shape: Shape) -> Write:
        """What happens to element (i, j, ...) of the product, seen as `shape`."""
        piece = outcome(self.v, self.kernel.results, self.kernel.body, shape)

        def write(b: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int,
                  mask: ir.Value | None, vector: ir.Value) -> None:
            blocks = self.blocks(b, index, lane_axis, lanes, mask, piece)
            blocks.values[piece.x] = [blocks.s.element(vector, accumulator(self.v))]
            blocks.block(piece.block)

        return write

    def near(self, shape: Shape) -> Near:
        """Prefetches what `write` reads and writes in lanes along the last axis of the product, seen as `shape`."""
        piece, last = outcome(self.v, self.kernel.results, self.kernel.body, shape), len(shape) - 1

        def near(b: Builder, ctx: ir.Value, index: Index) -> None:
            blocks = self.blocks(b, index, last, 1, None, piece)
            blocks.advance(piece.block)
            for step, (address, rest) in blocks.places.items():
                if isinstance(step, Load | Store) and rest == 0 and coefficient(step.offset, f"%c{last}") == 1:
                    prefetch(b, address, isinstance(step, Store))

        return near

    def blocks(self, b: Builder, index: Index, lane_axis: int | None, lanes: int, mask: ir.Value | None,
               piece: Piece | None = None) -> Blocks:
        """A writer of blocks at b for one index, in lanes along one of its axes."""
        frame = self.frame(b)
        frame.at = {f"%c{k}": i for k, i in enumerate(index)}
        for name, (x, by) in () if piece is None else piece.quotients.items():
            frame.at[name] = b.udiv(frame.integer(x), frame.integer(by))
        blocks = Blocks(frame, LLVMScalars(b, lanes, self.target.fma))
        if lane_axis is not None:
            blocks.lanes = Lanes(f"%c{lane_axis}", (mask,), strays=piece is None)
        return blocks


def masked(blocks: Blocks, x: ir.Value, mask: ir.Value | None) -> ir.Value:
    """x with 0 in the lanes that are masked off."""
    if mask is None:
        return x
    return blocks.b.select(mask, x, Splat(x.type, ir.Constant(x.type.element, 0)))


def emit_contraction(module: ir.Module, name: str, kernel: Contraction, slots: Slots, target: Machine,
                     precision: Precision) -> list[Launch]:
    """Adds the functions of a contraction with what is fused into its reads and its store."""
    return Glue(module, name, kernel, slots, target, precision).emit()
