"""Arithmetic, comparison and choice."""
from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Value, literal
from stele.ir.scalars import S, Scalars
from stele.ir.types import Type, bool_, float32
from stele.ops.elementwise.base import Binary, Compare, Ternary, Unary, meet
from stele.ops.linear import broadcast, cast, zeros_like


class Add(Binary):
    """The sum x + z. Integers wrap; bools are joined by or."""

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.add(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] + x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1, 1


class Sub(Binary):
    """The difference x - z. Bools have none."""

    of_complex: ClassVar[bool] = True
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.subtract(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] - x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1, -1


class Mul(Binary):
    """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and.

    Raises ShapeError where shapes do not broadcast.

    >>> st.multiply(st.tensor([[1.0], [2.0]]), st.tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.multiply(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] * x[1]
    def partials(self, y: Value, *x: Value) -> Any: return x[1], x[0]


class Div(Binary):
    """The quotient x / z, always a float, by IEEE 754."""

    of_complex: ClassVar[bool] = True
    samples: ClassVar[tuple[float, float]] = (0.3, 3)

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return tuple(v if v.dtype.is_float else cast(v, float32) for v in meet(args))

    def reference(self, *x: Array) -> Array: return np.divide(x[0], x[1]).astype(x[0].dtype)
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] / x[1]
    def partials(self, y: Value, *x: Value) -> Any: return 1 / x[1], -y / x[1]


class Neg(Unary):
    """The negative of x, in its dtype; unsigned integers wrap. Raises DTypeError for bools.

    x has any shape.

    >>> st.negative(st.tensor([1.5, -2.0])).tolist()
    [-1.5, 2.0]
    """

    of_complex: ClassVar[bool] = True
    of_bool: ClassVar[bool] = False

    def reference(self, *x: Array) -> Array: return np.negative(x[0])
    def scalar(self, s: Scalars[S], *x: S) -> S: return -x[0]
    def partials(self, y: Value, *x: Value) -> Any: return -1,


class Maximum(Binary):
    """The larger of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

    Where they tie, each gets half of the gradient, as in PyTorch. For the largest element of one array see `max`.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.maximum(st.tensor([1.0, 5.0]), 3.0).tolist()
    [3.0, 5.0]
    >>> st.grad(lambda x: st.maximum(x, 3.0).sum())(st.tensor([1.0, 3.0, 5.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    def reference(self, *x: Array) -> Array: return np.maximum(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.max(x[0], x[1])
    def partials(self, y: Value, *x: Value) -> Any: return winner(x[0], x[1]), winner(x[1], x[0])


class Minimum(Binary):
    """The smaller of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

    Where they tie, each gets half of the gradient, as in PyTorch. For the smallest element of one array see `min`.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.minimum(st.tensor([1.0, 5.0, float("nan")]), 3.0).tolist()
    [1.0, 3.0, nan]
    """

    def reference(self, *x: Array) -> Array: return np.minimum(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.min(x[0], x[1])
    def partials(self, y: Value, *x: Value) -> Any: return winner(x[1], x[0]), winner(x[0], x[1])


def winner(x: Value, z: Value) -> Value:
    """1 where x > z or one is NaN, a half where they tie, else 0."""
    none, half, whole = (literal(n, x.dtype) for n in (0.0, 0.5, 1.0))
    return Select()(Less()(x, z), none, Select()(Equal()(x, z), half, whole))


class Less(Compare):
    """Whether x < z, elementwise, as bools; false where either is NaN. Shapes meet as in `add`.

    Integers are compared with a Python number as they are, whatever it is: nothing is rounded to the array's dtype.
    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.less(st.tensor([1, 2, 3]), 2.5).tolist()
    [True, True, False]
    """

    rounding: ClassVar[Any] = math.floor, math.ceil

    def reference(self, *x: Array) -> Array: return np.less(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] < x[1]


class LessEqual(Compare):
    """Whether x <= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.less_equal(st.tensor([1, 2, 3]), 2).tolist()
    [True, True, False]
    """

    rounding: ClassVar[Any] = math.ceil, math.floor

    def reference(self, *x: Array) -> Array: return np.less_equal(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] <= x[1]


class Greater(Compare):
    """Whether x > z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.greater(st.tensor([1, 2, 3]), st.tensor([[2], [3]])).tolist()
    [[False, False, True], [False, False, False]]
    """

    rounding: ClassVar[Any] = math.ceil, math.floor

    def reference(self, *x: Array) -> Array: return np.greater(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] > x[1]


class GreaterEqual(Compare):
    """Whether x >= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.greater_equal(st.tensor([1, 2, 3]), 2).tolist()
    [False, True, True]
    """

    rounding: ClassVar[Any] = math.floor, math.ceil

    def reference(self, *x: Array) -> Array: return np.greater_equal(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return x[0] >= x[1]


class Equal(Compare):
    """Whether x == z, elementwise, as bools; NaN equals nothing, not even itself. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast.

    >>> st.equal(st.tensor([1, 2]), 2).tolist()
    [False, True]
    >>> st.equal(st.tensor([200]).astype("uint8"), 456).tolist()
    [False]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.equal(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.eq(x[0], x[1])


class NotEqual(Compare):
    """Whether x != z, elementwise, as bools; NaN differs from everything, itself included. Operands meet as in `less`.

    Raises ShapeError where shapes do not broadcast.

    >>> st.not_equal(st.tensor([1.0, float("nan")]), st.tensor([1.0, float("nan")])).tolist()
    [False, True]
    """

    of_complex: ClassVar[bool] = True

    def reference(self, *x: Array) -> Array: return np.not_equal(x[0], x[1])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.ne(x[0], x[1])


class Select(Ternary):
    """x where the condition holds, else z: Select()(condition, x, z)."""

    of_complex: ClassVar[bool] = True

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, z = meet(args[1:])
        (c,) = meet(args[:1])
        c, x, z = (broadcast(v, meet((cast(c, x.dtype), x))[0].shape) for v in (c, x, z))
        return cast(c, bool_), x, z

    def type(self, *x: Type) -> Type:
        return x[1]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([True, False, True]), Type(float32, (3,)), Type(float32, (3,)))),

    def reference(self, *x: Array) -> Array: return np.where(x[0], x[1], x[2])
    def scalar(self, s: Scalars[S], *x: S) -> S: return s.select(x[0], x[1], x[2])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return None, self(x[0], g, zeros_like(g)), self(x[0], zeros_like(g), g)

    def jvp(self, d: Any, dx: Any, y: Value, *x: Value) -> Value | None:
        if dx[1] is None and dx[2] is None:
            return None
        return self(x[0], *(zeros_like(v) if t is None else t for t, v in zip(dx[1:], x[1:])))


ALL = (Add, Sub, Mul, Div, Neg, Maximum, Minimum, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, Select)
