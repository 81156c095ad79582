"""Compiled functions as plain data: graphs as text, where their inputs come from, and the state that they read."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stele.arrays.generator import GENERATOR
from stele.arrays.streams import stream_of
from stele.arrays.tensor import Tensor, tensor
from stele.call.compiled import Compiled, Method
from stele.call.plan import Plan
from stele.call.symbolic import Function
from stele.errors import DataError, GraphError
from stele.ir.graph import Graph
from stele.ir.text import parse, show
from stele.ops import ALL
from stele.ops.called import Called
from stele.ops.derived import drawn
from stele.ops.elementwise.unary import StopGradient
from stele.ops.foreign import Foreign
from stele.pipeline import Options
from stele.tracing import tree
from stele.tracing.signature import leaf_names
from stele.tracing.state import Naming, Slot, State
from stele.tracing.trace import Part

FORMAT = 1
"""What the records of a file mean: another number where an older reader would take them for something else."""
RANDOM = "random numbers"
"""What the state of the generator that all draw from is called: how far its numbers are drawn."""
Program = Compiled[..., Any] | Method[..., Any] | Function
PLAIN = bool, int, float, str, type(None)
CALL = "Call it once with arguments of the kind that it is to take, each a tensor of its own, and save it then."
REBINDS = "Return it, or keep it in a tensor that is there before the call."


def stored(program: Program) -> dict[str, Any]:
    """All that a file keeps of a program: a record for each trace that a call could run now, newest first, and state.

    Raises DataError where there is none, or where one reads, makes or rebinds what a file cannot hold.
    """
    name, options = described(program)
    states, found = States(), dict[Any, dict[str, Any]]()
    for plan, arguments, carries in traced(program):
        states.known |= member_names(program, plan.traced.state)
        record = Recorder(name, plan, arguments, states, example(program, plan)).record()
        record["carries"] = carries or not any(isinstance(v.op, StopGradient) for v in plan.traced.graph.everything)
        found.setdefault((repr(record["arguments"]), record["graph"].partition("\n")[0]), record)
    if not found:
        raise DataError(f"{name} has no program that could be saved: it was not called since its state is what it is",
                        hint=CALL)
    return {"format": FORMAT, "name": name, "precision": options.precision, "without": sorted(options.without),
            "programs": [*found.values()], "state": states.tensors,
            "trained": [name for name, x in states.tensors.items() if x.requires_grad]}


def described(program: Program) -> tuple[str, Options]:
    """The name of a program, and how it is made."""
    if isinstance(program, Function):
        return "function", program.options
    variants = (program.compiled if isinstance(program, Method) else program).variants
    return variants.name, variants.options


def example(program: Program, plan: Plan) -> Mapping[str, int]:
    """Sizes at which a plan was called, for what types assume of open ones."""
    compiled = program.compiled if isinstance(program, Method) else program
    return {} if isinstance(compiled, Function) else compiled.variants.example(plan)


class Arguments:
    """What a program is called with: a container, of its leaves the numbers of those that are arrays, and names."""

    def __init__(self, spec: tree.Spec | None, leaves: Sequence[Any], names: Sequence[str]) -> None:
        self.spec, self.leaves = spec, leaves
        arrays = [k for k, x in enumerate(leaves) if x is ARRAY]
        self.number = {k: n for n, k in enumerate(arrays)}
        self.names = [names[k] for k in arrays]

    def text(self) -> Any:
        """The container as plain data."""
        counted = iter(range(len(self.number)))
        free = (x for x in self.leaves if x is not BOUND)
        return written(self.spec, free, lambda x: {"array": next(counted)} if x is ARRAY else plain(x))


ARRAY: Any = object()
BOUND: Any = object()       # what a method is of
STRANGE: Any = object()     # what no file holds


def traced(program: Program) -> Iterator[tuple[Plan, Arguments, bool]]:
    """The plans whose assumptions on Python's state hold now, newest first, and whether gradients were on; behind them
    those without.
    """
    if isinstance(program, Function):
        count = len(program.types)
        spec = tree.flatten(((None,) * count, {}))[1]
        yield program.plan, Arguments(spec, [ARRAY] * count, program.names), True
        return
    compiled, instance = (program.compiled, program.instance) if isinstance(program, Method) else (program, BOUND)
    newest = [*reversed(compiled.variants.all.items())]
    for (spec, carries, shared, *kinds), variants in sorted(newest, key=lambda found: not found[0][1]):
        names = leaf_names(compiled.function, spec)
        bound = bool(kinds) and kinds[0] == id(instance)
        leaves = [BOUND, *map(leaf, kinds[1:])] if bound else [*map(leaf, kinds)]
        if strange := [name for name, x in zip(names, leaves) if x is STRANGE]:
            raise DataError(f"{compiled.variants.name} takes {strange[0]}, which is no array, number or string",
                            hint="Let the function read it from outside: its tensors are saved as state.")
        if shared is None:
            arguments = Arguments(without_first(spec) if bound else spec, leaves, names)
            yield from ((v.plan, arguments, carries) for v in reversed(variants) if not [*v.plan.broken()])


def leaf(kind: Any) -> Any:
    """A leaf of arguments, by what plans are chosen by: `tracing.signature.family`."""
    if not isinstance(kind, tuple):
        return STRANGE
    if not isinstance(kind[0], type):
        return ARRAY
    return kind[0](kind[1]) if isinstance(kind[1], str) else kind[1]    # a text is that of `exact`


def without_first(spec: tree.Spec) -> tree.Spec:
    """The arguments of a method without what it is of."""
    positional, keyword = spec.parts
    assert positional is not None
    return spec._replace(parts=(positional._replace(keys=positional.keys[1:], parts=positional.parts[1:]), keyword))


def member_names(f: Any, state: State) -> dict[int, str]:
    """The names that modules have for their tensors and arrays, by identity: of a function or program `f`, what it was
    made of, then the outermost that it reaches.
    """
    of = f.instance if isinstance(f, Method) else f.function if isinstance(f, Compiled) else f
    held = sorted(((slot.path, x) for slot, x in state.objects), key=lambda at: len(at[0]))
    found: dict[int, str] = {}
    for path, module in [("", of), *held]:
        for name, x in module.named_members(path) if isinstance(module, Naming) else ():
            found.setdefault(id(x), name)
    within = {slot.path: found[id(x)] for slot, x in state.objects if id(x) in found}
    for slot in state.arrays.values():
        above = max((path for path in within if slot.path.startswith(f"{path}.")), key=len, default=None)
        if above is not None:
            found[id(slot.get())] = within[above] + slot.path.removeprefix(above)
    return found


class States:
    """The tensors that programs read and rebind, each under a name of its own: the one that is `known`, if any."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.known: dict[int, str] = {}

    def name(self, x: Tensor, wanted: str) -> str:
        """The name of a tensor, which is entered where it is new."""
        for name, other in self.tensors.items():
            if other is x:
                return name
        name, count = (wanted := self.known.get(id(x)) or re.sub(r"\['(\w+)'\]", r".\1", wanted)), 1
        while name in self.tensors:
            name, count = f"{wanted} {count}", count + 1
        self.tensors[name] = x
        return name


