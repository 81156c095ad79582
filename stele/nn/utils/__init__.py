"""What networks need beside layers."""
from __future__ import annotations

from stele.nn.utils import rnn

__all__ = ["rnn"]
