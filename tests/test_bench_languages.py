"""Programs of the benchmark in R and Julia: what needs an interpreter is asked where it is installed, all else
everywhere."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_bench import BRISK, MACHINE, TINY
from test_distribution import PROJECT

from stele.errors import ConfigError
from stele.rosetta import bench, probe, rows
from stele.rosetta.bench import Bench, Entry
from stele.rosetta.languages import JULIA, LANGUAGES, Language, R
from stele.rosetta.probe import Installed
from stele.rosetta.process import KEEPING, Died, Process
from stele.rosetta.report import Findings, cells, missing
from stele.rosetta.rows import FRAMEWORKS, ROWS, WORKLOADS, Framework, Row, program
from stele.rosetta.worker import sampled

PARTS = ["data", "place", "initialise", "step", "evaluate"]


@dataclass(frozen=True)
class Spoken:
    """How tests speak a language: patterns of its text, a program of one step, and what a step may do."""

    framework: str
    language: Language
    keeps: bool                 # whether its worker can tell the allocator to keep memory
    version: str                # what an interpreter says of itself
    part: str                   # a function at the left margin
    alone: str                  # what stands before that which happens where a program runs on its own
    loads: str                  # the name of a package that is loaded
    beside: frozenset[str]      # those that the language comes with
    fake: str                   # a program of a step
    steps: Mapping[str, str]
    learns: str                 # a program that learns, by itself and by what a package has

    @property
    def interpreter(self) -> Path | None:
        found = shutil.which(self.language.command)
        return Path(found) if found else None

    @property
    def package(self) -> str:
        """What the programs need beside the language; '' for nothing."""
        return "".join(FRAMEWORKS[self.framework].distributions)

    @property
    def programs(self) -> list[str]:
        return [workload for workload in WORKLOADS if program(self.framework, workload).exists()]


IN_R = Spoken(
    "r", R, keeps=False, version=r"\d+\.\d+\.\d+ \(BLAS \S+/\S+\)",
    part=r"^(\w+) <- function", alone="if (sys.nframe() == 0L) {",
    loads=r"\b(?:library|require|loadNamespace)\(\"?(\w+)|(\w+)::", beside=frozenset({"parallel"}),
    fake="""
