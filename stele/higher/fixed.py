"""Solutions of equations x = f(x), with derivatives of the equation."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stele.arrays.operands import Operands
from stele.eager.handle import GRAD
from stele.errors import TraceError
from stele.higher.body import Body, Leaves, enter
from stele.ir.door import public
from stele.ir.graph import Value, kind_of
from stele.ops import fixed
from stele.ops.arguments import function, number, positive
from stele.ops.control import inside

T = TypeVar("T")
NAME = "the step of fixed_point"


@public
def fixed_point(f: Callable[..., T], x0: T, *args: Any, tol: float = 1e-6, max_steps: int = 1000) -> T:
    """The x for which `f(x, *args)` is x, by steps from `x0`: until no number of x changes by more than `tol`.

    x may be a tensor of real floats, or a container of them, whose shapes f keeps; args are tensors or containers. The
    change is measured by the largest number of x where that is more than 1; after `max_steps` steps it is what it is.
    Derivatives by args, and by what f reads from outside, are those of the equation (the implicit function theorem): of
    any order and mode, of no step that led to x, and of x0 there are none. Each is a fixed point too, of a linear step,
    which converges where f does. Raises ShapeError where f gives x other shapes, DTypeError for x of other dtypes.

    >>> root = lambda a: st.fixed_point(lambda x, a: (x + a / x) / 2, st.tensor(1.0), a)
    >>> root(st.tensor(9.0)).tolist(), st.grad(root)(st.tensor(9.0)).round(4).tolist()
    (3.0, 0.1667)
    """
    function(f, "what fixed_point solves")
    limit, least = positive(max_steps, "max_steps of fixed_point"), float(number(tol, "tol of fixed_point", 0))
    operands = Operands(numbers=False)
    state, given = Leaves(x0, operands), Leaves(args, operands)

    def build(bodies: list[Body]) -> tuple[Value, ...]:
        (body,), n = bodies, len(state.values)
        types = [v.type for v in (*state.values, *given.values)]
        entry = inside(types, kind_of((*state.values, *given.values)))
        new = body.run((), lambda: state.again(NAME, f(state.tree(entry[:n]), *given.tree(entry[n:]))))
        if body.missed:
            raise TraceError(f"{NAME} rebinds a tensor from outside, such as the state of random numbers",
                             hint="Draw before, and pass the numbers as an argument.")
        return fixed.fixed_point((entry, tuple(new)), state.values, given.values, body.known, least, limit)

    (body,), found = enter([NAME], build)
    return state.tensors(found, (operands.differentiable or body.differentiable) and GRAD.get())
