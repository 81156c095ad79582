"""LLVM IR to machine code."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import threading
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from queue import SimpleQueue

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.utils import get_library_name

from stele.backend import garbage
from stele.backend.cpu import symbols
from stele.backend.cpu.cache import digest
from stele.backend.cpu.image import Image
from stele.backend.cpu.link import link
from stele.backend.cpu.target import Target
from stele.backend.locks import COMPILING
from stele.backend.newest import Newest
from stele.backend.workers import begun
from stele.errors import CompileError

HEAD = re.compile(r"^define [^{\n]*(?<! )", re.MULTILINE)
SUBNORMALS = r'\g<0> "denormal-fp-math"="dynamic"'
"""Programs with products take subnormal numbers for zeros, others do not, and they share kernels: LLVM is told that it
cannot know, or `x == 0 or isinf(x)` becomes a question about bits."""
OBJECTS: Newest[str, bytes] = Newest(1 << 10)
"""Code of the newest modules, by what it is made of: programs have kernels in common, as do a function that is traced
again, and what is planned for less memory."""
TURN = 2e-4     # seconds that a thread coming from LLVM waits for the one that writes Python objects, at most


@contextmanager
def busy() -> Generator[None]:
    """While a program is made: nobody looks for garbage, and threads take turns often, so that LLVM's need not wait."""
    with COMPILING, garbage.kept():
        interval = sys.getswitchinterval()
        sys.setswitchinterval(TURN)
        try:
            yield
        finally:
            sys.setswitchinterval(interval)


@dataclass
class Times:
    """Milliseconds that it took to make code, by phase, and how many objects were made."""

    parse: float = 0.0
    optimise: float = 0.0
    emit: float = 0.0
    link: float = 0.0
    compiled: int = 0

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        setattr(self, name, getattr(self, name) + (time.perf_counter() - start) * 1e3)


TOTAL = Times()


def compile_module(module: str | ir.Module, target: Target, *, allowed: Collection[str] = symbols.KERNEL,
                   times: Times = TOTAL) -> Image:
    """Machine code for `target`: no absolute address inside, so it may be kept on disk.

    Raises CompileError if LLVM refuses the module, or its code refers to a symbol that is not `allowed`.
    """
    with Modules(target, allowed, times) as modules:
        modules.add(module)
    return modules.image


class Modules:
    """Machine code of several modules, made by threads of their own while the next module is written.

    >>> from stele.backend.cpu.target import detect
    >>> with Modules(detect()) as modules:
    ...     modules.add("define void @f() { ret void }")
    >>> modules.image.exports
    {'f': 0}

    `texts` are the modules, `objects` their code, `image` what that is linked to, there at the end; what LLVM
    refuses is raised there.
    """

    image: Image
    objects: list[bytes]

    def __init__(self, target: Target, allowed: Collection[str] = symbols.KERNEL, times: Times = TOTAL) -> None:
        self.target, self.allowed, self.times = target, allowed, times
        self.texts: list[str] = []
        self._waiting: SimpleQueue[tuple[int, str, bool] | None] = SimpleQueue()
        self._done: dict[int, bytes] = {}
        self._errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Modules:
        COMPILING.acquire()
        return self

    def add(self, module: str | ir.Module, quick: bool = False) -> None:
        """Begins with one more module, of which only the text is kept: it is taken apart. A `quick` one takes a fifth
        of the time, and its code, which should be what runs once a call, is written as it comes."""
        k, text = len(self.texts), str(module)
        self.texts.append(text)
        if isinstance(module, ir.Module):
            forget(module)
        if known := OBJECTS.get(key := digest(text, self.target.key, str(quick))):
            self._done[k] = known
            return
        if len(self._threads) < self.target.cores:
            self._threads.append(begun(self._work, "stele-llvm"))
        self._waiting.put((k, key, quick))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            for _ in self._threads:
                self._waiting.put(None)
            for worker in self._threads:
                worker.join()
        finally:
            COMPILING.release()
        if kind is None:
            if self._errors:
                raise self._errors[0]
            self.objects = [self._done[k] for k in sorted(self._done)]
            with self.times.phase("link"):
                self.image = link(self.objects, self.allowed)

    def _work(self) -> None:
        tools = _tools(self.target)
        while (asked := self._waiting.get()) is not None and not self._errors:
            k, key, quick = asked
            try:
                self._done[k] = OBJECTS[key] = tools.object(self.texts[k], self.target, self.times, quick)
                self.times.compiled += 1
            except BaseException as error:
                self._errors.append(error)
        _idle.append(tools)


