"""The table of small training programs: the same numbers in every style, or an error that teaches."""
from __future__ import annotations

import os
import pickle
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import GraphError, IndexOutOfRange, TraceError
from stele.nn.dropout import Dropout
from stele.nn.layers import Linear
from stele.nn.module import Module
from stele.nn.normalization import BatchNorm2d
from stele.nn.recurrent import GRU
from stele.optim import SGD, Adam
from stele.pipeline import PASSES

Style = Callable[[Callable[..., Any]], Callable[..., Any]]

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((8, 4)).astype(np.float32)
Y = RANDOM.standard_normal((8, 3)).astype(np.float32)
LABELS = RANDOM.integers(0, 3, 8)
PROGRAMS: dict[str, Callable[[Style], Any]] = {}
LATER: list[Any] = []
GENERATOR = np.random.default_rng(1)


def program(f: Callable[[Style], Any]) -> Callable[[Style], Any]:
    """Enters a program into the table."""
    PROGRAMS[f.__name__] = f
    return f


class Net(Module):
    """Two layers, with dropout between them."""

    def __init__(self, p: float = 0.0) -> None:
        self.first, self.drop, self.second = Linear(4, 5), Dropout(p), Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.second(self.drop(st.tanh(self.first(x))))


def model(p: float = 0.0) -> Net:
    st.manual_seed(1)
    return Net(p)


def weights() -> Any:
    return st.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), requires_grad=True)


def loss_of(net: Any, x: Any = X, y: Any = Y) -> Any:
    return st.mse(net(st.tensor(x)), st.tensor(y))


def train(net: Any, optimizer: Any, style: Style, steps: int = 4) -> list[Any]:
    """Plain training: the losses, then the parameters."""
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
        return loss

    step = style(step)
    return [step().numpy() for _ in range(steps)] + [p.numpy() for p in net.parameters()]


@program
def plain_sgd(style: Style) -> Any:
    net = model()
    return train(net, SGD(net.parameters(), 0.1), style)


@program
def momentum_and_weight_decay(style: Style) -> Any:
    net = model()
    return train(net, SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01), style)


@program
def adam_counts_its_steps(style: Style) -> Any:
    net = model()
    return train(net, Adam(net.parameters(), 0.01), style)


@program
def loss_printed_before_backward(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net)
        assert str(loss).startswith("tensor(")
        loss.backward()
        optimizer.step()
        return loss

    step = style(step)
    return [step().numpy() for _ in range(3)]


@program
def old_parameter_kept(style: Style) -> Any:
    w = weights()
    def step() -> None:
        with st.no_grad():
            w.assign(w * 0.5)
    step = style(step)
    kept = [w.detach()]
    for _ in range(3):
        step()
        kept.append(w.clone().detach())
    return [k.numpy() for k in kept]


@program
def numpy_view_held_across_a_step(style: Style) -> Any:
    w = weights()
    def step() -> None:
        with st.no_grad():
            w.assign(w + 1)
    step = style(step)
    views = []
    for _ in range(3):
        views.append(w.numpy())
        step()
    return views


@program
def tied_weights(style: Style) -> Any:
    net = model()
    net.third = Linear(4, 5)
    net.third.weight = net.first.weight
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        x = st.tensor(X)
        loss = st.mse(net.second(st.tanh(net.first(x) + net.third(x))), st.tensor(Y))
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step().numpy() for _ in range(3)] + [net.third.weight.numpy(), net.first.weight.numpy()]


@program
def attribute_rebound(style: Style) -> Any:
    holder = SimpleNamespace(w=weights())
    def step() -> Any:
        loss = ((st.tensor(X) @ holder.w - st.tensor(Y)) ** 2).mean()
        holder.w = holder.w - 0.1 * st.gradients(loss, holder.w)
        return loss
    step = style(step)
    return [step().numpy() for _ in range(4)] + [holder.w.numpy()]


@program
def optimiser_made_inside(style: Style) -> Any:
    net = model()
    def step() -> Any:
        optimizer = SGD(net.parameters(), 0.1, momentum=0.9)
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step().numpy() for _ in range(3)]


