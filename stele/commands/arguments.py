"""The command line as it is written: what may be asked, checked before anything runs, and how errors look."""

import argparse
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stele import __version__
from stele.commands.options import (
    BATCH,
    SEED,
    BenchOptions,
    CompletionOptions,
    FeatureOptions,
    LintOptions,
    RunsOptions,
    TrainOptions,
    TuneOptions,
)
from stele.config import MAX_THREADS
from stele.errors import SteleError, nearest
from stele.stop import Stopped

USAGE, BY_SIGNAL = 2, 128
EXAMPLES = """examples:
  stele train cnn                                   a convolutional network on the packaged Fashion-MNIST sample
  stele train gru --epochs 3 --seed 1               a recurrent network on the packaged movie review sentences
  stele train cnn --data data/cifar-10-batches-bin  the same network on all of CIFAR-10
  stele train --resume runs/cnn-20260101-120000     go on with a run that was stopped
  stele train net.toml --set optimizer.lr=0.01      a network from a configuration file
  stele train net.py --sweep lr=1e-4,1e-3           the trainer of a file of Python, a run for each rate
  stele runs --html runs.html                       compare the runs in the folder runs
  stele features resnet50 cat.jpg dog.png --weights resnet50.safetensors --out features.npy
  stele bench --quick --workloads mlp,matmul        Stele beside the frameworks that are installed
  stele lint train.py -- --epochs 1                 lessons about slow or wrong programs, with file and line
  stele tune cnn --seconds 120                      measure candidates of products and convolutions
  stele doctor                                      versions, CPU features, threads, cache folder, BLAS
"""
BENCH_EXAMPLES = """examples:
  stele bench                                       every workload in every framework of this environment
  stele bench --quick --workloads cnn,matmul-1024 --frameworks stele,pytorch
  stele bench --python pytorch=../torch/bin/python --python jax=../jax/bin/python --html bench.html
  stele bench --isa avx2 --workloads cnn,resnet50         as a machine without AVX-512 would run them
"""
LINT_EXAMPLES = """examples:
  stele lint train.py
  stele lint train.py --without host-sync --json
  stele lint train.py -- --epochs 1
"""
TUNE_EXAMPLES = """examples:
  stele tune resnet50 --seconds 300
  stele tune train.py -- --epochs 1
"""

COMPLETION_EXAMPLES = """examples:
  stele completion bash > ~/.local/share/bash-completion/completions/stele
  stele completion zsh > ~/.zfunc/_stele            in a folder of fpath
"""
SHELLS = "bash", "zsh", "tcsh"

_WORDING = (
    (r"the following arguments are required: (.*)", r"needs \1, got nothing there"),
    (r"argument (\S+): expected one argument",      r"needs a value after \1, got none"),
)


@dataclass(frozen=True)
class Doctor:
    """`stele doctor`."""


Options = (TrainOptions | RunsOptions | FeatureOptions | BenchOptions | LintOptions | TuneOptions | CompletionOptions
           | Doctor)
Commands = dict[type, Callable[..., int | None]]


class UsageError(SteleError):
    """The command line asks for something that does not exist or cannot be."""


