"""The parser of a command, made of the dataclass of its options; and help that fits the terminal."""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from functools import partial
from pathlib import Path
from textwrap import wrap as wrapped
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from stele.commands.words import Asked, Choice, Flag, Option, Real, Rest, UsageError, Whole, Word

wrap = partial(wrapped, break_on_hyphens=False, break_long_words=False)     # names and commands stay whole
_WORDING = (
    (r"the following arguments are required: (.*)", r"needs \1, got nothing there"),
    (r"argument (\S+): expected one argument",      r"needs a value after \1, got none"),
)
_GATHERED: Mapping[Any, Callable[[Any], Any]] = {Mapping: dict, frozenset: frozenset}   # several values; else a tuple


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal: prose is wrapped, and rows `  what TAB sense` become columns, or two lines each."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        said: list[str] = []
        for block in text.split("\n\n"):
            head, *rows = block.split("\n  ")
            said += [*wrap(head, width), *columns([tuple(row.split("\t")) for row in rows], width), ""]
        return "\n".join(indent + line for line in said[:-1])


def columns(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Rows of what can be written and of what it does, within `width`.

    >>> list(columns([("stele train cnn", "a network"), ("stele doctor", "versions")], 40))
    ['  stele train cnn   a network', '  stele doctor      versions']
    """
    first = 5 + max((len(what) for what, *_ in rows), default=0)
    for what, *sense in rows:
        if first <= width // 2:
            lines = wrap(" ".join(sense), width - first)
            yield (f"  {what}".ljust(first) + "".join(lines[:1])).rstrip()
            yield from (" " * first + line for line in lines[1:])
        else:
            yield "  " + " \\\n      ".join(wrap(what, width - 8))
            yield from (f"      {line}" for line in wrap(" ".join(sense), width - 6))


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises its errors, in our words."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, formatter_class=Help, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        for pattern, words in _WORDING:
            message = re.sub(pattern, words, message)
        raise UsageError(f"{self.prog} {message}. Try: {self.prog} --help")

    def add(self, options: type) -> None:
        """The arguments that a dataclass of options asks for, and what its docstring says."""
        self.description = " ".join((options.__doc__ or "").split())
        for field, _, asked in asked_by(options):
            match asked:
                case Flag():
                    self.add_argument(flag(field, asked), dest=field.name, action="store_true", help=asked.help)
                case Word():
                    many = "+" if asked.several else "?" if has_default(field) else None
                    self.add_argument(field.name, nargs=many, **said(field, asked))
                case Option():
                    how = {"nargs": "+"} if asked.several == "words" else {"action": "append"} if asked.several else \
                        {"nargs": "?", "const": asked.alone} if asked.alone is not None else {}
                    self.add_argument(flag(field, asked), dest=field.name, **how, **said(field, asked))
                case _:
                    words = [action.metavar for action in self._actions if not action.option_strings]
                    self.usage = f"{self.prog} [options] {' '.join(map(str, words))} [-- ARGUMENT ...]"


def asked_by(options: type) -> Iterator[tuple[Field[Any], Any, Asked | Flag | Rest]]:
    """The fields of options, their types, and how they are asked for."""
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        kind, asked = get_args(hints[field.name])
        yield field, kind, asked


def flag(field: Field[Any], asked: Option | Flag) -> str:
    """What is written for a field: `--batch-size`."""
    return (isinstance(asked, Option) and asked.flag) or "--" + field.name.replace("_", "-")


def has_default(field: Field[Any]) -> bool:
    """Whether a field may be left out."""
    return field.default is not MISSING or field.default_factory is not MISSING


def said(field: Field[Any], asked: Asked) -> dict[str, Any]:
    """What argparse is to know of an argument that has a value: no default, which is the field's."""
    means, metavar, default = asked.means, asked.metavar, field.default
    if isinstance(means, Whole | Real):
        means = replace(means, option=flag(field, asked) if isinstance(asked, Option) else field.name)
    if isinstance(means, Choice) and not metavar:
        metavar = f"{{{','.join(means.choices)}}}"
    text = asked.help if isinstance(asked.help, str) else asked.help()
    if isinstance(default, int | float | str | Path):
        text += f"{'; ' if text else ''}default: {default}"
    return {"type": means, "metavar": metavar, "help": text}


def read(options: type[Any], parsed: argparse.Namespace, rest: tuple[str, ...]) -> Any:
    """The options of the words that were parsed, and of those behind `--`; each that is checked holds."""
    found: dict[str, Any] = {}
    for field, kind, asked in asked_by(options):
        value = rest if isinstance(asked, Rest) else getattr(parsed, field.name)
        if isinstance(asked, Asked) and asked.several and value is not None:
            value = _GATHERED.get(get_origin(kind), tuple)(value)
        if value is not None:
            found[field.name] = value
    made = options(**found)
    for field, _, asked in asked_by(options):
        value = getattr(made, field.name)
        if isinstance(asked, Asked) and asked.check and value is not None:
            for one in value if asked.several else [value]:
                asked.check(one)
    return made
