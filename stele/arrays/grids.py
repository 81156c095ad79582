"""Arrays of places and powers that NumPy makes of sizes: grids, windows, triangles, indices."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from stele.arrays.calling import respelling
from stele.arrays.creation import arange, asarray, eye, named
from stele.arrays.functions import broadcast_arrays, concatenate, meshgrid, stack
from stele.arrays.lines import linspace
from stele.arrays.sized import nonzero
from stele.arrays.tensor import DTypeLike, Tensor, TensorLike, constant, tensor
from stele.errors import BadKey, ShapeError
from stele.ir.door import public
from stele.ops import arguments


def whole(n: Any, what: str) -> int:
    """A number of places that NumPy computes on."""
    return arguments.count(n, what)


def window(n: int, name: str, dtype: DTypeLike | None, *coefficients: float) -> Tensor:
    """A sum of cosines over n places, rounded once."""
    n = whole(n, f"n of {name}")
    t = np.arange(n) * (2 * math.pi / max(n - 1, 1))
    made = sum(c * np.cos(k * t) for k, c in enumerate(coefficients))
    return tensor(made if n != 1 else np.ones(1), named(dtype))


@public
def hanning(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The window of von Hann over `n` places, 0.5 - 0.5 cos, with zeros at both ends. float32 without a `dtype`.

    A row of n numbers. Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return window(n, "hanning", dtype, 0.5, -0.5)


@public
def hamming(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The window of Hamming over `n` places, 0.54 - 0.46 cos. float32 without a `dtype`.

    A row of n numbers. Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.hamming(3)
    tensor([0.08, 1.  , 0.08])
    """
    return window(n, "hamming", dtype, 0.54, -0.46)


