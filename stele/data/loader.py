"""Batches of a data set, shuffled and made by workers while the last ones are used."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.data.chance import permutation
from stele.data.dataset import Dataset, IterableDataset
from stele.data.epochs import Epoch
from stele.data.processes import Processes
from stele.data.samplers import Batches, Sampler, parts
from stele.data.sets import ArrayDataset
from stele.data.sources import ForeignStream, begin, draws_elsewhere, source
from stele.data.threads import Threads, inline
from stele.eager.follow import reading
from stele.errors import DataError, kind
from stele.interop.keywords import answering, speaks
from stele.interop.names import LOADERS
from stele.ir.door import leaving
from stele.ir.origin import note
from stele.ops.arguments import is_many, is_mapping, is_series, refuse, whole

MOST_WORKERS = 1024     # each is a thread or a process
MOST_AHEAD = 1 << 16     # batches
FEW = 3     # batches ahead, by default, of each worker 2 where that is more


class Loader:
    """Batches of `data`, epoch by epoch: `for x, y in Loader((x, y), 64, shuffle=True)`.

    `data` are a tuple or a dict of arrays, a list of samples, a `Dataset` or an `IterableDataset`, a frame of pandas,
    Polars or Arrow, a set of Hugging Face or PyTorch (whose DataLoader gives its own batches). The samples of a batch
    of `batch_size` become arrays by `collate`, or by another function of a list of samples; the last batch may be
    smaller, or is left out with `drop_last`. With `shuffle` the order of epoch k is a function of (`seed`, k) alone;
    so it is with a `sampler` or a `batch_sampler`: functions of (seed, epoch) that give numbers of samples, or lists of
    them, or lists of numbers that stay. Every `for` is the next epoch, `batches(k)` is a chosen one.

    `transform(sample)` changes each sample, `batch_transform(batch)` each batch; where they take a second argument it
    is a generator of random numbers that belongs to (seed, epoch, sample) or (seed, epoch, batch). uint8 images
    (N, ..., ..., ...) come out as float32 in 0..1 (`unit`, before `batch_transform`), all else as it is: `scale=True`
    asks that of every uint8 array, `scale=False` of none, and `scale=(True, False)` says it entry by entry.

    Batches are made by `num_workers` threads, or with `processes=True` by processes that pass them on in shared memory;
    with 0 they are made when they are asked for. They are `prefetch` batches ahead (3, or 2 for each worker). Batches,
    order and bits are the same for any number of workers, and are the reader's to keep: memory is used again only when
    nothing refers to it. An error in a worker is raised where the batch would be, with its own traceback. Raises
    DataError for data that are none, and for options that do not fit them or each other.

    >>> loader = data.Loader((np.arange(5), np.arange(5) * 10), batch_size=2)
    >>> [(x.tolist(), y.tolist()) for x, y in loader]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    >>> words = ["to", "be", "or"]
    >>> [batch for batch in data.Loader(words, batch_size=2, transform=str.upper, num_workers=2)]
    [['TO', 'BE'], ['OR']]
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a loader", LOADERS)

    @speaks
    def __init__(self, data: Any, batch_size: int = 64, shuffle: bool = False, *, seed: int = 0,
                 drop_last: bool = False, sampler: Any = None, batch_sampler: Any = None,
                 collate: Callable[[list[Any]], Any] | None = None, transform: Callable[..., Any] | None = None,
                 batch_transform: Callable[..., Any] | None = None, num_workers: int = 1, processes: bool = False,
                 prefetch: int | None = None, scale: bool | Sequence[bool] | None = None) -> None:
        _functions(collate=collate, transform=transform, batch_transform=batch_transform)
        _orders(batch_size, shuffle, drop_last, sampler, batch_sampler)
        self.num_workers = _number(num_workers, "num_workers", 0, MOST_WORKERS)
        few = max(FEW, 2 * self.num_workers)
        self.prefetch = few if prefetch is None else _number(prefetch, "prefetch", 1, MOST_AHEAD)
        self.processes = processes
        if processes and not self.num_workers:
            raise DataError("processes=True needs num_workers >= 1, got 0: then batches are made in the loop itself.")
        made = source(data, keep=collate is not None or transform is not None)
        self.is_batched = isinstance(made, ForeignStream) and made.is_batched
        self.data = made if transform is None else made.map(transform)
        self.batch_size = 0 if self.is_batched else _size(batch_size)
        self.shuffle, self.seed, self.drop_last = shuffle, _number(seed, "seed", None), drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate, self.batch_transform = collate, batch_transform
        self.samples = _samples(made, data)
        self.scale = False if self.is_batched and scale is None else scale
        _streamable(made, shuffle, sampler, batch_sampler)
        _of_all(batch_sampler if sampler is None else sampler, self.samples)
        _scalable(made, self.scale)
        self.epoch, self.first = 0, 0
        self.position = (0, 0)

    def __repr__(self) -> str:
        many = "" if self.samples < 0 else f"{len(self)} batches, "
        return f"Loader({self.data!r}, batch_size={self.batch_size}, shuffle={self.shuffle}, seed={self.seed}; " \
               f"{many}next epoch {self.epoch})"

    def __len__(self) -> int:
        """Batches per epoch; TypeError for a stream of unknown length."""
        if self.batch_sampler is not None:
            return len(self.batch_sampler) if hasattr(self.batch_sampler, "__len__") else len(self.batch_sampler(0, 0))
        if self.samples < 0:
            raise TypeError("nobody knows how many samples a stream has before it ends.")
        if self.sampler is None:
            return parts(self.samples, self.batch_size or 1, self.drop_last)
        many = len(self.sampler) if hasattr(self.sampler, "__len__") else len(self.order(0))
        return parts(many, self.batch_size, self.drop_last)

    def __iter__(self) -> Iterator[Any]:    # arrays, which compiled functions take as tensors
        epoch, first = self.epoch, self.first
        self.epoch, self.first = epoch + 1, 0
        self.position = (epoch, first)
        return reading(self._counted(epoch, first))

    def state_dict(self) -> dict[str, int]:
        """The epoch, the batches of it that were given out, and what the order follows from."""
        epoch, batch = self.position
        return {"epoch": epoch, "batch": batch, "seed": self.seed, "batch_size": self.batch_size,
                "samples": self.samples, "shuffle": self.shuffle}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """The next `for` goes on with the batch behind those that were given out when the state was taken.

        The seed is taken over too. Raises DataError if the state is of a loader of other samples or batches.
        """
        own = self.state_dict()
        if not is_mapping(state) or state.keys() != own.keys() or {*map(type, state.values())} - {int, bool}:
            raise DataError(f"the state is none of a loader: it needs {', '.join(own)}.")
        for name in ("samples", "batch_size", "shuffle"):
            if state[name] != own[name]:
                raise DataError(f"the state is of a loader with {name}={state[name]}, this one has {own[name]}.")
        is_far = self.samples >= 0 and state["batch"] > len(self)
        if state["epoch"] < 0 or state["batch"] < 0 or is_far:
            raise DataError(f"the state names batch {state['batch']} of epoch {state['epoch']}, which there is not.")
        if (state["epoch"] or state["batch"]) and draws_elsewhere(self.data):
            note("PyTorch's DataLoader draws its order from PyTorch's generator, of which no state is kept: what comes "
                 "now is not what came then. Write data.Loader(dataset, batch_size, shuffle=True) of its dataset.")
        self.seed, self.epoch, self.first = state["seed"], state["epoch"], state["batch"]
        self.position = (self.epoch, self.first)

    def order(self, epoch: int) -> np.ndarray:
        """The sample numbers of an epoch, in order: the ranks of raw Philox words, the same on every NumPy."""
        if self.batch_sampler is not None:
            return np.concatenate([np.zeros(0, np.int64), *self._lists(epoch)])
        if self.sampler is not None:
            return _within(_asked(self.sampler, self.seed, epoch), self.samples)
        return permutation(self.samples, self.seed, epoch) if self.shuffle else np.arange(self.samples)

    def batches(self, epoch: int, first: int = 0) -> Iterator[Any]:
        """The batches of one epoch from `first` on; leaving the loop early, or an exception in it, ends the workers."""
        made = self._epoch(epoch)
        if not self.num_workers:
            yield from inline(made, first)
            return
        feed = (Processes if self.processes else Threads)(made, first, self.num_workers,
                                                          self.prefetch + self.num_workers)
        try:
            yield from feed
        except Exception as error:
            leaving(error)
            raise
        finally:
            feed.stop()

    def _counted(self, epoch: int, first: int) -> Iterator[Any]:
        """The batches of one epoch from `first` on; each counts as done when it is given out."""
        try:
            for given, batch in enumerate(self.batches(epoch, first), first + 1):
                self.position = (epoch, given)
                yield batch
                del batch   # or it could not be used again
        except Exception as error:
            leaving(error)
            raise
        self.position = (epoch + 1, 0)

    def _epoch(self, epoch: int) -> Epoch:
        """What the workers of an epoch share."""
        order: np.ndarray | None = None
        cuts: list[int] | None = None
        if isinstance(self.data, Dataset):
            self.data.begin(epoch)
            if self.batch_sampler is not None:
                lists = self._lists(epoch)
                cuts = np.cumsum([0, *map(len, lists)]).tolist()
            order = self.order(epoch)
        return Epoch(self.data, self.seed, epoch, order, cuts, self.batch_size, self.drop_last, self.collate,
                     self.batch_transform, self.scale, self.sampler is not None or self.batch_sampler is not None)

    def _lists(self, epoch: int) -> list[np.ndarray]:
        """The batches that a batch sampler asks for."""
        return [_within(batch, self.samples) for batch in _called(self.batch_sampler, self.seed, epoch)]


