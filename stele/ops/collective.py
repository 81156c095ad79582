"""What places that are computed at once know of each other: sums, largest elements and stacks over all of them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, float32
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.gather import Gather
from stele.ops.generate import iota, quantity
from stele.ops.linear import Sum, broadcast, cast, reshape, transpose, zeros_like
from stele.ops.reduction import Max


class Collective(Op):
    """A function of an array at all places of an axis of places; the second operand, int64, is the number of each.

    Whose number that is says which axis is meant, at any depth: where an axis is made that the number lacks, the op
    goes on at each of its places. It ends where the number gets its axis: in an op over it, whose result is the same at
    all places. By itself it stands for one place.
    """

    family: ClassVar[str] = "composite"

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array) -> Array:
        return x[0]

    def expand(self, *x: Value) -> Value:
        """The result where there is no other place."""
        return x[0]

    def over(self, x: Value) -> Value:
        """The result for all places along the first axis of x."""
        raise NotImplementedError(self.name)

    def alike(self, x: Value, n: Dim) -> Value:
        """The result where x is the same at n places."""
        return x

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (a, is_placed), (i, is_own) = x
        if not is_own:
            return self(a, i)
        return self.over(a) if is_placed else self.alike(a, n)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (2, 3)), np.array(0))), (cls(), (Type(float32), np.array(0)))


class AllSum(Collective):
    """The sum of x over all places."""

    def over(self, x: Value) -> Value:
        return cast(Sum((0,))(x), x.dtype)

    def alike(self, x: Value, n: Dim) -> Value:
        return x * cast(quantity(n), x.dtype)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self(g, x[1]), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self(dx[0], x[1])


class AllMax(Collective):
    """The largest x of all places, element by element; places that tie share the gradient evenly."""

    def over(self, x: Value) -> Value:
        return Max((0,))(x)

    def share(self, y: Value, x: Value, i: Value) -> Value:
        """How much of the result comes from this place."""
        best = cast(Equal()(x, y), x.dtype)
        return best / AllSum()(best, i)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return AllSum()(g, x[1]) * self.share(y, *x), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else AllSum()(dx[0] * self.share(y, *x), x[1])


class AllGather(Collective):
    """x of all n places along a new first axis; by itself zeros stand for the others."""

    n: Dim

    def type(self, *x: Type) -> Type:
        return x[0].with_shape((self.n, *x[0].shape))

    def reference(self, *x: Array) -> Array:
        y = np.zeros((self.n, *x[0].shape), x[0].dtype)  # type: ignore[arg-type]
        y[x[1]] = x[0]
        return y

    def expand(self, *x: Value) -> Value:
        wide = broadcast(x[0], (self.n, *x[0].shape))
        own = reshape(Equal()(iota(self.n), x[1]), (self.n, *(1,) * x[0].ndim))
        return Select()(own, wide, zeros_like(wide))

    def over(self, x: Value) -> Value:
        return x

    def alike(self, x: Value, n: Dim) -> Value:
        return broadcast(x, (n, *x.shape))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        made = super().batch(d, n, x, y)
        return made if x[1][1] else transpose(made, (1, 0, *range(2, made.ndim)))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Gather(0)(AllSum()(g, x[1]), x[1]), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self(dx[0], x[1])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(3), (Type(float32, (2, 3)), np.array(1))),


ALL = (AllSum, AllMax, AllGather)
