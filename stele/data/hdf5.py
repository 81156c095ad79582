"""Files of HDF5, opened with care: the library that reads them believes what a file says of itself."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
import mmap
from pathlib import Path
from typing import IO, Any

from stele.errors import DataError

DAMAGED = OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, OverflowError
"""What HDF5 raises where bytes make no sense."""
HEAP = b"GCOL\1"        # how a heap of texts begins: a signature and a version
SMALLEST = 4096         # bytes of a heap; HDF5 refuses those of fewer


def library(extra: str) -> Any:
    """The library that reads HDF5. Raises DataError where it is not installed; an extra of Stele's installs it."""
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise DataError("files of HDF5 are read with h5py, which is not installed",
                        hint=f"pip install 'stele-dl[{extra}]'") from None


def opened(file: str | Path | IO[bytes], content: bytes | mmap.mmap, source: str, extra: str, mode: str = "r") -> Any:
    """An open file of h5py, whose bytes are the content. Raises DataError where its heaps of texts have no end; what
    else is wrong h5py says (DAMAGED), here or where it is read.
    """
    found = library(extra).File(file, mode)
    try:
        check(content, found.id.get_create_plist().get_sizes()[1], source)
    except BaseException:
        found.close()
        raise
    return found


def check(content: bytes | mmap.mmap, width: int, source: str) -> None:
    """Raises DataError where a heap of texts, read from its begin, does not get to its end: HDF5 (1.14 and 2.0) walks
    from object to object by sizes that it does not look at, for ever where they lead nowhere. A size has `width` bytes.

    The form is that of "Disk Format: Level 1E, Global Heap" in the specification of HDF5's files, version 3.
    """
    head = 8 + -(-width // 8) * 8       # bytes of the head of a heap, and of that of each object in it
    steps, at = len(content) // head, content.find(HEAP)
    while at >= 0:
        end, place = at + int.from_bytes(content[at + 8:at + 8 + width], "little"), at + head
        while at + SMALLEST <= end <= len(content) and place + head <= end:
            size = int.from_bytes(content[place + 8:place + 8 + width], "little")
            is_free = content[place:place + 2] == b"\0\0"       # what is free counts its head
            place, steps = place + (size if is_free else head + -(-size // 8) * 8), steps - 1
            if place > end or steps < 0 or (is_free and size < head):
                raise DataError(f"{source} is damaged: its texts, from byte {at} on, have no end")
        at = content.find(HEAP, at + 1)
