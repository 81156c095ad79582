"""Layers, losses and initialisers."""
from __future__ import annotations

from stele.nn import init
from stele.nn.layers import (
    GELU,
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
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
    "GELU", "GRU", "LSTM", "AvgPool2d", "BatchNorm2d", "Conv2d", "Dropout", "Embedding", "Flatten", "LayerNorm",
    "Linear", "MaxPool2d", "Module", "ReLU", "Sequential", "SiLU", "Sigmoid",
    "Summary", "Tanh",
    "binary_cross_entropy_with_logits", "cross_entropy", "init", "mse_loss", "summary",
]
