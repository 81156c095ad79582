"""What this machine can do at most, measured by loops that Stele generates: multiply-adds, and bytes moved."""
from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

from stele.backend.contract.code import Code, Ref
from stele.backend.contract.tile import Tile
from stele.backend.cpu import image, jit
from stele.backend.cpu.target import detect
from stele.backend.llvm.access import size_of
from stele.backend.llvm.launch import BUFS, SCRATCH, WORDS, i64, word
from stele.backend.llvm.nest import at, fold, kernel, load, loop

Room = np.ndarray[Any, Any]
FLOAT = ir.FloatType()
DEPTH = 1 << 20
SECONDS = 0.5
BYTES = 160_000_000
BLOCK = 4096        # elements of a task


@dataclass(frozen=True)
class Machine:
    """The processor by name, its threads as they are used, and its measured peaks."""

    cpu: str
    threads: int
    flops: float        # multiplications and additions a second in float32
    traffic: float      # bytes a second, read and written, of arrays that no cache holds

    def at_best(self, other: Machine) -> Machine:
        """The higher peaks of two measurements of the same machine."""
        return Machine(self.cpu, self.threads, max(self.flops, other.flops), max(self.traffic, other.traffic))

    def fraction(self, flops: float, traffic: float, ms: float) -> float:
        """The share of the peak that bounds the work, when it takes `ms`."""
        return max(flops / self.flops, traffic / self.traffic) / ms * 1e3


def measure(threads: int, seconds: float = SECONDS) -> Machine:
    """The best of some repetitions with `threads` threads, on all their cores at once, for so long each."""
    return Machine(name(), threads, multiply_adds(threads, seconds), copied(threads, seconds))


def name() -> str:
    """The processor as it calls itself."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def multiply_adds(threads: int, seconds: float = SECONDS) -> float:
    """FLOP/s of a loop of nothing but multiply-adds in registers, on each thread."""
    tile, module = Tile(detect(), FLOAT, 12, 1), ir.Module("peak")
    with kernel(module, "peak", Code) as (b, _, scratch, *_):
        *rows, y = (load(b, at(b, scratch, 16 * k, FLOAT), FLOAT, tile.lanes) for k in range(13))
        total = fold(b, DEPTH, tile.zeros(), lambda k, acc: tile.step(b, acc, lambda r: rows[r], lambda v: y))
        tile.store(b, total, Ref(b, scratch, FLOAT), tile.columns)
    rooms = [(aligned(64), aligned(64 * 13)) for _ in range(threads)]
    return 2 * DEPTH * tile.size * threads / best(runner(module, rooms, 1), seconds)


def copied(threads: int, seconds: float = SECONDS) -> float:
    """Bytes per second of a copy of large arrays, read and written past the caches, a piece on each thread."""
    lanes, module = detect().lanes(size_of(FLOAT)), ir.Module("peak")
    with kernel(module, "peak") as (b, ctx, scratch, task, _), loop(b, 0, BLOCK, lanes) as i:
        place = b.add(b.mul(task, i64(BLOCK)), i)
        x = load(b, at(b, word(b, ctx, BUFS), place, FLOAT), FLOAT, lanes)
        written = b.store(x, at(b, scratch, place, FLOAT), align=4 * lanes)
        written.set_metadata("nontemporal", module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
    size = BYTES // threads // (4 * BLOCK) * 4 * BLOCK
    rooms = [(aligned(size), aligned(size)) for _ in range(threads)]
    return 2 * size * threads / best(runner(module, rooms, size // (4 * BLOCK)), seconds)


def aligned(size: int) -> Room:
    """Bytes, all zero, that start at a multiple of 64 bytes."""
    room = np.zeros(size + 64, np.uint8)
    room[...] = 0       # touched, so that the system has given the memory
    return room[-room.ctypes.data % 64:][:size]


def runner(module: ir.Module, rooms: Sequence[tuple[Room, Room]], tasks: int) -> Callable[[], object]:
    """A call of the kernel on every (input, scratch) at once, a thread for each."""
    code = image.load(jit.compile_module(module, detect()))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code["peak"])
    contexts = [(ctypes.c_int64 * WORDS)() for _ in rooms]
    for context, (source, scratch) in zip(contexts, rooms):
        context[BUFS], context[SCRATCH] = source.ctypes.data, scratch.ctypes.data
    pool, keep = ThreadPoolExecutor(len(rooms)), (code, rooms)

    def work(context: ctypes.Array[ctypes.c_int64]) -> object:
        run(ctypes.addressof(context), 0, 0, tasks)
        return keep

    return lambda: list(pool.map(work, contexts))


def best(run: Callable[[], object], seconds: float) -> float:
    """The least seconds of a call, of those that there is time for."""
    run()
    times, stop = [], time.perf_counter() + seconds
    while time.perf_counter() < stop:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)
