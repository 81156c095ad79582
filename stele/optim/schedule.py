"""The base of schedules: numbers of steps in, rates of an optimiser's groups out, in compiled functions too."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from stele.arrays.tensor import Tensor, tensor
from stele.eager.evaluate import known
from stele.eager.handle import TRACING, tracing_into
from stele.errors import ArgumentError, DataError
from stele.interop.keywords import answering
from stele.interop.names import SCHEDULERS
from stele.ir.graph import Array, Item
from stele.ir.types import HOME, TupleType, float64
from stele.ops.arguments import is_series, sequence
from stele.ops.called import Called, Code
from stele.optim.checks import checked
from stele.optim.optimizer import Optimizer, needs_optimizer, put
from stele.saving import options_of

CODES: WeakValueDictionary[int, Code] = WeakValueDictionary()
"""How programs call a schedule, by its id: by one code, which holds it, so that what is traced twice is one graph."""


class Kept:
    """A number of a schedule that compiled functions carry along: a tensor of shape (), for all others a number."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, x: object, kind: type | None = None) -> Any:
        if x is None:
            return self
        if self.name not in vars(x):
            raise AttributeError(f"{type(x).__name__!r} object has no attribute {self.name!r}")
        held = vars(x)[self.name]
        return held.item() if TRACING.get() is None else held

    def __set__(self, x: object, new: Any) -> None:
        if self.name not in vars(x):
            vars(x)[self.name] = tensor(new, dtype=self.dtype, device=HOME)
        elif TRACING.get() is None:
            put(vars(x)[self.name], new)
        else:
            vars(x)[self.name].assign(new)


