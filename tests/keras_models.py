"""Small models that Keras saved, with what they answer, kept in `tests/recorded/keras.zip`.

`python -m tests.keras_models`, where Keras is installed, makes and keeps them anew, or those that it is given by name.
Inputs follow from their shapes.
"""
from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).resolve().parent / "recorded" / "keras.zip"


def mlp(k: Any) -> Any:
    return k.Sequential([k.Input((5,)), k.layers.Dense(7, "relu"), k.layers.Dropout(0.4), k.layers.Dense(4, "gelu"),
                         k.layers.Dense(3, "softmax", use_bias=False)])


def cnn(layout: str) -> Callable[[Any], Any]:
    """Convolutions and poolings in one layout."""
    def made(k: Any) -> Any:
        L, first = k.layers, layout == "channels_first"
        how, axis = {"data_format": layout}, 1 if first else -1
        return k.Sequential([
            k.Input((3, 12, 10) if first else (12, 10, 3)), L.Conv2D(4, 3, padding="same", activation="relu", **how),
            L.BatchNormalization(axis=axis), L.MaxPooling2D(2, **how),
            L.Conv2D(6, (3, 2), strides=2, padding="same", **how), L.LeakyReLU(negative_slope=0.2),
            L.AveragePooling2D(2, padding="same", strides=1, **how), L.Conv2D(4, 2, groups=2, use_bias=False, **how),
            L.Flatten(**how), L.Dense(3)])
    return made


def one_axis(k: Any) -> Any:
    L = k.layers
    return k.Sequential([
        k.Input((12, 3)), L.ZeroPadding1D((1, 2)), L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh"),
        L.SeparableConv1D(5, 3, depth_multiplier=2, padding="same"), L.MaxPooling1D(3, 2, padding="same"),
        L.DepthwiseConv1D(2, depth_multiplier=2), L.UpSampling1D(2), L.Cropping1D((1, 2)),
        L.Conv1DTranspose(3, 4, strides=2, padding="same"), L.AveragePooling1D(2), L.GlobalAveragePooling1D(),
        L.RepeatVector(3), L.GlobalMaxPooling1D(keepdims=True), L.Reshape((-1,)), L.Dense(2, "sigmoid")])


def three_axes(layout: str) -> Callable[[Any], Any]:
    """Layers over three axes in one layout."""
    def made(k: Any) -> Any:
        L, how, first = k.layers, {"data_format": layout}, layout == "channels_first"
        return k.Sequential([
            k.Input((2, 6, 5, 7) if first else (6, 5, 7, 2)), L.ZeroPadding3D((1, 0, (2, 1)), **how),
            L.Conv3D(3, (3, 2, 3), padding="same", strides=(2, 1, 1), **how), L.MaxPooling3D(2, 1, "same", **how),
            L.Cropping3D(((0, 1), 1, (1, 0)), **how), L.UpSampling3D((1, 2, 1), **how),
            L.Conv3DTranspose(2, 3, strides=2, **how), L.SpatialDropout3D(0.3, **how), L.AveragePooling3D(3, **how),
            L.GlobalMaxPooling3D(**how)])
    return made


def planes(layout: str) -> Callable[[Any], Any]:
    """More layers over two axes in one layout, of open sizes."""
    def made(k: Any) -> Any:
        L, how, first = k.layers, {"data_format": layout}, layout == "channels_first"
        x = k.Input((4, None, None) if first else (None, None, 4))
        y = L.DepthwiseConv2D(3, depth_multiplier=2, padding="same", activation="silu", **how)(x)
        y = L.SeparableConv2D(6, 3, **how)(L.ZeroPadding2D(((2, 1), (1, 2)), **how)(y))
        y = L.Conv2DTranspose(4, 3, strides=2, padding="same", **how)(y)
        y = L.Cropping2D(((1, 0), (0, 1)), **how)(y)
        z = L.UpSampling2D((2, 2), interpolation="nearest", **how)(x)
        z = L.Conv2D(4, 2, padding="valid", **how)(z)
        return k.Model(x, [L.GlobalAveragePooling2D(**how)(y), L.GlobalAveragePooling2D(keepdims=True, **how)(z)])
    return made


