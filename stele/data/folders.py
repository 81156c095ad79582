"""Folders of files as data sets: a folder for each class."""
from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.data.chance import Chance, transformer
from stele.data.dataset import Dataset, within
from stele.data.files import read_bytes
from stele.data.images import OfFile, Picture
from stele.errors import DataError, kind
from stele.files import located
from stele.interop.keywords import answering, speaks
from stele.interop.names import FOLDERS
from stele.ir.door import public

IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
TEXTS = (".txt",)
LONGEST = 64 << 20      # bytes of one text


class Folder(Dataset):
    """Files in folders named after their classes, read when asked for; deeper folders are of the class."""

    suffixes: tuple[str, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = answering("a folder of classes", FOLDERS)

    def __init__(self, folder: str | Path, transform: Callable[..., Any] | None) -> None:
        root = located(folder)
        if transform is not None and not callable(transform):
            raise DataError(f"transform is a function, got {kind(transform)}.")
        if not root.is_dir():
            raise DataError(f"a folder of classes needs to exist, got no folder at {root}. Is the path right?")
        self.given, self.transform = transform, None if transform is None else transformer(transform)
        self.folder = root
        self.classes = tuple(sorted(entry.name for entry in os.scandir(root)
                                    if entry.is_dir() and not entry.name.startswith(".")))
        found = [_files(root / name, self.suffixes) for name in self.classes]
        if not self.classes or not all(found):
            lacking = next((name for name, files in zip(self.classes, found) if not files), None)
            what = f"none of {', '.join(self.suffixes)} in {root / lacking}" if lacking else f"no folder in {root}"
            raise DataError(f"{type(self).__name__} needs a folder for each class with files in it, got {what}.")
        self.paths = [path for files in found for path in files]
        self.labels = np.repeat(np.arange(len(found), dtype=np.int64), [len(files) for files in found])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, k: int) -> tuple[Any, int]:
        k = within(k, len(self))
        return self.at(k, Chance(0, 0, k))

    def at(self, k: int, chance: Chance) -> tuple[Any, int]:
        """What file k holds, transformed, and the number of its class."""
        content = self.read(self.paths[k])
        return content if self.transform is None else self.transform(content, chance.rng), int(self.labels[k])

    def read(self, path: Path) -> Any:
        """What a file holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {len(self.classes)} classes, {len(self)} samples)"


class ImageFolder(Folder):
    """Images in a `folder` for each class, `folder/cat/1.jpg`: samples (image, label), uint8 (3, H, W) and int.

    `transform(image)`, or (image, rng) where it takes a generator, changes each image when it is read; to be batched
    they need one size. `classes` are the names in alphabetical order, `labels` (N,) int64 the numbers of all samples,
    `paths` their files. Read are JPEG, PNG, WebP, BMP and GIF (its first frame), by Pillow. Where the transform, or
    that of a loader, begins with a crop, no more of a JPEG is decoded than that looks at, to the same bytes. Raises
    DataError for a folder without classes or images, when one is asked for that is damaged or of more than 67 million
    pixels, and when Pillow is not installed.

    >>> import pathlib
    >>> from PIL import Image
    >>> for name in ("cat", "dog"):
    ...     pathlib.Path(name).mkdir()
    ...     Image.new("RGB", (6, 4), "red").save(f"{name}/1.png")
    >>> animals = data.ImageFolder(".", transform=lambda image: image[:, :4, :4])
    >>> animals, animals.classes, animals[1][0].shape, animals[1][1]
    (ImageFolder('.', 2 classes, 2 samples), ('cat', 'dog'), (3, 4, 4), 1)
    >>> [(x.shape, y.tolist()) for x, y in data.Loader(animals, batch_size=2)]
    [((2, 3, 4, 4), [0, 1])]
    """

    suffixes = IMAGES

    @speaks
    def __init__(self, folder: str | Path, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(folder, transform)

    @public
    def map(self, f: Callable[..., Any]) -> Dataset:
        """The set of f(sample), or f(sample, rng), as of any other; no more is decoded than a crop looks at."""
        given: Any = f
        if self.given is not None or not isinstance(given, OfFile) or not given.is_of_images():
            return super().map(f)
        made = copy.copy(self)
        made.given, made.transform = f, transformer(f)
        return made

    def at(self, k: int, chance: Chance) -> tuple[Any, int]:
        """Image k, transformed, and the number of its class."""
        if not isinstance(self.given, OfFile):
            return super().at(k, chance)
        return self.given.of_file(Picture(self.paths[k]), chance.rng), int(self.labels[k])

    def read(self, path: Path) -> np.ndarray:
        """An image as uint8 (3, height, width): a view of its pixels, so that what is cut away is never moved."""
        return Picture(path).whole()


class TextFolder(Folder):
    """Texts in a `folder` for each class, `folder/good/1.txt`: samples (text, label), str and int.

    `transform(text)`, or (text, rng) where it takes a generator, changes each text when it is read: into numbers of
    words, say. `classes` are the names in alphabetical order, `labels` (N,) int64 the numbers of all samples, `paths`
    their files, of UTF-8 text (.txt). Raises DataError for a folder without classes or texts, and when one is asked for
    that is no UTF-8 or larger than 64 MiB.

    >>> import pathlib
    >>> for name, text in (("bad", "dull"), ("good", "a fine film")):
    ...     pathlib.Path(name).mkdir()
    ...     _ = pathlib.Path(name, "1.txt").write_text(text)
    >>> list(data.TextFolder("."))
    [('dull', 0), ('a fine film', 1)]
    """

    suffixes = TEXTS

    @speaks
    def __init__(self, folder: str | Path, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(folder, transform)

    def read(self, path: Path) -> str:
        """The text of a file."""
        try:
            return read_bytes(path, LONGEST).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"a text needs to be UTF-8, got byte 0x{error.object[error.start]:02x} at {error.start} "
                            f"of {path}.") from None


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a class, by their path."""
    found = [Path(place, name) for place, _, names in os.walk(folder) for name in names
             if name.lower().endswith(suffixes) and not name.startswith(".")]
    return sorted(found, key=lambda path: path.parts)
