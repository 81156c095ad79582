"""The examples of docs/ run as they stand, and find what they say."""
from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"

# By its name: what an example prints, as a pattern.
EXAMPLES = {
    "game_of_life": r"\.{6}#\.{17}\n\.{7}#(.|\n)*alive: \[(12, ){15}12\]\nthe glider moved by \(4, 4\): True",
    "heat": r"largest difference from the solution: \d\.\de-0[67]\n(.|\n)*feels what was 14 points away",
    "fit_scipy": r"skipped: SciPy is not installed|parameters: .*\nnear the truth: True",
    "kmeans": r"centres: \[\[-?0.0, 0.0\], \[1.5, 4.0\], \[4.0, 1.1\]\]\n(.|\n)*every centre found: True",
    "pca": r"four numbers of 144 keep 93%\ncodes are uncorrelated: True\nthe first one is the angle: True",
    "gaussian_process": r"length 0\.\d+, noise 0\.1\d\nthe truth is within 2.5 deviations at (9\d|100)% of the places",
    "audio": r"notes: \['C4', 'E4', 'G4'\]\n.* 11 dB after\necho by spectra is the echo by sums: True",
}


def printed(run: object, *args: object) -> str:
    """What a program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run(*args)      # type: ignore[operator]
    return out.getvalue()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str) -> None:
    path = DOCS / f"{name}.py"
    assert len(path.read_text().splitlines()) < 80
    out = printed(lambda: runpy.run_path(str(path), run_name="__main__"))
    assert re.search(EXAMPLES[name], out), out


def test_the_numpy_script_prints_the_same_with_numpy() -> None:
    text = (DOCS / "numpy_script.py").read_text()
    theirs, changed = re.subn(r"^import stele as np .*$", "import numpy as np", text, flags=re.M)
    ours, law = (printed(exec, compile(source, "numpy_script.py", "exec"), {}) for source in (text, theirs))
    assert changed == 1 and ours == law and "half of the swing   9.5" in ours
