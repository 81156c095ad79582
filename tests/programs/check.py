"""One program in some styles: every number is what NumPy says, as exactly as it can be known, and nothing fails."""
from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import stele as st
from stele import pipeline
from stele.backend import reference
from stele.ir.graph import Graph, Value
from stele.ir.text import parse as parse_graph
from stele.ir.text import show as show_graph
from stele.ir.types import DType, Sizes, Type, complex128, float64
from stele.ir.types import dtype as type_named
from stele.ir.verify import verify
from stele.ops import ALL
from tests.host_ops import OPS
from tests.programs.grammar import Refused
from tests.programs.kinds import KINDS, WRITES, Kind
from tests.programs.matrices import NO_FACTORS
from tests.programs.numbers import Array, as_coarse, epsilon, largest, smallest
from tests.programs.oracle import Cell, Env, Oracle, away
from tests.programs.program import Program, Step, show
from tests.programs.styles import STYLES, UNREWRITTEN, WORDS, branch, called, function_of, repeat_while, scan

RUNS = 1, 4, 40         # runs with random roundings; more of them where a result seems wrong, which only excuses
ROUNDING = "elementwise", "reduction", "contraction"      # families of ops whose results are rounded
ROUNDINGS = 8           # how far a result may be off, in units of what random roundings do to it


@dataclass(frozen=True)
class Failure:
    """What went wrong: `sort` groups failures of one cause."""

    style: str
    sort: str
    text: str


class Wrong(AssertionError):
    """A number that is not what it should be."""


@dataclass(frozen=True)
class Law:
    """What one call gives: NumPy's numbers, and the same with random roundings."""

    exact: list[Cell]
    others: list[list[Array]]
    grounds: tuple[str, ...] = ()


def laws(program: Program, runs: int) -> list[Law]:
    """For each call the results, and the arguments after it where they may be written."""
    found: list[Law] = []
    for arrays in program.arguments:
        results, given = Oracle().run(program, arrays)
        exact = [*results, *([] if program.gradient else given)]
        oracles = [Oracle(limits=False), *(Oracle(np.random.default_rng(k), held=bool(k % 2)) for k in range(runs))]
        oracles += [Oracle(held=True)] * (runs > RUNS[0])
        found.append(Law(exact, [other(oracle, program, arrays, exact) for oracle in oracles]))
    return found


def other(oracle: Oracle, program: Program, arrays: Sequence[Array], exact: list[Cell]) -> list[Array]:
    """The same numbers with random roundings; where those lead to what NumPy refuses, nothing is sure."""
    try:
        return [c.array for part in oracle.run(program, arrays) for c in part][:len(exact)]
    except Refused:
        return [np.where(np.isnan(c.array), 0, np.nan) if c.dtype.is_float else ~c.array for c in exact]


def check(program: Program, styles: Sequence[str]) -> Failure | None:
    """What is wrong with a program in these styles; None where nothing is."""
    style = "law"
    try:
        known: dict[bool, list[tuple[list[Law], list[Law]]]] = {}
        for style in styles:
            with as_coarse(is_coarse := style == "narrowed"):
                laws_ = known.setdefault(is_coarse, [])
                laws_ += [] if laws_ else [law_of(program, RUNS[0])]
                found = STYLES[style](program) if style in STYLES else passes(program)
                judge(program, laws_, found)
    except Wrong as error:
        return Failure(style, "wrong", str(error))
    except np.linalg.LinAlgError as error:      # of the law's, or of what has none natively either
        return None if f"{error}".endswith(NO_FACTORS) else Failure(style, "LinAlgError", f"{error}"[:500])
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/stele/" in f.filename]
        at = f"{frames[-1].filename.rpartition('/stele/')[2]}:{frames[-1].name}" if frames else "test"
        return Failure(style, f"{type(error).__name__} in {at}", f"{error}"[:500])
    return None


def law_of(program: Program, runs: int) -> tuple[list[Law], list[Law]]:
    """What is right for each call: numbers, and gradients."""
    return laws(program, runs), gradient_laws(program, runs)


