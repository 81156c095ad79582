"""A compiled program: its memory, its calls, and what it says of itself."""
from __future__ import annotations

import atexit
import builtins
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from types import MethodType
from typing import Any, NoReturn, cast

import numpy as np

from stele.backend.base import Precision, Run, itself
from stele.backend.buffers import ARENAS, MEMORY, UNSEEN, Block, Buffer, Recent
from stele.backend.cpu import blas, pool
from stele.backend.cpu.call import Frame
from stele.backend.cpu.image import Image, load
from stele.backend.cpu.native import Native, native, wheres
from stele.backend.cpu.target import detect
from stele.backend.cpu.tuned import tuned
from stele.errors import DeviceError, IndexOutOfRange, ShapeError
from stele.ir.graph import Graph, walk
from stele.ir.origin import HOUSE, lines
from stele.ir.sizes import at
from stele.ir.stages import show
from stele.ir.types import Type
from stele.ir.types import show as shape_text
from stele.kernel.memory import FRESH, Layout, Piece, layout

INDEX_OUT_OF_RANGE = 1
BOUNDS = 1024
"""Memory plans kept of one program whose sizes are open."""


@dataclass(frozen=True)
class Kept:
    """Memory that stays from call to call, and what it was made of. Holding that keeps it from being overwritten."""

    block: Block
    sources: tuple[Block, ...]


@dataclass(frozen=True)
class Bound:
    """A program at given sizes: offsets of temporaries, bytes of arena and scratch, memory for results."""

    sizes: np.ndarray[Any, Any]
    temps: np.ndarray[Any, Any]
    offsets: np.ndarray[Any, Any]
    arena: int
    scratch: int
    recent: tuple[Recent, ...]


