"""What the compiler says of itself: the same from the disk as when it was made, and memory before anything is made."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import stele as st
from stele import pipeline
from stele.backend.cpu import jit
from stele.backend.cpu.native import IN_MEMORY
from stele.errors import DeviceError
from stele.ir.origin import lines
from stele.ir.report import Report
from stele.pipeline import Options, Request
from tests.replay.cases import CASES, WORKLOADS
from tests.replay.digest import traced


def hidden(x: Any, w: Any, b: Any) -> Any:
    h = st.relu(x @ w + b)
    return st.log(1 + st.exp(h)).sum(), h - h.mean(1, keepdims=True)


def report_of(f: Any, *arrays: Any) -> Report:
    """The report of a function compiled anew."""
    compiled = st.compile(f)
    compiled(*arrays)
    (program,) = compiled.programs
    return program.report()


ARRAYS = np.ones((64, 784), np.float32), np.ones((784, 256), np.float32), np.ones(256, np.float32)


def test_a_warm_start_explains_as_a_cold_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    jit.OBJECTS.clear()
    compiled = jit.TOTAL.compiled
    cold, shared = report_of(hidden, *ARRAYS), report_of(hidden, *ARRAYS)
    assert jit.TOTAL.compiled > compiled
    jit.OBJECTS.clear()
    compiled = jit.TOTAL.compiled
    assert not any((tmp_path / "objects" / key).exists() for key in IN_MEMORY), "nobody holds it any more"
    warm = report_of(hidden, *ARRAYS)
    assert jit.TOTAL.compiled == compiled, "it came from the disk"
    assert cold == shared == warm
    assert replace(report_of(hidden, *ARRAYS), seconds={}) == replace(cold, seconds={})


def test_a_report_says_what_was_done_and_why() -> None:
    report = report_of(hidden, *ARRAYS)
    fired = report.rules["log_of_one_plus_exp"]
    assert (fired.times == 1 and "log1p" in fired.doc) or "softplus" in fired.doc.lower()
    assert any(line.startswith("test_explained.py:") for line in lines(fired.where))
    assert {d.outcome for d in report.decisions} >= {"joined", "apart"}
    assert all(d.reason and lines(d.where) for d in report.decisions)
    (kernel,) = (note for note in report.kernels if note.kind in ("contraction", "library"))
    assert "MatMul" in kernel.what or "Gemm" in kernel.what
    for question in kernel.asked:
        choice = report.choices[question]
        assert choice.count > len(choice.beaten) and all(choice.price <= price for _, price in choice.beaten)
    assert sum(report.seconds.values()) > 0 and list(report.seconds)[-1] == "link"
    text = str(report)
    for part in ("passes", "rules", "fusion", "algorithms", "kernels", "buffers", "memory", "seconds"):
        assert f"{part}\n" in text or f"\n{part}\n" in text


def test_what_stays_apart_has_its_price() -> None:
    report = report_of(lambda x: (lambda y: y - y.max(0) + y.sum(1, keepdims=True))(st.tanh(x)), ARRAYS[0])
    priced = [d for d in report.decisions if d.price is not None and d.limit is not None]
    assert priced and all(d.price > d.limit for d in priced if d.price is not None and d.limit is not None)


@pytest.mark.parametrize("name", [*CASES][::3] + [*WORKLOADS][::2])
def test_memory_is_known_before_anything_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = traced(name)
    try:
        request = pipeline.request(asked.graph, asked.donate, asked.steady, asked.options)
    except DeviceError as error:
        pytest.skip(str(error))

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("something is compiled")

    with monkeypatch.context() as patch:
        patch.setattr(jit, "Modules", refuse)
        open_sizes = {str(n): 24 for p in asked.graph.parameters for n in p.shape if not isinstance(n, int)}
        known = pipeline.memory(request, open_sizes)
        assert pipeline.memory(request, open_sizes) == known, "what was emitted before is known"
    program: Any = pipeline.compiled(request)
    bound = program.bound(open_sizes)
    assert (known.arena.bytes, known.scratch) == (bound.arena, bound.scratch)
    places = [known.arena.offsets[program.manifest.plan.root(int(k))] for k in bound.temps]
    assert places == bound.offsets.tolist()
    assert known.kept.bytes == program.kept_bytes and known == program.memory(open_sizes)
    made = [r.type.size * r.type.dtype.bytes for r in program.manifest.outputs if r.source == "slot"]
    assert known.peak >= known.arena.bytes and len(made) <= len(asked.graph.results)


def test_memory_asked_for_again_emits_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = traced("linear, relu")
    request = pipeline.request(asked.graph, options=asked.options)
    known = pipeline.memory(request)
    monkeypatch.setattr("stele.backend.llvm.emit.emit_kernel", None)
    assert pipeline.memory(request) == known
    monkeypatch.setattr(pipeline, "EMITTED", {})
    with pytest.raises(TypeError):
        pipeline.memory(request)


def test_requests_are_frozen() -> None:
    request: Request = pipeline.request(traced("product 64").graph, options=Options())
    with pytest.raises(AttributeError):
        request.steady = (1,)   # type: ignore[misc]
