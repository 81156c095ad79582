"""Runs one program of the benchmark in the interpreter that has its framework, told what to do line by line.

    python worker.py PROGRAM THREADS

A line on standard input is a JSON object {"do": ..., ...}, the answer to it one on standard output. It needs no more
than NumPy beside the framework.
"""
from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE = 1 << 17      # elements that are kept of a result
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
PR_SET_PDEATHSIG = 1


class Worker:
    """A program with its model and inputs; each method is a command."""

    def __init__(self, path: str) -> None:
        spec = importlib.util.spec_from_file_location(Path(path).stem, path)
        assert spec and spec.loader
        self.program: Any = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.program
        spec.loader.exec_module(self.program)

    def load(self, mode: str, sizes: dict[str, int], weights: str | None = None, trains: bool = False, **options: bool
             ) -> dict[str, Any]:
        """Makes the model anew, on weights from an .npz file where they are given, and its inputs."""
        self.state = self.inputs = None
        gc.collect()
        self.mode, self.trains, self.options = mode, trains, options
        if weights:
            with np.load(weights) as arrays:
                self.options = {**options, "weights": dict(arrays)}
        self.inputs = self.program.place(mode, *self.program.data(**sizes))
        self.renew()
        self.quick = True
        Path("/proc/self/clear_refs").write_text("5")
        return {}

    def renew(self, **options: bool) -> None:
        """A model as it was at the beginning."""
        self.state = self.program.initialise(self.mode, **{**self.options, **options})

    def step(self) -> Any:
        """One step, with the numbers there: of a training the loss is read."""
        result = self.program.step(self.state, *self.inputs)
        return float(result) if self.trains else result

    def call(self) -> dict[str, Any]:
        """One call: the seconds it took, those that processors worked for it and what it started, and of a training the
        loss."""
        start, before = time.perf_counter(), work()
        result = self.step()
        seconds = time.perf_counter() - start
        self.quick = seconds < 0.05
        return {"seconds": seconds, "worked": work() - before, **({"loss": result} if self.trains else {})}

    def run(self, seconds: float, least: int = 1, most: int = 2000, worked: bool = False) -> dict[str, Any]:
        """Calls for some time: the milliseconds of each, and how many CPUs others were using meanwhile.

        `worked` counts what this process worked instead of what passed, for machines that others use.
        """
        clock = time.process_time if worked else time.perf_counter
        if self.quick:
            self.step()     # wakes the threads
        busy, own, begin = busy_seconds(), sum(os.times()[:2]), time.perf_counter()
        times: list[float] = []
        while len(times) < least or (len(times) < most and time.perf_counter() - begin < seconds):
            start = clock()
            self.step()
            times.append((clock() - start) * 1e3)
        wall = time.perf_counter() - begin
        others = (busy_seconds() - busy) - (sum(os.times()[:2]) - own)
        self.quick = times[-1] < 50
        return {"ms": times, "foreign": others / wall if wall > 0.1 else 0.0}

    def check(self, path: str, steps: int, seconds: float) -> dict[str, Any]:
        """Leaves samples of all results in an .npz file: gradients and the losses of training, or what a step gives.

        Stops short of `steps` when that many seconds have passed since the first one; says how many there were, and
        the seconds of the first.
        """
        begin, losses = time.perf_counter(), []
        if self.trains:
            found, losses, begin, end = self.training(steps, seconds)
        else:
            found, end = self.program.evaluate(self.state, *self.inputs), time.perf_counter()
        parts = {name: part for key, a in found.items() for name, part in sampled(key, np.asarray(a)).items()}
        np.savez(path, **parts)
        return {"steps": len(losses), "seconds": end - begin}

    def training(self, steps: int, seconds: float) -> tuple[dict[str, Any], list[float], float, float]:
        """Results and losses of training without dropout, and when its first step began and ended."""
        self.renew(**({"dropout": False} if "dropout" in self.options else {}))
        loss, gradients = self.program.gradients(self.state, *self.inputs)
        found = {f"gradient of {name}": np.array(g) for name, g in gradients.items()} | {"first loss": np.array(loss)}
        begin = time.perf_counter()
        losses = [float(self.step())]
        end = time.perf_counter()
        while len(losses) < steps and time.perf_counter() < end + seconds:
            losses.append(float(self.step()))
        found["losses"] = np.array(losses)
        if len(losses) == steps:
            found["loss after training"] = np.array(self.program.evaluate(self.state, *self.inputs)[0])
        self.renew()
        return found, losses, begin, end

    def keep(self) -> dict[str, Any]:
        """From now on the C allocator keeps the memory that is freed, as MALLOC_MMAP_MAX_=0 and an endless
        MALLOC_TRIM_THRESHOLD_ make it do from the start."""
        libc = ctypes.CDLL(None)
        return {"kept": bool(libc.mallopt(M_MMAP_MAX, 0) and libc.mallopt(M_TRIM_THRESHOLD, -1))}

    def memory(self) -> dict[str, Any]:
        """The most megabytes the process held since `load`."""
        status = Path("/proc/self/status").read_text()
        return {"mb": int(status.partition("VmHWM:")[2].split()[0]) / 1024}


def sampled(name: str, a: np.ndarray) -> dict[str, np.ndarray]:
    """Elements spread evenly over an array, and the norm of the whole."""
    flat = a.reshape(-1)
    pieces = (flat[k:k + SAMPLE].astype(np.float64) for k in range(0, flat.size, SAMPLE))
    norm = np.sqrt(sum(float(piece @ piece) for piece in pieces))
    return {name: flat[::-(-flat.size // SAMPLE)], f"norm of {name}": np.array(norm)}


def work() -> float:
    """Seconds that CPUs have worked for this process, and for those that it started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def busy_seconds() -> float:
    """Seconds that all CPUs have worked so far."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, *interrupts = map(int, words[:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def main(path: str, threads: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)   # nobody is left to ask, however the parent ended
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cpus[:threads])
    folder = Path(sys.path.pop(0))      # this one, whose folders have the names of frameworks
    if Path(path).parent.name == "stele":
        sys.path.insert(0, str(folder.parents[1]))      # the Stele that the program belongs to, whatever is installed
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)       # whatever the framework prints goes to the errors
    worker = Worker(path)
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        "load": worker.load, "call": worker.call, "run": worker.run, "check": worker.check, "keep": worker.keep,
        "memory": worker.memory}
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(commands[asked.pop("do")](**asked)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
