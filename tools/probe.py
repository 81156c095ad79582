"""One scalar formula as a native loop over arrays: for tests, measurements and a look at the assembly."""
from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from stele.backend.llvm.launch import Builder
from stele.backend.llvm.scalars import TYPES, LLVMScalars
from stele.ir.types import DType, bool_

Formula = Callable[..., Any]
Arrays = np.ndarray[Any, np.dtype[Any]]

# Levels of this architecture as (cpu, bytes of a vector, has fma), and what LLVM is told besides.
X86, ARM = platform.machine() in ("x86_64", "AMD64"), {"neon": ("generic", 16, True)}
LEVELS = {"v2": ("x86-64-v2", 16, False), "v3": ("x86-64-v3", 32, True), "v4": ("x86-64-v4", 64, True)} if X86 else ARM
FEATURES = "-prefer-256-bit" if X86 else "+neon"


@dataclass(frozen=True)
class Probe:
    """A compiled formula: call it with arrays of the declared dtypes."""

    dtypes: tuple[DType, ...]
    result: DType
    lanes: int
    text: str
    machine: llvm.TargetMachine
    engine: llvm.ExecutionEngine

    @property
    def assembly(self) -> str:
        """What runs, to be read."""
        return self.machine.emit_assembly(llvm.parse_assembly(self.text))

    def __call__(self, *arrays: Arrays) -> Arrays:
        """The formula on every element; lengths that are no multiple of the lanes are padded with the last element."""
        size = arrays[0].size
        padded = -(-size // self.lanes) * self.lanes
        inputs = [np.resize(np.ravel(a).astype(d.numpy, copy=False), padded) if a.size != padded
                  else np.ascontiguousarray(a, d.numpy) for a, d in zip(arrays, self.dtypes)]
        output = np.empty(padded, self.result.numpy)
        pointers = [a.ctypes.data for a in (*inputs, output)]
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
        kind(self.engine.get_function_address("probe"))(padded, *pointers)
        return output[:size].reshape(arrays[0].shape)


def probe(formula: Formula, dtypes: Sequence[DType], result: DType, level: str = next(reversed(LEVELS)),
          lanes: int | None = None) -> Probe:
    """`formula(s, *x)` compiled for a level.

    >>> from ...ir.types import float32
    >>> y = probe(lambda s, x: s.exp(x), [float32], float32)(np.zeros(3, "float32"))
    """
    cpu, vector_bytes, fused = LEVELS[level]
    lanes = lanes or vector_bytes // 4
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=FEATURES, opt=2)
    text = str(loop(formula, dtypes, result, lanes, fused))
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Probe(tuple(dtypes), result, lanes, text, machine, engine)


def loop(formula: Formula, dtypes: Sequence[DType], result: DType, lanes: int, fused: bool) -> ir.Module:
    """void probe(i64 n, inputs..., output): n is a positive multiple of lanes."""
    module = ir.Module()
    i64, pointer = ir.IntType(64), ir.PointerType()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [i64] + [pointer] * (len(dtypes) + 1)), "probe")
    entry, body, done = (function.append_basic_block(name) for name in ("entry", "body", "done"))
    ir.IRBuilder(entry).branch(body)
    b = Builder(body)
    s = LLVMScalars(b, lanes, fused)
    i = b.phi(i64)
    i.add_incoming(i64(0), entry)
    end, *bases = function.args
    elements = []
    for base, dtype in zip(bases, dtypes):
        kind = s.register(dtype) if dtype != bool_ else byte(lanes)
        value = b.load(b.gep(base, [i], source_etype=memory(dtype)), typ=kind, align=1)
        elements.append(s.element(b.trunc(value, s.register(bool_)) if dtype == bool_ else value, dtype))
    y = s.splat(s.cast(formula(s, *elements), result)).value
    y = b.zext(y, byte(lanes)) if result == bool_ else y
    b.store(y, b.gep(bases[-1], [i], source_etype=memory(result)), align=1)
    following = b.add(i, i64(lanes))
    i.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, end), body, done)
    ir.IRBuilder(done).ret_void()
    return module


def memory(dtype: DType) -> ir.Type:
    """How one element lies in memory: as in a register, but bool is a byte of 0 or 1."""
    return ir.IntType(8) if dtype == bool_ else TYPES[dtype.name]


def byte(lanes: int) -> ir.Type:
    return ir.IntType(8) if lanes == 1 else ir.VectorType(ir.IntType(8), lanes)