def transposed(k: Any) -> Any:
    L, x = k.layers, k.Input((6, 5, 2))
    return k.Model(x, [L.Conv2DTranspose(3, size, step, pad, more, dilation_rate=apart)(x)
                       for size, step, pad, more, apart in (
        (3, 1, "valid", None, 1), (3, 2, "same", None, 1), (2, 3, "valid", None, 1), (4, 2, "same", None, 1),
        (1, 2, "same", None, 1), (3, 2, "same", 1, 1), (3, 2, "valid", 1, 1), (3, 1, "same", None, 2),
        (5, 3, "same", 0, 1), ((2, 5), (2, 3), "same", None, 1), (3, 1, "valid", None, (2, 1)))])


def activations(k: Any) -> Any:
    L, x = k.layers, k.Input((3, 4))
    words = """linear relu relu6 leaky_relu elu selu celu gelu softplus softsign silu mish tanh sigmoid exponential
        hard_sigmoid hard_silu hard_tanh log_sigmoid tanh_shrink soft_shrink hard_shrink glu squareplus sparse_sigmoid
        sparse_plus softmax log_softmax sparsemax"""
    layers = [L.ReLU(), L.ReLU(max_value=0.5), L.ReLU(negative_slope=0.1, threshold=0.2, max_value=1.0),
              L.ReLU(threshold=0.3), L.LeakyReLU(negative_slope=0.4), L.PReLU(), L.PReLU(shared_axes=[1]), L.ELU(0.7),
              L.Softmax(), L.Softmax(axis=1), L.Softmax(axis=[1, 2]), L.Identity(), L.ActivityRegularization(0.1)]
    return k.Model(x, [*(L.Activation(word)(x) for word in words.split()), *(layer(x) for layer in layers)])


def normalizations(k: Any) -> Any:
    L, x = k.layers, k.Input((6, 5, 4))
    layers = [L.BatchNormalization(), L.BatchNormalization(axis=1, scale=False, epsilon=0.01),
              L.BatchNormalization(axis=2, center=False, momentum=0.7), L.LayerNormalization(),
              L.LayerNormalization(axis=[1, 3], epsilon=0.1), L.LayerNormalization(center=False, scale=False, axis=1),
              L.GroupNormalization(2), L.GroupNormalization(3, axis=1, scale=False), L.GroupNormalization(-1),
              L.UnitNormalization(), L.UnitNormalization(axis=[1, 2]), L.RMSNormalization()]
    return k.Model(x, [layer(x) for layer in layers])


def merged(k: Any) -> Any:
    """Two inputs, a shared layer, and outputs by name."""
    L, x, z = k.layers, k.Input((3, 4), name="left"), k.Input((3, 4), name="right")
    shared = L.Dense(4, name="shared")
    a, b = shared(x), shared(z)
    both = [L.Add()([a, b]), L.Subtract()([a, b]), L.Multiply()([a, b, x]), L.Average()([a, b]), L.Maximum()([a, b]),
            L.Minimum()([a, b]), L.Concatenate()([a, b]), L.Concatenate(axis=1)([a, b]), L.Dot(2)([a, b]),
            L.Dot((1, 1), normalize=True)([a, b]), L.Permute((2, 1))(a), L.Flatten()(b)]
    flat = [L.Flatten()(y) for y in both]
    dots = L.Dot(1)([flat[0], flat[1]])
    return k.Model([x, z], {"sum": L.Dense(2)(L.Concatenate()([*flat, dots])), "last": both[-1], "a_dot": dots})


def nested(k: Any) -> Any:
    """Models within a model, called twice each."""
    L = k.layers
    x, z = k.Input((4,)), k.Input((4,))
    twice = L.Dense(4, "tanh", name="twice")
    pair = k.Model([x, z], [twice(L.Add()([twice(x), z])), L.Dense(4)(z)], name="pair")
    tail = k.Sequential([k.Input((4,)), L.Dense(5, "relu"), L.BatchNormalization(), L.Dense(4)], name="tail")
    a, b = k.Input((4,)), k.Input((4,))
    one, two = pair([a, b])
    three, four = pair([one, tail(two)])
    return k.Model([a, b], [L.Dense(3)(tail(L.Add()([three, four]))), four])


