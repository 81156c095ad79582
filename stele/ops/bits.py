"""The bits of elements, seen as those of another dtype: numbers stay where they are, and mean something else."""
from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Op, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import DTYPES, DType, Type, bfloat16, bool_, float32, int16, int32, same, show, uint8, uint32
from stele.ops.elementwise.base import Unary, needs_real
from stele.ops.elementwise.binary import Or, ShiftLeft, ShiftRight
from stele.ops.generate import iota
from stele.ops.joining import stack
from stele.ops.linear import cast, expand_dims, reshape, slice_axis
from stele.ops.parts import complex, imag, real


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


ALL: tuple[type[Op], ...] = (Bitcast,)
