"""A graph becomes machine code and a manifest."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from time import perf_counter

from stele.backend.base import Precision
from stele.backend.cpu import jit
from stele.backend.cpu.entry import Entry
from stele.backend.cpu.image import Image
from stele.backend.cpu.library import library
from stele.backend.cpu.manifest import KernelNote, Manifest, Output, SlotNote
from stele.backend.cpu.target import Target
from stele.ir.graph import Constant, Graph, Value, walk
from stele.ir.origin import Origin
from stele.ir.sizes import Dim, names
from stele.ir.stages import show
from stele.ir.types import Type
from stele.kernel.fuse import fuse
from stele.kernel.inplace import share
from stele.kernel.memory import FRESH
from stele.kernel.slots import Slots, bytes_of


@jit.busy()
def compile_graph(optimise: Callable[[], Graph], donate: Mapping[int, int], steady: Collection[int], target: Target,
                  precision: Precision, number: Mapping[Origin, int], timed: bool = False
                  ) -> tuple[Image, Manifest]:
    """Machine code and manifest of the graph that `optimise` gives; `number` names origins by the values with them.

    With `timed`, the program adds up the cycles of each kernel.
    """
    begun = perf_counter()
    graph = library(optimise(), target, precision)
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
    with jit.Modules(target) as modules:
        entry = Entry(slots, target, precision, modules.add, slots.new("clocks", 8, "cycles") if timed else None)
        name_sizes(slots, (n for v in (*graph.parameters, *graph.results) for n in v.shape))
        entry.emit(steps, first_write=min((slots.table[y].first for y in in_place), default=None))
        emitted = perf_counter()
    show("llvm", lambda: "\n".join(modules.texts))
    show("asm", lambda: "\n".join(jit.assembly(text, target) for text in modules.texts))
    scratch = tuple(launch.scratch for e in entry.emitted for launch in e.launches)
    name_sizes(slots, (*scratch, *(s.bytes for s in slots.table)))
    origins = lambda where: tuple(sorted({number[o] for o in where if o in number}))
    return modules.image, Manifest(
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
        seconds={"optimise": start - begun, "emit": emitted - start, "llvm": perf_counter() - emitted})


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
