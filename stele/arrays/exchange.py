"""Tensors among the arrays of others: the standard's namespace, NumPy's functions, DLPack, buffers."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import Any, cast

import numpy as np

from stele.arrays import dlpack
from stele.arrays.given import is_wide, widened
from stele.arrays.looking import Looking
from stele.arrays.spellings import ALIASES, argument
from stele.arrays.ufuncs import form_of, method_of, stele
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
shares_memory iscomplexobj isrealobj can_cast result_type common_type min_scalar_type
"""

# What writes into its first argument.
WRITING = frozenset(["copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"])
LOOKS = frozenset(LOOKING.split())


def in_floats(made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Counts of several axes, which NumPy makes of floats, and their edges."""
    return made[0].astype("float64"), *made[1:]


def sections(n: int, at: Any) -> list[int]:
    """The sizes of the parts of an axis of n that NumPy cuts at positions, or into so many equal ones."""
    if isinstance(at, int):
        if n % at:
            raise ShapeError(f"an axis of {n} does not fall into {at} equal parts")
        return [n // at] * at
    ends = [*(min(max(k + n if k < 0 else k, 0), n) for k in at), n]
    return [max(end - start, 0) for start, end in zip([0, *ends], ends)]


def flat(a: Any, axis: int | None, *more: Any) -> tuple[Any, ...]:
    """An array and an axis, with more between them: without an axis all elements in a row."""
    return (a.flatten(), *more, 0) if axis is None else (a, *more, axis)


def padded(a: Any, widths: Any, mode: Any, **more: Any) -> Any:
    """NumPy's pad, which keeps the dtype; what users' functions put there is computed of the numbers."""
    if callable(mode) or mode == "empty" or isinstance(widths, dict):
        return leaving(np.pad, "np.pad", (a, widths, mode), {})
    return stele().pad(a, widths, mode=mode, **more).astype(a.dtype)


# What takes other arguments here, or is something else; all other functions of one name are the same.
ADAPTED: dict[str, Callable[..., Any]] = {
    "broadcast_arrays": lambda *args: np.broadcast_arrays(*map(numbers_of, args)) if any(
                        a is None for a in args) else stele().broadcast_arrays(*map(stele().asarray, args)),
    "nan_to_num":   lambda x, copy=True, nan=0.0, posinf=None, neginf=None: (listed if copy else x.rebind)(
                        stele().nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)),
    "copyto":       lambda dst, src, where=None: stele().copyto(dst, src, where),
    "split":        lambda ary, indices_or_sections, axis=0: stele().split(
                        ary, sections(ary.shape[axis], indices_or_sections), axis=axis),
    "pad":          lambda array, pad_width, mode="constant", constant_values=0, stat_length=None, end_values=0: padded(
                        array, pad_width, mode, value=constant_values, stat_length=stat_length, end_values=end_values),
    "cross":        lambda a, b, axis=-1: stele().linalg.cross(listed(a, b), listed(b, a), axis=axis),
    "numpy.linalg.qr": lambda a, mode="reduced": stele().linalg.qr(listed(a)).R if mode == "r" else stele().linalg.qr(
                        listed(a), mode=mode),
    "histogram2d":  lambda x, y, bins=10, range=None, density=False, weights=None: in_floats(
                        stele().histogram2d(x, y, bins=bins, range=range, density=density, weights=weights)),
    "histogramdd":  lambda sample, bins=10, range=None, density=False, weights=None: in_floats(
                        stele().histogramdd(sample, bins=bins, range=range, density=density, weights=weights)),
    "einsum":       lambda *operands, optimize=True: stele().einsum(*operands),
    "take":         lambda a, indices, axis=None, mode="raise": stele().take(
                        *flat(a, axis, listed(indices)), mode=mode),
}


def counterpart(f: Any, name: str) -> Callable[..., Any] | None:
    """The function here of a function of NumPy, if there is one."""
    room: Any = stele()
    where = getattr(f, "__module__", "") or "numpy"
    if where in ("numpy.linalg", "numpy.fft"):
        room = getattr(room, where.rpartition(".")[2])
        return ADAPTED.get(f"{where}.{name}") or (getattr(room, name) if name in room.__all__ else None)
    if where != "numpy" and not isinstance(f, np.ufunc):
        return None
    return ADAPTED.get(name) or (getattr(room, name) if name in room.__all__ or name in ALIASES else None)


def respelled(f: Any, own: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
              ) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of a function of NumPy as those of its counterpart: what is needed by its place, what is not by
    name; None where one of them has no name here. What is as NumPy has it is left out.
    """
    form, ours = form_of(f), form_of(own).parameters
    placed, by_name, named = list[Any](), dict[str, Any](), dict[str, Any]()
    for name, x in form.bind(*args, **kwargs).arguments.items():
        p = form.parameters[name]
        if p.kind is p.VAR_POSITIONAL:
            placed += x
        elif p.kind is p.VAR_KEYWORD:
            by_name |= x
        elif p.kind is p.POSITIONAL_ONLY or p.default is p.empty:
            placed.append(x)
        elif not is_usual(x, p.default):
            by_name[name] = x
    taken = [k for k, p in ours.items() if p.kind is p.POSITIONAL_OR_KEYWORD][:len(placed)]
    for name, x in by_name.items():
        if (here := spelled(name, ours)) is None or here in taken:
            return None
        is_flag = isinstance(ours[here].default, bool) and type(x) is int and x in (0, 1)   # as NumPy has it
        named[here] = bool(x) if is_flag else x
    return placed, named


def spelled(name: str, ours: Collection[str]) -> str | None:
    """What an argument of NumPy's is called here."""
    return name if name in ours else name.lower() if name.lower() in ours else argument(name, ours)


def is_usual(x: Any, default: Any) -> bool:
    """Whether an argument is what it is without being given."""
    return x is default or (isinstance(x, bool | int | float | str) and type(x) is type(default) and x == default)


def leaving(f: Callable[..., Any], called: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy itself makes of the numbers: its arrays, outside of the program. Raises ArgumentError where that is
    one that is being compiled, or gradients would be lost, or where NumPy would write to a tensor (as `at` does).
    """
    tensors = [x for x in walked((args, kwargs)) if isinstance(x, Looking)]
    carries = any(x.requires_grad for x in tensors)     # type: ignore[attr-defined]
    writes = (f.__name__ == "at" or f.__name__ in WRITING) and isinstance(args[0], Looking)
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
        """The numbers for NumPy.

        For `np.asarray(x)` the tensor's own memory, read-only as that of `x.numpy()`; for `np.array(x)`, and in another
        `dtype`, a copy that may be written to. Raises CopyError where copy=False forbids a copy that is needed.
        """
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
        if name in LOOKS or (name in WRITING and not isinstance(args[0], Looking)):
            return f(*map(numbers_of, args), **{key: numbers_of(x) for key, x in kwargs.items()})
        out = kwargs.get("out")
        asked = {key: x for key, x in kwargs.items() if key != "out"} if isinstance(out, Looking) else kwargs
        own = None if any(map(is_of_objects, args)) else counterpart(f, name)
        if own is None or (given := respelled(f, own, args, asked)) is None:
            return leaving(f, called(f), args, kwargs)
        made = own(*given[0], **given[1])
        return made if asked is kwargs else out.rebind(made)    # type: ignore[union-attr]

    @public
    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        """What a ufunc of NumPy means on tensors; `out`, an array of NumPy, takes the numbers, a tensor is rebound."""
        f, args, given = ufunc, inputs, cast("tuple[Any, ...]", out or ())
        ours = [o for o in given if isinstance(o, Looking)]
        if given and not ours:
            return getattr(f, method)(*map(numbers_of, args), out=out, **{k: numbers_of(x) for k, x in kwargs.items()})
        own, where = counterpart(f, f.__name__), True
        if method != "__call__":
            own = method_of(f, method, own) if method != "at" or isinstance(args[0], Looking) else None
        elif ours:
            where = kwargs.pop("where", True)
        if own is not None and len(ours) == len(given) and all(spelled(key, form_of(own).parameters) for key in kwargs):
            made = own(*([listed(x, *args) for x in args] if method == "__call__" else args), **kwargs)
            made = made if where is True else stele().where(where, made, given[0])
        else:   # NumPy writes to copies of the tensors, which are rebound to them
            arrays = {"out": tuple(np.array(numbers_of(o)) if isinstance(o, Looking) else o for o in given)}
            what = called(f, f".{method}" * (method != "__call__"))
            made = leaving(getattr(f, method), what, args, kwargs | arrays if given else kwargs)
        if not given:
            return made
        written: list[Any] = [cast(Any, o).rebind(stele().asarray(y)) if isinstance(o, Looking) else y
                              for o, y in zip(given, made if isinstance(made, tuple) else (made,))]
        return written[0] if len(written) == 1 else tuple(written)

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


def listed(x: Any, *others: Any) -> Any:
    """A list as a tensor, as precise as the others that it stands beside."""
    if type(x) not in (list, tuple):
        return x
    return stele().asarray(widened(x) if any(map(is_wide, others)) else x)


def numbers_of(x: Any) -> Any:
    """Tensors as arrays of NumPy, also inside of lists."""
    if type(x) in (list, tuple):
        return type(x)(map(numbers_of, x))
    return x.read("NumPy", OWN) if isinstance(x, Looking) else x
