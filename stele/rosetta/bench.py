"""The benchmark: heats of every mode of every framework, then finals of the fastest, interleaved in fresh processes."""
from __future__ import annotations

import importlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from stele.rosetta.compare import Numbers, Verdict, verdicts
from stele.rosetta.languages import LANGUAGES
from stele.rosetta.process import Died, Process
from stele.rosetta.rows import WORKLOADS, Row, modes, program

SLOW = 20.0             # a mode whose second call takes so many times the best is sampled once
REST = 0.5              # seconds after which the threads of an idle framework have stopped to look for work
CONTENDERS = 5          # peers in a final
LEADERS, CLOSE = 3.0, 1.25      # the best mode of a framework is in a final within the first, others within the second
ROOM = 0.7              # of the memory that is available, for all in a final together
STEPS, CHECK_SECONDS = 10, 6.0


@dataclass(frozen=True)
class Effort:
    """How long things are measured."""

    heat: float                 # seconds of a mode in a heat, for each allocator
    processes: int              # fresh processes of each contender in a final; 0: no finals
    laps: int = 5               # turns of a contender in each process
    turn: float = 0.25          # seconds of a turn


FULL, QUICK = Effort(0.25, 2), Effort(0.15, 0)


@dataclass
class Entry:
    """What is known of one mode of a framework on one row."""

    row: Row
    framework: str
    mode: str
    installed: list[float] = field(default_factory=list)    # ms with the C allocator as it is installed
    keeping: list[float] = field(default_factory=list)      # ms with one that keeps its memory
    final: list[float] = field(default_factory=list)        # ms in the finals, with the better of the two
    cold: float | None = None           # seconds of the first call with empty caches
    warm: float | None = None           # the same in another process
    memory: float | None = None         # megabytes at most
    room: float = 0.0                   # the same where the allocator keeps memory, in the heat
    processes: int = 1                  # that the samples come from
    foreign: float = 0.0                # CPUs that others used, at most
    steps: int | None = None            # of training that were compared
    verdict: Verdict = field(default_factory=lambda: Verdict(None))
    note: str = ""

    @property
    def precision(self) -> str:
        """What the mode computes in."""
        return next((word for word in ("bf16", "tf32", "float64", "int32") if word in self.mode.split()), "float32")

    @property
    def league(self) -> str:
        """The precision it is compared and ranked by: what computes in more, or in integers, is beside float32."""
        return self.precision if self.precision in ("bf16", "tf32") else "float32"

    @property
    def keeps(self) -> bool:
        """Whether keeping memory made it faster."""
        return bool(self.keeping) and median(self.keeping) < median(self.installed)

    @property
    def samples(self) -> list[float]:
        """The milliseconds that count."""
        return self.final or (self.keeping if self.keeps else self.installed)

    @property
    def ms(self) -> float:
        return median(self.samples) if self.samples else float("inf")


