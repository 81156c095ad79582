"""Tensors of layers that are computed from other tensors whenever they are asked for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.arrays.tensor import Tensor
from stele.errors import ArgumentError, ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.nn.init import parameter
from stele.nn.module import Module, is_parameter
from stele.ops.arguments import function, instance, is_series

__all__ = ["Parametrized", "is_parametrized", "register_parametrization", "remove_parametrizations"]


class Parametrized(Module):
    """What one tensor of a layer is computed of: `value` and the modules `steps`, each of what the one before gives.

    Its tensors are `original`, or `original0`, `original1` where the first step takes several, and those of the steps,
    under their numbers; calling it gives the tensor.
    """

    def __init__(self, value: Tensor, step: Module) -> None:
        back: Callable[[Tensor], Any] | None = getattr(step, "right_inverse", None)
        found: Any = value.detach() if back is None else back(value.detach())
        several = is_series(found)
        self.names = tuple(f"original{k}" for k in range(len(found))) if several else ("original",)
        for name, x in zip(self.names, found if several else (found,)):
            setattr(self, name, parameter(x) if is_parameter(value) else x.detach())
        self.steps = [step]

    def held(self) -> dict[str, Any]:
        own = vars(self)
        return {name: own[name] for name in self.names} | {str(k): step for k, step in enumerate(self.steps)}

    def forward(self) -> Tensor:
        own = vars(self)
        x: Any = self.steps[0](*(own[name] for name in self.names))
        for step in self.steps[1:]:
            x = step(x)
        return x


@speaks
def register_parametrization(module: Module, name: str, parametrization: Module) -> Module:
    """Computes the tensor `name` of a `module` by a `parametrization`, a module that takes a tensor and gives one.

    What it takes is a parameter in place of the tensor: `parametrizations.NAME.original` in `state_dict`, at first the
    tensor itself, or what the method right_inverse(tensor) of the parametrization, where there is one, makes of it; if
    that gives a tuple, original0, original1 and so on. A second parametrization takes what the first one gives. Returns
    the module, which is of a class of its own from then on. Raises ArgumentError where there is no such tensor,
    ShapeError for a parametrization that gives another shape.

    >>> class Positive(nn.Module):
    ...     def forward(self, x):
    ...         return abs(x)
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 2), "weight", Positive())
    >>> list(layer.state_dict()), bool((layer.weight >= 0).all())
    (['bias', 'parametrizations.weight.original'], True)
    """
    kept = tensors(instance(module, "module of register_parametrization", Module))
    function(parametrization, "parametrization")
    if instance(name, "name of what is parametrized", str) in kept:
        kept[name].steps.append(parametrization)
        return module
    value = own_tensor(module, name)
    made = Parametrized(value, parametrization)
    if (shape := made().shape) != value.shape:
        raise ShapeError(f"{type(parametrization).__name__} makes {shape} of {name}, which is {value.shape}")
    del vars(module)[name]
    vars(module)["parametrizations"] = kept | {name: made}
    computed_by(module, kept | {name: made})
    return module


def own_tensor(module: Module, name: str) -> Tensor:
    """The tensor of a module that is to be computed; raises ArgumentError where there is none."""
    held = vars(instance(module, "what is parametrized", Module))
    value = held.get(instance(name, "name of what is parametrized", str))
    if not isinstance(value, Tensor):
        raise ArgumentError(f"this {type(module).__name__} has no tensor {name!r} to be computed",
                            hint=f"It has {', '.join(k for k, x in held.items() if isinstance(x, Tensor))}.")
    return value


def tensors(module: Module) -> dict[str, Parametrized]:
    """What the computed tensors of a module are computed of, by name."""
    return vars(instance(module, "what may be parametrized", Module)).get("parametrizations", {})


def computed_by(module: Module, kept: dict[str, Parametrized]) -> None:
    """Gives a module a class whose properties compute these tensors, or the class it was of, for none."""
    base: Any = vars(type(module)).get("bare", type(module))
    asked: dict[str, Any] = {name: property(lambda self, name=name: self.parametrizations[name]()) for name in kept}
    asked |= {"__module__": base.__module__, "bare": base}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), asked) if kept else base


@public
def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a `module` is computed: any, or the one called `tensor_name`.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> [nn.utils.parametrize.is_parametrized(layer, name) for name in ("weight", "bias")]
    [True, False]
    """
    return bool(tensors(module)) if tensor_name is None else \
        instance(tensor_name, "tensor_name", str) in tensors(module)


@public
def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes the tensor `tensor_name` of a `module` one of its own again: what it is computed to be now.

    With leave_parametrized=False (`leave_parametrized`) it is the original, of which there has to be one. Returns the
    module. Raises ArgumentError where the tensor is not computed, or has several originals.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> list(nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    kept = dict(tensors(module))
    if instance(tensor_name, "tensor_name", str) not in kept:
        raise ArgumentError(f"{tensor_name!r} of this {type(module).__name__} is not computed")
    made = kept.pop(tensor_name)
    if not leave_parametrized and len(made.names) > 1:
        raise ArgumentError(f"{tensor_name!r} has {len(made.names)} originals: none is the tensor",
                            hint="Write remove_parametrizations(module, name).")
    value = made() if leave_parametrized else vars(made)["original"]
    learns = bool(made.parameters())
    computed_by(module, kept)
    del vars(module)["parametrizations"]
    if kept:
        vars(module)["parametrizations"] = kept
    vars(module)[tensor_name] = parameter(value) if learns else value.detach()
    return module


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
