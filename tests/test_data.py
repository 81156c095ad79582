"""Readers of the files as distributed: small ones cut from the samples, and the full sets where they are."""

import hashlib
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT, cifar, fashion, full_sets, pictures, reviews
from hypothesis import given
from hypothesis import strategies as st

from stele.data import Splits, cifar10, fashion_mnist, fashion_sample, find_images, find_texts, imdb, mnist, unit
from stele.data import text as texts
from stele.data.archives import ARCHIVES, Archive
from stele.data.download import download, fetch, unpack
from stele.data.packaged import SAMPLES, sentence_sample
from stele.errors import DataError
from stele.files import locked, regular, write


def check_images(full: Splits, shape: tuple[int, ...], train: int, test: int) -> None:
    assert full.train.x.shape == (train, *shape) and full.test.x.shape == (test, *shape)
    assert full.train.x.dtype == np.uint8 and full.train.y.dtype == np.int64
    assert full.train.x.flags.c_contiguous and full.train.y.shape == (train,) and full.test.y.shape == (test,)
    assert len(full.classes) == 10 and set(np.unique(full.train.y)) <= set(range(10))


@pytest.mark.parametrize("version", ["bin", "py"])
def test_cifar_reads_both_versions(tmp_path: Path, version: str) -> None:
    full = cifar10(cifar(tmp_path) / f"cifar-10-batches-{version}")
    check_images(full, (3, 32, 32), 35, 7)
    x, y = pictures(35)
    assert np.array_equal(full.train.x, x) and np.array_equal(full.train.y, y)
    assert np.array_equal(full.test.x, pictures(7, 35)[0])


@pytest.mark.parametrize("packed", [True, False])
def test_idx_plain_and_gzip(tmp_path: Path, packed: bool) -> None:
    full = fashion_mnist(fashion(tmp_path / "f", packed))
    check_images(full, (1, 28, 28), 20, 20)
    assert np.array_equal(full.train.x, fashion_sample().train.x[:20])
    assert full.classes[9] == "ankle boot" and mnist(tmp_path / "f").classes[9] == "9"


def test_find_knows_every_layout(tmp_path: Path) -> None:
    assert find_images(fashion(tmp_path / "a" / "fashion-mnist")).name == "Fashion-MNIST"
    assert find_images(tmp_path / "a").name == "Fashion-MNIST"
    assert find_images(fashion(tmp_path / "b" / "MNIST" / "raw")).name == "MNIST"
    assert find_images(tmp_path / "b").name == "MNIST"
    assert find_images(cifar(tmp_path / "a")).name == "CIFAR-10", "CIFAR-10 comes first where there are several"
    assert find_images(tmp_path / "a" / "cifar-10-batches-py").name == "CIFAR-10"
    assert find_texts(reviews(tmp_path / "c" / "aclImdb")).name == "IMDB"
    assert find_texts(tmp_path / "c").name == "IMDB"
    for read, place, name in ((cifar10, "a", "CIFAR-10"), (fashion_mnist, "a", "Fashion-MNIST"), (mnist, "b", "MNIST"),
                              (imdb, "c", "IMDB")):
        assert read(tmp_path / place).name == name, "readers look where archives are unpacked too"
    assert find_images().name == "Fashion-MNIST sample" and find_texts().name == "rt-polarity sample"


def test_imdb_rows(tmp_path: Path) -> None:
    full = imdb(reviews(tmp_path / "aclImdb"), length=30)
    assert full.train.x.shape == (24, 30) and full.train.x.dtype == np.int32
    assert full.train.y.tolist() == [0] * 12 + [1] * 12 == full.test.y.tolist()
    first = (tmp_path / "aclImdb/train/neg/0_1.txt").read_text(encoding="utf-8")
    assert texts.words_of(full.train.x[0], full.vocabulary) == " ".join(texts.tokens(first)[-30:])
    assert "?" in texts.words_of(full.test.x[0], full.vocabulary), "words of the test alone are unknown"


def test_vocabulary_is_of_the_training_texts_by_frequency_then_alphabet() -> None:
    x, test, words = texts.encode(["b a b c", "c d"], ["e e e b"], size=6, length=6)
    assert words == ("b", "c", "a")
    assert x.tolist() == [[0, 1, 3, 5, 3, 4], [0, 0, 0, 1, 4, 2]]
    assert test.tolist() == [[0, 1, 2, 2, 2, 3]]


