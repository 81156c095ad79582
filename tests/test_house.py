"""The house stands: imports go down, files stay small, the text speaks about the project alone."""
from __future__ import annotations

import ast
import functools
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stele.backend import garbage
from stele.backend.cpu import cache

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "stele"

# One row per floor, lowest first; a module may import its own floor (without a cycle) and those below.
FLOORS = (
    "errors config files",
    "ir",
    "ops",
    "transform",
    "kernel",
    "backend",
    "pipeline",
    "eager",
    "arrays linalg fft random",
    "tracing",
    "higher debug",
    "staged",
    "call",
    "nn optim metrics data io train inspect saving stop cli commands __main__ interop rosetta",
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}
TOP = FLOORS[-1].split()

# Files that may load a module inside a function: passes and backends by name, rooms and families that load when named,
# commands and their arguments when they are asked for, devices when they are first named, what measures a machine, a
# workload's program by name, what reads models that did not run before, the disk where Python's own code of long calls
# is.
LOADERS = ("stele/pipeline.py", "stele/__init__.py", "stele/data/__init__.py", "stele/ops/__init__.py", "stele/cli.py",
           "stele/commands/arguments.py", "stele/commands/options.py", "stele/backend/devices.py",
           "stele/backend/cpu/tuned.py", "stele/backend/cpu/pool.py", "stele/backend/source.py",
           "stele/rosetta/bench.py", "stele/interop/introduce.py", "stele/interop/onnx/__init__.py",
           "stele/interop/onnx/ready.py", "stele/commands/models.py")

IN_THE_ROOT = {
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "NOTICE", "README.md",
    "benchmarks", "docs", "examples", "mkdocs.yml", "pyproject.toml", "stele", "tests", "tools", "typings",
}

LOADING = "import_module", "__import__"

# Numbers that a tool writes are data: no line count holds them.
GENERATED = ("stele/kernel/tables.py",)

CORE_LINES, FILE_LINES, FILE_NEVER, FUNCTION_LINES, CLASS_LINES = 39_889, 400, 600, 40, 200
FILES = sorted(HOUSE.rglob("*.py"))


def module(path: Path) -> str:
    """The dotted name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> str:
    """A file as messages name it."""
    return str(path.relative_to(ROOT))


def room(name: str) -> str:
    """The part of the house a module belongs to; '' for `stele` itself."""
    return [*name.split("."), ""][1]


MODULES = {module(f): f for f in FILES}


def imports(path: Path) -> Iterator[tuple[str, Any]]:
    """Our own modules that a file imports or loads by their name, and where."""
    package = module(path) if path.name == "__init__.py" else module(path).rpartition(".")[0]
    for node in ast.walk(parsed(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((a.name, node) for a in node.names if a.name.split(".")[0] == "stele")
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base.split(".")[0] == "stele":
                for a in node.names:
                    yield (f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base), node
        elif (name := loaded(node)) in MODULES:
            yield name, node


def loaded(node: ast.AST) -> str | None:
    """The module that a call loads by its name; '?' where the name is computed."""
    match node:
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name), args=[x, *_]) if name in LOADING:
            return str(x.value) if isinstance(x, ast.Constant) else "?"
    return None


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Syntax trees are no garbage while these tests run, and behind them they go."""
    with garbage.kept():
        yield
    parsed.cache_clear()


@functools.cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a file's text, which several tests look at."""
    return ast.parse(source)


@functools.cache
def code_lines(source: str) -> set[int]:
    """The lines that hold code: no docstrings, comments or blanks."""
    held: set[int] = set()
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skip:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return held


def test_imports_go_down() -> None:
    homeless = sorted({r for name in MODULES if (r := room(name)) and r not in FLOOR})
    assert not homeless, f"{homeless} stand on no floor: give them a place in FLOORS and docs/map.md"
    found: list[str] = []
    for path in FILES:
        me = room(module(path))
        for name, node in imports(path) if me else ():
            if not room(name) and FLOOR[me] < len(FLOORS) - 1:
                found.append(f"{shown(path)}:{node.lineno}: only the top floor uses the public names")
            elif room(name) and FLOOR[room(name)] > FLOOR[me]:
                found.append(f"{shown(path)}:{node.lineno}: {me} may not import {name} from above")
    assert not found, "\n".join(found)


def loads_inside(source: str) -> Iterator[int]:
    """Lines where a function loads a module of our own: by a statement, or by a name that is not another's."""
    for function in ast.walk(parsed(source)):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ():
            match node:
                case ast.ImportFrom(module=name, level=level) if level or is_own(name or ""):
                    yield node.lineno
                case ast.Import(names=names) if any(is_own(a.name) for a in names):
                    yield node.lineno
                case ast.Call() if is_own(loaded(node) or "") or loaded(node) == "?":
                    yield node.lineno


def is_own(name: str) -> bool:
    """Whether a module is one of ours."""
    return name.partition(".")[0] == "stele" or name.startswith(".")


