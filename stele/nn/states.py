"""States taken over by modules: what fits, what is missing, and which name was meant."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from stele.arrays.tensor import Tensor, constant
from stele.errors import DataError, nearest
from stele.ops.arguments import mapping


class Incompatible(NamedTuple):
    """The names that a state lacked, and those that nobody knew, under PyTorch's words."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Holder(Protocol):
    """What a state is taken over by: a module."""

    def state_dict(self) -> dict[str, Tensor]: ...
    def member(self, path: str) -> Any: ...
    def optional_names(self) -> set[str]: ...


def load(model: Holder, state: Mapping[str, Any], strict: bool, assign: bool) -> Incompatible:
    """Takes over a state, all of it or nothing."""
    own = model.state_dict()
    state = respelled(own, state)
    state = untied(model, own, state)
    missing, unknown = own.keys() - state.keys() - model.optional_names(), state.keys() - own.keys()
    if strict and (missing or unknown):
        raise DataError(f"the state does not fit {type(model).__name__}: " + "; ".join(
            f"{what}: {', '.join(sorted(names)[:5])}{' ...' if len(names) > 5 else ''}"
            for what, names in (("missing", missing), ("unknown", unknown)) if names),
            hint=near(missing, unknown))
    arrays = {name: np.asarray(state[name]) for name in own if name in state}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise DataError(f"{name} holds no numbers in the state, but {array.dtype}")
        if array.shape != tuple(own[name].shape):
            raise DataError(f"{name} has shape {array.shape} in the state, {tuple(own[name].shape)} in the model")
    for name, array in arrays.items():
        take(own[name], state[name], array, assign)
    return Incompatible([name for name in own if name in missing], [name for name in state if name in unknown])


def take(x: Tensor, given: Any, array: np.ndarray[Any, Any], assign: bool) -> None:
    """Rebinds a tensor to numbers, in its dtype, or as they are."""
    if assign and constant(array).dtype.is_float == x.dtype.is_float:
        x.move(constant(array).dtype)
        x.move(given.device if isinstance(given, Tensor) else x.device)
    x.assign(x.dtype.array(array))


LENGTHS = re.compile(r"(.*\.)?parametrizations\.(\w+)\.original([01])")


def respelled(own: Mapping[str, Any], state: Mapping[str, Any]) -> Mapping[str, Any]:
    """A state in which what PyTorch once called weight_g and weight_v stands under the names that it has now."""
    mapping(state, "a state")
    meant = {name: f"{found[1] or ''}{found[2]}_{'gv'[int(found[3])]}" for name in own
             if name not in state and (found := LENGTHS.fullmatch(name))}
    if (state.keys() - own.keys()).isdisjoint(meant.values()):
        return state
    new = {old: name for name, old in meant.items() if old not in own}
    return {new.get(name, name): x for name, x in state.items()}


def untied(model: Holder, own: Mapping[str, Tensor], state: Mapping[str, Any]) -> dict[str, Any]:
    """A state in which each tensor stands under the name that `state_dict` has for it."""
    first = {id(x): name for name, x in own.items()}
    found, givers = dict[str, Any](), dict[str, str]()
    for given, numbers in state.items():
        name = given if given in own else first.get(id(model.member(given)), given)
        other = givers.setdefault(name, given)
        if name in found and not np.array_equal(np.asarray(found[name]), np.asarray(numbers)):
            raise DataError(f"{other} and {given} are one tensor in the model, but differ in the state",
                            hint="Give the model two tensors, or leave one of the names out of the state.")
        found[name] = numbers
    return found


def near(missing: set[str], unknown: set[str]) -> str | None:
    """A guess which unknown name was meant for a missing one."""
    for name in sorted(missing):
        if close := nearest(name, unknown):
            return f"Is {close!r} meant to be {name!r}?"
    return None