def test_rows_keep_the_last_numbers() -> None:
    x, _, _ = texts.encode(["a b c d e"], [], size=30, length=3)
    assert x.tolist() == [[5, 6, 7]], "the start is cut off with the front"
    assert texts.encode(["a b c"], [], size=30, length=3)[0].tolist() == [[3, 4, 5]]
    assert texts.encode(["a b"], [""], size=30, length=3)[1].tolist() == [[0, 0, 1]]


@given(st.text())
def test_ascii_and_other_texts_have_the_same_words(text: str) -> None:
    ascii_only = text.encode("ascii", "ignore").decode()
    assert texts.tokens(ascii_only) == [word for word in texts.tokens(f"{ascii_only} é") if word != "é"]


def test_unit_is_the_nearest_float() -> None:
    x = np.arange(256, dtype=np.uint8)
    assert np.array_equal(unit(x), (np.arange(256) / 255).astype(np.float32))


def test_samples() -> None:
    images, sentences = fashion_sample(), sentence_sample()
    check_images(images, (1, 28, 28), 10_000, 2_000)
    assert set(np.bincount(images.train.y)) == {1000} and set(np.bincount(images.test.y)) == {200}
    seen = {row.tobytes() for row in images.train.x}
    assert not any(row.tobytes() in seen for row in images.test.x), "test images are never in training"
    assert sentences.train.x.shape == (9595, 50) and sentences.test.x.shape == (1066, 50)
    assert sentences.test.y.sum() == 533
    assert sum(path.stat().st_size for path in SAMPLES.iterdir()) <= 6_000_000


def test_full_cifar() -> None:
    binary, python = (cifar10(full_sets() / f"cifar-10-batches-{version}") for version in ("bin", "py"))
    check_images(binary, (3, 32, 32), 50_000, 10_000)
    assert np.array_equal(binary.train.x, python.train.x) and np.array_equal(binary.test.y, python.test.y)
    assert set(np.bincount(binary.train.y)) == {5000}


def test_full_fashion() -> None:
    full = fashion_mnist(full_sets() / "fashion-mnist")
    check_images(full, (1, 28, 28), 60_000, 10_000)
    assert set(np.bincount(full.train.y)) == {6000}


