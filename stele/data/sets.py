"""Data sets in memory: checked arrays for training and test."""

from dataclasses import dataclass

import numpy as np

from stele.errors import DataError, DTypeError, kind


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """The samples `x` (N, ...) of one part of a data set, and their labels `y` (N,) int64, as NumPy arrays.

    >>> part = data.Split(np.zeros((5, 1, 28, 28), np.uint8), np.arange(5))
    >>> part, len(part)
    (Split(x=uint8[5, 1, 28, 28], y=int64[5]), 5)
    """

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"Split(x={self.x.dtype}{list(self.x.shape)}, y={self.y.dtype}{list(self.y.shape)})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set under its `name`: the splits `train` and `test` over the same `classes`.

    Images are uint8 (N, C, H, W); `unit` or a `Loader` turns them into float32 in 0..1. Texts are int32 (N, T) word
    numbers, whose words `vocabulary` lists from number 3 on (0 pads, 1 starts, 2 is any other word).

    >>> part = data.Split(np.array([[1, 4], [1, 3]], np.int32), np.array([0, 1]))
    >>> found = data.Dataset("mine", ("bad", "good"), train=part, test=part, vocabulary=("fine", "dull"))
    >>> found.classes[found.train.y[0]], found.vocabulary[found.train.x[0, 1] - 3]
    ('bad', 'dull')
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    vocabulary: tuple[str, ...] = ()

    def __repr__(self) -> str:
        words = f", vocabulary={len(self.vocabulary)} words" if self.vocabulary else ""
        return f"Dataset({self.name!r}, {len(self.classes)} classes, train={self.train}, test={self.test}{words})"


def unit(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The bytes x, uint8 from 0 to 255, as float32 from 0 to 1: x / 255, rounded once; written into `out` if given.

    Of any shape; NumPy's arrays. Raises DTypeError for other bytes than uint8.

    >>> data.unit(np.array([0, 51, 255], np.uint8))
    array([0. , 0.2, 1. ], dtype=float32)
    """
    if getattr(x, "dtype", None) != np.uint8:
        raise DTypeError(f"unit takes bytes, uint8 from 0 to 255, got {getattr(x, 'dtype', kind(x))}")
    return np.divide(x, np.float32(255), out=out, dtype=np.float32)


def split(x: np.ndarray, y: np.ndarray, classes: int, where: str) -> Split:
    """A checked Split: as many labels as samples, at least one, each label in 0..classes-1."""
    if len(x) != len(y):
        raise DataError(f"a data set needs one label per sample, got {len(x)} samples and {len(y)} labels in {where}. "
                        "Are both files from the same set?")
    if len(x) == 0:
        raise DataError(f"a data set needs at least one sample, got an empty one in {where}.")
    wrong = np.flatnonzero((y < 0) | (y >= classes))
    if len(wrong):
        raise DataError(f"labels need to be 0..{classes - 1}, got {y[wrong[0]]} for sample {wrong[0]} in {where}. "
                        "Is it a file of another set?")
    return Split(np.ascontiguousarray(x), y.astype(np.int64))
