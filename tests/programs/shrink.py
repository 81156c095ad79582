"""Makes a program that fails smaller while it fails in the same way."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stele.ir.types import dtype as type_named
from tests.programs.grammar import Refused
from tests.programs.numbers import Array
from tests.programs.oracle import Oracle
from tests.programs.program import Program, Step, substituted

Fails = Callable[[Program], bool]


def shrink(program: Program, fails: Fails, most: int = 400) -> Program:
    """The smallest program found by so many trials that still fails."""
    changed, trials = True, 0
    while changed:
        changed = False
        for smaller in candidates(program):
            if not is_sound(smaller):
                continue
            trials += 1
            if trials > most:
                return program
            if fails(smaller):
                program, changed = smaller, True
                break
    return program


def is_sound(program: Program) -> bool:
    """Whether NumPy can run it."""
    try:
        for arrays in program.arguments:
            Oracle().run(program, arrays)
    except Refused:
        return False
    return True


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the boldest first."""
    if len(program.arguments) > 1:
        for k in range(len(program.arguments)):
            yield replace(program, arguments=program.arguments[:k] + program.arguments[k + 1:])
    if len(program.results) > 1:
        for n in program.results:
            yield replace(program, results=(n,)).pruned()
        for n in program.results:
            yield replace(program, results=tuple(r for r in program.results if r != n)).pruned()
    if program.gradient:
        yield replace(program, gradient=False)
    made = [t for s in program.steps for t in s.targets]
    for name in made[:-1]:
        if name not in program.results:
            yield replace(program, results=(name,)).pruned()
    for k, step in enumerate(program.steps):
        yield from without(program, k, step)
    yield from smaller_sizes(program)
    yield from plainer_numbers(program)


def without(program: Program, k: int, step: Step) -> Iterator[Program]:
    """The program without a step: what it made is one of its operands, or a new input."""
    rest = replace(program, steps=program.steps[:k] + program.steps[k + 1:])
    if not step.targets:
        yield rest.pruned()
    for target in step.targets if len(step.targets) == 1 else ():
        for name in step.names:
            yield substituted(rest, target, name).pruned()
    for name, body in step.bodies.items():
        for j, inner in enumerate(body.steps):
            for smaller in without(body, j, inner):
                if len(smaller.inputs) == len(body.inputs) and not set(smaller.free) - set(body.free):
                    changed = Step(step.targets, step.kind, step.args, {**step.attributes, name: smaller})
                    yield replace(program, steps=(*program.steps[:k], changed, *program.steps[k + 1:])).pruned()
    if all(isinstance(a, str) for a in step.args) and step.targets:
        yield from as_input(program, k, step)


def as_input(program: Program, k: int, step: Step) -> Iterator[Program]:
    """What a step made is given instead."""
    made: list[list[Array]] = []
    try:
        for arrays in program.arguments:
            found, _ = Oracle().run(replace(program, results=step.targets, steps=program.steps[:k + 1]), arrays)
            made.append([c.array.astype(c.dtype.numpy) for c in found])
    except Refused:
        return
    yield replace(program, steps=program.steps[:k] + program.steps[k + 1:], inputs=(*program.inputs, *step.targets),
                  arguments=tuple((*old, *new) for old, new in zip(program.arguments, made))).pruned()


def smaller_sizes(program: Program) -> Iterator[Program]:
    """Every axis of one length made shorter, where steps that name the length name the new one."""
    for n in sorted({n for args in program.arguments for a in args for n in a.shape if n > 1}, reverse=True):
        for less in dict.fromkeys((1, 2, n // 4, n // 2, n - 1)):
            if 0 < less < n:
                steps = tuple(replace(s, args=tuple(shortened(a, n, less) for a in s.args), attributes={
                    k: resized(a, n, less) for k, a in s.attributes.items()}) for s in program.steps)
                yield replace(program, steps=steps, arguments=tuple(tuple(
                    shortened(a, n, less) for a in args) for args in program.arguments))


def shortened(a: Any, n: int, less: int) -> Any:
    """An array with one length of its axes in place of another; what else an argument is as it is."""
    if not isinstance(a, np.ndarray):
        return a
    return a[tuple(slice(less) if m == n else slice(None) for m in a.shape)].copy()


def resized(a: Any, n: int, less: int) -> Any:
    """An attribute with one length in place of another."""
    if isinstance(a, tuple):
        return tuple(resized(b, n, less) for b in a)
    return less if isinstance(a, int) and not isinstance(a, bool) and a == n else a


def plainer_numbers(program: Program) -> Iterator[Program]:
    """Inputs of ones, of small whole numbers, or all equal to one of theirs."""
    for k in range(len(program.inputs)):
        for plain in (np.ones_like, small, whole):
            arguments = tuple(tuple(same(plain(a), a) if j == k else a for j, a in enumerate(args))
                              for args in program.arguments)
            if any(a.tobytes() != b.tobytes() for old, new in zip(program.arguments, arguments)
                   for a, b in zip(old, new)):
                yield replace(program, arguments=arguments)


def whole(a: Array) -> Array:
    """Numbers without what is behind the point; of complex ones in both parts."""
    return np.trunc(a.real) + 1j * np.trunc(a.imag) if np.iscomplexobj(a) else np.trunc(a)


def small(a: Array) -> Array:
    return np.arange(a.size).reshape(a.shape) % (2 if type_named(a.dtype).kind == "b" else 5)


def same(new: Any, a: Array) -> Array:
    return np.asarray(new).astype(a.dtype)
