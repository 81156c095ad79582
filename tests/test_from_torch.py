"""Modules of PyTorch as modules of Stele: every core op, whole models, shared memory, functions both ways."""
from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any

import aten
import numpy as np
import peer
import pytest

import stele as st
from stele import nn, optim
from stele.errors import ArgumentError, DataError, GraphError, ShapeError
from stele.interop import torch as stt
from stele.interop.torch.program import Graph, Node, Ref
from stele.interop.torch.run import apply, checked
from stele.interop.torch.table import RULES

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch: pip install torch")
F32 = np.float32


def torch() -> Any:
    return import_module("torch")


def overload(name: str) -> Any:
    """An op of PyTorch's by its name here."""
    op, _, kind = name.partition(".")
    return getattr(getattr(torch().ops.aten, op), kind or "default")


def theirs(x: Any) -> Any:
    """An argument as PyTorch takes it."""
    if isinstance(x, np.ndarray | np.generic):
        return torch().tensor(np.asarray(x))
    if isinstance(x, str) and x in ("int64", "float32", "float64"):
        return getattr(torch(), x)
    return [theirs(part) for part in x] if isinstance(x, list) else x


def ours(x: Any) -> Any:
    """An argument as a rule takes it."""
    if isinstance(x, np.ndarray | np.generic):
        return st.tensor(np.asarray(x))
    return [ours(part) for part in x] if isinstance(x, list) else x


def leaves(y: Any) -> list[Any]:
    """The tensors of containers, in order."""
    return [x for part in y for x in leaves(part)] if isinstance(y, tuple | list) else [y]


