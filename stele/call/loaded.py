"""Programs that were read from files: functions as any other, of graphs whose Python source is not there."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stele.arrays.generator import GENERATOR
from stele.arrays.operands import Operands
from stele.arrays.streams import JOINING, Joining
from stele.arrays.tensor import Tensor, constant
from stele.arrays.views import leave
from stele.call.compiled import Compiled
from stele.call.library import export, stateful
from stele.call.stored import FORMAT, PLAIN, RANDOM, written
from stele.call.symbolic import function, placeholder
from stele.eager.handle import GRAD
from stele.eager.live import cut, is_symbolic, is_there
from stele.errors import ArgumentError, DataError, DTypeError, GraphError, ShapeError, SteleError
from stele.ir.door import public
from stele.ir.graph import Graph, Item, Value, substitute, walk
from stele.ir.sizes import Size
from stele.ir.text import parse
from stele.ir.types import Type, dtype
from stele.ir.verify import verify
from stele.ops import ALL
from stele.ops.arguments import refuse
from stele.ops.called import Called
from stele.ops.derived import Derived
from stele.pipeline import Options
from stele.tracing import tree
from stele.tracing.noted import before, called, noted
from stele.tracing.signature import match
from stele.tracing.state import Naming, Opaque, below, exact
from stele.transform.retype import bind

DEEPEST = 64        # containers within each other
NUMBERS = int | float | complex | np.number


class Loaded(Opaque, Naming, Joining):
    """A program that `st.load` has read: called as the function that was saved, by Python code that is not there.

    `state` has the tensors that it reads and rebinds, by name: assign to them, or put other tensors in their place.
    It runs compiled, differentiates by its arguments and by `state`, and may be part of any other function; what was
    called under `st.no_grad` alone has no derivatives. Random numbers go on from where the saved one stood, until
    `st.manual_seed` starts those of the whole program, which it draws then.

    >>> double = st.compile(lambda x: x * 2)
    >>> _ = double(st.ones(2))
    >>> st.save(double, "double.safetensors")
    >>> loaded = st.load("double.safetensors")
    >>> st.grad(lambda x: st.exp(loaded(x)).sum())(st.zeros(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.name = self.__name__ = str(data["name"])
        given: Any = {**data["state"]}
        if strange := [name for name, x in given.items() if not isinstance(x, Tensor)]:
            raise ValueError(f"its state {strange[0]!r:.40} is no tensor")
        self.state: dict[str, Tensor] = given
        for name in data["trained"]:
            self.state[name].requires_grad_()
        options = Options(precision=data["precision"], without=frozenset(data["without"]))
        self.variants = [Variant(self.name, record, self.state, options) for record in data["programs"]]
        JOINING[self] = GENERATOR

    def __reduce__(self) -> Any:
        return loaded, (self.stored(),)

    def draw_from(self, state: Tensor) -> None:
        self.state.update({name: state for name in self.state if name.endswith(RANDOM)})

    def inside(self) -> tuple[Any, ...]:
        return self.state,

    def named_members(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Its state as (name, tensor), as a module's."""
        return below(prefix, self.state.items())

    @property
    def graphs(self) -> list[Graph]:
        """Its graphs, one for each kind of call, as they were before any pass."""
        return [variant.graph for variant in self.variants]

    def stored(self) -> dict[str, Any]:
        """What a file keeps of it, with its state as it is now."""
        return {**self.data, "state": self.state,
                "trained": [name for name, x in self.state.items() if x.requires_grad]}

    @public
    def export_library(self, folder: str | Path, name: str | None = None) -> None:
        """Writes a shared library of its first program into a `folder`, whose functions begin with `name`, that of the
        saved function without one, as that of a compiled function is written.

        >>> double = st.compile(lambda x: x * 2)
        >>> _ = double(st.ones(2))
        >>> st.save(double, "twice.safetensors")
        >>> st.load("twice.safetensors").export_library("twice", "twice")
        >>> import pathlib; pathlib.Path("twice/libtwice.so").exists()
        True
        """
        first = self.variants[0]
        if first.writes or first.grads:
            raise stateful(name or self.name)
        if missing := [x for k, x in enumerate(first.names) if k not in first.types]:
            raise GraphError(f"{self.name} takes {missing[0]}, which it does not use, and of which it says no type")
        kinds: list[tuple[int, Any]] = sorted(first.types.items())
        x = [placeholder(t.shape, t.dtype, first.names[k], t.device) for k, t in kinds]
        f = function(x, first.run(x))
        export(f.plan, name or self.name, f.names, folder, f.options, first.shown)

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        called(self)
        leaves, shape = parted(args, kwargs)
        calls = [parted(*v.placed(args, kwargs)) if kwargs else (leaves, shape) for v in self.variants]
        for variant, (own, form) in zip(self.variants, calls):
            if (arrays := variant.taken(form, own)) is not None:
                pending = walk([x.value for x in arrays], stop=is_there)
                return variant.run(arrays) if any(map(is_symbolic, pending)) else variant.compiled(arrays)
        by_name = [path for name, x in kwargs.items() for path in tree.paths(tree.flatten(x, tree.given)[1], name)]
        given = ", ".join(f"{name and f'{name}: '}{told(x)}" for name, x in zip(
            [""] * (len(leaves) - len(by_name)) + by_name, leaves))
        kinds = [v.mismatch(own) for v, (own, form) in zip(self.variants, calls) if v.shape == form]
        kind = next((k for k in (ShapeError, DTypeError) if k in kinds), ArgumentError)
        raise kind(f"{self.name} was saved for ({'), or ('.join(map(str, self.variants))}), got ({given})",
                   hint=None if kinds else "What is given in order and by name are "
                   f"{' or '.join({contained(v.spec): 0 for v in self.variants})}, got "
                   f"{contained(tree.flatten((args, kwargs), tree.given)[1])}, where _ is an array or a number.")

    def __repr__(self) -> str:
        return f"<loaded {self.name}: ({'), or ('.join(map(str, self.variants))})>"


def parted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of a call, and its containers as `written` says them."""
    leaves, spec = tree.flatten((args, kwargs), tree.given)
    return leaves, written(spec, iter(leaves), lambda x: None)


def contained(spec: tree.Spec | None) -> str:
    """What a call gives in order and by name, by its containers."""
    return repr(tree.unflatten(spec, ["_"] * len([*tree.paths(spec)]))).replace("'_'", "_")


def told(x: Any) -> str:
    """A leaf of a call in a message."""
    return str(x.value.type) if isinstance(x, Tensor) else f"{x.dtype}{[*x.shape]}" if isinstance(
        x, np.ndarray) else repr(x)


class Variant(Opaque):
    """One graph, and the calls that it is for."""

    def __init__(self, name: str, record: Mapping[str, Any], state: dict[str, Tensor], options: Options) -> None:
        self.state, self.shown, self.carries = state, record["sizes"], record.get("carries", True)
        graph = parse(record["graph"], ALL)
        refuse_unknown(name, graph)
        self.graph = verify(graph, self.shown or None)
        if self.graph.digest != record["digest"]:
            raise ValueError("a graph is not what its digest says")
        self.names = [str(n) for n in record["names"]]
        self.spec, self.leaves = read(record["arguments"], ("array", "value"))
        self.returned = read(record["returned"], ("result", "state", "argument", "value"))
        self.shape = written(self.spec, iter(self.leaves), lambda x: None)
        self.inputs = [self.place(*x) for x in record["inputs"]]
        self.writes = [(self.place(*place), self.result(j)) for place, j in record["writes"]]
        self.left, self.grads = ([(self.place(*place), None if j is None else self.result(j)) for place, j in pairs]
                                 for pairs in (record.get("left", ()), record["grads"]))
        for kind, k in self.returned[1]:
            _ = kind == "value" or (self.result(k) if kind == "result" else self.place(kind, k))
        self.types = {k: p.type for (kind, k), p in zip(self.inputs, self.graph.parameters, strict=True)
                      if kind == "argument"}
        if [k for kind, k in self.leaves if kind == "array"] != [*range(len(self.names))]:
            raise ValueError("its arguments are not numbered in order")
        by_place, rest = self.spec and self.spec.parts[0], iter(self.leaves)
        if by_place is None:
            raise ValueError("its arguments are in no row")
        parts = [(part, [next(rest) for _ in tree.paths(part)]) for part in by_place.parts]
        self.by_place = [self.names[found[0][1]] if part is None and found[0][0] == "array" else ""
                         for part, found in parts]
        opened = {f"arrays.{k}": {axis: str(n) for axis, n in enumerate(t.shape) if isinstance(n, Size)}
                  for k, t in self.types.items()}
        self.compiled = Compiled(self.run, {x: axes for x, axes in opened.items() if axes}, options)
        self.compiled.variants.name = name

    def inside(self) -> tuple[Any, ...]:
        return self.state,

    def place(self, kind: str, k: Any) -> tuple[str, Any]:
        """A place that there is: an argument or a state."""
        if (kind != "state" or k not in self.state) and (kind != "argument" or k not in range(len(self.names))):
            raise ValueError(f"there is no {kind!r:.20} {k!r:.20}")
        return kind, k

    def result(self, j: Any) -> int:
        """The number of a result that there is."""
        return range(len(self.graph.results)).index(j)

    def placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A call with what it gives by name at the places of arrays that were saved so, where these are all given."""
        names = self.by_place[len(args):]
        if not all(name in kwargs for name in names):
            return args, kwargs
        return (*args, *(kwargs[name] for name in names)), {k: x for k, x in kwargs.items() if k not in names}

    def taken(self, shape: Any, leaves: Sequence[Any]) -> list[Tensor] | None:
        """The arrays of a call that this graph is for, else None."""
        if shape != self.shape:
            return None
        arrays: list[Tensor] = []
        for (kind, x), given in zip(self.leaves, leaves):
            if kind == "value":
                if type(given) is not type(x) or exact(given) != exact(x):
                    return None
            elif isinstance(given, Tensor | np.ndarray | NUMBERS):
                wanted = self.types.get(x) if isinstance(given, NUMBERS) else None
                arrays.append(constant(given, wanted and wanted.dtype))
            else:
                return None
        return arrays if self.sizes(arrays) is not None else None

    def mismatch(self, leaves: Sequence[Any]) -> type[SteleError]:
        """What leaves are that do not fit, in a container that does. Raises where the state does not fit any leaves."""
        for (kind, k), p in zip(self.inputs, self.graph.parameters):
            if kind == "state" and self.fits([(p.type, x := self.state[k].value.type)]) is None:
                raise (DTypeError if x.dtype != p.type.dtype else ShapeError)(f"state[{k!r}] is {p.type}, got {x}")
        pairs = [*zip(self.leaves, leaves)]
        arrays = [(self.types.get(k), x) for (kind, k), x in pairs if kind == "array"]
        if any(kind == "value" and wanted != x for (kind, wanted), x in pairs) or \
                not all(isinstance(x, Tensor | np.ndarray | NUMBERS) for _, x in arrays):
            return ArgumentError
        return DTypeError if any(t is not None and t.dtype != dtype(x.dtype) for t, x in arrays) else ShapeError

    def sizes(self, arrays: Sequence[Tensor]) -> dict[str, Any] | None:
        """The named sizes at which arrays and the state are what the graph takes; None where there are none."""
        sizes = self.fits([(p.type, self.at(place, arrays).value.type)
                           for place, p in zip(self.inputs, self.graph.parameters)])
        if sizes is None or any(isinstance(n, Size) for n in sizes.values()):   # whose own guards know it
            return sizes
        return sizes if all(g.holds(sizes) for g in self.graph.guards) else None

    def fits(self, types: Sequence[tuple[Type, Type]]) -> dict[str, Any] | None:
        """The named sizes at which the second of each pair is the first; None where there are none."""
        if any((a.dtype, a.device, len(a.shape)) != (b.dtype, b.device, len(b.shape)) for a, b in types):
            return None
        return match([a.shape for a, _ in types], [b.shape for _, b in types])

    def at(self, place: tuple[str, Any], arrays: Sequence[Tensor]) -> Tensor:
        """The tensor at a place."""
        kind, k = place
        if not isinstance(x := arrays[k] if kind == "argument" else self.state.get(k), Tensor):
            refuse(f"state[{k!r}]", "the tensor that the program reads", x, "Write st.tensor(x) of an array.")
        return x

    def run(self, arrays: Sequence[Tensor]) -> Any:
        """What the function did, on values of any kind."""
        if (sizes := self.sizes(arrays)) is None:
            raise ShapeError(f"{self} was saved for other arguments")
        operands = Operands(numbers=False)
        was = before(self.at(place, arrays) for place, _ in (*self.left, *self.writes))
        given = [operands.value(self.at(place, arrays)) for place in self.inputs]
        graph = bind(self.graph, sizes) if sizes else self.graph
        steps = self.grads or any(self.at(place, arrays).requires_grad for place, _ in self.writes)
        carries = operands.differentiable and GRAD.get() and not steps
        values = substitute(graph, given) if self.carries or not carries else underived(graph, given)
        made = [Tensor(cut(v) if steps else operands.cut(v), carries and v.dtype.is_float) for v in values]
        for place, j in self.left:
            if j is not None:
                self.at(place, arrays).assign(Tensor(cut(values[j])))
            leave(self.at(place, arrays))
        for place, j in self.writes:
            self.at(place, arrays).assign(Tensor(cut(values[j])))
        for place, j in self.grads:
            self.at(place, arrays).grad = None if j is None else made[j]
        spec, leaves = self.returned
        found = [x if kind == "value" else made[x] if kind == "result" else self.at((kind, x), arrays)
                 for kind, x in leaves]
        return noted(was, arrays, tree.unflatten(spec, found))

    def __str__(self) -> str:
        found = (f"{self.names[x]}: {self.types.get(x, 'an array')}" if kind == "array" else repr(x)
                 for kind, x in self.leaves)
        return ", ".join(found)


def underived(graph: Graph, x: Sequence[Value]) -> list[Value]:
    """The results of a graph that has no derivatives, which whoever asks for one is told."""
    y = Derived(Graph(graph.parameters, graph.results), None, len(x))(*x)
    return [Item(k)(y) for k in range(len(graph.results))]


def refuse_unknown(name: str, graph: Graph) -> None:
    """Raises DataError for functions of users' that this process does not have."""
    for op in (v.op for v in graph.everything):
        if isinstance(op, Called) and not op.is_there:
            function, _, options = op.function.partition("(")
            once = f", and call it once with {options.removesuffix(')')}" if options else ""
            raise DataError(f"{name} calls {op.function}, an op that is not defined here",
                            hint=f"Before st.load, run or import what has @st.op on {function}{once}.")


def read(data: Any, kinds: Sequence[str], depth: int = 0) -> tuple[tree.Spec | None, list[tuple[str, Any]]]:
    """The container that `written` made plain data of, and its leaves: pairs of one of `kinds` and what it says."""
    if not isinstance(data, dict) or depth > DEEPEST:
        raise ValueError(f"{data!r:.40} is no container")
    if "parts" not in data:
        (kind, x), = data.items()
        if kind not in kinds or not isinstance(x, PLAIN):
            raise ValueError(f"{kind!r:.20} is none of {', '.join(kinds)}")
        return None, [(kind, x)]
    found = [read(part, kinds, depth + 1) for part in data["parts"]]
    (kind, keys), = ((name, x) for name, x in data.items() if name != "parts")
    specs, leaves = tuple(spec for spec, _ in found), [leaf for _, each in found for leaf in each]
    if kind == "dict":
        return tree.Spec(dict, tuple(dict(zip(keys, specs, strict=True))), specs), leaves
    if kind == "named":
        made: Any = namedtuple(str(keys[0]), keys[1:])  # pyright: ignore[reportUntypedNamedTuple]
        return tree.Spec(made, tuple(range(len(specs))), specs), leaves
    return tree.Spec({"tuple": tuple, "list": list}[kind], tuple(range(len(specs))), specs), leaves


def loaded(data: Any) -> Loaded:
    """The program of what `stored` has made. Raises ValueError where it is not whole, or made by another Stele, and
    DataError where it calls functions that are not there.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"its program is of format {data.get('format') if isinstance(data, dict) else data!r:.40}, "
                         f"this Stele reads {FORMAT}")
    try:
        return Loaded(data)
    except DataError:
        raise
    except (SteleError, ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
            MemoryError) as error:
        raise ValueError(f"its program cannot be read: {type(error).__name__}: {error!s:.200}") from None
