"""What this machine can do at most: what work would take at least, and what bounds it."""
from __future__ import annotations

import functools
import json
from typing import NamedTuple

from stele.backend.cpu import cache
from stele.backend.cpu.target import Target
from stele.backend.cpu.tuned import here, place
from stele.pipeline import get_threads
from stele.rosetta import machine

SECONDS = 0.1       # that each of the two peaks is looked for


class Roof(NamedTuple):
    """Multiplications and additions of float32 a second, and bytes a second from the second cache, from the third and
    from memory, on all threads; and bytes of the two caches."""

    flops: float
    near: float
    shared: float
    memory: float
    l2: int
    l3: int

    def least(self, work: float, moved: float, width: int) -> tuple[float, str]:
        """Seconds that work takes at least, and what bounds it: instructions of elements of `width` bytes, and bytes
        that come from the nearest cache that may hold them all.

        >>> Roof(2e9, 4e9, 2e9, 1e9, 1 << 20, 1 << 25).least(1e6, 1e8, 4)
        (0.1, 'memory')
        """
        source, speed = ("L2", self.near) if moved <= self.l2 else ("L3", self.shared) if moved <= self.l3 else (
            "memory", self.memory)
        computing, moving = 2 * work * max(width, 4) / 4 / self.flops, moved / speed
        return max((computing, "compute"), (moving, source))


def roof(target: Target, peaks: machine.Machine) -> Roof:
    """The roof of a machine, of what a core carries in products of vectors (`kernel/machine.py`) and of measured peaks:
    a vector from the second cache takes as long as so many products, one from the third, from memory what all threads
    together copy.
    """
    vectors = peaks.flops / (target.vector_bytes // 2)      # products of two vectors a second: two FLOPs a lane
    near = vectors * target.vector_bytes / (10 * target.far) ** 0.5
    shared = vectors * target.vector_bytes / target.shared
    return Roof(peaks.flops, near, max(shared, peaks.traffic), peaks.traffic, target.l2 * peaks.threads, target.l3)


@functools.cache
def measured(threads: int) -> machine.Machine:
    """The peaks of this machine: of now, or as they were measured before if that was more, kept beside the programs."""
    target = here()
    store, key = cache.Cache(*place("measured")), cache.digest("peaks", target.key, str(threads))
    now = machine.measure(threads, SECONDS)
    before = store.get(key)
    if before is not None:
        flops, traffic = json.loads(before)
        now = now.at_best(machine.Machine(now.cpu, threads, flops, traffic))
    store.put(key, json.dumps([now.flops, now.traffic]).encode())
    return now


def this_roof() -> Roof:
    """The roof of this machine on the threads that programs run on."""
    return roof(here(), measured(get_threads()))
