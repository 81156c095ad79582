"""A function becomes a graph: it runs once on symbols, and what it read and rebound is noted."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, MappingView, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from stele.arrays.opensize import numbered
from stele.arrays.tensor import Tensor
from stele.backend.devices import current
from stele.backend.locks import held
from stele.eager.follow import FOLLOWER, Follower
from stele.eager.handle import Handle, Tracing, leaked, tracing_into
from stele.eager.hooks import LEAVES
from stele.eager.live import Live, is_there, symbol
from stele.errors import GraphError, TraceError
from stele.ir.graph import Array, Graph, Parameter, Value, closed, label_of, walk
from stele.ir.origin import lines, setting
from stele.ir.types import DTYPES, SIZES, Guard, Sizes, Type, dtype
from stele.ops.called import Called
from stele.tracing import tree
from stele.tracing.arrays import original
from stele.tracing.moving import rebase
from stele.tracing.once import Alone
from stele.tracing.signature import Shapes, leaf_names, shape_of, type_of
from stele.tracing.state import SCALARS, Record, Slot, State, is_open
from stele.tracing.watched import Left, Watch

UNREAD: Any = object()
ONCE = Iterator, AsyncIterator, Coroutine, MappingView


@dataclass
class Seen:
    """A handle from outside as the trace sees it: its value at entry, if read, and its value and gradient now."""

    handle: Handle
    entry: Live | None = None
    value: Live | None = None
    is_written: bool = False    # itself, and not what it shares memory with
    grad: Any = UNREAD
    grad_read: bool = False


class Trace(Tracing):
    """The overlay over handles that existed before: reads become inputs, rebinds become outputs."""

    def __init__(self, labels: dict[int, str], types: dict[int, Type], arrays: dict[int, Slot]) -> None:
        self.labels, self.types, self.slots = labels, types, arrays
        self.seen: dict[int, Seen] = {}
        self.arrays: dict[int, tuple[Slot, Live]] = {}
        self.left: dict[int, tuple[Seen, Handle]] = {}      # with what stands for what they were
        self.ties: list[tuple[Handle, Any, Any]] = []       # of these and their parts, as they were
        self.placed = False     # whether an array was made where `st.device` says
        self.asks_hooks = False     # whether a gradient of a leaf was taken, which its hooks may change

    def of(self, handle: Handle) -> Seen:
        """What is noted of a handle from outside."""
        if handle.home is not None:
            raise TraceError("a tensor made while another function was traced is used here, but it has no numbers",
                             hint="Return it from that function, or keep it in an attribute of an object made before.")
        if id(handle) not in self.seen:
            self.seen[id(handle)] = Seen(handle)
        return self.seen[id(handle)]

    def read(self, handle: Handle) -> Live:
        seen = self.of(handle)
        if seen.value is None:
            type = self.types.get(id(handle), handle._value.type)
            seen.entry = seen.value = symbol(self.labels.get(id(handle), "state"), type)
            seen.value.owner = ref(handle)
        return seen.value

    def peek(self, handle: Handle) -> Live | None:
        seen = self.seen.get(id(handle))
        return None if seen is None else seen.value

    def write(self, handle: Handle, value: Live) -> None:
        seen = self.of(handle)
        seen.value, seen.is_written = value, True

    def finds(self, handle: Handle) -> bool:
        return handle.home is None and id(handle) in self.labels

    def follow(self, handle: Handle, value: Live) -> None:
        if value.type != (type := self.read(handle).type):
            raise TraceError(f"{type} shares memory with what is written to here, and such sizes do not stay open")
        self.of(handle).value = value

    def leaves(self, handle: Handle, old: Handle, others: Sequence[Handle]) -> None:
        self.left.setdefault(id(handle), (self.of(handle), old))
        self.ties += [(x, x.parts, x.tie) for x in (handle, *others)]

    def array(self, array: Array) -> Live | None:
        slot = self.slots.get(id(array))
        if slot is None or array.dtype.name not in DTYPES:
            return None
        if id(array) not in self.arrays:
            self.arrays[id(array)] = slot, symbol(slot.path, Type(dtype(array.dtype), array.shape))
        return self.arrays[id(array)][1]

    def place(self) -> str | None:
        self.placed = True
        return current()

    def hooked(self) -> None:
        self.asks_hooks = True

    def read_grad(self, handle: Handle) -> Any:
        seen = self.of(handle)
        if seen.grad is UNREAD:
            seen.grad, seen.grad_read = handle._grad, True
        return seen.grad

    def write_grad(self, handle: Handle, grad: Any) -> None:
        self.of(handle).grad = grad


class Places:
    """What `st.device` says, as a container whose entry a call compares."""

    def __getitem__(self, key: str) -> str | None:
        return current()


class Made(NamedTuple):
    """A tensor the program makes: which result, and its gradient settings."""

    result: int
    requires_grad: bool
    leaf: bool


class Part(NamedTuple):
    """One leaf of what a call returns or stores: a made tensor, a handle from outside, an array among the arguments, or
    an object as it is."""

    kind: str
    what: Any


@dataclass(kw_only=True)
class Traced:
    """What a call reads, makes and rebinds: a graph, whose parameters are `inputs` and then `constants`, and how
    handles, slots and what is returned come by its results, and so do containers among the arguments that are
    `refilled` and arrays there that are `filled`. Handles that have `left` share memory with no others, once a result
    is written to them, if any. Behind `entries` stand in order the inputs, and the handles that are returned
    unread. Which leaves of the arguments are numbers or texts in entries of dicts that were left `unread`,
    and classes of objects there that stay `whole`, as callbacks hold them."""

    graph: Graph
    handles: list[Handle]
    inputs: list[tuple[str, int]]
    made: list[Made]
    writes: list[tuple[int, int]]
    returned: tuple[tree.Spec | None, list[Part]]
    constants: list[Live] = field(default_factory=list[Live])
    grads: list[tuple[int, Part]] = field(default_factory=list[tuple[int, Part]])
    grads_read: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    slots: list[tuple[Slot, tree.Spec | None, list[Part]]] = field(
        default_factory=list[tuple[Slot, "tree.Spec | None", list[Part]]])
    refilled: list[tuple[tree.Held, tree.Spec | None, list[Part]]] = field(
        default_factory=list[tuple[tree.Held, "tree.Spec | None", list[Part]]])
    filled: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    left: Sequence[tuple[int, int | None]] = ()
    entries: Mapping[Live, tuple[str, int]] = field(default_factory=dict[Live, tuple[str, int]])
    state: State = field(default_factory=lambda: State({}))
    arrays: list[Slot] = field(default_factory=list[Slot])
    unread: frozenset[int] = frozenset()
    whole: frozenset[type] = frozenset()
    pure: bool = field(init=False)

    def __post_init__(self) -> None:
        self.pure = not (self.writes or self.grads or self.slots or self.filled)

    @property
    def changes(self) -> bool:
        """Whether a call changes anything, beside what it returns."""
        return not self.pure or bool(self.refilled)

    @property
    def carries(self) -> bool:
        """Whether what a call makes is differentiated behind it: a call that leaves gradients behind or changes what
        asks for some has been, and what it read may be no more."""
        return any(m.requires_grad for m in self.made) and not (
            self.grads or any(self.handles[h].requires_grad for h, _ in self.writes))

    @property
    def read(self) -> dict[int, int]:
        """The handles that are inputs: by the number of each the number of its parameter."""
        return {h: k for k, (kind, h) in enumerate(self.inputs) if kind == "handle"}

    def result(self, part: Part) -> Value | None:
        """The value that a made leaf holds; None for any other leaf."""
        which: int | None = part.what if part.kind == "made" else None
        return None if which is None else self.graph.results[self.made[which].result]


def trace(f: Callable[..., Any], spec: tree.Spec | None, leaves: Sequence[Any], shapes: Shapes,
          names: Sequence[str], sizes: Sizes) -> Traced:
    """Runs f on symbols for its tensors and arrays, of these shapes; the state it changed is put back in any case."""
    roots = {name: x for name, x in zip(names, leaves) if not isinstance(x, Handle | np.ndarray)}
    watch = Watch(spec, leaves)
    roots |= {base.__name__: base for kind in watch.kinds for base in kind.__mro__ if base.__module__ != "builtins"}
    state = State({"": f, **roots})
    types = {k: type_of(x).with_shape(shape) for k, (x, shape) in enumerate(zip(leaves, shapes)) if shape is not None}
    labels = {handle: slots[0].path for handle, slots in state.tensors.items() if slots}
    labels.update((id(x), name) for name, x in zip(names, leaves) if isinstance(x, Handle))
    scope = Trace(labels, {id(x): types[k] for k, x in enumerate(leaves) if isinstance(x, Handle)}, state.arrays)
    try:
        with setting(SIZES, sizes), tracing_into(scope):
            symbols = {k: symbol(names[k], types[k]) for k, x in enumerate(leaves) if isinstance(x, np.ndarray)}
            arrays = {k: Tensor(v) for k, v in symbols.items()}
            args, kwargs = watch.given([arrays.get(k, x) for k, x in enumerate(leaves)])
            given = [(x, watch.entries(x)) for x in watch.made]
            with Alone(state, leaves).left() as standing:
                scope.slots = state.arrays | standing
                y = f(*args, **kwargs)
            if scope.placed:
                state.numbers.append((Slot(Places(), "device", "st.device"), current()))
            if scope.asks_hooks:
                state.numbers.append((Slot(vars(LEAVES), "changes", "how often hooks of tensors changed"),
                                      LEAVES.changes))
            refilled = [x for x, old in given if not tree.same(watch.entries(x), old)]
            made = Collector(scope, state, symbols, arrays, leaves, watch).collect(y, sizes.guards, refilled)
            made.unread, made.whole = watch.unread(), called_with(made.graph, watch, leaves)
    finally:
        with setting(SIZES, sizes):     # keys that are sizes are found by their numbers
            for record in state.records:
                restore(record)
        for x, parts, tie in reversed(scope.ties):
            x.parts, x.tie = parts, tie
    # once more where f has imported what is to be watched
    return made if state.absent.isdisjoint(sys.modules) else trace(f, spec, leaves, shapes, names, sizes)


def called_with(graph: Graph, watch: Watch, leaves: Sequence[Any]) -> frozenset[type]:
    """The classes of the objects among the arguments that callbacks hold. Raises TraceError where one holds a container
    among them, which is of this trace alone.
    """
    kinds = set[type]()
    for v in (v for v in graph.everything if isinstance(v.op, Called) and v.op.found.in_turn):
        held = State({"": v.op.found.in_turn}).seen     # type: ignore[attr-defined]
        if copies := [x for k, x in held.items() if k in watch.held and len(watch.held[k].path) > 1]:
            raise TraceError(f"what st.debug.callback calls holds a {type(copies[0]).__name__} among the arguments of "
                             "a compiled function, and later calls have others", where=", ".join(lines(v.where)),
                             hint="Pass it to the callback behind its function, to look at it; fill one that both find "
                                  "outside, in a variable or an attribute.")
        kinds |= {type(x) for x in leaves if id(x) in held}
    return frozenset(kinds)


def answered(traced: Traced) -> tuple[Traced, list[str]]:
    """The same with the graph of the arrays that a call returns, of which those that are passed on are inputs too, and
    a name for each.

    Raises GraphError where it returns what no graph makes, or nothing.
    """
    inputs = {entry: v for v, entry in traced.entries.items()} | dict(zip(traced.inputs, traced.graph.parameters))
    parameters = *inputs.values(), *traced.graph.parameters[len(traced.inputs):]
    spec, parts = traced.returned
    results = dict[str, Value]()
    for name, part in zip(tree.paths(spec, "y"), parts, strict=True):
        if part.kind == "object" and part.what is None:
            continue
        if (v := inputs.get(("handle", part.what)) if part.kind == "handle" else traced.result(part)) is None:
            raise GraphError("a function to export returns arrays that it makes, alone or in containers",
                             hint="Return st.tensor(number) in place of a number, x.clone() in place of an argument.")
        results[name.strip(".")] = v
    if not results:
        raise GraphError("a function to export returns an array, and this one returns nothing")
    graph = replace(traced.graph, parameters=parameters, results=tuple(results.values()))
    return replace(traced, graph=graph, inputs=[*inputs]), [*results]


def traced_on(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], follower: Follower) -> Traced:
    """The function on arguments of the sizes that they have, for one who follows: nothing runs, state is put back."""
    leaves, spec = tree.flatten((args, kwargs), tree.given, shared=True)
    with held(), setting(FOLLOWER, follower):
        return trace(f, spec, leaves, tuple(map(shape_of, leaves)), leaf_names(f, spec), Sizes({}, []))


def restore(record: Record) -> None:
    """Puts a container back to what it held before tracing."""
    now = record.now()
    if now.keys() == record.before.keys() and all(now[key] is x for key, x in record.before.items()):
        return
    if isinstance(record.base, list):
        record.base[:] = record.before.values()
        return
    for key, x in record.before.items():
        if now.get(key, UNREAD) is not x:
            record.base[key] = x
    for key in now.keys() - record.before.keys():
        if not isinstance(now[key], ModuleType):    # what an import has bound stays bound
            del record.base[key]


class Collector:
    """Sorts out what a trace has read, rebound and returned."""

    def __init__(self, scope: Trace, state: State, symbols: dict[int, Live], arrays: dict[int, Tensor],
                 leaves: Sequence[Any], watch: Watch) -> None:
        self.scope, self.state, self.leaves, self.watch = scope, state, leaves, watch
        self.symbols, self.arrays = symbols, arrays     # what arrays among the leaves were, and what holds it
        self.handles: list[Handle] = []
        self.places: dict[int, int] = {}
        self.results: list[Value] = []
        self.made: dict[int, int] = {}
        self.makes: list[Made] = []

    def collect(self, y: Any, guards: list[Guard], refilled: list[Any]) -> Traced:
        """The graph and the plan of effects; `refilled` are containers among the arguments that hold something else."""
        spec, parts = self.template(y, "the result")
        contents = [(self.watch.held[id(x)], *self.contents(x)) for x in refilled]
        slots = [self.change(record, key) for record in self.state.records for key in changed(record)]
        passed = {self.scope.read(x) for p in parts if p.kind == "handle" and (x := self.handles[p.what]).home is None}
        stays = (p.what for ps in (parts, *(ps for *_, ps in (*contents, *slots))) for p in ps if p.kind == "object")
        rebase(self.state, [slot for slot, _, _ in slots], {id(x) for x in stays})
        seen = list(self.scope.seen.values())
        moved = [(self.place(s.handle), s) for s in seen if s.value is not s.entry]     # followers too, for guards
        writes = [(h, self.result(s.value)) for h, s in moved if s.is_written and s.value is not None]
        left = [(self.place(s.handle), None if old._value is s.entry else self.result(old._value))
                for s, old in self.scope.left.values()]
        grads = [(self.place(s.handle), self.part(s.grad, "a gradient")) for s in seen
                 if s.grad is not UNREAD and s.grad is not s.handle._grad]
        grads_read = [(self.place(s.handle), None if s.handle._grad is None else self.place(s.handle._grad))
                      for s in seen if s.grad_read]
        filled = [(k, self.result(t._value)) for k, t in self.arrays.items() if t._value is not self.symbols[k]]
        needed = dict.fromkeys(v for v in walk(self.results) if isinstance(v.op, Parameter))
        entries = {v: ("argument", k) for k, v in self.symbols.items() if v in needed}
        entries |= {s.entry: ("handle", self.place(s.handle)) for s in seen if s.entry in needed or s.entry in passed}
        entries = dict(sorted(entries.items(), key=lambda entry: self.order(*entry[1])))
        entries |= {v: ("array", k) for k, (_, v) in enumerate(self.scope.arrays.values()) if v in needed}
        constants = [v for v in needed if is_there(v) and v not in entries]
        unknown = needed.keys() - entries.keys() - set(constants)
        for v in unknown:
            raise leaked(unknown) or TraceError(
                f"a symbolic tensor ({label_of(v)!r}) from outside of this function is used inside it",
                hint="Pass it as an argument.")
        inputs = {v: entry for v, entry in entries.items() if v in needed}
        graph = replace(closed([*inputs, *constants], self.results), guards=tuple(guards))
        return Traced(graph=graph, handles=self.handles, inputs=list(inputs.values()), made=self.makes, writes=writes,
                      returned=(spec, parts), refilled=contents, constants=constants, grads=grads,
                      grads_read=grads_read, slots=slots, filled=filled, left=left, state=self.state,
                      entries=entries, arrays=[slot for slot, _ in self.scope.arrays.values()])

    def order(self, kind: str, k: int) -> int:
        """Where an input stands: arguments as they were given, state behind them."""
        argument = {id(x): n for n, x in enumerate(self.leaves)}
        return k if kind == "argument" else argument.get(id(self.handles[k]), len(self.leaves))

    def place(self, handle: Handle) -> int:
        """The number of a handle from outside among those the program deals with."""
        if id(handle) not in self.places:
            self.places[id(handle)] = len(self.handles)
            self.handles.append(handle)
        return self.places[id(handle)]

    def result(self, v: Value) -> int:
        """The number of a value among the graph's results."""
        self.results.append(v)
        return len(self.results) - 1

    def template(self, x: Any, path: str) -> tuple[tree.Spec | None, list[Part]]:
        """How to make a container of tensors anew at every call."""
        if isinstance(x, list | dict) and id(x) in self.state.seen:
            return None, [Part("object", x)]
        leaves, spec = tree.flatten(x, self.is_record)
        return tree.keyed(numbered, spec), [self.part(leaf, path) for leaf in leaves]

    def is_record(self, x: Any) -> bool:
        """Whether an object is made anew at every call: one that the function has made, and that is what it holds."""
        if id(x) in self.state.seen:
            return False
        return tree.is_record(x) or self.watch.is_record(x) or (is_open(type(x)) and self.holds_tensors(x))

    def contents(self, x: Any) -> tuple[tree.Spec | None, list[Part]]:
        """What a container among the arguments holds from now on; arrays and containers that are given as they are."""
        number = {id(symbol): k for k, symbol in self.arrays.items()}
        leaves, spec = tree.flatten(self.watch.kept(x), self.watch.is_record)
        return tree.keyed(numbered, spec), [Part("argument", leaf.number) if isinstance(leaf, Left) else
                      Part("argument", number[id(leaf)]) if id(leaf) in number else
                      self.part(leaf, "an argument") for leaf in leaves]

    def part(self, x: Any, path: str) -> Part:
        """How to make one leaf at every call."""
        if isinstance(x, Handle):
            if x.home is not self.scope:
                return Part("handle", self.place(x))
            if id(x) not in self.made:
                self.made[id(x)] = len(self.makes)
                self.makes.append(Made(self.result(x._value), x.requires_grad, x.leaf))
            return Part("made", self.made[id(x)])
        x = original(numbered(x))
        if not isinstance(x, SCALARS) and id(x) not in self.state.seen:
            if isinstance(x, ONCE) and all(x is not leaf for leaf in self.leaves):
                raise TraceError(f"{path} is a {type(x).__name__} of a compiled function, which runs its Python only "
                                 "once", hint="Make a list of it: list(...); of a coroutine a function, for "
                                               "await asyncio.to_thread(f, x).")
            if self.holds_tensors(x):
                raise TraceError(f"{path} keeps a {type(x).__name__} that was made while tracing, with tensors inside",
                                 hint="Return a list, a dict or a dataclass, or make it before the call, so that each "
                                      "call finds it and rebinds its tensors.")
        return Part("object", x)

    def holds_tensors(self, x: Any) -> bool:
        """Whether an object made in this trace holds tensors, which are others in the next call."""
        return any(State({"": x}, everything=True).tensors.values())

    def change(self, record: Record, key: Any) -> tuple[Slot, tree.Spec | None, list[Part]]:
        """A slot that the function rebound, and what it holds from now on."""
        now = record.now()
        path = f"{record.path}[{key!r}]" if isinstance(record.base, list | dict) and record.names is None else str(key)
        if isinstance(record.base, list) and len(now) != len(record.before):
            raise TraceError(f"the list {record.path} grew from {len(record.before)} to {len(now)} entries inside of a "
                             "compiled function, which runs its Python only once",
                             hint="Return the new entry and append it outside.")
        if key not in now:
            raise TraceError(f"{path} was deleted inside of a compiled function, which runs its Python only once",
                             hint="Set it to None instead.")
        return (Slot(record.base, numbered(key), path), *self.template(now[key], path))


def changed(record: Record) -> list[Any]:
    """The keys of a container whose entries are not what they were."""
    now = record.now()
    return [key for key in {**record.before, **now} if now.get(key, UNREAD) is not record.before.get(key, UNREAD)
            and (key in record.before or not isinstance(now[key], ModuleType))]
