"""What words of the command line mean, and how a field of the options says that it is asked for there."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stele.errors import SteleError, nearest
from stele.ir.record import Record


class UsageError(SteleError):
    """The command line asks for something that does not exist or cannot be."""


class Asked(Record):
    """How a field is asked for: what a word of it means, and what help says. It stands in `Annotated` beside the type,
    and its name and default are the field's.
    """

    means: Callable[[str], Any]
    metavar: str = ""                       # of a Choice: what there is to choose from
    help: str | Callable[[], str] = ""      # a function where it says what is loaded late
    check: Callable[[Any], Any] | None = None   # of each value, once all words are known to be there
    several: str = ""                       # "words" behind one another, or "times" that an option is given


class Word(Asked):
    """A field that is asked for by its place; it may be left out where the field has a default."""


class Option(Asked):
    """A field that is asked for by its name, or by another that is given here; `alone` is its value where none is."""

    flag: str = ""
    alone: Any = None


class Flag(Record):
    """A field that is True where its name is there."""

    help: str


class Rest(Record):
    """The field of what stands behind `--`, for the file that is run."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question for the nearest of the words that are known, if one is near."""
    close = nearest(word, known, 0.5)
    return f" Did you mean {close}?" if close else ""


class Choice(Record):
    """One of several words."""

    what: str
    choices: tuple[str, ...]

    def __call__(self, word: str) -> str:
        if word not in self.choices:
            raise UsageError(f"{'an' if self.what[0] in 'aeiou' else 'a'} {self.what} needs to be "
                             f"{' or '.join(self.choices)}, got {word!r}."
                             + did_you_mean(word, self.choices))
        return word


class Names(Record):
    """Some of several names with commas between them; what there is, is loaded when it is asked for."""

    what: str
    known: Callable[[], tuple[str, ...]]

    def __call__(self, text: str) -> tuple[str, ...]:
        names, known = tuple(filter(None, text.split(","))), self.known()
        if not names:
            raise UsageError(f"a list of {self.what}s needs a name, got {text!r}. Leave the option out for all.")
        for name in names:
            if name not in known:
                raise UsageError(f"a {self.what} needs to be one of {', '.join(dict.fromkeys(known))}, got {name!r}."
                                 + did_you_mean(name, known))
        return names


class Known(Record):
    """One of several names, of which what there is, is loaded when it is asked for."""

    what: str
    known: Callable[[], tuple[str, ...]]

    def __call__(self, word: str) -> str: return Choice(self.what, self.known())(word)


