"""A model as a drawing: boxes in a tree of names, what flows between them, and what they hold."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Any

from stele.errors import DataError

MOST = 100_000      # boxes of a page
LONGEST = 400       # letters of a text


@dataclass(frozen=True)
class Weight:
    """Numbers that a node holds: their name, dtype and shape as text, how many they are, and their bytes."""

    name: str
    type: str
    count: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Node:
    """A step of a model: `path` are the layers around it, the outermost first, inputs and outputs names of values."""

    name: str
    kind: str
    path: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: tuple[Weight, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    order: int = 0      # among all nodes of a drawing, as it is shown


@dataclass(frozen=True)
class Drawing:
    """A model: nodes, each behind those that it takes from, and what is known of the `types` of values."""

    title: str
    facts: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    types: Mapping[str, str]


def placed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes whose names say no layer in that of their weights, and those without any in what the layers before and
    behind them share.

    >>> relu = Node("r", "Relu", (), (), ())
    >>> conv = [Node(k, "Conv", (), (), (), (Weight(f"block.{k}.weight", "float32"),)) for k in "ab"]
    >>> [n.path for n in placed([conv[0], relu, conv[1], relu])]
    [('block', 'a'), ('block',), ('block', 'b'), ()]
    """
    known = [n.path or next((tuple(w.name.split(".")[:-1]) for w in n.weights if "." in w.name), ()) for n in nodes]
    before = latest(known)
    after = reversed(latest(reversed(known)))
    paths = [path or shared(a, b) for path, a, b in zip(known, before, after)]
    return tuple(replace(n, path=path) for n, path in zip(nodes, paths))


def latest(paths: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """At each place the last path until there that is any."""
    return [*accumulate(paths, lambda last, path: path or last)]


def shared(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """What two paths begin with."""
    return tuple(x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))


class Group:
    """A layer: nodes and layers by name, in order."""

    def __init__(self, name: str) -> None:
        self.name, self.inside = name, dict[str, Group | Node]()

    def alone(self) -> Node | Group:
        """What stands for this layer: a node that is all there is in it has its name."""
        if len(self.inside) != 1:
            return self
        only, = self.inside.values()
        if isinstance(only, Node):
            return replace(only, name=self.name)
        only = only.alone()
        name = f"{self.name}/{only.name}"
        if isinstance(only, Node):
            return replace(only, name=name)
        only.name = name
        return only


def tree(nodes: Sequence[Node]) -> Group:
    """The layers of nodes."""
    root = Group("")
    for n in nodes:
        at = root
        for word in n.path:
            while not isinstance(at.inside.setdefault(word, Group(word)), Group):
                word += "'"
            inner = at.inside[word]
            assert isinstance(inner, Group)
            at = inner
        name = n.name
        while name in at.inside:
            name += "'"
        at.inside[name] = n
    return root


def boxes(group: Group, up: int, found: list[tuple[int, Group | Node]]) -> None:
    """All layers and nodes, a layer before what is in it, each with the number of the layer around it."""
    stack: list[tuple[int, Iterator[Group | Node]]] = [(up, iter(group.inside.values()))]
    while stack:
        up, rest = stack[-1]
        one = next(rest, None)
        if one is None:
            stack.pop()
            continue
        one = one.alone() if isinstance(one, Group) else one
        found.append((up, one))
        if isinstance(one, Group):
            stack.append((len(found) - 1, iter(one.inside.values())))


def data(drawing: Drawing) -> dict[str, Any]:
    """A drawing as JSON: boxes, layers and nodes alike, and edges from box to box with the value that flows there.

    Raises DataError for one that no page can show.
    """
    found: list[tuple[int, Group | Node]] = []
    boxes(tree([replace(n, order=k) for k, n in enumerate(drawing.nodes)]), -1, found)
    if len(found) > MOST:
        raise DataError(f"a drawing of {len(found):,} boxes is more than a page shows, {MOST:,} at most")
    maker = {name: k for k, (_, n) in enumerate(found) if isinstance(n, Node) for name in n.outputs if name}
    edges = [[maker[name], k, short(name), short(drawing.types.get(name, ""))]
             for k, (_, n) in enumerate(found) if isinstance(n, Node) for name in n.inputs if name in maker]
    return {"title": short(drawing.title), "facts": [[*map(short, fact)] for fact in drawing.facts],
            "boxes": [{"up": up} | box(one, drawing.types) for up, one in found], "edges": edges}


def box(one: Group | Node, types: Mapping[str, str]) -> dict[str, Any]:
    """A layer or a node as JSON."""
    if isinstance(one, Group):
        return {"name": short(one.name)}
    return {"first": one.order, "name": short(one.name), "kind": short(one.kind),
            "facts": [[*map(short, fact)] for fact in one.facts],
            "out": [[short(name), short(types.get(name, ""))] for name in one.outputs if name],
            "weights": [[short(w.name), short(w.type), w.count, w.bytes] for w in one.weights]}


def short(text: str) -> str:
    """A text of the file, of which a page shows so much."""
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}...").encode(errors="replace").decode()


def totals(weights: Iterable[Weight]) -> tuple[str, str]:
    """How many numbers weights are, as a fact of a drawing."""
    held = [*weights]
    return "weights", f"{sum(w.count for w in held):,} numbers, {bytes_in_words(sum(w.bytes for w in held))}"


def bytes_in_words(count: float) -> str:
    """Bytes as people say them.

    >>> bytes_in_words(512), bytes_in_words(1_094_522)
    ('512 B', '1.1 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError
