"""Files are whole or not there, whoever writes, dies or plants links; places that others can change are known."""
from __future__ import annotations

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from stele import files
from stele.errors import StorageError

ROOT = Path(__file__).resolve().parent.parent
STRANGER = 54321


def run(code: str, *arguments: str, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *arguments], text=True, cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)   # type: ignore[call-overload]


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.write(path, b"one")
    files.write(path, b"tw", bytearray(b"o"), mode=0o600)
    assert path.read_bytes() == b"two" and os.listdir(tmp_path) == ["a"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_longest_names_are_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127, "x" * 231):
        files.write(tmp_path / name, b"x")
        stale = tmp_path / f".{files._stem(name)}.{'0' * 16}.part"
        stale.touch()
        files.write(tmp_path / name, b"y")
        assert not stale.exists() and (tmp_path / name).read_bytes() == b"y"


def test_a_block_that_fails_leaves_nothing_new(tmp_path: Path) -> None:
    files.write(tmp_path / "a", b"old")
    for error in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(error), files.replacing(tmp_path / "a") as file:
            file.write(b"half")
            raise error
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_names_file_and_bytes(tmp_path: Path) -> None:
    files.write(tmp_path / "a", b"old")
    code = f"""
        import resource, signal
        from stele import files
        from stele.errors import StorageError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try: files.write({str(tmp_path / 'a')!r}, bytes(1200), bytes(34))
        except StorageError as error: print(error.errno, error)
    """
    said, errors = run(code).communicate(timeout=60)
    assert said.startswith(f"{errno.EFBIG} writing {tmp_path / 'a'} (1,234 bytes) failed: File too large"), errors
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def test_what_is_appended_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    assert files.append(log, b"first") == 5 and files.append(log, b"", keep=100) == 5 and log.read_bytes() == b"first"
    assert files.append(log, b"second", keep=2) == 8 and log.read_bytes() == b"fisecond"
    code = f"""
        import resource
        from stele import files
        from stele.errors import StorageError
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try: files.append({str(log)!r}, bytes(1234))
        except StorageError as error: print(error.errno, error)
    """
    said, errors = run(code).communicate(timeout=60)
    assert said.startswith(f"{errno.EFBIG} writing {log} (1,234 bytes) failed: File too large"), errors
    assert log.read_bytes() == b"fisecond"


def test_no_room_of_the_house_writes_a_file_of_its_own() -> None:
    opens = re.compile(r"\bopen\([^()]*[\"'][wa]b?[\"']|\.write_(?:text|bytes)\(|\.mkdir\(|os\.(?:rename|replace)\(")
    shared = {"files.py", "rosetta/bench.py", "rosetta/worker.py", "rosetta/stele/worker.py"}
    found = [f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for path in sorted((ROOT / "stele").rglob("*.py"))
             if str(path.relative_to(ROOT / "stele")) not in shared
             for n, line in enumerate(path.read_text().splitlines(), 1)
             if opens.search(line) and not line.lstrip().startswith(("...", ">>>"))]
    assert not found, "files.write, replacing and append say what failed and leave nothing half done"


def test_what_cannot_be_written_teaches(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"folder \(1 bytes\) failed: Is a directory.*as it was"):
        files.write(tmp_path / "folder", b"x")
    with pytest.raises(StorageError, match="No such file") as caught:
        files.write(tmp_path / "none" / "a", b"x")
    assert caught.value.errno == errno.ENOENT and os.listdir(tmp_path) == ["folder"]


def test_a_folder_is_claimed_by_one_and_no_child_has_part_in_it(tmp_path: Path) -> None:
    with files.claimed(tmp_path), pytest.raises(BlockingIOError), files.claimed(tmp_path):
        pass
    ours, theirs = socket.socketpair()
    if not (child := os.fork()):
        with files.claimed(tmp_path):
            if os.fork():
                os._exit(0)         # as killed
            ours.close()
            theirs.send(b"here")
            theirs.recv(1)          # until the other end is closed
            os._exit(0)
    theirs.close()
    assert ours.recv(4) == b"here" and os.waitpid(child, 0)[1] == 0
    with files.claimed(tmp_path):
        ours.close()


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    files.write(tmp_path / "a", b"new")
    assert (tmp_path / "target").read_bytes() == b"precious" and not (tmp_path / "a").is_symlink()


