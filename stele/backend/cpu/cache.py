"""Bytes kept on disk under a hash: compiled objects and what belongs to them."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import llvmlite

from stele import config

_MAGIC = b"stele cache 1\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_KEY = re.compile(r"[0-9a-f]{64}")
_STALE_SECONDS = 3600.0     # an unfinished write that is this old was left by a process that died
_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass
class Counts:
    """What happened to a cache in this process."""

    hits: int = 0
    misses: int = 0
    writes: int = 0
    corrupt: int = 0
    evicted: int = 0


class Cache:
    """A store of bytes by key (64 hex digits), safe under several processes; `limit` bounds its bytes.

    The worst that a broken, full or unwritable folder does is to make `get` return None.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()), limit=1 << 20)
    >>> cache.put(digest("graph", "target"), b"object"); cache.get(digest("graph", "target"))
    b'object'
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.counts = Counts()
        self._bytes: int | None = None
        self._usable = limit > 0

    def get(self, key: str) -> bytes | None:
        """What was put under the key, or None; an entry that was damaged is removed and counted."""
        path = self._path(key)
        try:
            entry = path.read_bytes() if self._usable and self._is_ours() else None
        except OSError:
            entry = None
        if entry is None:
            self.counts.misses += 1
            return None
        content = entry[_HEADER:]
        if entry[:_HEADER] != _MAGIC + hashlib.sha256(content).digest():
            self._drop_corrupt(path)
            return None
        self.counts.hits += 1
        _touch(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep the content under the key; the oldest entries leave if the bound is passed."""
        path = self._path(key)
        if not self._usable or len(content) + _HEADER > self.limit:
            return
        part = path.with_name(f"{key}.{os.getpid()}.{time.monotonic_ns()}.part")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            part.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)
            part.replace(path)
        except FileNotFoundError:
            return      # somebody emptied the folder meanwhile
        except OSError as error:
            self._give_up(f"cannot write there ({error.strerror or error})")
            return
        self.counts.writes += 1
        self._bound(len(content) + _HEADER)

    def size(self) -> int:
        """Bytes on disk now."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> None:
        """Remove every entry."""
        for _, _, path in self._entries():
            _remove(path)
        self._bytes = 0

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"a cache key has 64 hex digits, got {key!r}; make one with digest()")
        return self.folder / key

    def _is_ours(self) -> bool:
        """Native code is loaded from here, so nobody else may write here; a folder of ours is put right."""
        try:
            found = self.folder.stat()
        except OSError:
            return False
        if not hasattr(os, "getuid"):
            return True
        if found.st_uid != os.getuid():
            self._give_up("it belongs to another user")
            return False
        if stat.S_IMODE(found.st_mode) & 0o077:
            self.folder.chmod(0o700)
        return True

    def _bound(self, added: int) -> None:
        if self._bytes is not None:
            self._bytes += added
            if self._bytes <= self.limit:
                return
        entries = sorted(self._entries())
        self._bytes = sum(size for _, size, _ in entries)
        for when, size, path in entries:
            if path.suffix == ".part":
                leaves = when < time.time() - _STALE_SECONDS
            else:
                leaves = self._bytes > self.limit
                self.counts.evicted += leaves
            if leaves:
                _remove(path)
                self._bytes -= size

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        try:
            listed = list(os.scandir(self.folder))
        except OSError:
            return
        for entry in listed:
            if not _KEY.match(entry.name):
                continue
            try:
                found = entry.stat()
            except OSError:
                continue
            yield found.st_mtime, found.st_size, Path(entry.path)

    def _drop_corrupt(self, path: Path) -> None:
        self.counts.corrupt += 1
        self.counts.misses += 1
        _remove(path)
        warnings.warn(f"Stele removed a damaged entry of its cache, {path}, and compiles again", RuntimeWarning,
                      stacklevel=4)

    def _give_up(self, why: str) -> None:
        self._usable = False
        warnings.warn(f"Stele keeps no compiled code in {self.folder}: {why}. Set STELE_CACHE to a folder of yours, or "
                      "STELE_CACHE_SIZE=0 to do without.", RuntimeWarning, stacklevel=4)


def objects() -> Cache:
    """The cache of compiled objects that STELE_CACHE and STELE_CACHE_SIZE ask for."""
    return _objects(config.CACHE(), config.CACHE_SIZE())


@functools.cache
def _objects(folder: Path, megabytes: int) -> Cache:
    return Cache(folder / "objects", megabytes << 20)


def digest(*parts: str | bytes) -> str:
    """A key: the hash of the parts and of where each ends.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def together(*parts: bytes) -> bytes:
    """Parts as one entry, which `apart` takes apart.

    >>> apart(together(b"a", b"", b"bc"))
    [b'a', b'', b'bc']
    """
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def apart(entry: bytes) -> list[bytes]:
    """What `together` put together."""
    parts: list[bytes] = []
    at = 0
    while at < len(entry):
        size = int.from_bytes(entry[at:at + 8], "little")
        parts.append(entry[at + 8:at + 8 + size])
        at += 8 + size
    return parts


@functools.cache
def fingerprint() -> str:
    """What all compiled code depends on besides its graph and target: Stele's own sources and llvmlite.

    Sources count by name, size and time, so that an edit of Stele itself compiles everything anew.
    """
    return digest(llvmlite.__version__, *sorted(_sources(str(_PACKAGE))))


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield f"{entry.path.removeprefix(str(_PACKAGE))} {found.st_size} {found.st_mtime_ns}"


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return
