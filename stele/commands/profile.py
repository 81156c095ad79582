"""`stele profile FILE`: runs a file, and shows where its time and memory went."""
from __future__ import annotations

import sys
from contextlib import redirect_stdout

from rich.console import Console

from stele.commands.options import ProfileOptions
from stele.commands.script import run_script
from stele.errors import DataError
from stele.inspect.profile.watch import Profile


def profile_file(options: ProfileOptions) -> None:
    """Prints the tables of a profile, and writes the files asked for. What the file prints goes to stderr.

    Raises DataError for a file that fails, behind what was seen until then, or that runs no program.
    """
    with Profile() as profile, redirect_stdout(sys.stderr):
        failure = run_script(options.file, options.arguments, lambda: not profile.twins)
    account = profile.account()
    if account.programs:
        if sys.stdout.isatty():
            Console(highlight=False).print(profile)
        else:
            print(profile)
        if options.trace:
            profile.trace(options.trace)
        if options.html:
            profile.html(options.html)
    if failure:
        raise DataError(f"{options.file} did not run to its end: {failure}")
    if not account.programs:
        raise DataError(f"{options.file} computed nothing with Stele, so there was nothing to measure",
                        hint="Call the training step or the model at the end of the file, on a batch.")