def test_full_imdb() -> None:
    full = imdb(full_sets() / "aclImdb")
    assert full.train.x.shape == full.test.x.shape == (25_000, 150)
    assert full.train.y.sum() == full.test.y.sum() == 12_500
    assert len(full.vocabulary) == 29_997 and full.train.x.max() == 29_999
    assert full.vocabulary[:5] == ("the", "and", "a", "of", "to")


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder with ranges; cuts the first answer in half."""

    requests: list[str | None]
    ranges = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.directory) / self.path.strip("/")
        if not path.is_file():
            return self.send_error(404)
        content = path.read_bytes()
        asked = self.headers["Range"]
        self.requests.append(asked)
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        end = len(content) // 2 if len(self.requests) == 1 else len(content)
        self.wfile.write(content[begin:end])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[type[Server], str, Path]]:
    handler = type("Handler", (Server,), {"requests": []})
    (tmp_path / "served").mkdir()
    serve = partial(handler, directory=str(tmp_path / "served"))
    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    thread = threading.Thread(target=http_server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{http_server.server_port}", tmp_path / "served"
    http_server.shutdown()
    http_server.server_close()


def archive(url: str, folder: Path, content: bytes, name: str = "set.tar.gz") -> Archive:
    (folder / name).write_bytes(content)
    return Archive(f"{url}/{name}", len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("ranges", [True, False])
def test_download_resumes(server: tuple[type[Server], str, Path], tmp_path: Path, ranges: bool) -> None:
    handler, url, served = server
    handler.ranges = ranges
    content = np.random.default_rng(0).bytes(1_000_001)
    wanted = archive(url, served, content)
    with pytest.raises(DataError, match="goes on where it stopped"):
        fetch(wanted, tmp_path / "data")
    part, = (tmp_path / "data").iterdir()
    assert part.name.endswith(".part") and part.stat().st_size == 500_000
    assert not (tmp_path / "data/set.tar.gz").exists()
    assert fetch(wanted, tmp_path / "data").read_bytes() == content
    assert handler.requests == [None, "bytes=500000-"]
    assert fetch(wanted, tmp_path / "data").read_bytes() == content and len(handler.requests) == 2
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["set.tar.gz"]


def test_download_refuses_what_is_not_pinned(server: tuple[type[Server], str, Path], tmp_path: Path) -> None:
    handler, url, served = server
    handler.requests.append(None)
    wanted = archive(url, served, b"the official one")
    (served / "set.tar.gz").write_bytes(b"the 0fficial one")
    with pytest.raises(DataError, match="needs SHA-256"):
        fetch(wanted, tmp_path / "data")
    assert not list((tmp_path / "data").iterdir()), "nothing of it is kept"
    with pytest.raises(DataError, match="404"):
        fetch(Archive(f"{url}/none.gz", 1, ""), tmp_path / "data")


@pytest.mark.parametrize("planted", [b"no beginning of it", bytes(30), b"the official one, and more"])
def test_download_begins_again_where_what_was_there_is_no_beginning(server: tuple[type[Server], str, Path],
                                                                    tmp_path: Path, planted: bytes) -> None:
    handler, url, served = server
    handler.requests.append(None)
    wanted = archive(url, served, b"the official one, which is longer")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / f".set.tar.gz.{'0' * 16}.part").write_bytes(planted)
    assert fetch(wanted, tmp_path / "data").read_bytes() == b"the official one, which is longer"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["set.tar.gz"]


def test_download_says_where_a_folder_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "set.tar.gz").mkdir()
    with pytest.raises(DataError, match=r"got a folder at .*set\.tar\.gz"):
        fetch(Archive("http://127.0.0.1:1/set.tar.gz", 1, ""), tmp_path)


def test_processes_download_the_same_at_once(server: tuple[type[Server], str, Path], tmp_path: Path) -> None:
    handler, url, served = server
    handler.requests.append(None)
    wanted = archive(url, served, np.random.default_rng(0).bytes(2_000_001))
    meeting = threading.Barrier(3, timeout=60)
    serve = handler.do_GET
    handler.do_GET = lambda self: (meeting.wait(), serve(self))    # nobody is done before all have begun
    code = f"""
