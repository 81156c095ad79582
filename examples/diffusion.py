"""Diffusion draws clothes: a network learns to see images through noise, and then makes images of nothing but noise.

    python examples/diffusion.py --figure diffusion.png

Ho et al., "Denoising diffusion probabilistic models", 2020, with a network that says the image and not the noise, and
the steps of Song et al., 2021, without chance; two minutes with the packaged 10,000 images of Fashion-MNIST. How near
drawn ones come to test images is the distance of Fréchet (Heusel et al., 2017) of features that another network sees.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, data, nn, optim, train

RESULT = "Fréchet distance from test images at most 0.25 of that of shuffled pixels"
WIDTH, TIMES, BATCH, DRAWN, STEPS = 48, 64, 64, 500, 25     # images that are drawn, each in so many steps


class Residual(nn.Module):
    """Two convolutions beside what they are given, shifted by what is known of the time."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time, self.beside = nn.Linear(TIMES, outputs), nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.conv1(nn.functional.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.beside(x) + self.conv2(nn.functional.silu(self.norm2(y)))


class UNet(nn.Module):
    """Noisy images (N, 1, 28, 28) and times (N,) from 0 to 1 -> what images they are."""

    def __init__(self) -> None:
        self.time = nn.Sequential(nn.Linear(TIMES, TIMES), nn.SiLU())
        self.into = nn.Conv2d(1, WIDTH, 4, stride=2, padding=1)
        self.down, self.up = Residual(WIDTH, WIDTH), Residual(2 * WIDTH, WIDTH)
        self.smaller = nn.Conv2d(WIDTH, 2 * WIDTH, 3, stride=2, padding=1)
        self.middle, self.larger = Residual(2 * WIDTH, 2 * WIDTH), nn.ConvTranspose2d(2 * WIDTH, WIDTH, 2, stride=2)
        self.out = nn.ConvTranspose2d(WIDTH, 1, 4, stride=2, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        waves = t[:, None] * st.exp(st.arange(TIMES // 2) * (np.log(100) / (TIMES // 2)))
        time = self.time(st.concatenate([st.sin(waves), st.cos(waves)], axis=1))
        fine = self.down(self.into(x), time)
        y = self.larger(self.middle(self.smaller(fine), time))
        return self.out(self.up(st.concatenate([y, fine], axis=1), time))


def parts(t: Tensor) -> tuple[Tensor, Tensor]:
    """How much of images at times t is the image, and how much noise, (N, 1, 1, 1)."""
    return st.cos(t * (np.pi / 2))[:, None, None, None], st.sin(t * (np.pi / 2))[:, None, None, None]


def learner(model: UNet, optimizer: optim.Optimizer) -> Callable[[Tensor], Tensor]:
    """A whole step: images from -1 to 1 in, the loss out."""

    @st.compile
    def step(x: Tensor) -> Tensor:
        t, noise = st.rand((x.shape[0],)), st.randn(x.shape)
        a, b = parts(t)
        optimizer.zero_grad()
        loss = nn.mse_loss(model(a * x + b * noise, t), x)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], Tensor]:
    """One step of a new model on images of noise, to be timed."""
    st.manual_seed(0)
    model, rng = UNet(), np.random.default_rng(0)
    step = learner(model, optim.Adam(model.parameters(), lr=2e-3))
    x = st.tensor(rng.uniform(-1, 1, (BATCH, 1, 28, 28)).astype(np.float32))
    return lambda: step(x)


def draw(model: UNet, many: int) -> np.ndarray:
    """Images of noise: at each of STEPS times what is thought to be noise is made a little less."""

    @st.compile
    @st.no_grad()
    def earlier(x: Tensor, now: Tensor, then: Tensor) -> Tensor:
        (a, b), (c, d), image = parts(now), parts(then), model(x, now).clip(-1, 1)
        return c * image + d * (x - a * image) / b

    x, times = st.randn((many, 1, 28, 28)), st.linspace(1, 0, STEPS + 1)
    for k in range(STEPS):
        x = earlier(x, times[k].expand(many), times[k + 1].expand(many))
    return x.numpy()


def frechet(x: np.ndarray, y: np.ndarray) -> float:
    """The distance of two normal distributions that have the means and covariances of features (N, F)."""
    far, a, b = x.mean(0) - y.mean(0), np.cov(x.T), np.cov(y.T)
    return float(far @ far + np.trace(a + b) - 2 * np.sqrt(np.abs(np.linalg.eigvals(a @ b))).sum())


def classifier() -> nn.Sequential:
    """Images -> logits of ten classes; what its last layer is given are the features."""
    return nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1),
                         nn.ReLU(), nn.Flatten(), nn.Linear(32 * 49, 64), nn.Tanh(), nn.Linear(64, 10))


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns distances from test images: of drawn ones, of training images, and of noise."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--epochs", type=int, default=6, help="how often to see every image; default: %(default)s")
    asked.add_argument("--figure", help="a file for drawn images")
    given = asked.parse_args(argv)
    st.manual_seed(0)
    clothes = data.fashion_sample()
    real, test = (data.unit(part.x) * 2 - 1 for part in (clothes.train, clothes.test))
    model, batches = UNet(), data.Loader((real,), BATCH, shuffle=True)
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    schedule, step = optim.CosineDecay(optimizer, given.epochs * len(batches)), learner(model, optimizer)
    for epoch in range(given.epochs):
        for (x,) in batches:
            loss = step(x)
            schedule.step()
        print(f"epoch {epoch + 1}: loss {float(loss):.4f} at its end")
    drawn = draw(model, DRAWN)
    eye = classifier()
    train.fit(eye, data.Loader((real, clothes.train.y), BATCH, shuffle=True), loss="cross_entropy", epochs=3)
    noise = np.random.default_rng(0).permuted(test[:DRAWN], axis=0)     # of each place right values, of other images
    with st.no_grad():
        seen, *others = (eye[:-1](st.tensor(x)).numpy() for x in (test, drawn, real[:DRAWN], noise))
    found: dict[str, float] = dict(zip(("drawn", "training images", "noise"), (frechet(x, seen) for x in others)))
    print(", ".join(f"{name} {x:.2f}" for name, x in found.items()) + f" from test images; asked was: {RESULT}")
    if given.figure:
        rows = drawn[:64].reshape(-1, 16, 28, 28).transpose(0, 2, 1, 3) / 2 + 0.5
        st.io.imsave(given.figure, rows.reshape(-1, 16 * 28))
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it draws as well as the stated result."""
    return found["drawn"] <= found["noise"] / 4


if __name__ == "__main__":
    main()
