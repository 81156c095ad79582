"""Functions of which gradients keep nothing but the arguments."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from stele.arrays.streams import stream_of
from stele.arrays.tensor import Operands, Tensor, constant, tensors
from stele.eager.handle import GRAD, TRACING, Handle
from stele.eager.live import Live
from stele.higher.scan import Body
from stele.ir.door import public
from stele.ir.graph import Value
from stele.ops import checkpoint as ops
from stele.ops.arguments import function
from stele.tracing import tree

P = ParamSpec("P")
R = TypeVar("R")


class Held(Body):
    """The inside of a checkpoint: what it reads from outside are operands."""

    def __init__(self, f: Callable[..., Any], inputs: Callable[[list[Tensor]], Any], carried: list[Handle]) -> None:
        super().__init__(lambda state, x: (state, f(x)), tree.flatten(())[1], inputs, TRACING.get(), carried)
        self.known: set[Value] = set()

    def read(self, handle: Handle) -> Live:
        v = super().read(handle)
        self.known.add(v)
        return v


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
    >>> st.allclose(a, b)
    True
    """
    function(f, "what checkpoint holds")

    @public
    @wraps(f)
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, spec = tree.flatten((args, kwargs))
        places = [k for k, a in enumerate(leaves) if isinstance(a, Tensor | np.ndarray)]
        operands = Operands(numbers=False)
        xs = [operands.value(constant(leaves[k])) for k in places]

        def given(x: list[Tensor]) -> Any:
            found = dict(zip(places, x))
            return tree.unflatten(spec, [found.get(k, a) for k, a in enumerate(leaves)])

        whole: Callable[..., Any] = f
        call: Callable[[Any], Any] = lambda x: whole(*x[0], **x[1])

        body = Held(call, given, [])
        while True:
            carries, ys = ops.checkpoint(body, body.outside(), xs, body.known)
            if not body.missed:
                break
            body = Held(call, given, [*body.carried, *body.missed])
        for handle, value in zip(body.carried, carries):
            handle.value = value
            if body.outer is None and (stream := stream_of(handle)):
                stream.settle()
        made, differentiable = iter(ys), (operands.differentiable or body.differentiable) and GRAD.get()
        return tree.unflatten(body.outputs, [None if none else tensors(next(made), differentiable)
                                             for none in body.empty])

    return again
