"""Street View House Numbers, the cropped digits, from their .mat files."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from stele.data.matlab import read_mat
from stele.data.sets import ArrayDataset, Splits, split
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks

FILES = ("train_32x32.mat", "test_32x32.mat")


@speaks
def svhn(folder: str | Path) -> Splits:
    """SVHN's digits from the `folder` of `train_32x32.mat` and `test_32x32.mat`: images (N, 3, 32, 32) uint8.

    Labels are the digits 0 to 9 (the files say 10 for 0). 73,257 and 26,032 images (Netzer et al., 2011). Raises
    DataError for a file that is missing or damaged, ArgumentError for what is no path. `download("svhn")` makes such a
    folder.

    ```
    found = data.svhn(data.download("svhn"))
    ```

    >>> try:
    ...     data.svhn("nowhere")
    ... except ValueError as error:
    ...     print(str(error).partition("?")[0])
    reading needs an existing file, got none at nowhere/train_32x32.mat. Is the path right
    """
    folder = located(folder)
    train, test = (read_svhn(folder / name) for name in FILES)
    return Splits("SVHN", tuple("0123456789"), train, test)


def read_svhn(path: Path) -> ArrayDataset:
    """The images and labels of one file: X (32, 32, 3, N) and y (N, 1)."""
    found = read_mat(path)
    x, y = found.get("X"), found.get("y")
    if x is None or y is None or x.dtype != np.uint8 or x.ndim != 4 or x.shape[:3] != (32, 32, 3):
        there = ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in found.items())
        raise DataError(f"SVHN needs X (32, 32, 3, N) of uint8 and y (N, 1), got {there or 'none'} in {path}.")
    labels = y.reshape(-1).astype(np.int64)
    return split(x.transpose(3, 2, 0, 1), np.where(labels == 10, 0, labels), 10, str(path))