@dataclass
class Bench:
    """A run: `entries` grow as it goes, so that what was measured is there when it is interrupted."""

    pythons: Mapping[str, Path]         # of each framework that is installed
    threads: int
    effort: Effort
    say: Callable[[str], None]
    folder: Path
    entries: list[Entry] = field(default_factory=list)

    def run(self, chosen: Mapping[str, Sequence[Row]]) -> None:
        """All rows, workload by workload."""
        for workload, rows in chosen.items():
            weights = draw_weights(workload, self.folder) if WORKLOADS[workload].model else None
            found: dict[str, dict[tuple[str, str], Numbers]] = {row.name: {} for row in rows}
            for framework in self.pythons:
                if program(framework, workload).exists():
                    self.heats(framework, workload, rows, weights, found)
                else:
                    self.say(f"{workload}: no program for {framework}")
            for row in rows:
                entries = [e for e in self.entries if e.row is row]
                judged = verdicts(found[row.name], {(e.framework, e.mode): e.league for e in entries},
                                  WORKLOADS[workload].rounds)
                for e in entries:
                    e.verdict = judged.get((e.framework, e.mode), e.verdict)
                if self.effort.processes:
                    self.final(contenders(entries), weights)
                shutil.rmtree(self.folder / f"inputs-{row.name}", ignore_errors=True)

    def heats(self, framework: str, workload: str, rows: Sequence[Row], weights: Path | None,
              found: dict[str, dict[tuple[str, str], Numbers]]) -> None:
        """Every mode of a framework on the rows of a workload, a process for each mode; one more where it cannot be
        told later that its allocator is to keep memory."""
        path = program(framework, workload)
        for number, mode in enumerate(modes(path)):
            self.say(f"{workload}: {framework} {mode}")
            entries = [Entry(row, framework, mode) for row in rows]
            self.entries += entries
            cache = self.folder / f"{framework}-{workload}-heat-{number}"
            try:
                with Process(self.pythons[framework], path, self.threads, cache) as process:
                    self.heat(process, entries, weights, found)
                    quick = [e for e in entries if not e.note]
                    if not quick:
                        continue
                    if told := process.ask("keep")["kept"]:
                        self.keep(process, quick, weights, loaded=len(entries) == 1)
                if not told:
                    with Process(self.pythons[framework], path, self.threads, cache, keeping=True) as process:
                        self.keep(process, quick, weights)
            except Died as death:
                for e in entries:
                    e.note = e.note if e.installed else f"died: {death}"

    def heat(self, process: Process, entries: Sequence[Entry], weights: Path | None,
             found: dict[str, dict[tuple[str, str], Numbers]]) -> None:
        """Results to be compared first, then calls as installed."""
        trains = WORKLOADS[entries[0].row.workload].trains
        for e in entries:
            results = self.folder / f"{e.framework}-{e.row.name}.npz"
            process.ask("load", **self.loading(e, weights))
            answer = process.ask("check", path=str(results), steps=STEPS, seconds=CHECK_SECONDS)
            e.cold, e.steps = answer["seconds"], answer["steps"] if trains else None
            found[e.row.name][e.framework, e.mode] = fetched(results)
            if trains:
                process.ask("call")     # of the model with dropout, which compiles anew
            if (once := self.second_call(process, e.row)) is not None:
                e.installed, e.note = [once], "sampled once"
            else:
                self.take(process, e, e.installed, self.effort.heat)
            e.memory = process.ask("memory")["mb"]

    def keep(self, process: Process, entries: Sequence[Entry], weights: Path | None, loaded: bool = False) -> None:
        """Calls with an allocator that keeps memory; of an entry whose inputs are `loaded` they go on."""
        for e in entries:
            if not loaded:
                process.ask("load", **self.loading(e, weights))
                process.ask("call")
            self.take(process, e, e.keeping, self.effort.heat)
            e.room = process.ask("memory")["mb"]

    def second_call(self, process: Process, row: Row) -> float | None:
        """The milliseconds of a mode that is too slow for more; the best of some calls one after the other where they
        are short, since a single one behind a rest, which finds nothing awake, may take ten times as long."""
        limit, ms = SLOW * self.best(row), process.ask("call")["seconds"] * 1e3
        if limit < ms < 1000:
            ms = min(process.ask("run", seconds=0.05, least=3)["ms"])
        return ms if ms > limit else None

    def best(self, row: Row) -> float:
        """The least milliseconds on a row so far."""
        return min((e.ms for e in self.entries if e.row is row and e.league == "float32"), default=float("inf"))

    def take(self, process: Process, e: Entry, samples: list[float], seconds: float, least: int = 3) -> None:
        """Some more samples."""
        answer = process.ask("run", seconds=seconds, least=least)
        samples += answer["ms"]
        e.foreign = max(e.foreign, answer["foreign"])

    def final(self, entries: Sequence[Entry], weights: Path | None) -> None:
        """The contenders again, interleaved: fresh processes, the first ones with empty caches."""
        if not entries:
            return
        self.say(f"{entries[0].row.name}: final of {', '.join(f'{e.framework} {e.mode}' for e in entries)}")
        for number in range(self.effort.processes + (min(e.ms for e in entries) < 1)):
            self.generation([e for e in entries if not e.note], weights, number)

    def generation(self, entries: Sequence[Entry], weights: Path | None, number: int) -> None:
        """One process for each contender, and turns in them; whose process dies drops out."""
        with ExitStack() as stack:
            race = [(e, stack.enter_context(self.finalist(e))) for e in entries]

            def each(part: Callable[[Entry, Process], object]) -> None:
                for e, process in race:
                    try:
                        if not e.note:
                            part(e, process)
                    except Died as death:
                        e.note = f"left the final: {death}"

            def first_call(e: Entry, process: Process) -> None:
                first = process.ask("call")["seconds"]
                e.cold, e.warm = (first, e.warm) if number == 0 else (e.cold, min(first, e.warm or first))
                process.ask("call")
                time.sleep(REST)

            def memory(e: Entry, process: Process) -> None:
                peak = process.ask("memory")["mb"]
                e.memory, e.processes = peak if number == 0 else max(peak, e.memory or 0), number + 1

            each(lambda e, process: process.tell("load", **self.loading(e, weights)))
            each(lambda e, process: process.answer())
            time.sleep(4 * REST)    # what was loaded last is busy the longest
            each(first_call)
            for _ in range(self.effort.laps):
                each(lambda e, process: self.take(process, e, e.final, self.effort.turn, least=1))
            each(memory)

    def loading(self, e: Entry, weights: Path | None) -> dict[str, Any]:
        """The arguments of `load`: programs in Python draw their inputs and read an .npz file, others find what Stele's
        draws, and each of the weights, in a file of its own."""
        workload = WORKLOADS[e.row.workload]
        draws = LANGUAGES[program(e.framework, e.row.workload).suffix].draws
        return {"mode": e.mode, **({"sizes": dict(e.row.sizes)} if draws else {"inputs": str(self.inputs(e.row))}),
                **({"weights": str(weights if draws else unpacked(weights))} if weights else {}),
                **({"trains": True} if workload.trains else {}), **({"dropout": True} if workload.dropout else {})}

    def inputs(self, row: Row) -> Path:
        """A folder of .npy files with the inputs of a row, in their order."""
        folder = self.folder / f"inputs-{row.name}"
        if not folder.exists():
            folder.mkdir()
            drawn = importlib.import_module(f"stele.rosetta.stele.{row.workload}").data(**row.sizes)
            for number, array in enumerate(drawn):
                np.save(folder / f"{number:02}.npy", array)
        return folder

    def finalist(self, e: Entry) -> Process:
        name = f"{e.framework}-{e.mode}-{e.row.name}"
        cache = self.folder / name.replace(" ", "-")    # compilers that frameworks call split paths at spaces
        return Process(self.pythons[e.framework], program(e.framework, e.row.workload), self.threads, cache, e.keeps)


