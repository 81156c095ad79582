"""Images smoothed by a Gaussian, and with Gaussian noise."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.data.transforms.arrays import Drawn, Image, as_float, beside, floats, is_bytes, kept, module, rounded
from stele.data.transforms.base import RandomTransform
from stele.data.transforms.boxes import positives
from stele.data.transforms.chance import Chance
from stele.data.transforms.crops import padded
from stele.errors import DTypeError, ShapeError
from stele.interop.keywords import speaks
from stele.ops.arguments import flag, is_many, number, pair


class GaussianBlur(RandomTransform):
    """Images smoothed by a Gaussian of `kernel_size` pixels, (width, height) or one odd number for both.

    Its deviation is drawn from `sigma`, (low, high) in pixels, or is the one number; at the edges the image is
    mirrored. Images are uint8 or float (C, H, W), or tensors (N, C, H, W), each image of which has a deviation of its
    own. Raises ShapeError for even sizes, ranges that are none and images smaller than half the Gaussian.

    >>> x = np.array([[[0, 0, 0, 160, 0, 0, 0]]], np.uint8)
    >>> data.transforms.GaussianBlur((3, 1), sigma=1.0)(x, np.random.default_rng(0)).tolist()
    [[[0, 0, 44, 72, 44, 0, 0]]]
    """

    @speaks
    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.kernel_size = pair(kernel_size, "kernel_size of GaussianBlur", 1)
        if any(n % 2 == 0 for n in self.kernel_size):
            raise ShapeError(f"kernel_size of GaussianBlur must be odd, to have a middle, got {kernel_size!r:.60}")
        self.sigma = positives(sigma if is_many(sigma) else (sigma, sigma), "sigma of GaussianBlur")

    def draw(self, chance: Chance, x: Image) -> Drawn:
        """How wide the Gaussian is."""
        return chance.uniform(*self.sigma)

    def apply(self, x: Image, drawn: Drawn) -> Image:
        """The image smoothed, along one axis after the other."""
        wide, tall = self.kernel_size
        y: Image = padded(floats(x) if is_bytes(x) else x, (wide // 2, tall // 2, wide // 2, tall // 2), 0, "reflect")
        height, width = x.shape[-2:]
        y = sum(w * y[..., k:k + height, :] for k, w in enumerate(bell(tall, drawn)))
        z: Any = sum(w * y[..., k:k + width] for k, w in enumerate(bell(wide, drawn)))
        return rounded(z, x)


def bell(n: int, deviation: Drawn) -> list[Drawn]:
    """The weights of n pixels, which add to 1."""
    m = module(deviation)
    heights = [m.exp(-0.5 * ((k - (n - 1) / 2) / deviation) ** 2) for k in range(n)]
    total = sum(heights)
    return [beside(as_float(h / total)) for h in heights]


class GaussianNoise(RandomTransform):
    """Images of floats with noise of a `mean` and a deviation `sigma` added, cut to 0..1 if `clip`.

    Images are float (C, H, W), or tensors (N, C, H, W). Raises DTypeError for images of bytes, ShapeError for a
    negative deviation.

    >>> t = data.transforms.GaussianNoise(mean=0.25, sigma=0.0)
    >>> t(np.zeros((1, 1, 2), np.float32), np.random.default_rng(0)).tolist()
    [[[0.25, 0.25]]]
    """

    @speaks
    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        self.mean = number(mean, "mean of GaussianNoise")
        self.sigma = number(sigma, "sigma of GaussianNoise", 0)
        self.clip = flag(clip, "clip of GaussianNoise")

    def draw(self, chance: Chance, x: Image) -> Any:
        """The noise, of a deviation of 1."""
        return chance.normal(tuple(x.shape[-3:]))

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image with its noise."""
        if is_bytes(x):
            raise DTypeError(f"GaussianNoise changes images of floats, got {x.dtype}", hint="Put ToFloat before it.")
        y = x + self.mean + drawn.astype(x.dtype) * self.sigma
        return kept(y, x) if self.clip else y.astype(x.dtype)