def many(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def called(name: str, case: aten.Case) -> list[np.ndarray[Any, Any]]:
    """What PyTorch makes of a case; an empty array where there is nothing to compare."""
    op = overload(name)
    own = [a for a in op._schema.arguments if a.name not in (
        "layout", "device", "pin_memory", "memory_format", "non_blocking", "generator")]
    given = dict(zip((a.name for a in own), map(theirs, case), strict=True))
    by_place = [given[a.name] for a in own if not a.kwarg_only]
    by_name = {a.name: given[a.name] for a in own if a.kwarg_only}
    made = many(op(*by_place, **by_name))
    return [np.asarray(y) if y is not None else np.empty(0) for y in (made[:1] if name == "_embedding_bag" else made)]


ROWS = [(name, case) for name, cases in aten.CASES.items() for case in cases]


def asked(_: Any) -> list[np.ndarray[Any, Any]]:
    """All results of all cases in a row, behind how many each case has."""
    made = [called(name, case) for name, case in ROWS]
    flat = [np.zeros_like(y) if name in aten.DRAWN else y for (name, _), ys in zip(ROWS, made) for y in ys]
    return [np.array([len(ys) for ys in made]), *flat]


@pytest.fixture(scope="module")
def answers() -> dict[str, list[list[np.ndarray[Any, Any]]]]:
    """What PyTorch gives for every case, by op."""
    counts, *flat = peer.torch_gives("aten", asked)
    rest, found = iter(flat), dict[str, list[Any]]()
    for (name, _), n in zip(ROWS, counts, strict=True):
        found.setdefault(name, []).append(list(islice(rest, int(n))))
    return found


@pytest.mark.parametrize("name", aten.CASES)
def test_core_op(name: str, answers: dict[str, list[list[np.ndarray[Any, Any]]]]) -> None:
    for case, wanted in zip(aten.CASES[name], answers[name], strict=True):
        whole = name.startswith("sym_") or name == "_local_scalar_dense"
        node = Node(name, name, (), (None,) * len(wanted) if whole else tuple(str(y.dtype) for y in wanted))
        made = many(apply(node, [ours(x) for x in case]))
        for y, own in zip(wanted, made, strict=name != "_embedding_bag"):
            found = own.numpy() if isinstance(own, st.Tensor) else np.asarray(own)
            assert found.shape == y.shape and (whole or found.dtype == y.dtype), (case, found.dtype, y.dtype)
            if name not in aten.DRAWN:
                np.testing.assert_allclose(found, y, 2e-5, 2e-5 * max(1, np.abs(y).max(initial=0)), err_msg=str(case))


RAMP, ZERO = np.array([[-1, 0, 1, 2]], "f4"), np.zeros((1, 4), "f4")
CORNERS: dict[str, list[tuple[aten.Case, list[float]]]] = {
    "clamp": [((RAMP, -1, 1), [1, 1, 1, 0]), ((RAMP, None, 0), [1, 1, 0, 0])],
    "clamp.Tensor": [((RAMP, ZERO, ZERO + 1), [0, 1, 1, 0])],
    "clamp_min": [((RAMP, 0), [0, 1, 1, 1])], "clamp_max": [((RAMP, 1), [1, 1, 1, 0])],
    "hardtanh": [((RAMP, -1, 1), [0, 1, 0, 0])], "elu": [((RAMP, 2, 1, 1), [2 * math.exp(-1), 2, 1, 1])],
    "linalg_vector_norm": [((ZERO, 2, None, False, None), [0, 0, 0, 0]), ((RAMP, 1, [1], True, None), [-1, 0, 1, 1])],
    "xlogy.Scalar_Other": [((RAMP, math.e), [1, 1, 1, 1])], "maximum": [((RAMP, ZERO), [0, 0.5, 1, 1])],
}
"""Ops at bounds, ties and zeros, with the gradients that PyTorch has there."""


@pytest.mark.parametrize("name", CORNERS)
def test_gradients_at_bounds_are_those_of_pytorch(name: str) -> None:
    for case, wanted in CORNERS[name]:
        more = [ours(x) for x in case[1:]]
        found = st.grad(lambda x, more=more: RULES[name](x, *more).sum())(ours(case[0]))
        np.testing.assert_allclose(found.numpy()[0], wanted, 1e-6, err_msg=str(case))
        if find_spec("torch"):
            x = theirs(case[0]).requires_grad_()
            own = {a.name: theirs(v) for a, v in zip(overload(name)._schema.arguments, (x, *case[1:]), strict=False)}
            overload(name)(**{**own, "self": x}).sum().backward()
            np.testing.assert_allclose(x.grad.numpy()[0], wanted, 1e-6, err_msg=str(case))


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_gradients_end_where_they_do_in_pytorch() -> None:
    t = torch()

    class Quantised(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.table = t.nn.Parameter(t.randn(4, 4)), t.nn.Parameter(t.randn(5, 4))
            self.register_buffer("mean", t.zeros(4))

        def forward(self, x: Any) -> Any:
            z = x @ self.w
            found = self.table[t.cdist(z, self.table).argmin(-1)]
            with t.no_grad():
                self.mean.mul_(0.9).add_(z.mean(0), alpha=0.1)
                scale = self.w.view(-1).square().sum().sqrt()
                with t.enable_grad():
                    inner = z * 3
            loss = (found - z.detach()).square().mean() + (found.detach() - z).square().mean()
            return z + (found - z).detach() - self.mean, loss / scale, inner, (self.w[0] * self.w[1].clone().detach_())

    t.manual_seed(0)
    model, x = Quantised(), t.randn(3, 4)
    exported = t.export.export(model, (x,))
    text = str(exported.graph)
    for own in stt.from_torch(model, (x,)), stt.from_torch(exported):
        other = copy.deepcopy(model)
        for _ in range(2):
            wanted, found = other(x), own(st.from_dlpack(x))
            close(found, wanted)
            sum((y.sum() * (n + 1) for n, y in enumerate(wanted)), t.zeros(())).backward()
            sum((y.sum() * (n + 1) for n, y in enumerate(found)), st.tensor(0.0)).backward()
            for name, p in other.named_parameters():
                close(own.weights[name].grad, p.grad)
            close(own.weights["mean"], other.mean)
        for name in ("w", "table"):
            own.weights[name].grad = None
        own.weights["mean"].assign(st.zeros(4))
    assert str(exported.graph) == text


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_what_checkpoints_compute_again_has_gradients() -> None:
    t = torch()
    checkpoint = import_module("torch.utils.checkpoint").checkpoint

    class Model(t.nn.Linear):
        def forward(self, input: Any) -> Any:
            again = super().forward
            return checkpoint(lambda x: again(x).tanh(), again(input), use_reentrant=True)

    model, x = Model(2, 2), t.ones(1, 2)
    own = stt.from_torch(model, (x,))
    model(x).sum().backward()
    own(st.from_dlpack(x)).sum().backward()
    close(own.weights["weight"].grad, model.weight.grad)


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_open_sizes_with_bounds() -> None:
    t = torch()
    model, x = t.nn.Sequential(t.nn.Conv2d(1, 2, 3, 2, 1), t.nn.AdaptiveAvgPool2d(1)), t.randn(2, 1, 8, 9)
    with pytest.raises(ArgumentError, match=r"(?s)generated guard.*torch.export.Dim"):
        stt.from_torch(model, (x,), dims={"input": {3: "w"}})
    own, other = stt.from_torch(model, (x,), dims={"input": {3: t.export.Dim("w", min=3)}}), t.randn(2, 1, 8, 12)
    assert own.dims == {"input": {3: "w"}}
    close(own(st.from_dlpack(other)), model(other))
    even = stt.from_torch(t.nn.PixelUnshuffle(2), t.ones(1, 1, 4, 4), dims={"input": {3: 2 * t.export.Dim("w")}})
    assert st.compile(even, dims=even.dims)(st.ones(1, 1, 4, 10)).shape == (1, 4, 2, 5)


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_sizes_are_read_without_gradients() -> None:
    t = torch()

    class Placed(t.nn.Linear):
        def forward(self, input: Any) -> Any:
            with t.no_grad():
                places = (t.arange(input.shape[0]) / input.shape[0])[:, None] * input.mean() * self.weight[0]
            return super().forward(input) + places

    model, other = Placed(2, 2), t.randn(5, 2)
    own = stt.from_torch(model, (t.ones(3, 2),), dims={"input": {0: "n"}})
    compiled = st.compile(own, dims=own.dims)
    for f in own, compiled:
        close(f(st.from_dlpack(other)), model(other))
    own(st.from_dlpack(other)).sum().backward()
    model(other).sum().backward()
    close(own.weights["weight"].grad, model.weight.grad)
    assert compiled.compiles <= 1


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_writing_to_a_parameter_is_refused() -> None:
    t = torch()

    class Halved(t.nn.Linear):
        def forward(self, input: Any) -> Any:
            with t.no_grad():
                self.weight.div_(2)
            return super().forward(input)

    with pytest.raises(ArgumentError, match=r"writes to its parameter weight.*before it is exported"):
        stt.from_torch(Halved(2, 2), (t.ones(1, 2),))


@needs_torch
def test_a_backward_of_ones_own_is_refused() -> None:
    t = torch()

    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return g[0] * 5

    class Model(t.nn.Linear):
        def forward(self, input: Any) -> Any:
            return Double.apply(super().forward(input))

    model, x = Model(2, 2), t.ones(1, 2)
    with pytest.raises(ArgumentError, match=r"Double is a torch.autograd.Function, whose backward is lost"):
        stt.from_torch(model, (x,))
    assert t.autograd.Function.apply.__func__.__module__.startswith("torch.")
    model.requires_grad_(False)
    close(stt.from_torch(model, (x,))(st.from_dlpack(x)), model(x))


@needs_torch
def test_strides_of_a_view_are_refused() -> None:
    t = torch()

    class Windows(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return (x.t() if self.turned else x).as_strided((2, 2), (1, 2))

    module = Windows()
    for module.turned in (False, True):
        x = t.arange(12.0).reshape(3, 4)
        if module.turned:
            with pytest.raises(DataError, match=r"as_strided.*a view of other memory: shape \(4, 3\), strides"):
                stt.from_torch(module, (x,))
        else:
            close(stt.from_torch(module, (x,))(st.from_dlpack(x)), module(x))


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_ops_beyond_the_core() -> None:
    t = torch()

    class Many(t.nn.Module):
        def forward(self, x: Any, z: Any) -> Any:
            return [*t.var_mean(x, 1), *t.std_mean(x, (0, 1), correction=0), t.fmax(x, z), t.fmin(x, z), t.hypot(x, z),
                    t.copysign(x, z), t.signbit(x), t.xlogy(x, z.abs()), t.xlogy(x, 2.0), t.special.xlog1py(x, 2.0),
                    t.addbmm(t.ones(3, 3), t.stack([x, z]), t.stack([z.mT, x.mT]), beta=0.5, alpha=2), t.angle(x),
                    *t.frexp(x), t.histc(x, 4, -1, 2), x.put(t.tensor([0, 5]), z[0, :2], accumulate=True),
                    x.index_reduce(0, t.tensor([2, 2, 0]), z, "mean"),
                    x.index_reduce(1, t.tensor([1, 0, 1, 1]), z, "amax"),
                    x[0].masked_scatter(z > 0, t.arange(12.0)), t.nextafter(x, z),
                    t.fft.ifft(t.fft.fft(x)).conj().real, t.special.log_ndtr(x), t.special.ndtri(z.sigmoid()),
                    t.linalg.cholesky(x @ x.mT + t.eye(3)),
                    t.linalg.solve(t.eye(3) * 2 + t.ones(2, 3, 3), z),      # one stack of columns for two matrices
                    t.linalg.solve(t.eye(3) * 2 + t.ones(4, 3, 3), z.mT),
                    t.linalg.solve(z[:, :3] + t.eye(3) * 9, z[:, 0]),
                    t.linalg.pinv(x + t.eye(3, 4)), t.linalg.eigvals(t.diag(z[:, 0])).real,
                    t.nn.functional.adaptive_max_pool3d(x.reshape(1, 3, 2, 2), (2, 1, 1)),
                    t.nn.functional.hinge_embedding_loss(x, t.ones(3, 4).neg()), t.linalg.vector_norm(x, 3, dim=1),
                    t.nn.functional.multilabel_margin_loss(x, t.tensor([[0, 2, -1, 1]] * 3))]

    class Counted(t.nn.Module):
        def forward(self, x: Any, n: Any) -> Any:
            return [x.masked_select(x > 0), t.bincount(n, minlength=5), *t.unique(n, return_inverse=True,
                                                                                  return_counts=True)]

    class Grouped(t.nn.Module):
        def forward(self, x: Any, w: Any, n: Any) -> Any:
            a = w[0] + 4 * t.eye(4)
            rows = [t.segment_reduce(x, how, lengths=n) for how in ("sum", "mean", "max", "min", "prod")]
            return [*t.mode(x, 0)[:1], *t.mode(x, 1, keepdim=True)[:1], *t.linalg.lu(a), *t.linalg.lu_factor(a),
                    t.linalg.lu_solve(*t.linalg.lu_factor(a), x.mT), *rows,
                    t.repeat_interleave(x, n, dim=0, output_size=3),
                    t._grouped_mm(x.repeat(1, 2).bfloat16(), w.repeat(1, 2, 2).bfloat16(), n.cumsum(0).int()).float()]

    generator = t.Generator().manual_seed(0)
    x, z = (t.randint(-2, 3, (3, 4), generator=generator) + 0.5 * k for k in (1, 0))
    own = stt.from_torch(Many(), (x, z))
    for f in (own, st.compile(own)):
        close(f(st.from_dlpack(x), st.from_dlpack(z)), Many()(x, z))
    w, n = t.randn(3, 4, 4, generator=generator), t.tensor([1, 0, 2])
    own = stt.from_torch(Grouped(), (x, w[:, :, :4], n))
    for f in (own, st.compile(own)):
        close(f(*map(st.from_dlpack, (x, w, n))), Grouped()(x, w, n))
    n = t.tensor([3, 1, 3])
    close(stt.from_torch(Counted(), (x, n))(st.from_dlpack(x), st.from_dlpack(n)), Counted()(x, n))


@needs_torch
def test_every_core_op_has_a_rule_and_a_case() -> None:
    names = {name[6:].partition(".") for name in torch()._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    ops = [getattr(getattr(torch().ops.aten, name, None), kind or "default", None) for name, _, kind in names]
    core = {op.name().removeprefix("aten::") for op in ops if op is not None and torch().Tag.core in op.tags}
    core -= {"resize_"}     # the exporter writes it as a function
    assert len(core) > 180 and core <= RULES.keys()
    assert core <= {name.removesuffix(".default") for name in aten.CASES} | {
        "bitwise_xor.Scalar", "sym_is_contiguous", "avg_pool1d", "adaptive_avg_pool1d"}


def test_ops_without_a_rule_are_named_in_one_error() -> None:
    nodes = tuple(Node(f"n{k}", op, (Ref("x"),), ("float32",)) for k, op in enumerate(["frobnicate", "own::op", "relu",
                                                                                     "frobnicate"]))
    with pytest.raises(DataError, match=r"2 ops that have no rule: frobnicate \(2 times\), own::op"):
        checked(Graph(("x",), nodes, [Ref("n2")]))


def close(found: Any, wanted: Any) -> None:
    """Whether containers of tensors are equal, dtypes and shapes too."""
    if isinstance(wanted, tuple | list):
        for a, b in zip(found, wanted, strict=True):
            close(a, b)
        return
    wanted = wanted.detach().numpy()
    assert found.dtype == str(wanted.dtype) and found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, 1e-5, 1e-5)


def models() -> dict[str, tuple[Any, Sequence[Any], Any, Sequence[Any]]]:
    """Modules of PyTorch with what they take, what of it is open, and the same at other sizes."""
    t = torch()
    t.manual_seed(0)
    nn, r = t.nn, t.randn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
            self.fc, self.pool = nn.Linear(8, 4), nn.MaxPool2d(2)
            self.register_buffer("scale", t.full((4,), 2.0), persistent=False)

        def forward(self, x: Any, parts: Any = None, *, both: bool = False) -> Any:
            h = self.pool(t.relu(self.norm(self.conv(x)))).mean((2, 3))
            y = self.fc(h) * self.scale
            return {"y": y, "parts": (h, [y.argmax(1)])} if both else y

    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
    return {
        "mlp": (nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 2)), [r(3, 4)], {"input": {0: "n"}}, [r(7, 4)]),
        "cnn": (Net(), [r(2, 3, 8, 8)], {"x": {0: "n"}}, [r(5, 3, 8, 8)]),
        "transformer": (nn.TransformerEncoder(layer, 2), [r(2, 5, 16)], {"src": {0: "n", 1: "t"}}, [r(3, 7, 16)]),
        "lstm": (nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), [r(2, 3, 4)], {"input": {0: "n"}},
                 [r(4, 3, 4)]),
        "gru": (nn.GRU(4, 5), [r(3, 2, 4)], {"input": {1: "n"}}, [r(3, 6, 4)]),
    }


