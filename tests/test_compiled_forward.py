"""A compiled forward pass whose gradients are taken outside: with statistics, dropout and state that it moves on."""
from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim, train

NETS = {
    "plain": lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)),
    "statistics": lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
    "dropout": lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 2)),
    "both": lambda: nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.4), nn.Linear(8, 2)),
    "spectral norm": lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), nn.Linear(4, 2)),
}
X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
Y = np.arange(8) % 2


def trained(make, style, look):
    """Losses, parameters and statistics of six steps at two sizes, with a look at the outputs in between or without."""
    st.manual_seed(0)
    net = make()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    f, losses = style(net), []
    for k in range(6):
        n = 8 - k % 2
        out = f(st.tensor(X[:n]))
        if look:
            out.numpy()
        loss = nn.cross_entropy(out, st.tensor(Y[:n]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with st.no_grad():
        losses += f(st.tensor(X)).tolist()[0]
    return losses, {name: x.numpy() for name, x in net.state_dict().items()}


@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_a_compiled_network_is_trained_from_outside(name, look):
    losses, state = trained(NETS[name], lambda net: net, look)
    found, its = trained(NETS[name], st.compile, look)
    np.testing.assert_allclose(found, losses, rtol=1e-4, atol=1e-5)
    for key, x in state.items():
        np.testing.assert_allclose(its[key], x, rtol=1e-3, atol=1e-5, err_msg=key)


def test_the_mask_of_the_gradient_is_that_of_the_result():
    drop = nn.Dropout(0.5)
    f = st.compile(lambda x: drop(x))
    for _ in range(3):
        x = st.ones(64).requires_grad_()
        y = f(x)
        later = f(x)    # draws on in between
        y.sum().backward()
        assert x.grad.tolist() == y.tolist() != later.tolist()


def test_what_is_kept_in_attributes_is_differentiated_too():
    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.last = nn.Parameter(st.ones(3)), None

        def forward(self, x):
            self.last = x * self.w
            return self.last.sum()

    grads = []
    for style in (lambda m: m, st.compile):
        module = Memory()
        call = style(module)
        for k in range(1, 3):
            module.w.grad = None
            (call(st.arange(3.0) * k) + (module.last * module.last).sum()).backward()
        grads.append(module.w.grad.tolist())
    assert grads[0] == grads[1]


def test_a_whole_training_step_keeps_no_history():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    @st.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(2):
        assert not step(st.tensor(X), st.tensor(Y)).requires_grad


def test_a_saved_network_is_trained_on_with_its_statistics(tmp_path):
    net = NETS["both"]()
    f = st.compile(net)
    f(st.tensor(X))
    st.save(f, tmp_path / "net.stele")
    again = st.load(tmp_path / "net.stele")
    x = st.tensor(X).requires_grad_()
    again(x).square().sum().backward()
    assert x.grad is not None and bool((x.grad != 0).any())


def test_a_compiled_module_is_used_as_the_module():
    net = NETS["both"]()
    f = st.compile(net)
    assert [id(p) for p in f.parameters()] == [id(p) for p in net.parameters()]
    assert f.eval() is f and not net.training and f.train() is f and net.training
    assert [*f.state_dict()] == [*net.state_dict()]
    f.scale = 3
    assert net.scale == 3 and not hasattr(f, "missing") and f.load_state_dict(net.state_dict())
    with pytest.raises(AttributeError, match="missing"):
        _ = f.missing
    assert copy.deepcopy(f).parameters()[0] is not net[0].weight
    assert type(pickle.loads(pickle.dumps(f))) is type(f)


def test_what_holds_a_compiled_module_holds_its_parameters():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = st.compile(NETS["both"]()), nn.Linear(2, 1)
            self.more = [st.compile(nn.Linear(1, 1))]

        def forward(self, x):
            return self.more[0](self.head(self.body(x)))

    model = Model()
    names = [name for name, _ in model.named_parameters()]
    assert names[:2] == ["body.0.weight", "body.0.bias"] and names[-2:] == ["more.0.weight", "more.0.bias"]
    assert [*model.state_dict()][:2] == names[:2] and "BatchNorm1d(8" in repr(model)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    before = model.body.parameters()[0].numpy().copy()
    model(st.tensor(X)).square().sum().backward()
    optimizer.step()
    assert (model.body.parameters()[0].numpy() != before).any()
    model.eval()
    assert not model.body.training and bool((model(st.tensor(X)) == model(st.tensor(X))).all())
    row = nn.Sequential(st.compile(nn.Linear(3, 2)), nn.Softmax(1))
    assert len(row.parameters()) == 2 and row(st.tensor(X)).shape == (8, 2)


def test_trainer_and_summary_take_a_compiled_module():
    net = st.compile(NETS["statistics"]())
    history = train.fit(net, data.Loader((X, Y), 4), loss="cross_entropy", optimizer="sgd", lr=0.1, epochs=1)
    assert history["train_loss"][0] > 0 and "BatchNorm1d" in str(nn.summary(net, st.tensor(X)))


def test_attributes_of_a_compiled_function_are_its_functions():
    @st.compile
    def f(x):
        f.calls += 1
        return x * f.calls

    f.calls = 0
    assert [f(st.ones(())).item() for _ in range(3)] == [1.0, 2.0, 3.0] and f.calls == 3


def several(x, a, w):
    h = st.tanh(x * w) + a
    y = (h * h).sum()
    return x, h, h, y, (y * h).sum()


@pytest.mark.parametrize("kept", [[0, 1, 2, 3, 4], [3, 4], [4], [1, 4], [0], [2, 3], [4, 1]])
@pytest.mark.parametrize("style", ["compiled", "open", "function"])
def test_results_come_about_as_they_did_whichever_are_kept(style, kept):
    def gradients(f, n):
        x, w = st.arange(1.0, n + 1).requires_grad_(), st.arange(0.5, n).requires_grad_()
        made = f(x, np.ones(n, "float32"), w)
        seen = []
        made[1].register_hook(lambda g: seen.append(g.tolist()) or g * 2)
        made = [made[k] for k in kept]
        for y in made[:-1]:
            y.sum().backward(retain_graph=True)
        (made[-1].sum() * 3).backward()
        return [None if g is None else g.tolist() for g in (x.grad, w.grad)] + seen + [y.tolist() for y in made]

    def function():
        given = [st.placeholder(("n",), name=name) for name in "xaw"]
        f = st.function(given, several(*given))
        return lambda x, a, w: f(x, st.tensor(a), w)
    f = {"compiled": lambda: st.compile(several), "function": function,
         "open": lambda: st.compile(several, dims={name: {0: "n"} for name in "xaw"})}[style]()
    for n in (4, 3):
        found, expected = gradients(f, n), gradients(several, n)
        assert len(found) == len(expected) and [g is None for g in found] == [g is None for g in expected]
        for g, its in zip(found, expected):
            np.testing.assert_allclose(g, its, rtol=1e-5) if g is not None else None


@pytest.mark.parametrize("again", [False, True])
def test_what_a_call_made_goes_with_its_last_name(again):
    net = nn.Linear(3, 3)
    f = st.compile(lambda x: (h := net(x), h.sum()))
    gc.disable()
    try:
        y, total = f(st.ones((2, 3)))
        if again:
            total.backward(retain_graph=True)
        values = [weakref.ref(t._value) for t in (y, total)]
        del y, total
        assert [v() for v in values] == [None] * 2
    finally:
        gc.enable()


def test_threads_that_ask_at_once_find_one_history():
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(20)))
    f = st.compile(lambda x: (h := net(x), h * 2))
    for _ in range(20):
        h, y = f(st.ones((1, 4)))
        start = threading.Barrier(2)

        def ask(t, start=start):
            start.wait()
            return t._value.args
        with ThreadPoolExecutor(2) as pool:
            _, args = pool.map(ask, (h, y))
        assert h._value in args


def test_a_function_gives_no_gradients_under_no_grad():
    w, x = st.tensor(2.0, requires_grad=True), st.placeholder(())
    f = st.function([x], w * x)
    with st.no_grad():
        assert not f(3.0).requires_grad
    y = f(3.0)
    y.backward()
    assert y.requires_grad and w.grad.item() == 3
