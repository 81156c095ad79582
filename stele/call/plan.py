"""What one call of a traced function does, as tables: guards, inputs, results."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from stele.arrays.tensor import Tensor
from stele.arrays.views import related
from stele.backend.base import Program
from stele.backend.buffers import Buffer
from stele.eager.evaluate import known
from stele.eager.handle import Handle
from stele.eager.live import Live, result
from stele.eager.template import Recorded
from stele.ir.graph import Graph, Parameter, Value, interpret, rebuild
from stele.ir.origin import Where
from stele.ir.sizes import at
from stele.ir.types import Type
from stele.ops.gather import ScatterAdd, rows_added
from stele.tracing.state import NOWHERE, exact
from stele.tracing.trace import Traced
from stele.transform.retype import bind

Getter = tuple[Any, Any]
new: Any = object.__new__


def references(handle: Handle) -> tuple[int, int]:
    """How many hold the handle's value, and how many its buffer."""
    value = handle._value
    return sys.getrefcount(value), sys.getrefcount(value.data)


ALONE = references(Tensor(known(np.zeros(1))))


def is_alone(handle: Handle) -> bool:
    """Whether nobody but the handle can see its numbers, views handed out aside."""
    values, buffers = references(handle)
    return values <= ALONE[0] and buffers <= ALONE[1]


def sized(base: Any) -> int | None:
    """How many entries a container has; None where it is no more."""
    try:
        return len(base)
    except NOWHERE:
        return None


class Rows(NamedTuple):
    """A gradient of a table of which few rows occur: which results are added up for rows, and the rows. It is one table
    when somebody looks at it, which nobody does who forgets it first."""

    op: ScatterAdd
    type: Type
    where: Where
    parts: int
    at: int


class Plan:
    """What one call does: guards that must hold, where inputs come from, where results go."""

    def __init__(self, traced: Traced, program: Program, leaves: Sequence[Any], donated: Mapping[int, int],
                 free: Mapping[str, int]) -> None:
        self.traced, self.program, self.free = traced, program, free    # sizes that no argument says
        self.graph, self.rows = running(traced)
        self.argument = {id(x): k for k, x in enumerate(leaves) if isinstance(x, Handle)}
        self.getters = [self.getter(h) for h in traced.handles]
        entry = {h: traced.graph.parameters[k].type for h, k in traced.read.items()}
        self.types = [(h, t, traced.handles[h].requires_grad) for h, t in entry.items()
                      if self.getters[h][0] is not None]
        self.inputs = traced.inputs
        self.constants = [v.data for v in traced.constants]
        self.donated = [(k, traced.inputs[k][1]) for k in donated]
        state = traced.state
        self.same = [(slot.base, slot.key, x) for slot, x in state.objects]
        self.kinds = [(slot.base, slot.key, kind) for slot, kind in state.kinds]
        self.equal = [(slot.base, slot.key, x) for slot, x in state.numbers]
        self.tuples = [(slot.base, slot.key, type(x), len(x)) for slot, x in state.tuples]
        self.lengths = [(base, n) for base, n, _ in state.lengths]
        self.spaces = [(x.base, x.size, x.absent) for x in state.spaces.values() if x.absent]
        self.arrays = traced.arrays
        number = {id(h): k for k, h in enumerate(traced.handles)}
        self.aliases = [(slot.base, slot.key, number[id_]) for id_, slots in state.tensors.items() if id_ in number
                        for slot in slots]
        self.written = [h for h, j in (*traced.left, *traced.writes) if j is not None]
        self.related = related(traced.handles, self.written)    # type: ignore[arg-type]
        self.differentiable = traced.carries

    def getter(self, handle: Handle) -> Getter:
        """Where a call finds a handle: among its arguments, in a slot, or always the same one."""
        if id(handle) in self.argument:
            return None, self.argument[id(handle)]
        slots = self.traced.state.tensors.get(id(handle))
        return (slots[0].base, slots[0].key) if slots else ((handle,), 0)

    def broken(self) -> Iterator[str]:
        """The guards of state that do not hold now, in words."""
        state = self.traced.state
        for slot, kind in state.kinds:
            if type(now := slot.held()) is not kind:
                yield f"{slot.path} is {now!r:.40}, no {kind.__name__}"
        for slot, x in state.numbers:
            if (now := slot.held()) is not x and (type(now) is not type(x) or exact(now) != exact(x)):
                yield f"{slot.path} was {x!r}, now {now!r}"
        for base, n, path in state.lengths:
            if (now := sized(base)) != n:
                yield f"{path or 'a container'} had {n} entries, now {now}"
        yield from (f"the code of {f.__qualname__} was another" for f, code, given in state.codes
                    if f.__code__ is not code or f.__defaults__ is not given)
        for space in state.spaces.values():
            yield from (f"{space.path}.{name} was not there".lstrip(".") for name in space.absent & space.base.keys())
        for slot, x in (*state.objects, *state.tuples):
            now = slot.held()
            fits = type(now) is type(x) and len(now) == len(x) if isinstance(x, tuple) else now is x
            if not fits:
                same = "another" if type(now) is type(x) else f"{now!r:.40}, no"
                yield f"{slot.path} is {same} {type(x).__name__}"
        for h, handle in enumerate(self.traced.handles):
            slots = state.tensors.get(id(handle)) or ()
            path, now = (slots[0].path, slots[0].held()) if slots else ("a tensor", handle)
            yield from (f"{slot.path} and {path} were one tensor" for slot in slots[1:] if slot.held() is not now)
            if not isinstance(now, Tensor):
                yield f"{path} was a tensor, now {now!r:.40}"
                continue
            yield from (f"{path} was {type}, now {now._value.type}" for k, type, _ in self.types
                        if k == h and now._value.type != type)
            yield from (f"requires_grad of {path} was {flag}, now {now._requires_grad}" for k, _, flag in self.types
                        if k == h and now._requires_grad is not flag)
            yield from (f"the gradient of {path} was {'None' if g is None else 'there'}, now it is not"
                        for k, g in self.traced.grads_read if k == h and (now._grad is None) is not (g is None))

    @cached_property
    def quiet(self) -> Plan:
        """The same call, whose results carry no gradients."""
        made = [m._replace(requires_grad=False) for m in self.traced.made]
        found = copy(self)
        found.traced, found.differentiable = replace(self.traced, made=made), False
        return found


