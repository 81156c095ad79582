"""Loops inside the program: `scan` carries a state along the first axis of its inputs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele import tree
from stele.errors import ShapeError, TraceError
from stele.handle import GRAD, TRACING, Handle, Tracing, tracing_into
from stele.ir.door import public
from stele.ir.graph import Array, Value
from stele.opensize import plain
from stele.ops import control
from stele.ops.arguments import function, size
from stele.tensor import Operands, Tensor, constant


class Body(Tracing):
    """The step of a loop: it sees what is outside, and rebinds nothing there."""

    def __init__(self, outer: Tracing | None) -> None:
        self.outer = outer
        self.differentiable = False

    def read(self, handle: Handle) -> Value:
        self.differentiable = self.differentiable or handle.requires_grad
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.read(handle)

    def peek(self, handle: Handle) -> Value | None:
        return handle._value if self.outer is None or handle.home is self.outer else self.outer.peek(handle)

    def array(self, array: Array) -> Value | None:
        return None if self.outer is None else self.outer.array(array)

    def write(self, handle: Handle, value: Value) -> None:
        raise TraceError("the step of a scan rebinds a tensor from outside, but it runs as a loop inside the program",
                         hint="Carry it along: return it from the step and take it as an argument.")

    def read_grad(self, handle: Handle) -> Any:
        return handle._grad if self.outer is None or handle.home is self.outer else self.outer.read_grad(handle)

    def write_grad(self, handle: Handle, grad: Any) -> None:
        raise TraceError("backward() inside the step of a scan",
                         hint="Call it on the result of the scan, or use st.gradients.")


@public
def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, *, length: int | None = None,
         reverse: bool = False) -> tuple[Any, Any]:
    """The last state, and the outputs stacked: `state, y = f(state, x)` for each x along the first axis of xs.

    `init`, `xs` and what f returns may be tensors or containers of tensors; the state keeps its types. The loop is one
    op of the graph: differentiable, and one native loop in a compiled program. Without xs, `length` is how many.

    >>> import stele as st
    >>> total, sums = scan(lambda s, x: (s + x, s + x), st.tensor(0.0), st.tensor([1.0, 2.0, 3.0]))
    >>> total.tolist(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    function(f, "the step of scan")
    steps = None if length is None else size(plain(length), "length of scan")
    carries, carry_spec = tree.flatten(init)
    slices, slice_spec = tree.flatten(()) if xs is None else tree.flatten(xs)
    operands = Operands(numbers=False)
    first = [operands.value(constant(x)) for x in carries]
    stacks = [operands.value(constant(x)) for x in slices]
    if scalar := next((v for v in stacks if not v.ndim), None):
        raise ShapeError(f"scan walks along the first axis of xs, got {scalar.type}, which has none",
                         hint="Give length= for a loop without inputs.")
    shapes: list[Any] = []
    body = Body(TRACING.get())

    def step(state: tuple[Value, ...], x: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        with tracing_into(body):
            given = tree.unflatten(carry_spec, [Tensor(v, GRAD.get()) for v in state])
            part = None if xs is None else tree.unflatten(slice_spec, [Tensor(v, GRAD.get()) for v in x])
            returned = f(given, part)
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TraceError(f"the step of a scan returns (state, output), got {type(returned).__name__}")
            new, new_spec = tree.flatten(returned[0])
            if new_spec != carry_spec:
                raise TraceError("the step of a scan returns a state of another structure than it was given",
                                 hint="Return the same containers with the same keys.")
            ys, y_spec = tree.flatten(returned[1])
            outputs = [None if y is None else constant(y) for y in ys]
            shapes.extend((y_spec, [y is None for y in outputs]))
            return [constant(s).value for s in new], [y.value for y in outputs if y is not None]

    last, ys = control.scan(step, first, stacks, length=steps, reverse=reverse)
    spec, empty = shapes[0], shapes[1]
    stacked = iter(ys)
    outputs = [None if none else next(stacked) for none in empty]
    operands.differentiable = operands.differentiable or body.differentiable
    return tree.unflatten(carry_spec, map(operands.tensors, last)), tree.unflatten(spec, map(operands.tensors, outputs))
