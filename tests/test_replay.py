"""Expressions seen before replay their plans: same numbers, same memory, same laziness as found by the rules."""
from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from operator import is_
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.backend.newest import Newest
from stele.call import symbolic
from stele.eager import backward, evaluate, replay
from stele.eager.evaluate import EVALUATOR
from stele.eager.live import is_there
from stele.errors import GraphError, IndexOutOfRange
from stele.ir import origin
from stele.ir.graph import walk
from stele.ir.origin import lines
from stele.metrics import Accuracy
from stele.nn.containers import Sequential
from stele.nn.functional import cross_entropy
from stele.nn.layers import Linear
from stele.nn.module import Module
from stele.nn.normalization import BatchNorm1d
from stele.ops import linear
from stele.optim import EMA, SGD, Adam, AdamW, LossScaler

tensor: Any = sys.modules["stele.arrays.tensor"]      # whose name in the package is a function's
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((8, 6)).astype(np.float32)
LABELS = RANDOM.integers(0, 3, 8)


class Net(Module):
    def __init__(self) -> None:
        self.first, self.second = Linear(6, 5), Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.second(st.relu(self.first(x)))


def forget_all(patch: pytest.MonkeyPatch) -> None:
    """Nothing is replayed."""
    patch.setattr(Newest, "get", lambda self, key, none=None: none)


def once(patch: pytest.MonkeyPatch, run: Callable[[], list[Any]]) -> tuple[list[Any], list[Any]]:
    """What a run gives with replays, and what it gives without."""
    st.manual_seed(3)
    replayed = run()
    forget_all(patch)
    st.manual_seed(3)
    return replayed, run()


def train(optimizer: Callable[[Any], Any], **options: Any) -> list[Any]:
    net = Net()
    steps, seen = optimizer(net.parameters()), []
    for k in range(6):
        x, y = st.tensor(X * (k + 1)), st.tensor(LABELS)
        if not options.get("adds_up") or k % 2 == 0:
            steps.zero_grad()
        loss = cross_entropy(net(x), y)
        if options.get("looks"):
            seen.append(float(loss))
        loss.backward(retain_graph=options.get("twice", False))
        if options.get("twice"):
            loss.backward()
        if options.get("clips"):
            st.optim.clip_grad_norm(net.parameters(), 0.1)
        steps.step()
        if options.get("decays"):
            steps.lr = 0.1 / (k + 1)
        seen += [loss.item(), *(p.grad.numpy().copy() for p in net.parameters())]
    return [*seen, *(p.numpy().copy() for p in net.parameters())]


