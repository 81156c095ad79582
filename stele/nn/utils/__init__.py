"""What stands beside the layers: ragged sequences as one batch, and tensors that are computed from others."""
from stele.nn.utils import parametrizations, parametrize, rnn

__all__ = ["parametrizations", "parametrize", "rnn"]


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
