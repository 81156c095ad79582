"""A block of GPT-2 with the gradients of its input and its parameters, in TensorFlow with Keras."""
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODES = "graph", "xla"
WIDTH, HEADS = 768, 12

def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


class Block(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = (layers.LayerNormalization(epsilon=1e-5, name=f"norm{k}") for k in (1, 2))
        self.qkv, self.out = layers.Dense(3 * WIDTH, name="qkv"), layers.Dense(WIDTH, name="out")
        self.up, self.down = layers.Dense(4 * WIDTH, name="up"), layers.Dense(WIDTH, name="down")

    def call(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(tf.nn.gelu(self.up(self.norm2(x)), approximate=True))

    def attention(self, x):
        batch, words, _ = x.shape
        q, k, v = tf.unstack(tf.transpose(tf.reshape(self.qkv(x), (batch, words, 3, HEADS, -1)), (2, 0, 3, 1, 4)))
        scores = tf.matmul(q, k, transpose_b=True) / (WIDTH // HEADS) ** 0.5
        causal = tf.linalg.band_part(tf.ones((words, words)), -1, 0) > 0
        y = tf.matmul(tf.nn.softmax(tf.where(causal, scores, -np.inf)), v)
        return self.out(tf.reshape(tf.transpose(y, (0, 2, 1, 3)), (batch, words, WIDTH)))


def variables(model):
    """The variables under PyTorch's names."""
    return {f"{layer.name}.{kind}": v for layer in model.layers for kind, v in zip(("weight", "bias"), layer.weights)}


def initialise(mode="graph", weights=None):
    keras.utils.set_random_seed(0)
    model = Block()
    model(tf.zeros((1, 1, WIDTH)))
    for name, v in variables(model).items() if weights else ():
        v.assign(weights[name].T)

    @tf.function(jit_compile=mode == "xla")
    def pullback(x, g):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = model(x)
        return y, tape.gradient(y, [x, *variables(model).values()], g)

    return model, pullback


def step(state, x, g):
    _, pullback = state
    return pullback(x, g)


def evaluate(state, x, g):
    model, _ = state
    y, found = step(state, x, g)
    return {"y": y.numpy()} | {f"gradient of {name}": d.numpy() if name == "x" else d.numpy().T
                               for name, d in zip(("x", *variables(model)), found)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
