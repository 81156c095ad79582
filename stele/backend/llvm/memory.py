"""Loads and stores of elements: contiguous, strided or scattered lanes, masked where they would leave an array."""
from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Frame
from stele.backend.llvm.launch import i1, i8, i32
from stele.backend.llvm.nest import Splat, integers, lanes_below, shuffle, suffix
from stele.backend.llvm.scalars import TYPES, LLVMScalars, Scalar
from stele.backend.llvm.vectors import masked_load, masked_store
from stele.ir.types import DType, bool_

Mask = ir.Value | None
STEPS = (1, -1, 2, 3, 4)
"""Distances between lanes for which whole vectors are read."""


def in_memory(dtype: DType) -> ir.Type:
    """How an element lies in memory: a bool takes a byte."""
    return i8 if dtype == bool_ else TYPES[dtype.name]


class Memory:
    """Moves elements of `s.lanes` lanes, or single ones, between registers and addresses."""

    def __init__(self, frame: Frame, s: LLVMScalars) -> None:
        self.frame, self.b, self.s = frame, frame.b, s

    def offset(self, base: ir.Value, elements: ir.Value, dtype: DType) -> ir.Value:
        """The address some elements after `base`."""
        if isinstance(elements.type, ir.VectorType):
            base = self.s.together(base, elements)[0]
        return self.b.gep(base, [elements], source_etype=in_memory(dtype))

    def load(self, address: ir.Value, dtype: DType) -> Scalar:
        """One element."""
        kind = in_memory(dtype)
        return self.from_memory(self.b.load(address, typ=kind, align=dtype.bytes), dtype)

    def load_if(self, inside: ir.Value, address: ir.Value, safe: ir.Value, dtype: DType) -> Scalar:
        """One element, or 0 where `inside` does not hold; `safe` is an address that may be read anyhow."""
        x = self.load(self.b.select(inside, address, safe), dtype)
        return self.s.element(self.b.select(inside, x.value, ir.Constant(x.value.type, 0)), dtype)

    def load_lanes(self, address: ir.Value, mask: Mask, dtype: DType) -> Scalar:
        """Adjacent elements; 0 in lanes that are masked off."""
        kind = in_memory(dtype)
        if mask is None:
            return self.from_memory(self.b.load(address, typ=self.wide(kind), align=dtype.bytes), dtype)
        return self.from_memory(masked_load(self.b, address, kind, mask), dtype)

    def load_steps(self, address: ir.Value, step: int, mask: Mask, dtype: DType) -> Scalar:
        """Elements `step` apart, one of STEPS: adjacent ones are read under a mask and lanes picked out."""
        lanes = self.s.lanes
        if step == 1:
            return self.load_lanes(address, mask, dtype)
        if step == -1:
            back = [lanes - 1 - k for k in range(lanes)]
            start = self.offset(address, i64(1 - lanes), dtype)
            x = self.load_lanes(start, None if mask is None else self.picked(mask, mask, back), dtype)
            return self.s.element(self.picked(x.value, x.value, back), dtype)
        found: ir.Value | None = None
        every = self.every() if mask is None else mask
        for k in range(step):
            places = [k * lanes + lane for lane in range(lanes)]
            wanted = self.picked(every, zero(every.type), [p // step if p % step == 0 else lanes for p in places])
            x = self.load_lanes(self.offset(address, i64(k * lanes), dtype), wanted, dtype).value
            here = [lane * step - k * lanes for lane in range(lanes)]
            picks = [lanes + p if 0 <= p < lanes else lane for lane, p in enumerate(here)]
            found = self.picked(x if found is None else found, x, picks)
        assert found is not None
        return self.s.element(found, dtype)

    def picked(self, x: ir.Value, y: ir.Value, picks: Sequence[int]) -> ir.Value:
        """Lanes of x and y laid end to end, by number."""
        return shuffle(self.b, x, y, picks)

    def gather(self, base: ir.Value, elements: ir.Value, mask: Mask, dtype: DType) -> Scalar:
        """Elements at a vector of offsets; 0 in lanes that are masked off."""
        wide, addresses = self.wide(in_memory(dtype)), self.offset(base, elements, dtype)
        mask = self.every() if mask is None else mask
        operands = [ir.VectorType(base.type, self.s.lanes), i32, mask.type, wide]
        function = self.intrinsic("masked.gather", f"{suffix(wide)}.v{self.s.lanes}p0", wide, operands)
        return self.from_memory(self.b.call(function, [addresses, i32(dtype.bytes), mask, zero(wide)]), dtype)

    def store(self, address: ir.Value, x: Scalar) -> None:
        """One element."""
        self.b.store(self.to_memory(x), address, align=x.dtype.bytes)

    def store_lanes(self, address: ir.Value, mask: Mask, x: Scalar, streams: bool = False) -> None:
        """Adjacent elements, of lanes that are not masked off; `streams` past the caches, to an aligned address."""
        value = self.to_memory(self.s.splat(x))
        if mask is None and streams:
            around = self.b.store(value, address, align=x.dtype.bytes * self.s.lanes)
            around.set_metadata("nontemporal", self.b.module.add_metadata([i32(1)]))
        elif mask is None:
            self.b.store(value, address, align=x.dtype.bytes)
        else:
            masked_store(self.b, value, address, value.type.element, mask)

    def scatter(self, base: ir.Value, elements: ir.Value, mask: Mask, x: Scalar) -> None:
        """Elements to a vector of offsets."""
        value = self.to_memory(self.s.splat(x))
        mask, kind = self.every() if mask is None else mask, ir.VectorType(base.type, self.s.lanes)
        function = self.intrinsic("masked.scatter", f"{suffix(value.type)}.v{self.s.lanes}p0", ir.VoidType(),
                                  [value.type, kind, i32, mask.type])
        self.b.call(function, [value, self.offset(base, elements, x.dtype), i32(x.dtype.bytes), mask])

    def from_memory(self, x: ir.Value, dtype: DType) -> Scalar:
        if dtype == bool_:
            x = self.b.icmp_unsigned("!=", x, ir.Constant(x.type, None if isinstance(x.type, ir.VectorType) else 0))
        return self.s.element(x, dtype)

    def to_memory(self, x: Scalar) -> ir.Value:
        if x.dtype != bool_:
            return x.value
        return self.b.zext(x.value, self.wide(i8) if isinstance(x.value.type, ir.VectorType) else i8)

    def wide(self, kind: ir.Type) -> ir.VectorType:
        return ir.VectorType(kind, self.s.lanes)

    def every(self) -> ir.Value:
        """The mask with all lanes on."""
        return integers(i1, (1,) * self.s.lanes)

    def steps(self, stride: int = 1, start: int = 0) -> ir.Value:
        """The vector start, start+stride, start+2*stride ..."""
        return integers(i64, tuple(start + stride * k for k in range(self.s.lanes)))

    def lanes_below(self, count: ir.Value) -> ir.Value:
        """The mask of the lanes l < count."""
        return lanes_below(self.b, count, self.s.lanes)

    def splat(self, x: ir.Value) -> ir.Value:
        """An i64 in every lane."""
        return self.s.together(x, self.steps())[0]

    def both(self, *masks: Mask) -> Mask:
        """The mask of lanes that all masks leave on; scalar conditions count for all lanes."""
        found: Mask = None
        for mask in masks:
            if mask is not None:
                found = mask if found is None else self.b.and_(*self.s.together(found, mask))
        return found

    def intrinsic(self, name: str, kinds: str, result: ir.Type, operands: Sequence[ir.Type]) -> ir.Value:
        return self.b.module.declare_intrinsic(f"llvm.{name}.{kinds}", fnty=ir.FunctionType(result, operands))


def zero(kind: ir.Type) -> ir.Value:
    return Splat(kind, ir.Constant(kind.element, 0))
