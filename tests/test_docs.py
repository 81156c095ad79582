"""The examples and guides of docs/ run as they stand, and the site is built of them without a warning."""
from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import stele as st

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


def test_repairs_name_tests_that_there_are() -> None:
    text = (DOCS / "repairs.md").read_text()
    named = re.findall(r"`(\w+)::(\w+)`", text)
    files = {name: (DOCS.parent / "tests" / f"test_{name}.py").read_text() for name, _ in named}
    assert not [x for x in named if f"\ndef test_{x[1]}(" not in files[x[0]]]
    rows = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(line.split("|")[1]) for line in rows] == [*range(1, 30)] and all("::" in line for line in rows)


@pytest.mark.parametrize("path", sorted((DOCS / "guide").glob("*.md")), ids=lambda path: path.stem)
def test_a_guide_runs(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", path.read_text(), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "guide"}, path.name, str(path), 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert tried and not failed, "".join(said)


def test_the_notebook_runs_and_has_been_executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells = [cell for cell in json.loads((DOCS / "notebook.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert not [o for cell in cells for o in cell["outputs"] if o["output_type"] == "error"]
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "__main__"}
    out = printed(lambda: [exec(compile("".join(cell["source"]), f"cell {k}", "exec"), space)
                           for k, cell in enumerate(cells)])
    assert "epoch 6/6" in out and re.search(r"^8\d% right$", out, re.M)
    assert (tmp_path / "clothes.safetensors").exists()


def test_the_site_is_built_without_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    build = pytest.importorskip("mkdocs.commands.build", reason="the site is built by MkDocs: pip install -e '.[dev]'")
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    build.build(load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(tmp_path)))
    assert (tmp_path / "reference" / "tensor.html").exists() and not list(tmp_path.rglob("*.py"))


def test_every_public_function_stands_on_one_page() -> None:
    pages = pytest.importorskip("pages", reason="the pages are made with MkDocs: pip install -e '.[dev]'")
    there = [name for page in pages.FAMILIES for name in pages.names_on(page)]
    public = [name for name in st.__all__ if name != "Tensor" and not inspect.ismodule(getattr(st, name))]
    assert sorted(there) == sorted(public)


def test_the_reference_shows_no_address() -> None:
    pages = pytest.importorskip("pages", reason="the pages are made with MkDocs: pip install -e '.[dev]'")
    assert [name for name, text in pages.reference() if " at 0x" in text] == []
