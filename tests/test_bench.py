"""The benchmark of frameworks: its programs are translations of each other, and what it says of them is true."""
from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from stele.commands import bench as command
from stele.commands.options import BenchOptions
from stele.errors import ConfigError, DataError
from stele.rosetta import bench, isa, probe, rows
from stele.rosetta.accuracy import run_line
from stele.rosetta.bench import SLOW, STEPS, Bench, Effort, Entry, contenders
from stele.rosetta.compare import Verdict, verdicts
from stele.rosetta.languages import PYTHON
from stele.rosetta.machine import Machine
from stele.rosetta.markdown import HOW, markdown
from stele.rosetta.models import rows_of
from stele.rosetta.page import page
from stele.rosetta.probe import Installed
from stele.rosetta.process import KEEPING, Died, Process
from stele.rosetta.report import STAR, Findings, as_rows, cells, doubts, missing, starred, summary
from stele.rosetta.rows import FRAMEWORKS, ROWS, WORKLOADS, Row, chosen, program
from tests.replay.machines import MACHINES

PROGRAMS = [(f, w) for f in FRAMEWORKS for w in WORKLOADS if program(f, w).exists()
            and FRAMEWORKS[f].language is PYTHON]      # the others stand in tests/test_bench_languages.py
NAMED = [name for name, workload in WORKLOADS.items() if workload.rows]     # but for models of files
PARTS = "data", "place", "initialise", "step", "evaluate"
LEARNING = "data", "place", "initialise", "gradients", "step", "train", "evaluate"
TINY = {"cnn": {"batch": 2}, "gru": {"batch": 2}, "mlp": {"batch": 2}, "eager_mlp": {"batch": 2},
        "eager_act": {"batch": 1}, "overhead": {"case": "mlp"}, "transformer": {"batch": 1, "words": 4},
        "elementwise": {"count": 40}, "softmax_xent": {"count": 3, "classes": 7}, "layernorm": {"count": 3, "width": 8},
        "matmul": {"size": 9}, "conv": {"batch": 1, "inputs": 3, "outputs": 4, "edge": 6}, "resnet50": {"batch": 1},
        "densenet121": {"batch": 2, "edge": 64},
        "conv_kinds": {"batch": 1, "inputs": 4, "outputs": 4, "groups": 4, "edge": 6},
        "sort": {"rows": 3, "count": 9}, "topk": {"rows": 2, "count": 60}, "cumsum": {"count": 9},
        "scatter_add": {"count": 9, "places": 4}, "unique": {"count": 9, "below": 5},
        "searchsorted": {"size": 5, "count": 9}, "gather": {"rows": 5, "width": 4, "count": 3}}
LARGE = "resnet50", "densenet121"       # which compile for a minute
BRISK = Effort(0.01, 0)
MACHINE = Machine("a processor", 2, 1e11, 1e10)

FAKE = """
import sys
import numpy as np
MODES = "plain",
def data(count=4): return np.arange(count, dtype=np.float32),
def place(mode, x): return x,
def initialise(mode="plain"): return mode
def step(state, x): return {result}
def evaluate(state, x): return {{"z": step(state, x)}}
"""
FAKES = {"one": "x * 2", "two": "x + x", "wrong": "x * 2.5", "dead": "sys.exit('no memory left')"}
PLAIN = Row("plain", "plain", {"count": 8}, flops=16)


def tree(framework: str, workload: str) -> ast.Module:
    return ast.parse(program(framework, workload).read_text())


def functions(module: ast.Module) -> dict[str, ast.stmt]:
    """The functions and classes of a program by name, in order."""
    return {node.name: node for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("framework, workload", PROGRAMS)
def test_programs_have_the_same_parts_in_the_same_order(framework: str, workload: str) -> None:
    module = tree(framework, workload)
    names, expected = list(functions(module)), LEARNING if WORKLOADS[workload].trains else PARTS
    assert [name for name in names if name in LEARNING] == list(expected)
    if model := WORKLOADS[workload].model:
        assert names.index("place") < names.index(model) < names.index("initialise")
    assert rows.modes(program(framework, workload))
    assert isinstance(module.body[-1], ast.If), "it runs on its own"


@pytest.mark.parametrize("framework, workload", PROGRAMS)
def test_programs_see_the_same_data(framework: str, workload: str) -> None:
    own, ours = (ast.dump(functions(tree(name, workload))["data"]) for name in (framework, "stele"))
    assert own == ours


@pytest.mark.parametrize("framework, workload", PROGRAMS)
def test_programs_stand_alone(framework: str, workload: str) -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "stele" if framework == "stele" else FRAMEWORKS[framework].module,
               *{"jax": ("optax", "flax"), "tensorflow": ("keras",), "onnxruntime": ("onnx",), "mlx": ("mlx",)}
               .get(framework, ())}
    for node in ast.walk(tree(framework, workload)):
        found = [a.name for a in node.names] if isinstance(node, ast.Import) else \
            [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in found} <= {name.split(".")[0] for name in allowed}


