"""One convolution of 32 images, in PyTorch."""
import sys

import numpy as np
import torch
from torch.nn import functional as F

MODES = "eager", "channels_last", "compile", "channels_last bf16"


def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    layout = torch.channels_last if "channels_last" in mode else torch.contiguous_format
    return tuple(torch.from_numpy(a).to(memory_format=layout) for a in arrays)


def convolution(x, w):
    return F.conv2d(x, w, padding=w.shape[2] // 2)


def initialise(mode="eager"):
    if "bf16" in mode:
        return torch.autocast("cpu", torch.bfloat16)(convolution)
    return torch.compile(convolution, dynamic=False) if mode == "compile" else convolution


@torch.inference_mode()
def step(f, x, w):
    return f(x, w)


def evaluate(f, x, w):
    return {"y": step(f, x, w).float().numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
