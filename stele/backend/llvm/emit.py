"""Kernels as LLVM functions; kernels of one structure share their code."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract.glue import emit_contraction
from stele.backend.llvm import pieces
from stele.backend.llvm.blocks import Blocks
from stele.backend.llvm.dims import i64
from stele.backend.llvm.foreign import emit_foreign
from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import (
    BUFS,
    LAUNCHED,
    SIZES,
    WORDS,
    Launch,
    i8,
    new_function,
    new_kernel,
    pointer,
    word,
    word_at,
)
from stele.backend.llvm.library import emit_gemm
from stele.backend.llvm.matrices.emit import emit_matrices
from stele.backend.llvm.nest import at, least, loop
from stele.backend.llvm.ordered.emit import emit_ordered
from stele.backend.llvm.scalars import LLVMScalars
from stele.backend.llvm.scatter import emit_scatter
from stele.ir import stages
from stele.ir.graph import Literal, Value, walk
from stele.ir.record import Record
from stele.ir.report import Report
from stele.ir.sizes import Dim, size
from stele.ir.types import product
from stele.kernel import kinds
from stele.kernel.choice import Noted
from stele.kernel.index import coefficient
from stele.kernel.kinds import Launched
from stele.kernel.loops import Load, Nest, Store, Temporary, inside, show
from stele.kernel.lower import lower
from stele.kernel.machine import Machine
from stele.kernel.memory import FRESH
from stele.kernel.schedule import Rows, in_lanes, schedule
from stele.kernel.slots import Key
from stele.kernel.slots import Slots as Table
from stele.kernel.stretches import apart
from stele.ops.foreign import Foreign


@dataclass
class Local:
    """The slots of one kernel, counted from 0: values and temporaries by position; `names` are the sizes that it reads,
    by where the program has them."""

    slots: Table
    buffers: list[Key | None] = field(default_factory=list[Key | None])
    temps: dict[int, Dim] = field(default_factory=dict[int, Dim])
    names: dict[str, int] = field(default_factory=dict[str, int])
    has_sites: bool = False

    @property
    def settled(self) -> frozenset[Value]:
        return self.slots.settled

    def of(self, v: Key) -> int:
        if v not in self.buffers:
            self.buffers.append(v)
        return self.buffers.index(v)

    def temp(self, bytes_: Dim) -> int:
        self.buffers.append(None)
        self.temps[len(self.buffers) - 1] = bytes_
        return len(self.buffers) - 1

    def size(self, name: str) -> int:
        self.names[name] = self.slots.size(name)
        return self.names[name]

    def holds_in(self, slots: Table) -> bool:
        """Whether another program has the sizes in the same places: one with other loops numbers them otherwise."""
        return all(slots.size(name) == place for name, place in self.names.items())

    def site(self, v: Value) -> int:
        self.has_sites = True
        return self.slots.site(v)


class Shared(Record):
    """Emitted code: its launches, the questions that were asked on the way, and what its buffers are for the kernel it
    was made for."""

    launches: list[Launch]
    asked: tuple[str, ...]
    local: Local
    values: tuple[Value, ...]


CONTEXT = ir.FunctionType(ir.VoidType(), [*[pointer] * 4, i64])
Known = dict[tuple[str, ...], Shared]
"""Emitted code by the structure of its kernels."""


class Emitter:
    """Emits the kernels of one program, the code of each into a module of its own, which `written` is then given."""

    def __init__(self, module: ir.Module, slots: Table, target: Machine, written: Callable[[ir.Module], None],
                 precision: Precision = "fast", report: Report | None = None, known: Known | None = None,
                 draft: str = "") -> None:
        self.draft = draft
        self.module, self.slots, self.target, self.written = module, slots, target, written
        self.report = report or Report()
        self.precision: Precision = precision
        self.known: Known = {} if known is None else known

    def emit(self, name: str, kernel: Launched) -> tuple[list[Launch], tuple[str, ...]]:
        """Adds a kernel; returns its launches, each to be run after the one before, and the questions it was asked."""
        if "context" not in self.module.globals:
            context(self.module)
        kernel, stretches = apart(kernel)
        values = in_order(kernel)
        steady = [a in self.slots.settled for a in kernel.anchor.args] if isinstance(kernel, kinds.Contraction) else []
        key = *structure(kernel), str(steady)
        if (shared := self.known.get(key)) is None or not shared.local.holds_in(self.slots):
            local, name = Local(self.slots), f"{name}{self.draft}"
            code = ir.Module(name)
            noted = Noted(given=self.target.choices, report=self.report)
            launches = emit_kernel(code, f"{name}.code", kernel, local, replace(self.target, choices=noted),
                                   self.precision)
            for k, launch in enumerate(launches):
                launched = name if len(launches) == 1 else f"{name}.{k}"
                bind(code, launched, launch, len(local.buffers), pieces.work(kernel), local.size)
                launches[k] = replace(launch, function=launched)
            self.written(code)
            shared = Shared(launches, tuple(noted.asked), local, values)
            if not local.has_sites:
                self.known[key] = shared
        return self.bound(shared, kernel, values, stretches), shared.asked

    def bound(self, shared: Shared, kernel: Launched, values: tuple[Value, ...],
              stretches: Mapping[Value, tuple[Value, int]]) -> list[Launch]:
        """The launches of shared code on the buffers of other values in the same places; what makes only what is kept
        runs in calls that have to make it."""
        meant, slots, temps = dict(zip(shared.values, values)), self.slots, [*shared.local.temps]
        once = [slots.is_kept(kernel) or (launch.packs is not None and kernel.anchor is not None
                and kernel.anchor.args[launch.packs[0]] in slots.settled) for launch in shared.launches]
        kept = {temps[launch.packs[1]] for launch, is_once in zip(shared.launches, once) if launch.packs and is_once}
        places: list[tuple[int, int]] = []
        for k, v in enumerate(shared.local.buffers):
            if v is None:
                places.append(((slots.kept if k in kept else slots.temp)(shared.local.temps[k]), 0))
            elif isinstance(v, tuple):
                places.append((slots.of((meant[v[0]], v[1])), 0))
            else:
                of, first = stretches.get(meant[v], (meant[v], 0))
                places.append((slots.of(of), first))
        return [replace(launch, tasks=launch.tasks * size(FRESH) if is_once else launch.tasks, places=tuple(places))
                for launch, is_once in zip(shared.launches, once)]


def in_order(kernel: Launched) -> tuple[Value, ...]:
    """All values that a kernel knows, operands first, in an order that follows from how its results are computed:
    where they stand in the graph, others who share a number decide too."""
    body = frozenset(kernel.body)
    found = walk(kernel.results, stop=lambda v: v not in body)
    return tuple(dict.fromkeys((*found, *kernel.inputs, *kernel.body)))


def structure(kernel: Launched) -> tuple[str, ...]:
    """The same for kernels that differ in nothing but which buffers they work on. A number that is read stands in the
    code, though it may be in a buffer too, for others."""
    values = in_order(kernel)
    number, body, inputs = {v: k for k, v in enumerate(values)}, frozenset(kernel.body), frozenset(kernel.inputs)

    def operand(a: Value) -> str: return str(number[a] if a in body or a in inputs else a.op)

    def line(v: Value) -> str:
        if v in body:
            return f"{v.op!r} {' '.join(map(operand, v.args))} : {v.type}"
        return str(v.op if isinstance(v.op, Literal) else v.type) if v in inputs else ""

    corners = str(kernel.corners) if isinstance(kernel, kinds.Contraction) else ""
    anchor = "" if kernel.anchor is None else str(number[kernel.anchor])
    return (kernel.kind, corners, anchor, *map(line, values), " ".join(str(number[v]) for v in kernel.results))


def bind(module: ir.Module, name: str, launch: Launch, buffers: int, size: Dim, position: Callable[[str], int]) -> None:
    """A kernel that runs another one under a context of its own, whose buffers are those at the places it is told; in
    pieces if its work is of that `size`. `position` says where named sizes are."""
    b = new_function(module, name, *LAUNCHED.args)
    ctx, *rest, places = b.function.args
    with b.goto_entry_block():
        bufs, own = (b.alloca(i64, size) for size in (buffers + 1, WORDS))
    made: Any = module.globals.get("context") or ir.Function(module, CONTEXT, "context")
    b.call(made, [own, bufs, ctx, places, i64(buffers)])
    pieces.run(b, module.globals[launch.function], [own, *rest], launch.tasks, size,
               lambda n: b.load(word_at(b, word(b, ctx, SIZES), position(n)), typ=i64))
    b.ret_void()


def context(module: ir.Module) -> None:
    """`context(own, bufs, ctx, places, n)` makes `own` what `ctx` is but for `bufs`, its buffers: those at n places."""
    b = new_function(module, "context", *CONTEXT.args)
    own, bufs, ctx, places, n = b.function.args
    given = word(b, ctx, BUFS)
    with loop(b, 0, n) as k:
        place = at(b, places, b.mul(k, i64(2)), i64)
        first = b.load(at(b, given, b.load(place, typ=i64), i64), typ=pointer)
        behind = b.gep(first, [b.load(word_at(b, place, 1), typ=i64)], source_etype=i8)
        b.store(behind, at(b, bufs, k, i64))
    b.store(bufs, word_at(b, own, BUFS))
    for k in range(BUFS + 1, WORDS):
        b.store(b.load(word_at(b, ctx, k), typ=i64), word_at(b, own, k))
    b.ret_void()


def emit_kernel(module: ir.Module, name: str, kernel: Launched, slots: Slots, target: Machine,
                precision: Precision) -> list[Launch]:
    """Adds the functions of a kernel to a module."""
    match kernel:
        case kinds.Nest():
            return emit_nests(module, name, kernel, slots, target)
        case kinds.Contraction():
            return emit_contraction(module, name, kernel, slots, target, precision)
        case kinds.Scatter():
            return emit_scatter(module, name, kernel, slots, target)
        case kinds.Ordered():
            return emit_ordered(module, name, kernel, slots, target)
        case kinds.Matrices():
            return emit_matrices(module, name, kernel, slots, target)
        case kinds.Library():
            emit = emit_foreign if isinstance(kernel.anchor.op, Foreign) else emit_gemm
            return emit(module, name, kernel, slots)
        case _:
            assert_never(kernel)


def emit_nests(module: ir.Module, name: str, kernel: kinds.Nest, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions of loops of our own."""
    scheduled = [(raw, schedule(raw, target)) for raw in lower(kernel)]
    nests = [(nest, rows) for raw, chosen in scheduled for nest, rows in zip(chosen.nests(raw), chosen.rows)]
    stages.show("loops", lambda: "\n".join((*(f"schedule {chosen}" for _, chosen in scheduled),
                                            *(show(nest) for nest, _ in nests))), name)
    temporaries = {buffer: slots.temp(product(buffer.shape) * buffer.dtype.bytes)
                   for nest, _ in nests for step in inside(nest.body)
                   if isinstance(step, Store) and isinstance(buffer := step.value, Temporary)}
    launches: list[Launch] = []
    for k, (nest, rows) in enumerate(nests):
        function = name if len(nests) == 1 else f"{name}.{k}"
        emit_nest(Frame(new_kernel(module, function), slots, temporaries), nest, rows, target.fma)
        launches.append(Launch(function, nest.tasks, parts=parts_of(nest) if len(nests) == 1 else 1))
    return launches


