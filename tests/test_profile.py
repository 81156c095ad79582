"""Profiles: every launch is accounted for, bytes are the plan's, layers and lines are right, and so are the files."""
from __future__ import annotations

import contextvars
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim
from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.eager import evaluate
from stele.eager.follow import FOLLOWER
from stele.errors import ArgumentError, IndexOutOfRange
from stele.inspect.profile import roofline, tables
from stele.inspect.profile.account import Account, split
from stele.inspect.profile.record import Ran, Span
from stele.inspect.profile.watch import Profile
from stele.rosetta.machine import Machine

PEAKS = Machine("a machine", 2, 1e11, 1e10)


@pytest.fixture(autouse=True)
def peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured here."""
    monkeypatch.setattr(roofline, "measured", lambda threads: PEAKS)


class Net(nn.Module):
    def __init__(self) -> None:
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x: st.Tensor) -> st.Tensor:
        return self.second(st.relu(self.first(x)))


def training(model: nn.Module) -> Any:
    """A step of a network."""
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @st.compile
    def step(x: Any, y: Any) -> st.Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def runs(p: Profile) -> list[Ran]:
    return [span for span in p.spans if isinstance(span, Ran)]


def batch(n: int = 4) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return rng.random((n, 6), np.float32), rng.integers(0, 3, n)


def trained(steps: int, p: Profile | None) -> tuple[list[float], Account | None]:
    st.manual_seed(0)
    step = training(Net())
    losses = [float(step(*batch()))]
    if p is None:
        return losses + [float(step(*batch())) for _ in range(steps)], None
    with p:
        losses += [float(step(*batch())) for _ in range(steps)]
    return losses, p.account()


def test_a_step_is_accounted_for_and_stays_what_it_is() -> None:
    p = st.profile()
    losses, account = trained(3, p)
    assert losses == trained(3, None)[0] and account is not None
    (program,) = account.programs
    assert (program.runs, account.steps, program.errors) == (3, 3, ()) and program.slower is None
    twin = runs(p)[0].program
    assert program.memory == twin.program.memory({})
    assert f"{program.memory.peak:,}" in twin.program.report().memory[1]
    notes = twin.timed.report().kernels
    assert Counter(k.number for k in account.kernels) == Counter(range(len(notes)))
    assert {k.starts for k in account.kernels} == {3}
    assert sum(k.ns for k in account.kernels) == program.kernels <= program.ns
    assert {"first", "second"} <= set(account.layers) <= {"", "first", "second", "Net"}
    assert all(account.layers[name].forward and account.layers[name].backward for name in ("first", "second"))
    assert sum(s.ns for s in account.layers.values()) == pytest.approx(program.kernels)
    assert sum(s.ns for s in account.lines.values()) == pytest.approx(program.kernels)
    assert sum(s.bytes for s in account.layers.values()) == pytest.approx(sum(k.bytes for k in account.kernels))
    assert {place.file for place in account.lines} <= {__file__, ""}
    assert sum(account.split.values()) == account.total and not account.split["data"]


def test_kernels_move_what_their_operands_take() -> None:
    @st.compile
    def f(x: st.Tensor, w: st.Tensor) -> st.Tensor:
        return st.exp(x[2:4]) @ w

    x, w = st.ones(64, 8), st.ones(8, 16)
    with st.profile() as p:
        f(x, w)
    kernels = p.account().kernels
    assert sum(k.work.bytes for k in kernels if k.work.kind == "contraction") >= 4 * (2 * 8 + 8 * 16 + 2 * 16)
    assert sum(k.work.bytes for k in kernels) <= 4 * (3 * 2 * 8 + 8 * 16 + 2 * 16)  # of x what is read
    assert sum(k.work.work for k in kernels) >= 2 * 8 * 16


def test_open_sizes_and_what_is_kept() -> None:
    w = st.ones(256, 256)
    f = st.compile(lambda x: st.exp(x) @ w, dims={"x": {0: "n"}})
    with st.profile() as p:
        for n in (3, 5, 5):
            f(st.ones(n, 256))
    by_size = {program.sizes["n"]: program for program in p.account().programs if program.sizes}
    assert {n: program.runs for n, program in by_size.items()} == {3: 1, 5: 2}
    kept = [k for k in p.account().kernels if k.work.kept]
    assert all(k.share is None and k.bytes == 0 for k in kept)


@pytest.mark.parametrize("width", [8, 0])
def test_scans(width: int) -> None:
    """A loop in one launch is one kernel; kernels of other loops are started in each of its steps."""
    w = st.ones(width, width) if width else None

    @st.compile
    def f(x: st.Tensor) -> Any:
        def body(h: st.Tensor, a: st.Tensor) -> Any:
            h = st.tanh(h @ w + a) if w is not None else st.cumsum(h, 0) * 0.5 + a
            return h, h
        return st.scan(body, x[0], x)[1]

    with st.profile() as p:
        f(st.ones(7, 4, max(width, 2)))
    found = [(k.work.kind, k.starts) for k in p.account().kernels]
    assert ("scan", 1) in found or 7 in {starts for _, starts in found}, found
    events = [e for e in events_of(p) if e["ph"] == "X"]
    assert_nested(events)


def test_imperative_code_knows_the_layer_of_each_evaluation() -> None:
    """Layers of one structure share a program, and have their time apart."""
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    x = st.ones(2, 8)
    for layer in net:       # so that the program is there before
        float(layer(x).sum())
    with st.profile() as p:
        for _ in range(2):
            loss = net(x).sum()
            float(loss)
            loss.backward()
            [float(q.grad.sum()) for q in net.parameters()]
    account = p.account()
    assert account.layers["0"].ns and account.layers["1"].ns and account.split["planning"]
    assert not p.planned
    alone = Profile()
    with alone:
        float(net[1](x).sum())
    assert "1" not in alone.account().layers    # called by itself, it is no part of a network


def test_imperative_code_replays_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen before is planned no slower under a profile, and belongs to the layer that asks now."""
    class Apart(nn.Module):
        def __init__(self) -> None:
            self.first, self.second = nn.Linear(256, 256), nn.Linear(256, 256)

        def forward(self, x: st.Tensor) -> st.Tensor:
            for layer in (self.first, self.second):
                x = layer(x)
                x.numpy()
            return x

    net = Apart()
    optimizer = optim.SGD(net.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        net(st.ones(64, 256)).sum().backward()
        optimizer.step()
        [q.numpy() for q in net.parameters()]

    for _ in range(6):
        step()
    monkeypatch.setattr(evaluate, "worked", None)
    with st.profile() as p:
        step()
        step()
    account = p.account()
    assert account.layers["first"].forward and account.layers["second"].forward
    assert account.steps == 2 and "2 steps of SGD" in str(p) and account.split["planning"] and not p.planned
    assert sum(account.split.values()) == account.total


def test_data_and_compiling_are_told_apart() -> None:
    step = training(Net())
    x, y = batch(12)
    with st.profile() as p:
        for pair in data.Loader((x, y), 4):
            step(*pair)
        list(p.reading(range(2)))
    kinds = Counter(span.kind for span in p.spans)
    assert kinds["data"] == 3 + 1 + 2 + 1       # the ends are waited for too
    assert {span.what for span in p.spans if span.kind == "tracing"} == {"tracing step"}
    assert any(span.what == "compiling step" for span in p.spans)
    assert kinds["run"] >= 3
    assert "waiting for batches" in str(p)


def test_a_program_that_raises_is_seen_and_raises_as_ever() -> None:
    table = st.ones(3, 2)
    f = st.compile(lambda i: table[i].sum())
    f(st.tensor([0, 2]))
    with pytest.raises(IndexOutOfRange, match="index 7"), st.profile() as p:
        f(st.tensor([0, 7]))
    assert FOLLOWER.get() is None
    assert p.account().programs[0].errors == ("IndexOutOfRange",) and "IndexOutOfRange" in str(p)


def test_nested_profiles_see_the_same_runs() -> None:
    f = st.compile(lambda x: x * 2 + 1)
    with st.profile() as outer:
        f(np.ones(3, np.float32))
        with st.profile() as inner:
            f(np.ones(3, np.float32))
        f(np.ones(3, np.float32))
    assert (len(runs(outer)), len(runs(inner))) == (3, 1) and runs(inner)[0] in runs(outer)
    with outer:         # goes on
        f(np.ones(3, np.float32))
        with pytest.raises(ArgumentError, match="on already"), outer:
            pass
        with pytest.raises(ArgumentError, match="once it has ended"):
            outer.account()
    assert len(runs(outer)) == 4 and len(outer.periods) == 2


def test_threads_have_profiles_of_their_own_or_join_one() -> None:
    f = st.compile(lambda x: st.exp(x) + 1)
    f(np.ones(5, np.float32))
    found: dict[int, Profile] = {}

    def alone(n: int) -> None:
        with st.profile() as p:
            for _ in range(n):
                f(np.ones(5, np.float32))
        found[n] = p

    with st.profile() as p:
        threads = [threading.Thread(target=alone, args=(n,)) for n in (2, 3)]
        threads += [threading.Thread(target=contextvars.copy_context().run, args=(f, np.ones(5, np.float32)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {n: len(runs(one)) for n, one in found.items()} == {2: 2, 3: 3}
    assert len(runs(p)) == 1 and runs(p)[0].thread != p.thread
    assert not p.account().split["kernels"] and p.account().kernels
    names = {e["args"]["name"] for e in events_of(p) if e["name"] == "thread_name"}
    assert names == {p.thread[1], runs(p)[0].thread[1]}


def test_programs_without_clocks_are_one_kernel() -> None:
    f = st.compile(lambda x: st.exp(x) + 1, backend="reference")
    with st.profile() as p:
        f(np.ones(2, np.float32))
    (kernel,) = p.account().kernels
    assert kernel.work.kind == "interpreted" and kernel.starts == 1 and kernel.share is None
    assert p.account().programs[0].memory is None and "interpreted" not in str(p.account().peak)


def test_a_profile_of_nothing() -> None:
    with st.profile() as p:
        pass
    account = p.account()
    assert (account.steps, account.programs, account.peak) == (0, (), None)
    assert account.split["Python"] == account.total and "no program of Stele ran" in str(p)
    with pytest.raises(ArgumentError, match="once it has ended"):
        str(st.profile())


def events_of(p: Profile) -> list[dict[str, Any]]:
    from stele.inspect.profile import trace
    return json.loads(trace.text(p.spans, p.ended(), p.thread, p.accounts.works))["traceEvents"]


def assert_nested(events: list[dict[str, Any]]) -> None:
    """Slices of a thread lie beside each other or inside."""
    open_: list[float] = []
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while open_ and open_[-1] <= e["ts"] + 1e-3:
            open_.pop()
        assert not open_ or e["ts"] + e["dur"] <= open_[-1] + 2e-3, e
        open_.append(e["ts"] + e["dur"])


def test_files(tmp_path: Path) -> None:
    p = st.profile()
    trained(2, p)
    p.trace(tmp_path / "x.json")
    p.html(tmp_path / "x.html")
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["displayTimeUnit"] == "ms"
    slices = [e for e in found["traceEvents"] if e["ph"] == "X"]
    assert {e["ph"] for e in found["traceEvents"]} == {"M", "X"}
    assert all(isinstance(e["ts"], float) and e["ts"] >= 0 and e["dur"] >= 0 for e in slices)
    assert all({"name", "cat", "pid", "tid", "args"} <= e.keys() for e in slices)
    kernels = [e for e in slices if e["cat"] == "kernel"]
    assert len(kernels) == sum(int(ran.kernels[:, 1].sum()) for ran in runs(p))
    assert any("first" in e["args"]["layers"] for e in kernels)
    assert_nested(slices)
    page = (tmp_path / "x.html").read_text()
    assert "self.second(st.relu(self.first(x)))" in page and "<script" not in page and "http" not in page.replace(
        "http-equiv", "")


def test_times_of_a_thread_add_up() -> None:
    me, other = (1, "a"), (2, "b")
    nothing: Any = {"program": None, "graph": None, "sizes": {}}
    ran = Ran("run", "f", 40, 80, me, **nothing, kernels=np.array([[20, 1, 45], [9, 3, 70]]))
    inside = Ran("run", "g", 50, 60, me, **nothing, kernels=np.array([[8, 1, 51]]))
    spans = [Span("data", "", 0, 10, me), Span("planning", "", 12, 30, me), Span("compiling", "", 14, 24, me), ran,
             inside, Span("data", "", 0, 90, other)]
    mine = [s for s in spans if s.thread == me]
    found = split(mine, [(0, 100)])
    assert found == {"data": 10, "Python": 32, "planning": 8, "dispatch": 13, "kernels": 27, "around": 0, "tracing": 0,
                     "compiling": 10, "profile": 0}
    assert split(mine, [(0, 35), (38, 100)], [ran]) == {**found, "Python": 0, "around": 29}


def test_a_roof_is_the_machines() -> None:
    target = roofline.here()
    roof = roofline.roof(target, PEAKS)
    assert roof.flops == 1e11 and roof.memory == 1e10 and roof.near > 0 and roof.shared >= roof.memory
    assert roof.least(0, 10 * roof.l3, 4) == (10 * roof.l3 / 1e10, "memory")
    assert roof.least(5e10, 64, 4) == (1.0, "compute") and roof.least(5e10, 64, 8) == (2.0, "compute")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "train.py"
    file.write_text("import sys\nimport stele as st\nf = st.compile(lambda x: st.exp(x).sum())\n"
                    "print(float(f(st.ones(int(sys.argv[1])))))\n" + "print(sys.argv[2])\n")
    html, trace = tmp_path / "p.html", tmp_path / "p.json"
    assert run(["profile", str(file), "--html", str(html), "--trace", str(trace), "--", "3", "done"], COMMANDS) == 0
    out, err = capsys.readouterr()
    assert "train.py:3" in out and "kernels" in out and "done" in err
    assert html.is_file() and json.loads(trace.read_text())
    assert run(["profile", str(file), "--", "3"], COMMANDS) == 2
    out, err = capsys.readouterr()
    assert "train.py:3" in out and "did not run to its end: IndexError" in err
    file.write_text("print('nothing')")
    assert run(["profile", str(file)], COMMANDS) == 2 and "computed nothing" in capsys.readouterr().err
    assert FOLLOWER.get() is None and sys.stdout is not sys.stderr


def test_a_configuration_is_profiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "points.npz", x=np.ones((8, 2), np.float32), y=np.zeros(8, np.int64))
    file = tmp_path / "net.toml"
    file.write_text('epochs = 3\ndata = {kind = "npz", file = "points.npz"}\n'
                    'layer = [{kind = "Linear", out_features = 2, name = "head"}]\n')
    assert run(["profile", str(file), "--", "epochs=2"], COMMANDS) == 0
    out, err = capsys.readouterr()
    assert "2 runs of net.toml:1" in out and "\nhead " in out and not err
    assert run(["profile", str(file), "--", "epoch=2"], COMMANDS) == 2
    assert "has no 'epoch'" in capsys.readouterr().err and len([*tmp_path.iterdir()]) == 2


def test_the_trainer_of_a_file_is_profiled_where_the_file_computes_nothing(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.py"
    makes = ("import numpy as np\nfrom stele import nn, train\nX = np.ones((8, 2), np.float32)\n"
             "def trainer(epochs: int = 1):\n"
             "    return train.Trainer(nn.Linear(2, 1), [(X, X[:, :1])], loss='mse', epochs=epochs)\n")
    is_one = makes.replace("def trainer(epochs: int = 1)", "def made(epochs: int = 2)") + "trainer = made()\n"
    for text, runs in ((makes, "2 runs of train.py:4"), (is_one, "2 runs of train.py:1"),
                       (makes + "trainer(3).fit()\n", "3 runs of train.py:6")):
        file.write_text(text)
        assert run(["profile", str(file), *(["--", "epochs=2"] if text is not is_one else [])], COMMANDS) == 0
        assert runs in capsys.readouterr().out
    file.write_text(makes)
    assert run(["lint", str(file)], COMMANDS) == 0
    assert "1 training step" in capsys.readouterr().out


def test_figures() -> None:
    assert [tables.ms(ns) for ns in (0, 1e9, 1e12)] == ["0.0000", "1,000.0", "1,000,000"]
    assert tables.size(0) == "0 B"