def parse(arguments: Sequence[str]) -> Options:
    """What `arguments` ask for; UsageError when they do not make sense.

    >>> parse(["train", "cnn", "--epochs", "2"]).epochs
    2
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    _check_options(arguments[:end])
    parsed, more = parser(arguments[:1]).parse_known_args(arguments[:end],
                                                          argparse.Namespace(theirs=tuple(arguments[end + 1:])))
    if more:
        _refuse(parsed.command, more)
    if parsed.theirs and parsed.command not in ("lint", "tune"):
        raise UsageError(f"stele {parsed.command} runs no file that could take arguments, got {arguments[end:]}")
    match parsed.command:
        case "train":
            return _train_options(parsed)
        case "runs":
            return RunsOptions(_folder(parsed.folder), _file(parsed.html))
        case "features":
            return FeatureOptions(parsed.model, tuple(map(_existing, parsed.images)), _weights(parsed.weights),
                                  _npy(parsed.out), parsed.batch_size, parsed.threads)
        case "bench":
            return BenchOptions(parsed.workloads, parsed.frameworks, dict(parsed.python), parsed.quick, parsed.threads,
                                tuple(parsed.accuracy), _file(parsed.json), _file(parsed.markdown), _file(parsed.html),
                                parsed.isa)
        case "lint":
            return LintOptions(_script(parsed.file), parsed.theirs, frozenset(parsed.without), parsed.json)
        case "tune":
            return TuneOptions(_workload_or_script(parsed.what), parsed.theirs, parsed.seconds, parsed.threads)
        case "completion":
            return CompletionOptions(parsed.shell)
        case _:
            return Doctor()


def run(arguments: Sequence[str], commands: Commands) -> int:
    """Parse, run the command, and return the exit code: 0 or what the command says, 2 for bad input, 130 for Ctrl-C,
    143 for SIGTERM; errors are one line. Without arguments it prints what `--help` prints.
    """
    try:
        options = parse(arguments or ["--help"])
        return commands[type(options)](options) or 0
    except SteleError as error:
        print(f"error: {_said(error)}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename or 'a file'}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt as error:
        print("; ".join(["interrupted", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return BY_SIGNAL + (error.signal if isinstance(error, Stopped) else signal.SIGINT)


def _said(error: SteleError) -> str:
    """An error in one line, without a place that is no more than where the command began."""
    if error.where and error.where.startswith((f"{Path(sys.argv[0]).name}:", "<frozen runpy>:")):
        error.where = None
    return " ".join(str(error).split())


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises its errors, in our words."""

    def error(self, message: str) -> NoReturn:
        for pattern, words in _WORDING:
            message = re.sub(pattern, words, message)
        raise UsageError(f"{self.prog} {message}. Try: {self.prog} --help")


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, and the options of the one that `words` name: what others ask for is not even loaded."""
    root = _Parser("stele", description="Train and run networks, compiled to machine code.", epilog=EXAMPLES,
                   formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    root.add_argument("--version", action="version", version=f"stele {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, (summary, add) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, allow_abbrev=False,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in words:
            add(command)
    return root


def _train(train: _Parser) -> None:
    train.epilog = EXAMPLES
    train.description = ("Train, print progress and the test accuracy, and write history.json, curves.html, "
                         "model.safetensors and a checkpoint to go on from. Ctrl-C and SIGTERM save first.")
    train.add_argument("what", type=_workload_or_file, metavar="{cnn,gru,FILE}", nargs="?",
                       help="cnn: images, gru: movie reviews; a file ending in .py, whose function trainer() returns a "
                            "stele.train.Trainer, or in .toml, a configuration")
    train.add_argument("--data", type=Path, metavar="DIR",
                       help="folder of the full set, for cnn CIFAR-10 (binary or python version), Fashion-MNIST or "
                            "MNIST, for gru aclImdb; default: the packaged sample")
    train.add_argument("--epochs", type=_whole("--epochs", 1, 100_000), metavar="N", help="default: the workload's own")
    train.add_argument("--batch-size", type=_whole("--batch-size", 1, 1 << 20), metavar="N",
                       help=f"default: {BATCH}")
    train.add_argument("--optimizer", type=_choice("optimizer", "sgd", "adam", "adamw"), metavar="{sgd,adam,adamw}",
                       help="default: sgd (momentum 0.9) for cnn, adam for gru")
    train.add_argument("--lr", type=_rate, metavar="RATE", help="default: 0.01 for sgd, 0.001 for adam and adamw")
    train.add_argument("--seed", type=_whole("--seed", 0, (1 << 63) - 1), metavar="N", help=f"default: {SEED}")
    train.add_argument("--threads", type=_whole("--threads", 1, MAX_THREADS), metavar="N",
                       help="default: one per core")
    train.add_argument("--out", type=Path, metavar="DIR", help="run folder; default: runs/<workload>-<time>")
    train.add_argument("--set", type=_setting, action="append", default=[], metavar="NAME=VALUE",
                       help="an option of the file, such as optimizer.lr=0.01; may be repeated")
    train.add_argument("--sweep", type=_choices, action="append", default=[], metavar="NAME=VALUE,...",
                       help="a run for each of the values, of several for each choice; may be repeated")
    train.add_argument("--resume", type=Path, metavar="RUN",
                       help="go on with the run in this folder, to the bits of one that never stopped; with more "
                            "--epochs also with one that has finished")


def _train_options(parsed: argparse.Namespace) -> TrainOptions:
    """What `stele train` is asked to do: a new run, or one to go on with."""
    if parsed.resume is None and parsed.what is None:
        raise UsageError("stele train needs a workload, cnn or gru, or --resume RUN, or a file, got nothing there. "
                         "Try: stele train --help")
    if parsed.resume is not None and parsed.out is not None:
        raise UsageError("--resume goes on in the run's own folder, got --out too. Leave --out away.")
    if parsed.resume is not None and (parsed.set or parsed.sweep):
        raise UsageError("--resume goes on with a run as it is, got --set or --sweep too. Leave them away.")
    is_new = parsed.resume is None and not (parsed.what or "").endswith((".py", ".toml"))
    batch, seed = (BATCH, SEED) if is_new else (None, None)
    return TrainOptions(parsed.what, parsed.data, parsed.epochs, parsed.batch_size or batch,
                        seed if parsed.seed is None else parsed.seed, parsed.threads, _new_folder(parsed.out),
                        parsed.lr, parsed.optimizer, parsed.resume, tuple(parsed.set), tuple(parsed.sweep))


def _runs(runs: _Parser) -> None:
    runs.description = "Compare training runs by their folders: the best first, and the options in which they differ."
    runs.add_argument("folder", type=Path, nargs="?", default=Path("runs"), metavar="FOLDER",
                      help="in which run folders are; default: runs")
    runs.add_argument("--html", type=Path, metavar="FILE", help="write a page with their curves, which loads nothing")


def _features(features: _Parser) -> None:
    features.epilog = EXAMPLES
    features.description = ("Write the 2048 features of each photograph, a row each, as .npy; needs "
                            "pip install 'stele-dl[images]'.")
    features.add_argument("model", type=_choice("model", "resnet50"), metavar="{resnet50}", help="the network")
    features.add_argument("images", type=Path, nargs="+", metavar="IMAGE", help="JPEG, PNG, WebP, BMP or GIF files")
    features.add_argument("--weights", type=Path, metavar="FILE.safetensors",
                          help="weights under torchvision's names; default: random ones")
    features.add_argument("--out", type=Path, default=Path("features.npy"), metavar="FILE.npy",
                          help="default: features.npy")
    features.add_argument("--batch-size", type=_whole("--batch-size", 1, 4096), default=32, metavar="N",
                          help="default: 32")
    features.add_argument("--threads", type=_whole("--threads", 1, MAX_THREADS), metavar="N",
                          help="default: one per core")


def _bench(bench: _Parser) -> None:
    from stele.rosetta.rows import FRAMEWORKS, ROWS, WORKLOADS
    bench.epilog = BENCH_EXAMPLES
    bench.description = ("Run the same models in every framework that is installed, check that they compute "
                         "the same, and show how fast they are.")
    bench.add_argument("--workloads", type=_names("workload", (*WORKLOADS, *ROWS)), default=(), metavar="NAME,...",
                       help=f"of {', '.join(WORKLOADS)}, or single rows such as matmul-1024; default: all")
    bench.add_argument("--frameworks", type=_names("framework", tuple(FRAMEWORKS)), default=(), metavar="NAME,...",
                       help=f"of {', '.join(FRAMEWORKS)}; default: all that are installed")
    bench.add_argument("--python", type=_interpreter(tuple(FRAMEWORKS)), action="append", default=[],
                       metavar="FRAMEWORK=PATH",
                       help="an interpreter of another environment that has the framework; may be repeated")
    bench.add_argument("--quick", action="store_true", help="less time for each, and no finals in fresh processes")
    bench.add_argument("--threads", type=_whole("--threads", 1, MAX_THREADS), metavar="N",
                       help="threads of each framework; default: one per core")
    bench.add_argument("--isa", type=_choice("instruction set", "native", "avx2"), default="native", metavar="NAME",
                       help="avx2: hold all frameworks to AVX2, as most machines have it; default: native")
    bench.add_argument("--accuracy", type=Path, nargs="+", default=[], metavar="RUN",
                       help="run folders of stele train, whose accuracies are shown too")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write all rows as JSON")
    bench.add_argument("--markdown", type=Path, metavar="FILE", help="write a page of Markdown")
    bench.add_argument("--html", type=Path, metavar="FILE", help="write a page with bars, one file that loads nothing")


def _lint(lint: _Parser) -> None:
    from stele.inspect.lint.checks import CHECKS
    checks = "\n".join(f"  {name:<27} {find.__doc__}" for name, find in CHECKS.items())
    lint.usage, lint.epilog = "stele lint [options] FILE.py [-- ARGUMENT ...]", f"checks:\n{checks}\n\n{LINT_EXAMPLES}"
    lint.description = ("Run a file, and check every program that it compiles or evaluates. Exit code 1 with "
                        "findings, 0 without.")
    lint.add_argument("file", type=Path, metavar="FILE.py", help="a file that runs a model or a training step")
    lint.add_argument("--without", type=_choice("check", *CHECKS), action="append", default=[], metavar="CHECK",
                      help="leave a check out; may be given several times")
    lint.add_argument("--json", action="store_true", help="print findings as a JSON list")


def _tune(tune: _Parser) -> None:
    tune.usage, tune.epilog = "stele tune [options] WHAT [-- ARGUMENT ...]", TUNE_EXAMPLES
    tune.description = ("Run a workload or a file, and measure algorithms and blockings for its products and "
                        "convolutions. The answers stay in the folder of STELE_CACHE, for this CPU and this "
                        "version of Stele, and count for every program that is compiled from then on.")
    tune.add_argument("what", type=Path, metavar="WHAT", help="cnn, gru, resnet50, or a file ending in .py")
    tune.add_argument("--seconds", type=_whole("--seconds", 1, 86_400), default=60, metavar="N",
                      help="time for measuring; default: 60")
    tune.add_argument("--threads", type=_whole("--threads", 1, MAX_THREADS), metavar="N", help="default: one per core")


def _completion(completion: _Parser) -> None:
    completion.epilog = COMPLETION_EXAMPLES
    completion.description = ("Print what makes a shell complete commands, options, names and files of stele; needs "
                              "pip install 'stele-dl[completion]'.")
    completion.add_argument("shell", type=Choice("shell", SHELLS), metavar="{bash,zsh,tcsh}", help="the shell")


def _doctor(doctor: _Parser) -> None:
    doctor.description = "Print what Stele finds on this machine."


COMMANDS: dict[str, tuple[str, Callable[[_Parser], None]]] = {
    "train":    ("train a network and keep the run in a folder",               _train),
    "runs":     ("compare training runs",                                      _runs),
    "features": ("turn photographs into feature vectors",                      _features),
    "bench":    ("compare frameworks on this machine",                         _bench),
    "lint":     ("find what makes a program slow or wrong",                    _lint),
    "tune":     ("measure candidates and keep the answers",                    _tune),
    "completion": ("print what completes commands in a shell",               _completion),
    "doctor":   ("versions, CPU features, threads, cache folder, BLAS found",  _doctor),
}


def _check_options(arguments: Sequence[str]) -> None:
    """An unknown command or option is an error that names the nearest known one."""
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is not None and arguments[0] == command and command not in COMMANDS:
        raise UsageError(f"a command needs to be one of {', '.join(COMMANDS)}, got {command!r}."
                         + _nearest(command, tuple(COMMANDS)))
    options = _options_of(command if command in COMMANDS else None)
    for word in arguments:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in options:
            where = f"stele {command}" if command in COMMANDS else "stele"
            raise UsageError(f"{where} knows {', '.join(options)}, got {name}." + _nearest(name, options)
                             + (" Arguments of the file go behind --." if command in ("lint", "tune") else ""))


def _refuse(command: str, words: Sequence[str]) -> NoReturn:
    """Raises for words that a command does not take, and names the option of which they are values."""
    asked, value = _Parser(allow_abbrev=False), ",".join(words)
    COMMANDS[command][1](asked)
    hint = f"Try: stele {command} --help"
    for action in asked._actions:
        if action.option_strings and action.type not in (None, Path) and not value.isdigit():
            with suppress(UsageError):
                action.type(value)  # type: ignore[operator]
                hint = f"Did you mean {action.option_strings[-1]} {value}?"
    raise UsageError(f"stele {command} got {' '.join(words)}, which it does not take. {hint}")


def _options_of(command: str | None) -> list[str]:
    """The long options of a command; without one those of `stele` itself."""
    asked = _Parser(allow_abbrev=False)
    if command is None:
        asked.add_argument("--version")
    else:
        COMMANDS[command][1](asked)
    return [option for action in asked._actions for option in action.option_strings if option.startswith("--")]


def _nearest(word: str, known: Sequence[str]) -> str:
    close = nearest(word, known, 0.5)
    return f" Did you mean {close}?" if close else ""


@dataclass(frozen=True)
class Choice:
    """One of several words, as the type of an argument."""

    what: str
    choices: tuple[str, ...]

    def __call__(self, word: str) -> str:
        if word not in self.choices:
            raise UsageError(f"a {self.what} needs to be {' or '.join(self.choices)}, got {word!r}."
                             + _nearest(word, self.choices))
        return word


def _choice(what: str, *choices: str) -> Callable[[str], str]:
    return Choice(what, choices)


def _names(what: str, known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def check(text: str) -> tuple[str, ...]:
        names = tuple(filter(None, text.split(",")))
        for name in names:
            if name not in known:
                raise UsageError(f"a {what} needs to be one of {', '.join(dict.fromkeys(known))}, got {name!r}."
                                 + _nearest(name, known))
        return names
    return check


def _interpreter(frameworks: Sequence[str]) -> Callable[[str], tuple[str, Path]]:
    def check(text: str) -> tuple[str, Path]:
        framework, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(f"--python needs FRAMEWORK=PATH, got {text!r}. Write --python pytorch=env/bin/python")
        _names("framework", frameworks)(framework)
        if not Path(path).is_file():
            raise UsageError(f"--python needs an existing interpreter, got nothing at {path}. Is the path right?")
        return framework, Path(path).absolute()
    return check


def _file(path: Path | None) -> Path | None:
    if path is not None and not path.parent.is_dir():
        raise UsageError(f"a file to write needs an existing folder, got {path.parent}. Make it first.")
    return path


def _whole(option: str, low: int, high: int) -> Callable[[str], int]:
    def check(word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            raise UsageError(f"{option} needs a whole number, got {word!r}. Write {option} {max(low, 1)}") from None
        if not low <= number <= high:
            raise UsageError(f"{option} needs a number in {low}..{high}, got {number}.")
        return number
    return check


def _rate(word: str) -> float:
    try:
        rate = float(word)
    except ValueError:
        raise UsageError(f"--lr needs a number, got {word!r}. Write --lr 0.01") from None
    if not 0 < rate < 1e6:
        raise UsageError(f"--lr needs a learning rate above 0, got {word}.")
    return rate


def _existing(path: Path) -> Path:
    if not path.is_file():
        what = "the folder" if path.is_dir() else "nothing at"
        raise UsageError(f"an image needs to be an existing file, got {what} {path}. Is the path right?")
    return path


def _script(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"a file to run needs to exist, got nothing at {path}. Is the path right?")
    return path


def _workload_or_script(what: Path) -> Path:
    return _script(what) if what.suffix == ".py" else Path(_choice("workload", "cnn", "gru", "resnet50")(str(what)))


def _workload_or_file(what: str) -> str:
    return str(_script(Path(what))) if what.endswith((".py", ".toml")) else _choice("workload", "cnn", "gru")(what)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--set needs NAME=VALUE, got {text!r}. Write --set optimizer.lr=0.01")
    return name, value


def _choices(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = text.partition("=")
    found = tuple(filter(None, values.split(",")))
    if not equals or not name or not found:
        raise UsageError(f"--sweep needs NAME=VALUE,..., got {text!r}. Write --sweep lr=1e-4,1e-3")
    return name, found


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"a folder of runs needs to exist, got nothing at {path}. Is the path right?")
    return path


def _weights(path: Path | None) -> Path | None:
    if path is not None and not path.is_file():
        raise UsageError(f"--weights needs an existing .safetensors file, got nothing at {path}. Is the path right?")
    if path is not None and path.suffix != ".safetensors":
        raise UsageError(f"--weights needs a .safetensors file, got {path}. Save the state dict with "
                         "safetensors.torch.save_file.")
    return path


def _npy(path: Path) -> Path:
    if path.suffix != ".npy":
        raise UsageError(f"--out needs a file name ending in .npy, got {path}.")
    if not path.parent.is_dir():
        raise UsageError(f"--out needs an existing folder to write to, got {path.parent}. Make it first.")
    return path


def _new_folder(path: Path | None) -> Path | None:
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"--out needs a folder, got the file {path}. Pass another name.")
    return path
