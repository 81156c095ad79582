"""Checks of programs in child processes, with limits: a crash, an endless compile or too much memory is a result too.

A child reads one JSON line per program from its standard input, and answers each with one line.
"""
from __future__ import annotations

import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.patience import patience
from tests.programs.check import Failure, check
from tests.programs.grammar import random_program
from tests.programs.program import parse
from tests.programs.styles import STYLES

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60            # processor seconds that one program may take in Python
PATIENCE = 600          # seconds after which a child that says nothing is taken for hung
BATCH = 500             # programs that one child checks
MEMORY = 12 << 30       # bytes of address space
MARK = "answer: "


class TooLong(Exception):
    """A program that takes more processor time than it may."""


def stop(*_: Any) -> None:
    raise TooLong(f"more than {SECONDS} processor seconds")


def answered(task: dict[str, Any]) -> dict[str, Any] | None:
    """One task, checked: a seed or a program's text, and the styles."""
    program = parse(task["text"]) if "text" in task else random_program(task["seed"], frozenset(task["features"]))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        failure = check(program, task["styles"])
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return failure and {"style": failure.style, "sort": failure.sort, "text": failure.text}


def serve() -> None:
    """What a child does."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, stop)
    for line in sys.stdin:
        print(MARK + json.dumps(answered(json.loads(line))), flush=True)


class Worker:
    """A child process that checks one program after the other, and is started anew where one ends it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
        self.process: subprocess.Popen[str] | None = None
        self.left = 0

    def check(self, **task: Any) -> Failure | None:
        """The failure of a task, that of the process included."""
        if not self.left:
            self.close()
        if self.process is None:
            self.left = BATCH
            self.process = subprocess.Popen([sys.executable, "-m", "tests.programs.worker"], cwd=ROOT, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                            env=self.environment)
        process, said = self.process, ""
        self.left -= 1
        try:
            with patience(PATIENCE, process.kill):
                process.stdin.write(json.dumps(task) + "\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                while not said.startswith(MARK):
                    said = process.stdout.readline()  # type: ignore[union-attr]
                    if not said:
                        raise BrokenPipeError
        except BrokenPipeError:
            errors = process.stderr.read()[-500:]  # type: ignore[union-attr]
            code = process.wait()
            self.process = None
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Failure(",".join(task["styles"]), f"process ended with {name}", errors)
        found = json.loads(said.removeprefix(MARK))
        return found and Failure(**found)

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None


def checked(tasks: Iterable[dict[str, Any]], workers: int, environment: dict[str, str] | None = None
            ) -> Iterator[tuple[dict[str, Any], Failure | None]]:
    """Every task with its failure, as they are done, by so many processes side by side."""
    waiting = iter(list(tasks))
    done: queue.Queue[Any] = queue.Queue()
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(environment or {})
        try:
            while True:
                with lock:
                    task = next(waiting, None)
                if task is None:
                    return
                done.put((task, worker.check(**task)))
        except BaseException as error:
            done.put(error)
        finally:
            worker.close()
            done.put(None)

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    left = workers
    while left:
        item = done.get()
        if isinstance(item, BaseException):
            raise item
        if item is None:
            left -= 1
        else:
            yield item


def styles_of(seed: int, every: int = 2) -> list[str]:
    """What a program is checked in where nobody says: `every` so many in one of the styles that compile, by turns,
    and by the interpreter after no pass; the others by the interpreter after every pass.
    """
    compiling = [n for n in STYLES if n != "reference"]
    return ["passes"] if seed % every else ["reference", compiling[seed // every % len(compiling)]]


if __name__ == "__main__":
    serve()
