"""Layers, losses and initialisers: their formulas in NumPy, and PyTorch where it is installed."""
from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from peer import torch_gives

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError, IndexOutOfRange, OptionError, ShapeError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
erf = np.vectorize(math.erf)


def normal(*shape: int) -> Array:
    """The same numbers for a shape whatever stands before: PyTorch's answers to them are kept."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def windows(x: Array, kernel: int, stride: int, padding: int, fill: float) -> Array:
    """(N, C, H', W', kernel, kernel)."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]


def convolved(p: dict[str, Array], x: Array, stride: int = 1, padding: int = 0, groups: int = 1) -> Array:
    w = p["weight"]
    parts = np.split(x, groups, axis=1), np.split(w, groups, axis=0)
    y = np.concatenate([np.einsum("nchwij,ocij->nohw", windows(a, w.shape[2], stride, padding, 0), b)
                        for a, b in zip(*parts)], axis=1)
    return y + p["bias"].reshape(1, -1, 1, 1) if "bias" in p else y


def normalised(p: dict[str, Array], x: Array, axes: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * p["weight"].reshape(shape) + p["bias"].reshape(shape)


def gru(p: dict[str, Array], x: Array) -> Array:
    h, ys = np.zeros((x.shape[1], p["weight_hh_l0"].shape[1])), []
    for x_t in x:
        a_r, a_z, a_n = np.split(x_t @ p["weight_ih_l0"].T + p["bias_ih_l0"], 3, axis=-1)
        c_r, c_z, c_n = np.split(h @ p["weight_hh_l0"].T + p["bias_hh_l0"], 3, axis=-1)
        r, z = sigmoid(a_r + c_r), sigmoid(a_z + c_z)
        h = (1 - z) * np.tanh(a_n + r * c_n) + z * h
        ys.append(h)
    return np.stack(ys)


def lstm(p: dict[str, Array], x: Array) -> Array:
    h = c = np.zeros((x.shape[1], p["weight_hh_l0"].shape[1]))
    ys = []
    for x_t in x:
        i, f, g, o = np.split(x_t @ p["weight_ih_l0"].T + p["bias_ih_l0"] + h @ p["weight_hh_l0"].T + p["bias_hh_l0"],
                              4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys)


def grouped(p: dict[str, Array], x: Array, groups: int) -> Array:
    y = x.reshape(len(x), groups, -1)
    y = ((y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    shape = (-1, *(1 for _ in x.shape[2:]))
    return y * p["weight"].reshape(shape) + p["bias"].reshape(shape) if p else y


class Case(NamedTuple):
    """A layer of ours, an input, its formula on float64 parameters, and the same layer written for PyTorch, if it has
    that."""

    make: Callable[[], nn.Module]
    x: Array
    formula: Callable[[dict[str, Array], Array], Array]
    torch: str = ""


def flat(x: Array) -> Array:
    """Volumes as images."""
    return x.swapaxes(1, 2).reshape(-1, x.shape[1], *x.shape[3:])


def spread(p: dict[str, Array], x: Array) -> Array:
    """The transpose of a convolution of stride 2."""
    w = p["weight"].reshape(*p["weight"].shape[:3], -1)
    (n, _, h, v), (_, o, kh, kv) = x.shape, w.shape
    y = np.zeros((n, o, 2 * h + kh - 2, 2 * v + kv - 2))
    for i, j in np.ndindex(h, v):
        y[:, :, 2 * i:2 * i + kh, 2 * j:2 * j + kv] += np.einsum("nc,cohw->nohw", x[:, :, i, j], w)
    return y + p["bias"].reshape(1, -1, 1, 1) if "bias" in p else y


def dilated(p: dict[str, Array], x: Array) -> Array:
    """A convolution of signals by three elements 2 apart, which keeps their length."""
    wide, n = np.pad(x, [(0, 0), (0, 0), (2, 2)]), x.shape[2]
    parts = [np.einsum("oc,ncl->nol", p["weight"][..., k], wide[..., 2 * k:2 * k + n]) for k in range(3)]
    return np.asarray(sum(parts)) + p["bias"][:, None]


def between(p: dict[str, Array], x: Array) -> Array:
    """The transpose of a convolution of stride 2 by kernels 1 deep: every other layer of the result is the bias."""
    layers = [spread({"weight": p["weight"][:, :, 0], "bias": p["bias"]}, x[:, :, k]) for k in range(x.shape[2])]
    y = np.zeros((*layers[0].shape[:2], 2 * len(layers) - 1, *layers[0].shape[2:])) + p["bias"].reshape(-1, 1, 1, 1)
    y[:, :, ::2] = np.stack(layers, 2)
    return y


IMAGE, VOLUME = normal(2, 4, 7, 6), normal(2, 4, 3, 7, 6)
# fmt: off
CASES = {
    "linear":        Case(lambda: nn.Linear(5, 3), normal(4, 5), lambda p, x: x @ p["weight"].T + p["bias"],
                          "Linear(5, 3)"),
    "linear_3d":     Case(lambda: nn.Linear(5, 3), normal(2, 4, 5), lambda p, x: x @ p["weight"].T + p["bias"],
                          "Linear(5, 3)"),
    "linear_plain":  Case(lambda: nn.Linear(5, 3, bias=False), normal(4, 5), lambda p, x: x @ p["weight"].T,
                          "Linear(5, 3, bias=False)"),
    "conv":          Case(lambda: nn.Conv2d(4, 6, 3), IMAGE, convolved, "Conv2d(4, 6, 3)"),
    "conv_stride":   Case(lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), IMAGE,
                          lambda p, x: convolved(p, x, 2, 1), "Conv2d(4, 6, 3, stride=2, padding=1, bias=False)"),
    "conv_groups":   Case(lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), IMAGE,
                          lambda p, x: convolved(p, x, 1, 1, 2), "Conv2d(4, 6, 3, padding=1, groups=2)"),
    "conv_1d":       Case(lambda: nn.Conv1d(4, 6, 3, padding="same", dilation=2), IMAGE[..., 0], dilated,
                          "Conv1d(4, 6, 3, padding='same', dilation=2)"),
    "conv_3d":       Case(lambda: nn.Conv3d(4, 6, (2, 3, 3), padding=(0, 1, 1)), VOLUME,
                          lambda p, x: sum(convolved({"weight": p["weight"][:, :, k]}, flat(x[:, :, k:k + 2]), 1, 1)
                                           for k in range(2)).reshape(2, 2, 6, 7, 6).swapaxes(1, 2)
                          + p["bias"].reshape(-1, 1, 1, 1), "Conv3d(4, 6, (2, 3, 3), padding=(0, 1, 1))"),
    "conv_transpose_1d": Case(lambda: nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1), IMAGE[..., 0],
                              lambda p, x: spread(p, x[..., None])[:, :, 1:-1, 0], "ConvTranspose1d(4, 6, 4, 2, 1)"),
    "conv_transpose": Case(lambda: nn.ConvTranspose2d(4, 6, (4, 3), 2, (1, 0), bias=False), IMAGE,
                           lambda p, x: spread(p, x)[:, :, 1:-1],
                           "ConvTranspose2d(4, 6, (4, 3), 2, (1, 0), bias=False)"),
    "conv_transpose_groups": Case(lambda: nn.ConvTranspose2d(4, 6, 3, 2, groups=2), IMAGE,
                                  lambda p, x: np.concatenate([
                                      spread({"weight": w, "bias": b}, a) for w, b, a in zip(
                                          np.split(p["weight"], 2), np.split(p["bias"], 2), np.split(x, 2, 1))], 1),
                                  "ConvTranspose2d(4, 6, 3, 2, groups=2)"),
    "conv_transpose_3d": Case(lambda: nn.ConvTranspose3d(4, 6, (1, 2, 2), 2), VOLUME, between,
                              "ConvTranspose3d(4, 6, (1, 2, 2), 2)"),
    "max_pool":      Case(lambda: nn.MaxPool2d(2), IMAGE, lambda p, x: windows(x, 2, 2, 0, 0).max((-1, -2)),
                          "MaxPool2d(2)"),
    "max_pool_pad":  Case(lambda: nn.MaxPool2d(3, 2, 1), IMAGE, lambda p, x: windows(x, 3, 2, 1, -np.inf).max((-1, -2)),
                          "MaxPool2d(3, 2, 1)"),
    "avg_pool":      Case(lambda: nn.AvgPool2d(2), IMAGE, lambda p, x: windows(x, 2, 2, 0, 0).mean((-1, -2)),
                          "AvgPool2d(2)"),
    "avg_pool_pad":  Case(lambda: nn.AvgPool2d(3, 2, 1), IMAGE, lambda p, x: windows(x, 3, 2, 1, 0).mean((-1, -2)),
                          "AvgPool2d(3, 2, 1)"),
    "batch_norm":    Case(lambda: nn.BatchNorm2d(4), IMAGE, lambda p, x: normalised(p, x, (0, 2, 3), (1, -1, 1, 1)),
                          "BatchNorm2d(4)"),
    "layer_norm":    Case(lambda: nn.LayerNorm(5), normal(3, 2, 5), lambda p, x: normalised(p, x, (-1,), (-1,)),
                          "LayerNorm(5)"),
    "group_norm":    Case(lambda: nn.GroupNorm(2, 4), IMAGE, lambda p, x: grouped(p, x, 2), "GroupNorm(2, 4)"),
    "group_norm_1d": Case(lambda: nn.GroupNorm(2, 6), normal(5, 6), lambda p, x: grouped(p, x, 2), "GroupNorm(2, 6)"),
    "group_norm_plain": Case(lambda: nn.GroupNorm(1, 4, affine=False), IMAGE, lambda p, x: grouped(p, x, 1),
                             "GroupNorm(1, 4, affine=False)"),
    "gru":           Case(lambda: nn.GRU(3, 5), normal(6, 2, 3), gru, "GRU(3, 5)"),
    "gru_batch":     Case(lambda: nn.GRU(3, 5, batch_first=True), normal(2, 6, 3),
                          lambda p, x: gru(p, x.swapaxes(0, 1)).swapaxes(0, 1), "GRU(3, 5, batch_first=True)"),
    "lstm":          Case(lambda: nn.LSTM(3, 5), normal(6, 2, 3), lstm, "LSTM(3, 5)"),
    "flatten":       Case(nn.Flatten, IMAGE, lambda p, x: x.reshape(len(x), -1), "Flatten()"),
    "relu":          Case(nn.ReLU, normal(4, 5), lambda p, x: np.maximum(x, 0), "ReLU()"),
    "gelu":          Case(nn.GELU, normal(4, 5), lambda p, x: x * (1 + erf(x / np.sqrt(2))) / 2, "GELU()"),
    "gelu_tanh":     Case(lambda: nn.GELU("tanh"), normal(4, 5),
                          lambda p, x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
                          "GELU('tanh')"),
    "silu":          Case(nn.SiLU, normal(4, 5), lambda p, x: x * sigmoid(x), "SiLU()"),
    "tanh":          Case(nn.Tanh, normal(4, 5), lambda p, x: np.tanh(x), "Tanh()"),
    "sigmoid":       Case(nn.Sigmoid, normal(4, 5), lambda p, x: sigmoid(x), "Sigmoid()"),
    "sequential":    Case(lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)), normal(3, 5),
                          lambda p, x: np.maximum(x @ p["0.weight"].T + p["0.bias"], 0) @ p["2.weight"].T
                          + p["2.bias"],
                          "Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))"),
}
# fmt: on


