"""Means of parameters over the steps."""
from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor
from stele.eager.handle import no_grad
from stele.errors import DataError
from stele.ir.types import HOME
from stele.ops.arguments import number, positive
from stele.optim.checks import checked
from stele.optim.optimizer import Group, Optimizer, fitting, needs_optimizer, width


class Averaging:
    """The base of means: of `parameters`, tensors that change, such as `model.parameters()`."""

    @checked
    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = list(parameters)
        with no_grad():
            self.means = [p.detach().clone() for p in self.parameters]
        self.count = zeros((), dtype=width(self.parameters), device=HOME)

    def weight(self) -> Any:
        """The weight of what the parameters are now."""
        raise NotImplementedError

    def update(self) -> None:
        """Takes what the parameters are now into the means."""
        with no_grad():
            self.count += 1
            weight = self.weight()
            for m, p in zip(self.means, self.parameters, strict=True):
                m.assign(m + (p - m) * fitting(weight, width([m])))

    @contextmanager
    def applied(self) -> Generator[None]:
        """The parameters are the means inside of a `with`, and themselves again behind it."""
        with no_grad():
            held = [p.detach().clone() for p in self.parameters]
            self.copy_to(self.parameters)
        try:
            yield
        finally:
            with no_grad():
                for p, x in zip(self.parameters, held, strict=True):
                    p.assign(x)

    @checked
    def copy_to(self, parameters: Iterable[Tensor]) -> None:
        """Sets parameters, such as those of another model of the same shape, to the means."""
        with no_grad():
            for p, m in zip(parameters, self.means, strict=True):
                p.assign(m)

    def state_dict(self) -> dict[str, Any]:
        """The means, by number, and how many steps they are of."""
        return {"kind": type(self).__name__, "count": self.count} | {f"mean.{k}": m for k, m in enumerate(self.means)}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the means stood that gave this state. Raises DataError if it is of another kind or size."""
        own = self.state_dict()
        if state.get("kind") != own["kind"] or state.keys() != own.keys():
            raise DataError(f"the state is none of this {own['kind']} of {len(self.means)} tensors")
        for name, x in own.items():
            if isinstance(x, Tensor):
                x.assign(state[name])


class EMA(Averaging):
    """The exponential moving average of `parameters`: at each `update()` mean = `decay` * mean + (1 - decay) * p.

    It begins as what they are. With `warm` the decay at step t is at most (1 + t) / (10 + t), so that the first steps
    are soon forgotten (TensorFlow's ExponentialMovingAverage). `with ema.applied():` runs with the means. Raises
    ArgumentError for other than tensors, ShapeError for a decay outside of 0 to 1.

    >>> x = st.tensor([0.0])
    >>> ema = optim.EMA([x], decay=0.5)
    >>> for number in (1.0, 2.0):
    ...     x[0] = number; ema.update()
    >>> ema.means[0].tolist()
    [1.25]
    """

    @checked
    def __init__(self, parameters: Iterable[Tensor], decay: float = 0.999, warm: bool = False) -> None:
        super().__init__(parameters)
        self.decay, self.warm = number(decay, "decay of EMA", 0, 1), warm

    def weight(self) -> Any:
        return 1 - F.minimum(self.decay, (1 + self.count) / (10 + self.count)) if self.warm else 1 - self.decay


class SWA(Averaging):
    """The mean of what `parameters` are at each `update()` (stochastic weight averaging, Izmailov et al., 2018).

    Raises ArgumentError for other than tensors.

    >>> x = st.tensor([0.0])
    >>> swa = optim.SWA([x])
    >>> for number in (1.0, 2.0, 6.0):
    ...     x[0] = number; swa.update()
    >>> swa.means[0].tolist()
    [3.0]
    """

    def weight(self) -> Any:
        return 1 / self.count


class Lookahead:
    """An `optimizer` whose parameters go back every `k` steps, `alpha` of the way to slow ones (Zhang et al., 2019).

    Slow parameters s begin as what they are; behind every k steps s += alpha * (p - s), and p = s. Raises ShapeError
    for a k below 1.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer = optim.Lookahead(optim.SGD([x], lr=1.0), k=2, alpha=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     x.sum().backward()
    ...     optimizer.step()
    ...     print(x.tolist())
    [3.0]
    [3.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, k: int = 5, alpha: float = 0.5) -> None:
        self.optimizer, self.k, self.alpha = needs_optimizer(self, optimizer), positive(k, "k of Lookahead"), alpha
        self.slow = [p.detach().clone() for p in optimizer.parameters]
        self.count = zeros((), device=HOME)

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters of the optimiser."""
        return self.optimizer.parameters

    @property
    def lr(self) -> Tensor:
        """The learning rate of the optimiser."""
        return self.optimizer.lr

    @lr.setter
    def lr(self, new: float | Tensor) -> None:
        self.optimizer.lr = new

    @property
    def groups(self) -> list[Group]:
        """The groups of the optimiser."""
        return self.optimizer.groups

    @checked
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or with `set_to_none=False` makes them zeros."""
        self.optimizer.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step of the optimiser, and every k times one of the slow parameters."""
        loss = self.optimizer.step(closure)
        with no_grad():
            self.count += 1
            is_time = F.remainder(self.count, self.k) == 0
            for p, s in zip(self.parameters, self.slow, strict=True):
                s.assign(where(is_time, s + self.alpha * (p - s), s))
                p.assign(where(is_time, s, p))
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The optimiser's state and the slow parameters."""
        return {"kind": "Lookahead", "count": self.count, "inner": self.optimizer.state_dict()} | {
            f"slow.{k}": s for k, s in enumerate(self.slow)}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the optimiser stood that gave this state. Raises DataError if it does not fit."""
        own = self.state_dict()
        if state.get("kind") != "Lookahead" or state.keys() != own.keys():
            raise DataError(f"the state is none of this Lookahead of {len(self.slow)} parameters")
        self.optimizer.load_state_dict(state["inner"])
        for name, x in own.items():
            if isinstance(x, Tensor):
                x.assign(state[name])