@needs_torch
@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer", "lstm", "gru"])
@pytest.mark.filterwarnings("ignore")
def test_a_model_at_open_sizes(name: str) -> None:
    module, args, dims, others = models()[name]
    own = stt.from_torch(module.eval(), args, dims=dims)
    compiled = st.compile(own, dims=own.dims)
    assert own.dims == dims
    for given in (args, others):
        wanted = module(*given)
        close(own(*map(st.from_dlpack, given)), wanted)
        close(compiled(*map(st.from_dlpack, given)), wanted)
    assert compiled.compiles == 1
    assert [n for n, _ in own.named_parameters()] == [n for n, _ in module.named_parameters()]
    assert set(own.state_dict()) == set(module.state_dict())


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_weights_are_shared_and_trained() -> None:
    t = torch()
    module, args, dims, _ = models()["cnn"]
    own = stt.from_torch(module.train(), args, dims=dims)
    assert own.weights["fc.weight"].numpy().ctypes.data == module.fc.weight.data_ptr()
    x, y = t.randn(16, 3, 8, 8), t.randint(0, 4, (16,))
    ours_, theirs_ = optim.SGD(own.parameters(), lr=0.1), t.optim.SGD(module.parameters(), lr=0.1)

    @st.compile
    def step(x: Any, y: Any) -> Any:
        ours_.zero_grad()
        loss = st.cross_entropy(own(x), y)
        loss.backward()
        ours_.step()
        return loss

    before = module.fc.weight.detach().clone()
    losses = [float(step(x.numpy(), y.numpy())) for _ in range(3)]
    assert t.equal(before, module.fc.weight)        # what is learnt here is not written over there
    for wanted in losses:
        theirs_.zero_grad()
        loss = t.nn.functional.cross_entropy(module(x), y)
        loss.backward()
        theirs_.step()
        assert abs(loss.item() - wanted) < 1e-4
    close(own.weights["norm.running_mean"], module.norm.running_mean)
    close(own.weights["norm.running_var"], module.norm.running_var)
    assert int(own.weights["norm.num_batches_tracked"]) == 3


