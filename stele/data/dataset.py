"""Data sets: what has samples by number, or one after the other, and what is made of them."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.data.chance import SHUFFLED, Chance, of_a_sample, permutation, philox, transformer
from stele.errors import DataError, IndexOutOfRange, kind
from stele.interop.keywords import answering, speaks
from stele.interop.names import SETS, STREAMS
from stele.ir.door import public
from stele.ops.arguments import function, is_series, whole


class Dataset:
    """Samples by number: a class of yours says `__len__` and `__getitem__`, and has all methods here.

    A sample is an array, a number, a str, or a tuple or dict of samples. Raises DataError where a class leaves one of
    the two out, and for parts that there are not; IndexOutOfRange for the number of no sample.

    >>> class Squares(data.Dataset):
    ...     def __len__(self): return 6
    ...     def __getitem__(self, k): return k, k * k
    >>> squares = Squares()
    >>> list(squares.filter(lambda sample: sample[1] % 2 == 0).map(lambda sample: sample[1]))
    [0, 4, 16]
    >>> some, others = squares.split(0.5, 0.5, seed=1)
    >>> len(some), len(others), len(some + others), (some + others)[5] == others[2]
    (3, 3, 6, True)
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a data set", SETS)

    @speaks
    def __init__(self) -> None:
        super().__init__()

    def __len__(self) -> int:
        raise DataError(f"{type(self).__name__} needs a method __len__, which says how many samples there are.")

    def __getitem__(self, k: int) -> Any:
        raise DataError(f"{type(self).__name__} needs a method __getitem__(self, k), which gives sample k.")

    def at(self, k: int, chance: Chance) -> Any:
        """Sample k, as random as `chance` says where something about it is; a Loader asks so."""
        return self[k]

    def begin(self, epoch: int) -> None:
        """What a Loader says before each epoch, for sets that differ from one to the next."""

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    @speaks
    def map(self, f: Callable[..., Any]) -> Dataset:
        """The set of f(sample), or f(sample, rng) where f takes two: a generator of (seed, epoch, k), by the Loader."""
        return Mapped(self, function(f, "map"))

    @public
    def filter(self, f: Callable[[Any], Any]) -> Dataset:
        """The samples for which f(sample) is true; all are looked at once, now."""
        f = of_a_sample(f, "filter")
        return Subset(self, np.flatnonzero([bool(f(sample)) for sample in self]))

    @public
    def subset(self, indices: Any) -> Dataset:
        """The samples that `indices` chooses as x[indices] would: numbers in any order, a mask, a slice."""
        return Subset(self, chosen(len(self), indices))

    @public
    def take(self, n: int) -> Dataset:
        """The first n samples, or all if there are fewer."""
        count: int = whole(n, "take(n)", low=0)
        return Subset(self, np.arange(min(count, len(self))))

    @speaks
    def split(self, *parts: Any, seed: int | None = 0, stratify: Any = None) -> tuple[Dataset, ...]:
        """Parts that share no sample, drawn by `seed` (None: in order): split(0.8, 0.2), or counts, or a list.

        One part alone comes with the rest: split(0.8) is split(0.8, 0.2). `stratify` are labels (N,), of whose classes
        each part has the share that the whole has, as nearly as counts allow.
        """
        n, parts = len(self), tuple(parts[0]) if len(parts) == 1 and is_series(parts[0]) else parts
        counts = _counts(n, parts)
        order = np.arange(n) if seed is None else permutation(n, whole(seed, "seed"), 0)
        order = order if stratify is None else spread(order, stratify)
        ends = np.cumsum([0, *counts, *([n - counts[0]] if len(counts) == 1 else [])])
        return tuple(Subset(self, order[a:b]) for a, b in pairwise(ends))

    @public
    def __add__(self, other: Any) -> Dataset:
        """The samples of both, one set behind the other."""
        return Joined(self, other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} samples)"


class Mapped(Dataset):
    """The samples of another set, each put through a function."""

    def __init__(self, base: Dataset, f: Callable[..., Any]) -> None:
        self.base, self.f = base, transformer(f)

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, k: int) -> Any:
        return self.at(k, Chance(0, 0, k))

    def begin(self, epoch: int) -> None:
        """Passed on."""
        self.base.begin(epoch)

    def at(self, k: int, chance: Chance) -> Any:
        """Sample k of the other set, transformed."""
        return self.f(self.base.at(k, chance), chance.rng)


class Subset(Dataset):
    """Some samples of another set, in an order of their own."""

    def __init__(self, base: Dataset, indices: np.ndarray) -> None:
        self.base, self.indices = base, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, k: int) -> Any:
        return self.base[int(self.indices[within(k, len(self))])]

    def begin(self, epoch: int) -> None:
        """Passed on."""
        self.base.begin(epoch)

    def at(self, k: int, chance: Chance) -> Any:
        """The sample that number k stands for."""
        return self.base.at(int(self.indices[k]), chance)


