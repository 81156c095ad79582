"""Data sets as NumPy arrays: readers of the files as distributed, downloads, samples, batches."""

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import DATA, unknown
from stele.data.cifar import cifar10
from stele.data.collating import collate, pad
from stele.data.dataset import Dataset, IterableDataset
from stele.data.download import download
from stele.data.find import find_images, find_texts
from stele.data.folders import ImageFolder, TextFolder
from stele.data.idx import fashion_mnist, mnist, read_idx
from stele.data.imdb import imdb
from stele.data.loader import Loader
from stele.data.packaged import fashion_sample, sentence_sample
from stele.data.samplers import (
    BalancedSampler,
    BatchSampler,
    BucketBatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    WeightedRandomSampler,
)
from stele.data.sets import ArrayDataset, Splits, unit
from stele.data.tables import table

__all__ = ["ArrayDataset", "BalancedSampler", "BatchSampler", "BucketBatchSampler", "Dataset", "ImageFolder",
           "IterableDataset", "Loader", "RandomSampler", "Sampler", "SequentialSampler", "Splits", "TextFolder",
           "WeightedRandomSampler", "cifar10", "collate", "download", "fashion_mnist", "fashion_sample",
           "find_images", "find_texts", "imdb", "mnist", "pad", "read_idx", "sentence_sample", "table", "unit"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.data", name, __all__, DATA)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
