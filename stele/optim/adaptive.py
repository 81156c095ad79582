"""Optimisers that measure each number's step by the gradients it has seen."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import full_like, ones, zeros_like
from stele.arrays.namespace import finfo
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor
from stele.errors import GraphError
from stele.interop.keywords import speaks
from stele.ir.types import HOME
from stele.optim.descent import trusted
from stele.optim.optimizer import Counting, Optimizer, Parameters, State, decayed, fitting
from stele.optim.rows import added, at_rows, summed


class Adam(Counting):
    """Adam over `parameters` (Kingma and Ba, 2015, algorithm 1), with moments m and v that begin as zeros.

    For `betas` (b1, b2), m = b1 * m + (1 - b1) * g and v = b2 * v + (1 - b2) * g * g; with both divided by 1 - b**t at
    step t, p -= `lr` * m / (sqrt(v) + `eps`). `weight_decay` adds weight_decay * p to the gradient g first, as
    PyTorch's; see `AdamW`. With `amsgrad` v is the largest so far (Reddi et al., 2018); `maximize` goes up. Raises
    GraphError for betas outside of [0, 1).

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.5, 0.4]
    """

    memory = "mean", "square"
    decoupled = False

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)

    def begun(self, p: Tensor, s: State) -> State:
        super().begun(p, s)
        if s.amsgrad:
            s.largest = zeros_like(p, dtype=s.dtype)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        v = self.remembered(g if self.decoupled else decayed(p, g, s), s)
        if s.amsgrad:
            s.largest.assign(F.maximum(s.largest, v))
            v = s.largest
        step = s.lr / gathered(s, s.betas[0])
        scale = F.rsqrt(gathered(s, s.betas[1]))
        kept = p * (1 - s.lr * s.weight_decay) if s.weight_decay and self.decoupled else p
        p.assign(kept - step * s.mean / (F.sqrt(v) * scale + s.eps))

    def remembered(self, g: Tensor, s: Any) -> Tensor:
        """The second moment, after both have taken a gradient."""
        (b1, b2), m, v = s.betas, s.mean, s.square
        m.assign(b1 * m + (1 - b1) * g)
        v.assign(b2 * v + (1 - b2) * F.square(g))
        return v


class AdamW(Adam):
    """Adam over `parameters` with decoupled weight decay: each step p shrinks by lr * weight_decay * p.

    (Loshchilov and Hutter, 2019, algorithm 2.) `lr`, `betas`, `eps`, `amsgrad` and `maximize` are those of `Adam`;
    `weight_decay` is scaled by the rate and not by the gradients' size (PyTorch's form). Raises GraphError for no
    parameters and for what requires no gradients.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer = optim.AdamW([x], lr=0.5, weight_decay=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.3]
    """

    decoupled = True

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.01, amsgrad: bool = False, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, amsgrad, maximize)


class LAMB(Adam):
    """Adam over `parameters` with a length for each of them (You et al., 2020, algorithm 2), for large batches.

    u = m / (sqrt(v) + `eps`) + `weight_decay` * p, with the moments of `Adam` by `betas`; p -= `lr` * |p| / |u| * u, or
    lr * u where a norm is 0 (optax's form). `maximize` goes up. Raises GraphError for no parameters and for what
    requires no gradients.

    >>> x = st.tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = optim.LAMB([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [2.646, 3.646]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-6, weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, maximize=maximize)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        v = self.remembered(g, s)
        b1, b2 = s.betas
        u = s.mean / gathered(s, b1) / (F.sqrt(v / gathered(s, b2)) + s.eps) + s.weight_decay * p
        p.assign(p - s.lr * trusted(fitting(p, s.dtype), u) * u)


class Adamax(Adam):
    """Adam over `parameters` with the largest gradient in place of a second moment (Kingma and Ba, 2015, algorithm 2).

    m as in `Adam`, v = max(b2 * v, |g| + `eps`) for `betas` (b1, b2), p -= `lr` / (1 - b1**t) * m / v at step t.
    `weight_decay` adds weight_decay * p to the gradient g first, `maximize` goes up (PyTorch's form). Raises GraphError
    for no parameters and for what requires no gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.Adamax([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.5, 0.4]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, maximize=maximize)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = decayed(p, g, s)
        b1, b2 = s.betas
        s.mean.assign(b1 * s.mean + (1 - b1) * g)
        s.square.assign(F.maximum(b2 * s.square, F.abs(g) + s.eps))
        p.assign(p - s.lr / gathered(s, b1) * s.mean / s.square)


class NAdam(Adam):
    """Adam over `parameters` with Nesterov's momentum (Dozat, 2016), in PyTorch's form.

    The first of the `betas` warms up: at step t it is u(t) = b1 * (1 - 0.5 * 0.96 ** (t * `momentum_decay`)), and
    p -= `lr` * ((1 - u(t)) / (1 - u(1)...u(t)) * g + u(t + 1) / (1 - u(1)...u(t + 1)) * m) / (sqrt(v / (1 - b2**t)) +
    `eps`). `weight_decay` adds weight_decay * p to the gradient g first, or shrinks p as in `AdamW` if
    `decoupled_weight_decay`; `maximize` goes up. Raises GraphError for no parameters and for what requires no
    gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.NAdam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.472, 0.428]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, maximize: bool = False) -> None:
        Counting.__init__(self, parameters, lr, maximize, betas=betas, eps=eps, weight_decay=weight_decay,
                          momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay, amsgrad=False)

    def begun(self, p: Tensor, s: State) -> State:
        super().begun(p, s)
        s.product = ones((), dtype=s.width, device=HOME)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = shrunk_or_decayed(p, g, s)
        v = self.remembered(g, s)
        now, then = self.warmed(s, 0), self.warmed(s, 1)
        s.product.assign(s.product * now)
        below = F.sqrt(v / gathered(s, s.betas[1])) + s.eps
        p.assign(p - s.lr * ((1 - now) / (1 - s.product) * g + then / (1 - s.product * then) * s.mean) / below)

    def warmed(self, s: Any, later: int) -> Tensor:
        """The first beta at this step or `later`."""
        return s.betas[0] * (1 - 0.5 * F.exp((s.steps + later) * (s.momentum_decay * math.log(0.96))))


