"""The same program in every style: op by op, imperative, compiled, symbolic, on many threads, on two devices."""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import stele as st
from stele.errors import OutOfMemory, ShapeError
from stele.ir.types import DTYPES
from stele.pipeline import PASSES
from stele.transform import narrow, segments
from tests.programs.kinds import KINDS, writes
from tests.programs.mixed import spoken
from tests.programs.numbers import Array
from tests.programs.program import VIEWS, Program, array_of, law_of, show
from tests.programs.special import STARTED

Numbers = list[Array]
UNREWRITTEN: dict[str, Any] = {"backend": "reference", "without": frozenset(PASSES)}
THREADS = (1, 2, 4)


def scan(*operands: Any, body: Callable[..., Any], carries: int, reverse: bool, length: int | None = None) -> Any:
    """A loop as programs write it: states and slices side by side."""
    def step(state: Sequence[Any], x: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
        made = body(*state, *(x or ()))
        return list(made[:carries]), list(made[carries:])
    init, xs = list(operands[:carries]), list(operands[carries:])
    last, ys = st.scan(step, init, xs or None, length=length, reverse=reverse)
    return *last, *ys


def branch(pred: Any, *operands: Any, body: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """A choice of two, of a bool or of a number that says which."""
    if pred.dtype.kind == "b":
        return st.cond(pred, body, other, *operands)
    return st.switch(pred, [other, body], *operands)


def repeat_while(count: Any, *state: Any, body: Callable[..., Any]) -> Any:
    """A loop that runs as often as a number says before it."""
    count = count + 0
    return st.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, tuple(body(*s[1]))), (0, state))[1]


def differentiated(*results: Any) -> Any:
    """Marks results whose gradients are asked for too."""
    return results


def loss_of(results: Sequence[Any]) -> Any:
    """A number in which every element of every result counts, each differently."""
    return sum((r + r * r * 0.5).astype("float64").sum() for r in results)


WORDS: dict[str, Any] = {name: kind.stele for name, kind in KINDS.items()} | {
    "scan": scan, "branch": branch, "repeat_while": repeat_while, "differentiated": differentiated,
    "inf": float("inf"), "nan": float("nan"), "array": array_of, **{d: d for d in DTYPES}}


def function_of(program: Program, words: dict[str, Any] = WORDS, copies: bool = False) -> Callable[..., Any]:
    """The program as a Python function of tensors; `copies`: what it writes in place are not its arguments."""
    STARTED.clear()
    namespace = spoken(words)
    exec(compile(show(replace(program, arguments=(), note="")), "<program>", "exec"), namespace)
    body = namespace["program"]
    if not program.gradient:
        return (lambda *xs: body(*(st.Tensor(x.value) for x in xs))) if copies else body

    def with_gradients(*xs: Any) -> Any:
        results = body(*(st.Tensor(x.value, x.requires_grad) for x in xs))
        floats = [x for x in xs if x.dtype.is_float]
        return *results, *st.gradients(loss_of([*results, *floats]), floats)

    return with_gradients


def tensors(arrays: Sequence[Array]) -> list[Any]:
    return [st.tensor(a.copy()) for a in arrays]


def numbers(results: Sequence[Any]) -> Numbers:
    return [np.array(y.numpy()) for y in results]


def called(f: Callable[..., Any], program: Program, marked: bool = False) -> list[Numbers]:
    """Results, and the arguments after the call, for each call; `marked` ones require gradients."""
    found: list[Numbers] = []
    for arrays in program.arguments:
        xs = [x.requires_grad_() if marked and x.dtype.is_float else x for x in tensors(arrays)]
        results = numbers(f(*xs))
        found.append(results + numbers(xs))
    return found


def imperative(program: Program) -> list[Numbers]:
    return called(function_of(program), program, marked=program.gradient)


def watched(program: Program) -> list[Numbers]:
    """Every value is looked at as soon as it is there."""
    def looking(f: Callable[..., Any], *args: Any, **attributes: Any) -> Any:
        y = f(*args, **attributes)
        for v in y if isinstance(y, tuple) else (args[0] if y is None else y,):
            v.numpy()
        return y
    words = {name: partial(looking, kind.stele) for name, kind in KINDS.items()}
    plain = replace(program, steps=program.steps)
    inside_loops = any(s.bodies for s in plain.steps)
    return called(function_of(program, WORDS if inside_loops else {**WORDS, **words}), program, program.gradient)


