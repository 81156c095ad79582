"""L-BFGS: steps by the curvature that the last gradients show, each as long as a search along its line says."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.tensor import Tensor, tensor
from stele.eager.handle import enable_grad, no_grad
from stele.errors import GraphError
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, function, whole
from stele.optim.checks import checked
from stele.optim.optimizer import Optimizer, Parameters, fitting

DECREASE, FLATTER, TRIES, CURVED = 1e-4, 0.9, 25, 1e-10    # Wolfe's two conditions, tries of one line; least y's


class Point(NamedTuple):
    """A place on a line: how far along, the loss, the gradient, and the loss's slope along the line."""

    t: float
    loss: float
    g: Tensor
    slope: float


class LBFGS(Optimizer):
    """Limited-memory BFGS over `parameters` (Nocedal and Wright, 2006, algorithms 7.4 and 7.5), in PyTorch's form.

    `step(closure)` makes up to `max_iter` steps, each of which calls the closure once or more, at most `max_eval` times
    in all (1.25 * max_iter): it zeroes the gradients, computes the loss, calls `backward()` and returns the loss. The
    last `history_size` changes of gradients say the curvature. A step is `lr` long, the first one min(1, 1 / |g|) of
    that in the norm of sums; with `line_search_fn="strong_wolfe"` it is searched for by cubics until it fulfils Wolfe's
    strong conditions (algorithms 3.5 and 3.6). It ends where no gradient is above `tolerance_grad`, or no step and no
    change of the loss above `tolerance_change`. Returns the loss at the beginning. Numbers are looked at: the closure
    may be compiled, `step` may not. Raises GraphError without a closure, and for several groups,
    OptionError for another line search.

    >>> x = st.tensor([-1.5, 2.0], requires_grad=True)
    >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=50)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> x.numpy().round(2)
    array([1., 1.], dtype=float32)
    """

    @speaks
    def __init__(self, parameters: Parameters, lr: float = 1.0, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        if line_search_fn is not None:
            choice(line_search_fn, "line_search_fn of LBFGS, unless it is None,", ("strong_wolfe",))
        most = whole(max_iter, "max_iter of LBFGS") * 5 // 4 if max_eval is None else max_eval
        super().__init__(parameters, lr, max_iter=max_iter, max_eval=most, tolerance_grad=tolerance_grad,
                         tolerance_change=tolerance_change, history_size=history_size,
                         line_search_fn=line_search_fn or "")
        if len(self.groups) > 1:
            raise GraphError(f"LBFGS moves all parameters as one, got {len(self.groups)} groups")
        self.pairs: list[tuple[Tensor, Tensor, float]] = []     # steps, changes of the gradient, and their product
        self.last: tuple[Tensor, ...] = ()                  # the last step, and the gradient before it

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` steps; the loss at their beginning."""
        if closure is None:
            raise GraphError("LBFGS computes the loss more than once in a step", hint="Write optimizer.step(closure).")
        function(closure, "closure")
        own, self.calls = self.groups[0], 0
        with no_grad():
            first = self.asked(closure)
            loss, g = float(first), self.gradient()
            for k in range(1, own.max_iter + 1):
                if float(F.abs(g).max()) <= own.tolerance_grad:
                    break
                d, g_before, loss_before = self.direction(g), g, loss
                slope = along(g, d)
                if slope > -own.tolerance_change:
                    break
                t = float(own.lr) * (min(1.0, 1 / float(F.abs(g).sum())) if not self.last else 1.0)
                if own.line_search_fn:
                    t, loss, g, _ = Line(self, closure, d, Point(0.0, loss, g, slope)).searched(t)
                elif k < own.max_iter:
                    _, loss, g, _ = self.at(closure, d, t)
                else:
                    self.move(d, t)
                self.last = d * t, g_before
                if self.calls >= own.max_eval or abs(loss - loss_before) < own.tolerance_change or \
                        float(F.abs(self.last[0]).max()) <= own.tolerance_change:
                    break
            F.eval(*self.last, *self.parameters)    # the next step gives the same bits whoever looks at these
        return first

    def asked(self, closure: Callable[[], Any]) -> Any:
        """The loss, computed anew with its gradients."""
        self.calls += 1
        with enable_grad():
            return closure()

    def gradient(self) -> Tensor:
        """All gradients as one vector."""
        return F.concatenate([zeros(p.size, dtype=s.dtype) if p.grad is None else fitting(p.grad, s.dtype).reshape(-1)
                              for p, s in zip(self.parameters, self.states, strict=True)])

    def direction(self, g: Tensor) -> Tensor:
        """Against the gradient, times the inverse of the curvature that the pairs show."""
        if self.last:
            moved, y = self.last[0], g - self.last[1]
            if (product := along(y, moved)) > CURVED:
                self.pairs = [*self.pairs, (moved, y, product)][-self.groups[0].history_size:]
        if not self.pairs:
            return -g
        q, weights = -g, list[float]()
        for s, y, product in reversed(self.pairs):
            weights.append(along(s, q) / product)
            q = q - weights[-1] * y
        s, y, product = self.pairs[-1]
        q = q * (product / along(y, y))
        for s, y, product in self.pairs:
            q = q + s * (weights.pop() - along(y, q) / product)
        return q

    def move(self, d: Tensor, t: float) -> None:
        """Moves the parameters along d."""
        begin = 0
        for p in self.parameters:
            p.assign(p + t * d[begin:begin + p.size].reshape(p.shape))
            begin += p.size

    def at(self, closure: Callable[[], Any], d: Tensor, t: float) -> Point:
        """The place t along a line from where the parameters are, where they go."""
        self.move(d, t)
        loss = float(self.asked(closure))
        g = self.gradient()
        return Point(t, loss, g, along(g, d))

    def state_dict(self) -> dict[str, Any]:
        """The rate, the options, the pairs and the last step."""
        kept = [x for pair in self.pairs for x in pair[:2]] + [*self.last]
        return super().state_dict() | {"pairs": len(self.pairs)} | {f"kept.{k}": x for k, x in enumerate(kept)}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the optimiser stood that gave this state. Raises DataError if it is of another kind."""
        own = {name: x for name, x in state.items() if not name.startswith("kept.")}
        kept = [tensor(state[f"kept.{k}"]) for k in range(len(state) - len(own))]
        super().load_state_dict(own | {name: x for name, x in self.state_dict().items() if name.startswith("kept.")})
        count = 2 * state["pairs"]
        self.pairs = [(s, y, along(y, s)) for s, y in zip(kept[:count:2], kept[1:count:2])]
        self.last = tuple(kept[count:])


class Line:
    """A search along `d` for a place that fulfils Wolfe's strong conditions, or the best of as many as are tried."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any], d: Tensor, start: Point) -> None:
        self.optimizer, self.closure, self.d, self.start = optimizer, closure, d, start
        self.whole = [p.detach() for p in optimizer.parameters]
        self.tries = -1

    def searched(self, t: float) -> Point:
        """The place that is found, where the parameters then are; t is tried first."""
        past, new = self.start, self.at(t)
        low, high = past, new
        while self.tries < TRIES:       # until what is looked for lies between two places
            if self.is_high(new) or (self.tries > 1 and new.loss >= past.loss):
                low, high = past, new
                break
            if self.is_flat(new):
                return new
            if new.slope >= 0:
                low, high = past, new
                break
            bounds = new.t + 0.01 * (new.t - past.t), new.t * 10
            past, new = new, self.at(lowest(past, new, bounds))
            high = new
        found = self.between(*sorted((low, high), key=lambda p: p.loss))
        self.back()
        self.optimizer.move(self.d, found.t)
        return found

    def between(self, low: Point, high: Point) -> Point:
        """The place that is found between two, the lower one and another."""
        slow, width = False, float(F.abs(self.d).max())
        while self.tries < TRIES and abs(high.t - low.t) * width >= self.optimizer.groups[0].tolerance_change:
            ends = sorted((low.t, high.t))
            t, slow = inside(lowest(low, high, ends), ends, slow)
            new = self.at(t)
            if self.is_high(new) or new.loss >= low.loss:
                low, high = sorted((low, new), key=lambda p: p.loss)
            elif self.is_flat(new):
                return new
            else:
                low, high = new, (low if new.slope * (high.t - low.t) >= 0 else high)
        return low

    def at(self, t: float) -> Point:
        self.tries += 1
        self.back()
        return self.optimizer.at(self.closure, self.d, t)

    def back(self) -> None:
        """Where the line begins."""
        for p, x in zip(self.optimizer.parameters, self.whole):
            p.assign(x)

    def is_high(self, p: Point) -> bool: return p.loss > self.start.loss + DECREASE * p.t * self.start.slope
    def is_flat(self, p: Point) -> bool: return abs(p.slope) <= -FLATTER * self.start.slope


def along(a: Tensor, b: Tensor) -> float:
    """The product of two vectors, as a number: a program of its own, whatever came before."""
    return float((a * b).sum())


def lowest(a: Point, b: Point, bounds: Any) -> float:
    """Where the cubic through two places with their slopes is lowest, within bounds (Nocedal and Wright, 3.59)."""
    a, b = sorted((a, b), key=lambda p: p.t)
    least, most = bounds
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    if (square := bend * bend - a.slope * b.slope) < 0:
        return (least + most) / 2
    root = math.sqrt(square)
    below = b.slope - a.slope + 2 * root
    return min(max(b.t - (b.t - a.t) * ((b.slope + root - bend) / below), least), most) if below else (least + most) / 2


def inside(t: float, ends: Any, slow: bool) -> tuple[float, bool]:
    """t, or a tenth off the end that it comes near for the second time; and whether it comes near one."""
    least, most = ends
    room = 0.1 * (most - least)
    if min(most - t, t - least) >= room:
        return t, False
    if slow or not least < t < most:
        return (most - room if abs(t - most) < abs(t - least) else least + room), False
    return t, True
