"""Every layer with its options against PyTorch: numbers, gradients, states and names, in every style, at every size."""
from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from peer import torch_gives, torch_says

import stele as st
from stele import nn
from stele.errors import ArgumentError, DTypeError, IndexOutOfRange, OptionError, ShapeError, SteleError
from tests.functional.cases import STILL, Array, drawn, named
from tests.layers.cases import ELSEWHERE, LAYERS
from tests.styles import styles

F = nn.functional
CALLS = [call for calls in LAYERS.values() for call in calls]
CLOSE = 1e-5        # of the largest element


def flat(y: Any) -> list[Any]:
    return [v for part in y for v in flat(part)] if isinstance(y, list | tuple) else [y]


def weight(shape: Sequence[int]) -> Array:
    """What results are multiplied with before they are summed up."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape).astype(np.float32)


def numbers(name: str, shape: Sequence[int], kind: str) -> Array:
    """What a tensor of a state holds in every framework."""
    rng = np.random.default_rng(crc32(f"{name}{tuple(shape)}".encode()))
    return rng.uniform(0.1, 1, tuple(shape)).astype("f4") if kind == "f" else np.full(tuple(shape), 2, "i8")


class Call:
    """A row of the table: how the layer is made, and what it is called with."""

    def __init__(self, call: str) -> None:
        found: Any = ast.parse(call, mode="eval").body
        self.make, self.names, own = ast.unparse(found.func), named(call), named(ast.unparse(found.func))
        self.is_made_inside = bool(own)     # of arrays, which are no state of it
        found.func = ast.Name("layer", ast.Load())
        self.args = ast.unparse(found)
        arrays = drawn(1)
        self.moving = [k for k, name in enumerate(self.names) if arrays[name].dtype.kind == "f" and name not in STILL]

    def arrays(self, n: int) -> list[Array]:
        found = drawn(n)
        return [found[name] for name in self.names]

    def made(self, nn: Any, arrays: Sequence[Any] = ()) -> Any:
        """The layer, or a method of it."""
        return eval(self.make, {"nn": nn, "parametrizations": nn.utils.parametrizations,
                                **dict(zip(self.names, arrays))})

    def layer(self) -> Any:
        """The layer of ours with the numbers that all have; None if it is made of arrays."""
        if self.is_made_inside:
            return None
        layer = self.made(nn)
        own = module_of(layer).state_dict()
        module_of(layer).load_state_dict({k: numbers(k, x.shape, x.dtype.kind) for k, x in own.items()})
        return layer

    def results(self, layer: Any, *arrays: Any) -> list[Any]:
        """What the layer, or one made of arrays, gives for arrays."""
        given = dict(zip(self.names, arrays))
        return flat(eval(self.args, {"nn": nn, "layer": self.made(nn, arrays) if layer is None else layer, **given}))


def module_of(layer: Any) -> Any:
    """The layer that a method is of."""
    return getattr(layer, "__self__", layer)


def asked(text: str, torch: Any) -> list[Array]:
    """What PyTorch gives for a row: results, gradients of inputs and of parameters, and the state that is left."""
    call = Call(text)
    arrays = [torch.tensor(a) for a in call.arrays(2)]
    wrt = [arrays[k].requires_grad_() for k in call.moving]
    layer = call.made(torch.nn, arrays)
    module = module_of(layer)
    if not call.is_made_inside:
        module.load_state_dict({k: torch.tensor(numbers(k, x.shape, "f" if x.is_floating_point() else "i"))
                                for k, x in module.state_dict().items()})
    wrt += list(module.parameters())
    results = flat(eval(call.args, {"nn": torch.nn, "layer": layer, **dict(zip(call.names, arrays))}))
    results = [y for part in results for y in (flat(tuple(part)) if isinstance(part, tuple) else [part])]
    loss = sum((y * torch.tensor(weight(y.shape))).sum() for y in results if y.dtype.is_floating_point)
    is_fixed = not wrt or isinstance(loss, int)
    slopes = [None] * len(wrt) if is_fixed else torch.autograd.grad(loss, wrt, allow_unused=True)
    zeros = [torch.zeros_like(x) if g is None else g for x, g in zip(wrt, slopes)]
    state = [] if call.is_made_inside else list(module.state_dict().values())
    return [v.detach().numpy() for v in (*results, *zeros, *state)]


@cache
def recorded() -> dict[str, list[Array]]:
    """What PyTorch gives for each row: one file for all of them, whose first array counts those of each."""
    def ask(torch: Any) -> list[Array]:
        found = [asked(call, torch) for call in CALLS]
        return [np.array([len(part) for part in found]), *(a for part in found for a in part)]

    counts, *rest = torch_gives("layers", ask)
    ends = np.cumsum(counts).tolist()
    return {call: rest[end - n:end] for call, n, end in zip(CALLS, counts.tolist(), ends, strict=True)}


@cache
def said() -> dict[str, Any]:
    """What PyTorch calls options and tensors of states: the former with their usual values."""
    def ask(torch: Any) -> dict[str, Any]:
        skipped = "self", "args", "kwargs", "device", "dtype", "size_average", "reduce"
        names = [name for name in LAYERS if hasattr(torch.nn, name)]
        options = {name: [[key, None if p.default is p.empty else repr(p.default)]
                          for key, p in inspect.signature(getattr(torch.nn, name).__init__).parameters.items()
                          if key not in skipped] for name in names}
        states: dict[str, Any] = {}
        for text in CALLS:
            call = Call(text)
            layer = module_of(call.made(torch.nn, [torch.tensor(a) for a in call.arrays(2)]))
            learn = {name for name, _ in layer.named_parameters()}
            states[text] = [[k, list(x.shape), str(x.dtype).removeprefix("torch."), k in learn]
                            for k, x in layer.state_dict().items()]
        return {"options": options, "states": states}

    return torch_says("layers", ask)


def close(found: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Asserts equal dtypes and shapes, and numbers as near as rounding explains."""
    assert len(found) == len(expected), what
    for k, (y, x) in enumerate(zip(found, expected)):
        assert (y.shape, y.dtype) == (x.shape, x.dtype), f"{what}, array {k}"
        scale = np.max(np.abs(x), initial=0, where=np.isfinite(x)) if x.dtype.kind == "f" else 0
        np.testing.assert_allclose(y, x, rtol=CLOSE, atol=CLOSE * scale, err_msg=f"{what}, array {k}")


