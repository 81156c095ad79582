"""Tensors among the arrays of others: the standard's namespace, NumPy's functions, DLPack, buffers."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np

from stele.arrays import dlpack
from stele.arrays.looking import Looking
from stele.arrays.spellings import ALIASES, argument
from stele.eager.handle import TRACING
from stele.errors import ArgumentError, CopyError, DTypeError, OptionError, ShapeError
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.types import HOME

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Of the array API standard, each of which holds the one before."""
OWN = "Write st.exp(x) for np.exp(x): the functions of st are part of the program."

# Functions of NumPy that look at numbers, or at the type, and give no array.
LOOKING = """
shape ndim size allclose array_equal array_equiv array_repr array_str array2string save savez savetxt may_share_memory
shares_memory iscomplexobj isrealobj can_cast result_type common_type min_scalar_type copyto
"""

# What functions and ufuncs of NumPy are called here; those of one name take the same arguments.
NAMESAKES = """
add subtract multiply divide floor_divide remainder negative positive maximum minimum equal not_equal less less_equal
greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor exp log log1p
expm1 log2 log10 exp2 sqrt square reciprocal sin cos tan sinh cosh tanh floor ceil trunc sign signbit isnan isinf
isfinite hypot copysign nextafter logaddexp heaviside matmul vecdot sum mean prod max min var std all any argmax
argmin clip where concatenate stack reshape swapaxes squeeze moveaxis flip roll tril triu broadcast_to expand_dims
zeros_like ones_like full_like empty_like asarray zeros ones full empty arange linspace eye cumulative_sum
cumulative_prod sort argsort unique unique_all unique_counts unique_inverse unique_values nonzero searchsorted tile
kron outer cross diag trace tensordot einsum diff trapezoid interp convolve median percentile quantile cov corrcoef
histogram bincount isclose count_nonzero isin meshgrid broadcast_arrays nan_to_num nanmean nansum nanmax
nanmin nanstd nanvar nanmedian vstack hstack dot take_along_axis rot90 flatnonzero argwhere conj real imag angle i0
sinc matrix_transpose unstack inner append insert delete hsplit vsplit dsplit array_split atleast_1d atleast_2d
atleast_3d fliplr flipud column_stack dstack ravel logaddexp2 fmod fmax fmin deg2rad rad2deg isposinf isneginf frexp
ldexp cbrt float_power diagonal nanprod nanquantile nanpercentile repeat
"""
OTHER = {
    "absolute": "abs", "fabs": "abs", "power": "pow", "amax": "max", "amin": "min", "rint": "round", "arctan": "atan",
    "arcsin": "asin", "arccos": "acos", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "invert": "bitwise_invert",
    "conjugate": "conj", "array": "asarray", "concat": "concatenate", "around": "round", "round": "round",
    "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
}
# What takes other arguments here.
ADAPTED: dict[str, Callable[..., Any]] = {
    "transpose":    lambda a, axes=None: stele().permute(a, *(axes or ())),
    "permute_dims": lambda a, axes=None: stele().permute(a, *(axes or ())),
    "ravel":        lambda a: a.flatten(),
    "unique":       lambda ar: stele().unique_values(ar),
    "dot":          lambda a, b: a * b if not (np.ndim(a) and np.ndim(b)) else stele().tensordot(
                        a, b, ((-1,), (-min(np.ndim(b), 2),))),
    "broadcast_arrays": lambda *args: np.broadcast_arrays(*map(numbers_of, args)) if any(
                        a is None for a in args) else stele().broadcast_arrays(*map(stele().asarray, args)),
    "copy":         lambda a: a.clone(),
    "split":        lambda ary, indices_or_sections, axis=0: stele().split(
                        ary, sections(ary.shape[axis], indices_or_sections), axis=axis),
    "take":         lambda a, indices, axis=None: stele().take(
                        a.flatten() if axis is None else a, indices, axis=0 if axis is None else axis),
}
# What takes lists of numbers as arrays.
LISTS = frozenset(["where", "isin", "clip", "searchsorted", "interp", "dot", "matmul", "outer", "inner", "kron",
                   "convolve", "cross", "maximum", "take"])
LOOKS, SAME = frozenset(LOOKING.split()), frozenset(NAMESAKES.split())
REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
           "logical_or": "any"}


