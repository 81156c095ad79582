"""Loops inside the graph."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from stele.errors import DeviceError, GraphError, ShapeError, TraceError
from stele.ir.graph import (
    Array,
    Constant,
    Graph,
    Item,
    Literal,
    Op,
    Operand,
    Parameter,
    Placed,
    Value,
    closed,
    fed,
    interpret,
    kind_of,
    literal,
    parameter,
    substitute,
    walk,
)
from stele.ir.origin import here, lines
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, agreeing, dtype, float32
from stele.ops.elementwise.unary import tanh
from stele.ops.linear import Broadcast, Cast, Movement, Reshape, Transfer, along, transpose, zeros_like

T = TypeVar("T")


class Parts(NamedTuple):
    """Operands or results of a loop by role."""

    carries: tuple[Any, ...]
    slices: tuple[Any, ...]
    constants: tuple[Any, ...]


class Scan(Op):
    """A loop over `length` steps that carries values on and reads and writes one slice of stacked arrays per step.

    Operands (*initial carries, *stacked xs, *constants), results (*final carries, *stacked ys); axis 0 is time. The
    body maps (*carries, *slices, *constants) to (*new carries, *ys of this step). `reverse` walks from the last step.
    """

    body: Graph
    carries: int
    slices: int
    length: Dim
    reverse: bool
    family: ClassVar[str] = "control"

    def split(self, x: Sequence[T]) -> Parts:
        """Operands, or parameters of the body, by role."""
        start = self.carries + self.slices
        return Parts(tuple(x[:self.carries]), tuple(x[self.carries:start]), tuple(x[start:]))

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        inner = tuple(v.type for v in self.body.parameters)
        if len(x) != len(inner):
            raise GraphError(f"Scan: the body takes {len(inner)} values, got {len(x)} operands")
        for k, (outer, t) in enumerate(zip(x, inner)):
            expected = stacked(t, self.length) if self.carries <= k < self.carries + self.slices else t
            if not fits(outer, expected):
                raise ShapeError(f"Scan: operand {k} must be {expected} over {self.length} steps, got {outer}")
        results = tuple(v.type for v in self.body.results)
        for k, (new, t) in enumerate(zip(results[:self.carries], inner)):
            if not fits(new, t):
                raise ShapeError(f"Scan: carry {k} goes in as {t} and comes out as {new}",
                                 hint="A carry keeps its type: give the initial value that dtype and shape.")
        return TupleType((*inner[:self.carries], *(stacked(t, self.length) for t in results[self.carries:])))

    def reference(self, *x: Array) -> tuple[Array, ...]:
        carries, xs, constants = self.split(x)
        ys: list[Array] = [np.empty(t.shape, t.dtype.numpy)  # type: ignore[arg-type]
                           for t in self.type(*(Type(dtype(v.dtype), v.shape) for v in x)).items[self.carries:]]
        steps = range(self.length)  # type: ignore[arg-type]
        for k in reversed(steps) if self.reverse else steps:
            out = evaluated(self.body, (*carries, *(v[k] for v in xs), *constants))
            carries = tuple(out[:self.carries])
            for y, now in zip(ys, out[self.carries:]):
                y[k] = now
        return (*carries, *ys)

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        back = pull(self, d, g)
        kept = read_back(self.body, back.given, back.found)
        stacks = saved(self, kept, y, x)
        loop = backward(self, back, kept)
        initial = [zeros_like(x[i]) if g[i] is None else g[i] for i in back.carries]
        totals = [zeros_like(x[i]) for i in back.constants]
        own = set(self.split(self.body.parameters).constants)
        done = loop(*initial, *totals, *(g[k] for k in back.ys),
                    *(stacks[r] for r in kept if r not in own), *(stacks[r] for r in kept if r in own))
        found: list[Value | None] = [None] * len(x)
        for k, i in enumerate((*back.carries, *back.constants, *back.slices)):
            found[i] = Item(k)(done)
        return tuple(found)

    def jvp(self, d: Any, dx: Sequence[Any], y: Value, *x: Value) -> Any:
        body, n = self.body, self.carries
        moving = [k for k, t in enumerate(dx) if t is not None]
        while True:
            given = {k: parameter(f"d{k}", body.parameters[k].type) for k in moving}
            found = d.tangents(body.results, [body.parameters[k] for k in moving], list(given.values()))
            grown = sorted({*moving, *(i for i in range(n) if found[i] is not None)})
            if grown == moving:
                break
            moving = grown
        carries, slices, constants = (tuple(k for k in moving if k in role) for role in self.split(range(len(x))))
        ys = [k for k in range(n, len(body.results)) if found[k] is not None]
        roles = zip(self.split(body.parameters), self.split(x), (carries, slices, constants))
        parameters: list[Value] = []
        operands: list[Value] = []
        for inner, outer, role in roles:
            parameters += [*inner, *(given[k] for k in role)]
            operands += [*outer, *(zeros_like(x[k]) if dx[k] is None else dx[k] for k in role)]
        new = [zeros_like(given[k]) if found[k] is None else found[k] for k in carries]
        results = (*body.results[:n], *new, *(found[k] for k in ys))
        loop = Scan(closed(parameters, results), n + len(carries), self.slices + len(slices), self.length, self.reverse)
        done = loop(*operands)
        tangents: list[Value | None] = [None] * len(body.results)
        for k, i in enumerate((*carries, *ys)):
            tangents[i] = Item(n + k)(done)
        return tuple(tangents)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """A loop whose body runs at all places, and carries have their axis."""
        carries, slices, constants = self.split(x)
        flags = [True] * len(carries) + [is_placed for _, is_placed in (*slices, *constants)]
        swapped = [swap_first(a) if is_placed else a for a, is_placed in slices]
        loop = replace(self, body=d.batch(self.body, flags, n))(
            *(along(a, n) for a in carries), *swapped, *(a for a, _ in constants))
        parts = [Item(k)(loop) for k in range(len(self.body.results))]
        return *parts[:self.carries], *map(swap_first, parts[self.carries:])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        h, x, w = (parameter(n, Type(float32, shape)) for n, shape in (("h", (2,)), ("x", (2,)), ("w", (2,))))
        new = tanh(h * w + x)
        body = Graph((h, x, w), (new, new * x))
        operands = Type(float32, (2,)), Type(float32, (4, 2)), Type(float32, (2,))
        return (cls(body, 1, 1, 4, False), operands), (cls(body, 1, 1, 4, True), operands)


def evaluated(graph: Graph, x: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a graph in NumPy."""
    return tuple(interpret(graph, x, lambda v, x: v.op.reference(*x)))


