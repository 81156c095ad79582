"""What NumPy says of a program, in wider floats; and, run again with every rounding at random, how sure that is."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stele.ir.types import DType
from stele.ir.types import dtype as type_named
from tests.programs.kinds import KINDS, WRITES, Kind, promoted
from tests.programs.numbers import F32, I64, Array, epsilon, largest, smallest, wide
from tests.programs.program import Program, Step


@dataclass(eq=False)
class Cell:
    """What a name stands for: wide numbers, and the dtype they are of. What is written in place is written here."""

    array: Array
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


Env = dict[str, Cell]


class Oracle:
    """Runs programs in NumPy.

    Without a generator nothing is rounded; with one, every result is off by a few roundings at random, zeros
    have random signs, and subnormal numbers may be zero. `limits`: what a dtype cannot hold is infinite.
    """

    def __init__(self, rng: np.random.Generator | None = None, limits: bool = True) -> None:
        self.rng, self.limits = rng, limits

    def run(self, program: Program, arrays: Sequence[Array]) -> tuple[list[Cell], list[Cell]]:
        """The results, and the inputs as they are afterwards."""
        env = {n: held(a) for n, a in zip(program.inputs, arrays)}
        given = list(env.values())
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return self.steps(program, env), given

    def steps(self, program: Program, env: Env) -> list[Cell]:
        for step in program.steps:
            env.update(zip(step.targets, self.apply(step, env), strict=True))
        return [env[n] for n in program.results]

    def apply(self, step: Step, env: Env) -> list[Cell]:
        """One step's results; what a step writes in place is written."""
        if step.kind == "scan":
            return self.scan(step, env)
        if step.kind == "alias":
            return [env[step.args[0]]]
        kind = KINDS[step.kind]
        cells = [env[a] if isinstance(a, str) else a for a in step.args]
        made = self.call(kind, cells, step.attributes)
        if step.kind in WRITES:
            (target,), cell = made, cells[0]
            if target.shape != cell.shape or target.dtype != cell.dtype:
                raise ValueError("written in place, but of another type")
            cell.array = target.array
            return []
        return made

    def call(self, kind: Kind, cells: Sequence[Any], attributes: dict[str, Any]) -> list[Cell]:
        dtypes = [c.dtype if isinstance(c, Cell) else None for c in cells]
        known = [d for d in dtypes if d is not None]
        beside = known[0] if kind.operands == "target" else known[-1]
        dtypes = promoted(kind.operands, [d if d is not None else weak(c, beside) for d, c in zip(dtypes, cells)])
        numbers = [self.converted(c, d) for c, d in zip(cells, dtypes)]
        if self.rng is not None and kind.noise in ("sum", "coarse"):
            numbers = [self.noisy(x, d, kind.noise == "coarse", x.size ** 0.25) for x, d in zip(numbers, dtypes)]
        y = kind.numpy(*numbers, **attributes)
        if self.rng is not None and kind.noise in ("sum", "coarse") and overflows(numbers, dtypes):
            y = np.full_like(y, np.nan, subok=False)
        if self.rng is not None and kind.name in ("equal", "not_equal") and dtypes[0].is_float:
            a, b = numbers
            near = (a != b) & (np.abs(a - b) <= 4 * epsilon(dtypes[0]) * np.maximum(
                np.maximum(np.abs(a), np.abs(b)), smallest(dtypes[0])))
            y = np.where(near, self.rng.random(y.shape) < 0.5, y)
        if not self.limits and dtypes[0].is_float and np.shape(y) == numbers[0].shape:  # too large for wide floats
            y = np.where(np.isfinite(numbers[0]) & (np.abs(numbers[0]) > 700) & np.isinf(y), np.nan, y)
        several = isinstance(y, list)
        made = y if several else [y]
        results = kind.result(dtypes, attributes) * (len(made) if several else 1)
        if self.rng is not None and kind.noise == "tail":
            made = [y + numbers[0] * epsilon(dtypes[0]) * self.rng.uniform(-2, 2, y.shape)]
        return [self.settled(np.asarray(a), d, kind.noise != "exact") for a, d in zip(made, results)]

    def converted(self, c: Any, d: DType) -> Array:
        """An operand in the dtype in which it meets others."""
        if not isinstance(c, Cell):
            return np.asarray(np.asarray(c, d.numpy), wide(d))
        if c.dtype == d:
            return c.array
        return self.settled(c.array.astype(wide(d)), d, c.dtype.kind in "iu" and d.is_float).array

    def settled(self, y: Array, d: DType, inexact: bool) -> Cell:
        """A result of a dtype."""
        y = np.asarray(y).astype(wide(d))
        if not d.is_float:
            return Cell(y, d)
        if self.rng is not None:
            y = self.noisy(y, d, False, 1.0) if inexact else y
            none = (y == 0) | ((np.abs(y) < smallest(d)) & (d.bits > 16) & (self.rng.random(y.shape) < 0.5))
            y = np.where(none, np.copysign(0.0, self.rng.uniform(-1, 1, y.shape)), y)
        if self.limits:
            y = np.where(np.abs(y) > largest(d), np.copysign(np.inf, y), y)
        return Cell(y, d)

    def noisy(self, x: Array, d: DType, coarse: bool, times: float) -> Array:
        """Numbers a few roundings away: of their own size, and where `coarse` of the largest."""
        if not d.is_float or self.rng is None:
            return x
        amount = self.rng.choice([-1.0, 1.0], x.shape) * self.rng.uniform(1, 2, x.shape) * epsilon(d) * times
        size = np.where(x == 0, 0, np.maximum(np.abs(x), smallest(d)))
        if coarse:
            size = np.maximum(size, 4 * np.max(np.abs(x), initial=0, where=np.isfinite(x)))
        return np.where(np.isfinite(x), x + size * amount, x)

    def scan(self, step: Step, env: Env) -> list[Cell]:
        """The loop written out."""
        body, count = step.attributes["body"], step.attributes["carries"]
        carry = [env[a] for a in step.args[:count]]
        stacks = [env[a] for a in step.args[count:]]
        length = stacks[0].shape[0] if stacks else step.attributes["length"]
        if any(s.shape[0] != length for s in stacks):
            raise ValueError("slices of several lengths")
        order = range(length)[::-1] if step.attributes["reverse"] else range(length)
        rows: list[list[Cell]] = []
        for t in order:
            given = [*(Cell(c.array, c.dtype) for c in carry), *(Cell(s.array[t], s.dtype) for s in stacks)]
            made = self.steps(body, {**env, **dict(zip(body.inputs, given))})
            if [(c.shape, c.dtype) for c in made[:count]] != [(c.shape, c.dtype) for c in carry]:
                raise ValueError("a carry changes its type")
            carry = made[:count]
            rows.append(made[count:])
        rows = rows[::-1] if step.attributes["reverse"] else rows
        if not rows and len(body.results) > count:
            raise ValueError("a loop of no steps has outputs of no known shape")
        return [*carry, *(Cell(np.stack([r.array for r in ys]), ys[0].dtype) for ys in zip(*rows))]


def overflows(numbers: Sequence[Array], dtypes: Sequence[DType]) -> bool:
    """Whether sums of squares or products of operands may be infinite on the way to a finite result, or vanish."""
    for x, d in zip(numbers, dtypes):
        if d.is_float and x.size:
            size = np.abs(x[np.isfinite(x) & (x != 0)])
            limits = F32 if d.bits == 16 else d
            if size.size and (size.max() > (largest(limits) / x.size) ** 0.5 or size.min() < smallest(limits) ** 0.5):
                return True
    return False


def weak(number: Any, beside: DType) -> DType:
    """The dtype of a Python number beside an array: the array's, unless it is of a lower kind."""
    if isinstance(number, bool):
        return beside
    if isinstance(number, int):
        return I64 if beside.kind == "b" else beside
    return beside if beside.is_float else F32


def held(a: Array) -> Cell:
    d = type_named(a.dtype)
    return Cell(a.astype(wide(d)), d)
