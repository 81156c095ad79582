"""Gradients cut before a step."""
from __future__ import annotations

from collections.abc import Sequence

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor
from stele.eager.handle import no_grad
from stele.errors import GraphError
from stele.ir.types import HOME
from stele.optim.checks import checked


@checked
def clip_grad_norm(parameters: Sequence[Tensor], limit: float) -> Tensor:
    """The joint Euclidean norm of all gradients of the `parameters`, which are scaled so that it is at most `limit`.

    Between `loss.backward()` and `step()` (Pascanu et al., 2013); the factor is limit / (norm + 1e-6), as PyTorch's.
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
        norm = F.sqrt(sum(F.square(g).sum().to(HOME) for _, g in held))
        scale = F.minimum(limit / (norm + 1e-6), 1.0)
        for p, g in held:
            p.grad = g * scale
        return norm


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
