"""DLPack both ways: NumPy makes and reads its capsules, and here they learn bfloat16, which NumPy does not have."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from stele.errors import DeviceError
from stele.ir.graph import Array
from stele.ir.types import bfloat16
from stele.ops.arguments import is_array

CPU, PINNED = 1, 3              # kinds of memory that the host reads (dlpack.h: DLDeviceType)
UNSIGNED, BRAIN = 1, 4          # codes of dtypes (dlpack.h: DLDataTypeCode)
VERSION = 1, 0                  # the least in which an array may say that it is not to be written to
CODE = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Where the code of the dtype stands: in a DLTensor behind data, device and ndim, which an older capsule begins with
and a newer one has behind version, context, deleter and flags (dlpack.h)."""

NAME, POINTER = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
NAME.restype, NAME.argtypes = ctypes.c_char_p, [ctypes.py_object]
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Holder:
    """What NumPy reads a capsule from."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def code_of(capsule: Any) -> Any:
    """The byte of a capsule that says the kind of its dtype."""
    name = NAME(capsule)
    return ctypes.c_uint8.from_address(POINTER(capsule, name) + CODE[name])


def given(array: Array, **options: Any) -> Any:
    """The capsule of an array, which it keeps alive."""
    if array.dtype != bfloat16.numpy:
        return array.__dlpack__(**options)
    capsule = array.view(np.uint16).__dlpack__(**options)
    code_of(capsule).value = BRAIN
    return capsule


def taken(x: Any, copy: bool | None) -> Array:
    """An array on the memory of x, which it keeps alive; on a copy where `copy` asks x for one.

    Raises DeviceError for memory that the host does not read.
    """
    kind, place = x.__dlpack_device__()
    if kind not in (CPU, PINNED):
        raise DeviceError(f"DLPack has an array in memory of kind {int(kind)}, which the CPU does not read",
                          hint="Move it first: x.cpu() in PyTorch, jax.device_get(x) in JAX.")
    if is_array(x):
        return x.copy() if copy else x
    try:
        capsule = x.__dlpack__(max_version=VERSION, copy=copy)
    except TypeError:       # one of before the versions
        capsule = x.__dlpack__()
    code = code_of(capsule)
    is_brain = code.value == BRAIN
    if is_brain:
        code.value = UNSIGNED
    array = np.from_dlpack(Holder(capsule, (CPU, place)))
    return array.view(bfloat16.numpy) if is_brain else array
