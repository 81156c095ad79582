"""The `stele` command: what may be asked, bound to what answers, which is loaded when it is asked."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from stele.commands.arguments import Commands, run
from stele.commands.options import (
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


def later(module: str, name: str) -> Callable[[Any], int | None]:
    """A function of a module that is loaded when the function is called."""
    return lambda options: getattr(import_module(module), name)(options)


COMMANDS: Commands = {
    TrainOptions: later("stele.train.training", "train"),
    RunsOptions: later("stele.commands.runs", "runs"),
    FeatureOptions: later("stele.train.features", "features"),
    GenerateOptions: later("stele.commands.generate", "generate"),
    OnnxOptions: later("stele.commands.onnx", "onnx"),
    ViewOptions: later("stele.commands.view", "view"),
    ConvertOptions: later("stele.commands.convert", "convert"),
    BenchOptions: later("stele.commands.bench", "bench"),
    LintOptions: later("stele.commands.lint", "lint_file"),
    ProfileOptions: later("stele.commands.profile", "profile_file"),
    TuneOptions: later("stele.commands.tune", "tune"),
    CompletionOptions: later("stele.commands.completion", "completion"),
    Doctor: later("stele.commands.doctor", "show"),
}


def main() -> None:
    """Run `stele` with the arguments of the process, and end the process with its exit code."""
    sys.exit(run(sys.argv[1:], COMMANDS))