@program
def learning_rate_tensor_changed(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
        return loss
    step, losses = style(step), []
    for rate in (0.1, 0.2, 0.05):
        optimizer.lr = rate
        losses.append(step().numpy())
    return losses


@program
def learning_rate_number_changed(style: Style) -> Any:
    w, settings = weights(), {"rate": 0.1}
    def step() -> Any:
        w.grad = None
        loss = ((st.tensor(X) @ w) ** 2).mean()
        loss.backward()
        with st.no_grad():
            w.assign(w - settings["rate"] * w.grad)
        return loss
    step, losses = style(step), []
    for settings["rate"] in (0.1, 0.1, 0.3):
        losses.append(step().numpy())
    return losses


@program
def train_and_eval_switched(style: Style) -> Any:
    net = model(0.5)
    forward = style(lambda x: net(x))
    found = []
    for mode in (True, False, True):
        net.train(mode)
        found.append(forward(st.tensor(X)).numpy())
    return found


@program
def train_and_eval_switched_inside(style: Style) -> Any:
    net = model(0.5)
    def both(x: Any) -> Any:
        net.train()
        noisy = net(x)
        net.eval()
        return noisy, net(x)
    both = style(both)
    return [y.numpy() for _ in range(3) for y in both(st.tensor(X))] + [net.training]


@program
def exception_half_way(style: Style) -> Any:
    net, flags = model(), {"fail": False}
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net)
        if flags["fail"]:
            raise KeyboardInterrupt
        loss.backward()
        optimizer.step()
        return loss
    step, losses = style(step), []
    for fail in (False, True, False):
        flags["fail"] = fail
        try:
            losses.append(step().numpy())
        except KeyboardInterrupt:
            losses.append(net.first.weight.numpy())
    return losses


