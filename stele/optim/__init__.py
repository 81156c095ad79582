"""Optimisers, gradient clipping and learning-rate schedules."""
from __future__ import annotations

from stele.optim.optimizers import SGD, Adam, AdamW, Optimizer, clip_grad_norm, clip_grad_value
from stele.optim.schedules import CosineDecay, ExponentialDecay, LinearWarmup, Schedule, StepDecay

__all__ = ["SGD", "Adam", "AdamW", "CosineDecay", "ExponentialDecay", "LinearWarmup", "Optimizer", "Schedule",
           "StepDecay", "clip_grad_norm", "clip_grad_value"]
