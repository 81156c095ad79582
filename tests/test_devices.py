"""Two devices in one process: arrays that move, programs on both, streams and events, and what comes in between."""
from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case
from test_nn import CASES as LAYERS
from test_nn import first

import stele as st
from stele import nn, optim
from stele.backend import locks, queued
from stele.backend.buffers import MEMORY, Buffer
from stele.backend.devices import find
from stele.backend.parts import cut
from stele.backend.reference import run
from stele.eager import evaluate
from stele.errors import DeviceError, GraphError, IndexOutOfRange
from stele.ir.graph import Graph, Value, parameter
from stele.ir.text import parse, show
from stele.ir.types import Type, float32
from stele.ir.verify import verify
from stele.ops import ALL
from stele.ops.linear import Transfer, transfer
from stele.pipeline import Options, build
from stele.transform.autodiff import gradients, tangents

AWAY = "cpu:1"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@contextmanager
def blocked(stream: Any = None) -> Iterator[threading.Event]:
    """The second device does nothing before the event is set."""
    gate = threading.Event()
    (stream or find(AWAY).first).give("gate", lambda: gate.wait(60))
    try:
        yield gate
    finally:
        gate.set()


def on_thread(f: Callable[[], Any]) -> Any:
    """What a function gives on another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(f()))
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "a thread waits forever"
    return found[0]


# Types and graphs

def test_types_carry_their_device_through_text_equality_and_marks() -> None:
    t = Type(float32, (2, 3), AWAY)
    assert str(t) == "float32[2,3]@cpu:1" and t != Type(float32, (2, 3)) and t.mark != Type(float32, (2, 3)).mark
    x = parameter("x", t)
    y = transfer(x * 2 + 1, "cpu")
    assert str(y.type) == "float32[2,3]" and transfer(y, "cpu") is y
    graph = verify(Graph((x,), (y, x * y.type.ndim)))
    assert parse(show(graph), ALL) == graph and Graph((x,), (x,)) != Graph((z := parameter("z", t.on("cpu")),), (z,))


def test_a_graph_says_where_devices_meet_without_a_transfer() -> None:
    a, b = parameter("a", Type(float32, (3,))), parameter("b", Type(float32, (3,), AWAY))
    with pytest.raises(GraphError, match="on cpu:1 takes float32"):
        verify(Graph((a, b), (a + b,)))


def test_a_transfer_differentiates_both_ways() -> None:
    x, g = parameter("x", Type(float32, (3,))), parameter("g", Type(float32, (3,), AWAY))
    y = Transfer(AWAY)(x * x)
    [dx] = gradients([y], [g], [x])
    [dy] = tangents([y], [x], [x])
    assert dx is not None and dy is not None and str(dx.type) == "float32[3]" and dy.type.device == AWAY
    ones = np.ones(3, np.float32)
    made = build(Graph((x, g), (dx, dy)), options=Options()).run(
        [Buffer.of(ones * 3), find(AWAY).copy(Buffer.of(ones))], {})
    assert made[0].array.tolist() == [6, 6, 6] and made[1].array.tolist() == [18, 18, 18]


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].operands])
def test_every_op_gives_the_same_bits_on_the_second_device(case: Case) -> None:
    here = case.graph()
    away = tuple(parameter("x", p.type.on(AWAY)) for p in here.parameters)
    y = case.op(*away)
    results = tuple(v for v in ([y] if len(here.results) == 1 and isinstance(y.type, Type) else
                                [ALL["Item"](k)(y) for k in range(len(here.results))]))
    assert all(v.type.device == AWAY or isinstance(case.op, Transfer) for v in results)
    given = [find(AWAY).copy(Buffer.of(np.asarray(a))) for a in case.operands]
    made = build(Graph(away, results), options=Options()).run(given, {})
    wanted = build(here, options=Options()).run([Buffer.of(np.asarray(a)) for a in case.operands], {})
    for a, b, law in zip(made, wanted, run(here, case.operands), strict=True):
        assert a.array.tobytes() == b.array.tobytes() and a.array.dtype == law.dtype


# Tensors

def test_arrays_are_made_on_the_device_that_is_named() -> None:
    made = [st.tensor([1.0, 2.0], device=AWAY), st.zeros(2, device=AWAY), st.ones((2,), device=find(AWAY)),
            st.full((2,), 3, device=AWAY), st.arange(2, device=AWAY), st.arange(0.0, 1.0, 0.5, device=AWAY),
            st.linspace(0, 1, 2, device=AWAY), st.eye(2, device=AWAY), st.rand(2, device=AWAY),
            st.randn(2, device=AWAY), st.randint(0, 9, (2,), device=AWAY), st.bernoulli(0.5, (2,), device=AWAY),
            st.uniform(0, 1, (2,), device=AWAY), st.normal(0, 1, (2,), device=AWAY)]
    made += [st.zeros_like(made[0]), st.ones_like(made[0]), st.full_like(made[0], 2), st.tensor(made[0])]
    assert [x.device for x in made] == [AWAY] * len(made)
    assert all(x.numpy().shape[0] == 2 and x.to("cpu").device == "cpu" for x in made)
    with st.device(AWAY):
        assert st.zeros(2).device == AWAY and st.tensor([1]).device == AWAY and st.rand(1).device == AWAY
        with st.device("cpu"):
            assert st.zeros(2).device == "cpu" and st.zeros(2, device=AWAY).device == AWAY
        assert nn.Linear(2, 2).weight.device == AWAY and st.from_numpy(X).device == AWAY
    assert st.zeros(2).device == "cpu"


def test_the_device_of_a_tensor_is_a_value() -> None:
    x = st.ones(2, device=AWAY)
    assert x.device == AWAY and x.device is st.device(AWAY) and st.device(x.device) is x.device
    assert (x.device.type, x.device.index, str(x.device), hash(x.device)) == ("cpu", 1, AWAY, hash(AWAY))
    assert st.device("cpu:0") == "cpu" and st.ones(1).device == st.device("cpu") and repr(x.device) == "device('cpu:1')"
    assert x.to(AWAY) is x and x.to(x.device) is x and x.to("float64").device == AWAY
    assert copy.deepcopy(st.device(AWAY)) is st.device(AWAY)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cpu:7", "mps", "tpu:1"])
def test_devices_that_there_are_not_are_refused_with_those_there_are(name: str) -> None:
    f = st.compile(lambda x: x.to(name) + 1)
    calls: list[Callable[[], Any]] = [
        lambda: st.device(name), lambda: st.ones(2).to(name), lambda: st.zeros(2, device=name), lambda: f(st.ones(2)),
        lambda: st.tensor([1.0], device=name), lambda: nn.Linear(2, 2).to(name), lambda: st.rand(2, device=name)]
    for call in calls:
        with pytest.raises(DeviceError, match=f"no device '{name}'.*'cpu' and 'cpu:1'"):
            call()


def test_operands_of_two_devices_are_refused_at_the_line() -> None:
    x, y = st.tensor(X), st.tensor(X, device=AWAY)
    calls: list[Callable[[], Any]] = [
        lambda: x + y, lambda: y @ x.T, lambda: st.where(y > 0, x, y), lambda: st.concatenate([y, x]),
        lambda: st.scan(lambda s, v: (s + v, s), st.zeros(3), y), lambda: y + X, lambda: st.compile(st.add)(x, y),
        lambda: nn.Linear(3, 2)(y), lambda: st.zeros(2, 3) + y]
    for call in calls:
        with pytest.raises(DeviceError, match=r"one device, got \w+\[.*cpu.*test_devices.py:\d+.*Move one of them"):
            call()
    with pytest.raises(DeviceError, match=r"is moved to .* inside, but all of it runs on one device"):
        st.scan(lambda s, v: (s + v.to(AWAY).to("cpu"), s), st.zeros(3), x)
    one = st.tensor(1.0, requires_grad=True)
    assert ((one * y).device, (y * one).tolist(), (one + y.sum()).item()) == (AWAY, X.tolist(), 16)
    (y * one * one).sum().backward()
    assert one.grad is not None and one.grad.device == "cpu" and one.grad.item() == 30
    total = st.tensor(0.0)
    total += y.sum()
    last, _ = st.scan(lambda s, v: (s + v.sum(), s), total, y)
    assert (total.device, total.item(), last.item()) == ("cpu", 15, 30)
    assert (y + 1.0).tolist() == (X + 1).tolist() and st.where(y > 2, y, 0.0).sum().item() == 12


def test_tensors_print_pickle_copy_and_save_with_their_device(tmp_path: Any) -> None:
    x = st.tensor([1.0, 2.0], device=AWAY, requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True, device='cpu:1')" and repr(x.to("cpu").detach()) == \
        "tensor([1., 2.])"
    assert repr(st.placeholder((2,), device=AWAY)) == "tensor(symbolic float32[2]@cpu:1)"
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert (y.device, y.tolist(), y.requires_grad) == (AWAY, [1, 2], True)
    st.save({"x": x}, tmp_path / "x.safetensors")
    assert st.load(tmp_path / "x.safetensors")["x"].device == "cpu"
    assert np.asarray(x).tolist() == [1, 2] and np.from_dlpack(x).tolist() == [1, 2] and x.numpy().sum() == 3
    assert f"{x[0]:.1f}" == "1.0" and bool(x[1] > 1) and int(x[1]) == 2


def test_what_is_written_in_place_stays_on_its_device() -> None:
    x = st.tensor(X, device=AWAY)
    x += 1
    x[0] = np.zeros(3, np.float32)
    x[1, 2] = 9
    x.assign(x * 2)
    assert x.device == AWAY and x.tolist() == [[0, 0, 0], [8, 10, 18]]
    x.assign(X)
    x.data = st.tensor(X) + 1     # from another device, as numbers are
    assert x.device == AWAY and x.tolist() == (X + 1).tolist() and x.zero_().device == AWAY
    with pytest.raises(DeviceError):
        x += st.tensor(X)


def test_gradients_pass_between_devices() -> None:
    w = st.tensor(X, requires_grad=True)
    for _ in range(3):
        w.grad = None
        loss = ((w.to(AWAY) * 3).to("cpu") * w).sum()
        loss.backward()
        assert w.grad is not None and w.grad.device == "cpu" and w.grad.tolist() == (6 * X).tolist()
    v = st.tensor(X, requires_grad=True, device=AWAY)
    (v.sum() + (v * v).mean()).backward()
    assert v.grad is not None and v.grad.device == AWAY
    np.testing.assert_allclose(v.grad.numpy(), 1 + X / 3, rtol=1e-6)
    g = st.grad(lambda z: (z.to("cpu") ** 2).sum())(v)
    assert g.device == AWAY and g.tolist() == (2 * X).tolist()


def test_random_numbers_are_the_same_bits_on_every_device() -> None:
    def draws(device: str) -> list[Any]:
        st.manual_seed(5)
        x = st.ones(40, device=device)
        return [t.numpy().tobytes() for t in (
            st.rand(7, device=device), st.randn(7, device=device), st.randint(0, 9, (7,), device=device),
            st.dropout(x, 0.5), st.compile(lambda: st.randn(5, device=device))())]
    assert draws("cpu") == draws(AWAY)


# Three styles

def test_all_styles_agree_on_a_program_of_two_devices() -> None:
    def f(x: Any, y: Any) -> Any:
        h = st.tanh(x * 2).to(AWAY) @ y
        return (h.to("cpu") + x.sum(), h, st.exp(h).mean())

    x, y = st.tensor(X), st.tensor(X.T.copy(), device=AWAY)
    compiled = st.compile(f)
    places = [st.placeholder(("n", 3)), st.placeholder((3, "m"), device=AWAY)]
    symbolic = st.function(places, f(*places))
    wanted = [v.numpy() for v in f(st.tensor(X), st.tensor(X.T.copy()).to(AWAY))]
    for made in (f(x, y), f(x, y), compiled(x, y), compiled(x, y), symbolic(x, y),
                 st.compile(f, backend="reference")(x, y), on_thread(lambda: compiled(x, y))):
        assert [v.device for v in made] == ["cpu", AWAY, AWAY]
        for a, b in zip(made, wanted):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-5)
    kernels = [f"{note.kind} {note.what}" for note in compiled.programs[0].report().kernels]
    assert "copy float32[2,3] to cpu:1" in kernels and any(" cpu:1: " in k for k in kernels)
    with pytest.raises(DeviceError, match=r"input .x. is float32.*Move it"):
        symbolic(x, y.to("cpu"))


def test_a_compiled_function_is_traced_anew_for_another_device() -> None:
    f = st.compile(lambda x: (x * 2).sum())
    x = st.ones(3)
    for _ in range(3):
        assert f(x).device == "cpu" and f(x.to(AWAY)).device == AWAY
    assert f.traces == 2
    assert f(st.ones(5).to(AWAY)).item() == 10 and f(st.ones(0, device=AWAY)).item() == 0


def test_st_device_outside_of_a_compiled_function_is_a_guard() -> None:
    f = st.compile(lambda n: st.zeros(2) + n)
    g = st.compile(lambda x: x + 1)
    assert f(1).device == "cpu"
    with st.device(AWAY):
        assert f(1).device == AWAY and f(1).device == AWAY and g(st.ones(1, device="cpu")).device == "cpu"
    assert f(1).device == "cpu" and f.traces == 2 and g(st.ones(1)).device == "cpu" and g.traces == 1


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (300, 300)])
def test_empty_scalar_and_large_arrays_move(shape: tuple[int, ...]) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for dtype in ("float32", "bfloat16", "int64", "bool", "uint8"):
        x = st.tensor(a).astype(dtype)
        assert (x.to(AWAY) * 1).to("cpu").numpy().tobytes() == (x * 1).numpy().tobytes()


def train(device: str, make: Callable[[Any], Any], compiled: bool) -> list[bytes]:
    st.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)).to(device)
    optimizer = make(model.parameters())
    x, y = st.tensor(np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)), st.arange(16) % 2

    def step() -> Any:
        loss = nn.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    run = st.compile(step) if compiled else step
    losses = [run().item() for _ in range(4)]
    assert losses[-1] < losses[0] and all(p.device == device for p in model.parameters())
    return [p.numpy().tobytes() for p in model.parameters()]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda p: optim.AdamW(p, 0.01)])
def test_training_on_the_second_device_gives_the_same_bits(make: Callable[[Any], Any], compiled: bool) -> None:
    assert train("cpu", make, compiled) == train(AWAY, make, compiled)


def test_a_model_of_two_devices_trains_and_its_state_is_kept(tmp_path: Any) -> None:
    first, second = nn.Linear(3, 4), nn.Linear(4, 1).to(AWAY)
    optimizer = optim.Adam([*first.parameters(), *second.parameters()], 0.05)
    x = st.tensor(X)

    @st.compile
    def step() -> Any:
        loss = (second(first(x).to(AWAY)) ** 2).mean()
        loss.backward()
        optim.clip_grad_norm([*first.parameters(), *second.parameters()], 10.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    losses = [step().item() for _ in range(5)]
    assert losses[-1] < losses[0] and step.traces <= 2
    assert [s.mean.device for s in optimizer.states] == ["cpu", "cpu", AWAY, AWAY]
    st.save({"second": second, "optimizer": optimizer}, tmp_path / "s.safetensors")
    st.load(tmp_path / "s.safetensors", into={"second": second, "optimizer": optimizer})
    assert second.weight.device == AWAY and optimizer.states[3].mean.device == AWAY and step().device == AWAY


def test_a_module_moves_with_its_gradients_buffers_and_tied_tensors() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm2d(3))
    model.again = model[0].weight  # type: ignore[attr-defined]
    model[0](st.tensor(X)).sum().backward()
    weight, grad = model[0].weight, model[0].weight.grad.tolist()
    assert model.to(AWAY) is model and model[0].weight is weight and model.again is weight  # type: ignore[attr-defined]
    assert {x.device for x in model.state_dict().values()} == {st.device(AWAY)}
    assert weight.grad is not None and weight.grad.device == AWAY and weight.grad.tolist() == grad and weight.leaf
    assert model.to("cpu")[0](st.tensor(X)).device == "cpu"
    for layer, x in ((nn.GRU(3, 4), st.zeros(2, 2, 3, device=AWAY)), (nn.LSTM(3, 4), st.zeros(2, 2, 3, device=AWAY))):
        assert layer.to(AWAY)(x)[0].device == AWAY


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_gradients_have_the_same_bits_on_the_second_device(name: str) -> None:
    case, found = LAYERS[name], list[list[bytes]]()
    for device in ("cpu", AWAY):
        st.manual_seed(0)
        layer = case.make().to(device)
        x = st.tensor(case.x, device=device, requires_grad=True)

        def run(x: Any, layer: Any = layer) -> list[Any]:
            y = first(layer(x))
            return [y, *st.gradients((y * y).sum(), [x, *layer.parameters()])]

        made = [*st.compile(run)(x), first(layer(x)), *layer.state_dict().values()]
        assert {y.device for y in made} == {st.device(device)}
        found.append([y.numpy().tobytes() for y in made])
    assert found[0] == found[1]


# Queues

def test_launches_return_before_the_work_is_done() -> None:
    f = st.compile(lambda x: x * 2 + 1)
    x = st.eval(st.ones(3, device=AWAY))
    f(x).numpy()
    with blocked() as gate:
        y = f(f(x))
        z = st.eval(y.to(AWAY) * 2)
        event = st.device(AWAY).first.record()
        assert not event.reached
        gate.set()
    assert z.tolist() == [14, 14, 14] and event.reached


def test_two_streams_run_beside_each_other_and_events_order_them() -> None:
    device = st.device(AWAY)
    one, two = device.stream(), device.stream()
    f = st.compile(lambda x: x + 1)
    x = st.eval(st.zeros(4, device=AWAY))
    with blocked(one) as gate:
        with one:
            a = f(x)
        with two:
            b = f(x)
        assert b.tolist() == [1] * 4      # while the first stream waits
        two.wait(one.record())
        with two:
            c = f(f(a))                    # of what the first stream is to make
        ready = two.record()
        assert not ready.reached
        gate.set()
    assert c.tolist() == [3] * 4 and ready.reached
    event = device.event()
    with pytest.raises(DeviceError, match=r"no stream has recorded this event.*Record it first"):
        two.wait(event)
    with pytest.raises(DeviceError, match="no stream has recorded this event"):
        event.wait()
    one.record(event)
    two.wait(event)
    with pytest.raises(DeviceError, match="recorded before"):
        two.record(event)
    device.synchronize()
    assert st.device("cpu").stream().record().reached


def test_memory_that_a_copy_still_reads_is_not_given_to_others() -> None:
    n = 1 << 12
    with blocked() as gate:
        x = st.tensor(np.full(n, 7, np.float32))
        y = st.eval(x.to(AWAY))
        x.assign(np.zeros(n, np.float32))
        del x
        others = [st.eval(st.full((n,), k, device="cpu")) for k in range(50)]
        step = st.compile(lambda: others[0].assign(others[0] + 1))
        z = st.eval(others[0].to(AWAY))
        step()
        gate.set()
    assert set(y.numpy()) == {7} and set(z.numpy()) == {0} and set(others[0].numpy()) == {1}


def test_the_second_device_has_memory_of_its_own() -> None:
    own = find(AWAY).memory
    assert own is not MEMORY
    own.block(1)        # takes back what is dead
    used, host = own.used, MEMORY.used
    x = st.eval(st.zeros(1 << 20, device=AWAY))
    find(AWAY).synchronize()
    assert own.used - used > 3 << 20 and MEMORY.used - host < 1 << 20
    assert x.numpy().sum() == 0
    del x
    own.block(1)
    assert own.used - used < 1 << 20


def test_what_fails_on_the_queue_is_raised_where_somebody_looks_and_what_follows_it_too() -> None:
    x, i = st.tensor(X, device=AWAY), st.tensor([5], device=AWAY)
    f = st.compile(lambda x, i: st.take(x, i, 0))
    with blocked() as gate:
        y = f(x, i)
        z = st.compile(lambda y: y * 2)(y)
        gate.set()
    for bad in (y, z, y):
        with pytest.raises(IndexOutOfRange, match=r"test_devices.py:\d+"):
            bad.numpy()
    assert (x + 1).tolist() == (X + 1).tolist()


def test_a_step_that_fails_on_the_queue_changes_nothing() -> None:
    state, i = st.tensor(X, device=AWAY), st.tensor([1], device=AWAY)

    @st.compile
    def step(i: Any) -> None:
        state.assign(state + st.take(state, i, 0))

    step(i)
    before = state.tolist()
    with pytest.raises(IndexOutOfRange):
        step(st.tensor([7], device=AWAY))
    assert state.tolist() == before


def test_a_wait_for_a_copy_can_be_interrupted() -> None:
    x = st.eval(st.tensor(X, device=AWAY))
    st.device(AWAY).synchronize()
    with blocked():
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            x.numpy()
        timer.join()
    assert x.tolist() == X.tolist()


def test_each_device_has_a_lock() -> None:
    x, y = st.eval(st.ones(3), st.ones(3, device=AWAY))
    f = st.compile(lambda x: x + 1)
    f(x), f(y)
    with locks.held(["cpu"]):
        assert on_thread(lambda: (f(y).tolist(), (y * 2).tolist())) == ([2] * 3, [2] * 3)
    with locks.held([AWAY]):
        assert on_thread(lambda: (f(x).tolist(), (x * 2).tolist())) == ([2] * 3, [2] * 3)


def test_code_that_was_seen_before_is_known_again_where_there_are_two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for device in ("cpu", AWAY):
        def step(k: int, device: str = device) -> list[list[float]]:
            return (st.relu(st.tensor(X, device=device) + 1.0) * k).numpy().tolist()

        for _ in range(8):
            step(3)
        with monkeypatch.context() as patch:
            patch.setattr(evaluate, "look" if device == "cpu" else "worked", None)
            assert step(3) == ((X + 1) * 3).tolist()


def test_a_function_of_nothing_is_compiled_where_there_are_two_devices() -> None:
    f = st.compile(lambda x: None)
    assert f(st.ones(2)) is None and f(st.ones(2, device=AWAY)) is None


def test_threads_on_both_devices_at_once() -> None:
    g = st.compile(lambda x: (x.to(AWAY) * 2).to("cpu") + x)
    f = st.compile(lambda x: st.tanh(x @ x).sum())
    x = st.tensor(np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32))
    y = x.to(AWAY)
    wanted, found, errors = f(x).item(), list[float](), list[BaseException]()

    def work(k: int) -> None:
        try:
            for _ in range(20):
                found.append(f(x if k % 2 else y).item())
                g(y.to("cpu") if k % 2 else x).numpy()
                (x.to(AWAY) + y).to("cpu").numpy()
                ((x if k % 2 else y) + k).numpy()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for k in range(20):
        st.set_threads(1 + k % 2)
    for thread in threads:
        thread.join(120)
    st.set_threads(2)
    assert not errors and not any(t.is_alive() for t in threads) and set(found) == {wanted}


def test_a_tensor_that_another_thread_rebinds_is_computed_again() -> None:
    w = st.tensor(X)
    f = st.compile(lambda x: x + w)
    x, stop = st.ones(2, 3), threading.Event()
    f(x)

    def rebind() -> None:
        while not stop.is_set():
            w.assign(w * 1)

    thread = threading.Thread(target=rebind)
    thread.start()
    try:
        for _ in range(300):
            assert f(x).tolist() == (X + 1).tolist()
    finally:
        stop.set()
        thread.join()


FORK = """
import os, stele as st, numpy as np
x = st.tensor(np.ones((200, 200), np.float32), device="cpu:1")
f = st.compile(lambda x: st.tanh(x @ x) * 0.5)
y = f(x)
for _ in range(20): y = f(y)
z = f(y)
def total(): return float(f(f(z)).sum())
if (child := os.fork()) == 0:
    same = total(), float(z.sum()), float((st.ones(3, device="cpu:1") + st.rand(3).to("cpu:1") * 0).sum())
    os.write(1, f"{same}\\n".encode())
    os._exit(0)
