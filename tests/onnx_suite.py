"""The backend suite of the `onnx` wheel on `stele.interop.onnx`: which cases there are, and which cannot pass."""
from __future__ import annotations

import tempfile
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from inspect import Parameter, Signature
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator

import stele as st
from stele.errors import SteleError
from stele.interop import onnx as backend
from stele.interop.onnx.values import value
from stele.tracing import tree

RANDOM = "draws numbers of another generator: what is random is compared"
EXCLUDED = {
    "test_bernoulli": RANDOM, "test_bernoulli_double": RANDOM, "test_bernoulli_seed": RANDOM,
    "test_bernoulli_expanded": RANDOM, "test_bernoulli_double_expanded": RANDOM, "test_bernoulli_seed_expanded": RANDOM,
    "test_training_dropout": RANDOM, "test_training_dropout_default": RANDOM, "test_training_dropout_mask": RANDOM,
    "test_training_dropout_default_mask": RANDOM,
    "test_loop16_seq_none": "the runner compares a sequence of arrays without axes by their length, which raises",
    "test_attention_4d_causal_fp16": "float16 with a tolerance of half a unit: NumPy rounds each step, a kernel once",
    "test_attention_4d_causal_fp16_expanded": "float16 with a tolerance of half a unit, as above",
    "test_bvlc_alexnet": "a model from the network", "test_densenet121": "a model from the network",
    "test_inception_v1": "a model from the network", "test_inception_v2": "a model from the network",
    "test_resnet50": "a model from the network", "test_shufflenet": "a model from the network",
    "test_squeezenet": "a model from the network", "test_vgg19": "a model from the network",
    "test_zfnet512": "a model from the network",
}


class Unsaid(Exception):
    """Why no program can say what a model does."""


class Exported:
    """A model that is imported, exported at its inputs, and run: in ONNX Runtime, or in ONNX's reference where that
    has no kernel. What a program has to know, a shape among the inputs, is a constant of it; sequences are their parts,
    each an input or output; `how` says what was done.
    """

    def __init__(self, module: Any, how: Counter[str]) -> None:
        self.module, self.how = module, how

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        given, results = [value(x) for x in inputs], [*self.module.values(*inputs)]
        if not all(isinstance(x, st.Tensor) for x in tree.flatten((given, results))[0] if x is not None):
            raise Unsaid("takes or gives texts or numbers of fewer than 8 bits")
        small = [isinstance(x, st.Tensor) and x.ndim < 2 for x in given]
        whole = [s and x.dtype.kind in "iub" for s, x in zip(small, given)]
        held_back = [x is None for x in given], whole, \
            [s and (k > 0 or x.ndim == 0) for k, (s, x) in enumerate(zip(small, given))]
        for k, known in enumerate(held_back):
            try:
                made = self.exported(held(self.module, inputs, known), given, [not h for h in known])
            except SteleError:
                if k == len(held_back) - 1:
                    raise
            else:
                self.how["with vectors of sizes, axes or scales as constants"] += bool(k)
                break
        feed = {i.name: part(inputs, i.name) for i in made.graph.input}
        try:
            found = in_runtime(made, feed)
            self.how["in ONNX Runtime"] += 1
        except Exception:
            found = ReferenceEvaluator(made).run(None, feed)
            self.how["in ONNX's reference alone"] += 1
        self.how["with sequences or optionals as their parts"] += any(isinstance(x, list) or x is None
                                                                      for x in (*given, *results))
        parts = iter(found)    # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return tuple(tree.map(lambda x: None if x is None else next(parts), results))

    def exported(self, module: Any, given: list[Any], are_inputs: list[bool]) -> Any:
        """The model of a module, some of whose inputs are inputs of that."""
        chosen = [k for k, is_input in enumerate(are_inputs) if is_input]
        names = [i.name for i in self.module.inputs]

        def model(*x: Any) -> Any:
            made = module.values(**{names[k]: one for k, one in zip(chosen, x)})
            return [y for y in tree.flatten([*made])[0] if y is not None]

        kind = Parameter.POSITIONAL_OR_KEYWORD
        model.__signature__ = Signature([Parameter(f"x{k}", kind) for k in chosen])     # type: ignore[attr-defined]
        with tempfile.TemporaryDirectory() as folder:
            backend.export(model, [given[k] for k in chosen], path := Path(folder) / "model.onnx")
            made = onnx.load(path)
        onnx.checker.check_model(made, full_check=True)
        return made


def part(inputs: Any, name: str) -> Any:
    """The array of an input, x0, or of a place in a list, x0.1."""
    first, *places = name[1:].split(".")
    return reduce(getitem, map(int, places), inputs[int(first)])


def held(module: Any, arrays: Any, known: list[bool]) -> Any:
    """A module of which some inputs are initialisers."""
    graph = module.model.graph
    kept = {i.name: x for i, x, is_known in zip(module.inputs, arrays, known)
            if is_known and x is not None}
    weights = {**graph.weights, **{name: partial(loaded, x.tobytes(), x.dtype, x.shape) for name, x in kept.items()}}
    inputs = tuple(i for i in graph.inputs if i.name not in kept)
    return backend.OnnxModule(replace(module.model, graph=replace(graph, inputs=inputs, weights=weights)))


def loaded(content: bytes, dtype: Any, shape: tuple[int, ...]) -> Any:
    """An array of bytes."""
    return np.frombuffer(content, dtype).reshape(shape)


def in_runtime(made: Any, feed: dict[str, Any]) -> Any:
    """The outputs that ONNX Runtime computes."""
    runtime: Any = import_module("onnxruntime")
    runtime.set_default_logger_severity(4)
    return runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def cases(compiled: bool = False, how: Counter[str] | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    """The cases of the suite by name, each with what runs it on the CPU: node by node, or compiled where it can be; or
    exported and run by others, where `how` counts how that went.
    """
    def prepared(model: Any, device: str = "CPU", **options: Any) -> Any:
        ready = backend.prepare(model, device, compiled and how is None)
        return ready if how is None else Exported(ready.module, how)

    class Backend:
        prepare = staticmethod(prepared)
        run_node = staticmethod(backend.run_node)
        supports_device = staticmethod(backend.supports_device)
        is_compatible = staticmethod(backend.is_compatible)

    of: Any = Backend
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups: Any = Runner(of, None)._filtered_test_items
    for items in groups.values():
        for name, item in items.items():
            if name.endswith("_cpu"):
                yield name.removesuffix("_cpu"), lambda item=item: item.func(unittest.TestCase())