class Recorder:
    """One plan as plain data."""

    def __init__(self, name: str, plan: Plan, arguments: Arguments, states: States,
                 sizes: Mapping[str, int]) -> None:
        self.sizes, self.name, self.plan, self.traced, self.arguments, self.states = (
            sizes, name, plan, plan.traced, arguments, states)

    def record(self) -> dict[str, Any]:
        """Where inputs come from and results go: lists of a kind of place and which of those it is."""
        traced, arguments = self.traced, self.arguments
        self.refuse_sums()
        self.refuse_followers()
        if traced.refilled or traced.filled:
            raise DataError(f"{self.name} changes a list or dict among its arguments, which no saved program can",
                            hint="Let it return what is new.")
        constants = [["state", self.states.name(Tensor(v), "constant")] for v in traced.constants]
        left, writes = ([[self.handle(h), j] for h, j in pairs] for pairs in (traced.left, traced.writes))
        writes += [[self.cell(slot), self.result(slot.path, parts[0])] for slot, spec, parts in traced.slots
                   if not self.stays(slot, spec, parts)]
        grads = [[self.handle(h), None if part.what is None else self.result("a gradient", part)]
                 for h, part in traced.grads]
        graph = drawn(traced.graph)
        return {"graph": self.text(graph), "digest": graph.digest, "sizes": dict(self.sizes),
                "names": arguments.names, "arguments": arguments.text(),
                "inputs": [*map(self.input, traced.inputs), *constants],
                "returned": written(traced.returned[0], iter(traced.returned[1]), self.part),
                "left": left, "writes": writes, "grads": grads}

    def text(self, graph: Graph) -> str:
        """The graph as text that is known to be read back as it is, by any process."""
        if any(isinstance(v.op, Foreign) for v in graph.everything):
            raise DataError(f"{self.name} calls a function of C, whose address is this process's own",
                            hint="Save the state alone, st.save(model, path), and compile anew where f is.")
        for op in (v.op for v in graph.everything):
            if isinstance(op, Called) and not op.found.defined:
                found = "Leave it out of what is saved, or return what it is to see." if op.found.in_turn else (
                    "Functions of @st.op are found, each of a name of its own and of plain options, and under st.vmap "
                    "those that are vectorized=True.")
                name = op.name if op.found.in_turn else op.function
                raise DataError(f"{self.name} calls {name} in Python, which no other process finds by its name",
                                hint=found)
        try:
            text = show(graph)
            same = parse(text, ALL).digest == graph.digest
        except GraphError as error:
            raise DataError(f"{self.name} holds what no file can: {error}") from None
        if not same:
            raise DataError(f"{self.name} holds what no file can: its graph reads back as another")
        return text

    def refuse_sums(self) -> None:
        """Raises for gradients that are added to those of the call before."""
        left = {h for h, part in self.traced.grads if part.what is not None}
        if any(g is not None or h in left for h, g in self.traced.grads_read):
            raise DataError(f"{self.name} adds to gradients that the call before has left",
                            hint="Set them to None in the function: zero_grad() in front of backward().")

    def refuse_followers(self) -> None:
        """Raises for what shares memory with what is written to, as tensors of a file share none."""
        traced, apart = self.traced, {h for h, j in self.traced.left if j is None}
        kept = {*traced.read, *(p.what for p in traced.returned[1] if p.kind == "handle")}
        kept -= {h for h, _ in traced.writes}
        for h, j, *_ in self.plan.related:
            if j in kept and h not in apart:
                raise DataError(f"{self.name} writes to {self.handle(h)[1]}, with which {self.handle(j)[1]} shares its "
                                "memory, as tensors of a file share none", hint="Let it read the second as a part of "
                                "the first, p[:3] or p.data, or give it numbers of its own with .clone().")

    def input(self, given: tuple[str, int]) -> list[Any]:
        kind, k = given
        if kind == "handle":
            return self.handle(k)
        if kind == "argument":
            return ["argument", self.arguments.number[k]]
        array, path = self.traced.arrays[k].get(), self.traced.arrays[k].path
        return ["state", self.states.name(tensor(array), self.states.known.get(id(array), path))]

    def handle(self, h: int) -> list[Any]:
        """Where a handle comes from."""
        base, key = self.plan.getters[h]
        if base is None:
            return ["argument", self.arguments.number[key]]
        if (held := base[key]) is GENERATOR.state:
            return ["state", self.states.name(held, RANDOM)]
        paths = [slot.path for slot in self.traced.state.tensors.get(id(self.traced.handles[h]), ())]
        name = min(paths, key=lambda path: (path.endswith("]"), len(path), path),
                   default="generator" if stream_of(held) else "state")
        return ["state", self.states.name(held, name)]

    def cell(self, slot: Slot) -> list[Any]:
        """The state that a slot holds."""
        held = slot.held()
        if not isinstance(held, Tensor):
            raise DataError(f"{self.name} rebinds {slot.path}, which holds {held!r:.40}, no tensor", hint=REBINDS)
        return ["state", self.states.name(held, slot.path)]

    def stays(self, slot: Slot, spec: tree.Spec | None, parts: list[Part]) -> bool:
        """Whether a slot holds already what a call binds it to."""
        if spec is not None:
            raise DataError(f"{self.name} rebinds {slot.path} to a {spec.kind.__name__}", hint=REBINDS)
        held = slot.held()
        return parts[0].kind == "object" and type(held) is type(parts[0].what) and held == parts[0].what

    def result(self, path: str, part: Part) -> int:
        """The number of the result that a part is."""
        if part.kind != "made":
            raise DataError(f"{self.name} rebinds {path} to {part.what!r:.40}, which its program does not make",
                            hint=REBINDS)
        return self.traced.made[part.what].result

    def part(self, part: Part) -> dict[str, Any]:
        """One leaf of what a call returns."""
        if part.kind == "made":
            return {"result": self.traced.made[part.what].result}
        if part.kind == "object":
            return plain(part.what)
        kind, k = self.handle(part.what)
        return {kind: k}


