"""Models that are ready to run, as `onnx.backend` wants them: read and traced only where they never ran before."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stele as st
from stele.errors import DeviceError, SteleError
from stele.interop.onnx.ready import Ready, made_of
from stele.ir.graph import Graph
from stele.ops.arguments import flag

if TYPE_CHECKING:
    from stele.interop.onnx.module import OnnxModule


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

    def __init__(self, module: OnnxModule | None, compiled: bool = True, ready: Ready | None = None) -> None:
        self.own, self.ready, self.note = module, ready, ""
        flag(compiled, "compiled of a prepared model")
        def program(given: dict[str, Any]) -> list[Any]:
            return self.model.values(**given)

        self.compiled = st.compile(program)
        self.ways: list[Callable[[dict[str, Any]], list[Any]]] = [*([self.compiled] if compiled else []), program]

    @property
    def model(self) -> OnnxModule:
        """The module; what ran before has none until it is needed."""
        if self.own is None:
            assert self.ready is not None
            self.own = self.ready.module()
        return self.own

    @property
    def module(self) -> OnnxModule:
        """The module, for whoever may change it: what was kept of its file counts no more."""
        found, self.ready = self.model, None
        return found

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs as arrays, for `inputs` in order or by name."""
        if self.ready is not None and (given := named(self.ready.names, inputs)) is not None \
                and (session := self.ready.session(given, self.graph)) is not None:
            return tuple(map(array, session(given)))
        given = self.model.named(() if isinstance(inputs, Mapping) else inputs if isinstance(inputs, list | tuple)
                                 else (inputs,), inputs if isinstance(inputs, Mapping) else {})
        self.model.refuse_others(given)
        with st.no_grad():
            made = self.computed(self.model.tensors(given))
        if self.ready is not None and not self.note:
            self.ready.keep([i.name for i in self.model.inputs], given, self.compiled)
        return tuple(map(array, made))

    def graph(self, given: dict[str, Any]) -> Graph:
        """The graph of the program for inputs like these, the first that there are."""
        with st.no_grad():
            self.compiled(self.model.tensors(given))
        return self.compiled.programs[0].graph

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


def named(names: Sequence[str] | None, inputs: Any) -> dict[str, Any] | None:
    """Inputs by these names, in their order; None where they are no such: a model says what is wrong with them."""
    if names is None or not isinstance(inputs, Mapping | list | tuple) or len(inputs) != len(names):
        return None
    if not isinstance(inputs, Mapping):
        return dict(zip(names, inputs))
    return {name: inputs[name] for name in names} if all(name in inputs for name in names) else None


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
    if not compiled or not isinstance(model, str | Path | bytes):
        return Prepared(made_of(model, to_run=compiled), compiled)
    ready = Ready(model)
    return Prepared(None if ready.names is not None else ready.module(), ready=ready)


def supports_device(device: str) -> bool:
    """Whether models run on a `device`: "CPU", or "CPU:0".

    >>> import stele.interop.onnx as so
    >>> so.supports_device("CPU"), so.supports_device("CUDA")
    (True, False)
    """
    asked: Any = device
    return isinstance(asked, str) and asked.partition(":")[0] == "CPU"
