"""Runs a user's file as `python FILE` would, or trains what it says as `stele train` would, and says how it ended."""
from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from inspect import unwrap
from pathlib import Path

from stele.commands.words import setting
from stele.errors import SteleError
from stele.train.recipes import MAKES, from_file


def run_script(path: Path, arguments: Sequence[str], is_idle: Callable[[], bool]) -> str | None:
    """Runs the file under the name `__main__`; None if it ended well, else the error in one line with the file's line.

    A configuration is trained, and so is a file that has a function `trainer()` where nothing was computed until its
    end: of these the arguments are values by name, as `stele train --set` takes them; no run folder is left. Ctrl-C
    ends the file, and counts as an end like any other: what was seen until then stands.
    """
    def trained(line: int) -> None:     # of the file, where what is not of a line of its own is said to stand
        train = compile("\n" * (line - 1) + "from_file(path, settings).fit()", str(path), "exec")
        exec(train, {"from_file": from_file, "path": path, "settings": dict(map(setting, arguments))})

    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = [str(path), *arguments], [str(path.resolve().parent)]
    try:
        if path.suffix == ".toml":
            trained(1)
        elif (make := runpy.run_path(str(path), run_name="__main__").get(MAKES)) is not None and is_idle():
            code = getattr(unwrap(make), "__code__", None)
            trained(code.co_firstlineno if code is not None and code.co_filename == str(path) else 1)
    except KeyboardInterrupt:
        return None
    except SystemExit as end:
        return None if end.code in (None, 0) else f"it ended with exit code {end.code}"
    except Exception as error:
        return f"{type(error).__name__}: {error}{raised_in(error, path)}"
    finally:
        sys.argv, sys.path[:] = before
    return None


def raised_in(error: Exception, path: Path) -> str:
    """The last line of the file that an error came through, where the error does not say a line itself."""
    if isinstance(error, SteleError) and error.where:
        return ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f" at {path}:{line}" if line else ""
