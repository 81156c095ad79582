"""Linked machine code that lies anywhere in memory: kept on disk as it is, and loaded without LLVM."""
from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import weakref
from collections.abc import Mapping, Sequence

from stele.backend.cpu import symbols
from stele.backend.cpu.cache import apart, together
from stele.errors import CompileError
from stele.ir.record import Record
from stele.ops.foreign import address_in

_libc = ctypes.CDLL(None, use_errno=True)
_map, _unmap, _protect = _libc.mmap, _libc.munmap, _libc.mprotect
_map.restype = ctypes.c_void_p
_map.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
_unmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
_protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_REFUSED = ctypes.c_void_p(-1).value


class Image(Record):
    """Machine code that refers to itself by distance alone. `exports` are offsets by name; `words` what only a process
    knows: at an offset, 8 bytes for the address of a name, or of the image itself where that is "", plus a number.
    """

    code: bytes
    exports: Mapping[str, int]
    words: Sequence[tuple[int, str, int]] = ()

    @property
    def imports(self) -> frozenset[str]:
        """The names that somebody else has to give addresses for."""
        return frozenset(name for _, name, _ in self.words if name)

    def pack(self) -> bytes:
        """As bytes, for the disk."""
        return together(json.dumps([self.exports, self.words]).encode(), self.code)

    @staticmethod
    def unpack(data: bytes) -> Image:
        """From the bytes that `pack` made."""
        head, code = apart(data)
        exports, words = json.loads(head)
        return Image(code, exports, [(at, name, addend) for at, name, addend in words])


class Loaded:
    """Native code in memory: `loaded["program"]` is the address of an exported symbol, CompileError if there is none.

    The code stays for as long as this object does, and for ever once the interpreter goes down.
    """

    def __init__(self, image: Image, address: int, size: int) -> None:
        self._exports, self._address = image.exports, address
        weakref.finalize(self, _unmap, address, size).atexit = False

    def __getitem__(self, name: str) -> int:
        if name not in self._exports:
            raise CompileError(f"the image exports {', '.join(sorted(self._exports))}, not {name}")
        return self._address + self._exports[name]


def load(image: Image, imports: Mapping[str, int] | None = None) -> Loaded:
    """The image in memory of this process; `imports` gives addresses for names that are not the C library's.

    Pages are written first and executed then, never both at once; they are fresh, so that a core whose caches of code
    and of data differ has nothing old of them (Linux sees to that where a page becomes executable).
    Raises CompileError if a name is missing, or the system refuses memory for code; MemoryError if it has none.
    """
    known = dict(imports or {}) | {name: address_in(name) for name in symbols.C}
    if missing := sorted(image.imports - known.keys()):
        raise CompileError(f"an image refers to {', '.join(missing)}, given were {', '.join(sorted(known))}")
    size = -(-len(image.code) // mmap.PAGESIZE) * mmap.PAGESIZE
    address = _map(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if address in (None, _REFUSED):
        raise _refused("memory", size)
    ctypes.memmove(address, image.code, len(image.code))
    known[""] = address
    for at, name, addend in image.words:
        ctypes.c_uint64.from_address(address + at).value = known[name] + addend
    if _protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise _refused("memory that may be executed", size)
    return Loaded(image, address, size)


def _refused(what: str, size: int) -> Exception:
    code = ctypes.get_errno()
    why = f"the system gives no {what} for {size:,} bytes of code: {os.strerror(code)}"
    return MemoryError(why) if code == errno.ENOMEM else CompileError(why)
