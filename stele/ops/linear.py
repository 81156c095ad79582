"""Movement and sums: each linear op beside its transpose."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Op, Placed, Value, literal
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import (
    HOME,
    DType,
    Shape,
    Type,
    agreeing,
    axes_of,
    axis_of,
    bfloat16,
    bool_,
    broadcast_shapes,
    float32,
    int64,
    lowest,
    product,
    promote,
    same,
    settled,
    show,
    summed_in,
    uint64,
    whole_in,
)
from stele.ir.types import dtype as type_named


class Source(NamedTuple):
    """Where an element comes from: an index into the operand, and bounds `low <= e < high` outside of which it is 0."""

    index: tuple[Dim, ...]  # type: ignore[assignment]
    bounds: tuple[tuple[Dim, Dim, Dim], ...] = ()


class Linear(Op):
    """An op linear in its one operand: its tangent is itself, applied."""

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self(dx[0], *x[1:])


class Movement(Linear):
    """Element i of the result is element `source(i)` of the operand, or 0."""

    family: ClassVar[str] = "movement"

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        """Where element i comes from; `i` holds index expressions, one per axis of the result."""
        raise NotImplementedError(self.name)


class Broadcast(Movement):
    """x repeated to `shape` by NumPy's rule."""

    shape: Shape

    def type(self, *x: Type) -> Type:
        wide = broadcast_shapes(x[0].shape, self.shape)
        if len(wide) != len(self.shape):
            raise ShapeError(f"cannot broadcast {show(x[0].shape)} to {show(self.shape)}: it has more axes")
        if any(n == 1 and not same(k, 1) for n, k in zip(self.shape, wide)):
            raise ShapeError(f"cannot broadcast {show(x[0].shape)} to {show(self.shape)}: axes of length 1 repeat, "
                             "no other becomes one of them")
        return x[0].with_shape(self.shape)

    def reference(self, x: Array) -> Array:
        return np.broadcast_to(x, self.shape)  # type: ignore[arg-type]

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        return Source(tuple(0 if n == 1 else j for n, j in zip(x.shape, i[len(i) - x.ndim:])))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return unbroadcast(g, x[0].shape),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (a, _), = x
        inner = a.shape[1:]
        return broadcast(reshape(a, (n, *(1,) * (len(self.shape) - len(inner)), *inner)), (n, *self.shape))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((4, 2, 3)), (Type(float32, (2, 1)),)), (cls((2,)), (Type(float32),))


def broadcast(x: Value, shape: Shape) -> Value:
    """x broadcast to shape; x itself where it has that shape."""
    return x if x.shape == shape else Broadcast(shape)(x)


def unbroadcast(g: Value, shape: Shape) -> Value:
    """The transpose of `broadcast`: sums over what was repeated."""
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(k + extra for k, n in enumerate(shape) if n == 1 and g.shape[k + extra] != 1)
    return reshape(Sum(axes)(g), shape) if axes else g


class Transfer(Movement):
    """x on another device: the same numbers."""

    device: str

    def type(self, *x: Type) -> Type:
        return x[0]

    def typed(self, *x: Type) -> Type:
        return x[0].on(self.device)

    def reference(self, *x: Array) -> Array:
        return x[0]

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        return Source(i)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return transfer(g, x[0].type.device),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls("cpu:1"), (Type(float32, (2, 3)),)), (cls(HOME), (Type(float32, (), "cpu:1"),))


def transfer(x: Value, device: str) -> Value:
    """x on a device; x itself where it is there."""
    return x if x.type.device == device else Transfer(device)(x)


class Sum(Linear):
    """Sum over `axes`, which are dropped. Bools and integers add up as `summed_in` says."""

    axes: tuple[int, ...]
    family: ClassVar[str] = "reduction"

    def type(self, *x: Type) -> Type:
        axes = axes_of(self.axes, x[0].ndim)
        kept = x[0].with_shape(tuple(n for k, n in enumerate(x[0].shape) if k not in axes))
        return kept.with_dtype(summed_in(x[0].dtype))

    def identity(self, x: Type) -> float:
        return 0

    def combine(self, s: Scalars[S], a: S, b: S) -> S:
        return a + b

    def reference(self, x: Array) -> Array:
        own = summed_in(type_named(x.dtype))
        wide = np.complex128 if own.is_complex else np.float64 if own.is_float else own.numpy
        return np.asarray(x.sum(axis=self.axes, dtype=wide).astype(own.numpy))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return broadcast(expand_dims(g, self.axes), x[0].shape),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return Sum(further(self.axes, x[0][0]))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((0, 2)), (Type(float32, (2, 3, 4)),)), (cls((-1,)), (Type(float32, (3,)),)), \
               (cls((0,)), (np.array([True, True, False]),))


def kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """`shape` with the reduced axes as 1."""
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def expand_dims(x: Value, axes: tuple[int, ...]) -> Value:
    """x with axes of length 1 put in at positions `axes` of the result."""
    ndim = x.ndim + len(axes)
    at = axes_of(axes, ndim)
    kept = iter(x.shape)
    return reshape(x, tuple(1 if k in at else next(kept) for k in range(ndim)))


def rowed(x: Value) -> Value:
    """The array with one axis at least: a number as a row of one, whose axis is 0 or -1 (PyTorch's reading)."""
    return x if x.ndim else reshape(x, (1,))


class Reshape(Movement):
    """The same elements in row-major order under another shape."""

    shape: Shape

    def type(self, *x: Type) -> Type:
        if not agreeing(product(x[0].shape), product(self.shape)):
            raise ShapeError(f"cannot reshape {show(x[0].shape)} to {show(self.shape)}: "
                             f"{product(x[0].shape)} elements against {product(self.shape)}")
        return x[0].with_shape(self.shape)

    def reference(self, x: Array) -> Array:
        return x.reshape(self.shape)  # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return reshape(g, x[0].shape),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return reshape(x[0][0], (n, *self.shape))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((3, 4)), (Type(float32, (2, 6)),)), (cls(()), (Type(float32, (1,)),))


def reshape(x: Value, shape: Shape) -> Value:
    """x under another shape; one entry may be -1. x itself where nothing changes."""
    if -1 in shape:
        total, known = product(x.shape), product(tuple(n for n in shape if n != -1))
        if known == 0 or shape.count(-1) > 1 or (isinstance(total, int) and not isinstance(known, int)):
            raise ShapeError(f"cannot tell what -1 stands for in a reshape of {show(x.shape)} to {show(shape)}")
        left = settled(total // known)  # type: ignore[operator]
        shape = tuple(left if n == -1 else n for n in shape)
    return x if x.shape == shape else Reshape(shape)(x)


class Transpose(Movement):
    """Axis k of the result is axis `axes[k]` of x."""

    axes: tuple[int, ...]

    def type(self, *x: Type) -> Type:
        if sorted(self.axes) != list(range(x[0].ndim)):
            raise ShapeError(f"transpose needs each of the {x[0].ndim} axes once, got {self.axes}")
        return x[0].with_shape(tuple(x[0].shape[a] for a in self.axes))

    def reference(self, x: Array) -> Array:
        return x.transpose(self.axes)

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        return Source(tuple(i[self.axes.index(k)] for k in range(len(i))))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Transpose(tuple(self.axes.index(k) for k in range(len(self.axes))))(g),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return transpose(x[0][0], (0, *(k + 1 for k in self.axes)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((2, 0, 1)), (Type(float32, (2, 3, 4)),)),


def transpose(x: Value, axes: tuple[int, ...]) -> Value:
    """x with its axes in another order; x itself where that is the order it has."""
    axes = tuple(axis_of(a, x.ndim) for a in axes)
    return x if axes == tuple(range(x.ndim)) else Transpose(axes)(x)


def swap_last(x: Value) -> Value:
    """The array with its last two axes exchanged: each matrix of a stack transposed (`x.mT`).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.matrix_transpose(st.zeros((8, 2, 3))).shape
    (8, 3, 2)
    """
    if x.ndim < 2:
        raise ShapeError(f"a matrix transpose needs two axes or more, got {show(x.shape)}")
    return Transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))(x)


swap_last.__name__ = "matrix_transpose"     # as users call it, and errors name it


class Slice(Movement):
    """Elements start, start+step, ... of each axis, `shape` of them; a negative step walks down."""

    starts: tuple[Dim, ...]
    shape: Shape
    steps: tuple[int, ...]

    def type(self, *x: Type) -> Type:
        if not len(self.starts) == len(self.shape) == len(self.steps) == x[0].ndim:
            raise ShapeError(f"slice needs a start, a length and a step for each of {x[0].ndim} axes, got {self}")
        return x[0].with_shape(self.shape)

    def reference(self, x: Array) -> Array:
        places: list[Any] = [a + b * np.arange(n)  # type: ignore[arg-type]
                             for a, n, b in zip(self.starts, self.shape, self.steps)]
        return x[np.ix_(*places)] if places else x

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        return Source(tuple(j * b + a for a, b, j in zip(self.starts, self.steps, i)))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        down = tuple(k for k, b in enumerate(self.steps) if b < 0)
        if down:
            g = flip(g, down)
        low = tuple(a + (n - 1) * b if b < 0 else a for a, n, b in zip(self.starts, self.shape, self.steps))
        gaps = tuple(abs(b) - 1 for b in self.steps)
        high = tuple(total - a - (1 if n == 1 else (n - 1) * (gap + 1) + 1) if n != 0 else total - a
                     for total, a, n, gap in zip(x[0].shape, low, self.shape, gaps))
        return Pad(low, high, gaps)(g),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return Slice((0, *self.starts), (n, *self.shape), (1, *self.steps))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x = Type(float32, (4, 5)),
        return (cls((1, 3), (2, 2), (1, -2)), x), (cls((0, 5), (1, 0), (1, 1)), x)


