"""A compiled program: its memory, its calls, and what it says of itself."""
from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import MethodType
from typing import Any, NoReturn

import numpy as np

from stele import config
from stele.backend.base import Run, itself
from stele.backend.buffers import MEMORY, UNSEEN, Block, Blocks, Buffer, Foreign, Recent
from stele.backend.cpu import blas, pool
from stele.backend.cpu.call import Frame
from stele.backend.cpu.host import crossing, lent
from stele.backend.cpu.image import Image, load
from stele.backend.cpu.manifest import unpack_report
from stele.backend.cpu.native import Native
from stele.backend.newest import Newest
from stele.backend.source import written
from stele.errors import IndexOutOfRange, ShapeError
from stele.ir.door import located
from stele.ir.graph import Graph, Value
from stele.ir.origin import lines
from stele.ir.record import Record
from stele.ir.report import Report
from stele.ir.sizes import at
from stele.ir.stages import show
from stele.ir.types import TupleType, Type
from stele.ir.types import show as shape_text
from stele.kernel.memory import FRESH, Layout, Memory, Peak
from stele.ops.gather import too_many
from stele.ops.lapack import LinAlgError
from stele.ops.sorting import Ordering

INDEX_OUT_OF_RANGE, TOO_MANY, REFUSED = 1, 2, 3
BOUNDS = 1024
"""Memory plans kept of one program whose sizes are open."""


class Kept(Record):
    """Memory that stays from call to call, and what it was made of: holding that keeps it from being overwritten, but
    for what `is_foreign`."""

    block: Block
    sources: tuple[Block, ...]
    is_foreign: bool


class Bound(Record):
    """A program at given sizes: offsets of temporaries, bytes of arena and scratch, memory for results."""

    sizes: np.ndarray[Any, Any]
    temps: np.ndarray[Any, Any]
    offsets: np.ndarray[Any, Any]
    arena: int
    scratch: int
    recent: tuple[Recent, ...]


