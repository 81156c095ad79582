"""A graph laid out in memory, its kernels written for a machine, and what has to be known to call them."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.cpu.entry import Entry, name_sizes
from stele.backend.cpu.manifest import HostNote, Manifest, Output, pack_report
from stele.backend.cpu.native import numbers, place
from stele.backend.cpu.target import Target
from stele.backend.llvm.emit import Known
from stele.ir.graph import Constant, Graph, Value
from stele.ir.record import Single
from stele.ir.report import BufferNote, Report
from stele.ir.types import TupleType
from stele.kernel.bodies import step
from stele.kernel.fuse import Fused, fuse
from stele.kernel.inplace import share
from stele.kernel.memory import FRESH, Place, Plan
from stele.kernel.slots import Slots, bytes_of
from stele.kernel.steps import Step
from stele.ops.lapack import Lapack


class Lowered(NamedTuple):
    """A graph after every pass and its kernels. `donated` are results by the parameters that they may be written over;
    what `steady` parameters alone decide is kept from call to call."""

    graph: Graph
    fused: Fused
    donated: Mapping[int, int]
    steady: Collection[int]
    target: Target


class Laid(Single):
    """A graph laid out: its steps in order on the table of buffers, where results are, and which of them are written
    over which parameters."""

    graph: Graph
    slots: Slots
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    in_place: Mapping[int, int]


def lay_out(lowered: Lowered, report: Report) -> Laid:
    """The kernels of a graph on a table of buffers."""
    graph, fused, donated, steady, machine = lowered
    slots = Slots(partial(fuse, machine=machine, report=report), settled=settled(graph, steady), machine=machine)
    for p in graph.parameters:
        slots.at[p] = slots.new("parameter", bytes_of(p.type), str(p.type), p.where)
    slots.views |= fused.views
    outputs = place_results(graph, slots)
    steps = tuple(step(slots, kernel) for kernel in fused.kernels)
    over = {outputs[j].slot: k for k, j in donated.items() if outputs[j].source == "slot"}
    kept = {o.k for o in outputs if o.source == "parameter"}
    return Laid(graph, slots, steps, outputs, share(slots, steps, {y: x for y, x in over.items() if x not in kept}))


def emit(laid: Laid, target: Target, precision: Precision, add: Callable[[ir.Module], None], report: Report,
         known: Known | None = None, timed: bool = False, draft: str = "") -> Entry:
    """The program that runs the steps, for any target; `add` is given each module of it, a kernel's as soon as it is
    written. With `timed`, the program keeps the time of each kernel. `draft` tells its code from that of others."""
    slots, graph = laid.slots, laid.graph
    clocks = slots.new("clocks", 8, "clocks") if timed else None
    entry = Entry(slots, target, precision, add, report, known, clocks, draft)
    name_sizes(slots, (n for v in (*graph.parameters, *graph.results) for n in v.shape))
    entry.emit(laid.steps, first_write=min((slots.table[y].first for y in laid.in_place), default=None))
    report.buffers = [BufferNote(s.kind, s.bytes, s.what, s.first, s.last, s.where) for s in slots.table]
    return entry


def planned(laid: Laid, entry: Entry) -> Plan:
    """The memory of an emitted program."""
    scratch = tuple(launch.scratch for launch in entry.launched)
    name_sizes(laid.slots, (*scratch, *(s.bytes for s in laid.slots.table)))
    places = tuple(Place(s.kind, s.bytes, s.first, s.last, s.home) for s in laid.slots.table)
    return Plan(places, laid.in_place, scratch, laid.slots.private)


def manifest(traced: Graph, forms: Sequence[Callable[[], Graph]], laid: Laid, entry: Entry, steady: tuple[int, ...],
             report: Report) -> Manifest:
    """What has to be known to call an emitted program, and to explain it by the values of the graph as it was traced:
    an op that Python computes may stand in a later form of it alone."""
    slots, plan = laid.slots, planned(laid, entry)
    hosts = tuple(HostNote(place(v, *forms), slot, reads, makes) for v, slot, reads, makes in entry.hosts)
    report.sites = [v.where for v in slots.sites]
    report.refusals = [(v.op.name, *v.op.refusals(v.args[0].shape)) if isinstance(v.op, Lapack) else ()
                       for v in slots.sites]
    outputs = tuple(replace(o, type=v.type) if v.dtype.is_complex else o for o, v in zip(laid.outputs, traced.results))
    return Manifest(len(traced.parameters), plan, tuple(slots.names), outputs,
                    {k: c.array for k, c in slots.constants.items()}, steady if FRESH in slots.private else (),
                    entry.multiplies, hosts, pack_report(report, numbers(traced)))


def settled(graph: Graph, steady: Collection[int]) -> frozenset[Value]:
    """What steady parameters and constants alone decide, of known sizes."""
    found = {graph.parameters[k] for k in steady}
    for v in graph.values:
        known = isinstance(v.op, Constant) or (v.args and found.issuperset(v.args))
        if known and not isinstance(v.type, TupleType) and isinstance(bytes_of(v.type), int):
            found.add(v)
    return frozenset(found)


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