MODES <- c("plain")
place <- function(mode, inputs) inputs
initialise <- function(mode) mode
step <- function(state, inputs) {step}
evaluate <- function(state, inputs) list(y = step(state, inputs))
""", steps={
        "first": "inputs[[1]]",
        "prints": '{ cat("words\\n"); print(1); inputs[[1]] }',
        "stops": 'stop("no such\\n number")',
        "sleeps": "Sys.sleep(0.03)",
        "works": "{ end <- Sys.time() + 0.3; while (Sys.time() < end) 0 }",
        "threads": """c(length(parallel::mcaffinity()),
                        as.numeric(Sys.getenv(c("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))))"""},
    learns="""
library(splines)
MODES <- "plain"
data <- function(count = 3) list(seq_len(count))
place <- function(mode, inputs) inputs
initialise <- function(mode, weights = NULL, dropout = TRUE) {
  splineDesign
  list2env(list(w = weights$`fc.w`, b = weights$b, rate = if (dropout) 0 else 0.5))
}
gradients <- function(state, inputs) list(sum(state$w * inputs[[1]]), list(fc.w = inputs[[1]], b = state$b))
step <- function(state, inputs) {
  loss <- sum(state$w * inputs[[1]])
  state$w <- state$w - state$rate * inputs[[1]]
  loss
}
evaluate <- function(state, inputs) list(sum(state$w * inputs[[1]]), 1)
""")
IN_JULIA = Spoken(
    "julia", JULIA, keeps=True, version=r"\d+\.\d+\.\d+ \(BLAS \S+\)",
    part=r"^(?:function )?(\w+)\(.*\)(?: =|$)", alone="if abspath(PROGRAM_FILE) == @__FILE__",
    loads=r"(?m)^(?:using|import) ((?:\w+, )*\w+)",
    beside=frozenset({"LinearAlgebra", "Printf", "Random", "Statistics"}),
    fake="""
const MODES = ("plain",)
place(mode, inputs) = inputs
initialise(mode) = mode
step(state, inputs) = {step}
evaluate(state, inputs) = Dict("y" => step(state, inputs))
""", steps={
        "first": "inputs[1]",
        "prints": 'begin println("words"); print(1); inputs[1] end',
        "stops": 'error("no such\\n number")',
        "sleeps": "sleep(0.03)",
        "works": "begin stop = time() + 0.3; while time() < stop end end",
        "threads": """begin
    tasks = [read("/proc/self/task/$task/status", String) for task in readdir("/proc/self/task")]
    cpus = [match(r"Cpus_allowed_list:\\s*(.*)", task)[1] for task in tasks]
    [maximum(count.(isdigit, cpus)), Threads.nthreads(), parse(Int, ENV["OPENBLAS_NUM_THREADS"])]
end"""},
    learns="""
using Statistics
const MODES = ("plain",)
data(; count = 3) = (1:count,)
place(mode, inputs) = inputs
initialise(mode; weights = nothing, dropout = true) =
    Dict("w" => weights["fc.w"], "b" => weights["b"], "rate" => dropout ? 0 : 0.5)
gradients(state, inputs) = sum(state["w"] .* inputs[1]), Dict("fc.w" => inputs[1], "b" => state["b"])
function step(state, inputs)
    loss = sum(state["w"] .* inputs[1])
    state["w"] -= state["rate"] * inputs[1]
    loss
end
evaluate(state, inputs) = sum(state["w"] .* inputs[1]), mean(1)
""")
R_TORCH = replace(IN_R, framework="torch-in-r", beside=IN_R.beside | {"torch"})
FLUX = replace(IN_JULIA, framework="flux", beside=IN_JULIA.beside | {"Flux"})
SPOKEN = {"r": IN_R, "julia": IN_JULIA}
PACKAGES = {"torch-in-r": R_TORCH, "flux": FLUX}
EACH = [pytest.param(spoken, id=name) for name, spoken in SPOKEN.items()]
ALL = [pytest.param(spoken, id=name) for name, spoken in (SPOKEN | PACKAGES).items()]


def programs(spoken: Mapping[str, Spoken]) -> list[Any]:
    """Each program of these, for a test."""
    return [pytest.param(each, workload, id=f"{name}-{workload}") for name, each in spoken.items()
            for workload in each.programs]


needs_interpreter = pytest.mark.usefixtures("interpreter")


@pytest.fixture
def interpreter(spoken: Spoken) -> None:
    """Skips where the language is not installed, or the package that programs need."""
    install = FRAMEWORKS[spoken.framework].install
    if spoken.interpreter is None:
        pytest.skip(f"{spoken.language.command} is not installed: {install}")
    if spoken.package and not probe.probe(spoken.framework, spoken.interpreter, 1):
        pytest.skip(f"{spoken.interpreter} has no {spoken.package}: {install}")


@pytest.mark.parametrize("spoken, workload", programs(SPOKEN | PACKAGES))
def test_programs_have_the_parts_of_the_others_in_their_order(spoken: Spoken, workload: str) -> None:
    path = program(spoken.framework, workload)
    text = path.read_text()
    assert [name for name in re.findall(spoken.part, text, re.M) if name in PARTS] == PARTS
    assert rows.modes(path) and f"\n{spoken.alone}\n" in text, "it runs on its own"
    assert text.startswith("# ") and max(map(len, text.splitlines())) <= 120
    own, ours = (re.search(r"data(?: <- function|)\((.*)\)", source) for source in (
        text, program("stele", workload).read_text().partition("\ndef ")[2]))
    names = [re.findall(r"(\w+) ?=", found[1]) for found in (own, ours) if found]
    assert names[0] == [name for name in names[1] if name != "seed"]


@pytest.mark.parametrize("spoken", ALL)
def test_programs_need_nothing_beside_their_language_and_package(spoken: Spoken) -> None:
    for path in (*(program(spoken.framework, workload) for workload in spoken.programs), spoken.language.worker[-1]):
        names = [name for found in re.finditer(spoken.loads, Path(path).read_text()) for name in found.groups() if name]
        assert {name for part in names for name in part.split(", ")} <= spoken.beside, path


@pytest.mark.parametrize("spoken", ALL)
def test_what_has_no_program_says_where_it_is(spoken: Spoken) -> None:
    networks = {"mlp", "cnn", "gru", "resnet50", "densenet121"}
    assert set(spoken.programs) == (networks if spoken.package else {
        "matmul", "elementwise", "softmax_xent", "layernorm", "cumsum", "sort", "topk", "unique", "gather",
        "searchsorted", "scatter_add", "overhead"})
    there, not_there = ("mlp", "cumsum") if spoken.package else ("cumsum", "mlp")
    entries = [Entry(ROWS[workload], "stele", "compile") for workload in (there, not_there)]
    here = Installed(Path("python"), "1.0", 0.0, 30.0)
    lacks, = missing(Findings(MACHINE, {"stele": here, spoken.framework: here}, entries))
    other = next(name for name, each in (SPOKEN | PACKAGES).items() if each is not spoken
                 and each.language is spoken.language)
    assert lacks.startswith(f"{spoken.framework}: no program for {not_there}; ")
    assert re.search(rf"\bof {other}\b", lacks) and not_there in (SPOKEN | PACKAGES)[other].programs


@pytest.mark.parametrize("suffix", [suffix for suffix in LANGUAGES if suffix != ".py"])
def test_all_of_them_are_in_the_wheel(suffix: str) -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["stele"]
    there = {path for pattern in patterns for path in rows.PROGRAMS.parent.glob(pattern)}
    assert set(rows.PROGRAMS.rglob(f"*{suffix}")) == {path for path in there if path.suffix == suffix}


def test_more_than_float32_is_ranked_beside_it() -> None:
    entries = [Entry(ROWS["cumsum"], "r", mode) for mode in ("base float64", "base int32", "x tf32", "x bf16", "x")]
    assert [e.precision for e in entries] == ["float64", "int32", "tf32", "bf16", "float32"]
    assert [e.league for e in entries] == ["float32", "float32", "tf32", "bf16", "float32"]
    entries[0].installed, entries[0].verdict = [4.0], bench.Verdict(True, 0.0, "y")
    assert cells(entries[0], 2.0, Findings(MACHINE, {}, entries))[4] == "2.00"


@pytest.mark.parametrize("spoken", ALL)
def test_without_an_interpreter_a_language_is_left_out_with_a_word(spoken: Spoken, monkeypatch: pytest.MonkeyPatch
                                                                   ) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    name, install = spoken.framework, FRAMEWORKS[spoken.framework].install
    found = probe.installed([name], {}, 1)
    assert found == {name: None}
    assert missing(Findings(MACHINE, found, [])) == [f"{name}: not installed; {install}, or --python {name}=PATH"]


def test_what_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    for name, path, why in (
            ("r", Path(sys.executable), "needs the Rscript of an R, and .* does not answer"),
            ("r", Path("/bin/true"), "needs the Rscript of an R, and /bin/true does not answer"),
            ("r", tmp_path / "text", "text cannot be run: Permission denied.* Write --python r=/usr/bin/Rscript"),
            ("julia", Path(sys.executable), "needs a Julia, and .* Write --python julia=/usr/bin/julia"),
            ("flux", Path(sys.executable), r"a Julia that has Flux, and .* does not load it.*=/usr/bin/julia; .*Pkg"),
            ("torch-in-r", Path("/bin/true"), "an R that has torch, and /bin/true does not answer"),
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
    (tmp_path / "cumsum.other").write_text('MODES = "plain float64",')
    monkeypatch.setitem(LANGUAGES, ".other", Language(".other", "another", "other", (tmp_path / "worker.py",), ()))
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


class Asked(Process):
    """A worker of a program, or of the text of one, or of a step that the language has a word for."""

    def __init__(self, spoken: Spoken, folder: Path, step: str = "", workload: str = "", threads: int = 1) -> None:
        self.folder, path = folder, folder / f"fake{spoken.language.suffix}"
        if step:
            path.write_text(spoken.fake.replace("{step}", spoken.steps[step]) if step in spoken.steps else step)
        super().__init__(spoken.interpreter or Path(), program(spoken.framework, workload) if workload else path,
                         threads, folder)

    def load(self, *arrays: Any, mode: str = "plain", **more: Any) -> None:
        """Inputs of their own, in files whose names are hard to read."""
        inputs = Path(tempfile.mkdtemp(dir=self.folder, prefix='inp"uts: {é \\ 😀}'))
        for number, array in enumerate(arrays):
            np.save(inputs / f"{number:02}.npy", array)
        assert self.ask("load", mode=mode, inputs=str(inputs), **more) == {}

    def found(self, name: str = "results", steps: int = 0) -> dict[str, Any]:
        """What a call gave, or so many steps of training."""
        answer = self.ask("check", path=str(self.folder / name), steps=steps or 10, seconds=1.0)
        assert answer["seconds"] > 0 and answer["steps"] == steps
        return dict(bench.fetched(self.folder / name))


@pytest.fixture
def asking(spoken: Spoken, tmp_path: Path) -> Callable[..., Asked]:
    return lambda *step, **more: Asked(spoken, tmp_path, *step, **more)


def cases(workload: str) -> list[dict[str, Any]]:
    """Sizes at which a program is compared."""
    if workload == "overhead":
        return [dict(row.sizes) for row in WORKLOADS[workload].rows]
    more = {"sort": [{"rows": 1, "count": 9}, {"rows": 1, "count": 1000}], "cumsum": [{"count": 1000}],
            "searchsorted": [{"size": 1000, "count": 900}], "unique": [{"count": 20, "below": 2**31}],
            "elementwise": [{"count": 200_000}]}
    return [TINY[workload], *more.get(workload, [])]


@needs_interpreter
@pytest.mark.parametrize("spoken, workload", programs(SPOKEN))
def test_programs_compute_what_steles_do(spoken: Spoken, workload: str, asking: Callable[..., Asked]) -> None:
    ours = import_module(f"stele.rosetta.stele.{workload}")
    with asking(workload=workload, threads=2) as worker:
        for sizes in cases(workload):
            arrays = ours.data(**sizes)
            y = ours.evaluate(ours.initialise(ours.MODES[0]), *ours.place(ours.MODES[0], *arrays))
            expected = {name: part for key in y for name, part in sampled(key, np.asarray(y[key])).items()}
            for mode in rows.modes(program(spoken.framework, workload)):
                worker.load(*arrays, mode=mode)
                found = worker.found()
                assert found.keys() == expected.keys()
                for name, a in expected.items():
                    np.testing.assert_allclose(found[name], np.reshape(a, -1), rtol=1e-5, atol=1e-5, err_msg=mode)
                assert len(worker.ask("run", seconds=0.0, least=2)["ms"]) == 2


@needs_interpreter
@pytest.mark.parametrize("spoken, workload", programs(PACKAGES))
def test_networks_agree_with_steles(spoken: Spoken, workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                    ) -> None:
    monkeypatch.setattr(bench, "SLOW", float("inf"))
    row = Row(workload, workload, TINY[workload], flops=1.0)
    run = Bench({"stele": Path(sys.executable), spoken.framework: spoken.interpreter or Path()}, 2, BRISK,
                lambda line: None, tmp_path)
    run.run({workload: [row]})
    for e in run.entries:
        assert not e.note and e.verdict.agrees and e.ms > 0 and e.cold and e.memory, e
        assert e.steps == (10 if WORKLOADS[workload].trains else None)


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_what_learns_is_given_weights_and_compared_with_all_switches_off(spoken: Spoken, asking: Callable[..., Asked],
                                                                         tmp_path: Path) -> None:
    x, w = np.array([1.0, 2.0, 2.0]), np.array([3.0, 1.0, 0.5])
    (tmp_path / "weights").mkdir()
    for name, a in {"fc.w": w, "b": np.array(7)}.items():
        np.save(tmp_path / "weights" / f"{name}.npy", a)
    with asking(spoken.learns) as worker:
        worker.load(x, weights=str(tmp_path / "weights"), trains=True, dropout=True)
        found = worker.found(steps=3)
        assert worker.ask("run", seconds=0.0, least=2)["ms"]
        again = worker.found("again", steps=2)
    losses = [6.0, 1.5, -3.0, -7.5]     # each step takes half of x, whose square is 9; with dropout nothing
    expected = {"first loss": losses[:1], "losses": losses[:3], "loss after training": losses[3:],
                "gradient of fc.w": x, "gradient of b": [7]}
    assert found.keys() == {*expected, *(f"norm of {name}" for name in expected)}
    for name, a in expected.items():
        np.testing.assert_array_equal(found[name], a)
        np.testing.assert_allclose(found[f"norm of {name}"], [np.linalg.norm(a)], rtol=1e-12)
    np.testing.assert_array_equal(again["losses"], losses[:2])


@needs_interpreter
@pytest.mark.parametrize("spoken, workload", programs(SPOKEN | PACKAGES))
def test_programs_run_on_their_own(spoken: Spoken, workload: str) -> None:
    options, path = spoken.language.worker[:-1], program(spoken.framework, workload)
    done = subprocess.run([str(part) for part in (spoken.interpreter, *options, path)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0 and re.search(r"\d", done.stdout) and not done.stderr, done


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_a_run_beside_stele_agrees(spoken: Spoken, tmp_path: Path) -> None:
    pythons = {"stele": Path(sys.executable), spoken.framework: spoken.interpreter or Path()}
    run = Bench(pythons, 2, BRISK, lambda line: None, tmp_path)
    run.run({"unique": [Row("unique", "unique", {"count": 1000, "below": 500})]})
    assert all(e.verdict.agrees and e.ms > 0 and e.cold and e.memory and not e.note for e in run.entries), run.entries
    assert all(e.keeping for e in run.entries), "told to keep its memory, or started so"


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_large_results_are_sampled_as_python_does(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    x = np.random.default_rng(0).standard_normal((3, 100_000), np.float32)
    with asking("first") as worker:
        worker.load(x)
        found, expected = worker.found(), sampled("y", x)
    np.testing.assert_array_equal(found["y"], expected["y"])
    np.testing.assert_allclose(found["norm of y"], [expected["norm of y"]], rtol=1e-12)


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_arrays_are_read_as_they_lie_in_memory(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    long = [np.array([-7, 2**40, -2**40])] if spoken is IN_JULIA else []
    with asking("first") as worker:
        for x in (np.array([-2.0, 3.0], "f4"), np.array([-1e300, 3]), np.array([-7, 0, 2**31 - 1]),
                  np.array([-7, 2**31 - 1], "i4"), np.arange(24.0).reshape(2, 3, 4), *long):
            worker.load(x)
            np.testing.assert_array_equal(worker.found()["y"], x.reshape(-1))


@needs_interpreter
@pytest.mark.parametrize("spoken, x, why", [
    *((IN_R, np.array([n]), "R has no integers of more than 32 bits") for n in (2**31, -2**31)),
    *((spoken, np.array([True]), "numbers of type .b1 are none that this worker reads") for spoken in SPOKEN.values()),
    *((spoken, np.ones((2, 3)).T, "the columns of an array are together, where this worker reads rows")
      for spoken in SPOKEN.values())])
def test_what_a_worker_cannot_read_is_refused(spoken: Spoken, x: np.ndarray, why: str, asking: Callable[..., Asked]
                                              ) -> None:
    with asking("first") as worker, pytest.raises(Died, match=f"^Error: {why}"):
        worker.load(x)


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_the_dead_are_named_and_what_they_print_is_no_answer(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    with asking("prints") as worker:
        worker.load("text")
        assert worker.ask("call")["seconds"] >= 0 and worker.ask("keep") == {"kept": spoken.keeps}
        assert worker.ask("memory")["mb"] > 10
    with asking("stops") as worker, pytest.raises(Died, match=r"^Error: no such number"):
        worker.load()
        worker.ask("call")


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_of_files_are_found_in_every_locale(spoken: Spoken, locale: str, asking: Callable[..., Asked],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    with asking("first") as worker:
        worker.load(np.arange(3.0))
        assert list(worker.found("größe \\ 😀")["y"]) == [0, 1, 2]


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_calls_are_timed(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    with asking("sleeps") as worker:
        worker.load()
        assert 0.03 < worker.ask("call")["seconds"] < 5
        answer = worker.ask("run", seconds=0.1, least=1)
    assert 1 <= len(answer["ms"]) <= 4 and min(answer["ms"]) > 30 and answer["foreign"] > -1


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_threads_are_held(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    with asking("threads") as worker:
        worker.load()
        assert list(worker.found()["y"]) == [1, 1, 1]


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_a_worker_ends_with_its_parent(spoken: Spoken, asking: Callable[..., Asked]) -> None:
    worker = asking("works")
    worker.load()
    worker.tell("call")
    assert worker.process.stdin
    worker.process.stdin.close()        # as it is where the parent was killed
    begin = time.monotonic()
    assert worker.process.wait(20) == 0 and time.monotonic() - begin < 20
    worker.errors.close()


@needs_interpreter
@pytest.mark.parametrize("spoken", EACH)
def test_what_an_interpreter_says_of_itself(spoken: Spoken) -> None:
    about = probe.installed([spoken.framework], {}, 1)[spoken.framework]
    assert about and re.fullmatch(spoken.version, about.version) and (about.installed_mb or 0) > 1
    assert 0 <= about.import_s < 30


@needs_interpreter
@pytest.mark.parametrize("spoken", [IN_R])
def test_what_an_interpreter_says_of_a_package(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRAMEWORKS, "splines", Framework("splines", ("splines",), "", R))
    own, about = (probe.probe(name, spoken.interpreter or Path(), 1) for name in ("r", "splines"))
    assert own and about and re.fullmatch(rf"(\d+\.\d+\.\d+), R \1 {re.escape(own.version.split(' ', 1)[1])}",
                                          about.version)
    assert about.installed_mb == own.installed_mb, "R comes with it"
    monkeypatch.setitem(FRAMEWORKS, "splines", Framework("no.such", ("no.such",), "make it", R))
    assert probe.installed(["splines"], {}, 1) == {"splines": None}
    with pytest.raises(ConfigError, match=r"an R that has no\.such, and \S+ does not load it.* by make it"):
        probe.installed(["splines"], {"splines": spoken.interpreter or Path()}, 1)


@needs_interpreter
@pytest.mark.parametrize("spoken", [IN_R])
def test_r_itself_is_no_rscript(spoken: Spoken) -> None:
    with pytest.raises(ConfigError, match=r"Write --python r=/usr/bin/Rscript"):
        probe.installed(["r"], {"r": (spoken.interpreter or Path()).with_name("R")}, 1)
