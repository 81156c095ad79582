"""Complex numbers of their parts, and parts of complex numbers; the real part is what `Cast` makes of them."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, broadcast_shapes, float32, promote
from stele.ops.linear import Linear, along, broadcast, cast, zeros_like

Function = Callable[[Array], Array]


class Part(Linear):
    """Linear over the real numbers: elements of the result are made of the real and imaginary parts of one element.

    Programs hold pairs of real numbers, and none of these (`transform/pairs.py`).
    """

    family: ClassVar[str] = "complex"

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (np.array([[1 - 2j, 3j], [-1, 0]], np.complex64),)), (cls(), (np.array(2 + 1j),))


class Imag(Part):
    """The imaginary part of each element."""

    def type(self, *x: Type) -> Type: return x[0].with_dtype(x[0].dtype.real)
    def reference(self, *x: Array) -> Array: return np.imag(x[0])

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return Complex()(zeros_like(g), -g),


class Conj(Part):
    """The complex conjugate: the imaginary part is negated."""

    def type(self, *x: Type) -> Type: return x[0]
    def reference(self, *x: Array) -> Array: return np.conj(x[0])
    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]: return self(g),


class Angle(Part):
    """The angle of each element, in radians from -pi to pi: atan2(imag, real)."""

    def type(self, *x: Type) -> Type: return x[0].with_dtype(x[0].dtype.real)
    def reference(self, *x: Array) -> Array: return np.asarray(np.angle(x[0]))
    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]: return g * -1j / x[0],
    def jvp(self, d: Any, dx: Sequence[Any], y: Value, *x: Value) -> Value | None: return imag(dx[0] / x[0])


class Complex(Part):
    """Complex numbers of their real and imaginary parts, floats of one dtype: float32 or float64."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, z = super().prepare(*args)
        dtype, shape = promote(promote(x.dtype, z.dtype), float32), broadcast_shapes(x.shape, z.shape)
        return broadcast(cast(x, dtype), shape), broadcast(cast(z, dtype), shape)

    def type(self, *x: Type) -> Type:
        if x[0].dtype.is_complex:
            raise DTypeError(f"the parts of complex numbers are real, got {x[0]} and {x[1]}",
                             hint="Write x + 1j * z to add complex numbers.")
        return x[0].with_dtype(x[0].dtype.complex)

    def reference(self, *x: Array) -> Array:
        y = np.empty(x[0].shape, np.result_type(x[0], np.complex64))
        y.real, y.imag = x
        return y

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return real(g), -imag(g)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return self(*(zeros_like(v) if t is None else t for t, v in zip(dx, x)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (2, 3)), Type(float32, (2, 3)))),


def real(x: Value) -> Value:
    """The real part of each element, in the dtype of the parts: float32 of complex64. Real numbers stay as they are.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.real(st.tensor([1 + 2j, 3.0])).tolist()
    [1.0, 3.0]
    """
    return cast(x, x.dtype.real)


def imag(x: Value) -> Value:
    """The imaginary part of each element, in the dtype of the parts: float32 of complex64. Of real numbers it is 0.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.imag(st.tensor([1 + 2j, 3.0])).tolist()
    [2.0, 0.0]
    """
    return Imag()(x) if x.dtype.is_complex else zeros_like(x)


def conj(x: Value) -> Value:
    """The complex conjugate of each element: its imaginary part is negated. Real numbers stay as they are.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.conj(st.tensor([1 + 2j, -3j])).tolist()
    [(1-2j), (-0+3j)]
    """
    return Conj()(x) if x.dtype.is_complex else x


def angle(x: Value, *, deg: bool = False) -> Value:
    """The angle of each element, in radians from -pi to pi: atan2(imag(x), real(x)), in the dtype of the parts.

    With `deg` in degrees. Of real numbers it is 0, or pi where they are negative; integers become float32. x has any
    shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.angle(st.tensor([2.0, 3j, -1.0]))
    tensor([0.       , 1.5707964, 3.1415927])
    """
    y = Angle()(cast(x, x.dtype.complex))
    return y * (180 / math.pi) if deg else y


def complex(x: Value, z: Value) -> Value:
    """The complex numbers x + z * 1j of their parts, broadcast: complex128 where one is float64, else complex64.

    Nothing is computed, so that infinities and zeros of either sign stay. Raises DTypeError for complex parts.

    >>> st.complex(st.tensor([1.0, 2.0]), float("inf")).tolist()
    [(1+infj), (2+infj)]
    """
    return Complex()(x, z)


def near_zero(x: Array, f: Function, near: Callable[[Array, Array], tuple[Array, Array]], far: Function) -> Array:
    """f(x) of real numbers; of complex ones what `near` makes of the parts of those near 0, and `far` of others, where
    NumPy loses the digits of small numbers, or has NaN."""
    if x.dtype.kind != "c":
        return f(x)
    wide = x.astype(np.complex128)
    re, im = near(np.real(wide), np.imag(wide))
    return np.where(np.abs(x) < 0.5, Complex().reference(re, im), far(wide)).astype(x.dtype)


def expm1_parts(x: Array, y: Array) -> tuple[Array, Array]:
    """The parts of exp(x + iy) - 1."""
    return np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 0.0, np.exp(x) * np.sin(y)


def log1p_parts(x: Array, y: Array) -> tuple[Array, Array]:
    """The parts of log(1 + x + iy)."""
    return np.log1p(x * (x + 2) + y * y) / 2, np.arctan2(y, x + 1)


def log_of_next(z: Array) -> Array:
    """log(1 + z), where the imaginary part keeps the sign of its zero."""
    return np.log(Complex().reference(np.real(z) + 1, np.imag(z)))


ALL: tuple[type[Op], ...] = (Imag, Conj, Angle, Complex)
