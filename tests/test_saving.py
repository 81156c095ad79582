"""States as files: what goes in comes out, damage is found, nothing is lost, and training goes on to the same bits."""
from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT
from hypothesis import given, settings
from hypothesis import strategies as some
from safetensors.numpy import load_file, save_file

import stele as st
from stele import data, nn, optim
from stele.errors import DataError, StorageError
from stele.ir.types import REAL
from stele.saving import DIGEST, TREE, digest, pack

X = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 40)

PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers(-2**70, 2**70) | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.lists(inner, max_size=3).map(tuple)
    | some.dictionaries(some.text(max_size=4), inner, max_size=3), max_leaves=8)


def same(a: Any, b: Any) -> bool:
    """Whether two trees are equal, of equal kinds, with NaN equal to itself."""
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or (a != a and b != b))


@settings(max_examples=60, deadline=None)
@given(tree=PLAIN)
def test_plain_values_come_back_as_they_were(tree: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "plain.safetensors"
    st.save(tree, path)
    assert same(st.load(path), tree)


@pytest.mark.parametrize("dtype", [d.name for d in REAL])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (2, 3)])
def test_tensors_of_every_dtype_and_shape(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    x = st.tensor(np.arange(int(np.prod(shape))).reshape(shape) % 2, dtype=dtype)
    st.save({"a": [x, (x, 1)], "b": x.T}, tmp_path / "x")
    found = st.load(tmp_path / "x")
    for y, z in ((found["a"][0], x), (found["a"][1][0], x), (found["b"], x.T)):
        assert y.dtype == z.dtype and y.shape == z.shape and np.array_equal(y.numpy(), z.numpy())
    assert set(load_file(tmp_path / "x")) == {"a.0", "a.1.0", "b"}, "any reader finds tensors by their paths"


def test_paths_that_meet_keep_their_tensors(tmp_path: Path) -> None:
    st.save({"a": {"b.c": st.zeros(1)}, "a.b": {"c": st.ones(1)}}, tmp_path / "x")
    found = st.load(tmp_path / "x")
    assert (found["a"]["b.c"].tolist(), found["a.b"]["c"].tolist()) == ([0], [1])


@pytest.mark.parametrize("state, message", [
    ({"f": print}, "cannot hold the builtin_function_or_method at f"), ({"a": [1j]}, "the complex at a.0"),
    ({1: 2}, "keys are strings, got 1 at the top"), ({"a": {"$tensor": 1}}, r"got '\$tensor' at a"),
    ({"s": {1}}, "the set at s")])
def test_what_is_no_state_is_refused_and_loses_nothing(state: Any, message: str, tmp_path: Path) -> None:
    st.save({"x": 1}, tmp_path / "x")
    with pytest.raises(DataError, match=message):
        st.save(state, tmp_path / "x")
    assert st.load(tmp_path / "x") == {"x": 1} and os.listdir(tmp_path) == ["x"]


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    st.save({"model": nn.Linear(2, 3), "step": 3, "loss": 0.25}, path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << place % 8
        path.write_bytes(spoilt)
        with pytest.raises(DataError, match=r"x (is damaged|is no whole)"):
            st.load(path)


def test_files_of_others_are_dicts_of_tensors(tmp_path: Path) -> None:
    save_file({"w": X}, tmp_path / "x.safetensors", metadata={"format": "pt"})
    assert np.array_equal(st.load(tmp_path / "x.safetensors")["w"].numpy(), X)


class Training:
    """Everything a run consists of: a step with dropout, momentum, a schedule, shuffled batches."""

    def __init__(self, make: Callable[[Any], optim.Optimizer], seed: int) -> None:
        st.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))
        self.optimizer = make(self.model.parameters())
        self.schedule = optim.CosineDecay(self.optimizer, 30)
        self.loader = data.Loader((X, Y), 8, shuffle=True, seed=seed)
        self.losses: list[float] = []
        model, optimizer = self.model, self.optimizer

        @st.compile
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        self.step = step

    def parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule, "loader": self.loader,
                "random": st.default_generator}

    def run(self, steps: int) -> None:
        while steps:
            for x, y in self.loader:
                self.losses.append(float(self.step(st.tensor(x), st.tensor(y))))
                self.schedule.step()
                steps -= 1
                if not steps:
                    return


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda p: optim.AdamW(p, 0.01)])
@pytest.mark.parametrize("stop", [0, 1, 4, 5, 7])
def test_training_goes_on_to_the_same_bits(make: Any, stop: int, tmp_path: Path) -> None:
    whole = Training(make, 3)
    whole.run(12)
    first = Training(make, 3)
    first.run(stop)
    st.save(first.parts() | {"losses": first.losses}, tmp_path / "x")
    second = Training(make, 77)
    state = st.load(tmp_path / "x", into=second.parts())
    second.losses = state["losses"]
    second.run(12 - stop)
    assert second.losses == whole.losses
    for name, x in whole.model.state_dict().items():
        assert x.numpy().tobytes() == second.model.state_dict()[name].numpy().tobytes(), name