def close(a: Array, b: Array, bound: float = 2e-5) -> None:
    """Holds max |a - b| / max |b| against a bound."""
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= bound * np.abs(b).max()


def first(y: Any) -> Any:
    """The tensor of a result, of a recurrent layer the states of all times."""
    return y[0] if isinstance(y, tuple) else y


def made(name: str) -> nn.Module:
    """The layer of a case, with parameters that are no zeros and ones."""
    st.manual_seed(1)
    layer = CASES[name].make()
    for p in layer.parameters():
        p.assign(p + 0.1 * np.arange(p.size, dtype=np.float32).reshape(p.shape) / p.size)
    return layer


@pytest.mark.parametrize("name", CASES)
def test_layers_follow_their_formulas(name: str) -> None:
    layer, case = made(name), CASES[name]
    p = {key: x.numpy().astype(np.float64) for key, x in layer.state_dict().items()}
    expected = case.formula(p, case.x.astype(np.float64))
    close(first(layer(st.tensor(case.x))).numpy(), expected)
    close(first(st.compile(layer)(st.tensor(case.x))).numpy(), expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.torch])
def test_layers_and_gradients_are_those_of_pytorch(name: str) -> None:
    layer, case, rng = made(name), CASES[name], np.random.default_rng(len(name))
    weights = {key: rng.uniform(0.1, 1, x.shape).astype(x.dtype.name) for key, x in layer.state_dict().items()}
    layer.load_state_dict({key: st.tensor(w) for key, w in weights.items()})
    before = layer.state_dict()
    g = rng.normal(size=first(layer(st.tensor(case.x))).shape).astype(np.float32)
    layer.load_state_dict({key: st.tensor(w) for key, w in weights.items()})
    names = [key for key, _ in layer.named_parameters()]

    def ask(torch: Any) -> list[Array]:
        other, z = eval(f"nn.{case.torch}", {"nn": torch.nn}), torch.tensor(case.x, requires_grad=True)
        other.load_state_dict({key: torch.tensor(w) for key, w in weights.items()})
        y = first(other(z))
        y.backward(torch.tensor(g))
        slopes = dict(other.named_parameters())
        state = other.state_dict()
        return [a.detach().numpy() for a in (y, z.grad, *(slopes[key].grad for key in names),
                                             *(state[key] for key in before))]

    @st.compile
    def run(x: Any) -> Any:
        y = first(layer(x))
        return y, st.gradients((y * g).sum(), [x, *layer.parameters()])

    y, found = run(st.tensor(case.x, requires_grad=True))
    expected = iter(torch_gives(f"layer_{name}", ask))
    close(y.numpy(), next(expected))
    for got in found:
        close(got.numpy(), next(expected), 1e-4)
    for key, wanted in zip(before, expected, strict=True):
        close(layer.state_dict()[key].numpy(), wanted)


