"""A traced function as a flat list of steps: check, read, run, write back."""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stele import tree
from stele.backend.base import Program
from stele.backend.buffers import Buffer
from stele.evaluate import RUNNING, evaluate, known
from stele.handle import Handle, leaf
from stele.ir.graph import Parameter, Value, substitute
from stele.ir.origin import Where
from stele.ir.sizes import at
from stele.ir.types import Type
from stele.tensor import Tensor
from stele.trace import Part, Traced
from stele.transform.retype import bind

Getter = tuple[Any, Any]


def references(handle: Handle) -> tuple[int, int]:
    """How many hold the handle's value, and how many its buffer."""
    value = handle._value
    return sys.getrefcount(value), sys.getrefcount(value.data)


ALONE = references(Tensor(known(np.zeros(1))))
NOTHING: frozenset[int] = frozenset()


def is_alone(handle: Handle) -> bool:
    """Whether nobody but the handle can see its numbers, views handed out aside."""
    values, buffers = references(handle)
    return values <= ALONE[0] and buffers <= ALONE[1]


class Plan:
    """What one call does: guards that must hold, where inputs come from, where results go."""

    def __init__(self, traced: Traced, program: Program, leaves: Sequence[Any], donated: Mapping[int, int]) -> None:
        self.traced, self.program = traced, program
        self.argument = {id(x): k for k, x in enumerate(leaves) if isinstance(x, Handle)}
        self.getters = [self.getter(h) for h in traced.handles]
        entry = {h: traced.graph.parameters[k].type for k, (kind, h) in enumerate(traced.inputs) if kind == "handle"}
        self.types = [(h, type, traced.handles[h].requires_grad) for h, type in entry.items()
                      if self.getters[h][0] is not None]
        self.inputs = traced.inputs
        self.constants = [v.data for v in traced.constants]
        self.donated = [(k, traced.inputs[k][1]) for k in donated]
        state = traced.state
        written = {(id(slot.base), slot.key) for slot, _, _ in traced.slots}
        self.same = [(slot.base, slot.key, x) for slot, x in state.objects if (id(slot.base), slot.key) not in written]
        self.equal = [(slot.base, slot.key, x) for slot, x in state.numbers]
        self.tuples = [(slot.base, slot.key, type(x), len(x)) for slot, x in state.tuples]
        self.lengths, self.arrays = state.lengths, traced.arrays
        number = {id(h): k for k, h in enumerate(traced.handles)}
        self.aliases = [(slot.base, slot.key, number[id_]) for id_, slots in state.tensors.items() if id_ in number
                        for slot in slots]
        self.differentiable = traced.pure and any(m.requires_grad for m in traced.made)
        self.results: dict[tuple[int, ...], list[tuple[Parameter, Where]]] = {}

    def getter(self, handle: Handle) -> Getter:
        """Where a call finds a handle: among its arguments, in a slot, or always the same one."""
        if id(handle) in self.argument:
            return None, self.argument[id(handle)]
        slots = self.traced.state.tensors.get(id(handle))
        return (slots[0].base, slots[0].key) if slots else ((handle,), 0)

    def ready(self, leaves: Sequence[Any]) -> list[Any] | None:
        """The handles of this call, if every guard holds; None otherwise."""
        try:
            for base, key, x in self.same:
                if base[key] is not x:
                    return None
            for base, key, x in self.equal:
                if (now := base[key]) is not x and (type(now) is not type(x) or now != x):
                    return None
            for base, key, kind, n in self.tuples:
                if type(now := base[key]) is not kind or len(now) != n:
                    return None
            for base, n in self.lengths:
                if len(base) != n:
                    return None
            handles = [leaves[key] if base is None else base[key] for base, key in self.getters]
            for h, g in self.traced.grads_read:
                if ((now := handles[h]._grad) is None) is not (g is None):
                    return None
                if g is not None:
                    handles[g] = now
            for h, type_, requires_grad in self.types:
                handle = handles[h]
                if type(handle) is not Tensor or handle.requires_grad is not requires_grad:
                    return None
                if (t := handle._value.type) is not type_ and t != type_:
                    return None
            for base, key, h in self.aliases:
                if base[key] is not handles[h]:
                    return None
        except (LookupError, AttributeError, ValueError, TypeError):
            return None
        return handles if len(handles) < 2 or len(set(map(id, handles))) == len(handles) else None

    def __call__(self, handles: list[Any], leaves: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """Runs the program on what the handles hold, then rebinds what the function rebinds. All or nothing."""
        with RUNNING:
            if any(kind == "handle" and handles[h]._value.data is None for kind, h in self.inputs):
                evaluate([handles[h]._value for kind, h in self.inputs if kind == "handle"])
            keep = frozenset(k for k, h in self.donated if not is_alone(handles[h])) if self.donated else NOTHING
            buffers = [handles[k]._value.data if kind == "handle" else Buffer.of(
                leaves[k] if kind == "argument" else self.arrays[k].get()) for kind, k in self.inputs]
            buffers += self.constants
            return self.program(buffers, sizes, keep, lambda made: self.write_back(
                handles, self.with_history(handles, buffers, made, sizes) if self.differentiable
                else self.values(made, sizes)))

    def write_back(self, handles: list[Any], values: list[Value]) -> Any:
        """Rebinds handles, gradients and slots; the function's result."""
        traced = self.traced
        fresh = [Tensor(values[m.result], m.requires_grad and (traced.pure or m.leaf), m.leaf) for m in traced.made]
        for h, k in traced.writes:
            handles[h].value = values[k]
        for h, part in traced.grads:
            handles[h]._grad = filled(part, fresh, handles)
        for slot, spec, parts in traced.slots:
            slot.base[slot.key] = tree.unflatten(spec, [filled(p, fresh, handles) for p in parts])
        spec, parts = traced.returned
        if spec is None:
            return filled(parts[0], fresh, handles)
        return tree.unflatten(spec, [filled(p, fresh, handles) for p in parts])

    def values(self, made: list[Buffer], sizes: Mapping[str, int]) -> list[Value]:
        """The results as values that are nothing but their numbers."""
        key = tuple(sizes.values())
        if key not in self.results:
            self.results[key] = [(Parameter("result", concrete(v.type, sizes)), v.where)
                                 for v in self.traced.graph.results]
        values: list[Value] = []
        for (op, where), buffer in zip(self.results[key], made):
            v = Value(op, (), op.of, where)
            v.data = buffer
            values.append(v)
        return values

    def with_history(self, handles: list[Any], buffers: list[Buffer], made: list[Buffer], sizes: Mapping[str, int]
                     ) -> list[Value]:
        """The results as expressions over the inputs that already have their numbers, so that they differentiate."""
        args = [handles[self.inputs[k][1]]._value if k < len(self.inputs) and self.inputs[k][0] == "handle"
                else leaf(concrete(v.type, sizes), buffers[k]) for k, v in enumerate(self.traced.graph.parameters)]
        graph = bind(self.traced.graph, sizes) if sizes else self.traced.graph
        values = substitute(graph, args)
        for v, buffer in zip(values, made):
            if v.data is None:
                v.data = buffer
        return values


def filled(part: Part, fresh: Sequence[Tensor], handles: Sequence[Any]) -> Any:
    """One leaf of what a call returns or stores."""
    return fresh[part.what] if part.kind == "made" else handles[part.what] if part.kind == "handle" else part.what


def concrete(type: Type, sizes: Mapping[str, int]) -> Type:
    """A type with numbers for its named sizes; the type itself where it has none."""
    return type if not sizes else type.with_shape(tuple(at(n, sizes) for n in type.shape))


def donations(traced: Traced) -> dict[int, int]:
    """Which parameters' memory a result may take over: what is rebound, unless its old value is a result as well."""
    results = traced.graph.results
    number = {h: k for k, (kind, h) in enumerate(traced.inputs) if kind == "handle"}
    found: dict[int, int] = {}
    for h, j in traced.writes:
        k = number.get(h)
        if k is None or (old := traced.graph.parameters[k]) in results:
            continue
        if results[j].type == old.type:
            found[k] = j
    return found


def steady(traced: Traced, leaves: Sequence[Any]) -> tuple[int, ...]:
    """Which parameters will likely be the same at the next call: state that is only read, and constants. None where
    gradients are left behind, as state changes between such calls.
    """
    if traced.grads:
        return ()
    changing = {id(x) for x in leaves} | {id(traced.handles[h]) for h, _ in traced.writes}
    read = (k for k, (kind, h) in enumerate(traced.inputs)
            if kind == "handle" and id(traced.handles[h]) not in changing)
    return (*read, *range(len(traced.inputs), len(traced.graph.parameters)))
