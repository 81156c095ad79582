"""A folder of ONNX graphs with what they give, as they are and rewritten in ways that keep that.

Beside each NAME.onnx lies NAME.npz with in_<input> and out_<output>, as of random graphs that NNSmith has drawn.
"""
from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, version_converter
from onnx_suite import in_runtime

import stele as st
from stele.interop import onnx as so

CLOSE = 1e-3        # absolute, and of the number
OPSETS = 16, 18, 20, 21, 22


def constants(model: Any, draw: random.Random) -> Any:
    """Weights as nodes."""
    graph = model.graph
    nodes = [helper.make_node("Constant", [], [w.name], value=w) for w in graph.initializer]
    weights = {w.name for w in graph.initializer}
    inputs = [i for i in graph.input if i.name not in weights]
    return around(model, [*nodes, *graph.node], inputs, [*graph.output], [])


def identities(model: Any, draw: random.Random) -> Any:
    """Identity before some operands."""
    nodes: list[Any] = []
    for node in model.graph.node:
        for k, name in enumerate(node.input):
            if name and draw.random() < 0.4:
                nodes.append(helper.make_node("Identity", [name], [f"same.{len(nodes)}"]))
                node.input[k] = nodes[-1].output[0]
        nodes.append(node)
    return around(model, nodes, [*model.graph.input], [*model.graph.output], [*model.graph.initializer])


def renamed(model: Any, draw: random.Random) -> Any:
    """Other names for all but inputs and outputs, with signs that no language has in names."""
    kept = {"", *(x.name for x in (*model.graph.input, *model.graph.output))}
    rename(model.graph, lambda name: name if name in kept else f"v/{name}:0 é")
    return model


def rename(graph: Any, to: Callable[[str], str]) -> None:
    """Other names in a graph, and in those that it holds."""
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [to(name) for name in names]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, to)
    for x in (*graph.input, *graph.output, *graph.initializer):
        x.name = to(x.name)
    del graph.value_info[:]


def opened(model: Any, draw: random.Random) -> Any:
    """Some sizes of inputs that are names, and nothing said of outputs."""
    for n, x in enumerate(model.graph.input):
        for k, size in enumerate(x.type.tensor_type.shape.dim):
            if draw.random() < 0.7:
                size.dim_param = f"n{n}.{k}"
    for x in model.graph.output:
        for size in x.type.tensor_type.shape.dim:
            size.Clear()
    del model.graph.value_info[:]
    return model


def branched(model: Any, draw: random.Random) -> Any:
    """All of it in both ways of an If."""
    graph, outputs = model.graph, copy.deepcopy([*model.graph.output])
    names = [x.name for x in outputs]
    rename(graph, lambda name: f"inner.{name}" if name in names else name)
    results = [helper.make_tensor_value_info(x.name, x.type.tensor_type.elem_type, None) for x in graph.output]
    ways = {f"{name}_branch": helper.make_graph([*graph.node], name, [], results) for name in ("then", "else")}
    test = helper.make_tensor("test", TensorProto.BOOL, [], [draw.random() < 0.5])
    return around(model, [helper.make_node("If", ["test"], names, **ways)], [*graph.input], outputs,
                  [*graph.initializer, test])


def in_a_function(model: Any, draw: random.Random) -> Any:
    """All of it in a function of the model."""
    graph = model.graph
    names = [*dict.fromkeys(x.name for x in (*graph.input, *graph.initializer))]
    results = [x.name for x in graph.output]
    made = helper.make_function("own", "F", names, results, [*graph.node], [*model.opset_import])
    whole = around(model, [helper.make_node("F", names, results, domain="own")], [*graph.input], [*graph.output],
                   [*graph.initializer])
    whole.functions.append(made)
    whole.opset_import.append(helper.make_opsetid("own", 1))
    return whole


def of_an_opset(model: Any, draw: random.Random) -> Any:
    """Another opset, as ONNX's own converter writes it."""
    return version_converter.convert_version(model, draw.choice(OPSETS))


def beside(model: Any, draw: random.Random) -> Path:
    """Weights in a file beside it."""
    path = Path(tempfile.mkdtemp()) / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, all_tensors_to_one_file=True, location="weights",
              size_threshold=0)
    return path


REWRITES = constants, identities, renamed, opened, branched, in_a_function, of_an_opset, beside


def around(model: Any, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: list[Any]) -> Any:
    """A model of the same opsets."""
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[*model.opset_import], ir_version=max(8, model.ir_version))


Run = Callable[..., Any]


def plain(module: Any) -> Run:
    """Runs a model node by node."""
    return module


def exported(module: Any) -> Run:
    """Writes a model as it is imported, and runs that in ONNX Runtime."""
    def run(*x: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            so.export(module, x, path := Path(folder) / "model.onnx")
            made = onnx.load(path)
        onnx.checker.check_model(made, full_check=True)
        feed = {i.name: a.numpy() for i, a in zip(made.graph.input, x, strict=True)}
        return [*map(st.tensor, in_runtime(made, feed))]

    return run


def cases(folder: Path, how: Callable[[Any], Run] = plain, rewritten: bool = False, seed: int = 0
          ) -> Iterator[tuple[str, Callable[[], None]]]:
    """The graphs of a folder by name, each with what runs it and compares: as it is, or rewritten in every way."""
    for path in sorted(folder.glob("*.onnx")):
        for rewrite in REWRITES if rewritten else (None,):
            name = path.stem if rewrite is None else f"{path.stem}, {rewrite.__name__}"
            yield name, partial(compare, path, rewrite, random.Random(f"{seed} {name}"), how)


def compare(path: Path, rewrite: Callable[[Any, random.Random], Any] | None, draw: random.Random,
            how: Callable[[Any], Run]) -> None:
    """Runs one graph, and compares dtypes, shapes and numbers with those beside it."""
    made: Any = path if rewrite is None else rewrite(onnx.load(path), draw)
    module = so.load(made if isinstance(made, Path) else made.SerializeToString())
    with np.load(path.with_suffix(".npz")) as known, st.no_grad():
        found = how(module)(*(st.tensor(known[f"in_{x.name}"]) for x in module.inputs))
        for x, y in zip(module.outputs, found if isinstance(found, tuple | list) else [found], strict=True):
            expected, given = known[f"out_{x.name}"], y.numpy()
            assert (given.dtype, given.shape) == (expected.dtype, expected.shape), (x.name, given.dtype, given.shape)
            np.testing.assert_allclose(given.astype("f8"), expected.astype("f8"), CLOSE, CLOSE, err_msg=x.name)
