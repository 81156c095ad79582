"""Arrays of NumPy from outside, while a function is traced: whether NumPy itself has read the numbers of one."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stele.ir.graph import Array
from stele.tracing.state import Cell, Slot

KNOWN = frozenset((     # what is asked of an array and says nothing of its numbers
    "of", "shape", "ndim", "size", "dtype", "nbytes", "itemsize", "strides", "flags", "base", "__class__", "__dict__",
    "__array_interface__", "__array_struct__", "__array_priority__", "__array_finalize__", "__array_wrap__", "view"))


class Read(np.ndarray):
    """The memory of an array, which tells when NumPy or Python reads it; what comes of that is an array as any other.

    Ops of Stele read it as what it stands for, and tell nothing.
    """

    of: tuple[Array, Callable[[Array], None]]   # the array, and what to tell

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name) if name in KNOWN else getattr(plain(self), name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        given = {} if out is None else {"out": tuple(map(plain, out))}
        return getattr(ufunc, method)(*map(plain, inputs), **given, **{name: plain(x) for name, x in kwargs.items()})

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return f(*map(deeply, args), **{name: deeply(x) for name, x in kwargs.items()})

    def __getitem__(self, key: Any) -> Any:
        return plain(self)[plain(key)]

    def __setitem__(self, key: Any, x: Any) -> None:
        plain(self)[plain(key)] = plain(x)

    def __iter__(self) -> Iterator[Any]:
        return iter(plain(self))

    def __contains__(self, x: Any) -> bool:
        return x in plain(self)

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __int__(self) -> int:
        return int(plain(self))

    def __float__(self) -> float:
        return float(plain(self))

    def __complex__(self) -> complex:
        return complex(plain(self))

    def __index__(self) -> int:
        return plain(self).__index__()


def plain(x: Any) -> Any:
    """The array that something stands for, which is read; anything else as it is."""
    if type(x) is not Read:
        return x
    array, told = x.of
    told(array)
    return array


def deeply(x: Any) -> Any:
    """`plain` of what lists and tuples hold too."""
    return type(x)(map(deeply, x)) if type(x) in (list, tuple) else plain(x)


def original(x: Any) -> Any:
    """The array that something stands for, which is not read by that."""
    return x.of[0] if type(x) is Read else x


@contextmanager
def reading(slots: Iterable[Slot], told: Callable[[Array], None]) -> Generator[dict[int, Slot]]:
    """Has arrays in slots tell when they are read; gives the slots by what stands in them for now, by id. Slots of
    tuples, classes and containers of other kinds, which may not take it, are left alone."""
    held: list[tuple[Slot, Any]] = []
    try:
        for slot in slots:
            array = slot.get()
            if type(array) is np.ndarray and not array.dtype.hasobject and type(slot.base) in (dict, list, Cell):
                stands = array.view(Read)
                stands.of = array, told
                slot.base[slot.key] = stands
                held.append((slot, stands))
        yield {id(stands): slot for slot, stands in held}
    finally:
        for slot, stands in held:
            if slot.held() is stands:
                slot.base[slot.key] = original(stands)
