"""The Rosetta workloads in Stele."""
from __future__ import annotations

import numpy as np
from worker import Step, serve

import stele as st
from stele import nn, optim
from stele.train.models import Cnn, ResNet50, Sentiment


def make(workload: str, mode: str, threads: int) -> Step:
    st.set_threads(threads)
    st.manual_seed(0)
    rng = np.random.default_rng(0)
    if workload.startswith("resnet50"):
        network = ResNet50().eval()
        images = rng.random((int(workload.rpartition("-b")[2]), 3, 224, 224), np.float32)

        def features(x: st.Tensor) -> st.Tensor:
            with st.no_grad():
                return network.features(x)

        run = st.compile(features)
        return lambda: run(images).numpy()
    model: nn.Module
    optimizer: optim.Optimizer
    if workload == "cnn":
        model, x, classes = Cnn(), rng.random((64, 3, 32, 32), np.float32), 10
        optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    else:
        model, x, classes = Sentiment(), rng.integers(0, 30000, (64, 150)), 2
        optimizer = optim.Adam(model.parameters(), lr=1e-3)
    y = rng.integers(0, classes, 64)

    def step(x: st.Tensor, y: st.Tensor) -> st.Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    train = st.compile(step)
    return lambda: float(train(x, y))


if __name__ == "__main__":
    serve(make)
