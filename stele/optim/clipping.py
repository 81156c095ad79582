"""Gradients cut before a step."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor
from stele.eager.handle import no_grad
from stele.errors import GraphError
from stele.ir.types import HOME, float32, promote
from stele.ops.arguments import refuse
from stele.optim.checks import checked
from stele.optim.optimizer import fitting


@checked
def clip_grad_norm(parameters: Sequence[Tensor], limit: float, norm_type: float = 2.0) -> Tensor:
    """The joint norm of all gradients of the `parameters`, which are scaled so that it is at most `limit`.

    Between `loss.backward()` and `step()` (Pascanu et al., 2013); the factor is limit / (norm + 1e-6), as PyTorch's.
    The norm is Euclid's, or (sum |g| ** p) ** (1 / p) for p = `norm_type`, and the largest absolute value for infinity.
    Each gradient keeps its dtype. They may have any shapes. Raises GraphError where no parameter has a gradient.

    >>> x = st.tensor([3.0, 4.0], requires_grad=True)
    >>> (x * x / 2).sum().backward()
    >>> optim.clip_grad_norm([x], limit=1.0).tolist(), x.grad.round().tolist()
    (5.0, [1.0, 1.0])
    """
    with no_grad():
        held = [(p, g) for p in parameters if (g := p.grad) is not None]
        if not held:
            raise GraphError("clip_grad_norm found no gradient", hint="Call it between loss.backward() and step().")
        norm = joint([fitting(g, promote(g.dtype, float32)) for _, g in held], norm_type)    # 16 bits hold no squares
        scale = F.minimum(limit / (norm + 1e-6), 1.0)
        for p, g in held:
            p.grad = fitting(g * scale, g.dtype)
        return norm


def joint(gradients: Sequence[Tensor], p: float) -> Tensor:
    """The norm of all numbers of all gradients."""
    if not p > 0:
        refuse("norm_type of clip_grad_norm", "a number above 0", p)
    if p == 2:
        return F.sqrt(sum(F.square(g).sum().to(HOME) for g in gradients))
    if math.isinf(p):
        return reduce(F.maximum, [F.abs(g).max().to(HOME) for g in gradients])
    return F.pow(sum(F.pow(F.abs(g), p).sum().to(HOME) for g in gradients), 1 / p)


@checked
def clip_grad_value(parameters: Sequence[Tensor], limit: float) -> None:
    """Cuts every element of every gradient of the `parameters` to [-`limit`, limit].

    Each gradient keeps its dtype and shape. Raises ArgumentError for a limit that is no number.

    >>> x = st.tensor([3.0, -0.25], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> optim.clip_grad_value([x], limit=1.0)
    >>> x.grad.tolist()
    [1.0, -0.5]
    """
    with no_grad():
        for p in parameters:
            if p.grad is not None:
                p.grad = F.clip(p.grad, -limit, limit)
