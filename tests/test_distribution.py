"""What is installed: the distribution's name, its version in one place, and advice that installs this project."""
from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from formats import ROOT
from test_house import project_texts

import stele
from stele.rosetta.rows import FRAMEWORKS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_distribution_has_a_name_of_its_own() -> None:
    assert PROJECT["project"]["name"] == "stele-dl" and FRAMEWORKS["stele"].install == "pip install stele-dl"
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "stele.__version__"}


def test_the_licence_is_said_as_build_tools_will_go_on_to_read_it() -> None:
    project = PROJECT["project"]
    assert project["license"] == "Apache-2.0" and project["license-files"] == ["LICENSE", "NOTICE"]
    assert PROJECT["build-system"]["requires"] == ["setuptools>=77"]    # the first that reads both


def test_the_command_knows_its_version_from_source() -> None:
    done = subprocess.run([sys.executable, "-m", "stele", "--version"], cwd=ROOT, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == f"stele {stele.__version__}\n", done


def test_nothing_tells_anybody_to_install_another_project() -> None:
    wrong = re.compile(r"(?:pip3?|uv|pipx) (?:add|install)[^`\n&]*[ '\"]stele(?![-\w/.])")
    found = [f"{p.relative_to(ROOT)}:{n}: {line.strip()}" for p in project_texts() if p.name != "test_distribution.py"
             for n, line in enumerate(p.read_text(errors="replace").splitlines(), 1) if wrong.search(line)]
    assert not found, found
    assert wrong.search("pip install stele") and wrong.search("pip install -U 'stele[images]'")
    assert not any(map(wrong.search, ("pip install 'stele-dl[images]'", "pip install -q . && stele train cnn")))
