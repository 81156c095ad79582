"""The engine of rewriting: rules are tried bottom-up, to a fixed point, and every firing is accounted for."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from operator import is_
from typing import Any, cast

from stele.errors import GraphError
from stele.ir.graph import Graph, Op, Parameter, Value, parameter, walk
from stele.ir.origin import NOWHERE, Origin, Where, inherit, lines
from stele.ir.report import Report
from stele.ir.types import REAL, DType, Shape, Type, float32
from stele.ir.verify import agree

Match = Callable[[Value], Value | None]
Example = Callable[[Value], Value] | Callable[[Value, Value], Value] | Callable[[Value, Value, Value], Value] | \
    Callable[[Value, Value, Value, Value], Value]
FRESH: Where = frozenset((Origin("rewrite"),))
Table = dict[type[Op], dict[str, list["Rule"]]]
"""Rules by the root's op and the dtype of its last operand."""


@dataclass(frozen=True, eq=False)
class Rule:
    """One rewrite: `match` gives a value of the same type that may stand for its argument, or None.

    `example` is a graph on which the rule must fire; `inputs` its parameters' shapes (or whole types), `domain` the
    interval its floats are drawn from. `error` bounds max|a-b| / max|b| of the two sides, in units of the dtype's
    epsilon; 0 promises the same bits. `hard`, if given, is an `x` at which the original loses its digits, and the true
    result there (of each row, other inputs being 1), which the replacement must give.
    The rule is tried on values of the example's root op, and on those of the ops in `also`, where the last operand is
    of one of `dtypes`: those for which the identity holds whatever the numbers are, integers that wrap included. Of
    complex numbers there are no rules: programs hold none (`transform/pairs.py`).
    """

    match: Match
    example: Callable[..., Value]
    inputs: dict[str, Shape | Type]
    error: float
    domain: tuple[float, float]
    hard: tuple[float, float | tuple[float, ...]] | None
    also: tuple[type[Op], ...]
    dtypes: tuple[DType, ...]

    @property
    def name(self) -> str:
        return self.match.__name__

    @property
    def doc(self) -> str:
        return inspect.cleandoc(self.match.__doc__ or "").partition("\n")[0]

    def graph(self, dtype: DType = float32) -> Graph:
        """The example over fresh parameters; `dtype` is that of parameters given by shape alone."""
        types = {k: t if isinstance(t, Type) else Type(dtype, t) for k, t in self.inputs.items()}
        made = {k: parameter(k, t) for k, t in types.items()}
        return Graph(tuple(made.values()), (self.example(**made),))

    @cached_property
    def roots(self) -> tuple[type[Op], ...]:
        return tuple(dict.fromkeys((type(self.graph().results[0].op), *self.also)))

    @cached_property
    def depth(self) -> int:
        """How many levels of values below the root the example's pattern spans."""
        height: dict[Value, int] = {}
        for v in (result := self.graph()):
            height[v] = 1 + max((height[a] for a in v.args), default=0)
        return height[result.results[0]] - 1


def rule(example: Example, *, error: float = 0, domain: tuple[float, float] = (-3, 3),
         hard: tuple[float, float | tuple[float, ...]] | None = None, also: tuple[type[Op], ...] = (),
         dtypes: tuple[DType, ...] = REAL, **inputs: Shape | Type) -> Callable[[Match], Rule]:
    """Makes a function a rule, given a graph on which it must fire; its parameters are (2, 3) unless said otherwise.

    >>> @rule(lambda x: log(exp(x)), error=8)
    ... def log_of_exp(v):
    ...     '''log(exp(x)) = x'''
    ...     match v:
    ...         case Value(Log(), [Value(Exp(), [x])]): return x
    """
    names = inspect.signature(example).parameters
    types: dict[str, Shape | Type] = {k: inputs.get(k, (2, 3)) for k in names}
    return lambda match: Rule(match, example, types, error, domain, hard, also, dtypes)


def rewrite(graph: Graph, rules: Iterable[Rule], off: Collection[str] = (), report: Report | None = None) -> Graph:
    """The graph, and the graphs its ops hold, with `rules` applied until none fires, but for those named in `off`."""
    with inherit(FRESH):
        return Rewriter(table(tuple(rules), frozenset(off)), Report() if report is None else report).graph(graph)


@lru_cache(64)
def table(rules: Sequence[Rule], off: Collection[str]) -> Table:
    """The rules that are not off, by what they are tried on: thousands of places, so it is made once."""
    found: Table = {}
    for r in rules:
        for root in () if r.name in off else r.roots:
            for dtype in r.dtypes:
                found.setdefault(root, {}).setdefault(dtype.name, []).append(r)
    return found


