"""Measured choices: asked, tried, kept on disk, and taken from the next compile on."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.backend.cpu import tuned
from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.eager.follow import FOLLOWER
from stele.inspect.tune.contractions import Contraction, Programs
from stele.inspect.tune.measure import Trial, build, operands
from stele.inspect.tune.search import Search
from stele.ir.report import Report
from stele.kernel.choice import Choices
from stele.pipeline import write
from tests.replay.digest import request
from tests.replay.machines import MACHINES

IMAGES = np.random.default_rng(0).standard_normal((8, 32, 12, 12), np.float32)
KERNELS = np.random.default_rng(1).standard_normal((48, 32, 3, 3), np.float32)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    monkeypatch.setenv("STELE_MACHINE", "common")       # which each empty cache would have measured


def convolve(x: Any, w: Any) -> Any:
    return st.relu(st.conv2d(x, w, padding=1))


def contractions_of(f: Callable[..., Any], *args: Any) -> list[Contraction]:
    """The contractions that a call of f runs."""
    seen = Programs()
    token = FOLLOWER.set(seen)
    try:
        f(*args)
    finally:
        FOLLOWER.reset(token)
    return seen.contractions()


def test_questions_and_what_matters_among_them() -> None:
    (one,) = contractions_of(st.compile(convolve), IMAGES, KERNELS)
    first = build(one, {})
    about = {question.partition(" ")[0] for question in first.trial.asked}
    assert about and about <= {"direct", "convolution", "winograd2", "winograd4", "tiles"}
    taken = [{q: "direct"} for q, asked in first.trial.asked.items() if asked.is_algorithm] or [{}]
    assert any(question.startswith("direct ") for answer in taken for question in build(one, answer).trial.asked)
    for question, asked in first.trial.asked.items():
        assert asked.prices[asked.taken] == min(asked.prices)
        for name in asked.names if asked.is_algorithm else ():
            other = build(one, {question: name}).trial
            assert other.asked[question].name == name
            assert {q.partition(" ")[0] for q in other.relevant} == {"convolution", name}


def test_every_candidate_computes_the_same() -> None:
    (one,) = contractions_of(st.compile(convolve), IMAGES, KERNELS)
    buffers = operands(one)
    first = build(one, {})
    (expected,) = first.program.run(buffers, {})
    algorithms = [{q: name} for q, asked in first.trial.asked.items() if asked.is_algorithm for name in asked.names]
    for answer in algorithms or [{}]:
        for question, asked in build(one, answer).trial.relevant.items():
            for k in sorted(range(len(asked.prices)), key=asked.prices.__getitem__)[:3]:
                (y,) = build(one, answer | {question: asked.names[k]}).program.run(buffers, {})
                np.testing.assert_allclose(y.array, expected.array, atol=1e-5 * np.abs(expected.array).max())


def algorithms() -> list[tuple[str, list[str]]]:
    """The question of which algorithm computes the convolution, if this machine has more than one, and its names."""
    (one,) = contractions_of(st.compile(convolve), IMAGES, KERNELS)
    return [(q, list(asked.names)) for q, asked in build(one, {}).trial.asked.items() if asked.is_algorithm]


def test_answers_count_from_the_next_compile_on_and_never_in_strict() -> None:
    if not algorithms():
        pytest.skip("this machine has one algorithm for convolutions")
    ((question, names),) = algorithms()
    results = {}
    for name in names:
        running = st.compile(convolve)
        before = running(IMAGES, KERNELS).numpy()
        tuned.remember(tuned.here(), {question: name})
        assert tuned.tuned(tuned.here()).choices.answers[question] == name
        np.testing.assert_array_equal(running(IMAGES, KERNELS).numpy(), before)
        results[name] = st.compile(convolve)(IMAGES, KERNELS).numpy()
        results[f"strict beside {name}"] = st.compile(convolve, precision="strict")(IMAGES, KERNELS).numpy()
    direct = results.pop("direct")
    for name, y in results.items():
        assert np.array_equal(y, direct) is name.startswith("strict"), name
        np.testing.assert_allclose(y, direct, atol=2e-5 * np.abs(direct).max())


def test_results_of_tuned_programs_do_not_depend_on_threads() -> None:
    (one,) = contractions_of(st.compile(convolve), IMAGES, KERNELS)
    asked = build(one, {}).trial.asked
    tuned.remember(tuned.here(), {q: sorted(zip(a.prices, a.names))[-1 if a.is_algorithm else 1][1]
                              for q, a in asked.items() if len(a.prices) > 1})
    f, threads = st.compile(convolve), st.get_threads()
    try:
        st.set_threads(1)
        alone = f(IMAGES, KERNELS).numpy().copy()
        st.set_threads(4)
        np.testing.assert_array_equal(f(IMAGES, KERNELS).numpy(), alone)
    finally:
        st.set_threads(threads)


def test_answers_belong_to_a_target_and_are_checked(tmp_path: Path) -> None:
    tuned.remember(tuned.here(), {"gemm a": "6x2"})
    tuned.remember(tuned.here(), {"gemm b": "4x3"})
    assert tuned.tuned(tuned.here()).choices.answers == {"gemm a": "6x2", "gemm b": "4x3"}
    assert tuned.tuned(tuned.here()).key != tuned.here().key and tuned.tuned(tuned.here()) == tuned.here()
    (file,) = (path for path in (tmp_path / "tuned").iterdir() if path.name != "bytes")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert tuned.tuned(tuned.here()).choices.answers == {}
    tuned.remember(tuned.here(), {"gemm a": "6x2"})
    other = replace(tuned.here(), name="another")
    assert tuned.tuned(other).choices.answers == {} != tuned.tuned(tuned.here()).choices.answers


def test_an_answer_that_is_no_candidate_is_no_answer() -> None:
    candidates = [(2.0, "slow"), (1.0, "quick")]
    for answer in ("", "slower", "1"):
        assert Choices({"q": answer}).choose("q", candidates) == (1.0, "quick")
    trial = Trial({"q": "slow"})
    assert trial.choose("q", candidates) == (2.0, "slow") and trial.asked["q"].name == "slow"


def test_a_search_keeps_what_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    def pretended(builds: Any, *_: Any) -> list[float]:
        asked = ([q for q in each.trial.asked.values() if not q.is_algorithm] for each in builds)
        return [0.9 / (1 + sum(q.prices[q.taken] > min(q.prices) for q in own)) if own else 1.0 for own in asked]

    monkeypatch.setattr("stele.inspect.tune.search.seconds", pretended)
    (one,) = contractions_of(st.compile(lambda x: x @ x), np.ones((64, 64), np.float32))
    found = Search(one).run(float("inf"))
    assert found.after < found.before and found.changed and found.tried > 2
    assert {q: asked.name for q, asked in build(one, found.answers).trial.relevant.items()} == found.answers
    unfinished = Search(one).run(0.0)
    assert unfinished.tried == 1 and not unfinished.answers


def test_products_of_a_library_are_candidates() -> None:
    x = np.ones((64, 64), np.float32)
    (one,) = contractions_of(st.compile(lambda x, w: st.tanh(x @ w)), x, x)
    names = [asked.names for asked in build(one, {}).trial.asked.values() if asked.is_algorithm]
    if not names:
        pytest.skip("this process has no BLAS")
    (question,) = (q for q, asked in build(one, {}).trial.asked.items() if asked.is_algorithm)
    ours, theirs = (build(one, {question: name}) for name in ("gemm", "blas"))
    assert [k.kind for k in ours.program.report().kernels] == ["contraction"]
    assert [k.kind for k in theirs.program.report().kernels] == ["library", "nest"]
    (a,), (b,) = (each.program.run(operands(one), {}) for each in (ours, theirs))
    np.testing.assert_allclose(a.array, b.array, rtol=0, atol=1e-5)


SCRIPT = """
import numpy as np
import stele as st
f = st.compile(lambda x, w: st.scan(lambda s, row: (st.tanh(s @ w + row), None), x[0], x)[0], dims={"x": {1: "batch"}})
f(np.ones((3, 4, 32), np.float32), np.ones((32, 32), np.float32))
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    assert run(["tune", str(file), "--seconds", "60"], COMMANDS) == 0
    out = capsys.readouterr().out
    assert "MatMul float32[batch,32], float32[32,32] -> float32[batch,32]  script.py:4" in out and "answers kept" in out
    assert any(q.startswith("gemm 1xnx32x32") for q in tuned.tuned(tuned.here()).choices.answers)


