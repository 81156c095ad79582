"""The code of a graph, from disk where the same graph was built before."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from stele import config
from stele.backend.base import Precision
from stele.backend.cpu import cache
from stele.backend.cpu.image import Image
from stele.backend.cpu.manifest import Manifest
from stele.backend.cpu.target import Target
from stele.ir.graph import Graph, walk
from stele.ir.origin import Origin, Where
from stele.ir.stages import are_watched, show


@dataclass(frozen=True)
class Native:
    """Machine code, and all that is needed to call it."""

    image: Image
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
        manifest, image = cache.apart(found)
        return Native(Image.unpack(image), Manifest.unpack(manifest))
    compiler = importlib.import_module("stele.backend.cpu.build")   # many modules, of which a warm start needs none
    image, manifest = compiler.compile_graph(lambda: optimise(traced), donate, steady, target, precision,
                                             numbers(traced), timed)
    cache.objects().put(key, cache.together(manifest.pack(), image.pack()))
    return Native(image, manifest)


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
