"""A graph becomes machine code and a manifest; what was built before comes from disk."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter

from llvmlite import ir

from stele import config
from stele.backend.base import Precision
from stele.backend.cpu import cache, jit
from stele.backend.cpu.entry import Entry
from stele.backend.cpu.library import library
from stele.backend.cpu.manifest import KernelNote, Manifest, Output, SlotNote
from stele.backend.cpu.target import Target
from stele.ir.graph import Constant, Graph, Value, walk
from stele.ir.origin import Origin, Where
from stele.ir.sizes import Dim, names
from stele.ir.stages import are_watched, show
from stele.ir.types import Type
from stele.kernel.fuse import fuse
from stele.kernel.inplace import share
from stele.kernel.slots import FRESH, Slots, bytes_of


@dataclass(frozen=True)
class Native:
    """Machine code, and all that is needed to call it."""

    image: bytes
    manifest: Manifest


def native(traced: Graph, optimise: Callable[[Graph], Graph], donate: Mapping[int, int], steady: Collection[int],
           target: Target, precision: Precision, options: str = "") -> Native:
    """The code of a graph: from the disk cache if the same graph was built before, else optimised and compiled now.

    `donate` maps results to the parameters whose memory they may take over; `steady` are the parameters that are likely
    the same from call to call.
    """
    timed = "time" in config.SHOW()
    key = cache.digest(traced.digest, repr((sorted(donate.items()), sorted(steady))), options, str(timed),
                       config.BLAS(), target.key, cache.fingerprint())
    found = None if are_watched() else cache.objects().get(key)
    show("cache", lambda: f"{'read' if found else 'built'} {key}")
    if found:
        size = int.from_bytes(found[:8], "little")
        return Native(found[8 + size:], Manifest.unpack(found[8:8 + size]))
    start = perf_counter()
    graph = library(optimise(traced), target)
    image, manifest = compile_graph(graph, donate, steady, target, precision, numbers(traced),
                                    perf_counter() - start, timed)
    packed = manifest.pack()
    cache.objects().put(key, len(packed).to_bytes(8, "little") + packed + image)
    return Native(image, manifest)


def compile_graph(graph: Graph, donate: Mapping[int, int], steady: Collection[int], target: Target,
                  precision: Precision, number: Mapping[Origin, int], seconds: float, timed: bool = False
                  ) -> tuple[bytes, Manifest]:
    """Machine code and manifest of an optimised graph; `number` names origins by the values that have them.

    With `timed`, the program adds up the cycles of each kernel.
    """
    start = perf_counter()
    slots = Slots(fuse, settled=settled(graph, steady))
    for p in graph.parameters:
        slots.at[p] = slots.new("parameter", bytes_of(p.type), str(p.type), p.where)
    fused = fuse(graph)
    slots.views |= fused.views
    outputs = place_results(graph, slots)
    steps = tuple(map(slots.step, fused.kernels))
    donated = {outputs[j].slot: k for j, k in donate.items() if outputs[j].source == "slot"}
    kept = {o.k for o in outputs if o.source == "parameter"}
    in_place = share(slots, steps, {y: x for y, x in donated.items() if x not in kept})
    module = ir.Module("program")
    entry = Entry(module, slots, target, precision, slots.new("clocks", 8, "cycles") if timed else None)
    name_sizes(slots, (n for v in (*graph.parameters, *graph.results) for n in v.shape))
    entry.emit(steps, first_write=min((slots.table[y].first for y in in_place), default=None))
    emitted = perf_counter()
    show("llvm", lambda: str(module))
    show("asm", lambda: jit.assembly(module, target))
    image = jit.compile_object(module, target)
    scratch = tuple(launch.scratch for e in entry.emitted for launch in e.launches)
    name_sizes(slots, (*scratch, *(s.bytes for s in slots.table)))
    origins = lambda where: tuple(sorted({number[o] for o in where if o in number}))
    return image, Manifest(
        parameters=len(graph.parameters),
        slots=tuple(SlotNote(s.kind, s.bytes, s.what, s.first, s.last, s.home, origins(s.where)) for s in slots.table),
        names=tuple(slots.names),
        private=slots.private,
        outputs=outputs,
        in_place=in_place,
        scratch=scratch,
        sites=tuple(origins(v.where) for v in slots.sites),
        kernels=tuple(KernelNote(e.kind, e.what, origins(e.where)) for e in entry.emitted),
        constants={k: c.array for k, c in slots.constants.items()},
        steady=tuple(sorted(steady)) if FRESH in slots.private else (),
        seconds={"optimise": seconds, "emit": emitted - start, "llvm": perf_counter() - emitted})


def settled(graph: Graph, steady: Collection[int]) -> frozenset[Value]:
    """What steady parameters and constants alone decide, of known sizes."""
    found = {graph.parameters[k] for k in steady}
    for v in walk(graph.results):
        known = isinstance(v.op, Constant) or (v.args and found.issuperset(v.args))
        if known and isinstance(v.type, Type) and isinstance(bytes_of(v.type), int):
            found.add(v)
    return frozenset(found)


def name_sizes(slots: Slots, dims: Iterable[Dim]) -> None:
    """Gives a position to each size in some expressions; a loop copies the table of those there are before its body."""
    for n in dims:
        for name in sorted(names(n)):
            slots.size(name)


def place_results(graph: Graph, slots: Slots) -> tuple[Output, ...]:
    """A slot for each result, right behind the parameters in order; one that is a parameter, a constant or an earlier
    result shares that one's memory."""
    keys = [slots.base(v) for v in graph.results]
    given = {key: slots.at[key] for key in keys if key in slots.at}
    for v, key in zip(graph.results, keys):
        if key not in slots.at and not is_constant(key):
            slots.at[key] = slots.new("result", bytes_of(v.type), str(v.type), v.where)
    outputs: list[Output] = []
    made: dict[object, int] = {}
    for j, (v, key) in enumerate(zip(graph.results, keys)):
        if key in made:
            outputs.append(Output(slots.at[key], v.type, "result", made[key]))
        elif key in given:
            outputs.append(Output(given[key], v.type, "parameter", given[key]))
        elif is_constant(key):
            outputs.append(Output(slots.of(v), v.type, "constant"))
        else:
            made[key] = j
            outputs.append(Output(slots.at[key], v.type))
    return tuple(outputs)


def is_constant(key: object) -> bool:
    return isinstance(key, Value) and isinstance(key.op, Constant)


def numbers(graph: Graph) -> dict[Origin, int]:
    """Each origin by the number of the first value that has it, counting values of nested graphs too."""
    found: dict[Origin, int] = {}
    for k, where in enumerate(wheres(graph)):
        for origin in where:
            found.setdefault(origin, k)
    return found


def wheres(graph: Graph) -> Iterator[Where]:
    """Origins of all values in walking order, those of nested graphs behind the value that holds them."""
    for v in walk([*graph.parameters, *graph.results]):
        yield v.where
        for inner in v.op.graphs:
            yield from wheres(inner)
