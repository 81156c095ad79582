"""MNIST and Fashion-MNIST: arrays from idx files, plain, gzip or xz."""

import math
from pathlib import Path

import numpy as np

from stele.data.files import place_of, read_bytes
from stele.data.sets import ArrayDataset, Splits, split
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import whole

DIGITS = tuple("0123456789")
MNIST_PLACES, FASHION_PLACES = ("mnist", "MNIST/raw"), ("fashion-mnist", "FashionMNIST/raw")
FASHION = ("t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@speaks
def read_idx(path: str | Path, ndim: int) -> np.ndarray:
    """The uint8 array of `ndim` axes in the idx file at `path`, plain, .gz or .xz (LeCun's format).

    The file is 0, 0, 8, ndim, the sizes as big-endian int32, the elements. Raises DataError for a file that is missing,
    of other axes, or of another length than its sizes say.

    >>> with open("labels", "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> data.read_idx("labels", 1)
    array([7, 2, 1], dtype=uint8)
    """
    content, ndim = read_bytes(located(path)), whole(ndim, "ndim of read_idx", 1, 255)
    head = 4 + 4 * ndim
    magic = bytes((0, 0, 8, ndim))
    if content[:4] != magic:
        kind = {1: "labels", 3: "images"}.get(ndim, f"{ndim} axes")
        raise DataError(f"an idx file of {kind} needs to begin with 0x{magic.hex()}, got 0x{content[:4].hex()} "
                        f"in {path}. Is it a file of images where labels belong, or no idx file?")
    if len(content) < head:
        raise DataError(f"an idx file needs a head of {head} bytes, got {len(content)} in {path}. Download it again.")
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", ndim, 4))
    wanted = head + math.prod(shape)
    if len(content) != wanted:
        raise DataError(f"an idx file of shape {shape} needs {wanted} bytes, got {len(content)} in {path}. "
                        "Download it again.")
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def has_idx(folder: Path) -> bool:
    """Whether `folder` holds at least one of the four idx files."""
    return any(_find(folder, name) for name in FILES)


@speaks
def mnist(folder: str | Path) -> Splits:
    """MNIST from the `folder` of its four idx files, plain, .gz or .xz: images (N, 1, 28, 28) uint8, labels 0 to 9.

    Raises DataError for a file that is missing or damaged. `download("mnist")` makes such a folder.

    >>> def write(name, *sizes):
    ...     head = bytes([0, 0, 8, len(sizes)]) + b"".join(n.to_bytes(4, "big") for n in sizes)
    ...     np.frombuffer(head + bytes(int(np.prod(sizes))), np.uint8).tofile(name)
    >>> for part, n in (("train", 3), ("t10k", 2)):
    ...     write(f"{part}-images-idx3-ubyte", n, 28, 28)
    ...     write(f"{part}-labels-idx1-ubyte", n)
    >>> data.mnist(".").train
    ArrayDataset(uint8[3, 1, 28, 28], int64[3])
    """
    return _idx_set(place_of(folder, has_idx, MNIST_PLACES), "MNIST", DIGITS)


@speaks
def fashion_mnist(folder: str | Path) -> Splits:
    """Fashion-MNIST from the `folder` of its four idx files, plain, .gz or .xz: images (N, 1, 28, 28) uint8.

    The format is that of `mnist`, and so are the errors; the classes are ten kinds of clothes (Xiao et al., 2017).
    Raises DataError where one of them is missing or damaged, ArgumentError for what is no path.

    >>> folder = st.__path__[0] + "/data/samples"
    >>> data.fashion_mnist(folder).classes[:3]
    ('t-shirt/top', 'trouser', 'pullover')
    """
    return _idx_set(place_of(folder, has_idx, FASHION_PLACES), "Fashion-MNIST", FASHION)


def _idx_set(folder: Path, name: str, classes: tuple[str, ...]) -> Splits:
    train_x, train_y, test_x, test_y = (_need(folder, file, name) for file in FILES)
    return Splits(name, classes, _idx_split(train_x, train_y, len(classes)), _idx_split(test_x, test_y, len(classes)))


def _idx_split(images: Path, labels: Path, classes: int) -> ArrayDataset:
    x = read_idx(images, 3)
    if x.shape[1:] != (28, 28):
        raise DataError(f"images of this set need to be 28x28, got {x.shape[1]}x{x.shape[2]} in {images}.")
    return split(x[:, None], read_idx(labels, 1), classes, str(labels))


def _need(folder: Path, file: str, name: str) -> Path:
    path = _find(folder, file)
    if path is None:
        raise DataError(f"{name} needs {', '.join(f'{file}.gz' for file in FILES)}, got no {file}[.gz] in {folder}. "
                        "Put it there, or pass the folder that has all four.")
    return path


def _find(folder: Path, name: str) -> Path | None:
    """The file of that name in `folder`, packed or not; some mirrors write a dot before idx."""
    dotted = name.replace("-idx", ".idx")
    candidates = (folder / f"{stem}{suffix}" for stem in (name, dotted) for suffix in ("", ".gz", ".xz"))
    return next((path for path in candidates if path.is_file()), None)

