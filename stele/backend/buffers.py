"""Memory for arrays: blocks from a recycling pool, lent to running programs too, and the buffers that hold them."""
from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import weakref
from collections import deque
from math import prod
from sys import getrefcount
from typing import Any, ClassVar

import numpy as np

from stele.errors import OutOfMemory
from stele.ir.types import HOME, NUMPY, DType, Type, dtype

ALIGNMENT = 64
SLAB = 1 << 20          # small blocks are cut from slabs of this size; larger ones are mapped on their own
SIBLINGS = 1 << 8       # and no more of them at once, so that the first small array is quick to have
HUGE = 1 << 21
RECENT, RECENT_BYTES = 2, 1 << 14   # how many buffers a result goes through, and up to which size
UNSEEN = 2              # references to what one name or buffer alone holds: that one's, getrefcount's
TYPESTR, BFLOAT16 = {name: kind.str for name, kind in NUMPY.items() if name != "bfloat16"}, "<V2"
KEEP = 1 << 28          # freed bytes beyond this much, and beyond what was in use, go back to the system
TOTAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize


class Block:
    """Bytes at `address`; they return to the pool when the last buffer and NumPy view on them are gone."""

    __slots__ = ("__weakref__", "address", "bytes", "source")

    def __init__(self, address: int, bytes_: int, source: mmap.mmap) -> None:
        self.address, self.bytes, self.source = address, bytes_, source

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.bytes,), "typestr": "|u1", "data": (self.address, False)}


class Lent:
    """What a NumPy view is made of, and keeps alive: a block."""

    __slots__ = ("__array_interface__", "block")


class Lease(weakref.ref[Block]):
    """A block that was handed out, and its memory."""

    __slots__ = ("address", "bytes", "source")

    address: int
    bytes: int
    source: mmap.mmap


class Blocks:
    """The pool of a device: free blocks by size class. Freed memory stays mapped, so that a steady state maps no page.

    A block that dies is noted without a line of Python, where a signal handler's exception would be lost, and taken
    back when the next one is asked for.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.free: dict[int, list[tuple[int, mmap.mmap]]] = {}
        self.live: set[Lease] = set()
        self.dead: deque[Lease] = deque()
        self.used = self.kept = 0
        self.idle: list[Block] = []

    def block(self, bytes_: int) -> Block:
        """At least `bytes_` bytes, aligned to a cache line; contents are arbitrary."""
        size = size_class(bytes_)
        with self.lock:
            while self.dead:
                self.take_back(self.dead.popleft())
            if found := self.free.get(size):
                self.kept -= size
                address, source = found.pop()
            else:
                address, source = self.cut(size) if size < SLAB else self.mapped(size)
            self.used += size
            block = Block(address, size, source)
            lease = Lease(block, self.dead.append)
            lease.address, lease.bytes, lease.source = address, size, source
            self.live.add(lease)
        return block

    def mapped(self, size: int) -> tuple[int, mmap.mmap]:
        """Fresh pages; where there are none left, the free blocks that were kept go back to the system first."""
        if self.used + self.kept + size > TOTAL:
            self.release()
        if self.used + size > TOTAL:
            raise OutOfMemory(f"{size} bytes were asked for beside {self.used} in use; this machine has {TOTAL} in all")
        try:
            return map_pages(size)
        except OutOfMemory:
            self.release()
            return map_pages(size)

    def release(self) -> None:
        """Gives the large free blocks back to the system."""
        for size in [n for n in self.free if n >= SLAB]:
            self.kept -= size * len(self.free.pop(size))

    def cut(self, size: int) -> tuple[int, mmap.mmap]:
        """A small block, and its siblings of one slab into the free list."""
        slab = min(SLAB, size * SIBLINGS)
        start, source = self.mapped(slab)
        starts = range(start, start + slab - size + 1, size)
        self.free.setdefault(size, []).extend((address, source) for address in starts[1:])
        self.kept += size * (len(starts) - 1)
        return start, source

    def take_back(self, lease: Lease) -> None:
        """Into the free list, or to the system where enough is kept."""
        self.live.discard(lease)
        if lease.bytes < SLAB or self.kept + lease.bytes <= max(KEEP, self.used):
            self.kept += lease.bytes
            self.free.setdefault(lease.bytes, []).append((lease.address, lease.source))
        self.used -= lease.bytes

    def lend(self, bytes_: int) -> Block:
        """A block of at least `bytes_` for temporaries of one running call; the last one given back is lent first."""
        try:
            block = self.idle.pop()
        except IndexError:
            return self.block(bytes_)
        return block if block.bytes >= bytes_ else self.block(bytes_)

    def give_back(self, block: Block) -> None:
        self.idle.append(block)


def size_class(bytes_: int) -> int:
    """Rounded up so that few classes waste little: quarters of powers of two, at least one cache line."""
    if bytes_ <= 4 * ALIGNMENT:
        return max(1, -(-bytes_ // ALIGNMENT)) * ALIGNMENT
    step = 1 << ((bytes_ - 1).bit_length() - 3)
    return -(-bytes_ // step) * step


def bytes_of(dtype: DType, shape: tuple[int, ...]) -> int:
    """The bytes of an array; raises ShapeError for a shape that none can have."""
    Type(dtype, shape)
    return prod(shape) * dtype.bytes


def map_pages(size: int) -> tuple[int, mmap.mmap]:
    """Fresh zeroed pages; huge ones are asked for where they fit, which a system gives to private memory alone."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        source = mmap.mmap(-1, size, **private)
    except OSError as error:
        raise OutOfMemory(f"{size} bytes were asked for, and the system has not so many left: {error}") from error
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        source.madvise(mmap.MADV_HUGEPAGE)
    return ctypes.addressof(ctypes.c_char.from_buffer(source)), source


