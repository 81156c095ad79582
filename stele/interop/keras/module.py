"""A model that Keras saved as a module: its variables are parameters and buffers under their names."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele.errors import ArgumentError, DataError, ShapeError
from stele.interop.imported import Imported, unheard
from stele.interop.keras import archive, legacy
from stele.interop.keras.archive import Variables
from stele.interop.keras.model import Graph, Input, Layer, stored_in
from stele.interop.keras.reader import Reader
from stele.interop.keras.run import Result, Run, cast, order, picked
from stele.ir.door import public
from stele.ops.arguments import instance, mapping


class KerasModule(Imported):
    """A model of Keras, a `graph` of layers with `weights` by name, as `load` makes it of a file.

    It is called with its inputs in order, by name, or in the containers that it was made with, in the shapes that the
    model says, and returns what it returned there: a tensor, or a list or dict of them, in the dtypes that its layers
    compute in. Kernels, biases and tables are parameters under the paths of their layers, "dense/kernel"; statistics
    of normalisation are buffers. What was frozen is. It is trained as any other module: `train()` lets dropout draw
    and statistics move. Raises ArgumentError for other inputs than it has, ShapeError where an axis that is not open
    has another size.

    >>> from stele.interop.keras import KerasModule
    >>> from stele.interop.keras.model import Graph, Input, Ref
    >>> x = Input("x", (None, 2), "float32")
    >>> identity = KerasModule(Graph(Ref("x", 0, 0), Ref("x", 0, 0), {"x": x}, (), ()), {})
    >>> identity(st.ones((3, 2))).shape, identity.dims
    ((3, 2), {'x': {0: 'batch'}})
    """

    def __init__(self, graph: Graph, weights: Mapping[str, st.Tensor]) -> None:
        self.graph = instance(graph, "graph of a KerasModule", Graph)
        self.weights = dict(mapping(weights, "weights of a KerasModule"))
        own = {ref.layer: key for key, ref in graph.inputs.items()} if isinstance(graph.inputs, dict) else {}
        self.names = [own.get(layer, graph.known[layer].name) for layer in order(graph)]
        self.name_inputs(self.names)

    def forward(self, /, *x: Any, **named: Any) -> Any:
        given = {name: fitted(value, self.graph.known[name]) for name, value in self.bound(x, named).items()}
        with self.alone():
            return picked(Run(self.weights, self.training).graph(self.graph, given), 0)

    def bound(self, x: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs by the names of their layers. Raises ArgumentError for too much or too little."""
        keys = order(self.graph)
        if len(x) == 1 and isinstance(x[0], dict):
            x, named = (), {**x[0], **named}
        if len(x) == 1 and isinstance(x[0], list | tuple):
            x = tuple(x[0])
        names = {key: key for key in keys} | dict(zip(self.names, keys))
        for name in named.keys() - names.keys():
            raise unheard("the model has no input", name, self.names)
        given = {**dict(zip(keys, x)), **{names[name]: one for name, one in named.items()}}
        if len(x) > len(keys) or len(given) < len(keys):
            known = ", ".join(map(shown, self.graph.known.values()))
            raise ArgumentError(f"the model takes {len(keys)} inputs ({known}), got {max(len(x), len(given))}")
        return given

    @property
    def dims(self) -> dict[str, dict[int, str]]:
        """The open sizes by input and axis, for `st.compile`: one program for all of them."""
        inputs = map(self.graph.known.__getitem__, order(self.graph))
        return {name: axes for name, i in zip(self.names, inputs) if (axes := {
            k: "batch" if k == 0 else f"{re.sub(r'[^0-9A-Za-z_]', '_', i.name)}_{k}"
            for k, n in enumerate(i.shape or ()) if n is None})}

    def reset_states(self) -> None:
        """Puts zeros in what stateful layers keep from call to call."""
        for _, stored in stored_in(self.graph.layers):
            if not stored.place:
                self.weights[stored.name].assign(st.zeros_like(self.weights[stored.name]))

    def extra_repr(self) -> str:
        return f"{', '.join(map(shown, self.graph.known.values()))}: {len(self.graph.layers)} layers"


def shown(i: Input) -> str:
    """An input as messages show it."""
    return i.name if i.shape is None else f"{i.name}: [{', '.join('?' if n is None else str(n) for n in i.shape)}]"