def images(layout: str) -> Callable[[Any], Any]:
    """Layers that resize and rescale images in one layout."""
    def made(k: Any) -> Any:
        L, how, first = k.layers, {"data_format": layout}, layout == "channels_first"
        x = k.Input((3, 9, 12) if first else (9, 12, 3))
        layers = [L.Resizing(6, 7, **how), L.Resizing(13, 5, interpolation="nearest", **how),
                  L.Resizing(12, 14, interpolation="bicubic", **how), L.Resizing(5, 5, "bicubic", **how),
                  L.Resizing(5, 6, antialias=True, **how), L.Resizing(7, 20, interpolation="lanczos3", **how),
                  L.Resizing(4, 4, crop_to_aspect_ratio=True, **how), L.Resizing(6, 6, pad_to_aspect_ratio=True, **how),
                  L.UpSampling2D((2, 3), interpolation="bilinear", **how), L.CenterCrop(4, 7, **how),
                  L.CenterCrop(12, 7, **how)]
        return k.Model(x, [layer(x) for layer in layers])
    return made


def rescaled(k: Any) -> Any:
    L, x = k.layers, k.Input((3, 4))
    layers = [L.Rescaling(1 / 255), L.Rescaling([1.0, 2.0, 3.0, 4.0], offset=[0.5, 0.0, 0.0, 1.0]),
              L.Normalization(mean=1.0, variance=4.0), L.Normalization(mean=[1.0, 2.0, 0.0, 0.5], variance=[1.0] * 4),
              L.Normalization(), L.Normalization(axis=1, invert=True), L.Normalization(axis=None)]
    return k.Model(x, [layer(x) for layer in layers])


def categories(k: Any) -> Any:
    L, x, z, one = k.layers, k.Input((3,), dtype="int64"), k.Input((4,)), k.Input((1,), dtype="int64")
    modes, words = ("one_hot", "multi_hot", "count"), [2, 5, 4]
    made = [L.CategoryEncoding(8, output_mode=mode)(x) for mode in modes]
    made += [L.Discretization([-0.5, 0.0, 1.0], output_mode=mode)(z) for mode in ("int", *modes)]
    made += [L.IntegerLookup(vocabulary=words, output_mode=mode)(x) for mode in ("int", *modes)]
    made += [L.IntegerLookup(vocabulary=words, num_oov_indices=2, mask_token=0)(x),
             L.IntegerLookup(vocabulary=[-1, *words], output_mode="one_hot")(one),
             L.IntegerLookup(vocabulary=[*words, *range(6, 12)], invert=True)(x)]
    return k.Model([x, z, one], made)


def frozen(k: Any) -> Any:
    model = k.Sequential([k.Input((4,)), k.layers.Dense(4), k.layers.BatchNormalization(), k.layers.Dense(2)])
    model.layers[0].trainable = model.layers[1].trainable = False
    return model


def recurrent(k: Any) -> Any:
    L, x = k.layers, k.Input((None, 3))
    layers = [L.LSTM(4), L.LSTM(4, return_sequences=True, go_backwards=True, use_bias=False),
              L.LSTM(2, activation="relu", recurrent_activation="hard_sigmoid", go_backwards=True),
              L.GRU(4), L.GRU(4, reset_after=False, return_sequences=True), L.GRU(2, use_bias=False, dropout=0.3),
              L.SimpleRNN(4), L.SimpleRNN(3, activation="elu", return_sequences=True, go_backwards=True, unroll=False),
              L.Bidirectional(L.LSTM(2)), L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"),
              L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode="mul",
                              backward_layer=L.GRU(2, return_sequences=True, go_backwards=True)),
              L.TimeDistributed(L.Dense(2, "relu")), L.TimeDistributed(k.Sequential([L.Dense(3), L.Dense(2)]))]
    y, h, c = L.LSTM(4, return_state=True)(x)
    z = L.LSTM(4, return_sequences=True)(x, initial_state=[h, c])
    w = L.GRU(4)(z, initial_state=h)
    both = L.Bidirectional(L.GRU(2, return_state=True), merge_mode="ave")(x)
    apart = L.Bidirectional(L.SimpleRNN(2, return_sequences=True), merge_mode=None)(x)
    return k.Model(x, [*(layer(x) for layer in layers), y, z, w, *both, *apart])


def text(k: Any) -> Any:
    """Masks that go from an embedding through a chain of layers."""
    L = k.layers
    return k.Sequential([k.Input((6,), dtype="int32"), L.Embedding(7, 4, mask_zero=True), L.SpatialDropout1D(0.2),
                         L.Bidirectional(L.LSTM(3, return_sequences=True)), L.LayerNormalization(),
                         L.GRU(4, return_sequences=True), L.TimeDistributed(L.Dense(3)), L.GlobalAveragePooling1D()])


