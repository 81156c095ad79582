"""The features that ResNet-50 (v1.5) sees in photographs, in TensorFlow with Keras."""
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "graph", "xla"

def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, photos):
    return tf.constant(photos.transpose(0, 2, 3, 1)),


def normed(x, outputs, window, stride, name, norm):
    """A convolution, padded as PyTorch pads, and its batch norm."""
    if window > 1:
        x = layers.ZeroPadding2D(window // 2)(x)
    x = layers.Conv2D(outputs, window, stride, use_bias=False, name=name)(x)
    return layers.BatchNormalization(epsilon=1e-5, name=norm)(x)


def bottleneck(x, width, stride, name):
    y = layers.ReLU()(normed(x, width, 1, 1, f"{name}.conv1", f"{name}.bn1"))
    y = layers.ReLU()(normed(y, width, 3, stride, f"{name}.conv2", f"{name}.bn2"))
    y = normed(y, 4 * width, 1, 1, f"{name}.conv3", f"{name}.bn3")
    if x.shape[-1] != 4 * width:
        x = normed(x, 4 * width, 1, stride, f"{name}.downsample.0", f"{name}.downsample.1")
    return layers.ReLU()(y + x)


def ResNet50():
    x = inputs = layers.Input((224, 224, 3))
    x = layers.ReLU()(normed(x, 64, 7, 2, "conv1", "bn1"))
    x = layers.MaxPool2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for stage, (width, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
        for k in range(depth):
            x = bottleneck(x, width, 1 if k or stage == 1 else 2, f"layer{stage}.{k}")
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def initialise(mode="graph", weights=None):
    keras.utils.set_random_seed(0)
    model = ResNet50()
    kinds = {"conv": ["weight"], "bn": ["weight", "bias", "running_mean", "running_var"]}
    for layer in model.layers if weights else ():
        for kind, v in zip(kinds["bn" if isinstance(layer, layers.BatchNormalization) else "conv"], layer.weights):
            w = weights[f"{layer.name}.{kind}"]
            v.assign(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w)
    return tf.function(lambda x: model(x, training=False), jit_compile=mode == "xla")


def step(f, x):
    return f(x)


def evaluate(f, x):
    return {"features": step(f, x).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(4)))["features"][:, :5])
