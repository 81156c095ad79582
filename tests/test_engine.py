"""What the engine promises of a training step: one native call, planned memory, nothing half-done."""
from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from benchmarks.scan import NormalisedGRU, training
from stele import nn, ops, optim
from stele.backend.buffers import MEMORY, Block, Buffer
from stele.backend.cpu import pool
from stele.call.plan import donations, steady
from stele.eager.evaluate import EVALUATOR
from stele.errors import IndexOutOfRange
from stele.ir.graph import Array, Op
from stele.ir.origin import lines
from stele.ir.text import parse, show
from stele.pipeline import Options, build
from stele.train import Trainer
from stele.train.models import Cnn, ResNet50
from tests.first_steps import SEED, WORKLOADS, distance, gradients_of, images

ROOT = Path(__file__).resolve().parents[1]
DIMS = {"x": {0: "batch"}, "y": {0: "batch"}}
BATCHES = 1, 2, 7, 63, 64, 65, 200
GUARD = 1 << 16


@pytest.fixture(scope="module")
def cnn() -> Trainer:
    """The benchmark's network with a step that has run."""
    st.manual_seed(1)
    model = Cnn()
    trainer = Trainer(model, loss="cross_entropy", optimizer=optim.SGD(model.parameters(), 0.01, 0.9))
    trainer.train_on_batch(images(64))
    return trainer


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The addresses of the programs that are called from now on; Python may run no op and make none."""
    def refuse(*_: object) -> None:
        raise AssertionError("an op ran in Python")

    calls: list[int] = []
    invoke = pool.current().invoke
    monkeypatch.setattr(pool.current(), "invoke", lambda at, program, *rest: calls.append(program) or invoke(
        at, program, *rest))
    monkeypatch.setattr(Op, "__call__", refuse)
    for op in ops.ALL.values():
        monkeypatch.setattr(op, "reference", refuse)
    return calls


def test_a_step_is_one_native_call(cnn: Trainer, native_calls: list[int]) -> None:
    for _ in range(3):
        cnn.train_on_batch(images(64))
    assert len(native_calls) == 3 and len(set(native_calls)) == 1


def test_a_recurrence_written_by_hand_is_one_native_call(request: pytest.FixtureRequest) -> None:
    st.manual_seed(1)
    step = training(NormalisedGRU(12, 10))
    x = st.tensor(np.random.default_rng(0).standard_normal((9, 4, 12)).astype(np.float32))
    losses = [float(step(x))]
    calls = request.getfixturevalue("native_calls")
    made = [step(x) for _ in range(3)]
    assert len(calls) == 3
    losses += map(float, made)
    assert losses == sorted(losses, reverse=True)


def test_the_steady_state_maps_no_pages(cnn: Trainer) -> None:
    x, y = images(64)
    for _ in range(3):
        cnn.train_on_batch((x, y))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(12):
        cnn.train_on_batch((x, y))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 24


def test_a_dead_intermediate_is_one_kernel_and_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (st.tensor(np.random.default_rng(k).random(1 << 16, np.float32)) for k in range(2))
    blocks: list[int] = []
    block = MEMORY.block
    monkeypatch.setattr(MEMORY, "block", lambda n: blocks.append(n) or block(n))
    c = b * a
    d = c + 1
    del c
    found = d.numpy()
    program: Any = EVALUATOR.last
    assert len(program.report().kernels) == 1 and program.memory({}).arena.bytes == 0
    assert [n for n in blocks if n] == [4 << 16]
    np.testing.assert_allclose(found, b.numpy() * a.numpy() + 1, rtol=1e-6)


def test_all_batches_run_the_same_program() -> None:
    st.manual_seed(1)
    model = Cnn(1, 8)
    steps = [st.compile(gradients_of(model), dims=dims) for dims in (DIMS, {})]
    exact = st.compile(gradients_of(model), backend="reference")
    rng = np.random.default_rng(0)
    for n in BATCHES:
        x, y = rng.random((n, 1, 8, 8), np.float32), rng.integers(0, 10, n)
        st.manual_seed(SEED)
        expected = exact(x, y)
        for step in steps:
            st.manual_seed(SEED)
            for got, wanted in zip(step(x, y), expected, strict=True):
                assert distance(got.numpy(), wanted.numpy()) < 1e-5, n
    assert steps[0].compiles <= 1 and steps[1].compiles <= 2


def features() -> tuple[Any, tuple[Array, ...]]:
    model = ResNet50().eval()

    def run(x: Any) -> Any:
        with st.no_grad():
            return model.features(x)

    return st.compile(run), (images(1, 64)[0],)


def step_of(name: str) -> tuple[Any, tuple[Array, ...]]:
    model = WORKLOADS[name].model()
    return st.compile(gradients_of(model)), WORKLOADS[name].batch(2)


@pytest.mark.parametrize("name", ["cnn", "gru", "resnet50"])
def test_a_parsed_graph_runs_to_the_same_bits(name: str) -> None:
    f, args = features() if name == "resnet50" else step_of(name)
    f(*args)
    [(plan, sizes, _)] = next(iter(f.variants.at_hand.values()))
    traced = plan.traced
    again = parse(show(traced.graph), ops.ALL)
    assert show(again) == show(traced.graph)
    runs = parse(show(plan.graph), ops.ALL)
    inputs = [args[k] if kind == "argument" else traced.handles[k].numpy() for kind, k in traced.inputs]
    inputs += [v.data.array for v in traced.constants]
    twin = build(runs, donate=donations(traced, runs), steady=steady(traced, args), options=Options())
    first, second = (program.run([Buffer.of(a) for a in inputs], sizes) for program in (plan.program, twin))
    for a, b in zip(first, second, strict=True):
        assert a.array.tobytes() == b.array.tobytes()


def test_every_kernel_names_its_lines(cnn: Trainer) -> None:
    program: Any = cnn.programs.learn.programs[0]
    for note in program.report().kernels:
        found = lines(note.where)
        assert found, f"{note} has no line"
        assert any(line.split(":")[0] in ("models.py", "test_engine.py") for line in found), found


def test_compiled_steps_draw_the_masks_of_imperative_ones() -> None:
    ones = np.ones((64, 32), np.float32)
    draw = lambda x: st.dropout(x, 0.5)
    step = st.compile(draw)
    st.manual_seed(SEED)
    masks = [step(ones).numpy() for _ in range(2)]
    st.manual_seed(SEED)
    assert (masks[0] != masks[1]).any()
    for mask in masks:
        np.testing.assert_array_equal(draw(st.tensor(ones)).numpy(), mask)


def bytes_of(model: nn.Module) -> list[bytes]:
    return [p.numpy().tobytes() for p in model.parameters()]


class Words(nn.Module):
    """Word numbers (N, T) -> logits (N, 3)."""

    def __init__(self) -> None:
        self.embedding, self.fc = nn.Embedding(20, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.fc(self.embedding(x).mean(axis=1))


@pytest.mark.parametrize(("word", "label"), [(20, 0), (-1, 0), (0, 3), (0, -1)])
def test_an_index_out_of_range_changes_no_parameter(word: int, label: int) -> None:
    st.manual_seed(1)
    model = Words()
    optimizer = optim.Adam(model.parameters(), 0.1)
    trainer = Trainer(model, loss="cross_entropy", optimizer=optimizer)
    x, y = np.arange(20).reshape(4, 5), np.array([0, 1, 2, 0])
    trainer.train_on_batch((x, y))
    before, count = bytes_of(model), [t.numpy().copy() for t in vars(optimizer).values() if isinstance(t, st.Tensor)]
    wrong_x, wrong_y = x.copy(), y.copy()
    wrong_x[1, 2], wrong_y[3] = word, label
    with pytest.raises(IndexOutOfRange, match=r"index (20|3|-1) is out of range at \w+\.py:\d+"):
        trainer.train_on_batch((wrong_x, wrong_y))
    assert bytes_of(model) == before
    assert [t.tolist() for t in vars(optimizer).values() if isinstance(t, st.Tensor)] == [a.tolist() for a in count]
    trainer.train_on_batch((x, y))
    assert bytes_of(model) != before


def test_ctrl_c_changes_no_parameter() -> None:
    w, n, big = st.zeros(1 << 10), st.tensor(0), st.full((256, 256), 1e-3)

    @st.compile
    def step(xs: Any) -> Any:
        y, _ = st.scan(lambda s, x: (st.tanh(s @ big + x), None), st.zeros((256, 256)), xs)
        w.assign(w + y.sum() * 0 + 1)
        n.assign(n + 1)
        return y

    for length in (1, 2, 3):
        step(np.zeros(length, np.float32))
    compiles = step.compiles
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        step(np.zeros(1 << 20, np.float32))
    assert set(w.numpy()) == {3.0} and int(n) == 3
    step(np.zeros(1, np.float32))
    assert set(w.numpy()) == {4.0} and int(n) == 4 and step.compiles == compiles


def test_the_arena_is_what_the_plan_says(cnn: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    program: Any = cnn.programs.learn.programs[0]
    [(_, sizes, _)] = next(iter(cnn.programs.learn.variants.at_hand.values()))
    lent: list[tuple[int, Block]] = []

    def lend(n: int) -> Block:
        lent.append((n, MEMORY.block(n + GUARD)))
        np.asarray(lent[-1][1])[:] = 0xA5
        return lent[-1][1]

    monkeypatch.setattr(MEMORY, "lend", lend)
    monkeypatch.setattr(MEMORY, "give_back", lambda block: None)
    cnn.train_on_batch(images(64))
    (n, block), = lent
    assert n == program.memory(sizes).arena.bytes
    used = np.flatnonzero(np.asarray(block) != 0xA5)
    assert n - GUARD < used[-1] < n


def test_parameters_stay_where_they_are_unless_somebody_holds_them(cnn: Trainer) -> None:
    state = [*cnn.model.parameters(), *(s.velocity for s in cnn.optimizer.states)]  # type: ignore[attr-defined]
    places = [t.value.data.address for t in state]
    cnn.train_on_batch(images(64))
    assert [t.value.data.address for t in state] == places
    view = state[0].numpy()
    held = view.copy()
    cnn.train_on_batch(images(64))
    np.testing.assert_array_equal(view, held)
    assert (state[0].numpy() != held).any()
    assert [t.value.data.address for t in state[1:]] == places[1:]


FRESH = """
import sys, numpy as np, stele as st
from stele import nn, optim
from stele.backend.cpu import cache
from stele.train import Trainer
st.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
trainer = Trainer(model, loss="cross_entropy", optimizer=optim.SGD(model.parameters(), 0.1))
loss = trainer.train_on_batch((np.ones((2, 4), np.float32), np.array([0, 2])))["loss"]
jit = sys.modules.get("stele.backend.cpu.jit")
print(jit.TOTAL.compiled if jit else 0, cache.objects().counts.corrupt, float(loss).hex(),
      "llvmlite.binding" in sys.modules)
