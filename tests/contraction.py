"""A workbench for contractions: memory operands, a module made runnable, tasks run in any split over threads."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from tile_registers import emulated

from stele.backend.cpu.target import detect
from stele.backend.llvm.access import Extent, Length, Operand, Plain
from stele.backend.llvm.launch import BUFS, SIZES, Builder, i64, pointer, word
from stele.backend.llvm.nest import at, load, store
from stele.backend.llvm.vectors import masked_load, masked_store
from stele.ir.sizes import at as at_sizes
from stele.ir.sizes import size as named_size
from stele.kernel.machine import Machine

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

AVX512 = Machine(64, 32, True)
AVX2 = Machine(32, 16, True)
SSE4 = Machine(16, 16, False)


def machine_here() -> Machine:
    """The widest machine of the three that this CPU is."""
    features = llvm.get_host_cpu_features()
    return AVX512 if features.get("avx512f") else AVX2 if features.get("avx2") else SSE4


def buffer(b: Builder, ctx: ir.Value, k: int) -> ir.Value:
    return b.load(b.gep(word(b, ctx, BUFS), [i64(k)], source_etype=pointer), typ=pointer)


def size(k: int) -> Extent:
    """The symbolic size number k."""
    return Length(named_size(f"s{k}"), lambda b, ctx: b.load(b.gep(word(b, ctx, SIZES), [i64(k)], source_etype=i64),
                                                             typ=i64))


@dataclass(frozen=True)
class Memory:
    """Buffer number k seen as an array with constant strides (in elements), read and written by vectors."""

    number: int
    dtype: ir.Type
    strides: tuple[int, ...]

    def address(self, b: Builder, ctx: ir.Value, index: Sequence[ir.Value]) -> ir.Value:
        offset: ir.Value = i64(0)
        for i, stride in zip(index, self.strides, strict=True):
            offset = b.add(offset, b.mul(i, i64(stride)))
        return at(b, buffer(b, ctx, self.number), offset, self.dtype)

    def read(self, b, ctx, index, lane_axis, lanes, mask):
        address = self.address(b, ctx, index)
        if mask is None or lanes == 1:
            return load(b, address, self.dtype, lanes)
        return masked_load(b, address, self.dtype, mask)

    def write(self, b, ctx, index, lane_axis, lanes, mask, vector):
        address = self.address(b, ctx, index)
        if lanes > 1 and self.strides[lane_axis] != 1:
            self.scatter(b, address, self.strides[lane_axis], mask, vector)
        elif mask is None or lanes == 1:
            store(b, vector, address, self.dtype)
        else:
            masked_store(b, vector, address, self.dtype, mask)

    @property
    def flat(self) -> Memory:
        """Dense images with their pixels on one axis, as convolutions write them."""
        return replace(self, strides=(*self.strides[:-2], 1))

    def near(self, b, ctx, index):
        """Nothing is brought near before it is written."""

    def stores(self, is_weight: bool) -> tuple[Callable, ...]:
        """What a convolution is told about its result; a gradient of the weight is written as it lies, and not near."""
        return (self.write,) if is_weight else (self.flat.write, self.flat.near)

    def scatter(self, b, address, stride, mask, vector):
        """Lanes that lie apart, one after the other."""
        for lane in map(ir.IntType(32), range(vector.type.count)):
            with b.if_then(b.extract_element(mask, lane)):
                place = at(b, address, lane.constant * stride, self.dtype)
                store(b, b.extract_element(vector, lane), place, self.dtype)

    def operand(self, plain: bool = True, batched: bool = True) -> Operand:
        axis = self.strides.index(1)
        memory = Plain(lambda b, ctx: buffer(b, ctx, self.number), self.strides) if plain else None
        return Operand(self.read, axis, memory, batched)


def strides(shape: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides of a dense array whose axes lie in `order`, outermost first."""
    result, step = [0] * len(shape), 1
    for axis in reversed(order or range(len(shape))):
        result[axis], step = step, step * shape[axis]
    return tuple(result)


class _Context(ctypes.Structure):
    _fields_ = [("bufs", ctypes.c_void_p), ("sizes", ctypes.c_void_p), ("status", ctypes.c_void_p),
                ("scratch", ctypes.c_void_p), ("scratch_bytes", ctypes.c_int64)]


def aligned(nbytes: int) -> np.ndarray:
    raw = np.full(nbytes + 4096, 255, np.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start:start + nbytes]