class RAdam(Adam):
    """Rectified Adam over `parameters` (Liu et al., 2020, algorithm 2), in PyTorch's form.

    While the gradients seen are too few to know their variance, as `betas` say, p -= `lr` * m / (1 - b1**t); later the
    step of `Adam` times a factor that grows to 1. `weight_decay` adds weight_decay * p to the gradient g first, or
    shrinks p as in `AdamW` if `decoupled_weight_decay`; `eps` and `maximize` as there. Raises GraphError for no
    parameters and for what requires no gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.RAdam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [0.0, 0.0]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, decoupled_weight_decay: bool = False,
                 maximize: bool = False) -> None:
        Counting.__init__(self, parameters, lr, maximize, betas=betas, eps=eps, weight_decay=weight_decay,
                          decoupled_weight_decay=decoupled_weight_decay, amsgrad=False)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = shrunk_or_decayed(p, g, s)
        v = self.remembered(g, s)
        b1, b2 = s.betas
        seen = gathered(s, b2)
        most = 2 / (1 - b2) - 1
        length = most - 2 * s.steps * (1 - seen) / seen          # of the mean of as many gradients
        is_known = length > 5
        far = where(is_known, length, 6.0)
        grown = F.sqrt((far - 4) * (far - 2) * most / ((most - 4) * (most - 2) * far))
        factor = where(is_known, grown * F.sqrt(seen) / (F.sqrt(v) + s.eps), 1.0)
        p.assign(p - s.lr * s.mean / gathered(s, b1) * factor)


class SparseAdam(Adam):
    """Adam over tables among `parameters` of which a step takes few rows: others stay as they are, moments included.

    As PyTorch has it, p -= `lr` * sqrt(1 - b2**t) / (1 - b1**t) * m / (sqrt(v) + `eps`) for the rows, along the first
    axis, whose gradient holds a number that is not zero; `betas`, m, v and `maximize` are as of `Adam`. For tables of
    `nn.Embedding`, of which SGD without momentum and Adagrad leave such rows alone by themselves: a compiled step
    reads and writes no other rows. Raises GraphError for betas outside of [0, 1), and for parameters of no axis.

    >>> table = nn.Embedding(5, 2, sparse=True)
    >>> before, optimizer = table.weight.numpy().copy(), optim.SparseAdam(table.parameters(), lr=0.5)
    >>> table(st.tensor([1, 3])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight.numpy() != before).any(axis=1).tolist()
    [False, True, False, True, False]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        Counting.__init__(self, parameters, lr, maximize, betas=betas, eps=eps)

    def begun(self, p: Tensor, s: State) -> State:
        if not p.ndim:
            raise GraphError("SparseAdam moves rows of tables, got a parameter of no axis")
        return Optimizer.begun(self, p, s)

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        (b1, b2), m, v = s.betas, s.mean, s.square
        if (rows := summed(g)) is not None:
            g, at, occurs = rows
            m.assign(added(m, where(occurs, (1 - b1) * (g - at_rows(m, at)), 0.0), at))
            v.assign(added(v, where(occurs, (1 - b2) * (F.square(g) - at_rows(v, at)), 0.0), at))
            rate = s.lr * F.sqrt(gathered(s, b2)) / gathered(s, b1)
            p.assign(added(p, where(occurs, -rate * at_rows(m, at) / (F.sqrt(at_rows(v, at)) + s.eps), 0.0), at))
            return
        occurs = F.any(g != 0, axis=tuple(range(1, p.ndim)), keepdims=True)
        m.assign(where(occurs, b1 * m + (1 - b1) * g, m))
        v.assign(where(occurs, b2 * v + (1 - b2) * F.square(g), v))
        rate = s.lr * F.sqrt(gathered(s, b2)) / gathered(s, b1)
        p.assign(where(occurs, p - rate * m / (F.sqrt(v) + s.eps), p))


