"""`stele completion`: what makes a shell complete the command line, by shtab from the parser of all commands."""
from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stele.commands.arguments import COMMANDS, parser
from stele.commands.options import CompletionOptions
from stele.commands.words import Choice, Known, Names, workload_or_file
from stele.errors import DataError

FOLDERS = "DIR", "RUN", "FOLDER"     # metavars of paths that are folders
TRAINED = {"bash": "_stele_trained", "zsh": "_stele_trained", "tcsh": "f"}      # a workload or a file
PREAMBLE = {
    "bash": '_stele_trained() { compgen -W "cnn gru" -- "$1"; compgen -f -- "$1"; }',
    "zsh": "_stele_trained() { compadd cnn gru; _files }",
}


def completion(options: CompletionOptions) -> None:
    """Prints the script for a shell; DataError where shtab is not installed."""
    try:
        import shtab  # pyright: ignore
    except ImportError:
        raise DataError("shtab is not installed", hint="pip install 'stele-dl[completion]'") from None
    makes: Any = shtab
    root = parser(tuple(COMMANDS))
    for action in actions(root):
        if isinstance(action.type, Choice):
            action.choices, action.metavar = action.type.choices, None
        elif isinstance(action.type, Known | Names):
            action.choices = action.type.known()
        elif action.type is workload_or_file:
            action.complete = TRAINED
        elif action.type is Path or action.dest == "what":
            action.complete = makes.DIRECTORY if action.metavar in FOLDERS else makes.FILE
    print(makes.complete(root, options.shell, preamble=PREAMBLE))


def actions(of: argparse.ArgumentParser) -> Iterator[Any]:
    """The arguments of a parser and of its commands."""
    for action in of._actions:
        yield action
        is_commands = isinstance(action, argparse._SubParsersAction)
        for command in vars(action)["choices"].values() if is_commands else ():
            yield from actions(command)
