"""Modules as PyTorch's users use them: containers, buffers, hooks, freezing, dtypes, sizes found late, states."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from peer import torch_says

import stele as st
from stele import nn, optim
from stele.errors import ArgumentError, DataError, DTypeError, GraphError, ShapeError, SteleError, UnknownName

STYLES: list[Callable[[Any], Any]] = [lambda f: f, st.compile, lambda f: st.compile(f, backend="reference")]
Lazies: Any = nn


class Net(nn.Module):
    """Parts in containers of every kind, tied weights, and buffers of both kinds."""

    def __init__(self) -> None:
        self.blocks = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 2)})
        self.scales = nn.ParameterList([st.ones(3), [1.0, 2.0, 3.0]])
        self.shifts = nn.ParameterDict({"s": st.zeros(3)})
        self.own = nn.Parameter(np.ones(3, "f4"))
        self.blocks[1].weight = self.blocks[0].weight
        self.register_buffer("steps", st.zeros(()))
        self.register_buffer("mask", st.ones(3), persistent=False)

    def forward(self, x: Any, head: str = "a") -> Any:
        for block, scale in zip(self.blocks, self.scales):
            x = block(x) * scale + self.shifts["s"]
        return self.heads[head](x * self.own * self.mask)


NAMES = ["blocks.0.weight", "blocks.0.bias", "blocks.1.bias", "heads.a.weight", "heads.a.bias", "heads.b.weight",
         "heads.b.bias", "scales.0", "scales.1", "shifts.s", "own"]


def test_members_have_paths() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.own"]
    assert len(net.parameters()) == len(NAMES) and net.parameters(recurse=False)[0] is net.own
    assert [name for name, _ in net.named_buffers()] == ["steps", "mask"] and len(net.buffers()) == 2
    assert list(net.state_dict()) == [*NAMES, "steps"] and next(iter(net.state_dict("a."))) == "a.blocks.0.weight"
    assert [type(x).__name__ for x in net.children()] == ["ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]
    assert len(net.modules()) == 9 and net.modules()[0] is net
    assert [name for name, _ in net.named_modules()][:3] == ["", "blocks", "blocks.0"]
    assert net.get_submodule("blocks.1") is net.blocks[1] and net.get_submodule("") is net
    assert net.get_parameter("blocks.1.weight") is net.blocks[0].weight and net.get_buffer("mask") is net.mask


@pytest.mark.parametrize("style", STYLES)
def test_containers_compute(style: Any) -> None:
    net = Net()
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    y, w = x, net.blocks[0].weight.numpy().T
    for block, scale in zip(net.blocks, ([1, 1, 1], [1, 2, 3])):
        y = (y @ w + block.bias.numpy()) * np.float32(scale)
    for name in ("a", "b"):
        head = net.heads[name]
        expected = y @ head.weight.numpy().T + head.bias.numpy()
        found = style(lambda x, name=name: net(x, head=name))(st.tensor(x))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_lists_and_dicts_are_used_as_such() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    layers.append(nn.Tanh()).extend([nn.SiLU(), nn.GELU()]).insert(0, nn.Sigmoid())
    assert [type(x).__name__ for x in layers] == ["Sigmoid", "ReLU", "Tanh", "SiLU", "GELU"]
    assert isinstance(layers[-1], nn.GELU) and len(layers[1:3]) == 2 and layers[1] in layers and nn.ReLU() not in layers
    layers[1], gone = nn.ELU(), layers.pop()
    del layers[0]
    layers += [gone]
    assert [type(x).__name__ for x in layers.__add__([nn.ReLU()])] == ["ELU", "Tanh", "SiLU", "GELU", "ReLU"]
    assert len(layers) == 4
    model = nn.Sequential({"fc": nn.Linear(3, 2), "act": nn.ReLU()}).append(nn.Linear(2, 1))
    assert [name for name, _ in model.named_children()] == ["fc", "act", "2"]
    assert list(model[:1].state_dict()) == ["fc.weight", "fc.bias"] and len(model[1:]) == 2
    model[0] = nn.Linear(4, 2)
    del model[1]
    assert [name for name, _ in model.named_children()] == ["fc", "2"] and model(st.ones(4)).shape == (1,)
    heads = nn.ModuleDict([("a", nn.ReLU())])
    heads["b"] = nn.Tanh()
    heads.update({"c": nn.GELU()})
    del heads["a"]
    assert list(heads) == ["b", "c"] == list(heads.keys()) and isinstance(heads.pop("c"), nn.GELU)
    assert [name for name, _ in heads.items()] == ["b"] and "b" in heads and len(list(heads.values())) == 1
    heads.clear()
    assert not len(heads)


@pytest.mark.parametrize("style", STYLES)
def test_what_is_frozen_gets_no_gradient_and_stays(style: Any) -> None:
    st.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    optimizer = optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)
    before = {name: p.numpy().copy() for name, p in model.named_parameters()}

    @style
    def step(x: Any) -> Any:
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    def moved() -> set[str]:
        found = {name for name, p in model.named_parameters() if not np.array_equal(before[name], p.numpy())}
        before.update({name: p.numpy().copy() for name, p in model.named_parameters()})
        return found

    x = st.tensor([[1.0, -2.0, 0.5]])
    step(x)
    assert moved() == {"2.weight", "2.bias"} and model[0].weight.grad is None
    assert list(st.gradients(model(x).sum(), model)) == ["2.weight", "2.bias"]
    model.requires_grad_()
    step(x)
    assert len(moved()) == 4
    model.get_parameter("2.bias").requires_grad = False     # its old gradient moves it no more
    step(x)
    assert len(moved()) == 3 and len(model.parameters()) == 4
    model.zero_grad(set_to_none=False)
    assert not model[0].weight.grad.numpy().any()
    model.zero_grad()
    assert model[0].weight.grad is None
    assert len(copy.deepcopy(model).parameters()) == 4


def test_a_parameter_is_a_tensor_of_its_own() -> None:
    x = st.ones(3)
    p, frozen = nn.Parameter(x), nn.Parameter([1.0], requires_grad=False)
    assert p is not x and p.requires_grad and not frozen.requires_grad and not x.requires_grad
    net = nn.Identity()
    net.p, net.q, net.x = p, frozen, x
    assert net.parameters() == [p, frozen] or [id(t) for t in net.parameters()] == [id(p), id(frozen)]
    (p * 2).sum().backward()
    assert p.grad is not None and p.grad.tolist() == [2, 2, 2]
    assert all(isinstance(x, nn.Parameter) for x in (p, frozen)) and not isinstance(x, nn.Parameter | int)
    assert issubclass(nn.Parameter, st.Tensor) and not isinstance(2.0, nn.Parameter)
    assert all(isinstance(x, nn.Parameter) for x in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(p))))
    with pytest.raises(ArgumentError, match="Own is made a class of parameters"):
        type("Own", (nn.Parameter,), {})


@pytest.mark.parametrize("style", STYLES)
def test_what_a_call_computes_is_no_state(style: Any) -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            self.fc, self.mean, self.shown, self.all = nn.Linear(3, 2), st.zeros(3), None, list[Any]()
            self.register_buffer("late", None)

        def forward(self, x: Any) -> Any:
            self.mean = 0.5 * self.mean + x.mean(0)
            self.h, self.late = self.fc(x), x.sum(0)
            self.shown, self.all = self.h.detach(), [self.h, (self.h * 2,)]
            if not hasattr(self, "count"):
                self.register_buffer("count", x.sum())
            return self.h.sum()

    model = Keeps()
    optimizer = optim.SGD(model.parameters(), 0.1)

    def step(x: Any) -> None:
        model(x).backward()
        optimizer.step()

    run = style(step)
    for _ in range(2):
        run(st.ones(4, 3))
    assert [*model.state_dict()] == ["fc.weight", "fc.bias", "mean", "late", "count"]
    assert [name for name, _ in model.named_parameters()] == ["fc.weight", "fc.bias"]
    assert model.shown.shape == model.all[1][0].shape == (4, 2)     # type: ignore[attr-defined]
    for other in (copy.deepcopy(model), copy.deepcopy(copy.deepcopy(model))):
        assert [*other.state_dict()] == [*model.state_dict()] and len(other.parameters()) == 2
        assert other.h.shape == (4, 2)
    model.more = st.ones(2)
    assert "more" in model.state_dict() and model.load_state_dict(model.state_dict()).missing_keys == []


def test_next_takes_from_parameters_modules_and_buffers() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert next(model.parameters()) is model[0].weight and next(model.parameters()) is model[0].weight
    several = model.parameters()
    assert next(several) is model[0].weight and next(several) is model[0].bias and len(several) == 4
    assert next(model.modules()) is model and next(model.children()) is model[0] and next(model.buffers()).shape == (2,)
    held = model.parameters()
    f = st.compile(lambda: sum((p * p).sum() for p in held))
    assert np.isclose(float(f()), sum(float((p * p).sum()) for p in model.parameters()))
    assert model.cpu() is model and [*copy.deepcopy(held)] and not [*nn.ReLU().parameters()]


RESET: list[Callable[[], Any]] = [
    lambda: nn.Linear(3, 2), lambda: nn.Bilinear(2, 3, 4), lambda: nn.Conv2d(3, 4, 3), lambda: nn.LSTM(3, 4, 2),
    lambda: nn.ConvTranspose1d(3, 4, 3, bias=False), lambda: nn.GRUCell(3, 4), lambda: nn.EmbeddingBag(5, 3),
    lambda: nn.Embedding(5, 3, padding_idx=2), lambda: nn.LayerNorm(3), lambda: nn.RMSNorm(3),
    lambda: nn.GroupNorm(1, 3), lambda: nn.BatchNorm1d(3),
    lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True)]


@pytest.mark.parametrize("make", RESET)
def test_reset_parameters_draws_anew_what_a_new_layer_has(make: Callable[[], Any]) -> None:
    st.manual_seed(3)
    layer = make()
    born = {name: x.numpy().copy() for name, x in layer.state_dict().items()}
    for x in layer.state_dict().values():
        x.assign(7)
    st.manual_seed(3)
    layer.reset_parameters()
    for name, x in layer.state_dict().items():
        assert np.array_equal(x.numpy(), born[name])


def test_a_class_that_writes_reset_parameters_is_made_by_it() -> None:
    class Twos(nn.Linear):
        def reset_parameters(self) -> None:
            nn.init.constant_(self.weight, 2.0)

    assert Twos(2, 1).weight.tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize("style", STYLES)
def test_hooks_run_in_every_style(style: Any) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    f, x = style(lambda x: model(x)), st.tensor([[1.0, -1.0]])
    plain = f(x).numpy()
    before = model.register_forward_pre_hook(lambda module, args: args[0] * 2)
    doubled = f(x).numpy()
    np.testing.assert_allclose(doubled, model[1](model[0](x * 2)).numpy(), rtol=1e-6)
    first = model[0].register_forward_hook(lambda module, args, y: y * 3)
    model[0].register_forward_hook(lambda module, args, kwargs, y: y + 1, with_kwargs=True, prepend=True)
    expected = model[1]((x * 2 @ model[0].weight.T + model[0].bias + 1) * 3)
    np.testing.assert_allclose(f(x).numpy(), expected.numpy(), rtol=1e-6)
    assert len(first.among) == 2
    for hook in (before, *first.among[:]):
        hook.remove()
        hook.remove()
    np.testing.assert_allclose(f(x).numpy(), plain)
    with model.register_forward_pre_hook(lambda module, args, kwargs: ((x * 0,), kwargs), with_kwargs=True):
        np.testing.assert_allclose(f(x).numpy(), model[1](model[0].bias).numpy()[None])
    np.testing.assert_allclose(f(x).numpy(), plain)


def test_apply_goes_from_the_inside_out() -> None:
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())), list[str]()
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_a_module_becomes_of_another_dtype(kind: str) -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    w, optional = model[0].weight, model[1].num_batches_tracked
    model(st.ones(1, 1, 4, 4)).sum().backward()
    change = {"float16": model.half, "bfloat16": model.bfloat16, "float64": model.double}[kind]
    assert change() is model and model[0].weight is w and w.requires_grad and w.leaf
    assert w.dtype.name == kind == model[1].running_mean.dtype.name == w.grad.dtype.name
    assert optional.dtype.name == "int64"
    y = model(st.ones(1, 1, 4, 4).astype(kind))
    assert y.dtype.name == kind and model.float()(st.ones(1, 1, 4, 4)).dtype.name == "float32"
    assert model.to(kind).to("cpu", dtype="float32")[0].weight.dtype.name == "float32"


LAZY: dict[str, tuple[nn.Module, nn.Module, tuple[int, ...]]] = {
    "LazyLinear": (nn.LazyLinear(4, bias=False), nn.Linear(3, 4, bias=False), (5, 3)),
    "LazyConv1d": (nn.LazyConv1d(4, 3), nn.Conv1d(3, 4, 3), (5, 3, 8)),
    "LazyConv2d": (nn.LazyConv2d(4, 3, padding=1), nn.Conv2d(3, 4, 3, padding=1), (5, 3, 8, 8)),
    "LazyConv3d": (nn.LazyConv3d(4, 3), nn.Conv3d(3, 4, 3), (5, 3, 4, 4, 4)),
    "LazyConvTranspose1d": (nn.LazyConvTranspose1d(4, 3), nn.ConvTranspose1d(3, 4, 3), (5, 3, 8)),
    "LazyConvTranspose2d": (nn.LazyConvTranspose2d(4, 3), nn.ConvTranspose2d(3, 4, 3), (5, 3, 8, 8)),
    "LazyConvTranspose3d": (nn.LazyConvTranspose3d(4, 3), nn.ConvTranspose3d(3, 4, 3), (5, 3, 4, 4, 4)),
    "LazyBatchNorm1d": (nn.LazyBatchNorm1d(eps=0.1), nn.BatchNorm1d(3, eps=0.1), (5, 3)),
    "LazyBatchNorm3d": (nn.LazyBatchNorm3d(eps=0.1), nn.BatchNorm3d(3, eps=0.1), (5, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": (nn.LazyInstanceNorm1d(), nn.InstanceNorm1d(
        3, affine=True, track_running_stats=True), (5, 3, 4)),
    "LazyInstanceNorm2d": (nn.LazyInstanceNorm2d(0.1, track_running_stats=False), nn.InstanceNorm2d(
        3, 0.1, affine=True), (3, 4, 4)),
    "LazyInstanceNorm3d": (nn.LazyInstanceNorm3d(affine=True, track_running_stats=True), nn.InstanceNorm3d(
        3, affine=True, track_running_stats=True), (5, 3, 2, 2, 2)),
    "LazyBatchNorm2d": (nn.LazyBatchNorm2d(momentum=0.2), nn.BatchNorm2d(3, momentum=0.2), (5, 3, 4, 4)),
}


def test_every_lazy_layer_has_a_row() -> None:
    assert set(LAZY) == {name for name in nn.__all__ if name.startswith("Lazy")}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", LAZY)
def test_sizes_are_found_at_the_first_call(name: str, style: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code of the layers is compared with PyTorch elsewhere
    lazy, layer, shape = copy.deepcopy(LAZY[name][0]), LAZY[name][1], LAZY[name][2]
    model = nn.Sequential(lazy, nn.ReLU())
    for ask in (model.parameters, model.state_dict, lambda: optim.SGD(model.parameters(), 0.1)):
        with pytest.raises(GraphError, match=rf"this {name} \(0\) has no parameters before it is called"):
            ask()
    assert "?" in repr(model) and isinstance(lazy, type(layer))
    f, x = style(lambda x: model(x)), st.tensor(np.random.default_rng(0).standard_normal(shape).astype("f4"))
    f(x)
    assert {key: t.shape for key, t in lazy.state_dict().items()} == {
        key: t.shape for key, t in layer.state_dict().items()}
    lazy.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(f(x).numpy(), nn.ReLU()(copy.deepcopy(layer)(x)).numpy(), rtol=1e-5, atol=1e-6)
    model.eval()
    f(x).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_state_says_what_was_missing() -> None:
    net, state = Net(), Net().state_dict()
    assert net.load_state_dict(state) == ([], [])
    del state["own"]
    found = net.load_state_dict(state | {"more": st.ones(1)}, strict=False)
    assert found.missing_keys == ["own"] and found.unexpected_keys == ["more"]
    with pytest.raises(DataError, match="missing: own; unknown: more"):
        net.load_state_dict(state | {"more": st.ones(1)})
    w = net.blocks[0].weight
    state = {name: np.asarray(x.numpy(), "f8") + 1 for name, x in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.blocks[0].weight is w and w.dtype.name == "float64" and w.requires_grad
    net.load_state_dict({name: x.astype("f4") for name, x in state.items()})
    assert w.dtype.name == "float64"
    assert net.steps.dtype.name == "float64" and net.mask.dtype.name == "float32"


REFUSED: list[tuple[Callable[[], Any], type[SteleError], str]] = [
    (lambda: nn.ModuleList([3]), ArgumentError, "a layer of ModuleList must be a module, got int: 3"),
    (lambda: nn.ModuleDict({"a": nn.ReLU}), ArgumentError, r"Make one: ReLU\(...\)"),
    (lambda: nn.ModuleDict({"a.b": nn.ReLU()}), ArgumentError, "a word without dots"),
    (lambda: nn.ModuleDict({"abc": nn.ReLU()})["abd"], UnknownName, "has no 'abd'. Did you mean 'abc'"),
    (lambda: nn.ModuleList([nn.ReLU()])[1], IndexError, "has 1 parts, none of number 1"),  # type: ignore[list-item]
    (lambda: nn.Parameter([1, 2]), DTypeError, "only float tensors carry gradients"),
    (lambda: nn.ReLU().register_buffer("a.b", None), ArgumentError, "a word without dots, got str: 'a.b'"),
    (lambda: nn.ReLU().register_buffer("forward", None), ArgumentError, "another one, as every ReLU has"),
    (lambda: nn.ReLU().register_parameter("w", st.ones(2)), ArgumentError, "must be a parameter or None"),
    (lambda: nn.ReLU().add_module("w", 3), ArgumentError, "must be a module or None"),  # type: ignore[arg-type]
    (lambda: nn.ReLU().register_forward_hook(3), ArgumentError, "a hook"),  # type: ignore[arg-type]
    (lambda: nn.Linear(2, 3).get_parameter("wieght"), UnknownName, "has no 'wieght'. Did you mean 'weight'?"),
    (lambda: Net().get_submodule("block.0"), UnknownName, "has no 'block.0'. Did you mean 'blocks.0'?"),
    (lambda: Net().get_buffer("own"), UnknownName, "has no 'own'"),
    (lambda: nn.Linear(2, 3).to("int32"), DTypeError, "the parameters of a module are floats, got int32"),
    (lambda: Lazies.LazyLinear(4, 5, 6), TypeError, "too many positional"),  # type: ignore[list-item]
    (lambda: nn.LazyConv2d(4, 3)(st.ones(3)), ShapeError, r"takes its size from axis 1, got shape \(3,\)"),
]


@pytest.mark.parametrize("wrong, error, message", REFUSED)
def test_bad_calls_are_refused(wrong: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_parts_of_containers_are_attributes() -> None:
    model = nn.Sequential({"fc": nn.Linear(2, 3), "act": nn.ReLU()})
    assert model.fc is model[0] and not hasattr(model, "head")
    model.add_module("head", nn.Linear(3, 1))
    model.tail = nn.Linear(1, 4)
    assert model(st.ones(1, 2)).shape == (1, 4) and [name for name, _ in model.named_children()] == [
        "fc", "act", "head", "tail"]
    model.fc = nn.Linear(5, 3)
    assert model(st.ones(1, 5)).shape == (1, 4) and len(model) == 4 and len(model.parameters()) == 6
    y = st.compile(lambda x: model.head(x))(st.ones(1, 3))
    np.testing.assert_allclose(y.numpy(), model[2](st.ones(1, 3)).numpy(), rtol=1e-6)
    assert copy.deepcopy(model).head is not model.head
    heads = nn.ModuleDict({"up": nn.ReLU()})
    heads.down = nn.Linear(1, 1)
    assert heads.up is heads["up"] and list(heads) == ["up", "down"] and len(heads.parameters()) == 2


class Scaled(nn.Sequential):
    """A row of layers with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(2, 2))
        self.scale = nn.Parameter([2.0])

    def forward(self, x: st.Tensor) -> st.Tensor:
        return super().forward(x) * self.scale


