"""One epoch of a loader: which samples are in which batch, and how a worker makes one."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from stele.data.chance import BATCHES, Chance, philox, transformer
from stele.data.collating import joined, mapped
from stele.data.dataset import Dataset, IterableDataset, MappedStream
from stele.data.sets import ArrayDataset, unit
from stele.data.sources import plain
from stele.ops.arguments import is_array

_ALONE = 2  # references that getrefcount sees when only the list holds an array: the list's and its own argument
KINDS = 8    # shapes and dtypes of which a worker keeps buffers

Scale = bool | Sequence[bool] | None
Task = Any      # the numbers of samples, or samples with theirs


class Buffers:
    """Arrays that are used again once nobody else refers to them; those of one worker."""

    def __init__(self) -> None:
        self.made: dict[tuple[tuple[int, ...], np.dtype[Any]], list[np.ndarray]] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array with whatever numbers: the first rows of a longer one, if one is free."""
        if (shape[1:], dtype) not in self.made and len(self.made) >= KINDS:
            self.made.pop(next(iter(self.made)))    # batches of ever other shapes keep no memory
        buffers = self.made.setdefault((shape[1:], dtype), [])
        for k in range(len(buffers)):
            if sys.getrefcount(buffers[k]) == _ALONE and len(buffers[k]) >= shape[0]:
                return buffers[k][:shape[0]]
        buffers.append(np.empty(shape, dtype))
        return buffers[-1][:]       # a view, so that what is held is seen


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
    again: np.ndarray | None = field(init=False)

    def __post_init__(self) -> None:
        self.again = None if self.order is None else repeats(self.order)

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
        buffers = Buffers()
        gather = self._gathering(buffers)
        finish = transformer(self.finish) if self.finish else None

        def make(k: int, task: Task) -> Any:
            batch = scaled(gather(task), self.scale, buffers)
            if finish is None:
                return batch
            return finish(batch, lambda: np.random.Generator(philox(self.seed, self.epoch, BATCHES + k)))

        return make

    def _gathering(self, buffers: Buffers) -> Callable[[Task], Any]:
        """What makes the samples of a task one batch."""
        if self.order is None:
            return self._streamed(buffers)
        order, again = self.order, self.again
        arrays = plain(self.data) if self.collate is None else None
        if arrays is not None:
            return Rows(*arrays, order, self.scale, buffers).gather
        data = self.data
        assert isinstance(data, Dataset)

        def gather(task: slice) -> Any:
            times = again[task] if again is not None else np.zeros(task.stop - task.start, np.int64)
            return self._batch([self._sample(data, int(k), int(t)) for k, t in zip(order[task], times)], buffers)

        return gather

    def _sample(self, data: Dataset, k: int, again: int) -> Any:
        try:
            return data.at(k, Chance(self.seed, self.epoch, k, again))
        except Exception as error:
            error.add_note(f"This was raised for sample {k} of epoch {self.epoch}.")
            raise

    def _batch(self, samples: list[Any], buffers: Buffers) -> Any:
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
            made = [self._through(layers, sample, start + k) for k, sample in enumerate(samples)]
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
    """Rows of the arrays that a set is, gathered into buffers; bytes of images are brought to 0..1 on the way."""

    def __init__(self, data: ArrayDataset, own: np.ndarray | None, order: np.ndarray, scale: Scale,
                 buffers: Buffers) -> None:
        self.data, self.buffers = data, buffers
        self.order = order if own is None else own[order]

    def gather(self, task: slice) -> Any:
        """The rows of a task, as a sample is made."""
        rows = self.order[task]
        return self.data.sample(tuple(
            np.take(array, rows, axis=0, out=self.buffers.empty((len(rows), *array.shape[1:]), array.dtype),
                    mode="clip") for array in self.data.arrays))    # "raise" would copy twice


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