def test_recurrent_layers_stack_and_return_their_last_states() -> None:
    x = normal(6, 2, 3)
    layers = nn.GRU(3, 5, num_layers=2)
    y, last = layers(st.tensor(x))
    p = {key: v.numpy().astype(np.float64) for key, v in layers.state_dict().items()}
    below = gru(p, x.astype(np.float64))
    above = gru({key.replace("_l1", "_l0"): v for key, v in p.items() if key.endswith("_l1")}, below)
    close(y.numpy(), above)
    close(last.numpy(), np.stack([below[-1], above[-1]]))
    _, (hidden, cell) = nn.LSTM(3, 5)(st.tensor(x))
    assert hidden.shape == cell.shape == (1, 2, 5)


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_batch_norm_follows_running_statistics(style: Any) -> None:
    layer = nn.BatchNorm2d(3, momentum=0.3)
    x = normal(4, 3, 5, 2)
    step = style(lambda x: layer(x))
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(3):
        step(st.tensor(x))
        mean, var = 0.7 * mean + 0.3 * x.mean((0, 2, 3)), 0.7 * var + 0.3 * x.var((0, 2, 3), ddof=1)
    close(layer.running_mean.numpy(), mean)
    close(layer.running_var.numpy(), var)
    assert layer.num_batches_tracked.tolist() == 3
    layer.eval()
    shape = (1, 3, 1, 1)
    close(step(st.tensor(x)).numpy(), (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-5))
    assert layer.num_batches_tracked.tolist() == 3


