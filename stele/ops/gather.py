"""Elements at computed indices, and the transpose of picking them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, IndexOutOfRange, ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import Type, axis_of, float32, int64, same, show
from stele.ops.elementwise.arithmetic import Add, Mul
from stele.ops.elementwise.base import Unary, needs_integer
from stele.ops.generate import iota_like, quantity
from stele.ops.linear import Linear, along, cast, fold, transpose, unfold


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


class ScatterAdd(Linear):
    """The transpose of Gather: adds the parts of g to the elements `index` of an axis of `size` zeros, in order."""

    axis: int
    size: Dim
    family: ClassVar[str] = "indexing"

    def type(self, *x: Type) -> Type:
        needs_index(self, x[1])
        k = self.axis
        if len(x[0].shape[k: k + x[1].ndim]) != x[1].ndim or \
                not all(same(a, b) for a, b in zip(x[0].shape[k: k + x[1].ndim], x[1].shape)):
            raise ShapeError(f"scatter_add along axis {k} needs g.shape[{k}:{k + x[1].ndim}] == index.shape, "
                             f"got {show(x[0].shape)} and {show(x[1].shape)}")
        return x[0].with_shape((*x[0].shape[:k], self.size, *x[0].shape[k + x[1].ndim:]))

    def reference(self, g: Array, index: Array) -> Array:
        check_index(index, self.size)
        y = np.zeros(self.type(Type(float32, g.shape), Type(int64, index.shape)).shape, g.dtype)  # type: ignore[arg-type]
        np.add.at(y, (slice(None),) * self.axis + (index,), g)  # type: ignore[arg-type]
        return y

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Gather(self.axis)(g, x[1]), None

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (g, is_placed), (index, has_own) = x
        if not has_own:
            return ScatterAdd(self.axis + 1, self.size)(g, index)
        g, k, many = along((g, is_placed), n), self.axis + 1, index.ndim - 1
        first = transpose(g, (0, *range(k, k + many), *range(1, k), *range(k + many, g.ndim)))
        added = unfold(ScatterAdd(0, n * self.size)(first, apart(index, n, self.size)), n)
        return transpose(added, (0, *range(2, k + 1), 1, *range(k + 1, added.ndim)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1, 4), (Type(float32, (2, 2, 2, 3)), np.array([[3, 0], [3, 1]]))), \
               (cls(0, 4), (Type(float32, (3,)), np.array([1, 1, 2])))


def apart(index: Value, n: Dim, size: Dim) -> Value:
    """Indices (n, ...) of n axes of `size` as those of the axes one behind the other."""
    own = cast(CheckIndex(size)(index), int64)
    return Add()(own, Mul()(iota_like(own, 0), quantity(size)))


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


ALL = (Gather, ScatterAdd, CheckIndex)
