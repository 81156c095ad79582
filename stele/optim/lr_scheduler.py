"""Learning rates that follow the steps: which schedules there are."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import cos, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.arrays.spellings import unknown
from stele.arrays.tensor import Tensor, tensor
from stele.errors import ArgumentError, kind
from stele.interop.names import OPTIMIZERS
from stele.ir.types import HOME
from stele.ops.arguments import choice, flag, is_series, number, positive, sequence, wholes
from stele.optim.checks import checked
from stele.optim.optimizer import Optimizer
from stele.optim.schedule import Kept, Schedule

LRScheduler = Schedule      # PyTorch's name, which users' classes are made of


def each(x: Any, optimizer: Optimizer, what: str, one: Callable[[Any, str], Any]) -> Any:
    """An option of a schedule: one for all groups, or a tuple with one for each."""
    if not is_series(x):
        return one(x, what)
    if len(x) != len(optimizer.groups):
        raise ArgumentError(f"{what} has one for each group of the optimizer, {len(optimizer.groups)}, got {len(x)}",
                            hint="Or give one for all of them.")
    return tuple(one(part, what) for part in x)


def own(x: Any, k: int, what: str) -> Any:
    """What of such an option is for group k."""
    if not is_series(x):
        return x
    if k >= len(x):
        raise ArgumentError(f"{what} has {len(x)} for the groups of the optimizer, which has more by now",
                            hint="Make the schedule when all groups are there, or give it one for all.")
    return x[k]


def called(x: Any, what: str) -> Any:
    """A function of the step."""
    if not callable(x):
        raise ArgumentError(f"{what} must be a function of the step, or a list of one for each group, got {kind(x)}")
    return x


class LambdaLR(Schedule):
    """The first rate of an `optimizer` times what a function `lr_lambda` says of the step.

    A list has a function for each group. Raises ArgumentError for what is no optimiser, and for another number of
    functions.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.LambdaLR(optimizer, lambda step: 0.5 ** (step // 2))
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.5
    """

    @checked
    def __init__(self, optimizer: Optimizer,
                 lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]]) -> None:
        super().__init__(optimizer)
        self.lr_lambda = each(lr_lambda, optimizer, "lr_lambda of LambdaLR", called)
        self.set()

    def rate_of(self, k: int, first: float, step: int) -> float:
        says = own(self.lr_lambda, k, "lr_lambda of LambdaLR")
        return first * number(says(step), "what lr_lambda of LambdaLR gives")


class MultiplicativeLR(Schedule):
    """The rate of an `optimizer` times what a function `lr_lambda` says of each step, one after the other.

    A list has a function for each group. Raises ArgumentError for what is no optimiser, and for another number of
    functions.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.MultiplicativeLR(optimizer, lambda step: 1 / (step + 1))
    >>> schedule.step(); first = optimizer.lr.tolist()
    >>> schedule.step(); first, round(optimizer.lr.item(), 4)
    (0.5, 0.1667)
    """

    @checked
    def __init__(self, optimizer: Optimizer,
                 lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]]) -> None:
        super().__init__(optimizer)
        self.lr_lambda = each(lr_lambda, optimizer, "lr_lambda of MultiplicativeLR", called)
        self.known = [(0, 1.0) for _ in self.bases]

    @property
    def known(self) -> list[tuple[int, float]]:
        """Of each group a step, and the product up to there."""
        return [(int(step), product) for step, product in self.products.tolist()]

    @known.setter
    def known(self, new: Sequence[tuple[int, float]]) -> None:
        self.products = np.array(new, np.float64)       # an array: traces do not depend on what stands in it

    def rate_of(self, k: int, first: float, step: int) -> float:
        says = own(self.lr_lambda, k, "lr_lambda of MultiplicativeLR")
        if k == len(self.products):
            self.known = [*self.known, (0, 1.0)]
        begin, product = self.known[k] if self.known[k][0] <= step else (0, 1.0)
        for j in range(begin + 1, step + 1):
            product *= number(says(j), "what lr_lambda of MultiplicativeLR gives")
        self.products[k] = step, product
        return first * product

    def options(self) -> dict[str, Any]:
        return {"lr_lambda": self.lr_lambda, "known": self.known}


class StepLR(Schedule):
    """The first rate of an `optimizer` times `gamma` once every `step_size` steps.

    Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    ...     print(optimizer.lr.tolist())
    1.0
    0.5
    0.5
    0.25
    """

    @checked
    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        self.step_size, self.gamma = positive(step_size, "step_size of StepLR"), gamma

    def factor(self, step: int) -> float:
        return self.gamma ** (step // self.step_size)


class MultiStepLR(Schedule):
    """The first rate of an `optimizer` times `gamma` once for each of the `milestones` that is reached.

    Raises ArgumentError for what is no optimiser.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     schedule.step()
    ...     print(optimizer.lr.tolist())
    0.5
    0.5
    0.25
    """

    @checked
    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        self.milestones, self.gamma = tuple(sorted(wholes(milestones, "milestones of MultiStepLR"))), gamma

    def factor(self, step: int) -> float:
        return self.gamma ** bisect_right(self.milestones, step)


class ExponentialLR(Schedule):
    """The first rate of an `optimizer` times `gamma` at every step.

    Raises ArgumentError for what is no optimiser.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.25
    """

    @checked
    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer)
        self.gamma = gamma

    def factor(self, step: int) -> float:
        return self.gamma ** step


class LinearLR(Schedule):
    """The first rate of an `optimizer` times a factor from `start_factor` to `end_factor` within `total_iters` steps.

    Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = [optimizer.lr.tolist()]
    >>> for _ in range(3):
    ...     schedule.step(); rates.append(optimizer.lr.tolist())
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5) -> None:
        super().__init__(optimizer)
        self.start_factor = number(start_factor, "start_factor of LinearLR", 0, 1, apart=0)
        self.end_factor = number(end_factor, "end_factor of LinearLR", 0, 1)
        self.total_iters = positive(total_iters, "total_iters of LinearLR")
        self.set()

    def factor(self, step: int) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(step / self.total_iters, 1.0)


class ConstantLR(Schedule):
    """The first rate of an `optimizer` times `factor` for `total_iters` steps, then the first rate.

    Raises ArgumentError for what is no optimiser.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.ConstantLR(optimizer, factor=0.5, total_iters=1)
    >>> before = optimizer.lr.tolist()
    >>> schedule.step(); before, optimizer.lr.tolist()
    (0.5, 1.0)
    """

    @checked
    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        super().__init__(optimizer)
        self.times, self.total_iters = number(factor, "factor of ConstantLR", 0, 1), total_iters
        self.set()

    def factor(self, step: int) -> float:
        return self.times if step < self.total_iters else 1.0


class LinearWarmup(Schedule):
    """The first rate of an `optimizer` from 1/steps of it up to all of it within `steps`, then constant.

    1/steps of the rate is set at once, when the schedule is made (Goyal et al., 2017, section 2.2). Raises
    ArgumentError for what is no optimiser, ShapeError for less than one step.

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

    @checked
    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        super().__init__(optimizer)
        self.steps = positive(steps, "steps of LinearWarmup")
        self.set()

    def factor(self, step: int) -> float:
        return min(1.0, (step + 1) / self.steps)


class InverseSqrt(Schedule):
    """The first rate of an `optimizer` after a linear warm-up of `warmup` steps, from then on by 1 / sqrt(step).

    (Vaswani et al., 2017, section 5.3, whose rate is the first rate here at step `warmup`.) Raises ArgumentError for
    what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.InverseSqrt(optimizer, warmup=2)
    >>> rates = []
    >>> for _ in range(8):
    ...     schedule.step(); rates.append(optimizer.lr.item())
    >>> rates[0], rates[1], rates[7]
    (0.5, 1.0, 0.5)
    """

    @checked
    def __init__(self, optimizer: Optimizer, warmup: int) -> None:
        super().__init__(optimizer)
        self.warmup = positive(warmup, "warmup of InverseSqrt")
        self.set()

    def factor(self, step: int) -> float:
        return min(step / self.warmup, (self.warmup / max(step, 1)) ** 0.5)


class PolynomialLR(Schedule):
    """The first rate of an `optimizer` times (1 - step / `total_iters`) ** `power`, then 0.

    Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.25
    """

    @checked
    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0) -> None:
        super().__init__(optimizer)
        self.total_iters, self.power = positive(total_iters, "total_iters of PolynomialLR"), power

    def factor(self, step: int) -> float:
        return (1 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineDecay(Schedule):
    """The first rate of an `optimizer` along half a cosine, from 1 down to `last` within `steps`, then constant.

    last + (1 - last) * (1 + cos(pi * step / steps)) / 2 times the first rate (Loshchilov and Hutter, 2017, equation 5,
    without restarts). Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

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

    @checked
    def __init__(self, optimizer: Optimizer, steps: int, last: float = 0.0) -> None:
        super().__init__(optimizer)
        self.steps, self.last = positive(steps, "steps of CosineDecay"), last

    def factor(self, step: int) -> float:
        return self.last + (1 - self.last) * (1 + cos(pi * min(step, self.steps) / self.steps)) / 2


class CosineAnnealingLR(Schedule):
    """The first rate of an `optimizer` down to the rate `eta_min` in `T_max` steps along half a cosine, and up again.

    Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.CosineAnnealingLR(optimizer, T_max=2, eta_min=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     schedule.step(); rates.append(optimizer.lr.tolist())
    >>> rates
    [0.75, 0.5, 0.75, 1.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer)
        self.T_max, self.eta_min = positive(T_max, "T_max of CosineAnnealingLR"), eta_min

    def rate(self, first: float, step: int) -> float:
        return self.eta_min + (first - self.eta_min) * (1 + cos(pi * step / self.T_max)) / 2


class CosineAnnealingWarmRestarts(Schedule):
    """The first rate of an `optimizer` down to `eta_min` along half a cosine, again and again.

    (Loshchilov and Hutter, 2017.) The first time takes `T_0` steps, and each later one `T_mult` times those before it.
    Raises ArgumentError for what is no optimiser, ShapeError for less than one step.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> rates = []
    >>> for _ in range(6):
    ...     schedule.step(); rates.append(round(optimizer.lr.item(), 3))
    >>> rates
    [0.5, 1.0, 0.854, 0.5, 0.146, 1.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> None:
        super().__init__(optimizer)
        self.T_0 = positive(T_0, "T_0 of CosineAnnealingWarmRestarts")
        self.T_mult, self.eta_min = positive(T_mult, "T_mult of CosineAnnealingWarmRestarts"), eta_min

    def rate(self, first: float, step: int) -> float:
        length = self.T_0
        while step >= length:
            step, length = step - length, length * self.T_mult
        return self.eta_min + (first - self.eta_min) * (1 + cos(pi * step / length)) / 2


class Cycle(Schedule):
    """A schedule that may move the momentum of SGD, or the first beta of Adam, against the rate."""

    cycle_momentum: bool
    base_momentum: float
    max_momentum: float

    def cycles(self, on: bool | None, base: float, most: float) -> None:
        """Takes the options of the momentum, and sets what the first step has."""
        name, known = type(self).__name__, type(self.optimizer).__name__
        has = known in ("Adam", "AdamW") or (known == "SGD" and all(g["momentum"] for g in self.optimizer.groups))
        self.cycle_momentum = has if on is None else flag(on, f"cycle_momentum of {name}")
        self.base_momentum = number(base, f"base_momentum of {name}", 0, 1)
        self.max_momentum = number(most, f"max_momentum of {name}", 0, 1)
        if self.cycle_momentum and not has:
            raise ArgumentError(f"cycle_momentum of {name} moves what Adam, AdamW and an SGD with a momentum have, "
                                f"got {known}", hint="Write SGD(..., momentum=0.9), or cycle_momentum=False.")
        self.set()

    def momentum(self, step: int) -> float:
        """The momentum of a step."""
        raise NotImplementedError

    def set(self) -> None:
        super().set()
        for group in self.optimizer.groups if self.cycle_momentum else ():
            new, is_adam = self.momentum(self.count), "betas" in group.options()
            now = group["betas"][0] if is_adam else group["momentum"]
            if isinstance(now, Tensor):     # which a compiled step reads anew
                now.assign(new)
            elif is_adam:
                group["betas"] = (tensor(new, dtype=group.lr.dtype, device=HOME), *group["betas"][1:])
            else:
                group["momentum"] = tensor(new, dtype=group.lr.dtype, device=HOME)


class OneCycleLR(Cycle):
    """A rate up to `max_lr` and far down again within `total_steps`, or `epochs` of `steps_per_epoch`.

    Each group may have a max_lr of its own, in a list. (Smith and Topin, 2018.) From max_lr / `div_factor` to
    max_lr in the share `pct_start` of the steps, then to 1 / `final_div_factor` of where it began; along half
    cosines, or along lines if `anneal_strategy` is "linear". With `three_phase` it first falls to where it began,
    in as many steps as it rose. Where the `optimizer` is an SGD with a momentum, an Adam or an AdamW, its momentum or
    first beta falls from `max_momentum` to `base_momentum` as the rate rises, and rises as it falls, unless
    `cycle_momentum` is False. Behind the last step all stays as it is. Raises ArgumentError for a step beyond that, and
    for `cycle_momentum=True` of another optimiser.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.6, div_factor=4.0)
    >>> rates = [optimizer.lr.tolist()]
    >>> for _ in range(4):
    ...     schedule.step(); rates.append(round(optimizer.lr.item(), 3))
    >>> rates
    [0.25, 0.625, 1.0, 0.5, 0.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool | None = None, base_momentum: float = 0.85,
                 max_momentum: float = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
                 three_phase: bool = False) -> None:
        super().__init__(optimizer)
        if total_steps is None:
            total_steps = positive(epochs, "epochs of OneCycleLR") * positive(steps_per_epoch, "steps_per_epoch")
        self.max_lr = each(max_lr, optimizer, "max_lr of OneCycleLR", number)
        self.total_steps = positive(total_steps, "total_steps of OneCycleLR")
        self.pct_start = number(pct_start, "pct_start of OneCycleLR", 0, 1)
        self.anneal_strategy = choice(anneal_strategy, "anneal_strategy of OneCycleLR", ("cos", "linear"))
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        self.three_phase = flag(three_phase, "three_phase of OneCycleLR")
        self.cycles(cycle_momentum, base_momentum, max_momentum)

    def rate_of(self, k: int, first: float, step: int) -> float:
        high = own(self.max_lr, k, "max_lr of OneCycleLR")
        low = high / self.div_factor
        return self.phases(step, low, high, low / self.final_div_factor)

    def momentum(self, step: int) -> float:
        return self.phases(step, self.max_momentum, self.base_momentum, self.max_momentum)

    def phases(self, step: int, low: float, high: float, last: float) -> float:
        """From low to high, then to `last`, with three phases by way of low."""
        if step > self.total_steps:
            raise ArgumentError(f"OneCycleLR ends at step {self.total_steps}, asked for step {step}")
        step = min(step, self.total_steps - 1)      # behind the last step of a training its schedule takes one too
        top = self.pct_start * self.total_steps - 1
        if step <= top:
            return self.between(low, high, step / top if top else 1.0)
        if self.three_phase and step <= 2 * top:
            return self.between(high, low, (step - top) / top)
        begin, top = (low, 2 * top) if self.three_phase else (high, top)
        return self.between(begin, last, (step - top) / (self.total_steps - 1 - top))

    def between(self, a: float, b: float, share: float) -> float:
        """The number a `share` of the way from a to b."""
        return a + (b - a) * (share if self.anneal_strategy == "linear" else (1 - cos(pi * share)) / 2)


class CyclicLR(Cycle):
    """A rate between `base_lr` and `max_lr`, up in `step_size_up` steps and down in `step_size_down` (Smith, 2017).

    The rates may be lists of one for each group. step_size_down is step_size_up unless it is given. `mode`
    "triangular2" halves the way up each time, "exp_range" scales it by `gamma` ** step. Where the `optimizer`
    is an SGD with a momentum, an Adam or an AdamW, its momentum or first beta goes from `max_momentum` to
    `base_momentum` and back, unless `cycle_momentum` is False. Raises ArgumentError for what is no optimiser, and for
    `cycle_momentum=True` of another one, ShapeError for less than one step, OptionError for another mode.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     schedule.step(); rates.append(optimizer.lr.tolist())
    >>> rates
    [0.5, 1.0, 0.5, 0.0]
    """

    @checked
    def __init__(self, optimizer: Optimizer, base_lr: float | Sequence[float], max_lr: float | Sequence[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, cycle_momentum: bool | None = None, base_momentum: float = 0.8,
                 max_momentum: float = 0.9) -> None:
        super().__init__(optimizer)
        self.base_lr = each(base_lr, optimizer, "base_lr of CyclicLR", number)
        self.max_lr = each(max_lr, optimizer, "max_lr of CyclicLR", number)
        self.step_size_up = positive(step_size_up, "step_size_up of CyclicLR")
        down = step_size_up if step_size_down is None else step_size_down
        self.step_size_down = positive(down, "step_size_down of CyclicLR")
        self.mode, self.gamma = choice(mode, "mode of CyclicLR", ("triangular", "triangular2", "exp_range")), gamma
        self.cycles(cycle_momentum, base_momentum, max_momentum)

    def rate_of(self, k: int, first: float, step: int) -> float:
        low, high = own(self.base_lr, k, "base_lr of CyclicLR"), own(self.max_lr, k, "max_lr of CyclicLR")
        return low + (high - low) * self.share(step)

    def momentum(self, step: int) -> float:
        return self.max_momentum - (self.max_momentum - self.base_momentum) * self.share(step)

    def share(self, step: int) -> float:
        """How far up a step is."""
        turn, place = divmod(step, self.step_size_up + self.step_size_down)
        share = min(place / self.step_size_up, 1 - (place - self.step_size_up) / self.step_size_down)
        return share * {"triangular": 1.0, "triangular2": 0.5 ** turn, "exp_range": self.gamma ** step}[self.mode]


class SequentialLR(Schedule):
    """One of the `schedulers` of an `optimizer` after the other: the next begins at each of the `milestones`.

    Raises ArgumentError for what is no optimiser, and unless the milestones rise and are one less than the schedulers.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> warm, cool = optim.LinearLR(optimizer, 0.5, total_iters=2), optim.ExponentialLR(optimizer, 0.5)
    >>> schedule = optim.SequentialLR(optimizer, [warm, cool], milestones=[2])
    >>> rates = [optimizer.lr.tolist()]
    >>> for _ in range(4):
    ...     schedule.step(); rates.append(optimizer.lr.tolist())
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    @checked
    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Schedule], milestones: Sequence[int]) -> None:
        super().__init__(optimizer)
        self.schedulers, self.milestones = schedules_of(schedulers, optimizer, "SequentialLR"), tuple(milestones)
        if len(self.milestones) != len(self.schedulers) - 1 or list(self.milestones) != sorted(self.milestones):
            raise ArgumentError(f"SequentialLR of {len(self.schedulers)} schedules needs {len(self.schedulers) - 1} "
                                f"rising milestones, got {list(milestones)}")
        self.set()

    def rate_of(self, k: int, first: float, step: int) -> float:
        now = bisect_right(self.milestones, step)
        return self.schedulers[now].rate_of(k, first, step - (self.milestones[now - 1] if now else 0))

    def options(self) -> dict[str, Any]:
        return {"milestones": self.milestones}


