"""Which frameworks an interpreter has: versions, the time an import takes, the space it takes on disk."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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


@dataclass(frozen=True)
class Installed:
    """A framework that was found: the interpreter that has it, and what that costs."""

    python: Path
    version: str
    import_s: float
    installed_mb: float | None      # None where it runs from its source


def probe(framework: str, python: Path, times: int = 3) -> Installed | None:
    """What `python` has of a framework, imported some times in fresh processes; None where it cannot be imported."""
    about, seconds = FRAMEWORKS[framework], []
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    for _ in range(times):
        done = subprocess.run([str(python), "-c", CODE, about.module, *about.distributions], env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        answer = json.loads(done.stdout.splitlines()[-1])
        seconds.append(answer["import_s"])
    return Installed(python, answer["version"], median(seconds), answer["installed_mb"])


def installed(frameworks: Sequence[str], pythons: Mapping[str, Path], times: int) -> dict[str, Installed | None]:
    """Each framework in the interpreter given for it, else in this one."""
    return {name: probe(name, pythons.get(name, Path(sys.executable)), times) for name in frameworks}
