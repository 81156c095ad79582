"""The command line: which commands there are, what their words mean together, and errors of a line each."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from stele import __version__
from stele.commands.options import (
    BATCH,
    SEED,
    BenchOptions,
    CompletionOptions,
    ConvertOptions,
    Doctor,
    FeatureOptions,
    GenerateOptions,
    LintOptions,
    OnnxOptions,
    ProfileOptions,
    RunsOptions,
    TrainOptions,
    TuneOptions,
    ViewOptions,
)
from stele.commands.parser import Parser, asked_by, flag, read
from stele.commands.words import Flag, Option, Rest, UsageError, did_you_mean
from stele.errors import SteleError
from stele.ir.record import Record
from stele.stop import Stopped

USAGE, BY_SIGNAL = 2, 128
ROOT = "--help", "--version"    # options of `stele` itself

# What can be written, a tab, and what it does.
EXAMPLES = """examples:
  stele train cnn\ta convolutional network on the packaged Fashion-MNIST sample
  stele train gru --epochs 3 --seed 1\ta recurrent network on the packaged movie review sentences
  stele train cnn --data data/cifar-10-batches-bin\tthe same network on all of CIFAR-10
  stele train --resume runs/cnn-20260101-120000\tgo on with a run that was stopped
  stele train net.toml --set optimizer.lr=0.01\ta network from a configuration file
  stele train net.py --sweep lr=1e-4,1e-3\tthe trainer of a file of Python, a run for each rate
  stele runs --html runs.html\tcompare the runs in the folder runs
  stele features resnet50 cat.jpg dog.png --weights resnet50.safetensors
  stele generate FOLDER --prompt "Once upon a time"\ta text that a language model goes on with
  stele onnx check model.onnx\ta model of ONNX against ONNX's reference
  stele view model.onnx\ta page of its layers, shapes and sizes
  stele convert model.onnx model.stele\ta model as a program of Stele, compared
  stele bench --quick --workloads mlp,matmul\tStele beside the frameworks that are installed
  stele lint train.py -- --epochs 1\tlessons about slow or wrong programs, with file and line
  stele profile train.py --html profile.html\twhere the time and memory of its steps go
  stele tune cnn --seconds 120\tmeasure candidates of products and convolutions
  stele doctor\tversions, CPU features, threads, cache folder, BLAS"""
RUNS_EXAMPLES = """examples:
  stele runs\tthe runs in the folder runs
  stele runs sweep --html sweep.html\tthose of another folder, and a page of their curves"""
BENCH_EXAMPLES = """examples:
  stele bench\tevery workload in every framework of this environment
  stele bench --quick --workloads cnn,matmul-1024 --frameworks stele,pytorch
  stele bench --python pytorch=../torch/bin/python --python jax=../jax/bin/python --html bench.html
  stele bench --isa avx2 --workloads cnn,resnet50\tas a machine without AVX-512 would run them"""
GENERATE_EXAMPLES = """examples:
  stele generate gpt2 --prompt "Once upon a time" --top-p 0.9
  stele generate gpt2 --prompt "2 + 2 =" --temperature 0 --tokens 8
  stele generate stories260K.bin --tokenizer tok512.bin --seed 1"""
ONNX_EXAMPLES = """examples:
  stele onnx info model.onnx\topsets, inputs, outputs, weights, nodes
  stele onnx run model.onnx --input x=x.npy --out y.npz
  stele onnx check model.onnx --dim batch=32"""
VIEW_EXAMPLES = """examples:
  stele view model.onnx\twrites model.onnx.html
  stele view model.onnx --out drawing.html"""
CONVERT_EXAMPLES = """examples:
  stele convert bert/ bert.onnx\ta folder of Hugging Face's as ONNX
  stele convert model.pt2 model.stele --trust\ta program that torch.export.save wrote
  stele convert model.onnx net --dim batch=1\ta folder with a shared library for C"""
LINT_EXAMPLES = """examples:
  stele lint train.py
  stele lint train.py --without host-sync --json
  stele lint train.py -- --epochs 1"""
PROFILE_EXAMPLES = """examples:
  stele profile train.py -- --epochs 1
  stele profile net.toml -- epochs=1
  stele profile train.py --trace trace.json\ta trace for ui.perfetto.dev
  stele profile train.py --html profile.html\tall tables as a page"""
TUNE_EXAMPLES = """examples:
  stele tune resnet50 --seconds 300
  stele tune train.py -- --epochs 1"""
COMPLETION_EXAMPLES = """examples:
  stele completion bash > ~/.local/share/bash-completion/completions/stele
  stele completion zsh > ~/.zfunc/_stele\tin a folder of fpath"""


def examples(command: str) -> str:
    """Those of one command."""
    head, *lines = EXAMPLES.splitlines()
    return "\n".join([head, *(line for line in lines if line.startswith(f"  stele {command} "))])


Options = (TrainOptions | RunsOptions | FeatureOptions | GenerateOptions | OnnxOptions | ViewOptions | ConvertOptions
           | BenchOptions | LintOptions | ProfileOptions | TuneOptions | CompletionOptions | Doctor)
Commands = dict[type, Callable[..., int | None]]


class Command(Record):
    """What a command is for, the options that it takes, and what its help says last."""

    summary: str
    options: type[Any]
    epilog: str | Callable[[], str] = ""    # a function where it says what is loaded late
    together: Callable[[Any], Any] | None = None    # what options mean beside each other


def parse(arguments: Sequence[str]) -> Options:
    """What `arguments` ask for; UsageError when they do not make sense.

    >>> parse(["train", "cnn", "--epochs", "2"]).epochs
    2
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    _check_options(arguments[:end])
    parsed, more = parser(arguments[:1]).parse_known_args(arguments[:end])
    if more:
        _refuse(parsed.command, more)
    command, rest = COMMANDS[parsed.command], tuple(arguments[end + 1:])
    if rest and not _runs_a_file(command):
        raise UsageError(f"stele {parsed.command} runs no file that could take arguments, got {arguments[end:]}")
    options = read(command.options, parsed, rest)
    return command.together(options) if command.together else options