class ChainedScheduler(Schedule):
    """The product of the factors of several `schedulers` of one optimiser.

    Raises ArgumentError for what is no list of schedules.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> a, b = optim.ConstantLR(optimizer, 0.5, total_iters=2), optim.ExponentialLR(optimizer, 0.5)
    >>> schedule = optim.ChainedScheduler([a, b])
    >>> rates = [optimizer.lr.tolist()]
    >>> for _ in range(2):
    ...     schedule.step(); rates.append(optimizer.lr.tolist())
    >>> rates
    [0.5, 0.25, 0.25]
    """

    @checked
    def __init__(self, schedulers: Sequence[Schedule]) -> None:
        given = sequence(schedulers, "schedulers of ChainedScheduler", "a list of schedules")
        super().__init__(given[0].optimizer if given and isinstance(given[0], Schedule) else None)  # type: ignore[arg-type]
        self.schedulers = schedules_of(given, self.optimizer, "ChainedScheduler")
        self.set()

    def rate_of(self, k: int, first: float, step: int) -> float:
        for s in self.schedulers:
            first = s.rate_of(k, first, step)
        return first

    def options(self) -> dict[str, Any]:
        return {}


def schedules_of(given: Sequence[Schedule], optimizer: Optimizer, name: str) -> tuple[Schedule, ...]:
    """Schedules that a schedule is made of, all of one optimiser."""
    for s in (found := sequence(given, f"schedulers of {name}", "a list of schedules")):
        if not isinstance(s, Schedule) or s.optimizer is not optimizer:
            raise ArgumentError(f"{name} takes schedules of one optimizer, got {s!r}")
        if s.says_rates():
            raise ArgumentError(f"{name} asks its schedules for the rate of any step, and {type(s).__name__} says that "
                                "of its own", hint=f"Write factor(self, step) in {type(s).__name__}.")
    return found