def contenders(entries: Sequence[Entry]) -> list[Entry]:
    """Who is in the final of a row: Stele, and peers that may be the best; nobody whose numbers are wrong."""
    fit = sorted((e for e in entries if e.verdict.agrees is not False and e.league == "float32" and not e.note),
                 key=lambda e: e.ms)
    ours, peers = ([e for e in fit if (e.framework == "stele") is own] for own in (True, False))
    first = {e.framework: e for e in reversed(peers)}
    best = min((e.ms for e in peers), default=0.0)
    wanted = [e for e in peers if e.ms <= best * (LEADERS if first[e.framework] is e else CLOSE)]
    invited, room = ours + wanted[:CONTENDERS], ROOM * memory_available()
    return [e for k, e in enumerate(invited) if sum(max(e.room, e.memory or 0) for e in invited[:k + 1]) < room]


def memory_available() -> float:
    """Megabytes that processes could still have."""
    return int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]) / 1024


def fetched(results: Path) -> Numbers:
    """What a worker left: an .npz file, or a folder of .npy files; it is gone afterwards."""
    if results.is_dir():
        found = {file.stem: np.load(file) for file in results.iterdir()}
        shutil.rmtree(results)
        return found
    with np.load(results) as arrays:
        found = dict(arrays)
    results.unlink()
    return found


def unpacked(arrays: Path) -> Path:
    """The folder of .npy files that hold what an .npz file does."""
    folder = arrays.with_suffix("")
    if not folder.exists():
        shutil.unpack_archive(arrays, folder, "zip")
    return folder


def draw_weights(workload: str, folder: Path) -> Path:
    """Weights for all frameworks, drawn by Stele's program; means and variances of batch-norms are not 0 and 1."""
    model = getattr(importlib.import_module(f"stele.rosetta.stele.{workload}"), WORKLOADS[workload].model)()
    rng, path = np.random.default_rng(0), folder / f"{workload}.npz"
    arrays = {name: x.numpy() for name, x in model.state_dict().items()}
    for name, a in arrays.items():
        if name.endswith("running_mean"):
            arrays[name] = rng.normal(0, 0.1, a.shape).astype(a.dtype)
        if name.endswith("running_var"):
            arrays[name] = rng.uniform(0.5, 1.5, a.shape).astype(a.dtype)
    np.savez(path, **arrays)
    return path
