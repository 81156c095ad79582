"""The inside of an op that holds graphs: what its functions read and rebind outside while they become graphs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stele.arrays.looking import is_traced
from stele.arrays.operands import Operands
from stele.arrays.streams import stream_of
from stele.arrays.tensor import Tensor, constant, tensors
from stele.arrays.views import leave
from stele.backend.devices import current
from stele.eager.evaluate import evaluate
from stele.eager.handle import GRAD, TRACING, Handle, Tracing, is_stepping, tracing_into
from stele.eager.live import Live, alive
from stele.errors import ShapeError, TraceError, kind
from stele.ir.graph import Array, Value
from stele.ir.origin import SCOPE, here, lines
from stele.ir.types import DType
from stele.ops.control import fits
from stele.tracing import tree
from stele.tracing.noted import Write, mark

T = TypeVar("T")

with tracing_into(None):     # this module may be loaded while a function is traced
    TURN = Tensor(constant(0).value)
"""Whose turn it is among prints and callbacks: each takes it from the one before it, so that programs keep their order
and leave none out."""


class Body(Tracing):
    """One function of such an op: it sees what is outside, of which `known` has the values that it read.

    What it rebinds there is to be handed through, as `carried`: `now` has its values inside the function, `missed` what
    was not known to be carried: what is `written`, and what is `touched` of what is `following`. `what` is what errors
    call the function.
    """

    def __init__(self, what: str, outer: Tracing | None, carried: Sequence[Handle]) -> None:
        self.what, self.outer, self.carried = what, outer, carried
        self.now: dict[int, Live] = {}     # by id
        self.written: list[Handle] = []
        self.following: dict[int, Handle] = {}
        self.touched: set[int] = set()
        self.known: set[Value] = set()
        self.layers: set[int] = set()       # what layers have written, by id
        self.differentiable = False

    def run(self, carried: Sequence[Value], f: Callable[[], T]) -> T:
        """What f makes inside of the body, where these are the values of what is carried."""
        self.now = dict(zip(map(id, self.carried), map(alive, carried)))
        with tracing_into(self):
            return f()

    @property
    def missed(self) -> list[Handle]:
        """What was not known to be carried: what is rebound, and what was read of what follows that."""
        following = [handle for key, handle in self.following.items() if key in self.touched]
        return [handle for handle in (*self.written, *following) if all(handle is not other for other in self.carried)]

    @property
    def left(self) -> list[Live]:
        """What is carried, as the function leaves it."""
        return [self.now[id(handle)] for handle in self.carried]

    def begin(self) -> list[Value]:
        """What is carried, as it is before the op."""
        streams = [stream_of(handle) if self.outer is None else None for handle in self.carried]
        return [stream.begin() if stream else self.before(handle) for stream, handle in zip(streams, self.carried)]

    def rebind(self, values: Sequence[Value], made: Sequence[Value]) -> Sequence[Value]:
        """What is carried is what the op made of it, from now on; what else it made, marked by what layers wrote of
        placeholders, which stays what it was.
        """
        writes = [Write(h, h._value, v) for h, v in zip(self.carried, values) if self.is_noted(h, v)]
        for handle, value in zip(self.carried, values, strict=True):
            if handle is TURN:
                turn(value, made)
                continue
            handle.value = value
            if self.outer is None and (stream := stream_of(handle)):
                stream.settle()
        return mark((), made, writes) if writes and made else made

    def is_noted(self, handle: Handle, v: Value) -> bool:
        """Whether a layer that is called outside of any other wrote this to a tensor with numbers."""
        return self.outer is None and id(handle) in self.layers and not SCOPE.get().layer and \
            stream_of(handle) is None and is_traced(v) and not is_traced(handle._value)

    def read(self, handle: Handle) -> Live:
        self.differentiable = self.differentiable or handle.requires_grad
        self.touched.add(id(handle))
        if id(handle) in self.now:
            return self.now[id(handle)]
        self.known.add(v := self.before(handle))
        return v

    def before(self, handle: Handle) -> Live:
        """What a handle means before the op."""
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.read(handle)

    def peek(self, handle: Handle) -> Live | None:
        if id(handle) in self.now:
            return self.now[id(handle)]
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.peek(handle)

    def array(self, array: Array) -> Live | None:
        return None if self.outer is None else self.outer.array(array)

    def place(self) -> str | None:
        return current() if self.outer is None else self.outer.place()

    def hooked(self) -> None:
        if self.outer is not None:
            self.outer.hooked()

    def write(self, handle: Handle, value: Live) -> None:
        before = self.before(handle)
        if value.dtype != before.dtype or value.shape != before.shape:
            raise TraceError(f"{self.what} rebinds a tensor {before.type} from outside to one of {value.type}",
                             hint="What is carried on keeps its type: cast or reshape the new value.")
        if all(handle is not other for other in self.written):
            self.written.append(handle)
        if SCOPE.get().layer:
            self.layers.add(id(handle))
        self.now[id(handle)] = value

    def finds(self, handle: Handle) -> bool:
        return handle.home is self.outer or (self.outer is not None and self.outer.finds(handle))

    def follow(self, handle: Handle, value: Live) -> None:
        self.following[id(handle)] = handle
        self.now[id(handle)] = value

    def leaves(self, handle: Handle, old: Handle, others: Sequence[Handle]) -> None:
        is_written = id(handle) in self.following or any(handle is x for x in self.written)
        if is_written and (handle.tie is not None or any(x.home is None or self.finds(x) for x in others)):
            raise TraceError(f"{self.what} sets x.data of what it has written to", hint="Write x.copy_(y) instead.")
        with tracing_into(self.outer):
            leave(handle)   # type: ignore[arg-type]    # before the op, whatever numbers say

    def read_grad(self, handle: Handle) -> Any:
        return handle._grad if self.outer is None or handle.home is self.outer else self.outer.read_grad(handle)

    def write_grad(self, handle: Handle, grad: Any) -> None:
        raise TraceError(f"backward() inside {self.what}", hint="Call it on the result, or use st.gradients inside.")


def turn(value: Value, made: Sequence[Value] = ()) -> None:
    """Has prints and callbacks inside of an op come next; outside of compiled functions they run now, once with what
    else the op has `made`."""
    if TRACING.get() is not None:
        TURN.value = value
        return
    if is_traced(value):
        raise no_order("st.debug")
    evaluate(map(alive, (value, *made)))


def no_order(name: str) -> TraceError:
    """The error for a print or a callback of what is computed by expressions."""
    return TraceError(f"{name} of a tensor of st.placeholder: functions of expressions have no order",
                      where=", ".join(lines(here())), hint="Write the function with @st.compile.")


def enter(names: Sequence[str], build: Callable[[list[Body]], T]) -> tuple[list[Body], T]:
    """What `build` makes with a body for each name, made again until all is carried that one of them rebinds."""
    carried: list[Handle] = []
    while True:
        bodies = [Body(name, TRACING.get(), carried) for name in names]
        made = build(bodies)
        missed = {id(handle): handle for body in bodies for handle in body.missed}
        if not missed:
            for other in (*bodies, *([outer] if isinstance(outer := TRACING.get(), Body) else ())):
                other.layers |= set[int]().union(*(body.layers for body in bodies))
            return bodies, made
        carried = [*carried, *missed.values()]


def is_python(*x: Value) -> bool:
    """Whether functions of these run as they are written, one op after the other: inside of `st.eager`."""
    return is_stepping() and TRACING.get() is None and not any(map(is_traced, x))


def apart(x: Any, like: DType | None = None) -> Tensor:
    """A tensor of what x is now, which others may write to; numbers may become of a dtype."""
    y = constant(x, like)
    return Tensor(y.value, y.requires_grad and GRAD.get())


def returned(x: Any) -> tuple[tree.Spec | None, list[Any]]:
    """How a tree is put together, and its leaves: tensors of what they are now, and None where they are none."""
    leaves, spec = tree.flatten(x)
    return spec, [None if leaf is None else apart(leaf) for leaf in leaves]


class Leaves:
    """A tree of tensors that goes into an op: its values, and how it is put together again inside."""

    def __init__(self, x: Any, operands: Operands) -> None:
        leaves, self.spec = tree.flatten(x)
        self.given = [*map(apart, leaves)]
        self.values: list[Value] = [*map(operands.value, self.given)]

    def tree(self, x: Sequence[Value]) -> Any:
        """The tree of other values."""
        return tree.unflatten(self.spec, [Tensor(v, GRAD.get()) for v in x])

    def tensors(self, x: Sequence[Value], differentiable: bool) -> Any:
        """The tree of what the op made, of the first of its results."""
        return tree.unflatten(self.spec, tensors(list(x[:len(self.values)]), differentiable))

    def again(self, what: str, x: Any) -> list[Value]:
        """The values of what a function returns for this tree; numbers take the dtype that they meet."""
        return [y.value for y in self.next(what, x)]

    def next(self, what: str, x: Any) -> list[Tensor]:
        """The same as tensors."""
        leaves, spec = tree.flatten(tree.arranged(x, self.spec))
        if spec != self.spec:
            raise TraceError(f"{what} returns {shown(x)} where it was given {shown(self.tree(self.values))}",
                             hint="Return the same containers with the same keys.")
        made = [apart(leaf, None if isinstance(leaf, Tensor) else v.dtype) for leaf, v in zip(leaves, self.values)]
        for path, old, new in zip(tree.paths(spec, "state"), self.values, (y.value for y in made)):
            if not fits(new.type, old.type):
                raise ShapeError(f"{what} is given {path} as {old.type} and returns it as {new.type}",
                                 hint="What is carried keeps its type: give the first one that dtype and shape, or "
                                      f"convert the new one with .astype({old.dtype.name!r}).")
        return made


class Returned:
    """A tree that a function returns inside of an op, of tensors and of leaves that are None, as it was the last time.
    """

    def __init__(self) -> None:
        self.spec: tree.Spec | None = None
        self.empty: list[bool] = []

    def values(self, x: Any) -> list[Value]:
        """Its values, once the function returned it."""
        leaves, self.spec = tree.flatten(x)
        self.empty = [leaf is None for leaf in leaves]
        return [constant(leaf).value for leaf in leaves if leaf is not None]

    def tensors(self, x: Sequence[Value], differentiable: bool) -> Any:
        """The tree of what the op made of them."""
        found = iter(tensors(list(x), differentiable))
        return tree.unflatten(self.spec, [None if none else next(found) for none in self.empty])


def shown(x: Any) -> str:
    """A container as errors show it: a tensor, or its value, by its type."""
    if isinstance(x, Tensor | Value):
        return str(x.value.type if isinstance(x, Tensor) else x.type)
    if isinstance(x, dict):
        return f"{{{', '.join(f'{k!r}: {shown(v)}' for k, v in x.items())}}}"   # type: ignore[reportUnknownVariableType]
    if isinstance(x, list | tuple):
        inside = ", ".join(map(shown, x))   # type: ignore[reportUnknownArgumentType]
        return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' * (len(x) == 1)})"     # type: ignore[reportUnknownArgumentType]
    return repr(x) if isinstance(x, bool | int | float | complex | None) else kind(x)
