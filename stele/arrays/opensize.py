"""Sizes in the hands of the user: comparing an open one is an assumption that is checked at every call."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from stele.ir.door import public
from stele.ir.sizes import Dim, Size
from stele.ir.types import SIZES, axis_of, below, number_of, same
from stele.ops.arguments import is_series, shallow

Operation = Callable[[Any, Any], Any]


class OpenSize(Size):
    """A symbolic size: sums, products and whole parts of it stay symbolic, comparisons are guarded, never guessed.

    What needs its number (`float(n)`, `range(n)`, `n ** 0.5`, `f"{n}"`, `n in {4, 8}`) gets that of this call, which is
    guarded too.
    """

    __slots__ = ()

    # Comparisons

    def __eq__(self, other: object) -> bool:
        other = whole(other)
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        return isinstance(other, int | Size) and same(plain(self), plain(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> Any: return compared(operator.lt, self, other)
    def __ge__(self, other: Any) -> Any: return compared(operator.ge, self, other)
    def __le__(self, other: Any) -> Any: return compared(operator.le, self, other)
    def __gt__(self, other: Any) -> Any: return compared(operator.gt, self, other)

    def __bool__(self) -> bool:
        return self != 0

    # Arithmetic

    def __add__(self, other: Any) -> Any: return made(operator.add, self, other)
    def __sub__(self, other: Any) -> Any: return made(operator.sub, self, other)
    def __mul__(self, other: Any) -> Any: return made(operator.mul, self, other)
    def __floordiv__(self, other: Any) -> Any: return made(divided, self, other)
    def __mod__(self, other: Any) -> Any: return made(left, self, other)
    def __truediv__(self, other: Any) -> Any: return counted(operator.truediv, self, other)
    def __pow__(self, other: Any) -> Any: return made(power, self, other)
    def __radd__(self, other: Any) -> Any: return made(operator.add, other, self)
    def __rsub__(self, other: Any) -> Any: return made(operator.sub, other, self)
    def __rmul__(self, other: Any) -> Any: return made(operator.mul, other, self)
    def __rfloordiv__(self, other: Any) -> Any: return made(divided, other, self)
    def __rmod__(self, other: Any) -> Any: return made(left, other, self)
    def __rtruediv__(self, other: Any) -> Any: return counted(operator.truediv, other, self)
    def __rpow__(self, other: Any) -> Any: return counted(operator.pow, other, self)
    def __divmod__(self, other: Any) -> Any: return self // other, self % other
    def __rdivmod__(self, other: Any) -> Any: return other // self, other % self
    def __neg__(self) -> Any: return self * -1
    def __pos__(self) -> Any: return self
    def __abs__(self) -> Any: return self if self >= 0 else -self

    # Numbers

    def __hash__(self) -> int: return hash(told(self))
    def __str__(self) -> str: return str(told(self))
    def __format__(self, form: str) -> str: return format(n if isinstance(n := told(self), int) else str(n), form)
    def __index__(self) -> int: return number_of(plain(self))
    def __float__(self) -> float: return float(number_of(plain(self)))
    def __round__(self, digits: int | None = None) -> Any: return self
    def __trunc__(self) -> Any: return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """What NumPy makes of a size is made of its number."""
        return getattr(ufunc, method)(*(number_of(plain(x)) if isinstance(x, Size) else x for x in inputs), **options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Its number; among objects the size itself, of which nothing is asked."""
        if np.dtype(dtype).kind != "O":
            return np.array(number_of(plain(self)), dtype)
        made = np.empty((), object)
        made[()] = self
        return made

    __repr__ = __str__
    __int__ = __index__
    __floor__ = __ceil__ = __trunc__


