"""CIFAR-10 from the folders of its binary and its python version."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from stele.data.files import place_of, read_bytes
from stele.data.pickles import read_pickle
from stele.data.sets import ArrayDataset, Splits, split
from stele.errors import DataError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, is_series

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CIFAR_PLACES = ("cifar-10-batches-bin", "cifar-10-batches-py")
TRAIN = tuple(f"data_batch_{k}" for k in range(1, 6))
TEST = ("test_batch",)
PIXELS = 3 * 32 * 32


def has_binary(folder: Path) -> bool:
    """Whether `folder` holds at least one file of the binary version."""
    return any((folder / f"{name}.bin").is_file() for name in TRAIN + TEST)


def has_python(folder: Path) -> bool:
    """Whether `folder` holds at least one file of the python version."""
    return any((folder / name).is_file() for name in TRAIN + TEST)


def has_cifar(folder: Path) -> bool:
    """Whether `folder` holds files of either version."""
    return has_binary(folder) or has_python(folder)


@speaks
def cifar10(folder: str | Path) -> Splits:
    """CIFAR-10 from the `folder` `cifar-10-batches-bin` or `cifar-10-batches-py`: images (N, 3, 32, 32) uint8.

    Or from a folder that has one of them in it, as `download("cifar10")` makes it. Raises DataError for a file that is
    missing or damaged.

    >>> for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
    ...     np.zeros((2, 1 + 3 * 32 * 32), np.uint8).tofile(f"{name}.bin")     # a label and its pixels, twice
    >>> data.cifar10(".").train
    ArrayDataset(uint8[10, 3, 32, 32], int64[10])
    """
    folder = place_of(folder, has_cifar, CIFAR_PLACES)
    if has_binary(folder):
        read, suffix = _read_binary, ".bin"
    elif has_python(folder):
        read, suffix = _read_python, ""
    else:
        raise DataError(f"CIFAR-10 needs data_batch_1.bin ... test_batch.bin (or the python version's data_batch_1 ... "
                        f"test_batch), got none of them in {folder}. Put the unpacked archive there.")
    return Splits("CIFAR-10", CLASSES, _join(folder, TRAIN, suffix, read), _join(folder, TEST, suffix, read))


def _join(folder: Path, names: tuple[str, ...], suffix: str, read: Callable[[Path], ArrayDataset]) -> ArrayDataset:
    paths = [folder / f"{name}{suffix}" for name in names]
    for path in paths:
        if not path.is_file():
            raise DataError(f"CIFAR-10 needs all of {', '.join(p.name for p in paths)}, got no {path.name} "
                            f"in {folder}. Unpack the archive again.")
    parts = [read(path) for path in paths]
    return ArrayDataset(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))


def _read_binary(path: Path) -> ArrayDataset:
    """Rows of one label byte and 3072 pixel bytes: red, green and blue planes of 32x32."""
    content = read_bytes(path)
    if len(content) % (1 + PIXELS):
        raise DataError(f"a CIFAR-10 binary batch needs rows of {1 + PIXELS} bytes, got {len(content)} bytes "
                        f"in {path}. Unpack the archive again.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, 1 + PIXELS)
    return split(rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0], len(CLASSES), str(path))


def _read_python(path: Path) -> ArrayDataset:
    """A pickled dict of `data` (N, 3072) and `labels`."""
    batch = read_pickle(path)
    missing = [key for key in ("data", "labels") if key not in batch]
    if missing:
        raise DataError(f"a CIFAR-10 python batch needs data and labels, got no {missing[0]} in {path}.")
    x, labels = batch["data"], batch["labels"]
    if not is_array(x) or x.ndim != 2 or x.shape[1] != PIXELS:
        shape = getattr(x, "shape", type(x).__name__)
        raise DataError(f"data of a CIFAR-10 batch needs to be (N, {PIXELS}) uint8, got {shape} in {path}.")
    if not is_series(labels) or not all(type(y) is int and abs(y) < 1 << 31 for y in labels):
        raise DataError(f"labels of a CIFAR-10 batch need to be a list of integers, got something else in {path}.")
    return split(x.reshape(-1, 3, 32, 32), np.array(labels, np.int64), len(CLASSES), str(path))
