"""The data set that a folder holds, whichever way it was unpacked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stele.data.cifar import CIFAR_PLACES, cifar10, has_cifar
from stele.data.idx import FASHION_PLACES, MNIST_PLACES, fashion_mnist, has_idx, mnist
from stele.data.imdb import IMDB_PLACES, has_imdb, imdb
from stele.data.packaged import fashion_sample, sentence_sample
from stele.data.sets import Splits
from stele.errors import DataError
from stele.files import located
from stele.ir.door import public


@dataclass(frozen=True)
class Layout:
    """One way a set is unpacked: where below the folder, how to know it, how to read it."""

    places: tuple[str, ...]
    is_here: Callable[[Path], bool]
    read: Callable[[Path], Splits]


# fmt: off
IMAGES = (
    Layout(CIFAR_PLACES,   has_cifar, cifar10),
    Layout(FASHION_PLACES, has_idx,   fashion_mnist),
    Layout(MNIST_PLACES,   has_idx,   mnist),
)
# fmt: on
TEXTS = (Layout(IMDB_PLACES, has_imdb, imdb),)


@public
def find_images(folder: str | Path | None = None) -> Splits:
    """The set that `folder` is or holds: CIFAR-10, Fashion-MNIST or MNIST, the first of these.

    None is the packaged sample. Bare idx files in `folder` itself are read as Fashion-MNIST when its name says
    "fashion", else as MNIST. Raises DataError for a folder that holds none of them, naming the files it looked for.

    >>> data.find_images().train
    ArrayDataset(uint8[10000, 1, 28, 28], int64[10000])
    """
    if folder is None:
        return fashion_sample()
    return _find(located(folder), IMAGES, "data_batch_1.bin, data_batch_1 or train-images-idx3-ubyte.gz", "cifar10")


@public
def find_texts(folder: str | Path | None = None) -> Splits:
    """The IMDB reviews that `folder` is or holds; for None the packaged sentences.

    Raises DataError for a folder that holds none, naming the files it looked for.

    >>> data.find_texts().name
    'rt-polarity sample'
    """
    if folder is None:
        return sentence_sample()
    return _find(located(folder), TEXTS, "train/pos and train/neg", "imdb")


def _find(folder: Path, layouts: tuple[Layout, ...], files: str, name: str) -> Splits:
    if not folder.exists():
        raise DataError(f"--data needs an existing folder, got {folder}. Is the path right?")
    if not folder.is_dir():
        raise DataError(f"--data needs a folder, got the file {folder}. Pass the folder that holds it.")
    for layout in layouts:
        for path in (folder / place for place in layout.places):
            if path.is_dir() and layout.is_here(path):
                return layout.read(path)
    for layout in layouts:
        if layout.is_here(folder):
            return _named(folder, layout).read(folder)
    places = ", ".join(f"{place}/" for layout in layouts for place in layout.places)
    state = "an empty folder" if not any(folder.iterdir()) else "none of them"
    raise DataError(f"--data needs a folder with {files}, or one of {places} in it, got {state} at {folder}. "
                    f"Unpack the set there, or run stele.data.download({name!r}, {str(folder)!r}).")


def _named(folder: Path, layout: Layout) -> Layout:
    """Both MNIST sets have the same files, so a bare folder is told by its name."""
    if layout.is_here is has_idx and "fashion" not in str(folder.resolve()).lower():
        return IMAGES[-1]
    return layout
