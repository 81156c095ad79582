"""Bytes of a file as distributed: plain, gzip or xz, and arrays of NumPy's files, with errors that say what to do."""

import errno
import gzip
import io
import lzma
import math
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from stele.errors import DataError
from stele.files import located, regular

Array = np.ndarray[Any, np.dtype[Any]]

LARGEST = 640 << 20     # bytes; no set read here has a larger file when unpacked: stops decompression bombs
DICTIONARY = 128 << 20  # bytes that unpacking xz may take: `xz -9` needs 65 million, a file may ask for 4 billion
CHUNK = 1 << 20
PACKED = 1032           # what zlib packs becomes at most so many times larger
_CORRUPT = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


def place_of(folder: str | Path, is_here: Callable[[Path], bool], places: Sequence[str]) -> Path:
    """Where a set lies: in the folder, or in the first of these places in it that has it, as archives leave it.

    >>> place_of("sets", lambda path: path.name == "mnist", ["MNIST/raw", "mnist"]).name
    'mnist'
    """
    root = located(folder)
    return next((path for path in (root, *(root / place for place in places)) if is_here(path)), root)


def read_bytes(path: str | Path, largest: int = LARGEST) -> bytes:
    """The content of `path`, unpacked when its first bytes are those of gzip or xz.

    Raises DataError when the file is missing, is a folder, a pipe or a device, is corrupt, or unpacks to more than
    `largest` bytes; MemoryError when there is no memory for as many as it has.

    >>> read_bytes(__file__)[:3]
    b'"\""'
    """
    content = io.BytesIO()      # grows as bytes really come, whatever a head promises
    try:
        with regular(path) as file:
            head = file.read(2)
            file.seek(0)
            for chunk in _chunks(file, head):
                content.write(chunk)
                if content.tell() > largest:
                    raise DataError(f"reading needs at most {largest} bytes, got more at {path}. "
                                    "Is it the file you meant?")
    except FileNotFoundError:
        raise DataError(f"reading needs an existing file, got none at {path}. Is the path right?") from None
    except IsADirectoryError:
        raise DataError(f"reading needs a file, got the folder {path}. Name a file inside it.") from None
    except _CORRUPT as error:
        raise DataError(f"unpacking needs a whole file, got a truncated or corrupt one at {path} ({error}). "
                        "Delete it and download it again.") from None
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"there is no memory for {path}") from None
        raise DataError(f"reading needs a readable file, got {error.strerror or error} at {path}.") from None
    return content.getvalue()


def read_npz(path: str | Path) -> dict[str, Array]:
    """The arrays in a file of NumPy by name; the one of a .npy file is called "".

    Raises DataError for what is missing, damaged, claims more than its bytes can hold, or is of Python objects, whose
    code is not run; MemoryError where there is no memory for as much as it holds.
    """
    try:
        with regular(path) as file:
            _look(file, os.fstat(file.fileno()).st_size)
            file.seek(0)
            found = np.load(file, allow_pickle=False)
            arrays: dict[str, Any] = {"": found} if isinstance(found, np.ndarray) else dict(found)
    except MemoryError:
        raise
    except Exception as error:      # NumPy, its zip files and its heads have errors of many kinds
        said = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} holds no arrays of NumPy: {said:.160}",
                        hint="Write it with numpy.save or numpy.savez.") from None
    if strange := [name for name, x in arrays.items() if not isinstance(x, np.ndarray)]:
        raise DataError(f"{path} holds {strange[0]!r:.60}, which is no array of NumPy")
    return arrays


def _look(file: IO[bytes], size: int) -> None:
    """Raises ValueError where an array of NumPy, or one in a zip file, claims more than its bytes can hold: that many
    would be taken before any is read.
    """
    form: Any = np.lib.format
    begin = file.read(len(form.MAGIC_PREFIX))
    file.seek(0)
    if begin == form.MAGIC_PREFIX:
        version = form.read_magic(file)
        if version != (1, 0) and int.from_bytes(file.read(4), "little") > size:
            raise ValueError("its head is longer than the file")
        file.seek(len(form.MAGIC_PREFIX) + 2)
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, _, dtype = read(file)
        if math.prod(shape) * dtype.itemsize > size:
            raise ValueError(f"it claims {dtype}{list(shape)}, and has {size:,} bytes")
    elif begin.startswith((b"PK\3\4", b"PK\5\6")):
        with zipfile.ZipFile(file) as packed:
            for member in packed.infolist():
                with packed.open(member) as inner:
                    if inner.read(2) != b"PK":      # a file within the file, which is no array
                        inner.seek(0)
                        _look(inner, min(member.file_size, PACKED * min(member.compress_size, size)))


def _chunks(file: IO[bytes], head: bytes) -> Iterator[bytes]:
    """The content of a file that begins so, piece by piece."""
    if head == b"\xfd7":
        return _unpack_xz(file)
    source: IO[bytes] = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if head == b"\x1f\x8b" else file
    return iter(lambda: source.read(CHUNK), b"")


def _unpack_xz(file: IO[bytes]) -> Iterator[bytes]:
    """What the streams of an xz file hold, one behind the other."""
    packed = file.read(CHUNK)
    while packed:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DICTIONARY)
        while not stream.eof:
            if stream.needs_input and not packed:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            yield stream.decompress(packed, CHUNK)
            packed = file.read(CHUNK) if stream.needs_input else b""
        packed = (stream.unused_data or file.read(CHUNK)).lstrip(b"\0")     # streams may be padded
