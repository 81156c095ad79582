"""The disk cache: entries survive processes, and nothing that happens to the folder is worse than a miss."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import long_planted
import numpy as np
import pytest

from stele import files
from stele.backend import source
from stele.backend.cpu import tuned
from stele.backend.cpu.cache import _HEADER, Cache, digest, fingerprint, objects
from stele.backend.cpu.cache import _entries as entries

KEYS = [digest(str(k)) for k in range(40)]
ROOT = Path(__file__).resolve().parent.parent
STRANGER = 54321
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "deep" / "objects", limit=1 << 20)


def test_what_was_put_is_got(cache: Cache) -> None:
    assert cache.get(KEYS[0]) is None
    cache.put(KEYS[0], b"\0one")
    cache.put(KEYS[1], b"")
    cache.put(KEYS[0], b"two")
    again = Cache(cache.folder, cache.limit)
    assert again.get(KEYS[0]) == b"two" and again.get(KEYS[1]) == b"" and again.get(KEYS[2]) is None
    assert (again.counts.hits, again.counts.misses, cache.counts.writes) == (2, 1, 3)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in cache.folder.iterdir()) == sorted([*KEYS[:2], "bytes"])


def test_what_was_put_is_mapped_as_it_lies(cache: Cache) -> None:
    for content in (b"", b"x", bytes(range(256)) * 300):
        cache.put(KEYS[0], content)
        found = cache.mapped(KEYS[0])
        assert found is not None and found == content and found.readonly
        assert not content or np.frombuffer(found, np.uint8).ctypes.data % 64 == 0
        cache.put(KEYS[0], b"another")
        cache.clear()
        assert found == content and cache.mapped(KEYS[0]) is None
    assert (cache.counts.hits, cache.counts.misses) == (3, 3)


@pytest.mark.parametrize("read", [Cache.get, Cache.mapped])
@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"", lambda b: b[:20],
                                    lambda b: b[:-3] + bytes([b[-3] ^ 1]) + b[-2:], lambda b: b"x" + b[1:]])
def test_a_damaged_entry_is_removed_and_reported(cache: Cache, damage, read) -> None:
    cache.put(KEYS[0], b"content of some length")
    path = cache.folder / KEYS[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match="damaged or another entry, and compiles again"):
        assert read(cache, KEYS[0]) is None
    assert not path.exists() and cache.counts.corrupt == 1
    cache.put(KEYS[0], b"new")
    assert cache.get(KEYS[0]) == b"new"


def test_the_oldest_leave_first(cache: Cache) -> None:
    cache.limit = 10_000
    for age, key in enumerate(KEYS[:10]):
        cache.put(key, bytes(900))
        os.utime(cache.folder / key, (1000 + age, 1000 + age))
    cache.get(KEYS[0])
    cache.put(KEYS[10], bytes(1800))
    assert cache.size() <= cache.limit and cache.counts.evicted >= 1
    assert cache.get(KEYS[0]) is not None and cache.get(KEYS[10]) is not None and cache.get(KEYS[1]) is None


def test_a_full_cache_is_gone_through_once_for_many_entries(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at every entry of a cache of 512 MB takes a second, which is not to be paid for each program."""
    looks: list[int] = []
    monkeypatch.setattr("stele.backend.cpu.cache._entries", lambda folder: looks.append(folder) or entries(folder))
    cache.limit = 100_000
    for n in range(400):
        Cache(cache.folder, cache.limit).put(digest(str(n)), bytes(1000 - _HEADER))     # a process each
        assert cache.size() <= cache.limit
        looks.pop()     # that of size()
    assert len(looks) <= 1 + 300 / 12 + 1


def test_who_counts_wrong_counts_anew(cache: Cache) -> None:
    cache.limit = 10_000
    for counted in (b"", b"none", b"-5", b"9" * 20):
        cache.put(KEYS[0], bytes(900))
        (cache.folder / "bytes").write_bytes(counted)
        cache.put(KEYS[1], bytes(900))
        assert int((cache.folder / "bytes").read_bytes()) == cache.size()


