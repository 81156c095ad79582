"""Tensors in einops: rearrange, reduce, repeat and einsum take them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from einops._backends import AbstractBackend  # type: ignore[import-untyped]

import stele as st


class SteleBackend(AbstractBackend):  # type: ignore[misc]
    """What einops does to arrays, said in functions of Stele; it finds the class among those of its own."""

    framework_name = "stele"

    def is_appropriate_type(self, tensor: Any) -> bool: return isinstance(tensor, st.Tensor)
    def from_numpy(self, x: np.ndarray[Any, Any]) -> st.Tensor: return st.tensor(x)
    def to_numpy(self, x: st.Tensor) -> np.ndarray[Any, Any]: return x.numpy()
    def arange(self, start: int, stop: int) -> st.Tensor: return st.arange(start, stop)
    def transpose(self, x: st.Tensor, axes: Sequence[int]) -> st.Tensor: return st.permute(x, *axes)
    def stack_on_zeroth_dimension(self, tensors: list[st.Tensor]) -> st.Tensor: return st.stack(tensors)
    def add_axis(self, x: st.Tensor, new_position: int) -> st.Tensor: return st.unsqueeze(x, new_position)
    def concat(self, tensors: list[st.Tensor], axis: int) -> st.Tensor: return st.concatenate(tensors, axis)
    def is_float_type(self, x: st.Tensor) -> bool: return x.dtype.is_float
    def einsum(self, pattern: str, *x: st.Tensor) -> st.Tensor: return st.einsum(pattern, *x)  # type: ignore[attr-defined]

    def add_axes(self, x: st.Tensor, n_axes: int, pos2len: Mapping[int, int]) -> st.Tensor:
        """x repeated along new axes of these lengths."""
        for axis in sorted(pos2len):
            x = st.unsqueeze(x, axis)
        return st.broadcast_to(x, tuple(pos2len.get(k, n) for k, n in enumerate(x.shape)))