def test_parts_are_taken_out_as_attributes_and_as_of_a_dict() -> None:
    net, heads = nn.Sequential(nn.ReLU(), nn.Tanh()), nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    net.fc = nn.Linear(2, 2)
    assert len(net) == 3
    del net.fc
    assert [type(x).__name__ for x in net] == ["ReLU", "Tanh"] and not list(net.state_dict())
    net.kept = 3
    del net.kept, heads.a
    assert not hasattr(net, "kept") and list(heads) == ["b"]
    with pytest.raises(AttributeError, match="a"):
        del heads.a
    scales = nn.ParameterDict({"a": st.ones(2)})
    assert scales.get("b") is None and scales.get("b", 1) == 1 and scales.get("a") is scales["a"]
    assert scales.setdefault("b", st.zeros(1)) is scales["b"] is scales.setdefault("b", st.ones(1))
    other = scales.copy()
    assert scales.popitem()[0] == "b" and list(scales) == ["a"] and list(other) == ["a", "b"]
    assert other["a"] is scales["a"]
    with pytest.raises(UnknownName, match="no part"):
        nn.ModuleDict().popitem()


CONTAINERS = "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"


def test_containers_have_the_methods_and_operators_of_pytorch() -> None:
    def ask(torch: Any) -> dict[str, list[str]]:
        kinds = {name: getattr(torch.nn, name) for name in CONTAINERS}
        return {name: sorted(method for method in {*dir(kind)} - {*dir(torch.nn.Module)}
                             if method[0] != "_" or method[:2] == "__") for name, kind in kinds.items()}

    for name, methods in torch_says("containers", ask).items():
        assert [method for method in methods if not hasattr(getattr(nn, name), method)] == [], name