def test_every_workload_is_there_in_stele_and_pytorch() -> None:
    assert {(f, w) for f in ("stele", "pytorch", "jax", "tensorflow") for w in NAMED} <= set(PROGRAMS)
    assert all(row.flops > 0 or row.traffic > 0 for row in ROWS.values())


@pytest.mark.parametrize("workload", [name for name in NAMED if name not in LARGE])
def test_our_programs_run(workload: str, tmp_path: Path) -> None:
    row = Row(workload, workload, TINY[workload], flops=1.0)
    run = Bench({"stele": Path(sys.executable)}, 2, BRISK, lambda line: None, tmp_path)
    run.run({workload: [row]})
    entry, = run.entries
    assert entry.verdict == Verdict(None) and not entry.note and entry.ms > 0
    assert entry.steps == (10 if WORKLOADS[workload].trains else None)
    assert entry.cold and entry.memory and len(entry.installed) >= 3


NETS = {"open": ("float[n,3] x, int64[n,2] k", "y = Relu(x)", ["-b1", "-b32"],
                 ["float32 1x3, int64 1x2", "float32 32x3, int64 32x2"]),
        "fixed": ("float[4,3] x, double s", "y = Relu(x)", [""], ["float32 4x3, float64 x"])}


def net(folder: Path, name: str, inputs: str, body: str) -> Path:
    """A file of a model with these inputs."""
    text = f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (float[n,3] y) {{{body}}}'
    onnx.save(onnx.parser.parse_model(text), str(file := folder / f"{name}.onnx"))
    return file


@pytest.mark.parametrize("name", NETS)
def test_a_model_of_a_file_has_rows(name: str, tmp_path: Path) -> None:
    inputs, body, ends, drawn = NETS[name]
    found = rows_of(net(tmp_path, name, inputs, body))
    assert [row.name for row in found] == [f"onnx-{name}{end}" for end in ends]
    assert [row.sizes["inputs"] for row in found] == drawn and all(row.traffic > 0 for row in found)
    run = Bench({"stele": Path(sys.executable)}, 2, BRISK, lambda line: None, tmp_path)
    run.run({"onnx_file": found})
    assert all(e.ms > 0 and not e.note and e.cold and e.memory for e in run.entries) and len(run.entries) == len(found)


def test_products_and_convolutions_of_a_model_are_counted(tmp_path: Path) -> None:
    of = {"matmul": "z = Transpose(x)\n  w = MatMul(x, z)\n  y = MatMul(w, x)",
          "looks": "z = NonZero(x)\n  y = Cast<to=1>(z)"}
    files = {name: net(tmp_path, name, "float[n,3] x", body) for name, body in of.items()}
    found = {name: [row.flops for row in rows_of(file)] for name, file in files.items()}
    assert found == {"matmul": [2 * 2 * 3 * n * n for n in (1, 32)], "looks": [0, 0]}


@pytest.mark.parametrize("inputs", ["float[n,m] x", "string[3] x", "bfloat16[3] x"])
def test_inputs_that_nobody_can_draw(inputs: str, tmp_path: Path) -> None:
    file = net(tmp_path, "odd", inputs, "y = Cast<to=1>(x)")
    with pytest.raises(DataError, match=r"odd\.onnx is no model for a benchmark.*its inputs are x"):
        command.asked(BenchOptions(models=(file,)))