def masked(t: Any) -> dict[str, Any]:
    """Functions that write through masks, as modules do."""
    def elementwise(x: Any, w: Any) -> Any:
        y = x.clone()
        mask = y > 0
        y[mask] *= w[0, 0]
        y[mask] += 1
        y[mask] = y[mask].log() - t.where(y[mask] > 2, y[mask].clamp(max=3), w[0, 1] / y[mask])
        y[~mask] = 0
        return y

    def spelled_twice(x: Any, w: Any) -> Any:
        y = x.clone()
        y[y < 0] = F.gelu(y[y < 0]) * 2
        y[y < 0] **= 2
        return y.masked_fill(y > 3, 0)

    def of_rows(x: Any, w: Any) -> Any:
        y = x.clone()
        mask = x[:, 0] > 0
        y[mask] = F.layer_norm(F.linear(x[mask], w), (3,)).softmax(-1) + w[0]
        y[mask, 1:] *= w[1, 1:]
        y[mask, 2] = y[mask, 0].double().exp().float()
        return y

    def of_columns(x: Any, w: Any) -> Any:
        y, mask = x.clone(), w[0] > -9
        y[:, mask] = y[:, mask] * w[1, 1] + x[:, :1]
        y[..., w[1] > 0] -= 1
        return y

    def added(x: Any, w: Any) -> Any:
        mask = x > 0
        y = w[0].expand_as(x).index_put((mask,), x[mask] * 2, accumulate=True)
        return y.index_put((mask,), w[0, 0], accumulate=True).index_put((x[:, 0] > 0,), w[1], accumulate=True)

    def summed(x: Any, w: Any) -> Any:
        mask = x[:, 0] > -9
        a, b = x[mask] * w[0], x[x > -9]
        return a.sum(), (a - 1).square().mean(), a.mean(0), a.sum(1).sum(), (b - b.mean()).abs().sum()

    F = t.nn.functional
    return {f.__name__: f for f in (elementwise, spelled_twice, of_rows, of_columns, added, summed)}


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["elementwise", "spelled_twice", "of_rows", "of_columns", "added", "summed"])
def test_what_masks_choose_is_computed_with(name: str) -> None:
    t = torch()
    f = masked(t)[name]
    module = type("Masked", (t.nn.Module,), {"forward": lambda self, x, w: f(x, w)})()
    x, w = (t.randn(n, 3, generator=t.Generator().manual_seed(n)) for n in (4, 3))
    own = stt.from_torch(module, (x, w), dims={"x": {0: "n"}})
    compiled = st.compile(own, dims=own.dims)
    slopes = st.grad(lambda x, w: sum((y.sum() for y in leaves(own(x, w))), st.tensor(0.0)), (0, 1))
    for given in (x, w), (-x[:3].abs(), w), (t.zeros(7, 3), w):
        a, b = (z.clone().requires_grad_() for z in given)
        wanted = f(a, b)
        total = sum((y.sum() for y in leaves(wanted)), t.zeros(()))
        rights = t.autograd.grad(total, (a, b), materialize_grads=True)
        for g in own, compiled:
            close(g(*map(st.from_dlpack, given)), wanted)
        for g in slopes, st.compile(slopes):
            for found, right in zip(g(*map(st.from_dlpack, given)), rights, strict=True):
                np.testing.assert_allclose(found.numpy(), right.numpy(), 1e-4, 1e-5)
    assert compiled.compiles == 1