def run(arguments: Sequence[str], commands: Commands) -> int:
    """Parse, run the command, and return the exit code: 0 or what the command says, 2 for bad input, 130 for Ctrl-C,
    143 for SIGTERM, 129 for SIGHUP, 141 where nobody reads the output any more; errors are one line. Without arguments
    it prints what `--help` prints.
    """
    try:
        options = parse(arguments or ["--help"])
        code = commands[type(options)](options) or 0
        sys.stdout.flush()
        return code
    except SteleError as error:
        print(f"error: {_said(error)}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:     # who read the output has gone, as `head` does; nothing is written to it at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BY_SIGNAL + signal.SIGPIPE
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename or 'a file'}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt as error:
        print("; ".join(["interrupted", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return BY_SIGNAL + (error.signal if isinstance(error, Stopped) else signal.SIGINT)


def _said(error: SteleError) -> str:
    """An error and its notes in one line, without a place that is no more than where the command began."""
    if error.where and error.where.startswith((f"{Path(sys.argv[0]).name}:", "<frozen runpy>:")):
        error.where = None
    notes: list[str] = getattr(error, "__notes__", [])
    said = f"{str(error).removesuffix('.')}." if notes else str(error)
    return " ".join(" ".join([said, *notes]).split())


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, and the options of the one that `words` name: what others ask for is not even loaded."""
    root = Parser("stele", description="Train and run networks, compiled to machine code.", epilog=EXAMPLES)
    root.add_argument("--version", action="version", version=f"stele {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, command in COMMANDS.items():
        made = commands.add_parser(name, help=command.summary)
        if name in words:
            made.add(command.options)
            made.epilog = command.epilog if isinstance(command.epilog, str) else command.epilog()
    return root


def _train(options: TrainOptions) -> TrainOptions:
    """A new run, with its defaults, or one to go on with."""
    if options.resume is None and options.what is None:
        raise UsageError("stele train needs a workload, cnn or gru, or --resume RUN, or a file, got nothing there. "
                         "Try: stele train --help")
    if options.resume is not None and options.out is not None:
        raise UsageError("--resume goes on in the run's own folder, got --out too. Leave --out away.")
    if options.resume is not None and (options.settings or options.sweep):
        raise UsageError("--resume goes on with a run as it is, got --set or --sweep too. Leave them away.")
    if twice := {name for name, _ in options.settings} & {name for name, _ in options.sweep}:
        raise UsageError(f"{min(twice)} is either set or tried in a sweep, got --set and --sweep of it.")
    if options.resume is not None or (options.what or "").endswith((".py", ".toml")):
        return options
    return replace(options, batch=options.batch or BATCH, seed=SEED if options.seed is None else options.seed)


def _generate(options: GenerateOptions) -> GenerateOptions:
    """A model and its tokenizer."""
    if options.tokenizer is None and options.model.is_file():
        raise UsageError(f"a file holds no tokenizer, got {options.model} alone. Write --tokenizer tokenizer.bin")
    return options


def _convert(options: ConvertOptions) -> ConvertOptions:
    """An opset of what has one."""
    if options.opset is not None and options.out.suffix != ".onnx":
        raise UsageError(f"--opset is of a model of ONNX, got {options.out} to be written. Write a name that ends with "
                         ".onnx, or leave --opset away.")
    return options


def _apart(options: Any) -> Any:
    """A file to write that is none of those that are read."""
    read = [options.file, *(options.inputs.values() if isinstance(options, OnnxOptions) else ())]
    if options.out is not None and options.out.exists() and any(map(options.out.samefile, read)):
        raise UsageError(f"--out needs a file of its own, got {options.out}, which is read. Give another name.")
    return options


def _checks() -> str:
    from stele.inspect.lint.checks import CHECKS
    return "\n  ".join(["checks:", *(f"{name}\t{find.__doc__}" for name, find in CHECKS.items())]) \
        + f"\n\n{LINT_EXAMPLES}"


COMMANDS: dict[str, Command] = {
    "train":      Command("train a network and keep the run in a folder", TrainOptions, examples("train"), _train),
    "runs":       Command("compare training runs", RunsOptions, RUNS_EXAMPLES),
    "features":   Command("turn photographs into feature vectors", FeatureOptions, examples("features")),
    "generate":   Command("go on with a text as a language model does", GenerateOptions, GENERATE_EXAMPLES, _generate),
    "onnx":       Command("look into a model of ONNX, run it, or check it", OnnxOptions, ONNX_EXAMPLES, _apart),
    "view":       Command("draw a model as a page", ViewOptions, VIEW_EXAMPLES, _apart),
    "convert":    Command("turn a model into another form", ConvertOptions, CONVERT_EXAMPLES, _convert),
    "bench":      Command("compare frameworks on this machine", BenchOptions, BENCH_EXAMPLES),
    "lint":       Command("find what makes a program slow or wrong", LintOptions, _checks),
    "profile":    Command("show where the time and memory of a step go", ProfileOptions, PROFILE_EXAMPLES),
    "tune":       Command("measure candidates and keep the answers", TuneOptions, TUNE_EXAMPLES),
    "completion": Command("print what completes commands in a shell", CompletionOptions, COMPLETION_EXAMPLES),
    "doctor":     Command("versions, CPU features, threads, cache folder, BLAS found", Doctor),
}


def _runs_a_file(command: Command) -> bool:
    return any(isinstance(asked, Rest) for _, _, asked in asked_by(command.options))


def _check_options(arguments: Sequence[str]) -> None:
    """An unknown command or option is an error that names the nearest known one."""
    name = next((word for word in arguments if not word.startswith("-")), None)
    if name is not None and arguments[0] == name and name not in COMMANDS:
        raise UsageError(f"a command needs to be one of {', '.join(COMMANDS)}, got {name!r}."
                         + did_you_mean(name, tuple(COMMANDS)))
    command = COMMANDS.get(name or "")
    options = ROOT if command is None else ("--help", *_flags(command))
    for word in arguments:
        option = word.partition("=")[0]
        if option.startswith("--") and option not in options:
            raise UsageError(f"{f'stele {name}' if command else 'stele'} knows {', '.join(options)}, got {option}."
                             + did_you_mean(_same(option), options)
                             + (" Arguments of the file go behind --." if command and _runs_a_file(command) else ""))


def _same(option: str) -> str:
    """What an option is called here, where it has another name elsewhere: --learning-rate is --lr."""
    from stele.interop.arguments import SAME
    name = option.removeprefix("--").replace("-", "_")
    return f"--{SAME.get(name, name)}".replace("_", "-")


def _flags(command: Command) -> dict[str, Option | Flag]:
    """The options of a command by what is written for them."""
    return {flag(field, asked): asked for field, _, asked in asked_by(command.options)
            if isinstance(asked, Option | Flag)}


def _refuse(name: str, words: Sequence[str]) -> NoReturn:
    """Raises for words that a command does not take, and names the option of which they are values."""
    value, hint = ",".join(words), f"Try: stele {name} --help"
    for option, asked in reversed(_flags(COMMANDS[name]).items()):
        if isinstance(asked, Option) and asked.means is not Path and not value.isdigit():
            with suppress(UsageError):
                asked.means(value)
                hint = f"Did you mean {option} {value}?"
    raise UsageError(f"stele {name} got {' '.join(words)}, which it does not take. {hint}")
