"""Which samples an epoch has, in which order: functions of (seed, epoch) alone, the same on every NumPy."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stele.data.chance import permutation, philox
from stele.data.dataset import classes_of
from stele.errors import DataError, kind
from stele.interop.keywords import speaks
from stele.ops.arguments import count, whole

POOL = 64       # batches that are sorted by length together


class Sampler:
    """What a Loader takes as `sampler`: called with (seed, epoch) it gives the numbers of samples, in order.

    A class of yours says `__call__` and `__len__`, or `__iter__` and `__len__` as in PyTorch; a plain function does as
    well. A sampler that is iterated gives epoch 0 of seed 0. Raises DataError where a class leaves one out.

    >>> class Backwards(data.Sampler):
    ...     def __len__(self): return 4
    ...     def __call__(self, seed, epoch): return np.arange(4)[::-1]
    >>> [x.tolist() for x in data.Loader(np.arange(4) * 10, batch_size=3, sampler=Backwards())]
    [[30, 20, 10], [0]]
    """

    of: int | None = None       # of how many samples it says something, one by one

    @speaks
    def __init__(self) -> None:
        super().__init__()

    def __call__(self, seed: int, epoch: int) -> Any:
        if type(self).__iter__ is Sampler.__iter__:
            raise DataError(f"{type(self).__name__} needs a method __call__(self, seed, epoch), which gives an order.")
        return np.array([*self], np.int64)

    def __iter__(self) -> Iterator[Any]:
        return iter(self(0, 0))

    def __len__(self) -> int:
        raise DataError(f"{type(self).__name__} needs a method __len__, which says how many samples an epoch has.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"


class SequentialSampler(Sampler):
    """The samples of `data` (a set, or how many there are) as they stand, in every epoch.

    Raises DataError for what has no length.

    >>> data.SequentialSampler(4)(0, 0)
    array([0, 1, 2, 3])
    """

    @speaks
    def __init__(self, data: Any) -> None:
        self.n = counted(data)

    def __len__(self) -> int:
        return self.n

    def __call__(self, seed: int, epoch: int) -> np.ndarray:
        return np.arange(self.n)


class RandomSampler(Sampler):
    """The samples of `data` (a set, or how many there are) in another order in each epoch.

    `num_samples` of them are drawn, all by default; with `replacement` each draw is among all. Raises DataError for
    what has no length, and for more than there are.

    >>> data.RandomSampler(8)(1, 2)
    array([4, 2, 0, 6, 1, 5, 7, 3])
    """

    @speaks
    def __init__(self, data: Any, replacement: bool = False, num_samples: int | None = None) -> None:
        self.n, self.replacement = counted(data), replacement
        self.count = self.n if num_samples is None else counted(num_samples)
        if self.count > self.n and not replacement:
            raise DataError(f"{self.n} samples are not {self.count}. Write replacement=True to draw some twice.")

    def __len__(self) -> int:
        return self.count

    def __call__(self, seed: int, epoch: int) -> np.ndarray:
        if self.replacement:
            return (philox(seed, epoch).random_raw(self.count) % np.uint64(self.n)).astype(np.int64)
        return permutation(self.n, seed, epoch)[:self.count]


class WeightedRandomSampler(Sampler):
    """Samples drawn as often as their `weights` (N,) say, which need not add to 1.

    `num_samples` are drawn, N by default, each among all unless `replacement` is False. Raises DataError for weights
    that are negative or no numbers, and where fewer than `num_samples` can be drawn.

    >>> data.WeightedRandomSampler([0.0, 1.0, 3.0], num_samples=8)(0, 0)
    array([1, 1, 1, 2, 2, 2, 2, 2])
    """

    @speaks
    def __init__(self, weights: Any, num_samples: int | None = None, replacement: bool = True) -> None:
        try:
            self.weights = np.asarray(weights, np.float64)
        except (TypeError, ValueError):
            raise DataError(f"weights are numbers, one for each sample, got {kind(weights)}.") from None
        if self.weights.ndim != 1 or not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise DataError(f"weights are numbers from 0 on, one for each sample, got {weights!r:.60}.")
        self.of = len(self.weights)
        self.count = self.of if num_samples is None else counted(num_samples)
        self.replacement = replacement
        able = int((self.weights > 0).sum())
        if not able or (self.count > able and not replacement):
            raise DataError(f"{able} samples have a weight above 0, got {self.count} to draw.")

    def __len__(self) -> int:
        return self.count

    def __call__(self, seed: int, epoch: int) -> np.ndarray:
        if self.replacement:
            ends = np.cumsum(self.weights)
            draws: Any = _uniform(self.count, seed, epoch) * ends[-1]
            found = np.searchsorted(ends, np.asarray(draws), side="right")
            return np.minimum(found, np.flatnonzero(self.weights)[-1])      # where a product was rounded up to the end
        # Of waiting times with these rates the shortest: Efraimidis and Spirakis, 2006.
        able = np.flatnonzero(self.weights)
        times = _exponential(_uniform(len(able), seed, epoch)) / self.weights[able]
        return able[np.argsort(times, kind="stable")[:self.count]]


class BalancedSampler(Sampler):
    """Each class equally often, whatever their sizes: `labels` (N,) say which class a sample is of.

    An epoch has `num_samples`, N by default, as many of each class (or one more): those of a small class come again,
    none twice before all came once. Raises DataError for labels that are no list.

    >>> data.BalancedSampler(["cat", "dog", "dog", "dog", "dog", "dog"])(0, 0)
    array([0, 0, 4, 5, 0, 3])
    """

    @speaks
    def __init__(self, labels: Any, num_samples: int | None = None) -> None:
        of = classes_of(labels, "labels of BalancedSampler")
        if not len(of):
            raise DataError("a balanced sampler needs the label of at least one sample, got none.")
        self.classes = [np.flatnonzero(of == c) for c in range(of.max() + 1)]
        self.of = len(of)
        self.count = self.of if num_samples is None else counted(num_samples)

    def __len__(self) -> int:
        return self.count

    def __call__(self, seed: int, epoch: int) -> np.ndarray:
        each = -(-self.count // len(self.classes))
        rounds = [[members[permutation(len(members), seed, epoch, 1 + c + turn * len(self.classes))]
                   for turn in range(-(-each // len(members)))] for c, members in enumerate(self.classes)]
        found = np.stack([np.concatenate(turns)[:each] for turns in rounds], axis=1).reshape(-1)[:self.count]
        return found[permutation(self.count, seed, epoch)]


class Batches:
    """The base of what gives batches: called with (seed, epoch) it gives lists of the numbers of samples."""

    of: int | None = None       # as of a Sampler

    def __call__(self, seed: int, epoch: int) -> list[np.ndarray]:
        raise NotImplementedError(f"{type(self).__name__} has no __call__(self, seed, epoch)")

    def __iter__(self) -> Iterator[Any]:
        return iter(self(0, 0))


class BatchSampler(Batches):
    """Batches of what `sampler` gives, `batch_size` each; the last is smaller, or left out with `drop_last`.

    What a Loader takes as `batch_sampler`: called with (seed, epoch) it gives lists of the numbers of samples. Raises
    DataError for a `batch_size` below 1.

    >>> [batch.tolist() for batch in data.BatchSampler(data.SequentialSampler(5), 2)(0, 0)]
    [[0, 1], [2, 3], [4]]
    """

    @speaks
    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        self.sampler: Any = sampler
        if not callable(sampler):
            raise DataError(f"a batch sampler is made of a sampler, got {kind(sampler)}. "
                            "Write data.SequentialSampler(n) or data.RandomSampler(n).")
        self.of = sampler.of if isinstance(sampler, Sampler) else None
        self.batch_size, self.drop_last = at_least_one(batch_size, "batch_size"), drop_last

    def __len__(self) -> int:
        return parts(len(self.sampler), self.batch_size, self.drop_last)

    def __call__(self, seed: int, epoch: int) -> list[np.ndarray]:
        return cut(np.asarray(self.sampler(seed, epoch)), self.batch_size, self.drop_last)


class BucketBatchSampler(Batches):
    """Batches of samples of about the same length, so that little is padded: `lengths` (N,) say how long each is.

    The samples are shuffled (not so with `shuffle=False`), `pool` batches of `batch_size` at a time sorted by length
    and cut, and the batches shuffled again; the last one is smaller, or left out with `drop_last`. Raises DataError for
    lengths that are no numbers and a `batch_size` or `pool` below 1.

    >>> lengths = [9, 1, 8, 2, 7, 3]
    >>> batches = data.BucketBatchSampler(lengths, 2)(0, 0)
    >>> sorted(sorted(lengths[k] for k in batch) for batch in batches)
    [[1, 2], [3, 7], [8, 9]]
    """

    @speaks
    def __init__(self, lengths: Any, batch_size: int, *, pool: int = POOL, drop_last: bool = False,
                 shuffle: bool = True) -> None:
        self.lengths = np.asarray(lengths)
        if self.lengths.ndim != 1 or self.lengths.dtype.kind not in "iuf":
            raise DataError(f"lengths are numbers, one for each sample, got {self.lengths.dtype}"
                            f"{list(self.lengths.shape)}. Write [len(x) for x in samples].")
        self.of = len(self.lengths)
        self.batch_size, self.pool = at_least_one(batch_size, "batch_size"), at_least_one(pool, "pool")
        self.drop_last, self.shuffle = drop_last, shuffle

    def __len__(self) -> int:
        return parts(len(self.lengths), self.batch_size, self.drop_last)

    def __call__(self, seed: int, epoch: int) -> list[np.ndarray]:
        n = len(self.lengths)
        order = permutation(n, seed, epoch) if self.shuffle else np.arange(n)
        pools = cut(order, self.pool * self.batch_size, False)
        batches = [batch for pool in pools for batch in
                   cut(pool[np.argsort(self.lengths[pool], kind="stable")], self.batch_size, self.drop_last)]
        return [batches[k] for k in permutation(len(batches), seed, epoch, 1)] if self.shuffle else batches


def cut(order: np.ndarray, size: int, drop_last: bool) -> list[np.ndarray]:
    """Pieces of `size` numbers."""
    return [order[k * size:(k + 1) * size] for k in range(parts(len(order), size, drop_last))]


def parts(n: int, size: int, drop_last: bool) -> int:
    """How many pieces n samples are."""
    return n // size if drop_last else -(-n // size)


def counted(data: Any) -> int:
    """How many samples there are, of a set or as a number."""
    n: int
    if isinstance(data, int | np.integer) and not isinstance(data, bool):
        n = count(data, "the number of samples")
    elif hasattr(data, "__len__") and getattr(data, "ndim", 1):
        n = len(data)       # pyright: ignore[reportArgumentType]
    else:
        raise DataError(f"a sampler takes a data set, or how many samples there are, got {kind(data)}.")
    if n < 1:
        raise DataError(f"a sampler needs at least one sample, got {n}.")
    return n


def at_least_one(x: Any, what: str) -> int:
    """A whole number above 0."""
    if not isinstance(x, int | np.integer) or isinstance(x, bool):
        raise DataError(f"{what} is a whole number, got {kind(x)}.")
    if x < 1:
        raise DataError(f"{what} is at least 1, got {x}.")
    return whole(x, what)


def _uniform(n: int, seed: int, epoch: int) -> np.ndarray:
    """Numbers in (0, 1): the middles of 2**52 equal parts, exact in float64."""
    return ((philox(seed, epoch).random_raw(n) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0 ** -52


def _exponential(u: np.ndarray) -> np.ndarray:
    """-log(u), of additions, products and quotients alone, which every CPU and every NumPy rounds alike.

    log(m 2**e) = e log 2 + 2 artanh((m - 1) / (m + 1)), the series cut behind t**33: t is at most 1/3 here.
    """
    m, e = np.frexp(u)
    t = (m - 1) / (m + 1)
    total = np.zeros_like(t)
    for k in range(33, 0, -2):
        total = total * (t * t) + 1 / k
    return -(e * 0.6931471805599453 + 2 * t * total)