def parts(v: Value) -> tuple[Value, ...]:
    """The arrays that a value is."""
    return tuple(Item(k)(v) for k in range(len(v.type.items))) if isinstance(v.type, TupleType) else (v,)


def swap_first(x: Value) -> Value:
    """x with its first two axes exchanged."""
    return transpose(x, (1, 0, *range(2, x.ndim)))


def stacked(t: Type, length: Dim) -> Type:
    """The type of one slice per step."""
    return t.with_shape((length, *t.shape))


class Pull(NamedTuple):
    """The derivative of a loop's body, in terms of the body's own values.

    `given` are parameters for the cotangents of the new `carries` and of `ys`; `found` the cotangents of `carries`,
    `constants` and `slices`. All of these name operands or results of the loop by position.
    """

    carries: tuple[int, ...]
    ys: tuple[int, ...]
    constants: tuple[int, ...]
    slices: tuple[int, ...]
    given: tuple[Value, ...]
    found: tuple[Value, ...]


def pull(loop: Scan, d: Any, g: Sequence[Value | None]) -> Pull:
    """One step backwards; a carry takes part once its cotangent can be other than zero."""
    inner, results, n = loop.body.parameters, loop.body.results, loop.carries
    ys = tuple(k for k in range(n, len(results)) if g[k] is not None)
    live = tuple(k for k in range(n) if g[k] is not None)
    wrt = [k for k in range(len(inner)) if k < n or d.wanted[k]]
    while True:
        given = tuple(parameter(f"g{k}", results[k].type) for k in (*live, *ys))
        found = dict(zip(wrt, d.gradients([results[k] for k in (*live, *ys)], given, [inner[k] for k in wrt])))
        grown = tuple(k for k in range(n) if k in live or found[k] is not None)
        if grown == live:
            break
        live = grown
    _, *roles = loop.split(range(len(inner)))
    slices, constants = (tuple(k for k in role if found.get(k) is not None) for role in roles)
    cotangents = (found[k] or zeros_like(inner[k]) for k in (*live, *constants, *slices))
    return Pull(live, ys, constants, slices, given, tuple(cotangents))


