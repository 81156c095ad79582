"""PyTorch's resizing and sampling of images."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F

SAMPLED = "bilinear", "nearest", "bicubic"
OUTSIDE = "zeros", "border", "reflection"


def resized(mode: str, aligned: bool = False) -> Callable[..., Any]:
    """Images at another size, or by factors."""
    def rule(x: Any, size: Any, *more: Any) -> Any:
        factors = more[-1]
        corners = more[0] if aligned else None
        size = None if size is None else tuple(size)
        return F.interpolate(x, size, None if size is not None else tuple(factors), mode, corners)

    return rule


def smoothed(mode: str) -> Callable[..., Any]:
    """Images at another size, of which none of the old ones is passed over."""
    return lambda x, size, corners, *_: F.interpolate(x, tuple(size), None, mode, corners, antialias=True)


def sampled(x: Any, grid: Any, mode: int, outside: int, corners: bool) -> Any:
    """Images at the places of a grid."""
    return F.grid_sample(x, grid, SAMPLED[mode], OUTSIDE[outside], corners)


RULES: Rules = {
    "upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec": resized("nearest"),
    "upsample_linear1d.vec": resized("linear", True), "upsample_bilinear2d.vec": resized("bilinear", True),
    "upsample_trilinear3d.vec": resized("trilinear", True), "upsample_bicubic2d.vec": resized("bicubic", True),
    "_upsample_bilinear2d_aa": smoothed("bilinear"), "_upsample_bicubic2d_aa": smoothed("bicubic"),
    "grid_sampler_2d grid_sampler_3d": sampled,
    "pixel_shuffle": lambda x, by: F.pixel_shuffle(x, by), "pixel_unshuffle": lambda x, by: F.pixel_unshuffle(x, by),
}