@pytest.mark.parametrize("style", [lambda f: f, st.compile, st.compile(dims={"x": {0: "n"}})])
@pytest.mark.parametrize("momentum", [0.3, None])
def test_batch_norm_of_no_examples_leaves_all_as_it_was(style: Any, momentum: float | None) -> None:
    layer = nn.BatchNorm2d(3, momentum=momentum)

    @style
    def step(x: st.Tensor) -> st.Tensor:
        layer.zero_grad()
        y = layer(x)
        (y * y).sum().backward()
        return y

    step(st.tensor(normal(4, 3, 5, 2)))
    before = {name: x.tolist() for name, x in layer.state_dict().items() if name.startswith("running")}
    assert step(st.zeros(0, 3, 5, 2)).shape == (0, 3, 5, 2)
    assert {name: x.tolist() for name, x in layer.state_dict().items() if name in before} == before
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0, 0, 0]
    assert np.isfinite(step(st.tensor(normal(2, 3, 5, 2))).numpy()).all()


def test_dropout_scales_what_it_keeps() -> None:
    x = st.ones(200, 100)
    y = nn.Dropout(0.25)(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / y.size)
    assert nn.Dropout(0.25).eval()(x) is x and nn.Dropout(0.0)(x) is x


def test_train_and_eval_trace_anew_and_come_back() -> None:
    model = nn.Sequential(nn.Linear(50, 50), nn.Dropout(0.5))
    f, x = st.compile(lambda x: model(x)), st.tensor(normal(4, 50))
    assert (f(x).numpy() == 0).mean() > 0.3
    model.eval()
    assert not (f(x).numpy() == 0).any()
    close(f(x).numpy(), f(x).numpy(), 0)
    model.train()
    assert (f(x).numpy() == 0).mean() > 0.3
    assert f.traces == 2 and f.compiles == 2


