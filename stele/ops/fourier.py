"""Discrete Fourier transforms, by pocketfft through NumPy: host ops, and the functions that users call."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Placed, Value, literal
from stele.ir.sizes import Dim
from stele.ir.types import Type, axes_of, axis_of, below, float32, same, show
from stele.ops.arguments import choice, positive, wholes
from stele.ops.contraction import is_empty
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import needs_real
from stele.ops.elementwise.binary import logical_or
from stele.ops.generate import iota, quantity
from stele.ops.linear import Linear, cast, pad_axis, slice_axis, transfer
from stele.ops.parts import conj
from stele.ops.shaping import roll, several, swapaxes

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


class Fourier(Linear):
    """A transform along axes that count from the last; `norm` says which of the two directions is divided by n.

    Computed in the precision of the operand: float32 and complex64 stay single.
    """

    def check(self, x: Type, axes: Sequence[int]) -> None:
        """Raises ShapeError where there is nothing to transform."""
        for a in axes:
            if is_empty(x.shape[axis_of(a, x.ndim)]):
                raise ShapeError(f"a Fourier transform needs one element or more, got {show(x.shape)} along axis {a}")

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])


class Fft(Fourier):
    """Of complex numbers along several axes; its matrix is symmetric, so that it is its own transpose."""

    axes: tuple[int, ...]
    inverse: bool
    norm: str

    def type(self, *x: Type) -> Type:
        self.check(x[0], self.axes)
        return x[0]

    def reference(self, *x: Array) -> Array:
        return (np.fft.ifftn if self.inverse else np.fft.fftn)(x[0], axes=self.axes, norm=self.norm)   # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self(g),

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x = np.array([[1, 2j, -1], [0.5, 1 - 1j, 3]], np.complex64)
        return (cls((-1,), False, "backward"), (x,)), (cls((-1, -2), True, "ortho"), (x,)), \
               (cls((-2,), False, "forward"), (x,))


class Rfft(Fourier):
    """Of real numbers along the last axis: the first n // 2 + 1 of their transform, which the others mirror."""

    norm: str

    def type(self, *x: Type) -> Type:
        needs_real(self, x[0].dtype)
        self.check(x[0], (-1,))
        return x[0].with_dtype(x[0].dtype.complex).with_shape((*x[0].shape[:-1], x[0].shape[-1] // 2 + 1))

    def reference(self, *x: Array) -> Array:
        return np.fft.rfft(x[0], norm=self.norm)    # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        n = x[0].shape[-1]
        return Irfft(n, SWAPPED[self.norm])(conj(g) * mirrored(g, n, 0.5)),

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(norm), (Type(float32, shape),)) for norm, shape in (("backward", (2, 5)), ("ortho", (4,))))


