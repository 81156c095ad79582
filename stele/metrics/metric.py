"""What a metric is: numbers of many batches, and what of them is asked for."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, constant
from stele.eager.handle import no_grad
from stele.errors import DTypeError, ShapeError
from stele.interop.keywords import answering, speaks
from stele.interop.names import MEASURES
from stele.ir.types import axis_of
from stele.nn.module import Module


class Metric(Module):
    """A measure that batches are counted into: `update` takes one, `compute` says what all since `reset` give.

    What was counted stands in buffers, tensors that an `update` in a compiled step changes without anybody waiting for
    them; `state_dict` and `st.save` keep them. A class of its own writes `reset`, `update` and `compute`; calling a
    metric is its `update`, whose shapes and dtypes it says. Raises NotImplementedError where one is missing.

    >>> class Longest(metrics.Metric):
    ...     def reset(self):
    ...         self.found = st.tensor(0.0)
    ...     def update(self, x):
    ...         self.found = st.maximum(self.found, x.max())
    ...     def compute(self):
    ...         return self.found
    >>> longest = Longest()
    >>> longest(st.tensor([1.0, 5.0])); longest(st.tensor([3.0]))
    >>> longest.compute()
    tensor(5.)
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a metric", MEASURES)

    @speaks
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets what was counted."""
        raise NotImplementedError(f"{type(self).__name__} has no reset(self)")

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Counts one more batch of them."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, ...)")

    def compute(self) -> Any:
        """What all batches since `reset` give."""
        raise NotImplementedError(f"{type(self).__name__} has no compute(self)")

    def forward(self, *args: Any, **kwargs: Any) -> None:
        with no_grad():
            self.update(*args, **kwargs)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole as float32, and 0 where whole is 0."""
    return where(whole == 0, 0.0, part / where(whole == 0, 1, whole)).astype("float32")


def alike(what: str, predictions: Any, targets: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape."""
    x, y = constant(predictions).detach(), constant(targets).detach()
    if x.shape != y.shape:
        raise ShapeError(f"{what} takes predictions and targets of one shape, got {x.shape} and {y.shape}",
                         hint="Write .squeeze(-1) of the predictions." if x.shape == (*y.shape, 1) else None)
    return x, y


def counted(labels: Tensor, ignore_index: int | None) -> Tensor:
    """Which labels count."""
    return labels == labels if ignore_index is None else labels != ignore_index


def labels_of(what: str, predictions: Any, labels: Any, axis: int, threshold: float) -> tuple[Tensor, Tensor]:
    """The predicted labels and the true ones: of scores of classes along an axis, of probabilities, or as they are."""
    x, y = constant(predictions).detach(), constant(labels).detach()
    if y.dtype.is_float or y.dtype.is_complex:
        raise DTypeError(f"{what} takes integers as labels, got {y.dtype}", hint="Write labels.astype('int64').")
    if x.ndim == y.ndim + 1:
        axis = axis_of(axis, x.ndim)
        if tuple(n for k, n in enumerate(x.shape) if k != axis) != tuple(y.shape):
            raise ShapeError(f"{what} takes scores with classes on axis {axis} and labels, got {x.shape} and {y.shape}")
        if x.shape[axis] == 1:      # of one class every label is the largest
            raise ShapeError(f"{what} takes scores of two classes or more, got {x.shape} for labels {y.shape}",
                             hint=f"Write .squeeze({axis}) of what is the probability of a class.")
        return x.argmax(axis), y
    x, y = alike(what, x, y)
    return (x > threshold).astype("int64") if x.dtype.is_float else x, y
