"""What a core carries, measured by loops of a few microseconds: loads and vectors from afar, in multiplications."""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Mapping
from math import log2
from time import perf_counter, sleep

import llvmlite.binding as llvm
from llvmlite import ir

from stele.backend.contract.code import Code, Int, Ref, Vectors
from stele.backend.contract.tile import LEFT, Tile
from stele.backend.cpu import image, jit
from stele.backend.cpu.target import Target
from stele.backend.llvm.launch import i64, new_function, pointer
from stele.backend.llvm.nest import multiply_add, splat
from stele.backend.locks import COMPILING
from stele.kernel.machine import LINE

FLOAT, SIZE = ir.FloatType(), 4
SIDE = 12           # accumulators, and loads of each kind in a step: enough that none waits for another
FEWEST = 8          # of the smallest tiles: as many as are multiplied at once
STEPS = 1 << 12     # of a loop over what the first cache holds
NEAR = 1 << 8       # steps whose operands it holds at once
TIMES, AGAIN, RARELY = 5, 3, 4      # how often a loop is timed in each round, a long one, whose first time fetches what
                                    # others drove out of the cache meanwhile, and one that flushes: the least counts
FEW, ROUNDS, APART = 8, 75, 0.02    # of all loops at least and at most, and seconds between them: beside another's
                                    # thread a core multiplies slower, often for tenths of a second
SHARE, ALIKE = 0.75, (1.05, 1.05, 1.4, 1.4)     # of the rounds so many find the least time of each loop, or one that is
                                                # longer by as little: what comes from afar is judged by powers of two
TICK = 1e-9         # seconds that a loop takes at least
LEAST, MOST = 1 / 8, 1 << 8
AWAY = 4 << 20      # bytes that lie in the third cache
FLUSHED = 1 << 20   # bytes that lie in memory once they are flushed: each line takes some 100 ns to leave
FLUSHES = {"x86_64": "clflush ($0)", "aarch64": "dc civac, $0"}
Loop = Callable[[Code, Ref, Int], None]


def measure(target: Target) -> Mapping[str, float]:
    """What a machine carries, by the names that `Machine` has for it, in powers of two or of their roots: coarse, so
    that what else the machine does seldom moves them.
    """
    with COMPILING:     # no fork meanwhile, and nobody else who measures or compiles
        loops = Loops(target)
        one, tall, near, shared = loops.steps(("multiply", STEPS), ("tall", STEPS), *(
            ("read", size // loops.step) for size in (target.l2 // 4, AWAY)))
        memory = loops.flushed(FLUSHED // loops.step)
    one /= SIDE
    pace = (tall / one - 1) / (LEFT * FEWEST)
    return {"pace": coarse(pace, 2), "far": coarse((near / SIDE / one) ** 2) / 10,
            "shared": coarse(shared / SIDE / one), "memory": coarse(max(shared, memory) / SIDE / one)}


def coarse(x: float, parts: int = 1) -> float:
    """The nearest power of two, or of its root, to three digits, within what any core may carry: a clock that stood
    still meanwhile does no harm.

    >>> coarse(0.66, 2), coarse(6.2), coarse(0.0)
    (0.707, 8.0, 0.125)
    """
    return round(2 ** (round(parts * log2(min(max(x, LEAST), MOST))) / parts), 3)


class Loops:
    """The loops as machine code, and memory of their own for them."""

    def __init__(self, target: Target) -> None:
        llvm.initialize_native_asmparser()
        module, self.target = ir.Module("measure"), target
        self.lanes = target.lanes(SIZE)
        self.step = SIDE * target.vector_bytes
        for write in (self.multiply, self.tall, self.read, self.flush):
            b = new_function(module, write.__name__, pointer, i64, writer=Code)
            place, steps = b.function.args
            write(b, Ref(b, place, FLOAT), Int(b, steps))
            b.ret_void()
        self.code = image.load(jit.compile_module(module, target, times=jit.Times()))
        self.memory = mmap.mmap(-1, AWAY + mmap.PAGESIZE)
        self.memory[:] = bytes(len(self.memory))    # touched, so that the system has given it
        self.place = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def multiply(self, b: Code, place: Ref, steps: Int) -> None:
        """Nothing but multiplications."""
        x, y = ((place + k * self.lanes).load(self.lanes) for k in range(2))
        self.sum(b, place, steps, SIDE, lambda _, acc: [multiply_add(b, self.target.fma, x, y, z) for z in acc])

    def tall(self, b: Code, place: Ref, steps: Int) -> None:
        """The smallest tile of one vector, in the first cache: each multiplication has a number of its own, loaded into
        all lanes."""
        def body(k: Int, acc: Vectors) -> Vectors:
            here = place + (k & NEAR - 1) * FEWEST
            x = (place + NEAR * FEWEST + (k & NEAR - 1) * self.lanes).load(self.lanes)
            return [multiply_add(b, self.target.fma, splat(b, (here + r).load(), self.lanes), x, z)
                    for r, z in enumerate(acc)]
        self.sum(b, place, steps, FEWEST, body)

    def read(self, b: Code, place: Ref, steps: Int) -> None:
        """Vectors one behind the other are added up."""
        self.sum(b, place, steps, SIDE, lambda k, acc: [
            b.fadd(z, (place + (k * SIDE + r) * self.lanes).load(self.lanes)) for r, z in enumerate(acc)])

    def sum(self, b: Code, place: Ref, steps: Int, side: int, body: Callable[[Int, Vectors], Vectors]) -> None:
        """What is carried through all steps, so that none is left out."""
        tile = Tile(self.target, FLOAT, side, 1)
        tile.store(b, b.fold(steps, tile.zeros(), body), place, tile.columns)

    def flush(self, b: Code, place: Ref, steps: Int) -> None:
        """What all steps of `read` read leaves every cache."""
        kind = ir.FunctionType(ir.VoidType(), [pointer])
        with b.loop(0, steps * (self.step // LINE)) as k:
            b.asm(kind, FLUSHES[self.target.triple.partition("-")[0]], "r,~{memory}",
                  [(place + k * (LINE // SIZE)).address], side_effect=True)

    def steps(self, *asked: tuple[str, int]) -> list[float]:
        """What a step of each loop takes at least, without what a call does: of the least times of rounds until most
        agree, and not the least of their differences, which a disturbed short call would make too small.
        """
        calls = [(name, count) for name, steps in asked for count in (steps, steps // 4)]
        times: list[list[float]] = [[] for _ in calls]
        for _ in range(ROUNDS):
            for found, (name, steps) in zip(times, calls):
                found.append(min(self.once(name, steps) for _ in range(TIMES if steps <= STEPS else AGAIN)))
            agree = [sum(t <= alike * min(found) for t in found) for found, alike in zip(times[::2], ALIKE)]
            if len(times[0]) >= FEW and min(agree) >= SHARE * len(times[0]):
                break
            sleep(APART)
        least = [*map(min, times)]
        return [max(long - short, TICK) / (steps - steps // 4)
                for long, short, (_, steps) in zip(least[::2], least[1::2], asked)]

    def flushed(self, steps: int) -> float:
        """What a step of reading takes at least that finds nothing in a cache."""
        return min([self.once("flush", steps), self.once("read", steps)][1] for _ in range(RARELY)) / steps

    def once(self, name: str, steps: int) -> float:
        """Seconds of one call."""
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.code[name])
        start = perf_counter()
        run(self.place, steps)
        return perf_counter() - start
