"""ONNX files that were prepared before: their programs run without the model, and only where they are its own."""
from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

import stele as st
from stele.backend.cpu import native
from stele.errors import ArgumentError, DataError
from stele.ir.graph import Graph

onnx = pytest.importorskip("onnx", reason="needs the onnx wheel: pip install 'stele-dl[onnx]'")

from stele.interop import onnx as so  # noqa: E402
from stele.interop.onnx import ready  # noqa: E402

NET = """<ir_version: 8, opset_import: ["": 17]> g (float[n,3] x, float[n,3] z) => (float[n,2] y, float[n,3] d)
<float[3,2] w = {0.5, -1, 2, 1, 3, -2}, float[2] b = {0.25, 4}> {
  d = Sub(x, z)
  m = MatMul(d, w)
  y = Add(m, b)
}"""
X, Z = np.array([[1, 2, 3], [4, 5, 6]], "f4"), np.array([[0, 1, 0], [1, 0, 1]], "f4")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STELE_MACHINE", "common")       # which each empty cache would have measured
    monkeypatch.setattr(native, "IN_MEMORY", WeakValueDictionary())     # what a test before left is not in the folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return saved(NET, tmp_path / "net.onnx")


def saved(text: str, path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def is_read(prepared: so.Prepared) -> bool:
    """Whether the model was read, and not only the program that was kept of it."""
    return prepared.own is not None


def same(a: Any, b: Any) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [[X, Z], (X, Z), {"x": X, "z": Z}, {"z": Z, "x": X}])
@pytest.mark.parametrize("first", [[X, Z], {"z": Z, "x": X}])
def test_the_second_process_reads_no_model(file: Path, first: Any, given: Any) -> None:
    expected = so.prepare(file).run(first)
    again = so.prepare(file)
    for _ in range(3):
        same(again.run(given), expected)
    assert not is_read(again)
    np.testing.assert_allclose(expected[1], X - Z)


def test_tensors_are_taken_as_they_lie(file: Path) -> None:
    expected = so.prepare(file).run([X, Z])
    again, x = so.prepare(file), st.tensor(X)
    for given in ([x, Z], [x, st.tensor(Z)]):
        same(again.run(given), expected)
    assert not is_read(again)
    for given in ([x * 1, Z], [st.tensor(X.T).T, Z]):       # which have no numbers yet
        same(again.run(given), expected)
    np.testing.assert_array_equal(x.numpy(), X)


def test_of_bytes_as_of_a_path(file: Path) -> None:
    expected, raw = so.prepare(file).run([X, Z]), file.read_bytes()
    again = so.prepare(raw)
    same(again.run([X, Z]), expected)
    assert not is_read(again)


def test_other_sizes_and_layouts(file: Path) -> None:
    so.prepare(file).run([X, Z])
    again, plain = so.prepare(file), so.prepare(file, compiled=False)
    wide = np.stack([X, X], 2)[:, :, 0]
    same(again.run([wide, np.asfortranarray(Z)]), plain.run([X, Z]))
    assert not is_read(again)
    for n in (1, 5, 0, 2):
        x = np.random.default_rng(n).standard_normal((n, 3)).astype("f4")
        for one, other in zip(again.run([x, 2 * x]), plain.run([x, 2 * x])):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    third = so.prepare(file)
    third.run([X[:1], Z[:1]])
    assert not is_read(third)       # whose size the process before met first, once it read the model


@pytest.mark.parametrize("wrong", [[X], [X, Z, X], {"x": X}, {"x": X, "y": Z}, X, [X.astype("f8"), Z],
                                   {"x": X, "z": Z.astype("i4")}])
def test_wrong_inputs_are_refused_as_before(file: Path, wrong: Any) -> None:
    with pytest.raises(Exception) as first:
        so.prepare(file).run(wrong)
    so.prepare(file).run([X, Z])
    with pytest.raises(type(first.value)) as second:
        so.prepare(file).run(wrong)
    assert str(first.value) == str(second.value) and isinstance(first.value, ArgumentError)


def test_what_is_in_the_file_counts(file: Path) -> None:
    so.prepare(file).run([X, Z])
    old = so.prepare(file)
    saved(NET.replace("0.25, 4", "0.5, 4"), file)
    same(so.prepare(file).run([X, Z]), so.prepare(file, compiled=False).run([X, Z]))
    old.run([X, Z])     # of what it was when it was prepared
    with pytest.raises(DataError, match="changed since it was prepared"):
        old.run([X[:1], Z[:1]])