def flip(x: Value, axes: tuple[int, ...]) -> Value:
    """x with the order of `axes` reversed."""
    axes = axes_of(axes, x.ndim)
    return Slice(tuple(n - 1 if k in axes else 0 for k, n in enumerate(x.shape)), x.shape,
                 tuple(-1 if k in axes else 1 for k in range(x.ndim)))(x)


def slice_axis(x: Value, axis: int, start: Dim, length: Dim, step: int = 1) -> Value:
    """`length` elements of one axis from `start`; the other axes whole."""
    axis = axis_of(axis, x.ndim)
    return Slice(tuple(start if k == axis else 0 for k in range(x.ndim)),
                 tuple(length if k == axis else n for k, n in enumerate(x.shape)),
                 tuple(step if k == axis else 1 for k in range(x.ndim)))(x)


class Pad(Movement):
    """Zeros around x: `low` before, `high` behind (negative cuts) and `gaps` between elements of each axis."""

    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    gaps: tuple[int, ...]

    def type(self, *x: Type) -> Type:
        if not len(self.low) == len(self.high) == len(self.gaps) == x[0].ndim:
            raise ShapeError(f"pad needs a low, a high and a gap for each of {x[0].ndim} axes, got {self}")
        return x[0].with_shape(tuple(lo + hi + n + (gap * (n - 1) if n != 0 else 0)
                                     for n, lo, hi, gap in zip(x[0].shape, self.low, self.high, self.gaps)))

    def reference(self, x: Array) -> Array:
        shape = self.type(Type(bool_, x.shape)).shape
        y = np.zeros(shape, x.dtype)  # type: ignore[arg-type]
        if x.size == 0 or y.size == 0:
            return y
        where: list[Array] = [lo + (gap + 1) * np.arange(n)  # type: ignore[operator]
                              for lo, n, gap in zip(self.low, x.shape, self.gaps)]
        inside: list[Array] = [(p >= 0) & (p < n) for p, n in zip(where, shape)]
        y[np.ix_(*(p[k] for p, k in zip(where, inside)))] = x[np.ix_(*inside)]
        return y

    def source(self, i: tuple[Dim, ...], x: Type) -> Source:
        index: list[Dim] = []
        bounds: list[tuple[Dim, Dim, Dim]] = []
        for j, n, lo, hi, gap in zip(i, x.shape, self.low, self.high, self.gaps):
            at = j - lo
            if gap:
                bounds.append((at % (gap + 1), 0, 1))
                at = at // (gap + 1)
            if lo != 0 or hi != 0 or gap:
                bounds.append((at, 0, n))
            index.append(at)
        return Source(tuple(index), tuple(bounds))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        cut = tuple(tuple(max(0, -n) if isinstance(n, int) else 0 for n in side) for side in (self.low, self.high))
        if any(cut[0]) or any(cut[1]):
            g = Pad(cut[0], cut[1], (0,) * g.ndim)(g)
        starts = tuple(max(0, lo) if isinstance(lo, int) else lo for lo in self.low)
        return Slice(starts, x[0].shape, tuple(gap + 1 for gap in self.gaps))(g),

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return Pad((0, *self.low), (0, *self.high), (0, *self.gaps))(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((1, 0), (2, 1), (0, 1)), (Type(float32, (2, 3)),)), \
               (cls((-1,), (-1,), (2,)), (Type(float32, (3,)),))