@needs_torch
def test_loops_and_effects_of_pytorch() -> None:
    t = torch()
    maps, scans, whiles = (import_module(f"torch._higher_order_ops.{name}") for name in ("map", "scan", "while_loop"))

    def steps(x: Any) -> Any:
        return whiles.while_loop(lambda k, y: k < 5, lambda k, y: (k + 1, y * 1.5), (t.tensor(0), x))

    def sums(x: Any) -> Any:
        return scans.scan(lambda total, row: (total + row, (total * row).clone()), t.zeros(3), x)

    def rows(x: Any) -> Any:
        return maps.map(lambda row: row.sin().sum(), x)

    def factors(x: Any) -> Any:
        a = x @ x.mT + 3 * t.eye(4)
        return t.linalg.inv(a), t.linalg.solve(a, x), t.linalg.slogdet(a), t.linalg.svdvals(x), t.linalg.eigvalsh(a)

    def parts(x: Any) -> Any:
        z = t.polar(x.abs(), x)
        return t.view_as_real(z * t.view_as_complex(t.stack([x, x + 1], -1)))

    for f in (steps, sums, rows, factors, parts):
        module = type("Of", (t.nn.Module,), {"forward": lambda self, x, f=f: f(x)})()
        x = t.randn(4, 3, generator=t.Generator().manual_seed(0))
        found, wanted = (leaves(y) for y in (stt.from_torch(module, (x,))(st.tensor(x.numpy())), module(x)))
        for y, z in zip(found, wanted, strict=True):
            np.testing.assert_allclose(y.numpy(), z.numpy(), 2e-5, 2e-5)


