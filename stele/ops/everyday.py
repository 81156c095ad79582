"""Functions of NumPy in functions that there are: averages, whole comparisons, divisors, parts of numbers, places."""
from __future__ import annotations

from builtins import all as every
from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, OneOrPair, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Shape, Type, axis_of, below, bool_, float32, product, promote, same, show, uint8, uint64
from stele.ops.along import in_line, take_along
from stele.ops.arguments import whole
from stele.ops.cumulative import cumulative_prod, cumulative_sum
from stele.ops.diagonals import diag, diagonal
from stele.ops.elementwise.arithmetic import Equal, NotEqual, Select
from stele.ops.elementwise.base import Operand, meet
from stele.ops.elementwise.binary import floor_divide, logical_or, remainder, shift_right
from stele.ops.elementwise.signs import SignBit
from stele.ops.elementwise.unary import Abs, isinf, isnan, trunc
from stele.ops.gather import CheckIndex
from stele.ops.indexing import within
from stele.ops.joining import stack
from stele.ops.linear import along, broadcast, cast, expand_dims, full, reshape, zeros_like
from stele.ops.parts import conj, imag
from stele.ops.quantiles import without_nan
from stele.ops.shaping import broadcast_arrays, moveaxis, tile
from stele.ops.sorting import argsort, sort
from stele.ops.statistics import Axes, all, argmax, argmin, count, max, mean, min, sum


class CommonDivisor(Op):
    """The greatest common divisors of integers of one shape and dtype, by NumPy: their steps are not known before."""

    def type(self, *x: Type) -> Type:
        if x[0].dtype.kind not in "iu":
            raise DTypeError(f"common divisors are of integers, got {x[0].dtype}")
        return x[0]

    def reference(self, *x: Array) -> Array: return np.gcd(*x)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([12, -8, 0, 0]), np.array([18, 12, 5, 0]))),


def gcd(x: Operand, z: Operand) -> Value:
    """The greatest common divisors of integers, 0 or more; of 0 and 0 it is 0. Shapes and dtypes meet as in `add`.

    Raises DTypeError for other than integers.

    >>> st.gcd(st.tensor([12, -8, 0]), st.tensor([18, 12, 5])).tolist()
    [6, 4, 5]
    """
    x, z = meet((x, z))
    return CommonDivisor()(x, z)


def lcm(x: Operand, z: Operand) -> Value:
    """The least common multiples of integers, 0 or more; of 0 and anything it is 0. Shapes and dtypes meet as in `add`.
    What the dtype cannot hold wraps around, as in NumPy.

    Raises DTypeError for other than integers.

    >>> st.lcm(st.tensor([4, 0]), st.tensor([-6, 5])).tolist()
    [12, 0]
    """
    x, z = meet((x, z))
    common = CommonDivisor()(x, z)
    return floor_divide(Abs()(x), Select()(Equal()(common, 0), 1, common)) * Abs()(z)


