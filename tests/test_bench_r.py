"""Programs of the benchmark in R: what R needs is asked where it is installed, all else everywhere."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_bench import BRISK, MACHINE, TINY
from test_distribution import PROJECT

from stele.errors import ConfigError
from stele.rosetta import bench, probe, process, rows
from stele.rosetta.bench import Bench, Entry
from stele.rosetta.probe import Installed
from stele.rosetta.process import KEEPING, WORKERS, Died, Process
from stele.rosetta.report import Findings, cells, missing
from stele.rosetta.rows import ROWS, WORKLOADS, Row, program

RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="Rscript is not installed: apt install r-base-core")
PROGRAMS = [workload for workload in WORKLOADS if program("r", workload).exists()]
CASES = [(w, mode, sizes) for w in PROGRAMS for mode in rows.modes(program("r", w))
         for sizes in ([row.sizes for row in WORKLOADS[w].rows] if w == "overhead" else
                       [TINY[w], {"rows": 1, "count": 9}] if w == "sort" else [TINY[w]])]
FAKE = """
MODES <- c("plain")
place <- function(mode, inputs) inputs
initialise <- function(mode) mode
step <- function(state, inputs) {step}
evaluate <- function(state, inputs) list(y = step(state, inputs))
"""


@pytest.mark.parametrize("workload", PROGRAMS)
def test_programs_have_the_parts_of_the_others_in_their_order(workload: str) -> None:
    text = program("r", workload).read_text()
    parts = re.findall(r"^(\w+) <- function", text, re.M)
    assert [name for name in parts if name in ("data", "place", "initialise", "step", "evaluate")] == [
        "data", "place", "initialise", "step", "evaluate"]
    assert rows.modes(program("r", workload)) and "if (sys.nframe() == 0L) {" in text, "it runs on its own"
    assert text.startswith("# ") and max(map(len, text.splitlines())) <= 120
    own, ours = (re.search(r"data(?: <- function|)\((.*)\)", source) for source in (
        text, program("stele", workload).read_text().partition("\ndef ")[2]))
    names = [re.findall(r"(\w+) ?=", found[1]) for found in (own, ours) if found]
    assert names[0] == [name for name in names[1] if name != "seed"]


@pytest.mark.parametrize("path", [*(program("r", w) for w in PROGRAMS), WORKERS[".R"][-1]], ids=lambda p: Path(p).name)
def test_programs_need_nothing_beside_r(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\b(library|require|loadNamespace)\(", text)
    assert set(re.findall(r"(\w+)::", text)) <= {"parallel"}    # which comes with R


def test_what_learns_has_no_program_and_says_why() -> None:
    assert {"matmul", "elementwise", "softmax_xent", "layernorm", "cumsum", "sort", "topk", "unique", "gather",
            "searchsorted", "scatter_add", "overhead"} == set(PROGRAMS)
    assert not any(WORKLOADS[w].model or WORKLOADS[w].trains for w in PROGRAMS)     # `load` takes no weights
    entries = [Entry(ROWS["mlp"], "stele", "compile"), Entry(ROWS["cumsum"], "stele", "compile")]
    here = Installed(Path("Rscript"), "4.2.2", 0.0, 30.0)
    assert missing(Findings(MACHINE, {"stele": here, "r": here, "numpy": here}, entries)) == [
        "r: no program for mlp; convolutions and networks need R's package torch", "numpy: no program for mlp"]


def test_all_of_them_are_in_the_wheel() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["stele"]
    there = {path for pattern in patterns for path in rows.PROGRAMS.parent.glob(pattern)}
    assert set(rows.PROGRAMS.rglob("*.R")) == {path for path in there if path.suffix == ".R"}


def test_more_than_float32_is_ranked_beside_it() -> None:
    entries = [Entry(ROWS["cumsum"], "r", mode) for mode in ("base float64", "base int32", "x tf32", "x bf16", "x")]
    assert [e.precision for e in entries] == ["float64", "int32", "tf32", "bf16", "float32"]
    assert [e.league for e in entries] == ["float32", "float32", "tf32", "bf16", "float32"]
    entries[0].installed, entries[0].verdict = [4.0], bench.Verdict(True, 0.0, "y")
    assert cells(entries[0], 2.0, Findings(MACHINE, {}, entries))[4] == "2.00"


def test_without_r_it_is_left_out_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = probe.installed(["r"], {}, 1)
    assert found == {"r": None}
    assert missing(Findings(MACHINE, found, [])) == ["r: not installed; apt install r-base-core, or --python r=PATH"]


def test_what_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    for name, path, why in (
            ("r", Path(sys.executable), "needs the Rscript of an R, and .* does not answer"),
            ("r", Path("/bin/true"), "needs the Rscript of an R, and /bin/true does not answer"),
            ("r", tmp_path / "text", "text cannot be run: Permission denied"),
            ("jax", Path("/bin/true"), "--python jax=PATH needs a Python, and /bin/true does not answer")):
        with pytest.raises(ConfigError, match=why):
            probe.installed([name], {name: path}, 1)


OTHER = """
import json, os, sys
from pathlib import Path
import numpy as np
for line in sys.stdin:
    match json.loads(line):
        case {"do": "load", "mode": "plain float64", "inputs": folder, **rest}:
            assert not rest
            x, = [np.load(path) for path in sorted(Path(folder).iterdir())]
            answer = {}
        case {"do": "check", "path": path}:
            Path(path).mkdir()
            y = np.cumsum(x, dtype=float)
            np.save(f"{path}/y.npy", y)
            np.save(f"{path}/norm of y.npy", np.linalg.norm(y))
            answer = {"steps": 0, "seconds": 1.0}
        case {"do": "run"}: answer = {"ms": [1.0 if "MALLOC_MMAP_MAX_" in os.environ else 2.0] * 3, "foreign": 0.0}
        case {"do": "call"}: answer = {"seconds": 0.001}
        case {"do": "memory"}: answer = {"mb": 50.0}
        case {"do": "keep"}: answer = {"kept": False}
    print(json.dumps(answer), flush=True)
