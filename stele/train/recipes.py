"""What `stele train` is given: a workload, a file of Python or a configuration, with options to be set by name."""
from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Protocol, Union, get_args, get_origin

from stele.errors import DataError, nearest
from stele.files import located
from stele.ir.door import public
from stele.ops.arguments import is_series
from stele.train.configuration import Configuration
from stele.train.document import value_of
from stele.train.trainer import Trainer
from stele.train.workloads import WORKLOADS, trainer_of

MAKES = "trainer"       # the function of a file of Python that makes its trainer
WORDS: Mapping[Any, str] = {float: "a number", int: "a whole number", bool: "True or False", NoneType: "None"}


class Recipe(Protocol):
    """What makes a trainer: options are set by name, as they stand on the command line."""

    def knows(self, name: str) -> bool: ...
    def set(self, name: str, text: str) -> None: ...
    def defaults(self) -> dict[str, str]: ...
    def trainer(self) -> Trainer: ...


def recipe_of(what: str, text: str | None = None) -> Recipe:
    """The recipe that a name or a file is; `text` is what a configuration said when its run began."""
    if what in WORKLOADS:
        return Function(f"stele train {what}", trainer_of(what))
    path = Path(what)
    if path.suffix == ".toml":
        return Configuration(path, text)
    return Function(f"{MAKES}() in {path}", made_by(path))


class Function:
    """A function of options that makes a trainer."""

    def __init__(self, name: str, make: Callable[..., Trainer]) -> None:
        self.name, self.make = name, make
        self.options = dict(inspect.signature(make, eval_str=True).parameters)
        self.given: dict[str, Any] = {}

    def knows(self, name: str) -> bool:
        return self.own(name) in self.options

    def own(self, name: str) -> str:
        """An option's name here: a configuration's optimizer.lr is lr."""
        return name if name in self.options else name.rpartition(".")[2]

    def set(self, name: str, text: str) -> None:
        """Sets an option to what was written for it; DataError where it has no such option, or the text is none."""
        own = self.own(name)
        if own not in self.options:
            near = nearest(own, self.options, 0.5)
            raise DataError(f"{self.name} takes {', '.join(self.options) or 'no options'}, got {name}",
                            hint=f"Did you mean {near}?" if near else None)
        self.given[own] = typed(self.options[own], text, self.name)

    def defaults(self) -> dict[str, str]:
        """Options that nobody has set, as they would be written."""
        plain = {name: option.default for name, option in self.options.items() if name not in self.given}
        return {name: str(x) for name, x in plain.items() if isinstance(x, str | int | float)}

    def trainer(self) -> Trainer:
        """The trainer, made now."""
        lacks = [name for name, option in self.options.items() if option.default is option.empty
                 and option.kind not in (option.VAR_POSITIONAL, option.VAR_KEYWORD) and name not in self.given]
        if lacks:
            raise DataError(f"{self.name} needs {lacks[0]}, which has no default", hint=f"Write --set {lacks[0]}=...")
        made: Any = self.make(**self.given)
        if not isinstance(made, Trainer):
            raise DataError(f"{self.name} has to return a stele.train.Trainer, got {type(made).__name__}")
        return made


def typed(option: inspect.Parameter, text: str, name: str) -> Any:
    """A value of the kind that an option is of, by its annotation, or else by its default."""
    said: Any = option.default.__class__ if option.annotation is option.empty else option.annotation
    found = meant(said, text)
    if found is ...:
        raise DataError(f"--set {option.name} of {name} takes {kind_of(said)}, got {text!r}")
    return found


def meant(said: Any, text: str) -> Any:
    """What a text is as a value of an annotation; `...` where it is none.

    >>> meant(tuple[int, ...], "8,4"), meant(float | None, "3"), meant(int, "3.5")
    ((8, 4), 3.0, Ellipsis)
    """
    x, kind, parts = value_of(text), get_origin(said) or said, get_args(said)
    if kind in (Union, UnionType):
        found = (meant(part, text) for part in sorted(parts, key=lambda part: part is str))     # which takes every text
        return next((y for y in found if y is not ...), ...)
    if kind is Literal:
        return next((part for part in parts if part in (x, text)), ...)
    if kind in (list, tuple, Sequence):
        words = [str(part) for part in x] if is_series(x) else text.strip("()").split(",")
        found = [meant(parts[0] if parts else Any, word.strip()) for word in words if word.strip()]
        return ... if ... in found else tuple(found) if kind is tuple else found
    if kind is Path:
        return Path(text)
    if kind is float and type(x) is int:
        return float(x)
    if kind is str:
        return x if type(x) is str else text
    if kind is NoneType:
        return None if text == "None" else ...
    return x if kind not in (bool, int, float) or type(x) is kind else ...


def kind_of(said: Any) -> str:
    """An annotation in words, and one that has none as it is written."""
    if get_origin(said) in (Union, UnionType):
        return " or ".join(map(kind_of, get_args(said)))
    return WORDS.get(said) or (said.__name__ if isinstance(said, type) and not get_args(said) else str(said))


def made_by(path: Path) -> Callable[..., Trainer]:
    """The function of a file of Python that makes its trainer."""
    module = loaded(path)
    found: Any = getattr(module, MAKES, None)
    if isinstance(found, Trainer):
        return lambda: found
    make: Callable[..., Trainer] = found
    if found is None or not callable(found):
        raise DataError(f"{path} has no function {MAKES}(), which returns a stele.train.Trainer",
                        hint=f"Write def {MAKES}(lr: float = 1e-3): ...; its parameters are what --set sets.")
    return make


def loaded(path: Path) -> ModuleType:
    """A file of Python as a module, whose imports find what stands beside it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(path.stem, module)       # where processes of a loader look for its classes
    spec.loader.exec_module(module)
    return module


@public
def from_file(path: str | Path, settings: Mapping[str, Any] | None = None) -> Trainer:
    """The trainer that a file says: a configuration in TOML, or a file of Python with a function `trainer()`.

    `path` ends in .toml or .py; `settings` are values by name that are set anew, such as {"optimizer.lr": 0.01}, as
    `stele train --set` takes them. Raises DataError for what the file cannot say, with its line.

    >>> np.savez("points.npz", x=np.ones((8, 2), np.float32), y=np.zeros(8, np.int64))
    >>> _ = pathlib.Path("net.toml").write_text('''
    ... [data]
    ... kind = "npz"
    ... file = "points.npz"
    ... [[layer]]
    ... kind = "Linear"
    ... out_features = 2
    ... ''')
    >>> trainer = train.from_file("net.toml", {"optimizer.lr": 0.1})
    >>> len(trainer.fit(2)["train_loss"])
    2
    """
    what = located(path)
    if what.suffix not in (".toml", ".py") or not what.is_file():
        raise DataError(f"a training is read from a file ending in .toml or .py, got {what}",
                        hint="Is the path right?" if what.suffix in (".toml", ".py") else None)
    recipe = recipe_of(str(what))
    for name, x in (settings or {}).items():
        recipe.set(name, x if isinstance(x, str) else json.dumps(x))
    return recipe.trainer()
