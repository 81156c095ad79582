"""The same numbers everywhere: float32 code and the float64 definition, three styles, runs, threads, batches."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.data import unit
from stele.ir.graph import Array
from stele.train import Trainer
from stele.train.models import Cnn, ResNet20, ResNet50, Sentiment
from tests.first_steps import SEED, WORKLOADS, compiled, distance, gradients_of, imperative, in_float64, symbolic
from tests.formats import shared
from tests.long_determinism import digest_after

MEAN = np.array((0.485, 0.456, 0.406), np.float32).reshape(3, 1, 1)
STD = np.array((0.229, 0.224, 0.225), np.float32).reshape(3, 1, 1)
BATCH = 8


@pytest.mark.parametrize("name", WORKLOADS)
def test_first_step_is_that_of_float64(name: str) -> None:
    st.manual_seed(1)
    model, (x, y) = WORKLOADS[name].model(), WORKLOADS[name].batch(BATCH)
    step = st.compile(gradients_of(model))
    step(x, y)
    st.manual_seed(SEED)
    exact = in_float64(step, x, y)
    st.manual_seed(SEED)
    step(x, y)
    found = [t.numpy() for t in step(x, y)]
    for got, expected in zip(found, exact):
        assert distance(got, expected) < 1e-4


@pytest.mark.parametrize("name", WORKLOADS)
def test_three_styles_take_one_step(name: str) -> None:
    st.manual_seed(1)
    model, (x, y) = WORKLOADS[name].model(), WORKLOADS[name].batch(BATCH)
    found = {style.__name__: style(model, x, y) for style in (imperative, compiled, symbolic)}
    for style in ("imperative", "symbolic"):
        for got, expected in zip(found[style], found["compiled"], strict=True):
            assert distance(got, expected) < 2e-6, style


def test_features_are_those_of_float64_whatever_the_batch() -> None:
    st.manual_seed(1)
    model = ResNet50().eval()
    x = np.random.default_rng(0).standard_normal((3, 3, 64, 64)).astype(np.float32)

    def features(x: Any) -> Any:
        with st.no_grad():
            return model.features(x)

    run = st.compile(features, dims={"x": {0: "batch"}})
    whole = run(x).numpy()
    assert distance(whole[:2], in_float64(run, x[:2])[0]) < 1e-4
    assert distance(np.concatenate([run(x[:1]).numpy(), run(x[1:]).numpy()]), whole) < 2e-6
    assert run.compiles == 1


def small_cnn() -> tuple[Trainer, Array, Array]:
    model = Cnn(1, 8)
    rng = np.random.default_rng(0)
    return (Trainer(model, loss="cross_entropy", optimizer=optim.SGD(model.parameters(), 0.01, 0.9)),
            rng.random((33, 1, 8, 8), np.float32), rng.integers(0, 10, 33))


def small_gru() -> tuple[Trainer, Array, Array]:
    model = Sentiment(words=300, features=25, hidden=20)
    rng = np.random.default_rng(0)
    return (Trainer(model, loss="cross_entropy", optimizer=optim.Adam(model.parameters(), 1e-3)),
            rng.integers(0, 300, (33, 15)), rng.integers(0, 2, 33))


@pytest.mark.parametrize("make", [small_cnn, small_gru])
def test_training_is_the_same_bits_for_all_threads(make: Any) -> None:
    """Full size: `python -m tests.long_determinism`."""
    before, found = st.get_threads(), []
    try:
        for threads in (1, 2, 4, 2):
            st.set_threads(threads)
            st.manual_seed(SEED)
            found.append(digest_after(20, *make()))
    finally:
        st.set_threads(before)
    assert len(set(found)) == 1


def pictures(count: int) -> tuple[Array, Array]:
    """The first test images of CIFAR-10, uint8, with labels."""
    folder = shared("cifar10")
    images = pytest.importorskip("PIL.Image", reason="strips of images need pillow")
    strips, total = [], 0
    for path in sorted(folder.glob("test_*.webp")):
        strips.append(np.asarray(images.open(path).convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))
        total += len(strips[-1])
        if total >= count:
            break
    return np.concatenate(strips)[:count], np.load(folder / "labels.npz")["test"][:count].astype(np.int64)


def published() -> nn.Module:
    """ResNet-20 with published weights for CIFAR-10."""
    model = ResNet20().eval()
    model.load(shared("models/resnet20-cifar10.safetensors"))
    return model


def accuracy(model: nn.Module, x: Array, y: Array) -> float:
    """The share of right answers on uint8 images."""
    measure = st.compile(lambda x: model(x).argmax(axis=1), dims={"x": {0: "batch"}})
    with st.no_grad():
        right = [measure((unit(x[k:k + 250]) - MEAN) / STD).numpy() == y[k:k + 250] for k in range(0, len(x), 250)]
    return float(np.concatenate(right).mean())


def test_published_weights_give_the_published_accuracy() -> None:
    """0.9173 on all 10,000 images (`python -m tests.long_accuracy`); these are the first 1,000."""
    assert accuracy(published(), *pictures(1000)) == pytest.approx(0.92, abs=0.02)
