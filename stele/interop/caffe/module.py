"""A net of Caffe as a module: its blobs are parameters under the names of their layers."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError, ShapeError, SteleError, nearest
from stele.interop.caffe.layers import RULES, Call, blobs_of
from stele.interop.caffe.net import Layer, Net
from stele.interop.caffe.net import read as read_net
from stele.interop.caffe.text import Message
from stele.interop.caffe.wire import Array
from stele.interop.caffe.wire import read as read_blobs
from stele.interop.imported import Imported, layer, unheard
from stele.ir.door import public
from stele.ops.arguments import instance, mapping, sequence


class CaffeModule(Imported):
    """A `net` of Caffe with its `weights` by name, and those `taken` by each layer, as `load` makes it of two files.

    It is called with its inputs in order or by name, of the shapes that the net says but for the batch, and returns
    what is left at the end: a tensor, or a tuple of them, float32. Blobs are parameters, "conv1.weight" and
    "conv1.bias", the sums of a BatchNorm buffers; layers that share a blob share its parameter. It is trained as any
    other module: `train()` lets Dropout draw. Raises ArgumentError for other inputs than it has, ShapeError for those
    of another count of axes.

    >>> from stele.interop.caffe import CaffeModule
    >>> from stele.interop.caffe.net import net
    >>> from stele.interop.caffe.text import parsed
    >>> says = parsed('input: "data" layer { name: "r" type: "ReLU" bottom: "data" top: "y" }', "net.prototxt")
    >>> CaffeModule(net(says), {}, {"0": ()})(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, net: Net, weights: Mapping[str, st.Tensor], taken: Mapping[str, Sequence[str]]) -> None:
        self.net = instance(net, "net of a CaffeModule", Net)
        self.weights = dict(mapping(weights, "weights of a CaffeModule"))
        self.taken = {name: sequence(names, "the weights of a layer", "a sequence of names")
                      for name, names in mapping(taken, "taken of a CaffeModule").items()}
        self.name_inputs([i.name for i in net.inputs])

    def forward(self, /, *x: Any, **named: Any) -> Any:
        values = self.named(x, named)
        with self.alone():
            for k, n in enumerate(self.net.layers):
                values.update(zip(n.tops, self.applied(f"{k}", n, [values[name] for name in n.bottoms])))
        made = [values[name] for name in self.net.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    def applied(self, key: str, n: Layer, x: Sequence[Any]) -> Sequence[Any]:
        """What a layer gives."""
        call = Call(n, tuple(self.weights[name] for name in self.taken[key]), self.training)
        try:
            with layer(n.name):
                made = RULES[n.type](call, *x)
        except (SteleError, TypeError, ValueError, ZeroDivisionError) as error:
            try:
                signature(RULES[n.type]).bind(call, *x)
            except TypeError:
                n.says.refuse(f"layer {n} cannot take {len(x)} bottoms")
            error.add_note(f"This was raised by layer {n} of the net.")
            raise
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != len(n.tops):
            n.says.refuse(f"layer {n} gives {len(made)} blobs, and has {len(n.tops)} tops")
        return made

    def named(self, x: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs by name. Raises ArgumentError for too much or too little."""
        names = [i.name for i in self.net.inputs]
        for name in named.keys() - set(names):
            raise unheard("the net has no input", name, names)
        given = {**dict(zip(names, x)), **named}
        if len(x) > len(names) or len(given) < len(names):
            raise ArgumentError(f"the net takes {len(names)} inputs ({', '.join(names)}), got "
                                f"{max(len(x), len(given))}")
        made = {name: st.asarray(value) for name, value in given.items()}
        for i in self.net.inputs:
            if i.shape is not None and len(i.shape) != made[i.name].ndim:
                raise ShapeError(f"the net takes {i.name} of shape {i.shape}, got {tuple(made[i.name].shape)}")
        return made

    @property
    def dims(self) -> dict[str, dict[int, str]]:
        """The batch of each input, for `st.compile`: one program for all of them."""
        return {i.name: {0: "batch"} for i in self.net.inputs}

    def extra_repr(self) -> str:
        return f"{', '.join(i.name for i in self.net.inputs)}: {len(self.net.layers)} layers"


@public
def load(prototxt: str | Path, caffemodel: str | Path) -> CaffeModule:
    """The net of a `prototxt`, with the weights of a `caffemodel`, as a module in evaluation mode.

    Nets of version 1 and of today, in the test phase; layers of data are inputs by their tops. The batch may be
    another than the file says. Raises DataError for what is missing or damaged, with the line, and for layers that have
    no rule or no weights: one error names them all.

    ```
    net = caffe.load("deploy.prototxt", "weights.caffemodel")
    classify = st.compile(net, dims=net.dims)
    ```

    >>> from stele.interop import caffe
    >>> try:
    ...     caffe.load("no file", "none")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """
    net = checked(read_net(prototxt))
    weights, taken = held(net, read_blobs(caffemodel), str(caffemodel))
    return CaffeModule(net, weights, taken).eval()


def checked(net: Net) -> Net:
    """A net of which every layer can be computed. Raises DataError with those that cannot."""
    if lacking := [str(n) for n in net.layers if n.type not in RULES]:
        guess = next(filter(None, (nearest(n.type, RULES) for n in net.layers if n.type not in RULES)), None)
        raise DataError(f"{net.source} has {len(lacking)} layers that have no rule: {'; '.join(lacking[:50])}",
                        hint=f"Did you mean {guess!r}?" if guess else
                        "Losses and accuracies belong to training: give the net for deployment.")
    return net


def held(net: Net, blobs: Mapping[str, Sequence[Array]],
         source: str) -> tuple[dict[str, st.Tensor], dict[str, Sequence[str]]]:
    """The weights of a net by name, and the names that each layer takes. Raises DataError where a layer has none."""
    weights: dict[str, st.Tensor] = {}
    taken: dict[str, Sequence[str]] = {}
    owners: dict[str, str] = {}
    lacking: list[str] = []
    for k, n in enumerate(net.layers):
        words, own = blobs_of(n), blobs.get(n.name, ())
        params = n.says.fields.get("param", [])     # names alone in version 1
        shared = [p.get("name", "") if isinstance(p, Message) else str(p) for p in params]
        names = [owners.setdefault(shared[j], f"{n.name}.{word}") if j < len(shared) and shared[j] else
                 f"{n.name}.{word}" for j, word in enumerate(words)]
        for name, x in zip(names, own):
            value = st.tensor(x.astype("<f4").reshape(x.shape))
            weights.setdefault(name, value if n.type == "BatchNorm" else nn.Parameter(value))
        taken[f"{k}"] = [name for name in names if name in weights]
        if words and len(own) != len(words) and (own or not taken[f"{k}"]):     # which may be another layer's
            lacking.append(f"{n} needs {len(words)}: {', '.join(words)}; got {len(own)}")
    if lacking:
        raise DataError(f"{source} does not have the weights of {len(lacking)} layers: {'; '.join(lacking[:50])}",
                        hint="Is this the net of that .caffemodel?")
    return weights, taken