os.waitpid(child, 0)
print((total(), float(z.sum()), 3.0))
"""
LEAVES = """
import atexit, threading, stele as st, numpy as np
def late():
    try: print("sum", float(done.sum()))
    except BaseException as error: print(type(error).__name__)
atexit.register(late)
x = st.rand(600, 600, device="cpu:1")
f = st.compile(lambda x: st.tanh(x @ x))
f(x).numpy()
done = st.eval(st.ones(3, device="cpu:1"))
st.device("cpu:1").synchronize()
for _ in range(2000): y = f(x)
long = st.compile(lambda: (st.arange(2**40, device="cpu:1") * 3 % 7).sum())
z = long()
threading.Thread(target=lambda: z.numpy(), daemon=True).start()
"""


@pytest.mark.parametrize("program", [FORK, LEAVES])
def test_processes_with_work_in_a_queue_fork_and_end_well(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    if program is FORK:
        child, parent = done.stdout.splitlines()
        assert child == parent
    else:
        assert done.stdout in ("sum 3.0\n", "SystemExit\n")


def test_a_stream_that_nobody_holds_ends_its_thread() -> None:
    stream = st.device(AWAY).stream()
    stream.record().wait()
    thread = stream.thread
    del stream
    thread.join(60)
    assert not thread.is_alive()


def test_a_queue_does_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queued, "AHEAD", 4)
    stream, longest = find(AWAY).stream(), 0
    for _ in range(200):
        stream.record()
        longest = max(longest, stream.jobs.qsize())  # type: ignore[attr-defined]
    assert longest <= 4


def test_a_queue_holds_nothing_of_what_is_done() -> None:
    x = st.eval(st.ones(5, device=AWAY))
    find(AWAY).synchronize()
    seen = weakref.ref(x.value.data)
    del x
    assert seen() is None


def test_a_graph_is_cut_into_as_few_parts_as_it_moves() -> None:
    x, y = parameter("x", Type(float32, (3,))), parameter("y", Type(float32, (3,), AWAY))
    a = Transfer(AWAY)(x * 2) + y
    b: Value = Transfer("cpu")(a * a) - x
    parts = cut(Graph((x, y), (b, a, y * y, Transfer(AWAY)(x))))
    assert [p.device for p in parts] == [AWAY, "cpu", AWAY, "cpu"]
    assert all(v.type.device == "cpu" for p in parts for v in p.graph)
    assert len({v for p in parts for v in p.outputs}) == sum(len(p.outputs) for p in parts)


def test_a_report_says_of_every_part_what_all_stages_did() -> None:
    f = st.compile(lambda x: (st.exp(st.log(x) * 1).to(AWAY) * 1 + x.to(AWAY)).to("cpu") * 1 + 2)
    f(st.ones(7))
    (program,) = f.programs
    report, parts = program.report(), [each.report() for _, each, _ in vars(program)["steps"]]
    assert sum("multiply_by_one" in part.rules for part in parts) > 1
    for name in {name for part in parts for name in part.rules}:
        assert report.rules[name].times == sum(part.rules[name].times for part in parts if name in part.rules)
    assert [row for row in report.passes if row[0].startswith(f"{AWAY}: ")] == [
        (f"{AWAY}: {name}", before, after) for name, before, after in parts[1].passes]
    assert len(report.passes) == sum(len(part.passes) for part in parts)
    assert report.seconds.keys() == {name for part in parts for name in part.seconds} != set()
    assert {note.what.rpartition(": ")[0] for note in report.buffers} == {"cpu", AWAY}