class Counted:
    """A number of elements that knows of which shape they are, for code that calls it, as PyTorch's `x.size()` is."""

    axes: tuple[Dim, ...]

    @public
    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size of the axis `dim`. Raises BadAxis for one that is not there."""
        axes = tuple(map(opened, self.axes))
        return axes if dim is None else axes[axis_of(dim, len(axes))]

    def __reduce__(self) -> Any:
        return int, (int(self),)    # type: ignore[call-overload]


class Count(Counted, int):
    """A number of elements that is known."""


class OpenCount(Counted, OpenSize):
    """A number of elements that is open."""


def counted_out(n: Dim, axes: tuple[Dim, ...]) -> Any:
    """The number of elements of a shape, for the user."""
    found = Count(n) if isinstance(n, int) else OpenCount(n.terms)
    object.__setattr__(found, "axes", axes)
    return found


def compared(relation: Operation, n: OpenSize, other: Any) -> Any:
    """Whether one of `<`, `>=`, `<=`, `>` holds between a size and a number; a tensor answers itself."""
    other = whole(other)
    if isinstance(other, float) and not isfinite(other):
        return relation(0.0, other)
    if isinstance(other, float):
        other = ceil(other) if relation in (operator.lt, operator.ge) else floor(other)
    if not isinstance(other, int | Size):
        return NotImplemented
    end = plain(other) + (relation in (operator.le, operator.gt))
    return below(plain(n), end) == (relation in (operator.lt, operator.le))


def made(operation: Operation, a: Any, b: Any) -> Any:
    """The size an operation makes of two, or the number it makes of their numbers; a tensor answers itself."""
    a, b = whole(a), whole(b)
    if isinstance(a, int | Size) and isinstance(b, int | Size):
        return opened(operation(plain(a), plain(b)))
    return counted(operation, a, b)


def counted(operation: Operation, a: Any, b: Any) -> Any:
    """What an operation makes of numbers, where one is an open size; a tensor answers itself."""
    if all(isinstance(x, int | float | complex | Size | np.generic | np.ndarray) for x in (a, b)):
        return operation(*(number_of(plain(x)) if isinstance(x, Size) else x for x in (a, b)))
    return NotImplemented


def divided(a: Any, b: Any) -> Any:
    """a // b: a size where b is a positive number or a factor of a, else a number."""
    if isinstance(b, int) and b > 0:
        return a // b
    if isinstance(a, Size) and isinstance(b, Size) and (exact := a.exactly(b)) is not None:
        return exact
    return counted(operator.floordiv, a, b)


def left(a: Any, b: Any) -> Any:
    """a % b, as `divided`."""
    return a - divided(a, b) * b if isinstance(b, Size) or (isinstance(b, int) and b > 0) else \
        counted(operator.mod, a, b)


def power(a: Any, b: Any) -> Any:
    """a ** b: a size for small whole exponents, else a number."""
    if isinstance(b, int) and 0 <= b <= 8:
        y: Dim = 1
        for _ in range(b):
            y = y * a
        return y
    return counted(operator.pow, a, b)


def whole(x: Any) -> Any:
    """A NumPy integer as an int."""
    return int(x) if isinstance(x, np.integer) else x


def opened(n: Any) -> Any:
    """A dimension for the user."""
    return OpenSize(n.terms) if isinstance(n, Size) else n


def told(n: OpenSize) -> Dim:
    """What code sees that looks at a size: its number where sizes have one, what it is called where they have none."""
    return plain(n) if SIZES.get() is None else number_of(plain(n))


def numbered(x: Any) -> Any:
    """What leaves a compiled function, or stays in what it has changed: the number of a size, else x itself."""
    return number_of(plain(x)) if isinstance(x, OpenSize) else x


def plain(x: Any) -> Any:
    """A size, or a shape, or a slice, as the compiler sees it."""
    return unopened(shallow(x) if is_series(x) else x)


def unopened(x: Any) -> Any:
    """The same of lists that are known to end."""
    if isinstance(x, OpenSize):
        return Size(x.terms)
    if isinstance(x, slice):
        return slice(plain(x.start), plain(x.stop), plain(x.step))
    return tuple(map(unopened, x)) if isinstance(x, tuple) else list(map(unopened, x)) if isinstance(x, list) else x