def guarded(array: np.ndarray, strides: Sequence[int] | None = None) -> np.ndarray:
    """A copy whose last byte is the last one before a page that nobody may touch; with `strides`, in elements, it lies
    so."""
    if strides is not None:
        last = sum((n - 1) * s for n, s in zip(array.shape, strides))
        room = guarded(np.full(last + 1, np.nan, array.dtype))
        copy = np.lib.stride_tricks.as_strided(room, array.shape, [s * array.itemsize for s in strides])
        copy[...] = array
        return copy
    page = mmap.PAGESIZE
    room = -(-max(array.nbytes, 1) // page) * page
    region = mmap.mmap(-1, room + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(region))
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + room), ctypes.c_size_t(page), 0):
        raise OSError("mprotect failed")
    copy = np.frombuffer(region, array.dtype, array.size, room - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy


def _emulates(machine: Machine) -> bool:
    return machine.amx and not detect().amx


def _processor(machine: Machine) -> tuple[str, str]:
    """The processor and the features that LLVM writes a machine's code for; one of another kind splits the vectors."""
    own = detect()
    if not own.triple.startswith("x86_64"):
        return own.cpu, own.features
    cpu = llvm.get_host_cpu_name() if machine.vector_bytes == 64 else "x86-64-v3" if machine.fma else "x86-64-v2"
    return cpu, "+prefer-256-bit" if machine.vector_bytes == 32 else "+amx-tile,+amx-bf16" if machine.amx else ""


class Bench:
    """A contraction compiled: `Bench(machine, build, arrays, sizes)`, then `run(threads, grain)`.

    `build(module, temp)` appends kernels and returns launches and temporaries; buffers are the arrays in order.
    """

    def __init__(self, machine: Machine, build: Callable, arrays: Sequence[np.ndarray], sizes: Sequence[int] = (),
                 threads: int = 2) -> None:
        module = ir.Module("contraction")
        count = len(arrays)
        begin = time.perf_counter()
        self.launches, self.temps = build(module, lambda b, ctx, k: buffer(b, ctx, count + k))
        self.launches = list(self.launches)
        self.text = text = str(module)
        self.emit_ms = (time.perf_counter() - begin) * 1e3
        self._compile(machine, text)
        self.scratch_bytes = max([64, *(launch.scratch for launch in self.launches)]) + 63 & ~63
        self.scratch = aligned(self.scratch_bytes * threads + 64)
        self.at(arrays, sizes)
        self.pool = ThreadPoolExecutor(1 if _emulates(machine) else threads)

    def _compile(self, machine: Machine, text: str) -> None:
        begin = time.perf_counter()
        cpu, features = _processor(machine)
        target = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=2, jit=True)
        parsed = emulated(text) if _emulates(machine) else llvm.parse_assembly(text)
        parsed.verify()
        passes = llvm.create_new_module_pass_manager()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(parsed, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
        self.optimise_ms = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        image = target.emit_object(parsed)
        self.codegen_ms = (time.perf_counter() - begin) * 1e3
        self.jit = llvm.create_lljit_compiler(target)
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for launch in self.launches:
            builder.export_symbol(launch.function)
        self.library = builder.link(self.jit, "contraction")
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self.functions = [prototype(self.library[launch.function]) for launch in self.launches]

    def at(self, arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> None:
        """From now on the same code is called with these arrays, at these symbolic sizes."""
        named = {f"s{k}": n for k, n in enumerate(sizes)}
        self.tasks = [at_sizes(launch.tasks, named) for launch in self.launches]
        self.memory = [aligned(at_sizes(temp.bytes, named) + 64) for temp in self.temps]
        self.arrays, self.sizes = list(arrays), np.array([*sizes, 0], np.int64)
        self.buffers = np.array([a.ctypes.data for a in [*self.arrays, *self.memory]], np.uint64)
        tables = (a.ctypes.data for a in (self.buffers, self.sizes))
        self.context = _Context(*tables, None, self.scratch.ctypes.data, self.scratch_bytes)

    def run(self, threads: int = 1, grain: int | None = None) -> None:
        """All launches; tasks go to threads in pieces of `grain` (one piece per thread if not given)."""
        ctx = ctypes.addressof(self.context)
        for function, tasks in zip(self.functions, self.tasks):
            if threads == 1 and grain is None:
                function(ctx, 0, 0, tasks)
                continue
            size = grain or max(1, -(-tasks // threads))
            pieces = [(begin, min(tasks, begin + size)) for begin in range(0, tasks, size)]

            def work(thread: int, function=function, pieces=pieces) -> None:
                for begin, end in pieces[thread::threads]:
                    function(ctx, thread, begin, end)

            list(self.pool.map(work, range(threads)))

    def check(self) -> np.ndarray:
        """The bits of the first array for one thread; asserts that splits and threads do not change them."""
        self.run()
        bits = self.arrays[0].copy()
        for threads, grain in ((2, None), (2, 1), (1, 1)):
            self.arrays[0][...] = np.nan
            self.run(threads, grain)
            assert np.array_equal(self.arrays[0], bits, equal_nan=True)
        return bits


def float_type(dtype: np.dtype) -> ir.Type:
    return ir.DoubleType() if dtype == np.float64 else ir.FloatType()


def error(a: np.ndarray, reference: np.ndarray, scale: float = 1e-30) -> float:
    """max|a - b| / max|b|; `scale` is the least to divide by, for few elements, whose terms may cancel."""
    return float(np.abs(a - reference).max() / max(np.abs(reference).max(), scale)) if a.size else 0.0
