"""The gradient of the weight of a convolution of single channels: sums of taps in registers over rows as they lie."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from stele.backend.contract.code import Code, Int, Sink, Site, Vectors, memory, place
from stele.backend.contract.conv.depthwise import EDGE, MOST, ROWS, STEP, Source, Steps
from stele.backend.contract.conv.direct_weight import sum_lanes
from stele.backend.contract.conv.planes import within
from stele.backend.contract.conv.stencil import Conv, Tap, forward_stencil
from stele.backend.llvm.access import Count, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import multiply_add, round_up, zero
from stele.ir.record import Record
from stele.kernel.machine import Machine


class Schedule(Record):
    """A task makes a target channel's kernel, so many of its columns in one pass over the images."""

    steps: Steps
    columns: int

    def __str__(self) -> str:
        return f"{self.steps.rows} rows at once, {self.columns} columns of the kernel"

    @property
    def passes(self) -> list[list[int]]:
        """The shifts of columns that each pass makes the taps of."""
        shifts = list(self.steps.columns)
        return [shifts[k:k + self.columns] for k in range(0, len(shifts), self.columns)]

    def taps(self, shifts: Sequence[int]) -> list[Tap]:
        return [tap for shift in shifts for _, tap in self.steps.columns[shift]]


def fits(machine: Machine, conv: Conv, operands: Sequence[Operand]) -> bool:
    """Whether a gradient can be made so: one source channel in a group, images that lie in memory."""
    plain = all(o.plain is not None and o.plain.strides[3] == 1 for o in operands)
    return plain and conv.channels == conv.groups and conv.outputs >= machine.tasks and max(conv.stride) <= 2 \
        and 0 < conv.kernel[0] * conv.kernel[1] <= MOST


def schedule(machine: Machine, conv: Conv) -> tuple[float, Schedule]:
    """The schedule, with its price per image and group in vector multiplications."""
    steps, lanes = Steps(forward_stencil(conv), ROWS[-1]), machine.lanes(size_of(conv.dtype))
    each = max(map(len, steps.columns.values()))
    cut = Schedule(steps, max(1, (machine.registers - 1 - 2 * steps.rows) // each))
    loads = sum(steps.heights) * (1.0 if conv.stride[1] == 1 else 3.0) + len(cut.passes) * steps.rows
    products = steps.taps * steps.rows * (1.0 if machine.fma else 2.0)
    step = max(products, machine.pace * loads) + 0.5 * min(products, machine.pace * loads) + len(cut.passes) * STEP
    (height, width), each = conv.target, conv.outputs // conv.groups
    return each * EDGE[machine.squeezes] * height / steps.rows * -(-width // lanes) * step, cut


def gradient(site: Site, conv: Conv, cut: Schedule, x: Operand, g: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernel of the gradient of w (o, 1, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    return [_Gradient(site, conv, cut, x, g, sink).kernel()], []


@dataclass(frozen=True)
class _Gradient:
    """The kernel; scratch holds the sums of one pass."""

    site: Site
    conv: Conv
    schedule: Schedule
    x: Operand
    g: Operand
    sink: Sink

    @cached_property
    def lanes(self) -> int:
        return self.site.machine.lanes(size_of(self.conv.dtype))

    @cached_property
    def _source(self) -> Source:
        return Source(self.site, self.schedule.steps.stencil, self.x, self.conv.dtype, self.lanes)

    def kernel(self) -> Launch:
        conv, cut, lanes = self.conv, self.schedule, self.lanes
        none = zero(conv.dtype, lanes)
        with self.site.kernel() as (b, scratch, channel, _):
            sums = scratch.room(memory(round_up(cut.steps.taps, lanes), conv.dtype), conv.dtype)
            for shifts in cut.passes:
                taps = cut.taps(shifts)
                acc = b.fold(b.extent(conv.batch), [none] * len(taps),
                             lambda n, acc, shifts=shifts: self._image(b, (n, channel), shifts, acc))
                for k in range(0, len(taps), lanes):
                    part = acc[k:k + lanes]
                    (sums + k).store(sum_lanes(b, [*part, *[none] * (lanes - len(part))]))
                for k, tap in enumerate(taps):
                    self.sink.put(b, (channel, b.int(0), *map(b.int, tap.kernel)), None, None, (sums + k).load())
        return self.site.launch("", Count(conv.outputs), scratch)

    def _image(self, b: Code, at: tuple[Int, Int], shifts: Sequence[int], acc: Vectors) -> Vectors:
        """What one image adds to the taps of some columns: some rows at once, then those that are left one by one."""
        height, width = self.conv.target
        rows = self.schedule.steps.rows
        whole = height // rows * rows

        def block(k: Int, acc: Vectors) -> Vectors:
            x = k * self.lanes
            acc = b.fold(whole // rows, acc, lambda y, acc: self._step(b, (*at, y * rows, x), shifts, acc, rows))
            return b.fold(height - whole, acc, lambda y, acc: self._step(b, (*at, y + whole, x), shifts, acc, 1))

        return b.fold(-(-width // self.lanes), acc, block)

    def _step(self, b: Code, at: tuple[Int, Int, Int, Int], shifts: Sequence[int], acc: Vectors, rows: int) -> Vectors:
        """Products of some rows of a vector of columns."""
        conv, steps, (image, channel, y, x) = self.conv, self.schedule.steps, at
        stencil, acc = steps.stencil, [*acc]
        mask = within(b, x, b.int(conv.target[1]), self.lanes)
        slopes = [place(b, self.g, (image, channel, y + t, x), conv.dtype).load(self.lanes, mask) for t in range(rows)]
        plane = place(b, self.x, (image, channel // (conv.outputs // conv.groups)), conv.dtype)
        number = 0
        for shift in shifts:
            start, across = shift * stencil.phases[1] - stencil.low[1], stencil.phases[1]
            end = min(stencil.source[1], conv.target[1] * across + start)   # no farther than the last slope reaches
            lines = self._source(b, plane, y * stencil.phases[0], x * across + start, end)
            for _, tap in steps.columns[shift]:
                for t, slope in enumerate(slopes):
                    acc[number] = multiply_add(b, self.site.machine.fma, slope, lines(steps.row(tap, t), tap.phase[1]),
                                               acc[number])
                number += 1
        return acc