class Schedule:
    """The base of schedules: each `step()` sets the rates of an `optimizer`'s groups to factors of their first rates.

    The first rates are those that the groups have when their first schedule is made; a group that is added later goes
    on from its own rate. A class of its own writes `factor(step)`, or `rate(first, step)` where the rate is no
    multiple; or `get_lr()`, the rates at `last_epoch` of the groups that began with `base_lrs`, as a class of
    PyTorch's, where this is `optim.lr_scheduler.LRScheduler`. Every schedule begins at its first step: `last_epoch` is
    -1 or left out. In a compiled function, too, `step()` asks Python for the rates, each time that the program gets
    there; how far a schedule is, and the rates, are tensors there. Raises ArgumentError for what is no optimiser.

    >>> class Halved(optim.Schedule):
    ...     def factor(self, step):
    ...         return 0.5 ** step
    >>> optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    >>> schedule = Halved(optimizer)
    >>> schedule.step(); schedule.step(); optimizer.lr.tolist()
    0.25
    """

    count: int = Kept("int64")      # type: ignore[assignment]

    if not TYPE_CHECKING:
        __getattr__ = answering("a schedule", SCHEDULERS)

    @checked
    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if last_epoch != -1:
            raise ArgumentError(f"{type(self).__name__} begins at its first step, got last_epoch={last_epoch}",
                                hint="schedule.load_state_dict(state) goes on where a schedule was.")
        for group in needs_optimizer(self, optimizer).groups:
            group.first = float(group.lr) if group.first is None else group.first
        self.optimizer, self.bases, self.count = optimizer, [g.first or 0.0 for g in optimizer.groups], 0
        if self.says_rates():
            self.set()

    @property
    def last_epoch(self) -> int:
        """The steps done, under PyTorch's name."""
        return self.count

    @last_epoch.setter
    def last_epoch(self, new: int) -> None:
        self.count = new

    @property
    def base_lrs(self) -> list[float]:
        """The first rates, under PyTorch's name."""
        return self.bases

    @base_lrs.setter
    def base_lrs(self, new: list[float]) -> None:
        self.bases = new

    def says_rates(self) -> bool:
        """Whether this is of a class that writes `get_lr`, as PyTorch's do."""
        return type(self).get_lr is not Schedule.get_lr

    def get_lr(self) -> Sequence[float]:
        """The rates of the groups at the step where this stands."""
        return [self.rate_of(k, first, self.count) for k, first in enumerate(self.bases)]

    def options(self) -> dict[str, Any]:
        """The numbers of this schedule by name."""
        return {name: getattr(self, name) for name in vars(self) if name not in ("optimizer", "bases", "count")}

    def state_dict(self) -> dict[str, Any]:
        """The first rates, the steps done and the options; the rates themselves are in the optimiser's state."""
        kept = {name: x for name, x in self.options().items()
                if not any(map(callable, x if is_series(x) else (x,)))}
        return {"kind": type(self).__name__, "bases": list(self.bases), "count": self.count} | kept

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the schedule stood that gave this state. Raises DataError if it is of another kind."""
        own = self.state_dict()
        if state.get("kind") != own["kind"]:
            raise DataError(f"the state is none of {own['kind']}: it is of {state.get('kind', 'no schedule')}")
        found = options_of(state, own, own["kind"])
        self.bases[:] = found["bases"]      # in place: what compiled functions know stays
        for name in found.keys() - {"kind", "bases"}:
            setattr(self, name, found[name])

    def __repr__(self) -> str:
        rates = f"{self.bases[0]:g}" if len(self.bases) == 1 else self.bases
        said = ", ".join([f"lr={rates}", *(f"{name}={x}" for name, x in self.options().items())])
        step = self.count if TRACING.get() is None else "traced"
        return f"{type(self).__name__}({said}; {type(self.optimizer).__name__} at step {step})"

    def factor(self, step: int) -> float:
        """The number that the first rate is multiplied with at a step."""
        raise NotImplementedError

    def rate(self, first: float, step: int) -> float:
        """The rate at a step of a group with a first rate."""
        return first * self.factor(step)

    def rate_of(self, k: int, first: float, step: int) -> float:
        """The rate at a step of group k, whose first rate this is."""
        return self.rate(first, step)

    def first_rate(self, k: int, now: float) -> float:
        """The first rate of group k, which has a rate now, to which all schedules are straight."""
        if self.says_rates():
            return now
        none = self.rate_of(k, 0.0, self.count)
        slope = self.rate_of(k, 1.0, self.count) - none
        return (now - none) / slope if slope else now

    def set(self) -> None:
        """Sets the rates of the step where this stands."""
        groups = self.optimizer.groups
        try:
            rates = sequence(self.get_lr(), f"what get_lr of {type(self).__name__} gives", "a list of rates")
        except ArithmeticError as error:
            raise ArgumentError(f"the rate of {self!r} is no number: {error}") from None
        if len(rates) != len(groups):
            raise ArgumentError(f"get_lr of {type(self).__name__} gives a rate for each group of the optimizer, "
                                f"{len(groups)}, got {len(rates)}")
        for group, rate in zip(groups, rates):
            group.lr = rate

    @checked
    def step(self) -> None:
        """Goes one step further and sets the rates."""
        self.go_on()

    def go_on(self, *told: Any) -> None:
        """One step further, of what it is told: now, or in a compiled function whenever its program gets here."""
        if TRACING.get() is None:
            return self.advance(*told)
        if (code := CODES.get(id(self))) is None:
            code = CODES[id(self)] = Code(f"{type(self).__name__}.step", self.gone_on, lambda *x: TupleType(x))
        own = self.carried()
        given = [tensor(x, None if isinstance(x, Tensor) else float64, device=HOME) for x in told]
        made = Called(code.name, code)(*(x.detach().value for x in (*own, *given)))
        for k, x in enumerate(own):
            x.assign(Tensor(Item(k)(made)))

    def advance(self) -> None:
        """Goes one step further in Python."""
        for k, group in enumerate(self.optimizer.groups[len(self.bases):], len(self.bases)):
            group.first = self.first_rate(k, float(group.lr))
            self.bases.append(group.first)
        self.count += 1
        self.set()

    def carried(self) -> list[Tensor]:
        """The tensors that a step changes: how far this is, the rates, and options that move with them."""
        parts = chain(vars(self).values(), *((g.rate, *g.options().values()) for g in self.optimizer.groups))
        return [x for part in parts for x in (part if is_series(part) else (part,)) if isinstance(x, Tensor)]

    def gone_on(self, *x: Array) -> tuple[Array, ...]:
        """What is carried one step behind these numbers, and as they are those that it is told; nothing moves here."""
        with tracing_into(None):
            own = self.carried()
            before = [held.value for held in own]
            try:
                for held, n in zip(own, x):
                    held.value = known(np.array(n))
                self.advance(*map(tensor, x[len(own):]))
                return *(held.numpy() for held in own), *x[len(own):]
            finally:
                for held, value in zip(own, before):
                    held.value = value

    def get_last_lr(self) -> list[float]:
        """The rates of the groups."""
        return [group["lr"] for group in self.optimizer.groups]
