"""A recurrent network that learns from texts of 150 words, in TensorFlow with Keras."""
import sys
from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "graph", "xla", "keras"

def data(batch=64, seed=0):
    """Word numbers (batch, 150) below 30000, and labels: texts of label 1 end in frequent words."""
    rng = np.random.default_rng(seed)
    texts, labels = rng.integers(0, 30_000, (batch, 150)), rng.integers(0, 2, batch)
    texts[labels == 1, -10:] %= 100
    return texts, labels


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def Gru():
    return keras.Sequential([layers.Input((150,), dtype="int64"), layers.Embedding(30_000, 125, name="embedding"),
                             layers.GRU(100, name="gru"), layers.Dense(2, name="fc")])


loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def from_torch(weights):
    """PyTorch's parameters as Keras lists them: gates in the order z, r, n, inputs before outputs."""
    swapped = {name: w.reshape(3, 100, -1)[[1, 0, 2]].reshape(w.shape) for name, w in weights.items() if "gru" in name}
    biases = np.stack([swapped["gru.bias_ih_l0"], swapped["gru.bias_hh_l0"]])
    return [weights["embedding.weight"], swapped["gru.weight_ih_l0"].T, swapped["gru.weight_hh_l0"].T, biases,
            weights["fc.weight"].T, weights["fc.bias"]]


def to_torch(embedding, weight_ih, weight_hh, biases, weight, bias):
    """The way back."""
    gru = {"weight_ih": weight_ih.T, "weight_hh": weight_hh.T, "bias_ih": biases[0], "bias_hh": biases[1]}
    swapped = {f"gru.{name}_l0": w.reshape(3, 100, -1)[[1, 0, 2]].reshape(w.shape) for name, w in gru.items()}
    return {"embedding.weight": embedding, **swapped, "fc.weight": weight.T, "fc.bias": bias}


def initialise(mode="graph", weights=None):
    keras.utils.set_random_seed(0)
    model, optimizer = Gru(), keras.optimizers.Adam(1e-3, epsilon=1e-9)
    if weights:
        model.set_weights(from_torch(weights))
    model.compile(optimizer, loss, jit_compile=mode == "xla")

    def update(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        found = map(tf.convert_to_tensor, tape.gradient(value, model.trainable_variables))  # sums repeated words
        optimizer.apply(list(found), model.trainable_variables)
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
    return float(value), to_torch(*(tf.convert_to_tensor(g).numpy() for g in found))


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
