"""The whole compiler on one page: from a graph to a program."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

from stele import config
from stele.backend.base import Precision, Program
from stele.backend.buffers import MEMORY, Blocks
from stele.backend.devices import Device
from stele.backend.newest import Newest
from stele.errors import ArgumentError, GraphError, OptionError
from stele.ir.door import public
from stele.ir.graph import Array, Graph, walk
from stele.ir.origin import lines, setting
from stele.ir.record import Record
from stele.ir.report import Report
from stele.ir.stages import show
from stele.ir.types import HOME, REWRITING, Sizes
from stele.ops.arguments import amount, choice, sequence, whole

if TYPE_CHECKING:   # what compiles is loaded with the first program, and what makes code where none is on the disk
    from llvmlite import ir

    from stele.backend.cpu.build import Laid, Lowered
    from stele.backend.cpu.entry import Entry
    from stele.backend.cpu.native import Native
    from stele.backend.cpu.target import Target
    from stele.backend.llvm.emit import Known
    from stele.kernel.machine import Machine
    from stele.kernel.memory import Memory

Pass = Callable[..., Graph]

# In order. A pass is the function of its name in `transform/NAME.py`, from a graph to a graph, which notes in a report.
# The reference backend leaves out the first: NumPy has complex numbers, and they are the law.
PASSES = ("pairs", "share", "simplify", "stabilize", "expand", "share", "segments", "merge", "simplify", "share",
          "recompute", "inline")
SEGMENTS, NARROW, LIBRARY = "segments", "narrow", "library"
PROGRAM = "program"     # the module of the one function that is called
MOST = 1 << 10      # kernels whose memory is known
EMITTED: dict[Any, Known] = {}
"""What kernels take that were emitted to know their memory, by machine and precision."""
BACKENDS = ("cpu", "reference")


@dataclass(frozen=True)
class Options:
    """How a program is made: its backend, the stages to leave out, and how precise algorithms have to be.

    `backend` is "cpu", or "reference" for NumPy op by op (STELE_BACKEND without one); `without` a set of names of
    stages: passes, "narrow", or "library", the rules that hand products to one; `precision` is "fast", "strict"
    (convolutions directly, as their sums are written) or "bf16" (activations are bfloat16 in memory, and so are the
    operands of float32 matrix products where the CPU multiplies them; without "narrow" these alone). `memory` is the
    bytes that a call may take, such as "1.5GiB" (STELE_MEMORY without one): what does not fit is computed again
    (docs/memory.md), and OutOfMemory raised before anything runs where no plan fits. `st.compile` and `st.function`
    take them by name. Raises OptionError for values that there are not.

    >>> st.Options(backend="cpu", precision="strict")
    Options(backend='cpu', without=frozenset(), precision='strict', memory=None)
    >>> st.compile(st.exp, backend="reference")(st.zeros(2)).tolist()
    [1.0, 1.0]
    """

    backend: str = field(default_factory=config.BACKEND)
    without: frozenset[str] = frozenset()
    precision: Precision = "fast"
    memory: int | str | None = None

    def __post_init__(self) -> None:
        choice(self.backend, "backend", BACKENDS)
        choice(self.precision, "precision", get_args(Precision))
        memory = None if self.memory is None else amount(self.memory, "memory")
        if memory is not None and self.backend == "reference":
            raise OptionError("backend='reference' plans no memory, and keeps to no budget of it",
                              hint="Leave memory out, or take backend='cpu'.")
        object.__setattr__(self, "memory", config.MEMORY() if memory is None and self.backend == "cpu" else memory)
        given: Any = self.without
        names = (given,) if isinstance(given, str) else sequence(given, "without", "a set of names", unordered=True)
        known = dict.fromkeys((*PASSES, NARROW, LIBRARY))
        object.__setattr__(self, "without", frozenset(choice(name, "a stage in without", known) for name in names))


    @property
    def budget(self) -> int | None:
        """The bytes that a call may take."""
        return None if self.memory is None else amount(self.memory, "memory")


# What others give where they compile a function, and what to do instead.
UNTAKEN: Mapping[str, str] = {
    **dict.fromkeys(("mode", "fullgraph", "dynamic", "jit_compile"),
                    "Leave it out: all of a function is compiled, and sizes open at the second one."),
    **dict.fromkeys(("static_argnums", "static_argnames"), "Leave it out: what is no tensor is a constant."),
    **dict.fromkeys(("donate_argnums", "donate_argnames"), "Leave it out: what a step replaces is overwritten."),
    **dict.fromkeys(("input_signature", "reduce_retracing"), "Write dims={'x': {0: 'batch'}}, or leave it out."),
    "autograph": "Write control='python'.",
}


def options_of(what: str, given: Mapping[str, Any], *others: str) -> Options:
    """The options that `what` was called with, where it knows `others` too; raises for those that there are not."""
    known = [*others, *(option.name for option in fields(Options))]
    for name in given:
        if name in UNTAKEN:
            raise ArgumentError(f"{what} takes no {name!r}", hint=UNTAKEN[name])
        choice(name, f"an option of {what}", known, ArgumentError)
    return Options(**given)


class Request(Record):
    """What native code is asked for. `donated[k] = j`: the buffer of parameter k may be overwritten by result j. What
    only parameters in `steady` decide is computed once, and again when one of them is another. `sizes` is what is known
    of named ones. A `timed` program keeps the time of each kernel. Loops are cut into segments at so many `levels`.
    """

    graph: Graph
    donated: Mapping[int, int]
    steady: tuple[int, ...]
    options: Options
    target: Target
    sizes: Sizes | None = None
    timed: bool = False
    levels: int = 0

    @property
    def hints(self) -> Mapping[str, int]:
        """Sizes for which memory is planned, where that has a budget."""
        return {} if self.sizes is None else self.sizes.hints

    @property
    def text(self) -> str:
        """What the code depends on besides its graph and target."""
        planned = () if self.options.memory is None else (get_threads(), *sorted(self.hints.items()))
        return repr((sorted(self.donated.items()), self.steady, self.options, self.timed, self.levels, *planned))


def request(graph: Graph, donate: Mapping[int, int] = {}, steady: Collection[int] = (), options: Options | None = None,
            sizes: Sizes | None = None) -> Request:
    """A request for code of this machine, with the choices that were measured on it."""
    from stele.backend.cpu.tuned import this_machine

    options = options or Options()
    return Request(graph, donate, tuple(sorted(steady)), options, this_machine(), sizes,
                   "time" in config.SHOW())


def build(graph: Graph, *, donate: Mapping[int, int] = {}, steady: Collection[int] = (), options: Options,
          sizes: Sizes | None = None, device: Device | None = None) -> Program:
    """A program that computes the graph's results from its parameters, see `Request`; one of several devices is cut
    into programs of one each. STELE_CHECK=nan looks for NaN behind every call.
    """
    if any(v.type.device != HOME for v in walk([*graph.parameters, *graph.results])):
        from stele.backend.parts import Parted
        return Parted(graph, lambda part, device: build(part, options=options, sizes=sizes, device=device))
    memory = MEMORY if device is None else device.memory
    if options.backend == "cpu" and options.budget is not None and is_open(graph):
        from stele.backend.budgeted import Budgeted
        guards = [] if sizes is None else sizes.guards
        program: Program = Budgeted(graph, options.budget, lambda now: compiled(
            request(graph, donate, steady, options, Sizes(dict(now), guards)), memory), sizes.hints if sizes else {})
    elif options.backend == "cpu":
        program = compiled(request(graph, donate, steady, options, sizes), memory)
    else:
        from stele.backend.interpreter import Interpreted
        report = Report()
        plain = options if options.precision == "bf16" else replace(options, without=options.without | {PASSES[0]})
        program = Interpreted(optimise(graph, plain, sizes, report), report, memory)
    if "nan" in config.CHECK():
        from stele.backend.finite import Watched
        return Watched(program, graph)
    return program


def is_open(graph: Graph) -> bool:
    """Whether sizes of its parameters are known at a call only."""
    return any(not isinstance(n, int) for v in graph.parameters for n in v.shape)


def compiled(request: Request, memory: Blocks = MEMORY) -> Program:
    """A native program: its code is looked up in memory, then on the disk, and made where it is in neither."""
    from stele.backend.cpu import native, pool
    from stele.backend.cpu.program import Program

    with pool.prepared():
        key = native.key(request.graph, request.text, request.target)
        code = native.found(key) or native.kept(key, make(request))
        hosts = native.hosts(code, *forms(request))
    return Program(request, code, hosts, memory)


def make(request: Request) -> Native:
    """Native code by every stage."""
    return made(request)[0]


def made(request: Request) -> tuple[Native, list[bytes]]:
    """Native code by every stage, and the objects that it was linked of. While one kernel is written, LLVM compiles
    those before it.
    """
    from stele.backend.cpu import build, jit
    from stele.backend.cpu.native import Native

    report, start = Report(), perf_counter()
    with jit.busy():
        with jit.Modules(request.target) as modules:
            laid, entry = write(request, lambda module: modules.add(module, quick=module.name == PROGRAM), report)
        report.seconds["link"] = perf_counter() - start - sum(report.seconds.values())
        show("llvm", lambda: "\n".join(modules.texts))
        show("asm", lambda: "\n".join(jit.assembly(text, request.target) for text in modules.texts))
        return Native(modules.image, build.manifest(
            request.graph, forms(request), laid, entry, request.steady, report)), modules.objects


def exported(graph: Graph, name: str, held: Mapping[int, Array], options: Options) -> tuple[bytes, list[str], str]:
    """A shared library of the graph, some of whose parameters it holds; the sizes that callers say, and which CPUs run
    it: a level of which the library asks whether it is there."""
    from stele.backend.cpu import export
    from stele.backend.cpu.serve import LEVELS
    from stele.kernel.kinds import Host, role_of

    asked = request(graph, steady=[*held], options=replace(
        options, backend="cpu", without=options.without | {LIBRARY}))
    target = asked.target
    if target.name in LEVELS:
        target = replace(target, cpu=target.name, features="", amx=False, bf16=False)
    plain = Graph(graph.parameters, graph.results)
    native, objects = made(Request(plain, {}, asked.steady, asked.options, target))
    if native.manifest.hosts:
        v = next((v for v in plain.everything if v.op.family == "host"), None) or next(
            v for v in optimised(asked).everything if role_of(v) is Host)
        raise GraphError(f"{name} needs Python for {v.op.name}, which no library has", where=", ".join(lines(v.where)),
                         hint="Compute that outside of the function, and pass it as an argument.")
    flushes = native.manifest.multiplies and options.precision != "strict"
    program = export.Exported(name, native.manifest, graph, held, flushes)
    return export.library(program, objects, target), program.open, target.name


def write(request: Request, add: Callable[[ir.Module], None], report: Report, known: Known | None = None
          ) -> tuple[Laid, Entry]:
    """The stages from a graph to the text of its code, which `add` is given kernel by kernel, but for what is `known`.
    """
    from stele.backend.cpu import budget, build

    options, target, known = request.options, request.target, {} if known is None else known
    lowered = lower(request, report)
    if options.budget is None:
        with report.phase("memory layout"):
            laid = build.lay_out(lowered, report)
        with report.phase("schedule and emit"):
            return laid, build.emit(laid, target, options.precision, add, report, known, request.timed)
    entries: list[ir.Module] = []

    def emit(laid: Laid, draft: str) -> Entry:
        def sort(module: ir.Module) -> None:
            (entries.append if module.name == PROGRAM else add)(module)
        return build.emit(laid, target, options.precision, sort, report, known, request.timed, draft)

    def drawn(laid: Laid) -> Entry:
        return build.emit(laid, target, options.precision, unread, Report(), emitted(request))

    with report.phase("memory budget"):
        found = budget.planned_in(options.budget, lowered, request.hints, emit, drawn,
                                  lambda levels: lower(replace(request, levels=levels), Report()), report)
        add(entries[-1])
        return found


def emitted(request: Request) -> Known:
    """What is known of kernels that were emitted to know their memory."""
    return EMITTED.setdefault((request.target.key, request.options.precision), Newest(MOST))


def unread(module: ir.Module) -> None:
    """Takes the text of a kernel whose memory alone is of interest."""


def lower(request: Request, report: Report) -> Lowered:
    """The graph of a request after every pass, and its kernels."""
    from stele.backend.cpu.build import Lowered
    from stele.backend.cpu.library import library
    from stele.kernel.fuse import fuse

    options, target = request.options, request.target
    with report.phase("optimise"):
        graph = optimised(request, report)
    with report.phase("library rules"):
        graph = graph if LIBRARY in options.without else library(graph, target, options.precision, report)
    with report.phase("fuse"):
        return Lowered(graph, fuse(graph, target, report), request.donated, request.steady, target)


def memory(request: Request, sizes: Mapping[str, int] = {}) -> Memory:
    """What a call of the program takes at these sizes, from its graph alone: nothing is compiled."""
    from stele.backend.cpu import build

    return build.planned(*write(request, unread, Report(), emitted(request))).at(sizes)


def optimised(request: Request, report: Report | None = None) -> Graph:
    """The graph of a request after every pass."""
    return optimise(request.graph, request.options, request.sizes, report, request.target, request.levels)


def forms(request: Request) -> list[Callable[[], Graph]]:
    """The graph as it was traced, and after every pass: under a budget also with its loops in segments."""
    levels = 0
    if request.options.budget is not None:
        from stele.transform.segments import LEVELS as levels
    return [lambda: request.graph, *(partial(optimised, replace(request, levels=k)) for k in range(1 + levels))]


def optimise(graph: Graph, options: Options, sizes: Sizes | None = None, report: Report | None = None,
             machine: Machine | None = None, levels: int = 0) -> Graph:
    """The graph after every pass, in order; STELE_SHOW prints passes by name, STELE_CHECK=1 verifies after each, by
    what is known of `sizes`. Loops are cut into segments at so many `levels`.
    """
    report = report or Report()
    show("graph", lambda: text_of(graph))
    for name, run in passes(options, machine, levels, sizes.hints if sizes else {}):
        with setting(REWRITING, True):
            before, graph = graph, run(graph, report=report)
        report.passes.append((name, len(before.values), len(graph.values)))
        watch(name, before, graph, sizes)
    return graph


def passes(options: Options, machine: Machine | None, levels: int, hints: Mapping[str, int]
           ) -> Iterator[tuple[str, Pass]]:
    """The passes that options ask for, `segments` where there are levels. What lies in memory only the kernels of a
    machine say, of which none holds a checkpoint."""
    left = options.without - {"inline"} if options.backend == "cpu" else options.without
    for name in PASSES if options.precision != "bf16" else (*PASSES, NARROW):
        if name not in left and (levels or name != SEGMENTS):
            run: Pass = getattr(importlib.import_module(f"stele.transform.{name}"), name)
            if name == SEGMENTS:
                run = partial(run, levels=levels, sizes=hints)
            if name in ("expand", "merge") and options.precision == "strict":
                run = partial(run, direct=True)
            if name == NARROW:
                from stele.kernel.fuse import lying
                run = partial(run, memory=lying if machine is None else partial(lying, machine=machine))
            yield name, run


def text_of(graph: Graph) -> str:
    """The text of a graph."""
    from stele.ir.text import show
    return show(graph)


def watch(name: str, before: Graph, after: Graph, sizes: Sizes | None) -> None:
    """Prints and verifies what a pass made of a graph, where that is asked for."""
    show(name, lambda: "changed nothing" if after.digest == before.digest else text_of(after))
    if "graph" in config.CHECK():
        from stele.ir.verify import verify
        try:
            verify(after, sizes and sizes.hints, sizes and sizes.guards)
        except GraphError as error:
            raise GraphError(f"{name} left a graph that is not sound: {error}",
                             hint=f"Leave the pass out with without=frozenset({{{name!r}}}), and report it.") from None


@public
def set_threads(threads: int) -> None:
    """Runs programs on so many `threads` from the next call on, the caller's among them: 1 to 64.

    Results do not depend on it, to the last bit. Without a call it is STELE_THREADS, or what the machine has. Raises
    ConfigError for other numbers.

    >>> before = st.get_threads()
    >>> st.set_threads(2); st.get_threads()
    2
    >>> st.set_threads(before)
    """
    importlib.import_module("stele.backend.cpu.pool").set_threads(whole(threads, "threads"))


@public
def get_threads() -> int:
    """The number of threads that the next program runs on, the caller's included; see `set_threads`.

    >>> 1 <= st.get_threads() <= 64
    True
    """
    return importlib.import_module("stele.backend.cpu.pool").current().threads
