"""Relocatable objects become one image: what they say of each other is settled, what only a process knows is left.

The kinds of relocations stand in the supplements to the System V ABI: "AMD64 Architecture Processor Supplement",
section 4.4, and "ELF for the Arm 64-bit Architecture (AArch64)", section 5.7.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence

from stele.backend.cpu.elf import ARM, X86, Object, Relocation
from stele.backend.cpu.image import Image
from stele.errors import CompileError
from stele.ir.record import Record

_LINE = 64      # bytes; sections begin with a cache line, so that a loop lies the same whatever is in front of it


class _Abi(Record):
    """A machine: its relocations by what a symbol stands for (its address as 8 bytes, its address from here, a function
    to be called, a slot that holds its address), how an address is written to a place, and a stub that goes on where
    its slot says: code, and relocations of it (offset, kind, addend).
    """

    absolute: int
    direct: Collection[int]
    called: Collection[int]
    slotted: Collection[int]
    write: Callable[[bytearray, int, int, int], None]
    stub: tuple[bytes, Sequence[tuple[int, int, int]]]


def _write_x86(code: bytearray, at: int, kind: int, to: int) -> None:
    struct.pack_into("<q" if kind == 24 else "<i", code, at, to - at)


_UNITS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, 312: 3}   # of an offset within 4096 bytes, as powers of two


def _write_arm(code: bytearray, at: int, kind: int, to: int) -> None:
    """An instruction holds a distance in words, a distance in pages of 4096 bytes, or an offset within a page."""
    word, = struct.unpack_from("<I", code, at)
    pages = (to >> 12) - (at >> 12)
    match kind:
        case 261:
            word = to - at & 0xFFFFFFFF
        case 282 | 283:
            word |= to - at >> 2 & 0x3FFFFFF
        case 275 | 311:
            word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        case _:
            word |= (to & 0xFFF) >> _UNITS[kind] << 10
    struct.pack_into("<I", code, at, word)


_ABIS = {
    X86: _Abi(1, (2, 24), (4,), (9, 41, 42), _write_x86,
              (bytes.fromhex("ff2500000000"), ((2, 9, -4),))),                  # jmp [rip + slot]
    ARM: _Abi(257, (261, 275, 277, 278, 284, 285, 286, 299), (282, 283), (311, 312), _write_arm,
              (struct.pack("<3I", 0x90000010, 0xF9400210, 0xD61F0200),          # adrp x16, slot
               ((0, 311, 0), (4, 312, 0)))),                                    # ldr x16, [x16, slot]; br x16
}


def link(images: Sequence[bytes], allowed: Collection[str]) -> Image:
    """One image of ELF objects, which may refer to each other by name; see `parted`."""
    return parted(images, allowed, _LINE)[0]


def parted(images: Sequence[bytes], allowed: Collection[str], align: int) -> tuple[Image, int]:
    """One image of ELF objects, and from where on in it, at a multiple of `align`, words stand: before are code and
    what is only read.

    Raises CompileError if they refer to anything else that is not `allowed`, or in a way that no kernel needs.
    """
    objects = [Object(image) for image in images]
    linking = _Linking(_ABIS[objects[0].machine])
    for o in objects:
        linking.place(o, words=False)
    linking.place_stubs(objects)
    start = linking.part(align)
    for o in objects:
        linking.place(o, words=True)
    for o in objects:
        for r in o.relocations:
            linking.settle(o, r)
    linking.settle_stubs()
    image = Image(bytes(linking.code), linking.exports, linking.words)
    if strangers := sorted(image.imports.difference(allowed)):
        raise CompileError(f"compiled code may refer to {', '.join(sorted(allowed))} only, got {', '.join(strangers)}",
                           hint="An intrinsic that LLVM turns into a library call (exp, fmod ...) must be written out.")
    return image, start


class _Linking:
    """An image in the making: sections without words, stubs, sections with words, slots as they are asked for."""

    def __init__(self, abi: _Abi) -> None:
        self.abi = abi
        self.code = bytearray()
        self.exports: dict[str, int] = {}
        self.words: list[tuple[int, str, int]] = []
        self._sections: dict[tuple[Object, int], int] = {}
        self._slots: dict[tuple[str, int], int] = {}
        self._stubs: dict[str, int] = {}

    def place(self, o: Object, words: bool) -> None:
        """Gives those of its sections a place that have words in them, or those that have none, and their names."""
        having = {r.section for r in o.relocations if r.kind == self.abi.absolute}
        for k, section in o.sections.items():
            if (k in having) is words:
                self._sections[o, k] = self._append(section.data, max(section.align, _LINE))
        for s in o.symbols:
            if s.is_global and s.section and (s.section in having) is words:
                self.exports[s.name] = self._sections[o, s.section] + s.value

    def settle(self, o: Object, r: Relocation) -> None:
        """Writes an address to where it is needed, or notes a word for it."""
        s, at = r.symbol, self._sections[o, r.section] + r.offset
        own = self._sections[o, s.section] + s.value if s.section else self.exports.get(s.name)
        name, place = (s.name, 0) if own is None else ("", own)
        if r.kind == self.abi.absolute:
            self.words.append((at, name, place + r.addend))
        elif r.kind in self.abi.slotted:
            self.abi.write(self.code, at, r.kind, self._slot(name, place) + r.addend)
        elif r.kind in self.abi.called:
            self.abi.write(self.code, at, r.kind, (self._stubs[name] if own is None else own) + r.addend)
        elif r.kind in self.abi.direct and own is not None:
            self.abi.write(self.code, at, r.kind, own + r.addend)
        else:
            raise CompileError(f"compiled code refers to {s.name or 'itself'} by a relocation of kind {r.kind}")

    def _slot(self, name: str, place: int) -> int:
        """Where the address of a name is kept, or of a place in the image where the name is ""."""
        if (name, place) not in self._slots:
            self._slots[name, place] = at = self._append(bytes(8), 8)
            self.words.append((at, name, place))
        return self._slots[name, place]

    def place_stubs(self, objects: Sequence[Object]) -> None:
        """Code for each name that is called and that no object has, which goes on at its address, however far."""
        own = {s.name for o in objects for s in o.symbols if s.is_global and s.section}
        called = (r.symbol for o in objects for r in o.relocations if r.kind in self.abi.called)
        for name in dict.fromkeys(s.name for s in called if not s.section and s.name not in own):
            self._stubs[name] = self._append(self.abi.stub[0], 4)

    def settle_stubs(self) -> None:
        """Writes where the addresses are that stubs go on at."""
        for name, at in self._stubs.items():
            for offset, kind, addend in self.abi.stub[1]:
                self.abi.write(self.code, at + offset, kind, self._slot(name, 0) + addend)

    def part(self, align: int) -> int:
        """Ends the part that has no words; where the next begins."""
        self._append(b"", align)
        return len(self.code)

    def _append(self, data: bytes, align: int) -> int:
        self.code += bytes(-len(self.code) % align)
        self.code += data
        return len(self.code) - len(data)