def judge(program: Program, known: list[tuple[list[Law], list[Law]]], found: list[list[Array]]) -> None:
    """Raises Wrong where no law excuses what was found; laws of more runs are made when one is asked for."""
    for k, runs in enumerate(RUNS):
        if k == len(known):
            known.append(law_of(program, runs))
        try:
            return compare(program, *known[k], found)
        except Wrong:
            if k == len(RUNS) - 1:
                raise


def compare(program: Program, known: list[Law], slopes: list[Law], found: list[list[Array]]) -> None:
    """Raises Wrong where a call's results are not what the law says."""
    for call, (law, ys) in enumerate(zip(known, found)):
        count = len(program.results)
        parts = [(f"call {call} result {k}", c, [o[k] for o in law.others], ys[k])
                 for k, c in enumerate(law.exact) if k < min(count if program.gradient else len(ys), len(ys))]
        if program.gradient:
            slope = slopes[call]
            parts += [(f"call {call} gradient {k}", c, [o[k] for o in slope.others], ys[count + k])
                      for k, c in enumerate(slope.exact)]
        for name, cell, others, y in parts:
            close(name, cell, others, y, loose="gradient" in name)


def close(name: str, law: Cell, others: Sequence[Array], y: Array, loose: bool) -> None:
    """Raises unless an array is what the law says wherever random roundings leave the law sure of itself."""
    if y.dtype != law.dtype.numpy or y.shape != law.shape:
        raise Wrong(f"{name}: {y.dtype.name}{list(y.shape)}, NumPy has {law.dtype}{list(law.shape)}")
    x = law.array
    if not law.dtype.is_float:
        sure = np.all([o == x for o in others], axis=0)
        bad = sure & (y != x)
    else:
        y = y.astype(x.dtype)
        parts = (np.real, np.imag) if law.dtype.is_complex else (np.asarray,)
        bad = np.any([beyond(law.dtype.real, p(x), [p(o) for o in others], p(y), loose) for p in parts], axis=0)
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        raise Wrong(f"{name}: {int(bad.sum())} of {bad.size} differ, first at {at}: {y[at]!r}, NumPy has {x[at]!r}, "
                    f"with roundings {[o[at].item() for o in others[:4]]}")


def beyond(d: DType, x: Array, others: Sequence[Array], y: Array, loose: bool) -> Array:
    """Where y is not x: another kind of number, or further off than roundings take it."""
    with np.errstate(all="ignore"):
        sure = np.all([kind_of(o) == kind_of(x) for o in others], axis=0)
        spread = np.max([np.abs(o - x) for o in others], axis=0)
        near_pole = np.isfinite(x) & (ROUNDINGS * spread > np.abs(x))
        other_kind = sure & (kind_of(y) != kind_of(x)) & ~near_pole
        finite = np.isfinite(x) & np.isfinite(y) & sure
        room = ROUNDINGS * (4 if loose else 1) * spread
        rounded = bool(np.nanmax(np.where(finite, spread, 0), initial=0) > 0)
        room = room + (rounded or loose) * (4 * epsilon(d) * np.abs(x) + (16 if d.bits > 16 else 1) * smallest(d))
        if loose:           # a gradient is a sum whose terms cancel: what the array's largest rounding does, all may do
            room = np.maximum(room, ROUNDINGS * np.max(spread, initial=0, where=finite))
            room = room + 64 * epsilon(d) * np.max(np.abs(x), initial=0, where=np.isfinite(x))
        top = largest(d)
        near_top = np.minimum(np.abs(x), np.abs(y)) > top * (1 - 64 * epsilon(d))
        return (other_kind & ~near_top) | (finite & (np.abs(y - x) > room) & ~(near_top & (np.abs(y) >= top)))


def kind_of(x: Array) -> Array:
    """0 finite, 1 infinite, -1 minus infinite, 2 not a number."""
    return np.where(np.isnan(x), 2, np.where(np.isinf(x), np.sign(x), 0))


# Gradients

