"""Linear algebra that LAPACK computes, through NumPy, in the midst of programs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, broadcast_shapes, float32, float64, promote, same, show
from stele.ops.contraction import matmul
from stele.ops.linear import along, broadcast, cast, expand_dims, reshape, swap_last


class Solve(Op):
    """The y with x @ y = b, for matrices x (..., n, n) and b (..., n, k); leading axes broadcast."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, b = super().prepare(*args)
        dtype = float64 if float64 in (x.dtype, b.dtype) else float32     # what LAPACK has
        lead = broadcast_shapes(x.shape[:-2], b.shape[:-2])
        return tuple(broadcast(cast(v, dtype), (*lead, *v.shape[-2:])) for v in (x, b))

    def type(self, *x: Type) -> Type:
        a, b = x
        if not same(a.shape[-2], a.shape[-1]):
            raise ShapeError(f"solve needs square matrices, got {show(a.shape)}",
                             hint="With more rows than columns, least squares are st.linalg.solve(x.mT @ x, x.mT @ b).")
        if not same(a.shape[-1], b.shape[-2]):
            raise ShapeError(f"solve needs x.shape[-1] == b.shape[-2], got {show(a.shape)} and {show(b.shape)}",
                             hint="A stack of vectors b (..., n) is one of matrices of one column: b[..., None].")
        return b

    def reference(self, *x: Array, **_: Any) -> Array:
        try:
            return np.linalg.solve(*x)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(f"solve needs matrices that have an inverse; of {show(x[0].shape)} one is "
                                        "singular. Add a little to its diagonal: x + 1e-6 * st.eye(n).") from None

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        back = self(swap_last(x[0]), g)
        return -matmul(back, swap_last(y)), back

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        da, db = dx
        moved = None if da is None else -matmul(da, y)
        return self(x[0], db if moved is None else moved if db is None else db + moved)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)), Type(float32, (3, 2)))), \
               (cls(), (Type(float32, (2, 2, 2)), Type(float32, (2, 2, 1))))


def solve(x: Value, b: Value) -> Value:
    """The y with x @ y = `b`: (..., n, n) and (..., n, k) -> (..., n, k), over leading axes that broadcast; by LAPACK.

    A `b` of one axis is a vector, and so is y (the array API standard's rule). float64 where one of them is, else
    float32; 16-bit floats are solved in float32 and rounded once. NumPy computes it in the midst of a program, on the
    thread that called. Raises ShapeError where x is not square or the sizes differ and, when run, NumPy's LinAlgError
    where a matrix is exactly singular.

    >>> x = st.tensor([[3.0, 1.0], [1.0, 2.0]])
    >>> y = st.linalg.solve(x, st.tensor([9.0, 8.0]))
    >>> np.allclose(y, [2, 3])
    True
    """
    if x.ndim < 2 or b.ndim < 1:
        raise ShapeError(f"solve needs matrices and what they are to give, got {show(x.shape)} and {show(b.shape)}",
                         hint="Of numbers it is b / x.")
    met = promote(x.dtype, b.dtype)
    if b.ndim == 1:
        y = Solve()(x, expand_dims(b, (1,)))
        y = reshape(y, y.shape[:-1])
    else:
        y = Solve()(x, b)
    return cast(y, met) if met.is_float else y


ALL = (Solve,)
