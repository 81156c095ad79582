"""Elementwise ops by arity: how operands meet, and both derivative modes from `partials`."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import ArgumentError, DTypeError
from stele.ir.graph import Literal, Op, Placed, Value, literal, number_dtype
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import DType, Type, bool_, broadcast_shapes, float32, highest, int64, lowest, promote, uint64
from stele.ops.linear import along, broadcast, cast

Rounding = Callable[[float], int]
Operand = Any       # a value, or a number that takes the dtype of the values it meets
Numbers = Any       # a value, a number or a list of them


def meet(args: Sequence[Any]) -> tuple[Value, ...]:
    """Operands of one dtype and shape: Python numbers take the arrays' dtype (a float among integers makes float32)."""
    dtype = met([a.dtype for a in args if isinstance(a, Value)],
                [number_dtype(a) for a in args if not isinstance(a, Value)])
    values = [cast(a, dtype) if isinstance(a, Value) else literal(a, dtype) for a in args]
    shape = broadcast_shapes(*(v.shape for v in values))
    return tuple(broadcast(v, shape) for v in values)


def met(arrays: Sequence[DType], numbers: Sequence[DType]) -> DType:
    """The dtype in which arrays of these dtypes and Python numbers of those meet."""
    dtype = reduce(promote, arrays or numbers)
    if any(n.is_complex for n in numbers):
        return dtype.complex
    if any(n.is_float for n in numbers) and not dtype.is_float:
        return float32
    return reduce(promote, numbers, dtype) if dtype == bool_ else dtype


class Elementwise(Op):
    """Element i of the result is `scalar` of the elements i of the operands."""

    family: ClassVar[str] = "elementwise"
    arity: ClassVar[int] = 1
    samples: ClassVar[tuple[float, float]] = (-3, 3)
    of_bool: ClassVar[bool] = True      # whether it has a meaning for bools, as in NumPy
    of_float: ClassVar[bool] = True     # and for floats
    of_complex: ClassVar[bool] = False  # and for complex numbers

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        if len(args) != self.arity:
            raise ArgumentError(f"{self.name} takes {self.arity} operands, got {len(args)}")
        return meet(args)

    def type(self, *x: Type) -> Type:
        if not self.of_float:
            needs_integer(self, x[0].dtype, self.of_bool)
        if not self.of_complex:
            needs_real(self, x[0].dtype)
        if not self.of_bool and x[0].dtype == bool_:
            raise DTypeError(f"{self.name} needs numbers, got bool",
                             hint="Convert with .astype('int64'); bools meet in x & y, x | y, x ^ y and ~x.")
        return x[0]

    def scalar(self, s: Scalars[S], *x: S) -> S:
        """The result's element from the operands' elements, said to a scalar builder."""
        raise NotImplementedError(self.name)

    def partials(self, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """dy/dx for each operand, elementwise; None where it is zero."""
        return tuple(None for _ in x)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (2, 3)),) * cls.arity), (cls(), (Type(float32),) * cls.arity)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        if not y.dtype.is_float:
            return tuple(None for _ in x)
        return tuple(None if p is None else scaled(g, p) for p in self.partials(y, *x))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if not y.dtype.is_float:
            return None
        parts = [scaled(t, p) for t, p in zip(dx, self.partials(y, *x)) if t is not None and p is not None]
        return cast(reduce(lambda a, b: a + b, parts), y.dtype) if parts else None

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))



def scaled(g: Value, p: Value | float) -> Value:
    """g * p, where a partial of one is no product."""
    if isinstance(p, Value) and isinstance(p.op, Literal):
        p = p.op.value
    return g if not isinstance(p, Value) and p == 1 else g * p


class Unary(Elementwise):
    """One operand."""


class FloatUnary(Unary):
    """One operand, made float32 where it is an integer."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        (x,) = super().prepare(*args)
        return x if x.dtype.is_float else cast(x, float32),


class Binary(Elementwise):
    """Two operands."""

    arity: ClassVar[int] = 2


class Compare(Binary):
    """Two operands, a bool result. Integers are compared with a Python number as they are, whatever it is."""

    rounding: ClassVar[tuple[Rounding, Rounding] | None] = None
    """To what whole number a fraction may move as the first and as the second operand; None where nothing equals it."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return super().prepare(*(exact(self.rounding, apart(*args)) if len(args) == 2 else args))

    def type(self, *x: Type) -> Type:
        return super().type(*x).with_dtype(bool_)


def apart(x: Any, z: Any) -> tuple[Any, Any]:
    """Operands of the same answer where uint64 meets a signed integer: no integer dtype holds both."""
    if not isinstance(x, Value) or not isinstance(z, Value):
        return x, z
    if x.dtype.kind == "i" and z.dtype == uint64:
        return apart(z, x)[::-1]
    if x.dtype != uint64 or z.dtype.kind != "i":
        return x, z
    below = z < 0
    return x | cast(below, uint64), cast(z * cast(~below, z.dtype), uint64)


def exact(rounding: tuple[Rounding, Rounding] | None, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of the same answer where integers meet a number that is not of their dtype: 0 and +-1 for one beyond."""
    place = int(isinstance(args[0], Value))
    x, number = args[1 - place], args[place]
    if not isinstance(x, Value) or x.dtype.is_float or not is_number(number) or number != number:
        return args
    dtype = int64 if x.dtype == bool_ else x.dtype
    if lowest(dtype) <= number <= highest(dtype) and (rounding or number == int(number)):
        x, number = x, int(number) if rounding is None else rounding[place](number)
    else:
        x, number = broadcast(literal(0), x.shape), -1 if number < lowest(dtype) else 1
    return (x, number) if place else (number, x)


def is_number(x: Any) -> bool:
    """Whether x is one Python or NumPy number that is no bool of NumPy."""
    return isinstance(x, int | float | np.integer | np.floating)


class Ternary(Elementwise):
    """Three operands."""

    arity: ClassVar[int] = 3


def needs_real(op: Op, dtype: DType) -> None:
    """Raises DTypeError where dtype is complex."""
    if dtype.is_complex:
        raise DTypeError(f"{op.name} needs real numbers, got {dtype}",
                         hint="Complex numbers have no order, and not every function is defined for them: take "
                              "st.abs(z), st.angle(z), z.real or z.imag.")


def needs_float(op: Op, dtype: DType) -> None:
    """Raises DTypeError unless dtype is a float of real numbers."""
    needs_real(op, dtype)
    if not dtype.is_float:
        raise DTypeError(f"{op.name} needs a float dtype, got {dtype}", hint="Convert with .astype('float32').")


def needs_integer(op: Op, dtype: DType, with_bool: bool = True) -> None:
    """Raises DTypeError unless dtype is an integer, or bool where that is allowed."""
    if dtype.is_float or (dtype == bool_ and not with_bool):
        raise DTypeError(f"{op.name} needs {'a bool or ' if with_bool else ''}an integer dtype, got {dtype}",
                         hint="Convert with .astype('int64')" + (", or compare first: x > 0." if with_bool else "."))


def function(op: Op, name: str = "") -> Callable[..., Value]:
    """The op as a plain function of its operands, under its name in lower case or another."""
    def one(x: Operand) -> Value: return op(x)
    def two(x: Operand, z: Operand) -> Value: return op(x, z)
    def three(condition: Operand, x: Operand, z: Operand) -> Value: return op(condition, x, z)

    apply = (one, two, three)[getattr(op, "arity", 1) - 1]
    apply.__name__ = apply.__qualname__ = name or op.name.lower()
    apply.__doc__ = type(op).__doc__
    return apply
