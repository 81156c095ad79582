"""Trees of Flax go into modules and come out of them, as linen and nnx compute; what does not fit is told at once."""
from __future__ import annotations

import doctest
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError, OptionError
from stele.interop import flax
from stele.interop.flax.trees import flat

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[1]
needs_flax = pytest.mark.skipif(find_spec("flax") is None or find_spec("jax") is None,
                                reason="needs Flax: pip install flax")
needs_msgpack = pytest.mark.skipif(find_spec("msgpack") is None, reason="needs msgpack: pip install 'stele-dl[flax]'")


def jax() -> Any:
    return import_module("jax")


def numbers(tree: Any) -> Any:
    """A tree of the same shapes with numbers of its own, variances above 0."""
    rng = np.random.default_rng(3)
    return jax().tree_util.tree_map_with_path(
        lambda path, x: np.float32(0.4 * rng.normal(size=np.shape(x)) ** (2 if "var" in str(path[-1]) else 1)), tree)


def last(x: st.Tensor) -> st.Tensor:
    """Images with their channels last."""
    return x.permute(0, 2, 3, 1)


def first(x: Array) -> st.Tensor:
    return st.tensor(x).permute(0, 3, 1, 2)


def agree(found: Any, want: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(want), rtol=2e-5, atol=2e-5)


def close(a: Any, b: Any) -> None:
    """Two trees are one."""
    assert a.keys() == b.keys()
    for key, x in a.items():
        close(x, b[key]) if isinstance(x, dict) else np.testing.assert_allclose(x, b[key], rtol=1e-6, atol=1e-7)


class Images(nn.Module):
    """What `linen_images` is."""

    def __init__(self) -> None:
        self.Conv_0, self.BatchNorm_0 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.Conv_1, self.GroupNorm_0 = nn.Conv2d(4, 6, (3, 2), stride=2, groups=2, bias=False), nn.GroupNorm(3, 6)
        self.ConvTranspose_0, self.LayerNorm_0 = nn.ConvTranspose2d(6, 4, 3, stride=2), nn.LayerNorm(4)
        self.scale, self.blocks = nn.Parameter(st.ones(4)), [nn.Linear(4, 5), nn.Linear(5, 4)]
        self.PReLU_0 = nn.PReLU()

    def forward(self, x: st.Tensor) -> st.Tensor:
        x = st.relu(self.BatchNorm_0(self.Conv_0(x)))
        x = self.ConvTranspose_0(self.GroupNorm_0(self.Conv_1(x)))
        y = self.LayerNorm_0(last(x)) * self.scale
        for block in self.blocks:
            y = self.PReLU_0(block(y))
        return y


def linen_images() -> Any:
    linen = import_module("flax.linen")

    class Net(linen.Module):
        def setup(self) -> None:
            self.Conv_0, self.BatchNorm_0 = linen.Conv(4, (3, 3)), linen.BatchNorm(epsilon=1e-5)
            self.Conv_1 = linen.Conv(6, (3, 2), strides=2, feature_group_count=2, use_bias=False, padding="VALID")
            self.GroupNorm_0 = linen.GroupNorm(3, epsilon=1e-5)
            self.ConvTranspose_0 = linen.ConvTranspose(4, (3, 3), strides=(2, 2), padding="VALID")
            self.LayerNorm_0, self.PReLU_0 = linen.LayerNorm(epsilon=1e-5), linen.PReLU()
            self.scale = self.param("scale", linen.initializers.ones, (4,))
            self.blocks = [linen.Dense(5), linen.Dense(4)]

        def __call__(self, x: Any) -> Any:
            x = linen.relu(self.BatchNorm_0(self.Conv_0(x), use_running_average=True))
            x = self.ConvTranspose_0(self.GroupNorm_0(self.Conv_1(x)))
            x = self.LayerNorm_0(x) * self.scale
            for block in self.blocks:
                x = self.PReLU_0(block(x))
            return x

    return Net()


