"""The table of buffers a program works on: who has which position, and from when to when it is needed."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stele.ir import sizes
from stele.ir.graph import Constant, Graph, Item, Value
from stele.ir.origin import NOWHERE, Where
from stele.ir.sizes import Dim, ceil
from stele.ir.types import TupleType, Type
from stele.kernel.fuse import Fused
from stele.kernel.kinds import Kernel
from stele.kernel.machine import COMMON, LINE, Machine
from stele.kernel.memory import FRESH
from stele.kernel.steps import Rows

Key = Value | tuple[Value, int]


def bytes_of(type_: Type) -> Dim:
    """Bytes of a dense array."""
    return type_.size * type_.dtype.bytes


@dataclass(slots=True)
class Slot:
    """One place in the buffer table. `kind`: parameter, constant, result, temp, kept (from call to call), or moving
    (set while a loop runs)."""

    kind: str
    bytes: Dim
    what: str
    where: Where = NOWHERE
    first: int = -1
    last: int = -1
    home: int | None = None
    shows: tuple[int, ...] = ()     # whose memory it may show


@dataclass(slots=True)
class Slots:
    """Positions of buffers and named sizes, given out while steps are laid out and kernels are emitted. `turning` are
    places of new carries that may as well show the old one, by which it is read."""

    fuse: Callable[[Graph], Fused]
    table: list[Slot] = field(default_factory=list[Slot])
    names: list[str] = field(default_factory=list[str])
    constants: dict[int, Constant] = field(default_factory=dict[int, Constant])
    sites: list[Value] = field(default_factory=list[Value])
    clock: int = 0
    at: dict[Key, int] = field(default_factory=dict[Key, int])
    views: dict[Value, Value] = field(default_factory=dict[Value, Value])
    rows: Rows | None = None
    private: dict[str, int] = field(default_factory=dict[str, int])
    settled: frozenset[Value] = frozenset()
    turning: dict[int, int] = field(default_factory=dict[int, int])
    machine: Machine = COMMON

    def base(self, v: Value) -> Key:
        """The value whose buffer v is seen through: views and tuple parts resolved."""
        while v in self.views and v not in self.at:
            v = self.views[v]
        return (v.args[0], v.op.k) if isinstance(v.op, Item) and v not in self.at else v

    def of(self, v: Key) -> int:
        """The position of the buffer of a value, or of one part of a tuple."""
        key = v if isinstance(v, tuple) else self.base(v)
        if key not in self.at and isinstance(key, Value) and isinstance(key.op, Constant):
            self.at[key] = self.new("constant", bytes_of(key.type), "constant", key.where)
            self.constants[self.at[key]] = key.op
        return self.at[key]

    def new(self, kind: str, bytes_: Dim, what: str, where: Where = NOWHERE) -> int:
        self.table.append(Slot(kind, bytes_, what, where, self.clock, self.clock))
        return len(self.table) - 1

    def temp(self, bytes_: Dim) -> int:
        """A temporary of the kernel that is being emitted; one for each task of the loop it is in, if rows go apart."""
        if self.rows is None:
            return self.new("temp", bytes_, "workspace")
        each = ceil(sizes.replaced(bytes_, self.rows.name, self.rows.grain), LINE) * LINE
        position = self.new("temp", each * self.rows.tasks, "workspace")
        self.rows.spaces[position] = each
        self.live(position, self.rows)
        return position

    def value(self, bytes_: Dim, what: str, where: Where = NOWHERE) -> int:
        """A temporary that holds a value."""
        if self.rows is None:
            return self.new("temp", bytes_, what, where)
        position = self.new("temp", self.rows.whole(bytes_), what, where)
        self.rows.shifted[position] = self.rows.step(bytes_)
        return position

    def kept(self, bytes_: Dim, what: str = "packed", where: Where = NOWHERE) -> int:
        """A place for what only settled values decide: parameters that are seldom others at the next call."""
        self.private[FRESH] = 1
        self.size(FRESH)
        return self.new("kept", bytes_, what, where)

    def is_kept(self, kernel: Kernel) -> bool:
        """Whether all that a kernel makes is kept."""
        return all(self.table[self.at[key]].kind == "kept" for v in kernel.results for key, _ in self.arrays(v))

    def arrays(self, v: Value) -> list[tuple[Key, Type]]:
        """The arrays that a value is: itself, or the parts of a tuple."""
        return [((v, k), t) for k, t in enumerate(v.type.items)] if isinstance(v.type, TupleType) else [
            (self.base(v), v.type)]

    def size(self, name: str) -> int:
        """The position of a named size."""
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def site(self, v: Value) -> int:
        """The number that status codes carry for a value."""
        self.sites.append(v)
        return len(self.sites) - 1

    def touch(self, position: int) -> None:
        """The buffer is needed at this clock, and what it may show."""
        self.table[position].last = max(self.table[position].last, self.clock)
        for other in self.table[position].shows:
            self.touch(other)

    def made(self, position: int) -> None:
        slot = self.table[position]
        if slot.kind == "result":
            slot.first = self.clock if slot.first <= 0 else slot.first
        self.touch(position)

    def live(self, position: int, rows: Rows) -> None:
        """The buffer is needed throughout a loop."""
        slot = self.table[position]
        slot.first, slot.last = min(slot.first, rows.first), max(slot.last, rows.last)

    def root(self, position: int) -> int:
        """The slot whose memory this one lives in."""
        while (home := self.table[position].home) is not None:
            position = home
        return position
