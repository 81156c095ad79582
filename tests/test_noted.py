"""Layers that write tensors, called on placeholders: functions of their results write as eager calls do."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportOptionalMemberAccess=false, reportOptionalOperand=false
from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.errors import GraphError
from stele.nn.utils.parametrizations import spectral_norm

Make = Callable[[], Any]


class Counts(nn.Module):
    """A layer of a user's, which normalises by what it has seen before, and then counts."""

    def __init__(self) -> None:
        self.total, self.seen = st.zeros(3), st.zeros((), dtype="int64")

    def forward(self, x: st.Tensor) -> st.Tensor:
        y = x - self.total / st.maximum(self.seen, 1)
        self.total.assign(self.total + x.detach().sum(axis=0))
        self.seen += x.shape[0]
        return y


def shared() -> nn.Module:
    norm = nn.BatchNorm1d(3)
    return nn.Sequential(norm, nn.Linear(3, 3), norm, Counts())


def normed() -> Any:
    layer: Any = spectral_norm(nn.Linear(3, 2), n_power_iterations=2)
    layer.parametrizations["weight"].original.assign(st.randn(2, 3))    # whose singular vectors are far away
    return layer


FEATURES, SIGNALS, IMAGES, VOLUMES = (4, 3), (4, 3, 5), (4, 3, 5, 2), (4, 3, 2, 3, 2)
LAYERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), FEATURES),
    "BatchNorm1d of signals": (lambda: nn.BatchNorm1d(3, momentum=0.3, affine=False), SIGNALS),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), IMAGES),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(3), VOLUMES),
    "cumulative": (lambda: nn.BatchNorm2d(3, momentum=None), IMAGES),
    "no statistics": (lambda: nn.BatchNorm2d(3, track_running_stats=False), IMAGES),
    "frozen": (lambda: nn.BatchNorm2d(3).requires_grad_(False), IMAGES),
    "evaluated": (lambda: nn.BatchNorm2d(3).eval(), IMAGES),
    "LazyBatchNorm1d": (nn.LazyBatchNorm1d, FEATURES),
    "LazyBatchNorm2d": (nn.LazyBatchNorm2d, IMAGES),
    "LazyBatchNorm3d": (nn.LazyBatchNorm3d, VOLUMES),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3, track_running_stats=True), SIGNALS),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, track_running_stats=True, affine=True), IMAGES),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(3, track_running_stats=True), VOLUMES),
    "LazyInstanceNorm1d": (nn.LazyInstanceNorm1d, SIGNALS),
    "LazyInstanceNorm2d": (nn.LazyInstanceNorm2d, IMAGES),
    "LazyInstanceNorm3d": (nn.LazyInstanceNorm3d, VOLUMES),
    "spectral_norm": (normed, FEATURES),
    "of a user's": (Counts, FEATURES),
    "one twice": (shared, FEATURES),
}


def batch(k: int, shape: tuple[int, ...]) -> st.Tensor:
    return st.tensor(np.random.default_rng(k).standard_normal(shape), dtype="float32")


def pair(make: Make) -> tuple[Any, Any]:
    """The same layer twice."""
    made: list[Any] = []
    for _ in range(2):
        st.manual_seed(3)
        made.append(make())
    return made[0], made[1]


def state(layer: Any) -> dict[str, Any]:
    return {name: x.tolist() for name, x in layer.state_dict().items()}


def norm_and_function(**options: Any) -> tuple[nn.BatchNorm1d, st.Tensor, st.Tensor, Any]:
    x, norm = st.placeholder(("n", 2)), nn.BatchNorm1d(2, **options)
    return norm, x, (y := norm(x)), st.function([x], y)


