"""A pickle of plain values and uint8 arrays, read without running anything that the file names.

The few globals such a file may name are answered by the classes below, so not even NumPy's own unpickling code sees
the bytes; every other name is refused before it is looked up.
"""

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from stele.data.files import read_bytes
from stele.errors import DataError


class _DType:
    """Stands for numpy.dtype; knows one byte, unsigned."""

    def __init__(self, name: object, align: object = False, copy: object = False) -> None:
        if name not in ("u1", b"u1", "uint8", b"uint8"):
            raise DataError(f"arrays of this pickle need dtype uint8, got {name!r}")

    def __setstate__(self, state: object) -> None:
        """Byte order and flags: none matter for single bytes."""


class _NDArray:
    """Stands for numpy.ndarray while its state is checked."""

    value: np.ndarray

    def __setstate__(self, state: Any) -> None:
        match state:
            case (_, tuple(shape), _DType(), fortran, bytes(raw)) if all(type(n) is int and n >= 0 for n in shape):
                if math.prod(shape) != len(raw):
                    raise DataError(f"an array of shape {shape} needs {math.prod(shape)} bytes, got {len(raw)}")
                self.value = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if fortran else "C")
            case _:
                raise DataError("an array needs (version, shape, dtype, order, bytes) as its state, got something else")


def _reconstruct(kind: object, shape: object, code: object) -> _NDArray:
    """Stands for numpy's function of that name: an array that gets its content afterwards."""
    if kind is not _NDArray:
        raise DataError("only numpy.ndarray may be rebuilt, got another class")
    return _NDArray()


def _encode(text: str, codec: str) -> bytes:
    """Stands for codecs.encode, by which protocol 2 writes bytes."""
    if codec != "latin1" or not isinstance(text, str):
        raise DataError(f"bytes of this pickle need codec latin1, got {codec!r}")
    return text.encode("latin1")


_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _NDArray,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _ADMITTED:
            raise DataError(f"only dicts, lists, text, numbers and uint8 arrays are admitted, got {module}.{name}")
        return _ADMITTED[module, name]

    def persistent_load(self, pid: object) -> object:
        raise DataError("no persistent ids are admitted")


def read_pickle(path: str | Path) -> dict[str, Any]:
    """The dict in a pickle file, its keys as text, its uint8 arrays as NumPy arrays; text from Python 2 stays bytes.

    Raises DataError when the file names anything but plain values and uint8 arrays, or is truncated.
    """
    content = read_bytes(path)
    try:
        value = _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except DataError as error:
        raise DataError(f"refused to read the pickle {path}: {error}. Use the binary version of the data set, or "
                        "a file from the official archive.") from None
    except Exception as error:  # a hostile or cut pickle may raise anything at all
        raise DataError(f"a pickle needs to be whole, got {type(error).__name__} ({error}) in {path}. "
                        "Download the archive again.") from None
    if not isinstance(value, dict):
        raise DataError(f"a batch needs to be a pickled dict, got {type(value).__name__} in {path}.")
    return {_text(key): item.value if isinstance(item, _NDArray) else item for key, item in value.items()}


def _text(key: object) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)
