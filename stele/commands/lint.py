"""`stele lint FILE`: runs a file, and prints what the checks find in every program it makes."""
from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict

from stele.commands.options import LintOptions
from stele.commands.script import run_script
from stele.eager.follow import FOLLOWER
from stele.errors import DataError
from stele.inspect.lint.finding import Finding, grouped
from stele.inspect.lint.watch import Watch
from stele.ir.origin import setting

CLEAN, FOUND = 0, 1


def lint_file(options: LintOptions) -> int:
    """Prints findings one a line, or as JSON; 1 where there are any, else 0. What the file prints goes to stderr.

    Raises DataError for a file that fails, or that makes no program.
    """
    watch = Watch()
    with setting(FOLLOWER, watch), redirect_stdout(sys.stderr):
        failure = run_script(options.file, options.arguments, lambda: not watch.programs)
    found = grouped(finding for finding in watch.findings() if finding.check not in options.without)
    print(json.dumps([asdict(finding) for finding in found], indent=2) if options.json else report(found, watch))
    if failure:
        raise DataError(f"{options.file} has to run to its end to be checked, but {failure}")
    if not watch.programs:
        raise DataError(f"{options.file} computed nothing with Stele, so there was nothing to check",
                        hint="Call the training step or the model at the end of the file, on a batch.")
    return FOUND if found else CLEAN


def report(found: Sequence[Finding], watch: Watch) -> str:
    """Findings one a line, and a line that counts them."""
    def many(n: int, what: str) -> str:
        return f"{n} {what}{'' if n == 1 else 's'}"

    seen = f"{many(watch.programs, 'program')} and {many(watch.steps, 'training step')}"
    return "\n".join([*map(str, found), f"{many(len(found), 'finding')} in {seen}"])