OWN = {"DropPath", "FocalLoss", "DiceLoss", "InfoNCELoss"}     # what PyTorch lacks: below, and in tests/test_losses.py


def test_every_layer_has_a_row() -> None:
    rooms = {f"stele.nn.{name}" for name in ELSEWHERE}
    modules = {name for name in nn.__all__ if isinstance(x := getattr(nn, name), type) and issubclass(x, nn.Module)
               and x.__module__ not in rooms and name not in OWN}
    assert set(LAYERS) == modules | set(nn.utils.parametrizations.__all__)
    assert all(f"{name}(" in call for name, calls in LAYERS.items() for call in calls)


@pytest.mark.parametrize("text", CALLS)
def test_pytorch_agrees(text: str) -> None:
    call = Call(text)
    layer = call.layer()
    given = [st.tensor(a, requires_grad=k in call.moving) for k, a in enumerate(call.arrays(2))]
    wrt = [given[k] for k in call.moving] + ([] if layer is None else module_of(layer).parameters())
    results = call.results(layer, *given)
    moved = [(y * weight(y.shape)).sum() for y in results if y.dtype.is_float]
    if moved and wrt:
        sum(moved[1:], moved[0]).backward()
    slopes = [st.zeros(x.shape) if x.grad is None else x.grad for x in wrt]
    state = [] if layer is None else list(module_of(layer).state_dict().values())
    st.eval(*results, *slopes, *state)
    close([y.detach().numpy() for y in (*results, *slopes, *state)], recorded()[text], text)


@pytest.mark.parametrize("text", CALLS)
def test_states_have_pytorchs_names_and_layouts(text: str) -> None:
    call = Call(text)
    layer = module_of(call.made(nn, [st.tensor(a) for a in call.arrays(2)]))
    found = [[k, list(x.shape), x.dtype.name, x.requires_grad] for k, x in layer.state_dict().items()]
    assert found == said()["states"][text]


@pytest.mark.parametrize("name", [name for name in LAYERS if name in nn.__all__])
def test_options_have_pytorchs_names_and_order(name: str) -> None:
    own = inspect.signature(getattr(nn, name)).parameters
    found = [[key, None if p.default is p.empty else repr(p.default)] for key, p in own.items()
             if key not in ("args", "kwargs")]
    left_out = {"Hardtanh": ("min_value", "max_value"), "Embedding": ("_weight", "_freeze"),
                "EmbeddingBag": ("_weight",), "LinearCrossEntropyLoss": ("options",)}.get(name, ())
    assert found == [row for row in said()["options"][name] if row[0] not in left_out]


