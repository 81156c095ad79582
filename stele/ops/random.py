"""Random numbers as functions of a key and an index: counter-based, the same bits on every machine."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Constant, Value
from stele.ir.scalars import S, Scalars
from stele.ir.types import DType, Shape, Type, float32, int64, product, uint32
from stele.ops.arguments import number
from stele.ops.elementwise.arithmetic import Less, Select
from stele.ops.elementwise.binary import Xor, shift_right
from stele.ops.elementwise.unary import cos, log1p, sqrt
from stele.ops.generate import Generate
from stele.ops.linear import cast, reshape, slice_axis, zeros_like

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
DIGITS = {"float16": 11, "bfloat16": 8}    # with more a number just below 1 would be rounded to it


def philox(counter: Sequence[Any], key: Sequence[Any], multiply: Any) -> tuple[Any, Any, Any, Any]:
    """Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).

    Words are uint32 whose sums wrap; `multiply(x, m)` gives the high and the low word of a product.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for n in range(ROUNDS):
        if n:
            k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
        high0, low0 = multiply(c0, MULTIPLIERS[0])
        high1, low1 = multiply(c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return c0, c1, c2, c3


class RandomBits(Generate):
    """32 random bits per element from a key (seed low, seed high, stream low, stream high) of uint32.

    The element of row-major position e is word 0 of Philox4x32-10 with the counter (e low, e high, stream low,
    stream high) and the key (seed low, seed high).
    """

    shape: Shape

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        if len(args) == 1 and isinstance(args[0], Value) and args[0].shape == (4,):
            args = tuple(reshape(slice_axis(args[0], 0, k, 1), ()) for k in range(4))
        if len(args) != 4 or any(not isinstance(v, Value) or v.dtype != uint32 or v.shape != () for v in args):
            raise DTypeError("RandomBits needs a key uint32[4] (seed low, seed high, stream low, stream high), got "
                             + ", ".join(str(v.type) if isinstance(v, Value) else repr(v) for v in args))
        return args

    def type(self, *x: Type) -> Type:
        return Type(uint32, self.shape)

    def reference(self, *x: Array) -> Array:
        shape = tuple(n for n in self.shape if isinstance(n, int))
        e = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
        stream = (np.broadcast_to(v, e.shape) for v in x[2:])
        return philox((e.astype(np.uint32), (e >> 32).astype(np.uint32), *stream), x[:2], multiply_words)[0]

    def generate(self, s: Scalars[S], i: tuple[S, ...], *x: S) -> S:
        size = product(self.shape)
        is_small = isinstance(size, int) and size <= 1 << 32
        index = [s.cast(j, uint32 if is_small else int64) for j in i]
        start = index[0] if index else s.constant(0, uint32)
        inner = (n for n in self.shape[1:] if isinstance(n, int))
        e = reduce(lambda a, nj: a * nj[0] + nj[1], zip(inner, index[1:], strict=True), start)
        low, high = (e, s.constant(0, uint32)) if is_small else (s.cast(e, uint32), s.cast(e >> 32, uint32))

        def multiply(word: S, m: int) -> tuple[S, S]:
            return s.mulhi(word, m), word * m

        return philox((low, high, *x[2:]), x[:2], multiply)[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        key = np.array([1, 2, 3, 4], np.uint32)
        return (cls((2, 3)), (key,)), (cls(()), (key,))


def multiply_words(x: Array, m: int) -> tuple[Array, Array]:
    """High and low word of a product of uint32."""
    wide = x.astype(np.uint64) * np.uint64(m)
    return (wide >> np.uint64(32)).astype(np.uint32), wide.astype(np.uint32)


def random_bits(key: Value, *, shape: Shape) -> Value:
    """32 random bits per element, as uint32.

    >>> str(random_bits(Constant(np.zeros(4, np.uint32))(), shape=(2, 3)).type)
    'uint32[2,3]'
    """
    if all(isinstance(n, int) for n in shape[1:]):
        return RandomBits(shape)(key)
    return reshape(RandomBits((product(shape),))(key), shape)


def uniform(key: Value, *, shape: Shape, dtype: DType = float32) -> Value:
    """Numbers in [0, 1): as many of the top random bits as the dtype has digits, 24 at most, behind the point."""
    digits = DIGITS.get(dtype.name, 24)
    return cast(cast(shift_right(random_bits(key, shape=shape), 32 - digits), float32) * 2.0**-digits, dtype)


def normal(key: Value, *, shape: Shape, dtype: DType = float32) -> Value:
    """Numbers of the standard normal distribution, by Box and Muller from two streams."""
    angle = uniform(second_stream(key), shape=shape) * (2 * math.pi)
    radius = sqrt(log1p(-uniform(key, shape=shape)) * -2.0)
    return cast(radius * cos(angle), dtype)


def second_stream(key: Value) -> Value:
    """The key of a stream that no counter of draws ever reaches: the top bit of the stream is turned."""
    return Xor()(key, Constant(np.array([0, 0, 0, 1 << 31], np.uint32))())


def bernoulli(key: Value, *, p: float, shape: Shape) -> Value:
    """True with probability p."""
    return Less()(uniform(key, shape=shape), p)


def randint(key: Value, *, low: int, high: int, shape: Shape) -> Value:
    """Integers in [low, high), as int64; the bias is below 2**-24 of the range."""
    if not 0 < high - low <= 1 << 24:
        raise ShapeError(f"randint needs 0 < high - low <= 2**24, got low={low} and high={high}")
    scaled = cast(shift_right(random_bits(key, shape=shape), 8), int64) * (high - low)
    return shift_right(scaled, 24) + low


def dropout(x: Value, key: Value, *, p: float) -> Value:
    """x with each element zero with probability p, the others divided by 1 - p."""
    return Select()(bernoulli(key, p=1 - chance(p), shape=x.shape), x * (1 / (1 - p)), zeros_like(x)) if p else x


def chance(p: float) -> float:
    """The probability with which dropout sets elements to zero: from 0 to less than 1."""
    if not 0 <= number(p, "p of dropout") < 1:
        raise ShapeError(f"dropout needs a probability 0 <= p < 1, got {p}")
    return p


ALL = (RandomBits,)
