"""Downloads that resume, are checked by size and SHA-256, and appear under their name only when whole."""

import gzip
import hashlib
import io
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from stele.config import DATA, OFFLINE
from stele.data.archives import ARCHIVES, Archive
from stele.errors import DataError, StorageError
from stele.files import Leftovers, located, locked, make_folder, opened, regular, storing, sweep, write, writing
from stele.ir.door import public

CHUNK = 1 << 18
UNPACKED, MEMBERS = 1 << 30, 200_000    # bytes and members of an archive: the reviews have 0.4 billion in 100,000
AT_ONCE = 1 << 20                       # bytes that tarfile may ask for: headers have thousands
Advance = Callable[[int], None]


@public
def download(name: str, folder: str | Path | None = None) -> Path:
    """The folder with data set `name` in it, downloaded and unpacked into `folder` where it is not yet.

    The folder is STELE_DATA without one. Names: adult, ag_news, cifar10, cifar10-python, cifar100, fashion-mnist, imdb,
    iris, mnist, sst2, stl10, svhn, tiny_shakespeare, wikitext2, wine. Archives are unpacked in the folder, single files
    stand in a folder of the set's name inside it, whose path is then given. An interrupted download goes on where it
    stopped; processes that download the same at once do not get into each other's way. Raises DataError for another
    name, without a network, and for files whose SHA-256 is not the one known.

    ```
    train = data.find_images(data.download("cifar10")).train
    flowers = data.iris(data.download("iris"))
    ```

    >>> try:
    ...     data.download("imagenet")
    ... except ValueError as error:
    ...     print(str(error).partition(" at ")[0])
    download needs one of adult, ag_news, cifar10, cifar10-python, cifar100, fashion-mnist, imdb, iris, mnist, sst2, \
stl10, svhn, tiny_shakespeare, wikitext2, wine, got 'imagenet'
    """
    asked: Any = name
    if not isinstance(asked, str) or asked not in ARCHIVES:
        raise DataError(f"download needs one of {', '.join(sorted(ARCHIVES))}, got {name!r}.")
    folder = DATA() if folder is None else located(folder)
    own = folder / name
    for archive in ARCHIVES[name]:
        if archive.is_packed:
            unpack(fetch(archive, folder), folder, archive.unpacked)
        else:
            fetch(archive, own)
    return folder if ARCHIVES[name][0].is_packed else own


def fetch(archive: Archive, folder: Path) -> Path:
    """The path of the checked file in `folder`, downloaded unless it is there."""
    path = folder / archive.name
    if path.is_file():
        with regular(path) as file:
            _check(file, path, archive)
        return path
    if path.is_dir():
        raise DataError(f"downloading {archive.name} needs the place of a file, got a folder at {path}. "
                        "Give another folder, or move that one.")
    if OFFLINE():
        raise DataError(f"downloading {archive.name} needs the network, got STELE_OFFLINE=1. "
                        f"Put the file from {archive.url} at {path}, or unset STELE_OFFLINE.")
    try:
        make_folder(folder, 0o755)
        with opened(folder) as place:
            with writing(place, archive.name, resumes=True) as file:
                begun = file.seek(0, os.SEEK_END)
                _receive(archive, file)
                if begun and not _is_meant(file, archive):      # what was there is not this file's beginning
                    file.truncate(0)
                    _receive(archive, file)
                _check(file, path, archive)
            sweep(place, archive.name)
    except OSError as error:
        raise DataError(f"downloading {archive.url} ({archive.size:,} bytes) failed: {error}. Try again, it goes on "
                        f"where it stopped, or put the file at {path}.") from None
    return path


def unpack(archive: Path, folder: Path, most: int | None = None) -> None:
    """The members of a .tar.gz or .zip under `folder`; none may leave it. Done once: a marker remembers it.

    Who comes while another process unpacks waits for it. What one that died has left unfinished is removed. Raises
    DataError for what is no whole archive, or is one of more than `most` bytes (a gigabyte) or 200,000 members,
    StorageError if the disk is full or the folder closed.
    """
    marker = archive.with_name(f"{archive.name}.unpacked")
    most = UNPACKED if most is None else most
    try:
        if marker.is_file():
            return
        with regular(archive) as packed, locked(packed.fileno()):
            if marker.is_file():
                return
            (_unzip if archive.suffix == ".zip" else _untar)(packed, folder, archive, most)
            write(marker)
    except (DataError, StorageError):
        raise
    except (tarfile.TarError, zipfile.BadZipFile, NotImplementedError, EOFError, OSError, zlib.error, ValueError,
            OverflowError, IndexError, RecursionError) as error:
        raise DataError(f"unpacking needs a whole archive, got {error} in {archive}. "
                        "Delete it and run again.") from None