def _called(sampler: Any, seed: int, epoch: int) -> Any:
    """What a sampler gives for an epoch: ours are functions, those of others are iterated."""
    if callable(sampler):
        found = sampler(seed, epoch)
        return found if is_many(found) else refuse("what a sampler gives", "the numbers of samples", found)
    begin(sampler, epoch)
    return list(sampler)


def _asked(sampler: Any, seed: int, epoch: int) -> Any:
    found = _called(sampler, seed, epoch)
    return found if hasattr(found, "ndim") else list(found)


def _within(indices: Any, samples: int) -> np.ndarray:
    """The numbers of samples that a sampler gave, checked."""
    try:
        found = np.asarray(indices)
    except ValueError as error:
        raise DataError(f"a sampler gives the numbers of samples along one axis: {error}.") from None
    if not found.size:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(f"a sampler gives the numbers of samples along one axis, got {found.dtype}{list(found.shape)}.")
    if found.min() < 0 or found.max() >= samples:
        raise DataError(f"a sampler of {samples} samples gives 0..{samples - 1}, got {found.min()}..{found.max()}.")
    return found.astype(np.int64)


def _functions(**given: Any) -> None:
    for name, f in given.items():
        if f is not None and not callable(f):
            raise DataError(f"{name} is a function, got {kind(f)}.")


