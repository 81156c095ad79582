"""Downloads that resume, are checked by size and SHA-256, and appear under their name only when whole."""

import hashlib
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from stele.config import DATA, OFFLINE
from stele.data.archives import ARCHIVES, Archive
from stele.errors import DataError

CHUNK = 1 << 18
Advance = Callable[[int], None]


def download(name: str, folder: str | Path | None = None) -> Path:
    """The folder with data set `name` in it, downloaded and unpacked where it is not yet; default: STELE_DATA.

    Names: cifar10, cifar10-python, imdb, fashion-mnist, mnist. An interrupted download goes on where it stopped.

    ```
    train = find_images(download("cifar10")).train
    ```
    """
    if name not in ARCHIVES:
        raise DataError(f"download needs one of {', '.join(ARCHIVES)}, got {name!r}.")
    folder = DATA() if folder is None else Path(folder)
    if not name.endswith("mnist"):
        for archive in ARCHIVES[name]:
            unpack(fetch(archive, folder), folder)
        return folder
    for archive in ARCHIVES[name]:
        fetch(archive, folder / name)
    return folder / name


def fetch(archive: Archive, folder: Path) -> Path:
    """The path of the checked file in `folder`, downloaded unless it is there."""
    path = folder / archive.name
    if path.is_file():
        _check(path, archive)
        return path
    if OFFLINE():
        raise DataError(f"downloading {archive.name} needs the network, got STELE_OFFLINE=1. "
                        f"Put the file from {archive.url} at {path}, or unset STELE_OFFLINE.")
    part = path.with_name(f"{archive.name}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _receive(archive, part)
    except OSError as error:
        raise DataError(f"downloading {archive.url} failed: {error}. Try again, it goes on where it stopped, "
                        f"or put the file at {path}.") from None
    try:
        _check(part, archive)
    except DataError:
        part.unlink()
        raise
    os.replace(part, path)
    return path


def unpack(archive: Path, folder: Path) -> None:
    """The members of a .tar.gz under `folder`; none may leave it. Done once: a marker remembers a whole unpacking."""
    marker = archive.with_name(f"{archive.name}.unpacked")
    if marker.exists():
        return
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _extract(tar, member, folder)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"unpacking needs a whole archive, got {error} in {archive}. "
                        "Delete it and run again.") from None
    marker.touch()


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one regular file; links and devices, which no data set needs, are left out."""
    content = tar.extractfile(member) if member.isfile() else None
    if content is None:
        return
    path = folder / member.name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"an archive needs to stay inside its folder, got a member {member.name!r} in {tar.name}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _receive(archive: Archive, part: Path) -> None:
    """Append to `part` what is missing of the file."""
    import http.client  # imported late: 40 ms that most runs do not need
    import urllib.request

    have = part.stat().st_size if part.exists() else 0
    if have >= archive.size:
        return
    request = urllib.request.Request(archive.url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            have = have if answer.status == 206 else 0  # else the server sends all of it again
            with part.open("ab" if have else "wb") as file, progress(archive.name, archive.size, have) as advance:
                _copy(answer, file, archive.size - have, advance)
    except http.client.HTTPException as error:
        raise ConnectionError(f"the server gave no proper answer ({error})") from None
    received = part.stat().st_size
    if received < archive.size:
        raise ConnectionError(f"the connection ended after {received} of {archive.size} bytes")


def _copy(source: IO[bytes], target: IO[bytes], count: int, advance: Advance) -> None:
    """At most `count` bytes and one chunk: a longer answer is caught by the check."""
    while count >= 0 and (chunk := source.read(CHUNK)):
        target.write(chunk)
        count -= len(chunk)
        advance(len(chunk))


def _check(path: Path, archive: Archive) -> None:
    size = path.stat().st_size
    if size != archive.size:
        raise DataError(f"{archive.name} needs {archive.size} bytes, got {size} at {path}. Delete it and run again.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != archive.sha256:
        raise DataError(f"{archive.name} needs SHA-256 {archive.sha256}, got {digest} at {path}. "
                        f"Delete it and take the official file from {archive.url}.")


def progress(title: str, total: int, done: int) -> AbstractContextManager[Advance]:
    """A progress bar in bytes on a terminal, one line elsewhere; gives the function that moves it."""
    if not sys.stderr.isatty():
        print(f"downloading {title}: {total / 1e6:.1f} MB" + (f", {done / 1e6:.1f} MB there" if done else ""),
              file=sys.stderr)
        return nullcontext(lambda count: None)
    return _Bar(title, total, done)


class _Bar:
    """A bar of rich with size, speed and time left."""

    def __init__(self, title: str, total: int, done: int) -> None:
        from rich import progress as p  # imported late: 60 ms
        from rich.console import Console

        self.bar = p.Progress(p.TextColumn(title), p.BarColumn(), p.DownloadColumn(), p.TransferSpeedColumn(),
                              p.TimeRemainingColumn(), console=Console(stderr=True))
        self.task = self.bar.add_task(title, total=total, completed=done)

    def __enter__(self) -> Advance:
        self.bar.start()
        return lambda count: self.bar.advance(self.task, count)

    def __exit__(self, *error: object) -> None:
        self.bar.stop()
