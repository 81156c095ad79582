"""A TOML text that says what to make: its values, which may be set anew, and the line of everything in it."""
from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stele.errors import DataError, SteleError, nearest
from stele.ops.arguments import is_dict, is_series

Path_ = tuple[Any, ...]     # where a value stands: keys of tables, and numbers in lists
HEAD = re.compile(r"\s*\[(\[?)\s*([^\[\]]+?)\s*\]")
KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")

SHORT = {"lr": "optimizer.lr", "batch_size": "data.batch_size", "optimizer": "optimizer.kind"}


def lines_of(text: str) -> dict[Path_, int]:
    """The line of every table and key of a TOML text, by its path; lists in lists that look like tables are none.

    >>> lines_of("epochs = 2\\n[[layer]]\\nkind = 'ReLU'\\n[[layer]]\\nkind = 'Linear'\\n")[("layer", 1, "kind")]
    5
    """
    found: dict[Path_, int] = {}
    prefix: Path_ = ()
    counts: dict[str, int] = {}
    known = tomllib.loads(text)
    for n, line in enumerate(text.splitlines(), 1):
        if (head := HEAD.match(line)) and (keys := keys_of(head[2]))[0] in known:
            if head[1]:
                found.setdefault(keys, n)
                counts[head[2]] = counts.get(head[2], -1) + 1
                keys = (*keys, counts[head[2]])
            elif keys[0] in counts:
                keys = (keys[0], counts[keys[0]], *keys[1:])
            prefix = keys
            found.setdefault(prefix, n)
        elif key := KEY.match(line):
            found.setdefault((*prefix, *keys_of(key[1])), n)
    return found


def value_of(text: str) -> Any:
    """What a value on the command line means, written as in TOML; a string where it is none of that.

    >>> value_of("1e-3"), value_of("true"), value_of("[1, 2]"), value_of("adam")
    (0.001, True, [1, 2], 'adam')
    """
    with suppress(ValueError, RecursionError):
        return tomllib.loads(f"x = {text}")["x"]
    return text


def keys_of(text: str) -> Path_:
    """The parts of a dotted key."""
    return tuple(part.strip().strip("\"'") for part in text.split("."))


class Misconfigured(DataError):
    """What is wrong in a configuration, and where."""


class Document:
    """A text of TOML, of a file or another one under its name, in which values may be set anew."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8-sig") if text is None else text
            self.values = tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:   # numbers of more digits than Python reads, lists without end
            raise DataError(f"{path} is no TOML: {error}") from None
        self.lines, self.told = lines_of(self.text), dict[Path_, str]()

    def knows(self, name: str) -> bool:
        return name in ("epochs", "seed", *SHORT)

    def set(self, name: str, text: str) -> None:
        """Sets a value by its dotted name, such as optimizer.lr or layer.conv1.out_channels."""
        *above, last = SHORT.get(name, name).split(".")
        into: Any = self.values
        place: Path_ = ()
        for part in above:
            key, into = self.below(into, part, name)
            place = (*place, key)
        key: Any = self.below(into, last, name)[0] if is_series(into) else last
        into[key] = value_of(text)      # pyright: ignore
        self.told[(*place, key)] = f"--set {name}={text}"

    def below(self, into: Any, key: str, name: str) -> tuple[Any, Any]:
        """What stands under a key: a name given alone is made a table with that kind, and entries have names."""
        if is_series(into):
            names = [str(entry.get("name", k)) if is_dict(entry) else str(k) for k, entry in enumerate(into)]
            if key not in names and not (key.isdigit() and int(key) < len(names)):
                raise DataError(f"--set {name}: there is no {key!r} among {', '.join(names)}")
            k = names.index(key) if key in names else int(key)
            return k, into[k]
        x = into.setdefault(key, {})
        if isinstance(x, str):
            x = into[key] = {"kind": x}
        if not is_dict(x) and not is_series(x):
            raise DataError(f"--set {name}: {key} is {x!r}, which nothing stands under")
        return key, x

    def error(self, place: Path_, message: str, near: str | None = None, hint: str | None = None) -> DataError:
        """What is wrong, with the file and line where it stands, or with the --set that said it."""
        if (told := next((self.told[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.told), None)):
            where = told
        else:
            line = next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), 1)
            where = f"{self.path}:{line}"
        return Misconfigured(message, where=where, hint=f"Did you mean {near!r}?" if near else hint)

    def unknown(self, place: Path_, what: str, known: Collection[str]) -> DataError:
        """The error for a name that is none of those there are."""
        name = str(place[-1])
        near = nearest(name.lower(), lower := {own.lower(): own for own in known}, 0.5)
        few = f"{what} has no {name!r}" + (f": it takes {', '.join(known)}" if len(known) < 24 else "")
        return self.error(place, few, lower[near] if near else None)

    def kind(self, place: Path_, table: Mapping[str, Any], what: str, known: Mapping[str, Any]) -> tuple[str, Any]:
        """What a table's "kind" names, with that name."""
        name = table.get("kind")
        if not isinstance(name, str):
            raise self.error(place, f'{what} needs kind = "...", the name of one')
        if name not in known:
            near = nearest(name.lower(), lower := {own.lower(): own for own in known}, 0.5)
            raise self.error((*place, "kind"), f"there is no {what} {name!r}", lower[near] if near else None)
        return name, known[name]

    def made(self, place: Path_, name: str, make: Callable[..., Any], options: Mapping[str, Any], *given: Any) -> Any:
        """What a function makes of options, each of which it has to know."""
        parameters = inspect.signature(make).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for key in options:
            if key not in parameters and not takes_any:
                raise self.unknown((*place, key), name, list(parameters)[len(given):])
        try:
            return make(*given, **options)
        except Misconfigured:
            raise
        except SteleError as error:
            said = str(error.args[0])
            named = said if said.startswith(name) else f"{name}: {said}"
            raise self.error(self.blamed(place, options, said), named, hint=error.hint) from None
        except (TypeError, ValueError, LookupError, OSError) as error:
            raise self.error(self.blamed(place, options, str(error)), f"{name}: {error}") from error

    def blamed(self, place: Path_, options: Mapping[str, Any], message: str) -> Path_:
        """The place of the option that an error names, or of its table."""
        named = [key for key in options if re.search(rf"\b{re.escape(key)}\b", message)]
        return (*place, named[0]) if len(named) == 1 else place

    def table(self, name: str) -> dict[str, Any]:
        """A table at the top, where a string alone is its kind."""
        return self.tabled((name,), self.values.get(name, {}))

    def tabled(self, place: Path_, x: Any) -> dict[str, Any]:
        """A table, of which a string alone is the kind."""
        if isinstance(x, str):
            return {"kind": x}
        if not is_dict(x):
            raise self.error(place, f"{place[0]} is a table or the name of a kind, got {x!r}")
        return x

    def listed(self, name: str, table: Mapping[str, Any] | None = None) -> list[Any]:
        """A list at the top, or in a table."""
        x = (self.values if table is None else table).get(name, [])
        return x if isinstance(x, list) else [x]    # pyright: ignore[reportUnknownVariableType]
