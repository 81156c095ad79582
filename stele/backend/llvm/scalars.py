"""The scalar vocabulary as LLVM IR, on plain scalars or on vectors of lanes."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from stele.backend.llvm.launch import Builder
from stele.backend.llvm.nest import splat, suffix, vector
from stele.errors import DTypeError
from stele.ir.scalars import Number, Scalars
from stele.ir.types import DTYPES, DType, bool_, float16, float32, int64, uint32
from stele.kernel.functions import Functions
from stele.kernel.vocabulary import Element, Operand, result_dtype

Scalar = Element[ir.Value]
"""One element per lane (a vector), or one for all lanes (a plain scalar, splatted when it meets a vector)."""
Build = Callable[[Builder, ir.Value, ir.Value], ir.Value]

TYPES: dict[str, ir.Type] = {
    "bool": ir.IntType(1), **{d.name: ir.IntType(d.bits) for d in DTYPES.values() if d.kind in "iu"},
    "float16": ir.IntType(16), "bfloat16": ir.IntType(16), "float32": ir.FloatType(), "float64": ir.DoubleType(),
}
HALF = ir.HalfType()
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
INTRINSIC = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven", "abs": "fabs"}


class LLVMScalars(Functions[ir.Value]):
    """Builds at the builder's position; elements are `<lanes x T>`, or plain T when lanes is 1 or the value is uniform.

    bool lives in registers as i1, float16 and bfloat16 as their bits in i16. `fma` says whether the target has it:
    then `s.fma` is one instruction, else a product and a sum, and so is each conversion of float16 (every target with
    one has the other). No call leaves the emitted code.
    """

    def __init__(self, builder: Builder, lanes: int, fma: bool) -> None:
        self.builder = builder
        self.lanes = lanes
        self.fused = fma
        self._splats: dict[tuple[ir.Block, ir.Value], ir.Value] = {}

    def element(self, value: ir.Value, dtype: DType) -> Scalar:
        """A register of this dtype as an element."""
        return Element(self, value, dtype)

    def register(self, dtype: DType) -> ir.Type:
        """The type of a full element of dtype: `<lanes x T>`, or T when there is one lane."""
        return TYPES[dtype.name] if self.lanes == 1 else vector(TYPES[dtype.name], self.lanes)

    def splat(self, x: Scalar) -> Scalar:
        """x in every lane."""
        if self.lanes == 1 or isinstance(x.value.type, ir.VectorType):
            return self.element(x.value, x.dtype)
        return self.element(self._splat(x.value), x.dtype)

    def _splat(self, value: ir.Value) -> ir.Value:
        key = self.builder.block, value
        if isinstance(value, ir.Constant):
            return splat(self.builder, value, self.lanes)
        if key not in self._splats:
            self._splats[key] = splat(self.builder, value, self.lanes)
        return self._splats[key]

    def together(self, *values: ir.Value) -> list[ir.Value]:
        """The registers, all splatted if one is a vector."""
        if not any(isinstance(v.type, ir.VectorType) for v in values):
            return [*values]
        return [v if isinstance(v.type, ir.VectorType) else self._splat(v) for v in values]

    def like(self, value: ir.Value, dtype: DType) -> ir.Type:
        """The register type of dtype, a vector exactly if value is one."""
        return self.alike(value, TYPES[dtype.name])

    def alike(self, value: ir.Value, kind: ir.Type) -> ir.Type:
        """The type of lanes of `kind`, a vector exactly if value is one."""
        return vector(kind, self.lanes) if isinstance(value.type, ir.VectorType) else kind

    def _intrinsic(self, name: str, *values: ir.Value) -> ir.Value:
        kind = values[0].type
        function = self.builder.module.declare_intrinsic(
            f"llvm.{name}.{suffix(kind)}", fnty=ir.FunctionType(kind, [kind] * len(values)))
        return self.builder.call(function, values)

    def constant(self, value: Number, dtype: DType) -> Scalar:
        if dtype.is_float:
            number = float(value) if dtype.bits > 16 else int(dtype.array(value).view("uint16"))
            return self.element(ir.Constant(TYPES[dtype.name], number), dtype)
        if int(value) != value:
            raise DTypeError(f"{value} is no {dtype}; cast the element to a float dtype first")
        return self.element(ir.Constant(TYPES[dtype.name], int(value)), dtype)

    def convert(self, x: Scalar, dtype: DType) -> Scalar:
        b, v, old = self.builder, x.value, x.dtype
        target = self.like(v, dtype)
        if dtype == bool_:
            return self.element(self.binary("ne", x, 0).value, dtype)
        if old == bool_:
            one, zero = (self.constant(k, dtype) for k in (1, 0))
            return self.element(b.select(v, *self.together(one.value, zero.value, v)[:2]), dtype)
        if old.is_float and dtype.is_float:
            return self.element((b.fpext if dtype.bits > old.bits else b.fptrunc)(v, target), dtype)
        if old.is_float:
            return self.element(b.fptosi(v, target), dtype)
        if dtype.is_float:
            return self.element((b.uitofp if old.kind == "u" else b.sitofp)(v, target), dtype)
        if dtype.bits == old.bits:
            return self.element(v, dtype)
        widen = b.zext if old.kind == "u" else b.sext
        return self.element((widen if dtype.bits > old.bits else b.trunc)(v, target), dtype)

    def unpack(self, x: Scalar) -> Scalar:
        return self.element(self.builder.zext(x.value, self.like(x.value, uint32)), uint32)

    def pack(self, bits: Scalar, dtype: DType) -> Scalar:
        return self.element(self.builder.trunc(bits.value, self.like(bits.value, dtype)), dtype)

    def widen(self, x: Scalar) -> Scalar:
        if not (self.fused and x.dtype == float16):
            return super().widen(x)
        half = self.builder.bitcast(x.value, self.alike(x.value, HALF))
        return self.element(self.builder.fpext(half, self.like(x.value, float32)), float32)

    def narrow(self, x: Scalar, dtype: DType) -> Scalar:
        if not (self.fused and dtype == float16):
            return super().narrow(x, dtype)
        half = self.builder.fptrunc(x.value, self.alike(x.value, HALF))
        return self.element(self.builder.bitcast(half, self.like(x.value, dtype)), dtype)

    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype.bits != dtype.bits:
            raise DTypeError(f"bitcast needs dtypes of one width, got {x.dtype} and {dtype}; cast converts a value")
        same = x.value.type == self.like(x.value, dtype)
        return self.element(x.value if same else self.builder.bitcast(x.value, self.like(x.value, dtype)), dtype)

    def select(self, c: Scalar, x: Operand, y: Operand) -> Scalar:
        x, y = self.meet(x, y)
        return self.element(self.builder.select(*self.together(c.value, x.value, y.value)), x.dtype)

    def fma(self, x: Operand, y: Operand, z: Operand) -> Scalar:
        x, y, z = self.meet(x, y, z)
        if not (self.fused and x.dtype.is_float):
            return self.binary("add", self.binary("mul", x, y), z)
        return self.element(self._intrinsic("fma", *self.together(x.value, y.value, z.value)), x.dtype)

    def rare(self, mask: Scalar, slow: Callable[[], Scalar], fast: Scalar) -> Scalar:
        """A branch on whether any lane needs `slow`: afterwards the builder stands in another block."""
        start, some = self.builder.block, mask.value
        if isinstance(some.type, ir.VectorType):
            fast = self.splat(fast)
            kind = ir.FunctionType(some.type.element, [some.type])
            reduce = self.builder.module.declare_intrinsic(f"llvm.vector.reduce.or.{suffix(some.type)}", fnty=kind)
            some = self.builder.call(reduce, [some])
        with self.builder.if_then(some, likely=False):
            mixed = self.select(mask, slow(), fast)
            end = self.builder.block
        result = self.builder.phi(mixed.value.type)
        result.add_incoming(fast.value, start)
        result.add_incoming(mixed.value, end)
        return self.element(result, mixed.dtype)

    def unary(self, name: str, x: Operand) -> Scalar:
        (x,) = self.meet(x)
        if x.dtype.is_float:
            v = self.builder.fneg(x.value) if name == "neg" else self._intrinsic(INTRINSIC[name], x.value)
            return self.element(v, x.dtype)
        if name == "invert":
            return self.binary("xor", x, -1)
        if name == "neg":
            return self.binary("sub", 0, x)
        return self.select(x < 0, -x, x) if name == "abs" and x.dtype.kind == "i" else self.element(x.value, x.dtype)

    def binary(self, name: str, x: Operand, y: Operand) -> Scalar:
        x, y = self.meet(x, y)
        kind = x.dtype.kind
        if name in ARITHMETIC[kind]:
            v = ARITHMETIC[kind][name](self.builder, *self.together(x.value, y.value))
            return self.element(v, result_dtype(name, x.dtype))
        if name not in FORMULAS or kind == "b" or (name in ("shl", "shr") and kind == "f"):
            raise DTypeError(f"{name} has no meaning on {x.dtype}; cast the operands first")
        return FORMULAS[name](self, x, y)


_: type[Scalars[Scalar]] = LLVMScalars      # it says every word of the vocabulary


def _compare(build: Callable[..., ir.Value], sign: str, b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return build(b, sign, x, y)


def _comparisons(build: Callable[..., ir.Value]) -> dict[str, Build]:
    return {name: partial(_compare, build, sign) for name, sign in COMPARE.items()}


# One instruction each, by kind of dtype.
INTEGER: dict[str, Build] = {"add": ir.IRBuilder.add, "sub": ir.IRBuilder.sub, "mul": ir.IRBuilder.mul,
                             "and": ir.IRBuilder.and_, "or": ir.IRBuilder.or_, "xor": ir.IRBuilder.xor}
ARITHMETIC: dict[str, dict[str, Build]] = {
    "f": {"add": ir.IRBuilder.fadd, "sub": ir.IRBuilder.fsub, "mul": ir.IRBuilder.fmul, "div": ir.IRBuilder.fdiv,
          **_comparisons(ir.IRBuilder.fcmp_ordered), "ne": partial(_compare, ir.IRBuilder.fcmp_unordered, "!=")},
    "i": {**INTEGER, **_comparisons(ir.IRBuilder.icmp_signed)},
    "u": {**INTEGER, **_comparisons(ir.IRBuilder.icmp_unsigned)},
    "b": {"add": ir.IRBuilder.or_, "mul": ir.IRBuilder.and_, "max": ir.IRBuilder.or_, "min": ir.IRBuilder.and_,
          "and": ir.IRBuilder.and_, "or": ir.IRBuilder.or_, "xor": ir.IRBuilder.xor,
          **_comparisons(ir.IRBuilder.icmp_unsigned)},
}


def is_number(x: Scalar) -> bool:
    """Whether x is one constant that is not NaN."""
    if not isinstance(x.value, ir.Constant):
        return False
    return isinstance(x.value.constant, int | float) and x.value.constant == x.value.constant


def extreme(s: LLVMScalars, x: Scalar, y: Scalar, better: str) -> Scalar:
    """max ("gt") or min ("lt"): one machine instruction, and a repair for NaN in x unless x is a number for sure."""
    x, y = (y, x) if is_number(y) else (x, y)
    best = s.select(s.binary(better, x, y), x, y)  # y where either is NaN, like maxps
    return best if not x.dtype.is_float or is_number(x) else s.select(s.ne(x, x), x, best)


def shift(s: LLVMScalars, x: Scalar, y: Scalar, left: bool) -> Scalar:
    """A shift; by the width of the dtype or more all bits go: 0, or the sign where a signed dtype shifts right."""
    signed = x.dtype.kind == "i" and not left
    build = ir.IRBuilder.shl if left else ir.IRBuilder.ashr if signed else ir.IRBuilder.lshr
    x_value, count = s.together(x.value, y.value)
    if is_number(y) and 0 <= y.value.constant < x.dtype.bits:
        return s.element(build(s.builder, x_value, count), x.dtype)
    width, _ = s.together(s.constant(x.dtype.bits, x.dtype).value, count)
    fits = s.element(s.builder.icmp_unsigned("<", count, width), bool_)
    if signed:
        last = s.select(fits, y, x.dtype.bits - 1)
        return s.element(build(s.builder, *s.together(x_value, last.value)), x.dtype)
    return s.select(fits, s.element(build(s.builder, x_value, count), x.dtype), 0)


def floor_divide(s: LLVMScalars, x: Scalar, y: Scalar) -> Scalar:
    """x / y rounded down; 0 where y is 0, and the least integer over -1 wraps to itself: nothing traps."""
    if x.dtype.is_float:
        return s.floor(x / y)
    bad = s.eq(y, 0)
    if x.dtype.kind == "i":
        bad = bad | (s.eq(y, -1) & s.eq(x, -(1 << x.dtype.bits - 1)))
    unsafe = not is_number(y) or y.value.constant in (0, -1)
    divisor = s.select(bad, 1, y) if unsafe else y
    if x.dtype.kind == "u" or x.dtype == bool_:
        quotient = s.element(s.builder.udiv(*s.together(x.value, divisor.value)), x.dtype)
    else:
        quotient = _floored(s, x, divisor)
    return s.select(s.eq(y, 0), 0, quotient) if unsafe else quotient


def _floored(s: LLVMScalars, x: Scalar, y: Scalar) -> Scalar:
    quotient = s.element(s.builder.sdiv(*s.together(x.value, y.value)), x.dtype)
    rest = x - quotient * y
    down = s.ne(rest, 0) & ((rest ^ y) < 0)
    return s.select(down, quotient - 1, quotient)


def multiply_high(s: LLVMScalars, x: Scalar, y: Scalar) -> Scalar:
    """High half of the product of two uint32."""
    if x.dtype != uint32:
        raise DTypeError(f"mulhi needs uint32, got {x.dtype}; cast the operands first")
    left, right = (s.builder.zext(v, s.like(v, int64)) for v in s.together(x.value, y.value))
    high = s.builder.lshr(s.builder.mul(left, right), s.together(ir.IntType(64)(32), left)[0])
    return s.element(s.builder.trunc(high, s.like(high, uint32)), uint32)


# Several instructions each, for numbers of any kind.
FORMULAS: dict[str, Callable[[LLVMScalars, Scalar, Scalar], Scalar]] = {
    "max": partial(extreme, better="gt"),
    "min": partial(extreme, better="lt"),
    "shl": partial(shift, left=True),
    "shr": partial(shift, left=False),
    "idiv": floor_divide,
    "mulhi": multiply_high,
}
