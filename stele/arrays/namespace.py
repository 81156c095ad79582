"""What the Python array API standard asks of a namespace beside functions of arrays: dtypes, devices, constants."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, TensorLike, constant
from stele.backend.devices import OTHERS, Device, current, find
from stele.errors import DTypeError
from stele.ir.door import public
from stele.ir.graph import number_dtype
from stele.ir.record import Record
from stele.ir.types import DTYPES, HOME, DType, highest, lowest, promote
from stele.ir.types import dtype as type_named
from stele.ops import arguments
from stele.ops.elementwise.base import met

e, pi, inf, nan = math.e, math.pi, math.inf, math.nan
euler_gamma = 0.5772156649015329
newaxis = None

# The kinds of dtypes as the standard names them, by the letters that they have here.
KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
         "complex floating": "c", "numeric": "iufc"}
EXTRA = ("float16", "bfloat16")     # dtypes that the standard does not know
DEFAULTS = {"real floating": "float32", "complex floating": "complex64", "integral": "int64", "indexing": "int64"}
DIMENSIONS = 64     # axes of an array: as many as NumPy's have, which show its numbers
FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}
"""Binary digits behind the point, and the largest exponent (IEEE 754-2019, table 3.5)."""


class FloatInfo(Record):
    """The limits of a float dtype, as `finfo` gives them.

    `eps` is the distance from 1 to the next number, `smallest_normal` the least that has all digits.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """`smallest_normal`, as NumPy calls it too."""
        return self.smallest_normal


class IntegerInfo(Record):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def dtype_of(x: Any) -> DType:
    """The dtype of an array, or the one that is meant."""
    return x.dtype if isinstance(x, Tensor) else type_named(x.dtype if arguments.is_array(x) else x)


@public
def finfo(type: DTypeLike | TensorLike) -> FloatInfo:
    """The limits of a float dtype `type`, or of that of an array; of a complex one, of its parts.

    Raises DTypeError for other dtypes.

    >>> st.finfo(st.float32).eps == 2.0**-23, st.finfo("float64").max
    (True, 1.7976931348623157e+308)
    """
    dtype = dtype_of(type).real
    if dtype.name not in FORMATS:
        raise DTypeError(f"finfo is for float dtypes, got {dtype}", hint=f"Write st.iinfo({dtype.name!r}).")
    digits, exponent = FORMATS[dtype.name]
    top = math.ldexp(2 - 2.0**-digits, exponent)
    return FloatInfo(dtype.bits, 2.0**-digits, top, -top, 2.0 ** (1 - exponent), dtype)


@public
def iinfo(type: DTypeLike | TensorLike) -> IntegerInfo:
    """The limits of an integer dtype `type`, or of that of an array. Raises DTypeError for other dtypes.

    >>> st.iinfo(st.int8).min, st.iinfo("uint64").max
    (-128, 18446744073709551615)
    """
    dtype = dtype_of(type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo is for integer dtypes, got {dtype}", hint=f"Write st.finfo({dtype.name!r}).")
    return IntegerInfo(dtype.bits, int(highest(dtype)), int(lowest(dtype)), dtype)


@public
def isdtype(dtype: DTypeLike, kind: DTypeLike | Sequence[Any]) -> bool:
    """Whether a `dtype` is of a `kind`: another dtype, a name of several, or one of a tuple of such.

    The names are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex floating' and
    'numeric'. Raises OptionError for others.

    >>> st.isdtype(st.int8, "integral"), st.isdtype(st.bool, ("numeric", st.bool)), st.isdtype("float32", st.float64)
    (True, True, False)
    """
    own = type_named(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(own, part) for part in kind)
    if isinstance(kind, str) and kind not in DTYPES:
        return own.kind in KINDS[arguments.choice(kind, "kind of isdtype", KINDS)]
    return own == type_named(kind)


@public
def can_cast(from_: DTypeLike | TensorLike, to: DTypeLike) -> bool:
    """Whether arrays of the dtype `from_`, or that array, become `to` where they meet it: no number is lost by kind.

    Raises DTypeError for what names no dtype.

    >>> st.can_cast(st.int8, st.int16), st.can_cast(st.tensor([1.5]), st.int64), st.can_cast("uint64", "int64")
    (True, False, False)
    """
    return promote(dtype_of(from_), type_named(to)) == type_named(to)


@public
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype in which arrays, dtypes and Python numbers meet: `arrays_and_dtypes`, one or more.

    Numbers take the dtype of the others, unless they are of a higher kind. Raises ArgumentError for none.

    >>> st.result_type(st.int8, st.uint8), st.result_type(st.tensor([1]), 0.5), st.result_type("uint8", 300)
    (int16, float32, uint8)
    """
    if not arrays_and_dtypes:
        arguments.refuse("the argument of result_type", "an array, a dtype or a number", None)
    numbers = [x for x in arrays_and_dtypes if isinstance(x, int | float | complex)]
    return met([dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, int | float | complex)],
               [number_dtype(x) for x in numbers])


@public
def astype(x: TensorLike, dtype: DTypeLike, *, copy: bool = True, device: DeviceLike = None) -> Tensor:
    """x as another `dtype`, on a `device` if one is named: float to integer truncates, to bool tests != 0.

    With `copy` the result is a tensor of its own, that in-place operators on x do not reach; without, x itself where
    it is of that dtype and there. x has any shape. Raises DTypeError for another dtype than there is and from complex
    to real numbers, DeviceError for a device that there is not.

    >>> x = st.tensor([1.5, -2.5])
    >>> st.astype(x, st.int8).tolist(), st.astype(x, "float32", copy=False) is x
    ([1, -2], True)
    """
    x = constant(x)
    is_copy = arguments.flag(copy, "copy of astype")
    made = x if x.dtype == type_named(dtype) and not is_copy else x.astype(dtype)
    return made if device is None else made.to(find(device))


class Info:
    """What there is: of `st.__array_namespace_info__()`, as of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Whether masks index, whether shapes may depend on numbers, and how many axes an array has at most."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": DIMENSIONS}

    def default_device(self) -> Device:
        """Where arrays are made where no device is named."""
        return find(current() or HOME)

    def devices(self) -> list[Device]:
        """All devices."""
        return [*map(find, (HOME, *OTHERS))]

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """The dtypes of numbers that say none, on every device."""
        return {kind: DTYPES[name] for kind, name in DEFAULTS.items()}

    def dtypes(self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The dtypes of the standard by name, of a kind or several, on every device."""
        return {name: d for name, d in DTYPES.items() if name not in EXTRA and (kind is None or isdtype(d, kind))}


def namespace_info() -> Info:
    """The dtypes, devices and abilities of this namespace, as the standard's inspection has them.

    >>> st.__array_namespace_info__().default_dtypes()["integral"]
    int64
    """
    return Info()


__all__ = ["astype", "can_cast", "e", "euler_gamma", "finfo", "iinfo", "inf", "isdtype", "nan", "newaxis", "pi",
           "result_type"]
