"""What the commands are asked to do: the fields of each class are the arguments of its command, its docstring what help
says of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from stele.commands import words
from stele.commands.words import Choice, Flag, Interpreter, Known, Names, Option, Real, Rest, Whole, Word
from stele.config import MAX_THREADS
from stele.ir.record import Record

BATCH, SEED = 64, 0     # of a run for which nobody asks for others

Threads = Annotated[int | None, Option(Whole(1, MAX_THREADS), "N", "default: one per core")]
Trust = Annotated[bool, Flag("the model may run code: .pt2, which PyTorch reads")]
Behind = Annotated[tuple[str, ...], Rest()]     # what the file finds in sys.argv


def _workloads() -> tuple[str, ...]:
    """The workloads of `stele bench`."""
    from stele.rosetta.rows import WORKLOADS
    return tuple(name for name, workload in WORKLOADS.items() if workload.rows)


def _rows() -> tuple[str, ...]:
    """The workloads of `stele bench`, and their rows."""
    from stele.rosetta.rows import ROWS
    return (*_workloads(), *ROWS)


def _frameworks() -> tuple[str, ...]:
    """The frameworks that `stele bench` knows."""
    from stele.rosetta.rows import FRAMEWORKS
    return tuple(FRAMEWORKS)


def _checks() -> tuple[str, ...]:
    """The checks of `stele lint`."""
    from stele.inspect.lint.checks import CHECKS
    return tuple(CHECKS)


class TrainOptions(Record):
    """Train, print progress and the test accuracy, and write history.json, curves.html, model.safetensors and a
    checkpoint to go on from. Ctrl-C, SIGTERM and SIGHUP save first.
    """

    what: Annotated[str | None, Word(words.workload_or_file, "{cnn,gru,FILE}", (
        "cnn: images, gru: movie reviews; a file ending in .py, whose function trainer() returns a "
        "stele.train.Trainer, or in .toml, a configuration"))] = None
    data: Annotated[Path | None, Option(Path, "DIR", (
        "folder of the full set, for cnn CIFAR-10 (binary or python version), Fashion-MNIST or MNIST, for gru aclImdb; "
        "default: the packaged sample"))] = None
    epochs: Annotated[int | None, Option(Whole(1, 100_000), "N", "default: the workload's own")] = None
    batch: Annotated[int | None, Option(Whole(1, 1 << 20), "N", f"default: {BATCH}", flag="--batch-size")] = None
    seed: Annotated[int | None, Option(Whole(0, (1 << 63) - 1), "N", f"default: {SEED}")] = None
    threads: Threads = None
    out: Annotated[Path | None, Option(Path, "DIR", "run folder; default: runs/<workload>-<time>",
                                       words.new_folder)] = None
    lr: Annotated[float | None, Option(words.rate, "RATE", "default: 0.01 for sgd, 0.001 for adam and adamw")] = None
    optimizer: Annotated[str | None, Option(Choice("optimizer", ("sgd", "adam", "adamw")), help=(
        "default: sgd (momentum 0.9) for cnn, adam for gru"))] = None
    resume: Annotated[Path | None, Option(Path, "RUN", (
        "go on with the run in this folder, to the bits of one that never stopped; with more --epochs also with one "
        "that has finished"))] = None
    settings: Annotated[tuple[tuple[str, str], ...], Option(words.setting, "NAME=VALUE", (
        "an option of the file, such as optimizer.lr=0.01; may be repeated"), several="times", flag="--set")] = ()
    sweep: Annotated[tuple[tuple[str, tuple[str, ...]], ...], Option(words.choices, "NAME=VALUE,...", (
        "a run for each of the values, of several for each choice; may be repeated"), several="times")] = ()


class RunsOptions(Record):
    """Compare training runs by their folders: the best first, and the options in which they differ."""

    folder: Annotated[Path, Word(Path, "FOLDER", "in which run folders are", words.folder)] = Path("runs")
    html: Annotated[Path | None, Option(Path, "FILE", "write a page with their curves, which loads nothing; alone: "
                                        "runs.html", words.new_file, alone=Path("runs.html"))] = None


class FeatureOptions(Record):
    """Write the 2048 features of each photograph, a row each, as .npy; needs pip install 'stele-dl[images]'."""

    model: Annotated[str, Word(Choice("model", ("resnet50",)), help="the network")]
    images: Annotated[tuple[Path, ...], Word(Path, "IMAGE", "JPEG, PNG, WebP, BMP or GIF files", words.image, "words")]
    weights: Annotated[Path | None, Option(Path, "FILE.safetensors", (
        "weights under torchvision's names; default: random ones"), words.weights)] = None
    out: Annotated[Path, Option(Path, "FILE.npy", check=words.new_array)] = Path("features.npy")
    batch: Annotated[int, Option(Whole(1, 4096), "N", flag="--batch-size")] = 32
    threads: Threads = None


@dataclass(frozen=True)
class BenchOptions:
    """Run the same models in every framework that is installed, check that they compute the same, and show how fast
    they are.
    """

    workloads: Annotated[tuple[str, ...], Option(Names("workload", _rows), "NAME,...", lambda: (
        f"of {', '.join(_workloads())}, or single rows such as matmul-1024; default: all"))] = ()
    frameworks: Annotated[tuple[str, ...], Option(Names("framework", _frameworks), "NAME,...", lambda: (
        f"of {', '.join(_frameworks())}; default: all that are installed"))] = ()
    pythons: Annotated[Mapping[str, Path], Option(Interpreter(_frameworks), "FRAMEWORK=PATH", (
        "an interpreter of another environment that has the framework, for r and torch-in-r an Rscript, for julia and "
        "flux a julia; may be repeated"),
        several="times", flag="--python")] = field(default_factory=dict[str, Path])
    models: Annotated[tuple[Path, ...], Option(Path, "FILE", (
        "models of ONNX, in the place of all workloads or beside those that are named; where the batch is open, for "
        "1 and for 32"), words.onnx_model, several="words", flag="--onnx")] = ()
    quick: Annotated[bool, Flag("less time for each, and no finals in fresh processes")] = False
    threads: Annotated[int | None, Option(Whole(1, MAX_THREADS), "N", (
        "threads of each framework; default: one per core"))] = None
    accuracy: Annotated[tuple[Path, ...], Option(Path, "RUN", (
        "run folders of stele train, whose accuracies are shown too"), several="words")] = ()
    json: Annotated[Path | None, Option(Path, "FILE", "write all rows as JSON", words.new_file)] = None
    markdown: Annotated[Path | None, Option(Path, "FILE", "write a page of Markdown", words.new_file)] = None
    html: Annotated[Path | None, Option(Path, "FILE", "write a page with bars, one file that loads nothing",
                                        words.new_file)] = None
    isa: Annotated[str, Option(Choice("instruction set", ("native", "avx2")), "NAME", (
        "avx2: hold all frameworks to AVX2, as most machines have it"))] = "native"


class GenerateOptions(Record):
    """Print a text that goes on behind the prompt, piece by piece as a model draws it: GPT-2, Llama, Mistral or Qwen in
    a folder with config.json, model.safetensors and tokenizer.json, which needs pip install 'stele-dl[text]', or a
    file of llama2.c with --tokenizer. The first run compiles, later ones begin at once.
    """

    model: Annotated[Path, Word(Path, "FOLDER", "a folder, or a file ending in .bin", words.model)]
    prompt: Annotated[str | None, Option(str, "TEXT", "what the text begins with")] = None
    tokens: Annotated[int | None, Option(Whole(1, 1_000_000), "N", "pieces at most; default: 128, or what fits")] \
        = None
    temperature: Annotated[float, Option(Real(0, 1000), "T", "0 for the most likely piece each time")] = 0.8
    top_k: Annotated[int | None, Option(Whole(1, 1 << 30), "K", "of the K most likely pieces alone")] = None
    top_p: Annotated[float | None, Option(Real(0, 1), "P", "of the most likely ones that have a share P together")] \
        = None
    seed: Annotated[int | None, Option(Whole(0, (1 << 62) - 1), "N", "the same text each time; default: another")] \
        = None
    tokenizer: Annotated[Path | None, Option(Path, "FILE", "default: the one in the folder", words.existing)] = None
    threads: Threads = None


@dataclass(frozen=True)
class OnnxOptions:
    """Say what is in a model of ONNX (info), what it gives (run), or whether it is well-formed and gives what ONNX's
    reference gives (check), with exit code 1 where it does not. Needs pip install 'stele-dl[onnx]'.
    """

    what: Annotated[str, Word(Choice("task", ("info", "run", "check")), help="what to do")]
    file: Annotated[Path, Word(Path, "FILE", "a model, such as model.onnx", words.onnx_model)]
    inputs: Annotated[Mapping[str, Path], Option(words.input_file, "NAME=FILE.npy", (
        "an array for an input, the others are random; may be repeated"), several="times",
        flag="--input")] = field(default_factory=dict[str, Path])
    dims: Annotated[Mapping[str, int], Option(words.dim, "NAME=N", (
        "a size that the model leaves open, the others are 1; may be repeated"), several="times",
        flag="--dim")] = field(default_factory=dict[str, int])
    out: Annotated[Path | None, Option(Path, "FILE.npz", "write the outputs of run", words.new_file)] = None
    threads: Threads = None


class ViewOptions(Record):
    """Draw a model as one page that loads nothing: its layers fold and unfold, with shapes, sizes and a search.
    A model of ONNX needs pip install 'stele-dl[onnx]'.
    """

    file: Annotated[Path, Word(Path, "FILE", "a model, such as model.onnx", words.model_there)]
    out: Annotated[Path | None, Option(Path, "FILE.html", "default: the model's name and .html", words.new_file)] = None
    trust: Trust = False


@dataclass(frozen=True)
class ConvertOptions:
    """Turn a model into another form, say what became of its ops and weights, and run both: what was written is loaded
    again and compared on random inputs, with the model's own framework too where that is installed. Exit code 1 where
    they differ.
    """

    file: Annotated[Path, Word(Path, "IN", (
        "a model: .onnx, .keras, .h5 of Keras, .pt2 of torch.export, .prototxt, .bin of llama2.c, .stele or "
        ".safetensors of st.save, or a folder of Hugging Face's"),
        words.model_there)]
    out: Annotated[Path, Word(Path, "OUT", (
        ".onnx, .stele for a program, .safetensors for weights alone, or a name without an ending for a folder with a "
        "shared library"), words.model_new)]
    dims: Annotated[Mapping[str, int], Option(words.dim, "NAME=N", (
        "a size that the model leaves open, and the result is not to; may be repeated"), several="times",
        flag="--dim")] = field(default_factory=dict[str, int])
    opset: Annotated[int | None, Option(Whole(21, 28), "N", "of an .onnx that is written; default: 21")] = None
    trust: Trust = False
    threads: Threads = None


class LintOptions(Record):
    """Run a file, and check every program that it compiles or evaluates. Exit code 1 with findings, 0 without."""

    file: Annotated[Path, Word(Path, "FILE", "a file that runs a model or a training step, or a configuration in "
                               ".toml, whose arguments are NAME=VALUE", words.script)]
    arguments: Behind = ()
    without: Annotated[frozenset[str], Option(Known("check", _checks), "CHECK", (
        "leave a check out; may be given several times"), several="times")] = frozenset()
    json: Annotated[bool, Flag("print findings as a JSON list")] = False


class ProfileOptions(Record):
    """Run a file, and show where the time and memory of its steps go: data, Python, layers, lines, kernels and their
    share of what the machine can do. What the file prints goes to stderr.
    """

    file: Annotated[Path, Word(Path, "FILE", "a file that runs a model or some training steps, or one for stele train, "
                               "a configuration in .toml or a function trainer(), whose arguments are NAME=VALUE",
                               words.script)]
    arguments: Behind = ()
    trace: Annotated[Path | None, Option(Path, "FILE.json", "write a trace for ui.perfetto.dev", words.new_file)] = None
    html: Annotated[Path | None, Option(Path, "FILE.html", "write all tables as a page that loads nothing",
                                        words.new_file)] = None


class TuneOptions(Record):
    """Run a workload or a file, and measure algorithms and blockings for its products and convolutions. The answers
    stay in the folder of STELE_CACHE, for this CPU and this version of Stele, and count for every program that is
    compiled from then on.
    """

    what: Annotated[Path, Word(Path, "WHAT", "cnn, gru, resnet50, or a file ending in .py", words.workload_or_script)]
    arguments: Behind = ()
    seconds: Annotated[int, Option(Whole(1, 86_400), "N", "time for measuring")] = 60
    threads: Threads = None


class CompletionOptions(Record):
    """Print what makes a shell complete commands, options, names and files of stele; needs
    pip install 'stele-dl[completion]'.
    """

    shell: Annotated[str, Word(Choice("shell", ("bash", "zsh", "tcsh")), help="the shell")]


class Doctor(Record):
    """Print what Stele finds on this machine."""
