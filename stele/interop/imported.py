"""A model that another framework wrote, as a module: its weights are parameters under the names they have there."""
from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

import stele as st
from stele import nn
from stele.ir.origin import SCOPE, Scope, setting


class Imported(nn.Module):
    """What imported models share: `weights` by name, some of which gradients move, and inputs that have names."""

    weights: dict[str, st.Tensor]

    def held(self) -> dict[str, Any]:
        return self.weights

    def member(self, path: str) -> Any:
        return self.weights.get(path)

    def name_inputs(self, names: Sequence[str]) -> None:
        """Has `st.compile` know the inputs by their names, where Python may have such parameters."""
        if all(name.isidentifier() and not iskeyword(name) for name in names):
            self.__dict__["__signature__"] = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])


def layer(name: str) -> setting:
    """What is made inside belongs to a layer of this name, of the layer around."""
    outer = SCOPE.get()
    return setting(SCOPE, Scope(f"{outer.layer}.{name}" if outer.layer else name, outer.inherited))
