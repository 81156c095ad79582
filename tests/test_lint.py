"""The linter: every lesson found in three spellings at its line, and silence on programs that have learned it."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.train.models import Cnn, ResNet20, ResNet50, Sentiment

X, LABELS = st.tensor(np.ones((4, 3), np.float32)), st.tensor([0, 1, 2, 0])
IMAGES = st.tensor(np.ones((2, 3, 8, 8), np.float32))
W = st.tensor(np.ones((3, 3), np.float32))
KERNEL = st.tensor(np.ones((3, 3, 3, 3), np.float32))


def line_of(f: Callable[..., Any]) -> int:
    """The line of f that carries the mark."""
    source, first = inspect.getsourcelines(f)
    return first + next(k for k, text in enumerate(source) if "# here" in text)


# softmax-twice

def softmax_in_words(x: Any) -> Any:
    p = st.softmax(x @ W)  # here
    return st.cross_entropy(p, LABELS)


def softmax_by_hand(x: Any) -> Any:
    e = st.exp(x @ W - (x @ W).max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)  # here
    return -st.pick(st.log_softmax(p), LABELS).mean()


def softmax_in_log_space(x: Any) -> Any:
    p = st.log_softmax(x @ W)  # here
    scores = p.reshape(1, 4, 3)
    return (st.logsumexp(scores, axis=-1) - st.pick(scores, LABELS.reshape(1, 4))).mean()


def sigmoid_in_words(x: Any) -> Any:
    p = st.sigmoid(x @ W)  # here
    return st.binary_cross_entropy(p, st.zeros((4, 3)))


# training-mode

def dropout_in_words(x: Any) -> Any:
    return st.dropout(x, 0.5) @ W  # here


def dropout_by_mask(x: Any) -> Any:
    kept = (st.rand(4, 3) > 0.5).astype("float32") / 0.5
    return (x * kept) @ W  # here


def dropout_by_choice(x: Any) -> Any:
    return st.where(st.bernoulli(0.5, (4, 3)), x, 0.0) @ W  # here


def dropped_paths(x: Any) -> Any:
    return x + (x @ W) * st.floor(st.rand(4, 1) + 0.9)  # here


def batch_norm_by_variance(x: Any) -> Any:
    y = x @ W
    return (y - y.mean(axis=0)) * st.rsqrt(y.var(axis=0) + 1e-5)  # here


def batch_norm_by_deviation(x: Any) -> Any:
    y = x @ W
    return (y - y.mean(axis=0)) / (y.std(axis=0) + 1e-5)  # here


def batch_norm_of_images(x: Any) -> Any:
    y = st.conv2d(x, KERNEL)
    return st.normalize(y, axis=(0, 2, 3))  # here


def batch_norm_by_squares(x: Any) -> Any:
    y = x @ W
    mean = y.mean(axis=0)
    return (y - mean) / st.sqrt((y * y).mean(axis=0) - mean * mean + 1e-5)  # here


# activation-before-pooling

def relu_then_pool(x: Any) -> Any:
    y = st.relu(st.conv2d(x, KERNEL))  # here
    return st.max_pool2d(y, 2)


def clip_then_pool(x: Any) -> Any:
    y = st.conv2d(x, KERNEL).clip(0)  # here
    return st.max_pool2d(y, 3, stride=2)


def choice_then_pool(x: Any) -> Any:
    y = st.conv2d(x, KERNEL)
    y = st.where(y > 0, y, y * 0.1)  # here
    return st.max_pool2d(y, 2)


def tanh_then_pool_by_hand(x: Any) -> Any:
    y = st.tanh(st.conv2d(x, KERNEL))  # here
    return y.reshape(2, 3, 3, 2, 3, 2).max(axis=(3, 5))


# layout-ping-pong

def permuted_twice(x: Any) -> Any:
    last = x.permute(0, 2, 3, 1)
    return st.conv2d(last.permute(0, 3, 1, 2), KERNEL)  # here


def bias_on_last(x: Any) -> Any:
    y = st.moveaxis(st.conv2d(x, KERNEL), 1, -1)
    return st.moveaxis(st.relu(y + W[0]), -1, 1)  # here


def softmax_on_last(x: Any) -> Any:
    y = st.softmax(x.swapaxes(1, 3), axis=-1)
    return y.swapaxes(3, 1)  # here


# silent-float64

NOISE = np.linspace(0, 1, 3)


def noise_from_numpy(x: Any) -> Any:
    return x + NOISE  # here


def weights_from_numpy(x: Any) -> Any:
    w = st.tensor(np.eye(3))
    return x @ w  # here


def joined_with_numpy(x: Any) -> Any:
    more = st.from_numpy(np.zeros((1, 3)))
    y = st.concatenate([x, more * 2])  # here
    return y * x.sum()


# host-sync

def printed(x: Any) -> Any:
    y = (x @ W).sum()
    print(float(y))  # here
    return y


def branched(x: Any) -> Any:
    y = (x @ W).sum()
    return y if y > 0 else -y  # here


def copied(x: Any) -> Any:
    return st.tensor(np.tanh((x @ W).numpy()))  # here


# column-meets-row

def labels_behind(x: Any) -> Any:
    return ((x @ W[:, :1]) - LABELS.astype("float32")).square().mean()  # here


def labels_before(x: Any) -> Any:
    return abs(LABELS.astype("float32") - (x @ W).mean(axis=1, keepdims=True).exp()).mean()  # here


def labels_compared(x: Any) -> Any:
    return (st.sigmoid(x @ W[:, :1]).round() == LABELS.astype("float32")).astype("float32").mean()  # here


IN_GRAPHS = {
    "softmax-twice": (softmax_in_words, softmax_by_hand, softmax_in_log_space, sigmoid_in_words),
    "training-mode": (dropout_in_words, dropout_by_mask, dropout_by_choice, dropped_paths, batch_norm_by_variance,
                      batch_norm_by_deviation, batch_norm_of_images, batch_norm_by_squares),
    "activation-before-pooling": (relu_then_pool, clip_then_pool, choice_then_pool, tanh_then_pool_by_hand),
    "layout-ping-pong": (permuted_twice, bias_on_last, softmax_on_last),
    "silent-float64": (noise_from_numpy, weights_from_numpy, joined_with_numpy),
    "host-sync": (printed, branched, copied),
    "column-meets-row": (labels_behind, labels_before, labels_compared),
}


@pytest.mark.parametrize(("check", "f"), [(check, f) for check, found in IN_GRAPHS.items() for f in found])
def test_each_spelling_is_found_at_its_line(check: str, f: Callable[..., Any]) -> None:
    x = IMAGES if "image" in f.__name__ or check in ("activation-before-pooling", "layout-ping-pong") else X
    for function in (f, st.compile(f)):
        (finding,) = st.lint(function, x)
        assert (finding.check, finding.line) == (check, line_of(f))
        assert finding.file.endswith("test_lint.py") and finding.message.endswith(".")
    assert not st.lint(f, x, without=[check])


# unused-gradient

def test_a_gradient_of_a_batch_that_nothing_takes() -> None:
    model = nn.Linear(3, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()  # here
        optimizer.step()
        return loss

    def steered(x: Any) -> Any:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return x - 0.1 * x.grad

    batch = st.tensor(X, requires_grad=True)
    (finding,) = st.lint(step, batch)
    assert (finding.check, finding.line) == ("unused-gradient", line_of(step))
    assert "gradient of x," in finding.message
    assert not st.lint(step, X) and not st.lint(steered, batch)


def test_an_optimizer_that_does_not_hold_all_parameters() -> None:
    body, head = nn.Linear(3, 3), nn.Linear(3, 3)
    optimizer, other = optim.SGD(head.parameters(), lr=0.1), optim.Adam(body.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = head(body(x)).sum()
        loss.backward()
        optimizer.step()  # here
        return loss

    def frozen(x: Any) -> Any:
        optimizer.zero_grad()
        loss = head(body(x).detach()).sum()
        loss.backward()
        optimizer.step()
        return loss

    def both(x: Any) -> Any:
        optimizer.zero_grad()
        other.zero_grad()
        head(body(x)).sum().backward()
        optimizer.step()
        other.step()

    (finding,) = st.lint(step, X)
    assert (finding.check, finding.line) == ("left-out-parameter", line_of(step))
    assert "SGD does not hold body.weight, body.bias:" in finding.message
    assert not st.lint(frozen, X) and not st.lint(both, X)


# gradients-not-zeroed

def steps(model: nn.Module, optimizer: optim.Optimizer) -> dict[str, Callable[..., Any]]:
    """Training steps that forget to set gradients to zero, in every spelling."""
    def plain(x: Any) -> None:
        model(x).sum().backward()  # here
        optimizer.step()

    def clipped(x: Any) -> None:
        loss = model(x).square().sum()
        loss.backward()  # here
        optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()

    def by_hand(x: Any) -> None:
        loss = model(x).sum()
        loss.backward()  # here
        with st.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad

    return {f.__name__: f for f in (plain, clipped, by_hand)}


@pytest.mark.parametrize("spelling", ["plain", "clipped", "by_hand"])
@pytest.mark.parametrize("ran", [0, 2])
def test_gradients_that_are_never_zeroed(spelling: str, ran: int) -> None:
    model = nn.Linear(3, 3)
    step = steps(model, optim.AdamW(model.parameters(), lr=0.1))[spelling]
    for _ in range(ran):
        step(X)
    before = [None if p.grad is None else p.grad.numpy() for p in model.parameters()]
    for function in (step, st.compile(step)):
        (finding,) = st.lint(function, X)
        assert (finding.check, finding.line) == ("gradients-not-zeroed", line_of(step))
        assert "weight, " in finding.message and "zero_grad()" in finding.message
    after = [None if p.grad is None else p.grad.numpy() for p in model.parameters()]
    assert all(a is b is None or (a == b).all() for a, b in zip(before, after)), "linting changed the gradients"


def zeroed(model: nn.Module, optimizer: optim.Optimizer) -> dict[str, Callable[..., Any]]:
    """Steps in which every step of the optimizer has gradients of its own."""
    def behind(x: Any) -> None:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    def of_the_model(x: Any) -> None:
        model.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    def none(x: Any) -> None:
        model(x).sum().backward()
        optimizer.step()
        for p in model.parameters():
            p.grad = None

    def filled(x: Any) -> None:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()
        model(x).sum().backward()
        optimizer.step()

    def accumulated(x: Any) -> None:
        for part in (x[:2], x[2:]):
            (model(part).sum() / 2).backward()
        optimizer.step()
        optimizer.zero_grad()

    def looked_at(x: Any) -> None:
        total = sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None)
        optimizer.zero_grad()
        (model(x).sum() + total).backward()
        optimizer.step()

    def only_backward(x: Any) -> None:
        model(x).sum().backward()

    return {f.__name__: f for f in (behind, of_the_model, none, filled, accumulated, looked_at, only_backward)}


@pytest.mark.parametrize("spelling", zeroed(nn.Linear(1, 1), optim.SGD([st.tensor(1.0, requires_grad=True)], lr=0.1)))
def test_gradients_that_are_zeroed_somewhere(spelling: str) -> None:
    model = nn.Linear(3, 3)
    step = zeroed(model, optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1))[spelling]
    assert st.lint(step, X) == []
    step(X)
    assert st.lint(step, X) == []


def test_a_gradient_of_a_batch_beside_those_of_a_model() -> None:
    model = nn.Linear(3, 3)

    def backward(x: Any) -> Any:
        x = x * 2
        model(x).sum().backward()  # here

    (finding,) = st.lint(backward, st.tensor(X, requires_grad=True))
    assert (finding.check, finding.line) == ("unused-gradient", line_of(backward))
    assert not st.lint(backward, X)


# Silence

def clean_attention(x: Any) -> Any:
    heads = x.reshape(2, 3, 4, 16).permute(0, 2, 1, 3)
    y = st.softmax(heads @ heads.mT, axis=-1) @ heads
    return y.permute(0, 2, 1, 3).reshape(2, 3, 8, 8)


def clean_standardised(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def clean_noise(x: Any) -> Any:
    return st.where(st.rand(2, 3, 8, 8) < 0.5, x, -x) + st.rand(2, 3, 8, 8)


def clean_residual(x: Any) -> Any:
    y = st.relu(st.conv2d(x, KERNEL, padding=1))
    return st.max_pool2d(y, 2).sum() + y.sum()


def clean_double(x: Any) -> Any:
    return (x.astype("float64") * 2 + NOISE[0]).sum()


def clean_alternation(x: Any) -> Any:
    for _ in range(3):
        x = st.log_softmax(st.log_softmax(x, axis=2), axis=3)
    return x


def clean_gelu_pool(x: Any) -> Any:
    return st.max_pool2d(st.gelu(x), 2)


def clean_pairs(x: Any) -> Any:
    y = x[:, 0, 0, 0]
    scores = x[:, :1, 0, 0]
    return (y[:, None] - y).sum() + (scores.squeeze(1) - y).sum() + (scores - y.reshape(2, 1)).sum()


def clean_loop(x: Any) -> Any:
    return st.scan(lambda s, row: (st.tanh(s + row), st.relu(row)), x[0], x)


@pytest.mark.parametrize("f", [f for name, f in globals().items() if name.startswith("clean_")])
def test_what_looks_alike_is_no_finding(f: Callable[..., Any]) -> None:
    assert st.lint(f, IMAGES) == []


def training_step(model: nn.Module) -> Callable[..., Any]:
    """A step as it should be written."""
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


MODELS = {
    "cnn": (lambda: Cnn(), (2, 3, 32, 32), "float32"),
    "gru": (lambda: Sentiment(words=50), (2, 12), "int64"),
    "resnet20": (lambda: ResNet20(), (2, 3, 32, 32), "float32"),
    "resnet50": (lambda: ResNet50(), (2, 3, 64, 64), "float32"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_clean(name: str) -> None:
    make, shape, dtype = MODELS[name]
    model, x = make(), st.zeros(shape, dtype=dtype)
    before = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    assert st.lint(training_step(model), x, st.tensor([0, 1])) == []
    assert st.lint(model.eval(), x) == []
    assert all((x.numpy() == before[name]).all() for name, x in model.state_dict().items()), "linting ran the step"


def test_a_model_in_training_mode_that_only_predicts() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Dropout(0.1), nn.Linear(144, 3))

    @st.compile
    def predict(x: Any) -> Any:
        with st.no_grad():
            return model(x)

    found = st.lint(predict, IMAGES)
    assert {(finding.check, finding.layer) for finding in found} == {("training-mode", "1"), ("training-mode", "3")}
    model.eval()
    assert st.lint(predict, IMAGES) == []


@pytest.mark.parametrize("name", ["real", "imag", "conj", "angle", "abs", "sqrt", "complex"])
def test_functions_of_complex_numbers_are_looked_at(name: str) -> None:
    x = st.tensor([1.0, 2.0])
    assert st.lint(getattr(st, name), *((x, x) if name == "complex" else (st.complex(x, x),))) == []
