"""Recurrent layers and attention against PyTorch: names of weights, results and gradients, in all styles and sizes."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from peer import torch_gives

import stele as st
from stele import nn
from stele.errors import ArgumentError, DTypeError, ShapeError, SteleError
from tests.networks.cases import NETS, Array, Net, drawn, named
from tests.styles import numbers, styles

CLOSE = 1e-5        # of the largest element
IDS = [f"{net.make}-{net.call}" for net in NETS]


def flat(y: Any) -> list[Any]:
    return [v for part in y for v in flat(part)] if isinstance(y, list | tuple) else [] if y is None else [y]


def weight(shape: Sequence[int]) -> Array:
    """What results are multiplied with before they are summed up."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape).astype(np.float32)


def weights(state: dict[str, Any]) -> dict[str, Array]:
    """Numbers for the parameters of a state, by their names."""
    return {name: np.random.default_rng([*name.encode()]).uniform(-0.7, 0.7, tuple(x.shape)).astype("f4")
            for name, x in state.items()}


def moving(net: Net) -> list[int]:
    """Which of the arrays that a call names have gradients."""
    arrays = drawn(1, 1)
    return [k for k, name in enumerate(named(net)) if arrays[name].dtype.kind == "f"]


def asked(net: Net, torch: Any) -> list[Array]:
    """The names of PyTorch's parameters as bytes, the results of a call, and its gradients."""
    m = eval(net.make, {"nn": torch.nn, "F": torch.nn.functional})
    m.load_state_dict({name: torch.tensor(w) for name, w in weights(m.state_dict()).items()})
    leaves = {name: torch.tensor(drawn(2, 5)[name]) for name in named(net)}
    wrt = [leaves[named(net)[k]].requires_grad_() for k in moving(net)]
    results = flat(eval(net.call, {"m": m, "nn": torch.nn, "rnn": torch.nn.utils.rnn, **leaves}))
    loss = sum((y * torch.tensor(weight(y.shape))).sum() for y in results if y.dtype.is_floating_point)
    names = sorted(m.state_dict())
    own = dict(m.named_parameters())
    slopes = torch.autograd.grad(loss, [*wrt, *(own[name] for name in names)], allow_unused=True)
    zeros = [torch.zeros_like(x) if g is None else g for x, g in zip([*wrt, *(own[name] for name in names)], slopes)]
    said = np.frombuffer(",".join(names).encode(), np.uint8)
    return [said, *(v.detach().numpy() for v in (*results, *zeros))]


@cache
def recorded() -> dict[Net, list[Array]]:
    """What PyTorch gives for each call: one file for all of them, whose first array counts those of each."""
    def ask(torch: Any) -> list[Array]:
        found = [asked(net, torch) for net in NETS]
        return [np.array([len(part) for part in found]), *(a for part in found for a in part)]

    counts, *rest = torch_gives("networks", ask)
    ends = np.cumsum(counts).tolist()
    return {net: rest[end - n:end] for net, n, end in zip(NETS, counts.tolist(), ends, strict=True)}


def made(net: Net) -> Any:
    """A layer of ours with fixed weights."""
    m = eval(net.make, {"nn": nn, "F": nn.functional})
    m.load_state_dict(weights(m.state_dict()))
    return m


def called(net: Net, m: Any) -> Any:
    """A call of a layer as a function of the arrays that it names."""
    names = named(net)
    return lambda *arrays: flat(eval(net.call, {"m": m, "nn": nn, "rnn": nn.utils.rnn, **dict(zip(names, arrays))}))


def with_gradients(net: Net, m: Any) -> Any:
    """The results of a call and its gradients, as one function."""
    f, wrt = called(net, m), moving(net)
    own = [p for _, p in sorted(m.named_parameters())]

    def both(*arrays: Any) -> list[Any]:
        results = f(*arrays)
        loss = sum((y * weight(y.shape)).sum() for y in results if y.dtype.is_float)
        slopes = st.gradients(loss + sum((x * 0).sum() for x in own), [*(arrays[k] for k in wrt), *own])
        return [*results, *slopes]

    return both