def _untar(packed: IO[bytes], folder: Path, archive: Path, most: int) -> None:
    left = dict[Path, Leftovers]()
    with gzip.GzipFile(fileobj=packed) as unpacked, \
            tarfile.open(fileobj=cast(IO[bytes], _Bounded(unpacked, most)), mode="r:") as tar:
        for count, member in enumerate(tar):
            if count == MEMBERS:
                raise tarfile.ReadError(f"more than {MEMBERS:,} members")
            # one regular file at a time; links and devices, which no data set needs, are left out
            content = tar.extractfile(member) if member.isreg() and not member.issparse() else None
            if content is not None:
                _extract(content, member.name, folder, archive, left)


def _unzip(packed: IO[bytes], folder: Path, archive: Path, most: int) -> None:
    """The files of a zip; what stands in its list of how large they are is not believed."""
    left = dict[Path, Leftovers]()
    with zipfile.ZipFile(packed) as file:
        members = file.infolist()
        if len(members) > MEMBERS:
            raise zipfile.BadZipFile(f"more than {MEMBERS:,} members")
        for member in members:
            if member.flag_bits & 1:
                raise zipfile.BadZipFile("a member that needs a password")
            if not member.is_dir():
                with file.open(member) as content:
                    most -= _extract(content, member.filename, folder, archive, left, most)


class _Bounded:
    """What tarfile sees of an archive: it ends where none of ours goes on, and no header takes much memory."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self.file, self.tell, self.most = file, file.tell, most

    def read(self, count: int) -> bytes:
        if not 0 <= count <= AT_ONCE:
            raise tarfile.ReadError(f"a header of {count:,} bytes")
        self._stay(self.file.tell() + count)
        return self.file.read(count)

    def seek(self, place: int) -> int:
        self._stay(place)
        return self.file.seek(place)

    def _stay(self, place: int) -> None:
        if place > self.most:
            raise tarfile.ReadError(f"more than {self.most:,} bytes")


def _extract(content: IO[bytes], name: str, folder: Path, archive: Path, left: dict[Path, Leftovers],
             most: int | None = None) -> int:
    """Writes one file of at most so many bytes, and says how many there were. What is `left` in its folder goes; in the
    one that all is unpacked into, where unfinished downloads are too, what is of its name.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"an archive needs to stay inside its folder, got a member {name!r} in {archive}.")
    make_folder(path.parent, 0o755)
    count = 0
    with opened(path.parent) as place:
        if path.parent not in left:
            if path.parent != folder:
                sweep(place)
            left[path.parent] = Leftovers(place)
        left[path.parent].sweep(place, path.name)
        with storing(path), writing(place, path.name) as file:
            while chunk := content.read(CHUNK):
                count += file.write(chunk)
                if most is not None and count > most:
                    raise zipfile.BadZipFile(f"more than {most:,} bytes in {name}")
    return count


def _receive(archive: Archive, file: IO[bytes]) -> None:
    """Append to the file what is missing of it."""
    import http.client  # imported late: 40 ms that most runs do not need
    import urllib.request

    have = file.seek(0, os.SEEK_END)
    if have >= archive.size:
        return
    request = urllib.request.Request(archive.url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            if answer.status != 206:        # the server sends all of it again
                have = file.seek(file.truncate(0))
            with progress(archive.name, archive.size, have) as advance:
                _copy(answer, file, archive.size - have, advance)
    except http.client.HTTPException as error:
        raise ConnectionError(f"the server gave no proper answer ({error})") from None
    if file.tell() < archive.size:
        raise ConnectionError(f"the connection ended after {file.tell()} of {archive.size} bytes")


def _copy(source: IO[bytes], target: IO[bytes], count: int, advance: Advance) -> None:
    """At most `count` bytes and one chunk: a longer answer is caught by the check."""
    while count >= 0 and (chunk := source.read(CHUNK)):
        target.write(chunk)
        count -= len(chunk)
        advance(len(chunk))


def _digest(file: IO[bytes], archive: Archive) -> str:
    """SHA-256 of a file of the right size; empty for one of another."""
    if file.seek(0, os.SEEK_END) != archive.size:
        return ""
    file.seek(0)
    return hashlib.file_digest(cast(io.BufferedIOBase, file), "sha256").hexdigest()


def _is_meant(file: IO[bytes], archive: Archive) -> bool:
    """Whether this is the file that the archive is."""
    return _digest(file, archive) == archive.sha256


def _check(file: IO[bytes], path: Path, archive: Archive) -> None:
    """DataError unless this is the file that is meant; one that is being received is empty then."""
    if (digest := _digest(file, archive)) == archive.sha256:
        return
    size, received = file.seek(0, os.SEEK_END), file.writable()
    if received:
        file.truncate(0)
    where = f"from {archive.url}. Put the official file at {path}." if received else \
        f"at {path}. Delete it and run again."
    if not digest:
        raise DataError(f"{archive.name} needs {archive.size} bytes, got {size} {where}")
    raise DataError(f"{archive.name} needs SHA-256 {archive.sha256}, got {digest} {where}")


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