@needs_flax
def test_images_are_those_of_linen() -> None:
    net, x = linen_images(), np.random.default_rng(0).normal(size=(2, 9, 8, 3)).astype(np.float32)
    tree = numbers(net.init(jax().random.key(0), x))
    ours = flax.from_flax(Images(), tree).eval()
    agree(ours(first(x)), net.apply(tree, x))
    close(flax.to_flax(ours), tree)
    agree(flax.from_flax(Images(), flax.to_flax(ours)).eval()(first(x)), net.apply(flax.to_flax(ours), x))


class Words(nn.Module):
    """What `linen_words` is."""

    def __init__(self) -> None:
        self.embed, self.norm = nn.Embedding(11, 6), nn.RMSNorm(6, eps=1e-6)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
        self.lstm, self.gru = nn.LSTM(6, 4, batch_first=True), nn.GRU(4, 3, batch_first=True)
        self.head = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))

    def forward(self, x: st.Tensor) -> st.Tensor:
        y = self.norm(self.embed(x))
        y = self.attention(y, y, y)[0]
        return self.head(self.gru(self.lstm(y)[0])[0])


def linen_words() -> Any:
    linen = import_module("flax.linen")

    class Net(linen.Module):
        def setup(self) -> None:
            self.embed, self.norm = linen.Embed(11, 6), linen.RMSNorm(epsilon=1e-6)
            self.attention = linen.MultiHeadDotProductAttention(2)
            self.lstm, self.gru = linen.RNN(linen.LSTMCell(4)), linen.RNN(linen.GRUCell(3))
            self.head = linen.Sequential([linen.Dense(5), linen.tanh, linen.Dense(2)])

        def __call__(self, x: Any) -> Any:
            y = self.norm(self.embed(x))
            return self.head(self.gru(self.lstm(self.attention(y, y))))

    return Net()


@needs_flax
def test_words_are_those_of_linen() -> None:
    net, x = linen_words(), np.random.default_rng(0).integers(0, 11, (2, 7))
    tree = numbers(net.init(jax().random.key(0), x))
    ours = flax.from_flax(Words(), tree)
    agree(ours(st.tensor(x)), net.apply(tree, x))
    close(flax.to_flax(ours), tree)
    fresh = Words()         # biases of both sides are summed, or kept apart, as Flax has them
    agree(fresh(st.tensor(x)), net.apply(flax.to_flax(fresh), x))


class Plain(nn.Module):
    """What `nnx_plain` is."""

    def __init__(self) -> None:
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.layers = nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 4)])
        self.attention, self.head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Sequential(nn.Linear(4, 2))

    def forward(self, x: st.Tensor) -> st.Tensor:
        y = last(self.norm(self.conv(x)))
        for layer in self.layers:
            y = layer(y)
        y = y.reshape((y.shape[0], -1, 4))
        return self.head(self.attention(y, y, y)[0])


@needs_flax
def test_states_of_nnx_go_both_ways() -> None:
    nnx = import_module("flax.nnx")

    class Net(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.conv = nnx.Conv(3, 4, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)
            self.layers = nnx.List([nnx.Linear(4, 5, rngs=rngs), nnx.Linear(5, 4, rngs=rngs)])
            self.attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, deterministic=True, rngs=rngs)
            self.head = nnx.Sequential(nnx.Linear(4, 2, rngs=rngs))

        def __call__(self, x: Any) -> Any:
            y = self.norm(self.conv(x))
            for layer in self.layers:
                y = layer(y)
            y = self.dropout(y.reshape((y.shape[0], -1, 4)))
            return self.head(self.attention(y))

    net, x = Net(nnx.Rngs(0)), np.random.default_rng(0).normal(size=(2, 5, 4, 3)).astype(np.float32)
    ours = flax.from_flax(Plain(), nnx.state(net)).eval()
    agree(ours(first(x)), net(x))
    agree(flax.from_flax(Plain(), nnx.to_pure_dict(nnx.state(net))).eval()(first(x)), net(x))
    other, state = Plain().eval(), nnx.state(net, (nnx.Param, nnx.BatchStat))
    nnx.replace_by_pure_dict(state, flax.to_flax(other, "nnx"))
    nnx.update(net, state)
    agree(other(first(x)), net(x))