def test_embedding_takes_rows_and_its_gradient_adds_them_up() -> None:
    layer = nn.Embedding(5, 3)
    index = st.tensor([[1, 4], [1, 0]])
    y = layer(index)
    assert np.array_equal(y.numpy(), layer.weight.numpy()[index.numpy()])
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1] * 3, [2] * 3, [0] * 3, [0] * 3, [1] * 3]
    with pytest.raises(IndexOutOfRange, match="index 5 is out of range"):
        layer(st.tensor([5])).numpy()


def test_losses_follow_their_formulas() -> None:
    x, t, labels = normal(6, 4) * 30, RANDOM.random((6, 4)).astype(np.float32), RANDOM.integers(0, 4, 6)
    wide = x.astype(np.float64)
    shifted = wide - wide.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    losses = {
        -log_p[np.arange(6), labels].mean(): nn.cross_entropy(st.tensor(x), st.tensor(labels)),
        ((wide - t) ** 2).mean(): nn.mse_loss(st.tensor(x), st.tensor(t)),
        (np.maximum(wide, 0) - wide * t + np.log1p(np.exp(-abs(wide)))).mean():
            nn.binary_cross_entropy_with_logits(st.tensor(x), st.tensor(t)),
    }
    for expected, got in losses.items():
        assert float(got) == pytest.approx(expected, rel=1e-5)


def test_losses_stay_finite_where_exponentials_overflow() -> None:
    x = st.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    loss = nn.cross_entropy(x, st.tensor([1, 1])) + nn.binary_cross_entropy_with_logits(x, st.ones(2, 2))
    loss.backward()
    assert np.isfinite(float(loss)) and np.isfinite(x.grad.numpy()).all()


