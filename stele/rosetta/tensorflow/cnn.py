"""A convolutional network that learns from images of 32 x 32 pixels, in TensorFlow with Keras."""
import sys
from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "graph", "xla", "keras"

def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, images, labels):
    return tf.constant(images.transpose(0, 2, 3, 1)), tf.constant(labels)


def Cnn(dropout=True):
    return keras.Sequential([
        layers.Input((32, 32, 3)),
        layers.Conv2D(50, 3, padding="same", activation="relu", name="conv1"),
        layers.Conv2D(50, 3, padding="same", name="conv2"),
        layers.MaxPool2D(2), layers.ReLU(), layers.Dropout(0.25 * dropout),
        layers.Conv2D(100, 3, padding="same", activation="relu", name="conv3"),
        layers.Conv2D(100, 3, padding="same", name="conv4"),
        layers.MaxPool2D(2), layers.ReLU(), layers.Dropout(0.25 * dropout),
        layers.Flatten(),
        layers.Dense(512, activation="relu", name="fc1"), layers.Dropout(0.5 * dropout),
        layers.Dense(10, name="fc2")])


loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def variables(model):
    """The variables under PyTorch's names."""
    return {f"{layer.name}.{kind}": v for layer in model.layers for kind, v in zip(("weight", "bias"), layer.weights)}


def from_torch(name, w):
    """A parameter as Keras lays it out: channels last, inputs before outputs."""
    if w.ndim == 4:
        return w.transpose(2, 3, 1, 0)
    if name == "fc1.weight":
        return w.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return w.T


def to_torch(name, w):
    """The way back."""
    if w.ndim == 4:
        return w.transpose(3, 2, 0, 1)
    if name == "fc1.weight":
        return w.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return w.T


def initialise(mode="graph", weights=None, dropout=True):
    keras.utils.set_random_seed(0)
    model, optimizer = Cnn(dropout), keras.optimizers.SGD(0.01, momentum=0.9)
    for name, v in variables(model).items() if weights else ():
        v.assign(from_torch(name, weights[name]))
    model.compile(optimizer, loss, jit_compile=mode == "xla")

    def update(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    optimizer.build(model.trainable_variables)
    return SimpleNamespace(mode=mode, model=model, update=tf.function(update, jit_compile=mode == "xla"))


@tf.function
def pullback(model, x, y):
    with tf.GradientTape() as tape:
        value = loss(y, model(x, training=True))
    return value, tape.gradient(value, model.trainable_variables)


def gradients(state, x, y):
    value, found = pullback(state.model, x, y)
    return float(value), {name: to_torch(name, g.numpy()) for name, g in zip(variables(state.model), found)}


def step(state, x, y):
    if state.mode == "keras":
        state.model.reset_metrics()
        return float(state.model.train_on_batch(x, y))
    return float(state.update(x, y))


def train(mode="graph", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    logits = state.model(x, training=False)
    return float(loss(y, logits)), float(tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == y, tf.float32)))


if __name__ == "__main__":
    train(*sys.argv[1:])
