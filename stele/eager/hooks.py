"""Functions that see gradients on their way through expressions, and may put others in their place."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any
from weakref import ref

from stele.eager.handle import TRACING, Handle
from stele.eager.live import Live, alive
from stele.errors import ArgumentError, GraphError, ShapeError, kind
from stele.ir.graph import Graph, Item, Parameter, Value, parameter, walk
from stele.ir.record import Aside
from stele.ops.derived import Watched
from stele.ops.linear import Reshape
from stele.ops.parts import conj

SEEING: ContextVar[bool] = ContextVar("seeing", default=True)    # False where gradients are taken to see what they need
See = Callable[[Sequence[Live]], Sequence[Value]]


class Hook:
    """A function that runs when something happens, until it is removed: by `remove`, or at the end of a `with`."""

    def __init__(self, among: list[Any], f: Callable[..., Any]) -> None:
        self.among, self.f = among, f

    def remove(self) -> None:
        """Lets the function run no more."""
        if self in self.among:
            self.among.remove(self)

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Leaves:
    """The hooks of leaves: those that see gradients, and those that run when these have been added up. `changes` counts
    how often there were others, for who depends on what they do."""

    def __init__(self) -> None:
        self.changes = 0
        self.known: dict[int, tuple[ref[Handle], list[Hook], list[Hook]]] = {}

    def of(self, handle: Handle) -> tuple[list[Hook], list[Hook]]:
        """Both of one handle; a trace that asks depends on them."""
        if (tracing := TRACING.get()) is not None:
            tracing.hooked()
        held, seeing, late = self.known.get(id(handle), (lambda: handle, list[Hook](), list[Hook]()))
        return (seeing, late) if held() is handle else ([], [])

    def add(self, handle: Handle, f: Callable[..., Any], late: bool) -> Hook:
        """Another one of a handle, which forgets them when it goes."""
        both = self.of(handle)
        key = id(handle)
        self.known[key] = ref(handle, lambda _: self.known.pop(key, None)), *both
        both[late].append(hook := LeafHook(both[late], f))
        self.changes += 1
        return hook


LEAVES = Leaves()


class LeafHook(Hook):
    """A hook of a leaf."""

    def remove(self) -> None:
        super().remove()
        LEAVES.changes += 1


class Sight(Aside):
    """The rule of a `Watched`: what a function makes of gradients, as values that tensors may stand for."""

    def __init__(self, see: See) -> None:
        self.see = see

    def seen(self, g: Sequence[Value], x: Sequence[Value]) -> list[Value]:
        """The cotangents in the place of these, of operands x. What is to stand in a graph is made of its values."""
        if not SEEING.get():
            return [*g]
        made = self.see([own(conj(v)) for v in g])
        return [conj(v) for v in (made if isinstance(x[0], Live) else grounded(made))]


class Hooked(Sight):
    """The rule of a value that hooks of its own were registered on."""

    def __init__(self, tensor: type[Handle]) -> None:
        self.hooks = list[Hook]()
        super().__init__(lambda g: [left_by(self.hooks, g[0], tensor)])


def own(v: Value) -> Live:
    """The same numbers as a value that a tensor may stand for, and that leads to them in a graph."""
    return alive(Reshape(v.shape)(v))


def grounded(results: Sequence[Value]) -> list[Value]:
    """Values that a graph may hold, where there are live ones that were made of its own."""
    meaning: dict[Value, Value] = {}
    for v in walk(results, stop=lambda v: not isinstance(v, Live)):
        if isinstance(v, Live) and isinstance(v.op, Parameter):
            raise GraphError(f"a hook inside of a loop, a branch or st.checkpoint reads a tensor {v.type} from outside",
                             hint="Read it in the function that is held there, or register the hook on its result.")
        made = isinstance(v, Live)
        meaning[v] = Value(v.op, tuple(meaning[a] for a in v.args), v.type, v.where) if made else v
    return [meaning[v] for v in results]


def watch(x: Sequence[Value], rule: Sight) -> list[Value]:
    """The same values, with a rule that sees the gradients of all of them at once, zeros where there are none."""
    inner = tuple(parameter(f"x{k}", v.type) for k, v in enumerate(x))
    y = Watched(Graph(inner, inner), rule, len(x))(*x)
    return [Item(k)(y) for k in range(len(x))]


def hook_value(x: Handle, f: Callable[..., Any]) -> Hook:
    """Has f see the gradient of what a handle stands for, also where something was made of it before."""
    v = x.value
    match v:
        case Value(Item(0), [Value(Watched(rule=Hooked() as rule))]): pass
        case _:
            (after,) = watch([Live(v.op, v.args, v.type, v.where, v.data)], rule := Hooked(type(x)))
            v.op, v.args, v.call = after.op, after.args, None
    rule.hooks.append(hook := Hook(rule.hooks, f))
    return hook


def left_by(hooks: Iterable[Hook], g: Value, tensor: type[Handle]) -> Value:
    """A gradient as hooks leave it, one behind the other: each gets a tensor, and gives one, or None for the same."""
    for hook in tuple(hooks):
        if (made := hook.f(tensor(g))) is not None:
            g = fitting(made, g)
    return g


def fitting(made: Any, g: Value) -> Value:
    """What a hook returns in the place of a gradient, which has its type."""
    if not isinstance(made, Handle):
        raise ArgumentError(f"a hook returns a tensor in the place of a gradient {g.type}, or None, got {kind(made)}")
    if made.value.type != g.type:
        raise ShapeError(f"a hook returns a gradient {made.value.type} in the place of {g.type}",
                         hint="It has the shape and the dtype of what it is of.")
    return made.value


def of_leaf(x: Handle, g: Value) -> Value:
    """The gradient of a leaf, as its hooks leave it."""
    return left_by(LEAVES.of(x)[0], g, type(x))


def added_up(x: Handle) -> None:
    """Runs what waits for the gradient of a leaf to stand in it."""
    for hook in tuple(LEAVES.of(x)[1]):
        hook.f(x)
