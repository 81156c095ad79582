"""Any stage can be seen by name, and every pass can be verified."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import stele as st
from stele import config, pipeline
from stele.errors import GraphError
from stele.ir.graph import Graph, parameter
from stele.ir.types import Type, float32

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import stele as st
@st.compile
def f(x):
    return st.tanh(x) * 2
x = st.tensor([[1.0, 2.0]])
f(x); f(x)
"""


def stages(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What was printed, by stage; of a stage that ran twice, the first text."""
    found: dict[str, str] = {}
    for part in capsys.readouterr().err.split("== ")[1:]:
        name, _, text = part.partition("\n")
        found.setdefault(name.split()[0], text)
    return found


def compiled(x: st.Tensor) -> st.Tensor:
    return st.compile(lambda x: st.log(st.exp(x)).sum(axis=1) + 0)(x)


def test_every_stage_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("STELE_SHOW", "all")
    x = st.tensor(np.ones((3, 4), np.float32))
    assert compiled(x).tolist() == [4, 4, 4]
    found = stages(capsys)
    assert {"graph", "share", "simplify", "expand", "merge", "fuse", "loops", "llvm", "asm", "memory", "cache",
            "time"} <= set(found)
    assert "Exp()(x) : float32[3,4]  # test_stages.py:" in found["graph"] and "Add" not in found["simplify"]
    assert found["merge"].strip() == "changed nothing"
    assert "test_stages.py:" in found["fuse"] and "rows" in found["loops"] and "arena" in found["memory"]
    assert "define" in found["llvm"] and "ret" in found["asm"] and " ms link" in found["time"]


def test_every_stage_prints_what_holds_pairs_and_calls_of_python(monkeypatch: pytest.MonkeyPatch,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    """Programs with complex numbers, host ops on them, sorts and small matrices; their reports and findings too."""
    def f(x: st.Tensor) -> tuple[st.Tensor, ...]:
        u, s, _ = st.linalg.svd(x)
        return st.fft.fft(x) @ u, st.sort(s), st.prod(x), st.cumulative_prod(x, axis=0), st.linalg.inv(x.real)

    monkeypatch.setenv("STELE_SHOW", "all")
    monkeypatch.setenv("STELE_CHECK", "1")
    x = st.tensor(np.eye(4) * (2 + 1j))
    assert complex(st.compile(f)(x)[2]) == 0
    found = stages(capsys)
    assert "Paired(op=Svd(full=True), complexes=(True,))" in found["pairs"]
    assert "host" in found["fuse"] and "asm" in found
    monkeypatch.setenv("STELE_SHOW", "")
    assert "Svd" in str(st.lint(f, x))


def test_nothing_prints_without_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    compiled(st.tensor([[1.0, 2.0]]))
    assert not stages(capsys)


def test_a_stage_is_printed_though_the_program_is_on_disk(monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    x = st.tensor(np.ones((3, 7), np.float32))
    compiled(x)
    monkeypatch.setenv("STELE_SHOW", "simplify")
    compiled(x)
    assert set(stages(capsys)) == {"simplify"}


def test_time_names_the_kernels_at_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={"PYTHONPATH": str(ROOT), "STELE_SHOW": "time"},
                          capture_output=True, text=True, timeout=60)
    assert not done.returncode and "2 calls" in done.stderr and "100.0% nest" in done.stderr


def test_check_names_the_pass_that_breaks_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = parameter("stranger", Type(float32, (2,)))
    broken = ModuleType("stele.transform.broken")
    monkeypatch.setattr(broken, "broken", lambda graph, report: Graph(graph.parameters, (stranger,)), raising=False)
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    monkeypatch.setattr(pipeline, "PASSES", ("broken",))
    monkeypatch.setenv("STELE_CHECK", "1")
    x = parameter("x", Type(float32, (2,)))
    with pytest.raises(GraphError, match=r"broken left a graph that is not sound.*'stranger'"):
        pipeline.optimise(Graph((x,), (x,)), pipeline.Options())
    monkeypatch.setenv("STELE_CHECK", "0")
    assert pipeline.optimise(Graph((x,), (x,)), pipeline.Options()).results == (stranger,)


def test_check_takes_what_calls_check_of_open_sizes_for_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of axes that are alike by a guard is one program for all sizes with STELE_CHECK=1 as without."""
    f = st.compile(lambda x, w: (st.repeat(x, 2, 0) @ w).sum())
    monkeypatch.setenv("STELE_CHECK", "1")
    for n in (1, 3, 2, 5):
        assert f(st.ones(n), st.ones(2 * n, 3)).item() == 6 * n
    assert f.compiles == 2 and "2*n0 == n1" in f.guards


def test_all_passes_have_a_stage() -> None:
    assert set(pipeline.PASSES) <= set(config.SHOW.form.parse("all"))
