"""Relocatable ELF objects, as LLVM writes them for every system: what is read of them to link them."""
from __future__ import annotations

import struct
from collections.abc import Iterator

from stele.errors import CompileError
from stele.ir.record import Record

X86, ARM = 62, 183      # e_machine

_HEAD = b"\x7fELF\x02\x01"                                  # 64 bits, little end first
_SYMTAB, _RELA, _NOBITS = 2, 4, 8                           # kinds of sections
_WRITE, _ALLOC = 1, 2                                       # their flags


class Section(Record):
    """Bytes that belong into memory, at a multiple of `align`."""

    data: bytes
    align: int


class Symbol(Record):
    """A place in a section, or section 0 and a name that somebody else defines; a global name is known to others."""

    name: str
    section: int
    value: int
    is_global: bool


class Relocation(Record):
    """At `offset` of a section: the address of a symbol plus `addend` goes there, in the way that `kind` says."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


class Object:
    """An object taken apart: its machine, its sections by number, its symbols and relocations.

    Unwinding tables are left out: nothing is thrown through compiled code. A section without bytes has a place too: a
    list of nothing is asked for by its address. CompileError if it is no ELF object, or has memory that is to be
    written: compiled code keeps nothing from call to call.
    """

    def __init__(self, image: bytes) -> None:
        if not image.startswith(_HEAD):
            raise CompileError(f"an object begins with {_HEAD!r}, got {image[:len(_HEAD)]!r}")
        self._image = image
        self.machine, = struct.unpack_from("<H", image, 0x12)
        table, = struct.unpack_from("<Q", image, 0x28)
        size, count, names = struct.unpack_from("<HHH", image, 0x3A)
        self._heads = [struct.unpack_from("<IIQQQQIIQQ", image, table + k * size) for k in range(count)]
        self.sections = {k: section for k, head in enumerate(self._heads)
                         if (section := self._section(self._text(names, head[0]), head)) is not None}
        table, = (k for k, head in enumerate(self._heads) if head[1] == _SYMTAB)
        self.symbols = tuple(self._symbols(table))
        self.relocations = tuple(self._relocations())

    def _section(self, name: str, head: tuple[int, ...]) -> Section | None:
        _, kind, flags, _, offset, size, _, _, align, _ = head
        if not flags & _ALLOC or name == ".eh_frame":
            return None
        if kind == _NOBITS or (flags & _WRITE and not name.startswith(".data.rel.ro")):
            if not size:
                return None
            raise CompileError(f"compiled code has no memory of its own that it may write, got a section {name}")
        return Section(self._image[offset:offset + size], max(align, 1))

    def _symbols(self, table: int) -> Iterator[Symbol]:
        _, _, _, _, offset, size, strings, _, _, entry = self._heads[table]
        for at in range(offset, offset + size, entry):
            name, info, _, section, value = struct.unpack_from("<IBBHQ", self._image, at)
            yield Symbol(self._text(strings, name), section, value, info >> 4 != 0)

    def _relocations(self) -> Iterator[Relocation]:
        for _, kind, _, _, offset, size, _, section, _, entry in self._heads:
            if kind == _RELA and section in self.sections:
                for at in range(offset, offset + size, entry):
                    place, kind, symbol, addend = struct.unpack_from("<QIIq", self._image, at)
                    yield Relocation(section, place, kind, self.symbols[symbol], addend)

    def _text(self, strings: int, at: int) -> str:
        start = self._heads[strings][4] + at
        return self._image[start:self._image.index(b"\0", start)].decode()
