"""What users say of the gradients of a tensor: whether there are any, who sees them, and whether they are kept."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self
from weakref import ref

from stele.arrays.exchange import Exchange
from stele.eager.handle import TRACING, Handle, owner
from stele.eager.hooks import LEAVES, Hook, hook_value
from stele.eager.live import cut, is_symbolic
from stele.errors import DTypeError, GraphError, TraceError
from stele.ir.door import public
from stele.ir.graph import Parameter, walk
from stele.ops.arguments import flag, function


class Hooking(Exchange):
    """A tensor that may carry gradients."""

    __slots__ = ()

    @public
    def requires_grad_(self, on: bool = True) -> Self:
        """Marks this tensor as one whose gradient `backward` accumulates, or no longer; returns it.

        Raises DTypeError for other dtypes than floats.
        """
        on = flag(on, "requires_grad")
        if on and not self.dtype.is_float:
            raise DTypeError(f"only float tensors carry gradients, got {self.dtype}",
                             hint="Write st.tensor([1.0, 2.0], requires_grad=True), or x.astype('float32') first.")
        if self.home is not TRACING.get():
            raise TraceError("requires_grad_ on a tensor from outside, inside of a compiled function",
                             hint="Choose what carries gradients before the call.")
        if on and owner(self.value) is not self:
            Handle.value.__set__(self, cut(self.value))     # the same numbers: nothing is written
        self._requires_grad, self.leaf = on, on or self.leaf    # what is frozen stays a parameter
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether `backward` passes through this tensor, or stops and accumulates at it; setting it makes it a leaf."""
        return self._requires_grad

    @requires_grad.setter
    @public
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    @public
    def register_hook(self, hook: Callable[[Self], Self | None]) -> Hook:
        """Has hook(gradient) see the gradient of this tensor, whenever one is taken.

        A tensor that it returns, if any, stands for the gradient from there on. The hook of a leaf stays with it when
        it is rebound, and sees what a `backward` adds to its `grad`; that of another tensor sees all that comes
        together there, whether it was used before or is later. In a compiled function hooks are traced, as all of its
        code; under `st.vmap` they see the gradients of all places at once. What this returns has a `remove`. Raises
        GraphError for a tensor that requires no gradients, and when it runs ArgumentError and ShapeError for what is no
        tensor of the gradient's type.

        >>> x = st.tensor([1.0, 2.0], requires_grad=True)
        >>> with (x * x).register_hook(print):
        ...     pass
        >>> hook = x.register_hook(lambda g: g.clip(-1, 3))
        >>> (x * x).sum().backward()
        >>> x.grad.tolist(), hook.remove()
        ([2.0, 3.0], None)
        """
        return self.hooked(hook, "register_hook", late=False)

    @public
    def register_post_accumulate_grad_hook(self, hook: Callable[[Self], Any]) -> Hook:
        """Has hook(self) run each time a `backward` has added to the `grad` of this leaf, as to step and forget it.

        What this returns has a `remove`. Raises GraphError for a tensor that is no leaf that requires gradients.

        >>> w = st.tensor(1.0, requires_grad=True)
        >>> hook = w.register_post_accumulate_grad_hook(lambda w: w.assign(w - 0.1 * w.grad))
        >>> (w * w).backward()
        >>> round(float(w), 6)
        0.8
        """
        if not self.leaf:
            raise GraphError("register_post_accumulate_grad_hook on a tensor that is no leaf",
                             hint="Only leaves, such as parameters, gather gradients: see register_hook.")
        return self.hooked(hook, "register_post_accumulate_grad_hook", late=True)

    def hooked(self, hook: Any, called: str, late: bool) -> Hook:
        """Another hook of this tensor: of its gradients, or of what has gathered them."""
        function(hook, "a hook")
        if self.home is not TRACING.get():
            raise TraceError(f"{called} on a tensor from outside, inside of a compiled function",
                             hint="Register it before the call, or on a tensor that the function makes.")
        if not (self.requires_grad or any(map(is_symbolic, walk([self.value])))):
            raise GraphError(f"{called} on a tensor that requires no gradients",
                             hint="Make it with st.tensor(..., requires_grad=True), or of one that is.")
        if self.leaf:
            return LEAVES.add(self, hook, late)
        if isinstance(self.value.op, Parameter):
            raise GraphError(f"{called} on an input, {self.value.type}, of which nothing is computed yet",
                             hint="Register it on what is made of it: y = x.clone().")
        return hook_value(self, hook)

    @public
    def retain_grad(self) -> None:
        """Has a `backward` leave the gradient of this tensor in its `grad` too, though it is no leaf.

        Raises GraphError for a tensor that requires no gradients.

        >>> x = st.tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> y.retain_grad()
        >>> (y * 2).backward()
        >>> y.grad.tolist(), x.grad.tolist()
        (2.0, 12.0)
        """
        if not self.leaf:
            kept = ref(self)
            self.register_hook(lambda g: keep(kept(), g))


def keep(x: Handle | None, g: Any) -> None:
    """Adds to the gradient of a tensor, if there still is one."""
    if x is not None:
        x.grad = g if x.grad is None else x.grad + g