@public
def blackman(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The window of Blackman over `n` places, 0.42 - 0.5 cos + 0.08 cos of twice that. float32 without a `dtype`.

    A row of n numbers. Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.blackman(5)[2].tolist()
    1.0
    """
    return window(n, "blackman", dtype, 0.42, -0.5, 0.08)


@public
def bartlett(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The triangular window over `n` places, with zeros at both ends. float32 without a `dtype`.

    A row of n numbers. Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return tensor(np.bartlett(whole(n, "n of bartlett")), named(dtype))


@public
def kaiser(n: int, beta: float, dtype: DTypeLike | None = None) -> Tensor:
    """The window of Kaiser over `n` places, made of Bessel functions, narrower for a greater `beta`.

    float32 without a `dtype`. A row of n numbers. Raises ShapeError for a negative n, DTypeError for another dtype than
    there is.

    >>> st.kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    return tensor(np.kaiser(whole(n, "n of kaiser"), arguments.number(beta, "beta of kaiser")), named(dtype))


@public
def identity(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The square matrix (`n`, n) of zeros with ones on its diagonal; float32 without a `dtype`. See `eye`.

    Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


@public
@respelling
def tri(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """A matrix (`n`, `m`) with ones on and below diagonal `k` and zeros above; float32 without a `dtype`.

    Raises ShapeError for a negative n, DTypeError for another dtype than there is.

    >>> st.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    rows, columns = arange(n).reshape(-1, 1), arange(n if m is None else m)
    return (columns <= rows + arguments.whole(k, "k of tri")).astype(named(dtype))


@public
def indices(shape: Sequence[int], sparse: bool = False) -> Any:
    """The indices of an array of a `shape`: int64 (its axes, *shape), or with `sparse` a tuple of those that differ.

    Raises ShapeError for a negative size and for no axes.

    >>> st.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes: Any = arguments.shape(shape)
    lines = [arange(n) for n in sizes]
    grid = tuple(line.reshape(*(-1 if a == k else 1 for a in range(len(lines)))) for k, line in enumerate(lines))
    return grid if arguments.flag(sparse, "sparse of indices") else stack(meshgrid(*lines, indexing="ij"))


@public
def ix_(*rows: TensorLike | Sequence[Any]) -> tuple[Tensor, ...]:
    """The rows of positions `rows`, each along an axis of its own, so that x[st.ix_(i, j)] takes all their pairs.

    A row of bools stands for the positions where it is true. Of integers or bools. Raises DTypeError for what is no
    number, ShapeError for ragged lists.

    >>> st.arange(9).reshape(3, 3)[st.ix_([0, 2], [1, 2])].tolist()
    [[1, 2], [7, 8]]
    """
    found = [asarray(row) for row in rows]
    found = [nonzero(row)[0] if row.dtype == "bool" else row.astype("int64") if row.size == 0 else row for row in found]
    if any(row.ndim != 1 for row in found):
        raise ShapeError(f"ix_ takes rows of positions, got {', '.join(str(row.shape) for row in found)}")
    return tuple(row.reshape(*(-1 if a == k else 1 for a in range(len(found)))) for k, row in enumerate(found))


@public
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of the length `n`.

    int64 rows of n numbers. Raises ShapeError for less than one axis, and for more than 65,536.

    >>> [i.tolist() for i in st.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    return (arange(n),) * arguments.times(ndim, "ndim of diag_indices", 1)


@public
def ravel_multi_index(i: Sequence[TensorLike], shape: Sequence[int], mode: str = "raise") -> Tensor:
    """The positions in the flat array of a `shape` of the elements at `i`, positions for each axis, as int64.

    Those out of range are an error under `mode` "raise", the nearest under "clip", counted round under "wrap". Raises
    OptionError for another mode.

    >>> st.ravel_multi_index((st.tensor([0, 1]), st.tensor([2, 0])), (2, 3)).tolist()
    [2, 3]
    """
    shape = arguments.shape(shape)      # type: ignore[assignment]
    i = arguments.sequence(i, "i of ravel_multi_index", "a list of positions, for each axis")
    if len(i) != len(shape):
        raise BadKey(f"ravel_multi_index needs positions for each of {len(shape)} axes, got {len(i)}")
    arguments.choice(mode, "mode of ravel_multi_index", ("raise", "clip", "wrap"))
    flat: Any = 0
    for at, n in zip(broadcast_arrays(*map(constant, i)), shape):
        if mode == "raise":
            at = arange(n)[at]
        flat = flat * n + (at % n if mode == "wrap" else at.clip(0, n - 1))
    return flat


@public
def unravel_index(i: TensorLike, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The positions on each axis of an array of a `shape` of the elements that stand at `i` in the flat array.

    int64. Raises IndexOutOfRange for numbers that there are not, as the numbers are looked at where they are there.

    >>> [row.tolist() for row in st.unravel_index(st.tensor([2, 3]), (2, 3))]
    [[0, 1], [2, 0]]
    """
    shape = arguments.shape(shape)      # type: ignore[assignment]
    i = arange(math.prod(shape))[constant(i)]
    parts: list[Tensor] = []
    for n in reversed(shape):
        parts.append(i % n)
        i = i // n
    return tuple(reversed(parts))


@public
def fromfunction(function: Callable[..., Any], shape: Sequence[int], dtype: DTypeLike | None = None) -> Any:
    """What a `function` makes of the indices of an array of a `shape`, one array for each axis, in a `dtype` (float32).

    Raises ShapeError for a negative size, DTypeError for another dtype than there is.

    >>> st.fromfunction(lambda i, j: i + j, (2, 2)).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    arguments.function(function, "function of fromfunction")
    sizes: Any = arguments.shape(shape)
    lines = [arange(n, dtype=named(dtype)) for n in sizes]
    return function(*meshgrid(*lines, indexing="ij"))


class Grid:
    """Grids by slices: `st.mgrid[0:2, 0:3]` has all coordinates, `st.ogrid` those that differ.

    A complex step, as 5j, is a number of places, the end among them.
    """

    def __init__(self, is_open: bool) -> None:
        self.is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        keys = key if arguments.is_series(key) else (key,)
        lines = [line(k) for k in keys]
        if not isinstance(key, tuple):
            return lines[0]
        if self.is_open:
            return tuple(row.reshape(*(-1 if a == k else 1 for a in range(len(lines)))) for k, row in enumerate(lines))
        return stack(meshgrid(*lines, indexing="ij"))


def line(s: slice) -> Tensor:
    """The places of a slice."""
    if not isinstance(s, slice):    # type: ignore[reportUnnecessaryIsInstance]
        arguments.refuse("every index of a grid", "a slice", s)
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    if isinstance(step, complex):
        return linspace(start, s.stop, int(abs(step)))
    return arange(start, s.stop, step)


class Joined:
    """Arrays, numbers, lists and slices in one: `st.r_[x, 0, 1:3]` along the first axis, `st.c_[x, z]` as columns.

    Slices are lines of numbers as of `st.mgrid`; rows of columns are (n, 1). Words of NumPy's for other axes are not
    known: `st.concatenate` has an axis.
    """

    def __init__(self, columns: bool) -> None:
        self.columns = columns

    def __getitem__(self, key: Any) -> Tensor:
        keys = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        parts = [self.part(k) for k in keys]
        return concatenate(parts, axis=-1 if self.columns else 0)

    def part(self, k: Any) -> Tensor:
        """One of what is joined."""
        if isinstance(k, str):
            arguments.refuse("every part of st.r_ and st.c_", "an array, a number, a list or a slice", k,
                             hint="Write st.concatenate([x, y], axis=1), or st.stack.")
        made = line(cast(Any, k)) if isinstance(k, slice) else tensor(k) if isinstance(k, list) else constant(k)
        made = made if made.ndim else made.reshape(1)
        return made[:, None] if self.columns and made.ndim == 1 else made


class Key:
    """What stands between brackets, for later: x[st.s_[1:, ::2]] is x[1:, ::2]."""

    def __getitem__(self, key: Any) -> Any:
        return key


mgrid, ogrid, r_, c_, s_ = Grid(False), Grid(True), Joined(False), Joined(True), Key()

__all__ = ["bartlett", "blackman", "c_", "diag_indices", "fromfunction", "hamming", "hanning", "identity",
           "indices", "ix_", "kaiser", "mgrid", "ogrid", "r_", "ravel_multi_index", "s_", "tri",
           "unravel_index"]
