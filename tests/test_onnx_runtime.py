"""Ops that ONNX Runtime's tools write into models, beside ONNX Runtime, as it answered where it is not installed."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import peer
import pytest

import stele as st
from stele.errors import DataError

onnx = pytest.importorskip("onnx", reason="needs the onnx wheel: pip install 'stele-dl[onnx]'")

from onnx import TensorProto as T  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

from stele.interop import onnx as so  # noqa: E402

RNG = np.random.default_rng(0)
KEPT = peer.KEPT / "onnxruntime.npz"
F4 = np.float32


def f(*shape: int) -> Any:
    """Random floats."""
    return RNG.standard_normal(shape).astype("f4")


def half(*shape: int) -> Any:
    """Random numbers of 16 bits."""
    return f(*shape).astype("f2")


def p(*shape: int) -> Any:
    """Random scales."""
    return (RNG.random(shape) / 50 + 0.01).astype("f4")


def u(*shape: int) -> Any:
    """Random bytes."""
    return RNG.integers(0, 256, shape).astype("u1")


def i(*shape: int) -> Any:
    """Random bytes with a sign."""
    return RNG.integers(-128, 128, shape).astype("i1")


def q(scale: float, zero: int, dtype: str = "u1") -> tuple[Any, Any]:
    """A scale and a zero point."""
    return F4(scale), np.array(zero, dtype)


WORDS, ONES = RNG.integers(0, 9, (2, 5)).astype("i4"), np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], "i4")
BYTES, IMAGE, X, K = (u(2, 3), *q(0.02, 120)), (u(2, 3, 6, 6), *q(0.02, 120)), f(2, 5, 8), f(2, 6, 8)
BOTH = (u(2, 3, 4), *q(0.02, 120), u(3, 1), *q(0.05, 3), *q(0.06, 90))
CELL: dict[str, Any] = {"hidden_size": 3, "outputs": 3}
W, B, TWO = f(8, 24), f(24), {"num_heads": 2}
COS, SIN, COS8, SIN8 = np.cos(f(10, 2)), np.sin(f(10, 2)), np.cos(f(20, 8)), np.sin(f(20, 8))
GROUPS: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3}
BITS: dict[str, Any] = {"K": 50, "N": 3, "block_size": 16}


def cell(n: int, **more: Any) -> tuple[Any, ...]:
    """Operands of a quantised LSTM in n directions."""
    scale, zero = np.full(n, 0.01, "f4"), np.zeros(n, "i1")
    given = [more.get(name) for name in ("lengths", "h", "c", "p")]
    return (f(5, 2, 4), i(n, 4, 12), i(n, 3, 12), f(n, 24), *given, scale, zero, scale, zero)


CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "QLinearAdd": [(BOTH, {})], "QLinearSigmoid": [((*BYTES, *q(1 / 256, 0)), {})],
    "QLinearMul": [(BOTH, {}), ((i(2, 3), *q(0.02, -3, "i1"), i(2, 3), *q(0.05, 3, "i1"), *q(0.06, 9, "i1")), {})],
    "QLinearLeakyRelu": [((*BYTES, *q(0.03, 100)), {"alpha": 0.2})],
    "QLinearWhere": [((RNG.random((2, 3)) > 0.5, *BYTES, u(3), *q(0.05, 3), *q(0.06, 90)), {})],
    "QLinearGlobalAveragePool": [((*IMAGE, *q(0.02, 100)), {}), ((*IMAGE, *q(0.02, 100)), {"channels_last": 1})],
    "QLinearAveragePool": [
        ((*IMAGE, *q(0.02, 100)), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((u(2, 6, 6, 3), *q(0.02, 120), *q(0.02, 100)), {"kernel_shape": [2, 2], "channels_last": 1})],
    "QLinearSoftmax": [((u(2, 3, 4), *q(0.02, 120), *q(1 / 256, 0)), {"axis": axis, "opset": n})
                       for axis, n in ((-1, 13), (1, 11))],
    "QLinearConcat": [((*q(0.06, 90), *BYTES, u(2, 2), *q(0.05, 3)), {"axis": 1})],
    "QGemm": [
        ((u(4, 5), *q(0.02, 120), i(5, 3), *q(0.01, 0, "i1"), RNG.integers(-50, 50, 3).astype("i4"), *q(0.1, 100)), {}),
        ((u(5, 4), *q(0.02, 120), i(3, 5), p(3), np.zeros(3, "i1"), None, *q(0.9, 100)),
         {"transA": 1, "transB": 1, "alpha": 0.5}),
        ((u(4, 5), *q(0.02, 120), u(5, 3), *q(0.01, 7), RNG.integers(-50, 50, 3).astype("i4")), {})],
    "MatMulIntegerToFloat": [
        ((u(4, 5), u(5, 3), F4(0.02), F4(0.01), np.uint8(120), np.uint8(7), f(3)), {}),
        ((u(2, 4, 5), i(5, 3), F4(0.02), p(3), np.uint8(120), np.zeros(3, "i1")), {})],
    "DynamicQuantizeMatMul": [((np.zeros((4, 5), "f4"), i(5, 3), F4(0.01), np.int8(0)), {}),
                              ((f(4, 5), i(5, 3), F4(0.01), np.int8(0), f(3)), {}),
                              ((f(2, 4, 5), u(5, 3), p(3), u(3)), {})],
    "MatMulNBits": [
        *(((f(2, 4, 50), u(3, 4, 2 * bits), p(3, 4), zero), BITS | {"bits": bits})
          for bits, zero in ((2, None), (4, None), (8, None), (2, u(3)), (4, u(6)), (8, u(12)), (4, p(3, 4) * 99))),
        ((f(4, 64), u(3, 4, 8), p(12), None, None, f(3)), BITS | {"K": 64}),
        ((half(4, 64), u(3, 4, 8), p(3, 4).astype("f2")), BITS | {"K": 64}),
        ((f(4, 64), u(3, 4, 8), p(12), None, RNG.integers(0, 4, 64).astype("i4")), BITS | {"K": 64, "bits": 4})],
    "GatherBlockQuantized": [
        ((u(10, 16), np.array([[1, 5, 9]]), p(10, 2), *zero), {"bits": 4, "block_size": 16, "quantize_axis": 1})
        for zero in ((), (u(10, 1),))],
    "DynamicQuantizeLSTM": [
        *((cell(n), CELL | {"direction": d}) for d, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2))),
        (cell(1, lengths=np.array([5, 3], "i4"), h=f(1, 2, 3), c=f(1, 2, 3), p=f(1, 9)), CELL)],
    "FusedMatMul": [((f(2, 3, 4), f(2, 5, 4)), {"transB": 1, "alpha": 0.5}),
                    ((f(4, 2, 3), f(2, 3, 5)), {"transBatchA": 1}),
                    ((f(3, 2, 4), f(2, 3, 5)), {"transA": 1, "transBatchA": 1}), ((f(3), f(3, 4)), {"transA": 1})],
    "FusedGemm": [((f(3, 4), f(4, 5), f(5)), {"activation": "LeakyRelu", "activation_alpha": 0.3, "beta": 2.0}),
                  ((f(3, 4), f(4, 5)), {"activation": "Selu", "activation_alpha": 1.5, "activation_gamma": 1.1})],
    "FusedConv": [
        *(((f(1, 3, 6, 6), f(4, 3, 3, 3), f(4)), {"activation": name, "activation_params": given, "pads": [1, 1, 1, 1]})
          for name, given in (("LeakyRelu", [0.2]), ("Clip", [-0.1, 0.5]), ("HardSigmoid", [0.3, 0.4]))),
        ((f(1, 3, 6, 6), f(4, 3, 3, 3)), {"activation": "HardSwish"}),
        ((f(1, 3, 6, 6), f(4, 3, 3, 3), f(4), f(1, 4, 4, 4)), {"activation": "Relu"})],
    "Gelu": [((f(3, 4),), {})], "BiasGelu": [((f(3, 4), f(4)), {})],
    "FastGelu": [((f(3, 4), f(4)), {}), ((f(3, 4),), {})],
    "QuickGelu": [((f(3, 4),), {}), ((f(3, 4),), {"alpha": 1.0})],
    "SkipLayerNormalization": [((X, f(2, 5, 8), f(8), f(8), f(8)), {"outputs": 4, "kept": [0, 3]}),
                               ((X, f(5, 8), f(8)), {"epsilon": 1e-3}),
                               ((50 * half(2, 5, 8), 50 * half(2, 5, 8), half(8), half(8)), {})],
    "SkipSimplifiedLayerNormalization": [((X, f(2, 5, 8), f(8), f(8)), {"outputs": 4, "kept": [0, 3]})],
    ":SimplifiedLayerNormalization": [((X, f(8)), {}), ((X, f(5, 8)), {"axis": 1})],
    "EmbedLayerNormalization": [((WORDS, np.minimum(WORDS, 1), f(9, 4), f(6, 4), f(2, 4), f(4), f(4), ONES),
                                 {"outputs": 3}),
                                ((WORDS, None, f(9, 4), f(6, 4), None, f(4), f(4)), {"outputs": 2})],
    "Attention": [
        *(((X, W, B, mask), TWO) for mask in (None, np.array([5, 3], "i4"), ONES, np.array([5, 3, 0, 1], "i4"),
                                              RNG.integers(0, 2, (2, 5, 5)).astype("i4"),
                                              np.array([5, 3, *[0] * 6], "i4"))),
        ((X, W, B, None, f(2, 2, 2, 3, 4)), TWO | {"unidirectional": 1, "outputs": 2}),
        ((X, W, B, None, None, f(2, 2, 5, 5)), TWO | {"scale": 0.3}),
        ((X, f(8, 20), f(20)), TWO | {"qkv_hidden_sizes": [8, 8, 4]})],
    "QAttention": [((u(2, 5, 8), i(8, 24), B, F4(0.02), F4(0.01), None, np.uint8(120), np.int8(0)), TWO)],
    "MultiHeadAttention": [
        ((X, K, f(2, 6, 8), B), TWO), ((X, K, K, None, None, f(2, 2, 5, 6)), TWO),
        ((X, K, K, None, np.concatenate([ONES, ONES[:, 4:]], 1)), TWO), ((X, X, X), TWO | {"unidirectional": 1}),
        ((X, X, X, None, None, None, f(2, 2, 3, 4), f(2, 2, 3, 4)), TWO | {"outputs": 3}),
        ((X, f(2, 2, 6, 4), f(2, 2, 6, 4)), TWO)],
    "RotaryEmbedding": [
        ((X, np.arange(10).reshape(2, 5) % 7, COS, SIN), {}),
        ((f(2, 2, 5, 4), np.array([2]), COS, SIN), {"interleaved": 1}),
        ((f(2, 2, 5, 8), np.array([0]), COS, SIN), {"rotary_embedding_dim": 4, "num_heads": 2})],
    "GroupQueryAttention": [
        ((f(2, 5, 64), f(2, 5, 32), f(2, 5, 32), None, None, np.array([4, 4], "i4"), np.array([5], "i4"), COS8, SIN8),
         GROUPS | {"do_rotary": 1}),
        ((f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 6, 16), f(2, 2, 6, 16), np.array([6, 6], "i4"),
          np.array([7], "i4"), COS8, SIN8), GROUPS | {"do_rotary": 1, "rotary_interleaved": 1}),
        ((f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 9, 16), f(2, 2, 9, 16), np.array([6, 3], "i4"),
          np.array([7], "i4"), None, None, None, f(2, 4, 1, 7)), GROUPS | {"local_window_size": 3}),
        ((f(2, 5, 64), f(2, 5, 32), f(2, 5, 32), None, None, np.array([4, 4], "i4"), np.array([5], "i4")),
         GROUPS | {"causal": 0}),
        *(((half(2, 5, 64), half(2, 5, 32), half(2, 5, 32), None, None, np.array([4, 4], "i4"), np.array([5], "i4")),
           GROUPS | more) for more in ({}, {"softcap": 5.0})),
        ((f(1, 5, 64), None, None, None, None, np.array([4], "i4"), np.array([5], "i4")),
         GROUPS | {"local_window_size": 2, "softcap": 5.0}),
        ((f(2, 5, 64), f(2, 5, 32), f(2, 5, 32), None, None, np.array([4, 4], "i4"), np.array([5], "i4")),
         GROUPS | {"smooth_softmax": 1}),
        ((f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 9, 16), f(2, 2, 9, 16), np.array([6, 3], "i4"),
          np.array([7], "i4"), None, None, None, f(2, 4, 1, 7), 2 * f(4)), GROUPS | {"local_window_size": 3}),
        ((half(2, 5, 64), half(2, 5, 32), half(2, 5, 32), None, None, np.array([4, 4], "i4"), np.array([5], "i4"),
          None, None, None, None, half(4)), GROUPS | {"softcap": 5.0})],
    "QLinearConv": [((u(1, 6, 6, 3), *q(0.02, 120), i(4, 3, 3, 3), p(4), np.zeros(4, "i1"), *q(0.1, 100),
                      RNG.integers(-50, 50, 4).astype("i4")), {"channels_last": 1, "strides": [2, 2]})],
    "NhwcMaxPool": [((u(1, 6, 6, 4),), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})],
    "QEmbedLayerNormalization": [
        ((WORDS, np.minimum(WORDS, 1), u(9, 4), u(6, 4), u(2, 4), u(4), u(4), ONES, *p(5), *u(5)), {"outputs": 2}),
        ((WORDS, None, u(9, 4), u(6, 4), None, u(4), u(4), None, *p(2), None, *p(2), *u(2), None, *u(2)),
         {"outputs": 2})],
    "Inverse": [((f(3, 3) + 3 * np.eye(3, dtype="f4"),), {})],
    "Trilu": [((f(3, 4), np.array(1)), {"upper": 0})], "ExpandDims": [((f(3, 4), np.array(1, "i4")), {})],
}
ROWS = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]
LOOSE = {"DynamicQuantizeLSTM": 2e-2, "DynamicQuantizeMatMul": 1e-4}     # where real numbers are rounded to bytes first


def model(name: str, k: int) -> tuple[Any, dict[str, Any]]:
    """A model of one node, whose operands but the first are initialisers, and its input."""
    operands, said = CASES[name][k]
    attributes = {key: x for key, x in said.items() if key not in ("outputs", "kept")}
    count = said.get("outputs", 1)
    kept = said.get("kept", range(count))
    arrays = {f"x{j}": np.asarray(x) for j, x in enumerate(operands) if x is not None}
    names = ["" if x is None else f"x{j}" for j, x in enumerate(operands)]
    domain, _, op = name.rpartition(":") if ":" in name else ("com.microsoft", "", name)
    results = [f"y{j}" if j in kept else "" for j in range(count)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    first, *others = arrays.items()
    given = helper.make_tensor_value_info(first[0], helper.np_dtype_to_tensor_dtype(first[1].dtype), first[1].shape)
    graph = helper.make_graph([node], "g", [given], [helper.make_empty_tensor_value_info(f"y{j}") for j in kept],
                              [numpy_helper.from_array(x, key) for key, x in others])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=9, opset_imports=sets), dict([first])


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, int], list[Any]]:
    """What ONNX Runtime gives for every case, as it stands in the file: `STELE_RECORD=1` writes what is installed."""
    if find_spec("onnxruntime") and ("STELE_RECORD" in os.environ or not KEPT.exists()):
        made: dict[str, Any] = {}
        for name, k in ROWS:
            graph, feed = model(name, k)
            session = import_module("onnxruntime").InferenceSession(graph.SerializeToString())
            made |= {f"{name}/{k}/{j}": y for j, y in enumerate(session.run(None, feed))}
        np.savez_compressed(KEPT, **made)
    found: dict[tuple[str, int], list[Any]] = {}
    with np.load(KEPT) as kept:
        for key in kept.files:
            name, k, _ = key.split("/")
            found.setdefault((name, int(k)), []).append(kept[key])
    return found


@pytest.mark.parametrize(("name", "k"), ROWS)
def test_beside_onnx_runtime(name: str, k: int, answers: dict[tuple[str, int], list[Any]]) -> None:
    graph, feed = model(name, k)
    loaded = so.load(graph)
    for g in (loaded, st.compile(loaded)):
        made = g(*feed.values())
        for a, b in zip(made if isinstance(made, tuple) else (made,), answers[name, k], strict=True):
            assert a.shape == b.shape and a.dtype.numpy == b.dtype
            most = 1 if b.dtype.kind in "iu" else max(1, np.abs(b).max()) * (
                2e-3 if b.dtype == np.float16 else LOOSE.get(name, 1e-5))
            np.testing.assert_allclose(a.numpy().astype("f8"), b.astype("f8"), rtol=0, atol=most)


def test_weights_of_few_bits_are_constants_whose_scales_learn() -> None:
    loaded = so.load(model("MatMulNBits", 1)[0])
    assert [name for name, _ in loaded.named_parameters()] == ["x2"]

    def total(x: Any) -> Any:
        return loaded(x).sum()

    slope = st.grad(total)(f(2, 4, 50))
    assert slope.shape == (2, 4, 50) and bool(st.any(slope != 0))


def test_attention_of_open_sizes_is_one_program_that_goes_on_behind_its_past() -> None:
    node = helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "last", "total", "cos", "sin"],
                            ["y", "nk", "nv"], domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)
    new, old = ["b", "s", 16], ["b", 2, "p", 8]
    shapes = {"q": ["b", "s", 32], "k": new, "v": new, "pk": old, "pv": old}
    given = [*(helper.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in shapes.items()),
             helper.make_tensor_value_info("last", T.INT32, ["b"]),
             helper.make_tensor_value_info("mask", T.BOOL, ["b", "t"])]
    sizes = [helper.make_node("Shape", ["mask"], ["shape"]), helper.make_node("Gather", ["shape", "one"], ["long"]),
             helper.make_node("Cast", ["long"], ["total"], to=T.INT32), node]
    kept = {"one": np.array(1), "cos": COS8[:, :4], "sin": SIN8[:, :4]}
    graph = helper.make_graph(sizes, "g", given, [helper.make_empty_tensor_value_info(name) for name in node.output],
                              [numpy_helper.from_array(x, key) for key, x in kept.items()])
    m = so.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                        helper.make_opsetid("com.microsoft", 1)]))
    step, x = st.compile(m, dims=m.dims), [f(2, 9, 32), f(2, 9, 16), f(2, 9, 16)]

    def called(g: Any, first: int, end: int, past: list[Any]) -> Any:
        return g(*(part[:, first:end] for part in x), *past, np.full(2, end - 1, "i4"), np.ones((2, end), "?"))

    whole, past, made = called(m, 0, 9, [f(2, 2, 0, 8)] * 2), [f(2, 2, 0, 8)] * 2, list[Any]()
    for first, end in ((0, 4), (4, 5), (5, 7), (7, 9)):
        y, *past = called(step, first, end, past)
        made.append(y.numpy())
    np.testing.assert_allclose(np.concatenate(made, 1), whole[0].numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(past[0].numpy(), whole[1].numpy(), rtol=0, atol=1e-6)
    assert int(step.compiles) == 1


def test_a_long_attention_keeps_no_scores() -> None:
    node = helper.make_node("MultiHeadAttention", ["x", "x", "x"], ["y"], domain="com.microsoft", num_heads=2,
                            unidirectional=1)
    info = helper.make_tensor_value_info("x", T.FLOAT, [1, 4096, 16])
    graph = helper.make_graph([node], "g", [info], [helper.make_empty_tensor_value_info("y")])
    m = so.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)]))
    g = st.compile(m)
    g(f(1, 4096, 16))
    peak: Any = g.programs[0].peak_bytes
    assert peak < 4096 * 4096 * 4


def test_an_import_is_written_in_ops_of_the_standard(tmp_path: Path) -> None:
    for name, k in (("MultiHeadAttention", 0), ("SkipLayerNormalization", 0), ("MatMulNBits", 1), ("FusedConv", 0)):
        graph, feed = model(name, k)
        m, x = so.load(graph), next(iter(feed.values()))
        so.export(m, (x,), tmp_path / "net.onnx")
        written = onnx.load(tmp_path / "net.onnx")
        assert {n.domain for n in written.graph.node} <= {""}
        a, b = (y[0] if isinstance(y, tuple) else y for y in (so.load(written)(x), m(x)))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=1e-5)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "Attention": ({"do_rotary": 1}, "Attention is there without do_rotary"),
    "GroupQueryAttention": ({"kv_cache_bit_width": 8}, "GroupQueryAttention is there without kv_cache_bit_width"),
    "MatMulNBits": ({"weight_prepacked": 1}, "MatMulNBits is there without weight_prepacked"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_rule_does_not_know_is_refused(name: str) -> None:
    more, message = REFUSED[name]
    graph, feed = model(name, 0)
    graph.graph.node[0].attribute.extend(helper.make_attribute(key, x) for key, x in more.items())
    with pytest.raises(DataError, match=message):
        so.run_model(graph, list(feed.values()))


def test_what_is_not_there_is_named() -> None:
    graph, feed = model("MatMulNBits", 0)
    graph.graph.node[0].attribute[2].i = 5
    with pytest.raises(DataError, match="numbers of 2, 4 or 8 bits lie in bytes, got 5 bits"):
        so.run_model(graph, list(feed.values()))
    graph.graph.node[0].op_type = "PackedAttention"
    with pytest.raises(DataError, match=r"1 nodes have no rule: com.microsoft.PackedAttention"):
        so.load(graph)
    graph.graph.node[0].domain = graph.opset_import[1].domain = "com.microsoft.nchwc"
    with pytest.raises(DataError, match="graph_optimization_level = ORT_ENABLE_EXTENDED"):
        so.load(graph)
