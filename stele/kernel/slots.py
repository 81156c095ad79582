"""The table of buffers a program works on: who has which position, and from when to when it is needed."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stele.ir.graph import Constant, Graph, Item, Value
from stele.ir.origin import NOWHERE, Where
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type
from stele.kernel.fuse import Fused, Kernel
from stele.ops.control import Scan

Key = Value | tuple[Value, int]


def bytes_of(type_: Type) -> Dim:
    """Bytes of a dense array."""
    return type_.size * type_.dtype.bytes


@dataclass(slots=True)
class Slot:
    """One position of the buffer table. `kind`: parameter, constant, result, temp, or moving (set while a loop runs)."""

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

    kernel: Kernel
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


@dataclass(frozen=True, eq=False)
class Loop:
    """A `Scan`: `moving` slots step through their outer arrays, `copies` (to, from, bytes) close each step."""

    length: Dim
    reverse: bool
    moving: tuple[tuple[int, int, Dim], ...]
    carries: tuple[Carry, ...]
    copies: tuple[tuple[int, int, Dim], ...]
    body: tuple[Run | Loop, ...]
    value: Value


Step = Run | Loop


@dataclass(slots=True)
class Slots:
    """Positions of buffers and named sizes, given out while steps are laid out and kernels are emitted."""

    fuse: Callable[[Graph], Fused]
    table: list[Slot] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    constants: dict[int, Constant] = field(default_factory=dict)
    sites: list[Value] = field(default_factory=list)
    clock: int = 0
    at: dict[Key, int] = field(default_factory=dict)
    views: dict[Value, Value] = field(default_factory=dict)

    def base(self, v: Value) -> Key:
        """The value whose buffer v is seen through: views and tuple parts resolved."""
        while v in self.views and v not in self.at:
            v = self.views[v]
        return (v.args[0], v.op.k) if isinstance(v.op, Item) and v not in self.at else v

    def of(self, v: Value) -> int:
        """The position of a value's buffer."""
        key = self.base(v)
        if key not in self.at and isinstance(key, Value) and isinstance(key.op, Constant):
            self.at[key] = self.new("constant", bytes_of(key.type), "constant", key.where)
            self.constants[self.at[key]] = key.op
        return self.at[key]

    def new(self, kind: str, bytes_: Dim, what: str, where: Where = NOWHERE) -> int:
        self.table.append(Slot(kind, bytes_, what, where, self.clock, self.clock))
        return len(self.table) - 1

    def temp(self, bytes_: Dim) -> int:
        """A temporary of the kernel that is being emitted."""
        return self.new("temp", bytes_, "workspace")

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

    def lay(self, graph: Graph) -> tuple[Step, ...]:
        """The steps of a graph whose parameters and results already have positions."""
        fused = self.fuse(graph)
        self.views |= fused.views
        return tuple(self.step(kernel) for kernel in fused.kernels)

    def step(self, kernel: Kernel) -> Step:
        self.clock += 1
        if kernel.kind == "scan":
            assert kernel.anchor is not None
            return self.loop(kernel.anchor)
        for v in kernel.results:
            if (key := self.base(v)) not in self.at:
                self.at[key] = self.new("temp", bytes_of(v.type), str(v.type), v.where)
            self.made(self.at[key])
        for v in kernel.inputs:
            self.touch(self.of(v))
        return Run(kernel, self.clock)

    def made(self, position: int) -> None:
        slot = self.table[position]
        if slot.kind == "result":
            slot.first = self.clock if slot.first <= 0 else slot.first
        self.touch(position)

    def loop(self, value: Value) -> Loop:
        """A scan: its body laid out on the same table, between two clocks that its operands must reach."""
        scan, types = value.op, value.type
        assert isinstance(scan, Scan) and isinstance(types, TupleType)
        n, m = scan.carries, scan.carries + scan.slices
        body, fused = scan.body, self.fuse(scan.body)
        self.views |= fused.views
        outer = [self.outer(value, k, t) for k, t in enumerate(types.items)]
        moving = [(self.new("moving", 0, "slice"), self.of(a), bytes_of(p.type))
                  for a, p in zip(value.args[n:m], body.parameters[n:m])]
        inside = [self.new("moving", 0, "carry") for _ in range(n)]
        self.at |= zip(body.parameters, [*inside, *(k for k, _, _ in moving), *map(self.of, value.args[m:])])
        copied: list[tuple[int, Value]] = []
        stacked = {k: v for v, k in zip(body.results[n:], [self.new("moving", 0, "slice") for _ in outer[n:]])}
        ys = {self.base(v) for k, v in stacked.items() if self.claim(v, k, copied)}
        moving += [(k, whole, bytes_of(v.type)) for (k, v), whole in zip(stacked.items(), outer[n:])]
        carried = [self.carry(v, self.of(a), i, o, ys, copied)
                   for v, a, i, o in zip(body.results, value.args, inside, outer)]
        steps = tuple(map(self.step, fused.kernels))
        self.clock += 1
        kept = [*map(self.of, value.args), *outer, *(c.spare for c in carried if c.spare is not None)]
        for position in kept:
            self.touch(position)
        copies = tuple((to, self.of(v), bytes_of(v.type)) for to, v in copied)
        return Loop(scan.length, scan.reverse, tuple(moving), tuple(carried), copies, steps, value)

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
        return Carry(inside, new, start, final, self.new("temp", bytes_of(v.type), "carry"), bytes_of(v.type))

    def root(self, position: int) -> int:
        """The slot whose memory this one lives in."""
        while (home := self.table[position].home) is not None:
            position = home
        return position
