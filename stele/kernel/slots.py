"""The table of buffers a program works on: who has which position, and from when to when it is needed."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from stele.ir import sizes
from stele.ir.graph import Constant, Graph, Item, Value, closed
from stele.ir.origin import NOWHERE, Where
from stele.ir.sizes import Dim, ceil, size
from stele.ir.types import TupleType, Type
from stele.kernel.fuse import Fused
from stele.kernel.kinds import Host, Kernel, Launched, Repeat
from stele.kernel.machine import COMMON, LINE, Machine
from stele.kernel.memory import FRESH
from stele.kernel.rows import independent, with_rows
from stele.ops.control import Scan

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


@dataclass(frozen=True, eq=False)
class Run:
    """A kernel at its clock."""

    kernel: Launched
    clock: int


@dataclass(frozen=True, eq=False)
class Crossing:
    """A call into Python at its clock."""

    kernel: Host
    clock: int


@dataclass(frozen=True)
class Carry:
    """What a loop hands from step to step: read at `inside`, made at `new`, starting from `start`.

    Where the new value has a place of its own, it alternates between `final` and `spare` so that the last step
    writes `final`; otherwise (`spare` is None) it stays where it was made and the last one is copied to `final`.
    """

    inside: int
    new: int
    start: int
    final: int
    spare: int | None
    bytes: Dim


@dataclass(eq=False)
class Rows:
    """Rows of a loop that do not meet: tasks of `grain` of the `total` rows each run the whole loop by themselves.

    A task's part of a slot in `shifted` begins so many bytes per row in, that of one in `spaces` so many per task.
    Tasks are at different steps at one time, so their temporaries live from clock `first` to `last`, the whole loop.
    """

    name: str
    total: Dim
    grain: int
    first: int
    last: int = 0
    shifted: dict[int, Dim] = field(default_factory=dict[int, Dim])
    spaces: dict[int, Dim] = field(default_factory=dict[int, Dim])

    @property
    def tasks(self) -> Dim:
        return ceil(self.total, self.grain)

    def whole(self, bytes_: Dim) -> Dim:
        """Bytes for all rows, from those for some."""
        return sizes.replaced(bytes_, self.name, self.total)

    def step(self, bytes_: Dim) -> Dim:
        """Bytes from one row to the next in a buffer of this many bytes; 0 if it is the same for all rows."""
        return sizes.replaced(bytes_, self.name, 1) - sizes.replaced(bytes_, self.name, 0)


@dataclass(frozen=True, eq=False)
class Loop:
    """A `Scan` at its clock: `moving` slots step through outer arrays, `copies` (to, from, bytes) close each step."""

    length: Dim
    reverse: bool
    moving: tuple[tuple[int, int, Dim], ...]
    carries: tuple[Carry, ...]
    copies: tuple[tuple[int, int, Dim], ...]
    body: tuple[Step, ...]
    value: Value
    rows: Rows | None
    clock: int


Step = Run | Crossing | Loop


def flat(steps: Sequence[Step]) -> Iterator[Run | Crossing]:
    """All kernels in order, those inside loops too."""
    for step in steps:
        if isinstance(step, Loop):
            yield from flat(step.body)
        else:
            yield step


def runs(steps: Sequence[Step]) -> Iterator[Run]:
    """Those of them that are native code."""
    return (step for step in flat(steps) if isinstance(step, Run))


@dataclass(slots=True)
class Slots:
    """Positions of buffers and named sizes, given out while steps are laid out and kernels are emitted."""

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
        """The buffer is needed at this clock."""
        self.table[position].last = max(self.table[position].last, self.clock)

    def step(self, kernel: Kernel) -> Step:
        self.clock += 1
        if isinstance(kernel, Repeat):
            return self.loop(kernel.anchor)
        keep = self.kept if self.settled.issuperset(kernel.body) and not any(
            key in self.at for v in kernel.results for key, _ in self.arrays(v)) else self.value
        for v in kernel.results:
            for key, type_ in self.arrays(v):
                if key not in self.at:
                    self.at[key] = keep(bytes_of(type_), str(type_), v.where)
                self.made(self.at[key])
        for v in kernel.inputs:
            self.touch(self.of(v))
        return Crossing(kernel, self.clock) if isinstance(kernel, Host) else Run(kernel, self.clock)

    def made(self, position: int) -> None:
        slot = self.table[position]
        if slot.kind == "result":
            slot.first = self.clock if slot.first <= 0 else slot.first
        self.touch(position)

    def loop(self, value: Value) -> Loop:
        """A scan: its body laid out on the same table, between two clocks that its operands must reach."""
        scan, types = value.op, value.type
        assert isinstance(scan, Scan) and isinstance(types, TupleType)
        n, m, clock = scan.carries, scan.carries + scan.slices, self.clock
        outer = [self.outer(value, k, t) for k, t in enumerate(types.items)]
        given = [self.of(a) for a in value.args]
        around, (body, rows) = self.rows, self.apart(scan, given, outer)
        self.rows = rows or around
        body = closed(body.parameters, body.results)    # loops may have one body, and each its own places for it
        fused = self.fuse(body)
        self.views |= fused.views
        moving = [(self.new("moving", 0, "slice"), whole, self.stride(p))
                  for whole, p in zip(given[n:m], body.parameters[n:m])]
        inside = [self.new("moving", 0, "carry") for _ in range(n)]
        self.at |= zip(body.parameters, [*inside, *(k for k, _, _ in moving), *given[m:]])
        copied: list[tuple[int, Value]] = []
        stacked = {k: v for v, k in zip(body.results[n:], [self.new("moving", 0, "slice") for _ in outer[n:]])}
        ys = {self.base(v) for k, v in stacked.items() if self.claim(v, k, copied)}
        moving += [(k, whole, self.stride(v)) for (k, v), whole in zip(stacked.items(), outer[n:])]
        carried = [self.carry(*parts, ys, copied) for parts in zip(body.results, given, inside, outer)]
        steps = tuple(map(self.step, fused.kernels))
        self.clock += 1
        for position in (*given, *outer, *(c.spare for c in carried if c.spare is not None)):
            self.touch(position)
        copies = tuple((to, self.of(v), bytes_of(v.type)) for to, v in copied)
        if rows is not None:
            rows.last = self.clock
            for position in rows.shifted:
                self.live(position, rows)
        self.rows = around
        return Loop(scan.length, scan.reverse, tuple(moving), tuple(carried), copies, steps, value, rows, clock)

    def apart(self, scan: Scan, given: list[int], outer: list[int]) -> tuple[Graph, Rows | None]:
        """The body of a loop, and how its rows go apart if they never meet (and no loop around them does that)."""
        axes = independent(scan) if self.rows is None else None
        if axes is None:
            return scan.body, None
        rows = Rows(f"rows{len(self.private)}", scan.body.parameters[0].shape[0], self.machine.steps, self.clock)
        body = with_rows(scan.body, axes, size(rows.name))
        steps: dict[int, Dim] = {}
        for position, v in (*zip(given, body.parameters), *zip(outer, body.results)):
            step = rows.step(bytes_of(v.type))
            if steps.setdefault(position, step) != step:
                return scan.body, None
        rows.shifted |= {position: step for position, step in steps.items() if step != 0}
        self.private[rows.name] = rows.grain
        self.size(rows.name)
        return body, rows

    def live(self, position: int, rows: Rows) -> None:
        """The buffer is needed throughout a loop."""
        slot = self.table[position]
        slot.first, slot.last = min(slot.first, rows.first), max(slot.last, rows.last)

    def stride(self, v: Value) -> Dim:
        """Bytes from one step's slice to the next one's, all rows counted."""
        return bytes_of(v.type) if self.rows is None else self.rows.whole(bytes_of(v.type))

    def outer(self, value: Value, k: int, type_: Type) -> int:
        """The whole array a loop fills: final carry k or stacked result k."""
        if (value, k) not in self.at:
            self.at[value, k] = self.new("temp", bytes_of(type_), str(type_), value.where)
        self.made(self.at[value, k])
        return self.at[value, k]

    def claim(self, v: Value, position: int, copied: list[tuple[int, Value]]) -> bool:
        """Whether v is made at this position; copied there where it has a place already."""
        key = self.base(v)
        if key in self.at or (isinstance(key, Value) and isinstance(key.op, Constant)):
            copied.append((position, v))
            return False
        self.at[key] = position
        return True

    def carry(self, v: Value, start: int, inside: int, final: int, ys: set[Key],
              copied: list[tuple[int, Value]]) -> Carry:
        """How one carry moves on; a new value that is also a stacked result is read where it was stacked."""
        if (key := self.base(v)) in ys:
            return Carry(inside, self.at[key], start, final, None, bytes_of(v.type))
        new = self.new("moving", 0, "carry")
        self.claim(v, new, copied)
        return Carry(inside, new, start, final, self.value(bytes_of(v.type), "carry"), bytes_of(v.type))

    def root(self, position: int) -> int:
        """The slot whose memory this one lives in."""
        while (home := self.table[position].home) is not None:
            position = home
        return position