def sections(n: int, at: Any) -> list[int]:
    """The sizes of the parts of an axis of n that NumPy cuts at positions, or into so many equal ones."""
    if isinstance(at, int):
        if n % at:
            raise ShapeError(f"an axis of {n} does not fall into {at} equal parts")
        return [n // at] * at
    ends = [*(min(max(k + n if k < 0 else k, 0), n) for k in at), n]
    return [max(end - start, 0) for start, end in zip([0, *ends], ends)]


def counterpart(f: Any, name: str, given: Collection[str]) -> Callable[..., Any] | None:
    """The function here of a function of NumPy, if there is one that takes the arguments of these names."""
    room: Any = stele()
    where = getattr(f, "__module__", "") or ""
    if where in ("numpy.linalg", "numpy.fft"):
        room = getattr(room, where.rpartition(".")[2])
        found = getattr(room, name) if name in room.__all__ else None
    elif name in ADAPTED:
        found = ADAPTED[name]
    else:
        own = name if name in SAME else OTHER.get(name, "")
        found = getattr(room, own) if own in room.__all__ or own in ALIASES else None
    known = () if found is None else signature(found).parameters
    return found if all(key in known or argument(key, known) for key in given) else None


def leaving(f: Callable[..., Any], called: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy itself makes of the numbers: its arrays, outside of the program. Raises ArgumentError where that is
    one that is being compiled, or gradients would be lost, or where NumPy would write to a tensor (as `at` does).
    """
    tensors = [x for x in walked((args, kwargs)) if isinstance(x, Looking)]
    carries = any(x.requires_grad for x in tensors)     # type: ignore[attr-defined]
    writes = f.__name__ == "at" and isinstance(args[0], Looking)
    if TRACING.get() is not None or carries or writes:
        numbers = "np.array(x)" if writes else "x.numpy()"
        raise ArgumentError(f"{called} has no counterpart on tensors",
                            hint=f"Write {called}({numbers}, ...) to leave the program.")
    return f(*map(numbers_of, args), **{key: numbers_of(x) for key, x in kwargs.items()})


def walked(x: Any) -> Iterator[Any]:
    """What arguments hold."""
    if isinstance(x, dict):
        x = list(x.values())
    if not isinstance(x, list | tuple):
        yield x
        return
    for part in x:
        yield from walked(part)


def called(f: Any, more: str = "") -> str:
    """A function of NumPy as users call it."""
    where = getattr(f, "__module__", "") or "numpy"
    return f"{where}.{f.__name__}{more}".replace("numpy.", "np.", 1)


def stele() -> ModuleType:
    """The namespace."""
    return sys.modules["stele"]


class Exchange(Looking):
    """The part of a tensor that others see."""

    __slots__ = ()

    @public
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module whose functions take tensors: stele, for every version of the standard up to its own."""
        if api_version is not None and api_version not in VERSIONS:
            raise OptionError(f"the array API standard is followed in its versions {', '.join(VERSIONS)}, "
                              f"got {api_version!r}")
        return stele()

    @public
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.read("NumPy", OWN)
        if copy or (dtype is not None and array.dtype != dtype):
            if copy is False:
                raise CopyError(f"{array.dtype} becomes {np.dtype(dtype)} by a copy alone",
                                hint="Leave copy=False out.")
            return np.array(array, dtype)
        return array

    @public
    def __array_function__(self, f: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of NumPy means on tensors: that of Stele, which is part of the program. Where there is none
        of these arguments NumPy computes it of the numbers, but of tensors that carry gradients."""
        name = f.__name__
        if name in ("shape", "ndim", "size") and len(args) == 1:
            return getattr(args[0], name)
        if name in LOOKS:
            return f(*map(numbers_of, args), **{key: numbers_of(x) for key, x in kwargs.items()})
        kwargs = {key: x for key, x in kwargs.items() if x is not None or key not in ("dtype", "out")}
        own = None if any(map(is_of_objects, args)) else counterpart(f, name, kwargs)
        args = tuple(map(listed, args)) if name in LISTS else args
        return leaving(f, called(f), args, kwargs) if own is None else own(*args, **kwargs)

    @public
    def __array_ufunc__(self, f: Any, method: str, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """What a ufunc of NumPy means on tensors; `out`, an array of NumPy, takes the numbers, a tensor is rebound."""
        name = f.__name__
        if out is not None and not all(isinstance(o, Looking) for o in out):
            return getattr(f, method)(*map(numbers_of, args), out=out, **kwargs)
        if method == "reduce" and name in REDUCED:
            return getattr(stele(), REDUCED[name])(*args, **{"axis": 0, **kwargs})
        own = counterpart(f, name, kwargs) if method == "__call__" else None
        if own is not None:
            made = own(*map(listed, args), **kwargs)
            return made if out is None else out[0].rebind(made)
        return leaving(getattr(f, method), called(f, f".{method}" * (method != "__call__")), args, kwargs)

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A capsule of the numbers: of version 1 it is the tensor's own memory, which may not be written to; an older
        one cannot say so, and gets a copy, unless copy=False asks for the memory itself: who writes to it then changes
        the tensor, and all that share its memory. Raises CopyError where that is another device's."""
        if copy is False and self.device != HOME:
            raise CopyError("memory of another device is copied", hint="Leave copy=False out.")
        array = self.numpy()
        if max_version is None or max_version[0] < 1:
            array = self.value.data.writable() if copy is False else array.copy()
        return dlpack.given(array, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __buffer__(self, flags: int) -> memoryview:
        """The numbers as memory that may not be written to (PEP 688)."""
        if self.dtype.name == "bfloat16":
            raise DTypeError("a buffer has no format for bfloat16", hint="Hand on x.astype('float32').")
        array: Any = self.numpy()
        return memoryview(array)


def is_of_objects(x: Any) -> bool:
    """Whether an array of NumPy holds no numbers."""
    return isinstance(x, np.ndarray) and x.dtype.kind in "OUSMm"


def listed(x: Any) -> Any:
    """A list as a tensor."""
    return stele().asarray(x) if type(x) in (list, tuple) else x


def numbers_of(x: Any) -> Any:
    """Tensors as arrays of NumPy, also inside of lists."""
    if type(x) in (list, tuple):
        return type(x)(map(numbers_of, x))
    return x.read("NumPy", OWN) if isinstance(x, Looking) else x
