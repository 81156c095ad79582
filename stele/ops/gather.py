"""Elements at computed indices, and the transpose of picking them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, IndexOutOfRange, ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import Type, axis_of, dtype, float32, highest, int64, lowest, product, same, show
from stele.ops.elementwise.arithmetic import Add, Div, Equal, Mul, Select
from stele.ops.elementwise.base import Unary, needs_integer, needs_real
from stele.ops.generate import factor, iota_like, quantity
from stele.ops.linear import Linear, along, cast, fold, reshape, transpose, unfold, zeros_like


class Gather(Linear):
    """Elements `index` of `axis`: x.shape[:axis] + index.shape + x.shape[axis+1:]. An index outside is an error."""

    axis: int
    family: ClassVar[str] = "indexing"

    def type(self, *x: Type) -> Type:
        axis = axis_of(self.axis, x[0].ndim)
        needs_index(self, x[1])
        return x[0].with_shape((*x[0].shape[:axis], *x[1].shape, *x[0].shape[axis + 1:]))

    def reference(self, x: Array, index: Array) -> Array:
        check_index(index, x.shape[self.axis])
        return np.take(x, index, self.axis)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return ScatterAdd(axis_of(self.axis, x[0].ndim), x[0].shape[self.axis])(g, x[1]), None

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (a, is_placed), (index, has_own) = x
        axis = axis_of(self.axis, a.ndim - is_placed)
        if not has_own:
            return Gather(axis + 1)(a, index)
        if not is_placed and axis == 0:
            return self(a, index)
        a = along((a, is_placed), n)
        first = transpose(a, (0, axis + 1, *(k for k in range(1, a.ndim) if k != axis + 1)))
        found = Gather(0)(fold(first), apart(index, n, a.shape[axis + 1]))
        many = index.ndim - 1
        return transpose(found, (0, *range(1 + many, 1 + many + axis), *range(1, 1 + many),
                                 *range(1 + many + axis, found.ndim)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1), (Type(float32, (2, 4, 3)), np.array([[3, 0], [3, 1]]))), \
               (cls(0), (Type(float32, (4,)), np.array(2)))


class Scatter(Op):
    """`combine` of the parts of g at the elements `index` of an axis of `size`; `identity` where none is. Negative ones
    count from the end if the index `wraps`.

    The transpose of a Gather's movement: g has the shape of what that gives.
    """

    axis: int
    size: Dim
    wraps: bool = False
    family: ClassVar[str] = "indexing"
    samples: ClassVar[tuple[float, float]] = (-3, 3)
    ufunc: ClassVar[np.ufunc]

    def type(self, *x: Type) -> Type:
        needs_index(self, x[1])
        k = self.axis
        if len(x[0].shape[k: k + x[1].ndim]) != x[1].ndim or \
                not all(same(a, b) for a, b in zip(x[0].shape[k: k + x[1].ndim], x[1].shape)):
            raise ShapeError(f"a scatter along axis {k} needs g.shape[{k}:{k + x[1].ndim}] == index.shape, "
                             f"got {show(x[0].shape)} and {show(x[1].shape)}")
        return x[0].with_shape((*x[0].shape[:k], self.size, *x[0].shape[k + x[1].ndim:]))

    def identity(self, x: Type) -> Any:
        """What combines with any element to that element."""
        raise NotImplementedError(self.name)

    def combine(self, s: Scalars[S], a: S, b: S) -> S:
        """Two partial results as one, said to a scalar builder."""
        raise NotImplementedError(self.name)

    def reference(self, g: Array, index: Array) -> Array:
        index = self.inside(index)
        shape = (*g.shape[:self.axis], self.size, *g.shape[self.axis + index.ndim:])
        y = np.full(shape, self.identity(Type(dtype(g.dtype))), g.dtype)  # type: ignore[arg-type]
        self.ufunc.at(y, (slice(None),) * self.axis + (index,), g)  # type: ignore[arg-type]
        return y

    def inside(self, index: Array) -> Array:
        """Indices from the beginning of the axis; raises IndexOutOfRange for one that is on no side of it."""
        if self.wraps:
            index = index.astype(np.int64)
            index = np.where((index < 0) & (index >= -self.size), index + self.size, index)  # type: ignore[operator]
        check_index(index, self.size)
        return index

    def places(self, index: Value) -> Value:
        """The elements of the axis, from its beginning."""
        return from_beginning(index, self.size) if self.wraps else index

    def found(self, y: Value, index: Value) -> Value:
        """Each element of the result where it came from."""
        return Gather(self.axis)(y, self.places(index))

    def sums(self, g: Value, index: Value) -> Value:
        """The sums of parts at the same elements."""
        return ScatterAdd(self.axis, self.size, self.wraps)(g, index)

    def partial(self, y: Value, g: Value, index: Value) -> Value:
        """The derivative of the element of y that a part of g goes to by that part, in the shape of g."""
        raise NotImplementedError(self.name)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Mul()(self.found(g, x[1]), self.partial(y, *x)), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self.sums(Mul()(dx[0], self.partial(y, *x)), x[1])

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (g, is_placed), (index, has_own) = x
        op = type(self)
        if not has_own:
            return op(self.axis + 1, self.size, self.wraps)(g, index)
        g, k, many = along((g, is_placed), n), self.axis + 1, index.ndim - 1
        first = transpose(g, (0, *range(k, k + many), *range(1, k), *range(k + many, g.ndim)))
        added = unfold(op(0, n * self.size)(first, apart(self.places(index), n, self.size)), n)
        return transpose(added, (0, *range(2, k + 1), 1, *range(k + 1, added.ndim)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 4), (Type(float32, (2, 2, 2, 3)), np.array([[3, 0], [3, 1]]))), \
               (cls(0, 4), (Type(float32, (3,)), np.array([1, 1, 2]))), \
               (cls(0, 4, True), (Type(float32, (3,)), np.array([1, -3, 2])))


class ScatterAdd(Scatter):
    """The transpose of Gather: adds the parts of g to the elements `index` of an axis of `size` zeros."""

    ufunc = np.add

    def identity(self, x: Type) -> Any: return 0
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a + b

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self.found(g, x[1]), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self(dx[0], x[1])


def rows_added(v: Value) -> tuple[Value, Value] | None:
    """What a value adds to rows of zeros along the first axis, and to which, if those are fewer than there are."""
    match v:
        case Value(ScatterAdd(0), [parts, at]) if at.ndim:
            k = product(at.shape)       # batches of any length name few, as a rule
            return (parts, at) if not isinstance(k, int) or 0 < k < v.shape[0] else None
        case _:
            return None


class Onto(Scatter):
    """Of an x that is there before: operands (x, g, index)."""

    def type(self, *x: Type) -> Type:
        there, made = x[0], super().type(*x[1:])
        if there != made:
            raise ShapeError(f"a scatter onto {there} needs parts of {there}, got those of {made}")
        return there

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 4), (Type(float32, (2, 4, 3)), Type(float32, (2, 2, 2, 3)), np.array([[3, 0], [3, 1]]))), \
               (cls(0, 4, True), (Type(float32, (4,)), Type(float32, (3,)), np.array([1, -3, 2])))


class ScatterOnto(Onto, ScatterAdd):
    """x with the parts of g added at the elements `index` of an axis, in order: only those are touched where x dies."""

    def reference(self, *x: Array) -> Array:
        y, index = x[0].copy(), x[2]
        self.ufunc.at(y, (slice(None),) * self.axis + (self.inside(index),), x[1])  # type: ignore[arg-type]
        return y

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return g, self.found(g, x[2]), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        moved = None if dx[1] is None else self.sums(dx[1], x[2])
        return moved if dx[0] is None else dx[0] if moved is None else dx[0] + moved

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        parts = along(x[1], n), True
        return along(x[0], n) + ScatterAdd(self.axis, self.size, self.wraps).batch(d, n, (parts, x[2]), y)


class ScatterPut(Onto):
    """x with the elements `index` of an axis replaced by the parts of g: of parts for one element the last stays.

    Only those elements are touched where x dies.
    """

    def combine(self, s: Scalars[S], a: S, b: S) -> S: return b

    def reference(self, *x: Array) -> Array:
        y, index = x[0].copy(), self.inside(x[2])
        for at in np.ndindex(index.shape):      # NumPy does not say which of two stays
            y[(slice(None),) * self.axis + (index[at],)] = x[1][(slice(None),) * self.axis + at]
        return y

    def stays(self, like: Value, index: Value) -> Value:
        """Parts as they are, but 0 where a later one is for the same element."""
        if same(count := product(index.shape), 1):
            return like
        flat, k = reshape(self.places(index), (-1,)), self.axis
        number = iota_like(flat, 0)
        last = Equal()(Gather(0)(ScatterMax(0, self.size)(number, flat), flat), number)
        shape = (*(1 for _ in range(k)), *index.shape, *(1 for _ in range(like.ndim - k - index.ndim)))
        assert count is not None
        return Select()(reshape(last, shape), like, 0)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self(g, zeros_like(x[1]), x[2]), self.stays(self.found(g, x[2]), x[2]), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        moved, parts = (zeros_like(v) if dv is None else dv for v, dv in zip(x[:2], dx))
        return None if dx[0] is None and dx[1] is None else self(moved, parts, x[2])

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (index, has_own), a, g = x[2], along(x[0], n), along(x[1], n)
        if not has_own:
            return ScatterPut(self.axis + 1, self.size, self.wraps)(a, g, index)
        k, many = self.axis + 1, index.ndim - 1
        first = transpose(a, (0, k, *(j for j in range(1, a.ndim) if j != k)))
        parts = transpose(g, (0, *range(k, k + many), *range(1, k), *range(k + many, g.ndim)))
        put = ScatterPut(0, n * self.size)(fold(first), parts, apart(self.places(index), n, self.size))
        return transpose(unfold(put, n), (0, *range(2, k + 1), 1, *range(k + 1, a.ndim)))


class ScatterExtreme(Scatter):
    """The best of the parts at each element; those that tie share the derivative evenly."""

    def type(self, *x: Type) -> Type:
        needs_real(self, x[0].dtype)
        return super().type(*x)

    def partial(self, y: Value, g: Value, index: Value) -> Value:
        best = cast(Equal()(g, self.found(y, index)), g.dtype)
        return Div()(best, self.found(self.sums(best, index), index))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 2), (Type(float32, (2, 2, 2, 3)), np.array([[1, 0], [1, 1]]))), \
               (cls(0, 2), (Type(float32, (3,)), np.array([1, 1, 0])))


class ScatterMax(ScatterExtreme):
    """The largest of the parts at each element, the lowest number of the dtype where there is none."""

    ufunc = np.maximum

    def identity(self, x: Type) -> Any: return lowest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.max(a, b)


class ScatterMin(ScatterExtreme):
    """The smallest of the parts at each element, the highest number of the dtype where there is none."""

    ufunc = np.minimum

    def identity(self, x: Type) -> Any: return highest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.min(a, b)


class ScatterMul(Scatter):
    """The product of the parts at each element, 1 where there is none; its derivative is right at zero."""

    ufunc = np.multiply

    def identity(self, x: Type) -> Any: return 1
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a * b

    def partial(self, y: Value, g: Value, index: Value) -> Value:
        """The product of the others: none of them is 0 where as many parts are as this one is."""
        is_zero = Equal()(g, 0)
        filled, zeros = Select()(is_zero, 1, g), cast(is_zero, g.dtype)
        others = Div()(self.found(self(filled, index), index), filled)
        among = self.found(self.sums(zeros, index), index)
        return Select()(Equal()(among, zeros), others, 0)


def apart(index: Value, n: Dim, size: Dim) -> Value:
    """Indices (n, ...) of n axes of `size` as those of the axes one behind the other."""
    own = cast(CheckIndex(size)(index), int64)
    return Add()(own, Mul()(iota_like(own, 0), quantity(size)))


def from_beginning(index: Value, n: Dim) -> Value:
    """Indices of an axis of n, of which negative ones count from the end, from its beginning.

    Those that are out of range on that side stay as they are, so that the error shows them.
    """
    index = index if index.dtype.bits >= 32 else cast(index, int64)
    back = index + factor(n)
    return Select()(index < 0, Select()(back < 0, index, back), index)


def needs_index(op: Op, index: Type) -> None:
    """Raises DTypeError unless the index is of an integer dtype."""
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{op.name} needs an integer index, got {index}",
                         hint="For a bool mask write st.where(mask, x, other).")


def check_index(index: Array, size: Any) -> None:
    """Raises IndexOutOfRange unless 0 <= index < size everywhere."""
    outside = (index < 0) | (index >= size)
    if outside.any():
        raise IndexOutOfRange(f"index {index[outside].flat[0]} is out of range for an axis of {size}")


class CheckIndex(Unary):
    """x, an integer array; an element outside of 0 <= x < size is an error when the program runs."""

    size: Dim

    def type(self, *x: Type) -> Type:
        needs_integer(self, x[0].dtype, with_bool=False)
        if self.size == 0 and 0 not in x[0].shape:
            raise IndexOutOfRange(f"an axis of 0 elements has none to choose, got indices {x[0]}")
        return x[0]

    def reference(self, *x: Array) -> Array:
        check_index(x[0], self.size)
        return x[0]

    def scalar(self, s: Scalars[S], *x: S) -> S:
        return x[0]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(4), (np.array([0, 3, 1]),)),


class CheckCount(CheckIndex):
    """x, a count of what was found; `size` of them or more are an error when the program runs."""

    def type(self, *x: Type) -> Type:
        needs_integer(self, x[0].dtype, with_bool=False)
        return x[0]

    def reference(self, *x: Array) -> Array:
        if (x[0] >= self.size).any():
            raise too_many(int(x[0].max()))
        return x[0]


def too_many(count: int, where: str | None = None) -> ShapeError:
    """The error for more elements than a result was made for."""
    return ShapeError(f"{count} elements were found, more than size= has room for", where=where,
                      hint=f"Write size={count} or more: the size of a compiled result is said beforehand.")


ALL = (Gather, ScatterAdd, ScatterOnto, ScatterPut, ScatterMax, ScatterMin, ScatterMul, CheckIndex, CheckCount)