class Whole(Record):
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int
    option: str = ""

    def __call__(self, word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            raise UsageError(f"{self.option} needs a whole number, got {word!r}. "
                             f"Write {self.option} {max(self.low, 1)}") from None
        if not self.low <= number <= self.high:
            raise UsageError(f"{self.option} needs a number in {self.low}..{self.high}, got {number}.")
        return number


class Real(Record):
    """A number from `low` to `high`, both included."""

    low: float
    high: float
    option: str = ""

    def __call__(self, word: str) -> float:
        try:
            number = float(word)
        except ValueError:
            raise UsageError(f"{self.option} needs a number, got {word!r}. Write {self.option} 0.9") from None
        if not self.low <= number <= self.high:
            raise UsageError(f"{self.option} needs a number in {self.low}..{self.high}, got {word}.")
        return number


class Interpreter(Record):
    """FRAMEWORK=PATH: an interpreter that has a framework."""

    frameworks: Callable[[], tuple[str, ...]]

    def __call__(self, text: str) -> tuple[str, Path]:
        framework, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(f"--python needs FRAMEWORK=PATH, got {text!r}. Write --python pytorch=env/bin/python")
        Names("framework", self.frameworks)(framework)
        return framework, there(Path(path), Path(path).is_file(), "--python needs an existing interpreter").absolute()


def rate(word: str) -> float:
    """A learning rate."""
    try:
        number = float(word)
    except ValueError:
        raise UsageError(f"--lr needs a number, got {word!r}. Write --lr 0.01") from None
    if not 0 < number < 1e6:
        raise UsageError(f"--lr needs a learning rate above 0, got {word}.")
    return number


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--set needs NAME=VALUE, got {text!r}. Write --set optimizer.lr=0.01")
    return name, value


def choices(text: str) -> tuple[str, tuple[str, ...]]:
    """NAME=VALUE,..."""
    name, equals, values = text.partition("=")
    found = tuple(re.findall(r"(?:\[[^\]]*\]|[^,\[]+|\[)+", values))       # a list is one of them, with its commas
    if not equals or not name or not found:
        raise UsageError(f"--sweep needs NAME=VALUE,..., got {text!r}. Write --sweep lr=1e-4,1e-3")
    return name, found


def workload_or_file(what: str) -> str:
    """What `stele train` trains."""
    path, known = Path(what), (".py", ".toml")
    if path.suffix not in (*known, ""):
        raise UsageError(f"a file to train needs to end in .py, a program, or in .toml, a configuration, got {what}."
                         + did_you_mean(path.suffix, known))
    return str(script(path)) if path.suffix else Choice("workload", ("cnn", "gru"))(what)


def workload_or_script(what: Path) -> Path:
    """What `stele tune` runs."""
    known = Choice("workload", ("cnn", "gru", "resnet50"))
    return script(what) if what.suffix == ".py" else Path(known(str(what)))


def script(path: Path) -> Path:
    """A file that can be run."""
    return there(path, path.is_file(), "a file to run needs to exist")


def image(path: Path) -> Path:
    """A file that is there."""
    return there(path, path.is_file(), "an image needs to be an existing file")


def there(path: Path, found: bool, needed: str) -> Path:
    """A path where something was found; UsageError, which says what is needed and what is there, otherwise."""
    if not found:
        what = "the folder" if path.is_dir() else "the file" if path.exists() else "nothing at"
        raise UsageError(f"{needed}, got {what} {path}. Is the path right?")
    return path


def folder(path: Path) -> Path:
    """A folder that is there."""
    return there(path, path.is_dir(), "a folder of runs needs to exist")


def existing(path: Path) -> Path:
    """A file or folder that is there."""
    return there(path, path.exists(), "--tokenizer needs a file that exists")


def model(path: Path) -> Path:
    """A model that is there."""
    return there(path, path.is_dir() or (path.is_file() and path.suffix == ".bin"),
                 "a model needs to be a folder or a .bin file")


def onnx_model(path: Path) -> Path:
    """A model of ONNX that is there."""
    return there(path, path.is_file(), "a model needs to be an existing file")


def model_there(path: Path) -> Path:
    """A file or folder of a model that is there."""
    return there(path, path.exists(), "a model needs to be an existing file or folder")


def model_new(path: Path) -> Path:
    """A file or folder of a model that is not there yet."""
    known = ".onnx", ".stele", ".safetensors", ""
    if path.suffix not in known:
        raise UsageError(f"a model is written as {', '.join(filter(None, known))} or a folder of a library, got "
                         f"{path.name}." + did_you_mean(path.suffix, known[:-1]))
    if path.exists():
        raise UsageError(f"{path} is there already. Remove it first, or give another name.")
    return new_file(path)


def input_file(text: str) -> tuple[str, Path]:
    """NAME=FILE.npy, of a file that is there."""
    name, equals, path = text.rpartition("=")
    if not equals or not name or not path:
        raise UsageError(f"--input needs NAME=FILE.npy, got {text!r}. Write --input x=x.npy")
    return name, there(Path(path), Path(path).is_file(), "--input needs an existing file")


def dim(text: str) -> tuple[str, int]:
    """NAME=N, of 1 or more."""
    name, equals, number = text.rpartition("=")
    if not equals or not name or not number.isdecimal() or not 0 < int(number) < 1 << 31:
        raise UsageError(f"--dim needs NAME=N with N of 1 or more, got {text!r}. Write --dim batch=32")
    return name, int(number)


def weights(path: Path) -> Path:
    """A file of weights that is there."""
    there(path, path.is_file(), "--weights needs an existing .safetensors file")
    if path.suffix != ".safetensors":
        raise UsageError(f"--weights needs a .safetensors file, got {path}. Save the state dict with "
                         "safetensors.torch.save_file.")
    return path


def new_file(path: Path) -> Path:
    """A file in a folder that is there, and no folder itself."""
    if not path.parent.is_dir():
        raise UsageError(f"a file to write needs an existing folder, got {path.parent}. Make it first.")
    if path.is_dir():
        raise UsageError(f"a file to write needs a name of its own, got the folder {path}. Write a name behind it.")
    return path


def new_array(path: Path) -> Path:
    """A file of one array, in a folder that is there."""
    if path.suffix != ".npy":
        raise UsageError(f"--out needs a file name ending in .npy, got {path}.")
    return new_file(path)


def new_folder(path: Path) -> Path:
    """A folder, which may not be there yet."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out needs a folder, got the file {path}. Pass another name.")
    return path
