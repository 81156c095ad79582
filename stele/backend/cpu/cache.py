"""Bytes kept on disk under a hash: compiled objects and what belongs to them."""

from __future__ import annotations

import errno
import functools
import hashlib
import mmap
import os
import re
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import IO, Any

import llvmlite

from stele import config, files

_MAGIC = b"stele cache 3".ljust(32, b"\n")
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_KEY = re.compile(r"[0-9a-f]{64}")
_TOTAL, _WIDTH = "bytes", 20    # the file that counts entries' bytes, in so many digits
_FREE = 8                       # one part in so many is free once entries have left
_PACKAGE = str(Path(__file__).resolve().parents[2])
COMPILER = "", "/ir", "/ops", "/transform", "/kernel", "/backend"
"""The folders of Stele that decide what code is made of a graph; those behind them with all inside."""
_said: dict[tuple[Path, str], Path] = {}
"""Folders of which was said why nothing is kept there: what holds for all beside each other is said of the first."""


@dataclass
class Counts:
    """What happened to a cache in this process."""

    hits: int = 0
    misses: int = 0
    writes: int = 0
    corrupt: int = 0
    evicted: int = 0


class Cache:
    """A store of bytes by key (64 hex digits), safe under several processes; `limit` bounds its bytes: those who put
    something there count together, and who passes it goes through the folder, until an eighth is free.

    Native code comes from here, so nothing is read that anybody but this user and root could have put there: the
    folder, those above it and each entry have to belong to one of them and be closed to others. Links are not
    followed, no folder is adopted that is open, and no mode is changed. An entry is good for its own key only.
    The worst that a broken, planted, full or unwritable folder does is to make `get` return None, with a warning.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()), limit=1 << 20)
    >>> cache.put(digest("graph", "target"), b"object"); cache.get(digest("graph", "target"))
    b'object'
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.counts = Counts()
        self._usable = limit > 0

    def get(self, key: str) -> bytes | None:
        """What was put under the key, or None; an entry that was damaged or planted is removed and counted."""
        return self._found(key, methodcaller("read"))       # in one piece

    def mapped(self, key: str) -> memoryview | None:
        """The same as it lies on the disk, nothing of it copied: its first byte is at a multiple of 64."""
        return self._found(key, _pages)

    def put(self, key: str, content: bytes) -> None:
        """Keep the content under the key; the oldest entries leave if the bound is passed."""
        _check(key)
        if len(content) + _HEADER > self.limit:
            return
        with self._opened(make=True) as folder:
            if folder is None:
                return
            try:
                with files.writing(folder, key, mode=0o600) as file:
                    file.write(_head(key, content))
                    file.write(content)
            except (FileNotFoundError, IsADirectoryError):
                return      # somebody emptied the folder meanwhile, or put a folder there, of which `get` warns
            except OSError as error:
                self._give_up(f"cannot write there ({error.strerror or error})")
                return
            self.counts.writes += 1
            try:
                self._bound(folder, len(content) + _HEADER)
            except FileNotFoundError:
                return      # somebody removed the folder meanwhile
            except OSError as error:
                self._give_up(f"cannot count its bytes ({error.strerror or error})")

    def once(self, key: str, make: Callable[[], bytes]) -> bytes | None:
        """What was put under the key; where nothing was, the first who asks makes it, and others wait. None where
        nothing can be kept, and so would not be found again."""
        if (found := self.get(key)) is not None:
            return found
        with self._opened(make=True) as folder:
            if folder is None or not os.access(self.folder, os.W_OK):
                return None
            with files.alone(folder):
                if self.get(key) is None:
                    self.put(key, make())
                return self.get(key)

    def size(self) -> int:
        """Bytes on disk now."""
        with self._opened() as folder:
            return 0 if folder is None else sum(size for _, size, _ in _entries(folder))

    def clear(self) -> None:
        """Remove every entry."""
        with self._opened() as folder:
            if folder is not None:
                for _, _, name in _entries(folder):
                    _remove(folder, name)
                _remove(folder, _TOTAL)

    @contextmanager
    def _opened(self, make: bool = False) -> Generator[int | None]:
        """The folder by number; None where there is none, or none that can be trusted."""
        folder = self._open(make) if self._usable else None
        try:
            yield folder
        finally:
            if folder is not None:
                os.close(folder)

    def _open(self, make: bool) -> int | None:
        if not self.folder.is_absolute():
            self._give_up(f"nobody says which folder {self.folder.parts[0]} is (HOME is not set)")
            return None
        try:
            return files.open_trusted(self.folder, 0o700 if make else None)
        except OSError as error:
            if make or error.errno != errno.ENOENT:     # else nobody has put anything there yet
                self._give_up(error.strerror or str(error))
            return None

    def _found(self, key: str, read: Callable[[IO[bytes]], Any]) -> Any:
        _check(key)
        with self._opened() as folder:
            content = None if folder is None else self._read(folder, key, read)
        self.counts.hits += content is not None
        self.counts.misses += content is None
        return content

    def _read(self, folder: int, key: str, read: Callable[[IO[bytes]], Any]) -> Any:
        """The content of an entry, if it is whole, of nobody else and of this key."""
        try:
            with files.regular(key, folder, follow=False) as file:
                why = _fault(os.fstat(file.fileno()), self.limit)
                if not why and os.read(file.fileno(), _HEADER) == _head(key, content := read(file)):
                    _touch(file.fileno())
                    return content
                why = why or "is damaged or another entry"
        except FileNotFoundError:
            return None
        except OSError as error:
            why = f"cannot be read ({error.strerror or error})"
        self.counts.corrupt += 1
        _remove(folder, key)
        warnings.warn(f"Stele does not use {self.folder / key} of its cache, which {why}, and compiles again",
                      RuntimeWarning, stacklevel=5)
        return None

    def _bound(self, folder: int, added: int) -> None:
        with _total(folder) as file:
            counted = os.pread(file, _WIDTH, 0)
            total = int(counted) + added if re.fullmatch(rb"\d+", counted) else None
            if total is None or total > self.limit:
                total = self._evict(folder)
            os.pwrite(file, b"%0*d" % (_WIDTH, total), 0)

    def _evict(self, folder: int) -> int:
        """The bytes that there are once the oldest have left, where they were too many."""
        files.sweep(folder)
        entries = sorted(_entries(folder))
        total = sum(size for _, size, _ in entries)
        wanted = self.limit - self.limit // _FREE if total > self.limit else total
        for _, size, name in entries[:-1]:
            if total <= wanted:
                break
            _remove(folder, name)
            total -= size
            self.counts.evicted += 1
        return total

    def _give_up(self, why: str) -> None:
        self._usable = False
        if _said.setdefault((self.folder.parent, why), self.folder) != self.folder:
            return      # of one beside it
        warnings.warn(f"Stele keeps no compiled code in {self.folder}: {why}. Set STELE_CACHE to a folder that nobody "
                      "else may write to, or STELE_CACHE_SIZE=0 to do without.", RuntimeWarning, stacklevel=5)


def _check(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise ValueError(f"a cache key has 64 hex digits, got {key!r}; make one with digest()")


def _pages(file: IO[bytes]) -> memoryview:
    """What stands behind the head, as pages of the file: an entry is replaced or removed as a whole."""
    is_empty = os.fstat(file.fileno()).st_size == 0     # of which there are no pages
    return memoryview(b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[_HEADER:]


def _head(key: str, content: bytes | memoryview) -> bytes:
    """What stands in front of a content: it is of this key and no other, and whole."""
    total = hashlib.sha256(key.encode())
    total.update(content)
    return _MAGIC + total.digest()


def _fault(found: os.stat_result, limit: int) -> str | None:
    """Why an entry is not even read, or None."""
    if found.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    if found.st_mode & files.OTHERS:
        return "others may write to"
    return "is larger than the whole cache" if found.st_size > limit else None


def _entries(folder: int) -> Iterator[tuple[float, int, str]]:
    """When entries were last used, their bytes and names."""
    with os.scandir(folder) as listed:
        for entry in listed:
            if not _KEY.fullmatch(entry.name):
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield found.st_mtime, found.st_size, entry.name


@contextmanager
def _total(folder: int) -> Generator[int]:
    """The file that says how many bytes all entries have, of which one process may miss what another adds at the same
    moment: who goes through the folder counts anew."""
    file = os.open(_TOTAL, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def objects() -> Cache:
    """The cache of compiled objects that STELE_CACHE and STELE_CACHE_SIZE ask for."""
    return _objects(config.CACHE(), config.CACHE_SIZE())


@functools.cache
def _objects(folder: Path, megabytes: int) -> Cache:
    return Cache(folder / "objects", megabytes << 20)


def digest(*parts: str | bytes) -> str:
    """A key: the hash of the parts, of where each ends, and of the form that entries have.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256(_MAGIC)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def together(*parts: bytes) -> bytes:
    """Parts as one entry, which `apart` takes apart.

    >>> apart(together(b"a", b"", b"bc"))
    [b'a', b'', b'bc']
    """
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def apart(entry: bytes) -> list[bytes]:
    """What `together` put together."""
    return [*map(bytes, seen(entry))]


def seen(entry: bytes | memoryview) -> list[memoryview]:
    """What `together` put together, as it lies there."""
    whole, at = memoryview(entry), 0
    parts: list[memoryview] = []
    while at < len(whole):
        size = int.from_bytes(whole[at:at + 8], "little")
        parts.append(whole[at + 8:at + 8 + size])
        at += 8 + size
    return parts


@functools.cache
def fingerprint() -> str:
    """What all compiled code depends on besides its graph and target: the compiler's own sources and llvmlite.

    Sources count by name, size and time, so that an edit of the compiler compiles everything anew.
    """
    return digest(llvmlite.__version__, *sources(*COMPILER))


def sources(*folders: str) -> list[str]:
    """The sources in folders of Stele and those in them, each with its size and time; in "" alone those of no other."""
    return sorted(_sources([*folders]))


def _sources(folders: list[str]) -> Iterator[str]:
    while folders:
        folder = folders.pop()
        with os.scandir(_PACKAGE + folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    yield f"{folder}/{entry.name} {found.st_size} {found.st_mtime_ns}"
                elif folder and entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                    folders.append(f"{folder}/{entry.name}")


def _touch(file: int) -> None:
    try:
        os.utime(file)
    except OSError:
        return


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