def test_containers_are_joined_and_repeated_as_those_of_pytorch() -> None:
    scales = nn.ParameterDict().fromkeys(["a", "b"], st.ones(2))
    assert type(scales) is nn.ParameterDict and scales["a"] is not scales["b"] and [*reversed(scales)] == ["b", "a"]
    more = scales | {"c": st.zeros(1)}
    assert [*more] == ["a", "b", "c"] and more["a"] is scales["a"] and len(scales) == 2
    assert [*({"c": st.zeros(1)} | scales)] == ["c", "a", "b"]
    held = scales
    scales |= {"d": 1.0}
    assert scales is held and [*scales] == ["a", "b", "d"]
    with pytest.raises(ArgumentError, match="what the parameters begin as"):
        nn.ParameterDict.fromkeys(["a"])
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    twice = 2 * net
    assert [twice[0] is twice[2] is net[0], len(twice), len(net * 3), len(net)] == [True, 4, 6, 2]
    held = net
    net *= 2
    assert net is held and len(net) == 4 and net[2] is net[0]
    for times in (0, 1.5):
        with pytest.raises((ShapeError, ArgumentError), match="a Sequential is multiplied with"):
            net * times
    for name in CONTAINERS[1:]:
        assert len(getattr(nn, name)(None)) == 0


