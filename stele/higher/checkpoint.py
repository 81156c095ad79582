"""Functions of which gradients keep nothing but the arguments."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from stele.arrays.operands import Operands
from stele.arrays.tensor import Tensor, constant
from stele.eager.handle import GRAD
from stele.higher.body import Body, Returned, enter, is_python
from stele.ir.door import public
from stele.ir.graph import Value
from stele.ops import checkpoint as ops
from stele.ops.arguments import function
from stele.tracing import tree

P = ParamSpec("P")
R = TypeVar("R")


@public
def checkpoint(f: Callable[P, R]) -> Callable[P, R]:
    """The function `f`, of which gradients keep the arguments alone, and compute all that lies behind them again.

    It takes what f takes and returns tensors, or containers of them. Memory for gradients shrinks to the arguments and
    what f reads from outside, such as weights; what f computes is computed twice (Griewank and Walther, 2000). Random
    numbers are the same both times; what f rebinds outside (the running statistics of BatchNorm) is rebound once.
    Around the step of `st.scan` it spares the stacks of the step's values. Raises ArgumentError for what is no
    function.

    >>> layers = [nn.Linear(8, 8) for _ in range(3)]
    >>> def block(x):
    ...     for layer in layers:
    ...         x = st.tanh(layer(x))
    ...     return x
    >>> x = st.ones(4, 8)
    >>> a, b = (st.grad(lambda x: f(x).sum())(x) for f in (block, st.checkpoint(block)))
    >>> bool(st.allclose(a, b))
    True
    """
    plain: Callable[..., Any] = function(f, "what checkpoint holds")

    @public
    @wraps(f)
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, inputs = tree.flatten((args, kwargs))
        places = [k for k, a in enumerate(leaves) if isinstance(a, Tensor | np.ndarray)]
        operands = Operands(numbers=False)
        given = {k: constant(leaves[k]) for k in places}
        xs: list[Value] = [*map(operands.value, given.values())]

        def whole(given: dict[int, Tensor]) -> Any:
            args, kwargs = tree.unflatten(inputs, [given.get(k, a) for k, a in enumerate(leaves)])
            return plain(*args, **kwargs)

        if is_python(*xs):
            return whole(given)
        made = Returned()

        def build(bodies: list[Body]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
            (body,) = bodies

            def step(carried: tuple[Value, ...], x: tuple[Value, ...]) -> tuple[Sequence[Value], Sequence[Value]]:
                def one() -> list[Value]:
                    return made.values(whole({k: Tensor(v, GRAD.get()) for k, v in zip(places, x)}))

                ys = body.run(carried, one)
                return body.left, ys

            return ops.checkpoint(step, body.begin(), xs, body.known)

        (body,), (carried, ys) = enter(["what a checkpoint holds"], build)
        return made.tensors(body.rebind(carried, ys), (operands.differentiable or body.differentiable) and GRAD.get())

    return again
