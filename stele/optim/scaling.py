"""Losses scaled up, so that gradients of half precision do not vanish."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import zeros
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, tensor
from stele.eager.handle import no_grad
from stele.errors import DataError
from stele.ir.types import HOME
from stele.ops.arguments import positive
from stele.optim.checks import checked
from stele.optim.optimizer import Optimizer
from stele.saving import options_of


class LossScaler:
    """A factor for losses that follows their gradients (Micikevicius et al., 2018, section 3.2), for float16.

    `scaler.scale(loss).backward()`, then `scaler.step(optimizer)`, which divides the gradients by the factor and leaves
    everything as it was where one of them is infinite or NaN; the factor is then multiplied with `backoff`, and with
    `growth` after `interval` steps in a row that were taken. It begins as `factor`. Between the two calls
    `unscale(optimizer)` divides the gradients already, to clip them. Works in compiled functions. Raises ShapeError for
    an interval below 1.

    >>> x = st.tensor([4.0], requires_grad=True)
    >>> optimizer, scaler = optim.SGD([x], lr=0.5), optim.LossScaler(factor=8.0)
    >>> for slope in (1.0, float("inf")):
    ...     optimizer.zero_grad()
    ...     scaler.scale((x * slope).sum()).backward()
    ...     scaler.step(optimizer)
    ...     print(x.tolist(), scaler.factor.tolist())
    [3.5] 8.0
    [3.5] 4.0
    """

    @checked
    def __init__(self, factor: float = 2.0 ** 16, growth: float = 2.0, backoff: float = 0.5,
                 interval: int = 2000) -> None:
        self.factor, self.taken = tensor(float(factor), device=HOME), zeros((), device=HOME)
        self.growth, self.backoff = growth, backoff
        self.interval = positive(interval, "interval of LossScaler")
        self.finite: Tensor | None = None       # of gradients that are divided already

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the factor."""
        return loss * F.stop_gradient(self.factor).astype(loss.dtype)

    def unscale(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimiser by the factor, once before its step."""
        with no_grad():
            finite = tensor(True)
            for p in optimizer.parameters:
                if p.grad is not None:
                    finite = finite & F.isfinite(p.grad).all()
                    p.grad = (p.grad / self.factor).astype(p.dtype)
            self.finite = finite

    def step(self, optimizer: Optimizer) -> Any:
        """A step of the optimiser, unless a gradient is not finite; then the factor is looked after."""
        if self.finite is None:
            self.unscale(optimizer)
        finite, self.finite = self.finite, None
        assert finite is not None
        with no_grad():
            held = [x for x in optimizer.state_dict().values() if isinstance(x, Tensor)] + optimizer.parameters
            before = [x.detach().clone() for x in held]
            optimizer.step()
            for x, old in zip(held, before, strict=True):
                x.assign(where(finite, x, old))
            taken = where(finite, self.taken + 1, 0.0)
            is_time = taken >= self.interval
            self.factor.assign(where(finite, where(is_time, self.factor * self.growth, self.factor),
                                       self.factor * self.backoff))
            self.taken.assign(where(is_time, 0.0, taken))

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
