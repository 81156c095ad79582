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
from stele.rosetta.languages import PYTHON
from stele.rosetta.rows import FRAMEWORKS


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
    words = [*about.language.about, about.module, *about.distributions]
    try:
        return subprocess.run([str(python), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, env={**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"})
    except OSError as error:
        raise refusal(framework, python, f"cannot be run: {error.strerror}") from None


def refusal(framework: str, python: Path, why: str) -> ConfigError:
    """What is said of an interpreter that is none."""
    about = FRAMEWORKS[framework]
    needs, how = about.language.interpreter, f"Write --python {framework}=/usr/bin/{about.language.command}"
    if about.distributions and about.language is not PYTHON:
        needs, how = f"{needs} that has {about.module}", f"{how}; it is installed by {about.install}"
    return ConfigError(f"--python {framework}=PATH needs {needs}, and {python} {why}.", hint=how)


def installed(frameworks: Sequence[str], pythons: Mapping[str, Path], times: int) -> dict[str, Installed | None]:
    """Each framework in the interpreter given for it, else in this one, or for other languages in what the shell finds.

    Raises ConfigError where what is given is no interpreter.
    """
    found = {name: probe(name, python, times) if (python := pythons.get(name) or usual(name)) else None
             for name in frameworks}
    for name in found:
        if found[name] is None and name in pythons and FRAMEWORKS[name].language is not PYTHON:
            raise refusal(name, pythons[name], "does not load it" if FRAMEWORKS[name].distributions else
                          "does not answer")
    return found


def usual(framework: str) -> Path | None:
    """The interpreter of a framework for which none is given."""
    language = FRAMEWORKS[framework].language
    if language is PYTHON:
        return Path(sys.executable)
    path = shutil.which(language.command)
    return Path(path) if path else None