@pytest.mark.filterwarnings("error")      # of sizes that cannot stay open
@pytest.mark.parametrize("text", CALLS)
def test_one_program_of_every_size(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled layer at a size, at another, and at the first again: as without a compiler, and so is its state."""
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code is compared below
    call = Call(text)
    layer, twin = call.layer(), call.layer()
    compiled = st.compile(lambda *arrays: call.results(layer, *arrays))
    for n in (2, 3, 1, 2):
        given = [st.tensor(a) for a in call.arrays(n)]
        found, expected = flat(compiled(*given)), flat(call.results(twin, *given))
        st.eval(*expected)
        close(*([y.detach().numpy() for y in results] for results in (found, expected)), f"{text} of {n}")
    if layer is not None:
        states = [[x.detach().numpy() for x in module_of(x).state_dict().values()] for x in (layer, twin)]
        close(*states, f"the state of {text}")


@pytest.mark.parametrize("make, shape", [
    (lambda: nn.BatchNorm1d(2), ("n", 2)), (lambda: nn.BatchNorm2d(2, momentum=None), ("n", 2, "height", 3)),
    (lambda: nn.BatchNorm1d(2).eval(), ("n", 2)), (lambda: nn.InstanceNorm1d(2, affine=True), ("n", 2, 3)),
    (lambda: nn.InstanceNorm1d(2, affine=True, track_running_stats=True), ("n", 2, 3)),
    (lambda: nn.GroupNorm(1, 2), ("n", 2, 3))])
def test_norms_of_placeholders_are_of_any_batch(make: Callable[[], Any], shape: tuple[Any, ...]) -> None:
    symbolic, twin = make(), make()
    x = st.placeholder(shape)
    y = symbolic(x)
    f = st.function([x], [y, *st.gradients((y * y * y).sum(), [symbolic.weight, symbolic.bias])])
    for n in (3, 5, 0):
        given = np.random.default_rng(n).normal(size=[n if k == "n" else 4 if isinstance(k, str) else k for k in shape])
        z = twin(st.tensor(given.astype(np.float32)))
        expected = [z, *st.gradients((z * z * z).sum(), [twin.weight, twin.bias])]
        for a, b in zip(f(st.tensor(given.astype(np.float32))), expected, strict=True):
            close([a.detach().numpy()], [b.detach().numpy()], f"{twin} of {n}")


def test_a_lazy_instance_norm_has_what_pytorchs_has() -> None:
    layer = nn.LazyInstanceNorm1d()
    assert layer(st.zeros((2, 3, 4))).shape == (2, 3, 4)
    assert sorted(layer.state_dict()) == ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"]
    plain = nn.LazyInstanceNorm1d(1e-3, 0.1, False, track_running_stats=False)
    assert plain(st.zeros((2, 3, 4))).shape == (2, 3, 4) and not plain.state_dict()


@pytest.mark.parametrize("name", LAYERS)
def test_all_styles_agree(name: str) -> None:
    call = Call(LAYERS[name][-1])
    layer = call.layer()
    if layer is not None:
        module_of(layer).eval()
    _, expected = next(found := styles(lambda *xs: call.results(layer, *xs), *call.arrays(2)))
    for style, y in found:
        close(y, expected, f"{name}, {style}")


@pytest.mark.parametrize("text", CALLS)
def test_a_layer_says_what_makes_it_again(text: str) -> None:
    call = Call(text)
    layer = module_of(call.made(nn, [st.tensor(a) for a in call.arrays(2)]))
    kind = type(layer).__name__
    assert repr(layer).startswith(f"{kind}(")
    if "distance_function" not in text and not kind.startswith("Parametrized"):
        again = eval(f"nn.{kind}({layer.extra_repr()})", {"nn": nn, "inf": math.inf})
        assert again.extra_repr() == layer.extra_repr()


BEGIN: dict[str, tuple[Callable[[], nn.Module], dict[str, tuple[float, float]]]] = {
    # of tensors by their paths, a standard deviation and the largest absolute value that there may be
    "linear": (lambda: nn.Linear(400, 300), {"weight": (0.05 / 3 ** 0.5, 0.05), "bias": (0.05 / 3 ** 0.5, 0.05)}),
    "conv": (lambda: nn.Conv2d(100, 300, 2), {"weight": (0.05 / 3 ** 0.5, 0.05), "bias": (0.05 / 3 ** 0.5, 0.05)}),
    "groups": (lambda: nn.Conv2d(200, 300, 2, groups=2), {"weight": (0.05 / 3 ** 0.5, 0.05)}),
    "transposed": (lambda: nn.ConvTranspose1d(300, 100, 4), {"weight": (0.05 / 3 ** 0.5, 0.05),
                                                             "bias": (0.05 / 3 ** 0.5, 0.05)}),
    "bilinear": (lambda: nn.Bilinear(100, 30, 50), {"weight": (0.1 / 3 ** 0.5, 0.1), "bias": (0.1 / 3 ** 0.5, 0.1)}),
    "embedding": (lambda: nn.Embedding(500, 100), {"weight": (1.0, 7.0)}),
    "bag": (lambda: nn.EmbeddingBag(500, 100), {"weight": (1.0, 7.0)}),
    "adaptive": (lambda: nn.AdaptiveLogSoftmaxWithLoss(400, 500, [100]), {
        "head.weight": (0.05 / 3 ** 0.5, 0.05), "tail.0.0.weight": (0.05 / 3 ** 0.5, 0.05),
        "tail.0.1.weight": (0.1 / 3 ** 0.5, 0.1)}),
}


@pytest.mark.parametrize("name", BEGIN)
def test_weights_begin_as_pytorchs(name: str) -> None:
    """Uniform within the bound that PyTorch documents, or normal."""
    st.manual_seed(3)
    make, wanted = BEGIN[name]
    state = make().state_dict()
    for path, (std, largest) in wanted.items():
        w = state[path].detach().numpy()
        assert w.std() == pytest.approx(std, rel=8 / w.size ** 0.5)
        assert abs(w.mean()) < 5 * std / w.size ** 0.5 and np.abs(w).max() <= largest


def test_a_row_of_padding_begins_as_zeros_and_stays() -> None:
    for layer in (nn.Embedding(5, 3, padding_idx=-2), nn.EmbeddingBag(5, 3, padding_idx=3)):
        assert layer.padding_idx == 3 and layer.weight.requires_grad
        assert (layer.weight.numpy() != 0).any(axis=1).tolist() == [True, True, True, False, True]
        layer(st.tensor([[3, 1]])).sum().backward()
        assert (layer.weight.grad.numpy() != 0).any(axis=1).tolist() == [False, True, False, False, False]


def test_gradients_of_bags_are_scaled_by_how_often_rows_occur() -> None:
    """As those of rows alone are. (PyTorch 2.13 counts other rows here: its bags and its rows differ.)"""
    index, slopes = st.tensor([[3, 1, 2], [3, 0, 0]]), []
    for layer in (nn.EmbeddingBag(5, 2, scale_grad_by_freq=True), nn.Embedding(5, 2, scale_grad_by_freq=True)):
        y = layer(index)
        (y if y.ndim == 2 else y.mean(axis=1)).sum().backward()
        slopes.append(layer.weight.grad.numpy())
    close(slopes[:1], slopes[1:], "bags and rows")


def test_tables_that_there_are() -> None:
    table = np.arange(6, dtype="f4").reshape(3, 2)
    frozen, free = nn.Embedding.from_pretrained(table), nn.EmbeddingBag.from_pretrained(table, False, mode="sum")
    assert frozen(st.tensor([2])).tolist() == [[4, 5]] and free(st.tensor([[0, 2]])).tolist() == [[4, 6]]
    assert [layer.parameters()[0].requires_grad for layer in (frozen, free)] == [False, True]
    assert list(frozen.state_dict()) == ["weight"]


def test_drop_path_drops_examples() -> None:
    st.manual_seed(1)
    x = st.ones(4000, 3, 2)
    for scale, kept in ((True, 1 / 0.75), (False, 1.0)):
        y = nn.DropPath(0.25, scale)(x).numpy()
        assert set(np.unique(y)) == {np.float32(0), np.float32(kept)} and (y == y[:, :1, :1]).all()
        assert abs((y[:, 0, 0] == 0).mean() - 0.25) < 0.03
    layer = nn.DropPath(0.25)
    assert layer.eval()(x) is x and nn.DropPath()(x) is x


def test_asymmetric_padding_of_a_convolution_may_be_of_any_mode() -> None:
    x = st.tensor(drawn(2)["image"])
    for mode in ("zeros", "reflect", "replicate", "circular"):
        layer = nn.Conv2d(4, 3, 2, padding=((1, 0), (2, 1)), padding_mode=mode)
        around = F.pad(x, (2, 1, 1, 0), mode="constant" if mode == "zeros" else mode)
        close([layer(x).detach().numpy()], [F.conv2d(around, layer.weight, layer.bias).detach().numpy()], mode)


class Doubled(nn.Module):
    """Twice a tensor, and back."""

    def forward(self, x: Any) -> Any:
        return x * 2

    def right_inverse(self, x: Any) -> Any:
        return x / 2


def test_parametrizations_come_and_go() -> None:
    parametrize, x = nn.utils.parametrize, st.tensor(drawn(2)["x"])
    layer = nn.Linear(4, 3)
    w, expected = layer.weight.detach().numpy(), layer(x).detach().numpy()
    assert parametrize.register_parametrization(layer, "weight", Doubled()) is layer
    close([layer.weight.detach().numpy(), layer(x).detach().numpy()], [w, expected], "once")
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.register_parametrization(layer, "bias", Doubled())
    close([layer.weight.detach().numpy()], [2 * w], "twice")
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert list(layer.state_dict()) == ["parametrizations.weight.original", "parametrizations.bias.original"]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert list(layer.state_dict()) == ["parametrizations.bias.original", "weight"] and layer.weight.requires_grad
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and not parametrize.is_parametrized(layer)
    close([layer.weight.detach().numpy()], [w / 2], "the original")


def test_states_of_older_names_fit() -> None:
    layer = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.Linear(3, 2))
    state = {name: numbers(name, x.shape, "f") for name, x in layer.state_dict().items()}
    old = {"0.parametrizations.weight.original0": "0.weight_g", "0.parametrizations.weight.original1": "0.weight_v"}
    assert layer.load_state_dict({old.get(name, name): x for name, x in state.items()}) == ([], [])
    close([x.detach().numpy() for x in layer.state_dict().values()], list(state.values()), "older names")
    own = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    own.weight_g = st.ones(3, 1)        # a tensor of that name is itself
    state = {name: numbers(name, x.shape, "f") for name, x in own.state_dict().items()}
    assert own.load_state_dict(state) == ([], []) and own.weight_g.tolist() == state["weight_g"].tolist()


@pytest.mark.parametrize("by", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 4)])
def test_orthogonal_weights_stay_so(by: str, shape: tuple[int, ...]) -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(st.tensor(np.random.default_rng(0).standard_normal(shape).astype("f4")))

    layer = Held()
    before = layer.weight.detach().numpy()
    nn.utils.parametrizations.orthogonal(layer, "weight", by)
    optimizer = st.optim.SGD(layer.parameters(), 0.1)
    for _ in range(2):
        w = layer.weight
        tall = w.detach().numpy() if shape[-2] >= shape[-1] else w.detach().numpy().swapaxes(-1, -2)
        np.testing.assert_allclose(tall.swapaxes(-1, -2) @ tall, np.broadcast_to(np.eye(tall.shape[-1]), (
            *shape[:-2], tall.shape[-1], tall.shape[-1])), atol=2e-5)
        (w * before).sum().backward()
        optimizer.step()
    assert not np.allclose(layer.weight.detach().numpy(), w.detach().numpy(), atol=1e-3)


def test_a_network_of_computed_weights_trains_compiled() -> None:
    st.manual_seed(2)
    p = nn.utils.parametrizations
    network = nn.Sequential(p.weight_norm(nn.Conv1d(4, 6, 3)), nn.ReLU(), nn.Flatten(),
                            p.spectral_norm(nn.Linear(42, 2)))
    optimizer, x = st.optim.SGD(network.parameters(), 0.05), st.tensor(drawn(3)["signal"])

    @st.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x), st.tensor([0, 1, 0]))
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step(x)) for _ in range(20)]
    assert losses[-1] < losses[0] / 2 and step.compiles == 1
    assert float(st.linalg.svdvals(network[3].eval().weight)[0]) == pytest.approx(1, rel=0.05)


ONES, ADAPTIVE = st.ones, nn.AdaptiveLogSoftmaxWithLoss(4, 7, [3])
WRONG: list[tuple[Callable[[], Any], type[SteleError], str]] = [
    (lambda: nn.BatchNorm1d(4)(ONES(3, 5)), ShapeError, r"takes \(N, 4\) or \(N, 4, L\), got shape \(3, 5\)"),
    (lambda: nn.BatchNorm1d(4)(ONES(4, 9)), ShapeError, r"Write x\[None\] for one signal"),
    (lambda: nn.BatchNorm2d(3)(ONES(3, 5, 5)), ShapeError, r"takes images \(N, 3, H, W\).*\n?.*Write x\[None\]"),
    (lambda: nn.BatchNorm2d(3)(ONES(2, 5, 5, 3)), ShapeError, r"x.permute\(0, 3, 1, 2\)"),
    (lambda: nn.BatchNorm3d(0), ShapeError, "num_features of BatchNorm3d must be at least 1"),
    (lambda: nn.BatchNorm2d(3, momentum=1.5), SteleError, "momentum of BatchNorm2d"),
    (lambda: nn.InstanceNorm2d(3)(ONES(5, 5, 3)), ShapeError, r"x.permute\(2, 0, 1\)"),
    (lambda: nn.InstanceNorm1d(3, affine=1), ArgumentError, "affine of InstanceNorm1d must be True or False"),
    (lambda: nn.LayerNorm((3, 4))(ONES(2, 4, 3)), ShapeError, r"takes \(3, 4\) as its last axes, got shape"),
    (lambda: nn.RMSNorm(5)(ONES(5, 2)), ShapeError, "takes 5 features on the last axis"),
    (lambda: nn.GroupNorm(2, 4)(ONES(4, 3)), ShapeError, r"Write x\[None\] for one example"),
    (lambda: nn.Conv2d(3, 4, 3, padding_mode="mirror"), OptionError, "padding_mode of Conv2d"),
    (lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same"), ShapeError, "for a stride of 1"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), OptionError, "must be 'zeros'"),
    (lambda: nn.Conv2d(3, 4, 3)(ONES(5, 5, 3)), ShapeError, r"takes images \(N, 3, H, W\) or \(3, H, W\)"),
    (lambda: nn.Conv2d(1, 4, 3)(ONES(9, 5, 5)), ShapeError, r"x\[:, None\] for images of one channel"),
    (lambda: nn.Conv1d(3, 4, 3)("a"), ArgumentError, "the input of Conv1d must be a tensor"),
    (lambda: nn.Embedding(3, 4, padding_idx=3), SteleError, "padding_idx of Embedding"),
    (lambda: nn.Embedding(3, 4)(ONES(2)), DTypeError, r"takes integers, the numbers of rows.*\n?.*astype\('int64'\)"),
    (lambda: nn.Embedding.from_pretrained(np.ones(3, "f4")), ShapeError, r"needs embeddings \(rows, width\), got"),
    (lambda: nn.EmbeddingBag(3, 4, mode="median"), OptionError, "mode of EmbeddingBag"),
    (lambda: nn.EmbeddingBag(3, 4)(st.tensor([1, 2])), ShapeError, "or a row of them with offsets"),
    (lambda: nn.Bilinear(3, 4, 2)(ONES(2, 3), ONES(2, 3)), ShapeError, "takes 4 features on the last axis"),
    (lambda: nn.MaxPool2d(0), ShapeError, "kernel_size of MaxPool2d must be at least 1, got 0"),
    (lambda: nn.AvgPool1d((2, 2)), SteleError, "kernel_size of AvgPool1d"),
    (lambda: nn.MaxPool3d(2, ceil_mode="yes"), ArgumentError, "ceil_mode of MaxPool3d must be True or False"),
    (lambda: nn.MaxPool2d(2)(ONES(4, 4)), ShapeError, r"needs \(N, C, H, W\) or \(C, H, W\), got \(4, 4\)"),
    (lambda: nn.FractionalMaxPool2d(2), ShapeError, "needs an output_size or an output_ratio, and not both"),
    (lambda: nn.ReflectionPad2d((1, 2)), ShapeError, r"must be a number or \(left, right, top, bottom\), got \(1, 2\)"),
    (lambda: nn.ZeroPad3d(1)(ONES(2, 2)), ShapeError, r"takes \(\*, D, H, W\), got shape \(2, 2\)"),
    (lambda: nn.Softmax2d()(ONES(2, 2)), ShapeError, r"takes images \(N, C, H, W\) or \(C, H, W\)"),
    (lambda: nn.Dropout1d(1.5), SteleError, "p of Dropout1d"),
    (lambda: nn.DropPath(-0.5), SteleError, "p of DropPath"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 7, [5, 3]), ShapeError, "go up from 1 to less than n_classes=7"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 7, [3, 7]), ShapeError, "go up from 1 to less than n_classes=7"),
    (lambda: ADAPTIVE(ONES(2, 4), st.tensor([0])), ShapeError, r"and targets \(N,\)"),
    (lambda: ADAPTIVE(ONES(2, 4), st.tensor([0, 7])).loss.numpy(), IndexOutOfRange, "7|4"),
    (lambda: ADAPTIVE(ONES(2, 4), st.tensor([0, -1])).loss.numpy(), IndexOutOfRange, "-1"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 7, [2, 4]), ShapeError, "leave none for the last cluster"),
    (lambda: nn.utils.parametrizations.weight_norm(nn.ReLU()), ArgumentError, "has no tensor 'weight'"),
    (lambda: nn.utils.parametrizations.orthogonal(nn.LayerNorm(3)), ShapeError, "at least two axes, got weight of"),
    (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 2), orthogonal_map="qr"), OptionError, "orthogonal_map"),
    (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), use_trivialization=False), OptionError,
     "begins at a weight only with use_trivialization=True"),
    (lambda: nn.LinearCrossEntropyLoss(4, 0), ShapeError, "num_classes of LinearCrossEntropyLoss must be at least 1"),
    (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), dim=2), SteleError, "dim of spectral_norm"),
    (lambda: nn.utils.parametrize.register_parametrization(nn.Linear(3, 2), "weihgt", nn.ReLU()), ArgumentError,
     "has no tensor 'weihgt'"),
    (lambda: nn.utils.parametrize.register_parametrization(nn.Linear(3, 2), "weight", nn.Flatten(0)), ShapeError,
     r"Flatten makes \(6,\) of weight, which is \(2, 3\)"),
    (lambda: nn.utils.parametrize.remove_parametrizations(nn.Linear(3, 2), "weight"), ArgumentError, "is not computed"),
]


@pytest.mark.parametrize("call, error, message", WRONG)
def test_wrong_arguments_teach(call: Callable[[], Any], error: type[SteleError], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# What does not fit a layer or function, and beside it what just does: each as code for both libraries.
EDGES = """
nn.MaxPool2d(3, padding=2)(x) | nn.MaxPool2d(3, padding=1)(x) | nn.AvgPool1d(3, padding=2)(x[0])
nn.MaxPool2d(2, 2, 1)(x) | nn.AvgPool3d(3, padding=2)(x[None]) | F.max_pool1d(x[0], 3, 1, 2, 2)
F.max_pool1d(x[0], 4, 1, 2) | nn.AvgPool2d(0)(x) | nn.MaxPool2d(2, stride=0)(x) | nn.MaxPool2d(2, padding=-1)(x)
nn.MaxPool2d(2, dilation=0)(x) | nn.LPPool2d(2, 0)(x) | nn.AvgPool2d(2, divisor_override=0)(x)
nn.AdaptiveAvgPool2d(-1)(x) | nn.FractionalMaxPool2d(2, output_ratio=1.5)(x) | nn.Conv2d(2, 4, 0)(x)
nn.Conv2d(2, 4, 3, stride=0)(x) | nn.Conv2d(2, 4, 3, padding=-1)(x) | nn.Conv2d(2, 4, 3, groups=3)(x)
nn.Conv2d(2, 4, 3, dilation=0)(x) | nn.Conv2d(2, 3, 3, groups=2)(x) | nn.Conv2d(2, 4, 3, groups=0)(x)
nn.Conv2d(2, -4, 3)(x) | nn.ConvTranspose2d(2, 4, 3, output_padding=1)(x)
nn.ConvTranspose2d(2, 4, 3, output_padding=1, dilation=2)(x) | nn.ConvTranspose2d(2, 4, 3, 2, output_padding=2)(x)
nn.ConvTranspose2d(2, 4, 3, (2, 1), output_padding=1)(x) | nn.ConvTranspose2d(2, 4, 3, 2, 0, (1, 0))(x)
nn.ConvTranspose2d(2, 4, 3, padding=9)(x) | nn.Dropout(-0.1)(x) | nn.BatchNorm2d(0)(x)
nn.BatchNorm2d(2)(x[:1, :, :1, :1]) | nn.BatchNorm2d(2)(x[:2, :, :1, :1]) | nn.BatchNorm2d(2)(x[:0])
nn.BatchNorm2d(2).eval()(x[:1, :, :1, :1]) | nn.BatchNorm2d(2, track_running_stats=False).eval()(x[:1, :, :1, :1])
nn.BatchNorm2d(2, eps=0.0)(x) | nn.BatchNorm2d(2, eps=0.0).eval()(x) | nn.BatchNorm1d(2)(x[:1, :, 0, 0])
nn.BatchNorm2d(2)(x[:, :, :0]) | nn.InstanceNorm2d(2)(x[:, :, :1, :1]) | nn.InstanceNorm2d(2)(x[:, :, :1])
nn.InstanceNorm1d(2)(x[0, :, :1, 0]) | nn.InstanceNorm2d(2, track_running_stats=True).eval()(x[:, :, :1, :1])
nn.InstanceNorm2d(2)(x[:, :, :0]) | nn.GroupNorm(2, 2)(x[:1, :, 0, 0]) | nn.GroupNorm(2, 2)(x[:2, :, 0, 0])
nn.GroupNorm(1, 2)(x[:1, :, 0, 0]) | nn.GroupNorm(3, 2)(x) | nn.GroupNorm(0, 2)(x) | nn.LayerNorm(1)(x[:1, :1, :1, :1])
nn.LayerNorm(3)(x) | nn.LocalResponseNorm(0)(x) | nn.Hardtanh(1.0, 1.0)(x) | F.hardtanh(x, 1.0, 1.0)
F.hardtanh(x, 1.0, 0.0) | nn.RReLU(0.5, 0.2)(x) | nn.RReLU(0.2, 0.2)(x) | F.alpha_dropout(x, 1.1)
F.feature_alpha_dropout(x, -0.1) | F.dropout(x, 1.1) | F.dropout2d(x, -0.1) | nn.Dropout1d(1.0)(x[0])
F.cosine_similarity(x, x, eps=-1.0) | F.cosine_similarity(x, x, eps=0.0) | F.pdist(x[0, 0], -1.0)
F.pdist(x[0, 0], 0.0) | F.cross_entropy(x[0, 0], i, weight=w[:2]) | F.cross_entropy(x[0, 0], i, weight=w)
F.nll_loss(x[0, 0], i, weight=w[:1]) | F.cross_entropy(x[0, 0], x[0, 0], weight=w[:1])
F.multi_margin_loss(x[0, 0], i, weight=w[:2]) | F.multi_margin_loss(x[0, 0], i, p=3)
F.cross_entropy(x[0, 0], i, label_smoothing=1.1) | F.nll_loss(x[0, 0], i, w) | F.cross_entropy(x[0, 0], i + 4)
nn.Embedding(8, 2, padding_idx=8)(i) | nn.Embedding(8, 2, padding_idx=-9)(i) | nn.Embedding(8, 2, padding_idx=-8)(i)
nn.Embedding(2, 2)(i + 4) | nn.EmbeddingBag(8, 2, mode='max', sparse=True)(i[None])
nn.EmbeddingBag(8, 2, sparse=True)(i[None]) | nn.EmbeddingBag(8, 2, mode='max', scale_grad_by_freq=True)(i[None])
nn.EmbeddingBag(8, 2, scale_grad_by_freq=True)(i[None]) | nn.RNN(5, 3, num_layers=0)(x[0]) | nn.GRU(5, 0)(x[0])
nn.LSTM(5, 3, 2, dropout=1.1)(x[0]) | nn.LSTM(5, 3, proj_size=3)(x[0]) | nn.GRU(5, 3, proj_size=2)(x[0])
nn.MultiheadAttention(5, 2)(x[0], x[0], x[0]) | nn.MultiheadAttention(5, 0)(x[0], x[0], x[0]) | nn.PixelShuffle(2)(x)
nn.ChannelShuffle(3)(x) | nn.Unfold(9)(x) | nn.Fold(4, 2, stride=0)(x[0]) | nn.Upsample(size=0)(x)
F.affine_grid(x[:, 0, :2, :3], (3, 1, 0, 2)) | F.affine_grid(x[:, 0, :2, :3], (3, 1, 1, 2))
nn.init.uniform_(w, 1.0, 0.5) | nn.init.uniform_(w, 0.5, 0.5) | nn.init.xavier_uniform_(x, gain=-1.0)
nn.init.normal_(w, 0.0, -1.0) | nn.init.trunc_normal_(w, 0, 1, 2, 1)
nn.AdaptiveLogSoftmaxWithLoss(5, 6, [2], div_value=0.0) | nn.AdaptiveLogSoftmaxWithLoss(5, 6, [6]) | nn.Softmax(4)(x)
"""


def refuses(code: str, room: Any, error: type[Exception]) -> bool:
    """Whether a call raises an error."""
    try:
        y = eval(code, room)
        y = y[0] if isinstance(y, tuple) else y
        return not isinstance(y, room["nn"].Module) and y.detach().numpy() is None
    except error:
        return True


@pytest.mark.filterwarnings("ignore")
def test_what_pytorch_refuses_is_refused() -> None:
    calls = [call.strip() for call in EDGES.replace("\n", "|").split("|") if call.strip()]
    x = np.random.default_rng(0).standard_normal((3, 2, 4, 5)).astype("f4")
    arrays = {"x": x, "i": np.array([0, 2, 1, 4]), "w": np.ones(5, "f4")}

    def ask(torch: Any) -> list[bool]:
        room = {"nn": torch.nn, "F": torch.nn.functional, **{name: torch.tensor(a) for name, a in arrays.items()}}
        return [refuses(call, room, Exception) for call in calls]

    room = {"nn": nn, "F": nn.functional, **{name: st.tensor(a) for name, a in arrays.items()}}
    told = dict(zip(calls, torch_says("refusals", ask), strict=True))
    assert {call: refuses(call, room, SteleError) for call in calls} == told


NARROW = """
F.batch_norm(x, None, None, w[:2], w[:2], True) | F.batch_norm(x / 4096, None, None, training=True) | F.normalize(x)
F.batch_norm(x, w[:2], w[:2] / 256, eps=1e-12) | F.instance_norm(x) | F.instance_norm(x * 0, eps=1e-12)
F.group_norm(x, 1) | F.group_norm(x * 0, 1, eps=1e-12) | F.layer_norm(x, (5,), w, w, 1e-12)
F.layer_norm(x * 0, (5,), eps=1e-12) | F.rms_norm(x, (5,)) | F.rms_norm(x * 0, (5,), eps=1e-12) | F.log_softmax(x, -1)
F.scaled_dot_product_attention(x, x, x) | F.scaled_dot_product_attention(x, x, x, is_causal=True)
F.cross_entropy(x[0, 0], i) | F.pairwise_distance(x, -x)
"""


@pytest.mark.parametrize("call", [call.strip() for call in NARROW.replace("\n", "|").split("|") if call.strip()])
def test_layers_of_float16_are_no_coarser_than_their_results(call: str) -> None:
    """Squares, products and eps that float16 does not hold are those of float32."""
    rng = np.random.default_rng(1)
    arrays = {"x": (rng.standard_normal((3, 2, 4, 5)) * 300).astype("f2"), "w": np.ones(5, "f2")}

    def made(dtype: str) -> Any:
        room = {name: st.tensor(a, dtype=dtype) for name, a in arrays.items()}
        return eval(call, room | {"F": F, "i": st.tensor([0, 2, 1, 4])})

    found, wanted = made("float16"), made("float32").numpy()
    assert found.dtype == st.float16
    np.testing.assert_allclose(found.numpy(), wanted, rtol=4e-3, atol=4e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("layer, fits, alone", [
    (lambda: nn.BatchNorm1d(3), (4, 3), (1, 3)), (lambda: nn.InstanceNorm1d(3), (2, 3, 4), (2, 3, 1)),
    (lambda: nn.GroupNorm(3, 3), (2, 3, 1), (1, 3, 1))])
def test_one_number_of_each_channel_is_refused_at_any_size(layer: Any, fits: Any, alone: Any) -> None:
    """A program whose sizes stay open asks at its door."""
    f = st.compile(layer(), dims={"x": {k: f"n{k}" for k, (a, b) in enumerate(zip(fits, alone)) if a != b}})
    assert np.isfinite(f(ONES(*fits)).numpy()).all()
    with pytest.raises(ShapeError, match="has no variance"):
        f(ONES(*alone))
    assert f(ONES(*(n if n == m else n + 1 for n, m in zip(fits, alone)))).ndim == len(fits)
