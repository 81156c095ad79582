"""The configuration of a Keras model becomes a graph: layers of known kinds, and their calls in order."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from stele.errors import DataError
from stele.interop.keras.model import Graph, Input, Layer, Ref, Step, Stored, leaves, mapped
from stele.interop.keras.options import Options
from stele.interop.keras.table import KINDS
from stele.ir.types import DTYPES

MODELS = "Functional", "Model", "Sequential"
DEEPEST = 50            # models within models
WITHIN = {"GroupQueryAttention": "GroupedQueryAttention"}      # classes that have another name in Keras than outside
HINT = "A class of one's own has its code in Python: export the model as ONNX, and use stele.interop.onnx.load."


class Reader:
    """Reads layers of a file, which is the `source`; what no rule is for is noted in `lacking`, and said at once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lacking: list[str] = []
        self.shared: dict[int, Layer] = {}
        self.names: set[str] = set()
        self.depth = 0

    def model(self, said: Any) -> Graph:
        """The graph of a whole configuration. Raises DataError that names all layers for which there is no rule."""
        cls, values = self.parts(said)
        if kind_of(said) not in MODELS:
            raise DataError(f"{self.source} holds a {cls}, which is no Sequential and no functional model", hint=HINT)
        found = self.graph(cls, values, "", "")
        if self.lacking:
            rows = list(dict.fromkeys(self.lacking))
            raise DataError(f"{self.source} has {len(rows)} layers for which there is no rule: {'; '.join(rows[:50])}",
                            hint=HINT)
        return found

    def parts(self, said: Any) -> tuple[str, dict[str, Any]]:
        """The class and the options of an object of Keras."""
        match said:
            case {"class_name": str(cls), "config": dict(values)}:
                return cls, values
        raise DataError(f"each layer in {self.source} has a class_name and a config, got {said!r:.60}")

    def layer(self, said: Any, prefix: str, place: str) -> Layer:
        """A layer with all that is in it; one that stands in several places is read once."""
        shared = said.get("shared_object_id") if isinstance(said, dict) else None
        if isinstance(shared, int) and shared in self.shared:
            return self.shared[shared]
        cls, values = self.parts(said)
        name = prefix + str(values.get("name", cls.lower()))
        if name in self.names:
            raise DataError(f"{self.source} has two layers called {name!r:.80}")
        self.names.add(name)
        options, kind = Options(values, f"{name} ({cls})"), kind_of(said)
        if kind in MODELS:
            found = Layer(name, kind, options, {}, {}, self.graph(cls, values, f"{name}/", f"{place}/"))
        elif kind == "InputLayer" or (why := self.why_not(said, kind, options)) is None:
            found = self.known(kind, options, name, place)
        else:
            self.lacking.append(f"{name} ({cls}{why})")
            found = Layer(name, cls, options, {}, {})
        if isinstance(shared, int):
            self.shared[shared] = found
        return found

    def why_not(self, said: Mapping[str, Any], kind: str | None, options: Options) -> str | None:
        """Why there is no rule for a layer, in brackets behind its class; None where there is one."""
        if kind is None:
            return f" of {said.get('registered_name') or said.get('module')}"[:80]
        if kind not in KINDS:
            return ": it holds code of Python, which is never run" if kind == "Lambda" else ""
        lacks = KINDS[kind].lacks(options) or options.quantised()
        return lacks and f" with {lacks}"

    def known(self, kind: str | None, options: Options, name: str, place: str) -> Layer:
        """A layer of a kind in the table."""
        if kind is None or kind == "InputLayer":
            return Layer(name, "InputLayer", options, {}, {})
        counts: dict[str, int] = {}
        variables: dict[str, Stored] = {}
        for v in KINDS[kind].variables:
            if options.has(v.option):
                at = f"{place}/{v.place}" if v.place else place
                counts[at] = counts.get(at, -1) + 1
                variables[v.name] = Stored(f"{name}/{v.name}", f"{at}/vars/{counts[at]}", v.moves)
        for k in range(KINDS[kind].states if options.flag("stateful") else 0):
            variables[f"state_{k}"] = Stored(f"{name}/state_{k}", "", False)
        parts = {key: self.layer(one, f"{name}/", f"{place}/{key}") for key, one in KINDS[kind].parts(options).items()}
        return Layer(name, kind, options, variables, parts)

    def graph(self, cls: str, values: Mapping[str, Any], prefix: str, place: str) -> Graph:
        """The graph of a model."""
        said = values.get("layers")
        if not isinstance(said, list) or not said:
            raise DataError(f"{self.source} lists no layers of {str(values.get('name'))!r:.60}")
        self.depth += 1
        if self.depth > DEEPEST:
            raise DataError(f"{self.source} has more than {DEEPEST} models within models")
        found = (self.chain if cls == "Sequential" else self.functional)(values, said, prefix, place)
        self.depth -= 1
        return found

    def placed(self, said: Sequence[Any], prefix: str, place: str) -> Iterator[tuple[dict[str, Any], Layer]]:
        """The layers of a model, each with what is said of it; where their variables lie follows from their order."""
        counts: dict[str, int] = {}
        for one in said:
            cls = self.parts(one)[0]
            key = snake(WITHIN.get(cls, cls))
            if not (kind_of(one) or "").startswith("ops."):
                counts[key] = counts.get(key, -1) + 1
            yield one, self.layer(one, prefix, f"{place}layers/{key}" + (f"_{n}" if (n := counts.get(key, 0)) else ""))

    def chain(self, values: Mapping[str, Any], said: Sequence[Any], prefix: str, place: str) -> Graph:
        """The graph of a sequential model: each layer is called with what the one before it gave."""
        (cls, options), begins = self.parts(said[0]), False
        if cls == "InputLayer" or "batch_input_shape" in options:     # the latter of layers before Keras 3
            first, begins = self.input(options), cls == "InputLayer"
        else:
            first = Input("x", self.shape(values, "build_input_shape"), "float32")
        begin = at = Ref("", 0, 0)
        steps: list[Step] = []
        for k, (_, layer) in enumerate(self.placed(said[begins:], prefix, place), 1):
            steps.append(Step(layer, ("", k), [at], {}))
            at = Ref("", k, 0)
        return Graph(begin, at, {"": first}, tuple(step.layer for step in steps), tuple(steps))

    def input(self, values: Mapping[str, Any]) -> Input:
        """What an InputLayer says."""
        name, dtype = str(values.get("name", "x")), str(values.get("dtype") or "float32")
        if dtype not in DTYPES or values.get("sparse") or values.get("ragged"):
            self.lacking.append(f"{name} (InputLayer of {dtype:.30}{', sparse' if values.get('sparse') else ''})")
            dtype = "float32"
        key = "batch_shape" if "batch_shape" in values else "batch_input_shape"
        return Input(name, self.shape(values, key), dtype)

    def shape(self, values: Mapping[str, Any], key: str) -> tuple[int | None, ...] | None:
        """A shape, None where nothing is said; an axis of None is open."""
        found = values.get(key)
        if found is None:
            return None
        if not isinstance(found, list) or len(found) > 32 or any(
                n is not None and (type(n) is not int or not 0 <= n < 1 << 62) for n in found):
            raise DataError(f"{key} in {self.source} lists sizes, got {found!r:.60}")
        return tuple(found)

    def functional(self, values: Mapping[str, Any], said: Sequence[Any], prefix: str, place: str) -> Graph:
        """The graph of a functional model."""
        known: dict[str, Input] = {}
        layers: dict[str, Layer] = {}
        waiting: dict[tuple[str, int], Step] = {}
        for one, layer in self.placed(said, prefix, place):
            name, nodes = one.get("name", one["config"].get("name")), one.get("inbound_nodes", [])
            if not isinstance(name, str) or name in layers or not isinstance(nodes, list):
                raise DataError(f"each layer in {self.source} has a name of its own, and inbound_nodes: {one!r:.60}")
            layers[name] = layer
            if layer.kind == "InputLayer":
                known[name] = self.input(layer.options.values)
            else:
                waiting |= {(name, k): self.step(layer, (name, k), node) for k, node in enumerate(nodes)}
        inputs = self.refs(values.get("input_layers"))
        outputs = self.refs(values.get("output_layers"))
        if any(isinstance(node, list) for one in said for node in one.get("inbound_nodes", ())):
            waiting, outputs = counted(waiting, outputs)
        else:
            before = {name for name, layer in layers.items() if layer.graph is not None and layer.kind != "Sequential"}
            outputs = mapped(lambda r: Ref(r.layer, r.call - (r.layer in before), r.place), outputs)
        for ref in leaves(inputs):
            if ref.layer not in known:
                raise DataError(f"{self.source} has no input {ref.layer!r:.60}")
        steps = self.ordered(waiting, known, outputs)
        kept = tuple(layer for layer in layers.values() if layer.kind != "InputLayer")
        return Graph(inputs, outputs, known, kept, steps)

    def step(self, layer: Layer, key: tuple[str, int], node: Any) -> Step:
        """A call, with references in the place of tensors; words that its rule does not know are noted."""
        match node:
            case {"args": list(args), "kwargs": dict(kwargs)}:
                args, given = self.value(args), self.value(kwargs)
            case [[str(), int(), int(), dict(kwargs)], *_]:
                refs = [self.refs(ref[:3] if isinstance(ref, list) else ref) for ref in node]
                args, given = [refs[0] if len(refs) == 1 else refs], {key: old(x) for key, x in kwargs.items()}
            case _:
                raise DataError(f"each of inbound_nodes in {self.source} has args and kwargs, got {node!r:.60}")
        given = {key: x for key, x in given.items() if said(x) and key != "training"}
        if layer.kind in KINDS and (more := given.keys() - signature(KINDS[layer.kind].rule).parameters.keys()):
            self.lacking.append(f"{layer} called with {', '.join(sorted(more))}")
        return Step(layer, key, args, given)

    def value(self, said: Any) -> Any:
        """A value as Keras writes it."""
        match said:
            case {"class_name": "__keras_tensor__", "config": {"keras_history": [str(name), int(call), int(place)]}}:
                return Ref(name, call, place)
            case {"class_name": "__numpy__" | "__tensor__", "config": {"value": value, "dtype": _}}:
                return value
            case {"class_name": "__ellipsis__"}:
                return ...
            case {"class_name": "__slice__", "config": {"start": start, "stop": stop, "step": step}}:
                return slice(start, stop, step)
            case {"class_name": str(cls), **_more}:
                raise DataError(f"a call in {self.source} takes a {cls:.60}, which is no tensor and no number")
            case dict():
                return {str(key): self.value(one) for key, one in said.items()}
            case list():
                return [self.value(one) for one in said]
        return said

    def refs(self, said: Any) -> Any:
        """References in containers, as the lists of inputs and outputs say them."""
        match said:
            case [str(name), int(call), int(place)]:
                return Ref(name, call, place)
            case dict():
                return {str(key): self.refs(one) for key, one in said.items()}
            case list() if said:
                return [self.refs(one) for one in said]
        raise DataError(f"{self.source} does not say which of its layers are inputs and outputs, but {said!r:.60}")

    def ordered(self, waiting: Mapping[tuple[str, int], Step], known: Mapping[str, Input], outputs: Any
                ) -> tuple[Step, ...]:
        """The calls, each behind those that it takes from. Raises DataError where that cannot be."""
        asks = {key: {(r.layer, r.call) for r in leaves([step.args, step.kwargs]) if r.layer not in known}
                for key, step in waiting.items()}
        for key in (*(k for some in asks.values() for k in some), *((r.layer, r.call) for r in leaves(outputs))):
            if key not in waiting and not (key[0] in known and key[1] == 0):
                raise DataError(f"{self.source} takes call {key[1]} of layer {key[0]!r:.60}, which there is not")
        steps: dict[tuple[str, int], Step] = {}
        takers: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for key, some in asks.items():
            for other in some:
                takers.setdefault(other, []).append(key)
        ready = [key for key, some in asks.items() if not some]
        while ready:
            key = ready.pop()
            steps[key] = waiting[key]
            for other in takers.get(key, ()):
                asks[other].discard(key)
                ready += [other] if not asks[other] else []
        if len(steps) < len(waiting):
            name = next(key[0] for key in waiting if key not in steps)
            raise DataError(f"layer {name!r:.60} of {self.source} takes what follows from itself")
        return tuple(steps.values())