def widened(program: Program) -> Program:
    """The program in float64 wherever it is in floats."""
    def attribute(a: Any) -> Any:
        if isinstance(a, Program):
            return replace(a, steps=tuple(replace(s, args=tuple(map(array, s.args)), attributes={
                n: attribute(b) for n, b in s.attributes.items()}) for s in a.steps))
        return "float64" if a in ("float32", "float16", "bfloat16") else "complex128" if a == "complex64" else a

    def array(a: Any) -> Any:
        return a.astype("f8") if isinstance(a, np.ndarray) and type_named(a.dtype).kind == "f" else a

    arguments = tuple(tuple(map(array, args)) for args in program.arguments)
    return replace(attribute(program), arguments=arguments)


def wide(x: Any) -> Any:
    """Floats in float64: in a wide program those of integers too, so that branches agree and loops keep their types."""
    kind = x.dtype.kind if isinstance(x, st.Tensor) else ""
    return x.astype({"f": "float64", "c": "complex128"}[kind]) if kind in ("f", "c") else x


def in_wide(body: Callable[..., Any]) -> Callable[..., Any]:
    """A body whose results are wide."""
    return lambda *xs: [wide(y) for y in body(*xs)]


WIDE: dict[str, Any] = {
    "scan": lambda *xs, body, **how: scan(*map(wide, xs), body=in_wide(body), **how),
    "branch": lambda *xs, body, other: branch(*xs, body=in_wide(body), other=in_wide(other)),
    "repeat_while": lambda count, *state, body: repeat_while(count, *map(wide, state), body=in_wide(body))}


class WideOracle(Oracle):
    """The same in NumPy's numbers."""

    def apply(self, step: Step, env: Env) -> list[Cell]:
        return [self.widest(c) for c in super().apply(step, env)]

    def widest(self, c: Cell) -> Cell:
        """A cell in the widest dtype of its kind; the cell itself where it is, for it may be written to."""
        dtype = {"f": float64, "c": complex128}.get(c.dtype.kind, c.dtype)
        return c if c.dtype == dtype else Cell(c.array, dtype)


def gradient_laws(program: Program, runs: int) -> list[Law]:
    """The gradients of the program in float64, op by op; and again with every step's result a rounding away."""
    if not program.gradient:
        return []
    large = widened(program)
    kinds = [type_named(a.dtype) for a in program.arguments[0]]
    floats = [d for d in kinds if d.is_float]
    amount = max(epsilon(d) for d in floats)
    exact = called(st.compile(function_of(large, {**WORDS, **WIDE}), **UNREWRITTEN), large)
    noisy = []
    for k in range(runs):
        rng = np.random.default_rng(k)
        words = {name: partial(shaken_call, kind, rng, amount) for name, kind in KINDS.items()
                 if kind.noise != "exact" and name not in WRITES}
        shaken = replace(large, arguments=tuple(tuple(
            a * (1 + amount * rng.uniform(-1, 1, a.shape)) if a.dtype.kind == "f" else a for a in args)
            for args in large.arguments))
        with roundings(rng, amount if runs > RUNS[0] else 0.0):
            noisy.append([called(st.compile(function_of(one, {**WORDS, **WIDE, **words}), **UNREWRITTEN), one)[0]
                          for one in (replace(shaken, arguments=(args,)) for args in shaken.arguments)])
    own = (UNREWRITTEN["without"], UNREWRITTEN["without"] - {"expand"}) if runs > RUNS[0] else ()
    for without in own:         # what its own dtype cannot hold
        noisy.append(called(st.compile(function_of(program), backend="reference", without=without), program))
    count, many = len(program.results), len(floats)
    found = [Law([Cell(y, d) for y, d in zip(ys[count: count + many], floats)],
                 [other[call][count: count + many] for other in noisy]) for call, ys in enumerate(exact)]
    for arrays, law in zip(large.arguments if "stop_gradient" not in show(program) else (), found):
        assert_slopes(large, arrays, [c.array for c in law.exact])
    return found


def shaken_call(kind: Kind, rng: np.random.Generator, amount: float, *args: Any, **attributes: Any) -> Any:
    """What a step gives, a rounding away; where it sums, of operands that are."""
    if kind.noise in ("sum", "coarse"):
        args = tuple(nudged(a, rng, amount) if isinstance(a, st.Tensor) else a for a in args)
    return nudged(kind.stele(*args, **attributes), rng, amount)


