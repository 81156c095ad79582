"""The `stele` command: what may be asked, bound to what answers."""

import sys

from stele.inspect.doctor import doctor
from stele.inspect.lint.command import lint_file
from stele.inspect.tune.command import tune
from stele.rosetta.command import bench
from stele.rosetta.options import BenchOptions
from stele.train.arguments import Commands, Doctor, run
from stele.train.features import features
from stele.train.options import FeatureOptions, LintOptions, TrainOptions, TuneOptions
from stele.train.training import train

COMMANDS: Commands = {
    TrainOptions: train,
    FeatureOptions: features,
    BenchOptions: bench,
    LintOptions: lint_file,
    TuneOptions: tune,
    Doctor: lambda options: print(doctor()),
}


def main() -> None:
    """Run `stele` with the arguments of the process, and end the process with its exit code."""
    sys.exit(run(sys.argv[1:], COMMANDS))



if __name__ == "__main__":
    main()
