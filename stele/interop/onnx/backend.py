"""What `onnx.backend` asks of a backend beside `prepare`: models and nodes run once, and which can."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from stele.errors import DataError
from stele.interop.onnx.model import Array
from stele.interop.onnx.module import load
from stele.interop.onnx.prepared import prepare, supports_device
from stele.ops.arguments import instance, sequence


def run_model(model: Any, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
    """The outputs of a `model` for these `inputs` on a `device`, once: nothing is compiled, whatever `options` say.

    Raises DataError for what is no model, DeviceError for another device than the CPU.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) {y = Relu(x)}'
    >>> so.run_model(onnx.parser.parse_model(text), [np.array([-1.0, 2.0], "f4")])
    (array([0., 2.], dtype=float32),)
    """
    return prepare(model, device, compiled=False).run(inputs)


def run_node(node: Any, inputs: Sequence[Array] | Array, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
    """The outputs of one `node`, an `onnx.NodeProto`, for these `inputs` on a `device`, whatever `options` say.

    One array may stand for a list of it. Raises DataError for an op that there is not, ArgumentError for what is no
    node or no array, DeviceError for another device than the CPU.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> so.run_node(onnx.helper.make_node("Neg", ["x"], ["y"]), [np.ones(2, "f4")])
    (array([-1., -1.], dtype=float32),)
    """
    instance(node, "node", onnx.NodeProto)
    given: list[Any] = [x if isinstance(x, np.generic) else instance(x, "every input of a node", np.ndarray)
                        for x in ([inputs] if isinstance(inputs, np.ndarray) else
                                  sequence(inputs, "inputs", "a list of arrays"))]
    values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for name, x in zip(node.input, given)]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    return run_model(onnx.helper.make_model(onnx.helper.make_graph([node], "node", values, outputs)), given, device)


def is_compatible(model: Any, device: str = "CPU", **options: Any) -> bool:
    """Whether every node of a `model` can run on a `device`, whatever `options` say; `prepare` says what it lacks.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) {y = Relu(x)}'
    >>> so.is_compatible(onnx.parser.parse_model(text)), so.is_compatible(b"no model")
    (True, False)
    """
    if not supports_device(device):
        return False
    try:
        load(model)
    except DataError:
        return False
    return True