def masked(k: Any) -> Any:
    """Masks as parts of a functional model."""
    L, x = k.layers, k.Input((6,), dtype="int32")
    e = L.Embedding(7, 4, mask_zero=True)(x)
    y = L.LSTM(3, return_sequences=True, zero_output_for_mask=True)(e)
    z = L.GRU(3, go_backwards=True)(L.Add()([y, L.Dense(3)(e)]))
    m = L.Masking(0.0)(y)
    a = L.Attention()([e, e])
    own = L.Embedding(7, 4, mask_zero=True)(x)      # attention of many heads takes the mask of what it is given away
    h = L.MultiHeadAttention(2, 3)(own, own, use_causal_mask=True)
    rows = L.Embedding(7, 4, mask_zero=True)(x)     # with dropout, what sees nothing is zero
    h = L.Concatenate()([h, L.MultiHeadAttention(2, 3, dropout=0.1)(rows, rows)])
    return k.Model(x, [y, z, L.SimpleRNN(2)(m), a, h, L.Softmax()(L.Dense(2)(y)[..., 0]), L.Concatenate()([e, y])])


def attentive(k: Any) -> Any:
    L, q, v, g = k.layers, k.Input((5, 4)), k.Input((6, 4)), k.Input((3, 2, 4))
    y, shares = L.MultiHeadAttention(3, 2, value_dim=5, dropout=0.1)(q, v, return_attention_scores=True)
    return k.Model([q, v, g], [
        y, shares, L.MultiHeadAttention(2, 3, output_shape=7, use_bias=False)(q, v, v),
        L.MultiHeadAttention(2, 2)(q, q, use_causal_mask=True), L.MultiHeadAttention(2, 2)(g, g),
        L.Attention()([q, v]), L.Attention(use_scale=True, score_mode="concat")([q, v, v]),
        L.Attention(use_scale=True)([q, q], use_causal_mask=True), L.AdditiveAttention()([q, v]),
        L.AdditiveAttention(use_scale=False)([q, v])])


def arithmetic(k: Any) -> Any:
    """Operations on tensors beside layers."""
    L, o, x, z = k.layers, k.ops, k.Input((3, 4)), k.Input((3, 4))
    y = L.Dense(4)(x) * 2.0 + z / 3.0 - x ** 2
    y = o.where(y > 0, o.tanh(y), -o.absolute(z))
    return k.Model([x, z], [
        y, o.mean(y, axis=1), o.max(y, axis=-1, keepdims=True), y[:, 0], y[..., 1:3], o.reshape(y, (-1, 12)),
        o.transpose(y, (0, 2, 1)), o.concatenate([x, z], axis=1), o.stack([x, z], axis=1), o.expand_dims(y, 1),
        o.squeeze(o.expand_dims(y, 1), 1), o.softmax(y), o.gelu(y), o.clip(y, -0.5, 0.5),
        o.matmul(x, o.transpose(z, (0, 2, 1))), o.cast(o.sigmoid(y) > 0.5, "float32"), 1.0 - o.exp(x), o.maximum(x, z),
        o.sqrt(o.square(x) + 1.0)])


def convolved(layout: str) -> Callable[[Any], Any]:
    """Recurrences of convolutions in one layout."""
    def made(k: Any) -> Any:
        L, how, first = k.layers, {"data_format": layout}, layout == "channels_first"
        x = k.Input((4, 2, 6, 5) if first else (4, 6, 5, 2))
        y, h, c = L.ConvLSTM2D(3, 3, padding="same", return_state=True, return_sequences=True, **how)(x)
        z = L.ConvLSTM2D(3, (2, 3), padding="same", use_bias=False, **how)(x, initial_state=[h, c])
        w = L.ConvLSTM2D(2, (3, 2), (2, 1), activation="relu", go_backwards=True, return_sequences=True, **how)(x)
        line = L.ConvLSTM1D(2, 2, dilation_rate=2, **how)(L.Reshape((4, 2, 30) if first else (4, 30, 2))(x))
        cube = L.ConvLSTM3D(2, (2, 2, 1), recurrent_activation="hard_sigmoid", **how)(
            L.Reshape((4, 2, 6, 5, 1) if first else (4, 6, 5, 1, 2))(x))
        return k.Model(x, [y, h, c, z, w, line, cube])
    return made