OPTIONS = "", "looks", "adds_up", "twice", "clips", "decays"


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("optimizer", [lambda p: SGD(p, 0.1), lambda p: SGD(p, 0.1, 0.9, 0.0, 0.01, True), Adam, AdamW])
def test_training_is_the_same_with_and_without_replays(optimizer: Any, options: str, monkeypatch: Any) -> None:
    replayed, found = once(monkeypatch, lambda: train(optimizer, **dict.fromkeys(options.split(), True)))
    for a, b in zip(replayed, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_seen_before_asks_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the third step on nothing is derived, typed or keyed by structure."""
    net = Net()
    optimizer = Adam(net.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss = cross_entropy(net(st.tensor(X)), st.tensor(LABELS))
        loss.backward()
        optimizer.step()
        loss.item()

    for _ in range(4):
        step()
    compiles = EVALUATOR.compiles

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked again")

    monkeypatch.setattr(backward, "gradients", refuse)
    monkeypatch.setattr(evaluate, "structure", refuse)
    monkeypatch.setattr(tensor, "template", refuse)
    for _ in range(3):
        step()
    assert EVALUATOR.compiles == compiles


# What must not be taken for what was seen before: each a function of k, run for k = 0..5 against NumPy.
ALIKE: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "one operand twice, or two":  lambda k: ((lambda a, b: a * b + a)(*pair(k)), (lambda a, b: a * b + a)(*arrays(k))),
    "numbers that change":        lambda k: (st.tensor(X) * (k + 0.5), X * np.float32(k + 0.5)),
    "zeros of either sign":       lambda k: (st.tensor(X) * (0.0, -0.0)[k % 2], X * np.float32((0.0, -0.0)[k % 2])),
    "bool, int and float":        lambda k: (st.tensor([1, 2]) * (True, 1, 1.0)[k % 3], np.array([1, 2]) * 1),
    "axes":                       lambda k: (st.tensor(X).sum((0, 1)[k % 2]), X.sum((0, 1)[k % 2])),
    "axes by keyword":            lambda k: (st.tensor(X).sum(axis=(0, 1)[k % 2]), X.sum((0, 1)[k % 2])),
    "options":                    lambda k: (st.tensor(X).sum(axis=0, keepdims=bool(k % 2)).exp(),
                                             np.exp(X.sum(0, keepdims=bool(k % 2)))),
    "slices":                     lambda k: (st.tensor(X)[k:, ::(k % 2) + 1], X[k:, ::(k % 2) + 1]),
    "a place or a slice":         lambda k: (st.tensor(X)[(0, slice(0, 1))[k % 2]], X[(0, slice(0, 1))[k % 2]]),
    "shapes":                     lambda k: (st.tensor(X[:k + 1]) + 1, X[:k + 1] + 1),
    "dtypes":                     lambda k: (st.tensor([3, 4], dtype=("int32", "int64")[k % 2]) // 2, np.array([1, 2])),
    "several tensors in a list":  lambda k: (st.concatenate([st.tensor(X)] * (k + 1)), np.concatenate([X] * (k + 1))),
    "pieces":                     lambda k: (st.split(st.tensor(X), (2, 3)[k % 2], axis=1)[k % 2],
                                             np.split(X, (3, 2)[k % 2], 1)[k % 2]),
    "numbers of NumPy":           lambda k: (st.tensor(X) * np.float64(k), X * np.float64(k)),
    "arrays":                     lambda k: (st.tensor(X) + X * k, X + X * np.float32(k)),
}


def arrays(k: int) -> tuple[Any, Any]:
    return (X, X) if k % 2 else (X, X[::-1])


def pair(k: int) -> tuple[Any, Any]:
    a, b = map(st.tensor, arrays(k))
    return (a, a) if k % 2 else (a, b)


@pytest.mark.parametrize("name", ALIKE)
def test_what_looks_alike_is_told_apart(name: str) -> None:
    for k in range(6):
        got, expected = ALIKE[name](k)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(expected))


def test_gradients_of_alike_expressions_are_told_apart() -> None:
    for k in range(6):
        a, b = (st.tensor(x, requires_grad=True) for x in (X, X + 1))
        x = a if k % 2 else b
        factor = (2.0, 3.0, -0.0)[k % 3]
        ((a * x).sum() * factor).backward()
        expected = 2 * X * factor if x is a else (X + 1) * factor
        np.testing.assert_allclose(a.grad.numpy(), np.asarray(expected, np.float32), rtol=1e-6)
        assert (b.grad is None) is (x is a)


def test_a_gradient_that_is_a_value_of_the_loss_has_numbers_of_its_own() -> None:
    """The gradient of (x*w).sum() in w is x: what happens to one does not happen to the other."""
    for _ in range(4):
        x, w = st.tensor(X), st.tensor(X, requires_grad=True)
        (x * w).sum().backward()
        x += 1
        np.testing.assert_array_equal(w.grad.numpy(), X)
        w.grad *= 2
        np.testing.assert_array_equal(x.numpy(), X + 1)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_backward_keeps_what_it_went_through_only_where_it_is_to_stay(compiled: bool) -> None:
    net = Net()
    forward = st.compile(net) if compiled else net
    found = list[int]()
    for retain in (False, True, False):
        for _ in range(2):
            loss = cross_entropy(forward(st.ones((9000, 6))), st.zeros(9000, dtype="int32"))
            loss.backward(retain_graph=retain)
        assert EVALUATOR.last is not None
        found.append(len(EVALUATOR.last.graph.results))
    assert found[0] == found[2] == 1 + len([*net.parameters()]) < found[1]


def test_history_that_was_freed_is_refused_each_time() -> None:
    for _ in range(4):
        w = st.tensor(X, requires_grad=True)
        y = (w * w).sum()
        y.backward()
        with pytest.raises(GraphError, match="retain_graph"):
            y.backward()
        kept = (w * w).sum()
        kept.backward(retain_graph=True)
        kept.backward()
        np.testing.assert_allclose(w.grad.numpy(), 6 * X, rtol=1e-6)


def test_bad_data_is_an_error_each_time_and_changes_nothing() -> None:
    for _ in range(4):
        x = st.tensor(X, requires_grad=True)
        for labels, fits in ((LABELS, True), (LABELS + 90, False), (LABELS, True)):
            x.grad = None
            loss = st.cross_entropy(x, st.tensor(labels))
            if fits:
                loss.backward()
                assert x.grad is not None
            else:
                with pytest.raises(IndexOutOfRange):
                    loss.backward()
                assert x.grad is None


def test_replays_hold_no_memory() -> None:
    """What a step made goes with its names: histories, buffers and gradients."""
    w = st.tensor(X, requires_grad=True)

    def step() -> list[Any]:
        x = st.tensor(X)
        hidden = st.tanh(x * w)
        loss = (hidden * hidden).sum()
        loss.backward()
        g = w.grad
        w.grad = None
        return [weakref.ref(v) for v in (x.value, hidden.value, loss.value, g.value)]

    for _ in range(5):
        refs = step()
        gc.collect()
        assert [r() for r in refs] == [None] * 4


def test_stores_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    table: Newest[int, int] = Newest(3)
    for k in range(10):
        table[k] = k
    assert table == {7: 7, 8: 8, 9: 9}
    table[7] = 0
    assert table == {7: 0, 8: 8, 9: 9}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: table.__setitem__(k, k), range(40000)))     # raises what a thread raised
    assert len(table) == 3
    for name, x in (("MOST_OPS", 8), ("OPS", {}), ("INTERNED", {})):     # others' ops are known already
        monkeypatch.setattr(replay, name, x)
    for n in range(1, 30):
        np.testing.assert_array_equal((st.ones(n) + 1).numpy(), np.full(n, 2, np.float32))
        assert len(replay.OPS) <= 10 and len(replay.INTERNED) <= 10


def test_calls_of_a_symbolic_function_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "CALLS", 3)
    x = st.placeholder(("n",))
    f = st.function([x], x.sum())
    assert [float(f(st.ones(n))) for n in (*range(1, 9), 1)] == [*range(1, 9), 1]
    assert len(f.calls) == 3


def test_templates_of_a_function_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor, "MOST", 4)
    made: list[Any] = []
    monkeypatch.setattr(tensor, "template", lambda *a, real=tensor.template: (made.append(real(*a)), made[-1])[1])
    double = tensor.lift(linear.broadcast)
    for _ in range(3):
        for k in range(1, 9):
            assert double(st.tensor(2.0), (k,)).tolist() == [2.0] * k
    assert len(made) == 24
    assert double(st.tensor(2.0), (8,)).tolist() == [2.0] * 8 and len(made) == 24


def test_expressions_over_results_of_one_program_stay_lazy() -> None:
    """Pending values stay pending until they are looked at, and views of a parameter keep their numbers."""
    w = st.tensor(X, requires_grad=True)
    seen = w.numpy()
    for _ in range(4):
        with st.no_grad():
            w -= 0.5
        assert w.value.data is None
    np.testing.assert_array_equal(w.numpy(), X - np.float32(0.5) - np.float32(0.5) - np.float32(0.5) - np.float32(0.5))
    np.testing.assert_array_equal(seen, X)


# Results of calls, which are recorded as such and written out when somebody asks

def test_a_forward_seen_before_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    net, seen = Net(), list[Any]()

    def step(k: int) -> None:
        with st.no_grad():
            seen.append(net(st.tensor(X * k)).numpy().copy())

    for k in range(4):
        step(k)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("walked")

    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "look", refuse)
        step(2)
        step(3)
    np.testing.assert_array_equal(seen[-2:], seen[2:4])
    forget_all(monkeypatch)
    monkeypatch.setattr(evaluate, "recognised", lambda v, run: False)
    step(3)
    np.testing.assert_array_equal(seen[-1], seen[3])


# Of y = relu(a + b) * c: what differs from the run that made the pattern, as a function of k.
CHANGED: dict[str, Callable[[int], Any]] = {
    "a live name":       lambda k: (lambda h: [(st.relu(h) * 3.0).numpy(), h.numpy()])(st.tensor(X) + st.tensor(X * k)),
    "one operand twice": lambda k: (lambda a: [(st.relu(a + a) * a).numpy()])(st.tensor(X + k)),
    "a pending leaf":    lambda k: (lambda a: [(st.relu(a + a.sum()) * 3.0).numpy()])(st.tensor(X + k) - 1),
    "a leaf":            lambda k: [(st.relu(st.tensor(X) + st.tensor(X + k, requires_grad=True)) * 3.0).numpy()],
    "a leaf, no_grad":   lambda k: st.no_grad()(CHANGED["a leaf"])(k),
    "in place":          lambda k: (lambda a: [(st.relu(a.assign(a + k) + 1) * 3.0).numpy(), a.numpy()])(st.tensor(X)),
    "a hidden value":    lambda k: (lambda y: [y.value.args, y.numpy()][1:])(st.gelu(st.tensor(X) + k) * 3.0),
    "numbers":           lambda k: [(st.relu(st.tensor(X) + k) * (k + 0.5)).numpy()],
}


@pytest.mark.parametrize("name", CHANGED)
def test_patterns_tell_apart_what_differs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [[y.copy() for y in CHANGED[other](k % 3)] for k in range(9) for other in (name, "a live name", name)]
    forget_all(monkeypatch)
    monkeypatch.setattr(evaluate, "recognised", lambda v, run: False)
    again = [[y.copy() for y in CHANGED[other](k % 3)] for k in range(9) for other in (name, "a live name", name)]
    for a, b in zip(made, again, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_wirings_of_one_tree_are_told_apart() -> None:
    """The same ops over the same types, in every wiring, an operand that several share among them, several times."""
    a, c = X, X[:1] + 3
    given = {"a": a, "h": 1 / (1 + np.exp(-a)), "c": c}

    def made(p: str, q: str, r: str, s: str) -> Any:        # names end here: nobody owns what lies between
        x: dict[str, Any] = {"a": st.tensor(a), "c": st.tensor(c)}
        x["h"] = st.sigmoid(x["a"])
        return (x[p] + x[q]) / (x[r] * x[s] + 0.5)

    wirings = list(product("ahc", repeat=4))
    for k in RANDOM.permutation(np.repeat(np.arange(len(wirings)), 3)):
        p, q, r, s = wirings[k]
        exact = (given[p] + given[q]) / (given[r] * given[s] + 0.5)
        np.testing.assert_allclose(made(*wirings[k]).numpy(), exact, rtol=1e-4, atol=1e-5, err_msg=str(wirings[k]))


@pytest.mark.parametrize("seed", range(8))
def test_random_code_gives_the_same_bits_run_again_and_run_anew(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(run: int) -> list[Any]:
        draw, seen = np.random.default_rng(seed), list[Any]()
        held = [st.tensor(X * (k + 1), requires_grad=k == 1) for k in range(3)]
        for _ in range(40):
            a, b = (held[k] for k in draw.integers(0, len(held), 2))
            match draw.integers(0, 8):
                case 0: held.append(a + b)
                case 1: held.append(st.tanh(a) * 0.5)
                case 2: held.append(st.relu(a - b))
                case 3: held.append(st.gelu(a))
                case 4: held.append((a / (1 + st.abs(b))).detach())
                case 5: seen.append(a.numpy().copy())
                case 6:
                    with st.no_grad():
                        held.append(st.softmax(a, axis=1))
                case _: held[int(draw.integers(0, len(held)))] = a + 0.25
            if len(held) > 6:
                del held[int(draw.integers(0, 3))]
        if (loss := next((x for x in held if x.requires_grad), None)) is not None:
            loss.sum().backward()
        return [*seen, *(x.numpy().copy() for x in held), *(x.grad.numpy() for x in held if x.grad is not None)]

    for known in EVALUATOR.families, EVALUATOR.first, replay.EVALUATIONS, replay.PATTERNS, backward.PULLS:
        known.clear()       # or what ran before may have left programs of open sizes, which round otherwise
    runs = [code(k) for k in range(4)]
    forget_all(monkeypatch)
    monkeypatch.setattr(evaluate, "recognised", lambda v, run: False)
    EVALUATOR.families.clear()
    code(4)
    for run in [*runs[1:], code(5)]:
        for a, b in zip(run, runs[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_that_ask_at_once_see_one_history() -> None:
    for _ in range(50):
        v = st.gelu(st.tensor(X)).value
        v = st.gelu(st.tensor(X)).value if v.call is None else v
        wait, found = Barrier(4), list[Any]()

        def ask(v: Any = v, wait: Barrier = wait, found: list[Any] = found) -> None:
            wait.wait()
            found.append((v.op, v.args))

        threads = [Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(op is found[0][0] and all(map(is_, args, found[0][1])) for op, args in found) and len(found) == 4


def test_a_value_whose_history_went_has_none() -> None:
    for _ in range(3):
        x = st.relu(st.tensor(X))
        v = x.value
        assert v.args and v.op.name == "Relu"
        x.numpy()
        assert v.args == () and v.op.name == "Parameter" and v.call is None
        with pytest.raises(AttributeError, match="no attribute 'shade'"):
            v.shade  # noqa: B018


# Where values come from

def test_lines_are_right_though_code_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "MOST_PLACES", 16)
    for k in range(100):
        source = "\n" * k + "y = st.relu(x)"
        names: dict[str, Any] = {"st": st, "x": st.tensor(X)}
        exec(compile(source, f"cell{k % 7}.py", "exec"), names)
        assert lines(names["y"].value.where) == (f"cell{k % 7}.py:{k + 1}",)
        assert len(origin.PLACES) <= 17
        del names
        gc.collect(0)


def test_layers_have_their_path_wherever_they_stand() -> None:
    class Outer(Module):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    def path(model: Any) -> str:
        for _ in range(2):
            (where,) = lines(model(st.tensor(X)).value.where)
        return where.partition(" ")[2]

    net = Net()
    assert path(net) == "(second)" and path(net.second.__class__(6, 2)) == "(Linear)"
    outer = Outer(net)
    assert path(outer) == "(inner.second)" and path(net) == "(second)" and path(outer) == "(inner.second)"
    for _ in range(50):
        assert path(Linear(6, 3)) == "(Linear)"


def test_state_that_nobody_looks_at_keeps_nothing_of_the_steps_before() -> None:
    """Running statistics, means of parameters, what is counted, and the rates that a scaler puts back."""
    st.manual_seed(0)
    norm = BatchNorm1d(5)
    model, total = Sequential(Linear(6, 5), norm, Linear(5, 3)), st.tensor(0.0)
    optimizer, scaler = SGD(model.parameters(), lr=0.1, momentum=0.9), LossScaler(256.0)
    ema, right = EMA(model.parameters()), Accuracy()
    held = [norm.running_mean, norm.running_var, norm.num_batches_tracked, *ema.means, right.right, right.count, total,
            scaler.factor, scaler.taken, optimizer.lr, *model.parameters()]
    sizes, compiles = list[list[int]](), list[int]()
    for k in range(12):
        optimizer.zero_grad()
        y = model(st.tensor(X + k))
        loss = cross_entropy(y, LABELS)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        ema.update()
        right(y, LABELS)
        total += loss.detach()
        float(loss)
        sizes.append([len(walk([x.value], stop=is_there)) for x in held])
        compiles.append(EVALUATOR.compiles)
    assert sizes[-1] == sizes[-2] == sizes[5] and compiles[-1] == compiles[6]
    assert float(norm.num_batches_tracked) == 12 and int(right.count) == 12 * len(X)
