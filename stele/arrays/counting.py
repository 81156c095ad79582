"""Functions whose results have sizes that numbers say, or that are shapes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stele.arrays import shapes
from stele.arrays.functions import broadcast_arrays, take
from stele.arrays.opensize import opened
from stele.arrays.tensor import Tensor, TensorLike, constant, lift, tensor
from stele.errors import DTypeError, ShapeError
from stele.ir import types
from stele.ir.door import public
from stele.ops import arguments, shaping

__all__ = ["broadcast_shapes", "masked_select", "repeat", "tril_indices", "triu_indices"]

repeated = lift(shaping.repeat)


@public
def repeat(x: TensorLike, repeats: int | Sequence[int] | Tensor, axis: int | None = None) -> Tensor:
    """A tensor with each element of an axis as often as `repeats` says, one beside the other, as NumPy's repeat.

    repeats is one number for all, or an array of one for each element. Without an axis x is taken flat. The length that
    an array makes depends on its numbers, which are looked at: in a compiled function they have to be known. Raises
    ShapeError for negative numbers and another number of them.

    >>> st.repeat(st.tensor([[1, 2], [3, 4]]), 2, axis=1).tolist()
    [[1, 1, 2, 2], [3, 3, 4, 4]]
    >>> st.repeat(st.tensor([1, 2, 3]), [2, 0, 1]).tolist()
    [1, 1, 3]
    """
    x, times = constant(x), constant(repeats) if isinstance(repeats, Tensor | np.ndarray | list | tuple) else None
    if times is not None and times.size and times.dtype.kind not in "iu":
        arguments.refuse("repeats of repeat", "whole numbers", repeats)
    if times is None or times.size == 1:
        return repeated(x, repeats if times is None else int(times), axis)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    counts = times.read("repeats of repeat", "Write x[i], with positions i that a program can make, or pass a number.")
    if counts.shape != (x.shape[axis],) or (counts < 0).any():
        raise ShapeError(f"repeat needs one number of 0 or more for each of {x.shape[axis]} elements, got {counts}")
    return take(x, np.repeat(np.arange(counts.size), counts), axis=axis)


@public
def masked_select(x: TensorLike, mask: TensorLike) -> Tensor:
    """The elements of x where `mask` is true, in row-major order, as a vector; both broadcast against each other.

    Its length depends on numbers of the mask, which are looked at: in a compiled function it is refused. Raises
    DTypeError for other than a bool mask.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.masked_select(x, x > 1).tolist(), st.masked_select(x, st.tensor([True, False])).tolist()
    ([2, 3, 4], [1, 3])
    """
    mask = constant(mask)
    if mask.dtype != "bool":
        raise DTypeError(f"masked_select needs a bool mask, got {mask.dtype}", hint="Write mask != 0.")
    whole, places = broadcast_arrays(constant(x), mask)
    return whole[places]


@public
def broadcast_shapes(*given: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of all the `given` shapes broadcast to. Raises ShapeError where they do not fit.

    >>> st.broadcast_shapes((3, 1), (4,), 1)
    (3, 4)
    """
    return tuple(map(opened, types.broadcast_shapes((), *(shapes.shape_of((shape,)) for shape in given))))


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the lower triangle of a matrix (`n`, `m`): on and below diagonal `k`.

    A matrix without m is square.

    >>> [i.tolist() for i in st.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return corner(np.tril_indices, n, k, m)


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the upper triangle of a matrix (`n`, `m`): on and above diagonal `k`.

    A matrix without m is square.

    >>> [i.tolist() for i in st.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return corner(np.triu_indices, n, k, m)


def corner(f: Callable[..., Any], n: int, k: int, m: int | None) -> tuple[Tensor, Tensor]:
    """What a function of NumPy says of the triangles of matrices of a size."""
    sizes = arguments.size(n, "n of a triangle"), arguments.size(n if m is None else m, "m of a triangle")
    rows, columns = f(sizes[0], arguments.whole(k, "k of a triangle"), sizes[1])
    return tensor(rows), tensor(columns)
