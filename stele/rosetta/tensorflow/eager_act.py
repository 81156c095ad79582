"""A policy of two small layers looks at one observation, uncompiled, in TensorFlow with Keras."""
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "eager",


def data(batch=1, seed=0):
    """Observations (batch, 4) of normal numbers."""
    return np.random.default_rng(seed).standard_normal((batch, 4), np.float32),


def place(mode, x):
    return tf.constant(x),


def Policy():
    return keras.Sequential([layers.Input((4,)), layers.Dense(64, activation="relu", name="fc1"),
                             layers.Dense(2, name="fc2")])


def initialise(mode="eager", weights=None):
    keras.utils.set_random_seed(0)
    model = Policy()
    for layer in model.layers if weights else ():
        layer.kernel.assign(weights[f"{layer.name}.weight"].T)
        layer.bias.assign(weights[f"{layer.name}.bias"])
    return model


def step(model, x):
    return model(x, training=False).numpy()


def evaluate(model, x):
    return {"y": step(model, x)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"])
