"""The bits of elements, seen as those of another dtype: numbers stay where they are, and mean something else."""
from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Op, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import DTYPES, DType, Type, bfloat16, bool_, float32, int16, int32, same, show, uint8, uint32
from stele.ops.along import in_line
from stele.ops.arguments import choice, whole
from stele.ops.elementwise.base import Unary, needs_real
from stele.ops.elementwise.binary import Or, ShiftLeft, ShiftRight
from stele.ops.generate import iota
from stele.ops.joining import stack
from stele.ops.linear import cast, expand_dims, flip, pad_axis, reshape, rowed, slice_axis
from stele.ops.parts import complex, imag, real
from stele.ops.shaping import moveaxis
from stele.ops.statistics import sum


class Bitcast(Unary):
    """The bits of each element as those of a real dtype of its width. A bool has the bits of 0 or 1, and is made of
    others too: true, unless none is set. NaN keep theirs. No gradient passes.
    """

    dtype: DType

    def type(self, *x: Type) -> Type:
        y = super().type(*x).with_dtype(self.dtype)
        needs_real(self, self.dtype)
        if y.dtype.bits != x[0].dtype.bits:
            raise DTypeError(f"bits of {x[0].dtype} are none of {y.dtype}: it has {y.dtype.bits}")
        return y

    def reference(self, *x: Array) -> Array:
        return x[0] != 0 if self.dtype == bool_ else np.asarray(x[0]).view(self.dtype.numpy)

    def scalar(self, s: Scalars[S], *x: S) -> S:
        if bool_ in (x[0].dtype, self.dtype):
            return s.cast(s.cast(x[0], uint8), self.dtype)
        from_half, to_half = (d.is_float and d.bits == 16 for d in (x[0].dtype, self.dtype))
        if not from_half and not to_half:
            return s.bitcast(x[0], self.dtype)
        word = s.unpack(x[0]) if from_half else s.cast(x[0], uint32)
        return s.pack(word, self.dtype) if to_half else s.cast(word, self.dtype)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(int32), (Type(float32, (2, 3)),)), (cls(float32), (np.array([1 << 30, -5], np.int32),)), \
               (cls(bfloat16), (np.array([16256, -16256], np.int16),)), (cls(int16), (bfloat16.array([1.5, -2.0]),)), \
               (cls(bool_), (np.array([0, 1, 2], np.uint8),)), (cls(uint8), (np.array([True, False]),))


def word(bits: int) -> DType:
    """The unsigned integer of so many bits."""
    return DTYPES[f"uint{bits}"]


def words(x: Value, bits: int) -> Value:
    """The bits of elements as unsigned integers of so many, the lowest first, one element's behind another's."""
    if x.dtype.is_complex:
        parts = stack([real(x), imag(x)], axis=-1)
        return words(reshape(parts, (*x.shape[:-1], x.shape[-1] * 2)), bits)
    whole, n = Bitcast(word(x.dtype.bits))(x), x.dtype.bits // bits
    if n == 1:
        return whole
    each = cast(ShiftRight()(expand_dims(whole, (-1,)), iota(n, whole.dtype) * bits), word(bits))
    return reshape(each, (*x.shape[:-1], x.shape[-1] * n))


def of_words(x: Value, dtype: DType) -> Value:
    """The elements whose bits are those of unsigned integers along the last axis, which may be a few too many."""
    n = dtype.bits // x.dtype.bits
    every = [slice_axis(x, -1, k, x.shape[-1] // n, n) for k in range(n)] if n > 1 else [x]

    def of(parts: list[Value], dtype: DType) -> Value:
        wide = [cast(v, word(dtype.bits)) for v in parts]
        return Bitcast(dtype)(reduce(Or(), (ShiftLeft()(v, k * x.dtype.bits) if k else v for k, v in enumerate(wide))))

    if not dtype.is_complex:
        return of(every, dtype)
    return complex(of(every[:n // 2], dtype.real), of(every[n // 2:], dtype.real))


def seen_as(x: Value, dtype: DType) -> Value:
    """x in memory, read as another dtype, whose elements are as many along the last axis as there is room for."""
    old, new = x.dtype.bits, dtype.bits
    if x.dtype == dtype:
        return x
    if old == new and not (x.dtype.is_complex or dtype.is_complex):
        return Bitcast(dtype)(x)
    what = f"elements of {x.dtype} are seen as {dtype}, which has {new} bits for {old}"
    if not x.ndim:
        if old != new:
            raise ShapeError(f"{what}: a number has no axis that would change its length",
                             hint="Give it one: x.reshape(1).view(dtype).")
        return reshape(seen_as(reshape(x, (1,)), dtype), ())
    if new > old and not same(x.shape[-1] // (new // old) * (new // old), x.shape[-1]):
        raise ShapeError(f"{what}: the last axis of {show(x.shape)} is no multiple of {new // old}",
                         hint="Pad it, or cut it off.")
    return of_words(words(x, min(x.dtype.real.bits, dtype.real.bits)), dtype)


def places_of_bits(bitorder: str) -> Value:
    """How far each bit of a byte stands from the lowest, the "big" ones first or the "little" ones."""
    places = iota(8, uint8)
    return flip(places, (0,)) if choice(bitorder, "bitorder", ("big", "little")) == "big" else places


def packbits(x: Value, *, axis: int | None = None, bitorder: str = "big") -> Value:
    """Bytes, uint8, of each eight elements along an axis, of the flat array without one: a bit is set of what is not 0.

    The first is the highest bit, under `bitorder` "little" the lowest; zeros fill the last byte. x has any shape, of
    bools or integers. Raises DTypeError for others, OptionError for another order.

    >>> st.packbits(st.tensor([True, False, True])).tolist(), st.packbits(st.tensor([1, 0]), bitorder="little").tolist()
    ([160], [1])
    """
    if x.dtype.kind not in "iub":
        raise DTypeError(f"packbits needs bools or integers, got {x.dtype}", hint="Write x != 0 of floats.")
    rows = cast(cast(moveaxis(*in_line(rowed(x), axis), -1), bool_), uint8)
    n, many = rows.shape[-1], (rows.shape[-1] + 7) // 8
    each = reshape(pad_axis(rows, rows.ndim - 1, 0, many * 8 - n), (*rows.shape[:-1], many, 8))
    return moveaxis(sum(ShiftLeft()(each, places_of_bits(bitorder)), axis=-1, dtype=uint8), -1, axis or 0)


def unpackbits(x: Value, *, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Value:
    """The bits of bytes, 0 and 1, eight for each along an axis, or of the flat array: what `packbits` packed.

    `count` says how many of them, with zeros behind where there are fewer, or how many are left out if negative.
    uint8. Raises DTypeError for other than uint8, OptionError for another `bitorder`.

    >>> st.unpackbits(st.tensor([5], "uint8"), count=3, bitorder="little").tolist()
    [1, 0, 1]
    """
    if x.dtype != uint8:
        raise DTypeError(f"unpackbits needs uint8, got {x.dtype}")
    rows = moveaxis(*in_line(rowed(x), axis), -1)
    y, n = ShiftRight()(expand_dims(rows, (-1,)), places_of_bits(bitorder)) & 1, rows.shape[-1] * 8
    y = reshape(y, (*rows.shape[:-1], n))
    if count is not None:
        many = whole(count if count >= 0 else n + count, "how many bits unpackbits gives", 0)
        y = slice_axis(pad_axis(y, y.ndim - 1, 0, many), -1, 0, many)
    return moveaxis(y, -1, axis or 0)


ALL: tuple[type[Op], ...] = (Bitcast,)
