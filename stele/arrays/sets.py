"""NumPy's functions of sets, of chosen elements, of rows one by one, and those that write into an array."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stele.arrays.creation import arange, asarray
from stele.arrays.families import cumulative_sum, isin
from stele.arrays.functions import broadcast_to, concatenate, moveaxis, reshape, stack
from stele.arrays.sized import masked_select, nonzero, unique_all, unique_values, where
from stele.arrays.tensor import Tensor, TensorLike, constant
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ir.types import axis_of
from stele.ops import arguments


@public
def union1d(x: TensorLike, z: TensorLike, size: int | None = None) -> Tensor:
    """The distinct elements of x and `z` together, a row in ascending order. `size` and errors as of `unique_values`.

    Dtypes meet as in `equal`. Raises ShapeError for a negative size, DTypeError for what is no number.

    >>> st.union1d(st.tensor([3, 1]), st.tensor([1, 2])).tolist()
    [1, 2, 3]
    """
    return unique_values(concatenate([constant(x), constant(z)], axis=None), size)


@public
def intersect1d(x: TensorLike, z: TensorLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements of x that are also in `z`, a row in ascending order. How many is looked at: not compiled.

    With `return_indices` a tuple, with the positions of the first of each in the flat x, and in z. Of any shapes;
    dtypes meet as in `equal`. `assume_unique` changes nothing, here as in NumPy, where elements are. Raises DTypeError
    for what is no number.

    >>> st.intersect1d(st.tensor([3, 1, 3]), st.tensor([3, 2])).tolist()
    [3]
    """
    arguments.flag(assume_unique, "assume_unique of intersect1d")
    if not arguments.flag(return_indices, "return_indices of intersect1d"):
        own = unique_values(x)
        return masked_select(own, isin(own, constant(z)))
    own, other = unique_all(x), unique_all(z)
    here, there = isin(own.values, other.values), isin(other.values, own.values)
    return tuple(map(masked_select, (own.values, own.indices, other.indices), (here, here, there)))


