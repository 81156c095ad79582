"""DenseNet-121 on chest X-rays, fourteen findings each: its loss and all gradients, in TensorFlow with Keras."""
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "graph", "xla"
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
    return tf.constant(images.transpose(0, 2, 3, 1)), tf.constant(findings)


def norm(x, name):
    return layers.ReLU()(layers.BatchNormalization(epsilon=1e-5, name=name)(x))


def conv(x, outputs, window, name, stride=1):
    """A convolution, padded as PyTorch pads."""
    if window > 1:
        x = layers.ZeroPadding2D(window // 2)(x)
    return layers.Conv2D(outputs, window, stride, use_bias=False, name=name)(x)


def DenseNet121():
    inputs = layers.Input((None, None, 3))
    x, number = norm(conv(inputs, 64, 7, "conv0", 2), "norm0"), 0
    x = layers.MaxPool2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for block, depth in enumerate(DEPTHS):
        for _ in range(depth):
            y = conv(norm(x, f"blocks.{number}.norm1"), 4 * GROWTH, 1, f"blocks.{number}.conv1")
            y = conv(norm(y, f"blocks.{number}.norm2"), GROWTH, 3, f"blocks.{number}.conv2")
            x, number = layers.Concatenate()([x, y]), number + 1
        if block < len(DEPTHS) - 1:
            y = conv(norm(x, f"blocks.{number}.norm"), x.shape[-1] // 2, 1, f"blocks.{number}.conv")
            x, number = layers.AveragePooling2D(2)(y), number + 1
    x = layers.GlobalAveragePooling2D()(norm(x, "norm5"))
    return keras.Model(inputs, layers.Dense(FINDINGS, name="classifier")(x))


def variables(model):
    """The variables that learn under PyTorch's names."""
    return {f"{layer.name}.{kind}": v for layer in model.layers
            for kind, v in zip(("weight", "bias"), layer.trainable_weights)}


def initialise(mode="graph", weights=None):
    keras.utils.set_random_seed(0)
    model = DenseNet121()
    for name, v in variables(model).items() if weights else ():
        w = weights[name]
        v.assign(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T)

    @tf.function(jit_compile=mode == "xla")
    def pullback(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, model(x, training=True)))
        return loss, tape.gradient(loss, [*variables(model).values()])

    return model, pullback


def step(state, x, y):
    _, pullback = state
    return pullback(x, y)


def evaluate(state, x, y):
    model, _ = state
    loss, found = step(state, x, y)
    # Of norm0.weight it is nothing but rounding: each layer behind normalises what it scales.
    return {"loss": loss.numpy()} | {
        f"gradient of {name}": (tf.transpose(d, (3, 2, 0, 1)) if d.ndim == 4 else tf.transpose(d)).numpy()
        for name, d in zip(variables(model), found) if name != "norm0.weight"}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
