"""The disk cache: entries survive processes, and nothing that happens to the folder is worse than a miss."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from stele.backend.cpu.cache import Cache, digest, fingerprint, objects

KEYS = [digest(str(k)) for k in range(40)]
ROOT = Path(__file__).resolve().parent.parent


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
    assert sorted(path.name for path in cache.folder.iterdir()) == sorted(KEYS[:2])


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"", lambda b: b[:20],
                                    lambda b: b[:-3] + bytes([b[-3] ^ 1]) + b[-2:], lambda b: b"x" + b[1:]])
def test_a_damaged_entry_is_removed_and_reported(cache: Cache, damage) -> None:
    cache.put(KEYS[0], b"content of some length")
    path = cache.folder / KEYS[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert cache.get(KEYS[0]) is None
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


def test_what_exceeds_the_bound_is_not_kept(cache: Cache) -> None:
    cache.put(KEYS[0], bytes(2 << 20))
    assert cache.get(KEYS[0]) is None
    off = Cache(cache.folder, 0)
    off.put(KEYS[1], b"x")
    assert off.get(KEYS[1]) is None


def test_unfinished_writes_of_the_dead_are_swept(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    for name, age in (("1.1.part", 7200), ("2.2.part", 10)):
        part = cache.folder / f"{KEYS[1]}.{name}"
        part.write_bytes(b"half")
        os.utime(part, (time.time() - age,) * 2)
    Cache(cache.folder, cache.limit).put(KEYS[2], b"y")
    assert [path.name.split(".", 1)[1] for path in cache.folder.glob("*.part")] == ["2.2.part"]


def test_a_folder_that_cannot_be_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "objects", 1 << 20)
    with pytest.warns(RuntimeWarning, match="Set STELE_CACHE"):
        cache.put(KEYS[0], b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEYS[0], b"x")
        assert cache.get(KEYS[0]) is None


def test_a_folder_open_to_others_is_closed(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    cache.folder.chmod(0o777)
    assert cache.get(KEYS[0]) == b"x"
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_trusted(cache: Cache) -> None:
    cache.put(KEYS[0], b"x")
    os.chown(cache.folder, 12345, 12345)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert cache.get(KEYS[0]) is None


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
