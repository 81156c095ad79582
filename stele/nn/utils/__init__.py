"""What stands beside the layers: ragged sequences as one batch, and tensors that are computed from others."""
from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.interop.names import UTILS
from stele.nn.utils import parametrizations, parametrize, rnn
from stele.optim.clipping import clip_grad_norm as clip_grad_norm_
from stele.optim.clipping import clip_grad_value as clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parametrizations", "parametrize", "rnn"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.nn.utils", name, __all__, UTILS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