@pytest.mark.parametrize("size", ["n", None])
@pytest.mark.parametrize("name", LAYERS)
def test_a_function_writes_what_an_eager_call_writes(name: str, size: str | None) -> None:
    make, shape = LAYERS[name]
    eager, symbolic = pair(make)
    x = st.placeholder((shape[0] if size is None else size, *shape[1:]))
    st.manual_seed(5)
    y = symbolic(x)
    began = state(symbolic)
    f = st.function([x], y)
    assert state(symbolic) == began
    for k in range(3):
        st.manual_seed(5)
        assert np.allclose(eager(batch(k, shape)).numpy(), f(batch(k, shape)).numpy(), atol=1e-6)
        assert eager.state_dict().keys() == symbolic.state_dict().keys()
        for a, b in zip(eager.state_dict().values(), symbolic.state_dict().values()):
            assert np.allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-7)
    assert (state(symbolic) != began) == (name not in ("no statistics", "evaluated"))


@pytest.mark.parametrize("norm", [nn.functional.batch_norm, nn.functional.instance_norm])
def test_so_do_functions_of_running_statistics(norm: Any) -> None:
    option = {"training": True} if norm is nn.functional.batch_norm else {}
    kept = [[st.zeros(3), st.ones(3)] for _ in range(2)]
    x = st.placeholder(("n", 3, 5))
    f = st.function([x], norm(x, *kept[0], **option))
    assert kept[0][0].tolist() == [0.0, 0.0, 0.0]
    for k in range(2):
        f(batch(k, SIGNALS))
        norm(batch(k, SIGNALS), *kept[1], **option)
    for a, b in zip(*kept):
        assert np.allclose(a.numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["cumulative", "spectral_norm", "of a user's", "BatchNorm1d"])
def test_calls_in_one_expression_come_in_their_order(name: str) -> None:
    make, shape = LAYERS[name]
    eager, symbolic = pair(make)
    a, b = st.placeholder(("n", *shape[1:])), st.placeholder(("m", *shape[1:]))
    second = symbolic(a) * 2, symbolic(b)
    f = st.function([a, b], list(second))
    only = st.function([b], second[1])
    for k in range(2):
        wanted = eager(batch(k, shape)) * 2, eager(batch(k + 5, shape))
        for y, z in zip(f(batch(k, shape), batch(k + 5, shape)), wanted, strict=True):
            assert np.allclose(y.numpy(), z.numpy(), atol=1e-5)
    assert np.allclose(only(batch(9, shape)).numpy(), eager(batch(9, shape)).numpy(), atol=1e-5)
    for p, q in zip(eager.state_dict().values(), symbolic.state_dict().values()):
        assert np.allclose(p.numpy(), q.numpy(), rtol=1e-5, atol=1e-6)


def test_two_functions_of_one_expression_write_by_turns() -> None:
    norm, x, y, f = norm_and_function(momentum=0.5)
    f(st.tensor([[0.0, 0.0], [2.0, 4.0]]))
    g = st.function([x], y * 2)     # made when the statistics are others than when the expression was written
    g(st.tensor([[0.0, 0.0], [2.0, 4.0]]))
    assert norm.running_mean.tolist() == [0.75, 1.5] and norm.num_batches_tracked.tolist() == 2


def test_a_function_of_an_inner_part_writes_that_part() -> None:
    first, second, x = nn.BatchNorm1d(2), nn.BatchNorm1d(2), st.placeholder(("n", 2))
    inner = first(x)
    outer = second(inner + 1)
    st.function([x], inner)(batch(0, (4, 2)))
    assert [n.num_batches_tracked.tolist() for n in (first, second)] == [1, 0]
    st.function([x], outer)(batch(0, (4, 2)))
    assert [n.num_batches_tracked.tolist() for n in (first, second)] == [2, 1]


def test_gradients_alone_write() -> None:
    norm, x, y, _ = norm_and_function()
    train = st.function([x], st.gradients(y.sum(), [norm.bias]))      # in which nothing of the layer is left
    assert train(batch(0, (4, 2)))[0].tolist() == [4.0, 4.0] and norm.num_batches_tracked.tolist() == 1