def test_a_long_file_that_is_as_it_was_is_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests, whole = list[str](), hashlib.file_digest

    def noted(fileobj: Any, digest: str) -> Any:
        digests.append(digest)
        return whole(fileobj, digest)

    monkeypatch.setattr(hashlib, "file_digest", noted)
    first = ready.digest(file)
    assert ready.digest(file) == first and len(digests) == 2      # too short for that
    monkeypatch.setattr(ready, "LONG", 1)
    assert ready.digest(file) == first == ready.digest(file) and len(digests) == 4      # written a moment ago
    monkeypatch.setattr(ready, "AT_ONCE", -10**12)
    assert ready.digest(file) == first == ready.digest(file) and len(digests) == 5
    raw, then = file.read_bytes(), file.stat().st_mtime_ns
    file.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    os.utime(file, ns=(then, then))     # as old and as long as before: the time of its last change is not
    assert ready.digest(file) == whole(io.BytesIO(file.read_bytes()), "sha256").digest() != first
    other = file.with_name("other")
    other.write_bytes(raw)
    assert ready.digest(other) == first



def test_a_module_that_somebody_may_have_changed_is_asked_itself(file: Path) -> None:
    so.prepare(file).run([X, Z])
    for kept in (True, False):
        if not kept:
            empty(file.parent / "cache" / "objects")
        changed = so.prepare(file)
        changed.module.weights["b"].assign([0.0, 0.0])
        np.testing.assert_allclose(changed.run([X, Z])[0], (X - Z) @ np.array([[0.5, -1], [2, 1], [3, -2]], "f4"))
    same(so.prepare(file).run([X, Z]), so.prepare(file, compiled=False).run([X, Z]))


def empty(folder: Path) -> None:
    for entry in folder.iterdir():
        entry.unlink()


@pytest.mark.parametrize("text", [
    "y = RandomUniformLike(x)", "t = NonZero(x)\n  y = Cast<to = 1>(t)", "u = Unique(x)\n  y = Identity(u)"])
def test_more_than_one_program_is_not_kept(tmp_path: Path, text: str) -> None:
    path = saved('<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[n] y) {\n  ' + text + "\n}",
                 tmp_path / "more.onnx")
    x = np.array([1, 0, 2, 1], "f4")
    so.prepare(path).run([x])
    again = so.prepare(path)
    again.run([x])
    assert is_read(again)


def test_weights_beside_the_file_are_read_anew(tmp_path: Path) -> None:
    made, files = onnx.parser.parse_model(NET), set[bytes]()
    for scale in (1, 3):
        (tmp_path / "weights").unlink(missing_ok=True)
        made.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(np.array([scale, scale], "f4"), "b"))
        onnx.save(onnx.ModelProto.FromString(made.SerializeToString()), path := tmp_path / "net.onnx",
                  save_as_external_data=True, size_threshold=0, location="weights")
        files.add(path.read_bytes())
        prepared = so.prepare(path)
        np.testing.assert_allclose(prepared.run([X, X])[0], np.full((2, 2), scale, "f4"))
        assert is_read(prepared)
    assert len(files) == 1


def test_a_damaged_entry_is_made_again(file: Path) -> None:
    expected = so.prepare(file).run([X, Z])
    for entry in (file.parent / "cache" / "objects").iterdir():
        if entry.name != "bytes":
            entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    with pytest.warns(RuntimeWarning, match="damaged"):
        same(so.prepare(file).run([X, Z]), expected)


def test_who_follows_is_told_of_the_model_itself(file: Path) -> None:
    so.prepare(file).run([X, Z])
    again = so.prepare(file)
    with st.profile() as seen:
        again.run([X, Z])
    assert is_read(again) and "MatMul" in str(seen)


def test_a_promised_graph_is_made_when_it_is_looked_at() -> None:
    x = st.placeholder((2,))
    graph = st.function([x], x * 2).graph
    made: list[Graph] = []
    promised = ready.Promised(graph.digest, lambda: made.append(graph) or graph)
    assert promised == graph and not made
    assert [v.op.name for v in promised.values] == [v.op.name for v in graph.values] and len(made) == 1
    with pytest.raises(AttributeError):
        _ = promised.nothing


def test_several_threads_at_once(file: Path) -> None:
    so.prepare(file).run([X, Z])
    again, plain = so.prepare(file), so.prepare(file, compiled=False)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(again.run, [[X * k, Z] for k in range(40)])]
    for k, made in enumerate(found):
        np.testing.assert_allclose(made[0], plain.run([X * k, Z])[0], rtol=1e-5, atol=1e-5)
    assert not is_read(again)