class Program:
    """Calls one native function, which calls Python for the values in `hosts`; `calls` counts its runs. Not to be
    called by two threads at once on the same buffers. `request` is what it was made for.

    If that is not strict, it counts subnormal numbers as zero if it multiplies matrices anywhere: with them a product
    takes up to seven times as long, and the gradients of a recurrence fade into them.
    """

    def __init__(self, request: Any, code: Native, hosts: Sequence[Value] = (), memory: Blocks = MEMORY) -> None:
        self.request, self.graph, self.code, self.hosts, self.blocks = request, request.graph, code, hosts, memory
        self.manifest, self.places = code.manifest, code.manifest.plan.places
        self.flushes = self.manifest.multiplies and request.options.precision != "strict"
        self.open = tuple(name for name in self.manifest.names if name not in self.manifest.plan.private)
        self.loaded = load(code.image, imports(code.image))
        self.address = self.loaded["program"]
        self.constants = {k: Buffer.of(a, memory) for k, a in self.manifest.constants.items()}
        self.clocks = {k: Buffer.of(np.zeros((len(self.report().kernels), 3), np.int64))
                       for k, place in enumerate(self.places) if place.kind == "clocks"}
        self.bounds: Newest[tuple[int, ...], Bound] = Newest(BOUNDS)
        self.frames: list[Frame] = []
        self.own = [j for j, note in enumerate(self.manifest.outputs) if note.source == "slot"]
        self.keeping = [k for k, place in enumerate(self.places) if place.kind == "kept"]
        kept = self.manifest.plan.kept
        self.kept_at = np.array([kept.offsets[k] for k in self.keeping], np.uint64)
        self.kept_bytes = kept.bytes
        self.kept: Kept | None = None
        self.calls = 0
        self.call = call_of(self)
        if self.clocks and "time" in config.SHOW():
            show("time", lambda: "\n".join(f"{s * 1e3:9.2f} ms {name}" for name, s in self.report().seconds.items()))
            atexit.register(show, "time", self.timing)

    @property
    def run(self) -> Run:
        """The program as a function. Where a signal handler raises behind the last kernel, `commit` runs, a second
        time if need be."""
        return MethodType(self.call, self)  # type: ignore[return-value]

    def keep(self, buffers: Sequence[Buffer], frame: Frame) -> Kept:
        """What is kept, in the tables of this call; to be made by it where a source is another."""
        sources, kept = tuple([buffers[k].block for k in self.manifest.steady]), self.kept
        fresh = kept is None or kept.is_foreign or not all(map(is_, kept.sources, sources))
        if kept is None or fresh:
            self.kept = None
            kept = Kept(self.blocks.block(self.kept_bytes), sources, any(isinstance(s, Foreign) for s in sources))
        if frame.kept != kept.block.address:
            frame.kept = kept.block.address
            frame.buffers[self.keeping] = self.kept_at + np.uint64(frame.kept)
        frame.sizes[self.manifest.names.index(FRESH)] = fresh
        return kept

    def outputs(self, buffers: Sequence[Buffer], bound: Bound, keep: frozenset[int]) -> list[Buffer]:
        """Memory for the results: taken over, shared, used before or fresh."""
        made: list[Buffer] = []
        for note, recent in zip(self.manifest.outputs, bound.recent):
            if note.source == "slot":
                k = self.manifest.plan.in_place.get(note.slot)
                made.append(recent.take() if k is None else self.taken(buffers[k], k in keep) or recent.fresh())
            elif note.source == "constant":
                made.append(self.constants[note.slot].seen(recent.dtype, recent.shape))
            else:
                made.append((buffers if note.source == "parameter" else made)[note.k].seen(recent.dtype, recent.shape))
        return made

    def taken(self, buffer: Buffer, kept: bool) -> Buffer | None:
        """A donated buffer as the place of a result, if this call may overwrite it."""
        return None if kept or sys.getrefcount(buffer.block) > UNSEEN else buffer

    def frame(self, frame: Frame | None, bound: Bound) -> Frame:
        """A call's tables, with constants and sizes filled in."""
        if frame is None or frame.scratch_bytes < bound.scratch:
            frame = Frame(len(self.places), len(self.manifest.names), bound.scratch, self.flushes)
            for k, buffer in (self.constants | self.clocks).items():
                frame.buffers[k] = buffer.address
        frame.bound, frame.arena = bound, 0
        frame.sizes[:len(bound.sizes)] = bound.sizes
        sizes = dict(zip(self.manifest.names, bound.sizes.tolist()))
        frame.crossings = [crossing(v, note, sizes, frame) for v, note in zip(self.hosts, self.manifest.hosts)]
        for call, note in zip(frame.crossings, self.manifest.hosts):
            frame.buffers[note.slot] = id(call)
        return frame

    def bound(self, sizes: Mapping[str, int]) -> Bound:
        """The memory plan for these sizes, made once."""
        key = tuple([sizes[name] for name in self.open])
        if (bound := self.bounds.get(key)) is None:
            refuse_sizes(self.graph, sizes)
            bound = self.bounds[key] = self.bind({**sizes, **self.manifest.plan.private})
        return bound

    def bind(self, sizes: dict[str, int]) -> Bound:
        plan, memory = self.manifest.plan, self.manifest.plan.at(sizes)
        temps = [k for k, place in enumerate(self.places) if place.kind == "temp"]
        show("memory", lambda: self.memory_text(memory.arena, sizes))
        return Bound(
            np.array([sizes[name] for name in self.manifest.names], np.int64),
            np.array(temps, np.int64),
            np.array([memory.arena.offsets[plan.root(k)] for k in temps], np.uint64),
            memory.arena.bytes,
            memory.scratch,
            tuple(Recent(o.type.dtype, tuple(at(n, sizes) for n in o.type.shape), self.blocks)
                  for o in self.manifest.outputs))

    def fail(self, code: int, status: np.ndarray[Any, Any]) -> NoReturn:
        """Raises what a signal handler raised, or what a status code means, at the user's line."""
        pool.interrupted(code)
        if code in (INDEX_OUT_OF_RANGE, TOO_MANY, REFUSED):
            report, site, payload = self.report(), *map(int, status[1:3])
            where = ", ".join(lines(report.sites[site]))
            if code == TOO_MANY:
                raise too_many(payload, where)
            if code == REFUSED:
                name, *reasons = report.refusals[site]
                located(error := LinAlgError(reasons[payload]), name, report.sites[site])
                raise error
            raise IndexOutOfRange(f"index {payload} is out of range", where=where,
                                  hint="Indices and labels run from 0 to the size of their axis - 1.")
        raise pool.stopped()

    @property
    def times(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Of each kernel of a timed program its nanoseconds so far, how often it was started, and when it was last."""
        return np.concatenate([np.zeros((0, 3), np.int64), *(buffer.array for buffer in self.clocks.values())])

    def memory(self, sizes: Mapping[str, int]) -> Memory:
        """What a call takes at these sizes."""
        return self.manifest.plan.at(sizes)

    @property
    def peak_bytes(self) -> int | Peak:
        """The bytes of all arrays there are at once while a call runs, what it is given among them; with open sizes a
        formula."""
        peak = Peak(self.manifest.plan, pool.current().threads)
        return peak if self.open else peak.at({})

    def memory_text(self, arena: Layout, sizes: Mapping[str, int]) -> str:
        """The arena at these sizes: what is where, from which kernel to which, and the lines that asked for it."""
        notes = self.report().buffers
        order = sorted(arena.offsets.items(), key=lambda item: item[1])
        rows = [f"at {offset:12,d}: {notes[k]}" for k, offset in order]
        return "\n".join([f"arena {arena.bytes:,} bytes" + "".join(f", {k}={n}" for k, n in sizes.items()), *rows])

    def timing(self) -> str:
        """The kernels by the time they took so far, where the program was built under STELE_SHOW=time."""
        spent = self.times[:, 0].tolist()
        total = max(sum(spent), 1)
        rows = sorted(zip(spent, self.report().kernels), key=lambda row: -row[0])
        return "\n".join([f"{self.calls} calls, {total / 1e6:,.3f} ms",
                          *(f"{ns / total:6.1%} {note}" for ns, note in rows)])

    def report(self) -> Report:
        """What the compiler did and why, as the program keeps it on the disk; with its memory where no size is open."""
        report = unpack_report(self.manifest.report, tuple(v.where for v in self.graph.everything))
        if not self.open:
            memory = self.memory({})
            report.memory = [f"arena {memory.arena.bytes:,} bytes", f"peak {memory.peak:,} bytes"]
        return report


def refuse_sizes(graph: Graph, sizes: Mapping[str, int]) -> None:
    """Raises ShapeError where some value would have fewer than no elements at these sizes, or rows too long to sort."""
    for v in graph.values if sizes else ():
        shape = () if isinstance(v.type, TupleType) else tuple(at(n, sizes) for n in v.shape)
        if min(shape, default=0) < 0:
            given = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            raise ShapeError(f"{v.op.name} makes {shape_text(v.shape)}, which is {shape_text(shape)} for {given}",
                             where=", ".join(lines(v.where)), hint="Use larger inputs, or more padding.")
        if isinstance(v.op, Ordering):
            v.op.type(*(Type(a.dtype, tuple(at(n, sizes) for n in a.shape)) for a in v.args))


def call_of(program: Program) -> Callable[..., Any]:
    """What `Program.run` does, written out for what the program has: code for any would take 0.3 us longer."""
    m, own = program.manifest, [f"y{k}" for k in range(len(program.own))]
    bound = None if program.open else program.bound({})
    known: dict[str, Any] = {"frames": program.frames, "itself": itself, "memory": program.blocks, "uint64": np.uint64,
                             "pool": pool, "bound": bound, "lent": lent, "address": program.address}
    if bound and len(own) == len(m.outputs) and not m.plan.in_place:
        known |= {f"take{k}": recent.take for k, recent in enumerate(bound.recent)}
        results, sources = f"[{', '.join(own)}]", [f"{y} = take{k}()" for k, y in enumerate(own)]
    else:
        results, sources = "results", ["results = program.outputs(buffers, bound, keep)"]
        sources += [f"{y} = results[{j}]" for y, j in zip(own, program.own)]
    places = ", ".join([f"buffers[{k}].address" for k in range(m.parameters)] + [f"{y}.address" for y in own])
    arena, keeps = bound is None or bound.arena > 0, bool(program.keeping)
    held = f"with lent(frame, program, buffers, {results}{', arena' * arena}{', kept' * keeps}): " if m.hosts else ""
    lines = [
        (1, "def call(program, buffers, sizes, keep=frozenset(), commit=itself):"),
        (bound is None, "    bound = program.bound(sizes)"),
        *((1, f"    {line}") for line in sources),
        (1, "    frame = frames.pop() if frames else None"),
        (1, "    if frame is None or frame.bound is not bound:"),
        (1, "        frame = program.frame(frame, bound)"),
        (arena, "    arena = memory.lend(bound.arena)"),
        (1, "    try:"),
        (arena, "        if frame.arena != arena.address:"),
        (arena, "            frame.arena = arena.address"),
        (arena, "            frame.buffers[bound.temps] = bound.offsets + uint64(arena.address)"),
        (keeps, "        kept = program.keep(buffers, frame)"),
        (1, "        program.calls += 1"),
        (1, "        if (threads := pool.now) is None or threads is not frame.threads: threads = frame.pool()"),
        (1, f"        {held}code = threads.invoke(threads.address, address, frame.address, {places})"),
        (keeps, "        program.kept = None if code else kept"),
        (1, f"        return program.fail(code, frame.status) if code else commit({results})"),
        (1, "    except BaseException:"),
        (1, f"        if frame.finished: commit({results})"),
        (1, "        raise"),
        (1, "    finally:"),
        (arena, "        memory.give_back(arena)"),
        (1, "        frames.append(frame)")]
    return written("run", [line for needed, line in lines if needed], known)


def imports(image: Image) -> dict[str, int]:
    """Addresses of what machine code refers to: the pool, and the routines of the BLAS where it calls them."""
    return pool.imports() | {name: blas.address(name) for name in image.imports & {"sgemm", "dgemm"}}
