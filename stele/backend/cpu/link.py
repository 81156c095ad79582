"""Relocatable objects become one image: what they say of each other is settled, what only a process knows is left.

The kinds of relocations stand in the supplements to the System V ABI: "AMD64 Architecture Processor Supplement",
section 4.4, and "ELF for the Arm 64-bit Architecture (AArch64)", section 5.7.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from stele.backend.cpu.elf import ARM, X86, Object, Relocation
from stele.backend.cpu.image import Image
from stele.errors import CompileError

_LINE = 64      # bytes; sections begin with a cache line, so that a loop lies the same whatever is in front of it


@dataclass(frozen=True)
class _Abi:
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
    """One image of ELF objects, which may refer to each other by name.

    Raises CompileError if they refer to anything else that is not `allowed`, or in a way that no kernel needs.
    """
    objects = [Object(image) for image in images]
    linking = _Linking(_ABIS[objects[0].machine])
    for o in objects:
        linking.place(o)
    for o in objects:
        for r in o.relocations:
            linking.settle(o, r)
    image = Image(bytes(linking.code), linking.exports, linking.words)
    if strangers := sorted(image.imports.difference(allowed)):
        raise CompileError(f"compiled code may refer to {', '.join(sorted(allowed))} only, got {', '.join(strangers)}",
                           hint="An intrinsic that LLVM turns into a library call (exp, fmod ...) must be written out.")
    return image


class _Linking:
    """An image in the making: sections first, behind them slots and stubs as they are asked for."""

    def __init__(self, abi: _Abi) -> None:
        self.abi = abi
        self.code = bytearray()
        self.exports: dict[str, int] = {}
        self.words: list[tuple[int, str, int]] = []
        self._sections: dict[tuple[Object, int], int] = {}
        self._slots: dict[tuple[str, int], int] = {}
        self._stubs: dict[str, int] = {}

    def place(self, o: Object) -> None:
        """Gives its sections and names a place."""
        for k, section in o.sections.items():
            self._sections[o, k] = self._append(section.data, max(section.align, _LINE))
        for s in o.symbols:
            if s.is_global and s.section:
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
            self.abi.write(self.code, at, r.kind, (self._stub(name) if own is None else own) + r.addend)
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

    def _stub(self, name: str) -> int:
        """Where code stands that goes on at a name's address, however far that is."""
        if name not in self._stubs:
            code, relocations = self.abi.stub
            slot = self._slot(name, 0)
            self._stubs[name] = at = self._append(code, 4)
            for offset, kind, addend in relocations:
                self.abi.write(self.code, at + offset, kind, slot + addend)
        return self._stubs[name]

    def _append(self, data: bytes, align: int) -> int:
        self.code += bytes(-len(self.code) % align)
        self.code += data
        return len(self.code) - len(data)
