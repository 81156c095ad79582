"""Photographs as the arrays that image classifiers take; needs Pillow, the `images` extra."""

import errno
import importlib
import io
import os
import struct
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.data import jpegs
from stele.data.pixels import pixels
from stele.errors import DataError
from stele.files import located, regular

if TYPE_CHECKING:
    from PIL import Image

RESIZE, CROP = 256, 224
JPEG = b"\xff\xd8\xff"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")     # what Pillow may try: one of its others starts a program
PIXELS, SLIMMEST = 1 << 26, 64                      # of one image, and how many times one side may be the other
BYTES = 4 * PIXELS                                  # of a file, since some formats are read before they are looked at
KEPT = 8                                            # images whose memory Pillow uses again, at most 16 MB each
BILINEAR = 2  # Pillow's number of its antialiased bilinear filter
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
_CORRUPT = (EOFError, IndexError, KeyError, OverflowError, struct.error, zlib.error)    # what Pillow lets through
STD = np.array((0.229, 0.224, 0.225), np.float32)


def load_image(path: str | Path) -> np.ndarray:
    """A photograph as (3, 224, 224) float32, RGB, as torchvision's classification presets make it.

    The shorter side is resized to 256 (bilinear, antialiased), the centre 224x224 cropped, x / 255, minus the mean of
    ImageNet, divided by its standard deviation. Formats are JPEG, PNG, WebP, BMP and GIF (its first frame). Raises
    DataError for a missing or corrupt file, one of more than 67 million pixels or of a side 64 times the other, and
    when Pillow is not installed.

    ```
    x = load_image("cat.jpg")[None]
    ```
    """
    image = decoded(located(path))
    width, height = image.size
    short = min(width, height)
    resized = image.resize((RESIZE * width // short, RESIZE * height // short), BILINEAR)
    left, top = round((resized.width - CROP) / 2), round((resized.height - CROP) / 2)
    pixels = np.asarray(resized.crop((left, top, left + CROP, top + CROP)), np.float32)
    normal = (pixels / np.float32(255) - MEAN) / STD
    return np.ascontiguousarray(normal.transpose(2, 0, 1))


def load_images(paths: Iterable[str | Path]) -> np.ndarray:
    """Photographs as (N, 3, 224, 224) float32; the first bad one raises DataError."""
    return np.stack([load_image(path) for path in paths])


def pillow(what: str) -> Any:
    """Pillow, an extra, so not needed to import this file."""
    try:
        found = importlib.import_module("PIL.Image")
    except ImportError:
        raise DataError(f"{what} needs Pillow, got none installed. Run: pip install 'stele-dl[images]'") from None
    with suppress(AttributeError):      # as its PILLOW_BLOCKS_MAX does: an image takes the memory of the last ones
        if not found.core.get_blocks_max():
            found.core.set_blocks_max(KEPT)
    return found


def decoded(path: Path, mode: str = "RGB") -> "Image.Image":
    """The pixels of a file in a mode of Pillow's, all decoded."""
    return unpacked(content(path), mode, path)


def content(path: Path) -> bytes:
    """The bytes of a file of an image."""
    with faults(path), regular(path) as file:
        if os.fstat(file.fileno()).st_size > BYTES:
            raise DataError(f"an image needs at most {BYTES:,} bytes, got more at {path}. Make it smaller.")
        return file.read()


class Picture:
    """A file of an image, whose bytes are read, and of whose pixels is decoded what somebody asks for.

    `shape` is (3, height, width) of a JPEG that may be decoded in part, None of others.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.raw = path, content(path)
        size = jpegs.size(self.raw) if self.raw.startswith(JPEG) else None
        if size is not None:
            _check(size[1], size[0], path)
        self.shape = None if size is None else (3, *size)

    def whole(self) -> np.ndarray:
        """All pixels as uint8 (3, height, width), which nobody else writes to."""
        return self.by_pillow() if self.shape is None else self.part(0, 0, *self.shape[1:])

    def part(self, top: int, left: int, height: int, width: int) -> np.ndarray:
        """Those of a part of a picture whose shape is known, the same to the bit."""
        assert self.shape is not None
        found = jpegs.decoded(self.raw, top, left, height, width, self.shape[2])
        return self.by_pillow()[:, top:top + height, left:left + width] if found is None else found

    def by_pillow(self) -> np.ndarray:
        """All pixels, or an error that says what is wrong with the file."""
        return pixels(unpacked(self.raw, "RGB", self.path))


class OfFile:
    """The base of transforms that may make a sample of a picture of which not all is decoded."""

    def is_of_images(self) -> bool:
        """Whether of (image, label) it makes what it makes of the image, and the label."""
        raise NotImplementedError

    def of_file(self, file: Picture, rng: Callable[[], np.random.Generator]) -> Any:
        """The sample of a picture, as if it were called with all of it."""
        raise NotImplementedError


def unpacked(raw: bytes, mode: str, path: Path | str, formats: Sequence[str] = FORMATS) -> "Image.Image":
    """The pixels of bytes that stand at a path, in a mode of Pillow's."""
    with faults(path) as pil, pil.open(io.BytesIO(raw), formats=formats) as image:  # which gives no more than there is
        _check(image.width, image.height, path)       # of the head alone: nothing is decoded yet
        image.load()
        shown = eight_bits(image, pil)
        return shown if shown.mode == mode else shown.convert(mode)


def eight_bits(image: Any, pil: Any) -> "Image.Image":
    """A grey image of 16 bits by the upper 8 of each; Pillow would make 255 of all that is above it."""
    return pil.fromarray((np.asarray(image) >> 8).astype(np.uint8)) if image.mode.startswith("I") else image


@contextmanager
def faults(path: Path | str) -> Generator[Any]:
    """Pillow, whose errors teach: they say which image it was."""
    pil = pillow(f"reading {path}")
    try:
        yield pil
    except FileNotFoundError:
        raise DataError(f"an image needs an existing file, got none at {path}. Is the path right?") from None
    except IsADirectoryError:
        raise DataError(f"an image needs a file, got the folder {path}. Name the images: {path}/*.jpg") from None
    except pil.UnidentifiedImageError:
        raise DataError("an image needs to be a JPEG, PNG, WebP, BMP or GIF, "
                        f"got another format at {path}.") from None
    except DataError:
        raise
    except (OSError, SyntaxError, ValueError, *_CORRUPT, pil.DecompressionBombError,
            pil.DecompressionBombWarning) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError(f"there is no memory for the image {path}") from None
        raise DataError(f"an image needs to be whole, got a truncated or corrupt one at {path} ({error}). "
                        "Save it again.") from None


def _check(width: int, height: int, path: Path | str) -> None:
    if not width or not height or width * height > PIXELS:
        raise DataError(f"an image needs 1 to {PIXELS:,} pixels, got {width} x {height} at {path}. Make it smaller.")
    if max(width, height) > SLIMMEST * min(width, height):
        raise DataError(f"an image needs sides that are at most {SLIMMEST} times each other, got {width} x {height} "
                        f"at {path}. Cut it.")