@needs_flax
def test_gates_that_nnx_has_apart_are_taken() -> None:
    nnx = import_module("flax.nnx")
    cell = nnx.RNN(nnx.LSTMCell(3, 4, rngs=nnx.Rngs(0), bias_init=jax().nn.initializers.normal()))
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    ours = flax.from_flax(nn.LSTM(3, 4, batch_first=True), nnx.state(cell, nnx.Param))
    agree(ours(st.tensor(x))[0], cell(x))


class Steps(nn.Module):
    """What `linen_steps` is."""

    def __init__(self) -> None:
        self.rnn, self.norm = nn.RNN(3, 4, batch_first=True), nn.InstanceNorm1d(4, eps=1e-6, affine=True)
        self.attention = nn.MultiheadAttention(4, 2, kdim=3, vdim=3, batch_first=True)

    def forward(self, x: st.Tensor) -> st.Tensor:
        y = self.norm(self.rnn(x)[0].permute(0, 2, 1)).permute(0, 2, 1)
        return self.attention(y, x, x)[0]


@needs_flax
def test_steps_are_those_of_linen() -> None:
    linen = import_module("flax.linen")

    class Net(linen.Module):
        def setup(self) -> None:
            self.rnn, self.norm = linen.RNN(linen.SimpleCell(4)), linen.InstanceNorm()
            self.attention = linen.MultiHeadDotProductAttention(2)

        def __call__(self, x: Any) -> Any:
            return self.attention(self.norm(self.rnn(x)), x)

    net, x = Net(), np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    tree = numbers(net.init(jax().random.key(0), x))
    ours = flax.from_flax(Steps(), tree)
    agree(ours(st.tensor(x)), net.apply(tree, x))
    close(flax.to_flax(ours), tree)
    fresh = Steps()
    agree(fresh(st.tensor(x)), net.apply(flax.to_flax(fresh), x))


class Heads(nn.Module):
    """What `linen_heads` is."""

    def __init__(self) -> None:
        self.query, self.key, self.value, self.out = (nn.Linear(m, n) for m, n in ((6, 8), (6, 8), (6, 8), (8, 6)))

    def forward(self, x: st.Tensor) -> st.Tensor:
        q, k, v = (f(x).unflatten(-1, (2, 4)).swapaxes(-2, -3) for f in (self.query, self.key, self.value))
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).swapaxes(-2, -3).flatten(-2))


class General(nn.Module):
    """What `linen_general` is."""

    def __init__(self) -> None:
        self.split, self.join, self.both = nn.Linear(6, 12), nn.Linear(12, 6, bias=False), nn.Linear(24, 10)
        self.attention, self.last = Heads(), nn.MultiheadAttention(6, 2, kdim=10, vdim=10, batch_first=True)

    def forward(self, x: st.Tensor) -> st.Tensor:
        y = self.attention(self.join(st.relu(self.split(x))))
        return self.last(y, z := self.both(y.flatten(1)).unflatten(-1, (1, 10)), z)[0]


@needs_flax
def test_axes_side_by_side_are_those_of_linear_layers() -> None:
    linen = import_module("flax.linen")

    class Net(linen.Module):
        def setup(self) -> None:
            self.split = linen.DenseGeneral((3, 4))
            self.join = linen.DenseGeneral(6, axis=(-2, -1), use_bias=False)
            self.both = linen.DenseGeneral((2, 5), (-2, -1))
            self.attention = linen.MultiHeadDotProductAttention(2, qkv_features=8)
            self.last = linen.MultiHeadDotProductAttention(2)

        def __call__(self, x: Any) -> Any:
            y = self.attention(self.join(linen.relu(self.split(x))))
            return self.last(y, self.both(y).reshape((-1, 1, 10)))

    net, x = Net(), np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)
    tree = numbers(net.init(jax().random.key(0), x))
    ours = flax.from_flax(General(), tree)
    agree(ours(st.tensor(x)), net.apply(tree, x))
    close(flax.to_flax(ours, like=tree), tree)
    fresh = General()
    agree(fresh(st.tensor(x)), net.apply(flax.to_flax(fresh, like=tree), x))


@needs_flax
def test_general_layers_of_nnx_go_both_ways() -> None:
    nnx = import_module("flax.nnx")
    layer = nnx.LinearGeneral((2, 3), (4, 5), axis=(-2, -1), rngs=nnx.Rngs(0))
    ours, x = nn.Linear(6, 20), np.random.default_rng(0).normal(size=(7, 2, 3)).astype(np.float32)
    agree(flax.from_flax(ours, nnx.state(layer))(st.tensor(x).flatten(1)).unflatten(-1, (4, 5)), layer(x))
    state, other = nnx.state(layer), nn.Linear(6, 20)
    nnx.replace_by_pure_dict(state, flax.to_flax(other, "nnx", like=state))
    nnx.update(layer, state)
    agree(other(st.tensor(x).flatten(1)).unflatten(-1, (4, 5)), layer(x))


def test_axes_that_no_linear_layer_has_are_refused() -> None:
    one = np.ones
    for kernel, bias in (((2, 4, 3, 5), (3, 5)), ((24, 5), (5,)), ((6, 4, 5), (4, 5, 1, 2)), ((120,), (20,)),
                         ((2, 6, 20), (2, 20)), ((6, 20), ())):
        with pytest.raises(DataError, match="does not fit the module"):
            flax.from_flax(nn.Linear(6, 20), {"kernel": one(kernel), "bias": one(bias)})
    with pytest.raises(DataError, match=r"bias \(20,\) is missing"):
        flax.to_flax(nn.Linear(6, 20), like={"params": {"kernel": one((6, 4, 5))}})
    wide = flax.to_flax(nn.MultiheadAttention(8, 2))
    with pytest.raises(DataError, match=r"query/kernel is \(8, 2, 4\), not \(6, 2, 3\).*qkv_features.*an nn\.Linear"):
        flax.from_flax(nn.MultiheadAttention(6, 2), wide)
    with pytest.raises(DataError, match=r"not \(6, 2, 3\).*to_flax\(module\) is a tree that fits"):
        flax.from_flax(nn.MultiheadAttention(6, 2), flax.to_flax(nn.MultiheadAttention(6, 3)))


def test_files_of_states_end_in_value() -> None:
    """As Orbax gives back what nnx.state was."""
    class Own(nn.Module):
        def __init__(self) -> None:
            self.layer, self.value = nn.Linear(2, 3), nn.Parameter(st.zeros(2))

    tree = {"layer": {"kernel": {"value": np.ones((2, 3))}, "bias": {"value": np.ones(3)}},
            "value": {"value": np.ones(2)}}
    ours = flax.from_flax(Own(), tree)
    assert all(bool((x == 1).all()) for x in ours.parameters())
    assert bool((flax.from_flax(Own(), flax.to_flax(ours, "nnx")).value == 1).all())


@needs_flax
@pytest.mark.parametrize("kind", ["GRUCell", "OptimizedLSTMCell"])
def test_cells_of_nnx_go_both_ways(kind: str) -> None:
    nnx = import_module("flax.nnx")
    x, h = (np.random.default_rng(k).normal(size=(2, n)).astype(np.float32) for k, n in enumerate((3, 4)))
    cell = getattr(nnx, kind)(3, 4, rngs=nnx.Rngs(0), bias_init=jax().nn.initializers.normal())
    ours = flax.from_flax(nn.GRUCell(3, 4) if kind == "GRUCell" else nn.LSTMCell(3, 4), nnx.state(cell, nnx.Param))
    given = st.tensor(h) if kind == "GRUCell" else (st.tensor(h), st.tensor(h))
    agree(ours(st.tensor(x), given) if kind == "GRUCell" else ours(st.tensor(x), given)[0],
          cell(h if kind == "GRUCell" else (h, h), x)[1])
    for key, made in flat(flax.to_flax(ours, "nnx")).items():
        np.testing.assert_array_equal(made, flat(nnx.to_pure_dict(nnx.state(cell, nnx.Param)))[key])


