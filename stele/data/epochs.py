"""One epoch of a loader: which samples are in which batch, and how a worker makes one."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np

from stele.data.chance import BATCHES, Chance, philox, transformer
from stele.data.collating import Laid, joined, mapped
from stele.data.dataset import Dataset, IterableDataset, MappedStream
from stele.data.sets import ArrayDataset, unit
from stele.data.sources import plain
from stele.errors import DataError
from stele.ops.arguments import is_array

_ALONE = 2  # references that getrefcount sees when only the list holds an array: the list's and its own argument
KINDS = 8    # shapes and dtypes of which a worker keeps buffers

Scale = bool | Sequence[bool] | None
Task = Any      # the numbers of samples, or samples with theirs


class Shelf:
    """Arrays of one dtype and one shape but for their rows, used again once nobody else refers to them."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self.made: list[np.ndarray] = []

    def empty(self, rows: int) -> np.ndarray:
        """An array with whatever numbers: the first rows of a longer one, if one is free."""
        made = self.made
        for k in range(len(made)):
            if sys.getrefcount(made[k]) == _ALONE and len(made[k]) >= rows:
                return made[k][:rows]
        made.append(np.empty((rows, *self.shape), self.dtype))
        return made[-1][:]      # a view, so that what is held is seen


class Buffers:
    """The arrays of one worker, by shape and dtype."""

    def __init__(self) -> None:
        self.shelves: dict[tuple[tuple[int, ...], np.dtype[Any]], Shelf] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array with whatever numbers."""
        key = shape[1:], dtype
        if key not in self.shelves:
            if len(self.shelves) >= KINDS:
                self.shelves.pop(next(iter(self.shelves)))      # batches of ever other shapes keep no memory
            self.shelves[key] = Shelf(*key)
        return self.shelves[key].empty(shape[0])


@dataclass
class Epoch:
    """What all workers of an epoch share; `making` gives each the function that makes batch k of a task."""

    data: Dataset | IterableDataset
    seed: int
    epoch: int
    order: np.ndarray | None            # of the samples, one behind the other; None of a stream
    cuts: Sequence[int] | None          # where batches end in it, if not after every `batch_size`
    batch_size: int                     # 0 of a stream of batches
    drop_last: bool
    collate: Callable[[list[Any]], Any] | None
    finish: Callable[..., Any] | None
    scale: Scale
    may_repeat: bool                    # whether a sample may be in the order more than once

    def tasks(self, first: int) -> Iterator[Task]:
        """What each batch is made of, from batch `first` on."""
        if self.order is None:
            return self._read(first)
        n, size = len(self.order), self.batch_size
        if self.cuts is not None:
            return (slice(a, b) for a, b in zip(self.cuts[first:], self.cuts[first + 1:]))
        last = n - n % size if self.drop_last else n
        return (slice(a, min(a + size, n)) for a in range(first * size, last, size))

    def making(self) -> Callable[[int, Task], Any]:
        """The function of a worker, with buffers of its own."""
        gather = self._gathering()
        if self.finish is None:
            return lambda k, task: gather(task)
        finish = transformer(self.finish)

        def make(k: int, task: Task) -> Any:
            return finish(gather(task), lambda: np.random.Generator(philox(self.seed, self.epoch, BATCHES + k)))

        return make

    def _gathering(self) -> Callable[[Task], Any]:
        """What makes the samples of a task one batch."""
        arrays = plain(self.data) if self.collate is None else None
        if arrays is not None and self.order is not None:
            return Rows(*arrays, self.order, self.scale).gather
        buffers = Buffers()
        gather = self._streamed(buffers) if self.order is None else self._sampled(self.order, buffers)
        return lambda task: scaled(gather(task), self.scale, buffers)

    def _sampled(self, order: np.ndarray, buffers: Buffers) -> Callable[[slice], Any]:
        data, again = self.data, repeats(order) if self.may_repeat else None
        assert isinstance(data, Dataset)

        def gather(task: slice) -> Any:
            times = again[task].tolist() if again is not None else repeat(0)
            lay = self._laying(task.stop - task.start, buffers)
            return self._batch([lay(self._sample(data, k, t)) for k, t in zip(order[task].tolist(), times)], buffers)

        return gather

    def _sample(self, data: Dataset, k: int, again: int) -> Any:
        try:
            return data.at(k, Chance(self.seed, self.epoch, k, again))
        except Exception as error:
            error.add_note(f"This was raised for sample {k} of epoch {self.epoch}.")
            raise

    def _laying(self, n: int, buffers: Buffers) -> Callable[[Any], Any]:
        """What is done with each of n samples when it is there: its arrays go to their place in the batch."""
        return (lambda sample: sample) if self.collate else Laid(n, buffers.empty).add

    def _batch(self, samples: list[Any], buffers: Buffers) -> Any:
        if not samples and self.collate is None:
            raise DataError("a batch_sampler asks for a batch of no sample, and nobody knows what would be in it.",
                            hint="Leave it out, or write a collate that makes a batch of an empty list.")
        return joined(samples, buffers.empty) if self.collate is None else self.collate(samples)

    def _layers(self) -> tuple[IterableDataset, list[MappedStream]]:
        """The stream that is read by one worker at a time, and the functions behind it that run in all of them."""
        data, layers = self.data, list[MappedStream]()
        while isinstance(data, MappedStream):
            layers.append(data)
            data = data.base
        assert isinstance(data, IterableDataset)
        return data, layers[::-1]

    def _read(self, first: int) -> Iterator[Task]:
        """The samples of each batch of a stream, as they are read, with the number of the first."""
        samples = self._layers()[0].stream(self.seed, self.epoch)
        size = self.batch_size or 1
        for _ in islice(samples, first * size):     # what was given out is read again, and dropped
            pass
        start = first * size
        while found := list(islice(samples, size)):
            if self.drop_last and len(found) < size:
                return
            yield start, found
            start += len(found)

    def _streamed(self, buffers: Buffers) -> Callable[[Task], Any]:
        layers = self._layers()[1]

        def gather(task: tuple[int, list[Any]]) -> Any:
            start, samples = task
            lay = self._laying(len(samples) if self.batch_size else 0, buffers)
            made = [lay(self._through(layers, sample, start + k)) for k, sample in enumerate(samples)]
            return self._batch(made, buffers) if self.batch_size else made[0]

        return gather

    def _through(self, layers: list[MappedStream], sample: Any, k: int) -> Any:
        try:
            for layer in layers:
                sample = layer.made(sample, self.seed, self.epoch, k)
            return sample
        except Exception as error:
            error.add_note(f"This was raised for sample {k} of epoch {self.epoch}.")
            raise


class Rows:
    """Rows of the arrays that a set is, gathered into arrays that are used again, bytes brought to 0..1 on the way."""

    def __init__(self, data: ArrayDataset, own: np.ndarray | None, order: np.ndarray, scale: Scale) -> None:
        self.data, self.order = data, order if own is None else own[order]
        self.columns: list[tuple[np.ndarray, Shelf, Shelf | None]] = []
        asked = [scale] * len(data.arrays) if scale is None or isinstance(scale, bool) else scale
        for array, wanted in zip(data.arrays, asked):
            is_scaled = array.dtype == np.uint8 and (array.ndim == 4 if wanted is None else wanted)
            floats = Shelf(array.shape[1:], np.dtype(np.float32)) if is_scaled else None
            self.columns.append((array, Shelf(array.shape[1:], array.dtype), floats))

    def gather(self, task: slice) -> Any:
        """The rows of a task, as a sample is made."""
        rows = self.order[task]
        return self.data.sample(tuple(self._column(rows, *column) for column in self.columns))

    def _column(self, rows: np.ndarray, array: np.ndarray, raw: Shelf, floats: Shelf | None) -> np.ndarray:
        found = array.take(rows, 0, raw.empty(len(rows)), "clip")       # "raise" would copy twice
        return found if floats is None else unit(found, floats.empty(len(rows)))


def scaled(batch: Any, scale: Scale, buffers: Buffers) -> Any:
    """A batch whose images, or what is asked for, are float32 in 0..1."""
    if scale is None or isinstance(scale, bool):
        return batch if scale is False else mapped(lambda x: _unit(x, scale is None, buffers), batch)
    return tuple(_unit(part, False, buffers) if asked else part for part, asked in zip(batch, scale))


def _unit(x: Any, images_only: bool, buffers: Buffers) -> Any:
    if not is_array(x) or x.dtype != np.uint8 or (images_only and x.ndim != 4):
        return x
    return unit(x, buffers.empty(x.shape, np.dtype(np.float32)))


def repeats(order: np.ndarray) -> np.ndarray | None:
    """How often each number of an order came before, or None where all are different.

    >>> repeats(np.array([3, 1, 3, 3, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    ranks = np.argsort(order, kind="stable")
    ordered = order[ranks]
    begins = np.r_[True, ordered[1:] != ordered[:-1]][:len(order)]
    if begins.all():
        return None
    places = np.arange(len(order))
    counts = np.empty_like(places)
    counts[ranks] = places - np.maximum.accumulate(np.where(begins, places, 0))
    return counts
