"""`stele onnx info|run|check FILE`: what is in an ONNX model, what it gives, and whether it is as it should be."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stele import files
from stele.commands.options import OnnxOptions
from stele.data.files import read_npz
from stele.errors import ArgumentError, DataError
from stele.interop.convert.compare import difference
from stele.interop.imported import unheard
from stele.ir.graph import Array
from stele.pipeline import set_threads

try:
    from onnx import checker
    from onnx.reference import ReferenceEvaluator

    from stele.interop import onnx as interop
    from stele.interop.onnx.model import Input, Model
    from stele.interop.onnx.module import OnnxModule, described, unsupported
    from stele.interop.onnx.reader import read
    from stele.interop.onnx.values import dtype_named
except ModuleNotFoundError:
    raise DataError("onnx is not installed", hint="pip install 'stele-dl[onnx]'") from None

RIGHT, WRONG = 0, 1
TOLERANCE = 1e-5
RUNS = 10       # of which the fastest counts
Report = Iterator[tuple[str, Any]]


def onnx(options: OnnxOptions) -> int:
    """Prints what was asked for; 1 where a check fails, else 0. Raises DataError for what is no model, and for files of
    inputs that are no arrays, ArgumentError for inputs that the model does not have."""
    if options.threads is not None:
        set_threads(options.threads)
    if options.what == "info":
        shown(info(read(options.file)))
        return RIGHT
    if options.what == "run":
        shown(ran(interop.prepare(options.file), options))
        return RIGHT
    return check(options)


def shown(rows: Report) -> None:
    """Prints rows of a name and what stands beside it."""
    for name, text in rows:
        print(f"{name:12} {text}")


def info(model: Model) -> Report:
    """What a file says, without running it: nothing but the names and types of its weights is read."""
    graph = model.graph
    yield "graph", graph.name or "without a name"
    yield "opsets", ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.versions.items())
    for kind, values in (("input", graph.inputs), ("output", graph.outputs)):
        for value in values:
            if value.name not in graph.weights:
                yield kind, typed(value)
    arrays = [load() for load in graph.weights.values()]
    yield "weights", f"{len(arrays)}, {sum(x.size for x in arrays):,} numbers, {sum(x.nbytes for x in arrays):,} bytes"
    counts = Counter(f"{n.domain}.{n.op}" if n.domain else n.op for n in graph.nodes)
    yield "nodes", f"{len(graph.nodes)}: " + ", ".join(f"{op} {count}" for op, count in counts.most_common())
    lists = graph.nodes, *(f.nodes for f in model.functions.values())
    if lacking := {str(n) for nodes in lists for n in unsupported(nodes, model)}:
        yield "no rule for", "; ".join(sorted(lacking))
    yield from (("metadata", f"{key}: {text}") for key, text in model.metadata.items())


def typed(value: Input) -> str:
    """A declared input or output."""
    return f"{dtype_named(value.dtype)} {described(value)}" if value.kind == "tensor" else f"{value.kind} {value.name}"


def given(module: OnnxModule, options: OnnxOptions) -> dict[str, Array]:
    """An array for each input: from its file, or random, of the sizes that are declared or said."""
    names = [i.name for i in module.inputs]
    for name in options.inputs.keys() - set(names):
        raise unheard("the model has no input", name, names)
    sizes = sorted({n for i in module.inputs for n in i.shape or () if isinstance(n, str)})
    for name in options.dims.keys() - {*sizes}:
        raise unheard("the model has no open size", name, sizes or ["none"], near=sizes)
    rng = np.random.default_rng(0)
    return {i.name: stored(options.inputs[i.name], i.name) if i.name in options.inputs else drawn(i, options.dims, rng)
            for i in module.inputs if i.kind != "optional"}


def stored(path: Path, name: str) -> Array:
    """The array in a file: of several, that of the input's name."""
    found = read_npz(path)
    if len(found) != 1 and name not in found:
        raise DataError(f"{path} holds {len(found)} arrays, and none is called {name!r}",
                        hint=f"Write it with numpy.save, or numpy.savez(path, **{{{name!r}: x}}).")
    return found[name] if name in found else next(iter(found.values()))


def drawn(i: Input, dims: Mapping[str, int], rng: np.random.Generator) -> Array:
    """Random numbers of the type of an input; sizes that nobody says are 1."""
    if i.kind != "tensor" or i.shape is None:
        raise ArgumentError(f"the shape of the input {i.name} is open", hint=f"Write --input {i.name}=FILE.npy")
    shape = [dims.get(str(n), 1) if isinstance(n, str) else 1 if n is None else n for n in i.shape]
    kind = dtype_named(i.dtype)
    if kind.kind in "iub":
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind == "O":
        raise ArgumentError(f"the input {i.name} is of texts, of which there are none",
                            hint="Run the model from Python: stele.interop.onnx.load(path).")
    return np.asarray(rng.standard_normal(shape)).astype(kind)


def ran(ready: interop.Prepared, options: OnnxOptions) -> Report:
    """The outputs of a run, and how long it took; they are written where that was asked for."""
    arrays = given(ready.module, options)
    begin = time.perf_counter()
    made = ready.run(arrays)
    first = time.perf_counter() - begin
    again = min(timed(ready, arrays) for _ in range(RUNS))
    names = [o.name for o in ready.module.outputs]
    yield from (("input", f"{name}: {told(x)}") for name, x in arrays.items())
    yield from (("output", f"{name}: {told(x)}") for name, x in zip(names, made))
    yield "time", f"{first * 1e3:.2f} ms at first, {again * 1e3:.3f} ms then" + (
        f"; node by node, since {ready.note}" if ready.note else "")
    if options.out is not None:
        arrays_made: Any = {name: x for name, x in zip(names, made) if isinstance(x, np.ndarray)}
        with files.replacing(options.out) as file:
            np.savez(file, **arrays_made)


def timed(ready: interop.Prepared, arrays: dict[str, Array]) -> float:
    """How long one run takes."""
    begin = time.perf_counter()
    ready.run(arrays)
    return time.perf_counter() - begin


def told(x: Any) -> str:
    """An array in a line."""
    if not isinstance(x, np.ndarray):
        return f"{len(x)} parts" if isinstance(x, list) else str(x)
    spread = f", {x.min():g} to {x.max():g}" if x.size and x.dtype.kind in "iuf" else ""
    return f"{x.dtype} {[*x.shape]}{spread}"


def check(options: OnnxOptions) -> int:
    """Whether a file is well-formed, and gives what ONNX's reference gives of the same inputs."""
    try:
        checker.check_model(str(options.file), full_check=True)
    except Exception as error:      # of several kinds, not all of which are the package's own
        print(f"malformed    {' '.join(str(error).split()):.300}")
        return WRONG
    print("well-formed  by onnx.checker, in full")
    ready = interop.prepare(options.file)
    arrays = given(ready.module, options)
    made = ready.run(arrays)
    try:
        want: Any = ReferenceEvaluator(str(options.file)).run(None, arrays)
    except Exception as error:      # of any kind
        print(f"not asked    ONNX's reference, which fails: {' '.join(str(error).split()):.300}")
        return RIGHT
    code = RIGHT
    for output, got, right in zip(ready.module.outputs, made, want, strict=True):
        apart = difference(got, right)
        print(f"{'equal' if apart <= TOLERANCE else 'differs':12} {output.name}: {told(got)}, by {apart:.1e} at most")
        code = code if apart <= TOLERANCE else WRONG
    return code