class Concatenate(Op):
    """The operands one behind the other along `axis`."""

    axis: int
    family: ClassVar[str] = "movement"

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        dtype = reduce(promote, (a.dtype for a in args))
        return tuple(a if a.dtype == dtype else Cast(dtype)(a) for a in args)

    def type(self, *x: Type) -> Type:
        axis = axis_of(self.axis, x[0].ndim)
        for other in x[1:]:
            if other.ndim != x[0].ndim or any(k != axis and not same(a, b)
                                              for k, (a, b) in enumerate(zip(x[0].shape, other.shape))):
                raise ShapeError(f"concatenate along axis {axis} needs equal shapes elsewhere, "
                                 f"got {show(x[0].shape)} and {show(other.shape)}")
        total = sum((t.shape[axis] for t in x[1:]), x[0].shape[axis])
        return x[0].with_shape((*x[0].shape[:axis], total, *x[0].shape[axis + 1:]))

    def reference(self, *x: Array) -> Array:
        return np.concatenate(x, self.axis)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        axis = axis_of(self.axis, g.ndim)
        starts = accumulate((v.shape[axis] for v in x), initial=0)
        return tuple(slice_axis(g, axis, start, v.shape[axis]) for start, v in zip(starts, x))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return self(*(zeros_like(v) if t is None else t for t, v in zip(dx, x)))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return Concatenate(axis_of(self.axis, y.ndim) + 1)(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1), (Type(float32, (2, 3)), Type(float32, (2, 1)), Type(float32, (2, 2)))),


def pad_axis(x: Value, axis: int, low: Dim, high: Dim, gap: int = 0) -> Value:
    """x with zeros before, behind and between the elements of one axis; x itself where there are none."""
    if low == 0 and high == 0 and gap == 0:
        return x
    others = (0,) * axis, (0,) * (x.ndim - axis - 1)
    return Pad(*((*others[0], n, *others[1]) for n in (low, high)), gaps=(*others[0], gap, *others[1]))(x)


def whole(x: Array, dtype: DType) -> Array:
    """Floats as the signed integers they become on their way to an integer dtype."""
    signed, wide = whole_in(dtype), x.astype(np.float64)
    end = 2.0 ** (signed.bits - 1)
    upper = (wide >= end) & (dtype == uint64)
    wide = np.where(upper, wide - end, wide)
    y = np.where((wide >= -end) & (wide < end), wide, -end).astype(signed.numpy)
    return np.where(upper, y ^ signed.numpy.type(lowest(signed)), y)


class Cast(Linear):
    """x as another dtype: float to integer truncates, to bool tests != 0.

    NaN and floats that an integer dtype does not hold have one meaning everywhere, that of `whole_in`. What real
    numbers become of complex ones is their real part.
    """

    dtype: DType
    family: ClassVar[str] = "elementwise"

    def type(self, *x: Type) -> Type:
        return x[0].with_dtype(self.dtype)

    def reference(self, x: Array) -> Array:
        x = np.real(x) if x.dtype.kind == "c" and self.dtype.kind not in "bc" else x
        return self.dtype.array(x if x.dtype.kind in "biu" or self.dtype.kind not in "iu" else whole(x, self.dtype))

    def scalar(self, s: Scalars[S], *x: S) -> S:
        return s.cast(x[0], self.dtype)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return (Cast(x[0].dtype)(g) if x[0].dtype.is_float and self.dtype.is_float else None),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return self(dx[0]) if dx[0] is not None and x[0].dtype.is_float and self.dtype.is_float else None

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(float32), (np.array([1, -2]),)), (cls(int64), (np.array([1.7, -1.7], np.float32),)), \
               (cls(bfloat16), (Type(float32, (3,)),))


def cast(x: Value, dtype: DType) -> Value:
    """x as `dtype`; x itself where it has that dtype."""
    return x if x.dtype == dtype else Cast(dtype)(x)


def full(shape: Shape, value: complex, dtype: DType) -> Value:
    """An array that holds one number everywhere."""
    return broadcast(literal(value, dtype), shape)


def along(x: Placed, n: Dim) -> Value:
    """An operand with a leading axis of n, repeated where it has none."""
    a, is_placed = x
    return a if is_placed else broadcast(a, (n, *a.shape))


def further(axes: tuple[int, ...], x: Value) -> tuple[int, ...]:
    """Axes of one place of x, which has a leading axis of places, as axes of x."""
    return tuple(axis_of(k, x.ndim - 1) + 1 for k in axes)


def fold(x: Value) -> Value:
    """(n, k, ...) as (n*k, ...)."""
    return reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def unfold(x: Value, n: Dim) -> Value:
    """(n*k, ...) as (n, k, ...)."""
    return reshape(x, (n, x.shape[0] // n, *x.shape[1:]))


def zeros_like(x: Value) -> Value:
    """Zeros of the type of x."""
    return transfer(full(x.shape, 0, x.dtype), x.type.device)


def ones_like(x: Value) -> Value:
    """Ones of the type of x."""
    return transfer(full(x.shape, 1, x.dtype), x.type.device)


ALL = (Broadcast, Transfer, Sum, Reshape, Transpose, Slice, Pad, Concatenate, Cast)