class Program:
    """Calls one native function; `calls` counts them. Not to be called by two threads at once on the same buffers.

    With `flushes`, it counts subnormal numbers as zero if it multiplies matrices anywhere: with them a product takes up
    to seven times as long, and the gradients of a recurrence fade into them.
    """

    def __init__(self, graph: Graph, code: Native, flushes: bool = True) -> None:
        self.graph, self.code, self.manifest = graph, code, code.manifest
        self.flushes = flushes and any(kernel.kind in ("contraction", "library") for kernel in self.manifest.kernels)
        self.loaded = load(code.image, imports(code.image))
        self.address = self.loaded["program"]
        self.constants = {k: Buffer.of(a) for k, a in self.manifest.constants.items()}
        self.clocks = {k: Buffer.of(np.zeros(len(self.manifest.kernels), np.int64))
                       for k, s in enumerate(self.manifest.slots) if s.kind == "clocks"}
        self.bounds: dict[tuple[int, ...], Bound] = {}
        self.frames: list[Frame] = []
        self.own = [j for j, note in enumerate(self.manifest.outputs) if note.source == "slot"]
        self.keeping = [k for k, s in enumerate(self.manifest.slots) if s.kind == "kept"]
        plan = layout((Piece(k, self.manifest.slots[k].bytes, 0, 0) for k in self.keeping), {})
        self.kept_at = np.array([plan.offsets[k] for k in self.keeping], np.uint64)
        self.kept_bytes = plan.bytes
        self.kept: Kept | None = None
        self.open = tuple(name for name in self.manifest.names if name not in self.manifest.private)
        self.calls = 0
        self.call = written(self)
        if self.clocks:
            show("time", lambda: "\n".join(f"{s * 1e3:9.2f} ms {name}" for name, s in self.manifest.seconds.items()))
            atexit.register(show, "time", self.timing)

    @property
    def run(self) -> Run:
        """The program as a function. Where a signal handler raises behind the last kernel, `commit` runs, a second
        time if need be."""
        return cast(Run, MethodType(self.call, self))

    def keep(self, buffers: Sequence[Buffer], frame: Frame) -> Kept:
        """What is kept, in the tables of this call; to be made by it where a source is another."""
        sources, kept = tuple([buffers[k].block for k in self.manifest.steady]), self.kept
        fresh = kept is None or not all(map(is_, kept.sources, sources))
        if kept is None or fresh:
            self.kept = None
            kept = Kept(MEMORY.block(self.kept_bytes), sources)
        frame.buffers[self.keeping] = self.kept_at + np.uint64(kept.block.address)
        frame.sizes[self.manifest.names.index(FRESH)] = fresh
        return kept

    def outputs(self, buffers: Sequence[Buffer], bound: Bound, keep: frozenset[int]) -> list[Buffer]:
        """Memory for the results: taken over, shared, used before or fresh."""
        made: list[Buffer] = []
        for note, recent in zip(self.manifest.outputs, bound.recent):
            if note.source == "slot":
                k = self.manifest.in_place.get(note.slot)
                made.append(recent.take() if k is None else self.taken(buffers[k], k in keep) or recent.fresh())
            elif note.source == "constant":
                made.append(self.constants[note.slot].reshaped(recent.shape))
            else:
                made.append((buffers if note.source == "parameter" else made)[note.k].reshaped(recent.shape))
        return made

    def taken(self, buffer: Buffer, kept: bool) -> Buffer | None:
        """A donated buffer as the place of a result, if this call may overwrite it."""
        return None if kept or sys.getrefcount(buffer.block) > UNSEEN else buffer

    def frame(self, frame: Frame | None, bound: Bound) -> Frame:
        """A call's tables, with constants and sizes filled in."""
        if frame is None or frame.scratch_bytes < bound.scratch:
            frame = Frame(len(self.manifest.slots), len(self.manifest.names), bound.scratch, self.flushes)
            for k, buffer in (self.constants | self.clocks).items():
                frame.buffers[k] = buffer.address
        frame.bound, frame.arena = bound, 0
        frame.sizes[:len(bound.sizes)] = bound.sizes
        return frame

    def bound(self, sizes: Mapping[str, int]) -> Bound:
        """The memory plan for these sizes, made once."""
        key = tuple([sizes[name] for name in self.open])
        if (bound := self.bounds.get(key)) is None:
            refuse_negative(self.graph, dict(zip(self.open, key)))
            bound = self.bounds[key] = self.bind({**sizes, **self.manifest.private})
            if len(self.bounds) > BOUNDS:
                del self.bounds[next(iter(self.bounds))]
        return bound

    def bind(self, sizes: dict[str, int]) -> Bound:
        m = self.manifest
        plan = layout(m.pieces(), sizes)
        temps = [k for k, s in enumerate(m.slots) if s.kind == "temp"]
        show("memory", lambda: self.memory_text(plan, sizes))
        return Bound(
            np.array([sizes[name] for name in m.names], np.int64),
            np.array(temps, np.int64),
            np.array([plan.offsets[m.root(k)] for k in temps], np.uint64),
            plan.bytes,
            max((at(x, sizes) for x in m.scratch), default=0),
            tuple(Recent(o.type.dtype, tuple(at(n, sizes) for n in o.type.shape)) for o in m.outputs))

    def fail(self, code: int, status: np.ndarray[Any, Any]) -> NoReturn:
        """Raises what a signal handler raised, or what a status code means, at the user's line."""
        pool.interrupted(code)
        if code == INDEX_OUT_OF_RANGE:
            where = ", ".join(self.lines(self.manifest.sites[int(status[1])]))
            raise IndexOutOfRange(f"index {int(status[2])} is out of range", where=where,
                                  hint="Indices and labels run from 0 to the size of their axis - 1.")
        raise pool.stopped()

    def lines(self, origins: Sequence[int]) -> tuple[str, ...]:
        """The user's lines of the values with these numbers, in the graph as traced now."""
        places = list(wheres(self.graph))
        return lines(origin for k in origins for origin in places[k])

    @property
    def kernels(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """(kind, ops, user lines) of each kernel in order."""
        return tuple((k.kind, k.what, self.lines(k.origins)) for k in self.manifest.kernels)

    @property
    def cycles(self) -> tuple[int, ...]:
        """Cycles spent in each kernel so far, where the program was built under STELE_SHOW=time."""
        return tuple(int(c) for buffer in self.clocks.values() for c in buffer.array)

    def memory(self, sizes: Mapping[str, int]) -> int:
        """Bytes of the arena at these sizes."""
        return self.bound(sizes).arena

    def memory_text(self, plan: Layout, sizes: Mapping[str, int]) -> str:
        """The arena at these sizes: what is where, from which kernel to which, and the lines that asked for it."""
        rows = [f"{at(note.bytes, sizes):12,d} bytes at {offset:12,d}, steps {note.first}..{note.last}  {note.what}  "
                f"# {', '.join(self.lines(note.origins))}"
                for slot, offset in sorted(plan.offsets.items(), key=lambda item: item[1])
                for note in (self.manifest.slots[slot],)]
        return "\n".join([f"arena {plan.bytes:,} bytes" + "".join(f", {k}={n}" for k, n in sizes.items()), *rows])

    def timing(self) -> str:
        """The kernels by the time they took so far, where the program was built under STELE_SHOW=time."""
        total = max(sum(self.cycles), 1)
        rows = sorted(zip(self.cycles, self.kernels), key=lambda row: -row[0])
        return "\n".join([f"{self.calls} calls, {total:,} cycles",
                          *(f"{cycles / total:6.1%} {kind:12s} {what:60.60s} {', '.join(where)}"
                            for cycles, (kind, what, where) in rows)])

    def report(self) -> str:
        """The kernels with their lines, and the bytes of the memory plan where no size is open."""
        rows = [f"{k:3d} {kind:12s} {what:60.60s} {', '.join(where)}"
                for k, (kind, what, where) in enumerate(self.kernels)]
        plan = [] if self.open else [f"arena {self.memory({}):,} bytes"]
        return "\n".join([*rows, *plan])


def refuse_negative(graph: Graph, sizes: Mapping[str, int]) -> None:
    """Raises ShapeError where some value would have fewer than no elements at these sizes."""
    for v in walk(graph.results) if sizes else ():
        shape = tuple(at(n, sizes) for n in v.shape) if isinstance(v.type, Type) else ()
        if min(shape, default=0) < 0:
            given = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            raise ShapeError(f"{v.op.name} makes {shape_text(v.shape)}, which is {shape_text(shape)} for {given}",
                             where=", ".join(lines(v.where)), hint="Use larger inputs, or more padding.")


def written(program: Program) -> Callable[..., Any]:
    """What `Program.run` does, written out for what the program has: code for any would take 0.3 us longer."""
    m, own = program.manifest, [f"y{k}" for k in range(len(program.own))]
    bound = None if program.open else program.bound({})
    known: dict[str, Any] = {"frames": program.frames, "itself": itself, "ARENAS": ARENAS, "uint64": np.uint64,
                             "pool": pool, "bound": bound}
    if bound and len(own) == len(m.outputs) and not m.in_place:
        known |= {f"take{k}": recent.take for k, recent in enumerate(bound.recent)}
        results, sources = f"[{', '.join(own)}]", [f"{y} = take{k}()" for k, y in enumerate(own)]
    else:
        results, sources = "results", ["results = program.outputs(buffers, bound, keep)"]
        sources += [f"{y} = results[{j}]" for y, j in zip(own, program.own)]
    places = [f"buffers[{k}].address" for k in range(m.parameters)] + [f"{y}.address" for y in own]
    arena, keeps = bound is None or bound.arena > 0, bool(program.keeping)
    lines = [
        (1, "def call(program, buffers, sizes, keep=frozenset(), commit=itself):"),
        (bound is None, "    bound = program.bound(sizes)"),
        *((1, f"    {line}") for line in sources),
        (1, "    frame = frames.pop() if frames else None"),
        (1, "    if frame is None or frame.bound is not bound:"),
        (1, "        frame = program.frame(frame, bound)"),
        (arena, "    arena = ARENAS.lend(bound.arena)"),
        (1, "    try:"),
        (arena, "        if frame.arena != arena.address:"),
        (arena, "            frame.arena = arena.address"),
        (arena, "            frame.buffers[bound.temps] = bound.offsets + uint64(arena.address)"),
        (keeps, "        kept = program.keep(buffers, frame)"),
        (1, "        program.calls += 1"),
        (1, "        if (threads := pool.now) is None or threads is not frame.threads: threads = frame.pool()"),
        (1, f"        code = threads.invoke(threads.address, {program.address}, frame.address, {', '.join(places)})"),
        (keeps, "        program.kept = None if code else kept"),
        (1, f"        return program.fail(code, frame.status) if code else commit({results})"),
        (1, "    except BaseException:"),
        (1, f"        if frame.finished: commit({results})"),
        (1, "        raise"),
        (1, "    finally:"),
        (arena, "        ARENAS.give_back(arena)"),
        (1, "        frames.append(frame)")]
    exec(builtins.compile("\n".join(line for needed, line in lines if needed), f"{HOUSE}run", "exec"), known)
    return known.pop("call")


def imports(image: Image) -> dict[str, int]:
    """Addresses of what machine code refers to: the pool, and the routines of the BLAS where it calls them."""
    return pool.imports() | {name: blas.address(name) for name in image.imports & {"sgemm", "dgemm"}}


def compile(traced: Graph, optimise: Callable[[Graph], Graph], donate: Mapping[int, int], steady: Collection[int],
            precision: Precision, options: str) -> Program:
    """The native program of a graph; `donate[k] = j` lets result j take over the memory of parameter k. What only
    parameters in `steady` decide is kept from call to call."""
    target = tuned(detect())
    if precision == "bf16" and not target.bf16:
        raise DeviceError(f"precision='bf16' needs a CPU with AVX512-BF16, got {target.cpu} as {target.name}",
                          hint="Leave it out: where bfloat16 has to be imitated, float32 is faster and more exact.")
    with pool.prepared():
        code = native(traced, optimise, {j: k for k, j in donate.items()}, steady, target, precision, options)
    return Program(traced, code, flushes=precision != "strict")
