"""The whole compiler on one page: from a graph to a program."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from stele import config
from stele.backend.base import Precision, Program
from stele.errors import ArgumentError, GraphError
from stele.ir.graph import Graph
from stele.ir.stages import show
from stele.ops.arguments import choice, sequence

Pass = Callable[[Graph], Graph]

# In order. A pass is the function of its name in `transform/NAME.py`; what compiles is loaded with the first program.
PASSES = ("share", "simplify", "stabilize", "expand", "share", "merge", "simplify", "share")
BACKENDS = {"cpu": ("stele.backend.cpu.program", "compile"), "reference": ("stele.backend.interpreter", "compile")}


@dataclass(frozen=True)
class Options:
    """How a program is made: its backend (STELE_BACKEND without one), the passes left out by name, and how precise
    algorithms have to be: `precision="strict"` computes convolutions directly, as their sums are written;
    `precision="bf16"` rounds the operands of float32 matrix products to bfloat16 and sums in float32.
    """

    backend: str = field(default_factory=config.BACKEND)
    without: frozenset[str] = frozenset()
    precision: Precision = "fast"

    def __post_init__(self) -> None:
        choice(self.backend, "backend", BACKENDS)
        choice(self.precision, "precision", get_args(Precision))
        given: Any = self.without
        names = (given,) if isinstance(given, str) else sequence(given, "without", "a set of names", unordered=True)
        known = dict.fromkeys(PASSES)
        object.__setattr__(self, "without", frozenset(choice(name, "a pass in without", known) for name in names))


def options_of(what: str, given: Mapping[str, Any], *others: str) -> Options:
    """The options that `what` was called with, where it knows `others` too; raises for those that there are not."""
    known = [*others, *(option.name for option in fields(Options))]
    for name in given:
        choice(name, f"an option of {what}", known, ArgumentError)
    return Options(**given)


def pass_named(name: str) -> Pass:
    """The pass of a name, loaded when it first runs."""
    return getattr(importlib.import_module(f"stele.transform.{name}"), name)


def optimise(graph: Graph, options: Options) -> Graph:
    """The graph after every pass, in order; STELE_SHOW prints passes by name, STELE_CHECK=1 verifies after each."""
    show("graph", lambda: text_of(graph))
    for name in PASSES:
        if name not in options.without:
            graph = watched(name, graph, pass_named(name)(graph))
    return graph


def text_of(graph: Graph) -> str:
    """The text of a graph."""
    from stele.ir.text import show
    return show(graph)


def watched(name: str, before: Graph, after: Graph) -> Graph:
    """What a pass made of a graph, printed and verified where that is asked for."""
    show(name, lambda: "changed nothing" if after.digest == before.digest else text_of(after))
    if "graph" in config.CHECK():
        from stele.ir.verify import verify
        try:
            verify(after)
        except GraphError as error:
            raise GraphError(f"{name} left a graph that is not sound: {error}",
                             hint=f"Leave the pass out with without=frozenset({{{name!r}}}), and report it.") from None
    return after


def build(graph: Graph, *, donate: Mapping[int, int] = {}, steady: Collection[int] = (), options: Options) -> Program:
    """A program that computes the graph's results from its parameters.

    `donate[k] = j`: the buffer of parameter k may be overwritten by result j. What only parameters in `steady` decide
    is computed once, and again when one of them is another. STELE_CHECK=nan looks for NaN behind every call.
    """
    module, name = BACKENDS[options.backend]
    compile = getattr(importlib.import_module(module), name)
    program = compile(graph, lambda traced: optimise(traced, options), donate, steady, options.precision, repr(options))
    if "nan" in config.CHECK():
        return importlib.import_module("stele.backend.finite").Watched(program, graph)
    return program


def set_threads(threads: int) -> None:
    """Runs programs on this many threads from the next call on, 1 to 64; results do not depend on it."""
    importlib.import_module("stele.backend.cpu.pool").set_threads(threads)


def get_threads() -> int:
    """Threads that the next program runs on, the caller's included."""
    return importlib.import_module("stele.backend.cpu.pool").current().threads