"""


MINE = """
import warnings; warnings.simplefilter("ignore")
import stele as st
f = st.compile(lambda x: x * 2 + 1)
f(st.ones(4))
print(f.programs[0].report())
"""


def test_lines_are_the_users_own_beside_the_package_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "stele").symlink_to(Path(st.__file__).parent, target_is_directory=True)
    script = tmp_path / "stele_of_mine.py"
    script.write_text(MINE)
    environment = dict(os.environ, PYTHONPATH=str(tmp_path), STELE_CACHE=str(tmp_path / "cache"))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "stele_of_mine.py:4" in done.stdout
    assert "tensor.py" not in done.stdout


def fresh(folder: Path) -> tuple[int, int, str]:
    """Objects compiled, damaged entries found and the loss of a new process that trains one step."""
    environment = dict(os.environ, STELE_CACHE=str(folder), PYTHONPATH=str(ROOT), PYTHONWARNINGS="ignore")
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    compiled, corrupt, loss, with_llvm = done.stdout.split()
    assert with_llvm == str(compiled != "0"), "a program that is on the disk does without LLVM"
    return int(compiled), int(corrupt), loss


def test_a_function_that_nobody_holds_gives_its_program_back_at_once() -> None:
    f = st.compile(lambda x: x * 3 - 1)
    f(st.ones(5))
    program = weakref.ref(f.programs[0])
    gc.collect()
    gc.disable()
    try:
        del f
        assert program() is None
    finally:
        gc.enable()


def test_a_second_process_compiles_nothing_and_damage_is_found(tmp_path: Path) -> None:
    compiled, corrupt, loss = fresh(tmp_path)
    assert compiled > 0 == corrupt
    assert fresh(tmp_path) == (0, 0, loss)
    entries = [path for path in (tmp_path / "objects").iterdir() if path.name != "bytes"]     # which counts theirs
    for path in entries:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    assert fresh(tmp_path) == (compiled, len(entries), loss)
    assert fresh(tmp_path) == (0, 0, loss)
