"""Generators of random numbers as NumPy's: streams with distributions, choices and permutations."""
from __future__ import annotations

import math
import os
from contextvars import Context
from typing import Any

from stele.arrays.continuous import Continuous, Length
from stele.arrays.creation import arange, named
from stele.arrays.discrete import Discrete
from stele.arrays.draws import Draw, Numbers, counts, listed, real, wide_bits
from stele.arrays.families import argsort, cumulative_sum, searchsorted, take_along_axis
from stele.arrays.functions import clip, log, take
from stele.arrays.opensize import plain
from stele.arrays.shapes import shape_of
from stele.arrays.streams import Stream
from stele.arrays.tensor import DTypeLike, Tensor, constant, lift
from stele.errors import DTypeError, ShapeError
from stele.ir.door import public
from stele.ir.graph import literal
from stele.ir.sizes import Size
from stele.ir.types import axis_of, float64, highest, int64, lowest, uint64
from stele.ops import random
from stele.ops.arguments import choice, flag, is_array, is_series, refuse, whole
from stele.ops.generate import quantity

factor, whole_between = lift(random.factor), lift(random.integers)
WORDS = 1 << 64


class Generator(Continuous, Discrete):
    """A stream of random numbers: Philox4x32-10 by Salmon et al. (2011), a function of a `seed` and a count of draws.

    It has the distributions of NumPy's Generator by their names. `st.default_generator` is the one that all functions
    of st draw from. `state` holds the seed (low, high) and the count of draws (low, high) as uint32: a compiled
    function carries it along, and `st.save` keeps it. The numbers are the same in every style and on any number of
    threads; those that NumPy draws (gamma, Poisson and what is made of them) are those of the NumPy that is installed.
    Raises ShapeError for a seed outside of 0 to 2**64 - 1.

    >>> st.manual_seed(7)
    >>> st.default_generator.state.tolist()
    [7, 0, 0, 0]
    >>> rng = st.random.Generator(3)
    >>> rng.normal(size=(2, 3)).shape
    (2, 3)
    """

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of this seed from its beginning, and gives the generator."""
        self.seed(seed)
        return self

    @public
    def integers(self, low: Numbers, high: Numbers | None = None, size: Length = None, dtype: DTypeLike = "int64",
                 endpoint: bool = False) -> Tensor:
        """Random integers from `low` to `high` - 1, or to high itself with `endpoint`; below low without a high.

        Of the shape `size`, or that of the bounds, in any integer `dtype`, or bool; no number comes more often than
        others by more than its share of 2**64. Raises ShapeError for bounds out of order and for those that the
        dtype does not hold, where they are numbers.

        >>> dice = st.random.default_rng(0).integers(1, 7, size=1000)
        >>> int(dice.min()), int(dice.max())
        (1, 6)
        >>> st.random.randint(0, 255, size=3, dtype="uint8", endpoint=True).dtype
        uint8
        """
        low, high = (0, low) if high is None else (low, high)
        return integers(self, low, high, size, dtype, flag(endpoint, "endpoint of integers"))

    @public
    def bytes(self, length: int) -> bytes:
        """So many random bytes as `length` says, now: in a compiled function it raises TraceError.

        >>> len(st.random.default_rng(0).bytes(10))
        10
        """
        d = Draw(self, -(-whole(length, "length of bytes", 0) // 8))
        return wide_bits(d.key, shape=d.shape).numpy().tobytes()[:length]

    @public
    def choice(self, a: Numbers, size: Length = None, replace: bool = True, p: Numbers | None = None,
               axis: int = 0, shuffle: bool = True) -> Tensor:
        """Random elements of `a` along an axis, or of 0 to a - 1, so many as `size` says: any of them as likely.

        Or as likely as `p` (n,) says, which adds up to 1. With `replace` one may come several times; without, it is
        drawn by the order of random numbers, of exponential ones divided by p. `shuffle` changes nothing: the order is
        always random. In the dtype of x, int64 of a number. Raises ShapeError for another length of p, and for more
        than there are without replacement.

        >>> rng = st.random.default_rng(0)
        >>> rng.choice(5, size=(2, 3)).shape, sorted(rng.choice([3, 5, 8], size=3, replace=False).tolist())
        ((2, 3), [3, 5, 8])
        >>> rng.choice(3, size=4, p=[0.0, 1.0, 0.0]).tolist()
        [1, 1, 1, 1]
        """
        pool = constant(listed(a)) if is_series(a) or is_array(a) else a
        axis = whole(axis, "axis of choice")
        n = pool.shape[axis_of(axis, pool.ndim)] if isinstance(pool, Tensor) and pool.ndim else \
            whole(a, "a of choice", 1)
        chances = None if p is None else real(constant(listed(p)), "p").astype(float64)
        if chances is not None and chances.shape != (n,):
            raise ShapeError(f"choice needs one chance for each of {n} elements, got p of the shape {chances.shape}")
        flag(shuffle, "shuffle of choice")
        draw = drawn if flag(replace, "replace of choice") else without_replacement
        i = draw(self, n, () if size is None else size, chances)
        return take(pool, i, axis=axis) if isinstance(pool, Tensor) and pool.ndim else i

    @public
    def permutation(self, x: Numbers, axis: int = 0) -> Tensor:
        """The parts of x along an axis in a random order; of a number the numbers below it.

        In the dtype of x, int64 of a number. Raises ShapeError for an axis that x does not have.

        >>> sorted(st.random.default_rng(0).permutation(5).tolist())
        [0, 1, 2, 3, 4]
        >>> st.random.default_rng(0).permutation(st.zeros((2, 3)), axis=1).shape
        (2, 3)
        """
        x = constant(listed(x)) if is_series(x) or is_array(x) else x
        x = x if isinstance(x, Tensor) and x.ndim else arange(whole(x, "x of permutation", 0))
        return take(x, order(self, x.shape[axis_of(whole(axis, "axis of permutation"), x.ndim)]), axis=axis)

    @public
    def permuted(self, x: Numbers, axis: int | None = None) -> Tensor:
        """The elements of x in a random order along an axis, each row in one of its own; of all without an axis.

        In the dtype of x, int64 of a number. Raises ShapeError for an axis that x does not have.

        >>> x = st.random.default_rng(0).permuted(st.arange(6).reshape(2, 3), axis=1)
        >>> st.sort(x).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        x = constant(listed(x))
        if axis is None:
            return take(x.reshape(-1), order(self, x.size)).reshape(x.shape)
        return take_along_axis(x, argsort(bits(self, x.shape), axis=axis), axis=axis)

    @public
    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Rebinds the tensor x to its parts along an axis in a random order; ArgumentError for other than tensors.

        >>> x = st.arange(4)
        >>> st.random.default_rng(0).shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3]
        """
        if not isinstance(x, Tensor):
            refuse("x of shuffle", "a tensor", x, "Write x = rng.permutation(x).")
        x.assign(self.permutation(x, axis))

    @public
    def multivariate_normal(self, mean: Numbers, cov: Numbers, size: Length = None,
                            dtype: DTypeLike | None = None, method: str = "eigh") -> Tensor:
        """Random vectors of the normal distribution with the `mean` (k,) and the covariances `cov` (k, k).

        (*`size`, k). The factor of cov is made as `method` says: "eigh" (and "svd") also where cov is singular, or
        "cholesky". float64. Raises ShapeError for other shapes and OptionError for another method.

        >>> x = st.random.default_rng(0).multivariate_normal([1.0, 2.0], [[2.0, 1.0], [1.0, 1.0]], size=20000)
        >>> bool((abs(st.cov(x.T) - st.tensor([[2.0, 1.0], [1.0, 1.0]])) < 0.1).all())
        True
        """
        centre, spread = real(constant(listed(mean)), "mean"), real(constant(listed(cov)), "cov")
        if centre.ndim != 1 or spread.shape != centre.shape * 2:
            raise ShapeError(f"multivariate_normal needs mean (k,) and cov (k, k), got {centre.shape} and "
                             f"{spread.shape}")
        d = Draw(self, (*(() if size is None else shape_of((size,))), *centre.shape), dtype, mean=centre, loc=spread[0])
        method = choice(method, "method of multivariate_normal", ("eigh", "svd", "cholesky"))
        return d.made(d["mean"] + d.normal() @ factor(spread.astype(d.wide), method=method).mT)


def bits(stream: Stream, shape: Any) -> Tensor:
    """64 random bits for each element."""
    d = Draw(stream, shape)
    return wide_bits(d.key, shape=d.shape)


def order(stream: Stream, n: int) -> Tensor:
    """The numbers below n in a random order: that of 64 random bits."""
    return argsort(bits(stream, (n,)))


def drawn(stream: Stream, n: int, size: Any, chances: Tensor | None) -> Tensor:
    """Numbers below n, each time any of them: by inversion of the sums of their chances."""
    if chances is None:
        return integers(stream, 0, n, size)
    sums = cumulative_sum(chances)
    u = Draw(stream, size, float64).inner() * sums[-1]
    return clip(searchsorted(sums, u, side="right"), 0, n - 1)


def without_replacement(stream: Stream, n: int, size: Any, chances: Tensor | None) -> Tensor:
    """Numbers below n, each at most once: the first of a race that is won as often as the chances say."""
    many = Draw(stream, size).shape
    count = math.prod(many)     # type: ignore[arg-type]
    if count > n:
        raise ShapeError(f"choice of {count} without replacement needs as many elements, got {n}",
                         hint="Write replace=True, or a smaller size.")
    first = order(stream, n) if chances is None else argsort(-log(Draw(stream, n, float64).inner()) / chances)
    return first[:count].reshape(many)


def integers(stream: Stream, low: Any, high: Any, size: Any, dtype: Any = int64, closed: bool = False,
             device: Any = None) -> Tensor:
    """Integers from low to before high, or to high itself."""
    wanted = named(dtype)
    if wanted.kind not in "iub":
        raise DTypeError(f"random integers need an integer dtype, got {wanted}", hint="Write .astype(dtype) behind it.")
    first, last = (end_of(x) for x in (low, high))
    bounds: dict[str, Any] = {f"low{k}": x for k, x in enumerate((first, last)) if isinstance(x, Tensor)}
    d = Draw(stream, size, None, device, **bounds)
    least, most = (lowest(wanted), highest(wanted)) if wanted.kind != "b" else (0, 1)
    if isinstance(first, int) and isinstance(last, int):
        last += closed
        if not least <= first < last <= most + 1:
            raise ShapeError(f"random integers of {wanted} need {least} <= low < high <= {most + 1}, "
                             f"got low={first} and high={last}")
        span: Any = Tensor(literal((last - first) % WORDS, uint64))
        first = (first + WORDS // 2) % WORDS - WORDS // 2
    else:
        span = (last - first + int(closed)).astype(uint64)
    start = first if isinstance(first, Tensor) else Tensor(literal(first, int64))
    return whole_between(d.key, low=start, span=span, shape=d.shape).astype(wanted)


def end_of(x: Any) -> Any:
    """A bound as a whole number, or as a tensor of them."""
    if isinstance(x, Tensor) or is_array(x) or is_series(x):
        return counts(x, "every bound")
    n = whole(plain(x), "every bound of integers")
    return Tensor(quantity(n)) if isinstance(n, Size) else n


@public
def default_rng(seed: Any = None) -> Generator:
    """A generator of a `seed`, 0 to 2**64 - 1, or one that the system draws; a generator is given as it is.

    Raises ShapeError for a seed outside of these, ArgumentError for what is no whole number.

    >>> st.random.default_rng(1).integers(10, size=3).tolist() == st.default_rng(1).integers(10, size=3).tolist()
    True
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(int.from_bytes(os.urandom(8), "little") if seed is None else seed)


GENERATOR = default_generator = Context().run(Generator)     # of no trace, though one may be the first to ask for it