def divmod(x: Operand, z: Operand) -> tuple[Value, Value]:
    """The pair (x // z, x % z). Shapes and dtypes meet as in `add`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> [part.tolist() for part in st.divmod(st.tensor([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    return floor_divide(x, z), remainder(x, z)


def modf(x: Value) -> tuple[Value, Value]:
    """The fractions and the whole parts of x, both of its sign. Integers become float32.

    Zeros too have the sign of x; fractions of infinities are zeros. The derivatives are 1 and 0. x has any shape.
    Raises DTypeError for complex numbers.

    >>> [part.tolist() for part in st.modf(st.tensor([1.75, -2.5]))]
    [[0.75, -0.5], [1.0, -2.0]]
    """
    x = x if x.dtype.is_float else cast(x, float32)
    finite = Select()(isinf(x), zeros_like(x), x)
    part = trunc(finite)
    return Select()(SignBit()(x), -(part - finite), finite - part), trunc(x)        # -0 of -2


def bitwise_count(x: Value) -> Value:
    """How many bits of the absolute value of each integer are set, as uint8. Raises DTypeError for floats.

    By sums in halves of ever more bits (Warren, Hacker's Delight, 5-1). x has any shape.

    >>> st.bitwise_count(st.tensor([0, 7, -8])).tolist()
    [0, 3, 1]
    """
    if x.dtype.kind not in "iub":
        raise DTypeError(f"bitwise_count needs integers, got {x.dtype}")
    x = cast(Select()(x < 0, -x, x) if x.dtype.kind == "i" else x, uint64)
    for width in range(6):
        mask = (1 << 64) // ((1 << (1 << width)) + 1)
        x = (x & mask) + (shift_right(x, 1 << width) & mask)
    return cast(x, uint8)


def isreal(x: Value) -> Value:
    """Whether the imaginary part of each element is 0: True of real numbers.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isreal(st.tensor([1 + 0j, 2j])).tolist()
    [True, False]
    """
    return Equal()(imag(x), 0) if x.dtype.is_complex else full(x.shape, True, bool_)


def iscomplex(x: Value) -> Value:
    """Whether the imaginary part of each element is other than 0: False of real numbers.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.iscomplex(st.tensor([1 + 0j, 2j])).tolist()
    [False, True]
    """
    return NotEqual()(imag(x), 0) if x.dtype.is_complex else full(x.shape, False, bool_)


def array_equal(x: Value, z: Value, *, equal_nan: bool = False) -> Value:
    """Whether x and z have one shape and equal elements, as one bool; a NaN equals a NaN with `equal_nan` alone.

    Shapes and dtypes are any. Raises ArgumentError for what is neither an array nor a number.

    >>> st.array_equal(st.tensor([1, 2]), st.tensor([1.0, 2.0])).tolist()
    True
    """
    if x.ndim != z.ndim or not every(map(same, x.shape, z.shape)):
        return full((), False, bool_)
    equal = Equal()(*meet((x, z)))
    return all(logical_or(equal, isnan(x) & isnan(z)) if equal_nan else equal)


def array_equiv(x: Value, z: Value) -> Value:
    """Whether x and z broadcast to each other and have equal elements there, as one bool.

    Shapes and dtypes are any. Raises ArgumentError for what is neither an array nor a number.

    >>> st.array_equiv(st.tensor([1, 1]), st.tensor(1)).tolist()
    True
    """
    fits = every(a == 1 or b == 1 or same(a, b) for a, b in zip(reversed(x.shape), reversed(z.shape)))
    return all(Equal()(*meet((x, z)))) if fits else full((), False, bool_)


def average(x: Value, *, axis: Axes = None, weights: Value | None = None, keepdims: bool = False,
            returned: bool = False) -> OneOrPair:
    """The mean over one axis, several, or all of them, in which each element counts as much as its `weights` say.

    These have the shape of x, or are one row for one axis. Without them as `mean`. With `returned` a pair, of the mean
    and the sum of the weights in its shape. Integers become float32. Raises ShapeError for other shapes.

    >>> st.average(st.tensor([1.0, 2.0, 6.0]), weights=st.tensor([1.0, 0.0, 3.0])).tolist()
    4.75
    """
    if weights is None:
        y = mean(x, axis=axis, keepdims=keepdims)
        return (y, full(y.shape, 1, y.dtype) * count(x, axis, keepdims, None)) if returned else y
    x = cast(x, promote(x.dtype if x.dtype.is_float else float32, weights.dtype))
    if weights.shape != x.shape:
        if weights.ndim != 1 or not isinstance(axis, int):
            raise ShapeError(f"average needs weights of the shape {show(x.shape)}, or a row for one axis, got "
                             f"{show(weights.shape)}")
        place = axis_of(axis, x.ndim)
        weights = broadcast(reshape(weights, tuple(-1 if k == place else 1 for k in range(x.ndim))), x.shape)
    total = sum(cast(weights, x.dtype), axis=axis, keepdims=keepdims)
    y = sum(x * cast(weights, x.dtype), axis=axis, keepdims=keepdims) / total
    return (y, total) if returned else y


def ptp(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest element less the smallest over one axis, several, or all of them, as of `max` and `min`.

    Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for bools and complex
    numbers.

    >>> st.ptp(st.tensor([[1, 5], [2, 9]]), axis=0).tolist()
    [1, 4]
    """
    return max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)