class Rewriter:
    """One run of the engine over one graph; values in `done` have met every rule and are final."""

    def __init__(self, table: Table, report: Report) -> None:
        self.table, self.report = table, report
        self.done: dict[Value, Value] = {}
        self.extra: dict[Value, Where] = {}
        self.fired, self.limit = 0, 0
        self.last: list[str] = []

    def graph(self, graph: Graph) -> Graph:
        self.limit = 100 + 20 * len(graph.values)
        self.done.update((p, p) for p in graph.parameters)
        becomes: dict[Value, Value] = {}
        for v in graph.values:
            if v not in self.done and (new := self.settled(v)) is not None:
                becomes[v] = new
                self.follow(v, becomes)
        return with_origins(with_results(graph, tuple(self.done[v] for v in graph.results)), self.extra)

    def follow(self, v: Value, becomes: dict[Value, Value]) -> None:
        """Makes final what a value becomes, and all that this needs."""
        stack = [v]
        while stack:
            v = stack[-1]
            if v in self.done:
                stack.pop()
            elif waiting := [a for a in ((becomes[v],) if v in becomes else v.args) if a not in self.done]:
                stack.extend(reversed(waiting))
            elif v in becomes:
                self.done[v] = self.done[becomes[v]]
            elif (new := self.settled(v)) is not None:
                becomes[v] = new

    def settled(self, v: Value) -> Value | None:
        """What a value whose operands are final is replaced by; if by nothing, it is final itself."""
        now = self.rebuilt(v)
        new = self.step(now)
        if new is None:
            self.done[v] = self.done[now] = now
        return new

    def rebuilt(self, v: Value) -> Value:
        """The value over final operands and rewritten inner graphs."""
        args = tuple([self.done[a] for a in v.args])
        op = within(v.op, lambda g: Rewriter(self.table, self.report).graph(g)) if v.op.family == "control" else v.op
        return v if op is v.op and args == v.args else Value(op, args, v.type, v.where)

    def step(self, v: Value) -> Value | None:
        """What the first rule that fires makes of v."""
        by_dtype = self.table.get(type(v.op))
        for r in () if by_dtype is None else by_dtype.get(v.args[-1].dtype.name, ()):
            new = r.match(v)
            if new is None or new is v or (new.type != v.type and is_only_size(r, v, new)):
                continue
            self.fired += 1
            if self.fired > self.limit:
                self.report.unfinished = sorted(set(self.last))
                return None
            self.last = [*self.last[-7:], r.name]
            return self.accounted(r, v, new)
        return None

    def accounted(self, r: Rule, v: Value, new: Value) -> Value:
        """What replaces v, with the origins of what is replaced; the firing is reported."""
        made = [u for u in walk([new], stop=lambda u: u.where is not FRESH) if u.where is FRESH]
        kept = {a for u in made for a in u.args} | {new}
        where, level = v.where | self.extra.get(v, NOWHERE), [v]
        for _ in range(r.depth):
            level = list({a: None for u in level for a in u.args if a not in kept})
            where = where.union(*(u.where | self.extra.get(u, NOWHERE) for u in level))
        now: dict[Value, Value] = {}
        for u in made:
            now[u] = Value(u.op, tuple(now.get(a, a) for a in u.args), u.type, where)
        if not made and not isinstance(new.op, Parameter) and not where <= new.where:
            self.extra[new] = self.extra.get(new, NOWHERE) | where
        self.report.fired(r.name, r.doc, where)
        return now.get(new, new)


def is_only_size(r: Rule, v: Value, new: Value) -> bool:
    """Whether two types differ in how symbolic sizes are written, and no more; raises GraphError otherwise."""
    if agree(v.type, new.type):
        return True
    raise GraphError(f"the rule {r.name} made {new.type} of {v.type} at {', '.join(lines(v.where))}: a replacement "
                     f"must have the type of what it replaces; cast or reshape it, or return None")


def within(op: Op, change: Callable[[Graph], Graph]) -> Op:
    """The op with the graphs it holds changed; the op itself where none is."""
    if not op.graphs:
        return op
    new = {f.name: now for f in fields(op) if (now := changed(held := getattr(op, f.name), change)) is not held}
    return replace(op, **new) if new else op


def changed(held: Any, change: Callable[[Graph], Graph]) -> Any:
    """What a field holds, a graph or a tuple of graphs changed; itself where nothing is."""
    if isinstance(held, Graph):
        return change(held)
    parts = cast(tuple[Any, ...], held) if isinstance(held, tuple) else ()
    now = tuple(change(g) if isinstance(g, Graph) else g for g in parts)
    return cast(Any, held) if all(map(is_, now, parts)) else now


def with_origins(graph: Graph, extra: dict[Value, Where]) -> Graph:
    """The graph with further origins united into some of its values."""
    return substituted(graph, {}, extra) if extra else graph


def substituted(graph: Graph, becomes: dict[Value, Value], extra: dict[Value, Where] | None = None) -> Graph:
    """The graph where each key of `becomes` is taken by its value (of the same type), over the same parameters.

    Replacements are walked too, so they may be made of values of the old graph, of other keys even.
    """
    extra = {} if extra is None else extra
    meaning: dict[Value, Value] = {}
    stack = list(reversed(graph.results))
    while stack:
        v = stack[-1]
        needs: Sequence[Value] = (becomes[v],) if v in becomes else v.args
        if v in meaning:
            stack.pop()
        elif waiting := [a for a in needs if a not in meaning]:
            stack.extend(reversed(waiting))
        elif v in becomes:
            meaning[v] = meaning[becomes[v]]
        else:
            args, where = tuple([meaning[a] for a in v.args]), v.where | extra.get(v, NOWHERE)
            meaning[v] = v if args == v.args and where == v.where else Value(v.op, args, v.type, where)
    return with_results(graph, tuple(meaning[v] for v in graph.results))


def with_results(graph: Graph, results: tuple[Value, ...]) -> Graph:
    """The graph with other results; the graph itself where they are the same."""
    return graph if results == graph.results else Graph(graph.parameters, results, graph.guards)


def with_ops(graph: Graph, change: Callable[[Value], Op]) -> Graph:
    """The graph with another op in the place of each that changes; the graph itself where none does."""
    becomes = {v: Value(op, v.args, v.type, v.where) for v in graph.values if (op := change(v)) is not v.op}
    return substituted(graph, becomes) if becomes else graph


def everywhere(change: Callable[[Graph], Graph], graph: Graph) -> Graph:
    """The graph changed, and before it the graphs its ops hold, innermost first."""
    return change(with_ops(graph, lambda v: within(v.op, lambda g: everywhere(change, g))
                           if v.op.family == "control" else v.op))