class Past:
    """How the results of a plan's calls at some sizes came about, so that they differentiate.

    A call keeps what it took, and is written out when somebody first asks: expressions over the inputs, and over those
    of its results that are still there. A result is a call `(past, which, taken, results, written)`, see `Recorded`.
    """

    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.open, self.sizes = plan.traced.graph, sizes
        parameters, results = self.open.parameters, self.open.results
        self.types = [concrete(v.type, sizes) for v in parameters]
        self.passed = {j: parameters.index(v) for j, v in enumerate(results) if v in parameters}
        self.results = [(results.index(v), concrete(v.type, sizes), v.where) for v in results]

    @cached_property
    def graph(self) -> Graph:
        """The graph at these sizes."""
        return bind(self.open, self.sizes) if self.sizes else self.open

    def of(self, taken: Sequence[Any], made: Sequence[Buffer]) -> list[Live]:
        """The results of a call, which have their numbers: `taken` are inputs, values or what is in memory."""
        refs, written, found = list[Any](), list[Any](), list[Live]()
        for j, (first, type, where) in enumerate(self.results):
            if first < j:
                v = found[first]
            elif j in self.passed:
                v = self.given(taken, self.passed[j])
            else:
                v = new(Recorded)
                v.type, v.where, v.data, v.owner, v.call = type, where, made[j], None, (self, j, taken, refs, written)
            found.append(v)
            refs.append(ref(v))
        return found

    def given(self, taken: Sequence[Any], k: int) -> Live:
        """An input as a value."""
        x = taken[k]
        return x if isinstance(x, Live) else result(Parameter("value", self.types[k]), self.open.parameters[k].where, x)

    def part(self, name: str, call: Any, where: Where) -> Any:
        """The op or the args of a result, which has them from now on, as the others of its call do."""
        _, j, taken, refs, written = call
        if not written:
            written.append(self.args(taken, refs))      # two threads at once: the first one counts
        for v, x in zip(self.graph.results, [r() for r in refs]):
            if x is not None and v in written[0] and x.call is not None:
                x.op, x.args, x.call = v.op, written[0][v], None
        v = self.graph.results[j]
        return v.op if name == "op" else written[0][v]

    def args(self, taken: Sequence[Any], refs: Sequence[Any]) -> dict[Value, tuple[Value, ...]]:
        """The operands of each result."""
        there = {v: x for v, r in zip(self.graph.results, refs) if (x := r()) is not None}
        found: dict[Value, tuple[Value, ...]] = {}

        def written(v: Value, x: list[Value]) -> Value:
            if v not in there:
                return rebuild(v, x)
            found[v] = tuple(x)
            return there[v]
        interpret(self.graph, [self.given(taken, k) for k in range(len(taken))], written)
        return found


def concrete(type: Type, sizes: Mapping[str, int]) -> Type:
    """A type with numbers for its named sizes; the type itself where it has none."""
    return type if not sizes else type.with_shape(tuple(at(n, sizes) for n in type.shape))


def running(traced: Traced) -> tuple[Graph, dict[int, Rows]]:
    """The graph that runs, without guards, which calls check: gradients that are left behind are returned as `Rows`
    where they can be, by the number of what is made."""
    results, rows = [*traced.graph.results], dict[int, Rows]()
    elsewhere = [p.what for parts in (traced.returned[1], *(parts for _, _, parts in traced.slots)) for p in parts
                 if p.kind == "made"]
    for _, part in traced.grads:
        if part.kind != "made" or part.what in elsewhere:
            continue
        j = traced.made[part.what].result
        g = results[j]
        if (found := rows_added(g)) is not None and isinstance(g.op, ScatterAdd) and isinstance(g.op.size, int):
            rows[part.what] = Rows(g.op, g.type, g.where, j, len(results))
            results[j:j + 1], results[len(results):] = found[:1], found[1:]
    return Graph(traced.graph.parameters, tuple(results)), rows


def donations(traced: Traced, graph: Graph) -> dict[int, int]:
    """Which parameters' memory a result may take over: what is rebound, unless its old value is a result as well, or is
    read when that is differentiated."""
    if traced.carries:
        return {}
    results = graph.results
    number = traced.read
    found: dict[int, int] = {}
    for h, j in traced.writes:
        k = number.get(h)
        if k is None or (old := graph.parameters[k]) in results:
            continue
        if results[j].type == old.type:
            found[k] = j
    return found


def steady(traced: Traced, leaves: Sequence[Any]) -> tuple[int, ...]:
    """Which parameters will likely be the same at the next call: state that is only read, and constants. None where
    gradients are left behind, as state changes between such calls.
    """
    if traced.grads:
        return ()
    changing = {id(x) for x in leaves} | {id(traced.handles[h]) for h, _ in traced.writes}
    read = (k for h, k in traced.read.items() if id(traced.handles[h]) not in changing)
    return (*read, *range(len(traced.inputs), len(traced.graph.parameters)))
