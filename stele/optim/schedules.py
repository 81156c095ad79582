"""Learning rates that follow the steps."""
from __future__ import annotations

from math import cos, pi

from stele.optim.optimizers import Optimizer


class Schedule:
    """Sets the learning rate of an optimiser at each `step()`, starting from the rate it has now."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer, self.base, self.count = optimizer, float(optimizer.lr), 0

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