def test_restoring_takes_all_or_nothing(tmp_path: Path) -> None:
    a, b = nn.Linear(2, 2), nn.Linear(3, 3)
    st.save({"a": nn.Linear(2, 2), "b": nn.Linear(4, 4)}, tmp_path / "x")
    before = a.weight.numpy().copy()
    with pytest.raises(DataError, match="weight has shape"):
        st.load(tmp_path / "x", into={"a": a, "b": b})
    assert np.array_equal(a.weight.numpy(), before)
    with pytest.raises(DataError, match="holds no entry 'c', but 'a', 'b'"):
        st.load(tmp_path / "x", into={"a": a, "c": b})


@pytest.mark.parametrize("spoil, message", [
    (lambda s: s | {"kind": "SGD"}, "none of Adam: it is of SGD"),
    (lambda s: {}, "none of Adam: it is of no optimiser"),
    (lambda s: s | {"mean.9": 0}, "only one of the two has 'mean.9'"),
    (lambda s: s | {"mean.0": np.zeros(5)}, r"mean.0 has shape \(5,\) in the state, \(2, 4\)"),
    (lambda s: s | {"options.0": {"eps": 1}}, "whose options are betas, eps, weight_decay"),
    (lambda s: s | {"options.0": s["options.0"] | {"eps": "x"}}, "eps is 'x' in the state, 1e-08 in this Adam")])
def test_the_state_of_an_optimizer_is_checked(spoil: Any, message: str) -> None:
    optimizer = optim.Adam(nn.Linear(4, 2).parameters())
    with pytest.raises(DataError, match=message):
        optimizer.load_state_dict(spoil(optimizer.state_dict()))


def test_the_states_of_schedules_loaders_and_generators_are_checked() -> None:
    schedule = optim.StepLR(optim.SGD(nn.Linear(1, 1).parameters(), 0.1), 5)
    with pytest.raises(DataError, match="none of StepLR: it is of CosineDecay"):
        schedule.load_state_dict({"kind": "CosineDecay"})
    loader = data.Loader((X, Y), 8)
    for spoil, message in (({"batch_size": 9}, "batch_size=9, this one has 8"), ({"batch": 99}, "batch 99 of epoch 0"),
                           ({"epoch": "x"}, "none of a loader"), ({"more": 1}, "none of a loader")):
        with pytest.raises(DataError, match=message):
            loader.load_state_dict(loader.state_dict() | spoil)
    with pytest.raises(DataError, match="none of a generator"):
        st.default_generator.load_state_dict({"state": [1, 2]})


def test_a_full_disk_names_file_and_bytes_and_keeps_the_last_state(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "model.safetensors"
    model = nn.Linear(3, 3)
    model.save(path)
    before = path.read_bytes()

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=rf"writing .*model.safetensors \({len(before):,} bytes\) failed: No space"):
        model.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.safetensors"]


