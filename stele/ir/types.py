"""Element types, array types, promotion and broadcasting."""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import eq, ge, lt, ne
from sys import intern
from typing import Any, cast

import numpy as np

from stele.errors import BadAxis, DTypeError, OutOfMemory, ShapeError, kind, nearest
from stele.ir.door import public
from stele.ir.origin import NOWHERE, Where, here, lines
from stele.ir.sizes import Dim, at, names

Shape = tuple[Dim, ...]
NUMBERS: tuple[type, ...] = (bool, int, float, complex, np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type: `kind` is one of 'b' (bool), 'u', 'i', 'f', 'c' (complex); `bits` its width in memory.

    It equals its name and NumPy's dtype and scalar type too.

    >>> float32 == "float32", float32 == np.float32, float32 == np.dtype("float64")
    (True, True, False)
    """

    name: str
    kind: str
    bits: int

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other or self.name == other.name
        if isinstance(other, type):
            return other is self.numpy.type or PYTHON.get(other) is self
        return self.name == (other.name if isinstance(other, np.dtype) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return dtype, (self.name,)

    @public
    def __call__(self, x: Any = 0) -> np.generic[Any]:
        """A number of this dtype, as NumPy has them. Raises DTypeError for what is no number, or does not fit.

        >>> float16(0.1), int8(2.9)
        (np.float16(0.1), np.int8(2))
        """
        if not isinstance(x, NUMBERS) or isinstance(x, np.character):
            raise DTypeError(f"{self.name}(x) is of a number, got {kind(x)}",    # type: ignore[reportUnknownArgumentType]
                             hint=f"Write x.astype({self.name!r}), or st.tensor(x, dtype={self.name!r}).")
        number: Any = np.asarray(x).item()
        if self.kind in "ui" and isinstance(number, float) and math.isfinite(number):
            number = int(number)
        refuse_unfit(self, (number,))
        return self.numpy.type(float(number) if self.kind == "f" else number)   # bfloat16 takes no long integer

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def itemsize(self) -> int:
        """The bytes of an element, as NumPy calls them."""
        return self.bytes

    @property
    def char(self) -> str:
        """NumPy's code of one letter."""
        return self.numpy.char

    @property
    def numpy(self) -> np.dtype[Any]:
        return NUMPY[self.name] if self.name in NUMPY else NUMPY.setdefault(self.name, brain_float())

    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy looks for where it is given this as a dtype: np.zeros(3, x.dtype)."""
        return self.numpy

    @property
    def is_float(self) -> bool:
        """Whether it holds fractions: real numbers, or complex ones."""
        return self.kind in "fc"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def real(self) -> DType:
        """The dtype of the real part of its numbers."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def complex(self) -> DType:
        """The complex dtype whose parts hold its numbers."""
        return self if self.is_complex else complex128 if self == float64 else complex64

    def array(self, x: Any) -> np.ndarray[Any, Any]:
        """x in this dtype, as a C-ordered array of its own; bfloat16 is rounded to once, not by way of float32. Raises
        OutOfMemory, naming it, where it does not fit.
        """
        made: np.ndarray[Any, Any] = np.asarray(x)
        try:
            return self.rounded(made)
        except MemoryError as error:
            raise too_large(self, made.shape, error) from None

    def rounded(self, made: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The numbers of an array as those of this dtype."""
        if self.name == "bfloat16" and made.dtype.itemsize > 2 and made.dtype != np.float32:
            wide = made.astype(np.float64)
            with np.errstate(over="ignore"):
                near = wide.astype(np.float32)
            # what is not exact gets an odd last bit
            made = np.where(near == wide, near, (near.view(np.uint32) - (abs(near) > abs(wide)) | 1).view(np.float32))
        return np.array(made, self.numpy, order="C")

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def too_large(dtype: DType, shape: tuple[int, ...], error: MemoryError) -> OutOfMemory:
    """The error for an array that NumPy has no memory for."""
    bytes_ = math.prod(shape) * dtype.bytes
    return OutOfMemory(f"an array {dtype}{list(shape)} of {bytes_:,} bytes does not fit: {error}")


bool_    = DType("bool", "b", 8)
int8     = DType("int8", "i", 8)
uint8    = DType("uint8", "u", 8)
int16    = DType("int16", "i", 16)
uint16   = DType("uint16", "u", 16)
int32    = DType("int32", "i", 32)
uint32   = DType("uint32", "u", 32)
int64    = DType("int64", "i", 64)
uint64   = DType("uint64", "u", 64)
float16  = DType("float16", "f", 16)
bfloat16 = DType("bfloat16", "f", 16)
float32  = DType("float32", "f", 32)
float64  = DType("float64", "f", 64)
complex64  = DType("complex64", "c", 64)
complex128 = DType("complex128", "c", 128)

DTYPES = {d.name: d for d in (bool_, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16,
                              float32, float64, complex64, complex128)}
REAL = tuple(d for d in DTYPES.values() if not d.is_complex)
HOME = "cpu"             # the device where Python runs, and where arrays are unless something else is said
MOST_BYTES = (1 << 62) - 1      # of any array, so that no index or count of bytes leaves an int64
MOST_AXES = 64                  # of any array, as NumPy's have
NUMPY = {name: np.dtype(name) for name in DTYPES if name != "bfloat16"}
NAMED = {kind: DTYPES[name] for name, kind in NUMPY.items()}
CODE = re.compile(r"[<=]?[iufc]\d+")      # what NumPy calls dtypes in short
PYTHON: dict[type, DType] = {float: float32, int: int64, bool: bool_, complex: complex64}
RANK = {name: rank for rank, name in enumerate(DTYPES)}


def brain_float() -> np.dtype[Any]:
    """NumPy's dtype for bfloat16, which another package gives it."""
    import ml_dtypes  # imported late: 4 ms

    return np.dtype(ml_dtypes.bfloat16)


def dtype(of: object) -> DType:
    """The DType meant by a name, a NumPy dtype, scalar type or code, a Python type or a DType.

    >>> dtype("float32"), dtype(np.int64), dtype("i2"), dtype(float)
    (float32, int64, int16, float32)
    """
    if isinstance(of, DType):
        return of
    if isinstance(of, np.dtype) and (found := NAMED.get(cast(Any, of))) is not None:    # its name would take 2 us
        return found
    if of is None:
        raise DTypeError("None is no dtype", hint="Leave dtype out for the usual one, or write 'float32'.")
    if isinstance(of, type) and issubclass(of, (*PYTHON,)) and not issubclass(of, np.generic):
        return next(PYTHON[kind] for kind in of.__mro__ if kind in PYTHON)
    try:
        name = of if isinstance(of, str) and not CODE.fullmatch(of) else np.dtype(of).name  # type: ignore[call-overload]
    except (TypeError, ValueError):
        name = f"{of!r:.40}"
    if name not in DTYPES:
        near = nearest(name, DTYPES)
        raise DTypeError(f"no dtype {name!r} here; choose one of {', '.join(DTYPES)}",
                         hint="Texts are no numbers: np.unique(x, return_inverse=True) numbers them."
                         if name.startswith(("str", "bytes", "StringDType")) else near and f"Did you mean {near!r}?")
    return DTYPES[name]


def lowest(dtype: DType) -> float | int | bool:
    """The smallest number of a dtype."""
    if dtype.is_float:
        return -math.inf
    return dtype != bool_ and -(1 << (dtype.bits - 1)) * (dtype.kind == "i")


def highest(dtype: DType) -> float | int | bool:
    """The largest number of a dtype."""
    if dtype.is_float:
        return math.inf
    return dtype == bool_ or (1 << (dtype.bits - (dtype.kind == "i"))) - 1


def holds(dtype: DType, value: complex) -> bool:
    """Whether a number is one of a dtype once rounded: integers drop a fraction, nothing wraps (NumPy 2's rule).
    A complex one is none of a real dtype.

    >>> holds(uint8, 255), holds(uint8, -1), holds(int32, math.nan), holds(float32, 1e300)
    (True, False, False, True)
    """
    if isinstance(value, complex) or dtype == bool_:
        return dtype.is_complex or not isinstance(value, complex)
    try:
        number = float(value) if dtype.is_float else int(value)
    except (OverflowError, ValueError):  # a whole number beyond every float; no whole number at all
        return False
    return dtype.is_float or lowest(dtype) <= number <= highest(dtype)


def refuse_unfit(dtype: DType, numbers: Iterable[complex]) -> None:
    """Raises DTypeError for the first number that a dtype does not hold."""
    for value in numbers:
        if not holds(dtype, value):
            raise unfit(value, dtype)


def unfit(value: object, dtype: DType) -> DTypeError:
    """The error for a number that a dtype does not hold."""
    if isinstance(value, complex):
        return DTypeError(f"{value} does not fit in {dtype}, which holds real numbers",
                          hint=f"Write dtype={dtype.complex.name!r}, or take a part of it: z.real.")
    room = "" if dtype.is_float else f", which holds whole numbers from {int(lowest(dtype))} to {int(highest(dtype))}"
    return DTypeError(f"{value!s:.60} does not fit in {dtype}{room}",
                      hint="Choose a dtype that holds it: dtype='float32', or x.astype('int64') before the operation.")


def promote(a: DType, b: DType) -> DType:
    """The dtype two arrays meet in: float over integer over bool, then the wider; float16 with bfloat16 is float32.

    An unsigned integer and a signed one meet in the least signed one that holds both; uint64 has none and meets the
    signed ones in float64, as in NumPy. A complex number's parts are what its real part and the other meet in.

    >>> promote(int8, uint8), promote(int64, uint16), promote(uint64, int8), promote(float64, complex64)
    (int16, int64, float64, complex128)
    """
    if a == b:
        return a
    if {a.name, b.name} == {"float16", "bfloat16"}:
        return float32
    if {a.kind, b.kind} == {"u", "i"}:
        room = max(d.bits + (d.kind == "u") for d in (a, b))
        return next((d for d in (int16, int32, int64) if d.bits >= room), float64)
    if a.is_complex or b.is_complex:
        return promote(a.real, b.real).complex
    return max(a, b, key=lambda d: RANK[d.name])


def summed_in(dtype: DType) -> DType:
    """What elements add up and multiply as: bools and signed integers as int64, unsigned ones as uint64."""
    return dtype if dtype.is_float else uint64 if dtype.kind == "u" else int64


def whole_in(integer: DType) -> DType:
    """The signed integer that a float becomes on its way to an integer dtype, which keeps the low bits of it.

    A float is truncated; NaN, infinities and what does not fit are the least number. That is what NumPy answers on
    x86-64, except for uint32 beyond 2**32 and uint64, where its answer depends on the length of the array. Of uint64
    the upper half goes that way less 2**63, which comes back behind it.
    """
    return int32 if integer.bits < 32 else int64 if integer.kind == "u" else integer


@dataclass(frozen=True, slots=True)
class Type:
    """What an array value is: dtype, shape and device. Types of one `mark`, which a dict finds quickly, are equal.

    >>> str(Type(float32, (2, 3)))
    'float32[2,3]'
    """

    dtype: DType
    shape: Shape = ()
    device: str = HOME
    mark: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bytes_ = self.dtype.bytes
        if len(self.shape) > MOST_AXES:
            raise ShapeError(f"an array has at most {MOST_AXES} axes, got {len(self.shape)}")
        for n in self.shape:
            if isinstance(n, int):
                if n < 0:
                    raise ShapeError(f"the size of an axis is 0 or more, got {n} in {show(self.shape)}")
                bytes_ *= n or 1
        if bytes_ > MOST_BYTES:
            raise ShapeError(f"an array {self.dtype}{list(self.shape)} has {bytes_} bytes, more than can be addressed")
        object.__setattr__(self, "mark", intern(f"{self.dtype.name}{self.shape}{self.device}"))

    def __hash__(self) -> int:
        return hash((self.dtype.name, self.shape))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        return product(self.shape)

    def with_shape(self, shape: Shape) -> Type:
        return Type(self.dtype, shape, self.device)

    def with_dtype(self, dtype: DType) -> Type:
        return Type(dtype, self.shape, self.device)

    def on(self, device: str) -> Type:
        """The same on a device."""
        return Type(self.dtype, self.shape, device)

    def __str__(self) -> str:
        place = "" if self.device == HOME else f"@{self.device}"
        return f"{self.dtype}[{','.join(map(str, self.shape))}]{place}"


@dataclass(frozen=True, slots=True)
class TupleType:
    """The type of an op with several results; `Item(k)` takes one out."""

    items: tuple[Type, ...]

    @property
    def device(self) -> str:
        return self.items[0].device if self.items else HOME

    def on(self, device: str) -> TupleType:
        """The same on a device."""
        return TupleType(tuple(t.on(device) for t in self.items))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Guard:
    """An assumption about sizes made while tracing, checked at entry: `left relation right`, a key of RELATIONS. It
    was made at the lines `where`."""

    left: Dim
    right: Dim
    relation: str = "=="
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    def holds(self, sizes: dict[str, int]) -> bool:
        return RELATIONS[self.relation](at(self.left, sizes), at(self.right, sizes))

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


RELATIONS: dict[str, Callable[[int, int], bool]] = {"==": eq, "!=": ne, "<": lt, ">=": ge}


@dataclass(slots=True)
class Sizes:
    """What is known of named sizes while a function is traced: example values, the guards taken so far, and which
    sizes were asked for as numbers, each with the lines that did."""

    hints: dict[str, int]
    guards: list[Guard]
    asked: dict[str, Where] = field(default_factory=dict[str, Where])


SIZES: ContextVar[Sizes | None] = ContextVar("sizes", default=None)
REWRITING: ContextVar[bool] = ContextVar("rewriting", default=False)     # whether passes run, which keep what holds


def same(a: Dim, b: Dim) -> bool:
    """Whether two dimensions are equal; what symbols leave open is decided by the example sizes and guarded."""
    return True if a == b else decided(a, b, "==", "!=")


def agreeing(a: Dim, b: Dim) -> bool:
    """Whether two numbers of elements that have to be equal are: where a graph is rewritten, what its ops have been
    found to agree in is not asked again in the sizes of others."""
    difference = a - b
    return difference == 0 if isinstance(difference, int) else REWRITING.get() or same(a, b)


def is_zero(n: Dim) -> bool:
    """Whether a size is 0, decided as in `same`; an open one is not where nobody could guard it."""
    return n == 0 if isinstance(n, int) else SIZES.get() is not None and not REWRITING.get() and same(n, 0)


def below(a: Dim, b: Dim) -> bool:
    """Whether a < b, decided as in `same`."""
    return decided(a, b, "<", ">=")


def decided(a: Dim, b: Dim, relation: str, opposite: str) -> bool:
    """Whether the relation holds of two dimensions, guarded where that depends on symbols."""
    difference = a - b
    if isinstance(difference, int):
        return RELATIONS[relation](difference, 0)
    known = SIZES.get()
    if known is None:
        raise ShapeError(f"cannot tell whether the size {a} {relation} {b}: sizes of placeholders are known "
                         "only when the program runs", hint="Give both one name or a number, or use st.compile.")
    guard = Guard(a, b, relation, here())
    if not (answer := guard.holds(known.hints)):
        guard = replace(guard, relation=opposite)
    if guard not in known.guards:
        known.guards.append(guard)
    return answer


def number_of(n: Dim) -> int:
    """A dimension as a Python number: that of the example sizes, guarded to be the same at every call."""
    if isinstance(n, int):
        return n
    known = SIZES.get()
    if known is None:
        raise ShapeError(f"the size {n} is asked for as a Python number, but it is known only when the program runs",
                         where=", ".join(lines(here())),
                         hint="Compute with a tensor (x / x.shape[0]), or give this axis a number.")
    answer = at(n, known.hints)
    decided(n, answer, "==", "!=")
    for name in names(n):
        known.asked.setdefault(name, here())
    return answer


def settled(n: Dim) -> Dim:
    """The number of a dimension whose sizes have all been asked for as numbers, for numbers may stand for them beside
    it; the dimension itself elsewhere."""
    known = SIZES.get()
    return at(n, known.hints) if known is not None and names(n) <= known.asked.keys() else n


def product(shape: Shape) -> Dim:
    """Number of elements of a shape."""
    return reduce(lambda a, b: a * b, shape, 1)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape all given shapes broadcast to (NumPy's rule).

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    ndim = max(map(len, shapes))
    result: list[Dim] = []
    for dims in zip(*((1,) * (ndim - len(s)) + s for s in shapes)):
        wide = [d for d in dims if d != 1]
        if any(not same(wide[0], d) for d in wide[1:]):
            raise ShapeError(f"shapes {' and '.join(map(show, shapes))} do not broadcast: "
                             f"{' vs '.join(map(str, wide))} on one axis",
                             hint="Align them with reshape or x[:, None].")
        result.append(next((d for d in wide if isinstance(d, int)), wide[0]) if wide else 1)
    return tuple(result)


def show(shape: Shape) -> str:
    """A shape as a person writes it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def axis_of(axis: int, ndim: int) -> int:
    """A possibly negative axis as 0..ndim-1."""
    if not -ndim <= axis < ndim:
        raise BadAxis(f"axis {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim


def axes_of(axes: Iterable[int], ndim: int) -> tuple[int, ...]:
    """Possibly negative axes as 0..ndim-1, in the order given. Raises ShapeError for one that is named twice."""
    found = tuple(axis_of(a, ndim) for a in axes)
    if twice := [a for k, a in enumerate(found) if a in found[:k]]:
        raise ShapeError(f"axis {twice[0]} is named twice in {tuple(axes)}")
    return found
