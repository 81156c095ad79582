"""One call of a plan as straight-line Python, written for what its arguments are: guards, the program, results."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from operator import attrgetter, itemgetter
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from stele.arrays.tensor import Tensor
from stele.arrays.views import leave, related
from stele.backend.buffers import Buffer
from stele.backend.locks import RUNNING
from stele.backend.source import written
from stele.call.plan import Past, Plan, Rows, concrete, is_alone
from stele.eager.evaluate import devices, evaluate
from stele.eager.follow import FOLLOWER
from stele.eager.handle import GRAD
from stele.eager.live import Live, result
from stele.errors import ArgumentError
from stele.ir.graph import Parameter
from stele.ir.types import HOME
from stele.tracing import tree
from stele.tracing.state import SCALARS, Attributes, exact
from stele.tracing.trace import Part

MISS: Any = object()
CALLS = 1024    # calls that are kept of one function, for exact shapes and numbers of arguments
Call = Callable[[Sequence[Any]], Any]


def straight(plan: Plan, sizes: Mapping[str, int], leaves: Sequence[Any] | None, count_: int) -> Call:
    """A function of the arguments' leaves that does one call at these sizes, or returns MISS where a guard fails.

    It is written for leaves like `leaves`; without them, for `count_` tensors whose types its caller has checked.
    STELE_SHOW=call prints it.
    """
    text = Writer(plan, sizes)
    return written("call", [
        "def call(leaves):",
        "    try:",
        *(f"        {line}" for line in text.guards(leaves, count_)),
        "    except (LookupError, AttributeError, ValueError, TypeError):",
        "        return MISS",
        "    while True:",
        f"        with {text.locks()}:",
        f"            if {text.there()}:",
        *(f"                {line}" for line in text.run()),
        f"        evaluate([{text.all(text.read, '._value')}])"], text.known)


def refuse_unfillable(x: np.ndarray[Any, Any], others: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raises ArgumentError where an array that is written to may not be, or where others of the arguments may have
    elements of it.
    """
    if not x.flags.writeable:
        raise ArgumentError("an array that the compiled function writes to is read-only", hint="Pass a copy of it.")
    if any(np.may_share_memory(x, other) for other in others):
        raise ArgumentError("an array that the compiled function writes to shares memory with another argument",
                            hint="Pass tensors, st.tensor(array), which share what is written, or a copy.")


class Refilled(NamedTuple):
    """What a call returns where it changes containers among its arguments, and what each holds from now on: the spec
    and the leaves of a container like it."""

    result: Any
    contents: tuple[tuple[tree.Held, tree.Spec, tuple[Any, ...]], ...]

    def into(self, given: Any) -> Any:
        """The result, once the containers of these arguments hold what is in store for them."""
        found = [(held.of(given), tree.unflatten(spec, [x.of(given) if type(x) is tree.Held else x for x in leaves]))
                 for held, spec, leaves in self.contents]
        for place, content in found:    # all of which were found before any of them changes
            tree.refill(place, content)
        return self.result


Entry = tuple[Any, Any, Any]     # a container, a key of it, and what is there


def is_plain(entry: Entry) -> bool:
    """Whether functions and properties are looked for in a class, or no more than None in an object: what is equal to
    these is the same."""
    base, _, x = entry
    return isinstance(x, FunctionType | property) if type(base) is MappingProxyType else \
        x is None and type(base) is Attributes


def together(table: Iterable[Entry]) -> list[Entry]:
    """Plain entries, by what looks them up with one call for each container, the container, and what it finds there."""
    groups: dict[int, tuple[Any, Any, dict[Any, Any]]] = {}
    for base, key, x in filter(is_plain, table):
        place, getter = (base.of, attrgetter) if type(base) is Attributes else (base, itemgetter)
        groups.setdefault(id(place), (place, getter, {}))[2][key] = x
    return [(getter(*held), place, tuple(held.values()) if len(held) > 1 else next(iter(held.values())))
            for place, getter, held in groups.values()]