def _orders(batch_size: Any, shuffle: Any, drop_last: Any, sampler: Any, batch_sampler: Any) -> None:
    """Whether one thing alone says what the order is."""
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None and not callable(given) and not is_many(given):
            raise DataError(f"{name} is a function of (seed, epoch), or numbers of samples, got {kind(given)}.")
    if sampler is not None and shuffle:
        raise DataError("a sampler says the order, so that shuffle=True has no meaning beside it: leave one out.")
    if batch_sampler is not None and (sampler is not None or shuffle or drop_last or batch_size != 64):
        raise DataError("a batch_sampler says what is in each batch, so that batch_size, shuffle, drop_last and "
                        "sampler have no meaning beside it: leave them out.")


def _size(batch_size: Any) -> int:
    if not isinstance(batch_size, int | np.integer) or isinstance(batch_size, bool):
        raise DataError(f"batch_size is a whole number, got {kind(batch_size)}",
                        hint="Loop over the data set itself for samples one by one." if batch_size is None else
                        "Arrays go into one tuple: Loader((x, y), batch_size).")
    return _number(batch_size, "batch_size", 1)


def _number(x: Any, name: str, low: int | None, high: int | None = None) -> int:
    if not isinstance(x, int | np.integer) or isinstance(x, bool):
        raise DataError(f"{name} is a whole number, got {kind(x)}.")
    if low is not None and x < low:
        raise DataError(f"a loader needs {name} >= {low}, got {x}.")
    if high is not None and x > high:
        raise DataError(f"a loader needs {name} <= {high}, got {x}.")
    return whole(x, name)


def _samples(made: Dataset | IterableDataset, given: Any) -> int:
    """How many samples there are, -1 of a stream of unknown length."""
    if isinstance(made, IterableDataset):
        return len(given) if hasattr(given, "__len__") else -1
    if not len(made):
        raise DataError(f"a loader needs at least one sample, got {made!r} without any.")
    return len(made)


def _streamable(made: Dataset | IterableDataset, shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
    if isinstance(made, IterableDataset) and (shuffle or sampler is not None or batch_sampler is not None):
        raise DataError("the samples of a stream come in its own order: it takes no shuffle, sampler or batch_sampler",
                        hint="Write stream.shuffle(1000), which draws each sample of so many, or give a set with "
                             "__len__ and __getitem__.")


def _of_all(sampler: Any, samples: int) -> None:
    """Whether what says something of each sample says it of all there are."""
    of = sampler.of if isinstance(sampler, Sampler | Batches) else None
    if of is not None and of != samples:
        raise DataError(f"{type(sampler).__name__} says something of {of} samples, but there are {samples}",
                        hint="It takes one weight, label or length for each sample: weights[labels] of weights of "
                             "classes, labels[subset.indices] of a subset.")


def _scalable(made: Dataset | IterableDataset, scale: Any) -> None:
    """Whether the arrays that are to be brought to 0..1 are there and hold bytes."""
    if scale is None or isinstance(scale, bool):
        return
    if not is_series(scale):
        raise DataError(f"scale is True, False, or says it entry by entry, got {kind(scale)}.")
    if not isinstance(made, ArrayDataset):
        return
    if len(scale) != len(made.arrays) or made.names:
        raise DataError(f"scale says it of {len(scale)} arrays, but the loader has {len(made.arrays)}.")
    for k, (asked, array) in enumerate(zip(scale, made.arrays)):
        if asked and array.dtype != np.uint8:
            raise DataError(f"scale brings bytes to 0..1, but array {k} is {array.dtype}. Scale it yourself.")
