"""The symbolic style: expressions over placeholders, made into functions."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from weakref import ref

from stele.arrays.looking import is_traced
from stele.arrays.operands import Operands
from stele.arrays.streams import DRAW, DRAWN, after, handed, number_of
from stele.arrays.tensor import DeviceLike, Tensor, constant
from stele.backend.base import Program
from stele.backend.devices import current, find
from stele.backend.newest import Newest
from stele.call.compiled import Compiled
from stele.call.library import export
from stele.call.plan import Plan, donations
from stele.call.straight import CALLS, MISS, Call, straight
from stele.eager.backward import refuse_freed
from stele.eager.handle import GRAD, TRACING, Handle, leaked, named, owner
from stele.eager.live import cut, is_open, is_symbolic, is_there, symbol
from stele.errors import DeviceError, DTypeError, GraphError, ShapeError
from stele.ir.door import public
from stele.ir.graph import Graph, Item, Parameter, Value, closed, fed, label_of, parameter, replaced, substitute, walk
from stele.ir.origin import here, lines
from stele.ir.sizes import Dim, Size, size
from stele.ir.stages import show
from stele.ir.types import HOME, Type
from stele.ir.types import dtype as type_named
from stele.ops.arguments import instance, is_mapping, refuse, sequence
from stele.ops.arguments import size as a_size
from stele.pipeline import Options, build, options_of
from stele.tracing import tree
from stele.tracing.noted import PLACEHOLDERS, before, members, noted, settled
from stele.tracing.signature import match
from stele.tracing.state import Naming, Opaque, below
from stele.tracing.trace import Made, Part, Traced
from stele.transform.retype import bind


@public
def placeholder(shape: Sequence[int | str], dtype: Any = "float32", name: str = "x", device: DeviceLike = None
                ) -> Tensor:
    """A tensor that stands for an input of `st.function`: the sizes of its `shape` are numbers, or names of open sizes.

    An open size is any number at a call; one name is one size, in all inputs. `name` is what errors call it.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`. Raises ShapeError for a
    negative size, DTypeError for another dtype than there is, DeviceError for a device that there is not.

    >>> x = st.placeholder(("batch", 3))
    >>> x.shape
    (batch, 3)
    >>> f = st.function([x], x.sum(axis=0))
    >>> f(st.ones((5, 3))).tolist(), f(st.ones((2, 3))).tolist()
    ([5.0, 5.0, 5.0], [2.0, 2.0, 2.0])
    """
    given = sequence(shape, "shape of placeholder", "a sequence of sizes and names of sizes, such as ('batch', 3)")
    dims: tuple[Dim, ...] = tuple(size(n) if isinstance(n, str) else a_size(n, "every size of shape") for n in given)
    place = find(current() or HOME if device is None else device)
    v = symbol(instance(name, "name of placeholder", str), Type(type_named(dtype), dims, place.name))
    PLACEHOLDERS.add(ref(v, PLACEHOLDERS.discard))
    return Tensor(v)


class Function(Opaque, Naming):
    """A program from placeholders to outputs, with updates of tensors that are written after each call.

    Its tensors have the names of the module that was called for its expressions.
    """

    def __init__(self, plan: Plan, inputs: Sequence[Tensor], options: Options) -> None:
        self.plan, self.options = plan, options
        self.tensors: list[Any] = plan.traced.handles[len(inputs):]
        self.members = members(self.tensors)
        self.types: list[Type] = [x.value.type for x in inputs]
        self.names: list[str] = [label_of(x.value) for x in inputs]
        self.calls: Newest[tuple[int, ...], Call] = Newest(CALLS)
        opened = {f"leaves.{k}": {axis: str(n) for axis, n in enumerate(t.shape) if isinstance(n, Size)}
                  for k, t in enumerate(self.types)}
        self.differentiable = Compiled(self.within, {x: axes for x, axes in opened.items() if axes}, options)
        self.differentiable.variants.name = "function"

    @property
    def graph(self) -> Graph:
        """The graph as it was written, before any pass."""
        return self.plan.traced.graph

    @property
    def program(self) -> Program:
        """The program that runs at every call."""
        return self.plan.program

    def inside(self) -> tuple[Any, ...]:
        return self.tensors,

    def named_members(self, prefix: str = "") -> Iterator[tuple[str, Handle]]:
        """Its tensors that have names, as (name, tensor)."""
        return below(prefix, self.members)

    @public
    def export_library(self, folder: str | Path, name: str = "program") -> None:
        """Writes a shared library of this function into a `folder`, whose functions begin with `name`, as that of a
        compiled function is written.

        >>> x = st.placeholder(("n",))
        >>> st.function([x], x * 2).export_library("doubled", "doubled")
        >>> import pathlib; pathlib.Path("doubled/libdoubled.so").exists()
        True
        """
        export(self.plan, name, self.names, folder, self.options, {})

    def __copy__(self) -> Function: return self
    def __deepcopy__(self, memo: Any) -> Function: return self     # as Python's functions

    def __reduce__(self) -> Any:
        raise GraphError("no pickle holds a function of placeholders, which reads tensors where they are",
                         hint="Write st.save(f, path), and f = st.load(path) there: that one has its own tensors, and "
                              "can be pickled.")

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {type}" for name, type in zip(self.names, self.types))
        return f"<function of {inputs or 'nothing'}>"

    @public
    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self.types):
            raise GraphError(f"this function takes {len(self.types)} inputs ({', '.join(self.names)}), got {len(args)}")
        leaves = [constant(x) for x in args]
        for name, x, t in zip(self.names, leaves, self.types):
            if x.dtype != t.dtype:
                raise DTypeError(f"the input {name!r} is {t}, got {x.value.type}",
                                 hint=f"Convert it with .astype({t.dtype.name!r}).")
            if x.device != t.device:
                raise DeviceError(f"the input {name!r} is {t} on {t.device}, got {x.value.type}",
                                  hint=f"Move it with .to({t.device!r}).")
        if (sizes := self.sizes(leaves)) is None:
            raise ShapeError(f"the inputs are {', '.join(map(str, self.types))}, "
                             f"got {', '.join(str(x.value.type) for x in leaves)}")
        if TRACING.get() is not None or any(is_traced(x.value) for x in leaves):
            return self.within(leaves)
        if GRAD.get() and any(x.requires_grad for x in leaves):
            return self.differentiable(leaves)
        key = (carries := GRAD.get()), *sizes.values()
        if (call := self.calls.get(key)) is None:
            plan = self.plan if carries else self.plan.quiet
            call = self.calls[key] = straight(plan, sizes, None, len(leaves))
        if (made := call(leaves)) is MISS:
            raise GraphError("a tensor that this function reads has another type now than when the function was made")
        return made

    def sizes(self, leaves: Sequence[Tensor]) -> dict[str, Any] | None:
        """The named sizes at which these are the inputs; None where there are none."""
        return match([t.shape for t in self.types], [x.value.type.shape for x in leaves])

    def within(self, leaves: Sequence[Tensor]) -> Any:
        """What it does, in the expressions that its arguments are."""
        traced, handles, operands = self.plan.traced, [*leaves, *self.tensors], Operands(numbers=False)
        was = before(handles[h] for h, _ in traced.writes)
        given = [operands.value(handles[h]) for _, h in traced.inputs]
        values = substitute(bind(traced.graph, sizes) if (sizes := self.sizes(leaves)) else traced.graph, given)
        carries = operands.differentiable and GRAD.get()
        made = [Tensor(operands.cut(v), carries and v.dtype.is_float) for v in values]
        spec, parts = traced.returned
        returned = [made[traced.made[k].result] for k in (int(part.what) for part in parts)]
        for h, j in traced.writes:
            handles[h].assign(Tensor(cut(values[j])))
        return noted(was, leaves, tree.unflatten(spec, returned))


@public
def function(inputs: Sequence[Tensor], outputs: Any, updates: Any = (), **options: Any) -> Function:
    """A callable that computes `outputs` from the `inputs`, a list of placeholders, as one compiled program.

    outputs is a tensor or a container of them; `updates` are pairs (tensor, new expression), written after every call;
    `options` are those of `st.Options`. Other tensors in the expressions are read anew at every call, so parameters
    stay live; random numbers are drawn anew. Other functions may call it, compiled ones, derivatives and those of
    placeholders, and do its updates. What layers write when they are called, such as running statistics, is written
    behind the results that need these calls, and `updates` of the same tensors behind that. Of any dtypes,
    which are those of the call. Raises GraphError for an input that is no placeholder.

    >>> x, count = st.placeholder(("n",)), st.tensor(0)
    >>> f = st.function([x], (x * 2).sum(), updates=[(count, count + 1)])
    >>> float(f(st.tensor([1.0, 2.0]))), float(f(st.ones(5))), int(count)
    (6.0, 10.0, 2)
    >>> x, norm = st.placeholder(("n", 2)), nn.BatchNorm1d(2)
    >>> st.function([x], norm(x))(st.tensor([[0.0, 0.0], [2.0, 4.0]])).shape, norm.num_batches_tracked.tolist()
    ((2, 2), 1)
    """
    chosen = options_of("function", options, "updates")
    for x in sequence(inputs, "inputs of function", "a list of placeholders"):
        if not is_symbolic(constant(x).value):
            raise GraphError("an input of a function is a placeholder, got a tensor with numbers",
                             hint="Make it with st.placeholder, or leave it out: tensors are read at every call.")
    traced = written(inputs, outputs, checked_updates(updates))
    donated = donations(traced, traced.graph)
    start = perf_counter()
    program = build(traced.graph, donate=donated, options=chosen)
    show("compiles", lambda: f"the first, at {', '.join(lines(here()))} ({perf_counter() - start:.2f} s)", "a function")
    return Function(Plan(traced, program, inputs, donated, {}), inputs, chosen)


def checked_updates(updates: Any) -> list[tuple[Tensor, Tensor]]:
    """Pairs of a tensor and what is written to it."""
    given: Any = tuple(updates.items()) if is_mapping(updates) else updates
    pairs: list[tuple[Tensor, Tensor]] = []
    for found in sequence(given, "updates", "pairs (tensor, new)"):
        match found:
            case [Tensor() as x, new]: pairs.append((x, constant(new, x.dtype)))
            case _: refuse("every update", "a pair (tensor, new)", found)
    return pairs


def written(inputs: Sequence[Tensor], outputs: Any, pairs: list[tuple[Tensor, Tensor]]) -> Traced:
    """What a call of a function reads, makes and rebinds."""
    leaves, spec = tree.flatten(outputs)
    made = [constant(y) for y in leaves]
    values, updates = settled([y.value for y in made], [(x, new.value) for x, new in pairs])
    results = renewed([*values, *(new for _, new in updates)])
    refuse_freed(results)
    drawn: set[Value] = {y.value for y in made if not y.leaf and any(map(is_draw, walk([y.value], stop=is_there)))}
    held = live(results, {x.value for x in inputs}, changed := {x.value for x, _ in updates}, drawn - changed)
    order = walk(results, stop=held.__contains__)
    anew = fed(order, held)     # what numbers were made of such values is made anew
    unnamed = [v for v in order if is_there(v) and v not in anew]
    draws = sorted(filter(is_draw, unnamed), key=number_of)
    held |= {v: Tensor(v) for v in unnamed if v not in draws}
    known = [*(x.value for x in inputs), *held]
    streams = list(dict.fromkeys(DRAWN[v] for v in draws))
    graph = closed([*known, *(v for stream in streams for v in draws if DRAWN[v] is stream)], results)
    for state, count in ((stream.state, sum(DRAWN[v] is stream for v in draws)) for stream in reversed(streams)):
        graph = drawing(graph, len(known), count)
        held = {**held, state.value: state}
        known, updates = [*known, state.value], [*updates, (state, state.value)]
    handles: list[Handle] = [*inputs, *held.values(), *(x for x, _ in updates if x.value not in held)]
    place = {id(h): k for k, h in enumerate(handles)}
    return Traced(graph=graph, handles=handles, inputs=[("handle", k) for k in range(len(graph.parameters))],
                  made=[Made(k, y.requires_grad, False) for k, y in enumerate(made)],
                  writes=[(place[id(x)], len(made) + k) for k, (x, _) in enumerate(updates)],
                  returned=(spec, [Part("made", k) for k in range(len(made))]))


def drawing(graph: Graph, place: int, draws: int) -> Graph:
    """The graph with the state of a generator instead of its last parameters, the keys of so many draws, at a `place`
    among the others; the state after them is its last result."""
    parameters, drawn = graph.parameters[:-draws], graph.parameters[-draws:]
    state = parameter("random numbers", graph.parameters[-1].type)
    behind = {v.args[j]: Item(k)(v) for v in graph.values for j, k in handed(v.op).items()}
    keys = [state]
    for k, key in enumerate(drawn):     # what holds a graph that draws says itself how far it came
        given, known = (*parameters, *drawn[:k + 1]), (*parameters, *keys)
        keys += substitute(Graph(given, (behind.get(key, after(key)),)), known)
    return Graph((*parameters[:place], state, *parameters[place:]),
                 (*substitute(graph, [*parameters, *keys[:-1]]), keys[-1]))


def renewed(results: Sequence[Value]) -> list[Value]:
    """Results of what tensors are now, where expressions took them as they were when they were written. What follows
    from parameters follows from what they are now; a tensor without gradients that expressions took at several times,
    such as a count, stays what it was each time.
    """
    symbolic = fed(order := walk(results), filter(is_symbolic, order))

    def is_taken(v: Value) -> bool:
        h = named(v)
        return v not in symbolic and h is not None and (h.leaf or h.value is not v or not h.requires_grad)
    taken = {v: h for v in walk(results, is_taken) if is_taken(v) and (h := named(v)) is not None}
    times = Counter(map(id, taken.values()))
    now: dict[Value, Value] = {v: h.value for v, h in taken.items() if h.value is not v
                               and h.value.type == v.type and (h.leaf or times[id(h)] == 1) and not is_traced(h.value)}
    return replaced(results, now, is_taken)


def is_draw(v: Value) -> bool:
    """Whether a value is the key of a draw outside of a compiled function."""
    return isinstance(v.op, Parameter) and v.op.label == DRAW


def live(results: Sequence[Value], inputs: set[Value], updated: set[Value], drawn: set[Value]) -> dict[Value, Handle]:
    """The values to read at every call, with their tensors: parameters, updated tensors, else the lowest named ones.
    Outputs that are `drawn` are none of these.
    """
    found: dict[Value, Handle] = {}
    symbolic, above = set(inputs), set[Value]()
    for v in walk(results, stop=updated.__contains__):
        if v in inputs:
            continue
        if is_symbolic(v):
            raise leaked([v]) or GraphError(
                f"the outputs need the placeholder {label_of(v)!r}, which is not among the inputs")
        if (is_open(v) or any(a in symbolic for a in v.args)) and v not in updated:
            symbolic.add(v)
            continue
        handle = None if v in drawn else owner(v)
        if handle is not None and (handle.leaf or v in updated or not any(a in above for a in v.args)):
            found[v] = handle
        if handle is not None or any(a in above for a in v.args):
            above.add(v)
    return found
