"""Machine code of graphs, found again in memory or on the disk where the same graph was built before."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from weakref import WeakValueDictionary

from stele import config
from stele.backend.cpu import cache
from stele.backend.cpu.image import Image
from stele.backend.cpu.manifest import Manifest
from stele.backend.cpu.target import Target
from stele.ir.graph import Graph, Value
from stele.ir.origin import Origin
from stele.ir.record import Record
from stele.ir.stages import are_watched, show


class Native(Record):
    """Machine code, and all that is needed to call it."""

    image: Image
    manifest: Manifest


IN_MEMORY: WeakValueDictionary[str, Native] = WeakValueDictionary()
"""The code of programs that somebody holds, by key."""


def key(graph: Graph, text: str, target: Target) -> str:
    """What code is found by: its graph, what else was asked for, the machine, and Stele itself."""
    return cache.digest(graph.digest, text, config.BLAS(), target.key, cache.fingerprint())


def found(key: str) -> Native | None:
    """The code with this key: in memory, or on the disk; None where every stage is to be seen."""
    if are_watched():
        return None
    if (native := IN_MEMORY.get(key)) is not None:
        show("cache", lambda: f"shared {key}")
        return native
    if (entry := cache.objects().get(key)) is None:
        return None
    show("cache", lambda: f"read {key}")
    manifest, image = cache.apart(entry)
    native = IN_MEMORY[key] = Native(Image.unpack(image), Manifest.unpack(manifest))
    return native


def kept(key: str, native: Native) -> Native:
    """The code, to be found again."""
    show("cache", lambda: f"built {key}")
    cache.objects().put(key, cache.together(native.manifest.pack(), native.image.pack()))
    IN_MEMORY[key] = native
    return native


def numbers(graph: Graph) -> Mapping[Origin, int]:
    """Each origin by the number of the first value that has it, counting values of nested graphs too."""
    found: dict[Origin, int] = {}
    for k, v in enumerate(graph.everything):
        for origin in v.where:
            found.setdefault(origin, k)
    return found


def hosts(code: Native, *graphs: Callable[[], Graph]) -> tuple[Value, ...]:
    """The values that Python computes, by their numbers: later graphs are made where one is in none of those before."""
    numbers = [note.value for note in code.manifest.hosts]
    found = [*islice((v for graph in graphs for v in graph().everything), max(numbers, default=-1) + 1)]
    return tuple(found[k] for k in numbers)


def place(v: Value, *graphs: Callable[[], Graph]) -> int:
    """The number that `hosts` finds v by: of the first value with an op and types like its."""
    return next(k for k, u in enumerate(u for graph in graphs for u in graph().everything)
                if u.op == v.op and u.type == v.type and [a.type for a in u.args] == [a.type for a in v.args])