class Irfft(Fourier):
    """Real numbers, n of them along the last axis, of the first n // 2 + 1 of their transform."""

    n: Dim
    norm: str

    def type(self, *x: Type) -> Type:
        if not same(x[0].shape[-1], self.n // 2 + 1) or is_empty(self.n):
            raise ShapeError(f"{self.n} real numbers are made of {self.n // 2 + 1} complex ones, got "
                             f"{show(x[0].shape)}")
        return x[0].with_dtype(x[0].dtype.real).with_shape((*x[0].shape[:-1], self.n))

    def reference(self, *x: Array) -> Array:
        return np.fft.irfft(x[0], self.n, norm=self.norm)      # type: ignore[arg-type, call-overload]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return conj(Rfft(SWAPPED[self.norm])(g)) * mirrored(x[0], self.n, 2.0),

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x = np.array([[1, 2j, -1], [0.5, 1 - 1j, 3]], np.complex64)
        return (cls(5, "backward"), (x,)), (cls(4, "forward"), (x,))


def mirrored(x: Value, n: Dim, weight: float) -> Value:
    """`weight` for each of n // 2 + 1 elements that stands for a mirrored one too, 1 for the first, and the last of an
    even n.
    """
    k = iota(n // 2 + 1)
    alone = logical_or(Equal()(k, 0), Equal()(k * 2, quantity(n)))
    return transfer(Select()(alone, literal(1.0, x.dtype.real), literal(weight, x.dtype.real)), x.type.device)


def resized(x: Value, axis: int, n: Dim | None) -> Value:
    """x with n elements along an axis: cut off, or zeros behind."""
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    if n is None or same(n, size):
        return x
    return slice_axis(x, axis, 0, n) if below(n, size) else pad_axis(x, axis, 0, n - size)


def last(x: Value, axis: int) -> Value:
    """x with an axis and its last one exchanged."""
    return x if axis_of(axis, x.ndim) == x.ndim - 1 else swapaxes(x, axis, -1)


def direction(norm: str | None, called: str) -> str:
    """A norm there is."""
    return choice("backward" if norm is None else norm, f"norm of {called}", tuple(SWAPPED))


def reals(x: Value, called: str) -> Value:
    """Real numbers in a precision that transforms have."""
    if x.dtype.is_complex:
        raise DTypeError(f"{called} needs real numbers, got {x.dtype}",
                         hint=f"Write st.fft.{called[1:]}(x), or x.real.")
    return cast(x, x.dtype.complex.real)


def over(x: Value, s: Any, axes: Any, called: str) -> tuple[Any, tuple[int, ...]]:
    """The sizes and the axes of a transform along several, the axes counted from the last."""
    sizes = None if s is None else [None if n == -1 else n for n in several(s)]
    if axes is None:
        axes = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
    found = axes_of(wholes(axes, f"axes of {called}"), x.ndim)
    if not found and called in ("rfftn", "irfftn"):
        raise ShapeError(f"{called} needs an axis or more, got none")
    if sizes is not None and len(sizes) != len(found):
        raise ShapeError(f"{called} needs a size for each of {len(found)} axes, got s={s}")
    return sizes or [None] * len(found), tuple(a - x.ndim for a in found)


def transformed(x: Value, n: Any, axis: int, norm: str | None, called: str) -> Value:
    """A transform of complex numbers along one axis."""
    return transformed_over(x, None if n is None else [n], [axis], norm, called)


def transformed_over(x: Value, s: Any, axes: Any, norm: str | None, called: str) -> Value:
    """A transform of complex numbers along several axes."""
    sizes, places = over(x, s, axes, called)
    for n, a in zip(sizes, places):
        x = resized(x, a, None if n is None else positive(n, f"size of {called}"))
    return Fft(places, called.startswith("i"), direction(norm, called))(cast(x, x.dtype.complex)) if places else x


def fft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """The discrete Fourier transform along an axis: the sums of x[j] * exp(-2 pi i j k / n) for k from 0 to n - 1.

    With `n` the axis is cut off, or filled with zeros, to that length. `norm` says which direction is divided by n:
    "backward" the inverse, "forward" this one, "ortho" both by its root. float64 becomes complex128, complex numbers
    keep their dtype, all others become complex64. Raises ShapeError for an axis of no elements.

    >>> st.fft.fft(st.tensor([1.0, 0.0, -1.0, 0.0])).tolist()
    [0j, (2+0j), 0j, (2+0j)]
    """
    return transformed(x, n, axis, norm, "fft")


def ifft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """The inverse of `fft`, whose `n` and `norm`, dtypes and errors it has: ifft(fft(x)) is x.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm.

    >>> st.fft.ifft(st.tensor([0, 2, 0, 2])).tolist()
    [(1+0j), 0j, (-1+0j), 0j]
    """
    return transformed(x, n, axis, norm, "ifft")


def fftn(x: Value, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Value:
    """`fft` along each of several `axes`, all of them where none are named; `s` has a length for each, -1 for its own.

    Raises ShapeError for other than one length for each axis. `norm`, dtypes and other errors are those of `fft`.

    >>> st.fft.fftn(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return transformed_over(x, s, axes, norm, "fftn")


def ifftn(x: Value, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Value:
    """The inverse of `fftn`, whose `s`, `axes` and `norm` it has.

    Complex; of float64 it is complex128, of other real numbers complex64. Raises ShapeError for an axis that x does not
    have and where there is nothing to transform, OptionError for another norm.

    >>> st.fft.ifftn(st.ones(2, 2)).tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
    return transformed_over(x, s, axes, norm, "ifftn")


def fft2(x: Value, *, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward") -> Value:
    """`fftn` over two `axes`, the last two where none are named; `s`, `norm` and dtypes are those of `fftn`.

    Raises ShapeError for axes that x does not have and for other than one length for each axis, OptionError for another
    norm.

    >>> st.fft.fft2(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return transformed_over(x, s, axes, norm, "fft2")


def ifft2(x: Value, *, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward") -> Value:
    """The inverse of `fft2`: `ifftn` over two `axes`, the last two where none are named. `s`, `norm`, dtypes as there.

    Raises ShapeError for axes that x does not have and for other than one length for each axis, OptionError for another
    norm.

    >>> st.fft.ifft2(st.fft.fft2(st.eye(2))).real.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return transformed_over(x, s, axes, norm, "ifft2")


def rfft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """The first n // 2 + 1 elements of `fft` of real numbers, of which the others are conjugates.

    `n`, `norm` and errors are those of `fft`; complex numbers raise DTypeError. Other axes keep their lengths.

    >>> st.fft.rfft(st.tensor([1.0, 0.0, -1.0, 0.0])).tolist()
    [0j, (2+0j), 0j]
    """
    x = reals(resized(x, axis, None if n is None else positive(n, "n of rfft")), "rfft")
    return last(Rfft(direction(norm, "rfft"))(last(x, axis)), axis)


def irfft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """The inverse of `rfft`: `n` real numbers, 2 * (m - 1) of m complex ones where it is not given.

    An odd length has to be given. Imaginary parts of the first element, and of the last of an even n, are not read.
    `norm` and errors are those of `fft`. Raises ShapeError for an axis that x does not have and where there is nothing
    to transform, OptionError for another norm.

    >>> st.fft.irfft(st.tensor([0, 2, 0])).tolist(), st.fft.irfft(st.tensor([3, 0]), n=3).tolist()
    ([1.0, 0.0, -1.0, 0.0], [1.0, 1.0, 1.0])
    """
    m = x.shape[axis_of(axis, x.ndim)]
    count: Dim = (m - 1) * 2 if n is None else positive(n, "n of irfft")
    half = last(cast(resized(x, axis, count // 2 + 1), x.dtype.complex), axis)
    return last(Irfft(count, direction(norm, "irfft"))(half), axis)


def rfftn(x: Value, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Value:
    """`rfft` along the last of several `axes`, and `fft` along the others; `s` as in `fftn`, `norm` as in `fft`.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm, DTypeError for complex numbers.

    >>> st.fft.rfftn(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    sizes, places = over(x, s, axes, "rfftn")
    y = rfft(x, n=sizes[-1], axis=places[-1], norm=norm)
    return transformed_over(y, [-1 if n is None else n for n in sizes[:-1]], places[:-1], norm, "fftn")


def irfftn(x: Value, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Value:
    """The inverse of `rfftn`, whose `axes` and `norm` it has; `s` has the lengths of the result, as in `irfft`.

    Real: float64 of complex128, else float32. Raises ShapeError for an axis that x does not have and where there is
    nothing to transform, OptionError for another norm.

    >>> st.fft.irfftn(st.tensor([[4, 0], [0, 0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    sizes, places = over(x, s, axes, "irfftn")
    y = transformed_over(x, [-1 if n is None else n for n in sizes[:-1]], places[:-1], norm, "ifftn")
    return irfft(y, n=sizes[-1], axis=places[-1], norm=norm)


def hfft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """`fft` of numbers whose second half mirrors and conjugates the first, which is given: real numbers.

    `n` is the length of the result, as in `irfft`; `norm` and errors are those of `fft`. Raises ShapeError for an axis
    that x does not have and where there is nothing to transform, OptionError for another norm.

    >>> st.fft.hfft(st.tensor([1, 0, -1])).tolist()
    [0.0, 2.0, 0.0, 2.0]
    """
    return irfft(conj(x), n=n, axis=axis, norm=SWAPPED[direction(norm, "hfft")])


def ihfft(x: Value, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Value:
    """The inverse of `hfft`: the first n // 2 + 1 elements of `ifft` of real numbers; `n` and `norm` as in `rfft`.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm, DTypeError for complex numbers.

    >>> st.fft.ihfft(st.tensor([0.0, 2.0, 0.0, 2.0])).tolist()
    [(1-0j), -0j, (-1-0j)]
    """
    return conj(rfft(x, n=n, axis=axis, norm=SWAPPED[direction(norm, "ihfft")]))


def shifted(x: Value, axes: Any, way: int) -> Value:
    """x rolled by half of its length along axes."""
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    for a in axes_of(given, x.ndim):
        x = roll(x, shift=x.shape[a] // 2 if way > 0 else -(x.shape[a] // 2), axis=a)
    return x


def fftshift(x: Value, *, axes: int | Sequence[int] | None = None) -> Value:
    """x with the frequency 0 in the middle of `axes`, of all where none are named: what `fftfreq` orders, ascending.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.fft.fftshift(st.tensor([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
    return shifted(x, axes, 1)


def ifftshift(x: Value, *, axes: int | Sequence[int] | None = None) -> Value:
    """The inverse of `fftshift`, along the same `axes`.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.fft.ifftshift(st.tensor([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
    return shifted(x, axes, -1)


ALL = (Fft, Rfft, Irfft)