def test_models_of_files_stand_in_the_place_of_all_or_beside_the_named(tmp_path: Path) -> None:
    file = net(tmp_path, "open", *NETS["open"][:2])
    assert [*command.asked(BenchOptions(models=(file,)))] == ["onnx_file"]
    assert [*command.asked(BenchOptions(models=(file,), workloads=("mlp",)))] == ["mlp", "onnx_file"]
    assert [*command.asked(BenchOptions())] == NAMED
    asked = ["bench", "--onnx", "a/b.onnx", "c.onnx", "--quick"]
    assert command.command(asked) == "stele bench --onnx b.onnx c.onnx --quick"


@pytest.mark.parametrize("workload", [w for framework, w in PROGRAMS if framework == "numpy"])
def test_our_programs_compute_what_numpys_do(workload: str) -> None:
    found = []
    for framework in ("stele", "numpy"):
        part = import_module(f"stele.rosetta.{framework}.{workload}")
        arrays = part.place(part.MODES[0], *part.data(**TINY[workload]))
        found.append(part.evaluate(part.initialise(part.MODES[0]), *arrays))
    assert found[0].keys() == found[1].keys()
    for name, y in found[0].items():
        np.testing.assert_allclose(y, found[1][name], rtol=1e-5, atol=1e-6)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Frameworks that compute with NumPy, some of them badly."""
    for name, result in FAKES.items():
        (tmp_path / f"{name}.py").write_text(FAKE.format(result=result))
    (tmp_path / "broken.py").write_text("import no_such_module\nMODES = 'plain',")
    monkeypatch.setattr(bench, "program", lambda framework, workload: tmp_path / f"{framework}.py")
    monkeypatch.setitem(rows.WORKLOADS, "plain", rows.Workload("nothing much", (PLAIN,)))
    yield tmp_path


def entries_of(folder: Path, *names: str, effort: Effort = BRISK) -> dict[str, Entry]:
    run = Bench(dict.fromkeys(names, Path(sys.executable)), 1, effort, lambda line: None, folder)
    run.run({"plain": [PLAIN]})
    return {e.framework: e for e in run.entries}


def test_who_disagrees_is_marked_and_not_ranked(fakes: Path) -> None:
    found = entries_of(fakes, "one", "two", "wrong")
    assert found["one"].verdict.agrees and found["two"].verdict.agrees
    verdict = found["wrong"].verdict
    assert verdict.agrees is False and verdict.difference == pytest.approx(0.25) and verdict.where == "z"
    text = cells(found["wrong"], found["one"].ms, Findings(MACHINE, {}, list(found.values())))
    assert "NO: 2e-01 in z" in text and text[4] == ""


def test_two_who_disagree_are_both_marked(fakes: Path) -> None:
    assert [e.verdict.agrees for e in entries_of(fakes, "one", "wrong").values()] == [False, False]


def test_the_dead_are_named(fakes: Path) -> None:
    found = entries_of(fakes, "one", "dead", "broken", "two")
    assert found["dead"].note == "died: no memory left" and not found["dead"].samples
    assert "No module named 'no_such_module'" in found["broken"].note
    assert found["one"].verdict.agrees and found["two"].verdict.agrees


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finals with all, however fast they are, and at once."""
    monkeypatch.setattr(bench, "REST", 0.0)
    monkeypatch.setattr(bench, "LEADERS", float("inf"))
    monkeypatch.setattr(bench, "SLOW", float("inf"))


def test_finals_are_fresh_processes(fakes: Path, everybody: None) -> None:
    found = entries_of(fakes, "one", "two", effort=Effort(0.01, 2, laps=2, turn=0.01))
    assert all(e.processes == 3 and e.final and e.cold is not None and e.warm is not None for e in found.values())


def test_who_dies_in_a_final_drops_out_alone(fakes: Path, everybody: None) -> None:
    result = "x * 2 if 'heat' in __import__('os').environ['STELE_CACHE'] else 1 / 0"
    (fakes / "dies.py").write_text(FAKE.format(result=result))
    found = entries_of(fakes, "one", "two", "dies", effort=Effort(0.01, 2, laps=2, turn=0.01))
    assert found["dies"].note == "left the final: ZeroDivisionError: division by zero" and not found["dies"].final
    assert [(found[name].processes, found[name].note) for name in ("one", "two")] == [(3, "")] * 2


