"""Arrays of MATLAB 5 files (.mat), read by a machine that knows numbers alone.

The format is "MAT-File Format" (The MathWorks, 2019): a head of 128 bytes, then elements, each a type, a size and so
many bytes, padded to 8; an element may be one packed by zlib. A matrix is an element of four: flags, sizes, a name and
the numbers, the first axis fastest, which may be of a smaller type than the matrix.
"""
from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stele.data.files import read_bytes
from stele.errors import DataError

LARGEST = 1 << 31       # bytes of a file and of all that is unpacked: the extra images of SVHN have 1.6 billion
AXES = 8
ELEMENTS = 1 << 16      # of a file, one for each array
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
MATRIX, PACKED, FLAGS, COMPLEX = 14, 15, 6, 0x0800


class Element(NamedTuple):
    """A type and the bytes behind it."""

    kind: int
    body: memoryview


def read_mat(path: str | Path) -> dict[str, np.ndarray]:
    """The real arrays in a MATLAB 5 file by their names; what else it holds is left out.

    Raises DataError for a file that is missing, damaged, of another version, or that unpacks to more than 2 GB.
    """
    content = read_bytes(path, LARGEST)
    if content[:6] == b"\x89HDF\r\n" or content[512:516] == b"\x89HDF":
        raise DataError(f"reading a .mat file needs version 5, got version 7.3, which is HDF5, in {path}. Save it with "
                        "'-v6' or '-v7'.")
    if len(content) < 128 or content[126:128] not in (b"IM", b"MI"):
        raise DataError(f"a .mat file needs a head of 128 bytes that ends with IM or MI, got another one in {path}.")
    order = "<" if content[126:128] == b"IM" else ">"
    try:
        found = dict(arrays(memoryview(content)[128:], order))
    except (ValueError, zlib.error, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"a .mat file needs to be whole, got a damaged one ({error}) in {path}. Download it again."
                        ) from None
    return found


def arrays(content: memoryview, order: str) -> Iterator[tuple[str, np.ndarray]]:
    """The named arrays among elements, of which a packed one holds one."""
    left = LARGEST
    for count, element in enumerate(elements(content, order)):
        if count == ELEMENTS:
            raise ValueError(f"more than {ELEMENTS:,} elements")
        if element.kind == PACKED:
            body = unpacked(element.body, left)
            left -= len(body)
            element = next(elements(memoryview(body), order), element)
        if element.kind == MATRIX:
            yield from matrix(element.body, order)


def unpacked(body: memoryview, most: int) -> bytes:
    """What zlib has packed, at most so many bytes."""
    machine = zlib.decompressobj()
    found = machine.decompress(body, max(most, 1))
    if machine.unconsumed_tail or len(found) > most:
        raise ValueError(f"elements that unpack to more than {LARGEST:,} bytes")
    if not machine.eof:
        raise ValueError("an element that ends too early")
    return found


def elements(content: memoryview, order: str) -> Iterator[Element]:
    """The elements one behind the other; a small one has its bytes beside its type."""
    at = 0
    while at + 8 <= len(content):
        first, second = np.frombuffer(content, f"{order}u4", 2, at).tolist()
        if first >> 16:
            kind, size, at = first & 0xFFFF, first >> 16, at + 4
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
            end = at + 4
        else:
            kind, size, at = first, second, at + 8
            end = at + size + (-size % 8 if kind != PACKED else 0)
        if at + size > len(content):
            raise ValueError(f"an element of {size:,} bytes, where {len(content) - at:,} are left")
        yield Element(kind, content[at:at + size])
        at = end


def matrix(body: memoryview, order: str) -> Iterator[tuple[str, np.ndarray]]:
    """A matrix and its name, if it is one of real numbers."""
    parts = list(islice(elements(body, order), 4))
    if len(parts) < 4 or parts[0].kind != FLAGS or len(parts[0].body) < 4 or TYPES.get(parts[1].kind) != "i4":
        return
    flags = int(np.frombuffer(parts[0].body, f"{order}u4", 1)[0])
    kind = CLASSES.get(flags & 0xFF)
    if kind is None or flags & COMPLEX or parts[3].kind not in TYPES:
        return
    shape = np.frombuffer(parts[1].body, f"{order}i4").tolist()
    numbers = np.frombuffer(parts[3].body, f"{order}{TYPES[parts[3].kind]}")
    if len(shape) > AXES or min(shape, default=-1) < 0 or math.prod(shape) != len(numbers):
        raise ValueError(f"a matrix of {'x'.join(map(str, shape[:AXES]))} with {len(numbers):,} numbers")
    yield bytes(parts[2].body).decode("latin1"), numbers.astype(kind).reshape(shape, order="F")