class RMSprop(Optimizer):
    """RMSprop over `parameters` (Hinton, 2012, lecture 6e), in PyTorch's form: v = `alpha` * v + (1 - alpha) * g * g.

    p -= `lr` * g / (sqrt(v) + `eps`); `centered` takes the square of the mean gradient off v; with a `momentum`
    b = momentum * b + g / (sqrt(v) + eps) and p -= lr * b. `weight_decay` adds weight_decay * p to the gradient g
    first, `maximize` goes up. Raises GraphError for no parameters and for what requires no gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.0, 0.9]
    """

    memory = "square",

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
                 maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                         centered=centered)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if not options["alpha"] >= 0:
            raise GraphError(f"RMSprop needs alpha >= 0, got {options['alpha']}")

    def begun(self, p: Tensor, s: State) -> State:
        super().begun(p, s)
        more = ("mean",) * s.centered + ("velocity",) * (s.momentum > 0)
        vars(s).update({name: zeros_like(p, dtype=s.dtype) for name in more})
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = decayed(p, g, s)
        v = s.square.assign(s.alpha * s.square + (1 - s.alpha) * F.square(g))
        if s.centered:
            s.mean.assign(s.alpha * s.mean + (1 - s.alpha) * g)
            v = v - F.square(s.mean)
        step = g / (F.sqrt(v) + s.eps)
        if s.momentum:
            step = s.velocity.assign(s.momentum * s.velocity + step)
        p.assign(p - s.lr * step)