@contextmanager
def roundings(rng: np.random.Generator, amount: float) -> Iterator[None]:
    """Ops that graphs are run by, those of derivatives too, give what is a rounding away, where they round at all."""
    def apply(v: Value, x: list[Any]) -> Any:
        y = own(v, x)
        if not isinstance(v.type, Type) or not v.dtype.is_float or v.op.family not in ROUNDING:
            return y
        copied = np.any([np.abs(y) == np.abs(a) for a in x if a.shape == y.shape], axis=0)
        return np.where(copied, y, y * near_one(y.dtype.kind, rng, y.shape, amount)).astype(y.dtype)

    own = reference.apply
    reference.apply = apply
    try:
        yield
    finally:
        reference.apply = own


def nudged(x: Any, rng: np.random.Generator, amount: float) -> Any:
    """Floats a rounding away."""
    if not x.dtype.is_float:
        return x
    return x * st.tensor(near_one(x.dtype.kind, rng, x.shape, amount))


def near_one(kind: str, rng: np.random.Generator, shape: tuple[int, ...], amount: float) -> Array:
    """Numbers a rounding from one, complex ones in any direction."""
    turn = np.exp(2j * np.pi * rng.random(shape)) if kind == "c" else 1
    return 1 + amount * away(rng, shape) * turn


def assert_slopes(program: Program, arrays: Sequence[Array], slopes: Sequence[Array]) -> None:
    """The gradients are those of NumPy's own numbers: along a random direction, by central differences."""
    rng = np.random.default_rng(0)
    ways = [rng.choice([-1.0, 1.0], a.shape) if a.dtype.kind == "f" else None for a in arrays]

    def loss(h: float) -> Any:
        moved = [a if w is None else a.astype(np.longdouble) + h * w for a, w in zip(arrays, ways)]
        env = {n: Cell(np.asarray(a), type_named(b.dtype)) for n, a, b in zip(program.inputs, moved, arrays)}
        with np.errstate(all="ignore"):
            floats = [c.array for c in env.values() if c.dtype.is_float]
            results = floats + [c.array for c in WideOracle().steps(program, env)]
        return sum((r + r * r / 2).sum() for r in results)

    h = 1e-6
    left, middle, right = loss(-h), loss(0), loss(h)
    near, far = (right - left) / (2 * h), (loss(8 * h) - loss(-8 * h)) / (16 * h)
    along = [w for w in ways if w is not None]
    found = sum(float((g * w).sum()) for g, w in zip(slopes, along))
    size = sum(float(np.abs(g).sum()) for g in slopes) + abs(float(near)) + 1e-3
    kinked = abs((right - middle) - (middle - left)) > 1e-4 * h * size
    unsure = kinked or not np.isfinite(found) or abs(near - far) > 1e-5 * size
    if not unsure and abs(found - near) > 1e-4 * size:
        moved = tuple(a if w is None else a + h * w for a, w in zip(arrays, ways))
        one = replace(program, arguments=(moved,))      # beside jumps, and edges that meet: conventions
        made = called(st.compile(function_of(one, {**WORDS, **WIDE}), **UNREWRITTEN), one)[0]
        found = sum(float((g * w).sum()) for g, w in zip(made[len(program.results):], along))
    if not unsure and abs(found - near) > 1e-4 * size:
        raise Wrong(f"gradient along a direction {found!r}, by differences {float(near)!r}")


# Passes

def passes(program: Program) -> list[list[Array]]:
    """Every pass keeps the graph sound, its text reads back, and after all passes it gives these numbers."""
    read, own = set[str](), pipeline.watch

    def watch(name: str, before: Graph, after: Graph, sizes: Sizes | None) -> None:
        verify(after, sizes and sizes.hints, sizes and sizes.guards)
        if (digest := after.digest) not in read:
            again = parse_graph(show_graph(after), {**ALL, **OPS})
            assert again.digest == digest, f"the text after {name} reads back as another"
            read.add(digest)

    pipeline.watch = watch
    try:
        return called(st.compile(function_of(program), backend="reference"), program)
    finally:
        pipeline.watch = own
