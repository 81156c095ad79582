"""What a `.prototxt` says of a net, as layers in order: those of the test phase, old names of types as today's."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stele import files
from stele.errors import DataError
from stele.interop.caffe.text import Message, Name, parsed

LONGEST = 64 << 20      # bytes of a text
PHASES = "TRAIN", "TEST"
SOURCES = "Data", "ImageData", "HDF5Data", "MemoryData", "WindowData", "DummyData", "Input"     # what a net is given by

# Types of version 1, whose names are not today's but for their case and underscores.
OLD = {"ABSVAL": "AbsVal", "ARGMAX": "ArgMax", "BNLL": "BNLL", "HDF5_DATA": "HDF5Data", "LRN": "LRN",
       "INNER_PRODUCT": "InnerProduct", "MVN": "MVN", "RELU": "ReLU", "TANH": "TanH", "SOFTMAX_LOSS": "SoftmaxWithLoss"}


@dataclass(frozen=True)
class Layer:
    """A layer: what it takes and gives, by the names of blobs; `says` is its message, and where it stands."""

    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    says: Message

    def options(self, name: str) -> Message:
        """The message of its options, such as `convolution_param`."""
        return self.says.message(name)

    def __str__(self) -> str:
        return f"{self.type} {self.name!r} (line {self.says.line})"


@dataclass(frozen=True)
class Input:
    """What a net is given: a name, and its shape where that is said."""

    name: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Net:
    """Layers in order, what they are given, and what is left at the end."""

    source: str
    inputs: tuple[Input, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]


def read(path: str | Path) -> Net:
    """The net of a file. Raises DataError with the line of what is damaged or cannot be."""
    try:
        with files.regular(files.located(path)) as file:
            raw = file.read(LONGEST + 1)
        text = raw.decode()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text",
                        hint="The net is the .prototxt, its weights are the .caffemodel.") from None
    if len(raw) > LONGEST:
        raise DataError(f"{path} has more than {LONGEST} bytes, which no net has")
    return net(parsed(text, str(path)))


def net(says: Message) -> Net:
    """The net of a message."""
    made = [layer(m) for m in (*says.messages("layers"), *says.messages("layer")) if is_there(m)]
    if not made:
        says.refuse("this is no net of Caffe: it has no layer", "The net is the .prototxt.")
    inputs = [*declared(says), *(i for n in made if n.type in SOURCES for i in given(n))]
    layers = tuple(n for n in made if n.type not in SOURCES)
    names = [i.name for i in inputs]
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        says.refuse(f"the net has two inputs called {twice[0]!r}")
    return Net(says.source, tuple(inputs), layers, left(inputs, layers))


def layer(m: Message) -> Layer:
    """A layer of any version."""
    if m.messages("layer"):
        m.refuse("this is a net of version 0", "Write it anew with Caffe's upgrade_net_proto_text.")
    word = (m.fields.get("type") or [""])[-1]
    if not isinstance(word, str) or not word:
        m.refuse("a layer needs a type", 'Write type: "Convolution"')
    kind = word if not isinstance(word, Name) else OLD.get(word) or "".join(
        part.capitalize() for part in word.split("_"))
    return Layer(m.get("name", ""), kind, tuple(m.all("bottom", str)), tuple(m.all("top", str)), m)


def is_there(m: Message) -> bool:
    """Whether a layer is there when a net is tested: at level 0, in no stage."""
    include, exclude = m.messages("include"), m.messages("exclude")
    return any(map(meets, include)) if include else not any(map(meets, exclude))


def meets(rule: Message) -> bool:
    """Whether a rule is for the state that a net is read in."""
    phase = rule.word("phase", PHASES, "TEST")
    return phase == "TEST" and rule.get("min_level", 0) <= 0 <= rule.get("max_level", 0) and not rule.all("stage", str)


def declared(says: Message) -> Iterator[Input]:
    """Inputs that stand before the layers."""
    names, shapes, sizes = says.all("input", str), says.messages("input_shape"), says.all("input_dim", int)
    for k, name in enumerate(names):
        if k < len(shapes):
            yield Input(name, sized(shapes[k]))
        else:
            yield Input(name, tuple(sizes[4 * k:4 * k + 4]) if len(sizes) >= 4 * k + 4 else None)


def given(n: Layer) -> Iterator[Input]:
    """What a layer of data or inputs gives."""
    shapes = n.options("input_param").messages("shape")
    for k, name in enumerate(n.tops):
        yield Input(name, sized(shapes[min(k, len(shapes) - 1)]) if shapes else None)


def sized(shape: Message) -> tuple[int, ...]:
    """The sizes of a shape, none of which is below 1."""
    found = tuple(shape.all("dim", int))
    if any(not 0 < n < 1 << 31 for n in found):
        shape.refuse(f"a shape needs sizes from 1, got {[*found]!s:.80}")
    return found


def left(inputs: Sequence[Input], layers: Sequence[Layer]) -> tuple[str, ...]:
    """The blobs that no layer takes. Raises DataError for a layer that takes what none before it gives, and for one
    that gives what another has given: only what a layer takes itself may have the name of what it gives.
    """
    known = dict.fromkeys((i.name for i in inputs), True)
    for n in layers:
        for name in n.bottoms:
            if name not in known:
                later = [m for m in layers if name in m.tops]
                n.says.refuse(f"layer {n} takes {name!r}, which no layer before it gives" + (
                    f"; {later[0]} gives it, behind" if later else ""))
            known[name] = False
        for name in n.tops:
            if name in known and name not in n.bottoms:
                n.says.refuse(f"layer {n} gives {name!r}, which is given before it")
        known |= dict.fromkeys(n.tops, True)
    return tuple(name for name, is_left in known.items() if is_left and name not in {i.name for i in inputs})