def test_a_slow_mode_is_sampled_once(fakes: Path) -> None:
    (fakes / "slow.py").write_text(FAKE.format(result="(__import__('time').sleep(0.2), x * 2)[1]"))
    found = entries_of(fakes, "one", "slow")
    assert found["slow"].note == "sampled once" and len(found["slow"].samples) == 1 and found["slow"].verdict.agrees


def test_a_mode_that_is_slow_at_first_is_not_a_slow_mode(fakes: Path) -> None:
    count, sleep = "setattr(step, 'n', getattr(step, 'n', 0) + 1)", "__import__('time').sleep(0.01)"
    (fakes / "late.py").write_text(FAKE.format(result=f"({count}, step.n < 5 and {sleep}, x * 2)[2]"))
    found = entries_of(fakes, "one", "late")
    assert found["late"].note == "" and len(found["late"].samples) > 1


def test_a_process_ends_with_its_block(fakes: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Process(Path(sys.executable), fakes / "one.py", 1, fakes) as process:
        assert process.ask("load", mode="plain", sizes={}, trains=False) == {}
        raise KeyboardInterrupt
    assert process.process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.process.pid, 0)


def test_a_worker_ends_with_its_parent(fakes: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from stele.rosetta.process import Process
process = Process(Path(sys.executable), Path({str(fakes / 'slow.py')!r}), 1, Path({str(fakes)!r}))
process.ask("load", mode="plain", sizes={{}}, trains=False)
process.tell("call")
print(process.process.pid, flush=True)
sys.stdin.read()
"""
    (fakes / "slow.py").write_text(FAKE.format(result="__import__('time').sleep(60)"))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as parent:
        assert parent.stdout
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists() or ") Z " in Path(f"/proc/{worker}/stat").read_text():
            return
        time.sleep(0.05)
    raise AssertionError("the worker lives on")


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0")
    process = Process(Path(sys.executable), tmp_path / "bad.py", 1, tmp_path)
    with pytest.raises(Died, match="ZeroDivisionError"), process:
        process.ask("load", mode="plain", sizes={}, trains=False)


def numbers(scale: float, **more: np.ndarray) -> dict[str, np.ndarray]:
    return {"y": np.linspace(1, 2, 5) * scale, **more}


def test_the_reference_is_what_most_agree_on() -> None:
    found = {("a", "x"): numbers(3), ("b", "x"): numbers(1), ("c", "x"): numbers(1 + 1e-5),
             ("c", "y bf16"): numbers(1.02)}
    judged = verdicts(found, {key: "bf16" if "bf16" in key[1] else "float32" for key in found})
    assert [judged[key].agrees for key in found] == [False, True, True, True]


def test_gradients_may_be_further_off_than_losses() -> None:
    for name, fine in (("gradient of conv1.bias", True), ("losses", False)):
        found = {("a", "x"): numbers(1, **{name: np.ones(3)}), ("b", "x"): numbers(1, **{name: np.full(3, 1.005)})}
        assert {v.agrees for v in verdicts(found, dict.fromkeys(found, "float32")).values()} == {fine}


def test_modes_of_one_framework_do_not_confirm_each_other() -> None:
    found = {("a", "x"): numbers(1), ("a", "y"): numbers(1)}
    assert set(verdicts(found, dict.fromkeys(found, "float32")).values()) == {Verdict(None)}


def test_what_is_missing_or_not_finite_is_a_difference() -> None:
    for other in ({}, numbers(np.nan), {"y": np.ones(4)}, numbers(1, z=np.ones(1))):
        found = {("a", "x"): numbers(1), ("b", "x"): other}
        assert [v.agrees for v in verdicts(found, dict.fromkeys(found, "float32")).values()] == [False, False]


def test_a_training_that_was_cut_short_is_compared_as_far_as_it_went() -> None:
    found = {("a", "x"): numbers(1, losses=np.array([3.0, 2.0, 1.0])), ("b", "x"): numbers(1, losses=np.array([3.0]))}
    assert all(v.agrees for v in verdicts(found, dict.fromkeys(found, "float32")).values())


def entry(framework: str, ms: float, agrees: bool | None = True, mode: str = "m") -> Entry:
    return Entry(PLAIN, framework, mode, installed=[ms, ms * 1.1, ms * 0.9], memory=100.0, cold=0.5,
                 verdict=Verdict(agrees, None if agrees is None else 0.0, "z", agrees is False))


def test_finals_are_for_those_who_may_win() -> None:
    fit = [entry("stele", 9), entry("pytorch", 1), entry("pytorch", 1.2, mode="n"), entry("pytorch", 2, mode="o"),
           entry("jax", 2.9), entry("mlx", 4), entry("tinygrad", 0.1, agrees=False), entry("numpy", 0.5, mode="bf16")]
    assert [(e.framework, e.mode) for e in contenders(fit)] == [("stele", "m"), ("pytorch", "m"), ("pytorch", "n"),
                                                                ("jax", "m")]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Findings:
    monkeypatch.setitem(rows.WORKLOADS, "plain", rows.Workload("a <chain>", (PLAIN,)))
    here = Installed(Path(sys.executable), "1.0", 0.25, 12.0)
    entries = [entry("stele", 1.0), entry("jax", 2.0), entry("mlx", 0.5, agrees=None), entry("pytorch", 0.1, False)]
    dead = Entry(PLAIN, "tensorflow", "graph", note="died: no <memory>")
    frameworks = {e.framework: here for e in [*entries, dead]} | {"tinygrad": None}
    return Findings(MACHINE, frameworks, [*entries, dead], [("cnn", "CIFAR-10", "0", "10", "0.78", "0.6", "20", "600")],
                    "stele bench", "1 May 2026")


def test_rows_for_json(found: Findings) -> None:
    lines = json.loads(json.dumps(as_rows(found)))
    assert {"workload", "framework", "mode", "ms", "ms_min", "ms_max", "first_call_s", "peak_rss_mb", "agrees",
            "fraction_of_peak", "precision", "processes"} <= lines[0].keys()
    assert [line["framework"] for line in lines] == ["stele", "jax", "pytorch", "mlx", "tensorflow"]
    assert lines[0]["fraction_of_peak"] == pytest.approx(16 / 1e11 * 1e3, abs=1e-4)
    assert lines[-1]["ms"] is None and lines[-1]["note"] == "died: no <memory>"


def test_what_was_measured_once_or_beside_other_work_is_marked(found: Findings) -> None:
    once, beside = entry("jax", 2.0), entry("stele", 1.0)
    once.installed[1:], beside.foreign = [], 1.25
    marked = Findings(MACHINE, found.frameworks, [once, beside, found.entries[2]])
    assert not starred(found) and [doubts(e) for e in marked.entries] == [
        ["measured once"], ["others used 1.2 CPUs"], []]
    assert cells(once, 1.0, marked)[2] == "2 *" and "1 call in" in cells(once, 1.0, marked)[-1]
    line, = summary(marked)
    assert (line[1], line[4]) == ("1 *", "2 *")
    assert as_rows(marked)[0]["doubts"] == ["others used 1.2 CPUs"]
    assert page(marked).count('doubtful"') == 2 and "2 * <" in page(marked) and STAR in page(marked)
    assert STAR not in page(found) and 'doubtful"' not in page(found) and "| 2 * |" in markdown(marked)


def test_the_summary_ranks_only_what_agrees(found: Findings) -> None:
    line, = summary(found)
    assert line[:2] == ("plain", "1") and line[3] == "jax m" and line[6] == "2.00"
    assert missing(found) == ["tinygrad: not installed; pip install tinygrad, or --python tinygrad=PATH"]


def test_markdown(found: Findings) -> None:
    text = markdown(found)
    for words in ("Written by `stele bench` on 1 May 2026", "a processor, 2 threads", "## plain", "| stele | m | 1 |",
                  "not compared", "NO: ", "died: no <memory>", "| tinygrad | not installed |", "CIFAR-10"):
        assert words in text
    lines = [line for line in text.split("## plain")[1].splitlines() if "| framework" in line or "| m |" in line]
    assert len(lines) == 5 and len({line.count("|") for line in lines}) == 1


def test_the_method_is_described_as_it_is() -> None:
    words = " ".join(HOW.split())
    assert f"more than {SLOW:.0f} times the best" in words and STEPS == 10 and "ten losses of training" in words
    assert KEEPING["MALLOC_MMAP_MAX_"] == "0" and WORKLOADS["cnn"].dropout and "with dropout off" in words


class Checker(HTMLParser):
    """Holds that tags close in order and nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name == "src" or (name == "href" and not (value or "").startswith("data:"))
                       for name, value in attrs)
        if tag not in ("meta", "link", "br", "path", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page(found: Findings) -> None:
    text, checker = page(found), Checker()
    checker.feed(text)
    assert not checker.open
    assert "a &lt;chain&gt;" in text and "2.00 x" in text and "not compared" in text and "<chain>" not in text


def test_missing_frameworks_are_found_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRAMEWORKS, "mlx", rows.Framework("no_such_module", ("mlx",), "mlx"))
    assert probe.probe("mlx", Path(sys.executable), 1) is None
    about = probe.probe("numpy", Path(sys.executable), 1)
    assert about and about.version == np.__version__ and about.import_s > 0 and (about.installed_mb or 0) > 1