class ReduceLROnPlateau(Schedule):
    """The rates of an `optimizer` times `factor` when a measure has not become better for more than `patience` steps.

    `step(measure)` is told the measure, which should fall, or rise if `mode` is "max". Better is by more than
    `threshold` of the best, or by that number if `threshold_mode` is "abs". After each cut `cooldown` steps do not
    count; no rate falls below `min_lr`, a number or one for each group, and none is cut by less than `eps`. Raises
    ArgumentError for what is no optimiser, ShapeError for a factor outside of 0 to 1, OptionError for another mode.

    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = optim.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    >>> optimizer.lr.tolist()
    0.25
    """

    best: float = Kept("float64")   # type: ignore[assignment]
    bad: int = Kept("int64")        # type: ignore[assignment]
    cooling: int = Kept("int64")    # type: ignore[assignment]

    @checked
    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: float | Sequence[float] = 0.0, eps: float = 1e-8) -> None:
        super().__init__(optimizer)
        self.mode = choice(mode, "mode of ReduceLROnPlateau", ("min", "max"))
        self.threshold_mode = choice(threshold_mode, "threshold_mode of ReduceLROnPlateau", ("rel", "abs"))
        self.times, self.patience = number(factor, "factor of ReduceLROnPlateau", 0, 1, apart=1), patience
        self.min_lr = each(min_lr, optimizer, "min_lr of ReduceLROnPlateau", number)
        self.threshold, self.cooldown, self.eps = threshold, cooldown, eps
        self.best, self.bad, self.cooling = float("inf") if mode == "min" else float("-inf"), 0, 0

    def is_better(self, measure: float) -> bool:
        """Whether a measure is better than the best."""
        sign = 1 if self.mode == "max" else -1
        room = self.threshold * abs(self.best) if self.threshold_mode == "rel" else self.threshold
        return self.best in (float("inf"), float("-inf")) or sign * (measure - self.best) > room

    def step(self, measure: Any = None) -> None:
        """Takes a measure, and cuts the rates if it has not become better for too long."""
        if measure is None:
            raise ArgumentError("ReduceLROnPlateau needs the measure that it watches",
                                hint="Write schedule.step(loss).")
        if not (isinstance(measure, Tensor) and measure.size == 1):
            measure = float(number(measure, "the measure of ReduceLROnPlateau"))
        self.go_on(measure)

    def advance(self, measure: Any) -> None:
        if isinstance(measure, Tensor):
            measure = measure.item()
        self.count, measure = self.count + 1, float(number(measure, "the measure of ReduceLROnPlateau"))
        is_better = self.is_better(measure)
        self.best, self.bad = (measure, 0) if is_better else (self.best, self.bad + 1)
        if self.cooling > 0:
            self.cooling, self.bad = self.cooling - 1, 0
        if self.bad > self.patience:
            for k, group in enumerate(self.optimizer.groups):
                new = max(float(group.lr) * self.times, own(self.min_lr, k, "min_lr of ReduceLROnPlateau"))
                if float(group.lr) - new > self.eps:
                    group.lr = new
            self.cooling, self.bad = self.cooldown, 0


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        known = [key for key, x in globals().items() if isinstance(x, type) and issubclass(x, Schedule)]
        raise unknown("stele.optim.lr_scheduler", name, known, OPTIMIZERS)
