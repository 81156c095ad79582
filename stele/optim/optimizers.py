"""Optimisers: gradients in, parameters moved."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stele.arrays import functions as F
from stele.arrays.creation import zeros, zeros_like
from stele.arrays.tensor import Tensor, tensor
from stele.eager.follow import FOLLOWER
from stele.eager.handle import TRACING, no_grad
from stele.errors import DataError, GraphError, kind
from stele.ir.door import public
from stele.ir.types import HOME
from stele.ops.arguments import is_many, is_mapping, is_series, number
from stele.saving import options_of

Parameters = Iterable[Tensor] | Iterable[tuple[str, Tensor]]


class Optimizer:
    """The base of optimisers: `parameters`, leaves that require gradients, and a learning rate `lr`, a tensor.

    `step()` moves every parameter that has a gradient, `zero_grad()` forgets the gradients. `optimizer.lr = 0.1` works
    between the steps of a compiled function. A class of its own writes `update(k, p, g)`. Raises GraphError for no
    parameters, for tensors that would never move, and for a negative rate.

    >>> class Signed(optim.Optimizer):
    ...     def update(self, k, p, g):
    ...         p.assign(p - self.lr * st.sign(g))
    >>> x = st.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Signed([x], lr=0.5).step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    @public
    def __init__(self, parameters: Parameters, lr: float) -> None:
        name = type(self).__name__
        if not is_many(parameters) or isinstance(parameters, Tensor):
            raise GraphError(f"{name} takes a list of tensors, got {kind(parameters)}",
                             hint="Pass [x]." if isinstance(parameters, Tensor) else "Pass model.parameters().")
        given: list[Tensor | tuple[str, Tensor]] = list(parameters.values() if is_mapping(parameters) else parameters)
        self.parameters = [checked(p[1] if isinstance(p, tuple) and len(p) == 2 else p, k, name)    # or (name, tensor)
                           for k, p in enumerate(given)]
        if not self.parameters:
            raise GraphError(f"{name} got no parameters", hint="Pass model.parameters().")
        if not number(lr, f"lr of {name}") >= 0:
            raise GraphError(f"{name} needs a learning rate >= 0, got {lr}")
        self.rate = tensor(float(lr), device=HOME)

    @property
    def lr(self) -> Tensor:
        """The learning rate, a float32 tensor of shape ()."""
        return self.rate

    @lr.setter
    def lr(self, new: float | Tensor) -> None:
        self.rate.assign(new)

    def __repr__(self) -> str:
        count = sum(math.prod(p.shape) for p in self.parameters)
        rate = "traced" if TRACING.get() is not None else f"{float(self.rate):g}"
        said = ", ".join([f"lr={rate}", *(f"{name}={x}" for name, x in self.options().items())])
        return f"{type(self).__name__}({said}; {len(self.parameters)} tensors, {count:,} parameters)"

    def state_dict(self) -> dict[str, Any]:
        """The rate, the options and what the optimiser remembers of each parameter, by its number; no gradients."""
        state: dict[str, Any] = {"kind": type(self).__name__, "options": self.options()}
        for name, x in vars(self).items():
            if isinstance(x, Tensor):
                state[name] = x
            elif is_series(x) and not isinstance(x, tuple) and name != "parameters":
                state |= {f"{name}.{k}": part for k, part in enumerate(x)}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the optimiser stood that gave this state. Nothing changes unless all of it fits.

        Raises DataError if the state is that of another kind of optimiser or of other parameters.
        """
        own = self.state_dict()
        if state.get("kind") != own["kind"]:
            raise DataError(f"the state is none of {own['kind']}: it is of {state.get('kind', 'no optimiser')}")
        if missing := own.keys() ^ state.keys():
            raise DataError(f"the state does not fit this {own['kind']} of {len(self.parameters)} parameters: only one "
                            f"of the two has {min(missing)!r}")
        options = options_of(state["options"], own["options"], own["kind"])
        for name, x in own.items():
            if isinstance(x, Tensor) and np.shape(state[name]) != tuple(x.shape):
                raise DataError(f"{name} has shape {np.shape(state[name])} in the state, {tuple(x.shape)} in this "
                                f"{own['kind']}")
        for name, x in own.items():
            if isinstance(x, Tensor):
                x.assign(state[name])
        vars(self).update(options)

    def options(self) -> dict[str, Any]:
        """The numbers and flags of this optimiser by name."""
        return {name: x for name, x in vars(self).items() if isinstance(x, bool | int | float | tuple)}

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Moves every parameter that has a gradient."""
        if (follower := FOLLOWER.get()) is not None:
            follower.stepped(self)
        with no_grad():
            self.advance()
            for k, p in enumerate(self.parameters):
                if p.grad is not None:
                    self.update(k, p, p.grad)

    def advance(self) -> None:
        """What changes once per step, before the parameters do."""

    def update(self, k: int, p: Tensor, g: Tensor) -> None:
        """Moves parameter k along its gradient."""
        raise NotImplementedError

    def like_parameters(self) -> list[Tensor]:
        """A tensor of zeros for each parameter."""
        return [zeros_like(p) for p in self.parameters]


