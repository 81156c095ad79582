"""Where every temporary lives in one arena: offsets by lifetime."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stele.ir.sizes import Dim, at

ALIGNMENT = 64
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
    """Bytes up to the next boundary; at least one unit, so that no two slots share an address."""
    return max(ALIGNMENT, -(-bytes_ // ALIGNMENT) * ALIGNMENT)
