"""What is remembered of a training run, as it stands in `history.json`."""

import json
import math
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stele.errors import UnknownName
from stele.interop.keywords import answering
from stele.interop.names import HISTORIES
from stele.ops.arguments import is_dict, is_series
from stele.tracing.state import Opaque

POINTS = 400  # the curve of single steps keeps at most twice as many


Row = dict[str, Any]    # an epoch: its number, measures under names such as train_loss and val_accuracy, seconds


@dataclass
class Curve:
    """Losses of single steps at `x` (in epochs): means over `stride` steps, which doubles when there are too many."""

    x: list[float] = field(default_factory=list[float])
    loss: list[float] = field(default_factory=list[float])
    stride: int = 1
    _open: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def add(self, x: float, loss: float) -> None:
        self._open.append((x, loss))
        if len(self._open) < self.stride:
            return
        self.x.append(self._open[-1][0])
        self.loss.append(math.fsum(loss for _, loss in self._open) / self.stride)
        self._open.clear()
        if len(self.x) >= 2 * POINTS:
            self.x = self.x[1::2]
            self.loss = [(a + b) / 2 for a, b in zip(self.loss[::2], self.loss[1::2], strict=True)]
            self.stride *= 2

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"x": list(self.x), "loss": list(self.loss), "stride": self.stride, "open": list(self._open)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on with a curve that was saved."""
        self.x, self.loss, self.stride, self._open = (state[name] for name in ("x", "loss", "stride", "open"))


@dataclass(repr=False)
class History(Opaque):
    """A training so far: `epochs` are rows of measures, `history["val_loss"]` is one of them over all epochs.

    `meta` are facts about the run, `state` is running, finished, interrupted or failed, `message` what was said of its
    end, `curve` the losses of single steps. Raises UnknownName for a measure that no epoch has.

    >>> history = train.History({}, epochs=[{"epoch": 1, "train_loss": 0.5}, {"epoch": 2, "train_loss": 0.25}])
    >>> history["train_loss"]
    [0.5, 0.25]
    """

    meta: dict[str, Any]
    state: str = "running"
    message: str = ""
    epochs: list[Row] = field(default_factory=list[Row])
    curve: Curve = field(default_factory=Curve)

    if not TYPE_CHECKING:
        __getattr__ = answering("a history", HISTORIES)

    def inside(self) -> tuple[Any, ...]:
        """Nothing of it is state that a compiled step could read."""
        return ()

    def __repr__(self) -> str:
        many = f"{len(self.epochs)} epoch{'s' * (len(self.epochs) != 1)}"
        last = [f"{name}={x:.4g}" for row in self.epochs[-1:] for name, x in row.items()
                if name not in ("epoch", "seconds") and isinstance(x, int | float)]
        return f"History({', '.join([self.state, many, *last])})"

    def begin(self) -> None:
        """The training begins, or goes on."""
        self.state, self.message = "running", ""

    def end(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """The training ends, by an error where there is one."""
        match error:
            case None:                self.state = "finished"
            case KeyboardInterrupt(): self.state, self.message = "interrupted", f"Interrupted {self.so_far()}"
            case _:                   self.state, self.message = "failed", f"{type(error).__name__}: {error}"

    def __getitem__(self, name: str) -> list[Any]:
        known = dict.fromkeys(key for row in self.epochs for key in row)
        if name not in known:
            raise UnknownName(f"this history has no {name!r}", hint=f"It has {', '.join(known) or 'no epoch yet'}.")
        return [row.get(name) for row in self.epochs]

    def so_far(self) -> str:
        """How far the run came, in words."""
        asked = self.meta.get("epochs")
        at = max([0.0, *self.curve.x[-1:], *(row["epoch"] for row in self.epochs[-1:])])
        end = f" of {asked}" if asked else ""
        if not at:
            return f"before the first step was kept{f', {asked} epochs were asked for' if asked else ''}"
        return f"after {at:.4g}{end} epochs, {len(self.epochs)} of them tested"

    def state_dict(self) -> dict[str, Any]:
        """What goes on when the run does."""
        return {"meta": self.meta, "epochs": [dict(row) for row in self.epochs],
                "curve": self.curve.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on with a history that was saved; facts of this process replace older ones."""
        self.meta = state["meta"] | self.meta
        self.epochs = [dict(row) for row in state["epochs"]]
        self.curve.load_state_dict(state["curve"])

    def to_json(self) -> str:
        """Valid JSON: a loss that is not finite is null."""
        content = {"state": self.state, "message": self.message, "meta": self.meta,
                   "epochs": self.epochs,
                   "steps": {"epoch": self.curve.x, "train_loss": self.curve.loss}}
        return json.dumps(finite(content), indent=1, allow_nan=False, default=str) + "\n"


def finite(value: Any) -> Any:
    """The same with null for nan and infinities."""
    match value:
        case float():        return value if math.isfinite(value) else None
        case _ if is_dict(value): return {key: finite(item) for key, item in value.items()}
        case _ if is_series(value): return [finite(item) for item in value]
        case _:              return value
