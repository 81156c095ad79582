"""Files that appear under their name when they are whole, and places on the disk that nobody else can write to."""
from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from stele.errors import ArgumentError, StorageError, kind

OTHERS = stat.S_IWGRP | stat.S_IWOTH    # the mode bits by which others may write
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC     # opening waits for nobody, follows nothing
_PART = re.compile(r"\..+\.[0-9a-f]{16}\.part", re.DOTALL)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LONGEST = 230                          # bytes of a name that leave room for more, of 255 in all
_LINKS = 40                             # as many links as Linux follows on one way
_CLAIMS: set[int] = set()               # folders that are claimed, by number


def located(path: str | Path) -> Path:
    """What a user gave as a path; raises ArgumentError for what is none."""
    try:
        found = Path(path)
    except TypeError:
        raise ArgumentError(f"a path is a string or a pathlib.Path, got {kind(path)}: {path!r:.60}") from None
    if "\0" in str(found):
        raise ArgumentError(f"a path has no zero in it, got {path!r:.60}")
    return found


def write(path: str | Path, *parts: bytes | bytearray | memoryview, mode: int = 0o666) -> None:
    """Makes `path` a file of these bytes, one part behind the other, as `replacing` does.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answer"
    >>> write(path, b"forty", b"-two"); path.read_bytes(), os.listdir(path.parent)
    (b'forty-two', ['answer'])
    """
    with replacing(path, mode, sum(map(len, parts))) as file:
        for part in parts:
            file.write(part)


@contextmanager
def replacing(path: str | Path, mode: int = 0o666, size: int | None = None) -> Generator[IO[bytes]]:
    """A new file to write to; when the block ends it is on the disk, whole, and stands at `path`.

    Readers see the old file or the new one, whatever ends this process and however many write at once. If the block
    fails, nothing is left of the new file. A link at `path` is replaced, not followed. What processes that died have
    left of earlier writes to `path` is removed. The file's mode is `mode` less the umask.

    Raises StorageError if the disk is full or the folder missing or closed, which names `size`, the bytes that are to
    be written, where it is given; the old file is then as it was.
    """
    path = located(path)
    with storing(path, size), opened(path.parent) as folder:
        sweep(folder, path.name)
        with writing(folder, path.name, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(folder)


def append(path: str | Path, content: bytes, keep: int | None = None) -> int:
    """Writes bytes behind those at `path`, all or none, and returns how many there are then.

    Of a file that holds more than `keep` bytes no more than these are kept. A file that is missing is made, and its
    folder. Raises StorageError if the disk is full or the folder closed; the file then holds what was to be kept.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log"
    >>> append(path, b"one two"), append(path, b" three", keep=3), path.read_bytes()
    (7, 9, b'one three')
    """
    path = located(path)
    usable_folder(path.parent)
    with storing(path, len(content)), open(path, "ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if keep is not None and keep < size:
            size = file.truncate(keep)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest):]
        except BaseException:
            file.truncate(size)
            raise
    return size + len(content)


def usable_folder(path: str | Path) -> Path:
    """The folder at a path, made where it is missing; StorageError where none can be.

    >>> usable_folder("/dev/null/runs")
    Traceback (most recent call last):
    stele.errors.StorageError: making the folder /dev/null/runs failed: Not a directory. Give another path.
    """
    folder = located(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"making the folder {folder} failed: {error.strerror or error}", code=error.errno,
                           hint="Give another path.") from error
    return folder


