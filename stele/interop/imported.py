"""A model that another framework wrote, as a module: its weights are parameters under the names they have there."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

import stele as st
from stele import nn
from stele.errors import ArgumentError, nearest
from stele.ir.origin import SCOPE, Scope, setting
from stele.nn.module import PATHS


class Imported(nn.Module):
    """What imported models share: `weights` by name, some of which gradients move, and inputs that have names."""

    weights: dict[str, st.Tensor]

    def held(self) -> dict[str, Any]:
        return self.weights

    def member(self, path: str) -> Any:
        return self.weights.get(path)

    def alone(self) -> setting:
        """What is made inside belongs to the layers of this model, by their names alone where it is called first."""
        outer = SCOPE.get()
        return setting(SCOPE, outer._replace(layer=PATHS.get(self, outer.layer)))

    def output_names(self) -> Sequence[str]:
        """What the outputs are called there, where they have names."""
        return ()

    def metadata(self) -> Mapping[str, str]:
        """What else its file says."""
        return {}

    def name_inputs(self, names: Sequence[str]) -> None:
        """Has `st.compile` know the inputs by their names, such as `input.1` and `/encoder/x`."""
        self.__dict__["__signature__"] = Signature([Named(name) for name in names])


class Named(Parameter):
    """A parameter by a name that Python could not write."""

    name: str = ""      # type: ignore[assignment]    # that can be set, unlike the property

    def __init__(self, name: str) -> None:
        super().__init__("x", Parameter.POSITIONAL_OR_KEYWORD)
        self.name = name

    def __str__(self) -> str: return self.name
    def __reduce__(self) -> Any: return Named, (self.name,)


def word(name: str) -> str:
    """The name of an open size as sizes are called here."""
    made = re.sub(r"^(?=\d)|\W", "_", name)
    return f"{made}_" if iskeyword(made) else made


def unheard(lacks: str, name: str, has: Sequence[str], near: Iterable[str] | None = None) -> ArgumentError:
    """What is raised for an input by a name that a model does not have; `near` are those that may have been meant,
    where they are others than it `has`."""
    guess = nearest(name, has if near is None else near)
    return ArgumentError(f"{lacks} {name!r}; it has {', '.join(has)}",
                         hint=f"Did you mean {guess!r}?" if guess else None)


def layer(name: str) -> setting:
    """What is made inside belongs to a layer of this name, of the layer around."""
    outer, name = SCOPE.get(), name.replace("/", ".")
    return setting(SCOPE, Scope(".".join(filter(None, (outer.layer, name))), outer.inherited))
