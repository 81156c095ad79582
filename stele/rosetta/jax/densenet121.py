"""DenseNet-121 on chest X-rays, fourteen findings each: its loss and all gradients, in JAX with Flax."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

MODES = "jit",
FINDINGS, GROWTH, DEPTHS = 14, 32, (6, 12, 24, 16)


def data(batch=8, edge=224, seed=0):
    """X-rays (batch, 3, edge, edge) in 0..1, smooth between points 16 pixels apart, and which findings each shows."""
    rng = np.random.default_rng(seed)
    points, at = rng.random((batch, 3, edge // 16 + 1, edge // 16 + 1), np.float32), np.arange(edge) // 16
    near = (np.arange(edge, dtype=np.float32) % 16 + 0.5) / 16
    rows = points[:, :, at] * (1 - near)[:, None] + points[:, :, at + 1] * near[:, None]
    images = rows[..., at] * (1 - near) + rows[..., at + 1] * near
    return images, (rng.random((batch, FINDINGS)) < 0.2).astype(np.float32)


def place(mode, images, findings):
    return jnp.asarray(images.transpose(0, 2, 3, 1)), jnp.asarray(findings)


class DenseNet121(nn.Module):
    def norm(self, x, name):
        return nn.relu(nn.BatchNorm(use_running_average=False, epsilon=1e-5, name=name)(x))

    def conv(self, x, outputs, window, name, stride=1):
        pad = ((window // 2,) * 2,) * 2
        return nn.Conv(outputs, (window,) * 2, stride, pad, use_bias=False, name=name)(x)

    @nn.compact
    def __call__(self, x):
        x, number = self.norm(self.conv(x, 64, 7, "conv0", 2), "norm0"), 0
        x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for block, depth in enumerate(DEPTHS):
            for _ in range(depth):
                y = self.conv(self.norm(x, f"blocks.{number}.norm1"), 4 * GROWTH, 1, f"blocks.{number}.conv1")
                y = self.conv(self.norm(y, f"blocks.{number}.norm2"), GROWTH, 3, f"blocks.{number}.conv2")
                x, number = jnp.concatenate([x, y], -1), number + 1
            if block < len(DEPTHS) - 1:
                y = self.conv(self.norm(x, f"blocks.{number}.norm"), x.shape[-1] // 2, 1, f"blocks.{number}.conv")
                x, number = nn.avg_pool(y, (2, 2), (2, 2)), number + 1
        return nn.Dense(FINDINGS, name="classifier")(self.norm(x, "norm5").mean((1, 2)))


def initialise(mode="jit", weights=None):
    model = DenseNet121()
    variables = model.init(jax.random.key(0), jnp.zeros((1, 32, 32, 3)))
    params, statistics = variables["params"], variables["batch_stats"]
    for name, w in (weights or {}).items():
        layer, _, kind = name.rpartition(".")
        if kind in ("weight", "bias"):
            kind = kind if kind == "bias" else "scale" if "norm" in layer else "kernel"
            params[layer][kind] = jnp.asarray(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T)

    def score(params, x, y):
        z, _ = model.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return optax.sigmoid_binary_cross_entropy(z, y).mean()

    return jax.jit(jax.value_and_grad(score)), params


def step(state, x, y):
    pullback, params = state
    return jax.block_until_ready(pullback(params, x, y))


def evaluate(state, x, y):
    loss, gradients = step(state, x, y)
    names = {"kernel": "weight", "scale": "weight", "bias": "bias"}
    # Of norm0.weight it is nothing but rounding: each layer behind normalises what it scales.
    return {"loss": np.asarray(loss)} | {
        f"gradient of {layer}.{names[kind]}": np.asarray(d.transpose(3, 2, 0, 1) if d.ndim == 4 else d.T)
        for layer, kinds in gradients.items() for kind, d in kinds.items() if (layer, kind) != ("norm0", "scale")}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
