"""ONNX's branches and loops, sequences and optional values."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.errors import DataError
from stele.interop.onnx import contractions, elementwise, movement, normalization, reductions
from stele.interop.onnx.model import Node
from stele.interop.onnx.movement import split
from stele.interop.onnx.values import Call, Rules, dtype_named, host, is_sizes, known, number, value
from stele.ir.types import DTYPES

MANY = 16       # steps of a loop that are written out
PLAIN = {*elementwise.RULES, *contractions.RULES, "Concat", "Gather", "GatherElements", "GatherND", "ScatterElements",
         "ScatterND"} - {"CastLike", "BitCast"}
"""Ops that look at no numbers, of which shapes alone decide the shapes of their results."""
OF_NONE = {"Range", "ConstantOfShape", "Unique", "NonZero", "Compress"}
OF_FIRST = {*movement.RULES, *reductions.RULES, *normalization.RULES} - OF_NONE - {"Dropout"}
"""Ops of which that holds of their first input."""


def branch(c: Call, test: Any) -> Any:
    """One of two graphs."""
    one, other = c.get("then_branch"), c.get("else_branch")
    if known(test):
        return tuple(c.run(one if bool(number(test)) else other))
    return tuple(st.cond(test.reshape(()), lambda: c.run(one), lambda: c.run(other)))


def loop(c: Call, trips: Any, on: Any, *state: Any) -> Any:
    """A graph again and again, as often as a number or its own condition says; what it gives beside its state is
    stacked."""
    body = c.get("body")
    n = None if trips is None else trips
    if (n is None or known(n)) and (on is None or known(on)):
        return steps(c, body, None if n is None else int(number(n)), on, list(state))
    return looped(c, body, n, on, state)


def steps(c: Call, body: Any, trips: int | None, on: Any, state: list[Any]) -> Any:
    """A loop whose conditions are known, step by step; of many steps those from which on all are alike are one loop."""
    count, k, alike = len(state), 0, list[Any]()
    stacks: list[list[Any]] = [[] for _ in body.outputs[1 + count:]]
    is_long = trips is not None and trips > MANY and is_traceable(c, body)
    while (trips is None or k < trips) and (on is None or not known(on) or bool(number(on))):
        before = kinds(state)
        if not known(on) or (is_long and alike == before):
            state, more = remaining(c, body, k, trips, on, state)
            for stack, x in zip(stacks, more):
                stack.append(x)
            break
        on, *made = c.run(body, st.tensor(np.int64(k)), st.tensor(True) if on is None else on, *state)
        state, alike = made[:count], before
        for stack, x in zip(stacks, made[count:]):
            stack.append(st.unsqueeze(x, 0))
        k += 1
    stacked = [st.concatenate(stack) if stack else st.zeros((0, *sizes(o)), dtype=dtype_named(o.dtype).name)
               for stack, o in zip(stacks, body.outputs[1 + count:])]
    return (*state, *stacked)


def kinds(state: list[Any]) -> list[Any]:
    """The dtypes and shapes of a state, which compare equal where they are those of tensors."""
    return [(x.dtype, x.shape) if isinstance(x, st.Tensor) else object() for x in state]


def is_traceable(c: Call, body: Any) -> bool:
    """Whether the nodes of a loop look at no numbers that differ from step to step, and shapes are those of the first
    one."""
    seen = {**c.values, **{name: value(load()) for name, load in body.weights.items()}}
    moving = {i.name for i in body.inputs}
    for n in body.nodes:
        first, *others = [name in moving for name in n.inputs] or [False]
        if n.domain or ("", n.op) in c.model.functions or n.op not in PLAIN | OF_FIRST | OF_NONE:
            return False
        if n.op not in PLAIN and (any(others) or (first and n.op in OF_NONE)):
            return False
        if makes_no_tensor(n) or not all(is_computed_with(seen[x]) for x in n.inputs if x in seen and x not in moving):
            return False
        if n.op not in ("Shape", "Size") and (first or any(others)):
            moving.update(n.outputs)
    return True


def is_computed_with(x: Any) -> bool:
    """Whether programs have a value: no texts, sequences or narrow numbers."""
    return x is None or isinstance(x, st.Tensor) or is_sizes(x)


def makes_no_tensor(n: Node) -> bool:
    """Whether a node gives texts or narrow numbers."""
    if n.op == "Cast":
        return dtype_named(n.get("to")).name not in DTYPES
    return n.op == "Constant" and any(np.asarray(a).dtype.name not in DTYPES for a in n.attributes.values())


def remaining(c: Call, body: Any, k: int, trips: int | None, on: Any, state: list[Any]) -> tuple[list[Any], list[Any]]:
    """The state behind the steps of a loop from step k on, and what these stack."""
    count = len(state)
    if trips is None or not goes_on(body) or not known(on):
        return [*looped(c, body, trips, on, tuple(state), k)], []

    def step(carry: Any, k: Any) -> Any:
        _, *made = c.run(body, k, st.tensor(True), *carry)
        return tuple(made[:count]), tuple(made[count:])

    last, stacks = st.scan(step, tuple(state), st.arange(k, trips, dtype="int64"))
    return [*last], [*stacks]


def goes_on(body: Any) -> bool:
    """Whether the condition of a loop stays what it is."""
    makers, name = {x: n for n in body.nodes for x in n.outputs}, body.outputs[0].name
    while name in makers and makers[name].op == "Identity":
        name = makers[name].inputs[0]
    return name == body.inputs[1].name


def sizes(o: Any) -> tuple[int, ...]:
    """The declared sizes of an output, 0 where they are open."""
    return tuple(n if isinstance(n, int) else 0 for n in o.shape or ())


def looped(c: Call, body: Any, trips: Any, on: Any, state: tuple[Any, ...], first: int = 0) -> Any:
    """A loop as long as numbers of the program say, from a step on."""
    count = len(state)
    if len(body.outputs) > 1 + count:
        raise DataError(f"loop {c.node} stacks values for a number of steps that the program finds out",
                        hint="Run the model without st.compile.")
    test_before = st.tensor(True) if on is None else st.asarray(on).reshape(())

    def step(carry: Any) -> Any:
        k, go, *now = carry
        go, *now = c.run(body, k, go, *now)
        return (k + 1, st.asarray(go).reshape(()), *now)

    def test(carry: Any) -> Any:
        return carry[1] if trips is None else carry[1] & (carry[0] < st.asarray(trips).reshape(()))

    done = st.while_loop(test, step, (st.tensor(np.int64(first)), test_before, *state))
    return tuple(done[2:])


def scan(c: Call, *x: Any) -> Any:
    """A graph over slices of its inputs, with a state that goes on; what it gives beside that is stacked."""
    body, count = c.get("body"), c.get("num_scan_inputs")
    if c.version < 9:
        return batched(c, *x[1:])
    state, inputs = x[:len(x) - count], x[len(x) - count:]
    outs = len(body.outputs) - len(state)
    axes, back = c.get("scan_input_axes") or [0] * count, c.get("scan_input_directions") or [0] * count
    out_axes, out_back = c.get("scan_output_axes") or [0] * outs, c.get("scan_output_directions") or [0] * outs
    rows = [st.flip(v, axis=0) if b else v for v, b in zip((st.moveaxis(v, a, 0) for v, a in zip(inputs, axes)), back)]
    last, stacks = scanned(c, body, state, rows)
    made = (st.moveaxis(st.flip(s, axis=0) if b else s, 0, a) for s, a, b in zip(stacks, out_axes, out_back))
    return (*last, *made)


def scanned(c: Call, body: Any, state: Any, rows: Any) -> tuple[list[Any], list[Any]]:
    """The last state and the stacked results of a graph over rows."""
    n = len(state)

    def step(carry: Any, row: Any) -> Any:
        made = c.run(body, *carry, *row)
        return tuple(made[:n]), tuple(made[n:])

    last, stacks = st.scan(step, tuple(state), tuple(rows))
    return list(last), list(stacks)


def batched(c: Call, *x: Any) -> Any:
    """A scan of version 8: for each example of a batch by itself."""
    body, count = c.get("body"), c.get("num_scan_inputs")
    state, inputs = x[:len(x) - count], x[len(x) - count:]
    made = [scanned(c, body, [s[k] for s in state], [v[k] for v in inputs]) for k in range(inputs[0].shape[0])]
    return tuple(st.stack([[*last, *stacks][j] for last, stacks in made]) for j in range(len(body.outputs)))


def split_to_sequence(c: Call, x: Any, sizes: Any = None) -> Any:
    """x in parts along an axis, as a sequence."""
    axis = c.get("axis", 0)
    lead = (slice(None),) * (axis % x.ndim)
    if sizes is None:
        rows = [x[(*lead, slice(k, k + 1))] for k in range(x.shape[axis])]
        return rows if c.get("keepdims", 1) else [st.squeeze(row, axis=axis) for row in rows]
    if host(sizes).ndim == 0:
        each, n = int(number(sizes)), x.shape[axis]
        sizes = np.array([min(each, n - k) for k in range(0, n, each)])
    return list(split(c, x, sizes))


def at(sequence: list[Any], k: Any) -> int:
    """A place in a sequence."""
    k = int(number(k))
    if not -len(sequence) <= k < len(sequence):
        raise DataError(f"a sequence of {len(sequence)} has no part {k}")
    return k % len(sequence)


def insert(c: Call, sequence: list[Any], x: Any, k: Any = None) -> list[Any]:
    """A sequence with one more part, at its end or before another."""
    place = len(sequence) if k is None else int(number(k))
    return [*sequence[:place], x, *sequence[place:]] if place >= 0 else [
        *sequence[:len(sequence) + place], x, *sequence[len(sequence) + place:]]


def erase(c: Call, sequence: list[Any], k: Any = None) -> list[Any]:
    """A sequence without one part."""
    place = len(sequence) - 1 if k is None else at(sequence, k)
    return [*sequence[:place], *sequence[place + 1:]]


def concat(c: Call, sequence: list[Any]) -> Any:
    """The parts joined along an axis, or along a new one."""
    axis = c.get("axis")
    return st.stack(sequence, axis=axis) if c.get("new_axis", 0) else st.concatenate(sequence, axis=axis)


def sequence_map(c: Call, sequence: list[Any], *others: Any) -> Any:
    """A graph on each part of a sequence, together with those of others."""
    made = [c.run(c.get("body"), part, *(o[k] if isinstance(o, list) else o for o in others))
            for k, part in enumerate(sequence)]
    return tuple([row[j] for row in made] for j in range(len(c.get("body").outputs)))


def optional(c: Call, x: Any = None) -> Any:
    """What may be nothing."""
    return x


def element(c: Call, x: Any) -> Any:
    """What an optional value holds."""
    if x is None:
        raise DataError("an optional value that holds nothing was asked for what it holds")
    return x


RULES: Rules = {
    "If": branch, "Loop": loop, "Scan": scan, "SequenceEmpty": lambda c: [], "SequenceConstruct": lambda c, *x: list(x),
    "SequenceAt": lambda c, s, k: s[at(s, k)], "SequenceInsert": insert, "SequenceErase": erase,
    "SequenceLength": lambda c, s: st.tensor(np.int64(len(s))), "SplitToSequence": split_to_sequence,
    "ConcatFromSequence": concat, "SequenceMap": sequence_map, "Optional": optional, "OptionalGetElement": element,
    "OptionalHasElement": lambda c, x=None: st.tensor(x is not None),
}
