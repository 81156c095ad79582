"""What is compared: the workloads with their rows, and the frameworks."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stele.rosetta.languages import JULIA, PYTHON, Language, R

PROGRAMS = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    """A workload at one size: `sizes` are arguments of the program's `data`, one of which may name a case, the rest is
    what one step is at least.

    `flops` count a multiplication and an addition each, direct convolutions with the taps on padding; `traffic` is in
    bytes, every input read once and every result written once. A row has the one of the two that bounds it.
    """

    name: str
    workload: str
    sizes: Mapping[str, int | str] = field(default_factory=dict)
    flops: float = 0.0
    traffic: float = 0.0


@dataclass(frozen=True)
class Workload:
    """A program that each framework has: what it takes besides its inputs, and whether it learns."""

    title: str
    rows: tuple[Row, ...]
    model: str = ""             # the class whose weights are copied between the frameworks
    dropout: bool = False       # and whether to drop
    trains: bool = False        # has gradients, a step that changes the weights, and an accuracy
    rounds: float = 1.0         # how many times as far apart as elsewhere results may be


@dataclass(frozen=True)
class Framework:
    """A framework: the module that is imported, the distributions that are installed for it, and what installs them.

    Where it is a language of its own, the module is one of those that it comes with, and no distribution is.
    """

    module: str
    distributions: tuple[str, ...]
    install: str
    language: Language = PYTHON
    lacks: str = ""             # why some workloads have no program in it


def _convolution(inputs: int, outputs: int, edge: int, window: int) -> tuple[dict[str, int], float]:
    sizes = {"inputs": inputs, "outputs": outputs, "edge": edge, "window": window}
    return sizes, 2.0 * 32 * inputs * outputs * (edge * window) ** 2


CONVOLUTIONS = {"conv3x3-64": (64, 64, 56, 3), "conv3x3-128": (128, 128, 28, 3), "conv3x3-256": (256, 256, 14, 3),
                "conv3x3-512": (512, 512, 7, 3), "conv1x1": (256, 64, 56, 1)}


def _of_a_kind(name: str, inputs: int, outputs: int, edge: int, window: int, **more: int) -> Row:
    """A convolution of another kind, of 8 signals, images or volumes: depthwise ones are bound by memory."""
    axes, groups, channels = more.get("axes", 2), more.get("groups", 1), inputs + outputs
    taps, places = window ** axes, edge ** min(axes, 2) * (more["depth"] if axes == 3 else 1)
    sizes = {"inputs": inputs, "outputs": outputs, "edge": edge, "window": window, **more}
    if groups == inputs:
        return Row(name, "conv_kinds", sizes, traffic=4.0 * (8 * channels * places + outputs * taps))
    return Row(name, "conv_kinds", sizes, 2.0 * 8 * places * taps * outputs * inputs / groups)


KINDS = (_of_a_kind("depthwise-56", 128, 128, 56, 3, groups=128),
         _of_a_kind("depthwise-112", 32, 32, 112, 3, groups=32),
         _of_a_kind("grouped-32x4", 128, 128, 56, 3, groups=32),
         _of_a_kind("transposed-4x4", 64, 32, 32, 4),
         _of_a_kind("conv1d-9", 32, 64, 16_000, 9, axes=1),
         _of_a_kind("conv3d", 16, 32, 56, 3, axes=3, depth=16))
_CNN = 64 * 2 * (9 * 32 ** 2 * (3 * 50 * 2 + 50 * 50 * 3) + 9 * 16 ** 2 * (50 * 100 + 100 * 100) * 3
                 + (6400 * 512 + 512 * 10) * 3)
_GRU = 64 * 150 * 2 * (125 + 100) * 300 * 3
_MLP = 32 * 2 * (784 * 128 * 2 + 128 * 10 * 3)
_EAGER_MLP = 64 * 2 * (784 * 256 * 2 + 256 * 10 * 3)
_XRAYS = 8 * 16.763e9
_BLOCK = 4 * 256 * 2 * (12 * 768 ** 2 + 2 * 256 * 768) * 3

WORKLOADS = {
    "cnn": Workload("a convolutional network learns, 64 images of 32 x 32",
                    (Row("cnn", "cnn", {"batch": 64}, _CNN),), "Cnn", dropout=True, trains=True),
    "gru": Workload("a recurrent network learns, 64 texts of 150 words",
                    (Row("gru", "gru", {"batch": 64}, _GRU),), "Gru", trains=True),
    "resnet50": Workload("features of photographs, 224 x 224",
                         tuple(Row(f"resnet50-b{n}", "resnet50", {"batch": n}, 8.174e9 * n) for n in (1, 32)),
                         "ResNet50"),
    # Each of 121 layers normalises what the one before rounded, and ReLUs choose by its sign: PyTorch's gradients in
    # float32 are up to 5e-3 from those in float64 for such images, and those of three frameworks 2e-2 apart.
    "densenet121": Workload("DenseNet-121 and all its gradients, 8 chest X-rays of 224 x 224",
                            (Row("densenet121", "densenet121", {"batch": 8}, _XRAYS),), "DenseNet121", rounds=4.0),
    "transformer": Workload("a GPT-2 block and all its gradients, 4 texts of 256 words",
                            (Row("transformer", "transformer", {"batch": 4}, _BLOCK),), "Block"),
    "mlp": Workload("a small network learns, 784-128-10, batch 32",
                    (Row("mlp", "mlp", {"batch": 32}, _MLP),), "Mlp", trains=True),
    "eager_mlp": Workload("a network learns uncompiled, 784-256-10, batch 64",
                          (Row("eager-mlp", "eager_mlp", {"batch": 64}, _EAGER_MLP),), "Mlp", trains=True),
    "eager_act": Workload("two small layers uncompiled, 4-64-2, one observation",
                          (Row("eager-act", "eager_act", {"batch": 1}, 2.0 * (4 * 64 + 64 * 2)),), "Policy"),
    "overhead": Workload("thousands of small operations uncompiled: a millisecond is a microsecond of each",
                         (Row("overhead-record", "overhead", {"case": "record"}, 16e3),
                          Row("overhead-replay", "overhead", {"case": "replay"}, 16e3),
                          Row("overhead-index", "overhead", {"case": "index"}, traffic=128e3),
                          Row("overhead-mlp", "overhead", {"case": "mlp"}, 200 * 20.0 * (16 * 32 + 32 * 4)))),
    "elementwise": Workload("a chain of 20 elementwise operations",
                            tuple(Row(f"elementwise-{n}", "elementwise", {"count": n}, traffic=12.0 * n)
                                  for n in (1_000, 10_000_000))),
    "softmax_xent": Workload("the mean cross-entropy of 4096 x 32000 logits and its gradient",
                             (Row("softmax_xent", "softmax_xent", {"count": 4096}, traffic=12.0 * 4096 * 32000),)),
    "layernorm": Workload("a layer norm of 8192 x 1024 and its gradients",
                          (Row("layernorm", "layernorm", {"count": 8192}, traffic=20.0 * 8192 * 1024),)),
    "matmul": Workload("square matrix products",
                       tuple(Row(f"matmul-{n}", "matmul", {"size": n}, 2.0 * n ** 3) for n in (64, 256, 1024, 2048))),
    "conv": Workload("convolutions of ResNet-50, 32 images",
                     tuple(Row(name, "conv", *_convolution(*shape)) for name, shape in CONVOLUTIONS.items())),
    "conv_kinds": Workload("depthwise, grouped, transposed, 1d and 3d convolutions, 8 at once", KINDS),
    "sort": Workload("sorted float32 numbers: one row of 1,000,000, and 4096 rows of 256",
                     (Row("sort-1e6", "sort", {"rows": 1, "count": 1_000_000}, traffic=8e6),
                      Row("sort-4096x256", "sort", {"rows": 4096, "count": 256}, traffic=8.0 * 4096 * 256))),
    "topk": Workload("the 50 largest of each of 64 rows of 32,000 float32 numbers, and their places",
                     (Row("topk", "topk", {"rows": 64, "count": 32_000}, traffic=4.0 * 64 * 32_000),)),
    "cumsum": Workload("running sums of 10,000,000 float32 numbers",
                       (Row("cumsum", "cumsum", {"count": 10_000_000}, traffic=8e7),)),
    "scatter_add": Workload("1,000,000 float32 numbers added to 100,000 at random places, int64",
                            (Row("scatter_add", "scatter_add", {"count": 1_000_000, "places": 100_000},
                                 traffic=12e6 + 8e5),)),
    "unique": Workload("the distinct ones of 1,000,000 random int64 numbers below 1,000,000, in order",
                       (Row("unique", "unique", {"count": 1_000_000, "below": 1_000_000}, traffic=13e6),)),
    "searchsorted": Workload("the places of 1,000,000 float32 numbers in a sorted row of 100,000",
                             (Row("searchsorted", "searchsorted", {"size": 100_000, "count": 1_000_000},
                                  traffic=12.4e6),)),
    "gather": Workload("100,000 random rows, int64, of a table of 100,000 x 64 float32 numbers",
                       (Row("gather", "gather", {"rows": 100_000, "width": 64, "count": 100_000}, traffic=5.2e7),)),
    "onnx_file": Workload("a model of an ONNX file", ()),       # whose rows are those of the files that are given
}

FRAMEWORKS = {
    "stele":       Framework("stele", ("stele-dl",), "pip install stele-dl"),
    "pytorch":     Framework("torch", ("torch",), "pip install torch"),
    "jax":         Framework("jax", ("jax", "jaxlib", "flax", "optax"), "pip install jax flax optax"),
    "tensorflow":  Framework("tensorflow", ("tensorflow-cpu", "tensorflow"), "pip install tensorflow-cpu"),
    "onnxruntime": Framework("onnxruntime", ("onnxruntime", "onnx"), "pip install onnxruntime onnx"),
    "openvino":    Framework("openvino", ("openvino",), "pip install openvino"),
    "numpy":       Framework("numpy", ("numpy",), "pip install numpy"),
    "pytensor":    Framework("pytensor", ("pytensor", "numba"), "pip install pytensor numba"),
    "tinygrad":    Framework("tinygrad", ("tinygrad",), "pip install tinygrad"),
    "mlx":         Framework("mlx.core", ("mlx", "mlx-cpu"), "pip install mlx[cpu]"),
    "r":           Framework("base", (), "apt install r-base-core", R, "networks are programs of torch-in-r"),
    "torch-in-r":  Framework("torch", ("torch",), 'install.packages("torch") in an R', R,
                             "what is no network is a program of r"),
    "julia":       Framework("LinearAlgebra", (), "see https://julialang.org/downloads", JULIA,
                             "networks are programs of flux"),
    "flux":        Framework("Flux", ("Flux",), 'Pkg.add("Flux") in a Julia', JULIA,
                             "what is no network is a program of julia"),
}

ROWS = {row.name: row for workload in WORKLOADS.values() for row in workload.rows}


def chosen(names: Sequence[str]) -> dict[str, tuple[Row, ...]]:
    """The rows that names of workloads or of single rows stand for, by workload; all rows for no names.

    >>> [row.name for row in chosen(["matmul-64", "mlp"])["matmul"]]
    ['matmul-64']
    """
    wanted = set(names or WORKLOADS)
    rows = {name: tuple(row for row in workload.rows if {row.name, name} & wanted)
            for name, workload in WORKLOADS.items()}
    return {name: part for name, part in rows.items() if part}


def modes(path: Path) -> tuple[str, ...]:
    """The modes that a program says it has, in a line of its text."""
    said = re.search(r"^(?:const )?MODES (?:=|<-) (.+)", path.read_text(encoding="utf-8"), re.M)
    names = tuple(name for _, name in re.findall(r"""(["'])(.*?)\1""", said[1] if said else ""))
    assert names, f"{path} has no line that names its MODES"
    return names


def program(framework: str, workload: str) -> Path:
    """The file that translates a workload into a framework; it may be missing."""
    return PROGRAMS / framework / f"{workload}{FRAMEWORKS[framework].language.suffix}"
