"""The base of layers that are a function of `nn.functional` with its options."""
from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature, unwrap
from typing import Any, ClassVar

from stele.arrays.checked import operand
from stele.arrays.tensor import Tensor, constant
from stele.nn.module import Module
from stele.ops import arguments
from stele.ops.arguments import asked_of, is_array, optional, untouched

FORMS = arguments.FORMS | dict.fromkeys(("Value", "Value | None"), optional(operand))


class Applied(Module):
    """A function as a layer: what it was made with are attributes, and options of every call."""

    function: ClassVar[Callable[..., Any]]
    kept: tuple[str, ...] = ()

    def keep(self, **options: Any) -> None:
        """Holds the options of the function, each of the kind that the function will ask for."""
        asked = asked_of(unwrap(self.function))
        for name, value in options.items():
            FORMS.get(asked.get(name, ""), untouched)(value, f"{name} of {type(self).__name__}")
            setattr(self, name, constant(value) if is_array(value) else value)
        self.kept = tuple(options)

    def options(self) -> dict[str, Any]:
        """The options of the function, by name."""
        return {name: getattr(self, name) for name in self.kept}

    def extra_repr(self) -> str:
        usual = signature(type(self)).parameters
        return ", ".join(f"{value!r}" if usual[name].default is Parameter.empty else f"{name}={value!r}"
                         for name, value in self.options().items()
                         if not isinstance(value, Tensor) and value != usual[name].default)

    def forward(self, *x: Any) -> Any:
        return self.function(*x, **self.options())