def test_a_state_is_saved_without_a_copy_of_it_and_what_does_not_fit_is_a_memory_error(tmp_path: Path) -> None:
    code = f"""
        import resource
        from pathlib import Path
        import numpy as np
        import stele as st
        x, path = np.ones(64 << 20, np.uint8), {str(tmp_path / "state.safetensors")!r}
        st.save({{"x": x[:9]}}, path)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
        st.save({{"x": x}}, path)
        try: st.load(path)
        except MemoryError: print("full")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == "full\n", done.stderr


def test_any_reader_finds_what_is_saved_and_equal_states_are_equal_bytes(tmp_path: Path) -> None:
    state = {"one": np.float16(2), "none": np.zeros((0, 4)), "bits": np.array([True, False]), "z": np.array([1 + 2j]),
             "far": np.arange(3, dtype=">i4"), "turned": np.arange(6.0).reshape(2, 3).T, 'a "name"': X[:3, :1],
             "short": st.tensor([1.5, 2.0], dtype="bfloat16").numpy()}
    for name in "ab":
        st.save({"s": state}, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found, own = load_file(tmp_path / "a"), st.load(tmp_path / "a")["s"]
    for name, x in state.items():
        assert np.array_equal(own[name].numpy(), x) and own[name].shape == np.shape(x)
        assert np.array_equal(found[f"s.{name}"], x if name != "z" else [[1, 2]])


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.array([1], "M8[s]"), np.longdouble(2)])
def test_arrays_that_the_format_has_not_are_refused(array: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a checkpoint cannot hold the array of .* at w"):
        st.save({"w": array}, tmp_path / "state.safetensors")
    assert not os.listdir(tmp_path)


HEADERS = {
    "not there": b"", "longer than the file": (9).to_bytes(8, "little") + b"{}", "no dict": b"[]", "cut": b"{",
    "notes of numbers": b'{"__metadata__": {"a": 1}}', "no places": b'{"a": {"dtype": "U8", "shape": [1]}}',
    "backward": b'{"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}}', "no entry": b'{"a": 3}',
    "too much": b'{"a": {"dtype": "U8", "shape": [1125899906842624], "data_offsets": [0, 1125899906842624]}}',
    "too few": b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
    "a gap": b'{"a": {"dtype": "U8", "shape": [1], "data_offsets": [3, 4]}}',
    "one twice": b'{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, '
                 b'"b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}',
    "a rest": b'{"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}',
    "negative": b'{"a": {"dtype": "U8", "shape": [-2, -2], "data_offsets": [0, 4]}}',
    "a truth": b'{"a": {"dtype": "U8", "shape": [true, 4], "data_offsets": [0, 4]}}',
    "eight bits": b'{"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}',
    "other letters": '{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}'.encode("utf-16"),
    "deep": b"[" * 100_000,
    "no name of a dtype": b'{"a": {"dtype": ["U8"], "shape": [4], "data_offsets": [0, 4]}}',
    "twice": b'{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, '
             b'"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}',
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_do_not_say_what_is_there_are_refused(name: str, tmp_path: Path) -> None:
    head, path = HEADERS[name], tmp_path / "x.safetensors"
    begin = b"" if name in ("not there", "longer than the file") else len(head).to_bytes(8, "little")
    path.write_bytes(begin + head + (bytes(4) if begin else b""))
    with pytest.raises(DataError, match="is no whole safetensors file"):
        st.load(path)


@pytest.mark.parametrize("parts", [np.zeros(0), np.zeros(3), np.zeros(()), np.zeros((2, 2), np.float32)])
def test_complex_numbers_are_pairs(parts: Any, tmp_path: Path) -> None:
    """Their digest is right, and they are none."""
    tree, path = '{"$complex": "v"}', tmp_path / "x.safetensors"
    path.write_bytes(b"".join(pack({"v": parts}, {TREE: tree, DIGEST: digest({"v": parts}, tree)})))
    with pytest.raises(DataError, match="stands in it"):
        st.load(path)


def write_often(path: str, value: float, times: int) -> None:
    """Saves a model of one number everywhere."""
    model = nn.Linear(64, 64, bias=False)
    model.weight.assign(st.full((64, 64), value))
    for _ in range(times):
        model.save(path)


def test_readers_see_whole_files_while_two_write(tmp_path: Path) -> None:
    path = str(tmp_path / "model.safetensors")
    write_often(path, 0.0, 1)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(path, float(k), 40)) for k in (1, 2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert np.ptp(st.load(path)["weight"].numpy()) == 0
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert os.listdir(tmp_path) == ["model.safetensors"] and st.load(path)["weight"].tolist()[0][0] in (1, 2)
