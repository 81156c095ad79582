"""Random numbers as functions of a key and an index: counter-based, the same bits on every machine."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from stele.errors import DataError, DTypeError, ShapeError
from stele.ir.graph import Array, Constant, Op, Placed, Value
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import DType, Shape, Type, float32, float64, int64, product, uint32, uint64
from stele.ops.arguments import number
from stele.ops.elementwise.arithmetic import Equal, Less, Maximum, Select
from stele.ops.elementwise.base import Elementwise, needs_real
from stele.ops.elementwise.binary import Xor, shift_left, shift_right
from stele.ops.elementwise.unary import cos, log1p, sqrt
from stele.ops.factors import Cholesky, Eigh
from stele.ops.generate import Generate, iota
from stele.ops.lapack import items
from stele.ops.linear import along, cast, reshape, slice_axis, zeros_like

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
        return super().prepare(*args)

    def type(self, *x: Type) -> Type:
        if [(t.dtype, t.shape) for t in x] != [(uint32, ())] * 4:
            raise DTypeError("RandomBits needs a key uint32[4] (seed low, seed high, stream low, stream high), got "
                             + ", ".join(map(str, x)))
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

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """The same words, each place with a key of its own."""
        e = reshape(iota(product(self.shape)), (1, *self.shape))
        counter = cast(e & 0xFFFFFFFF, uint32), cast(shift_right(e, 32), uint32)
        seed_low, seed_high, *stream = (reshape(along(a, n), (n, *(1,) * len(self.shape))) for a in x)
        return Philox()(*counter, *stream, seed_low, seed_high)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        key = np.array([1, 2, 3, 4], np.uint32)
        return (cls((2, 3)), (key,)), (cls(()), (key,))


class Philox(Elementwise):
    """Word 0 of `philox` for each counter (four operands) and key (two), all of them uint32."""

    arity = 6

    def type(self, *x: Type) -> Type:
        if any(t.dtype != uint32 for t in x):
            raise DTypeError(f"Philox takes words of uint32, got {', '.join(map(str, x))}")
        return x[0]

    def reference(self, *x: Array) -> Array:
        return philox(x[:4], x[4:], multiply_words)[0]

    def scalar(self, s: Scalars[S], *x: S) -> S:
        def multiply(word: S, m: int) -> tuple[S, S]:
            return s.mulhi(word, m), word * m

        return philox(x[:4], x[4:], multiply)[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        words = np.arange(12, dtype=np.uint32).reshape(6, 2) * np.uint32(0x9E3779B1)
        return (cls(), tuple(words)),


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


def wide_bits(key: Value, *, shape: Shape) -> Value:
    """64 random bits per element, as uint64, from two streams."""
    high, low = (cast(random_bits(k, shape=shape), uint64) for k in (key, stream(key, 1)))
    return shift_left(high, 32) | low


def uniform(key: Value, *, shape: Shape, dtype: DType = float32) -> Value:
    """Numbers in [0, 1): as many of the top random bits as the dtype has digits behind the point, 24 at most or 53."""
    if dtype == float64:
        return cast(shift_right(wide_bits(key, shape=shape), 11), float64) * 2.0**-53
    digits = DIGITS.get(dtype.name, 24)
    return cast(cast(shift_right(random_bits(key, shape=shape), 32 - digits), float32) * 2.0**-digits, dtype)


def inner(key: Value, *, shape: Shape, dtype: DType = float32) -> Value:
    """Numbers between 0 and 1, neither of which comes out, as far from 0 as from 1; float32 or float64."""
    if dtype == float64:
        return (cast(shift_right(wide_bits(key, shape=shape), 12), float64) + 0.5) * 2.0**-52
    return (cast(shift_right(random_bits(key, shape=shape), 9), float32) + 0.5) * 2.0**-23


def normal(key: Value, *, shape: Shape, dtype: DType = float32) -> Value:
    """Numbers of the standard normal distribution, by Box and Muller from two streams."""
    wide = float64 if dtype == float64 else float32
    angle = uniform(stream(key, 8), shape=shape, dtype=wide) * (2 * math.pi)
    radius = sqrt(log1p(-uniform(key, shape=shape, dtype=wide)) * -2.0)
    return cast(radius * cos(angle), dtype)


def stream(key: Value, k: int) -> Value:
    """The key of side stream k, 1 to 15, that no counter of draws ever reaches: its top four bits are turned by k.

    That of `wide_bits` is 1, that of `normal` 8: whoever draws several numbers sets them 2 apart, and below 8.
    """
    return Xor()(key, Constant(np.array([0, 0, 0, k << 28], np.uint32))())


def bernoulli(key: Value, *, p: float, shape: Shape) -> Value:
    """True with probability p."""
    return Less()(uniform(key, shape=shape), p)


def integers(key: Value, *, low: Value, span: Value, shape: Shape) -> Value:
    """low, low + 1, ... so many as `span` (uint64, where 0 means 2**64) says, as int64; no bias above span / 2**64.

    The high word of a product of `span` and 64 random bits, as Lemire, "Fast random integer generation in an interval"
    (2019), without his rejection.
    """
    bits = wide_bits(key, shape=shape)
    return cast(Select()(Equal()(span, 0), bits, high_word(bits, span)), int64) + low


def high_word(x: Value, z: Value) -> Value:
    """The upper 64 bits of a product of uint64, by the halves of its factors."""
    (x1, x0), (z1, z0) = ((shift_right(v, 32), v & 0xFFFFFFFF) for v in (x, z))
    middle = x1 * z0 + shift_right(x0 * z0, 32)
    other = x0 * z1 + (middle & 0xFFFFFFFF)
    return x1 * z1 + shift_right(middle, 32) + shift_right(other, 32)


class Sample(Op):
    """Numbers of a distribution whose draws take a number of tries that nobody knows before: what NumPy's Generator
    makes of a Philox counter of its own, set by the key. Parameters stand in its order, the last one has the shape of
    the result.

    The stream of a NumPy release: it changes where NumPy changes how it draws. Raises DataError for parameters that
    the distribution may not have.
    """

    distribution: str

    def type(self, *x: Type) -> Type:
        for operand in x:
            needs_real(self, operand.dtype)
        return x[-1].with_dtype(self.dtype)

    @property
    def dtype(self) -> DType:
        return float64 if self.distribution in FLOATS else int64

    def reference(self, *x: Array) -> Array:
        if x[0].ndim > 1:
            rows = [self.reference(*row) for row in zip(*x)]
            return np.stack(rows) if rows else np.zeros(x[-1].shape, self.dtype.numpy)
        seed, stream = (int(low) | int(high) << 32 for low, high in (x[0][:2], x[0][2:]))
        rng = np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, stream, 0]))  # type: ignore[arg-type]
        try:
            return np.asarray(getattr(rng, self.distribution)(*x[1:]))
        except ValueError as error:
            raise DataError(f"{self.distribution} has no numbers of these parameters: {error}") from None

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        key, rates, trials = np.array([1, 2, 3, 4], np.uint32), np.array([[0.5, 3], [40, 0]]), np.array([5, 6])
        return ((cls("standard_gamma"), (key, rates)), (cls("poisson"), (key, rates)),
                (cls("multinomial"), (key, trials, np.array([[0.25, 0.75], [1, 0]]))))


FLOATS = "standard_gamma", "vonmises"       # distributions of floats


def dropout(x: Value, key: Value, *, p: float) -> Value:
    """x with each element zero with probability p, the others divided by 1 - p."""
    return Select()(bernoulli(key, p=1 - chance(p), shape=x.shape), x * (1 / (1 - p)), zeros_like(x)) if p else x


def chance(p: float) -> float:
    """The probability with which dropout sets elements to zero: from 0 to less than 1."""
    if not 0 <= number(p, "p of dropout") < 1:
        raise ShapeError(f"dropout needs a probability 0 <= p < 1, got {p}")
    return p


def factor(x: Value, *, method: str) -> Value:
    """A matrix whose product with its transpose is a matrix of covariances: of eigenvectors, or by "cholesky"."""
    if method == "cholesky":
        return Cholesky("L")(x)
    values, vectors = items(Eigh("L")(x))
    return vectors * sqrt(Maximum()(values, 0))


ALL = (RandomBits, Philox, Sample)