import sys; from pathlib import Path; from stele.data.download import Archive, fetch
fetch({wanted!r}, Path(sys.argv[1]))"""
    clients = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "to")], cwd=ROOT, text=True,
                                stderr=subprocess.PIPE) for _ in range(3)]
    said = [client.communicate(timeout=60)[1] for client in clients]
    assert [client.returncode for client in clients] == [0, 0, 0], said
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["set.tar.gz"]


def test_download_follows_no_planted_link(server: tuple[type[Server], str, Path], tmp_path: Path) -> None:
    handler, url, served = server
    handler.requests.append(None)
    wanted = archive(url, served, b"the official one")
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "data").mkdir()
    for name in ("set.tar.gz.part", f".set.tar.gz.{'0' * 16}.part", "set.tar.gz.unpacked"):
        (tmp_path / "data" / name).symlink_to(tmp_path / "precious")
    os.link(tmp_path / "precious", tmp_path / "data" / f".set.tar.gz.{'1' * 16}.part")
    os.mkfifo(tmp_path / "data" / f".set.tar.gz.{'2' * 16}.part")
    assert fetch(wanted, tmp_path / "data").read_bytes() == b"the official one"
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_download_shows_a_bar_on_a_terminal(server: tuple[type[Server], str, Path], tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    handler, url, served = server
    handler.requests.append(None)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    fetch(archive(url, served, bytes(3_000_000)), tmp_path / "data")
    assert "set.tar.gz" in terminal.getvalue() and "MB" in terminal.getvalue()


def test_download_unpacks_once(server: tuple[type[Server], str, Path], tmp_path: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    handler, url, served = server
    handler.requests.append(None)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.add(cifar(tmp_path / "made") / "cifar-10-batches-bin", "cifar-10-batches-bin")
    monkeypatch.setitem(ARCHIVES, "cifar10", (archive(url, served, buffer.getvalue()),))
    monkeypatch.setenv("STELE_DATA", str(tmp_path / "data"))
    first = find_images(download("cifar10"))
    monkeypatch.setenv("STELE_OFFLINE", "1")
    assert np.array_equal(find_images(download("cifar10")).test.x, first.test.x) and len(handler.requests) == 2
    assert np.array_equal(first.train.x, pictures(35)[0])


def test_offline_says_which_file_goes_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_OFFLINE", "1")
    with pytest.raises(DataError, match=r"STELE_OFFLINE=1\. Put .* from https://ai.* at .*aclImdb_v1\.tar\.gz"):
        download("imdb", tmp_path)


def test_unpack_stays_inside(tmp_path: Path) -> None:
    def tar(name: str) -> Path:
        with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as file:
            member = tarfile.TarInfo(name)
            member.size = 2
            file.addfile(member, io.BytesIO(b"ok"))
        return tmp_path / "x.tar.gz"
    unpack(tar("set/a.txt"), tmp_path / "to")
    assert (tmp_path / "to/set/a.txt").read_bytes() == b"ok"
    (tmp_path / "x.tar.gz.unpacked").unlink()
    with pytest.raises(DataError, match="stay inside"):
        unpack(tar("../b.txt"), tmp_path / "to")
    assert not (tmp_path / "b.txt").exists()


def packed(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, content in files.items():
            member = tarfile.TarInfo(f"set/{name}")
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def test_unpack_removes_what_one_that_died_left(tmp_path: Path) -> None:
    left, theirs = tmp_path / "set" / f".a.{'0' * 16}.part", tmp_path / f".other.zip.{'1' * 16}.part"
    left.parent.mkdir()
    left.write_bytes(b"half of")
    theirs.write_bytes(b"a download")
    unpack(packed(tmp_path / "x.tar.gz", a=b"whole", b=b"as well"), tmp_path)
    assert {path.name for path in left.parent.iterdir()} == {"a", "b"} and theirs.exists()


def test_unpack_reads_a_folder_once_however_many_files_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, read, names = tmp_path / f".n7.{'0' * 16}.part", list[Any](), os.listdir
    left.write_bytes(b"half of")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        for k in range(40):
            file.writestr(f"n{k}", b"whole")
    monkeypatch.setattr(os, "listdir", lambda *folder: read.append(folder) or names(*folder))
    unpack(tmp_path / "x.zip", tmp_path)
    assert not left.exists() and len([*tmp_path.glob("n*")]) == 40 and len(read) < 6


def test_unpack_waits_for_others_and_leaves_it_to_them(tmp_path: Path) -> None:
    path, begun = packed(tmp_path / "x.tar.gz", a=b"whole"), threading.Event()

    def wait() -> None:
        begun.set()
        unpack(path, tmp_path)

    thread = threading.Thread(target=wait)
    with regular(path) as file, locked(file.fileno()):
        thread.start()
        begun.wait()
        write(tmp_path / "x.tar.gz.unpacked")
    thread.join()
    assert not (tmp_path / "set").exists()


def test_unpack_says_which_file_did_not_fit_on_the_disk(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.tar.gz", a=b"whole", b=bytes(5000))
    code = f"""
import resource, signal; from pathlib import Path; from stele.data.download import unpack
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
unpack(Path({str(path)!r}), Path({str(tmp_path)!r}))"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True)
    assert f"StorageError: writing {tmp_path}/set/b failed: File too large" in done.stderr
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["a"]
    assert not (tmp_path / "x.tar.gz.unpacked").exists()


def test_archives_are_pinned() -> None:
    for files in ARCHIVES.values():
        for file in files:
            assert len(file.sha256) == 64 and int(file.sha256, 16) and file.size > 0 and file.url.startswith("http")


def test_local_files_have_the_pinned_hash() -> None:
    labels = full_sets() / "fashion-mnist" / "train-labels-idx1-ubyte.gz"
    pinned = {file.name: file.sha256 for file in ARCHIVES["fashion-mnist"]}
    assert hashlib.sha256(labels.read_bytes()).hexdigest() == pinned[labels.name]
