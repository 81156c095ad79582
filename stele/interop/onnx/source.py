"""The bytes of a file."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stele import files
from stele.errors import DataError


def content(source: str | Path | bytes) -> bytes:
    """The bytes of a source. Raises DataError for a file that cannot be read."""
    if isinstance(source, bytes):
        return source
    with opened(source) as file:
        return file.read()


@contextmanager
def opened(source: str | Path) -> Generator[IO[bytes]]:
    """The file of a source. Raises DataError where it cannot be read."""
    try:
        with files.regular(files.located(source)) as file:
            yield file
    except OSError as error:
        raise DataError(f"cannot read {source}: {error.strerror or error}") from None