@program
def label_out_of_range(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step(labels: Any) -> Any:
        optimizer.zero_grad()
        loss = st.cross_entropy(net(st.tensor(X)), labels)
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    losses = [step(st.tensor(LABELS)).numpy()]
    with pytest.raises(IndexOutOfRange):
        step(st.tensor(LABELS + 2))
    return [*losses, *(p.numpy() for p in net.parameters()), step(st.tensor(LABELS)).numpy()]


@program
def running_total_of_losses(style: Style) -> Any:
    net, total = model(), SimpleNamespace(loss=st.tensor(0.0))
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
        total.loss += loss.detach()
    step = style(step)
    for _ in range(4):
        step()
    return total.loss.numpy()


@program
def running_total_outside(style: Style) -> Any:
    net = model()
    forward, total = style(lambda: loss_of(net)), 0.0
    for _ in range(3):
        total += float(forward())
    return total


@program
def two_threads(style: Style) -> Any:
    nets = [model(), model()]
    found: dict[int, Any] = {}
    def work(k: int) -> None:
        found[k] = train(nets[k], SGD(nets[k].parameters(), 0.1 * (k + 1)), style)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [*found[0], *found[1]]


@program
def after_fork(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    before = train(net, optimizer, style, 1)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pickle.dump([np.array(a) for a in train(net, optimizer, style, 2)], pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        after = pickle.load(pipe)
    os.waitpid(child, 0)
    return [*before, *after, net.first.weight.numpy()]


@program
def gradients_accumulate(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> None:
        for half in (slice(0, 4), slice(4, 8)):
            loss_of(net, X[half], Y[half]).backward()
        optimizer.step()
    step, found = style(step), []
    for _ in range(3):
        step()
        found += [net.first.weight.grad.numpy(), net.first.weight.numpy()]
    return found


@program
def gradients_zeroed_outside(style: Style) -> Any:
    net = model()
    def step() -> Any:
        loss = loss_of(net)
        loss.backward()
        return loss
    step, found = style(step), []
    for _ in range(2):
        net.zero_grad()
        step()
        found.append(net.second.bias.grad.numpy())
    return found


@program
def batch_statistics(style: Style) -> Any:
    norm = BatchNorm2d(2)
    forward = style(lambda x: norm(x))
    x = st.tensor(X.reshape(4, 2, 2, 2))
    found = [forward(x).numpy() for _ in range(3)]
    norm.eval()
    statistics = norm.running_mean, norm.running_var, norm.num_batches_tracked
    return [*found, forward(x).numpy(), *(s.numpy() for s in statistics)]


@program
def dropout_masks_differ(style: Style) -> Any:
    st.manual_seed(3)
    drop = style(lambda x: st.dropout(x, 0.5))
    masks = [drop(st.ones(64)).numpy() for _ in range(3)]
    assert not np.array_equal(masks[0], masks[1])
    return [*masks, st.rand(3).numpy()]


@program
def seed_set_inside(style: Style) -> Any:
    def draw() -> Any:
        st.manual_seed(5)
        return st.rand(4), st.randn(4)
    draw = style(draw)
    return [x.numpy() for _ in range(2) for x in draw()] + [st.rand(2).numpy()]


@program
def state_in_a_dict(style: Style) -> Any:
    state: dict[str, Any] = {"velocity": st.zeros(4, 3), "w": weights().detach()}
    def step() -> None:
        state["velocity"] = state["velocity"] * 0.9 + state["w"]
        state["w"] = state["w"] - 0.1 * state["velocity"]
    step = style(step)
    for _ in range(3):
        step()
    return [x.numpy() for x in state.values()]


@program
def state_in_a_list(style: Style) -> Any:
    state = [st.ones(3), st.zeros(3)]
    def step() -> None:
        state[0], state[1] = state[1] + 1, state[0] * 2
    step = style(step)
    for _ in range(3):
        step()
    return [x.numpy() for x in state]


@program
def state_in_a_closure(style: Style) -> Any:
    total = st.zeros(3)
    def step(x: Any) -> Any:
        nonlocal total
        total = total + x
        return total
    step = style(step)
    return [step(st.ones(3)).numpy() for _ in range(3)] + [total.numpy()]


COUNT = st.tensor(0)


@program
def state_in_a_global(style: Style) -> Any:
    global COUNT
    COUNT = st.tensor(0)
    def step() -> None:
        global COUNT
        COUNT = COUNT + 1
    step = style(step)
    for _ in range(3):
        step()
    return COUNT.numpy()


@program
def state_in_a_tuple(style: Style) -> Any:
    holder = SimpleNamespace(state=(st.zeros(3), st.ones(3)))
    def step() -> None:
        h, c = holder.state
        holder.state = (h + c, c * 2)
    step = style(step)
    for _ in range(3):
        step()
    return [x.numpy() for x in holder.state]


@program
def moving_average_of_parameters(style: Style) -> Any:
    net, shadow = model(), model()
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> None:
        optimizer.zero_grad()
        loss_of(net).backward()
        optimizer.step()
        with st.no_grad():
            for average, p in zip(shadow.parameters(), net.parameters()):
                average.assign(0.9 * average + 0.1 * p)
    step = style(step)
    for _ in range(3):
        step()
    return [p.numpy() for p in shadow.parameters()]


@program
def parameters_swapped(style: Style) -> Any:
    a, b = st.ones(3), st.zeros(3)
    def step() -> None:
        a.data, b.data = b.data, a.data
        b.data = b + 1
    step = style(step)
    for _ in range(3):
        step()
    return [a.numpy(), b.numpy()]


@program
def means_of_parameters_put_in_and_taken_out(style: Style) -> Any:
    net, backup = model(), {}
    shadow = {name: p.data.clone() * 0.5 for name, p in net.named_parameters()}
    def step(x: Any) -> Any:
        for name, p in net.named_parameters():
            backup[name] = p.data
            p.data = shadow[name]
        y = net(x)
        for name, p in net.named_parameters():
            p.data = backup[name]
        return y - net(x)
    step = style(step)
    found = [step(st.tensor(X)).numpy() for _ in range(3)]
    return [*found, *(p.numpy() for p in net.parameters()), *(x.numpy() for x in backup.values())]


@program
def copied_from_another(style: Style) -> Any:
    w, target = weights(), st.zeros(4, 3)
    def step() -> None:
        target.copy_(w)
        with st.no_grad():
            w.assign(w * 2)
    step = style(step)
    for _ in range(3):
        step()
    return [w.numpy(), target.numpy()]


@program
def rows_assigned(style: Style) -> Any:
    table = st.zeros(5, 2)
    def step(i: Any) -> None:
        table[i] = table[i] + 1
        table[0] += 0.5
        table[:, 1] = 7
    step = style(step)
    for k in (1, 3, 3):
        step(st.tensor([k]))
    return table.numpy()


@program
def parameter_frozen(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    losses = [step().numpy()]
    net.first.weight.requires_grad_(False)
    return losses + [step().numpy() for _ in range(2)] + [net.first.weight.numpy()]


@program
def parameters_loaded_between_steps(style: Style) -> Any:
    net = model()
    saved = {name: np.array(x.numpy()) for name, x in net.state_dict().items()}
    first = train(net, SGD(net.parameters(), 0.1), style, 2)
    net.load_state_dict(saved)
    return first + train(net, SGD(net.parameters(), 0.1), style, 2)


@program
def parameter_replaced_outside(style: Style) -> Any:
    holder = SimpleNamespace(w=st.ones(3))
    f = style(lambda x: x * holder.w)
    found = [f(st.ones(3)).numpy()]
    holder.w = st.tensor([1.0, 2.0, 3.0])
    return [*found, f(st.ones(3)).numpy()]


@program
def array_changed_in_place(style: Style) -> Any:
    table = np.ones(3, np.float32)
    f = style(lambda x: x * st.tensor(table))
    found = [f(st.ones(3)).numpy()]
    table[:] = 5
    return [*found, f(st.ones(3)).numpy()]


@program
def short_last_batch(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = st.mse(net(x), y)
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step(st.tensor(X[:n]), st.tensor(Y[:n])).numpy() for n in (8, 8, 3, 8, 5, 1)]


@program
def one_compiled_in_another(style: Style) -> Any:
    net = model()
    inner = style(lambda x: net(x))
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        loss = st.mse(inner(st.tensor(X)), st.tensor(Y))
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step().numpy() for _ in range(3)] + [inner(st.tensor(X)).numpy()]


@program
def two_compiled_share_parameters(style: Style) -> Any:
    net = model()
    predict = style(lambda x: net(x))
    found = []
    for _ in range(2):
        found.append(predict(st.tensor(X)).numpy())
        found += train(net, SGD(net.parameters(), 0.1), style, 2)
    return found


@program
def gradient_outside_of_the_forward_part(style: Style) -> Any:
    net = model()
    forward = style(lambda x: net(x))
    optimizer, losses = SGD(net.parameters(), 0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = st.mse(forward(st.tensor(X)), st.tensor(Y))
        losses.append(loss.numpy())
        loss.backward()
        optimizer.step()
    return losses


@program
def recurrent_network(style: Style) -> Any:
    st.manual_seed(2)
    gru, head = GRU(4, 5), Linear(5, 3)
    optimizer = Adam([*gru.parameters(), *head.parameters()], 0.01)
    def step() -> Any:
        optimizer.zero_grad()
        loss = st.cross_entropy(head(gru(st.tensor(X.reshape(4, 2, 4)))[0][-1]), st.tensor(LABELS[:2]))
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step().numpy() for _ in range(3)] + [p.numpy() for p in gru.parameters()]


@program
def gradient_penalty(style: Style) -> Any:
    net = model()
    optimizer = SGD(net.parameters(), 0.1)
    def step() -> Any:
        optimizer.zero_grad()
        slope = st.grad(lambda x: net(x).sum())(st.tensor(X))
        loss = loss_of(net) + (slope ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    step = style(step)
    return [step().numpy() for _ in range(3)]


@program
def number_counted_inside(style: Style) -> Any:
    holder = SimpleNamespace(n=0, w=st.ones(2))
    def step() -> None:
        holder.n += 1
        holder.w = holder.w * holder.n
    step = style(step)
    for _ in range(4):
        step()
    return [holder.n, holder.w.numpy()]


@program
def results_kept_as_state(style: Style) -> Any:
    holder = SimpleNamespace(last=None)
    def step(x: Any) -> Any:
        y = x * 2 if holder.last is None else x * 2 + holder.last
        holder.last = y
        return y
    step = style(step)
    found = [step(st.ones(2)) for _ in range(3)]
    assert found[-1] is holder.last
    return [y.numpy() for y in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_numbers_in_every_style(name: str) -> None:
    """Those that NumPy gives op by op."""
    law = PROGRAMS[name](partial(st.compile, backend="reference", without=PASSES))
    for style in (lambda f: f, st.compile):
        assert_equal(PROGRAMS[name](style), law)


def assert_equal(a: Any, b: Any) -> None:
    """Equal within 2e-6 of the largest element, entry by entry."""
    a, b = (list(x) if isinstance(x, list | tuple) else [x] for x in (a, b))
    assert len(a) == len(b)
    for x, y in zip(a, b):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        assert x.shape == y.shape
        assert np.abs(x - y).max(initial=0) <= 2e-6 * max(np.abs(y).max(initial=0), 1e-30)


def test_symbolic_training_gives_the_same_numbers() -> None:
    plain = plain_sgd(lambda f: f)
    net = model()
    x, y = st.placeholder(("n", 4), name="x"), st.placeholder(("n", 3), name="y")
    loss = st.mse(net(x), y)
    parameters = net.parameters()
    step = st.function([x, y], loss, [(p, p - 0.1 * g) for p, g in zip(parameters, st.gradients(loss, parameters))])
    assert_equal(plain, [step(X, Y).numpy() for _ in range(4)] + [p.numpy() for p in parameters])


def appends(box: Any, x: Any) -> None:
    box.items.append(x * 2)


def branches(box: Any, x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def makes_and_keeps(box: Any, x: Any) -> None:
    box.inner = deque([x * 2])


def looks(box: Any, x: Any) -> Any:
    return float(x.sum()) * x


def deletes(box: Any, x: Any) -> Any:
    del box.items
    return x


def leaks(box: Any, x: Any) -> Any:
    LATER.append(x * 2)
    return x


def draws(box: Any, x: Any) -> Any:
    return x * np.random.rand()


def draws_from_a_generator(box: Any, x: Any) -> Any:
    return x * GENERATOR.random()


@pytest.mark.parametrize(("f", "says"), [
    (draws, r"np.random was used.*st.rand"), (draws_from_a_generator, "GENERATOR was used"),
    (appends, "grew from 0 to 1"), (branches, "truth of a tensor .* st.where"), (makes_and_keeps, "made while tracing"),
    (looks, "symbolic"), (deletes, "deleted"), (leaks, "grew from 0 to 1"),
])
def test_what_no_graph_can_hold_is_said(f: Any, says: str) -> None:
    box = SimpleNamespace(items=[], inner=None)
    with pytest.raises(TraceError, match=says):
        st.compile(f)(box, st.ones(2))
    assert box.items == [] and box.inner is None and LATER == []


def test_parameters_are_rebound_under_no_grad_only() -> None:
    w = weights()
    with pytest.raises(GraphError, match="no_grad"):
        w += 1


def test_second_backward_is_refused_and_can_be_allowed() -> None:
    w = weights()
    h = (w * 2).exp()
    loss = h.sum()
    loss.backward()
    with pytest.raises(GraphError, match="retain_graph"):
        h.mean().backward()
    again = (w * 2).exp().sum()
    again.backward(retain_graph=True)
    again.backward()


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_what_backward_leaves_holds_numbers_and_gradients_are_part_of_the_graph(style: Any) -> None:
    w = st.tensor([3.0, 4.0], requires_grad=True)

    def penalised(x: st.Tensor, is_kept: bool) -> st.Tensor:
        x = x.detach().requires_grad_()
        y = (w * x * x).sum()
        if is_kept:
            g = st.gradients(y, x)
        else:
            y.backward(retain_graph=True)
            g, w.grad = x.grad, None
        ((g * g).sum() + (w * x).sum()).backward()
        return w.grad

    step, x = style(penalised), [1.0, 2.0]
    for _ in range(2):      # uncompiled code replays the second time
        w.grad = None
        assert step(st.tensor(x), False).tolist() == x
        w.grad = None
        assert step(st.tensor(x), True).tolist() == [25, 130]


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_what_is_given_other_data_leaves_its_earlier_data_alone(style: Any) -> None:
    w = st.tensor([1.0, 2.0], requires_grad=True)
    held, follows = w.data, w.data[1:]
    first = held[:1]

    def step(y: st.Tensor) -> Any:
        here = w.data
        w.data = y
        seen = held * 1, here * 1, w * 1
        held[1] = 7
        now = w.data
        now += 1
        return seen

    step = style(step)
    assert [x.tolist() for x in step(st.tensor([3.0, 4.0]))] == [[1, 2], [1, 2], [3, 4]]
    assert [x.tolist() for x in (held, first, follows, w)] == [[1, 7], [1], [7], [4, 5]]
    held.copy_([8, 9])
    assert [x.tolist() for x in (held, first, follows, w)] == [[8, 9], [8], [9], [4, 5]]
    assert [x.tolist() for x in step(st.tensor([5.0, 6.0]))] == [[8, 9], [4, 5], [5, 6]]
    w.data += 1
    assert [x.tolist() for x in (held, first, w)] == [[8, 7], [8], [7, 8]]


def test_a_failed_trace_changes_nothing() -> None:
    holder = SimpleNamespace(w=st.ones(2), n=1, items={"a": st.zeros(2)})
    before = dict(vars(holder)), dict(holder.items)

    @st.compile
    def step() -> None:
        holder.w = holder.w + 1
        holder.n = 2
        holder.items["a"] = holder.w
        holder.items["b"] = holder.w
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        step()
    assert (dict(vars(holder)), dict(holder.items)) == before
    assert holder.w.tolist() == [1.0, 1.0]
