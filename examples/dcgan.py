"""Two networks play against each other: one draws clothes out of random numbers, one tells its images from real ones.

    python examples/dcgan.py --figure dcgan.png

Radford et al., "Unsupervised representation learning with deep convolutional generative adversarial networks", 2016, on
the packaged 10,000 images of Fashion-MNIST, for two minutes. How near the drawn images come to test images is the
distance of Fréchet (Heusel et al., 2017) between features of both, of a network that tells the ten classes apart.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, data, nn, optim, train

RESULT = "Fréchet distance from test images at most 0.1 of that of shuffled pixels"
CODE, WIDTH, BATCH = 64, 32, 64


def generator() -> nn.Sequential:
    """Numbers (N, CODE) -> images (N, 1, 28, 28) from -1 to 1."""
    return nn.Sequential(nn.Linear(CODE, 2 * WIDTH * 49, bias=False), nn.Unflatten(1, (2 * WIDTH, 7, 7)),
                         nn.BatchNorm2d(2 * WIDTH), nn.ReLU(),
                         nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(WIDTH), nn.ReLU(),
                         nn.ConvTranspose2d(WIDTH, 1, 4, stride=2, padding=1), nn.Tanh())


def critic() -> nn.Sequential:
    """Images -> logits (N, 1) of being real."""
    return nn.Sequential(nn.Conv2d(1, WIDTH, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                         nn.Conv2d(WIDTH, 2 * WIDTH, 4, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(2 * WIDTH), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(2 * WIDTH * 49, 1))


def classifier() -> nn.Sequential:
    """Images -> logits of ten classes; what its last layer is given are the features."""
    return nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1),
                         nn.ReLU(), nn.Flatten(), nn.Linear(32 * 49, 64), nn.Tanh(), nn.Linear(64, 10))


def small(model: nn.Sequential) -> nn.Sequential:
    """The same network with normal weights of deviation 0.02, with which the game is more even."""
    for p in model.parameters():
        if p.ndim > 1:
            p.assign(nn.init.normal(p.shape, 0.02))
    return model


def learner(draw: nn.Module, judge: nn.Module) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """A whole step: real images in, the losses of judge and drawer out, and both have learnt."""
    judging = optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    drawing = optim.Adam(draw.parameters(), lr=5e-4, betas=(0.5, 0.999))
    loss_of = nn.functional.binary_cross_entropy_with_logits

    @st.compile
    def step(real: Tensor) -> tuple[Tensor, Tensor]:
        drawn = draw(st.randn((real.shape[0], CODE)))
        is_real, is_drawn = judge(real), judge(drawn.detach())
        judged = loss_of(is_real, st.full(is_real.shape, 0.9)) + loss_of(is_drawn, st.zeros(is_drawn.shape))
        judged.backward()
        judging.step()
        believed = judge(drawn)
        missed = loss_of(believed, st.ones(believed.shape))
        drawing.zero_grad()
        missed.backward()
        drawing.step()
        judging.zero_grad()     # the judge does not learn from how it was deceived
        return judged, missed

    return step


def training_step() -> Callable[[], Tensor]:
    """One step of both new networks on images of noise, to be timed."""
    st.manual_seed(0)
    step, rng = learner(small(generator()), small(critic())), np.random.default_rng(0)
    x = st.tensor(rng.uniform(-1, 1, (BATCH, 1, 28, 28)).astype(np.float32))
    return lambda: step(x)[0]


def frechet(x: np.ndarray, y: np.ndarray) -> float:
    """The distance of two normal distributions that have the means and covariances of features (N, F)."""
    far, a, b = x.mean(0) - y.mean(0), np.cov(x.T), np.cov(y.T)
    return float(far @ far + np.trace(a + b) - 2 * np.sqrt(np.abs(np.linalg.eigvals(a @ b))).sum())


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns distances from test images: of drawn ones, of training images, and of noise."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--epochs", type=int, default=12, help="how often to see every image; default: %(default)s")
    asked.add_argument("--figure", help="a file for drawn images")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    clothes = data.fashion_sample()
    real, test = (data.unit(part.x) * 2 - 1 for part in (clothes.train, clothes.test))
    draw, judge = small(generator()), small(critic())
    step, fixed = learner(draw, judge), st.randn((len(test), CODE))
    for epoch, batches in enumerate([data.Loader((real,), BATCH, shuffle=True)] * given.epochs):
        losses = [[float(loss) for loss in step(x)] for (x,) in batches]
        print("epoch {}: loss {:.3f} of judging, {:.3f} of drawing".format(epoch + 1, *np.mean(losses, axis=0)))
    with st.no_grad():
        drawn = draw.eval()(fixed).numpy()

    eye = classifier()
    train.fit(eye, data.Loader((real, clothes.train.y), BATCH, shuffle=True), loss="cross_entropy", epochs=3)
    noise = np.random.default_rng(0).permuted(test, axis=0)     # of each place the right values, of other images
    with st.no_grad():
        seen, *others = (eye[:-1](st.tensor(x)).numpy() for x in (test, drawn, real[:len(test)], noise))
    found: dict[str, float] = dict(zip(("drawn", "training images", "noise"), (frechet(x, seen) for x in others)))
    print(", ".join(f"{name} {x:.2f}" for name, x in found.items()) + f" from test images; asked was: {RESULT}")
    if given.figure:
        rows = drawn[:64].reshape(-1, 16, 28, 28).transpose(0, 2, 1, 3)
        st.io.imsave(given.figure, rows.reshape(-1, 16 * 28) / 2 + 0.5)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it draws as well as the stated result."""
    return found["drawn"] <= found["noise"] / 10


if __name__ == "__main__":
    main()