def test_an_update_that_is_given_comes_behind() -> None:
    norm, x, y, _ = norm_and_function(momentum=1.0)
    f = st.function([x], y, updates=[(norm.running_mean, norm.running_mean * 10), (norm.running_var, st.ones(2))])
    f(st.tensor([[0.0, 0.0], [2.0, 4.0]]))
    assert norm.running_mean.tolist() == [10.0, 20.0] and norm.running_var.tolist() == [1.0, 1.0]
    assert norm.num_batches_tracked.tolist() == 1


def test_functions_for_evaluation_read_what_training_wrote() -> None:
    norm, x, _, train = norm_and_function(momentum=1.0, eps=1e-12)
    evaluate = st.function([x], norm.eval()(x))
    train(st.tensor([[0.0, 0.0], [2.0, 4.0]]))
    assert np.allclose(evaluate(st.tensor([[1.0, 2.0]])).numpy(), 0) and norm.num_batches_tracked.tolist() == 1


def test_an_empty_batch_moves_nothing() -> None:
    norm, _, _, f = norm_and_function()
    assert f(st.zeros(0, 2)).shape == (0, 2)
    assert norm.running_mean.tolist() == [0.0, 0.0] and norm.running_var.tolist() == [1.0, 1.0]


def test_what_is_dropped_is_gone() -> None:
    norm, x, y, f = norm_and_function()
    gone = ref(norm.running_mean)
    del norm, x, y, f
    gc.collect()
    assert gone() is None


def test_a_function_is_saved_with_what_it_writes(tmp_path: Any) -> None:
    norm, _, _, f = norm_and_function(momentum=0.5)
    st.save(f, tmp_path / "f")
    g = st.load(tmp_path / "f")
    a = batch(0, (4, 2))
    for _ in range(2):
        assert np.allclose(f(a).numpy(), g(a).numpy(), atol=1e-6)
    assert norm.num_batches_tracked.tolist() == 2


def test_a_cache_of_keys_is_written() -> None:
    cache, x = nn.KVCache(1, 1, 4, 2), st.placeholder((1, 1, 1, 2))
    f = st.function([x], cache.update(x, x * 2)[1])
    f(st.ones(1, 1, 1, 2))
    assert f(st.ones(1, 1, 1, 2) * 3)[0, 0].tolist() == [[2.0, 2.0], [6.0, 6.0], [0.0, 0.0], [0.0, 0.0]]
    assert cache.length.tolist() == 2 and cache.keys[0, 0, 1].tolist() == [3.0, 3.0]