def checked(p: Any, k: int, optimizer: str) -> Tensor:
    """Parameter k of an optimiser, which has to be a tensor that carries gradients."""
    if is_mapping(p):
        raise GraphError(f"{optimizer} takes tensors and no groups of them, got a dict with {', '.join(map(str, p))}",
                         hint="Make an optimizer for each group, and step both.")
    if not isinstance(p, Tensor):
        raise GraphError(f"parameter {k} of {optimizer} must be a tensor, got {kind(p)}",
                         hint="Pass model.parameters().")
    if not p.requires_grad:
        raise GraphError(f"parameter {k} of {optimizer}, {p.value.type}, requires no gradients, so it would never move",
                         hint="Make it with st.tensor(..., requires_grad=True), or leave it out.")
    if not p.leaf:
        raise GraphError(f"parameter {k} of {optimizer}, {p.value.type}, is computed from others, so it gathers no "
                         "gradient and would never move", hint="Give the tensors that it is computed from.")
    return p


class SGD(Optimizer):
    """Stochastic gradient descent over `parameters`: v = `momentum` * v + g, p -= `lr` * v (PyTorch's form).

    With `nesterov`, p -= lr * (g + momentum * v) (Sutskever et al., 2013); `weight_decay` adds weight_decay * p to the
    gradient g first. Raises GraphError for nesterov without a momentum.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer = optim.SGD([x], lr=0.25, momentum=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    ...     print(x.tolist())
    [2.0]
    [0.0]
    """

    @public
    def __init__(self, parameters: Parameters, lr: float, momentum: float = 0.0, nesterov: bool = False,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr)
        if nesterov and not momentum:
            raise GraphError("SGD needs a momentum for Nesterov's step, got momentum=0")
        self.momentum, self.nesterov, self.weight_decay = momentum, nesterov, weight_decay
        self.velocity = self.like_parameters() if momentum else []

    def update(self, k: int, p: Tensor, g: Tensor) -> None:
        if self.weight_decay:
            g = g + self.weight_decay * p
        if self.momentum:
            v = self.velocity[k]
            v.assign(self.momentum * v + g)
            g = g + self.momentum * v if self.nesterov else v
        p.assign(p - self.lr * g)


class Adam(Optimizer):
    """Adam over `parameters` (Kingma and Ba, 2015, algorithm 1), with moments m and v that begin as zeros.

    For `betas` (b1, b2), m = b1 * m + (1 - b1) * g and v = b2 * v + (1 - b2) * g * g; with both divided by 1 - b**t at
    step t, p -= `lr` * m / (sqrt(v) + `eps`). `weight_decay` adds weight_decay * p to the gradient g first, as
    PyTorch's; see `AdamW`. Raises GraphError for betas outside of [0, 1).

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.5, 0.4]
    """

    decoupled = False

    @public
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr)
        if not all(0 <= beta < 1 for beta in betas):
            raise GraphError(f"{type(self).__name__} needs betas in [0, 1), got {betas}")
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.steps = zeros((), device=HOME)
        self.mean, self.square = self.like_parameters(), self.like_parameters()

    def advance(self) -> None:
        self.steps += 1

    def gathered(self, beta: float) -> Tensor:
        """1 - beta ** steps, the weight of what a mean has gathered, to its last digits where beta is almost 1."""
        return -F.expm1(self.steps * (math.log(beta) if beta else -math.inf))

    def update(self, k: int, p: Tensor, g: Tensor) -> None:
        (b1, b2), m, v = self.betas, self.mean[k], self.square[k]
        if self.weight_decay and not self.decoupled:
            g = g + self.weight_decay * p
        m.assign(b1 * m + (1 - b1) * g)
        v.assign(b2 * v + (1 - b2) * F.square(g))
        step = self.lr / self.gathered(b1)
        scale = F.rsqrt(self.gathered(b2))
        kept = p * (1 - self.lr * self.weight_decay) if self.weight_decay and self.decoupled else p
        p.assign(kept - step * m / (F.sqrt(v) * scale + self.eps))


class AdamW(Adam):
    """Adam over `parameters` with decoupled weight decay: each step p shrinks by lr * weight_decay * p.

    (Loshchilov and Hutter, 2019, algorithm 2.) `lr`, `betas` and `eps` are those of `Adam`; `weight_decay` is scaled by
    the rate and not by the gradients' size (PyTorch's form).

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer = optim.AdamW([x], lr=0.5, weight_decay=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.3]
    """

    decoupled = True

    @public
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.01) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)


@public
def clip_grad_norm(parameters: Sequence[Tensor], limit: float) -> Tensor:
    """The joint Euclidean norm of all gradients of the `parameters`, which are scaled so that it is at most `limit`.

    Between `loss.backward()` and `step()` (Pascanu et al., 2013); the factor is limit / (norm + 1e-6), as PyTorch's.
    Raises GraphError where no parameter has a gradient.

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


@public
def clip_grad_value(parameters: Sequence[Tensor], limit: float) -> None:
    """Cuts every element of every gradient of the `parameters` to [-`limit`, limit].

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
