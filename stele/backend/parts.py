"""Programs of several devices: a graph cut where arrays move, each part a program of its device, run in turn."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stele.backend.base import Commit, Program, committed, itself
from stele.backend.buffers import Buffer
from stele.backend.devices import Device, find
from stele.ir.graph import Graph, Value, free, parameter, walk
from stele.ir.report import KernelNote, Report
from stele.ir.sizes import at
from stele.ir.types import HOME
from stele.kernel.memory import Peak
from stele.ops.linear import Transfer
from stele.transform.retype import retype


class Part(NamedTuple):
    """What one device computes at a stretch: its graph, as of the host, of values of the whole graph for others."""

    device: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    graph: Graph


def cut(graph: Graph) -> list[Part]:
    """The parts of a graph, each behind those it takes from, work of the host behind what other devices do meanwhile.

    What is made of nothing, such as numbers, is made anew in every part that takes it.
    """
    order = walk([*graph.parameters, *graph.results])
    nothing, level = free(order), dict.fromkeys(graph.parameters, 0)
    given = set(graph.parameters)
    for v in order:
        if v not in given and v not in nothing:
            level[v] = max(level[a] + (a.type.device != v.type.device and a not in given)
                           for a in v.args if a not in nothing)
    place = {v: (level[v], v.type.device == HOME, v.type.device) for v in level
             if v not in given and not isinstance(v.op, Transfer)}
    place |= {v: (0, v.type.device == HOME, v.type.device) for v in graph.results if v in nothing}
    needed = {source(v, nothing) for v in graph.results}
    needed |= {source(a, nothing) for v in place for a in v.args if a not in nothing and place.get(a) != place[v]}
    found: list[Part] = []
    for key in sorted(set(place.values())):
        own = [v for v in order if place.get(v) == key]
        found.append(part(key[-1], own, [v for v in own if v in needed], nothing))
    return found


def source(v: Value, nothing: set[Value]) -> Value:
    """The value that has the numbers of this one before they move."""
    while isinstance(v.op, Transfer) and v not in nothing:
        (v,) = v.args
    return v


def part(device: str, own: Sequence[Value], outputs: Sequence[Value], nothing: set[Value]) -> Part:
    """Some values of a device as a graph of the host."""
    inside = {*own, *nothing}
    meaning: dict[Value, Value] = {}
    inputs: dict[Value, Value] = {}
    for v in walk(own, stop=lambda v: v not in inside):
        if v in inside:
            meaning[v] = Value(v.op, tuple(meaning[a] for a in v.args), v.type, v.where)
        else:
            of = source(v, nothing)
            meaning[v] = inputs.setdefault(of, parameter(getattr(of.op, "label", "x"), v.type))
    graph = Graph(tuple(inputs.values()), tuple(meaning[v] for v in outputs))
    places = {v.type.device for v in meaning.values()}
    at_home = retype(graph, lambda a: HOME if isinstance(a, str) and a in places else a)
    return Part(device, tuple(inputs), tuple(outputs), at_home)


class Parted:
    """A program of parts. Those of a device go to its stream, and Python goes on; what comes to the host is waited for.

    Nothing is overwritten, so that a program that fails has changed nothing: what is rebound waits for its numbers.
    """

    def __init__(self, graph: Graph, build: Callable[[Graph, Device], Program]) -> None:
        self.graph, self.calls = graph, 0
        self.steps = [(p, build(p.graph, find(p.device)), threading.Lock()) for p in cut(graph)]

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        self.calls += 1
        held = {(p, p.type.device): b for p, b in zip(self.graph.parameters, buffers)}

        def bring(v: Value, device: Device) -> Buffer:
            if (v, device.name) not in held:
                held[v, device.name] = device.copy(held[v, v.type.device])
            return held[v, device.name]

        for (name, inputs, outputs, _), program, lock in self.steps:
            device = find(name)

            def once(own: Sequence[Buffer], program: Program = program, lock: Any = lock) -> Sequence[Buffer]:
                with lock:      # two streams may run it
                    return program.run(own, sizes)

            types = [v.type.with_shape(tuple(at(n, sizes) for n in v.shape)) for v in outputs]
            what = f"{outputs[-1].op.name} {types[-1]}"
            made = device.launch(what, once, [bring(v, device) for v in inputs], types)
            held |= {(v, name): y for v, y in zip(outputs, made)}
        there = {v for v in self.graph.results if (v, v.type.device) in held}
        results = [bring(source(v, there), find(v.type.device)) for v in self.graph.results]
        if commit is itself:
            return results
        for y in results:
            y.wait()
        return committed(commit, results)

    @property
    def peak_bytes(self) -> int | Peak:
        """The most that one part takes, on its device; where sizes are open of the part with the most kernels."""
        found = [(program.peak_bytes, program) for _, program, _ in self.steps]
        known = [n for n, _ in found if isinstance(n, int)]
        if len(known) == len(found):
            return max(known, default=0)
        return max(found, key=lambda each: len(each[1].report().kernels))[0]

    def report(self) -> Report:
        """What the compiler did and why, part for part: copies are among the kernels."""
        whole = Report()
        for (name, inputs, _, _), program, _ in self.steps:
            moved = (v for v in inputs if v.type.device != name)
            whole.kernels += [KernelNote("copy", f"{v.type} to {name}", (), v.where) for v in moved]
            whole.add(program.report(), name)
        return whole
