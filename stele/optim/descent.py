"""Optimisers whose steps have the gradient's direction, or its sign."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import full, full_like, zeros, zeros_like
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor
from stele.errors import GraphError, ShapeError
from stele.interop.keywords import speaks
from stele.ir.types import HOME
from stele.ops.arguments import choice, whole
from stele.optim.optimizer import Counting, Optimizer, Parameters, State, decayed, fitting, is_moved
from stele.optim.rows import added, taken


def length(x: Tensor) -> Tensor:
    """The Euclidean norm of all elements."""
    return F.sqrt(F.square(x).sum())


class SGD(Optimizer):
    """Stochastic gradient descent over `parameters`: v = `momentum` * v + (1 - `dampening`) * g, p -= `lr` * v.

    PyTorch's form; v begins as the first g. With `nesterov`, p -= lr * (g + momentum * v) (Sutskever et al., 2013);
    `weight_decay` adds weight_decay * p to the gradient g first, `maximize` goes up. Raises GraphError for nesterov
    without a momentum, or with dampening.

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

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
                 weight_decay: float = 0.0, nesterov: bool = False, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay,
                         dampening=dampening)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if options["nesterov"] and options["dampening"]:
            raise GraphError(f"SGD needs dampening=0 for Nesterov's step, got {options['dampening']}")

    def begun(self, p: Tensor, s: State) -> State:
        if s.momentum:
            s.velocity = zeros_like(p, dtype=s.dtype)
        if s.dampening:
            s.damped = zeros((), dtype=s.width, device=HOME)       # 1 from the second step on
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        moves = is_moved(s.momentum) or s.momentum > 0
        if not (moves or s.weight_decay) and (rows := taken(g)) is not None:
            parts, at = rows
            p.assign(added(p, -s.lr * parts, at))
            return
        g = decayed(p, g, s)
        if moves:
            new = g
            if s.dampening:
                new = g * (1 - s.dampening * s.damped)
                s.damped.assign(1.0)
            s.velocity.assign(s.momentum * s.velocity + new)
            g = g + s.momentum * s.velocity if s.nesterov else s.velocity
        p.assign(p - s.lr * g)


class ASGD(Counting):
    """Averaged stochastic gradient descent over `parameters` (Polyak and Juditsky, 1992), in PyTorch's form.

    p -= e * (g + `lambd` * p), where e is `lr` at first, and behind step t lr / (1 + lambd * lr * t) ** `alpha`: a rate
    that a schedule sets counts from the step after the next on. From step `t0` on the mean of p is gathered,
    `optimizer.states[k].mean`. `weight_decay` adds weight_decay * p to the gradient g first, `maximize` goes up. Raises
    GraphError for no parameters and for what requires no gradients.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer = optim.ASGD([x], lr=0.25, t0=0)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.numpy().round(3), optimizer.states[0].mean.numpy().round(3)
    (array([0.5], dtype=float32), array([0.75], dtype=float32))
    """

    memory = "mean",

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay)

    def begun(self, p: Tensor, s: State) -> State:
        super().begun(p, s)
        s.rate = full((), float(s.lr), dtype=s.width, device=HOME)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = decayed(p, g, s)
        p.assign(p * (1 - s.lambd * s.rate) - s.rate * g)
        s.rate.assign(s.lr / (1 + s.lambd * s.lr * s.steps) ** s.alpha)
        s.mean.assign(s.mean + (p - s.mean) / F.maximum(s.steps - 1 - s.t0, 1.0))


class Rprop(Optimizer):
    """Resilient propagation over `parameters` (Riedmiller and Braun, 1993): each number moves by the signs alone.

    The length of its steps begins as `lr`; it is multiplied with the second of the `etas` where the gradient keeps its
    sign and with the first where that changed, within the bounds `step_sizes`; where it changed nothing moves, as in
    PyTorch. `maximize` goes up. For gradients of whole sets, not of small batches. Raises GraphError for no parameters
    and for what requires no gradients.

    >>> x = st.tensor([4.0, -1.0], requires_grad=True)
    >>> optimizer = optim.Rprop([x], lr=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [2.9, 0.1]
    """

    memory = "before",

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50.0), maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, etas=etas, step_sizes=step_sizes)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if not 0 < options["etas"][0] < 1 < options["etas"][1]:
            raise GraphError(f"Rprop needs etas below and above 1, got {options['etas']}")

    def begun(self, p: Tensor, s: State) -> State:
        super().begun(p, s)
        s.length = full_like(p, float(s.lr), dtype=s.dtype)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        (less, more), agreed = s.etas, F.sign(g * s.before)
        length = where(agreed > 0, s.length * more, where(agreed < 0, s.length * less, s.length))
        s.length.assign(F.clip(length, *s.step_sizes))
        g = where(agreed < 0, 0.0, g)
        p.assign(p - F.sign(g) * s.length)
        s.before.assign(g)


