"""Changes of samples, most of them random: images in a loader's workers or compiled into the step, sound as spectra.

Each works on one image of NumPy, uint8 or float (C, H, W), with a generator of NumPy, and on a batch of tensors
(N, C, H, W), also inside of a compiled function. Names are those of torchvision.transforms.v2 and
torchaudio.transforms.
"""

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.data.transforms.arrays import either
from stele.data.transforms.augment import RandAugment
from stele.data.transforms.base import Compose, Moving, RandomApply, RandomChoice, RandomTransform, Transform
from stele.data.transforms.batches import CutMix, MixUp
from stele.data.transforms.blurs import GaussianBlur, GaussianNoise
from stele.data.transforms.colours import ColorJitter, Grayscale, Normalize, RandomGrayscale, ToFloat
from stele.data.transforms.crops import CenterCrop, Pad, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip
from stele.data.transforms.erasing import RandomErasing
from stele.data.transforms.masking import FrequencyMasking, TimeMasking
from stele.data.transforms.resizing import RandomResizedCrop, Resize
from stele.data.transforms.signals import MFCC, AmplitudeToDB, MelSpectrogram, Resample, Spectrogram
from stele.data.transforms.tones import (
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from stele.data.transforms.warps import RandomAffine, RandomRotation
from stele.interop import names

__all__ = [
    "MFCC",
    "AmplitudeToDB",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "CutMix",
    "FrequencyMasking",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "MelSpectrogram",
    "MixUp",
    "Moving",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomTransform",
    "RandomVerticalFlip",
    "Resample",
    "Resize",
    "Spectrogram",
    "TimeMasking",
    "ToFloat",
    "Transform",
    "either",
]

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.data.transforms", name, __all__, names.TRANSFORMS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