@public
def setdiff1d(x: TensorLike, z: TensorLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements of x that are not in `z`, a row in ascending order. How many is looked at: not compiled.

    Of any shapes; dtypes meet as in `equal`. With `assume_unique` in the order of x, whose elements are taken to be
    distinct. Raises DTypeError for what is no number.

    >>> st.setdiff1d(st.tensor([3, 1, 2]), st.tensor([3])).tolist()
    [1, 2]
    """
    own = reshape(x, (-1,)) if arguments.flag(assume_unique, "assume_unique of setdiff1d") else unique_values(x)
    return masked_select(own, isin(own, constant(z), invert=True))


@public
def setxor1d(x: TensorLike, z: TensorLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements of x or `z`, not of both, a row in ascending order. How many is looked at: not compiled.

    Of any shapes; dtypes meet as in `equal`. `assume_unique` changes nothing where elements are. Raises DTypeError for
    what is no number.

    >>> st.setxor1d(st.tensor([1, 2]), st.tensor([2, 3])).tolist()
    [1, 3]
    """
    arguments.flag(assume_unique, "assume_unique of setxor1d")
    return unique_values(concatenate([setdiff1d(x, z), setdiff1d(z, x)]))


@public
def flatnonzero(x: TensorLike, size: int | None = None, fill: int = 0) -> Tensor:
    """The positions in the flat array of the elements of x that are not 0, int64; `size` and `fill` as of `nonzero`.

    x has any shape. Raises ShapeError for a negative size, DTypeError for what is no number.

    >>> st.flatnonzero(st.tensor([[0, 7], [8, 0]])).tolist()
    [1, 2]
    """
    return nonzero(constant(x).reshape(-1), size, fill)[0]


@public
def extract(condition: TensorLike, x: TensorLike) -> Tensor:
    """The elements of the flat x where the flat `condition` is not 0. How many is looked at: not compiled.

    Of any shapes, in the dtype of x. Raises DTypeError for what is no number.

    >>> st.extract(st.tensor([1, 0, 1]), st.tensor([5, 6, 7])).tolist()
    [5, 7]
    """
    return constant(x).reshape(-1)[flatnonzero(condition)]


@public
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Tensor:
    """The parts of x along an axis where `condition`, a row as long or shorter, is true; of the flat x without an axis.

    How many is looked at: not compiled. In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.compress(st.tensor([False, True]), st.tensor([[1, 2], [3, 4]]), axis=0).tolist()
    [[3, 4]]
    """
    x = constant(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return moveaxis(moveaxis(x, axis, 0)[flatnonzero(condition)], 0, axis)


@public
def trim_zeros(x: TensorLike, trim: str = "fb") -> Tensor:
    """A row without the zeros in front ("f" in `trim`) and behind ("b"). How many is looked at: not compiled.

    In the dtype of x. Raises ShapeError unless x is a row, OptionError for another `trim`.

    >>> st.trim_zeros(st.tensor([0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """
    x, trim = constant(x), arguments.choice(trim, "trim of trim_zeros", ("fb", "f", "b", "bf"))
    at = flatnonzero(x).tolist() or [0, -1]
    return x[at[0] if "f" in trim else 0: at[-1] + 1 if "b" in trim else None]


@public
def put(x: Tensor, i: TensorLike, v: TensorLike) -> None:
    """Rebinds x to itself with the elements `i` of the flat array replaced by `v`, from its first again where it ends.

    What is written is cast to the dtype of x. x keeps its shape. Raises ArgumentError for other than tensors.

    >>> x = st.arange(4)
    >>> st.put(x, st.tensor([0, -1]), st.tensor([7, 8]))
    >>> x.tolist()
    [7, 1, 2, 8]
    """
    flat, i, v = mine(x, "put").reshape(-1), constant(i).reshape(-1), constant(v).reshape(-1)
    flat[i] = v[arange(i.shape[0]) % max(v.size, 1)].astype(x.dtype)
    x.assign(flat.reshape(x.shape))


@public
def putmask(x: Tensor, mask: TensorLike, v: TensorLike) -> None:
    """Rebinds x to itself with the elements where `mask` is true replaced by those of `v`, repeated.

    What is written is cast to the dtype of x. x keeps its shape. Raises ArgumentError for other than tensors.

    >>> x = st.arange(4)
    >>> st.putmask(x, x > 1, 9)
    >>> x.tolist()
    [0, 1, 9, 9]
    """
    v = constant(v).reshape(-1)
    full = v[arange(mine(x, "putmask").size) % v.size].reshape(x.shape).astype(x.dtype)
    x.assign(where(constant(mask).astype("bool"), full, x))


@public
def place(x: Tensor, mask: TensorLike, v: TensorLike) -> None:
    """Rebinds x to itself with the elements where `mask` is true replaced, in order, by those of `v`, again and again.

    What is written is cast to the dtype of x. x keeps its shape. Raises ArgumentError for other than tensors.

    >>> x = st.arange(4)
    >>> st.place(x, st.tensor([True, False, True, True]), st.tensor([7, 8]))
    >>> x.tolist()
    [7, 1, 8, 7]
    """
    x, v, chosen = mine(x, "place"), constant(v).reshape(-1), constant(mask).astype("bool").reshape(-1)
    rank = (cumulative_sum(chosen.astype("int64")) - 1).clip(0, None) % v.size
    x.assign(where(chosen, v[rank].astype(x.dtype), x.reshape(-1)).reshape(x.shape))


@public
def copyto(x: Tensor, source: TensorLike, mask: TensorLike | None = None) -> None:
    """Rebinds x to the elements of `source`, broadcast and cast to it, everywhere or where `mask` is true.

    What is written is cast to the dtype of x. Raises ArgumentError for other than tensors.

    >>> x = st.zeros(2)
    >>> st.copyto(x, 3)
    >>> x.tolist()
    [3.0, 3.0]
    """
    new = broadcast_to(constant(source), mine(x, "copyto").shape).astype(x.dtype)
    x.assign(new if mask is None else where(constant(mask), new, x))


@public
def fill_diagonal(x: Tensor, v: TensorLike) -> None:
    """Rebinds x, of two axes or more, to itself with `v`, a number or a row, on its main diagonal.

    What is written is cast to the dtype of x. Raises ArgumentError for other than tensors and ShapeError for a row.

    >>> x = st.zeros((2, 2))
    >>> st.fill_diagonal(x, 5)
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    if mine(x, "fill_diagonal").ndim < 2:
        raise ShapeError(f"fill_diagonal needs two axes or more, got {x.shape}")
    n = min(x.shape)
    v = constant(v).reshape(-1)
    x[(arange(n),) * x.ndim] = v[arange(n) % v.size].astype(x.dtype)


@public
def put_along_axis(x: Tensor, i: TensorLike, v: TensorLike, axis: int) -> None:
    """Rebinds x to itself with the elements `i` along an axis, as of `take_along_axis`, replaced by `v`, broadcast.

    What is written is cast to the dtype of x. Raises ArgumentError for other than tensors.

    >>> x = st.zeros((2, 3))
    >>> st.put_along_axis(x, st.tensor([[1], [2]]), 9, axis=1)
    >>> x.tolist()
    [[0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]
    """
    axis, i = axis_in(mine(x, "put_along_axis"), axis), constant(i)
    key = tuple(i if k == axis else arange(n).reshape(*(-1 if a == k else 1 for a in range(x.ndim)))
                for k, n in enumerate(x.shape))
    x[key] = constant(v).astype(x.dtype)


def axis_in(x: Tensor, axis: Any) -> int:
    """An axis that x has, from 0."""
    return axis_of(arguments.whole(axis, "an axis"), x.ndim)


def mine(x: Any, name: str) -> Tensor:
    """A tensor, which can be rebound."""
    return x if isinstance(x, Tensor) else arguments.refuse(f"x of {name}", "a tensor", x)


@public
def apply_along_axis(f: Callable[..., Any], axis: int, x: TensorLike, *args: Any) -> Tensor:
    """What `f` makes of each row of x along an axis, and of `args`, in the place of the row: one after the other.

    It may have any number of axes, all of which stand there, and any dtype, the same for each row. Raises ShapeError
    for an axis that x does not have, and what f raises.

    >>> st.apply_along_axis(lambda row: row.max() - row.min(), 1, st.tensor([[1, 5], [2, 9]])).tolist()
    [4, 7]
    """
    arguments.function(f, "f of apply_along_axis")
    x = constant(x)
    at = axis_in(x, axis)
    rows = moveaxis(x, at, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    made = stack([constant(f(flat[k], *args)) for k in range(flat.shape[0])])
    y, new = made.reshape(*rows.shape[:-1], *made.shape[1:]), made.ndim - 1
    return moveaxis(y, tuple(range(-new, 0)), tuple(range(at, at + new)))


@public
def piecewise(x: TensorLike, conditions: Sequence[TensorLike], functions: Sequence[Any]) -> Tensor:
    """For each element what that one of `functions` makes of it whose condition is true, of several the last one.

    `conditions` are bools of the shape of x; functions may be numbers, and one more than there are conditions is for
    where none is true, which is 0 otherwise. Each sees all of x. In the dtype of x. Raises ShapeError for another
    number of functions.

    >>> st.piecewise(st.tensor([-2.0, 3.0]), [st.tensor([True, False])], [lambda x: -x, 10.0]).tolist()
    [2.0, 10.0]
    """
    x = constant(x)
    conditions = arguments.sequence(conditions, "conditions of piecewise", "a list of bools of the shape of x")
    functions = arguments.sequence(functions, "functions of piecewise", "a list of functions and numbers")
    if len(functions) - len(conditions) not in (0, 1):
        raise ShapeError(f"piecewise of {len(conditions)} conditions needs as many functions, or one more, got "
                         f"{len(functions)}")
    made = [broadcast_to(constant(f(x) if callable(f) else f), x.shape).astype(x.dtype) for f in functions]
    y = made[-1] if len(made) > len(conditions) else x * 0
    for condition, part in zip(conditions, made):
        y = where(constant(condition), part, y)
    return y


@public
def block(parts: Any) -> Tensor:
    """One array of nested lists of arrays, `parts`: what stands in the innermost lists is joined along the last axis.

    The next lists along the axis before, and so on; numbers and rows get axes in front. Dtypes meet as in
    `concatenate`. Raises ShapeError where parts do not fit beside each other.

    >>> st.block([[st.ones((1, 1)), st.zeros((1, 2))], [st.zeros((1, 3))]]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    most = max(depth(parts), *(p.ndim for p in leaves(parts)))
    return joined(parts, most, depth(parts))


def depth(parts: Any) -> int:
    """How many lists stand around an array; ShapeError for one that holds nothing."""
    if isinstance(parts, list) and not parts:
        raise ShapeError("block needs an array in each of its lists, got []")
    return 1 + max(map(depth, parts)) if isinstance(parts, list) else 0     # type: ignore[reportUnknownArgumentType]


def leaves(parts: Any) -> list[Tensor]:
    """The arrays in nested lists."""
    return [leaf for part in parts for leaf in leaves(part)] if isinstance(parts, list) else [constant(parts)]   # type: ignore[reportUnknownVariableType]


def joined(parts: Any, ndim: int, level: int) -> Tensor:
    """Nested lists as one array of so many axes."""
    if not isinstance(parts, list):
        x = constant(parts)
        return x.reshape((*(1,) * (ndim - x.ndim), *x.shape))
    inner: list[Tensor] = [joined(part, ndim, level - 1) for part in parts]      # type: ignore[reportUnknownVariableType]
    return concatenate(inner, axis=-level)


@public
def copy(x: TensorLike) -> Tensor:
    """A tensor of its own with the elements of x.

    x has any shape and dtype. Raises DTypeError for what is no number.

    >>> x = st.tensor([1, 2])
    >>> y = st.copy(x)
    >>> y += 1
    >>> x.tolist()
    [1, 2]
    """
    return asarray(x, copy=True)


@public
def shape(x: TensorLike) -> tuple[int, ...]:
    """The lengths of the axes of x, which may be a number or a list.

    x has any dtype. Raises ShapeError for ragged lists, DTypeError for what is no number.

    >>> st.shape([[1, 2, 3]])
    (1, 3)
    """
    return constant(x).shape


@public
def ndim(x: TensorLike) -> int:
    """How many axes x has, which may be a number or a list.

    x has any dtype. Raises ShapeError for ragged lists, DTypeError for what is no number.

    >>> st.ndim([[1, 2, 3]])
    2
    """
    return constant(x).ndim


@public
def size(x: TensorLike, axis: int | None = None) -> int:
    """How many elements x has, which may be a number or a list, or how many along an axis.

    x has any dtype. Raises ShapeError for an axis that x does not have and for ragged lists, DTypeError for what is no
    number.

    >>> st.size([[1, 2, 3]]), st.size([[1, 2, 3]], 0)
    (3, 1)
    """
    x = constant(x)
    return x.size if axis is None else x.shape[axis_in(x, axis)]


__all__ = ["apply_along_axis", "block", "compress", "copy", "copyto", "extract", "fill_diagonal", "flatnonzero",
           "intersect1d", "ndim", "piecewise", "place", "put", "put_along_axis", "putmask", "setdiff1d", "setxor1d",
           "shape", "size", "trim_zeros", "union1d"]
