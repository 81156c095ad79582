"""What `onnx.backend` asks of a backend: prepare a model, run it, say which devices there are."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

import stele as st
from stele.errors import DataError, DeviceError, SteleError
from stele.interop.onnx.fold import folded
from stele.interop.onnx.model import Array
from stele.interop.onnx.module import OnnxModule, checked, load
from stele.interop.onnx.reader import read
from stele.interop.onnx.values import value
from stele.ops.arguments import flag, instance, sequence


class Prepared:
    """A `module` that is ready to run on arrays, as `onnx.backend` wants it: compiled unless `compiled` is False.

    There is a program for the shapes that come first, and one for all others, which leaves open what differs. What asks
    for numbers in the midst (results as long as numbers say, texts) runs node by node: `note` then says why.
    Arrays go in and come out, of the shapes and dtypes that the model declares. Raises ArgumentError, when it runs, for
    other inputs than those of the model.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) {y = Relu(x)}'
    >>> ready = so.Prepared(so.load(onnx.parser.parse_model(text)))
    >>> ready.run([np.array([-1.0, 2.0], "f4")])
    (array([0., 2.], dtype=float32),)
    """

    def __init__(self, module: OnnxModule, compiled: bool = True) -> None:
        self.module, self.note = module, ""
        flag(compiled, "compiled of a prepared model")
        def program(given: dict[str, Any]) -> list[Any]:
            return module.values(**given)

        self.ways: list[Callable[[dict[str, Any]], list[Any]]] = [*([st.compile(program)] if compiled else []), program]

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs as arrays, for `inputs` in order or by name."""
        given = self.module.named(() if isinstance(inputs, Mapping) else inputs if isinstance(inputs, list | tuple)
                                  else (inputs,), inputs if isinstance(inputs, Mapping) else {})
        given = {name: value(x) for name, x in given.items()}
        with st.no_grad():
            made = self.computed(given)
        return tuple(map(array, made))

    def computed(self, given: dict[str, Any]) -> list[Any]:
        """The values of all outputs, in the first way that can give them; ways that cannot are not tried again."""
        why = self.note
        for k, way in enumerate(self.ways):
            try:
                made = way(given)
            except SteleError as error:
                if k == len(self.ways) - 1:
                    raise
                why = " ".join([str(error), *getattr(error, "__notes__", ())])
            else:
                if k:
                    self.ways, self.note = self.ways[k:], why
                return made
        raise AssertionError("a model runs in one way at least")


def array(x: Any) -> Any:
    """An output as `onnx.backend` gives it."""
    if isinstance(x, list):
        return [array(part) for part in x]
    return x.numpy() if isinstance(x, st.Tensor) else x


def prepare(model: Any, device: str = "CPU", compiled: bool = True, **options: Any) -> Prepared:
    """A `model` (a path, bytes, or an `onnx.ModelProto`) made ready on a `device`, to run `compiled` or node by node.

    Batch normalisations behind convolutions become part of these: to train a model, `load` it.
    `options` are those of other backends, as for all functions here: they change nothing.
    Raises DataError for what is no model, DeviceError for another device than the CPU.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) {y = Relu(x)}'
    >>> so.prepare(onnx.parser.parse_model(text)).run({"x": np.array([-1.0, 2.0], "f4")})
    (array([0., 2.], dtype=float32),)
    """
    if not supports_device(device):
        raise DeviceError(f"ONNX models run on the CPU here, not on {device}")
    flag(compiled, "compiled of prepare")
    found = checked(read(model))
    return Prepared(OnnxModule(folded(found) if compiled else found), compiled)


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


def run_node(node: Any, inputs: Sequence[Array], device: str = "CPU", **options: Any) -> tuple[Any, ...]:
    """The outputs of one `node`, an `onnx.NodeProto`, for these `inputs` on a `device`, whatever `options` say.

    Raises DataError for an op that there is not, ArgumentError for what is no node or no array, DeviceError for another
    device than the CPU.

    >>> import onnx
    >>> import stele.interop.onnx as so
    >>> so.run_node(onnx.helper.make_node("Neg", ["x"], ["y"]), [np.ones(2, "f4")])
    (array([-1., -1.], dtype=float32),)
    """
    instance(node, "node", onnx.NodeProto)
    given: list[Any] = [x if isinstance(x, np.generic) else instance(x, "every input of a node", np.ndarray)
                        for x in sequence(inputs, "inputs", "a list of arrays")]
    values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for name, x in zip(node.input, given)]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    return run_model(onnx.helper.make_model(onnx.helper.make_graph([node], "node", values, outputs)), given, device)


def supports_device(device: str) -> bool:
    """Whether models run on a `device`: "CPU", or "CPU:0".

    >>> import stele.interop.onnx as so
    >>> so.supports_device("CPU"), so.supports_device("CUDA")
    (True, False)
    """
    asked: Any = device
    return isinstance(asked, str) and asked.partition(":")[0] == "CPU"


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