MEMORY = Blocks()


class Buffer:
    """The numbers of one array: dense, row-major, in a block of its device that several buffers may share.

    >>> Buffer.of(np.arange(3.0)).array
    array([0., 1., 2.])
    """

    __slots__ = ("__weakref__", "address", "block", "dtype", "shape")
    device: ClassVar[str] = HOME

    def __init__(self, block: Block, dtype: DType, shape: tuple[int, ...]) -> None:
        self.block, self.dtype, self.shape, self.address = block, dtype, shape, block.address

    @classmethod
    def empty(cls, dtype: DType, shape: tuple[int, ...], memory: Blocks = MEMORY) -> Buffer:
        """A buffer whose numbers are yet to be written; raises MemoryError where memory for them cannot be had."""
        try:
            return cls(memory.block(prod(shape) * dtype.bytes), dtype, shape)
        except OutOfMemory as error:
            raise OutOfMemory(f"an array {dtype}{list(shape)} does not fit: {error.args[0]}") from None

    @classmethod
    def of(cls, array: np.ndarray[Any, Any], memory: Blocks = MEMORY) -> Buffer:
        """A copy of an array."""
        buffer = cls.empty(dtype(array.dtype), array.shape, memory)
        buffer.writable()[...] = array
        return buffer

    def seen(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """The same memory under another shape; complex numbers may be seen as their parts."""
        return Buffer(self.block, dtype, shape)

    def home(self) -> Buffer:
        """The same numbers in memory of the host."""
        return self

    def wait(self) -> None:
        """Returns once the numbers are there."""

    def part(self, key: Any, most: int) -> Buffer | None:
        """A copy of the numbers at a key of NumPy's; None where there is none such, or of more than `most` elements."""
        rows, shape = self.shape[:1], self.shape[1:]
        if type(key) is int and rows and -rows[0] <= key < rows[0]:     # written out: 2 us less
            if (size := prod(shape)) > most:
                return None
            row, n = Buffer.empty(self.dtype, shape), size * self.dtype.bytes
            ctypes.memmove(row.address, self.address + key % rows[0] * n, n)
            return row
        try:
            found = self.array[key]
        except (IndexError, ValueError):    # which the op explains
            return None
        return Buffer.of(found) if found.size <= most else None

    def writable(self) -> np.ndarray[Any, Any]:
        """The numbers, to be written before anybody else sees them."""
        flat = np.asarray(self.block)[:prod(self.shape) * self.dtype.bytes]
        return flat.view(self.dtype.numpy).reshape(self.shape)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """A read-only lease of the numbers."""
        lent: Any = Lent()
        lent.block, typestr = self.block, TYPESTR.get(self.dtype.name, BFLOAT16)
        lent.__array_interface__ = {"version": 3, "shape": self.shape, "typestr": typestr, "data": (self.address, True)}
        return np.asarray(lent) if typestr is not BFLOAT16 else np.asarray(lent).view(self.dtype.numpy)


class Foreign(Block):
    """Memory of somebody else, which `source` keeps alive; never handed out, and never written to."""

    __slots__ = ()


class Borrowed(Buffer):
    """A buffer on the memory of an array. It holds its block twice, so that no call finds it to be the last who does,
    and overwrites it."""

    __slots__ = ("held",)

    def __init__(self, array: np.ndarray[Any, Any], block: Block | None = None) -> None:
        self.held = Foreign(array.ctypes.data, array.nbytes, array) if block is None else block  # type: ignore[arg-type]
        super().__init__(self.held, dtype(array.dtype), array.shape)

    def reshaped(self, shape: tuple[int, ...]) -> Buffer:
        return Borrowed(self.array.reshape(shape), self.held)


class Recent:
    """Memory for one result, call after call: of the last few small buffers, the first that nobody holds any more."""

    __slots__ = ("dtype", "given", "memory", "shape", "small")

    def __init__(self, dtype: DType, shape: tuple[int, ...], memory: Blocks = MEMORY) -> None:
        self.dtype, self.shape, self.small = dtype, shape, bytes_of(dtype, shape) <= RECENT_BYTES
        self.memory = memory
        self.given: list[Buffer] = []

    def fresh(self) -> Buffer:
        """A buffer that was never given before."""
        return Buffer.empty(self.dtype, self.shape, self.memory)

    def take(self) -> Buffer:
        """A buffer that nobody sees but the caller."""
        if not self.small:
            return self.fresh()
        for buffer in self.given:
            if getrefcount(buffer) <= UNSEEN + 1 and getrefcount(buffer.block) <= UNSEEN:
                return buffer
        buffer = self.fresh()
        self.given = [buffer, *self.given[:RECENT - 1]]
        return buffer