def forget(module: ir.Module) -> None:
    """Takes a module apart, which frees its instructions now: they refer to each other."""
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()
        function.blocks.clear()


def assembly(module: str | ir.Module, target: Target) -> str:
    """The machine code of a module as text, to be read."""
    with COMPILING:
        tools = _tools(target)
        return tools.machine.emit_assembly(tools.optimised(str(module), target, Times()))


@dataclass
class _Tools:
    """What makes one object at a time; handed on from thread to thread, since llvmlite never frees passes."""

    target: Target
    machine: llvm.TargetMachine
    quick: llvm.TargetMachine
    passes: llvm.ModulePassManager
    builder: llvm.PassBuilder

    def object(self, text: str, target: Target, times: Times, quick: bool = False) -> bytes:
        """A function of its own, so that the module is given back before its caller goes on."""
        module = self.optimised(text, target, times)
        with times.phase("emit"):
            return _emit(self.quick if quick else self.machine, module)

    def optimised(self, text: str, target: Target, times: Times) -> llvm.ModuleRef:
        with times.phase("parse"):
            try:
                module = llvm.parse_assembly(HEAD.sub(SUBNORMALS, text), llvm.create_context())
                module.triple = target.triple
                module.verify()
            except RuntimeError as error:
                raise CompileError(f"LLVM refuses the module: {error}") from None
        with times.phase("optimise"):
            _free().LLVMPY_RunNewModulePassManager(self.passes, module, self.builder)
        return module


_idle: list[_Tools] = []


def _tools(target: Target) -> _Tools:
    """Tools for a target that nobody uses."""
    while _idle:
        try:
            if (tools := _idle.pop()).target == target:
                return tools
        except IndexError:
            break
    machine = _new_machine(target)
    return _Tools(target, machine, _new_machine(target, opt=0), _passes(),
                  llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(1)))


@functools.cache
def _free() -> ctypes.CDLL:
    """LLVM without llvmlite's lock: modules of different contexts may be worked on at the same time."""
    library = ctypes.CDLL(str(files(llvm) / get_library_name()))
    for name, result in (("RunNewModulePassManager", None), ("TargetMachineEmitToMemory", ctypes.c_void_p),
                         ("GetBufferStart", ctypes.c_void_p), ("GetBufferSize", ctypes.c_size_t),
                         ("DisposeMemoryBuffer", None)):
        getattr(library, f"LLVMPY_{name}").restype = result
    return library


def _emit(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """The object of a module."""
    free = _free()
    with llvm.ffi.OutputString() as said:
        memory = free.LLVMPY_TargetMachineEmitToMemory(machine, module, 1, said)
        if not memory:
            raise CompileError(f"LLVM emits no object: {said}")
    memory = ctypes.c_void_p(memory)
    try:
        return ctypes.string_at(free.LLVMPY_GetBufferStart(memory), free.LLVMPY_GetBufferSize(memory))
    finally:
        free.LLVMPY_DisposeMemoryBuffer(memory)


def _passes() -> llvm.ModulePassManager:
    """A light pipeline; no vectoriser, since kernels come in vectors already."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def _new_machine(target: Target, opt: int = 2) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()      # of instructions that have no other name, as cpuid
    generator = llvm.Target.from_triple(target.triple)
    return generator.create_target_machine(cpu=target.cpu, features=target.features, opt=opt, reloc="pic",
                                           codemodel="small")
