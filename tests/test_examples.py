"""Every example in a docstring runs, the README's too, and everything public says what it returns."""
from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stele as st
from stele import data, nn, optim

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(m.name for m in pkgutil.walk_packages(st.__path__, "stele."))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"__package__": module.__package__}).failed == 0


def public() -> Iterator[tuple[str, Any]]:
    """What users import, with its name."""
    for module in (st, nn, nn.init, optim, data):
        names = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
        for name in names:
            x = getattr(module, name)
            if callable(x) and not isinstance(x, types.ModuleType) and type(x).__module__ != "stele.ir.types":
                yield f"{module.__name__}.{name}", x


@pytest.mark.parametrize("name, x", list(public()), ids=lambda p: p if isinstance(p, str) else "")
def test_public_names_have_a_contract(name: str, x: Any) -> None:
    first = (inspect.getdoc(x) or "").partition("\n")[0]
    assert len(first) > 3, f"{name} does not say what it returns"
    for method, f in vars(x).items() if inspect.isclass(x) and x.__module__.startswith("stele") else ():
        own = inspect.isfunction(f) and not method.startswith("_") and f.__module__ == x.__module__
        documented = inspect.getdoc(getattr(x, method)) or method in ("float", "double", "int", "long", "bool")
        assert not own or documented, f"{name}.{method} has no docstring"


def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len(example.splitlines()) <= 25
    space: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example, "README.md", "exec"), space)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert losses[-1] < 0.05 < losses[0]


def test_the_tour_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "tour.py"), run_name="__main__")
    assert "one native call" in capsys.readouterr().out


def test_the_map_names_every_file() -> None:
    text = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    missing = [str(f.relative_to(ROOT)) for f in sorted((ROOT / "stele").rglob("*.py"))
               if not re.search(rf"\b{re.escape(f.name)}", text)]
    assert not missing, f"docs/map.md does not name {missing}"