@needs_torch
def test_what_pytorch_cannot_write_in_functions_is_an_argument_error() -> None:
    with pytest.raises(ArgumentError, match="cannot trace the module in ops that are functions"):
        stt.from_torch(torch().nn.CrossMapLRN2d(3), (torch().ones(1, 5, 4, 4),))


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_why_the_exporter_stops_is_said() -> None:
    t = torch()

    class Fixed(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.reshape(3, -1)

    class Chosen(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(ArgumentError, match=r"specialized it to be a constant \(3\).*\n?.*x.shape\[k\]"):
        stt.from_torch(Fixed(), (t.ones(3, 2),), dims={"x": {0: "n"}})
    with pytest.raises(ArgumentError, match=r"(?s)data-dependent expression.*torch.where"):
        stt.from_torch(Chosen(), (t.ones(3, 2),))


@needs_torch
def test_ops_that_pytorch_writes_in_others_need_no_rule() -> None:
    t = torch()
    model = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 3))
    x = t.ones(2, 4)
    assert "_weight_norm_interface" not in RULES
    found = stt.from_torch(model, (x,))(st.tensor(x.numpy()))
    np.testing.assert_allclose(found.numpy(), model(x).detach().numpy(), 1e-5, 1e-5)


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_containers_of_arguments_and_results() -> None:
    module, args, _, _ = models()["cnn"]
    own = stt.from_torch(module.eval(), args, {"both": True})
    x = st.from_dlpack(args[0])
    made, wanted = own(x, both=True), module(args[0], both=True)
    close(made["y"], wanted["y"])
    close(made["parts"], wanted["parts"])
    with pytest.raises(ArgumentError, match="both was True when the model was exported, got False"):
        own(x, both=False)
    with pytest.raises(ArgumentError, match=r"no argument 'bath'; it has x, both.*Did you mean 'both'"):
        own(x, bath=True)
    with pytest.raises(ArgumentError, match="x is given by place and by name"):
        own(x, x=x, both=True)
    with pytest.raises(ShapeError, match=r"x was of shape \(2, 3, 8, 8\) .*Open an axis"):
        own(st.zeros((3, 3, 8, 8)), both=True)
    with pytest.raises(ArgumentError, match="dims names 'y'; the tensors given are x"):
        stt.from_torch(module, args, dims={"y": {0: "n"}})
    for dims, words in ((["x"], "dims of from_torch must be a dict"),
                        ({"x": ["n"]}, r"dims\['x'\] of from_torch must be a dict"),
                        ({"x": {7: "n"}}, "names axis 7 of 'x', which has 4 axes"),
                        ({"x": {0: 3}}, "must be a name or a torch.export.Dim, got 3"),
                        ({"x": {0: "2n"}}, r"an identifier, got '2n'.*2 \* torch.export.Dim")):
        with pytest.raises(ArgumentError, match=words):
            stt.from_torch(module, args, dims=dims)     # type: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="An example of size 1 stays 1"):
        stt.from_torch(torch().nn.Linear(2, 2), torch().ones(1, 2), dims={"input": {0: "n"}})
    with pytest.raises(ArgumentError, match=r"takes a torch.nn.Module, got function"):
        stt.from_torch(lambda x: x, args)


@dataclass
class Pair:
    first: Any
    rest: dict[str, Any]


class Strange:
    def __init__(self, x: Any) -> None:
        self.x = x


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_dataclasses_go_in_and_out_and_other_containers_are_refused() -> None:
    t = torch()
    t.export.register_dataclass(Pair)
    t.utils._pytree.register_pytree_node(Strange, lambda s: ([s.x], None), lambda x, _: Strange(*x),
                                         serialized_type_name="Strange")

    def module(f: Any) -> Any:
        return type("Held", (t.nn.Module,), {"forward": lambda self, x: f(x)})()
    own = stt.from_torch(module(lambda p: Pair(p.first * 2, {"sum": p.first + p.rest["x"]})),
                         (Pair(t.ones(2), {"x": t.arange(2.0)}),))
    for f in own, st.compile(own):
        made = f(Pair(st.tensor([3.0, 4.0]), {"x": st.ones(2)}))
        assert type(made) is Pair and made.first.tolist() == [6, 8] and made.rest["sum"].tolist() == [4, 5]
    with pytest.raises(ArgumentError, match="was a Pair of first, rest when the model was exported, got Tensor"):
        own(st.ones(2))
    with pytest.raises(ArgumentError, match="takes or returns a Strange, in which from_torch does not look"):
        stt.from_torch(module(Strange), (t.ones(2),))


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_what_no_program_can_hold_is_said() -> None:
    t = torch()

    class Odd(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(ArgumentError, match=r"torch.export cannot trace this Odd"):
        stt.from_torch(Odd(), [t.ones(2)])
    with pytest.raises(ArgumentError, match=r"PyTorch's tensors, got one of Stele.*torch.as_tensor"):
        stt.from_torch(t.nn.ReLU(), (st.ones(2),))


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_an_open_number_of_steps_is_told_how_to_be(kind: str) -> None:
    """PyTorch's exporter has none; what the error says to write has."""
    theirs, ours = getattr(torch().nn, kind)(4, 5, 2), getattr(nn, kind)(4, 5, 2)
    with pytest.raises(ArgumentError, match=r"one number of steps.*stele\.nn's layer of the same name"):
        stt.from_torch(theirs, [torch().randn(3, 2, 4)], dims={"input": {0: "t"}})
    ours.load_state_dict(theirs.state_dict())
    x = torch().randn(7, 2, 4)
    close(ours(st.tensor(x.numpy()))[0], theirs(x)[0])


@needs_torch
def test_a_function_of_stele_inside_pytorch() -> None:
    t = torch()
    x, w = t.randn(3, 4, requires_grad=True), t.randn(4, 2, requires_grad=True)
    f = stt.to_torch(st.compile(lambda x, w: {"y": st.tanh(x @ w), "more": ((x * x).sum(), x.argmax(axis=1))}))
    made = f(x, w)
    assert not made["more"][1].requires_grad and made["more"][1].dtype == t.int64
    found = t.autograd.grad(made["y"].sum() * 2 + made["more"][0], (x, w))
    wanted = t.autograd.grad(t.tanh(x @ w).sum() * 2 + (x * x).sum(), (x, w))
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-5)
    given = t.ones(3)
    assert stt.to_torch(lambda x: x)(given).data_ptr() == given.data_ptr()
    assert stt.to_torch(lambda x: x.sum())(t.zeros(0)).item() == 0
    doubles = [t.randn(2, 2, dtype=t.float64, requires_grad=True) for _ in range(2)]
    both = stt.to_torch(lambda x, y: (st.sin(x @ y), x * 2))
    assert t.autograd.gradcheck(both, doubles) and t.autograd.gradgradcheck(both, doubles)


