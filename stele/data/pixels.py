"""An image of Pillow's as an array that shares its memory: Pillow hands out pixels of four bytes, as Arrow's arrays."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL import Image


class ArrowArray(ctypes.Structure):
    """The head of an array in the C data interface of Arrow (arrow.apache.org/docs/format/CDataInterface)."""


# fmt: off
ArrowArray._fields_ = [
    ("length",     ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset",     ctypes.c_int64),
    ("n_buffers",  ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers",    ctypes.POINTER(ctypes.c_void_p)),
    ("children",   ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release",    ctypes.c_void_p),
    ("private",    ctypes.c_void_p)]
# fmt: on

_address: Any = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class Shared:
    """What NumPy makes an array of, and what keeps the image's memory alive as long as there is one."""

    def __init__(self, image: Any) -> None:
        self.capsules = image.__arrow_c_array__()
        array = ArrowArray.from_address(_address(self.capsules[1], b"arrow_array"))
        width, height = image.size
        if array.length != width * height or array.offset or array.n_children != 1:
            raise ValueError("not one block of pixels")
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "data": (array.children[0].contents.buffers[1], False),
            "shape": (3, height, width), "strides": (1, 4 * width, 4)}


def pixels(image: Image.Image) -> np.ndarray:
    """The pixels of an RGB image as uint8 (3, height, width), which nobody else writes to.

    A view of the image's own memory where Pillow gives it away (11.2 and newer, up to 4 million pixels), else a copy.
    """
    try:
        return np.asarray(Shared(image))
    except (AttributeError, ValueError, TypeError, MemoryError):
        return np.array(image).transpose(2, 0, 1)