def given(net: Net, n: int, t: int) -> list[Any]:
    found = drawn(n, t)
    arrays = [st.tensor(found[name]) for name in named(net)]
    return [a.requires_grad_() if a.dtype.is_float else a for a in arrays]


def close(found: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Asserts equal dtypes and shapes, and numbers as near as rounding explains."""
    assert len(found) == len(expected), what
    for k, (y, x) in enumerate(zip(found, expected)):
        assert (y.shape, y.dtype) == (x.shape, x.dtype), f"{what}, array {k}"
        np.testing.assert_allclose(y, x, rtol=CLOSE, atol=CLOSE * np.max(np.abs(x), initial=0), err_msg=f"{what}, {k}")


@pytest.mark.parametrize("net", NETS, ids=IDS)
def test_pytorch_agrees_and_names_weights_alike(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    m, (names, *expected) = made(net), recorded()[net]
    assert sorted(m.state_dict()) == bytes(names).decode().split(",")
    f = with_gradients(net, m)
    close(numbers(st.compile(f)(*given(net, 2, 5))), expected, "compiled")
    monkeypatch.setenv("STELE_BACKEND", "reference")
    close(numbers(f(*given(net, 2, 5))), expected, "imperative")


@pytest.mark.filterwarnings("error")      # of sizes that cannot stay open
@pytest.mark.parametrize("net", [net for net in NETS if "each" not in named(net)])   # as long as a product of sizes
def test_one_program_of_every_size(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code is compared above
    m = made(net)
    compiled = st.compile(called(net, m))
    for n, t in ((2, 5), (3, 4), (1, 6), (2, 7)):
        close(numbers(compiled(*given(net, n, t))), numbers(called(net, m)(*given(net, n, t))), f"{n}, {t}")
    assert compiled.traces <= 3     # one of sizes as they are, one of open ones, and one of what ones broadcast


@pytest.mark.parametrize("net", NETS, ids=IDS)
def test_symbolic(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")
    m, arrays = made(net), given(net, 2, 5)
    places = [st.placeholder(a.shape, a.dtype.name) for a in arrays]
    found = st.function(places, called(net, m)(*places))(*(a.detach() for a in arrays))
    close(numbers(found), numbers(called(net, m)(*arrays)), "symbolic")


class Average(nn.Module):
    """A cell of one's own: a running mean, and how many there were."""

    def initial(self, x: Any) -> Any:
        return st.zeros_like(x), st.zeros(())

    def forward(self, x: Any, state: Any) -> Any:
        mean, n = state
        return mean + (x - mean) / (n + 1), n + 1


@pytest.mark.parametrize("style", [lambda f: f, st.compile, lambda f: st.compile(f, backend="reference")])
def test_any_cell_is_a_layer(style: Any) -> None:
    x = np.random.default_rng(0).standard_normal((6, 2, 3)).astype("f4")
    layer = nn.Recurrent(Average())
    y, (mean, n) = style(lambda x: layer(x))(st.tensor(x))
    np.testing.assert_allclose(y.numpy(), x.cumsum(0) / np.arange(1, 7).reshape(6, 1, 1), rtol=1e-5, atol=1e-6)
    assert np.array_equal(mean.numpy(), y.numpy()[-1]) and n.tolist() == 6
    backward = nn.Recurrent(Average(), batch_first=True, reverse=True)
    other, _ = style(lambda x: backward(x))(st.tensor(x.swapaxes(0, 1)))
    np.testing.assert_allclose(other.numpy()[:, 0], x.mean(0), rtol=1e-5, atol=1e-6)
    for kind, cell in ((nn.RNN, nn.RNNCell), (nn.GRU, nn.GRUCell), (nn.LSTM, nn.LSTMCell)):
        whole, part = kind(3, 4), cell(3, 4)
        part.load_state_dict({name.removesuffix("_l0"): w for name, w in whole.state_dict().items()})
        y, _ = style(lambda x, part=part: nn.Recurrent(part)(x))(st.tensor(x))
        np.testing.assert_allclose(y.numpy(), whole(st.tensor(x))[0].numpy(), rtol=1e-5, atol=1e-6)


def test_ragged_sequences_are_packed_and_unpacked() -> None:
    parts = [st.tensor(np.arange(2.0 * n, dtype="f4").reshape(n, 2)) for n in (2, 4, 1)]
    packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2] and packed.data[:, 0].tolist() == [0, 0, 0, 2, 2, 4, 6]
    for found in (nn.utils.rnn.unpack_sequence(packed), nn.utils.rnn.unpack_sequence(packed.map(lambda x: x * 1))):
        assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(found, parts, strict=True))
    left = nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1, padding_side="left")
    assert left[2, :, 0].tolist() == [-1, -1, -1, 0]
    y, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=6)
    assert y.shape == (3, 6, 2) and lengths.tolist() == [2, 4, 1]
    cut = nn.utils.rnn.pack_padded_sequence(st.ones((5, 2, 3)), [3, 1])
    assert cut.padded.shape == (3, 2, 3) and nn.LSTM(3, 4)(cut)[0].padded.shape == (3, 2, 4)


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_packed_sequences_are_made_of_what_pytorchs_are(style: Any) -> None:
    words, layer = nn.Embedding(12, 3), nn.LSTM(3, 4, bidirectional=True)
    ids, lengths = st.arange(12).reshape(3, 4), [2, 4, 1]

    @style
    def of_fields(ids: Any) -> Any:
        p = nn.utils.rnn.pack_padded_sequence(ids, lengths, batch_first=True, enforce_sorted=False)
        made = nn.utils.rnn.PackedSequence(words(p.data), p.batch_sizes, p.sorted_indices, p.unsorted_indices)
        return layer(made)

    y, (h, c) = of_fields(ids)
    told, (told_h, told_c) = layer(nn.utils.rnn.pack_padded_sequence(words(ids), lengths, batch_first=True))
    for a, b in ((y.data, told.data), (h, told_h), (c, told_c)):
        assert np.allclose(a.numpy(), b.numpy(), atol=1e-6)
    packed = nn.utils.rnn.pack_sequence([st.ones(3), st.zeros(2)])
    for same in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed)),
                 nn.utils.rnn.PackedSequence(packed.data, packed.batch_sizes)):
        assert same.lengths.tolist() == [3, 2] and same.padded.tolist() == packed.padded.tolist()