class Joined(Dataset):
    """The samples of two sets, one behind the other."""

    def __init__(self, first: Dataset, second: Any) -> None:
        if not isinstance(second, Dataset):
            raise DataError(f"a data set is joined with another one, got {kind(second)}",
                            hint="Write data.ArrayDataset(x, y) of arrays.")
        self.first, self.second = first, second

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def __getitem__(self, k: int) -> Any:
        k = within(k, len(self))
        return self.first[k] if k < len(self.first) else self.second[k - len(self.first)]

    def begin(self, epoch: int) -> None:
        """Passed on."""
        self.first.begin(epoch)
        self.second.begin(epoch)

    def at(self, k: int, chance: Chance) -> Any:
        """Sample k of both."""
        n = len(self.first)
        return self.first.at(k, chance) if k < n else self.second.at(k - n, chance)


class IterableDataset:
    """Samples one after the other: a class of yours says `__iter__`, which begins anew each time it is called.

    `make` is a function that does so, where no class is written: `IterableDataset(lambda: read("log.txt"))`. How many
    there are need not be known. Raises DataError without either, ArgumentError where `make` is no function.

    >>> numbers = data.IterableDataset(lambda: iter(range(10)))
    >>> odd = numbers.filter(lambda k: k % 2).map(lambda k: k * 10)
    >>> list(odd), list(odd.take(2)), list(odd.shard(1, 2))
    ([10, 30, 50, 70, 90], [10, 30], [30, 70])
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a stream", STREAMS)

    layer = 0   # how many functions that may be random stand behind each other

    @speaks
    def __init__(self, make: Callable[[], Iterator[Any]] | None = None) -> None:
        self.make = None if make is None else function(make, "make")

    def __iter__(self) -> Iterator[Any]:
        make = getattr(self, "make", None)      # a class of the user's may not call __init__
        if make is None:
            raise DataError(f"{type(self).__name__} needs a method __iter__, which begins anew each time.")
        return iter(make())

    def stream(self, seed: int, epoch: int) -> Iterator[Any]:
        """The samples of an epoch, where something about them is random or follows from its number."""
        return iter(self)

    @speaks
    def map(self, f: Callable[..., Any]) -> IterableDataset:
        """The stream of f(sample), or f(sample, rng) where f takes two: a generator of (seed, epoch, number)."""
        return MappedStream(self, function(f, "map"))

    @public
    def filter(self, f: Callable[[Any], Any]) -> IterableDataset:
        """The samples for which f(sample) is true."""
        return Stream(self, partial(filter, of_a_sample(f, "filter")))

    @public
    def take(self, n: int) -> IterableDataset:
        """The first n samples."""
        whole(n, "n of take", 0, sys.maxsize)
        return Stream(self, partial(_sliced, slice(n)))

    @public
    def shard(self, k: int, n: int) -> IterableDataset:
        """Part k of n: samples k, k + n, k + 2n, ...; a class that can skip files may say it in another way."""
        n, k = whole(n, "n of shard", 1, sys.maxsize), whole(k, "k of shard", 0)
        if k >= n:
            raise DataError(f"shard {k} of {n} is none: they are 0 to {n - 1}.")
        return Stream(self, partial(_sliced, slice(k, None, n)))

    @public
    def shuffle(self, size: int) -> IterableDataset:
        """The samples in another order in each epoch: each is drawn, by the Loader's seed, of the next `size`."""
        return Shuffled(self, whole(size, "shuffle(size)", low=1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _sliced(part: slice, samples: Iterator[Any]) -> Iterator[Any]:
    return islice(samples, part.start, part.stop, part.step)


class Stream(IterableDataset):
    """Some samples of another stream."""

    def __init__(self, base: IterableDataset, choose: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        self.base, self.choose, self.layer = base, choose, base.layer

    def __iter__(self) -> Iterator[Any]:
        return self.stream(0, 0)

    def stream(self, seed: int, epoch: int) -> Iterator[Any]:
        """Those of the other one in this epoch."""
        return self.choose(self.base.stream(seed, epoch))


class MappedStream(IterableDataset):
    """The samples of another stream, each put through a function."""

    def __init__(self, base: IterableDataset, f: Callable[..., Any]) -> None:
        self.base, self.f, self.layer = base, transformer(f), base.layer + 1

    def __iter__(self) -> Iterator[Any]:
        return self.stream(0, 0)

    def stream(self, seed: int, epoch: int) -> Iterator[Any]:
        """Those of the other one in this epoch, transformed."""
        return (self.made(sample, seed, epoch, k) for k, sample in enumerate(self.base.stream(seed, epoch)))

    def made(self, sample: Any, seed: int, epoch: int, k: int) -> Any:
        """The sample with number k, transformed."""
        return self.f(sample, Chance(seed, epoch, k, self.layer).rng)


class Shuffled(IterableDataset):
    """The samples of another stream, each drawn of so many that were read before it."""

    def __init__(self, base: IterableDataset, size: int) -> None:
        self.base, self.size, self.layer = base, size, base.layer + 1

    def __iter__(self) -> Iterator[Any]:
        return self.stream(0, 0)

    def stream(self, seed: int, epoch: int) -> Iterator[Any]:
        """Those of the other one in this epoch, in an order that (seed, epoch) says."""
        words, held = philox(seed, epoch, SHUFFLED + self.layer), list[Any]()
        for sample in self.base.stream(seed, epoch):
            if len(held) < self.size:
                held.append(sample)
                continue
            k = int(words.random_raw()) % self.size
            yield held[k]
            held[k] = sample
        for k in np.argsort(words.random_raw(len(held)), kind="stable"):
            yield held[k]


def within(k: Any, n: int) -> int:
    """The number of a sample, from the end if it is negative."""
    if not isinstance(k, int | np.integer):
        raise DataError(f"a sample is asked for by its number, got {kind(k)}. Write x.subset(...) of several.")
    if not -n <= k < n:
        raise IndexOutOfRange(f"the set has {n} samples, got number {k}.")
    return int(k) % n   # pyright: ignore[reportUnknownArgumentType]


def spread(order: np.ndarray, labels: Any) -> np.ndarray:
    """An order of samples in which each class comes as evenly as it can, so that every piece has its share of it."""
    found = classes_of(labels, "stratify")
    if len(found) != len(order):
        raise DataError(f"stratify is a label for each of {len(order)} samples, got {len(found)} labels.")
    _, first, classes, sizes = np.unique(found[order], return_index=True, return_inverse=True, return_counts=True)
    by_class = np.argsort(classes, kind="stable")       # in each class as they were drawn
    rank = np.empty(len(order), np.int64)
    rank[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begins = (np.argsort(np.argsort(first)) + 0.5) / max(len(sizes), 1)     # not all classes at once, if all are small
    return order[np.argsort((rank + begins[classes]) / sizes[classes], kind="stable")]


def classes_of(labels: Any, what: str) -> np.ndarray:
    """The number of each sample's class, of labels (N,) that are numbers or texts.

    >>> classes_of(["dog", "cat", "dog"], "labels").tolist()
    [1, 0, 1]
    """
    try:
        found = np.asarray(labels)
        classes = np.unique(found, return_inverse=True)[1]
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} is a number or a text for each sample, got {kind(labels)}: {error}.") from None
    if found.ndim != 1:
        raise DataError(f"{what} is a label for each sample, got {kind(labels)} of shape {found.shape}",
                        hint="Of arrays it is dataset.y, of a folder of images dataset.labels.")
    return classes


def chosen(n: int, indices: Any) -> np.ndarray:
    """The numbers below n that an index chooses."""
    if isinstance(indices, slice):
        return np.arange(n)[indices]
    asked = np.asarray(indices)
    try:
        found = np.arange(n)[asked if asked.size else asked.astype(np.int64)]   # NumPy's empty list is one of floats
    except IndexError as error:
        raise IndexOutOfRange(f"a subset of {n} samples takes their numbers, a mask or a slice: {error}.") from None
    if found.ndim != 1:
        raise DataError(f"a subset takes numbers along one axis, got an index of shape {asked.shape}.")
    return found


def _counts(n: int, parts: tuple[Any, ...]) -> list[int]:
    """How many samples each part of n has: fractions are rounded where parts meet, so that none is lost."""
    if not parts or any(isinstance(p, bool) or not isinstance(p, int | float | np.number) or p < 0 for p in parts):
        raise DataError(f"split takes fractions or numbers of samples, got {parts}. Write split(0.8, 0.2).")
    if all(isinstance(p, int | np.integer) for p in parts) and parts != (1,):
        counts = [int(p) for p in parts]
    elif sum(parts) <= 1 + 1e-9:
        ends = [min(n, round(n * float(end))) for end in np.cumsum([0.0, *parts])]
        counts = [b - a for a, b in pairwise(ends)]
    else:
        raise DataError(f"the fractions of a split add to 1 at most, got {parts}.")
    if sum(counts) > n:
        raise DataError(f"a split of {n} samples takes no more of them, got parts of {', '.join(map(str, counts))}.")
    return counts