class Writer:
    """Writes the parts of a call; `known` holds the objects that its text names."""

    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.plan, self.traced, self.sizes = plan, plan.traced, sizes
        self.number = count()
        self.known: dict[str, Any] = {
            "MISS": MISS, "Tensor": Tensor, "Buffer": Buffer, "ndarray": np.ndarray, "plan": plan,
            "sizes": sizes, "grad_mode": GRAD.get, "following": FOLLOWER.get, "evaluate": evaluate,
            "is_alone": is_alone, "result": result, "unflatten": tree.unflatten, "new": object.__new__,
            "Live": Live, "ref": ref, "Refilled": Refilled, "related": related, "leave": leave, "copyto": np.copyto,
            "refuse_unfillable": refuse_unfillable, "own": plan.program.run, "exact": exact}
        self.read = [h for kind, h in plan.inputs if kind == "handle"]
        self.state = [k for k, (base, _) in enumerate(plan.getters) if base is not None]
        self.handles = [f"x{key}" if base is None else f"h{k}" for k, (base, key) in enumerate(plan.getters)]

    def name(self, x: Any) -> str:
        """A name for an object of the plan."""
        name = f"c{next(self.number)}"
        self.known[name] = x
        return name

    # What has to hold

    def guards(self, leaves: Sequence[Any] | None, count_: int) -> list[str]:
        plan, read = self.plan, self.traced.grads_read
        lines = [f"{''.join(f'x{k}, ' for k in range(count_))}= leaves" if count_ else "() = leaves"]
        if leaves is not None:
            told = (k for k in range(count_) if k not in self.traced.unread)
            tests = [f"grad_mode() is {GRAD.get()}", *(self.like(k, leaves) for k in told)]
            lines.append(f"if not ({' and '.join(tests)}): return MISS")
        lines += self.entries()
        if plan.tuples:
            lines += [f"for base, key, kind, n in {self.name(plan.tuples)}:",
                      "    if type(now := base[key]) is not kind or len(now) != n: return MISS"]
        if plan.lengths:
            lines += [f"for base, n in {self.name(plan.lengths)}:", "    if len(base) != n: return MISS"]
        for f, code, given in self.traced.state.codes:
            name = self.name(f)
            lines.append(f"if {name}.__code__ is not {self.name(code)} or {name}.__defaults__ is not "
                         f"{self.name(given)}: return MISS")
        if plan.spaces:
            bases, lengths, _ = map(list, zip(*plan.spaces))
            lines += [f"if [*map(len, {self.name(bases)})] != {self.name(lengths)}:",
                      f"    for base, n, absent in {self.name(plan.spaces)}:",
                      "        if len(base) != n and not base.keys().isdisjoint(absent): return MISS"]
        if self.state:
            places = self.name([plan.getters[k] for k in self.state])
            lines.append(f"{self.all(self.state)} = [base[key] for base, key in {places}]")
        lines += [f"if ({self.handles[h]}._grad is None) is not {g is None}: return MISS" for h, g in read]
        lines += [f"{self.handles[g]} = {self.handles[h]}._grad" for h, g in read if g is not None]
        if plan.types:
            hs, types, flags = zip(*plan.types)
            lines += [f"for x, t, flag in zip(({self.all(hs)}), {self.name(types)}, {self.name(flags)}):",
                      "    if type(x) is not Tensor or x._requires_grad is not flag: return MISS",
                      "    if (now := x._value.type) is not t and now != t: return MISS"]
        if plan.aliases:
            bases, keys, hs = zip(*plan.aliases)
            lines += [f"for base, key, x in zip({self.name(bases)}, {self.name(keys)}, ({self.all(hs)})):",
                      "    if base[key] is not x: return MISS"]
        return lines + self.apart()

    def entries(self) -> list[str]:
        """What stands in containers, one by one, and where it is code or nothing by one call for each of them."""
        plan, lines = self.plan, list[str]()
        if found := together((*plan.same, *plan.equal)):
            tests = " and ".join("{}({}) == {}".format(*map(self.name, entry)) for entry in found)
            lines.append(f"if not ({tests}): return MISS")
        other = "type(now) is not type(x) or exact(now) != exact(x)"
        for table, test in ((plan.same, "base[key] is not x"),
                            (plan.kinds, "type(base[key]) is not x"),
                            (plan.equal, f"(now := base[key]) is not x and ({other})")):
            if rest := [entry for entry in table if not is_plain(entry)]:
                lines += [f"for base, key, x in {self.name(rest)}:", f"    if {test}: return MISS"]
        return lines

    def apart(self) -> list[str]:
        """Handles are one for each number, and share memory with what is written to as they did."""
        plan, lines = self.plan, list[str]()
        if (n := len(self.handles)) == 2:
            lines.append(f"if {' is '.join(self.handles)}: return MISS")
        elif n > 2:
            lines.append(f"if len({{*map(id, ({self.all(range(n))}))}}) != {n}: return MISS")
        if plan.written and n > 1:
            test = f"related(({self.all(range(n))}), {self.name(plan.written)}) != {self.name(plan.related)}"
            if not plan.related:    # nor are they where nobody is a part of anybody, which is asked without a call
                test = f"not ({' is '.join(f'{h}.tie' for h in self.handles)} is None) and {test}"
            lines.append(f"if {test}: return MISS")
        return lines

    def like(self, k: int, leaves: Sequence[Any]) -> str:
        """Whether a leaf is what one of `leaves` is, as far as the choice of a plan depends on it."""
        x = leaves[k]
        if type(x) is Tensor:
            first = next(j for j, y in enumerate(leaves) if y is x)
            if first < k:
                return f"x{k} is x{first}"
            t = self.name(x._value.type)
            return (f"type(x{k}) is Tensor and x{k}._requires_grad is {x._requires_grad} "
                    f"and ((now := x{k}._value.type) is {t} or now == {t})")
        if isinstance(x, np.ndarray):
            shape, kind = self.name(x.shape), self.name(x.dtype)
            return f"isinstance(x{k}, ndarray) and x{k}.shape == {shape} and x{k}.dtype == {kind}"
        c = self.name(x)
        return f"(x{k} is {c} or type(x{k}) is type({c}) and exact(x{k}) == {self.name(exact(x))})" if isinstance(
            x, SCALARS) else f"x{k} is {c}"

    def all(self, hs: Sequence[int], part: str = "") -> str:
        """Handles, or a part of each, with a comma behind it."""
        return "".join(f"{self.handles[h]}{part}, " for h in hs)

    # What is done

    def there(self) -> str:
        """Whether inputs have their numbers; those that have none get them under no lock, as that may take others."""
        return " and ".join(f"{self.handles[h]}._value.data is not None" for h in self.read) or "True"

    def locks(self) -> str:
        """The locks of the devices that the program runs on, in their order."""
        graph = self.plan.graph
        places = RUNNING if len(RUNNING) == 1 else devices([*graph.parameters, *graph.results]) or {HOME}
        return ", ".join(self.name(lock) for name, lock in RUNNING.items() if name in places)

    def run(self) -> list[str]:
        """Inputs, the program, results; what is rebound is rebound even where an exception comes in between."""
        plan = self.plan
        handles = ", ".join(self.handles)
        lines = ["if (follower := following()) is None:", "    run = own", "else:",
                 f"    follower.called(plan, [{handles}], sizes)",
                 "    run = follower.running(plan.program, plan.graph).run"]
        if plan.donated:
            pairs = "".join(f"({k}, {self.handles[h]}), " for k, h in plan.donated)
            lines.append(f"keep = frozenset([k for k, x in ({pairs}) if not is_alone(x)])")
        inputs = [*(self.input(kind, k) for kind, k in plan.inputs), *map(self.name, plan.constants)]
        arrays = [k for kind, k in plan.inputs if kind == "argument"]
        lines += [f"refuse_unfillable(x{k}, [{', '.join(f'x{j}' for j in arrays if j != k)}])"
                  for k, _ in self.traced.filled]
        lines.append(f"buffers = [{', '.join(inputs)}]")
        if self.traced.pure:
            return [*lines, "made = run(buffers, sizes)", *self.results()]
        return [*lines, "def commit(made):", *(f"    {line}" for line in self.results()),
                f"return run(buffers, sizes, {'keep' if plan.donated else 'frozenset()'}, commit)"]

    def input(self, kind: str, k: int) -> str:
        """The buffer of an input."""
        if kind == "handle":
            return f"{self.handles[k]}._value.data"
        return f"Buffer.of(x{k})" if kind == "argument" else f"Buffer.of({self.name(self.plan.arrays[k])}.get())"

    def results(self) -> list[str]:
        """Tensors for the results, then handles, gradients and slots that are rebound, then what is returned."""
        traced, lines = self.traced, []
        if self.plan.differentiable:
            stays = {k: h for k, (kind, h) in enumerate(traced.inputs)
                     if kind == "handle" and h not in self.plan.written}
            taken = "".join(f"{self.handles[stays[k]]}._value, " if k in stays else f"buffers[{k}], "
                            for k in range(len(traced.graph.parameters)))
            lines.append(f"values = {self.name(Past(self.plan, self.sizes).of)}(({taken}), made)")
        for k, m in enumerate(traced.made):
            rows = self.plan.rows.get(k)
            lines += self.table(f"t{k}", rows) if rows is not None else \
                self.tensor(f"t{k}", m.result, m.requires_grad and (self.plan.differentiable or m.leaf), m.leaf)
        for h, j in traced.left:
            lines += [*(self.rebind(h, j) if j is not None else ()), f"leave({self.handles[h]})"]
        for h, j in traced.writes:
            lines += self.rebind(h, j)
        lines += [f"copyto(x{k}, made[{j}].array)" for k, j in traced.filled]
        lines += [f"{self.handles[h]}._grad = {self.part(part)}" for h, part in traced.grads]
        lines += [f"{self.name(slot.base)}[{self.name(slot.key)}] = {self.tree(spec, parts)}"
                  for slot, spec, parts in traced.slots]
        returned = self.tree(*traced.returned)
        if traced.refilled:
            contents = [f"({self.name(held)}, {self.name(spec)}, ({''.join(f'{self.part(p)}, ' for p in parts)})), "
                        for held, spec, parts in traced.refilled]
            returned = f"Refilled({returned}, ({''.join(contents)}))"
        return [*lines, f"return {returned}"]

    def rebind(self, h: int, j: int) -> list[str]:
        """A handle stands for a result from now on."""
        x = self.handles[h]
        return [f"if made[{j}] is not {x}._value.data or {x}._value.args or {x}.parts or {x}.tie:",
                f"    {x}.value = result({', '.join(self.parameter(j))}, made[{j}])"]

    def tensor(self, t: str, j: int, requires_grad: bool, leaf: bool) -> list[str]:
        """A tensor for a result: `Tensor(result(...), ...)` outside of any trace, written out, in half the time."""
        if self.plan.differentiable:
            return [f"{t} = Tensor(values[{j}], {requires_grad}, {leaf})"]
        op, where = self.parameter(j)
        return [
            f"v = new(Live); v.op = {op}; v.args = (); v.type = {op}.of; v.where = {where}; v.data = made[{j}]",
            "v.call = None",
            f"{t} = new(Tensor); {t}._value = v; {t}._grad = {t}.home = {t}.parts = {t}.tie = None",
            f"{t}._requires_grad = {requires_grad}; {t}.leaf = {leaf}; v.owner = ref({t})"]

    def table(self, t: str, rows: Rows) -> list[str]:
        """A tensor for the sums at some rows of a table, which is there when somebody looks at it."""
        parts, at = (f"result({', '.join(self.parameter(j))}, made[{j}])" for j in (rows.parts, rows.at))
        type, where = self.name(concrete(rows.type, self.sizes)), self.name(rows.where)
        return [f"{t} = Tensor(Live({self.name(rows.op)}, ({parts}, {at}), {type}, {where}))"]

    def parameter(self, j: int) -> tuple[str, str]:
        """What a result is as a value, and where it comes from."""
        v = self.plan.graph.results[j]
        return self.name(Parameter("result", concrete(v.type, self.sizes))), self.name(v.where)

    def part(self, part: Part) -> str:
        """One leaf of what a call returns or stores."""
        if part.kind == "made":
            return f"t{part.what}"
        if part.kind == "argument":
            return f"x{part.what}"
        return self.handles[part.what] if part.kind == "handle" else self.name(part.what)

    def tree(self, spec: tree.Spec | None, parts: Sequence[Part]) -> str:
        """A container of leaves, made anew at every call."""
        if spec is None:
            return self.part(parts[0])
        leaves = "".join(f"{self.part(p)}, " for p in parts)
        if spec.kind is tuple and not any(spec.parts):
            return f"({leaves})"
        return f"unflatten({self.name(spec)}, [{leaves}])"