def test_what_a_container_is_given_beside_its_parts_belongs_to_it() -> None:
    assert list(Scaled().state_dict()) == ["0.weight", "0.bias", "scale"]
    assert nn.Sequential().add_module("0", nn.ReLU()) is None


def test_a_transposed_convolution_is_told_its_size() -> None:
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    x = st.ones(2, 1, 4, 5)
    for size in ((7, 10), (2, 1, 8, 9)):
        again = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1, output_padding=(size[-2] - 7, size[-1] - 9))
        again.load_state_dict(layer.state_dict())
        np.testing.assert_allclose(layer(x, output_size=size).numpy(), again(x).numpy(), rtol=1e-6)
        np.testing.assert_allclose(st.compile(layer)(x, size).numpy(), again(x).numpy(), rtol=1e-6)
    with pytest.raises(ShapeError, match=r"from \[7, 9\] to \[8, 10\]"):
        layer(x, (9, 9))


class Tied(nn.Module):
    def __init__(self) -> None:
        self.first, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.scales = [nn.Parameter(st.ones(3)), {"more": nn.Parameter(st.ones(3))}]

    def forward(self, x: st.Tensor, times: int = 1) -> st.Tensor:
        return self.second(self.norm(self.first(x))) * self.scales[0] * self.scales[1]["more"] * times


