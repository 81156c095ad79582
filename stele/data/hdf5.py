"""Files of HDF5, opened with care: the library that reads them believes what a file says of itself."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from stele.errors import DataError

DAMAGED = OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, OverflowError
"""What HDF5 raises where bytes make no sense."""
HEAP = b"GCOL\1"        # how a heap of texts begins: a signature and a version
SMALLEST = 4096         # bytes of a heap; HDF5 refuses those of fewer
NODE = b"TREE"          # how a node of a tree begins, of links or of pieces of an array


def library(extra: str) -> Any:
    """The library that reads HDF5. Raises DataError where it is not installed; an extra of Stele's installs it."""
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise DataError("files of HDF5 are read with h5py, which is not installed",
                        hint=f"pip install 'stele-dl[{extra}]'") from None


def opened(file: str | Path | IO[bytes], content: bytes | mmap.mmap, source: str, extra: str, mode: str = "r") -> Any:
    """An open file of h5py, whose bytes are the content. Raises DataError where HDF5 (1.14 and 2.0) would go through
    its heaps or trees for ever; what else is wrong h5py says (DAMAGED), here or where it is read.
    """
    found = library(extra).File(file, mode)
    try:
        addresses, lengths = found.id.get_create_plist().get_sizes()
        check_heaps(content, lengths, source)
        check_trees(content, addresses, found.userblock_size, source)
    except BaseException:
        found.close()
        raise
    return found


def check_heaps(content: bytes | mmap.mmap, width: int, source: str) -> None:
    """Raises DataError where a heap of texts, read from its begin, does not get to its end: HDF5 walks from object to
    object by sizes that it does not look at. A size has `width` bytes.

    The form is that of "Disk Format: Level 1E, Global Heap" in the specification of HDF5's files, version 3.
    """
    head = 8 + -(-width // 8) * 8       # bytes of the head of a heap, and of that of each object in it
    steps = len(content) // head
    for at in places(content, HEAP):
        end, place = at + number(content, at + 8, width), at + head
        while at + SMALLEST <= end <= len(content) and place + head <= end:
            size = number(content, place + 8, width)
            is_free = content[place:place + 2] == b"\0\0"       # what is free counts its head
            place, steps = place + (size if is_free else head + -(-size // 8) * 8), steps - 1
            if place > end or steps < 0 or (is_free and size < head):
                raise DataError(f"{source} is damaged: its texts, from byte {at} on, have no end")


def check_trees(content: bytes | mmap.mmap, width: int, base: int, source: str) -> None:
    """Raises DataError where nodes of a tree are each other's next ones: HDF5 goes from one to the next. An address has
    `width` bytes and counts from `base`.

    The form is that of "Disk Format: Level 1A1, Version 1 B-trees" there.
    """
    following = {at - base: number(content, at + 8 + width, width) for at in places(content, NODE)}
    while following:
        begin, at = following.popitem()
        passed = {begin}
        while at not in passed and at in following:
            passed.add(at)
            at = following.pop(at)
        if at in passed:
            raise DataError(f"{source} is damaged: a tree of its links or arrays, from byte {at + base} on, has no end")


def places(content: bytes | mmap.mmap, signature: bytes) -> Iterator[int]:
    """Where a signature stands."""
    at = content.find(signature)
    while at >= 0:
        yield at
        at = content.find(signature, at + 1)


def number(content: bytes | mmap.mmap, at: int, width: int) -> int:
    """The number that stands in so many bytes."""
    return int.from_bytes(content[at:at + width], "little")
