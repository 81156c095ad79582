"""A variational autoencoder of clothes: sixteen numbers stand for an image, and numbers that are drawn give new ones.

    python examples/vae.py --figure vae.png

Kingma and Welling, "Auto-Encoding Variational Bayes", 2014. It learns from the packaged 10,000 images of Fashion-MNIST
for less than a minute. What is learnt is a bound of how likely an image is, in nats: what its pixels cost when the code
is known, plus how far codes are from normal numbers.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, data, nn, optim

RESULT = "the bound of a test image is at most 246 nats"
CODE, BATCH = 16, 128


class Autoencoder(nn.Module):
    """Images (N, 784) from 0 to 1 -> logits of their pixels, means and logarithms of variances of their codes."""

    def __init__(self) -> None:
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        code = self.encoder(x)
        mean, log_variance = code[:, :CODE], code[:, CODE:]
        drawn = mean + st.exp(log_variance / 2) * st.randn(mean.shape)
        return self.decoder(drawn), mean, log_variance


def bound(model: Autoencoder, x: Tensor) -> Tensor:
    """Nats that an image costs at most, the mean over x."""
    logits, mean, log_variance = model(x)
    pixels = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    codes = 0.5 * (st.exp(log_variance) + mean ** 2 - 1 - log_variance).sum()
    return (pixels + codes) / x.shape[0]


def learner(model: Autoencoder) -> Callable[[Tensor], Tensor]:
    """A whole step: images in, their bound out, and the model has learnt from them."""
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    @st.compile
    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = bound(model, x)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], Tensor]:
    """One step of a new model on images of noise, to be timed."""
    st.manual_seed(0)
    step, x = learner(Autoencoder()), st.tensor(np.random.default_rng(0).random((BATCH, 784), np.float32))
    return lambda: step(x)


def picture(model: Autoencoder, test: np.ndarray) -> np.ndarray:
    """Two rows of test images over what their codes give, and two rows of new images."""
    with st.no_grad():
        again = st.sigmoid(model(st.tensor(test[:32]))[0]).numpy()
        new = st.sigmoid(model.decoder(st.randn((32, CODE)))).numpy()
    rows = np.concatenate([part.reshape(-1, 16, 28, 28) for part in (test[:32], again, new)])
    return rows.transpose(0, 2, 1, 3).reshape(-1, 16 * 28)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns the bound of a training and of a test image in nats."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--epochs", type=int, default=60, help="how often to see every image; default: %(default)s")
    asked.add_argument("--figure", help="a file for images: test images, what their codes give, new ones")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    images = data.fashion_sample()
    train, test = (data.unit(part.x).reshape(-1, 784) for part in (images.train, images.test))
    model = Autoencoder()
    step = learner(model)
    found: dict[str, float] = {}
    loader = data.Loader((train,), BATCH, shuffle=True)
    for epoch in range(given.epochs):
        found["train"] = float(np.mean([float(step(x)) for (x,) in loader]))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: {found['train']:.1f} nats")
    with st.no_grad():
        found["test"] = float(bound(model, st.tensor(test)))
    print(f"a test image costs {found['test']:.1f} nats at most; asked was: {RESULT}")
    if given.figure:
        st.io.imsave(given.figure, picture(model, test))
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["test"] <= 246


if __name__ == "__main__":
    main()