@contextmanager
def storing(path: Path, size: int | None = None) -> Generator[None]:
    """Raises StorageError where the block cannot write a file of `size` bytes to the disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, StorageError):      # no word of the disk
            raise
        many = "" if size is None else f" ({size:,} bytes)"
        raise StorageError(f"writing {path}{many} failed: {error.strerror or error}", code=error.errno,
                           hint="What was there before is as it was. Free space, or give another path.") from error


@contextmanager
def writing(folder: int, name: str, mode: int = 0o666, resumes: bool = False) -> Generator[IO[bytes]]:
    """A new file in an open folder, which takes over the name when the block ends; it is removed if the block fails.

    With `resumes` an unfinished file whose writer is gone is gone on with where there is one, at its end, and one that
    holds anything is kept if the block fails.
    """
    part, file = next(_abandoned(folder, name), None) or _create(folder, name, mode) if resumes else \
        _create(folder, name, mode)
    try:
        with file:
            file.seek(0, os.SEEK_END)
            yield file
            file.flush()
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            if not resumes or not os.stat(part, dir_fd=folder, follow_symlinks=False).st_size:
                os.unlink(part, dir_fd=folder)
        raise


def sweep(folder: int, name: str | None = None) -> None:
    """Removes what writers that died have left in an open folder, of one name or of all."""
    for part, file in _abandoned(folder, name):
        with file, suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)


class Leftovers:
    """What writers that died have left in a folder, removed as files of these names come: the folder is read once."""

    def __init__(self, folder: int) -> None:
        self.parts = {part[1:-len(f".{'0' * 16}.part")] for part in os.listdir(folder) if _PART.fullmatch(part)}

    def sweep(self, folder: int, name: str) -> None:
        """Removes what was left of one file; `folder` is the same one, open."""
        if _stem(name) in self.parts:
            sweep(folder, name)


@contextmanager
def opened(folder: str | Path) -> Generator[int]:
    """A folder by number, so that all that is done in it is done in the same one; OSError if it is none."""
    number = os.open(folder, _FOLDER)
    try:
        yield number
    finally:
        os.close(number)


@contextmanager
def locked(file: int) -> Generator[None]:
    """One process and thread at a time with an open file, wherever its file system has locks."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)        # a child may have the file open too


@contextmanager
def alone(folder: int) -> Generator[None]:
    """One process and thread of this user at a time in an open folder: the lock is a file that others cannot open,
    since who may open one, if only to read it, may hold its lock for ever.
    """
    try:
        file = os.open(".lock", os.O_RDWR | os.O_CREAT | _OLD, 0o600, dir_fd=folder)
    except OSError:             # a folder that is gone or closed: nobody keeps anything there
        yield
        return
    try:
        with locked(file):
            yield
    finally:
        os.close(file)


@contextmanager
def claimed(folder: Path) -> Generator[None]:
    """A folder that nobody else claims meanwhile, where its file system has locks; BlockingIOError where one does.

    A claim ends with its process, and no child has part in it.
    """
    with opened(folder) as number:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass
        _CLAIMS.add(number)
        try:
            yield
        finally:
            _CLAIMS.discard(number)
            with suppress(OSError):
                fcntl.flock(number, fcntl.LOCK_UN)      # a child that is just being made has the folder open too


def _disclaim() -> None:
    """In the child of a fork, whose copies would outlive the claims: they become copies of nothing."""
    for number in _CLAIMS:
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, number, inheritable=False)
        os.close(nothing)
    _CLAIMS.clear()


def open_trusted(folder: Path, make: int | None = None) -> int:
    """The number of a folder in which nobody but this user and root can put anything; who closes it is who called.

    Folders on the way that are missing are made with the mode `make`, each inside of one that can be trusted. Raises
    FileNotFoundError where none is to be made; PermissionError says why if somebody else could put something there, or
    if a link stands there, which is not followed.
    """
    if make is not None:
        for at in (*reversed(folder.parents), folder):
            if not at.is_dir() and doubt(at) is None:
                with suppress(FileExistsError):
                    at.mkdir(make)
    # What is there and trusted stays what it is; somebody else could still make what is not.
    why = "it is a link, which is not followed" if folder.is_symlink() else _reason(folder)
    if why is None:
        number = os.open(folder, _FOLDER | os.O_NOFOLLOW)
        mode = os.fstat(number).st_mode
        if not mode & OTHERS:
            return number
        os.close(number)
        why = f"others may write there (mode {stat.S_IMODE(mode):o})"
    raise PermissionError(errno.EPERM, why)