def test_readers_and_many_writers_see_whole_files(tmp_path: Path) -> None:
    path, damaged = tmp_path / "a", []
    files.write(path, bytes(30_000))

    def writer(number: int) -> None:
        for _ in range(20):
            files.write(path, bytes([number]) * 30_000)

    writers = [threading.Thread(target=writer, args=(k,)) for k in range(3)]
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers):
        found = path.read_bytes()
        damaged += [found] if len(found) != 30_000 or len(set(found)) != 1 else []
    assert not damaged and os.listdir(tmp_path) == ["a"]


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path: Path) -> None:
    code = """
        import sys
        from stele import files
        with files.replacing(sys.argv[1]) as file:
            file.write(b"half"); file.flush()
            print("there", flush=True)
            sys.stdin.read()
    """
    dying, alive = (run(code, str(tmp_path / "a"), stdin=subprocess.PIPE) for _ in range(2))
    for each in (dying, alive):
        assert each.stdout and each.stdout.readline() == "there\n"
    dying.send_signal(signal.SIGKILL)
    dying.wait(60)
    assert len(os.listdir(tmp_path)) == 2
    files.write(tmp_path / "a", b"next")
    left = os.listdir(tmp_path)
    assert len(left) == 2 and "a" in left, "the living writer's file stays"
    alive.communicate("", timeout=60)
    assert alive.returncode == 0 and (tmp_path / "a").read_bytes() == b"half" and os.listdir(tmp_path) == ["a"]


def test_what_looks_unfinished_but_is_not_ours_stays(tmp_path: Path) -> None:
    name = f".a.{'0' * 15}{{}}.part".format
    os.mkfifo(tmp_path / name(1))
    (tmp_path / name(2)).symlink_to(tmp_path / "b")
    (tmp_path / "b").write_bytes(b"precious")
    os.link(tmp_path / "b", tmp_path / name(3))
    (tmp_path / name(4)).mkdir()
    (tmp_path / name(5)).write_bytes(b"really left behind")
    files.write(tmp_path / "a", b"x")
    assert sorted(os.listdir(tmp_path)) == [name(1), name(2), name(3), name(4), "a", "b"]


def test_only_ordinary_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "door"))
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for path in (tmp_path / "pipe", tmp_path / "door", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError):
            files.regular(path)
    with files.regular(tmp_path / "link") as file:
        assert file.read() == b"x"
    with pytest.raises(OSError):
        files.regular(tmp_path / "link", follow=False)


def test_folders_are_made_with_their_mode_and_none_is_changed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    files.make_folder(tmp_path / "open" / "a" / "b", 0o700)
    assert [stat.S_IMODE((tmp_path / "open" / name).stat().st_mode) for name in ("", "a", "a/b")] == \
        [0o777, 0o700, 0o700]


def test_doubt_names_who_could_change_a_place(tmp_path: Path) -> None:
    for name in ("safe", "open", "shared"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "shared").chmod(0o1777)
    (tmp_path / "group").mkdir(mode=0o700)
    (tmp_path / "group").chmod(0o770)
    for link, target in ("to-safe", "safe"), ("to-open", tmp_path / "open"), ("chain", "to-open"), ("loop", "loop"):
        (tmp_path / link).symlink_to(target)
    for path in ("safe", "safe/in", "safe/not/there", "shared/in", "to-safe/in", "safe/in/../../to-safe"):
        assert files.doubt(tmp_path / path) is None, path
    for path in ("open", "open/in", "open/in/none", "to-open/in", "chain/in"):
        assert files.doubt(tmp_path / path) == f"others may write to {tmp_path / 'open'} (mode 777)"
    assert "mode 770" in str(files.doubt(tmp_path / "group"))
    assert "one link too many" in str(files.doubt(tmp_path / "loop"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_a_stranger_is_in_doubt(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    os.chown(tmp_path / "theirs", STRANGER, STRANGER)
    os.lchown(tmp_path / "link", STRANGER, STRANGER)
    assert files.doubt(tmp_path / "theirs" / "a") == f"{tmp_path / 'theirs'} belongs to another user"
    assert files.doubt(tmp_path / "link" / "a") == f"{tmp_path / 'link'} belongs to another user"
    assert files.doubt(tmp_path / "ours" / "a") is None