def compiled(program: Program) -> list[Numbers]:
    """The first call twice: the second time by the plan that there is."""
    f = st.compile(function_of(program))
    first = called(f, program)
    again = called(f, replace(program, arguments=program.arguments[:1]))
    equal(first[0], again[0], "a second call differs from the first")
    return first


def symbolic(program: Program) -> list[Numbers]:
    """A function of placeholders, with names for the sizes that differ between calls; where a name says too little of a
    size, one function for each call."""
    try:
        return function_of_placeholders(program)
    except ShapeError:
        if not program.is_open:
            raise
        return [numbers for args in program.arguments
                for numbers in function_of_placeholders(replace(program, arguments=(args,)))]


def function_of_placeholders(program: Program) -> list[Numbers]:
    names: dict[tuple[int, ...], str] = {}
    inputs = []
    for k, name in enumerate(program.inputs):
        shapes = list(zip(*(args[k].shape for args in program.arguments)))
        dims = [n[0] if len(set(n)) == 1 else names.setdefault(n, f"n{len(names)}") for n in shapes]
        inputs.append(st.placeholder(tuple(dims), program.arguments[0][k].dtype.name, name))
    f = st.function(inputs, list(function_of(program, copies=True)(*inputs)))
    found: list[Numbers] = []
    for arrays in program.arguments:
        for generator, seed in STARTED:     # each call draws on
            generator.manual_seed(seed)
        found.append(numbers(f(*tensors(arrays))))
    return found


def reference(program: Program) -> list[Numbers]:
    """Op by op in NumPy, no pass in between."""
    return called(st.compile(function_of(program), **UNREWRITTEN), program)


def threaded(program: Program) -> list[Numbers]:
    """On 1, 2 and 4 threads, with the same bits."""
    before, f = st.get_threads(), st.compile(function_of(program))
    try:
        found: list[list[Numbers]] = []
        for count in THREADS:
            st.set_threads(count)
            found.append(called(f, program))
    finally:
        st.set_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            equal(a, b, "results depend on the number of threads")
    return found[0]


def away(program: Program) -> list[Numbers]:
    """On the second device, every third result by way of the host; compiled, and then op by op."""
    def moving(f: Callable[..., Any], *args: Any, **attributes: Any) -> Any:
        y = f(*args, **attributes)
        return y.to("cpu").to("cpu:1") if isinstance(y, st.Tensor) and y.ndim % 3 == 1 else y

    here = {**WORDS, "array": lambda *of: st.tensor(array_of(*of))}     # NumPy's arrays lie on the host
    loops = any(s.bodies for s in program.steps)
    words = here if loops else {**here, **{
        name: partial(moving, kind.stele) for name, kind in KINDS.items()
        if kind.feature != "in-place" and not (writes(program) and law_of(name) in VIEWS)}}  # what has moved is a copy
    f = function_of(program, words)
    with st.device("cpu:1"):
        called(f, replace(program, arguments=program.arguments[:1]), program.gradient)
        return called(st.compile(f), program)


def narrowed(program: Program) -> list[Numbers]:
    """With activations in bfloat16, however small they are."""
    options: dict[str, Any] = {"precision": "bf16", "without": "recompute"}     # a key of its own in the cache
    with patch.object(narrow, "SMALL", 0):
        return called(st.compile(function_of(program), **options), program)


def spared(program: Program) -> list[Numbers]:
    """In the least memory that is known, loops of two steps in segments; with the same bits where there are none, and
    where sizes that are open stay so, as in so little memory they may not."""
    whole = called(st.compile(function_of(program)), program)
    budget, found, closed = 1, None, False
    while found is None:
        try:
            with patch.object(segments, "LEAST", 2), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = called(st.compile(function_of(program), memory=budget), program)
                closed = any("cannot stay open" in str(w.message) for w in said)
        except OutOfMemory as error:
            least = int(re.findall(r"less than ([\d,]+):", str(error))[0].replace(",", ""))
            assert least > budget, "what is said to be enough is refused"
            budget = least
    for a, b in () if closed or any(s.bodies for s in program.steps) else zip(whole, found):
        equal(a, b, "results depend on the budget of memory")
    return found


def equal(a: Numbers, b: Numbers, what: str) -> None:
    """Raises unless all bits are the same."""
    for k, (x, y) in enumerate(zip(a, b)):
        assert x.tobytes() == y.tobytes(), f"{what}: result {k}"


STYLES: dict[str, Callable[[Program], list[Numbers]]] = {
    "reference": reference, "compiled": compiled, "imperative": imperative, "symbolic": symbolic, "watched": watched,
    "threaded": threaded, "away": away, "narrowed": narrowed, "spared": spared}