class Adagrad(Counting):
    """Adagrad over `parameters` (Duchi et al., 2011), in PyTorch's form: v += g * g, p -= r * g / (sqrt(v) + `eps`).

    At step t, from 1, r = `lr` / (1 + (t - 1) * `lr_decay`). v begins as `initial_accumulator_value`; `weight_decay`
    adds weight_decay * p to the gradient g first, `maximize` goes up. Raises GraphError for no parameters and for what
    requires no gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.5, 0.4]
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, lr_decay=lr_decay, weight_decay=weight_decay,
                         initial_accumulator_value=initial_accumulator_value, eps=eps)

    def begun(self, p: Tensor, s: State) -> State:
        s.square = full_like(p, s.initial_accumulator_value, dtype=s.dtype)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        rate = s.lr / (1 + (s.steps - 1) * s.lr_decay)
        if not s.weight_decay and (rows := summed(g)) is not None:
            g, at, occurs = rows
            s.square.assign(added(s.square, F.square(g), at))
            p.assign(added(p, where(occurs, -rate * g / (F.sqrt(at_rows(s.square, at)) + s.eps), 0.0), at))
            return
        g = decayed(p, g, s)
        s.square.assign(s.square + F.square(g))
        p.assign(p - rate * g / (F.sqrt(s.square) + s.eps))


class Adadelta(Optimizer):
    """Adadelta over `parameters` (Zeiler, 2012, algorithm 1): steps in the units of the parameters.

    v = `rho` * v + (1 - rho) * g * g; d = sqrt(u + `eps`) / sqrt(v + eps) * g; u = rho * u + (1 - rho) * d * d;
    p -= `lr` * d. `weight_decay` adds weight_decay * p to the gradient g first, `maximize` goes up (PyTorch's form).
    Raises GraphError for no parameters and for what requires no gradients.

    >>> x = st.tensor([4.0, -0.1], requires_grad=True)
    >>> optimizer = optim.Adadelta([x], eps=0.01)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(number, 3) for number in x.tolist()]
    [3.684, 0.069]
    """

    memory = "square", "moved"

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, rho=rho, eps=eps, weight_decay=weight_decay)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if not options["rho"] <= 1:
            raise GraphError(f"Adadelta needs rho <= 1, got {options['rho']}")

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        g = decayed(p, g, s)
        s.square.assign(s.rho * s.square + (1 - s.rho) * F.square(g))
        d = F.sqrt(s.moved + s.eps) / F.sqrt(s.square + s.eps) * g
        s.moved.assign(s.rho * s.moved + (1 - s.rho) * F.square(d))
        p.assign(p - s.lr * d)


class Adafactor(Counting):
    """Adafactor over `parameters` (Shazeer and Stern, 2018): second moments of matrices as a row and a column.

    At step t the moments keep 1 - t ** `beta2_decay`, the rate is min(`lr`, 1 / sqrt(t)) times the larger of the
    parameter's root mean square and the second of `eps`; the step is cut to the root mean square `d`. The first of eps,
    None for that of the dtype, is the least moment. `weight_decay` shrinks p as in `AdamW`, `maximize` goes up
    (PyTorch's form). Raises GraphError for no parameters and for what requires no gradients.

    >>> x = st.tensor([[4.0, -0.1]], requires_grad=True)
    >>> optimizer = optim.Adafactor([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.numpy().round(2)
    array([[2.59, 1.31]], dtype=float32)
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0,
                 maximize: bool = False) -> None:
        super().__init__(parameters, lr, maximize, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if not options["beta2_decay"] <= 0:
            raise GraphError(f"Adafactor needs beta2_decay <= 0, got {options['beta2_decay']}")
        if not all(eps is None or eps >= 0 for eps in options["eps"]):
            raise GraphError(f"Adafactor needs both eps >= 0, got {options['eps']}")
        if not options["d"] >= 1:
            raise GraphError(f"Adafactor needs d >= 1, got {options['d']}")

    def begun(self, p: Tensor, s: State) -> State:
        if p.ndim > 1:
            s.rows, s.columns = (zeros_like(p.mean(axis, keepdims=True), dtype=s.dtype) for axis in (-1, -2))
        else:
            s.square = zeros_like(p, dtype=s.dtype)
        return s

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        new = s.steps ** s.beta2_decay
        least = finfo(p.dtype).eps if s.eps[0] is None else s.eps[0]
        rate = F.maximum(root(fitting(p, s.dtype)), s.eps[1]) * F.minimum(s.lr, F.rsqrt(s.steps))
        if p.ndim > 1:
            for held, axis in ((s.rows, -1), (s.columns, -2)):
                held.assign(held + new * (F.square(g).mean(axis, keepdims=True) - held))
            v = s.rows @ s.columns / F.maximum(s.rows.mean(-2, keepdims=True), least)
        else:
            v = s.square.assign(s.square + new * (F.square(g) - s.square))
        u = g * F.rsqrt(F.maximum(v, least * least))
        p.assign(p * (1 - s.lr * s.weight_decay) - rate / F.maximum(root(u) / s.d, 1.0) * u)


def gathered(s: Any, beta: float | Tensor) -> Tensor:
    """1 - beta ** steps, the weight of what a mean has gathered, to its last digits where beta is almost 1."""
    if isinstance(beta, Tensor):        # a schedule moves it
        return -F.expm1(s.steps * F.log(beta))
    return -F.expm1(s.steps * (math.log(beta) if beta else -math.inf))


def shrunk_or_decayed(p: Tensor, g: Tensor, s: Any) -> Tensor:
    """The gradient to take: with its decay, unless the parameter shrinks apart from it, which it then has."""
    if not s.decoupled_weight_decay:
        return decayed(p, g, s)
    if s.weight_decay:
        p.assign(p * (1 - s.lr * s.weight_decay))
    return g


def root(x: Tensor) -> Tensor:
    """The root of the mean square."""
    return F.sqrt(F.square(x).mean())
