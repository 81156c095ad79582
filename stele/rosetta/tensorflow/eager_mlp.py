"""A network that learns from images of 28 x 28 pixels without being compiled, in TensorFlow with Keras."""
import sys
from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "eager",

def data(batch=64, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def Mlp():
    return keras.Sequential([layers.Input((784,)), layers.Dense(256, activation="relu", name="fc1"),
                             layers.Dense(10, name="fc2")])


loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def variables(model):
    """The variables under PyTorch's names."""
    return {f"{layer.name}.{kind}": v for layer in model.layers for kind, v in zip(("weight", "bias"), layer.weights)}


def initialise(mode="eager", weights=None):
    keras.utils.set_random_seed(0)
    model, optimizer = Mlp(), keras.optimizers.SGD(0.1)
    for name, v in variables(model).items() if weights else ():
        v.assign(weights[name].T)
    model.compile(optimizer, loss, run_eagerly=True)

    def update(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    optimizer.build(model.trainable_variables)
    return SimpleNamespace(model=model, update=update)


def pullback(model, x, y):
    with tf.GradientTape() as tape:
        value = loss(y, model(x, training=True))
    return value, tape.gradient(value, model.trainable_variables)


def gradients(state, x, y):
    value, found = pullback(state.model, x, y)
    return float(value), {name: g.numpy().T for name, g in zip(variables(state.model), found)}


def step(state, x, y):
    return float(state.update(x, y))


def train(mode="eager", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    logits = state.model(x, training=False)
    return float(loss(y, logits)), float(tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == y, tf.float32)))


if __name__ == "__main__":
    train(*sys.argv[1:])
