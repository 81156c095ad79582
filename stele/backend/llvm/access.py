"""What a contraction is told about its surroundings: the machine, its operands, its launches and its temporaries."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from llvmlite import ir

from stele.backend.llvm.launch import Builder, i64
from stele.ir.record import Record
from stele.ir.sizes import Dim, ceil

Index = tuple[ir.Value, ...]
Pair = tuple[ir.Value, ir.Value]
Read = Callable[[Builder, ir.Value, Index, int | None, int, ir.Value | None], ir.Value]
"""`read(b, ctx, index, lane_axis, lanes, mask)`: lane `l` is the element at `index[lane_axis] + l`; a masked-off lane
is 0 and touches no memory, wherever its index points; without a lane axis the element is a scalar."""
Write = Callable[[Builder, ir.Value, Index, int | None, int, ir.Value | None, ir.Value], None]
"""`write(b, ctx, index, lane_axis, lanes, mask, vector)`, the mirror image of `Read`."""
Near = Callable[[Builder, ir.Value, Index], None]
"""`near(b, ctx, index)`: what `write` will touch at an index is brought near ahead of time; faults nowhere."""
Address = Callable[[Builder, ir.Value, int], ir.Value]
"""`temp(b, ctx, k)`: where temporary `k` of a contraction begins, aligned to 64 bytes."""


class Length(Record):
    """A symbolic size: as an expression, and as code."""

    size: Dim
    emit: Callable[[Builder, ir.Value], ir.Value]

    def __str__(self) -> str:
        return "n"


Extent = int | Length


class Plain(Record):
    """An operand that is memory: element `i` lies `sum(i[k] * strides[k])` elements after `base(b, ctx)`."""

    base: Callable[[Builder, ir.Value], ir.Value]
    strides: tuple[int, ...]


class Operand(Record):
    """An operand of a contraction: how it is read, and along which axis reading with lanes is cheap.

    `plain` says that it is memory with nothing fused in front, so that it need not be packed;
    `batched=False` that it does not depend on the first (batch) axis, so that it is packed once; `steady` that it is
    the same from call to call, so that it is packed by the first of them.
    """

    read: Read
    lane_axis: int
    plain: Plain | None = None
    batched: bool = True
    steady: bool = False


class Temp(Record):
    """Memory shared by the launches of one contraction (packed operands, partial sums)."""

    bytes: Dim


def size_of(dtype: ir.Type) -> int:
    """Bytes of one element."""
    return dtype.width // 8 if isinstance(dtype, ir.IntType) else 8 if isinstance(dtype, ir.DoubleType) else 4


def Count(unit: int, terms: tuple[tuple[Extent, int], ...] = ()) -> Dim:
    """`unit * prod(ceil(extent / divisor))`: a number of tasks or bytes."""
    return unit * prod(ceil(e if isinstance(e, int) else e.size, divisor) for e, divisor in terms)


def size_value(b: Builder, ctx: ir.Value, extent: Extent) -> ir.Value:
    """A size as an i64."""
    return i64(extent) if isinstance(extent, int) else extent.emit(b, ctx)