def test_imports_stand_at_the_top() -> None:
    inside = {shown(path): list(loads_inside(path.read_text())) for path in FILES}
    found = [f"{path}:{line}" for path, lines in inside.items() if path not in LOADERS for line in lines]
    assert not found, f"own modules loaded inside a function: {found}"
    assert not [path for path in LOADERS if not inside[path]], "no loader any more: take it out of LOADERS"


@pytest.mark.parametrize("line", ["import stele.ops", "from stele import ops", "from . import ops",
                                  "importlib.import_module('stele.ops')", "import_module(f'stele.{x}')",
                                  "importlib.import_module(x)", "__import__('stele')"])
def test_loading_inside_a_function_is_found(line: str) -> None:
    assert list(loads_inside(f"def f(x):\n    if x:\n        {line}\n")) == [3]
    assert not list(loads_inside(f"x = 'stele'\n{line}\ndef f():\n    import numpy\n    import_module('numpy')\n"))


def test_imports_have_no_cycle() -> None:
    graph = {name: {n for n, _ in imports(path) if n != name} for name, path in MODULES.items() if room(name)}
    state: dict[str, int] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert state.get(name) != 1, f"an import cycle: {' -> '.join((*path[path.index(name):], name))}"
        if name not in state:
            state[name] = 1
            for n in sorted(graph.get(name, ())):
                visit(n, (*path, name))
            state[name] = 2

    for name in sorted(graph):
        visit(name, ())


def test_code_is_found_again_only_where_all_is_the_same_that_decides_about_it() -> None:
    """What the compiler may import are the floors up to the pipeline: the folders whose sources count in a key."""
    rooms = " ".join(FLOORS[:FLOORS.index("pipeline") + 1]).split()
    assert {*cache.COMPILER} == {"", *(f"/{name}" for name in rooms if (HOUSE / name).is_dir())}


def is_table(node: ast.ClassDef) -> bool:
    """Whether a class is a table: one fact after the other, none longer than four lines."""
    return all((n.end_lineno or 0) - n.lineno < 4 for n in node.body if not isinstance(n, ast.Expr))


def test_files_functions_and_classes_are_small() -> None:
    found: list[str] = []
    for path in FILES:
        held = code_lines(path.read_text())
        found += [f"{shown(path)}: {len(held)} code lines, never above {FILE_NEVER}"] if len(held) > FILE_NEVER else []
        for node in ast.walk(parsed(path.read_text())):
            is_class = isinstance(node, ast.ClassDef) and not is_table(node)
            if is_class or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                limit = CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES
                size = sum(n in held for n in range(node.lineno, (node.end_lineno or 0) + 1))
                if size > limit:
                    found.append(f"{shown(path)}:{node.lineno}: {node.name}: {size} lines, at most {limit}")
    assert not found, "\n".join(found)


def test_files_say_their_job() -> None:
    silent = [shown(p) for p in FILES if p.name != "__init__.py" and not ast.get_docstring(parsed(p.read_text()))]
    assert not silent, f"these files do not open with one sentence that says their job: {silent}"


def test_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    size = {f: len(code_lines(f.read_text())) for f in FILES if shown(f) not in GENERATED}
    rooms: dict[str, int] = {}
    for f, n in size.items():
        rooms[room(module(f)) or "stele"] = rooms.get(room(module(f)) or "stele", 0) + n
    core = sum(n for r, n in rooms.items() if r not in (*TOP, "errors", "config", "files", "stele"))
    above = {shown(f): n for f, n in size.items() if n > FILE_LINES}
    with capsys.disabled():
        print(f"\ncore {core} of {CORE_LINES} code lines;", ", ".join(f"{r} {rooms[r]}" for r in sorted(rooms)))
        print(f"files above {FILE_LINES}: {above or 'none'}; median file "
              f"{sorted(size.values())[len(size) // 2]}, largest {max(size.values())}; "
              f"not counted: {', '.join(GENERATED)}")
    assert core <= CORE_LINES


def project_texts() -> list[Path]:
    """Every text file a reader of the project sees."""
    kinds = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".cfg", ".html", ".css", ".js"}
    hidden = {".git", "__pycache__", "build", "dist", ".venv", "node_modules", ".pytest_cache", ".hypothesis"}
    return [p for p in ROOT.rglob("*")
            if p.suffix in kinds and p.is_file() and not hidden & set(p.relative_to(ROOT).parts)]


def test_the_root_holds_what_is_named_here() -> None:
    """What somebody tried by hand, as a model that was saved where the shell stood, is not committed with the rest."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.partition("/")[0] for name in kept.splitlines()} == IN_THE_ROOT


def test_text_holds_no_machine_paths() -> None:
    machine = re.compile(r"(?<![\w.])/(?:work|home|root|Users|tmp)/[\w.]")
    found = [f"{p.relative_to(ROOT)}:{n}: {line.strip():.90}" for p in project_texts()
             for n, line in enumerate(p.read_text(errors="replace").splitlines(), 1) if machine.search(line)]
    assert not found, "paths of one machine:\n" + "\n".join(found)
