"""RandAugment: a few changes of fourteen kinds, drawn for each image."""
from __future__ import annotations

import math
from collections.abc import Callable

import stele as st
from stele.data.transforms.arrays import Drawn, Image, channels, is_bytes, module, switch
from stele.data.transforms.base import RandomTransform
from stele.data.transforms.chance import Chance
from stele.data.transforms.colours import brightened, contrasted, saturated
from stele.data.transforms.tones import equalized, inverted_above, posterized, sharpened, stretched
from stele.data.transforms.warps import MODES, Map, inverse, warped
from stele.errors import DTypeError
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, number, whole

MOST = 1000     # changes behind each other
STRONGEST = {"shear": 0.3, "translate": 150 / 331, "rotate": 30.0, "enhance": 0.9, "posterize": 4.0, "solarize": 1.0}
MAPS, KINDS = 6, 14     # of the kinds the first six move pixels (the first, none), and all there are


class RandAugment(RandomTransform):
    """`num_ops` changes of fourteen kinds, one behind the other, each drawn anew (Cubuk et al., 2019).

    The kinds: none, shear and translation along x and y, rotation, brightness, colour, contrast, sharpness, posterize,
    solarize, autocontrast and equalize, as torchvision has them. How strong they are is `magnitude` of
    `num_magnitude_bins`; those that have a direction go either way. `interpolation` is "nearest" or "bilinear", and
    `fill` stands where the image is not. Images are uint8 (3, H, W) or (1, H, W), or tensors (N, C, H, W), each image
    of which has changes of its own. Raises ShapeError for numbers out of range, OptionError for another interpolation,
    DTypeError for images of floats.

    >>> t = data.transforms.RandAugment(num_ops=2, magnitude=9)
    >>> t(np.zeros((3, 32, 32), np.uint8), np.random.default_rng(0)).shape
    (3, 32, 32)
    """

    @speaks
    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: str = "nearest", fill: float = 0) -> None:
        self.num_ops = whole(num_ops, "num_ops of RandAugment", 0, MOST)
        self.num_magnitude_bins = whole(num_magnitude_bins, "num_magnitude_bins of RandAugment", 2)
        self.magnitude = whole(magnitude, "magnitude of RandAugment", 0, self.num_magnitude_bins - 1)
        self.interpolation = choice(interpolation, "interpolation of RandAugment", MODES)
        self.fill = number(fill, "fill of RandAugment")

    def draw(self, chance: Chance, x: Image) -> list[tuple[Drawn, Drawn]]:
        """Of each change its kind and its direction."""
        return [(chance.below(KINDS), chance.coin(0.5)) for _ in range(self.num_ops)]

    def strength(self, kind: str) -> float:
        """How strong changes of a kind are."""
        return STRONGEST[kind] * self.magnitude / (self.num_magnitude_bins - 1)

    def apply(self, x: Image, drawn: list[tuple[Drawn, Drawn]]) -> Image:
        """The image with its changes made."""
        channels(x)
        if not is_bytes(x):
            raise DTypeError(f"RandAugment changes bytes, uint8 from 0 to 255, got {x.dtype}",
                             hint="Put it before ToFloat.")
        for which, sign in drawn:
            x = self.coloured(self.moved(x, which, sign, self.interpolation), which, sign)
        return x

    def mask(self, x: Image, drawn: list[tuple[Drawn, Drawn]]) -> Image:
        """The mask as the image was moved."""
        for which, sign in drawn:
            x = self.moved(x, which, sign, "nearest")
        return x

    def moved(self, x: Image, which: Drawn, sign: Drawn, mode: str) -> Image:
        """The image moved, if the change is one that moves pixels."""
        if not isinstance(which, st.Tensor) and not 0 < which < MAPS:
            return x
        height, width = x.shape[-2:]
        shear = math.degrees(math.atan(self.strength("shear")))
        across, down = (int(self.strength("translate") * n) for n in (width, height))
        m = module(which)
        amount = [m.where(which == k, m.where(sign, -1.0, 1.0) * a, 0.0)
                  for k, a in enumerate((0, shear, shear, across, down, -self.strength("rotate")))]
        to = inverse(amount[5], amount[3], amount[4], 1.0, amount[1], amount[2])
        corner = self.from_corner(to, which, width, height)
        return warped(x, corner, self.fill, mode)

    def from_corner(self, to: Map, which: Drawn, width: int, height: int) -> Map:
        """The map seen from the middle; that of a shear is one from the corner at the top left."""
        m = module(which)
        shears = (which == 1) | (which == 2)
        return to._replace(c=to.c + m.where(shears, to.b * (height / 2), 0.0),
                           f=to.f + m.where(shears, to.d * (width / 2), 0.0))

    def coloured(self, x: Image, which: Drawn, sign: Drawn) -> Image:
        """The image in other colours, if the change is one of those."""
        if not isinstance(which, st.Tensor) and which < MAPS:
            return x
        amount = self.strength("enhance")
        factor = module(which).where(sign, 1 - amount, 1 + amount) if isinstance(sign, st.Tensor) else \
            1 + (-amount if sign else amount)
        bits = 8 - round(self.strength("posterize"))
        least = 255 * (1 - self.strength("solarize"))
        options: list[Callable[[Image], Image]] = [
            lambda x: brightened(x, factor), lambda x: saturated(x, factor), lambda x: contrasted(x, factor),
            lambda x: sharpened(x, factor), lambda x: posterized(x, bits), lambda x: inverted_above(x, least),
            stretched, equalized]
        return switch(which - MAPS, options, x)