def read_back(body: Graph, given: Sequence[Value], found: Sequence[Value]) -> list[Value]:
    """The values of a body that its derivative reads, `found` from what is `given`; what is cheap is computed again
    from those."""
    forward = {*body.values, *body.parameters}
    late = fed(walk(found), given)

    def is_kept(v: Value) -> bool:
        return v not in late and not is_cheap(v) and (v in forward or is_heavy(v))

    return [v for v in walk(found, is_kept) if is_kept(v)]


def is_cheap(v: Value) -> bool:
    """Whether a value is never worth storing: numbers, views, functions of the index, tuples (their items are)."""
    return isinstance(v.op, Literal | Constant | Movement) or v.op.family == "generate" or isinstance(v.type, TupleType)


def is_heavy(v: Value) -> bool:
    """Whether a value is worth storing although only the derivative uses it."""
    op = v.args[0].op if isinstance(v.op, Item) else v.op
    return op.family in ("reduction", "contraction", "control", "indexing", "foreign")


def saved(loop: Scan, kept: Sequence[Value], y: Value, x: Sequence[Value]) -> dict[Value, Value]:
    """For each value the backward loop reads its stack over all steps, or the constant it is.

    What the forward loop does not emit yet it emits as further results behind its own.
    """
    body, n = loop.body, loop.carries
    known = dict(zip(body.parameters[n:], x[n:]))
    emitted = body.results[n:]
    extra = tuple(r for r in kept if r not in known and r not in emitted)
    if extra:
        graph = closed(body.parameters, (*body.results, *extra))
        y = Scan(graph, n, loop.slices, loop.length, loop.reverse)(*x)
    position = {r: k for k, r in reversed(list(enumerate((*emitted, *extra), n)))}
    return {r: known[r] if r in known else Item(position[r])(y) for r in kept}


def backward(loop: Scan, back: Pull, kept: Sequence[Value]) -> Scan:
    """The loop that walks back: it carries the cotangents of carries and the growing ones of constants."""
    own = set(loop.split(loop.body.parameters).constants)
    read = [parameter(f"r{k}", r.type) for k, r in enumerate(kept)]
    found = substitute(Graph((*back.given, *kept), back.found), (*back.given, *read))
    n, m = len(back.carries), len(back.carries) + len(back.constants)
    totals = [parameter(f"sum{k}", g.type) for k, g in enumerate(found[n:m])]
    slices = [*back.given[n:], *(v for v, r in zip(read, kept) if r not in own)]
    constants = [v for v, r in zip(read, kept) if r in own]
    results = (*found[:n], *(t + g for t, g in zip(totals, found[n:m])), *found[m:])
    body = closed((*back.given[:n], *totals, *slices, *constants), results)
    return Scan(body, m, len(slices), loop.length, not loop.reverse)


Step = Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Sequence[Operand], Sequence[Operand]]]


