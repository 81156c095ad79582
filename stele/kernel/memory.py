"""Where every temporary lives in one arena: offsets by lifetime."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from heapq import merge
from operator import itemgetter

from stele.ir.record import Record
from stele.ir.sizes import Dim, at, of, replaced
from stele.kernel.machine import LINE

GIVEN = "parameter", "constant"
FRESH = "fresh"
"""The size that is 1 in a call that makes what is kept, and 0 in those that find it made."""


class Piece(Record):
    """Bytes needed from clock `first` to clock `last`, both included."""

    slot: int
    bytes: Dim
    first: int
    last: int


class Layout(Record):
    """Offsets by slot and the bytes of the whole arena."""

    offsets: Mapping[int, int]
    bytes: int


class Place(Record):
    """One place in the table of buffers: what it is for (see `Slot`), its bytes, from which clock to which it is
    needed, and whose memory it lives in where that is not its own."""

    kind: str
    bytes: Dim
    first: int
    last: int
    home: int | None


class Memory(Record):
    """What a program takes at given sizes: the arena, what it keeps from call to call, results that are written over no
    parameter, and what each thread needs besides; and what it is `given`: parameters and constants."""

    arena: Layout
    kept: Layout
    results: int
    scratch: int
    given: int

    @property
    def peak(self) -> int:
        """Bytes of a call beside what it is given, threads apart."""
        return self.arena.bytes + self.kept.bytes + self.results

    def whole(self, threads: int) -> int:
        """Bytes of all arrays there are at once while so many threads run a call."""
        return self.given + self.peak + threads * self.scratch


class Plan(Record):
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
        given = (p.bytes for p in self.places if p.kind in GIVEN)
        return Memory(layout(pieces, sizes), self.kept, sum(at(n, sizes) for n in made),
                      max((at(n, sizes) for n in self.scratch), default=0), sum(at(n, sizes) for n in given))


class Peak(Record):
    """The bytes that a call takes on so many threads, as a formula in sizes that are open."""

    plan: Plan
    threads: int

    def at(self, sizes: Mapping[str, int]) -> int:
        """The bytes at these sizes."""
        return self.plan.at(sizes).whole(self.threads)

    def __str__(self) -> str:
        """What is there all the time, and what of temporaries is there at once: places in the arena may leave gaps."""
        own = [(self.dim(p.bytes), k, p) for k, p in enumerate(self.plan.places) if p.home is None]
        fixed = sum((n for n, k, p in own if p.kind in GIVEN or (p.kind == "result" and k not in self.plan.in_place)),
                    self.plan.kept.bytes)
        temps = [(n, p.first, p.last) for n, _, p in own if p.kind == "temp" and n != 0]
        scratch = most({self.dim(n * self.threads) for n in self.plan.scratch})
        at_once = most({sum((n for n, first, last in temps if first <= c <= last), 0) for _, c, _ in temps})
        return " + ".join(text for text in (str(fixed), at_once, scratch) if text != "0")

    def dim(self, n: Dim) -> Dim:
        for name, value in self.plan.private.items():
            n = replaced(n, name, value)
        return n


def most(sums: set[Dim]) -> str:
    """The largest of some sums, as text: those that are never more than another do not stand there."""
    found = [a for a in sums if not any(a != b and all(k >= 0 for _, k in of(b - a).terms) for b in sums)]
    text = sorted(map(str, found), key=lambda text: (len(text), text))
    return f"max({', '.join(text)})" if len(text) > 1 else "".join(text) or "0"


def layout(pieces: Iterable[Piece], sizes: Mapping[str, int]) -> Layout:
    """Offsets such that pieces that live at the same time do not overlap: largest first, each at its lowest fit.

    >>> layout([Piece(0, 100, 0, 1), Piece(1, 64, 1, 2), Piece(2, 100, 2, 3)], {}).bytes
    192
    """
    sized = sorted(((rounded(at(p.bytes, sizes)), p) for p in pieces), key=lambda sp: (-sp[0], sp[1].first, sp[1].slot))
    taken = Taken(max((p.last for _, p in sized), default=0))
    offsets = {p.slot: taken.put(bytes_, p.first, p.last) for bytes_, p in sized}
    return Layout(offsets, max((offsets[p.slot] + bytes_ for bytes_, p in sized), default=0))


Spans = list[tuple[int, int]]
"""Ranges of bytes that do not touch, in order."""


class Taken:
    """Which bytes are taken at which clocks.

    A binary tree over clocks, node k above 2k and 2k + 1: pieces belong to the few nodes whose clocks together are
    theirs. `always` are the bytes of those that belong to a node, `ever` also of those that belong below it.
    """

    def __init__(self, last: int) -> None:
        self.leaves = 1 << (last + 1).bit_length()
        self.always: dict[int, Spans] = {}
        self.ever: dict[int, Spans] = {}

    def put(self, bytes_: int, first: int, last: int) -> int:
        """Takes so many bytes from clock `first` to clock `last`, at the lowest offset where they are free."""
        nodes = self.nodes(first, last)
        above = {k >> n for k in nodes for n in range(1, k.bit_length())}
        met = [*(self.ever.get(k, []) for k in nodes), *(self.always.get(k, []) for k in above)]
        start = 0
        for low, high in merge(*met):
            if start + bytes_ <= low:
                break
            start = max(start, high)
        for table, keys in ((self.always, nodes), (self.ever, (*nodes, *above))):
            for k in keys:
                unite(table.setdefault(k, []), start, start + bytes_)
        return start

    def nodes(self, first: int, last: int) -> list[int]:
        """The nodes whose clocks together are those from first to last."""
        low, high, found = first + self.leaves, last + self.leaves + 1, list[int]()
        while low < high:
            found += [*[low] * (low & 1), *[high - 1] * (high & 1)]
            low, high = (low + 1) >> 1, high >> 1
        return found


def unite(spans: Spans, low: int, high: int) -> None:
    """Adds a range to others, and joins those that it touches."""
    begin = bisect_left(spans, low, key=itemgetter(1))
    end = bisect_right(spans, high, lo=begin, key=itemgetter(0))
    if begin < end:
        low, high = min(low, spans[begin][0]), max(high, spans[end - 1][1])
    spans[begin:end] = [(low, high)]


def rounded(bytes_: int) -> int:
    """Bytes up to the next cache line; at least one, so that no two slots share an address."""
    return max(LINE, -(-bytes_ // LINE) * LINE)
