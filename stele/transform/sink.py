"""What a loop only adds up or passes out moves behind the loop: a sum over steps of products becomes one product."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

from stele.ir.graph import Graph, Item, Placed, Value, walk
from stele.ir.origin import inherit
from stele.ir.rewrite import substituted
from stele.ops.contraction import Conv2d, Conv2dInputGrad, Conv2dWeightGrad, MatMul
from stele.ops.elementwise.arithmetic import Add, Mul, Neg, Sub
from stele.ops.gather import ScatterAdd
from stele.ops.linear import Movement, Reshape, Sum, Transpose, along, cast, fold, reshape, swap_last, transpose
from stele.transform.batch import BatchError, batched
from stele.transform.hoist import outside
from stele.transform.loops import Loop, Results, items, loops, stack_parameter
from stele.transform.patterns import axes_of, number


def sink(graph: Graph) -> Graph:
    """The graph whose loops neither add up what can be added up behind them nor multiply what they only pass out."""
    becomes: dict[Value, Value] = {}
    for loop in loops(graph):
        work = Sinking(loop)
        if (found := work.results()) is not None:
            becomes.update(work.stacks)
            becomes.update({v: found[v.op.k] for v in graph.values  # type: ignore[attr-defined]
                            if v.args == (loop.value,)})
    return substituted(graph, becomes) if becomes else graph


class Sinking:
    """One loop: which values it must emit, and what is computed from their stacks behind it."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.n = loop, loop.scan.length
        self.known: dict[Value, Placed] = outside(loop)
        self.emitted: dict[Value, Value] = {}
        self.stacks: dict[Value, Value] = {}
        self.passed: dict[Value, None] = {}
        self.heavy = self.heavy_values()

    def heavy_values(self) -> set[Value]:
        """Values outside the core that hold a contraction with a form for all steps at once; what inner loops give is
        emitted as it is."""
        found: set[Value] = set()
        for v in self.loop.values:
            if v not in self.loop.core and v not in self.known and not is_apart(v) and (
                    isinstance(v.op, MatMul | Conv2d | Conv2dInputGrad) or any(a in found for a in v.args)):
                found.add(v)
        return found

    def results(self) -> Results | None:
        """The taken results, some of them from behind a smaller loop, or None where nothing moves."""
        loop, carries = self.loop, self.loop.scan.carries
        ys = {k: v for k, v in enumerate(loop.body.results) if k >= carries and k in loop.used}
        behind = {k: self.stack(v) for k, v in ys.items() if v in self.heavy}
        self.passed.update((v, None) for k, v in ys.items() if k not in behind)
        for k, f in (*loop.sums.items(), *loop.sums.items()):
            if k not in behind and (total := self.total(f)) is not None:
                with inherit(loop.body.results[k].where):
                    behind[k] = loop.outer.carries[k] + total
        if not behind:
            return None
        left = [k for k in range(carries) if k not in behind]
        places = {v: j for j, v in enumerate(dict.fromkeys((*self.passed, *self.emitted)), len(left))}
        new = loop.with_parts(
            ((loop.outer.carries[k], loop.inner.carries[k], loop.body.results[k]) for k in left), places,
            zip(loop.outer.slices, loop.inner.slices), zip(loop.outer.constants, loop.inner.constants))
        where = {**{k: j for j, k in enumerate(left)}, **{k: places[v] for k, v in ys.items() if k not in behind}}
        stacks = items(new, dict(enumerate(range(len(left) + len(places)))))
        self.stacks = {p: stacks[places[v]] for v, p in self.emitted.items()}
        return {**{k: stacks[j] for k, j in where.items() if k in loop.used}, **behind}

    def stack(self, root: Value) -> Value:
        """The stack of a body value, computed behind the loop from what the loop emits."""
        for v in walk([root], self.is_leaf):
            if v in self.known:
                continue
            try:
                self.known[v] = (self.emit(v), True) if self.is_leaf(v) else \
                    batched(v, [self.known[a] for a in v.args], self.n)
            except BatchError:
                self.known[v] = self.emit(v), True
        return along(self.known[root], self.n)

    def is_leaf(self, v: Value) -> bool:
        """Whether the loop emits v, or its stack is known: all but contractions behind the loop, views and numbers."""
        is_view = isinstance(v.op, Transpose | Reshape) and v not in self.loop.core
        return v in self.known or not (v in self.heavy or is_view or number(v) is not None)

    def emit(self, v: Value) -> Value:
        if v not in self.emitted:
            self.emitted[v] = stack_parameter(v, self.loop)
        return self.emitted[v]

    def total(self, f: Value) -> Value | None:
        """The sum of a body value over all steps, or None where the loop adds up better."""
        parts, total = [(f, False)], None
        while parts:
            v, negative = parts.pop()
            match v:
                case Value(Add(), [a, b]):
                    parts += [(b, negative), (a, negative)]
                case Value(Sub(), [a, b]):
                    parts += [(b, not negative), (a, negative)]
                case Value(Neg(), [a]):
                    parts.append((a, not negative))
                case _:
                    if (term := self.term(v)) is None:
                        return None
                    term = -term if negative else term
                    total = term if total is None else total + term
        return total

    def term(self, v: Value) -> Value | None:
        """The sum over all steps of what is no sum itself: movement and factors follow the sum of their operand."""
        outer: list[Value] = []
        while is_linear(v):
            outer.append(v)
            v = v.args[0]
        with inherit(v.where):
            total = self.contracted(v)
        for u in reversed(outer if total is not None else []):
            with inherit(u.where):
                total = u.op(total, *(number(a) for a in u.args[1:]))
        return total

    def contracted(self, v: Value) -> Value | None:
        """The sum over all steps of a product, a reduction or a scatter, as one."""
        match v:
            case Value(MatMul(), [a, b]) if not (self.is_fixed(a) or self.is_fixed(b)):
                return product(self.left(a), self.right(b))
            case Value(Sum(), [z]) if v.dtype == z.dtype and (z in self.loop.core or self.is_emitted(z)):
                return Sum((0, *(k + 1 for k in axes_of(v))))(self.stack(z))
            case Value(Conv2dWeightGrad(), [g, x]):
                return v.op(fold(self.stack(g)), fold(self.stack(x)))
            case Value(ScatterAdd(0), [g, index]) if index.ndim:
                return v.op(fold(self.stack(g)), fold(self.stack(index)))
        return cast(Sum((0,))(self.stack(v)), v.dtype) if v.args and self.is_emitted(v) else None

    def is_emitted(self, v: Value) -> bool:
        """Whether the loop gives the stack of v anyway."""
        return v in self.passed or v in self.emitted or (v in self.known and self.known[v][1])

    def is_fixed(self, v: Value) -> bool:
        return v in self.known and not self.known[v][1]

    def left(self, a: Value) -> Value:
        """(..., M, K) at every step as (..., M, n*K)."""
        if a.ndim == 2 and isinstance(a.op, Transpose):
            return swap_last(fold(self.stack(a.args[0])))
        x, k = self.stack(a), a.ndim
        x = transpose(x, (*range(1, k), 0, k))
        return reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))

    def right(self, b: Value) -> Value:
        """(..., K, N) at every step as (..., n*K, N)."""
        x, k = self.stack(b), b.ndim
        x = transpose(x, (*range(1, k - 1), 0, k - 1, k))
        return reshape(x, (*x.shape[:-3], x.shape[-3] * x.shape[-2], x.shape[-1]))


def is_linear(v: Value) -> bool:
    """Whether v moves or scales its operand the same way at every step."""
    is_scaled = isinstance(v.op, Mul) and number(v.args[1]) is not None
    return is_scaled or (isinstance(v.op, Movement) and len(v.args) == 1)


def is_apart(v: Value) -> bool:
    """Whether v is a loop or a checkpoint, or of one: that is emitted as it is."""
    return isinstance(v.op, Item) or v.op.family == "control"


def product(a: Value, b: Value) -> Value:
    """The one product that a sum of products is."""
    return MatMul()(a, b)