def plain(x: Any) -> dict[str, Any]:
    """A Python value that a file can hold."""
    if not isinstance(x, PLAIN):
        raise DataError(f"a saved program takes and returns arrays, numbers, strings and None, got {x!r:.40}")
    return {"value": x}


def written(spec: tree.Spec | None, leaves: Iterator[Any], leaf: Callable[[Any], Any]) -> Any:
    """A container as plain data, its leaves as `leaf` says; `read` reads it back."""
    if spec is None:
        return leaf(next(leaves))
    plain = next((base for base in (list, dict) if issubclass(spec.kind, base)), spec.kind)
    kind = {tuple: "tuple", list: "list", dict: "dict"}.get(plain, "named")
    keys = [spec.kind.__name__, *getattr(spec.kind, "_fields", ())] if kind == "named" else [
        key for key in spec.keys if not isinstance(key, tree.Default)]
    if not all(isinstance(key, str | int) and not isinstance(key, tree.Attribute) for key in keys) \
            or (kind == "named") != hasattr(spec.kind, "_fields"):
        raise DataError(f"a file cannot hold a {spec.kind.__name__} of {keys!r:.60}",
                        hint="Use tuples, named ones too, lists, and dicts whose keys are strings.")
    return {kind: keys if kind in ("dict", "named") else None, "parts": [written(p, leaves, leaf) for p in spec.parts]}
