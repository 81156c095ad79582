"""Layers, losses and initialisers."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import LAYERS, unknown
from stele.nn import functional, init
from stele.nn.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from stele.nn.layers import (
    GELU,
    AvgPool2d,
    BatchNorm2d,
    Dropout,
    Embedding,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
    Sigmoid,
    SiLU,
    Tanh,
)
from stele.nn.losses import binary_cross_entropy_with_logits, cross_entropy, mse_loss
from stele.nn.module import Module
from stele.nn.recurrent import GRU, LSTM
from stele.nn.summary import Summary, summary

__all__ = [
    "GELU", "GRU", "LSTM", "AvgPool2d", "BatchNorm2d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "Dropout", "Embedding", "Flatten", "GroupNorm", "LayerNorm", "Linear",
    "MaxPool2d", "Module", "ReLU", "Sequential", "SiLU", "Sigmoid", "Summary", "Tanh",
    "binary_cross_entropy_with_logits", "cross_entropy", "functional", "init", "mse_loss", "summary",
]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.nn", name, __all__, LAYERS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