def old(said: Any) -> Any:
    """An argument by name as Keras 2 wrote it, which said references as lists."""
    match said:
        case [str(name), int(call), int(place)]:
            return Ref(name, call, place)
        case list():
            return [old(one) for one in said]
    return said


def counted(waiting: Mapping[tuple[str, int], Step], outputs: Any) -> tuple[dict[tuple[str, int], Step], Any]:
    """Calls and outputs of Keras 2, which counts the making of a model within as its first call: from 0 on here. One
    output alone is no list.
    """
    first: dict[str, int] = {}
    for ref in leaves([outputs, *([step.args, step.kwargs] for step in waiting.values())]):
        first[ref.layer] = min(ref.call, first.get(ref.layer, ref.call))

    def moved(x: Any) -> Any:
        return mapped(lambda r: Ref(r.layer, r.call - first[r.layer], r.place), x)

    steps = {key: Step(s.layer, key, moved(s.args), moved(s.kwargs)) for key, s in waiting.items()}
    return steps, moved(outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs)


def said(x: Any) -> bool:
    """Whether an argument says anything: neither None nor a list of it."""
    return any(map(said, x)) if isinstance(x, list) and x else x is not None


def kind_of(said: Any) -> str | None:
    """The class of one of Keras's own layers, "ops.Class" for its operations, None for what is not Keras's.

    HDF5 files do not say of a class whether it is a layer, but layers say whether they are trained.
    """
    module, cls = said.get("module", "keras"), said.get("class_name")
    if said.get("registered_name") not in (None, cls) or not isinstance(module, str) or not isinstance(cls, str) or \
            not re.fullmatch(r"keras(\.\w+)*", module):
        return None
    cls = next((name for name, within in WITHIN.items() if within == cls), cls)
    bare = "module" not in said and isinstance(config := said.get("config"), dict) and "trainable" not in config
    return f"ops.{cls}" if ".ops" in module or (bare and f"ops.{cls}" in KINDS) else cls


def snake(name: str) -> str:
    """The name of a class as Keras writes it in paths.

    >>> snake("Conv2DTranspose"), snake("LSTM"), snake("UpSampling2D")
    ('conv2d_transpose', 'lstm', 'up_sampling2d')
    """
    return re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", re.sub(r"\W", "", name)).lower()