def test_interrupted_it_shows_what_was_measured(fakes: Path, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "installed", lambda *_: dict.fromkeys(
        ("one", "two"), Installed(Path(sys.executable), "1", 0.1, None)))
    monkeypatch.setattr(command, "measure", lambda threads: MACHINE)
    monkeypatch.setattr(command, "chosen", lambda names: {"plain": [PLAIN]})
    once = Bench.heat

    def heat(self: Bench, process: Process, entries: list[Entry], *rest: object) -> None:
        if entries[0].framework == "two":
            raise KeyboardInterrupt
        once(self, process, entries, *rest)     # type: ignore[arg-type]

    monkeypatch.setattr(Bench, "heat", heat)
    out = fakes / "rows.json"
    with pytest.raises(KeyboardInterrupt):
        command.bench(BenchOptions((), (), {}, quick=True, threads=1, json=out))
    assert "plain: nothing much" in capsys.readouterr().out
    assert [line["framework"] for line in json.loads(out.read_text())] == ["one", "two"]


def test_names_choose_rows() -> None:
    assert [r.name for part in chosen(["conv1x1", "mlp"]).values() for r in part] == ["mlp", "conv1x1"]
    assert [*chosen([])] == NAMED


def test_accuracies_come_from_run_folders(tmp_path: Path) -> None:
    history = {"meta": {"workload": "gru", "data": "IMDB", "seed": 3, "peak_memory_mb": 300}, "epochs": [
        {"test_accuracy": 0.5, "test_loss": 0.7, "seconds": 10.0},
        {"test_accuracy": 0.8625, "test_loss": 0.3, "seconds": 12}]}
    (tmp_path / "history.json").write_text(json.dumps(history))
    assert run_line(tmp_path) == ("gru", "IMDB", "3", "2", "0.8625", "0.3000", "11.0", "300")
    with pytest.raises(DataError, match="holds no epoch with a test accuracy"):
        run_line(tmp_path / "none")


