"""Losses scaled up, so that gradients of half precision do not vanish."""
from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, tensor
from stele.eager.handle import no_grad
from stele.errors import DataError, GraphError
from stele.interop.keywords import answering
from stele.interop.names import SCALER
from stele.ir.types import HOME
from stele.ops.arguments import positive
from stele.optim.checks import checked
from stele.optim.optimizer import Optimizer, needs_optimizer
from stele.saving import options_of


class LossScaler:
    """A factor for losses that follows their gradients (Micikevicius et al., 2018, section 3.2), for float16.

    `scaler.scale(loss).backward()`, `scaler.step(optimizer)` and `scaler.update()`, as PyTorch's GradScaler. `step`
    divides the gradients by the factor and leaves everything as it was where one of them is infinite or NaN. `update`
    multiplies the factor with `backoff` where that was so, and with `growth` after `interval` times in a row where it
    was not; it begins as `factor`. With several optimisers each takes its step, and one update follows. Before a step
    `unscale(optimizer)` divides the gradients already, to clip them. Works in compiled functions. Raises ShapeError for
    an interval below 1, GraphError for two steps of an optimiser without an update between them.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer, scaler = optim.SGD([x], lr=0.5), optim.LossScaler(factor=8.0)
    >>> for slope in (1.0, float("inf")):
    ...     optimizer.zero_grad()
    ...     scaler.scale((x * slope).sum()).backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    ...     print(x.tolist(), scaler.factor.tolist())
    [3.5] 8.0
    [3.5] 4.0
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a loss scaler", SCALER)

    @checked
    def __init__(self, factor: float = 2.0 ** 16, growth: float = 2.0, backoff: float = 0.5,
                 interval: int = 2000) -> None:
        self.factor, self.taken = tensor(float(factor), device=HOME), zeros((), device=HOME)
        self.growth, self.backoff = growth, backoff
        self.interval = positive(interval, "interval of LossScaler")
        self.divided: tuple[Optimizer, ...] = ()        # since the last update
        self.finite: tuple[Tensor, ...] = ()            # their gradients
        self.stepped: tuple[Optimizer, ...] = ()

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the factor."""
        return loss * F.stop_gradient(self.factor).astype(loss.dtype)

    def unscale(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimiser by the factor, once before its step; GraphError for a second time."""
        if needs_optimizer(self, optimizer) in self.divided:
            raise GraphError(f"the gradients of this {type(optimizer).__name__} are divided by the factor already",
                             hint="Call scaler.update() behind the steps of all optimisers.")
        with no_grad():
            finite = tensor(True)
            for p in optimizer.parameters:
                if p.grad is not None:
                    finite = finite & F.isfinite(p.grad).all()
                    p.grad = (p.grad / self.factor).astype(p.dtype)
            self.divided, self.finite = (*self.divided, optimizer), (*self.finite, finite)

    def step(self, optimizer: Optimizer) -> None:
        """A step of the optimiser, unless a gradient is not finite; GraphError for a second one before an update."""
        if optimizer in self.stepped or optimizer not in self.divided:
            self.unscale(optimizer)
        self.stepped = (*self.stepped, optimizer)
        finite = self.finite[self.divided.index(optimizer)]

        def held() -> dict[str, Tensor]:
            state = {name: x for name, x in optimizer.state_dict().items() if isinstance(x, Tensor)}
            return state | {f"parameter.{k}": p for k, p in enumerate(optimizer.parameters)}

        with no_grad():
            before = {name: x.detach().clone() for name, x in held().items()}
            optimizer.step()
            for name, x in {id(x): (name, x) for name, x in held().items()}.values():
                x.assign(where(finite, x, before[name]))

    def update(self) -> None:
        """Looks after the factor, behind the steps of all optimisers; GraphError where there was none."""
        if not self.stepped:
            raise GraphError("update of LossScaler found no step", hint="Call scaler.step(optimizer) first.")
        with no_grad():
            finite = reduce(F.logical_and, self.finite)
            taken = where(finite, self.taken + 1, 0.0)
            is_time = taken >= self.interval
            self.factor.assign(where(finite, where(is_time, self.factor * self.growth, self.factor),
                                       self.factor * self.backoff))
            self.taken.assign(where(is_time, 0.0, taken))
        self.divided, self.finite, self.stepped = (), (), ()

    def options(self) -> dict[str, Any]:
        """The numbers of this scaler by name."""
        return {"growth": self.growth, "backoff": self.backoff, "interval": self.interval}

    def state_dict(self) -> dict[str, Any]:
        """The factor, the steps taken since it changed, and the options."""
        return {"kind": "LossScaler", "factor": self.factor, "taken": self.taken, "options": self.options()}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the scaler stood that gave this state. Raises DataError if it is none of a scaler."""
        if state.get("kind") != "LossScaler":
            raise DataError(f"the state is none of LossScaler: it is of {state.get('kind', 'no scaler')}")
        vars(self).update(options_of(state["options"], self.options(), "LossScaler"))
        self.factor.assign(state["factor"])
        self.taken.assign(state["taken"])
