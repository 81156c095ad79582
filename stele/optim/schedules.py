"""Learning rates that follow the steps."""
from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi
from typing import Any

from stele.errors import DataError
from stele.optim.optimizers import Optimizer
from stele.saving import options_of


class Schedule:
    """Sets the learning rate of an optimiser at each `step()`, starting from the rate it has now."""

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
        """What the first rate is multiplied with at a step."""
        raise NotImplementedError

    def step(self) -> None:
        """One step further."""
        self.count += 1
        self.optimizer.lr = self.base * self.factor(self.count)


class StepDecay(Schedule):
    """Times `gamma` every `every` steps."""

    def __init__(self, optimizer: Optimizer, every: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        self.every, self.gamma = every, gamma

    def factor(self, step: int) -> float:
        return self.gamma ** (step // self.every)


class ExponentialDecay(Schedule):
    """Times `gamma` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer)
        self.gamma = gamma

    def factor(self, step: int) -> float:
        return self.gamma ** step


class CosineDecay(Schedule):
    """Half a cosine from 1 down to `last` within `steps` (Loshchilov and Hutter, 2017)."""

    def __init__(self, optimizer: Optimizer, steps: int, last: float = 0.0) -> None:
        super().__init__(optimizer)
        self.steps, self.last = steps, last

    def factor(self, step: int) -> float:
        return self.last + (1 - self.last) * (1 + cos(pi * min(step, self.steps) / self.steps)) / 2


class LinearWarmup(Schedule):
    """From 1/steps up to 1 within `steps`, then constant; the first rate is set at once."""

    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        super().__init__(optimizer)
        self.steps = steps
        optimizer.lr = self.base * self.factor(0)

    def factor(self, step: int) -> float:
        return min(1.0, (step + 1) / self.steps)