class Lion(Optimizer):
    """Lion over `parameters` (Chen et al., 2023, algorithm 2): steps of the length `lr` by the signs of a moment.

    For `betas` (b1, b2), p -= lr * (sign(b1 * m + (1 - b1) * g) + `weight_decay` * p), then m = b2 * m + (1 - b2) * g.
    `maximize` goes up. Raises GraphError for no parameters and for what requires no gradients.

    >>> x = st.tensor([4.0, -1.0], requires_grad=True)
    >>> optimizer = optim.Lion([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [3.5, -0.5]
    """

    memory = "mean",

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99),
                 weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, betas=betas, weight_decay=weight_decay)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        (b1, b2), m = s.betas, s.mean
        p.assign(p * (1 - s.lr * s.weight_decay) - s.lr * F.sign(b1 * m + (1 - b1) * g))
        m.assign(b2 * m + (1 - b2) * g)


class LARS(Optimizer):
    """Layer-wise adaptive rates over `parameters` (You et al., 2017), for large batches; optax's form.

    With u = g + `weight_decay` * p and r = `trust` * |p| / (|u| + `eps`), or 1 where a norm is 0, v = `momentum` * v +
    `lr` * r * u and p -= v; with `nesterov` p -= lr * r * u + momentum * v. `maximize` goes up. Raises GraphError for
    no parameters and for what requires no gradients.

    >>> x = st.tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = optim.LARS([x], lr=1.0, trust=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [2.7, 3.6]
    """

    memory = "velocity",

    @speaks
    def __init__(self, parameters: Parameters, lr: float, momentum: float = 0.9, weight_decay: float = 0.0,
                 trust: float = 1e-3, eps: float = 0.0, nesterov: bool = False, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, momentum=momentum, weight_decay=weight_decay, trust=trust, eps=eps,
                         nesterov=nesterov)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        u = decayed(p, g, s)
        step = s.lr * trusted(fitting(p, s.dtype), u, s.trust, s.eps) * u
        s.velocity.assign(s.momentum * s.velocity + step)
        p.assign(p - (step + s.momentum * s.velocity if s.nesterov else s.velocity))


def trusted(p: Tensor, u: Tensor, trust: float = 1.0, eps: float = 0.0) -> Tensor:
    """The norm of a parameter over that of its step, times `trust`; 1 where one of them is 0."""
    of_p, of_u = length(p), length(u)
    return where((of_p > 0) & (of_u > 0), trust * of_p / where(of_u > 0, of_u + eps, 1.0), 1.0)


class Muon(Optimizer):
    """Momentum made orthogonal, over `parameters` that are matrices (Jordan et al., 2024); PyTorch's form in float32.

    With v = `momentum` * v + (1 - momentum) * g, and u = (1 - momentum) * g + momentum * v with `nesterov` or else v, u
    is brought near the orthogonal matrix next to it by `ns_steps` of x = a x + (b x x' + c (x x')^2) x with
    `ns_coefficients` (a, b, c), from u / (|u| + `eps`). p shrinks by lr * `weight_decay` * p and moves by lr * u, times
    sqrt(max(1, rows / columns)), or as Adam moves by 0.2 * sqrt(max(rows, columns)) if `adjust_lr_fn` is
    "match_rms_adamw". `maximize` goes up. Raises ShapeError for other than matrices: they take `AdamW`.

    >>> x = st.tensor([[3.0, 0.0], [0.0, 0.5]], requires_grad=True)
    >>> optimizer = optim.Muon([x], lr=0.1, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.numpy().round(1)
    array([[2.9, 0. ],
           [0. , 0.4]], dtype=float32)
    """

    memory = "velocity",

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str = "original", maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                         ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        whole(options["ns_steps"], "ns_steps of Muon", 0, 99)
        choice(options["adjust_lr_fn"], "adjust_lr_fn of Muon", ("original", "match_rms_adamw"))

    def begun(self, p: Tensor, s: State) -> State:
        if p.ndim != 2:
            raise ShapeError(f"Muon moves matrices, got a parameter of shape {tuple(p.shape)}",
                             hint="Give vectors and kernels to optim.AdamW.")
        return super().begun(p, s)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        m, (rows, columns) = s.momentum, p.shape
        s.velocity.assign(m * s.velocity + (1 - m) * g)
        u = orthogonal((1 - m) * g + m * s.velocity if s.nesterov else s.velocity, s)
        as_adam = s.adjust_lr_fn == "match_rms_adamw"
        scale = 0.2 * math.sqrt(max(rows, columns)) if as_adam else math.sqrt(max(1, rows / columns))
        p.assign(p * (1 - s.lr * s.weight_decay) - s.lr * scale * u)


def orthogonal(x: Tensor, s: Any) -> Tensor:
    """A matrix with singular values near 1 and the singular vectors of x, by Newton and Schulz."""
    a, b, c = s.ns_coefficients
    is_tall = x.shape[0] > x.shape[1]
    x = x.T if is_tall else x
    x = x / F.maximum(length(x), s.eps)
    for _ in range(s.ns_steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if is_tall else x
