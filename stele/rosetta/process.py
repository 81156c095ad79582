"""The parent's end of a worker: a program of the benchmark in a process of its own."""
from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stele.rosetta.languages import LANGUAGES

KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1000000000000"}
PATIENCE = 300.0      # seconds that one command may take


class Died(Exception):
    """A worker ended, or said nothing for too long; the text is the last error it wrote of."""


class Process:
    """A worker process: `ask` it for one thing after the other; leaving the `with` block ends it."""

    def __init__(self, python: Path, program: Path, threads: int, cache: Path, keeping: bool = False,
                 worker: Path | None = None) -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `end`
        runs = (worker,) if worker else LANGUAGES[program.suffix].worker
        self.process = subprocess.Popen(
            [str(part) for part in (python, *runs, program, threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True,
            env=environment(threads, cache) | (KEEPING if keeping else {}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None:
            self.process.kill()
        self.end()

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a command; raises Died if there is none."""
        self.tell(do, **arguments)
        return self.answer()

    def tell(self, do: str, **arguments: Any) -> None:
        """A command whose answer is fetched later."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                raise Died(f"no answer in {PATIENCE:.0f} s")
        if line := self.process.stdout.readline():
            return json.loads(line)
        raise Died(self.last_words())

    def last_words(self) -> str:
        """The last line on the process's stderr that names an error, else its last line, else how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        return (named or lines)[-1] if lines else f"the process ended with code {self.process.poll()}"

    def end(self) -> None:
        """Ends the process: by closing its input, else by force."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def environment(threads: int, cache: Path) -> dict[str, str]:
    """The same threads for all, and compile caches of its own in `cache`, which has them cold or warm.

    Python keeps its bytecode, as it is kept of installed frameworks; without, only what runs from source would pay.
    """
    folders = {"STELE_CACHE": "stele", "XDG_CACHE_HOME": "xdg", "TORCHINDUCTOR_CACHE_DIR": "torch",
               "JAX_COMPILATION_CACHE_DIR": "jax", "NUMBA_CACHE_DIR": "numba"}
    return {
        **{name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        **{name: str(cache / folder) for name, folder in folders.items()},
        **dict.fromkeys(("STELE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                        "JULIA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), str(threads)),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "tensorflow",
        "PYTENSOR_FLAGS": f"base_compiledir={cache / 'pytensor'}", "TF_CPP_MIN_LOG_LEVEL": "3",
        "CACHEDB": str(cache / "tinygrad.db"),
    }
