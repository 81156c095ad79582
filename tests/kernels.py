"""Runs the kernels of a graph one by one, tasks in any order, between guards that catch stray stores and loads."""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from stele.backend.cpu import image, jit, pool
from stele.backend.cpu.target import Target, detect
from stele.backend.llvm.emit import Emitter
from stele.backend.llvm.launch import Launch
from stele.ir.graph import Constant, Graph, Value
from stele.ir.sizes import Dim, at
from stele.kernel.fuse import Fused, fuse
from stele.kernel.kinds import Kernel
from stele.kernel.machine import LINE
from stele.transform.expand import expand

Array = np.ndarray[Any, Any]
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
GUARD = 256


class Tables:
    """The tables of one kernel."""

    def __init__(self) -> None:
        self.positions: dict[object, int] = {}
        self.names: list[str] = []
        self.temps: dict[int, Dim] = {}
        self.sites: list[Value] = []
        self.settled: frozenset[Value] = frozenset()

    def of(self, v: object) -> int:
        return self.positions.setdefault(v, len(self.positions))

    def temp(self, bytes_: Dim) -> int:
        position = self.of(object())
        self.temps[position] = bytes_
        return position

    def size(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def kept(self, bytes_: Dim) -> int:
        return self.temp(bytes_)

    def is_kept(self, kernel: Kernel) -> bool:
        """Nothing is kept from one call to the next."""
        return False

    def site(self, v: Value) -> int:
        self.sites.append(v)
        return len(self.sites) - 1


class Compiled:
    """One kernel as native code."""

    def __init__(self, kernel: Kernel, target: Target | None = None) -> None:
        target = target or detect()
        module, self.kernel, self.tables = ir.Module(), kernel, Tables()
        with jit.Modules(target) as modules:
            self.launches: list[Launch]
            self.launches, _ = Emitter(module, self.tables, target, modules.add).emit("kernel", kernel)
            modules.add(module)
        self.code = image.load(modules.image, self.imports())

    def imports(self) -> dict[str, int]:
        """What the kernel calls."""
        return pool.imports()

    def run(self, inputs: Mapping[Value, Array], sizes: Mapping[str, int],
            backwards: bool) -> tuple[list[Array], list[int]]:
        """The results and the status; `backwards` runs the tasks one by one, last first."""
        memory = {self.tables.of(v): walled(np.ascontiguousarray(a), backwards) for v, a in inputs.items()}
        rooms = {v: room(at(v.type.size, sizes) * v.dtype.bytes) for v in self.kernel.results}
        temps = {k: room(at(n, sizes)) for k, n in self.tables.temps.items()}
        addresses = {k: a.ctypes.data for k, a in memory.items()} | {k: start(a) for k, a in temps.items()} | \
            {self.tables.of(v): start(a) for v, a in rooms.items()}
        scratch = room(max((at(launch.scratch, sizes) for launch in self.launches), default=0))
        positions = self.tables.positions.values()
        table = (ctypes.c_void_p * (len(positions) + 1))(*(addresses.get(k, 0) for k in positions))
        named = (ctypes.c_int64 * (len(self.tables.names) + 1))(*(sizes[n] for n in self.tables.names))
        status = (ctypes.c_int64 * 4)()
        context = (ctypes.c_void_p * 6)(*map(ctypes.addressof, (table, named, status)), start(scratch), scratch.size)
        for launch in self.launches:
            function, tasks = KERNEL(self.code[launch.function]), at(launch.tasks, sizes)
            places = (ctypes.c_int64 * (2 * len(launch.places)))(*(x for place in launch.places for x in place))
            for first, last in [(k, k + 1) for k in reversed(range(tasks))] if backwards else [(0, tasks)]:
                function(ctypes.addressof(context), 0, first, last, ctypes.addressof(places))
        for a in (*rooms.values(), *temps.values()):
            first = start(a) - a.ctypes.data
            before, after = a[:first], a[first + a.size - 2 * GUARD:]
            assert (before == 0xCD).all() and (after == 0xCD).all(), "a store outside of its buffer"
        return [inner(a, v, sizes) for v, a in rooms.items()], list(status)


def walled(a: Array, last: bool) -> Array:
    """The array between two pages that nobody may read: at the first line behind one, or at the `last` before the
    other."""
    page = mmap.PAGESIZE
    size = -(-a.nbytes // page) * page
    pages = np.frombuffer(mmap.mmap(-1, size + 2 * page), np.uint8)
    for wall in (pages.ctypes.data, pages.ctypes.data + page + size):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(wall), ctypes.c_size_t(page), 0):
            raise OSError("mprotect failed")
    begin = page + (size - -(-a.nbytes // LINE) * LINE) * last
    y = pages[begin:begin + a.nbytes].view(a.dtype).reshape(a.shape)
    y[...] = a
    return y


def room(size: int) -> Array:
    """Bytes between guards, not zero."""
    return np.full(size + 2 * GUARD, 0xCD, np.uint8)


def start(a: Array) -> int:
    """The first address behind the guard that is aligned to 64 bytes."""
    return (a.ctypes.data + GUARD // 2 + 63) // 64 * 64


def inner(a: Array, v: Value, sizes: Mapping[str, int]) -> Array:
    """The array between the guards."""
    first = start(a) - a.ctypes.data
    size = at(v.type.size, sizes) * v.dtype.bytes
    return a[first:first + size].view(v.dtype.numpy).reshape([at(n, sizes) for n in v.shape])



def execute(graph: Graph, arrays: Sequence[Array], sizes: Mapping[str, int] | None = None,
            backwards: bool = False) -> tuple[list[Array], Fused]:
    """The results of a graph by its native kernels, and the kernels."""
    sizes, graph = sizes or {}, expand(graph)
    fused = fuse(graph)
    known: dict[Value, Array] = dict(zip(graph.parameters, arrays))

    def value(v: Value) -> Array:
        if v in known:
            return known[v]
        if isinstance(v.op, Constant):
            return v.op.array
        return value(fused.views[v]).reshape([at(n, sizes) for n in v.shape])

    for kernel in fused.kernels:
        results, status = Compiled(kernel).run({v: value(v) for v in kernel.inputs}, sizes, backwards)
        if status[0]:
            raise LookupError(status)
        known.update(zip(kernel.results, results))
    return [value(v) for v in graph.results], fused
