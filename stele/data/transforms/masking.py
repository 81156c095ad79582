"""Spectra of which a stretch of frequencies or of time is left out (SpecAugment; Park et al., 2019)."""
from __future__ import annotations

from typing import Any

import numpy as np

from stele.data.transforms.arrays import Drawn, Image, beside, is_either, is_float, module
from stele.data.transforms.base import RandomTransform, first_of, put
from stele.data.transforms.chance import Chance
from stele.interop.keywords import speaks
from stele.ops.arguments import number


class Masking(RandomTransform):
    """The base of what sets a stretch of an axis to 0: of up to `most`, and of up to the share `p` of the axis."""

    axis = -1

    def __init__(self, most: float, name: str, p: float = 1.0) -> None:
        self.most = number(most, f"{name} of {type(self).__name__}", 0)
        self.p = number(p, f"p of {type(self).__name__}", 0, 1)

    def __call__(self, sample: Any, rng: np.random.Generator | None = None) -> Any:
        """The sample with its spectrum changed, the first array; one without channels is (frequencies, pieces)."""
        x = first_of(sample)
        if not is_either(x) or x.ndim != 2 or not is_float(x):
            return super().__call__(sample, rng)
        return put(sample, x, super().__call__(x[None], rng)[0])

    def draw(self, chance: Chance, x: Image) -> tuple[Drawn, Drawn]:
        """Where the stretch begins, and how long it is."""
        n = x.shape[self.axis]
        length = chance.uniform(0, min(self.most, int(n * self.p)))
        m = module(length)
        return m.floor(chance.uniform(0, 1) * (n - length)), m.floor(length)

    def apply(self, x: Image, drawn: tuple[Drawn, Drawn]) -> Image:
        """The spectrum without the stretch."""
        m, (first, length) = module(x), (beside(v) for v in drawn)
        k = m.arange(x.shape[self.axis]).reshape(-1, *(1,) * (-1 - self.axis))
        return m.where((k >= first) & (k < first + length), m.zeros_like(x), x)


class TimeMasking(Masking):
    """Spectra of which a stretch of time is 0: up to `time_mask_param` pieces, and up to the share `p` of all.

    Spectra are float (channels, frequencies, pieces) or (frequencies, pieces), or tensors (N, channels, frequencies,
    pieces), each of which loses a stretch of its own; as torchaudio.transforms has it. Raises ShapeError for negative
    numbers.

    >>> y = data.transforms.TimeMasking(3)(np.ones((1, 1, 5), np.float32), np.random.default_rng(2))
    >>> y.tolist()
    [[[1.0, 1.0, 1.0, 1.0, 1.0]]]
    """

    @speaks
    def __init__(self, time_mask_param: int, p: float = 1.0) -> None:
        super().__init__(time_mask_param, "time_mask_param", p)


class FrequencyMasking(Masking):
    """Spectra of which a band of up to `freq_mask_param` frequencies is 0.

    Spectra are float (channels, frequencies, pieces) or (frequencies, pieces), or tensors (N, channels, frequencies,
    pieces), each of which loses a band of its own; as torchaudio.transforms has it. Raises ShapeError for negative
    numbers.

    >>> y = data.transforms.FrequencyMasking(3)(np.ones((1, 5, 1), np.float32), np.random.default_rng(2))
    >>> y.reshape(5).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    axis = -2

    @speaks
    def __init__(self, freq_mask_param: int) -> None:
        super().__init__(freq_mask_param, "freq_mask_param")