def regular(path: str | Path, folder: int | None = None, follow: bool = True) -> IO[bytes]:
    """An ordinary file, opened for reading; OSError for a folder, and for a pipe or a device, which could be endless.

    >>> regular("/dev/zero")
    Traceback (most recent call last):
    OSError: [Errno 22] this is no ordinary file: '/dev/zero'
    """
    try:
        number = os.open(path, os.O_RDONLY | (_OLD & ~os.O_NOFOLLOW if follow else _OLD), dir_fd=folder)
    except ValueError as error:     # a zero in it, or letters that no file system has
        raise OSError(errno.EINVAL, f"this is no path: {error}", str(path)) from None
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, os.strerror(code) if stat.S_ISDIR(mode) else "this is no ordinary file", str(path))


def make_folder(folder: Path, mode: int) -> None:
    """Makes a folder and those above it that are missing, all with this mode; nothing is changed of one that exists."""
    missing = [folder, *folder.parents]
    for at in reversed([at for at in missing if not at.is_dir()]):
        with suppress(FileExistsError):
            at.mkdir(mode)


def doubt(path: Path) -> str | None:
    """Why others than this user and root could change what stands at a path, or None: looks at the owner and the mode
    of each folder on the way there, as far as they exist, and of each link.
    """
    try:
        return _reason(path)
    except FileNotFoundError:
        return None


def _reason(path: Path, links: int = _LINKS) -> str | None:
    """What `doubt` says of a path that is there; FileNotFoundError where it is not."""
    path = path.absolute()
    for at in (*reversed(path.parents), path):
        found = at.lstat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{at} belongs to another user"
        if stat.S_ISLNK(found.st_mode):
            return _reason(at.parent / os.readlink(at) / path.relative_to(at), links - 1) if links else \
                f"{at} is one link too many"
        if found.st_mode & OTHERS and not found.st_mode & stat.S_ISVTX:
            return f"others may write to {at} (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def _create(folder: int, name: str, mode: int) -> tuple[str, IO[bytes]]:
    """An unfinished file under a name that nobody has, locked for as long as it is open."""
    while True:
        part = f".{_stem(name)}.{os.urandom(8).hex()}.part"
        number = os.open(part, _NEW, mode, dir_fd=folder)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:     # somebody has just taken it for one that was left behind
            os.close(number)
            continue
        except OSError:             # a file system without locks: nobody removes unfinished files there
            return part, os.fdopen(number, "r+b")
        if os.fstat(number).st_nlink:
            return part, os.fdopen(number, "r+b")
        os.close(number)


def _stem(name: str) -> str:
    """What names of unfinished files begin with: the name, or what stands for it where that would be too long."""
    raw = os.fsencode(name)
    return name if len(raw) <= _LONGEST else hashlib.sha256(raw).hexdigest()


def _abandoned(folder: int, name: str | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Unfinished files whose writers are gone, locked now: a lock lasts as long as the process that has it."""
    form = re.compile(rf"\.{re.escape(_stem(name))}\.[0-9a-f]{{16}}\.part", re.DOTALL) if name else _PART
    for part in filter(form.fullmatch, os.listdir(folder)):
        try:
            number = os.open(part, os.O_RDWR | _OLD, dir_fd=folder)
        except OSError:
            continue                # gone meanwhile, or not ours
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found, named = os.fstat(number), os.stat(part, dir_fd=folder, follow_symlinks=False)
        except OSError:
            os.close(number)        # somebody is at it, or it has its name now
            continue
        if os.path.samestat(found, named) and _is_own(found):
            yield part, os.fdopen(number, "r+b")
        else:
            os.close(number)


def _is_own(found: os.stat_result) -> bool:
    """Whether a file is one that this module made for this user."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1


def _sync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:     # a file system that has nothing to do for folders
            raise


os.register_at_fork(after_in_child=_disclaim)
