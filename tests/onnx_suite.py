"""The backend suite of the `onnx` wheel on `stele.interop.onnx`: which cases there are, and which cannot pass."""
from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from onnx.backend.test.runner import Runner

from stele.interop import onnx as backend

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


def cases(compiled: bool = False) -> Iterator[tuple[str, Callable[[], None]]]:
    """The cases of the suite by name, each with what runs it on the CPU: node by node, or compiled where it can be."""
    class Backend:
        prepare = staticmethod(partial(backend.prepare, compiled=compiled))
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