@pytest.mark.parametrize(("text", "message"), [
    ("import stele as st\nprint(st.ones((2, 2)) + 1)", "computes no product and no convolution"),
    ("raise OSError('no disk')", "but OSError: no disk at"),
])
def test_a_file_that_cannot_be_tuned(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                     ) -> None:
    (tmp_path / "script.py").write_text(text)
    assert run(["tune", str(tmp_path / "script.py")], COMMANDS) == 2
    assert message in capsys.readouterr().err


def test_schedules_print_each_in_its_own_words() -> None:
    """A schedule is given by hand as it prints: no two candidates of a question that differ print alike."""
    seen: list[tuple[str, list[Any]]] = []

    class Listed(Choices):
        def choose(self, question: str, candidates: Any) -> Any:
            seen.append((question, [x for _, x in candidates]))
            return super().choose(question, candidates)

    for name in ("conv 3x3 56", "conv 1x1", "product 1024", "conv strided, gradients", "conv 3x3, gradients"):
        for machine in MACHINES.values():
            write(replace(request(name, machine), target=replace(machine, choices=Listed())), lambda module: None,
                  Report())
    assert {question.partition(" ")[0] for question, _ in seen} >= {"gemm", "direct", "pointwise", "tiles", "winograd4"}
    for question, candidates in seen:
        assert len(set(map(str, candidates))) == len(set(candidates)), question