def grouped(k: Any) -> Any:
    """Heads that share keys and values, gates, and windows."""
    L, q, v = k.layers, k.Input((5, 4)), k.Input((6, 4))
    y, shares = L.GroupQueryAttention(3, 4, 2, dropout=0.1)(q, v, return_attention_scores=True)
    return k.Model([q, v], [
        y, shares, L.GroupQueryAttention(2, 6, 3, use_bias=False)(q, v),
        L.GroupQueryAttention(2, 2, 1, use_gate=True)(q, q),
        L.GroupQueryAttention(2, 4, 2, sliding_window=2)(q, q, use_causal_mask=True),
        L.MultiHeadAttention(2, 3, use_gate=True)(q, v), L.MultiHeadAttention(2, 2, sliding_window=2)(q, q)])


def adaptive(k: Any) -> Any:
    """Pools of a size that is asked for, and images that are changed by chance while a model is trained."""
    L, x = k.layers, k.Input((7, 6, 3))
    y = L.RandomRotation(0.2)(L.RandomFlip()(x))
    y = L.RandomTranslation(0.1, 0.1)(L.RandomZoom(0.2)(L.RandomContrast(0.3)(L.RandomBrightness(0.2)(y))))
    lines = L.Reshape((42, 3))(y)
    return k.Model(x, [L.AdaptiveAveragePooling2D((3, 4))(y), L.AdaptiveMaxPooling2D(2)(y), y,
                       L.AdaptiveAveragePooling1D(5)(lines), L.AdaptiveMaxPooling1D(4)(lines)])


def stateful(k: Any) -> Any:
    L, x = k.layers, k.Input((3, 4), batch_size=2)
    return k.Model(x, [L.LSTM(3, stateful=True)(x), L.GRU(2, stateful=True, return_sequences=True)(x),
                       L.SimpleRNN(2, stateful=True, go_backwards=True)(x)])


def frozen_within(k: Any) -> Any:
    """Frozen layers before others, in a model within."""
    L, x = k.layers, k.Input((4,))
    inner = k.Sequential([k.Input((4,)), L.Dense(4), L.BatchNormalization(), L.Dense(4), L.BatchNormalization()])
    inner.layers[0].trainable = inner.layers[1].trainable = False
    apart = k.Sequential([k.Input((4,)), L.BatchNormalization(), L.Dense(4)])
    apart.trainable = False
    return k.Model(x, apart(inner(x)))


def second(k: Any) -> Any:
    """What Keras 2 wrote otherwise: calls, states, the first shape of a chain, outputs of one."""
    L, x, z = k.layers, k.Input((6, 3), name="left"), k.Input((6, 3), name="right")
    inner = k.Sequential([L.Dense(4, input_shape=(6, 3)), L.BatchNormalization(), L.Dense(3, "gelu"), L.LeakyReLU(0.2)])
    inner.layers[0].trainable = False
    a = k.Input((6, 3))
    pair = k.Model(a, [L.Conv1D(3, 3, padding="causal")(a), L.SeparableConv1D(3, 2, padding="same")(a)], name="pair")
    one, two = pair(inner(x))
    y, h, c = L.LSTM(3, return_sequences=True, return_state=True)(one)
    w = L.LSTM(3, return_sequences=True)(z, initial_state=[h, c])
    m = L.MultiHeadAttention(2, 3)(y, w)
    b = L.Bidirectional(L.GRU(2, return_sequences=True))(L.Add()([m, two, inner(z)]))
    return k.Model([x, z], L.Dense(2, "softmax")(L.Flatten()(L.Concatenate()([b, w]))))


MODELS: Mapping[str, Callable[[Any], Any]] = {
    "mlp": mlp, "cnn-last": cnn("channels_last"), "cnn-first": cnn("channels_first"), "one-axis": one_axis,
    "three-axes-last": three_axes("channels_last"), "three-axes-first": three_axes("channels_first"),
    "planes-last": planes("channels_last"), "planes-first": planes("channels_first"), "transposed": transposed,
    "activations": activations, "normalizations": normalizations, "merged": merged, "nested": nested, "frozen": frozen,
    "images-last": images("channels_last"), "images-first": images("channels_first"), "rescaled": rescaled,
    "recurrent": recurrent, "text": text, "masked": masked, "attentive": attentive, "arithmetic": arithmetic,
    "convolved-last": convolved("channels_last"), "convolved-first": convolved("channels_first"), "grouped": grouped,
    "adaptive": adaptive, "stateful": stateful, "frozen-within": frozen_within,
    "categories": categories,
}


