"""Which frameworks an interpreter has: versions, the time an import takes, the space it takes on disk."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from stele.errors import ConfigError
from stele.rosetta.rows import FRAMEWORKS

# Runs in the other interpreter; what a distribution needs counts, what is optional does not.
CODE = """
import json, re, sys, time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
module, *names = sys.argv[1:]
start = time.perf_counter()
import_module(module)
seconds, found, wanted, version = time.perf_counter() - start, {}, list(names), ""
while wanted:
    name = re.match("[A-Za-z0-9._-]+", wanted.pop()).group().lower().replace("_", "-")
    if name not in found:
        try:
            own = distribution(name)
        except PackageNotFoundError:
            continue
        files = [Path(own.locate_file(f)) for f in own.files or ()]
        found[name] = sum(f.stat().st_size for f in files if f.is_file())
        version = own.version if name == names[0] else version
        wanted += [need for need in own.requires or () if "extra ==" not in need]
print(json.dumps({"version": version, "import_s": seconds, "installed_mb": sum(found.values()) / 1e6 or None}))
"""

# The same of R, which imports nothing and comes with what it needs; its version names the BLAS that multiplies.
R_CODE = r"""
blas <- extSoftVersion()[["BLAS"]]
files <- list.files(R.home(), recursive = TRUE, full.names = TRUE)
cat(sprintf("{\"version\": \"%s (BLAS %s)\", \"import_s\": 0, \"installed_mb\": %.3f}\n", getRversion(),
            file.path(basename(dirname(blas)), basename(blas)), sum(file.size(files)) / 1e6))
"""


@dataclass(frozen=True)
class Installed:
    """A framework that was found: the interpreter that has it, and what that costs."""

    python: Path
    version: str
    import_s: float
    installed_mb: float | None      # None where it runs from its source


def probe(framework: str, python: Path, times: int = 3) -> Installed | None:
    """What an interpreter has of a framework, imported some times in fresh processes; None where it cannot be imported.

    Raises ConfigError where `python` is no interpreter of the framework's language.
    """
    seconds, answer = list[float](), dict[str, Any]()
    for _ in range(times):
        done = asked(framework, python)
        if done.returncode:
            return None
        try:
            answer = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise refusal(framework, python, "does not answer") from None
        seconds.append(answer["import_s"])
    return Installed(python, answer["version"], median(seconds), answer["installed_mb"])


def asked(framework: str, python: Path) -> subprocess.CompletedProcess[str]:
    """What an interpreter answered in a process of its own."""
    about = FRAMEWORKS[framework]
    words = ["--vanilla", "-e", R_CODE] if about.suffix == ".R" else ["-c", CODE, about.module, *about.distributions]
    try:
        return subprocess.run([str(python), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, env={**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"})
    except OSError as error:
        raise refusal(framework, python, f"cannot be run: {error.strerror}") from None


def refusal(framework: str, python: Path, why: str) -> ConfigError:
    """What is said of an interpreter that is none."""
    word = "the Rscript of an R" if FRAMEWORKS[framework].suffix == ".R" else "a Python"
    return ConfigError(f"--python {framework}=PATH needs {word}, and {python} {why}.",
                       hint=f"Write --python {framework}=/usr/bin/{'Rscript' if word != 'a Python' else 'python3'}")


def installed(frameworks: Sequence[str], pythons: Mapping[str, Path], times: int) -> dict[str, Installed | None]:
    """Each framework in the interpreter given for it, else in this one, and R in the one that the shell finds.

    Raises ConfigError where what is given is no interpreter.
    """
    found = {name: probe(name, python, times) if (python := pythons.get(name) or usual(name)) else None
             for name in frameworks}
    for name in found:
        if found[name] is None and name in pythons and FRAMEWORKS[name].suffix == ".R":
            raise refusal(name, pythons[name], "does not answer")
    return found


def usual(framework: str) -> Path | None:
    """The interpreter of a framework for which none is given."""
    if FRAMEWORKS[framework].suffix == ".py":
        return Path(sys.executable)
    path = shutil.which("Rscript")
    return Path(path) if path else None
