"""Samples become a batch: stacked leaf by leaf, or padded to the longest."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from stele.errors import DataError, kind
from stele.interop.keywords import speaks
from stele.ops.arguments import is_mapping, is_series, sequence

Empty = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]

ONE_SHAPE = "Samples of a batch need one shape: give images transform=data.transforms.Resize((height, width)), " \
            "sequences collate=data.pad, or write collate=list."


@speaks
def collate(samples: Sequence[Any]) -> Any:
    """A batch of samples: the same tuples and dicts, with arrays of a first axis more.

    Numbers become arrays (N,): int64, float32 (of Python's floats, ints beside them), bool; arrays of a shape are
    stacked to (N, ...) and keep their dtype; lists of numbers are arrays, texts stay lists of them. It is what a Loader
    does without `collate`.
    Raises DataError for samples of different shapes or structures, and for what no batch can hold.

    >>> data.collate([(np.zeros(3), {"label": 1, "text": "a"}), (np.ones(3), {"label": 2, "text": "b"})])
    (array([[0., 0., 0.],
           [1., 1., 1.]]), {'label': array([1, 2]), 'text': ['a', 'b']})
    """
    return joined(_many(samples), np.empty)


def joined(samples: Sequence[Any], empty: Empty, where: str = "a sample") -> Any:
    """`collate`, into arrays that `empty` makes; `where` says of which part of a sample an error is."""
    first = samples[0]
    if is_mapping(first):
        _alike(samples, where, lambda s: set(s) if is_mapping(s) else None)
        return {name: joined([s[name] for s in samples], empty, f"{where}[{name!r}]") for name in first}
    if isinstance(first, tuple):
        _alike(samples, where, lambda s: len(s) if isinstance(s, tuple) else None)      # pyright: ignore
        parts = [joined(part, empty, f"{where}[{k}]") for k, part in enumerate(zip(*samples))]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)       # pyright: ignore
    if isinstance(first, str | bytes) or (is_series(first) and first and isinstance(first[0], str)):
        return list(samples)
    return _stacked(samples, empty, where)


class Row:
    """An array of a sample that lies in its place in the batch already."""

    __slots__ = ("k", "whole")

    def __init__(self, whole: np.ndarray, k: int) -> None:
        self.whole, self.k = whole, k

    def __repr__(self) -> str:
        return repr(self.whole[self.k])


class Laid:
    """Arrays of n samples, each copied to its place in the batch when it is there.

    What it was cut out of can go before the next sample is made, and is still in the cache.
    """

    def __init__(self, n: int, empty: Empty) -> None:
        self.n, self.empty = n, empty
        self.wholes: list[np.ndarray] = []
        self.k = self.place = -1

    def add(self, sample: Any) -> Any:
        """The sample with rows of the batch where its arrays stood."""
        self.k, self.place = self.k + 1, -1
        return mapped(self._lay, sample, lists=False) if self.n else sample

    def _lay(self, x: Any) -> Any:
        if type(x) is not np.ndarray or not x.ndim or x.dtype.hasobject:
            return x
        self.place += 1
        if not self.k:
            self.wholes.append(self.empty((self.n, *x.shape), x.dtype))
        if self.place >= len(self.wholes):
            return x
        whole = self.wholes[self.place]
        if whole.dtype != x.dtype or whole.shape[1:] != x.shape:
            return x
        whole[self.k] = x
        return Row(whole, self.k)


def _stacked(samples: Sequence[Any], empty: Empty, where: str) -> np.ndarray:
    """Leaves as one array."""
    first = samples[0]
    if type(first) is Row and all(type(s) is Row and s.whole is first.whole for s in samples):
        return first.whole
    arrays = [leaf(sample, where) for sample in samples]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        shapes = sorted({array.shape for array in arrays})
        raise DataError(f"{where.replace('a sample', 'sample')} has shapes {', '.join(map(str, shapes[:4]))}",
                        hint=f"{ONE_SHAPE} Arrays that belong together go into a tuple: Loader((x, y), batch_size).")
    return np.stack(arrays, out=empty((len(arrays), *shape), common(samples, arrays)))


def common(samples: Sequence[Any], arrays: Sequence[np.ndarray]) -> np.dtype[Any]:
    """The dtype of leaves and of the arrays that they are; whole numbers of Python beside floats are such, as in a
    tensor."""
    if all(array.dtype == arrays[0].dtype for array in arrays):
        return arrays[0].dtype
    found = np.result_type(*arrays)
    is_python = found == np.float64 and all(type(x) in (bool, int, float, list) for x in samples)
    return np.dtype(np.float32) if is_python else found


def mapped(f: Callable[[Any], Any], x: Any, lists: bool = True) -> Any:
    """A sample or a batch with f(part) where its parts stood: what is in tuples, dicts and, if asked, `lists`.

    >>> mapped(str, (1, {"a": [2, 3]}))
    ('1', {'a': ['2', '3']})
    """
    if isinstance(x, tuple):
        parts: list[Any] = [mapped(f, part, lists) for part in x]   # pyright: ignore[reportUnknownVariableType]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)       # pyright: ignore
    if lists and isinstance(x, list):
        return [mapped(f, part) for part in x]                  # pyright: ignore[reportUnknownVariableType]
    return {name: mapped(f, part, lists) for name, part in x.items()} if is_mapping(x) else f(x)


def leaf(x: Any, where: str) -> np.ndarray:
    """One leaf of a sample as an array; Python's floats become float32, as in a tensor."""
    if type(x) is np.ndarray:
        found = x
    elif type(x) is Row:
        found = x.whole[x.k]
    elif isinstance(x, float):
        return np.asarray(x, np.float32 if type(x) is float else None)
    else:
        try:
            found = np.asarray(x)
        except ValueError as error:
            raise DataError(f"{where} is {kind(x)} that is no array: {error}.") from None
        found = found.astype(np.float32) if isinstance(x, list) and found.dtype == np.float64 else found
    if found.dtype == object:
        raise DataError(f"a batch holds arrays, numbers, texts, tuples and dicts of them, but {where} is "
                        f"{kind(x)}.",     # pyright: ignore[reportUnknownArgumentType]
                        hint="A function of two arguments is given a sample and its generator: of (x, y) write "
                             "lambda sample: (f(sample[0]), sample[1])." if isinstance(x, np.random.Generator) else
                             "Give collate= a function of a list of samples, or collate=list.")
    return found


@speaks
def pad(samples: Sequence[Any] | None = None, value: Any = 0, *, fields: Sequence[Any] | None = None,
        multiple: int = 1, left: bool = False) -> Any:
    """A batch of sequences of many lengths: each is filled up with `value` to the longest, its length stands beside.

    A sequence is an array (T, ...) whose other axes are the same in all samples; it becomes (N, longest, ...) and its
    lengths int64 (N,): behind it where samples are tuples, under `name_lengths` where they are dicts. `fields` are the
    entries that are sequences, all arrays that have an axis by default; what is none is collated. The longest is
    rounded up to a `multiple`, `left` fills in front. Without samples it is a function of them, for a Loader:
    `collate=data.pad`, or `collate=data.pad(value=-1)`. Raises DataError for sequences that differ in other axes, and
    for fields that there are not.

    >>> x, lengths, y = data.pad([([5, 6, 7], 0), ([8], 1)])
    >>> x.tolist(), lengths.tolist(), y.tolist()
    ([[5, 6, 7], [8, 0, 0]], [3, 1], [0, 1])
    """
    width = _multiple(multiple)
    if samples is None:
        return partial(pad, value=value, fields=fields, multiple=width, left=left)
    first = _many(samples)[0]
    if is_mapping(first):
        _alike(samples, "a sample", lambda s: set(s) if is_mapping(s) else None)
        names, made = list(first), dict[Any, Any]()
        for name in names:
            part = [s[name] for s in samples]
            if name in _fields(fields, names, lambda n: first[n]):
                made[name], made[f"{name}_lengths"] = _padded(part, value, width, left, f"sample[{name!r}]")
            else:
                made[name] = joined(part, np.empty, f"a sample[{name!r}]")
        return made
    if not isinstance(first, tuple):
        return _padded(samples, value, width, left, "sample")
    _alike(samples, "a sample", lambda s: len(s) if isinstance(s, tuple) else None)     # pyright: ignore
    found: list[Any] = []
    for k, part in enumerate(zip(*samples)):
        is_field = k in _fields(fields, list(range(len(first))), lambda n: first[n])    # pyright: ignore
        found += _padded(part, value, width, left, f"sample[{k}]") if is_field else \
            [joined(part, np.empty, f"a sample[{k}]")]
    return tuple(found)


def _padded(parts: Sequence[Any], value: Any, multiple: int, left: bool, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of one entry, and their lengths."""
    arrays = [leaf(part, where) for part in parts]
    if any(not a.ndim or a.shape[1:] != arrays[0].shape[1:] for a in arrays):
        shapes = ", ".join(map(str, sorted({a.shape for a in arrays})[:4]))
        raise DataError(f"sequences to be padded differ in their first axis alone, but {where} has shapes {shapes}.")
    full = [a for a in arrays if a.size] or arrays      # an empty list is one of floats
    lengths = np.array([len(a) for a in arrays], np.int64)
    longest = -(-int(lengths.max()) // multiple) * multiple
    try:
        x = np.full((len(arrays), longest, *arrays[0].shape[1:]), value, common(parts, full))
    except (TypeError, ValueError) as error:
        raise DataError(f"value of pad is {value!r:.40}, which does not stand beside elements of {where}: {error}."
                        ) from None
    for row, array in zip(x, arrays):
        row[slice(longest - len(array), None) if left else slice(len(array))] = array
    return x, lengths


def _fields(asked: Sequence[Any] | None, names: list[Any], entry: Callable[[Any], Any]) -> list[Any]:
    """The entries of a sample that are sequences."""
    if asked is not None:
        asked = sequence(asked, "fields of pad", "a list of entries of a sample")
    if asked is None:
        return [n for n in names if not isinstance(entry(n), str | bytes | tuple | dict) and np.ndim(entry(n))]
    if missing := [n for n in asked if n not in names]:
        raise DataError(f"fields of a sample are {', '.join(map(repr, names))}, got {missing[0]!r}.")
    return list(asked)


def _multiple(x: Any) -> int:
    if not isinstance(x, int | np.integer) or x < 1:
        raise DataError(f"multiple is a whole number above 0, got {x!r}.")
    return int(x)   # pyright: ignore[reportUnknownArgumentType]


def _many(samples: Any) -> Sequence[Any]:
    if not is_series(samples) or not samples:
        raise DataError("a batch is made of a list of samples, got "
                        f"{'a list of none' if is_series(samples) else kind(samples)}.")
    return samples


def _alike(samples: Sequence[Any], where: str, structure: Callable[[Any], Any]) -> None:
    """Whether all samples are built as the first one is."""
    wanted = structure(samples[0])
    for k, sample in enumerate(samples):
        if structure(sample) != wanted:
            raise DataError(f"samples of a batch have one structure, but {where} number 0 is {samples[0]!r:.60} and "
                            f"number {k} is {sample!r:.60}.")