def test_each_ragged_sequence_is_as_it_would_be_alone() -> None:
    parts = [st.tensor(drawn(1, n)["one"]) for n in (2, 5, 3)]
    layer = nn.LSTM(3, 4, 2, bidirectional=True)
    ys, (h, _) = layer(nn.utils.rnn.pack_sequence(parts))
    for k, (x, y) in enumerate(zip(parts, nn.utils.rnn.unpack_sequence(ys), strict=True)):
        alone, (last, _) = layer(x)
        close(numbers([y, h[:, k]]), numbers([alone, last]), f"{k}")


def test_dropout_between_layers_is_for_training() -> None:
    st.manual_seed(0)
    layer, x = nn.GRU(3, 4, 2, dropout=0.5), st.tensor(drawn(2, 5)["x"])
    f = st.compile(lambda x: layer(x)[0])
    assert not np.array_equal(f(x).numpy(), f(x).numpy())
    layer.eval()
    assert np.array_equal(f(x).numpy(), f(x).numpy())
    gone = nn.GRU(3, 4, 2, dropout=1.0)
    assert np.array_equal(gone(x)[0].numpy(), gone(x * 2)[0].numpy())


def windowed(q: Array, k: Array, v: Array, left: int, right: int) -> Array:
    """Attention of each query to the keys around it; zeros where there is none."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    i, j = np.indices(scores.shape[-2:])
    p = np.exp(scores) * ((i - j <= left) & (j - i <= right))
    return p / np.maximum(p.sum(-1, keepdims=True), 1e-30) @ v


@pytest.mark.parametrize("queries, keys, window", [(6, 6, (2, 0)), (6, 6, 1), (3, 9, (0, 4)), (9, 3, (1, 1))])
def test_a_sliding_window_is_looked_at(queries: int, keys: int, window: int | tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, n, 4)).astype("f4") for n in (queries, keys, keys))
    left, right = window if isinstance(window, tuple) else (window, window)
    expected = windowed(q, k, v, left, right).astype("f4")
    look: Callable[..., Any] = lambda *x: nn.functional.scaled_dot_product_attention(*x, window_size=window)
    for style, (y,) in styles(look, q, k, v):
        close([y], [expected], style)


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_a_cache_gives_what_all_keys_at_once_give(style: Any) -> None:
    m, x = nn.MultiheadAttention(8, 2, batch_first=True), st.tensor(drawn(2, 6)["ab"])
    expected = m(x, x, x, is_causal=True)[0].numpy()
    cache = nn.KVCache(2, 2, 8, 4)
    step = style(lambda x: m(x, x, x, cache=cache)[0])
    for _ in range(2):
        found = [step(x[:, :3]), *(step(x[:, k:k + 1]) for k in range(3, 6))]
        np.testing.assert_allclose(np.concatenate(numbers(found), 1), expected, rtol=1e-5, atol=1e-6)
        assert cache.length.tolist() == 6 and cache.keys.shape == (2, 2, 8, 4)
        cache.reset()


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_caches_of_several_layers_have_one_length(style: Any) -> None:
    layers, x = [nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(3)], st.tensor(drawn(2, 6)["ab"])
    last = nn.KVCache(2, 2, 8, 4)
    caches = [*(nn.KVCache(2, 2, 8, 4, before=last) for _ in layers[1:]), last]

    def through(x: Any, caches: Any = (None, None, None)) -> Any:
        for layer, kept in zip(layers, caches):
            x = layer(x, x, x, cache=kept, is_causal=True)[0]
        return x

    expected, step = through(x).numpy(), style(lambda x: through(x, caches))
    for _ in range(2):
        found = [step(x[:, :3]), *(step(x[:, k:k + 1]) for k in range(3, 6))]
        np.testing.assert_allclose(np.concatenate(numbers(found), 1), expected, rtol=1e-5, atol=1e-6)
        assert [cache.length.tolist() for cache in caches] == [6, 6, 6]
        last.reset()


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_positions_turn_pairs(interleaved: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 6)).astype("f4")
    angles = np.arange(5)[:, None] * 100.0 ** (-np.arange(0, 6, 2) / 6)
    z = x[..., ::2] + 1j * x[..., 1::2] if interleaved else x[..., :3] + 1j * x[..., 3:]
    z = z * np.exp(1j * angles)
    expected = np.stack([z.real, z.imag], -1).reshape(x.shape) if interleaved else np.concatenate([z.real, z.imag], -1)
    layer = nn.RotaryEmbedding(6, 100.0, interleaved)
    for style, (y,) in styles(layer, x):
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5, err_msg=style)
    later = layer(st.tensor(x[:, 2:]), st.arange(2, 5)).numpy()
    np.testing.assert_allclose(later, expected[:, 2:], rtol=1e-5, atol=1e-5)


def test_sines_and_slopes_are_those_of_the_papers() -> None:
    t, k = np.mgrid[:5, :3]
    angles = t / 10000 ** (2 * k / 6)
    expected = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(5, 6)
    np.testing.assert_allclose(nn.SinusoidalEmbedding(6)(st.zeros((2, 5, 6)))[1].numpy(), expected, atol=1e-6)
    far = np.abs(np.arange(3)[:, None] - np.arange(4))
    for heads, slopes in ((8, [2.0 ** -k for k in range(1, 9)]), (3, [1 / 16, 1 / 256, 1 / 4])):
        bias = nn.ALiBi(heads)(3, 4).numpy()
        np.testing.assert_allclose(bias, -np.reshape(slopes, (-1, 1, 1)) * far, rtol=1e-6)


def test_copies_of_layers_have_weights_of_their_own_and_dropout_is_for_training() -> None:
    st.manual_seed(0)
    model, x = nn.Transformer(8, 2, 2, 2, 6, dropout=0.5), st.tensor(drawn(2, 5)["a"])
    assert len({id(p) for p in model.parameters()}) == len(model.state_dict()) == 64
    f = st.compile(lambda x: model(x, x))
    assert not np.array_equal(f(x).numpy(), f(x).numpy())
    model.eval()
    assert np.array_equal(f(x).numpy(), f(x).numpy())
    mask = model.generate_square_subsequent_mask(3)
    assert mask.tolist()[0] == [0, -np.inf, -np.inf] and mask.tolist()[2] == [0, 0, 0]


REFUSED: list[tuple[Callable[[], Any], type[SteleError], str]] = [
    (lambda: nn.GRU(3, 4)(st.ones(5, 2, 3), st.ones(2, 2, 4)), ShapeError, r"begins with is \(1, 2, 4\), layers first"),
    (lambda: nn.LSTM(3, 4)(st.ones(5, 2, 3), st.ones(1, 2, 4)), ShapeError, r"is a pair \(hidden, cell\)"),
    (lambda: nn.LSTM(3, 4, proj_size=4), SteleError, "proj_size of LSTM"),
    (lambda: nn.RNN(3, 4, nonlinearity="sigmoid"), SteleError, "nonlinearity of RNN must be 'tanh' or 'relu'"),
    (lambda: nn.GRU(3, 4, dropout=2.0), SteleError, "dropout of GRU"),
    (lambda: nn.GRUCell(3, 4)(st.ones(2, 5)), ShapeError, r"takes \(N, 3\) or \(3,\), got shape \(2, 5\)"),
    (lambda: nn.GRUCell(3, 4)(st.ones(2, 3), st.ones(2, 5)), ShapeError, r"is \(2, 4\), got \(2, 5\)"),
    (lambda: nn.Recurrent(nn.Identity())(st.ones(2, 3)), ArgumentError, "says no state to begin with"),
    (lambda: nn.MultiheadAttention(8, 3), ShapeError, "needs heads that divide embed_dim, got 3 and 8"),
    (lambda: nn.MultiheadAttention(8, 2)(st.ones(5, 2, 8), st.ones(5, 2, 7), st.ones(5, 2, 8)), ShapeError,
     r"a key \(L, N, 8\), or \(L, 8\) of one example, got shape \(5, 2, 7\)"),
    (lambda: nn.MultiheadAttention(8, 2)(*[st.ones(5, 2, 8)] * 3, st.ones((2, 5), dtype="int64")), DTypeError,
     "a mask of MultiheadAttention is of bools or floats, got int64"),
    (lambda: nn.MultiheadAttention(8, 2)(*[st.ones(5, 2, 8)] * 3, st.ones((2, 4))), ShapeError,
     r"ends in the number of keys, 5, got \(2, 4\)"),
    (lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"), SteleError, "activation of TransformerEncoderLayer"),
    (lambda: nn.RotaryEmbedding(3), ShapeError, "takes pairs of features, got 3"),
    (lambda: nn.KVCache(1, 2, 8, 4)(st.ones(1, 2, 3, 5), st.ones(1, 2, 3, 5)), ShapeError, "takes keys and values"),
    (lambda: nn.utils.rnn.pack_padded_sequence(st.ones(4, 2, 3), [1, 2, 3]), ShapeError, r"got \(4, 2, 3\) and \(3,\)"),
    (lambda: nn.utils.rnn.pack_padded_sequence(st.ones(4, 2, 3), [1, 5]), ShapeError, "is 5, of sequences of 4 steps"),
    (lambda: nn.utils.rnn.PackedSequence(st.ones(4, 2), st.tensor([1, 3])), ShapeError, r"got \(4, 2\) and \[1, 3"),
    (lambda: nn.utils.rnn.PackedSequence(st.ones(4, 2), [3, 1], [0, 0, 1]), ShapeError, r"no order \[0, 0, 1\]"),
    (lambda: nn.utils.rnn.PackedSequence(st.ones(4, 2), [3, 1], None, [0, 1]), ShapeError, r"has no order \[0, 1\]"),
    (lambda: nn.utils.rnn.pad_sequence([st.ones(2), st.ones(2, 3)]), ShapeError, "differ in their length alone"),
]


@pytest.mark.parametrize("wrong, error, message", REFUSED)
def test_bad_calls_are_refused(wrong: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()