WHOLE = "mlp", "cnn-last", "frozen-within", "nested", "recurrent", "rescaled", "attentive"
"""Those that are kept as one HDF5 file too."""
SECOND = "second"
KINDS = *MODELS, SECOND


def inputs(shapes: list[tuple[tuple[int | None, ...], str]], batch: int = 2, steps: int = 5) -> list[Array]:
    """What models of these inputs are given: normal numbers, small ones for integers."""
    rng = np.random.default_rng(batch)
    whole = [[n or m for n, m in zip(shape, (batch, *[steps] * len(shape)))] for shape, _ in shapes]
    return [rng.integers(0, 7, s).astype(d) if "int" in d else rng.normal(size=s).astype(d)
            for s, (_, d) in zip(whole, shapes)]


def ask_keras() -> Any:
    """Keras, on JAX and on the CPU."""
    os.environ |= {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return import_module("keras")


def built(kind: str) -> Any:
    """A model of Keras, all of whose variables have numbers of their own."""
    keras = ask_keras()
    keras.backend.clear_session()
    return numbered(MODELS[kind](keras))


def numbered(model: Any) -> Any:
    """A model whose variables have numbers of their own."""
    rng = np.random.default_rng(7)
    for v in model.variables:
        name = v.path if hasattr(v, "path") else v.name
        if "seed" not in name and "rnn_state" not in name:
            x = 0.4 * rng.normal(size=v.shape)
            v.assign(0.5 + x ** 2 if "variance" in name else 1 + x if "gamma" in name or "scale" in name else x)
    return model


def record_second() -> dict[str, bytes]:
    """The file of a model of Keras 2, which is the package `tf_keras` now, and its answers."""
    model, out = numbered(second(import_module("tf_keras"))), io.BytesIO()
    np.savez(out, model(inputs([(tuple(x.shape), "float32") for x in model.inputs]), training=False).numpy())
    with tempfile.TemporaryDirectory() as folder:
        model.save(path := Path(folder) / "second.h5")
        return {"second.h5": path.read_bytes(), "second.npz": out.getvalue()}


def asked(model: Any, batch: int = 2) -> list[Array]:
    """What a model of Keras answers."""
    given = inputs([(tuple(x.shape), str(x.dtype)) for x in model.inputs], batch)
    def call(x: Any) -> Any:
        return model(x, training=False)

    if not any("Lookup" in type(layer).__name__ for layer in model.layers):     # these are TensorFlow's, and not traced
        call = import_module("jax").jit(call)
    made = call(given[0] if len(given) == 1 else given)
    leaves = [made[key] for key in sorted(made)] if isinstance(made, dict) else made
    leaves = leaves if isinstance(leaves, list | tuple) else [leaves]
    return [np.asarray(x) for x in leaves]


def record(kind: str) -> dict[str, bytes]:
    """The files of a model and its answers."""
    model, out = built(kind), io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        model.save(path := Path(folder) / f"{kind}.keras")
        np.savez(out, *asked(import_module("keras").models.load_model(path)))
        made = {f"{kind}.keras": path.read_bytes(), f"{kind}.npz": out.getvalue()}
        if kind in WHOLE:
            model.save(path := path.with_suffix(".h5"))
            made[path.name] = path.read_bytes()
        return made


def main(kinds: list[str]) -> None:
    """Makes these models, or all, and keeps them with their answers; of the others what was kept stays."""
    kept: dict[str, bytes] = {}
    if KEPT.exists():
        with zipfile.ZipFile(KEPT) as archive:
            kept = {name: archive.read(name) for name in archive.namelist() if name.rpartition(".")[0] in KINDS}
    for kind in kinds or KINDS:
        kept |= record_second() if kind == SECOND else record(kind)
    with zipfile.ZipFile(KEPT, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(kept):
            archive.writestr(zipfile.ZipInfo(name), kept[name], zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(sys.argv[1:])
