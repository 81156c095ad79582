"""Programs that were made of the same file before: they run without its model being read."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import stele as st
from stele import config
from stele.arrays.creation import is_plain
from stele.backend.buffers import Block, Borrowed, Buffer
from stele.backend.cpu import cache, native
from stele.backend.cpu.program import Program
from stele.backend.devices import current
from stele.backend.locks import HOST
from stele.call.compiled import Compiled
from stele.call.plan import Plan
from stele.eager.follow import FOLLOWER
from stele.eager.handle import TRACING
from stele.eager.live import is_there, result
from stele.errors import DataError
from stele.interop.onnx.model import Array
from stele.interop.onnx.source import content, opened
from stele.ir.graph import Graph, Parameter
from stele.ir.origin import NOWHERE
from stele.ir.types import HOME, NAMED, dtype
from stele.kernel.memory import rounded
from stele.pipeline import Options, request

if TYPE_CHECKING:
    from stele.interop.onnx.module import OnnxModule

LONG = 1 << 18      # bytes of a file that take longer to be read than the entry that says what they are
AT_ONCE = 2 * 10**9     # ns in which two changes of a file may have one time: those of FAT are two seconds apart
SHARE = 8           # the part of the cache that one program with its weights may take
FRONT = "/arrays", "/call", "/data", "/eager", "/higher", "/interop/onnx", "/nn", "/staged", "/tracing"
"""The folders of Stele that decide, beside those of the compiler, which graph is made of a model."""
Given = dict[str, Any]
Session = Callable[[Given], list[Any]]


def made_of(source: Any, to_run: bool) -> OnnxModule:
    """The model of a source, by the files that read models, which are loaded now."""
    return import_module("stele.interop.onnx.module").made_of(source, to_run)


class Promised(Graph):
    """A graph of which its digest is known: it is made when somebody looks at it."""

    def __init__(self, digest: str, make: Callable[[], Graph]) -> None:
        vars(self).update(digest=digest, make=make)

    def __getattr__(self, name: str) -> Any:
        if name not in ("parameters", "results"):
            raise AttributeError(name)
        graph = vars(self)["make"]()
        vars(self).update(parameters=graph.parameters, results=graph.results)
        return vars(self)[name]


class Ready:
    """The programs of one file, a path or bytes, as the disk has them: one for each types of inputs.

    What counts is what is in the file, and what of Stele makes a program of it. Nothing is kept of a model that is
    more than one program (results as long as numbers say, calls of Python, texts), that is large, or whose weights may
    lie in files beside it. `names` are those of its inputs, None where nothing was kept of it.
    """

    def __init__(self, source: str | Path | bytes) -> None:
        self.source, self.digest, self.is_whole = source, digest(source), False
        self.key = cache.digest("onnx", *installed(), self.digest, repr(Options()), cache.fingerprint(),
                                *cache.sources(*FRONT))
        self.sessions: dict[Any, Session | None] = {}
        self.tried = set[Any]()      # to be kept
        found = cache.objects().get(self.key)
        self.names: list[str] | None = None if found is None else json.loads(found)

    def module(self) -> OnnxModule:
        """The model, read now. Raises DataError for what is no model, and where the file is not the one any more that
        it was."""
        file = content(self.source)
        if digest(file) != self.digest:
            raise DataError(f"{self.source} has changed since it was prepared", hint="Prepare it again.")
        named = b"location" in file     # the key under which a tensor says where its numbers are
        self.is_whole = not named and len(file) * SHARE <= config.CACHE_SIZE() << 20
        return made_of(file if self.is_whole else self.source, to_run=True)

    def session(self, given: Given, graph: Callable[[Given], Graph]) -> Session | None:
        """What computes the outputs for inputs like these, if it was kept; `graph` is asked for its graph, of inputs
        like these, where somebody wants to see it."""
        types = types_of(given)
        if types is None or is_followed():
            return None
        if types not in self.sessions:
            found = cache.objects().mapped(cache.digest(self.key, repr(types)))
            self.sessions[types] = None if found is None else unpacked(
                found, lambda: graph({name: np.zeros(shape, dtype(kind).numpy) for name, kind, shape in types}))
        return self.sessions[types]

    def keep(self, names: Sequence[str], given: Given, found: Compiled[..., Any]) -> None:
        """Keeps the program that was called for these inputs, if they are all that the model names, in its order, and
        the program is all that a call does."""
        types = types_of(given)
        if not self.is_whole or not types or types in self.tried or is_followed():
            return
        self.tried.add(types)
        if [*given] == names and (plan := alone(found)) is not None:
            cache.objects().put(cache.digest(self.key, repr(types)), packed(plan))
            cache.objects().put(self.key, json.dumps(names).encode())


def installed() -> list[str]:
    """Which onnx is installed, by its files: what it imports takes as long as a small model. Raises ModuleNotFoundError
    where there is none."""
    found = find_spec("onnx")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
    own = [Path(found.origin), Path(found.origin).with_name("version.py")]
    return [f"{path} {now.st_size} {now.st_mtime_ns}" for path in own for now in [path.stat()]]


def digest(source: str | Path | bytes) -> bytes:
    """The SHA-256 of what is in a file; of a long one that has not changed it is known, by what the system says of it.

    As in Git, that counts for files that had been left alone for a while when they were read: what is written at once
    may have the same time.
    """
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    with opened(source) as file:
        before, begin, key = os.fstat(file.fileno()), time.time_ns(), None
        if before.st_size >= LONG:
            key = cache.digest("file", said(before))
            if (known := cache.objects().get(key)) is not None:
                return known
        found = hashlib.file_digest(cast(io.BufferedIOBase, file), "sha256").digest()
        is_old = begin - max(before.st_mtime_ns, before.st_ctime_ns) > AT_ONCE
        if key is not None and is_old and said(os.fstat(file.fileno())) == said(before):
            cache.objects().put(key, found)
        return found


def said(found: os.stat_result) -> str:
    """What is another one where a file is, or what is in it."""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def types_of(given: Given) -> tuple[tuple[str, str, tuple[int, ...]], ...] | None:
    """The types of inputs by name; None where one is neither an array with a dtype of NumPy's own nor a tensor of the
    host that has its numbers."""
    found: list[tuple[str, str, tuple[int, ...]]] = []
    for name, x in given.items():
        if isinstance(x, st.Tensor) and is_there(x.value) and x.value.type.device == HOME:
            found.append((name, x.dtype.name, x.value.shape))
        elif isinstance(x, np.ndarray) and x.dtype in NAMED:
            found.append((name, NAMED[x.dtype].name, x.shape))
        else:
            return None
    return tuple(found)


def is_followed() -> bool:
    """Whether somebody wants to see more than results, or wants them elsewhere."""
    return FOLLOWER.get() is not None or TRACING.get() is not None or bool(config.CHECK()) \
        or (current() or HOME) != HOME or config.BACKEND() != "cpu"


def alone(found: Compiled[..., Any]) -> Plan | None:
    """The one plan of a function, where it is for fixed sizes, changes nothing, and returns what its program makes."""
    plans = [v.plan for variants in found.variants.all.values() for v in variants]
    if len(plans) != 1 or not isinstance(program := plans[0].program, Program):
        return None
    plan, traced, asked = plans[0], plans[0].traced, program.request
    has_more = traced.changes or traced.arrays or traced.graph.guards or plan.free or plan.differentiable
    is_more = program.open or program.hosts or asked.timed or asked.options.budget is not None
    return None if has_more or is_more or any(p.kind != "made" for p in traced.returned[1]) else plan


def packed(plan: Plan) -> bytes:
    """A program as bytes: its graph by digest, which input or array each parameter is, its results, and the arrays."""
    traced, places, arrays = plan.traced, list[int](), list[Array]()
    for _, h in traced.inputs:
        base, k = plan.getters[h]
        places.append(k if base is None else ~len(arrays))
        arrays += [] if base is None else [traced.handles[h]._value.data.array]
    for v in traced.constants:
        places.append(~len(arrays))
        arrays.append(v.data.array)
    program: Any = plan.program
    asked, results = program.request, [traced.made[p.what].result for p in traced.returned[1]]
    head = [asked.graph.digest, asked.steady, places, results, [(dtype(a.dtype).name, a.shape) for a in arrays]]
    text = json.dumps(head).encode()
    numbers = b"".join(a.tobytes().ljust(rounded(a.nbytes), b"\0") for a in arrays)
    return cache.together(text.ljust(rounded(len(text) + 16) - 16), numbers)     # behind 8 bytes each that say how many


def unpacked(entry: memoryview, graph: Callable[[], Graph]) -> Session | None:
    """The program that `packed` made bytes of, ready to be called; None where its native code is no more."""
    head, numbers = cache.seen(entry)
    digest, steady, places, results, types = json.loads(bytes(head))
    asked = request(Promised(digest, graph), steady=steady)
    code = native.found(native.key(asked.graph, asked.text, asked.target))
    if code is None:
        return None
    program = Program(asked, code)
    held, at = list[Buffer](), 0
    for name, shape in types:
        a = np.ndarray(shape, dtype(name).numpy, numbers, at)
        lies = Block(a.ctypes.data, a.nbytes, a)     # type: ignore[arg-type]    # in the entry, whose pages `a` keeps
        held.append(Buffer(lies, dtype(name), a.shape))
        at += rounded(a.nbytes)
    outputs = code.manifest.outputs
    kinds, lends = [Parameter("result", o.type) for o in outputs], all(o.source != "parameter" for o in outputs)

    def call(given: Given) -> list[st.Tensor]:
        arrays = [*given.values()]
        buffers = [held[~k] if k < 0 else buffer_of(arrays[k], lends) for k in places]
        with HOST:
            made = program.run(buffers, {})
        return [st.Tensor(result(kinds[j], NOWHERE, made[j])) for j in results]

    return call


def buffer_of(x: Any, lends: bool) -> Buffer:
    """The numbers of an input: a tensor's own; of an array the same, if it `lends` them to a call that shows them to
    nobody, else a copy."""
    if not isinstance(x, np.ndarray):
        return x.value.data
    return Borrowed(x) if lends and is_plain(x) else Buffer.of(x)