def test_a_module_comes_back_from_its_tree() -> None:
    for make in (Images, Words, Plain, Steps, General):
        one, other = make().eval(), make().eval()
        flax.from_flax(other, flax.to_flax(one))
        for name, x in other.named_parameters():
            if not name.startswith(("gru", "lstm", "rnn")):
                assert np.array_equal(x.numpy(), one.member(name).numpy()), name
    lstm = nn.LSTM(3, 4)
    x = st.randn(5, 2, 3)
    for style in ("linen", "nnx"):
        agree(flax.from_flax(nn.LSTM(3, 4), flax.to_flax(lstm, style))(x)[0], lstm(x)[0].numpy())


def test_a_layer_alone_comes_back_from_its_tree() -> None:
    for style in ("linen", "nnx"):
        one, other = nn.MultiheadAttention(4, 2), nn.MultiheadAttention(4, 2)
        flax.from_flax(one, flax.to_flax(other, style))
        for name, x in one.named_parameters():
            np.testing.assert_array_equal(x.numpy(), other.get_parameter(name).numpy())


def test_names_that_do_not_match_are_told_at_once() -> None:
    module, tree = Images(), flax.to_flax(Images())
    tree["params"]["dense"] = {"kernel": np.ones((2, 3), np.float32)}
    tree["params"]["blocks_1"]["bias"] = np.ones(7, np.float32)
    del tree["params"]["Conv_0"], tree["batch_stats"]["BatchNorm_0"]["mean"]
    before = module.blocks[0].weight.numpy()
    with pytest.raises(DataError) as caught:
        flax.from_flax(module, tree)
    said = str(caught.value)
    for part in ("in 5 places", "params/Conv_0/kernel (3, 3, 3, 4) is missing", "params/Conv_0/bias (4,) is missing",
                 "batch_stats/BatchNorm_0/mean (4,) is missing", "params/dense/kernel (2, 3) is unknown",
                 "params/blocks_1/bias is (7,), not (4,)"):
        assert part in said
    assert np.array_equal(module.blocks[0].weight.numpy(), before)


@pytest.mark.parametrize(("f", "error", "says"), [
    (lambda: flax.to_flax(3), ArgumentError, "a module of Stele is needed, got int"),
    (lambda: flax.to_flax(nn.Linear(1, 1), "haiku"), OptionError, "'linen' or 'nnx'"),
    (lambda: flax.from_flax(nn.Linear(1, 1), 3), DataError, "a dict of dicts, got an int"),
    (lambda: flax.from_flax(nn.Linear(1, 1), {"kernel": "x", "bias": [1.0]}), DataError, "holds no numbers"),
    (lambda: flax.from_flax(nn.Linear(1, 1), {"kernel": object()}), DataError, r"an object.*linen\.unbox"),
    (lambda: flax.from_flax(nn.Linear(1, 1), b"x"), DataError, r"flax\.read\(path\)"),
    (lambda: flax.from_flax(nn.Linear(1, 1), {"params": {"a": 1}, "step": 1}), DataError, "of a training state"),
    (lambda: flax.from_flax(nn.Linear(1, 1), {"kernel": 1}), DataError, 'of linen is {"params"'),
    (lambda: flax.to_flax(nn.MultiheadAttention(4, 2, add_bias_kv=True)), DataError, "add_bias_kv=False"),
    (lambda: flax.to_flax(nn.LSTM(2, 3, num_layers=2)), DataError, "one layer in one direction"),
    (lambda: flax.to_flax(nn.GRU(2, 3, bias=False)), DataError, "has biases"),
    (lambda: flax.to_flax(nn.GRU(2, 3), "nnx"), DataError, "no bias of the state")])
