"""Loops inside the graph that go on as long as a test holds."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, TypeVar

from stele.errors import DTypeError, GraphError, ShapeError
from stele.ir.graph import (
    Array,
    Graph,
    Item,
    Literal,
    Op,
    Placed,
    Value,
    closed,
    fed,
    kind_of,
    literal,
    parameter,
    substitute,
    walk,
)
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, bool_, float32, int32, int64
from stele.ops import reduction
from stele.ops.branch import Cond
from stele.ops.called import refuse_turns
from stele.ops.control import Traced, enclosed, evaluated, fits, inside, outside, scan
from stele.ops.elementwise.arithmetic import Add, Equal, Select
from stele.ops.gather import Gather
from stele.ops.generate import iota
from stele.ops.linear import Sum, along, broadcast, cast, full, reshape, zeros_like

T = TypeVar("T")


class While(Op):
    """A loop that carries values on as long as a test of them holds: its results are the first for which it does not.

    Operands (*initial carries, *constants), results (*final carries). Both graphs take (*carries, *constants); `test`
    gives one bool, `body` the new carries.
    """

    test: Graph
    body: Graph
    carries: int
    family: ClassVar[str] = "control"

    def split(self, x: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
        """Carries and constants, of operands or parameters."""
        return tuple(x[:self.carries]), tuple(x[self.carries:])

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        for graph in self.graphs:
            inner = tuple(v.type for v in graph.parameters)
            if len(x) != len(inner) or not all(map(fits, x, inner)):
                raise ShapeError(f"While: a graph takes {', '.join(map(str, inner))}; got {', '.join(map(str, x))}")
        tested = tuple(v.type for v in self.test.results)
        if [(t.dtype, t.shape) for t in tested] != [(bool_, ())]:
            raise DTypeError(f"While: the test gives one bool, got {', '.join(map(str, tested))}")
        results = tuple(v.type for v in self.body.results)
        if len(results) != self.carries:
            raise GraphError(f"While: {self.carries} carries go in, {len(results)} come out")
        for k, (new, old) in enumerate(zip(results, x)):
            if not fits(new, old):
                raise ShapeError(f"While: carry {k} goes in as {old} and comes out as {new}",
                                 hint="A carry keeps its type: give the initial value that dtype and shape.")
        return TupleType(tuple(x[:self.carries]))

    def reference(self, *x: Array) -> tuple[Array, ...]:
        carries, constants = self.split(x)
        while evaluated(self.test, (*carries, *constants))[0]:
            carries = evaluated(self.body, (*carries, *constants))
        return carries

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        wanted = [k for k, flag in enumerate(d.wanted) if flag and k >= self.carries and x[k].dtype.is_float
                  and x[k] not in x[self.carries:k]]       # what is given twice has all of it once
        live = touched(self, d, g)
        if not live:
            return tuple(None for _ in x)
        back = Back(self, d, x, live, wanted)
        starts = [zeros_like(x[k]) if g[k] is None else g[k] for k in live]
        found: list[Value | None] = [None] * len(x)
        for k, v in zip((*live, *wanted), back.run(count_of(self, y, x), starts)):
            found[k] = v
        return tuple(found)

    def jvp(self, d: Any, dx: Sequence[Any], y: Value, *x: Value) -> Any:
        body, n = self.body, self.carries
        moving = [k for k, t in enumerate(dx) if t is not None]
        while True:
            given = {k: parameter(f"d{k}", body.parameters[k].type) for k in moving}
            found = d.tangents(body.results, [body.parameters[k] for k in moving], list(given.values()))
            grown = sorted({*moving, *(k for k in range(n) if found[k] is not None)})
            if grown == moving:
                break
            moving = grown
        carries = [k for k in moving if k < n]
        tangents = [zeros_like(given[k]) if found[k] is None else found[k] for k in carries]

        def further(graph: Graph, results: Sequence[Value]) -> Graph:
            p = graph.parameters
            own = given if graph is body else {k: parameter(f"d{k}", p[k].type) for k in moving}
            return closed((*p[:n], *(own[k] for k in carries), *p[n:], *(own[k] for k in moving if k >= n)), results)

        loop = While(further(self.test, self.test.results), further(body, (*body.results, *tangents)), n + len(carries))
        given_now = [zeros_like(x[k]) if dx[k] is None else dx[k] for k in moving]
        done = loop(*x[:n], *given_now[:len(carries)], *x[n:], *given_now[len(carries):])
        return tuple(Item(n + carries.index(k))(done) if k in carries else None for k in range(n))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """A loop that goes on as long as the test holds at some place; where it does not, what is carried stays."""
        flags = [is_placed for _, is_placed in x]
        while True:
            reached = depending(self.body, flags)
            is_chosen = depending(self.test, flags)[0]
            grown = [flag or (k < self.carries and (is_chosen or reached[k])) for k, flag in enumerate(flags)]
            if grown == flags:
                break
            flags = grown
        placed = [k for k in range(self.carries) if flags[k]]
        made = d.batch(Graph(self.body.parameters, tuple(self.body.results[k] for k in placed)), flags, n)
        new = dict(zip(placed, made.results))
        results = [new.get(k, v) for k, v in enumerate(self.body.results)]
        test = d.batch(Graph(self.test.parameters, self.test.results if is_chosen else ()), flags, n)
        starts = [along(a, n) if flags[k] else a[0] for k, a in enumerate(x)]
        if not is_chosen:
            loop = While(Graph(test.parameters, self.test.results), closed(made.parameters, results), self.carries)
            done = loop(*starts)
            return tuple(along((Item(k)(done), flags[k]), n) for k in range(self.carries))
        refuse_turns([self.body, self.test], "a loop that each example ends")
        # a place that is done computes as it began, which has a meaning, and its results are left
        first = [parameter(f"first{k}", p.type) for k, p in enumerate(made.parameters[:self.carries])]
        (goes,) = substitute(test, made.parameters)
        now = [chosen(goes, p, v) for p, v in zip(made.parameters, first)]
        new = substitute(Graph(made.parameters, tuple(results)), (*now, *made.parameters[self.carries:]))
        left = [chosen(goes, v, p) for v, p in zip(new, made.parameters)]
        ends = Graph((*test.parameters, *first), (reduction.Any((0,))(test.results[0]),))
        done = While(ends, closed((*made.parameters, *first), left), self.carries)(*starts, *starts[:self.carries])
        return tuple(Item(k)(done) for k in range(self.carries))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        def made() -> tuple[Value, ...]:
            return parameter("i", Type(int32)), parameter("x", Type(float32, (3,))), parameter("w", Type(float32, (3,)))

        (i, x, w), (j, z, u) = made(), made()
        loop = cls(Graph((i, x, w), (i < 3,)), Graph((j, z, u), (j + 1, z * u * 0.5 + u)), 2)
        total = cls(Graph((i, x, w), (Sum((0,))(x) < 9.0,)), Graph((j, z, u), (j, z + u * u + 0.5)), 2)
        operands = Type(int32), Type(float32, (3,)), Type(float32, (3,))
        return (loop, operands), (total, operands)


def chosen(goes: Value, new: Value, old: Value) -> Value:
    """What is new at the places where a loop goes on."""
    return Select()(broadcast(reshape(goes, (*goes.shape, *([1] * (new.ndim - 1)))), new.shape), new, old)


def depending(graph: Graph, flags: Sequence[bool]) -> list[bool]:
    """For each result whether it needs one of the parameters that have the flag."""
    found = fed(graph.values, (p for p, flag in zip(graph.parameters, flags) if flag))
    return [v in found for v in graph.results]


def touched(loop: While, d: Any, g: Sequence[Value | None]) -> list[int]:
    """The carries that may have a cotangent at some step, given those of the last."""
    inner, results = loop.body.parameters, loop.body.results
    live = [k for k in range(loop.carries) if g[k] is not None]
    while True:
        given = [parameter(f"g{k}", results[k].type) for k in live]
        found = d.gradients([results[k] for k in live], given, inner[:loop.carries])
        grown = [k for k in range(loop.carries) if k in live or found[k] is not None]
        if grown == live:
            return live
        live = grown


def count_of(loop: While, y: Value, x: Sequence[Value]) -> Value:
    """How many steps a loop takes: what it counts itself, or what the same loop with a counter says."""
    for k, (p, new, first) in enumerate(zip(loop.body.parameters, loop.body.results, x[:loop.carries])):
        match new, first:
            case Value(Add(), [old, Value(Literal(one))]), Value(Literal(zero)) if old is p and (one, zero) == (1, 0):
                return cast(Item(k)(y), int64)
            case _:
                pass
    n = loop.carries
    i, j = parameter("steps", Type(int64)), parameter("steps", Type(int64))
    test, body = loop.test.parameters, loop.body.parameters
    counted = While(Graph((*test[:n], i, *test[n:]), loop.test.results),
                    closed((*body[:n], j, *body[n:]), (*loop.body.results, j + 1)), n + 1)
    return Item(n)(counted(*x[:n], literal(0, int64), *x[n:]))


SEGMENT, SLOTS = 32, 48


class Back:
    """The loop that walks a loop back, in segments of steps whose states are computed again from the last checkpoint.

    A stack holds states at the beginning of segments. To reach a segment the way to it from the top of the stack is cut
    in halves, with a checkpoint at each cut, or into single segments once there is room for all of them (Griewank,
    1992): so many steps as a machine can take need SLOTS states, and each is computed again some log2(steps) / 2 times
    at most. Then it is run once more, keeping what its derivative reads, and left.
    """

    def __init__(self, loop: While, d: Any, x: Sequence[Value], live: Sequence[int], wanted: Sequence[int]) -> None:
        self.d, self.live, self.wanted, self.x, self.n = d, live, wanted, x, loop.carries
        body = loop.body
        found = d.gradients([body.results[k] for k in live], [zeros_like(body.results[k]) for k in live],
                            [body.parameters[k] for k in (*live, *wanted)])
        read = {*live}
        values = walk([v for v in found if v is not None])
        while True:     # carries that derivatives read, and those that these are made of
            values = walk([*values, *(body.results[k] for k in read)])
            grown = {*read, *(k for k, p in enumerate(body.parameters[:self.n]) if p in values)}
            if grown == read:
                break
            read = grown
        self.held = sorted(read)
        given = [body.parameters[k] for k in self.held]
        self.step = closed((*given, *body.parameters[self.n:]), [body.results[k] for k in self.held])
        same = [parameter(f"x{k}", p.type) for k, p in enumerate(self.step.parameters)]
        self.stay = Graph(tuple(same), tuple(same[:len(given)]))

    def segment(self, first: Value, steps: Value, state: Sequence[Value], constants: Sequence[Value]) -> list[Value]:
        """The state behind so many steps from the first on, of which there are `steps` in all."""
        def one(carries: tuple[Value, ...], _: Any) -> tuple[Sequence[Value], Sequence[Value]]:
            i, *now = carries
            new = Cond((self.stay, self.step))(i < steps, *now, *constants)
            return (i + 1, *(Item(k)(new) for k in range(len(now)))), ()

        return [*scan(one, (first, *state), (), length=SEGMENT)[0][1:]]

    def run(self, steps: Value, starts: Sequence[Value]) -> Sequence[Value]:
        """The cotangents of live carries at the beginning, and of wanted constants."""
        first = [self.x[k] for k in self.held]
        stacks = [put(zeros_of(v), literal(0, int64), v) for v in first]
        totals = [zeros_like(self.x[k]) for k in self.wanted]
        segments = (steps + (SEGMENT - 1)) // SEGMENT
        many, end = len(stacks), len(self.live)

        def back(now: Sequence[Value]) -> Sequence[Value]:
            t, depth, places, *more = now
            stacks, given, sums = more[:many], more[many:many + end], more[many + end:]
            depth, places, state, stacks = self.reach(t, steps, depth, places, stacks)
            constants = self.x[self.n:]
            last = self.segment(t * SEGMENT, steps, state, constants)
            wrt = [*(state[self.held.index(k)] for k in self.live), *(self.x[k] for k in self.wanted)]
            found = self.d.gradients([last[self.held.index(k)] for k in self.live], given, wrt, wrt)
            found = [zeros_like(v) if f is None else f for f, v in zip(found, wrt)]
            return t - 1, depth - 1, places, *stacks, *found[:end], *(a + b for a, b in zip(sums, found[end:]))

        places = full((SLOTS,), 0, int64)
        done = looped(lambda s: ~(s[0] < 0), back,
                      (segments - 1, literal(1, int64), places, *stacks, *starts, *totals))
        return done[3 + many:]

    def reach(self, t: Value, steps: Value, depth: Value, places: Value, stacks: Sequence[Value]
              ) -> tuple[Value, Value, Sequence[Value], Sequence[Value]]:
        """The stack, and the state, once the top of it is the beginning of segment t."""
        many, constants = len(stacks), self.x[self.n:]

        def nearer(now: Sequence[Value]) -> Sequence[Value]:
            p, depth, places, *more = now
            state, stacks = more[:many], more[many:]
            gap = t - p
            next = p + Select()(gap < SLOTS + 1 - depth, 1, (gap + 1) // 2)
            further: Step = lambda s: (s[0] + 1, *self.segment(s[0] * SEGMENT, steps, s[1:], constants))
            _, *state = looped(lambda s: s[0] < next, further, (p, *state))
            return next, depth + 1, put(places, depth, next), *state, *map(put, stacks, [depth] * many, state)

        top = depth - 1
        start = Gather(0)(places, top), depth, places, *(Gather(0)(v, top) for v in stacks), *stacks
        _, depth, places, *more = looped(lambda s: s[0] < t, nearer, start)
        return depth, places, more[:many], more[many:]


def zeros_of(v: Value) -> Value:
    """A stack of zeros of the type of v."""
    return full((SLOTS, *v.shape), 0, v.dtype)


def put(stack: Value, k: Value, v: Value) -> Value:
    """A stack with v in place k."""
    here = reshape(Equal()(iota(stack.shape[0]), k), (stack.shape[0], *[1] * v.ndim))
    return Select()(broadcast(here, stack.shape), broadcast(v, stack.shape), stack)


Step = Callable[[Sequence[Value]], Sequence[Value]]


def looped(test: Callable[[Sequence[Value]], Value], body: Step, init: Sequence[Value]) -> tuple[Value, ...]:
    """A loop of functions of what is carried; what they take from outside becomes an operand."""
    types, kind = [v.type for v in init], kind_of(init)
    entry, again = inside(types, kind), inside(types, kind)
    truth, new = test(entry), [*body(again)]
    known = {*outside([truth], entry), *outside(new, again)}
    return repeat((entry, (truth,)), (again, tuple(new)), init, known)


def repeat(test: Traced, body: Traced, init: Sequence[Value], known: Collection[Value]) -> tuple[Value, ...]:
    """The first carries for which the test does not hold; both functions read the `known` values beside them."""
    (goes, step), captured = enclosed([test, body], known, "a loop")
    done = While(goes, step, len(init))(*init, *captured)
    return tuple(Item(k)(done) for k in range(len(init)))


ALL = (While,)