REFUSED = [
    (lambda: nn.cross_entropy(st.ones(4, 3), st.ones(4, 3)), ShapeError, r"got \(4, 3\) and \(4, 3\)"),
    (lambda: nn.mse_loss(st.ones(4, 1), st.ones(4)), ShapeError, r"equal shapes, got \(4, 1\) and \(4,\)"),
    (lambda: nn.binary_cross_entropy_with_logits(st.ones(4, 1), st.ones(4)), ShapeError, "equal shapes"),
    (lambda: nn.Linear(3, 2)(st.ones(4, 5)), ShapeError, r"takes 3 features on the last axis, got shape \(4, 5\)"),
    (lambda: nn.LayerNorm(3)(st.ones(4, 5)), ShapeError, "LayerNorm takes 3 features"),
    (lambda: nn.GroupNorm(4, 6), ShapeError, r"divide the channels, got 4 and 6\n?.*2 divides both"),
    (lambda: nn.GroupNorm(2, 4)(st.ones(2, 3, 4)), ShapeError, r"takes \(N, 4, \*\), got shape \(2, 3, 4\)"),
    (lambda: nn.GRU(3, 2)(st.ones(3)), ShapeError, r"GRU takes \(T, N, 3\) or \(T, 3\), got shape \(3,\)"),
    (lambda: nn.GRU(3, 2)(st.ones(4, 2, 5)), ShapeError, "5"),
    (lambda: nn.Conv2d(3, 2, 3)(st.ones(1, 4, 8, 8)), ShapeError, "4"),
    (lambda: nn.Conv1d(3, 2, 3)(st.ones(1, 8, 3)), ShapeError, r"takes signals \(N, 3, L\).*\n?.*x.permute\(0, 2, 1\)"),
    (lambda: nn.Conv3d(3, 2, 3)(st.ones(8, 8, 8, 3)), ShapeError, r"volumes \(N, 3, D, H, W\).*\n?.*x.permute\(3, 0,"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, groups=2), ShapeError, "ConvTranspose2d needs in_channels and out_channels"),
    (lambda: nn.Dropout(1.5), ValueError, "p of Dropout must be from 0 to 1, got 1.5"),
    (lambda: nn.cross_entropy(st.ones(2, 3), st.tensor([0, 3])).numpy(), IndexOutOfRange, "index 3 is out of range"),
    (lambda: nn.init.xavier_uniform((3,)), ShapeError, r"at least two axes has fans, got shape \(3,\)"),
    (lambda: nn.init.he_normal(3), ShapeError, r"at least two axes has fans, got shape \(3,\)"),
    (lambda: nn.init.he_normal((3, -1)), ShapeError, "every size of a weight must be at least 0, got -1"),
]


