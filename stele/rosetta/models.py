"""Models of ONNX files as rows of the benchmark."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stele.errors import DataError
from stele.interop.onnx.model import Input
from stele.interop.onnx.module import described, load
from stele.interop.onnx.values import dtype_named
from stele.rosetta.rows import Row

BATCHES = 1, 32


def rows_of(file: Path) -> list[Row]:
    """A row for each batch size: those of `BATCHES` where the first axis of the inputs is open, else the model's own.

    What one step is at least is reading the weights once. Raises DataError for what is no model, and for inputs whose
    sizes are open otherwise.
    """
    inputs = load(file).inputs
    if not inputs or not all(map(can_be_drawn, inputs)):
        raise DataError(f"{file.name} is no model for a benchmark, which draws numbers for tensors of known sizes, but "
                        f"for the first axis; its inputs are {', '.join(map(described, inputs)) or 'none'}",
                        hint="Write it with these sizes fixed.")
    is_open, size = any(i.shape and not isinstance(i.shape[0], int) for i in inputs), file.stat().st_size
    return [Row(f"onnx-{file.stem}" + f"-b{n}" * is_open, "onnx_file",
                {"file": str(file.resolve()), "inputs": drawn(inputs, n)}, traffic=float(size))
            for n in (BATCHES if is_open else BATCHES[:1])]


def can_be_drawn(i: Input) -> bool:
    """Whether an input is a tensor of numbers that NumPy has, of known sizes but for the first."""
    return i.kind == "tensor" and i.shape is not None and all(isinstance(n, int) for n in i.shape[1:]) \
        and dtype_named(i.dtype).name in np.sctypeDict and dtype_named(i.dtype).kind in "fiub"


def drawn(inputs: Sequence[Input], batch: int) -> str:
    """What the programs draw: "float32 1x3x224x224, int64 1x16"."""
    shapes = [[n if isinstance(n, int) else batch for n in i.shape or ()] for i in inputs]
    return ", ".join(f"{dtype_named(i.dtype).name} {'x'.join(map(str, shape)) or 'x'}"
                     for i, shape in zip(inputs, shapes))
