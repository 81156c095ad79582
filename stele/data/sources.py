"""What a Loader makes of what it is given: a set with numbers, or a stream."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stele.data.collating import ONE_SHAPE, common, leaf, mapped
from stele.data.dataset import Dataset, IterableDataset, Subset
from stele.data.sets import ArrayDataset, Splits
from stele.data.tables import is_frame, table
from stele.errors import DataError, kind
from stele.ops.arguments import is_mapping, is_series


class Alone(ArrayDataset):
    """One array, whose entries along the first axis are the samples."""

    def sample(self, parts: tuple[Any, ...]) -> Any:
        """The part itself."""
        return parts[0]


class Foreign(Dataset):
    """A set of another library, or a list: whatever has `__len__` and `__getitem__`."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, k: int) -> Any:
        return arrays_of(self.base[k])

    def begin(self, epoch: int) -> None:
        """Tells the other set which epoch it is, if it asks."""
        begin(self.base, epoch)

    def __repr__(self) -> str:
        return f"{kind(self.base).partition(' ')[2]} of {len(self)} samples"


class ForeignStream(IterableDataset):
    """A stream of another library: whatever can be iterated anew. `is_batched` where what it gives are batches."""

    def __init__(self, base: Any, is_batched: bool = False) -> None:
        super().__init__()
        self.base, self.is_batched = base, is_batched

    def __iter__(self) -> Iterator[Any]:
        return (arrays_of(sample) for sample in self.base)

    def stream(self, seed: int, epoch: int) -> Iterator[Any]:
        """The samples of an epoch, of which the other stream is told."""
        begin(self.base, epoch)
        return iter(self)

    def __repr__(self) -> str:
        return kind(self.base).partition(" ")[2]


def draws_elsewhere(made: Any) -> bool:
    """Whether batches come in an order that another library draws anew each time, by a generator of its own."""
    return isinstance(made, ForeignStream) and type(getattr(made.base, "sampler", None)).__name__ == "RandomSampler"


def begin(base: Any, epoch: int) -> None:
    """Tells a stream or a sampler of another library which epoch it is, by its method of that name."""
    told: Callable[[int], Any] | None = getattr(base, "set_epoch", None)
    if told is not None:
        told(epoch)


def source(given: Any, keep: bool = False) -> Dataset | IterableDataset:
    """The set or stream that was meant. With `keep` samples of a list are not stacked before they are asked for."""
    if isinstance(given, Dataset | IterableDataset):
        return given
    _refuse(given)
    if is_frame(given):
        return table(given)
    if is_mapping(given):
        return ArrayDataset(**given)
    if isinstance(given, tuple):
        return ArrayDataset(*given)     # pyright: ignore[reportUnknownArgumentType]
    if hasattr(given, "ndim") and hasattr(given, "shape"):
        return Alone(given)
    if is_series(given):
        return _listed(given, keep)
    if hasattr(given, "__getitem__") and hasattr(given, "__len__") and not _is_stream(given):
        return Foreign(given)
    if hasattr(given, "__iter__"):
        return ForeignStream(given, hasattr(given, "batch_sampler") and hasattr(given, "dataset"))
    raise DataError(f"a loader takes arrays, a data set or a stream of samples, got {kind(given)}",
                    hint="A data set has __len__ and __getitem__, a stream __iter__: see data.Dataset.")


def arrays_of(sample: Any) -> Any:
    """A sample with arrays where PyTorch's tensors stood, and Pillow's images, which become (C, H, W)."""
    torch, pillow = (sys.modules.get(name) for name in ("torch", "PIL.Image"))
    if (torch is None and pillow is None) or type(sample) in (np.ndarray, int, float, str):
        return sample

    def array(x: Any) -> Any:
        if torch is not None and isinstance(x, torch.Tensor):
            return x.detach().cpu().numpy()
        return channels_first(x) if pillow is not None and isinstance(x, pillow.Image) else x

    return mapped(array, sample)


def channels_first(image: Any) -> np.ndarray:
    """The pixels of an image of Pillow's, which has one channel, or those of its colours."""
    grey = image.convert("L") if image.mode == "1" else image
    plain = grey if grey.mode in ("RGB", "RGBA", "L", "I", "I;16", "I;16B", "F") else grey.convert("RGB")
    pixels = np.array(plain)
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)      # a TIFF's may be those of another machine
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def plain(data: Any) -> tuple[ArrayDataset, np.ndarray | None] | None:
    """The arrays that a set is, and which of their samples are its own (None: all), where it is nothing else."""
    own: np.ndarray | None = None
    while type(data) is Subset:
        own = data.indices if own is None else data.indices[own]
        data = data.base
    if isinstance(data, ArrayDataset) and type(data).at is Dataset.at and type(data).__getitem__ is \
            ArrayDataset.__getitem__:
        return data, own
    return None


def _listed(given: Any, keep: bool) -> Dataset:
    """A list of samples; tuples are stacked to arrays at once, as long as nobody wants to see them one by one."""
    is_named = bool(given) and hasattr(given[0], "_fields")     # whose batches have the names too
    if not keep and given and not is_named and all(isinstance(sample, tuple) for sample in given):
        if len(lengths := {len(sample) for sample in given}) > 1:
            raise DataError(f"the samples of a loader are tuples of one length, got {sorted(lengths)}.")
        if all(_is_leaf(part) for part in given[0]):
            return ArrayDataset(*(_column(k, [sample[k] for sample in given]) for k in range(len(given[0]))))
    return Foreign(given)


def _is_leaf(part: Any) -> bool:
    return not isinstance(part, str | bytes | tuple | list | dict)


def _column(k: int, parts: list[Any]) -> np.ndarray:
    """Entry k of all samples as one array."""
    arrays = [leaf(arrays_of(part), f"entry {k} of a sample") for part in parts]
    if len(shapes := {array.shape for array in arrays}) > 1:
        raise DataError(f"entry {k} of the samples has shapes {', '.join(map(str, sorted(shapes)[:4]))}",
                        hint=ONE_SHAPE)
    return np.stack(arrays, dtype=common(parts, arrays), casting="same_kind")


def _is_stream(given: Any) -> bool:
    """Whether a set of PyTorch's is a stream: it inherits a `__getitem__` that only raises."""
    return any(base.__name__ == "IterableDataset" for base in type(given).__mro__)


def _refuse(given: Any) -> None:
    """What is nearly a data set, with what to write instead."""
    if isinstance(given, Splits):
        raise DataError(f"a loader takes one part of a data set, got {given!r:.80}", hint="Write Loader(found.train).")
    if is_mapping(given) and any(hasattr(part, "column_names") for part in given.values()):
        raise DataError(f"a loader takes one part of a data set, got {', '.join(map(repr, given))}",
                        hint=f"Write Loader(found[{next(iter(given))!r}]).")
    if isinstance(given, str | bytes):
        raise DataError(f"a loader takes arrays, a data set or a stream of samples, got {given!r:.60}",
                        hint="Of files make a set: data.ImageFolder, data.TextFolder or data.table.")
    if isinstance(given, Iterator):     # pyright: ignore
        raise DataError(f"a loader reads its data anew in each epoch, got {kind(given)}, which can be read once",   # pyright: ignore
                        hint="Write data.IterableDataset(f) with a function f that makes it, or list(...) of it.")
