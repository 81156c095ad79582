"""Modules and functions of PyTorch in Stele, and Stele's functions in PyTorch, on memory that both share."""
from __future__ import annotations

from stele.interop.torch.bridge import from_torch_function, to_torch
from stele.interop.torch.module import TorchModule, from_torch

__all__ = ("TorchModule", "from_torch", "from_torch_function", "to_torch")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