def test_what_stands_in_the_place_of_the_count_is_said(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    (cache.folder / "bytes").unlink()
    (cache.folder / "bytes").mkdir()
    with pytest.warns(RuntimeWarning, match="cannot count its bytes"):
        cache.put(KEYS[1], b"y")
    os.rmdir(cache.folder / "bytes")
    (cache.folder / "bytes").symlink_to(cache.folder / KEYS[0])
    with pytest.warns(RuntimeWarning, match="cannot count its bytes"):
        Cache(cache.folder, cache.limit).put(KEYS[1], b"y")
    assert Cache(cache.folder, cache.limit).get(KEYS[0]) == b"x"


def test_what_exceeds_the_bound_is_not_kept(cache: Cache) -> None:
    cache.put(KEYS[0], bytes(2 << 20))
    assert cache.get(KEYS[0]) is None
    off = Cache(cache.folder, 0)
    off.put(KEYS[1], b"x")
    assert off.get(KEYS[1]) is None


def test_unfinished_writes_of_the_dead_are_swept(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    dead = cache.folder / f".{KEYS[1]}.{'0' * 16}.part"
    dead.write_bytes(b"half")
    (cache.folder / "bytes").unlink()
    with files.opened(cache.folder) as folder, files.writing(folder, KEYS[2]) as alive:
        alive.write(b"half")
        Cache(cache.folder, cache.limit).put(KEYS[3], b"y")
        assert not dead.exists() and len(list(cache.folder.glob(".*.part"))) == 1


def test_a_folder_that_cannot_be_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "objects", 1 << 20)
    with pytest.warns(RuntimeWarning, match="Set STELE_CACHE"):
        cache.put(KEYS[0], b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEYS[0], b"x")
        assert cache.get(KEYS[0]) is None


def refused(cache: Cache, why: str) -> None:
    """Neither read nor written, said once."""
    before = sorted(os.listdir(cache.folder))
    again = Cache(cache.folder, cache.limit)
    with pytest.warns(RuntimeWarning, match=f"keeps no compiled code in .*{why}.*Set STELE_CACHE") as said:
        assert again.get(KEYS[0]) is None
        again.put(KEYS[1], b"y")
        assert again.get(KEYS[0]) is None and again.size() == 0
        again.clear()
    assert len(said) == 1 and sorted(os.listdir(cache.folder)) == before
    with pytest.warns(RuntimeWarning, match=why):
        Cache(cache.folder, cache.limit).put(KEYS[1], b"y")
    assert sorted(os.listdir(cache.folder)) == before


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("opened", [0o777, 0o770, 0o1777, 0o702])
def test_a_folder_open_to_others_is_neither_trusted_nor_closed(cache: Cache, opened: int) -> None:
    cache.put(KEYS[0], b"planted")
    cache.folder.chmod(opened)
    refused(cache, "others may write")
    assert mode(cache.folder) == opened


def test_a_folder_in_an_open_one_is_not_trusted(cache: Cache) -> None:
    cache.put(KEYS[0], b"planted")
    cache.folder.parent.chmod(0o777)
    refused(cache, f"others may write to {cache.folder.parent}")
    assert mode(cache.folder.parent) == 0o777 and mode(cache.folder) == 0o700


def test_a_folder_that_others_read_is_left_as_it_is(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    cache.folder.chmod(0o755)
    assert Cache(cache.folder, cache.limit).get(KEYS[0]) == b"x" and mode(cache.folder) == 0o755


def test_missing_folders_are_made_for_this_user_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        Cache(tmp_path / "a" / "b" / "objects", 1 << 20).put(KEYS[0], b"x")
    finally:
        os.umask(old)
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/objects")] == [0o700] * 3
    assert mode(tmp_path / "a/b/objects" / KEYS[0]) == 0o600


def test_a_linked_folder_is_not_followed(cache: Cache, tmp_path: Path) -> None:
    cache.put(KEYS[0], b"planted")
    target = tmp_path / "shared"
    cache.folder.rename(target)
    target.chmod(0o1777)
    cache.folder.symlink_to(target)
    refused(cache, "it is a link")
    assert mode(target) == 0o1777


def test_links_on_the_way_are_followed_where_nobody_else_made_them(cache: Cache, tmp_path: Path) -> None:
    cache.put(KEYS[0], b"x")
    (tmp_path / "elsewhere").symlink_to(cache.folder.parent)
    assert Cache(tmp_path / "elsewhere" / "objects", cache.limit).get(KEYS[0]) == b"x"


@root
@pytest.mark.parametrize("whose", ["folder", "parent"])
def test_a_folder_of_somebody_else_is_not_trusted(cache: Cache, whose: str) -> None:
    cache.put(KEYS[0], b"planted")
    os.chown(cache.folder if whose == "folder" else cache.folder.parent, STRANGER, STRANGER)
    refused(cache, "another user")


@root
def test_another_user_does_not_trust_what_is_open_to_all() -> None:
    code = f"""
import os, sys, warnings
from pathlib import Path
from stele.backend.cpu.cache import Cache
os.setgid({STRANGER}); os.setuid({STRANGER})
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(Cache(Path(sys.argv[1]), 1 << 20).get({KEYS[0]!r}), *(each.message for each in said))
"""
    def answer() -> str:
        command = [sys.executable, "-c", code, folder]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Cache(Path(folder), 1 << 20).put(KEYS[0], b"x")
        (Path(folder) / KEYS[0]).chmod(0o644)
        for opened, wanted in (0o755, "b'x'\n"), (0o777, "None Stele keeps no compiled code in"):
            Path(folder).chmod(opened)
            assert answer().startswith(wanted)
        os.chown(folder, STRANGER + 1, STRANGER + 1)
        Path(folder).chmod(0o755)
        assert f"{folder} belongs to another user" in answer()


def test_what_appears_while_it_is_looked_for_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder for all, somebody else makes the cache between the look at it and its opening."""
    Cache(tmp_path / "planted" / "objects", 1 << 20).put(KEYS[0], b"planted")
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    cache, real = Cache(tmp_path / "all" / "c" / "objects", 1 << 20), os.open

    def plant(path: object, *more: object, **how: object) -> int:
        if path == cache.folder and not cache.folder.is_dir():
            cache.folder.parent.symlink_to(tmp_path / "planted")
        return real(path, *more, **how)     # type: ignore[call-overload]

    monkeypatch.setattr(files.os, "open", plant)
    assert cache.get(KEYS[0]) is None


@root
def test_no_folder_is_made_in_one_that_somebody_else_puts_there_meanwhile(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    cache, real = Cache(tmp_path / "all" / "c" / "objects", 1 << 20), Path.mkdir

    def first(self: Path, mode: int) -> None:
        if self == cache.folder.parent:
            real(self, mode)
            os.chown(self, STRANGER, STRANGER)
        real(self, mode)

    monkeypatch.setattr(Path, "mkdir", first)
    with pytest.warns(RuntimeWarning, match="c belongs to another user"):
        cache.put(KEYS[0], b"x")
    assert os.listdir(cache.folder.parent) == []


def test_who_may_read_the_folder_cannot_make_others_wait(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    cache.folder.chmod(0o755)
    with files.opened(cache.folder) as theirs, files.locked(theirs):
        code = f"""
from pathlib import Path
from stele.backend.cpu.cache import Cache
print(Cache(Path({str(cache.folder)!r}), 1 << 20).once({KEYS[1]!r}, lambda: b"made"))
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "b'made'\n", done.stderr
    assert {mode(path) for path in cache.folder.iterdir()} == {0o600}, "what is locked is closed to others"


@pytest.mark.parametrize("home", [None, "~nobody-of-this-name"])
def test_without_a_home_programs_run_and_it_is_said_once_that_none_are_kept(tmp_path: Path, home: str | None) -> None:
    unset = {name: x for name, x in os.environ.items() if name not in ("HOME", "STELE_CACHE", "STELE_DATA")}
    code = """
import os, pwd, stele as st
from stele import config, errors
pwd.getpwuid = lambda uid: {}[uid]
print(st.compile(lambda x: x * 2)(st.ones(2)).tolist())
try: config.DATA()
except errors.ConfigError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          env={**unset, "PYTHONPATH": str(ROOT)} | ({"STELE_CACHE": f"{home}/c"} if home else {}),
                          timeout=120)
    said = "[2.0, 2.0]\nSTELE_DATA must be a folder, got '~/.cache/stele/data' (nobody says"
    assert done.stdout.startswith(said), done
    assert done.stderr.count("RuntimeWarning") == 1 and "HOME is not set" in done.stderr and not os.listdir(tmp_path)


def test_folders_beside_each_other_say_once_what_is_wrong_with_the_one_around_them(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning, match="Not a directory") as said:
        for name in ("objects", "measured", "tuned"):
            assert Cache(tmp_path / "file" / name, 1 << 20).get(KEYS[0]) is None
    assert len(said) == 1


def test_a_place_where_no_folder_can_be_made_is_said(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="/proc/self/objects: No such file"):
        Cache(Path("/proc/self/objects"), 1 << 20).put(KEYS[0], b"x")


def plant_fifo(path: Path) -> None:
    os.mkfifo(path)


def plant_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        place = os.getcwd()
        os.chdir(path.parent)       # names of sockets are short
        try:
            door.bind(path.name)
        finally:
            os.chdir(place)


def plant_device(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can make a device")
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))      # /dev/zero, which never ends
    except PermissionError:
        pytest.skip("no devices can be made here")


def plant_link(path: Path) -> None:
    whole = path.with_name("whole")
    Cache(path.parent, 1 << 20).put(KEYS[0], b"planted")
    (path.parent / KEYS[0]).rename(whole)
    path.symlink_to(whole)


def plant_folder(path: Path) -> None:
    (path / "in").mkdir(parents=True)


def plant_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def plant_writable(path: Path) -> None:
    Cache(path.parent, 1 << 20).put(path.name, b"planted")
    path.chmod(0o622)


def plant_foreign(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    Cache(path.parent, 1 << 20).put(path.name, b"planted")
    os.chown(path, STRANGER, STRANGER)


@pytest.mark.parametrize("plant", [plant_fifo, plant_socket, plant_device, plant_link, plant_folder, plant_huge,
                                   plant_writable, plant_foreign])
def test_what_is_planted_in_place_of_an_entry_is_not_read(cache: Cache, plant) -> None:
    cache.put(KEYS[1], b"x")
    plant(cache.folder / KEYS[0])
    with pytest.warns(RuntimeWarning, match="does not use .* of its cache, which .*, and compiles again"):
        assert cache.get(KEYS[0]) is None
    assert cache.counts.corrupt == 1
    cache.put(KEYS[0], b"new")
    assert cache.get(KEYS[1]) == b"x", "the cache goes on"
    if plant is not plant_folder:
        assert cache.get(KEYS[0]) == b"new"


def test_an_entry_is_good_for_its_own_key_only(cache: Cache) -> None:
    for key in KEYS[:2]:
        cache.put(key, b"code of " + key.encode())
    (cache.folder / KEYS[0]).write_bytes((cache.folder / KEYS[1]).read_bytes())
    with pytest.warns(RuntimeWarning, match="another entry"):
        assert cache.get(KEYS[0]) is None
    assert cache.get(KEYS[1]) is not None


def test_measured_choices_are_kept_as_safely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path / "c"))
    target = tuned.here()
    tuned.remember(target, {"gemm": 3})
    assert tuned.tuned(target).choices.answers == {"gemm": 3}
    (tmp_path / "c" / "tuned").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert tuned.tuned(target) == target


def test_a_key_is_a_hash(cache: Cache) -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        cache.put("../evil", b"x")


def test_many_processes_share_a_folder(cache: Cache) -> None:
    body = f"""
import random, sys, warnings
from pathlib import Path
from stele.backend.cpu.cache import Cache, digest
warnings.simplefilter("error")
cache, draw = Cache(Path({str(cache.folder)!r}), 60_000), random.Random(int(sys.argv[1]))
for _ in range(300):
    k = draw.randrange(40)
    got = cache.get(digest(str(k)))
    assert got is None or got == bytes([k]) * 2000
    cache.put(digest(str(k)), bytes([k]) * 2000)
"""
    processes = [subprocess.Popen([sys.executable, "-c", body, str(k)], env={**os.environ, "PYTHONPATH": str(ROOT)})
                 for k in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert cache.size() <= 70_000


def test_parts_of_a_key_do_not_run_together() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("ab", b"c", "")}) == 4


def test_the_fingerprint_is_of_the_code_alone() -> None:
    fingerprint.cache_clear()
    first = fingerprint()
    fingerprint.cache_clear()
    assert fingerprint() == first


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    monkeypatch.setenv("STELE_CACHE_SIZE", "3")
    assert (objects().folder, objects().limit) == (tmp_path / "objects", 3 << 20)


def test_programs_do_not_run_what_was_planted_or_swapped(tmp_path: Path) -> None:
    long_planted.planted(long_planted.linked, tmp_path / "planted")
    names = long_planted.keys(tmp_path / "swapped", 3, 4)
    long_planted.swapped(tmp_path / "swapped", {3: names[0], 4: names[1]}, 3, 4)


def test_a_long_text_is_compiled_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    lines = ["def call(x):", *(f"    x = x + {k}" for k in range(400)), "    return x"]
    first = source.written("sum", lines, {})
    monkeypatch.setattr(source, "compile", None, raising=False)      # nothing can be compiled any more
    again = source.written("sum", lines, {})
    assert first(1) == again(1) == 1 + sum(range(400)) and again.__code__.co_filename.endswith("sum")
    with pytest.raises(TypeError, match="not callable"):
        source.written("sum", [*lines, ""], {})