@needs_torch
def test_what_pytorch_writes_to_is_its_own() -> None:
    t, kept = torch(), st.tensor([2.0, 3.0])
    x, z = (t.ones(2, requires_grad=True) for _ in range(2))
    for f in (lambda x, z: st.exp(x) + z, st.compile(lambda x, z: st.exp(x) + z)):
        x.grad = z.grad = None
        y = stt.to_torch(f)(x, z)
        y.mul_(2)
        y.sum().backward()
        x.grad.mul_(5)
        np.testing.assert_allclose(x.grad, np.full(2, 10 * np.e), 1e-6)
        assert z.grad.tolist() == [2, 2]
    for f in (lambda x: st.exp(x), lambda x: x):        # a result that the gradient reads, and the argument itself
        y = stt.to_torch(f)(x * 1)
        y.mul_(3)
        (wanted,) = t.autograd.grad((x.exp() if f(kept) is not kept else x).sum() * 3, x)
        np.testing.assert_allclose(t.autograd.grad(y.sum(), x)[0], wanted, 1e-6)
    stt.to_torch(lambda x: kept)(x).add_(1)
    assert kept.tolist() == [2, 3]


@needs_torch
def test_parameters_outside_get_gradients_where_no_argument_does() -> None:
    t, layer = torch(), st.nn.Linear(3, 2)
    y = stt.to_torch(lambda x: (layer(x), x.argmax()))(t.ones(4, 3))
    assert y[0].requires_grad and not y[1].requires_grad
    y[0].sum().backward()
    assert layer.bias is not None and layer.bias.grad is not None and layer.bias.grad.tolist() == [4, 4]
    assert not stt.to_torch(lambda x: x * 2)(t.ones(3)).requires_grad


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_draws_of_a_module_are_stele_s_own() -> None:
    t = torch()

    class Draws(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return (x + t.randn_like(x), t.rand_like(x), t.normal(x + 3, 2.0), t.empty_like(x).uniform_(1, 3),
                    t.randint_like(x, 2, 6), t.nn.functional.gumbel_softmax(x), t.bernoulli(x + 0.25))

    st.manual_seed(0)
    f = st.compile(stt.from_torch(Draws(), t.zeros(20_000), dims={"x": {0: "n"}}))
    made = f(st.zeros(20_000))
    deviations = 1, 12 ** -0.5, 2, 3 ** -0.5, 1.118, None, 0.433
    for y, mean, deviation in zip(made, (0, 0.5, 3, 2, 3.5, 5e-5, 0.25), deviations):
        assert abs(y.mean().item() - mean) < 0.05
        assert deviation is None or abs(y.std().item() - deviation) < 0.05
    assert not st.any(made[0] == f(st.zeros(20_000))[0])


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_a_function_of_stele_within_what_pytorch_compiles() -> None:
    t = torch()
    f, layer = stt.to_torch(lambda x: st.tanh(x) * 2), stt.to_torch(st.nn.Linear(3, 2))

    def whole(x: Any) -> Any:
        return layer(f(x.sin())).cos().sum()

    x, z = (t.arange(6.0).reshape(2, 3).requires_grad_() for _ in range(2))
    wanted, found = whole(x), t.compile(whole, backend="eager")(z)
    wanted.backward()
    found.backward()
    close(st.from_dlpack(found.detach()), wanted)
    close(st.from_dlpack(z.grad), x.grad)


@needs_torch
def test_pytorch_trains_a_module_of_stele() -> None:
    t = torch()
    st.manual_seed(0)
    model = st.nn.Sequential(st.nn.Linear(4, 16), st.nn.Tanh(), st.nn.Linear(16, 1))
    own = stt.to_torch(model)
    assert [n for n, _ in own.named_parameters()] == [n for n, _ in model.named_parameters()]
    optimizer = t.optim.Adam(own.parameters(), lr=0.05)
    x = t.randn(64, 4)
    y = x.sum(1, keepdim=True)
    losses: list[float] = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = ((own(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20
    model.load_state_dict(own.state_dict())
    np.testing.assert_allclose(model(st.from_dlpack(x)).numpy(), own(x).detach().numpy(), 1e-6, 1e-6)


@needs_torch
def test_a_function_of_pytorch_as_an_op() -> None:
    t = torch()
    f = stt.from_torch_function(lambda x, y: (t.special.i0(x) * y, x.sum()))

    def loss(x: Any, y: Any) -> Any:
        a, b = f(x, y)
        return (a * a).sum() + b

    x, y = st.tensor([1.0, 2.0]), st.tensor([3.0, 4.0])
    wanted = st.grad(lambda x, y: ((st.i0(x) * y) ** 2).sum() + x.sum(), (0, 1))(x, y)
    for g in (st.grad(loss, (0, 1)), st.compile(st.grad(loss, (0, 1)))):
        for a, b in zip(g(x, y), wanted):
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5)
    layer = t.nn.Linear(2, 3)
    own = st.compile(st.grad(lambda x: stt.from_torch_function(layer)(x).sum()))
    np.testing.assert_allclose(own(st.ones(1, 2)).numpy()[0], layer.weight.detach().sum(0).numpy(), 1e-5)
    erf = stt.from_torch_function(t.erf, shape=lambda x: x)
    third = lambda f: st.grad(st.grad(st.grad(f)))(st.tensor(0.5)).item()
    assert abs(third(erf) - third(st.erf)) < 1e-5
    slope = st.compile(st.grad(lambda x: erf(x).sum()), dims={"x": {0: "n"}})
    assert slope(st.ones(3)).shape == (3,) and slope(st.ones(0)).shape == (0,) and slope.compiles == 1
    assert erf(st.zeros((0, 2))).shape == (0, 2) and erf(st.ones(2, dtype="bfloat16")).dtype == "bfloat16"
    n = st.placeholder(("n",))
    assert st.function([n], erf(n))(st.zeros(2)).tolist() == [0, 0]
    with pytest.raises(ShapeError, match=r"open sizes float32\[n\] cannot be asked of PyTorch.*shape=lambda"):
        f(n, n)


@needs_torch
def test_what_writes_to_its_argument_returns_what_it_wrote() -> None:
    t = torch()

    def first(x: Any) -> Any:
        x[0] = 9
        return x

    def more(x: Any) -> Any:
        x += 1
        return {"x": x, "y": x * 1}

    given = t.ones(2)
    for style in (lambda f: f, st.compile):
        assert stt.to_torch(style(first))(given).tolist() == [9, 1]
        assert [y.tolist() for y in stt.to_torch(style(more))(given).values()] == [[2, 2], [2, 2]]
    assert given.tolist() == [1, 1]


@needs_torch
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_module_in_pytorch_has_modes_buffers_and_numbers_of_its_own(copied: Any) -> None:
    t = torch()
    net = stt.to_torch(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))).train()
    mean = net._stele[1].running_mean.numpy().copy()
    other, x = copied(net).eval(), t.randn(64, 4)
    assert net.training and not t.equal(net(x), net(x)) and t.equal(other(x), other(x))
    assert (net._stele[1].running_mean.numpy() != mean).any()
    assert (other._stele[1].running_mean.numpy() == mean).all()
    with t.no_grad():
        [p.zero_() for p in other.parameters()]
    assert not other(x).any() and net(x).any()


@needs_torch
def test_what_a_function_of_pytorch_does_not_take_or_say_is_told() -> None:
    t = torch()
    f, x = stt.from_torch_function, st.ones(2, 3)
    np.testing.assert_allclose(f(partial(t.softmax, dim=-1))(x).numpy(), 1 / 3, rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"by place, got dim by name. Write .*\(partial\(f, dim=\.\.\.\)\)"):
        f(t.softmax)(x, dim=-1)
    for many, of in ((lambda x: t.bincount(x, minlength=5), st.tensor([1, 2])),
                     (lambda x: x * 2 if x.sum() > 0 else x, x)):
        with pytest.raises(ShapeError, match=r"without numbers, on which aten.* depends.* shape=lambda"):
            f(many)(of)
    with pytest.raises(GraphError, match="a function of PyTorch's returns tensors, got dict"):
        f(lambda x: {"a": x})(x)


@needs_torch
def test_shapes_are_asked_of_pytorch_once() -> None:
    asked = list[Any]()

    def double(x: Any) -> Any:
        asked.append(x.shape)
        return x * 2

    f = stt.from_torch_function(double)
    for _ in range(3):
        f(st.ones(2)).numpy()
    assert len(asked) == 4, "once for the shapes, and at each call"


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_an_exported_program_has_names_for_its_open_sizes() -> None:
    t = torch()
    export, x = t.export.export, t.ones(2, 3)
    fixed = export(t.nn.Linear(3, 2), (x,))
    opened = export(t.nn.Linear(3, 2), (x,), dynamic_shapes={"input": {0: t.export.Dim("b")}})
    assert stt.from_torch(opened, dims={"input": {0: "batch"}}).dims == {"input": {0: "batch"}}
    automatic = stt.from_torch(t.nn.Linear(3, 2), (x,), dims={"input": {0: t.export.Dim.DYNAMIC}})
    assert [*automatic.dims["input"]] == [0] and automatic.dims["input"][0].isidentifier()
    for how, says in (((fixed, (x,)), "taken as it is, without examples"),
                      ((fixed, (), None, {"input": {0: "n"}}), "axis 0 of 'input' was exported for 2 alone"),
                      ((fixed, (), None, {"inptu": {0: "n"}}), "Did you mean 'input'"),
                      ((t.jit.trace(t.nn.Linear(3, 2), x), (x,)), "cannot trace TorchScript"),
                      ((t.nn.Linear(3, 2).to("meta"), (x,)), "on the device meta, without numbers")):
        module, args, *more = how
        with pytest.raises(ArgumentError, match=says):
            stt.from_torch(module, args, *more[:1], dims=more[1] if more else None)
    with pytest.raises(ShapeError, match=r'dims=\{"input": \{1: "n"\}\}'):
        stt.from_torch(opened)(st.ones(5, 4))
