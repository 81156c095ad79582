"""Loops inside the program: `scan` carries a state along the first axis of its inputs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast, overload

from stele.arrays.opensize import plain
from stele.arrays.streams import stream_of
from stele.arrays.tensor import Operands, Tensor, constant, tensors
from stele.backend.devices import current
from stele.eager.handle import GRAD, TRACING, Handle, Tracing, tracing_into
from stele.eager.live import Live, alive
from stele.errors import ShapeError, TraceError, kind
from stele.ir.door import public
from stele.ir.graph import Array, Value
from stele.ops import control
from stele.ops.arguments import flag, function, size
from stele.tracing import tree

S = TypeVar("S")
X = TypeVar("X")
Y = TypeVar("Y")     # state, input, output
Step = Callable[[Any, Any], tuple[Any, Any]]


class Body(Tracing):
    """The step of a loop: it sees what is outside. What it rebinds there is to be carried along: `now` has its values
    inside the step, `missed` what was not known to be carried. `outputs` is the container of what the step gives, of
    which some leaves are None: `empty`."""

    outputs: tree.Spec | None
    empty: list[bool]

    def __init__(self, f: Step, state: tree.Spec | None, inputs: Callable[[list[Tensor]], Any], outer: Tracing | None,
                 carried: Sequence[Handle]) -> None:
        self.f, self.state, self.inputs, self.outer, self.carried = f, state, inputs, outer, carried
        self.now: dict[int, Live] = {}     # by id
        self.missed: list[Handle] = []
        self.differentiable = False

    def __call__(self, state: tuple[Value, ...], x: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        """One step: the new state, what is carried beside it last, and the outputs that there are."""
        count = len(state) - len(self.carried)
        self.now = dict(zip(map(id, self.carried), map(alive, state[count:])))
        with tracing_into(self):
            given = tree.unflatten(self.state, [Tensor(v, GRAD.get()) for v in state[:count]])
            part = self.inputs([Tensor(v, GRAD.get()) for v in x])
            new, ys, self.outputs = returned(self.f(given, part), self.state)
            outputs = [None if y is None else constant(y) for y in ys]
            self.empty = [y is None for y in outputs]
            carried = (self.now[id(handle)] for handle in self.carried)
            return [*(constant(s).value for s in new), *carried], [y.value for y in outputs if y is not None]

    def outside(self) -> list[Value]:
        """What is carried along, as it is before the loop."""
        streams = [stream_of(handle) if self.outer is None else None for handle in self.carried]
        return [stream.begin() if stream else self.before(handle) for stream, handle in zip(streams, self.carried)]

    def read(self, handle: Handle) -> Live:
        self.differentiable = self.differentiable or handle.requires_grad
        return self.now[id(handle)] if id(handle) in self.now else self.before(handle)

    def before(self, handle: Handle) -> Live:
        """What a handle means before the loop."""
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.read(handle)

    def peek(self, handle: Handle) -> Live | None:
        if id(handle) in self.now:
            return self.now[id(handle)]
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.peek(handle)

    def array(self, array: Array) -> Live | None:
        return None if self.outer is None else self.outer.array(array)

    def place(self) -> str | None:
        return current() if self.outer is None else self.outer.place()

    def write(self, handle: Handle, value: Live) -> None:
        before = self.before(handle)
        if value.dtype != before.dtype or value.shape != before.shape:
            raise TraceError(f"the step of a scan rebinds a tensor {before.type} from outside to one of {value.type}",
                             hint="What a loop carries on keeps its type: cast or reshape the new value.")
        if all(handle is not other for other in (*self.carried, *self.missed)):
            self.missed.append(handle)
        self.now[id(handle)] = value

    def read_grad(self, handle: Handle) -> Any:
        return handle._grad if self.outer is None or handle.home is self.outer else self.outer.read_grad(handle)

    def write_grad(self, handle: Handle, grad: Any) -> None:
        raise TraceError("backward() inside the step of a scan",
                         hint="Call it on the result of the scan, or use st.gradients.")


@overload
def scan(f: Callable[[S, X], tuple[S, Y]], init: S, xs: X, *, length: int | None = None, reverse: bool = False
         ) -> tuple[S, Y]: ...
@overload
def scan(f: Callable[[S, Any], tuple[S, Y]], init: S, xs: None = None, *, length: int, reverse: bool = False
         ) -> tuple[S, Y]: ...
@public
def scan(f: Step, init: Any, xs: Any = None, *, length: int | None = None,
         reverse: bool = False) -> tuple[Any, Any]:
    """The last state, and the outputs stacked: `state, y = f(state, x)` for each x along the first axis of `xs`.

    `init`, xs and what `f` returns may be tensors or containers of tensors; the state keeps its types. The loop is one
    op of the graph: differentiable, and one native loop in a compiled program. Without xs, `length` is how many; with
    `reverse` the last x comes first. xs are what they are when the loop begins. What f rebinds outside is carried along
    and rebound once the loop is over: random numbers, dropout and the running statistics of BatchNorm are those of the
    steps written out. f is then called once more. Raises ShapeError where the state comes out with another type than it
    goes in, TraceError without xs and length, DTypeError for what is no number.

    >>> total, sums = st.scan(lambda s, x: (s + x, s + x), st.tensor(0.0), st.tensor([1.0, 2.0, 3.0]))
    >>> total.tolist(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    function(f, "the step of scan")
    steps, reverse = None if length is None else size(plain(length), "length of scan"), flag(reverse, "reverse of scan")
    carries, carry_spec = tree.flatten(init)
    slices, slice_spec = tree.flatten(()) if xs is None else tree.flatten(xs)
    operands = Operands(numbers=False)
    first = [operands.value(constant(x)) for x in carries]
    stacks = [operands.value(constant(x)) for x in slices]
    if scalar := next((v for v in stacks if not v.ndim), None):
        raise ShapeError(f"scan walks along the first axis of xs, got {scalar.type}, which has none",
                         hint="Give length= for a loop without inputs.")
    inputs: Callable[[Any], Any] = lambda x: None if xs is None else tree.unflatten(slice_spec, x)
    body = Body(f, carry_spec, inputs, TRACING.get(), ())
    while True:
        last, ys = control.scan(body, [*first, *body.outside()], stacks, length=steps, reverse=reverse)
        if not body.missed:
            break
        body = Body(f, carry_spec, inputs, body.outer, [*body.carried, *body.missed])
    for handle, value in zip(body.carried, last[len(first):]):
        handle.value = value
        if body.outer is None and (stream := stream_of(handle)):
            stream.settle()
    stacked = iter(ys)
    carries = (operands.differentiable or body.differentiable) and GRAD.get()
    made = [None if none else tensors(next(stacked), carries) for none in body.empty]
    return tree.unflatten(carry_spec, tensors(last[:len(first)], carries)), tree.unflatten(body.outputs, made)


def returned(made: Any, carry_spec: tree.Spec | None) -> tuple[list[Any], list[Any], tree.Spec | None]:
    """The leaves of the state and of the output that a step returned, and the structure of the output."""
    pair = cast(Sequence[Any], made) if isinstance(made, tuple) else ()
    if len(pair) != 2:
        raise TraceError(f"the step of a scan returns (state, output), got {kind(cast(object, made))}")
    new, new_spec = tree.flatten(pair[0])
    if new_spec != carry_spec:
        raise TraceError("the step of a scan returns a state of another structure than it was given",
                         hint="Return the same containers with the same keys.")
    return new, *tree.flatten(pair[1])
