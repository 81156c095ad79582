"""What layers take: signals, images and volumes of some channels, alone or many; an error says how to get there."""
from __future__ import annotations

from typing import Any

from stele.arrays.tensor import Tensor
from stele.nn.module import Module, given, wrong


def images(layer: Module, x: Any, channels: int, axes: str = "HW", alone: bool = True) -> Tensor:
    """The input of a layer that takes images (N, channels, H, W), or what has other axes; one, if it may be alone."""
    x, n, them = given(layer, x), len(axes) + 2, ("signals", "images", "volumes")[len(axes) - 1]
    if (x.ndim == n and x.shape[1] == channels) or (alone and x.ndim == n - 1 and x.shape[0] == channels):
        return x
    shape = ", ".join([str(channels), *axes])
    last = x.ndim > 2 and x.shape[-1] == channels
    order = ", ".join(map(str, (n - 1, *range(1, n - 1)))), ", ".join(map(str, (n - 2, *range(n - 2))))
    one = "" if alone else "[None]"
    raise wrong(layer, f"{them} (N, {shape})" + f" or ({shape})" * alone, x, {
        f"Channels stand on axis 1 here: write x.permute(0, {order[0]}).": x.ndim == n and last,
        f"Channels stand before {', '.join(axes)} here: write x.permute({order[1]}){one}.": x.ndim == n - 1 and last,
        "Write x[None] for one of them.": x.ndim == n - 1 and x.shape[0] == channels,
        f"Write x[:, None] for {them} of one channel.": x.ndim == n - 1 and channels == 1,
        f"Write x.reshape(N, C, {', '.join(axes)}).": x.ndim != n})
