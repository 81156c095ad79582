"""Data sets as NumPy arrays: readers of the files as distributed, downloads, samples, batches."""

from stele.data.cifar import cifar10
from stele.data.download import download
from stele.data.find import find_images, find_texts
from stele.data.idx import fashion_mnist, mnist, read_idx
from stele.data.imdb import imdb
from stele.data.loader import Loader
from stele.data.packaged import fashion_sample, sentence_sample
from stele.data.sets import Dataset, Split, unit

__all__ = ["Dataset", "Loader", "Split", "cifar10", "download", "fashion_mnist", "fashion_sample", "find_images",
           "find_texts", "imdb", "mnist", "read_idx", "sentence_sample", "unit"]
