"""Loops inside the program: `scan` carries a state along the first axis of its inputs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast, overload

from stele.arrays.functions import stack
from stele.arrays.opensize import plain
from stele.arrays.operands import Operands
from stele.eager.handle import GRAD
from stele.errors import ShapeError, TraceError, kind
from stele.higher.body import Body, Leaves, Returned, apart, enter, is_python, returned, shown
from stele.ir.door import public
from stele.ir.graph import Operand, Value
from stele.ops import control
from stele.ops.arguments import flag, function, size
from stele.tracing import tree

S = TypeVar("S")
X = TypeVar("X")
Y = TypeVar("Y")     # state, input, output
Step = Callable[[Any, Any], tuple[Any, Any]]
STEP = "the step of scan"


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
    steps, reverse = None if length is None else size(plain(length), "length of scan"), flag(reverse, "reverse of scan")
    return walked(function(f, STEP, ("state", "x")), init, xs, STEP, steps, reverse)


def walked(f: Step, init: Any, xs: Any, name: str, length: Any = None, reverse: bool = False) -> tuple[Any, Any]:
    """The same for a step that errors call by its `name`."""
    operands = Operands(numbers=False)
    state, slices = Leaves(init, operands), Leaves(() if xs is None else xs, operands)
    if scalar := next((v for v in slices.values if not v.ndim), None):
        raise ShapeError(f"{name.rpartition(' ')[2]} walks along the first axis of xs, got {scalar.type}, which has "
                         "none", hint="Give st.scan length= for a loop without inputs.")
    counts = {v.shape[0] for v in slices.values} | ({length} - {None})
    if is_python(*state.values, *slices.values) and len(counts) == 1 and isinstance(n := counts.pop(), int) and n:
        return by_steps(f, state, None if xs is None else slices, name, range(n)[::-1 if reverse else 1])
    outputs = Returned()

    def build(bodies: list[Body]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        (body,), count = bodies, len(state.values)

        def step(carries: tuple[Value, ...], x: tuple[Value, ...]) -> tuple[Sequence[Operand], Sequence[Operand]]:
            def one() -> tuple[Sequence[Value], list[Value]]:
                new, y = pair(f(state.tree(carries[:count]), None if xs is None else slices.tree(x)))
                return state.again(name, new), outputs.values(y)

            new, ys = body.run(carries[count:], one)
            return [*new, *body.left], ys

        return control.scan(step, [*state.values, *body.begin()], slices.values, length=length, reverse=reverse)

    (body,), (last, ys) = enter([name], build)
    count = len(state.values)
    made = body.rebind(last[count:], [*last[:count], *ys])
    carries = (operands.differentiable or body.differentiable) and GRAD.get()
    return state.tensors(made, carries), outputs.tensors(made[count:], carries)


def by_steps(f: Step, state: Leaves, slices: Leaves | None, name: str, places: range) -> tuple[Any, Any]:
    """The same, as Python runs each step."""
    now, rows = state.given, list[tuple[tree.Spec | None, list[Any]]]()
    for k in places:
        x = None if slices is None else tree.unflatten(slices.spec, [apart(a[k]) for a in slices.given])
        new, y = pair(f(tree.unflatten(state.spec, now), x))
        now = state.next(name, new)
        rows.append(returned(y))
        if rows[-1][0] != rows[0][0]:
            raise TraceError(f"{name} returns {shown(y)} where it returned {shown(tree.unflatten(*rows[0]))}",
                             hint="Return the same containers with the same keys.")
    ys = [None if column[0] is None else stack(column) for column in zip(*(row for _, row in rows[::places.step]))]
    return tree.unflatten(state.spec, now), tree.unflatten(rows[0][0], ys)


def pair(made: Any) -> tuple[Any, Any]:
    """The state and the output that a step returned."""
    found = cast(Sequence[Any], made) if isinstance(made, tuple) else ()
    if len(found) != 2:
        raise TraceError(f"{STEP} returns (state, output), got {kind(cast(object, made))}")
    return found[0], found[1]