@pytest.mark.parametrize("wrong, error, message", REFUSED)
def test_bad_calls_are_refused(wrong: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


@pytest.mark.parametrize("make, variance", [
    (nn.init.xavier_uniform, 2 / (400 + 300)), (nn.init.xavier_normal, 2 / (400 + 300)),
    (nn.init.he_uniform, 2 / 400), (nn.init.he_normal, 2 / 400)])
def test_initialisers_have_their_variance(make: Callable[[tuple[int, ...]], st.Tensor], variance: float) -> None:
    st.manual_seed(0)
    w = make((300, 400))
    x = w.numpy()
    assert w.requires_grad and abs(x.mean()) < 5 * math.sqrt(variance / x.size)
    assert x.var() == pytest.approx(variance, rel=0.02)
    assert nn.init.fans((50, 3, 5, 5)) == (75, 1250)
    assert np.array_equal(nn.init.zeros((2,)).numpy(), [0, 0]) and np.array_equal(nn.init.ones((2,)).numpy(), [1, 1])


class Tied(nn.Module):
    """A layer that decodes with the weights that encoded."""

    def __init__(self) -> None:
        self.encoder, self.decoder = nn.Embedding(7, 4), nn.Linear(4, 7)
        self.decoder.weight = self.encoder.weight

    def forward(self, index: st.Tensor) -> st.Tensor:
        return self.decoder(self.encoder(index))


FILLED: dict[str, tuple[Callable[[], st.Tensor], float, float, float]] = {     # mean, standard deviation, largest
    "uniform_": (lambda: nn.init.uniform_(st.zeros(300, 400), -1, 3), 1, 4 / 12 ** 0.5, 3),
    "normal_": (lambda: nn.init.normal_(st.zeros(300, 400), 0.5, 2.0), 0.5, 2, 20),
    "trunc_normal_": (lambda: nn.init.trunc_normal_(st.zeros(300, 400), std=2.0), 0, 1.0794, 2),
    "xavier_uniform_": (lambda: nn.init.xavier_uniform_(st.zeros(300, 400), 2.0), 0, 2 * (2 / 700) ** 0.5, 0.186),
    "xavier_normal_": (lambda: nn.init.xavier_normal_(st.zeros(300, 400)), 0, (2 / 700) ** 0.5, 1),
    "kaiming_uniform_": (lambda: nn.init.kaiming_uniform_(st.zeros(300, 40, 10), 5 ** 0.5), 0, 0.05 / 3 ** 0.5, 0.051),
    "kaiming_normal_": (lambda: nn.init.kaiming_normal_(st.zeros(300, 400), mode="fan_out", nonlinearity="tanh"), 0,
                        5 / 3 / 300 ** 0.5, 1),
    "orthogonal_": (lambda: nn.init.orthogonal_(st.zeros(100, 40, 5), 2.0), 0, 2 / 200 ** 0.5, 1),
    "sparse_": (lambda: nn.init.sparse_(st.zeros(300, 400), 0.75, 2.0), 0, 1, 20),
}


@pytest.mark.parametrize("name", FILLED)
def test_tensors_are_filled_as_pytorch_fills_them(name: str) -> None:
    st.manual_seed(4)
    make, mean, std, largest = FILLED[name]
    x = make().numpy()
    assert x.mean() == pytest.approx(mean, abs=0.02 * std) and x.std() == pytest.approx(std, rel=0.02)
    assert np.abs(x).max() <= largest


def test_a_parameter_that_is_filled_stays_one() -> None:
    layer = nn.Conv2d(4, 6, 3, groups=2)
    w = layer.weight
    assert nn.init.dirac_(w, 2) is w is layer.weight and w.requires_grad and w.leaf
    x = np.random.default_rng(0).random((1, 4, 5, 5), np.float32)
    nn.init.zeros_(layer.bias)
    y = layer(st.tensor(x)).detach().numpy()
    np.testing.assert_array_equal(y[:, [0, 1, 3, 4]], x[:, :, 1:-1, 1:-1])
    assert not y[:, [2, 5]].any()
    for fill, expected in ((nn.init.ones_, np.ones((2, 3))), (nn.init.eye_, np.eye(2, 3)),
                           (lambda x: nn.init.constant_(x, 2.5), np.full((2, 3), 2.5))):
        half = st.ones(2, 3).astype("float16").requires_grad_()
        assert fill(half) is half and half.dtype.name == "float16"
        np.testing.assert_array_equal(half.detach().numpy(), expected)
    q = nn.init.orthogonal_(st.zeros(3, 2, 2)).numpy().reshape(3, 4)
    np.testing.assert_allclose(q @ q.T, np.eye(3), atol=1e-5)
    for wrong, error in ((lambda: nn.init.ones_((2, 3)), ArgumentError), (lambda: nn.init.eye_(st.ones(2)), ShapeError),
                         (lambda: nn.init.dirac_(st.ones(3, 1, 3), 2), ShapeError),
                         (lambda: nn.init.sparse_(st.ones(3, 3), 2), OptionError),
                         (lambda: nn.init.calculate_gain("swish"), OptionError),
                         (lambda: nn.init.trunc_normal_(st.ones(3), a=2, b=1), ShapeError)):
        with pytest.raises(error):
            wrong()


def test_tied_weights_are_one_parameter() -> None:
    model = Tied()
    assert [name for name, _ in model.named_parameters()] == ["encoder.weight", "decoder.bias"]
    index = st.tensor([1, 2])
    model(index).sum().backward()
    w, n = model.encoder.weight.numpy().astype(np.float64), 2
    expected = np.tile(w[[1, 2]].sum(0), (7, 1))
    expected[[1, 2]] += w.sum(0)
    close(model.encoder.weight.grad.numpy(), expected)
    assert model.decoder.bias.grad.tolist() == [n] * 7


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))


def test_state_goes_to_a_file_and_back(tmp_path: Path) -> None:
    model, other = network(), network()
    model(st.tensor(normal(2, 1, 4, 4)))
    model.save(tmp_path / "model.safetensors")
    other.load(tmp_path / "model.safetensors")
    assert list(model.state_dict()) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
        "3.weight", "3.bias"]
    for (name, x), y in zip(model.state_dict().items(), other.state_dict().values(), strict=True):
        assert np.array_equal(x.numpy(), y.numpy()) and x.dtype == y.dtype, name
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_loading_keeps_the_same_tensors() -> None:
    model = nn.Linear(3, 2)
    w = model.weight
    optimizer = st.compile(lambda x: model(x).sum())
    before = float(optimizer(st.ones(1, 3)))
    model.load_state_dict({name: x.numpy() * 2 for name, x in model.state_dict().items()})
    assert model.weight is w and w.requires_grad
    assert float(optimizer(st.ones(1, 3))) == pytest.approx(2 * before, rel=1e-5)


