"""What is computed where it is needed and what is kept in memory: by what it costs to compute again."""
from __future__ import annotations

from stele.errors import GraphError
from stele.ir.graph import Constant, Graph, Item, Value, users, walk
from stele.ir.report import Report
from stele.kernel.alike import Alike
from stele.kernel.cost import instructions
from stele.kernel.index import variable
from stele.kernel.kinds import (
    Contraction,
    Host,
    Library,
    Matrices,
    Nest,
    Ordered,
    Place,
    Repeat,
    Role,
    Scatter,
    role_of,
    woven,
)
from stele.kernel.machine import Machine
from stele.kernel.space import Unfit, follow, measured
from stele.kernel.vocabulary import is_half
from stele.ops.gather import Gather
from stele.ops.linear import Broadcast, Cast, Pad, Reshape, Slice, Transpose
from stele.ops.windows import Taps, Window

LARGEST = 96
"""Values in one kernel at most."""
ALONE = (Repeat, Host, Library, Scatter, Ordered, Matrices)
"""Kernels that read all their operands from memory."""


class Inlining:
    """For each value of a graph, in `order`, its `role`; `roots` are kept, `views` show the memory of another value."""

    def __init__(self, graph: Graph, machine: Machine, report: Report) -> None:
        self.graph, self.report, self.again = graph, report, machine.again
        self.order = {v: k for k, v in enumerate(graph.values)}
        self.users = users(self.order)
        parameters, self.given = set(graph.parameters), frozenset(graph.results)
        self.role: dict[Value, Role] = {v: Place.LEAF if v in parameters else role_of(v) for v in self.order}
        self.roots: set[Value] = set()
        self.cost: dict[Value, int] = {}
        self.count: dict[Value, int] = {}
        self.views: dict[Value, Value] = {}
        self.spaces = Alike[bool]()
        self.choose()

    def choose(self) -> None:
        """Decides what is in memory: results, operands of what is no loop of ours, sums, what is dear and reused."""
        for v, role in self.role.items():
            if role in (Place.INLINE, Place.FOLD):
                if isinstance(v.op, Gather | Taps):
                    self.keep(v.args[0])
            elif role in ALONE:
                for a in v.args:
                    self.keep(a, even_number=True)
            for a in woven(v):
                self.keep(a)
        for v in self.graph.results:
            self.keep(v, even_number=True)
        for v in self.order:
            self.weigh(v)
        for v in self.order:
            if isinstance(v.op, Reshape) and self.in_memory(v.args[0]):
                self.views[v] = v.args[0]
        for v in self.made():
            self.settle(v)

    def made(self) -> list[Value]:
        """The values that kernels have to compute, in order."""
        return [v for v in self.order if v not in self.views
                and (v in self.roots or self.role[v] not in (Place.LEAF, Place.NUMBER, Place.INLINE))]

    def keep(self, v: Value, even_number: bool = False) -> None:
        """v has to be in memory; seen through a reshape, what it reshapes has to."""
        while isinstance(v.op, Reshape) and self.role[v.args[0]] is not Place.NUMBER:
            v = v.args[0]
        stored = self.role[v] is Place.LEAF or isinstance(v.op, Constant)
        if not stored and (even_number or self.role[v] is not Place.NUMBER):
            self.roots.add(v)

    def in_memory(self, v: Value) -> bool:
        return v in self.roots or v in self.views or self.role[v] not in (Place.INLINE, Place.NUMBER)

    def weigh(self, v: Value) -> None:
        """Notes what v costs to compute again, and keeps it if that is too much for its users."""
        if self.role[v] is Contraction:
            for a in v.args:
                if not self.read_through(a):
                    self.keep(a.args[0] if self.is_widened(a) else a, even_number=True)
        if isinstance(v.op, Reshape) and self.in_memory(v.args[0]):
            self.views[v] = v.args[0]
        if self.role[v] not in (Place.INLINE, Place.FOLD, Nest):
            self.cost[v], self.count[v] = 1, 0
            return
        self.cost[v] = sum(self.cost[a] for a in v.args) + own_cost(v)
        self.count[v] = 1 + sum(self.count[a] for a in v.args)
        again = len(set(self.users[v])) > 1 or any(repeats(u) for u in self.users[v])
        if v.op.name == "RandomBits":
            self.cost[v] = 1
        elif self.role[v] is not Place.INLINE or self.count[v] > LARGEST // 2 or self.is_rounded(v) or (
                again and (self.cost[v] > self.again or self.is_outcome(v))) or self.is_padded_outcome(v):
            if again and self.cost[v] > self.again:
                self.report.decided("kept", f"{v.op.name} {v.type}", "dear to compute again for each that reads it",
                                    v.where, self.cost[v], self.again)
            self.keep(v)
        if v in self.roots or self.role[v] is Place.FOLD:
            self.cost[v], self.count[v] = 1, 0

    def is_outcome(self, v: Value) -> bool:
        """Whether v is all that is ever read of a product, which the product may as well store itself."""
        return v.op.family == "elementwise" and any(self.leads_to(x, v) for x in v.args)

    def is_widened(self, v: Value) -> bool:
        """Whether v is numbers that take half the memory as they are."""
        return isinstance(v.op, Cast) and is_half(v.args[0].dtype) and v.dtype.is_float

    def is_rounded(self, v: Value) -> bool:
        """Whether v is what was computed, rounded to what takes half the memory."""
        return isinstance(v.op, Cast) and is_half(v.dtype) and self.role[v.args[0]] not in (Place.LEAF, Place.NUMBER)

    def is_padded_outcome(self, v: Value) -> bool:
        """Whether a product may store v, and what reads v goes over more than its space: pads alone."""
        return bool(self.users[v]) and all(isinstance(u.op, Pad) for u in self.users[v]) and self.is_outcome(v)

    def leads_to(self, x: Value, user: Value) -> bool:
        """Whether x is a product, perhaps reshaped, or what one may store, and only `user` reads it."""
        if self.users[x] != [user] or x in self.given:
            return False
        if isinstance(x.op, Reshape):
            return self.leads_to(x.args[0], x)
        return self.role[x] is Contraction or (x not in self.roots and self.is_outcome(x))

    def read_through(self, v: Value) -> bool:
        """Whether a contraction may compute an operand while it reads it: moved, or simple and used nowhere else."""
        if self.in_memory(v) or self.role[v] is Place.NUMBER:
            return self.role[v] is not Place.NUMBER
        body = self.inlined(v)
        simple = all(isinstance(u.op, Broadcast | Transpose | Slice | Reshape | Cast | Taps)
                     or (u.op.family == "elementwise" and len(self.users[u]) == 1) for u in body)
        try:
            follow([v], body, tuple(variable(f"c{k}") for k in range(v.ndim)), v.shape, {})
        except Unfit:
            return False
        return simple and self.cost[v] <= self.again

    def settle(self, v: Value) -> None:
        """Puts reshaped operands in memory until v's inlined operands have a common space with it."""
        if self.role[v] in (Place.LEAF, Contraction, *ALONE):
            return
        while True:
            body = self.inlined(v)
            parts = [a for a in v.args if a in body] if self.role[v] is Nest else [v]
            if all(self.has_space(p, body - {v} if p is not v else body) for p in parts):
                return
            inner = [u.args[0] for u in body if isinstance(u.op, Reshape) and not self.in_memory(u.args[0])]
            if not inner:
                raise GraphError(f"no loops can compute {v!r} from its operands")
            for a in inner:
                self.keep(a)
                self.views |= {u: a for u in self.users[a] if isinstance(u.op, Reshape)}
                self.settle(a)

    def has_space(self, v: Value, body: set[Value]) -> bool:
        """Whether there are loops in which values of a body compute v."""
        return self.spaces.of([v], body, lambda: measured([v], body) is not None)

    def inlined(self, v: Value) -> set[Value]:
        """v and all that is computed on the way to it."""
        inside = walk([v], stop=lambda u: u is not v and self.in_memory(u))
        return {u for u in inside if u is v or not (self.in_memory(u) or self.role[u] is Place.NUMBER)}

    def seen_through(self, v: Value) -> Value:
        """The value whose memory v is a view or a part of."""
        while v in self.views:
            v = self.views[v]
        return v.args[0] if isinstance(v.op, Item) else v

    def weight(self, v: Value) -> int:
        """What v costs where it is computed."""
        return 2 * self.again if self.role[v] is Place.FOLD else own_cost(v) + sum(self.cost[a] for a in v.args)


def own_cost(v: Value) -> int:
    """About how many instructions one element of an op takes, its operands given."""
    if v.op.family == "elementwise":
        return instructions(v.op, *(a.dtype for a in v.args))
    return 1 if v.op.family == "generate" or isinstance(v.op, Gather) else 0


def repeats(v: Value) -> bool:
    """Whether a movement asks for elements of its operand many times."""
    if isinstance(v.op, Broadcast):
        return v.args[0].type.size not in (1, v.type.size)
    return isinstance(v.op, Window | Taps | Gather)
