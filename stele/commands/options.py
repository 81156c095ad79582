"""What the commands are asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BATCH, SEED = 64, 0     # of a run for which nobody asks for others


@dataclass(frozen=True)
class TrainOptions:
    """A run of `stele train`, or a sweep of them; None stands for the workload's default."""

    what: str | None           # "cnn", "gru", or a file ending in .py or .toml
    data: Path | None          # folder of the full data set; None: the packaged sample
    epochs: int | None
    batch: int | None
    seed: int | None
    threads: int | None
    out: Path | None           # run folder; None: runs/<workload>-<time>
    lr: float | None = None
    optimizer: str | None = None   # "sgd", "adam" or "adamw"
    resume: Path | None = None     # a run folder to go on with; what is None is then as it was there
    settings: tuple[tuple[str, str], ...] = ()             # other options by name, as they were written
    sweep: tuple[tuple[str, tuple[str, ...]], ...] = ()    # options by name, and the values of which each is tried


@dataclass(frozen=True)
class RunsOptions:
    """A run of `stele runs`."""

    folder: Path               # in which, or below which, run folders are
    html: Path | None = None   # a page to write


@dataclass(frozen=True)
class CompletionOptions:
    """A run of `stele completion`."""

    shell: str                 # "bash", "zsh" or "tcsh"


@dataclass(frozen=True)
class FeatureOptions:
    """A run of `stele features`."""

    model: str                 # "resnet50"
    images: tuple[Path, ...]
    weights: Path | None
    out: Path
    batch: int
    threads: int | None


@dataclass(frozen=True)
class LintOptions:
    """A run of `stele lint`."""

    file: Path
    arguments: tuple[str, ...]     # what the file finds in sys.argv
    without: frozenset[str]        # checks left out
    json: bool


@dataclass(frozen=True)
class TuneOptions:
    """A run of `stele tune`."""

    what: Path                     # "cnn", "gru", "resnet50", or a file ending in .py
    arguments: tuple[str, ...]     # what the file finds in sys.argv
    seconds: int                   # what may be spent on measuring
    threads: int | None


@dataclass(frozen=True)
class BenchOptions:
    """A run of `stele bench`."""

    workloads: tuple[str, ...]          # names of workloads or rows; empty: all
    frameworks: tuple[str, ...]         # empty: all that are installed
    pythons: Mapping[str, Path]         # interpreters of other environments, by framework
    quick: bool
    threads: int | None
    accuracy: tuple[Path, ...] = ()     # folders of finished training runs
    json: Path | None = None
    markdown: Path | None = None
    html: Path | None = None
    isa: str = "native"                 # what the frameworks may use: a name in `isa.LIMITS`