def test_a_limit_holds_for_all_that_obey(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: dict[str, object] = {}

    def installed(names: list[str], *_: object) -> dict[str, None]:
        asked.update(names=names, target=os.environ["STELE_TARGET"], onednn=os.environ["ONEDNN_MAX_CPU_ISA"])
        return dict.fromkeys(names)

    for name, text in isa.LIMITS["avx2"].items():
        monkeypatch.setenv(name, text)      # what the command sets goes with the test
    monkeypatch.setattr(command, "installed", installed)
    monkeypatch.setattr(command, "measure", lambda threads: MACHINE)
    monkeypatch.setattr(command, "left_out", lambda limit: f"left out under {limit}")
    command.bench(BenchOptions(("plain",), (), {}, quick=True, threads=1, isa="avx2"))
    assert asked == {"names": list(isa.OBEYING), "target": "x86-64-v3", "onednn": "AVX2"}
    assert "onnxruntime: left out under avx2" in capsys.readouterr().out


def test_a_limit_is_refused_where_a_machine_has_less(monkeypatch: pytest.MonkeyPatch) -> None:
    for width, why in ((64, "uses all"), (32, "")):
        monkeypatch.setattr(isa, "detect", lambda width=width: replace(MACHINES["zen4"], vector_bytes=width))
        assert isa.left_out("native") == "" and why in isa.left_out("avx2") and bool(isa.left_out("avx2")) == bool(why)
    monkeypatch.setattr(isa, "detect", lambda: MACHINES["neon"])
    with pytest.raises(ConfigError, match="needs a processor with AVX2"):
        isa.left_out("avx2")
