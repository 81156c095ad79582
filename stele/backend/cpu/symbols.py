"""The external symbols that compiled code may refer to, and what an object does refer to."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator

from stele.backend.cpu.invoke import PYTHON
from stele.errors import CompileError

# What any program may use: LLVM turns copies and fills into the first three; the others are the pool's (pool.py).
KERNEL = frozenset({"memcpy", "memmove", "memset", "pool_run", "pool_finish", "pool_poll", "sgemm", "dgemm"})

# What the pool itself uses: of the C library of the process, and of Python where it is called from there.
POOL = PYTHON | frozenset({"syscall", "clock_gettime", "sched_yield", "pthread_self",
                  "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_broadcast"})

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_SYMTAB = 2


def undefined(image: bytes) -> frozenset[str]:
    """The names that an ELF object leaves to its linker; empty for other formats, where only the linker can tell."""
    return frozenset(name for name, section in named(image) if section == 0)


def defined(image: bytes) -> frozenset[str]:
    """The names that an ELF object has a place for."""
    return frozenset(name for name, section in named(image) if section != 0)


def named(image: bytes) -> Iterator[tuple[str, int]]:
    """The symbols of an ELF object, each with the section it is in."""
    if not image.startswith(_ELF64_LITTLE):
        return
    table, size, count = *struct.unpack_from("<Q", image, 0x28), *struct.unpack_from("<HH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + k * size) for k in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != _SYMTAB:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", image, at)
            if name:
                yield image[strings + name:image.index(b"\0", strings + name)].decode(), section


def check(image: bytes, allowed: Iterable[str] = KERNEL) -> frozenset[str]:
    """The undefined names of an object; CompileError if one of them is not allowed."""
    names = undefined(image)
    if strangers := sorted(names - set(allowed)):
        raise CompileError(f"compiled code may refer to {', '.join(sorted(allowed))} only, got {', '.join(strangers)}",
                           hint="An intrinsic that LLVM turns into a library call (exp, fmod ...) must be written out.")
    return names


def address(name: str) -> int:
    """Where the process has a symbol of the C library; CompileError if it has none."""
    try:
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise CompileError(f"this process has no symbol {name}") from None
