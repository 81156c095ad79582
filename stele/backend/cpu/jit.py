"""LLVM IR to relocatable objects, and objects to callable addresses."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import llvmlite.binding as llvm
from llvmlite import ir

from stele.backend.cpu import symbols
from stele.backend.cpu.target import Target
from stele.errors import CompileError

# LLVM runs one thing at a time; fork waits for it, so that a child never inherits a compile cut in half.
_llvm = threading.RLock()
_machines: dict[Target, llvm.TargetMachine] = {}
_linkers: dict[str, llvm.LLJIT] = {}
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
        start = perf_counter()
        yield
        setattr(self, name, getattr(self, name) + (perf_counter() - start) * 1e3)


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
        parsed = _optimised(str(module), target, times)
        with times.phase("emit"):
            image = _machine(target).emit_object(parsed)
    if image.startswith(b"\x7fELF"):
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
    builder = llvm.JITLibraryBuilder().add_object_img(image)
    for name in exports:
        builder.export_symbol(name)
    known = {name: symbols.address(name) for name in ("memcpy", "memmove", "memset")} | dict(imports or {})
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


def _optimised(text: str, target: Target, times: Times) -> llvm.ModuleRef:
    """The module after a light pipeline; no vectoriser, since kernels come in vectors already."""
    with times.phase("parse"):
        try:
            module = llvm.parse_assembly(text)
            module.triple = target.triple
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM refuses the module: {error}") from None
    with times.phase("optimise"):
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_new_gvn_pass()
        passes.add_aggressive_dce_pass()
        passes.run(module, llvm.create_pass_builder(_machine(target), llvm.create_pipeline_tuning_options(1)))
    return module


def _machine(target: Target) -> llvm.TargetMachine:
    if target not in _machines:
        _machines[target] = _new_machine(target)
    return _machines[target]


def _new_machine(target: Target) -> llvm.TargetMachine:
    generator = llvm.Target.from_triple(target.triple)
    return generator.create_target_machine(cpu=target.cpu, features=target.features, opt=2, reloc="pic",
                                           codemodel="small")


def _linker(target: Target) -> llvm.LLJIT:
    if target.triple not in _linkers:
        _linkers[target.triple] = llvm.create_lljit_compiler(_new_machine(target), use_jit_link=True,
                                                             suppress_errors=True)
    return _linkers[target.triple]
