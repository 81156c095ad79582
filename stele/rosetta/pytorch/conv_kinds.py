"""A depthwise, grouped, transposed, 1d or 3d convolution, in PyTorch."""
import sys

import numpy as np
import torch
from torch.nn import functional as F

MODES = "eager", "channels_last", "compile"


def data(batch=8, inputs=128, outputs=128, groups=1, axes=2, edge=56, depth=16, window=3, seed=0):
    """Signals (batch, inputs, edge), images or volumes (batch, inputs, depth, edge, edge), and weights (outputs, inputs
    / groups, window, ...); of an even window those (inputs, outputs, ...) of a transposed one in steps of 2.
    """
    rng = np.random.default_rng(seed)
    space = {1: (edge,), 2: (edge, edge), 3: (depth, edge, edge)}[axes]
    channels = (outputs, inputs // groups) if window % 2 else (inputs, outputs)
    shapes = (batch, inputs, *space), (*channels, *[window] * axes)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d} if mode == "channels_last" else {}
    return tuple(torch.from_numpy(a).to(memory_format=layouts.get(a.ndim, torch.contiguous_format)) for a in arrays)


def convolution(x, w):
    if w.shape[2] % 2 == 0:
        return F.conv_transpose2d(x, w, stride=2, padding=w.shape[2] // 2 - 1)
    convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.ndim]
    return convolve(x, w, padding=w.shape[2] // 2, groups=x.shape[1] // w.shape[1])


def initialise(mode="eager"):
    return torch.compile(convolution, dynamic=False) if mode == "compile" else convolution


@torch.inference_mode()
def step(f, x, w):
    return f(x, w)


def evaluate(f, x, w):
    return {"y": step(f, x, w).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
