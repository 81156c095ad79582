"""What `onnx.backend` asks of a backend: prepare a model, run it, say which devices there are."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

import stele as st
from stele.errors import DeviceError
from stele.interop.onnx.model import Array
from stele.interop.onnx.module import OnnxModule, load


class Prepared:
    """A model that is ready to run on arrays."""

    def __init__(self, module: OnnxModule) -> None:
        self.module = module

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """The outputs as arrays, for inputs in order or by name."""
        with st.no_grad():
            made = self.module.values(**inputs) if isinstance(inputs, Mapping) else self.module.values(
                *(inputs if isinstance(inputs, list | tuple) else [inputs]))
        return tuple(map(array, made))


def array(x: Any) -> Any:
    """An output as `onnx.backend` gives it."""
    if isinstance(x, list):
        return [array(part) for part in x]
    return x.numpy() if isinstance(x, st.Tensor) else x


def prepare(model: Any, device: str = "CPU", **_: Any) -> Prepared:
    """A model made ready on a device."""
    if not supports_device(device):
        raise DeviceError(f"ONNX models run on the CPU here, not on {device}")
    return Prepared(load(model))


def run_model(model: Any, inputs: Any, device: str = "CPU", **_: Any) -> tuple[Any, ...]:
    """The outputs of a model for these inputs."""
    return prepare(model, device).run(inputs)


def run_node(node: Any, inputs: Sequence[Array], device: str = "CPU", **_: Any) -> tuple[Any, ...]:
    """The outputs of one node for these inputs."""
    values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for name, x in zip(node.input, inputs)]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    return run_model(onnx.helper.make_model(onnx.helper.make_graph([node], "node", values, outputs)), inputs, device)


def supports_device(device: str) -> bool:
    """Whether models run on a device: "CPU", or "CPU:0"."""
    return device.partition(":")[0] == "CPU"


def is_compatible(model: Any, device: str = "CPU", **_: Any) -> bool:
    """Whether a model may be prepared; `prepare` says what it lacks."""
    return supports_device(device)