def renamed(state: dict[str, Array]) -> dict[str, Array]:
    return {name.replace("3.bias", "3.bais"): x for name, x in state.items()}


def reshaped(state: dict[str, Array]) -> dict[str, Array]:
    return state | {"3.weight": state["3.weight"].T}


def with_more(state: dict[str, Array]) -> dict[str, Array]:
    return state | {"4.weight": np.zeros(2)}


def with_words(state: dict[str, Array]) -> dict[str, Array]:
    return state | {"3.bias": np.array(["a", "b", "c"])}


@pytest.mark.parametrize("spoil, message", [
    (renamed, "missing: 3.bias; unknown: 3.bais at .*. Is '3.bais' meant to be '3.bias'?"),
    (reshaped, r"3.weight has shape \(8, 3\) in the state, \(3, 8\) in the model"),
    (with_more, "unknown: 4.weight"), (with_words, "3.bias holds no numbers in the state")])
def test_a_state_that_does_not_fit_changes_nothing(spoil: Any, message: str) -> None:
    model = network()
    before = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    with pytest.raises(DataError, match=message):
        model.load_state_dict(spoil({name: x + 1 for name, x in before.items()}))
    assert all(np.array_equal(x.numpy(), before[name]) for name, x in model.state_dict().items())


def test_not_strict_takes_what_fits() -> None:
    model = nn.Linear(3, 2)
    bias = model.bias.numpy().copy()
    model.load_state_dict({"weight": np.ones((2, 3)), "more": np.ones(1)}, strict=False)
    assert model.weight.tolist() == [[1] * 3] * 2 and np.array_equal(model.bias.numpy(), bias)


class Language(nn.Module):
    """An embedding whose table is the last layer's weight too, as in language models."""

    def __init__(self) -> None:
        self.embed, self.head, self.norms = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False), [nn.BatchNorm2d(3)]
        self.head.weight = self.embed.weight


def tied_state() -> dict[str, Array]:
    return {name: normal(*x.shape) for name, x in Language().state_dict().items()}


def test_a_state_may_hold_a_tied_tensor_under_any_of_its_names() -> None:
    state = tied_state()
    both = state | {"head.weight": state["embed.weight"]}
    second = {name: x for name, x in both.items() if name != "embed.weight"}
    for given in (state, both, second):
        model = Language()
        model.load_state_dict(given)
        assert np.array_equal(model.head.weight.numpy(), state["embed.weight"]) and \
            model.head.weight is model.embed.weight
    with pytest.raises(DataError, match=r"embed.weight and head.weight are one tensor in the model, but differ"):
        model.load_state_dict(both | {"head.weight": state["embed.weight"] + 1})
    with pytest.raises(DataError, match=r"missing: embed.weight; unknown: head.bias"):
        model.load_state_dict({name: x for name, x in second.items() if name != "head.weight"} | {"head.bias": 0})


def test_a_state_may_lack_what_a_layer_calls_optional() -> None:
    model = Language()
    state = {name: x for name, x in tied_state().items() if not name.endswith("num_batches_tracked")}
    model.norms[0].num_batches_tracked += 7
    model.load_state_dict(state)
    assert model.norms[0].num_batches_tracked.tolist() == 7
    del state["norms.0.running_var"]
    with pytest.raises(DataError, match=r"missing: norms\.0\.running_var"):
        model.load_state_dict(state)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    model, path = network(), tmp_path / "model.safetensors"
    with pytest.raises(DataError, match="there is no file"):
        model.load(path)
    model.save(path)
    whole = path.read_bytes()
    for part in (whole[:-10], whole[:20], b"", b"\xff" * 64):
        path.write_bytes(part)
        with pytest.raises(DataError, match="no whole safetensors file"):
            model.load(path)


def test_a_module_says_what_it_lacks() -> None:
    with pytest.raises(NotImplementedError, match=r"Module has no forward\(self, x\)"):
        nn.Module()(1)
