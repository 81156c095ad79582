"""The features that ResNet-50 (v1.5) sees in photographs, in JAX with Flax."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

MODES = "jit",

def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, photos):
    return jnp.asarray(photos.transpose(0, 2, 3, 1)),


class Normed(nn.Module):
    """A convolution and its batch norm, by PyTorch's names."""

    outputs: int
    window: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        pad = self.window // 2
        x = nn.Conv(self.outputs, (self.window,) * 2, self.stride, ((pad, pad),) * 2, use_bias=False, name="conv")(x)
        return nn.BatchNorm(use_running_average=True, epsilon=1e-5, name="bn")(x)


class Bottleneck(nn.Module):
    width: int
    stride: int

    @nn.compact
    def __call__(self, x):
        outputs = 4 * self.width
        y = nn.relu(Normed(self.width, 1, name="1")(x))
        y = nn.relu(Normed(self.width, 3, self.stride, name="2")(y))
        y = Normed(outputs, 1, name="3")(y)
        return nn.relu(y + (x if x.shape == y.shape else Normed(outputs, 1, self.stride, name="downsample")(x)))


class ResNet50(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(Normed(64, 7, 2, name="1")(x))
        x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for stage, (width, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            for k in range(depth):
                x = Bottleneck(width, 1 if k or stage == 1 else 2, name=f"layer{stage}.{k}")(x)
        return x.mean((1, 2))


KINDS = {"weight": ("params", "scale"), "bias": ("params", "bias"), "running_mean": ("batch_stats", "mean"),
         "running_var": ("batch_stats", "var")}


def place_of(name):
    """Where a parameter of PyTorch's network stands: its collection, and the path there."""
    *block, layer, kind = name.replace("downsample.0", "conv").replace("downsample.1", "bn").split(".")
    number = "downsample" if "downsample" in name else layer[-1]
    collection, leaf = KINDS[kind] if "bn" in layer else ("params", "kernel")
    return collection, [".".join(block)] * bool(block) + [number, layer.rstrip("123"), leaf]


def initialise(mode="jit", weights=None):
    model = ResNet50()
    variables = model.init(jax.random.key(0), jnp.zeros((1, 224, 224, 3)))
    for name, w in (weights or {}).items():
        if not name.endswith("num_batches_tracked"):
            collection, (*path, leaf) = place_of(name)
            holder = variables[collection]
            for part in path:
                holder = holder[part]
            holder[leaf] = jnp.asarray(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w)
    return jax.jit(model.apply), variables


def step(state, x):
    features, variables = state
    return features(variables, x).block_until_ready()


def evaluate(state, x):
    return {"features": np.asarray(step(state, x))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(4)))["features"][:, :5])
