"""Batches of arrays, shuffled and gathered by a thread while the last ones are used."""

import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stele.data.sets import unit
from stele.errors import DataError, kind
from stele.ir.door import public
from stele.ops.arguments import is_mapping, is_series

Batch = tuple[np.ndarray, ...]
Transform = Callable[[Batch, np.random.Generator], Batch]
_WORD = (1 << 64) - 1
_ALONE = 2  # references that getrefcount sees when only the list holds an array: the list's and its own argument


class Loader:
    """Batches of arrays that have the same length: `for x, y in Loader((x, y), 64, shuffle=True)`.

    `arrays` are a tuple of them, or a list of samples, `[(x, y), ...]`; the last batch of `batch_size` may be smaller,
    or is left out with `drop_last`. uint8 arrays of images, (N, channels, height, width) or (N, height, width,
    channels), come out as float32 in 0..1 (`unit`), all others as they are: labels, masks, tokens. `scale=True` asks
    that of every uint8 array, `scale=False` of none, and `scale=(True, False)` says it array by array. With `shuffle`
    the order of epoch k is a function of (`seed`, k) alone; every `for` is the next epoch, `batches(k)` is a chosen
    one. `transform(batch, rng)` runs on the loading thread, which is up to `prefetch` batches ahead, with a generator
    of its own for every (seed, epoch, batch). Batches are the reader's to keep: memory is used again only when nothing
    refers to it. Raises DataError for arrays of different lengths, and where other than uint8 is to be scaled.

    >>> loader = data.Loader((np.arange(5), np.arange(5) * 10), batch_size=2)
    >>> [(x.tolist(), y.tolist()) for x, y in loader]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    """

    @public
    def __init__(self, arrays: Sequence[np.ndarray] | Sequence[tuple[Any, ...]], batch_size: int = 64, *,
                 shuffle: bool = False, seed: int = 0, drop_last: bool = False,
                 scale: bool | Sequence[bool] | None = None, transform: Transform | None = None,
                 prefetch: int = 3) -> None:
        self.arrays = _columns(arrays)
        _check(self.arrays, batch_size, prefetch)
        self.scaled = _scaled(self.arrays, scale)
        self.samples = len(self.arrays[0])
        self.batch_size, self.shuffle, self.seed, self.drop_last = batch_size, shuffle, seed, drop_last
        self.transform, self.prefetch = transform, prefetch
        self.epoch, self.first = 0, 0
        self.position = (0, 0)

    def __repr__(self) -> str:
        arrays = ", ".join(f"{array.dtype}{list(array.shape)}" for array in self.arrays)
        return f"Loader(({arrays}), batch_size={self.batch_size}, shuffle={self.shuffle}, seed={self.seed}; " \
               f"{len(self)} batches, next epoch {self.epoch})"

    def __len__(self) -> int:
        """Batches per epoch."""
        full, rest = divmod(self.samples, self.batch_size)
        return full if self.drop_last else full + (rest > 0)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:    # arrays, which compiled functions take as tensors
        epoch, first = self.epoch, self.first
        self.epoch, self.first = epoch + 1, 0
        self.position = (epoch, first)
        return self._counted(epoch, first)

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
        if not (state["epoch"] >= 0 and 0 <= state["batch"] <= len(self)):
            raise DataError(f"the state names batch {state['batch']} of epoch {state['epoch']}, which there is not.")
        self.seed, self.epoch, self.first = state["seed"], state["epoch"], state["batch"]
        self.position = (self.epoch, self.first)

    def order(self, epoch: int) -> np.ndarray:
        """The sample numbers of an epoch, in order: the ranks of raw Philox words, the same on every NumPy."""
        if not self.shuffle:
            return np.arange(self.samples)
        return np.argsort(_philox(self.seed, epoch).random_raw(self.samples), kind="stable")

    def _counted(self, epoch: int, first: int) -> Iterator[Batch]:
        """The batches of one epoch from `first` on; each counts as done when it is given out."""
        for batch in self.batches(epoch, first):
            self.position = (epoch, self.position[1] + 1)
            yield batch
            del batch   # or it could not be used again
        self.position = (epoch + 1, 0)

    def batches(self, epoch: int, first: int = 0) -> Iterator[Batch]:
        """The batches of one epoch from `first` on; leaving the loop early, or an exception in it, stops the thread."""
        feed = _Feed(queue.Queue(self.prefetch))
        thread = threading.Thread(target=feed.run, args=(self._gather(epoch, first),), name="stele-loader", daemon=True)
        thread.start()
        try:
            for _ in range(first, len(self)):
                yield feed.take()
        finally:
            feed.stop()

    def _gather(self, epoch: int, first: int) -> Iterator[Batch]:
        """What the thread runs."""
        order = self.order(epoch)
        recyclers = [_Recycler(array, self.batch_size, scale) for array, scale in zip(self.arrays, self.scaled)]
        for k in range(first, len(self)):
            chosen = order[k * self.batch_size:(k + 1) * self.batch_size]
            batch = tuple(recycler.gather(chosen) for recycler in recyclers)
            if self.transform:
                batch = self.transform(batch, np.random.Generator(_philox(self.seed, epoch, 1 + k)))
            yield batch
            del batch  # or the thread would hold it while it waits


