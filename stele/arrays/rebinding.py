"""What tensors stand for from now on: what is written to them, and numbers instead of a long history."""
from __future__ import annotations

from typing import Any, Self, TypeVar

from stele.arrays.familiar import Familiar, its
from stele.arrays.looking import is_traced
from stele.arrays.views import Family, detached, entire, leave
from stele.backend.devices import Device, find
from stele.eager.evaluate import EVALUATOR, evaluate
from stele.eager.handle import STEPPING, STEPS, TRACING, owner
from stele.eager.live import cut
from stele.eager.standing import about_to_write, is_written
from stele.errors import DTypeError, ShapeError, SteleError, TraceError
from stele.ir.door import public
from stele.ir.types import DType
from stele.ops.linear import broadcast, cast, full, transfer

PENDING_LIMIT = 1000
KINDS = "buifc"  # of dtypes; an in-place result is not of a later one (NumPy's casting "same_kind")
X = TypeVar("X", bound=Family)


def record(x: X) -> X:
    """The tensor itself; after many operations that nobody looked at its numbers are computed, to bound the history."""
    EVALUATOR.recorded += 1
    return x if EVALUATOR.recorded % PENDING_LIMIT and not STEPPING else bounded(x)


def bounded(x: X) -> X:
    """The tensor itself, whose numbers are computed if enough was recorded, or if ops run where they are written."""
    if TRACING.get() is None and (STEPS.get() or EVALUATOR.recorded % PENDING_LIMIT == 0):
        try:
            evaluate([x.value])
        except SteleError as error:     # of any op that was recorded, unless this one alone runs
            if isinstance(error, TraceError) and is_traced(x.value):
                return x    # made of what gets its numbers later
            error.asked = error.asked or ("" if STEPS.get() else "eval")
            raise
    return x


class Rebinding(Familiar):
    """A tensor that is written to."""

    __slots__ = ()

    def _alike(self, x: Any) -> Self: raise NotImplementedError     # x as one of this dtype: a tensor knows how

    def beside(self, x: Any) -> Self:
        """x as a tensor of this one's dtype; a number or an array on its device."""
        made = self._alike(x)
        return made if isinstance(x, Family) else its(made).to(self.device)

    @property
    def data(self) -> Self:
        """The same numbers without gradients.

        What is written to `x.data` in place is written to x and leaves its gradient settings alone. So does
        `x.data = y`, which gives x numbers of its own: an earlier `x.data` stays what it was.

        >>> w = st.ones(3, requires_grad=True)
        >>> w.data[0] = 7
        >>> w.data *= 2
        >>> w
        tensor([14.,  2.,  2.], requires_grad=True)
        >>> backup = w.data
        >>> w.data = st.zeros(3)
        >>> backup.tolist(), w.tolist()
        ([14.0, 2.0, 2.0], [0.0, 0.0, 0.0])
        """
        x: Self = its(self).detach()
        x.tie_to(self, detached, (None,), {}, None, entire)
        return x

    @data.setter
    @public
    def data(self, new: Any) -> None:
        if not (isinstance(new, Family) and new.is_part(self, detached, None)):     # x.data += y has written it
            broadcast((y := self._alike(new)).value, self.value.shape)     # or nothing has changed
            leave(self)
            self.assign(y)

    @public
    def assign(self, new: Any) -> Self:
        """Rebinds this tensor to `new` numbers, broadcast to its shape and cast to its dtype, and returns it.

        Works whatever its gradient settings are: this is how optimisers write parameters. Raises ShapeError where the
        numbers do not broadcast to its shape.

        >>> x = st.zeros(3)
        >>> x.assign([1, 2, 3]).tolist(), x.assign(7).tolist()
        ([1.0, 2.0, 3.0], [7.0, 7.0, 7.0])
        """
        v = self.value
        value = transfer(broadcast(self._alike(new).value, v.shape), v.type.device)
        other = owner(value)
        shared = other is not None and (self.leaf or other.leaf or other.requires_grad)
        about_to_write(self)
        self.value = cut(value) if shared else value
        is_written(self)
        return record(self)

    copy_ = assign

    def move(self, what: Device | DType | str) -> None:
        """Rebinds this tensor and its gradient to the same numbers on a device, or of another dtype."""
        if (there := what if isinstance(what, DType) else find(what)) not in (self.device, self.dtype):
            self.value = cut(its(self).detach().to(there).value)
            self.grad = None if self.grad is None else self.grad.to(there)

    @public
    def zero_(self) -> Self:
        """Rebinds this tensor to zeros and returns it; its gradient stays."""
        return self.assign(full(self.value.shape, 0, self.dtype))

    def rebind(self, new: Family) -> Self:
        """This handle, standing for another expression of its type from now on."""
        self.refuse_leaf()
        if new.shape != self.shape:
            raise ShapeError(f"an in-place operation keeps the shape: {self.shape} cannot become {new.shape}",
                             hint="Write x = x + y instead.")
        if KINDS.index(new.dtype.kind) > KINDS.index(self.dtype.kind):
            raise DTypeError(f"an in-place operation keeps the dtype: {self.dtype} cannot become {new.dtype}",
                             hint=f"Write x = x / y instead, or convert first with x.astype({new.dtype.name!r}).")
        about_to_write(self)
        self.value = transfer(cast(new.value, self.dtype), self.value.type.device)
        if self.home is TRACING.get():
            self._requires_grad = self._requires_grad or new._requires_grad
        is_written(self)
        return record(self)
