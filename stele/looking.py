"""Looking at an array: its type at once, its numbers when somebody asks."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from stele.backend.locks import RUNNING
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.evaluate import numbers
from stele.handle import Handle, is_symbolic
from stele.ir.door import public
from stele.ir.graph import Array, walk
from stele.ir.types import DType
from stele.opensize import opened


class Looking(Handle):
    """The part of a tensor that reads: types, numbers, and the protocols by which others take them."""

    __slots__ = ()
    __array_priority__ = 1000

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes. One that is open compares by assumption: the answer becomes a guard of the program."""
        return tuple(map(opened, self.value.type.shape))

    @property
    def ndim(self) -> int:
        return len(self.value.type.shape)

    @property
    def dtype(self) -> DType:
        return self.value.type.dtype

    @property
    def device(self) -> str:
        return self.value.type.device

    @property
    def size(self) -> int:
        """Number of elements."""
        return opened(self.value.type.size)

    @public
    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a tensor of no axes has no length; float(x) takes its number out")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Self]:
        return (self[k] for k in range(len(self)))  # type: ignore[index]

    # Looking at the numbers

    @public
    def numpy(self) -> Array:
        """The numbers as a read-only NumPy array: a lease on the tensor's own memory, not a copy."""
        with RUNNING:
            return numbers(self.value).array

    @public
    def item(self) -> Any:
        """The one number of a tensor of one element."""
        if self.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, got shape {self.shape}",
                             hint="Write x.tolist(), or take one out with x[0].")
        return self.numpy().reshape(()).item()

    @public
    def tolist(self) -> Any:
        return self.numpy().tolist()

    @public
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        return np.array(array, dtype) if copy or (dtype is not None and array.dtype != dtype) else array

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **options: Any) -> Any:
        if self.dtype.name == "bfloat16":
            raise DTypeError("DLPack of NumPy has no bfloat16", hint="Hand on x.astype('float32').")
        readable = max_version is not None and max_version[0] >= 1
        return (self.numpy() if readable else self.numpy().copy()).__dlpack__(max_version=max_version, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    @public
    def __bool__(self) -> bool:
        return bool(self.item())

    @public
    def __int__(self) -> int:
        return int(self.item())

    @public
    def __float__(self) -> float:
        return float(self.item())

    @public
    def __index__(self) -> int:
        if self.dtype.is_float:
            raise DTypeError(f"only an integer tensor is an index, got {self.dtype}; write int(x)")
        return int(self.item())

    @public
    def __format__(self, form: str) -> str:
        return format(self.item() if form else str(self), form)

    @public
    def __repr__(self) -> str:
        traced = self.value
        if traced.data is None and any(map(is_symbolic, walk([traced], stop=lambda v: v.data is not None))):
            return f"tensor(symbolic {traced.type})"
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(")
        marks = ("" if self.dtype.name in ("float32", "int64", "bool") else f", dtype={self.dtype}") + \
                (", requires_grad=True" if self.requires_grad else "")
        return f"tensor({text}{marks})"