def scan(f: Step, init: Sequence[Operand], xs: Sequence[Value], *, length: Dim | None = None,
         reverse: bool = False) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Final carries and stacked ys of `carries, ys = f(carries, slices)` over the first axis of `xs`.

    What `f` takes from outside becomes an operand; what it computes from that alone is computed once, before the loop.
    """
    if length is None and not xs:
        raise TraceError("scan needs xs to loop over", hint="Or give length=, the number of steps.")
    steps = xs[0].shape[0] if length is None else length
    start = [v if isinstance(v, Value) else literal(v) for v in init]
    body, captured = traced(f, start, [v.type.with_shape(v.shape[1:]) for v in xs], kind_of((*start, *xs)))
    carries, slices = len(start), len(xs)
    done = Scan(body, carries, slices, steps, reverse)(*start, *xs, *captured)
    items = tuple(Item(k)(done) for k in range(len(body.results)))
    return items[:carries], items[carries:]


def traced(f: Step, start: Sequence[Value], slices: Sequence[Type], kind: type[Value]) -> tuple[Graph, list[Value]]:
    """The graph of a step that takes carries like `start` and these slices, and behind them what it takes from outside,
    which is returned too."""
    inputs = inside([*(v.type for v in start), *slices], kind)
    new, ys = f(inputs[:len(start)], inputs[len(start):])
    if len(new) != len(start):
        raise TraceError(f"scan: the step takes {len(start)} carries and returns {len(new)}",
                         hint="Return as many as it takes: (carries, ys).")
    results = values((*new, *ys))
    (graph,), captured = enclosed([(inputs, results)], outside(results, inputs), "scan")
    return graph, captured


Traced = tuple[tuple[Value, ...], tuple[Operand, ...]]
"""The inputs of a function, and the results that it made of them."""


class Inside(Parameter):
    """An input of a function that becomes a graph within the graph; nothing outside of the function may use it."""


def inside(types: Sequence[Type], kind: type[Value]) -> tuple[Value, ...]:
    """Inputs of these types for a function that becomes a graph."""
    return tuple(kind(Inside(f"x{k}", type), (), type, here()) for k, type in enumerate(types))


def values(x: Sequence[Operand]) -> tuple[Value, ...]:
    """Numbers as values of their own dtype."""
    return tuple(v if isinstance(v, Value) else literal(v) for v in x)


def enclosed(bodies: Sequence[Traced], known: Collection[Value], what: str) -> tuple[list[Graph], list[Value]]:
    """Functions of inputs alike as graphs, whose further parameters are all that one of them takes from outside, which
    is returned too: of the `known` values what it reads first, what else has no operands, and what comes from another
    device."""
    parts = [(inputs, values(results)) for inputs, results in bodies]
    late = fed(walk(v for _, results in parts for v in results), (v for inputs, _ in parts for v in inputs))

    def is_early(v: Value) -> bool:
        return v in known or (isinstance(v.op, Parameter | Transfer) and v not in late)

    captured = list(dict.fromkeys(v for _, results in parts for v in walk(results, is_early) if is_early(v)))
    graphs: list[Graph] = []
    for inputs, results in parts:
        given = [parameter(f"x{k}", v.type) for k, v in enumerate(inputs)]
        constants = [parameter(f"k{k}", v.type) for k, v in enumerate(captured)]
        inner = substitute(Graph((*inputs, *captured), results), (*given, *constants))
        graphs.append(on_one_device(closed((*given, *constants), inner), what))
    return graphs, captured


def on_one_device(graph: Graph, what: str) -> Graph:
    """The graph itself; raises DeviceError where something moves inside of it."""
    for v in graph:
        if isinstance(v.op, Transfer):
            raise DeviceError(f"{what}: {v.args[0].type} is moved to {v.op.device} inside, but all of it runs on one "
                              "device", where=", ".join(lines(v.where)), hint="Move what it takes before.")
    return graph


def fits(a: Type, b: Type) -> bool:
    """Whether two types are the same, as far as their sizes are known."""
    return a.dtype == b.dtype and a.ndim == b.ndim and all(map(agreeing, a.shape, b.shape))


def outside(results: Sequence[Value], inside: Sequence[Value]) -> list[Value]:
    """The largest values that `results` need and that do not depend on `inside`, numbers aside."""
    values = walk(results)
    depends = fed(values, inside)
    numbers: set[Value] = set()
    for v in values:
        if isinstance(v.op, Literal) or (isinstance(v.op, Broadcast | Cast | Reshape) and v.args[0] in numbers):
            numbers.add(v)
    reached = (a for v in values if v in depends for a in v.args)
    return list(dict.fromkeys(v for v in (*reached, *results) if v not in depends and v not in numbers))


ALL = (Scan,)