def test_what_cannot_be_is_told(f: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        f()


def packed(x: Array) -> Any:
    """An array as Flax writes it."""
    msgpack = import_module("msgpack")
    return msgpack.ExtType(1, msgpack.packb((x.shape, x.dtype.name, x.tobytes())))


@needs_msgpack
def test_files_are_read_without_flax(tmp_path: Path) -> None:
    msgpack, x = import_module("msgpack"), np.arange(6, dtype=np.float32).reshape(2, 3)
    pieces = {"__msgpack_chunked_array__": True, "shape": {"0": 2, "1": 3},
              "chunks": {"0": packed(x.reshape(-1)[:4]), "1": packed(x.reshape(-1)[4:])}}
    tree = {"params": {"kernel": packed(x), "whole": pieces, "n": 3}}
    (tmp_path / "f").write_bytes(msgpack.packb(tree))
    found = flax.read(tmp_path / "f")
    assert np.array_equal(found["params"]["kernel"], x) and np.array_equal(found["params"]["whole"], x)
    if find_spec("flax"):
        written = import_module("flax.serialization").to_bytes({"params": {"a": x, "b": x.astype("float16")}})
        close(flax.read(written)["params"], {"a": x, "b": x.astype("float16")})


@needs_msgpack
@pytest.mark.parametrize(("make", "says"), [
    (lambda m: b"", "no whole file"), (lambda m: b"\xc1", "no whole file"),
    (lambda m: m.packb([1]), "a dict of arrays"), (lambda m: b"\x81\xa1a" * 100_000, "no whole"),
    (lambda m: m.packb({"a": packed(np.ones(3))})[:-4], "no whole file"),
    (lambda m: b"\xdf\xff\xff\xff\xff", "no whole file"), (lambda m: m.packb({"a": m.ExtType(7, b"")}), "kind 7"),
    (lambda m: m.packb({"a": m.ExtType(1, m.packb(([1 << 40], "float32", b"x")))}), "no whole array"),
    (lambda m: m.packb({"a": m.ExtType(1, m.packb(([1], "object", b"x" * 8)))}), "no whole array"),
    (lambda m: m.packb({"a": {"__msgpack_chunked_array__": True, "shape": 1}}), "pieces do not fit")])
def test_damaged_files_are_told_in_a_line(make: Any, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        flax.read(make(import_module("msgpack")))
    assert "\n" not in str(caught.value)


def test_the_page_about_it_runs() -> None:
    text = re.sub(r"^```.*$", "", (ROOT / "docs" / "flax.md").read_text(), flags=re.M)
    found = doctest.DocTestParser().get_doctest(text, {}, "flax.md", None, 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner().run(found, out=said.append)
    assert tried and not failed, "".join(said)


@needs_flax
def test_a_cell_that_linen_makes_within_a_compact_method_stands_beside_its_rnn() -> None:
    linen = import_module("flax.linen")

    class Inline(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            return linen.Dense(2)(linen.RNN(linen.LSTMCell(6))(x))

    class Ours(nn.Module):
        def __init__(self) -> None:
            self.LSTMCell_0, self.Dense_0 = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 2)

        def forward(self, x: st.Tensor) -> st.Tensor:
            return self.Dense_0(self.LSTMCell_0(x)[0])

    net, x = Inline(), np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    tree = numbers(net.init(jax().random.key(0), x))
    assert "cell" not in tree["params"]["LSTMCell_0"]
    agree(flax.from_flax(Ours(), tree)(st.tensor(x)), net.apply(tree, x))
    fresh = Ours()
    agree(fresh(st.tensor(x)), net.apply(flax.to_flax(fresh, like=tree), x))