"""


def test_a_worker_in_another_language_is_given_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker.py").write_text(OTHER)
    (tmp_path / "cumsum.other").write_text("MODES = 'plain float64',")
    monkeypatch.setitem(process.WORKERS, ".other", (tmp_path / "worker.py",))
    monkeypatch.setattr(bench, "program", lambda framework, workload:
                        tmp_path / f"{workload}.other" if framework == "other" else program(framework, workload))
    monkeypatch.setattr(bench, "SLOW", float("inf"))
    lines, row = list[str](), Row("cumsum", "cumsum", TINY["cumsum"])
    run = Bench(dict.fromkeys(("numpy", "other"), Path(sys.executable)), 1, BRISK, lines.append, tmp_path)
    run.run({"cumsum": [row], "conv": []})
    numpy, other = run.entries
    assert numpy.verdict.agrees and other.verdict.agrees and other.verdict.difference == pytest.approx(0, abs=1e-6)
    assert other.installed == [2.0] * 3 and other.keeping == [1.0] * 3 and other.keeps      # in a process of its own
    assert numpy.keeping and "conv: no program for numpy" in lines
    assert sorted(path.name for path in tmp_path.glob("*cumsum*")) == ["cumsum.other"], "files are gone afterwards"
    assert not set(KEEPING) & set(os.environ)


@pytest.fixture
def asking(tmp_path: Path) -> Callable[..., Process]:
    """A worker in R, of a program or of what a step gives, as it stands behind `load`."""
    def ask(step: str | Path, *arrays: Any, mode: str = "plain", threads: int = 1) -> Process:
        path, folder = tmp_path / "fake.R", tmp_path / 'inp"uts: {é}'
        folder.mkdir()
        for number, array in enumerate(arrays):
            np.save(folder / f"{number:02}.npy", array)
        if isinstance(step, str):
            path.write_text(FAKE.format(step=step))
        started = Process(Path(RSCRIPT or ""), path if isinstance(step, str) else step, threads, tmp_path)
        assert started.ask("load", mode=mode, inputs=str(folder)) == {}
        return started
    return ask


@needs_r
@pytest.mark.parametrize("workload, mode, sizes", CASES)
def test_programs_compute_what_steles_do(workload: str, mode: str, sizes: dict[str, Any], tmp_path: Path,
                                         asking: Callable[..., Process]) -> None:
    ours = import_module(f"stele.rosetta.stele.{workload}")
    arrays, results = ours.data(**sizes), tmp_path / "results.npz"
    expected = ours.evaluate(ours.initialise(ours.MODES[0]), *ours.place(ours.MODES[0], *arrays))
    with asking(program("r", workload), *arrays, mode=mode) as worker:
        assert worker.ask("check", path=str(results), steps=10, seconds=1.0)["seconds"] > 0
        assert len(worker.ask("run", seconds=0.0, least=2)["ms"]) == 2
        found = bench.fetched(results)
    assert found.keys() == {word + name for name in expected for word in ("", "norm of ")} and not results.exists()
    for name, y in expected.items():
        np.testing.assert_allclose(found[name], np.reshape(y, -1), rtol=1e-5, atol=2e-6)
        np.testing.assert_allclose(found[f"norm of {name}"], [np.linalg.norm(np.asarray(y, "f8"))], rtol=1e-5)


@needs_r
@pytest.mark.parametrize("workload", PROGRAMS)
def test_programs_run_on_their_own(workload: str) -> None:
    done = subprocess.run([RSCRIPT or "", "--vanilla", str(program("r", workload))], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0 and re.search(r"\d", done.stdout) and not done.stderr, done


@needs_r
def test_a_run_beside_stele_agrees(tmp_path: Path) -> None:
    run = Bench({"stele": Path(sys.executable), "r": Path(RSCRIPT or "")}, 2, BRISK, lambda line: None, tmp_path)
    run.run({"unique": [Row("unique", "unique", {"count": 1000, "below": 500})]})
    assert all(e.verdict.agrees and e.ms > 0 and e.cold and e.memory and not e.note for e in run.entries), run.entries
    assert run.entries[1].keeping, "a process that keeps its memory from the start"


@needs_r
def test_large_results_are_sampled_as_python_does(asking: Callable[..., Process], tmp_path: Path) -> None:
    from stele.rosetta.worker import sampled
    x = np.random.default_rng(0).standard_normal((3, 100_000), np.float32)
    with asking("inputs[[1]]", x) as worker:
        worker.ask("check", path=str(tmp_path / "results"), steps=0, seconds=0)
    found, expected = bench.fetched(tmp_path / "results"), sampled("y", x)
    np.testing.assert_array_equal(found["y"], expected["y"])
    np.testing.assert_allclose(found["norm of y"], expected["norm of y"], rtol=1e-12)


@needs_r
@pytest.mark.parametrize("x", [np.array([-2.0, 3.0], "f4"), np.array([-1e300, 3]), np.array([-7, 0, 2**31 - 1]),
                               np.array([-7, 2**31 - 1], "i4"), np.arange(24.0).reshape(2, 3, 4)], ids=str)
def test_arrays_are_read_as_they_lie_in_memory(x: np.ndarray, asking: Callable[..., Process], tmp_path: Path) -> None:
    with asking("inputs[[1]]", x) as worker:
        worker.ask("check", path=str(tmp_path / "results"), steps=0, seconds=0)
    np.testing.assert_array_equal(bench.fetched(tmp_path / "results")["y"], x.reshape(-1))


@needs_r
@pytest.mark.parametrize("x", [np.array([2**31]), np.array([-2**31]), np.array([True])], ids=str)
def test_what_r_cannot_hold_is_refused(x: np.ndarray, asking: Callable[..., Process]) -> None:
    with pytest.raises(Died, match=r"R has no integers of more than 32 bits|numbers of type .b1 are none"):
        asking("0", x)


@needs_r
def test_the_dead_are_named_and_what_they_print_is_no_answer(asking: Callable[..., Process]) -> None:
    with asking('{ cat("words\\n"); print(1); inputs[[1]] }', "text") as worker:
        assert worker.ask("call")["seconds"] >= 0 and worker.ask("keep") == {"kept": False}
        assert worker.ask("memory")["mb"] > 10
    shutil.rmtree(Path(worker.process.args[3]).parent / 'inp"uts: {é}')     # type: ignore[index]
    with asking('stop("no such\\n number")') as worker, pytest.raises(Died, match="Error: no such number"):
        worker.ask("call")


@needs_r
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_of_files_are_found_in_every_locale(locale: str, asking: Callable[..., Process], tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    with asking("inputs[[1]]", np.arange(3.0)) as worker:
        worker.ask("check", path=str(tmp_path / "größe \\ 😀"), steps=0, seconds=0)
    assert list(bench.fetched(tmp_path / "größe \\ 😀")["y"]) == [0, 1, 2]


@needs_r
def test_calls_are_timed(asking: Callable[..., Process]) -> None:
    with asking("Sys.sleep(0.03)") as worker:
        assert 0.03 < worker.ask("call")["seconds"] < 5
        answer = worker.ask("run", seconds=0.1, least=1)
    assert 1 <= len(answer["ms"]) <= 4 and min(answer["ms"]) > 30 and answer["foreign"] > -1


@needs_r
def test_threads_are_held(asking: Callable[..., Process], tmp_path: Path) -> None:
    code = 'c(length(parallel::mcaffinity()), as.numeric(Sys.getenv(c("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))))'
    with asking(code, threads=1) as worker:
        worker.ask("check", path=str(tmp_path / "results"), steps=0, seconds=0)
    assert list(bench.fetched(tmp_path / "results")["y"]) == [1, 1, 1]


@needs_r
def test_a_worker_in_r_ends_with_its_parent(asking: Callable[..., Process]) -> None:
    worker = asking("Sys.sleep(0.3)")
    worker.tell("call")
    assert worker.process.stdin
    worker.process.stdin.close()        # as it is where the parent was killed
    begin = time.monotonic()
    assert worker.process.wait(20) == 0 and time.monotonic() - begin < 20
    worker.errors.close()


@needs_r
def test_what_r_is_there() -> None:
    about = probe.installed(["r"], {}, 1)["r"]
    assert about and re.fullmatch(r"\d+\.\d+\.\d+ \(BLAS \S+\)", about.version) and (about.installed_mb or 0) > 1
    with pytest.raises(ConfigError, match=r"Write --python r=/usr/bin/Rscript"):
        probe.installed(["r"], {"r": Path(RSCRIPT or "").with_name("R")}, 1)