def fitted(x: Any, wanted: Input) -> Result:
    """An input as the model takes it. Raises ShapeError where it is of another shape."""
    x = st.asarray(x)
    shape = wanted.shape
    if shape is not None and (x.ndim != len(shape) or any(
            n is not None and type(m) is int and m != n for n, m in zip(shape, x.shape))):
        raise ShapeError(f"the model takes {shown(wanted)}, got {tuple(x.shape)}")
    return Result(cast(x, wanted), None)


@public
def load(path: str | Path) -> KerasModule:
    """The model of a file that Keras wrote, `path`, as a module: Sequential or functional, in evaluation mode.

    `.keras` files of Keras 3, and whole models in `.h5` files of Keras 2 and 3, of layers in either layout; nothing in
    them is run. Raises DataError for what is missing or damaged, without h5py (`pip install 'stele-dl[keras]'`), and
    for layers that have no rule: one error names them all.

    ```
    model = keras.load("model.keras")                   # or "model.h5"
    predict = st.compile(model, dims=model.dims)
    ```

    >>> from stele.interop import keras
    >>> try:
    ...     keras.load("no file")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """
    form = legacy if legacy.is_hdf5(path) else archive
    config, variables = form.opened(path)
    try:
        graph = Reader(str(path)).model(config)
    except RecursionError:
        raise DataError(f"{path} has containers within containers without end") from None
    return KerasModule(opened(graph), weights(graph, variables, form.places(graph, variables))).eval()


def opened(graph: Graph) -> Graph:
    """A model that takes any batch, as Keras does whatever it was built with, but where states are kept for one."""
    if not all(stored.place for _, stored in stored_in(graph.layers)):
        return graph
    return replace(graph, known={name: i._replace(shape=(None, *i.shape[1:]) if i.shape else i.shape)
                                 for name, i in graph.known.items()})


@public
def save(model: KerasModule, path: str | Path, like: str | Path) -> None:
    """Writes the numbers of a `model` that `load` made as a file that Keras loads, `path`.

    `like` is the file that it was loaded from, or one of the same layers: all but the numbers is as it is there, in its
    shapes and dtypes. `path` may be the same. Raises DataError for a file of other layers or shapes, and for one that
    is damaged, ArgumentError for another model.

    ```
    model = keras.load("model.keras")
    ...                                             # trained
    keras.save(model, "tuned.keras", "model.keras")
    ```

    >>> from stele.interop import keras
    >>> try:
    ...     keras.save(nn.Linear(2, 3), "tuned.keras", "no file")
    ... except TypeError as error:
    ...     print(type(error).__name__)
    ArgumentError
    """
    if not isinstance(model, KerasModule):      # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"save takes a model that load made, got {type(model).__name__}",
                            hint="st.save(model, path) writes any module.")
    form = legacy if legacy.is_hdf5(like) else archive
    form.replaced(path, like, model.graph, {name: np.asarray(x.numpy()) for name, x in model.weights.items()})


def weights(graph: Graph, variables: Variables, places: Mapping[str, str]) -> dict[str, st.Tensor]:
    """The tensors of a model by name, of variables at some places: parameters, frozen ones too, and buffers."""
    found: dict[str, st.Tensor] = {}
    for layer, stored in stored_in(graph.layers):
        if not stored.place:
            found[stored.name] = st.zeros((batch(graph, layer), layer.options.whole("units")))
            continue
        x = st.asarray(variables.read(places[stored.name]))
        if stored.moves:
            if not x.dtype.is_float:
                raise DataError(f"{stored.name} holds {x.dtype} where a layer has floats")
            x = x.requires_grad_()
            x = x if layer.options.flag("trainable", True) else x.requires_grad_(False)
        found[stored.name] = x
    return found


def batch(graph: Graph, layer: Layer) -> int:
    """The batch that a stateful layer is for. Raises DataError where the model leaves it open."""
    sizes = [i.shape[0] for i in graph.known.values() if i.shape]
    if not sizes or sizes[0] is None:
        raise DataError(f"{layer} keeps its states from call to call, and the model leaves the batch open",
                        hint="Make it with keras.Input(..., batch_size=...).")
    return sizes[0]
