"""Nets of Caffe: every layer beside OpenCV's answers and formulas in NumPy, and what is refused."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import optim
from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.errors import ArgumentError, DataError, DTypeError, ShapeError
from stele.interop import caffe
from stele.interop.caffe.layers import RULES, WEIGHTS
from stele.interop.caffe.net import net, read
from stele.interop.caffe.text import parsed
from tests.caffe_nets import CONV, HEAD, KEPT, NETS, OLD_NET, blob, caffemodel, field, given, one, varint, write

Array = np.ndarray[Any, Any]
X = given()


def made(folder: Path, layers: str, weights: dict[str, Sequence[Array]] | None = None, head: str = HEAD) -> Any:
    """A net of some layers."""
    (folder / "n.prototxt").write_text(head + layers)
    (folder / "n.caffemodel").write_bytes(caffemodel(weights or {"none": [np.ones(1, "f4")]}))
    return caffe.load(folder / "n.prototxt", folder / "n.caffemodel")


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_layers_give_what_opencv_gave(tmp_path: Path, name: str, old: bool) -> None:
    y = caffe.load(*write(tmp_path, name, old))(X)
    with np.load(KEPT) as kept:
        np.testing.assert_allclose(y.numpy(), kept[name], rtol=1e-5, atol=1e-5)


def mvn(x: Array, axes: tuple[int, ...]) -> Array:
    y = x - x.mean(axes, keepdims=True)
    return y / (np.sqrt((y ** 2).mean(axes, keepdims=True)) + 1e-9)


def squares(x: Array, n: int) -> Array:
    padded = np.pad(x ** 2, ((0, 0), (n // 2, n // 2), (0, 0), (0, 0)))
    return sum(padded[:, k:k + x.shape[1]] for k in range(n))


TOP = np.argsort(-X.reshape(2, -1), 1, kind="stable")[:, :2]
FORMULAS: list[tuple[str, Array]] = [
    (one("MVN"), mvn(X, (2, 3))), (one("MVN", "mvn_param { across_channels: true }"), mvn(X, (1, 2, 3))),
    (one("MVN", "mvn_param { normalize_variance: false }"), X - X.mean((2, 3), keepdims=True)),
    (one("Exp"), np.exp(X)), (one("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }"), 2 ** (0.5 * X + 1)),
    (one("AbsVal", tops=["a"]) + one("Log", "log_param { base: 10 shift: 1 }", ["a"]), np.log10(abs(X) + 1)),
    (one("Reduction"), X.sum()), (one("Reduction", "reduction_param { operation: MEAN axis: 1 }"), X.mean((1, 2, 3))),
    (one("Reduction", "reduction_param { operation: 2 axis: -1 coeff: 3 }"), 3 * abs(X).sum(-1)),
    (one("Reduction", "reduction_param { operation: SUMSQ axis: 2 }"), (X ** 2).sum((2, 3))),
    (one("ArgMax"), TOP[:, None, :1, None]), (one("ArgMax", "argmax_param { axis: 1 }"), X.argmax(1)[:, None]),
    (one("ArgMax", "argmax_param { axis: 1 out_max_val: true }"), X.max(1, keepdims=True)),
    (one("ArgMax", "argmax_param { top_k: 2 out_max_val: true }"),
     np.stack([TOP, np.take_along_axis(X.reshape(2, -1), TOP, 1)], 1)[..., None]),
    (one("Flatten", tops=["a"]) + one("ArgMax", "argmax_param { top_k: 2 }", ["a"]), TOP[:, None]),
    (one("Clip", "clip_param { min: -0.5 max: 0.3 }"), X.clip(-0.5, 0.3)), (one("Swish"), X / (1 + np.exp(-X))),
    (one("Swish", "swish_param { beta: 2 }"), X / (1 + np.exp(-2 * X))),
    (one("Threshold", "threshold_param { threshold: 0.2 }"), X > 0.2),
    (one("Tile", "tile_param { axis: 2 tiles: 3 }"), np.tile(X, (1, 1, 3, 1))),
    (one("LRN", "lrn_param { local_size: 3 alpha: 0.4 beta: 0.6 k: 1.5 }"), X / (1.5 + 0.4 / 3 * squares(X, 3)) ** 0.6),
    (one("Pooling", "pooling_param { kernel_size: 3 stride: 3 pad: 1 }", tops=["a"]) +
     one("Crop", "crop_param { axis: 2 offset: 2 offset: 1 }", ["data", "a"]), X[:, :, 2:6, 1:4]),
    (one("Reshape", "reshape_param { axis: 1 num_axes: 2 shape { dim: -1 } }"), X.reshape(2, 36, 7)),
    (one("Flatten", "flatten_param { axis: 2 }"), X.reshape(2, 4, 63)),
    (one("Pooling", "pooling_param { kernel_size: 2 stride: 2 round_mode: FLOOR }"),
     X[:, :, :8, :6].reshape(2, 4, 4, 2, 3, 2).max((3, 5))),
    (one("BatchNorm", "batch_norm_param { use_global_stats: false eps: 0.1 }"),
     (X - X.mean((0, 2, 3), keepdims=True)) / np.sqrt(X.var((0, 2, 3), keepdims=True) + 0.1)),
    (one("Slice", tops=["a", "b"]) + one("Scale", "scale_param { axis: 0 }", ["a", "b"]), X[:, :2] * X[:, 2:]),
    (one("Slice", tops=["a", "b"]) + one("Bias", "bias_param { axis: 0 }", ["a", "b"]), X[:, :2] + X[:, 2:]),
    (one("Power", "power_param { scale: 2 shift: 1 }"), 2 * X + 1),
]


@pytest.mark.parametrize("k", range(len(FORMULAS)))
def test_layers_give_what_their_formulas_say(tmp_path: Path, k: int) -> None:
    layers, want = FORMULAS[k]
    weights = {"batchnorm": [np.ones(4, "f4"), np.ones(4, "f4"), np.ones(1, "f4")]} if "BatchNorm" in layers else None
    y = made(tmp_path, layers, weights)(X)
    np.testing.assert_allclose(y.numpy(), want, rtol=2e-5, atol=2e-5)


def test_tables_and_biases(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table, bias, row = (rng.normal(size=s).astype("f4") for s in ((5, 3), (3,), (4,)))
    head = 'input: "data" input_dim: 2 input_dim: 4 input_dim: 1 input_dim: 1\n'
    ids = np.array([[0, 4, 2, 1], [1, 1, 3, 0]], "f4").reshape(2, 4, 1, 1)
    found = made(tmp_path, one("Embed", "embed_param { num_output: 3 input_dim: 5 }"), {"embed": [table, bias]}, head)
    np.testing.assert_allclose(found(ids).numpy(), table[ids.astype(int)] + bias, rtol=1e-6)
    assert found.net.inputs[0].shape == (2, 4, 1, 1)
    found = made(tmp_path, one("Bias"), {"bias": [row]})
    np.testing.assert_allclose(found(X).numpy(), X + row[:, None, None], rtol=1e-6)
    dense = one("InnerProduct", "inner_product_param { num_output: 3 transpose: true axis: 3 bias_term: false }")
    weight = rng.normal(size=(7, 3)).astype("f4")
    np.testing.assert_allclose(made(tmp_path, dense, {"innerproduct": [weight]})(X).numpy(), X @ weight, rtol=1e-4,
                               atol=1e-5)


def test_every_rule_is_tried() -> None:
    texts = *(text for text, _ in NETS.values()), *(text for text, _ in FORMULAS), one("Embed"), one("Silence", tops=[])
    tried = {n.type for text in texts for n in net(parsed(HEAD + text, "n")).layers}
    assert tried == set(RULES) and set(WEIGHTS) <= set(RULES)


def test_old_nets_are_read(tmp_path: Path) -> None:
    (tmp_path / "n.prototxt").write_text(OLD_NET)
    (tmp_path / "n.caffemodel").write_bytes(caffemodel({"convolution": CONV}, old=True))
    found = caffe.load(tmp_path / "n.prototxt", tmp_path / "n.caffemodel")
    with np.load(KEPT) as kept:
        np.testing.assert_allclose(found(X).numpy(), np.maximum(kept["conv"], 0), atol=1e-5)
    assert [n.type for n in found.net.layers] == ["Convolution", "ReLU", "Dropout"]
    assert [name for name, _ in found.named_parameters()] == ["convolution.weight", "convolution.bias"]


def test_nets_are_trained_compiled_and_converted(tmp_path: Path) -> None:
    found = caffe.load(*write(tmp_path, "net"))
    f = st.compile(found, dims=found.dims)
    np.testing.assert_allclose(f(X).numpy(), found(X).numpy(), rtol=1e-4, atol=1e-6)
    assert f(X[:1]).shape == (1, 5) and f.graphs and len(f.graphs) == 1
    optimizer = optim.SGD(found.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = -st.log(found(st.tensor(X))[:, 2]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    for out in ("out.stele", "out.onnx"):
        if out.endswith("onnx"):
            pytest.importorskip("onnx", reason="pip install 'stele-dl[onnx]'")
        assert run(["convert", str(tmp_path / "net.prototxt"), str(tmp_path / out)], COMMANDS) == 0
    assert run(["view", str(tmp_path / "net.prototxt"), "--out", str(tmp_path / "v.html")], COMMANDS) == 0
    assert "convolution.weight" in (tmp_path / "v.html").read_text()


def test_layers_share_blobs_that_have_one_name(tmp_path: Path) -> None:
    dense = "inner_product_param { num_output: 7 axis: 3 bias_term: false } param { name: 'w' }"
    found = made(tmp_path, one("InnerProduct", dense, tops=["a"]) + one("InnerProduct", dense, ["a"]).replace(
        'name: "innerproduct"', 'name: "second"', 1), {"innerproduct": [np.eye(7, dtype="f4") * 3]})
    assert [name for name, _ in found.named_parameters()] == ["innerproduct.weight"]
    np.testing.assert_allclose(found(X).numpy(), 9 * X, rtol=1e-5)


def test_inputs_go_in_by_name_and_are_checked(tmp_path: Path) -> None:
    found = made(tmp_path, one("Eltwise", bottoms=["data", "other"]), head=HEAD + 'input: "other"\n')
    np.testing.assert_allclose(found(data=X, other=X).numpy(), 2 * X)
    with pytest.raises(ArgumentError, match="takes 2 inputs"):
        found(X)
    with pytest.raises(ArgumentError, match=r"no input 'othr'.*Did you mean 'other'"):
        found(X, othr=X)
    with pytest.raises(ShapeError, match=r"takes data of shape"):
        found(data=X[0], other=X)


TEXTS = [
    ("", "has no layer"), ("layer {", "a field needs a name, got 'the end'"), ("layer }", "needs a colon and a value"),
    ("layer { name: }", "name needs a value, got '}'"), ("\x00", "stands where a field should"),
    ("layer: 3", "layer needs braces, got 3"), ("layer { name: 3 type: 'ReLU' }", "name needs a str, got 3"),
    ("layer { name: 'a' }", "a layer needs a type"), ("layers { layer { } type: RELU }", "a net of version 0"),
    ("a {" * 70, "more than 64 deep"), ("a: [1, 2", "a needs a value"), ('a: "b', "stands where a field should"),
    (HEAD + one("ReLU", bottoms=["z"]), "takes 'z', which no layer before it gives"),
    (HEAD + one("ReLU", bottoms=["b"], tops=["a"]) + one("TanH", bottoms=["a"], tops=["b"]),
     r"takes 'b', which no layer before it gives; TanH 'tanh' \(line 4\) gives it, behind"),
    (HEAD + one("ReLU", bottoms=["data"], tops=["relu"]) + one("TanH", bottoms=["data"], tops=["relu"]),
     r"layer TanH 'tanh' \(line 4\) gives 'relu', which is given before it"),
    ('input: "x" input: "x" ' + one("ReLU", bottoms=["x"]), "the net has two inputs called 'x'"),
    ('input: "x" input_shape { dim: -3 } ' + one("ReLU", bottoms=["x"]), "a shape needs sizes from 1"),
]


@pytest.mark.parametrize("text, message", TEXTS)
def test_damaged_texts_are_told_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "n.prototxt").write_text(text)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "n.prototxt")


BINARIES = [
    (b"", "is empty"), (b"\xff" * 20, "no protocol buffer"), (b"\x0b", "is of kind 3"),
    (field(1, b"n"), "no layer of Caffe"),
    (caffemodel({"convolution": CONV})[:-9], "is cut off"),
    (varint(100 << 3 | 2) + varint(3 << 30) + b"x", "has 3,221,225,472 bytes, 1 are there"),
    (field(100, field(1, b"c") + field(7, field(7, field(1, varint(3 << 30))) + field(5, b"\0" * 8))),
     r"a blob of shape \[3221225472\] needs 3,221,225,472 numbers, 2 are there"),
    (field(100, field(1, b"c") + field(7, field(5, b"\0" * 7))), "7 bytes are no row of float32"),
    (field(100, field(1, b"other") + field(7, blob(np.ones(3, "f4")))),
     r"weights of 1 layers: Convolution 'convolution' \(line 3\)"),
]


@pytest.mark.parametrize("content, message", BINARIES)
def test_damaged_weights_are_told(tmp_path: Path, content: bytes, message: str) -> None:
    text, binary = write(tmp_path, "conv")
    binary.write_bytes(content)
    with pytest.raises(DataError, match=message):
        caffe.load(text, binary)


def test_all_layers_without_a_rule_are_named_at_once(tmp_path: Path) -> None:
    layers = one("ReLU", tops=["a"]) + one("PriorBox", bottoms=["a"]) + one("Python", bottoms=["y"], tops=["z"])
    with pytest.raises(DataError, match=r"2 layers that have no rule: PriorBox 'priorbox' \(line 4\); Python 'python'"):
        made(tmp_path, layers)


@pytest.mark.parametrize(("layers", "weights", "message"), [
    (one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 bias_term: false }"), CONV,
     r"Convolution 'convolution' \(line 3\) needs 1: weight; got 2"),
    (one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 }"), CONV[:1],
     "needs 2: weight, bias; got 1"),
    (one("Scale"), [CONV[1][:4]] * 2, "needs 1: weight; got 2"), (one("BatchNorm"), CONV, "needs 3: mean"),
    (one("PReLU"), [], "needs 1: weight; got 0")])
def test_weights_of_another_net_are_told(tmp_path: Path, layers: str, weights: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        made(tmp_path, layers, {layers.split('"')[1]: weights})


def test_weights_whose_axes_are_in_another_order_are_told(tmp_path: Path) -> None:
    found = made(tmp_path, one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 }"),
                 {"convolution": [CONV[0].swapaxes(0, 1), CONV[1]]})
    with pytest.raises(DataError, match=r"weight 0 of shape \(6, 4, 3, 3\), got \(4, 6, 3, 3\)"):
        found(X)


def test_a_wrong_dtype_is_told_as_such(tmp_path: Path) -> None:
    layers = one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 }")
    found = made(tmp_path, layers, {"convolution": CONV})
    with pytest.raises(DTypeError, match=r"int32 and float32.*astype\('float32'\)"):
        found(X.astype("i4"))


REFUSED = [
    (one("Clip", "clip_param { min: 0 }"), "needs min and max"), (one("ReLU", bottoms=[]), "cannot take 0 bottoms"),
    (one("Convolution", "convolution_param { num_output: 6 }"), "kernel_size needs a number from 1"),
    (one("Convolution", "convolution_param { num_output: 5 group: 2 kernel_size: 3 }"), "make no 2 groups"),
    (one("Convolution", "convolution_param { num_output: 8 kernel_size: 3 }"), r"weight 0 of shape \(8, 4, 3, 3\)"),
    (one("Convolution", "convolution_param { num_output: 6.5 kernel_size: 3 }"), "num_output needs a int, got 6.5"),
    (one("Pooling", "pooling_param { kernel_size: 3 pad: 3 }"), "a padding of 3 is as large as the window"),
    (one("Pooling", "pooling_param { kernel_size: 1 stride: 4 }"), "begins outside of"),
    (one("Pooling", "pooling_param { pool: MEAN kernel_size: 1 }"), "pool needs to be MAX or AVE or STOCHASTIC"),
    (one("Concat", "concat_param { axis: 7 }", ["data", "data"]), "axis 7 is none of 4"),
    (one("Slice", "slice_param { slice_point: 9 }", tops=["a", "b"]), "slice_point needs 1 places below 4"),
    (one("Reshape", "reshape_param { shape { dim: -2 } }"), "cannot become"),
    (one("Permute", "permute_param { order: 1 order: 1 }"), "order needs different axes"),
    (one("ReLU", bottoms=["data", "data"]), "cannot take 2 bottoms"), (one("ReLU", tops=["a", "b"]), "gives 1 blobs"),
    (one("LRN", "lrn_param { local_size: 4 }"), "local_size is odd, got 4"),
]


@pytest.mark.parametrize("layers, message", REFUSED)
def test_options_that_cannot_be_are_told(tmp_path: Path, layers: str, message: str) -> None:
    found = made(tmp_path, layers, {"convolution": CONV})
    with pytest.raises((DataError, ShapeError), match=message):
        found(X)
