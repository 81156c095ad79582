"""Learning rates that follow the steps."""
from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi
from typing import Any

from stele.errors import DataError
from stele.optim.optimizers import Optimizer
from stele.saving import options_of


class Schedule:
    """The base of schedules: each `step()` sets the rate of an `optimizer` to its first rate times `factor(step)`.

    The first rate is the one that the optimiser has when the schedule is made. A class of its own writes `factor`.

    >>> class Halved(optim.Schedule):
    ...     def factor(self, step):
    ...         return 0.5 ** step
    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = Halved(optimizer)
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.25
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer, self.base, self.count = optimizer, float(optimizer.lr), 0

    def state_dict(self) -> dict[str, Any]:
        """The first rate, the steps done and the options; the rate itself is in the optimiser's state."""
        return {"kind": type(self).__name__} | {name: x for name, x in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the schedule stood that gave this state. Raises DataError if it is of another kind."""
        own = self.state_dict()
        if state.get("kind") != own["kind"]:
            raise DataError(f"the state is none of {own['kind']}: it is of {state.get('kind', 'no schedule')}")
        found = options_of(state, own, own["kind"])
        vars(self).update({name: x for name, x in found.items() if name != "kind"})

    def __repr__(self) -> str:
        options = {name: x for name, x in vars(self).items() if name not in ("optimizer", "base", "count")}
        said = ", ".join([f"lr={self.base:g}", *(f"{name}={x}" for name, x in options.items())])
        return f"{type(self).__name__}({said}; {type(self.optimizer).__name__} at step {self.count})"

    def factor(self, step: int) -> float:
        """The number that the first rate is multiplied with at a step."""
        raise NotImplementedError

    def step(self) -> None:
        """Goes one step further and sets the rate."""
        self.count += 1
        self.optimizer.lr = self.base * self.factor(self.count)


class StepDecay(Schedule):
    """The first rate of an `optimizer` times `gamma` once every so many steps as `every` says.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.StepDecay(optimizer, every=2, gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    ...     print(optimizer.lr.tolist())
    1.0
    0.5
    0.5
    0.25
    """

    def __init__(self, optimizer: Optimizer, every: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        self.every, self.gamma = every, gamma

    def factor(self, step: int) -> float:
        return self.gamma ** (step // self.every)


class ExponentialDecay(Schedule):
    """The first rate of an `optimizer` times `gamma` at every step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.ExponentialDecay(optimizer, gamma=0.5)
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.25
    """

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer)
        self.gamma = gamma

    def factor(self, step: int) -> float:
        return self.gamma ** step


class CosineDecay(Schedule):
    """The first rate of an `optimizer` along half a cosine, from 1 down to `last` within `steps`, then constant.

    last + (1 - last) * (1 + cos(pi * step / steps)) / 2 times the first rate (Loshchilov and Hutter, 2017, equation 5,
    without restarts).

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.CosineDecay(optimizer, steps=4)
    >>> for _ in range(4):
    ...     schedule.step()
    ...     print(round(optimizer.lr.item(), 3))
    0.854
    0.5
    0.146
    0.0
    """

    def __init__(self, optimizer: Optimizer, steps: int, last: float = 0.0) -> None:
        super().__init__(optimizer)
        self.steps, self.last = steps, last

    def factor(self, step: int) -> float:
        return self.last + (1 - self.last) * (1 + cos(pi * min(step, self.steps) / self.steps)) / 2


class LinearWarmup(Schedule):
    """The first rate of an `optimizer` from 1/steps of it up to all of it within `steps`, then constant.

    1/steps of the rate is set at once, when the schedule is made (Goyal et al., 2017, section 2.2).

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.LinearWarmup(optimizer, steps=4)
    >>> for _ in range(4):
    ...     print(optimizer.lr.tolist())
    ...     schedule.step()
    0.25
    0.5
    0.75
    1.0
    """

    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        super().__init__(optimizer)
        self.steps = steps
        optimizer.lr = self.base * self.factor(0)

    def factor(self, step: int) -> float:
        return min(1.0, (step + 1) / self.steps)
