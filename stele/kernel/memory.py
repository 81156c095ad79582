"""Where every temporary lives in one arena: offsets by lifetime."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stele.ir.sizes import Dim, at
from stele.kernel.machine import LINE

FRESH = "fresh"
"""The size that is 1 in a call that makes what is kept, and 0 in those that find it made."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes needed from clock `first` to clock `last`, both included."""

    slot: int
    bytes: Dim
    first: int
    last: int

    def meets(self, other: Piece) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets by slot and the bytes of the whole arena."""

    offsets: Mapping[int, int]
    bytes: int


@dataclass(frozen=True, slots=True)
class Place:
    """One place in the table of buffers: what it is for (see `Slot`), its bytes, from which clock to which it is
    needed, and whose memory it lives in where that is not its own."""

    kind: str
    bytes: Dim
    first: int
    last: int
    home: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What a program takes beside its parameters, at given sizes: the arena, what it keeps from call to call, results
    that are written over no parameter, and what each thread needs besides."""

    arena: Layout
    kept: Layout
    results: int
    scratch: int

    @property
    def peak(self) -> int:
        """Bytes of a call, threads apart."""
        return self.arena.bytes + self.kept.bytes + self.results


@dataclass(frozen=True)
class Plan:
    """The memory of a program before its sizes are known. `in_place` are results by the parameters whose memory they
    take over, `private` the sizes that the program sets itself, to at most these numbers."""

    places: tuple[Place, ...]
    in_place: Mapping[int, int]
    scratch: tuple[Dim, ...]
    private: Mapping[str, int]

    def root(self, position: int) -> int:
        """The place whose memory this one lives in."""
        while (home := self.places[position].home) is not None:
            position = home
        return position

    @property
    def kept(self) -> Layout:
        """Where in memory of its own lies what is kept from call to call."""
        return layout((Piece(k, p.bytes, 0, 0) for k, p in enumerate(self.places) if p.kind == "kept"), {})

    def at(self, sizes: Mapping[str, int]) -> Memory:
        """The memory at these sizes, of graph and sizes alone."""
        sizes = {**sizes, **self.private}
        pieces = (Piece(k, p.bytes, p.first, p.last) for k, p in enumerate(self.places)
                  if p.kind == "temp" and p.home is None)
        made = (p.bytes for k, p in enumerate(self.places) if p.kind == "result" and k not in self.in_place)
        return Memory(layout(pieces, sizes), self.kept, sum(at(n, sizes) for n in made),
                      max((at(n, sizes) for n in self.scratch), default=0))


def layout(pieces: Iterable[Piece], sizes: Mapping[str, int]) -> Layout:
    """Offsets such that pieces that live at the same time do not overlap: largest first, each at its lowest fit.

    >>> layout([Piece(0, 100, 0, 1), Piece(1, 64, 1, 2), Piece(2, 100, 2, 3)], {}).bytes
    192
    """
    placed: list[tuple[int, int, Piece]] = []
    sized = [(rounded(at(p.bytes, sizes)), p) for p in pieces]
    for bytes_, piece in sorted(sized, key=lambda sp: (-sp[0], sp[1].first, sp[1].slot)):
        start = 0
        for low, high, _ in sorted((t for t in placed if t[2].meets(piece)), key=lambda t: t[0]):
            if start + bytes_ <= low:
                break
            start = max(start, high)
        placed.append((start, start + bytes_, piece))
    return Layout({p.slot: low for low, _, p in placed}, max((high for _, high, _ in placed), default=0))


def rounded(bytes_: int) -> int:
    """Bytes up to the next cache line; at least one, so that no two slots share an address."""
    return max(LINE, -(-bytes_ // LINE) * LINE)
