"""An image as a shared library: an ELF file that the loader of any program of the system takes, written without a linker.

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
    imports = sorted(image.imports - {DATA})
    names = [*imports, *exports]
    strings = b"\0" + b"".join(n.encode() + b"\0" for n in (*names, name))
    start = {n: strings.index(b"\0" + n.encode() + b"\0") + 1 for n in (*names, name)}
    count = len(names) + 1
    chain = [0, *range(2, count), 0][:count]    # one bucket: each name is followed by the next
    hashed = struct.pack(f"<{3 + count}I", 1, count, 1, *chain)
    symbols_at = 0x400
    hash_at = symbols_at + _SYMBOL * count
    strings_at = hash_at + len(hashed)
    relocations_at = -(-(strings_at + len(strings)) // 8) * 8
    code_at = up(relocations_at + _ENTRY * len(image.words))
    words_at, dynamic_at = code_at + words, up(code_at + len(image.code), 16)
    data_at = up(dynamic_at + 16 * 12)
    symbols = bytes(_SYMBOL) + b"".join(
        struct.pack("<IBBHQQ", start[n], 0x12, 0, *((0, 0) if n in imports else (5, code_at + image.exports[n])), 0)
        for n in names)
    own, foreign = _RELOCATIONS[machine]
    place = {"": code_at, DATA: data_at}
    relocations = b"".join(
        struct.pack("<QQq", code_at + at, own, place[n] + addend) if n in place else
        struct.pack("<QQq", code_at + at, names.index(n) + 1 << 32 | foreign, addend) for at, n, addend in image.words)
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in (
        (_SONAME, start[name]), (_HASH, hash_at), (_STRTAB, strings_at), (_SYMTAB, symbols_at), (_STRSZ, len(strings)),
        (_SYMENT, _SYMBOL), (_RELA, relocations_at), (_RELASZ, len(relocations)), (_RELAENT, _ENTRY), (_BIND_NOW, 0),
        (_NULL, 0)))
    segments = [(_LOAD, _R, 0, relocations_at + len(relocations)), (_LOAD, _R | _X, code_at, words),
                (_LOAD, _R | _W, words_at, dynamic_at + len(dynamic) - words_at), (_LOAD, _R, data_at, len(data)),
                (_DYNAMIC, _R | _W, dynamic_at, len(dynamic)), (_STACK, _R | _W, 0, 0),
                (_RELRO, _R, words_at, dynamic_at + len(dynamic) - words_at)]
    sections = [("", 0, 0, 0, 0, 0, 0), (".dynsym", 11, symbols_at, len(symbols), 3, 1, _SYMBOL),
                (".hash", 5, hash_at, len(hashed), 1, 0, 4), (".dynstr", 3, strings_at, len(strings), 0, 0, 0),
                (".rela.dyn", 4, relocations_at, len(relocations), 1, 0, _ENTRY),
                (".text", 1, code_at, words, 0, 0, 0), (".data.rel.ro", 1, words_at, dynamic_at - words_at, 0, 0, 0),
                (".dynamic", 6, dynamic_at, len(dynamic), 3, 0, 16), (".rodata", 1, data_at, len(data), 0, 0, 0)]
    flags = {".text": 6, ".data.rel.ro": 3, ".dynamic": 3, "": 0}
    titles = b"".join(title.encode() + b"\0" for title, *_ in sections) + b".shstrtab\0"
    titles_at = data_at + len(data)
    sections_at = up(titles_at + len(titles), 8)
    table = b"".join(struct.pack("<IIQQQQIIQQ", titles.index(title.encode() + b"\0"), kind, flags.get(title, 2), at, at,
                                 size, link, info, 8, entry) for title, kind, at, size, link, info, entry in sections)
    table += struct.pack("<IIQQQQIIQQ", titles.index(b".shstrtab\0"), 3, 0, 0, titles_at, len(titles), 0, 0, 1, 0)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, _HEAD, sections_at, 0, _HEAD, 56,
                       len(segments), 64, len(sections) + 1, len(sections))
    head += b"".join(struct.pack("<IIQQQQQQ", kind, access, at, at, at, size, size, PAGE if kind == _LOAD else 16)
                     for kind, access, at, size in segments)
    found = bytearray(sections_at)
    for at, part in ((0, head), (symbols_at, symbols), (hash_at, hashed), (strings_at, strings), (data_at, data),
                     (relocations_at, relocations), (code_at, image.code), (dynamic_at, dynamic), (titles_at, titles)):
        found[at:at + len(part)] = part
    return bytes(found) + table


def up(at: int, align: int = PAGE) -> int:
    """The next multiple."""
    return -(-at // align) * align