LOOPS: dict[str, Callable[[Any, st.Tensor], st.Tensor]] = {
    "scan": lambda norm, x: st.scan(lambda s, row: (s, norm(row)), st.zeros(()), x)[1],
    "scan of a scan": lambda norm, x: st.scan(
        lambda s, rows: (s, st.scan(lambda s, row: (s, norm(row)), s, rows)[1]), st.zeros(()), x[None])[1],
    "cond": lambda norm, x: st.cond(x.sum() > 0, lambda x: norm(x[0]), lambda x: x[0], x),
    "fori_loop": lambda norm, x: st.fori_loop(0, st.tensor(2), lambda i, s: norm(s), x[0]),
    "checkpoint": lambda norm, x: st.checkpoint(norm)(x[0]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_so_do_layers_in_loops_and_branches(name: str) -> None:
    eager, symbolic = pair(lambda: nn.BatchNorm1d(3))
    x = st.placeholder((2, 4, 3))
    f = st.function([x], LOOPS[name](symbolic, x))
    assert symbolic.num_batches_tracked.tolist() == 0
    for k in range(3):
        a = abs(batch(k, (2, 4, 3)))
        assert np.allclose(f(a).numpy(), LOOPS[name](eager, a).numpy(), atol=1e-6)
    for p, q in zip(eager.state_dict().values(), symbolic.state_dict().values()):
        assert np.allclose(p.numpy(), q.numpy(), rtol=1e-5, atol=1e-6)


def test_layers_that_cannot_be_noted_say_why() -> None:
    class Silent(nn.Module):
        def __init__(self) -> None: self.total = st.zeros(())
        def forward(self, x: st.Tensor) -> None: self.total.assign(x.sum())

    with pytest.raises(GraphError, match="writes tensors and returns none"):
        Silent()(st.placeholder((2,)))
    with pytest.raises(GraphError, match="writes a parameter, float32"):
        nn.Embedding(3, 2, max_norm=1.0)(st.placeholder((2,), "int64"))


def test_training_is_that_of_a_compiled_step() -> None:
    def model() -> nn.Module: return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    one, other = pair(model)
    optimizer = st.optim.SGD(one.parameters(), lr=0.1)

    @st.compile
    def step(x: st.Tensor, t: st.Tensor) -> st.Tensor:
        loss = ((one(x) - t) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    x, t = st.placeholder(FEATURES), st.placeholder((4, 1))
    loss = ((other(x) - t) ** 2).mean()
    parameters = [*other.parameters()]
    slopes = st.gradients(loss, parameters)
    train = st.function([x, t], loss, updates=[(p, p - 0.1 * g) for p, g in zip(parameters, slopes)])
    for k in range(5):
        data = batch(k, FEATURES), batch(k, (4, 1))
        assert step(*data).tolist() == train(*data).tolist()
    assert state(one) == state(other)


def test_functions_take_tensors_as_they_are_when_they_are_made() -> None:
    """What was written between an expression and its function is seen as what is written behind it."""
    x, w, b = st.placeholder(("n",)), st.tensor(2.0, requires_grad=True), st.tensor(1.0)
    y = st.exp(x * 0) * w + b
    before = st.function([x], y)
    w.assign(3.0)
    b += 4
    for f in (before, st.function([x], y), st.function([x], y, updates=[(b, y.sum())])):
        assert f(st.zeros(2)).tolist() == [8.0, 8.0]
    assert float(b) == 16


@pytest.mark.parametrize("is_looked_at", [False, True])
def test_what_follows_from_parameters_is_computed_of_what_they_are(is_looked_at: bool) -> None:
    x, w, b = st.placeholder(("n",)), st.tensor(2.0, requires_grad=True), st.tensor(1.0)
    h, c = w * 2, b * 2
    if is_looked_at:
        print(h, c)
    y = [x + h, x + h + w, x + w + h, x + c]
    functions = [st.function([x], y)]
    w.assign(3.0)
    functions.append(st.function([x], y))
    for f in functions:
        assert [float(found) for found in f(st.zeros(1))] == [6, 9, 9, 2]


def test_tensors_are_what_they_are_whatever_stands_beside_them() -> None:
    x, b = st.placeholder(("n",)), st.tensor(1.0)
    c = b * 2
    assert float(c) == 2
    y = [x + c, x + c + b, x + b + c]
    b.assign(3.0)
    assert [float(found) for found in st.function([x], y)(st.zeros(1))] == [2, 5, 5]


def test_expressions_keep_the_counts_that_they_were_written_with() -> None:
    x, count = st.placeholder(("n",)), st.tensor(1.0)
    first = x + count
    count += 1
    second = x + count
    f = st.function([x], [first, second])
    count += 10
    assert [y.tolist() for y in f(st.zeros(1))] == [[1.0], [12.0]]


def test_a_model_predicts_by_what_was_trained() -> None:
    x, layer = st.placeholder(("n", 2)), nn.Linear(2, 1)
    y = layer(x)
    optimizer = optim.SGD(layer.parameters(), lr=0.5)
    step = st.compile(lambda: (layer(st.ones(1, 2)).sum().backward(), optimizer.step(), optimizer.zero_grad())[0])
    for _ in range(3):
        step()
    at = st.tensor([[0.5, -1.0]])
    assert st.function([x], y)(at).tolist() == layer(at).tolist()