def trace(x: Value, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The sum of diagonal `offset` of the matrices on the axes `axis1` and `axis2`; of a stack, `st.linalg.trace`.

    Dtype as of `sum`. Raises ShapeError for fewer than two axes, and unless both are axes of x.

    >>> st.trace(st.tensor([[1, 2], [3, 4]])).tolist()
    5
    """
    return sum(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)


def vdot(x: Value, z: Value) -> Value:
    """The sum of the products of the elements of x, conjugated, and z, both taken flat. Dtypes meet as in `add`.

    Any shapes of as many elements. Raises ShapeError where they are not as many.

    >>> st.vdot(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 1, 1, 1])).tolist()
    10
    """
    if not same(x.type.size, z.type.size):
        raise ShapeError(f"vdot needs as many elements of both, got {show(x.shape)} and {show(z.shape)}")
    return sum(conj(reshape(x, (-1,))) * reshape(z, (-1,)), dtype=promote(x.dtype, z.dtype))


def matvec(x: Value, z: Value) -> Value:
    """The products of matrices x (..., m, n) and vectors z (..., n), which broadcast against each other: (..., m).

    Dtypes meet as in `matmul`. Raises ShapeError where lengths do not fit.

    >>> st.matvec(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 1])).tolist()
    [3, 7]
    """
    if x.ndim < 2 or not z.ndim:
        raise ShapeError(f"matvec needs matrices (..., m, n) and vectors (..., n), got {show(x.shape)} and "
                         f"{show(z.shape)}")
    y = x @ reshape(z, (*z.shape, 1))
    return reshape(y, y.shape[:-1])


def vecmat(x: Value, z: Value) -> Value:
    """The products of vectors x (..., m), conjugated, and matrices z (..., m, n): (..., n).

    Dtypes meet as in `matmul`. Raises ShapeError where lengths do not fit.

    >>> st.vecmat(st.tensor([1, 1]), st.tensor([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    if not x.ndim or z.ndim < 2:
        raise ShapeError(f"vecmat needs vectors (..., m) and matrices (..., m, n), got {show(x.shape)} and "
                         f"{show(z.shape)}")
    y = conj(reshape(x, (*x.shape[:-1], 1, x.shape[-1]))) @ z
    return reshape(y, (*y.shape[:-2], y.shape[-1]))


def nancumsum(x: Value, *, axis: int | None = None) -> Value:
    """The running sums along an axis, of the flat array without one, in which NaN counts as 0.

    In the dtype of `cumulative_sum`. Raises ShapeError for an axis that x does not have.

    >>> st.nancumsum(st.tensor([1.0, float("nan"), 3.0])).tolist()
    [1.0, 1.0, 4.0]
    """
    x, axis = in_line(without_nan(x, 0), axis)
    return cumulative_sum(x, axis=axis)


def nancumprod(x: Value, *, axis: int | None = None) -> Value:
    """The running products along an axis, of the flat array without one, in which NaN counts as 1.

    In the dtype of `cumulative_prod`. Raises ShapeError for an axis that x does not have.

    >>> st.nancumprod(st.tensor([2.0, float("nan"), 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
    x, axis = in_line(without_nan(x, 1), axis)
    return cumulative_prod(x, axis=axis)


def nanargmax(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """The position of the largest element that is not NaN, as of `argmax`; 0 where all of them are.

    int64. Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for complex
    numbers.

    >>> st.nanargmax(st.tensor([1.0, float("nan"), 3.0])).tolist()
    2
    """
    return argmax(without_nan(x, float("-inf")), axis=axis, keepdims=keepdims)


def nanargmin(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """The position of the smallest element that is not NaN, as of `argmin`; 0 where all of them are.

    int64. Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for complex
    numbers.

    >>> st.nanargmin(st.tensor([float("nan"), 1.0, 3.0])).tolist()
    1
    """
    return argmin(without_nan(x, float("inf")), axis=axis, keepdims=keepdims)


def partition(x: Value, kth: int | Sequence[int], *, axis: int | None = -1) -> Value:
    """The elements along an axis with number `kth`, or several, where they stand in order: here all of them are.

    Of the flat array for None. In the dtype of x. Raises ShapeError for a kth that there is not.

    >>> st.partition(st.tensor([3, 1, 2]), 1).tolist()
    [1, 2, 3]
    """
    return sort(in_axis(x, kth, axis), axis=axis)


def argpartition(x: Value, kth: int | Sequence[int], *, axis: int | None = -1) -> Value:
    """The positions of the elements of `partition` with the same `kth` and axis: those of `argsort`.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> st.argpartition(st.tensor([3, 1, 2]), 1).tolist()
    [1, 2, 0]
    """
    return argsort(in_axis(x, kth, axis), axis=axis)


def in_axis(x: Value, kth: int | Sequence[int], axis: int | None) -> Value:
    """x, if it has these elements along an axis, or without one."""
    line, axis = in_line(x, axis)
    n = line.shape[axis_of(axis, line.ndim)]
    for k in (kth,) if isinstance(kth, int) else kth:
        if below(k + n, 0) or not below(k, n):
            raise ShapeError(f"element {k} in order of {n}: there is none")
    return x


def lexsort(keys: Sequence[Value], *, axis: int = -1) -> Value:
    """Positions along an axis in the order of the last of `keys`, where those tie of the one before, and so on.

    keys is a list of arrays of one shape, or an array whose first axis lists them. int64. Raises ShapeError for other
    shapes.

    >>> st.lexsort([st.tensor([3, 1, 2]), st.tensor([0, 1, 0])]).tolist()
    [2, 0, 1]
    """
    if not keys:
        raise ShapeError("lexsort needs at least one key, got none")
    if any(len(key.shape) != keys[0].ndim or not every(map(same, key.shape, keys[0].shape)) for key in keys):
        raise ShapeError(f"lexsort needs keys of one shape, got {', '.join(show(key.shape) for key in keys)}")
    axis = axis_of(axis, keys[0].ndim)
    rows = [moveaxis(key, axis, -1) for key in keys]
    order = argsort(rows[0])
    for key in rows[1:]:
        then = argsort(take_along(key, order, key.ndim - 1))
        order = take_along(order, then, order.ndim - 1)
    return moveaxis(order, -1, axis)


def diagflat(x: Value, *, k: int = 0) -> Value:
    """A matrix with the elements of x, taken flat, on diagonal `k`, and zeros elsewhere.

    Of any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.diagflat(st.tensor([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(reshape(x, (-1,)), k=k)


def rollaxis(x: Value, axis: int, start: int = 0) -> Value:
    """The array with an axis moved before the one that stands at `start`; `moveaxis` says it more plainly.

    In the dtype of x. Raises ShapeError for an axis or a start that x does not have.

    >>> st.rollaxis(st.zeros((2, 3, 5)), 2).shape
    (5, 2, 3)
    """
    axis, place = axis_of(axis, x.ndim), whole(start, "start of rollaxis", -x.ndim, x.ndim)
    place = place + x.ndim if place < 0 else place
    return moveaxis(x, axis, place - (axis < place))


def resize(x: Value, shape: Shape) -> Value:
    """The elements of x in row-major order under another `shape`, from the first again where there are too few.

    In the dtype of x. Raises ShapeError for a negative size.

    >>> st.resize(st.tensor([1, 2, 3]), (2, 2)).tolist()
    [[1, 2], [3, 1]]
    """
    n, size = product(x.shape), product(shape)
    if n == 0:
        return full(shape, 0, x.dtype)
    times = -(-size // n) if isinstance(size, int) and isinstance(n, int) else whole(size, "size") // n + 1
    return reshape(tile(reshape(x, (-1,)), repetitions=(times,))[:size], shape)


def choose(i: Value, choices: Sequence[Value], *, mode: str = "raise") -> Value:
    """For each element the one of `choices`, arrays that broadcast to i, that has its number.

    Out of range it is an error of the program; under `mode` "clip" the nearest, under "wrap" counted round. Dtypes meet
    as in `multiply`. Raises OptionError for another mode.

    >>> st.choose(st.tensor([1, 0]), [st.tensor([1, 2]), st.tensor([3, 4])]).tolist()
    [3, 2]
    """
    n = len(choices)
    i = within(i, n, mode)
    i, *parts = broadcast_arrays(i, *choices)
    return reshape(take_along(stack(parts), expand_dims(CheckIndex(n)(i), (0,)), 0), i.shape)


ALL = (CommonDivisor,)
