"""Bytes of a file as distributed: plain, gzip or xz, with errors that say what to do."""

import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from stele.errors import DataError

LARGEST = 1 << 31  # no set read here is larger when unpacked; stops decompression bombs
_CORRUPT = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


def read_bytes(path: str | Path, largest: int = LARGEST) -> bytes:
    """The content of `path`, unpacked when its first bytes are those of gzip or xz.

    Raises DataError when the file is missing, is a folder, is corrupt, or unpacks to more than `largest` bytes.

    >>> read_bytes(__file__)[:3]
    b'"\""'
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(2)
            file.seek(0)
            content = _opener(head)(file).read(largest + 1)
    except FileNotFoundError:
        raise DataError(f"reading needs an existing file, got none at {path}. Is the path right?") from None
    except IsADirectoryError:
        raise DataError(f"reading needs a file, got the folder {path}. Name a file inside it.") from None
    except _CORRUPT as error:
        raise DataError(f"unpacking needs a whole file, got a truncated or corrupt one at {path} ({error}). "
                        "Delete it and download it again.") from None
    except OSError as error:
        raise DataError(f"reading needs a readable file, got {error.strerror or error} at {path}.") from None
    if len(content) > largest:
        raise DataError(f"reading needs at most {largest} bytes, got more at {path}. Is it the file you meant?")
    return content


def _opener(head: bytes) -> Callable[[IO[bytes]], IO[bytes]]:
    """What unpacks a file that begins so."""
    match head:
        case b"\x1f\x8b": return lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file))
        case b"\xfd7":     return lambda file: cast(IO[bytes], lzma.LZMAFile(file))
        case _:            return lambda file: file
