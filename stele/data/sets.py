"""Data sets in memory: checked arrays for training and test."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stele.data.dataset import Dataset, within
from stele.errors import DataError, DTypeError, UnknownName, kind, nearest
from stele.ir.door import public
from stele.ops.arguments import is_array, is_mapping, refuse


class ArrayDataset(Dataset):
    """Arrays whose first axis counts the samples: `ArrayDataset(x, y)`, whose samples are tuples, or named `columns`.

    `arrays` are of any shapes (N, ...) and dtypes; what is no NumPy array becomes one. `ArrayDataset(image=x, label=y)`
    has dicts for samples, and `part["label"]` is that column. `x` and `y` are the first two arrays, or the columns of
    those names. Raises DataError for arrays of different lengths and for none at all, UnknownName for a column that
    there is not.

    >>> part = data.ArrayDataset(np.zeros((5, 1, 28, 28), np.uint8), np.arange(5))
    >>> part, len(part), part.y[3]
    (ArrayDataset(uint8[5, 1, 28, 28], int64[5]), 5, np.int64(3))
    >>> people = data.ArrayDataset(age=[31, 47], name=["Ada", "Alan"])
    >>> people[1], people["age"]
    ({'age': np.int64(47), 'name': np.str_('Alan')}, array([31, 47]))
    """

    @public
    def __init__(self, *arrays: Any, **columns: Any) -> None:
        if bool(arrays) == bool(columns):
            raise DataError("a set of arrays needs at least one array, without names or all with names, got "
                            f"{len(arrays)} without and {len(columns)} with. Write ArrayDataset(x, y).")
        self.names = tuple(columns)
        try:
            self.arrays = tuple(np.asarray(array) for array in arrays or columns.values())
        except ValueError as error:
            raise DataError(f"a set of arrays needs arrays, whose rows have one shape: {error}.") from None
        for given, array in zip(arrays or columns.values(), self.arrays):
            if not array.ndim:
                raise DataError(f"a set of arrays needs arrays whose first axis counts the samples, got {kind(given)}",
                                hint="Write ArrayDataset(**columns) of a dict." if is_mapping(given) else None)
        lengths = [len(array) for array in self.arrays]
        if len(set(lengths)) > 1:
            raise DataError(f"a set of arrays needs arrays of one length, got {lengths}.")

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, k: int | str) -> Any:
        if isinstance(k, str) and self.names:
            return self.column(k)
        k = within(k, len(self))
        return self.sample(tuple(array[k] for array in self.arrays))

    def sample(self, parts: tuple[Any, ...]) -> Any:
        """What belongs together, of each array one, as a sample or a batch holds it."""
        return dict(zip(self.names, parts)) if self.names else parts

    @property
    def x(self) -> np.ndarray:
        """The first array, or the column `x`."""
        return self._named("x", 0)

    @property
    def y(self) -> np.ndarray:
        """The second array, or the column `y`."""
        return self._named("y", 1)

    def column(self, name: str) -> np.ndarray:
        """The array of a name."""
        if name not in self.names:
            near = nearest(name, self.names, 0.6)
            raise UnknownName(f"there is no column {name!r} of {', '.join(map(repr, self.names[:20]))}",
                              hint=near and f"Did you mean {near!r}?")
        return self.arrays[self.names.index(name)]

    def _named(self, name: str, k: int) -> np.ndarray:
        if name in self.names:
            return self.column(name)
        if self.names or k >= len(self.arrays):
            raise UnknownName(f"{self} has no {name!r}.")
        return self.arrays[k]

    def __repr__(self) -> str:
        shown = (f"{array.dtype}{list(array.shape)}" for array in self.arrays)
        named = (f"{name}={array}" for name, array in zip(self.names, shown)) if self.names else shown
        return f"{type(self).__name__}({', '.join(named)})"


@dataclass(frozen=True, eq=False, repr=False)
class Splits:
    """A data set under its `name`: the splits `train` and `test` over the same `classes`.

    Images are uint8 (N, C, H, W); `unit` or a `Loader` turns them into float32 in 0..1. Texts are int32 (N, T) word
    numbers, whose words `vocabulary` lists from number 3 on (0 pads, 1 starts, 2 is any other word).

    >>> part = data.ArrayDataset(np.array([[1, 4], [1, 3]], np.int32), np.array([0, 1]))
    >>> found = data.Splits("mine", ("bad", "good"), train=part, test=part, vocabulary=("fine", "dull"))
    >>> found.classes[found.train.y[0]], found.vocabulary[found.train.x[0, 1] - 3]
    ('bad', 'dull')
    """

    name: str
    classes: tuple[str, ...]
    train: ArrayDataset
    test: ArrayDataset
    vocabulary: tuple[str, ...] = ()

    def __repr__(self) -> str:
        words = f", vocabulary={len(self.vocabulary)} words" if self.vocabulary else ""
        return f"Splits({self.name!r}, {len(self.classes)} classes, train={self.train}, test={self.test}{words})"


@public
def unit(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The bytes x, uint8 from 0 to 255, as float32 from 0 to 1: x / 255, rounded once; written into `out` if given.

    Of any shape; NumPy's arrays. Raises DTypeError for other bytes than uint8, ArgumentError for
    an `out` of another kind or shape.

    >>> data.unit(np.array([0, 51, 255], np.uint8))
    array([0. , 0.2, 1. ], dtype=float32)
    """
    if getattr(x, "dtype", None) != np.uint8:
        raise DTypeError(f"unit takes bytes, uint8 from 0 to 255, got {getattr(x, 'dtype', kind(x))}")
    if out is not None and not (is_array(out) and out.dtype == np.float32 and out.shape == x.shape):
        refuse("out of unit", f"an array float32{list(x.shape)}", out)
    return np.divide(x, np.float32(255), out=out, dtype=np.float32)


def split(x: np.ndarray, y: np.ndarray, classes: int, where: str) -> ArrayDataset:
    """A checked set: as many labels as samples, at least one, each label in 0..classes-1."""
    if len(x) != len(y):
        raise DataError(f"a data set needs one label per sample, got {len(x)} samples and {len(y)} labels in {where}. "
                        "Are both files from the same set?")
    if len(x) == 0:
        raise DataError(f"a data set needs at least one sample, got an empty one in {where}.")
    wrong = np.flatnonzero((y < 0) | (y >= classes))
    if len(wrong):
        raise DataError(f"labels need to be 0..{classes - 1}, got {y[wrong[0]]} for sample {wrong[0]} in {where}. "
                        "Is it a file of another set?")
    return ArrayDataset(np.ascontiguousarray(x), y.astype(np.int64))
