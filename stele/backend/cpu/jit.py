"""LLVM IR to relocatable objects, and objects to callable addresses."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import llvmlite.binding as llvm
from llvmlite import ir

from stele.backend.cpu import symbols
from stele.backend.cpu.target import Target
from stele.errors import CompileError

# LLVM runs one thing at a time; fork waits for it, so that a child never inherits a compile cut in half.
_llvm = threading.RLock()
_unloaded: list[llvm.ResourceTracker] = []
_number = itertools.count()

os.register_at_fork(before=_llvm.acquire, after_in_parent=_llvm.release, after_in_child=_llvm.release)


@dataclass
class Times:
    """Milliseconds that LLVM took, by phase, and how many objects were made and loaded."""

    parse: float = 0.0
    optimise: float = 0.0
    emit: float = 0.0
    link: float = 0.0
    compiled: int = 0
    loaded: int = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        setattr(self, name, getattr(self, name) + (time.perf_counter() - start) * 1e3)


TOTAL = Times()


class Loaded:
    """Native code in memory: `loaded["program"]` is the address of an exported symbol.

    The code stays for as long as this object does, and for ever once the interpreter goes down.
    """

    def __init__(self, tracker: llvm.ResourceTracker, addresses: Mapping[str, int]) -> None:
        self._addresses = addresses
        weakref.finalize(self, _unloaded.append, tracker).atexit = False

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]


def compile_object(module: str | ir.Module, target: Target, *, allowed: Collection[str] = symbols.KERNEL,
                   times: Times = TOTAL) -> bytes:
    """A relocatable object for `target`: no absolute address inside, so it may be kept on disk.

    Raises CompileError if LLVM refuses the module, or the object refers to a symbol that is not `allowed`.
    """
    with _llvm:
        image = _emit(str(module), target, times)
    symbols.check(image, allowed)
    times.compiled += 1
    return image


def assembly(module: str | ir.Module, target: Target) -> str:
    """The machine code of a module as text, to be read."""
    with _llvm:
        return _machine(target).emit_assembly(_optimised(str(module), target, Times()))


def load(image: bytes, exports: Collection[str], target: Target, *, imports: Mapping[str, int] | None = None,
         times: Times = TOTAL) -> Loaded:
    """Link an object into the process; `imports` gives addresses for symbols that are not the C library's.

    Raises CompileError if a symbol is missing on either side.
    """
    known = {name: symbols.address(name) for name in ("memcpy", "memmove", "memset")} | dict(imports or {})
    if missing := sorted(symbols.undefined(image) - known.keys()):
        raise CompileError(f"an object refers to {', '.join(missing)}, given were {', '.join(sorted(known))}")
    builder = llvm.JITLibraryBuilder().add_object_img(image)
    for name in exports:
        builder.export_symbol(name)
    for name, address in known.items():
        builder.import_symbol(name, address)
    with _llvm, times.phase("link"):
        _unloaded.clear()
        try:
            tracker = builder.link(_linker(target), f"object{next(_number)}")
        except RuntimeError as error:
            raise CompileError(f"cannot link an object that exports {', '.join(exports)}: {error}") from None
    times.loaded += 1
    return Loaded(tracker, {name: tracker[name] for name in exports})


def _emit(text: str, target: Target, times: Times) -> bytes:
    """A function of its own, so that the module is given back before the caller lets go of LLVM."""
    module = _optimised(text, target, times)
    with times.phase("emit"):
        return _machine(target).emit_object(module)


def _optimised(text: str, target: Target, times: Times) -> llvm.ModuleRef:
    with times.phase("parse"):
        try:
            module = llvm.parse_assembly(text)
            module.triple = target.triple
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM refuses the module: {error}") from None
    with times.phase("optimise"):
        _passes().run(module, llvm.create_pass_builder(_machine(target), llvm.create_pipeline_tuning_options(1)))
    return module


@functools.cache
def _passes() -> llvm.ModulePassManager:
    """A light pipeline, made once (llvmlite never frees one); no vectoriser, since kernels come in vectors already."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_aggressive_dce_pass()
    return passes


@functools.cache
def _machine(target: Target) -> llvm.TargetMachine:
    return _new_machine(target)


def _new_machine(target: Target) -> llvm.TargetMachine:
    generator = llvm.Target.from_triple(target.triple)
    return generator.create_target_machine(cpu=target.cpu, features=target.features, opt=2, reloc="pic",
                                           codemodel="small")


@functools.cache
def _linker(target: Target) -> llvm.LLJIT:
    return llvm.create_lljit_compiler(_new_machine(target), use_jit_link=True)
