"""Arrays of a dtype that Stele has, of what users give: numbers, lists, arrays of others."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from stele.eager.handle import Handle
from stele.errors import ArgumentError, DTypeError, ShapeError, kind
from stele.ir.graph import Array
from stele.ir.types import DType, complex64, float32, int64, promote, refuse_unfit, uint64
from stele.ir.types import dtype as type_named
from stele.ops.arguments import is_series, shallow

WIDER = {"float32": "float64", "complex64": "complex128"}


def array_of(data: Any, dtype: Any = None) -> Array:
    """A fresh C-ordered array of a dtype that Stele has."""
    if isinstance(data, list | tuple):
        data = nested(shallow(data))
    elif not isinstance(data, np.ndarray | np.generic | bool | int | float | complex):
        data = read(data)
    own = isinstance(data, np.ndarray | np.generic)
    array = np.asarray(data)
    if dtype is not None and not own and array.dtype.kind == "f" and type_named(dtype) == uint64:
        # what NumPy makes of numbers on both sides of 2**63
        array = np.asarray(data, object)
    huge = numeric(array, data)
    if dtype is not None:
        wanted = whole(type_named(array.dtype if array.dtype.kind == "c" else bool), type_named(dtype))
    elif not own and array.dtype.kind in "uO":
        wanted = int64
    else:
        wanted = type_named(array.dtype)
        wanted = wanted if own or not wanted.is_float else complex64 if wanted.is_complex else float32
    if array.size and (huge or (not own and wanted.kind in "ui")):
        refuse_unfit(wanted, array.flat if huge else (array.min(), array.max()))
    return wanted.array(array)


def is_wide(x: Any) -> bool:
    """Whether it is an array, or holds arrays, of float64 or complex128."""
    if is_series(x):
        return any(map(is_wide, x))
    return not isinstance(x, np.generic) and str(getattr(x, "dtype", "")) in ("float64", "complex128")


def widened(x: Any) -> Any:
    """A list of numbers as an array, whose fractions have 64 bits; anything else as it is."""
    if not is_series(x) or not is_numeric(x):
        return x
    made = array_of(x)
    return array_of(x, WIDER.get(made.dtype.name))


def is_numeric(x: Sequence[Any]) -> bool:
    """Whether nested lists hold numbers alone."""
    return all(is_numeric(p) if is_series(p) else isinstance(p, bool | int | float | complex | np.generic) for p in x)


def numeric(array: Array, data: Any) -> bool:
    """Whether an array of what was given is of whole numbers beyond 64 bits; DTypeError where it is of no numbers."""
    huge = array.dtype == object and all(isinstance(n, int | float) for n in array.flat)
    if array.dtype.kind in "OUSmMV" and array.dtype.name != "bfloat16" and not huge:
        raise DTypeError(f"a tensor holds numbers, got {array.dtype} from {data!r:.60}")
    return huge


def read(data: Any) -> Array:
    """What NumPy makes of an object that says how it becomes an array; ArgumentError where it does not make one."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise ArgumentError(f"a tensor holds numbers, got {kind(data)}: {error}") from error


def nested(data: Any) -> Any:
    """Lists of numbers, arrays and tensors as one array; ragged lists are refused."""
    parts = [nested(p) if isinstance(p, list | tuple) else np.asarray(p) if isinstance(p, Handle) else p for p in data]
    shapes = {() if isinstance(p, type | bool | int | float | complex) else read(p).shape for p in parts}
    if len(shapes) > 1:
        raise ShapeError(f"the rows of a tensor need one shape, got {sorted(shapes)}")
    typed = [type_named(p.dtype) for p in parts if isinstance(p, np.ndarray | np.generic)]
    if not typed:
        return parts
    arrays = [np.asarray(p) for p in parts]
    numbers = [a for p, a in zip(parts, arrays) if p is not a and not isinstance(p, np.generic)]
    for a in numbers:
        numeric(a, data)
    wanted = reduce(beside, [a.dtype.kind for a in numbers], reduce(promote, typed))
    if wanted.kind in "ui":
        refuse_unfit(wanted, (end for a in numbers if a.size for end in (a.min(), a.max())))
    return np.stack([wanted.array(a) for a in arrays])


def beside(dtype: DType, kind: str) -> DType:
    """The dtype of arrays of one beside Python's numbers of a kind, which have none of their own."""
    if kind == "c":
        return dtype.complex if dtype.is_float else complex64
    return float32 if kind == "f" and not dtype.is_float else int64 if kind in "iu" and dtype.kind == "b" else dtype


def whole(own: DType, wanted: DType) -> DType:
    """The dtype that is wanted of numbers of another; raises DTypeError where half of each would be lost."""
    if own.is_complex and not wanted.is_complex and wanted.kind != "b":
        raise DTypeError(f"{own} cannot become {wanted}: half of each number would be lost",
                         hint=f"Write z.real, z.imag or st.abs(z), then .astype({wanted.name!r}).")
    return wanted