@pytest.mark.parametrize("style", STYLES[:2])
def test_a_module_is_called_with_other_tensors(style: Any) -> None:
    st.manual_seed(0)
    model, other = Tied(), Tied()
    before = {name: x.tolist() for name, x in model.state_dict().items()}
    held = dict(model.named_parameters())
    call = style(lambda tensors, x: nn.functional_call(model, tensors, (x,), {"times": 2}))
    for n in (4, 4, 3):
        x = st.randn(n, 3)
        found = call({**dict(other.named_parameters()), **{n: b.clone() for n, b in other.named_buffers()}}, x)
        assert np.allclose(found.numpy(), other(x, 2).numpy(), atol=1e-6)
    assert {name: x.tolist() for name, x in model.state_dict().items()} == before
    assert dict(model.named_parameters()) == held and model.second.weight is model.first.weight
    assert call({}, st.ones(2, 3)).tolist() == model(st.ones(2, 3), 2).tolist()
    with pytest.raises(UnknownName, match=r"this Tied has no 'fist\.bias'.* Did you mean 'first\.bias'"):
        nn.functional_call(model, {"fist.bias": st.ones(3)}, st.ones(2, 3))


@pytest.mark.parametrize("style", STYLES[:2])
def test_gradients_go_through_steps_of_an_inner_loop_and_over_examples(style: Any) -> None:
    model = nn.Linear(1, 1)
    w = model.weight.item() * 1.0

    @style
    def outer(x: st.Tensor) -> st.Tensor:
        own = {"weight": model.weight, "bias": st.zeros(1)}
        (g,) = st.gradients((nn.functional_call(model, own, x) ** 2).sum(), [own["weight"]])
        model.zero_grad()
        (nn.functional_call(model, own | {"weight": own["weight"] - 0.1 * g}, x) ** 2).sum().backward()
        return model.weight.grad

    assert outer(st.ones(1, 1)).item() == pytest.approx(2 * w * 0.8 ** 2, rel=1e-5)     # of (w - 0.2 w) ** 2
    assert outer(st.ones(1, 1) * 2).item() == pytest.approx(2 * 4 * w * 0.2 ** 2, rel=1e-4)
    many = style(st.vmap(lambda weight, x: nn.functional_call(model, {"weight": weight}, x)))
    assert many(st.ones(5, 1, 1), st.ones(5, 2, 1)).shape == (5, 2, 1)
