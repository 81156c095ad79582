"""STL-10 from the folder of its binary version."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from stele.data.files import place_of, read_bytes
from stele.data.sets import ArrayDataset, Splits, split
from stele.errors import DataError
from stele.interop.keywords import speaks

CLASSES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
PIXELS = 3 * 96 * 96
LARGEST = 1 << 32       # bytes: the unlabelled images have 2.8 billion


@speaks
def stl10(folder: str | Path) -> Splits:
    """STL-10 from the `folder` `stl10_binary`: images (N, 3, 96, 96) uint8, 5,000 for training and 8,000 for the test.

    Labels are 0 to 9 (Coates et al., 2011). Raises DataError for a file that is missing or damaged, ArgumentError for
    what is no path. `download("stl10")` makes such a folder.

    >>> for part in ("train", "test"):
    ...     np.zeros((2, 3, 96, 96), np.uint8).tofile(f"{part}_X.bin")
    ...     np.array([1, 10], np.uint8).tofile(f"{part}_y.bin")
    >>> data.stl10(".").train
    ArrayDataset(uint8[2, 3, 96, 96], int64[2])
    """
    folder = place_of(folder, lambda path: (path / "train_X.bin").is_file(), ("stl10_binary",))
    train, test = (_read(folder, part) for part in ("train", "test"))
    return Splits("STL-10", CLASSES, train, test)


def _read(folder: Path, part: str) -> ArrayDataset:
    """Images one behind the other, of each the channels, of each the columns; labels from 1."""
    path = folder / f"{part}_X.bin"
    content = read_bytes(path, LARGEST)
    if len(content) % PIXELS:
        raise DataError(f"images of STL-10 need {PIXELS} bytes each, got {len(content)} bytes in {path}. "
                        "Unpack the archive again.")
    labels = np.frombuffer(read_bytes(folder / f"{part}_y.bin"), np.uint8).astype(np.int64) - 1
    images = np.frombuffer(content, np.uint8).reshape(-1, 3, 96, 96)
    return split(images.transpose(0, 1, 3, 2), labels, 10, str(path))