def parts_of(nest: Nest) -> int:
    """Into how many parts tasks fall, one after the other in order, as in all that is stored."""
    parts, stores = 1, [s for s in inside(nest.body) if isinstance(s, Store)]
    count, sizes = product(tuple(axis.extent for axis in nest.rows)), [product(s.value.shape) for s in stores]
    for axis in nest.rows if isinstance(count, int) and count and count % nest.grain == 0 else ():
        apart = [coefficient(s.offset, axis.name) or 0 for s in stores]
        if any(a * axis.extent != size for a, size in zip(apart, sizes)):
            break
        parts, sizes = parts * int(axis.extent), apart
    return parts


def emit_nest(frame: Frame, nest: Nest, rows: Rows, fma: bool) -> None:
    """The function of one nest: its tasks are `grain` rows each."""
    blocks = Blocks(frame, LLVMScalars(frame.b, rows.lanes, fma))
    stores, loads = ([s for s in inside(nest.body) if isinstance(s, kind)] for kind in (Store, Load))
    blocks.streams, blocks.long = frozenset(stores[k] for k in rows.past), frozenset(loads[k] for k in rows.ahead)
    blocks.side = dict(zip(in_lanes(nest.body), rows.side, strict=True))
    blocks.block(nest.prelude)
    extents = [frame.integer(axis.extent) for axis in nest.rows]
    count = frame.integer(product(tuple(axis.extent for axis in nest.rows)))
    begin, end = frame.tasks
    start = frame.b.mul(begin, i64(nest.grain))
    stop = least(frame.b, frame.b.mul(end, i64(nest.grain)), count)
    with loop(frame.b, start, stop) as row:
        for axis, extent in zip(reversed(nest.rows[1:]), reversed(extents[1:])):
            frame.at[axis.name] = frame.b.urem(row, extent)
            row = frame.b.udiv(row, extent)
        if nest.rows:
            frame.at[nest.rows[0].name] = row
        blocks.block(nest.body)
    if blocks.streams:
        frame.b.fence("seq_cst")
    frame.b.ret_void()

