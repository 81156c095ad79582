"""Data sets as NumPy arrays: readers of the files as distributed, downloads, samples, batches."""

import importlib
from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.data.cifar import cifar10
from stele.data.cifar100 import cifar100
from stele.data.collating import collate, pad
from stele.data.corpora import tiny_shakespeare, wikitext2
from stele.data.dataset import Dataset, IterableDataset
from stele.data.download import download
from stele.data.find import find_images, find_texts
from stele.data.folders import ImageFolder, TextFolder
from stele.data.idx import fashion_mnist, mnist, read_idx
from stele.data.imdb import imdb
from stele.data.labelled import ag_news, sst2
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
from stele.data.stl10 import stl10
from stele.data.svhn import svhn
from stele.data.tables import table
from stele.data.tokenizer import Tokenizer
from stele.data.uci import adult, iris, wine
from stele.data.vocabulary import Vocabulary, read_vectors
from stele.interop import names

__all__ = ["ArrayDataset", "BalancedSampler", "BatchSampler", "BucketBatchSampler", "Dataset", "ImageFolder",
           "IterableDataset", "Loader", "RandomSampler", "Sampler", "SequentialSampler", "Splits", "TextFolder",
           "Tokenizer", "Vocabulary", "WeightedRandomSampler", "adult", "ag_news", "cifar10", "cifar100", "collate",
           "download", "fashion_mnist", "fashion_sample", "find_images", "find_texts", "imdb", "iris", "mnist", "pad",
           "read_idx", "read_vectors", "sentence_sample", "sst2", "stl10", "svhn", "table", "tiny_shakespeare",
           "transforms", "unit", "wikitext2", "wine"]

if TYPE_CHECKING:
    from stele.data import transforms
else:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """The room of transforms, loaded now; or the error that says which name there is."""
        if name == "transforms":
            return importlib.import_module("stele.data.transforms")
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.data", name, __all__, names.DATA)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