@dataclass
class _Feed:
    """The bounded queue between the loading thread and the loop that reads."""

    ready: queue.Queue[Batch | BaseException]
    stopped: threading.Event = field(default_factory=threading.Event)
    process: int = field(default_factory=os.getpid)

    def run(self, batches: Iterator[Batch]) -> None:
        try:
            for batch in batches:
                self.ready.put(batch)
                del batch
                if self.stopped.is_set():
                    return
        except BaseException as error:  # handed to the reader, who raises it
            self.ready.put(error)

    def take(self) -> Batch:
        if os.getpid() != self.process:
            raise DataError("a loader's thread does not survive a fork, got a loop begun before it. "
                            "Begin a new loop over the loader in the child.")
        item = self.ready.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def stop(self) -> None:
        """After this the thread puts at most one more batch, for which there is room."""
        self.stopped.set()
        if os.getpid() != self.process:
            return
        try:
            while True:
                self.ready.get_nowait()
        except queue.Empty:
            return


class _Recycler:
    """Rows of one array, gathered into buffers that are used again once nobody else refers to them."""

    def __init__(self, source: np.ndarray, rows: int, is_scaled: bool) -> None:
        self.source, self.is_scaled = source, is_scaled
        self.shape = (rows, *source.shape[1:])
        self.raw = np.empty(self.shape, np.uint8) if is_scaled else None
        self.buffers: list[np.ndarray] = []

    def gather(self, chosen: np.ndarray) -> np.ndarray:
        """`source[chosen]`, converted."""
        out = self.buffers[self._free()][:len(chosen)]
        if self.raw is None:
            return np.take(self.source, chosen, axis=0, out=out, mode="clip")  # "raise" would copy twice
        return unit(np.take(self.source, chosen, axis=0, out=self.raw[:len(chosen)], mode="clip"), out)

    def _free(self) -> int:
        """The number of a buffer that only this list refers to."""
        for k in range(len(self.buffers)):
            if sys.getrefcount(self.buffers[k]) == _ALONE:
                return k
        self.buffers.append(np.empty(self.shape, np.float32 if self.is_scaled else self.source.dtype))
        return len(self.buffers) - 1


def _philox(seed: int, epoch: int, stream: int = 0) -> np.random.Philox:
    """The generator of (seed, epoch); streams of it are 2**128 numbers apart."""
    return np.random.Philox(key=(seed & _WORD) | (epoch & _WORD) << 64, counter=stream << 128)


def _scaled(arrays: tuple[np.ndarray, ...], scale: bool | Sequence[bool] | None) -> tuple[bool, ...]:
    """Whether each array is brought to 0..1: those that hold images, if nobody says which."""
    are_bytes = tuple(array.dtype == np.uint8 for array in arrays)
    if scale is None:
        return tuple(is_byte and array.ndim == 4 for is_byte, array in zip(are_bytes, arrays))
    if isinstance(scale, bool):
        return are_bytes if scale else (False,) * len(arrays)
    if len(scale) != len(arrays):
        raise DataError(f"scale says it of {len(scale)} arrays, but the loader has {len(arrays)}.")
    for k, (asked, is_byte) in enumerate(zip(scale, are_bytes)):
        if asked and not is_byte:
            raise DataError(f"scale brings bytes to 0..1, but array {k} is {arrays[k].dtype}. Scale it yourself.")
    return tuple(map(bool, scale))


def _columns(given: Any) -> tuple[np.ndarray, ...]:
    """The arrays, also of a list of samples, each a tuple of what belongs together."""
    if is_mapping(given):
        raise DataError(f"a loader takes a tuple of arrays, got a dict with {', '.join(map(repr, given))}",
                        hint=f"Write Loader(({', '.join(f'd[{name!r}]' for name in given)},), batch_size).")
    if hasattr(given, "ndim"):
        raise DataError(f"a loader takes a tuple of arrays, got one array of shape {tuple(given.shape)}",
                        hint="Write Loader((x,), batch_size), or Loader((x, y), batch_size).")
    if not is_series(given):
        raise DataError(f"a loader takes a tuple of arrays, or a list of samples, got {kind(given)}",
                        hint="Write Loader([data[k] for k in range(len(data))], batch_size); what is to differ from "
                             "epoch to epoch goes into transform=.")
    if isinstance(given, list) and given and all(isinstance(sample, tuple) for sample in given):
        if len(lengths := {len(sample) for sample in given}) > 1:
            raise DataError(f"the samples of a loader are tuples of one length, got {sorted(lengths)}.")
        given = tuple(_stacked(k, [sample[k] for sample in given]) for k in range(len(given[0])))
    return tuple(np.asarray(array) for array in given)


def _stacked(k: int, parts: list[Any]) -> np.ndarray:
    """Entry k of all samples as one array; Python floats become float32, as in a tensor."""
    arrays = [np.asarray(part) for part in parts]
    if len(shapes := {array.shape for array in arrays}) > 1:
        raise DataError(f"entry {k} of the samples has shapes {', '.join(map(str, sorted(shapes)[:4]))}",
                        hint="Samples of a batch need one shape: cut or pad them.")
    stacked = np.stack(arrays)
    return stacked.astype(np.float32) if all(type(part) is float for part in parts) else stacked


def _check(arrays: tuple[np.ndarray, ...], batch_size: Any, prefetch: int) -> None:
    if not arrays:
        raise DataError("a loader needs at least one array, got none. Write Loader((x, y), batch_size).")
    lengths = [len(array) if array.ndim else None for array in arrays]
    if len(set(lengths)) > 1 or None in lengths:
        raise DataError(f"a loader needs arrays of one length, got {lengths}.")
    if not lengths[0]:
        raise DataError("a loader needs at least one sample, got empty arrays.")
    if not isinstance(batch_size, int | np.integer):
        raise DataError(f"batch_size is a whole number, got {kind(batch_size)}",
                        hint="Arrays go into one tuple: Loader((x, y), batch_size).")
    if batch_size < 1:
        raise DataError(f"a loader needs batch_size >= 1, got {batch_size}.")
    if prefetch < 1:
        raise DataError(f"a loader needs prefetch >= 1, got {prefetch}.")
