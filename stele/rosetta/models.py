"""Models of ONNX files as rows of the benchmark."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import stele as st
from stele.backend.llvm.pieces import work_of
from stele.errors import DataError, TraceError
from stele.inspect.profile.kernels import PRODUCTS
from stele.interop.onnx.model import Input
from stele.interop.onnx.module import OnnxModule, described, load
from stele.interop.onnx.values import dtype_named
from stele.ir.graph import walk
from stele.ir.sizes import at
from stele.rosetta.rows import Row

BATCHES = 1, 32


def rows_of(file: Path) -> list[Row]:
    """A row for each batch size: those of `BATCHES` where the first axis of the inputs is open, else the model's own.

    What one step is at least is reading the weights once, or the multiplications and additions of its products and
    convolutions. Raises DataError for what is no model, and for inputs whose sizes are open otherwise.
    """
    model = load(file)
    inputs = model.inputs
    if not inputs or not all(map(can_be_drawn, inputs)):
        raise DataError(f"{file.name} is no model for a benchmark, which draws numbers for tensors of known sizes, but "
                        f"for the first axis; its inputs are {', '.join(map(described, inputs)) or 'none'}",
                        hint="Write it with these sizes fixed.")
    is_open, size = any(i.shape and not isinstance(i.shape[0], int) for i in inputs), file.stat().st_size
    return [Row(f"onnx-{file.stem}" + f"-b{n}" * is_open, "onnx_file",
                {"file": str(file.resolve()), "inputs": drawn(inputs, n)}, multiplied(model, n), float(size))
            for n in (BATCHES if is_open else BATCHES[:1])]


def multiplied(model: OnnxModule, batch: int) -> float:
    """The multiplications and additions of the products and convolutions of a model; none are known of one that looks
    at numbers in the midst."""
    given = [st.placeholder(shape, dtype_named(i.dtype).name)
             for i, shape in zip(model.inputs, shapes(model.inputs, batch))]
    try:
        with st.no_grad():
            made = [y.value for y in model.values(*given) if isinstance(y, st.Tensor)]
    except TraceError:
        return 0.0
    return 2.0 * sum(at(work_of(v), {}) for v in walk(made) if v.op.family in PRODUCTS)


def can_be_drawn(i: Input) -> bool:
    """Whether an input is a tensor of numbers that NumPy has, of known sizes but for the first."""
    return i.kind == "tensor" and i.shape is not None and all(isinstance(n, int) for n in i.shape[1:]) \
        and dtype_named(i.dtype).name in np.sctypeDict and dtype_named(i.dtype).kind in "fiub"


def drawn(inputs: Sequence[Input], batch: int) -> str:
    """What the programs draw: "float32 1x3x224x224, int64 1x16"."""
    return ", ".join(f"{dtype_named(i.dtype).name} {'x'.join(map(str, shape)) or 'x'}"
                     for i, shape in zip(inputs, shapes(inputs, batch)))


def shapes(inputs: Sequence[Input], batch: int) -> list[list[int]]:
    """The shapes of inputs at a batch size."""
    return [[n if isinstance(n, int) else batch for n in i.shape or ()] for i in inputs]
