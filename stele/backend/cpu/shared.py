"""An image as a shared library: an ELF file that the system's loader takes, written without a linker.

The parts of the file stand in the System V ABI, chapters 4 and 5, and in its supplements for both machines.
"""
from __future__ import annotations

import struct
from collections.abc import Collection

from stele.backend.cpu.elf import ARM, X86
from stele.backend.cpu.image import Image

PAGE = 1 << 16      # bytes: the largest page of any system on either machine
DATA = "stele_data"
"""The name by which code knows the bytes that travel with it."""
_LOAD, _DYNAMIC, _STACK, _RELRO = 1, 2, 0x6474E551, 0x6474E552      # kinds of segments
_X, _W, _R = 1, 2, 4
_RELOCATIONS = {X86: (8, 1), ARM: (1027, 257)}      # of an address in the library, of a name's
_NULL, _HASH, _STRTAB, _SYMTAB, _RELA, _RELASZ, _RELAENT, _STRSZ, _SYMENT, _SONAME = 0, 4, 5, 6, 7, 8, 9, 10, 11, 14
_BIND_NOW, _HEAD, _SYMBOL, _ENTRY = 24, 64, 24, 24


def shared(image: Image, words: int, data: bytes, exports: Collection[str], name: str, machine: int) -> bytes:
    """A library of a linked image, whose words stand from a page on; others may call the `exports`. `data` is what the
    image knows as DATA: read from the file when it is first touched, and shared by all processes.
    """
    return _File(image, words, data, exports, name, machine).bytes()


class _File:
    """Where each part of a file lies, in it and in memory: there it is as in the file."""

    def __init__(self, image: Image, words: int, data: bytes, exports: Collection[str], name: str, machine: int
                 ) -> None:
        self.image, self.data, self.machine, self.words = image, data, machine, words
        self.imports = sorted(image.imports - {DATA})
        self.names = [*self.imports, *exports]
        self.strings = b"\0" + b"".join(n.encode() + b"\0" for n in (*self.names, name))
        self.start = {n: self.strings.index(b"\0" + n.encode() + b"\0") + 1 for n in (*self.names, name)}
        count = len(self.names) + 1
        chain = [0, *range(2, count), 0][:count]    # one bucket: each name is followed by the next
        self.hashed = struct.pack(f"<{3 + count}I", 1, count, 1, *chain)
        self.symbols_at = 0x400
        self.hash_at = self.symbols_at + _SYMBOL * count
        self.strings_at = self.hash_at + len(self.hashed)
        self.relocations_at = up(self.strings_at + len(self.strings), 8)
        self.code_at = up(self.relocations_at + _ENTRY * len(image.words))
        self.words_at, self.dynamic_at = self.code_at + words, up(self.code_at + len(image.code), 16)
        self.dynamic = self.entries(self.start[name])
        self.data_at = up(self.dynamic_at + len(self.dynamic))

    def symbols(self) -> bytes:
        """The names, each a function: of another library, or of the section of code."""
        places = ((0, 0) if n in self.imports else (5, self.code_at + self.image.exports[n]) for n in self.names)
        return bytes(_SYMBOL) + b"".join(struct.pack("<IBBHQQ", self.start[n], 0x12, 0, *place, 0)
                                         for n, place in zip(self.names, places))

    def relocations(self) -> bytes:
        """What only the loader knows."""
        own, foreign = _RELOCATIONS[self.machine]
        place = {"": self.code_at, DATA: self.data_at}
        return b"".join(
            struct.pack("<QQq", self.code_at + at, own, place[n] + addend) if n in place else
            struct.pack("<QQq", self.code_at + at, self.names.index(n) + 1 << 32 | foreign, addend)
            for at, n, addend in self.image.words)

    def entries(self, name: int) -> bytes:
        """What the loader reads first."""
        return b"".join(struct.pack("<qQ", *entry) for entry in (
            (_SONAME, name), (_HASH, self.hash_at), (_STRTAB, self.strings_at), (_SYMTAB, self.symbols_at),
            (_STRSZ, len(self.strings)), (_SYMENT, _SYMBOL), (_RELA, self.relocations_at),
            (_RELASZ, _ENTRY * len(self.image.words)), (_RELAENT, _ENTRY), (_BIND_NOW, 0), (_NULL, 0)))

    def segments(self) -> list[tuple[int, int, int, int]]:
        """What is mapped: kind, access, place, bytes."""
        written = self.dynamic_at + len(self.dynamic) - self.words_at
        return [(_LOAD, _R, 0, self.relocations_at + _ENTRY * len(self.image.words)),
                (_LOAD, _R | _X, self.code_at, self.words), (_LOAD, _R | _W, self.words_at, written),
                (_LOAD, _R, self.data_at, len(self.data)),
                (_DYNAMIC, _R | _W, self.dynamic_at, len(self.dynamic)), (_STACK, _R | _W, 0, 0),
                (_RELRO, _R, self.words_at, written)]

    def sections(self) -> list[tuple[str, int, int, int, int, int, int, int]]:
        """What linkers and debuggers read: name, kind, access, place, bytes, and three words of the kind."""
        relocations = _ENTRY * len(self.image.words)
        return [("", 0, 0, 0, 0, 0, 0, 0),
                (".dynsym", 11, 2, self.symbols_at, _SYMBOL * (len(self.names) + 1), 3, 1, _SYMBOL),
                (".hash", 5, 2, self.hash_at, len(self.hashed), 1, 0, 4),
                (".dynstr", 3, 2, self.strings_at, len(self.strings), 0, 0, 0),
                (".rela.dyn", 4, 2, self.relocations_at, relocations, 1, 0, _ENTRY),
                (".text", 1, 6, self.code_at, self.words, 0, 0, 0),
                (".data.rel.ro", 1, 3, self.words_at, self.dynamic_at - self.words_at, 0, 0, 0),
                (".dynamic", 6, 3, self.dynamic_at, len(self.dynamic), 3, 0, 16),
                (".rodata", 1, 2, self.data_at, len(self.data), 0, 0, 0)]

    def bytes(self) -> bytes:
        """The file."""
        sections = [*self.sections(), (".shstrtab", 3, 0, end := self.data_at + len(self.data), 0, 0, 0, 0)]
        titles = b"".join(title.encode() + b"\0" for title, *_ in sections)
        table_at = up(end + len(titles), 8)
        table = b"".join(
            struct.pack("<IIQQQQIIQQ", titles.index(title.encode() + b"\0"), kind, access, at if access else 0, at,
                        size if access or not title else len(titles), link, info, 8, entry)
            for title, kind, access, at, size, link, info, entry in sections)
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, self.machine, 1, 0, _HEAD, table_at, 0,
                           _HEAD, 56, len(self.segments()), 64, len(sections), len(sections) - 1)
        head += b"".join(struct.pack("<IIQQQQQQ", kind, access, at, at, at, size, size, PAGE if kind == _LOAD else 16)
                         for kind, access, at, size in self.segments())
        found = bytearray(table_at)
        for at, part in ((0, head), (self.symbols_at, self.symbols()), (self.hash_at, self.hashed), (end, titles),
                         (self.strings_at, self.strings), (self.relocations_at, self.relocations()),
                         (self.code_at, self.image.code), (self.dynamic_at, self.dynamic), (self.data_at, self.data)):
            found[at:at + len(part)] = part
        return bytes(found) + table


def up(at: int, align: int = PAGE) -> int:
    """The next multiple."""
    return -(-at // align) * align
