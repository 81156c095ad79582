"""Programs that grow by random steps whose values, for random arguments, NumPy finds reasonable."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from stele.ir.types import DTYPES, REAL, DType, highest
from stele.ir.types import dtype as type_named
from tests.programs import numbers
from tests.programs.kinds import ALL, IDIOMS, WRITES, Kind
from tests.programs.numbers import Array, common
from tests.programs.oracle import Cell, Env, Oracle, held
from tests.programs.program import Program, Step

T = TypeVar("T")
Reshape = Callable[[tuple[int, ...]], tuple[int, ...]]
FEATURES = frozenset({"in-place", "open", "scan", "nested", "gradient", "special", "half", "large", "empty",
                      "mixed"})
TAME = 100.0
WRITTEN = 2000          # elements of an array that stands in the program
Refused = (ValueError, IndexError, TypeError, ZeroDivisionError, KeyError, OverflowError)


class Unfit(ValueError):
    """A step that does not fit what there is."""


class Growth:
    """A program under way: its steps, and what each name stands for at each call."""

    def __init__(self, rng: np.random.Generator, features: frozenset[str], envs: list[Env], taken: set[str],
                 dtypes: Sequence[str], tame: bool, outer: Growth | None = None) -> None:
        self.rng, self.features, self.envs, self.taken, self.dtypes = rng, features, envs, taken, dtypes
        self.tame, self.outer = tame, outer
        self.inputs: list[str] = []
        self.arguments: list[list[Array]] = [[] for _ in envs]
        self.steps: list[Step] = []
        self.special, self.most = 0.0, numbers.MOST
        self.aliases: dict[str, set[str]] = {}

    # What there is

    def choose(self, options: Sequence[T]) -> T:
        self.need(len(options) > 0)
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        self.need(low <= high)
        return int(self.rng.integers(low, high + 1))

    def coin(self) -> bool: return bool(self.rng.random() < 0.5)
    def has(self, feature: str) -> bool: return feature in self.features
    def is_mixed(self, chance: float) -> bool: return self.has("mixed") and bool(self.rng.random() < chance)
    def cell(self, x: str | Array) -> Cell: return self.envs[0][x] if isinstance(x, str) else held(x)
    def shape(self, x: str | Array) -> tuple[int, ...]: return self.cell(x).shape
    def ndim(self, x: str | Array) -> int: return len(self.shape(x))
    def dtype(self, x: str | Array) -> DType: return self.cell(x).dtype
    def axis(self, x: str) -> int: return self.integer(0, self.ndim(x) - 1) - self.ndim(x) * self.coin()
    def is_open(self, x: str, axis: int) -> bool: return len({env[x].shape[axis] for env in self.envs}) > 1
    def is_alias(self, x: str, z: str) -> bool: return self.cell(x) is self.cell(z)
    def names(self, fits: Callable[[str], bool]) -> list[str]: return [n for n in self.envs[0] if fits(n)]

    def is_any_open(self, x: str, n: int) -> bool:
        return any(self.shape(x)[k] == n and self.is_open(x, k) for k in range(self.ndim(x)))

    def need(self, condition: bool) -> None:
        if not condition:
            raise Unfit

    def number(self, x: str) -> Any:
        """A Python number that x's dtype holds."""
        d = self.dtype(x)
        if d.kind == "b":
            return self.coin()
        if d.is_complex and self.coin():
            return self.choose([1j, 2j, 0.5j])
        return self.choose([0, 1, 2, 3, 100]) * (-1 if d.kind == "i" and self.coin() else 1) if not d.is_float else \
            self.choose([0, 1, 2, 0.5, -1, -0.5, 3.0, 0.1, 1e-3, 7])

    def array(self, of: DType, shape: tuple[int, ...]) -> Array:
        """An array of NumPy's as it stands in the program."""
        self.need(math.prod(shape) <= WRITTEN)
        return np.asarray(numbers.draw(self.rng, of, shape, 0, tame=True))

    def beside(self, x: str) -> Any:
        """An array or a number of NumPy's that broadcasts with x at every call."""
        others = "float32", "float64", "int32", "bool"
        of = self.dtype(x) if self.rng.random() < 0.7 else type_named(self.choose(others))
        self.need(not (self.tame and of.is_complex))
        if self.rng.random() < 0.3 and of.kind in "iuf":
            return np.dtype(of.numpy).type(self.choose([0, 1, 2, 3, 7]))
        shape = tuple(1 if self.is_open(x, k) or self.rng.random() < 0.3 else n for k, n in enumerate(self.shape(x)))
        return self.array(of, shape[self.integer(0, len(shape)):] if self.coin() else shape)

    def partner(self, x: str) -> Any:
        """Another operand: an array that broadcasts with x, or a number; of NumPy's where those are mixed."""
        if self.is_mixed(0.2):
            return self.beside(x)

        def fits(z: str) -> bool:
            try:
                return math.prod(np.broadcast_shapes(self.shape(x), self.shape(z))) <= self.most
            except ValueError:
                return False
        found = self.names(fits)
        return self.choose(found) if found and self.rng.random() < 0.8 else self.number(x)

    def bool_like(self, x: str) -> Any:
        """A condition of x's shape."""
        if self.is_mixed(0.2) and not any(self.is_open(x, k) for k in range(self.ndim(x))):
            return self.array(type_named("bool"), self.shape(x))
        found = self.names(lambda z: self.dtype(z).kind == "b" and self.shape(z) == self.shape(x))
        return self.choose(found) if found else self.added(
            "b", [numbers.draw(self.rng, type_named("bool"), env[x].shape, 0) for env in self.envs])

    def indices(self, x: str, axis: int, shape: Reshape, negative: bool = True) -> Any:
        """New integers that name elements of an axis of x: an input, or an array of NumPy's."""
        of = self.choose([d for d in REAL if d.kind in "iu"])
        made = []
        for env in self.envs:
            n = env[x].shape[axis]
            self.need(0 < n <= highest(of))
            low = -n if negative and of.kind == "i" else 0
            made.append(self.rng.integers(low, n, shape(env[x].shape)).astype(of.numpy))
        closed = len({(env[x].shape[axis], a.shape) for env, a in zip(self.envs, made)}) == 1
        return made[0] if closed and made[0].size <= WRITTEN and self.is_mixed(0.3) else self.added("k", made)

    def input_for(self, x: str, shape: Reshape, open_axis: int | None = None) -> Any:
        """A new input of x's dtype, such as weights, or an array of NumPy's."""
        self.need(not self.tame or not self.dtype(x).is_complex)
        shapes = [shape(env[x].shape) for env in self.envs]
        if open_axis is None:
            self.need(len(set(shapes)) == 1)
            if math.prod(shapes[0]) <= WRITTEN and self.is_mixed(0.2):
                return self.array(self.dtype(x), shapes[0])
        made = [numbers.draw(self.rng, self.dtype(x), s, 0, tame=True) for s in shapes]
        return self.added("w", made[:1] * len(made) if len(set(shapes)) == 1 else made)

    def added(self, prefix: str, arrays: list[Array]) -> str:
        """A new input with these numbers at each call, of the whole program also where a loop's body asks for it."""
        if self.outer is not None:
            name = self.outer.added(prefix, arrays)
        else:
            name = self.fresh(prefix)
            self.inputs.append(name)
            for given, a in zip(self.arguments, arrays):
                given.append(a)
        for k, env in enumerate(self.envs):
            env[name] = held(arrays[k]) if self.outer is None else self.outer.envs[k][name]
        return name

    def fresh(self, prefix: str) -> str:
        name = next(n for k in range(10_000) if (n := f"{prefix}{k}") not in self.taken)
        self.taken.add(name)
        return name

    # Growing

    def recent(self) -> str:
        """A name, the latest more often."""
        names = list(self.envs[0])
        return names[-1 - min(int(self.rng.exponential(3)), len(names) - 1)]

    def grow(self, count: int) -> None:
        for _ in range(count):
            try:
                self.another()
            except Refused:
                continue

    def another(self) -> None:
        """One more step, an idiom of several, or a loop."""
        x, p = self.recent(), self.rng.random()
        if p < 0.08 and self.dtype(x).kind == "f":
            for word in self.choose(IDIOMS):
                self.need(word != "softmax" or self.ndim(x) > 0)
                name, _, number = word.partition(":")
                args = (x, float(number) if "." in number else int(number)) if number else (x,)
                x = self.take(Step((), name, args, {"axis": -1} if name == "softmax" else {}))
            return
        if p < 0.16 and self.has("scan" if self.outer is None else "nested"):
            return self.loop() if self.rng.random() < 0.6 else self.chosen()
        fitting = [k for k in ALL if self.dtype(x).kind in k.domain and (not k.feature or self.has(k.feature))
                   and not (self.tame and not k.smooth and self.rng.random() < 0.7)]
        weights = np.array([k.weight for k in fitting])
        kind = fitting[int(self.rng.choice(len(fitting), p=weights / weights.sum()))]
        self.need(kind.name not in WRITES or self.cell(x).is_writable)
        args, attributes = kind.make(self, x)
        self.refuse_dtypes(kind, args)
        self.take(Step((), kind.name, args, attributes))

    def refuse_dtypes(self, kind: Kind, args: Sequence[Any]) -> None:
        """Operands meet in a dtype of the kind's domain, and halves are there where they are wanted."""
        met = [self.dtype(a) for a in args if isinstance(a, str | np.ndarray)]
        if kind.operands in ("common", "float"):
            self.need(common(*met).kind in kind.domain)
        self.need(not self.tame or kind.operands != "float" or common(*met).is_float)

    def take(self, step: Step) -> str:
        """Enters a step where every call accepts it; returns its first name."""
        before = [{c.whole: c.whole.array for c in env.values()} for env in self.envs]
        made: list[list[Cell]] = []
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                for env in self.envs:
                    made.append(Oracle().apply(step, env))
                    for c in (made[-1] or [env[step.args[0]]]):
                        self.accept(c)
        except Refused:
            for old in before:
                for c, array in old.items():
                    c.array = array
            raise
        self.need(len({tuple(c.whole is c for c in cells) for cells in made}) == 1)     # as many, that share alike
        targets = tuple(self.fresh("v") for _ in made[0])
        self.steps.append(Step(targets, step.kind, step.args, step.attributes))
        for env, cells in zip(self.envs, made):
            env.update(zip(targets, cells))
        return targets[0] if targets else step.args[0]

    def accept(self, c: Cell) -> None:
        """Refuses what is too large, mostly not finite, or in tame programs not moderate."""
        self.need(c.array.size <= self.most and c.array.ndim <= 6)
        self.need(self.has("empty") or c.array.size > 0)
        if c.dtype.is_float and c.array.size:
            finite = np.isfinite(c.array)
            if self.tame:
                self.need(bool(finite.all()) and float(np.abs(c.array).max()) < TAME)
            else:
                self.need(bool(finite.mean() >= 0.5) or self.rng.random() < 0.05)

    def loop(self) -> None:
        """A scan: one or two states, some slices, and a body grown from them and from what stands outside."""
        small = self.names(lambda n: self.cell(n).array.size <= 2000 and self.dtype(n).kind in "fic")
        stacks = [n for n in small if self.ndim(n) and 1 <= self.shape(n)[0] <= 17]
        carries = [self.choose(small) for _ in range(self.integer(1, 2))]
        xs: list[str] = []
        if stacks and self.rng.random() < 0.9:
            xs = [self.choose(stacks)]
            xs += [n for n in stacks if self.shape(n)[0] == self.shape(xs[0])[0] and self.rng.random() < 0.3][:1]
        names = [self.fresh("c") for _ in carries] + [self.fresh("r") for _ in xs]
        body = self.body(names, carries, xs)
        ends = [body.carried(c) for c in names[:len(carries)]]
        local = [t for s in body.steps for t in s.targets] or names
        outputs = [body.choose(local[-4:]) for _ in range(self.integer(0 if carries else 1, 2))]
        made = Program(tuple(names), tuple(body.steps), (*ends, *outputs)).pruned(inputs=True)
        attributes = {"body": made, "carries": len(carries), "reverse": self.coin()}
        if not xs:
            attributes["length"] = self.integer(1, 4)
        self.take(Step((), "scan", (*carries, *xs), attributes))

    def body(self, names: Sequence[str], carries: Sequence[str], xs: Sequence[str]) -> Growth:
        """What grows inside of a loop or a branch, from operands, slices of others, and what stands outside."""
        inner = [dict(env) for env in self.envs]
        for env, new in zip(self.envs, inner):
            self.need(all(env[n].shape[0] > 0 for n in xs))
            new.update(zip(names, [*(Cell(env[n].array, env[n].dtype) for n in carries),
                                   *(Cell(env[n].array[0], env[n].dtype) for n in xs)]))
        features = self.features - {"in-place", "nested"} if self.outer is not None else self.features
        body = Growth(self.rng, features, inner, self.taken, self.dtypes, self.tame, self)
        body.most = 2000
        body.grow(self.integer(1, 6))
        return body

    def chosen(self) -> None:
        """A branch, or a loop that runs as often as an input says; calls differ in what they ask for."""
        small = self.names(lambda n: self.cell(n).array.size <= 2000 and self.dtype(n).kind in "fic")
        operands = [self.choose(small) for _ in range(self.integer(1, 2))]
        repeats = self.coin()
        of = type_named("int64" if repeats else self.choose(["bool", "int32"]))
        asked = self.added("k", [np.asarray(self.integer(0, 3 if repeats else 1), of.numpy) for _ in self.envs])
        made: dict[str, Program] = {}
        for attribute in ("body",) if repeats else ("body", "other"):
            names = [self.fresh("c") for _ in operands]
            body = self.body(names, operands, ())
            ends = [body.carried(c) for c in names]
            made[attribute] = Program(tuple(names), tuple(body.steps), tuple(ends)).pruned(inputs=True)
        self.take(Step((), "repeat_while" if repeats else "branch", (asked, *operands), made))

    def carried(self, c: str) -> str:
        """What a state becomes: something of its type, bounded where it is a float."""
        local = [t for s in self.steps for t in s.targets]
        fits = [n for n in local if all(env[n].shape == env[c].shape and env[n].dtype == env[c].dtype
                                        for env in self.envs)]
        if fits and self.rng.random() < 0.8:
            found = self.choose(fits)
            return self.take(Step((), "tanh", (found,))) if self.dtype(c).kind == "f" and self.coin() else found
        return self.take(Step((), "multiply", (c, 0.5))) if self.dtype(c).is_float else \
            self.take(Step((), "add", (c, 1)))


MAIN = ("float32",) * 8 + ("float64",) * 2 + ("float16", "bfloat16") * 2 + (
    "int32", "int64", "uint8", "uint32", "bool", "int8", "int16", "uint16", "uint64", "complex64", "complex64",
    "complex128")


def shapes(rng: np.random.Generator, size: str) -> list[tuple[int, ...]]:
    """Shapes of inputs that broadcast and multiply."""
    match size:
        case "edges":
            a, b = (int(rng.choice(numbers.EDGES)) for _ in range(2))
            return [(a, b), (b,), (1, b), (a, 1), (a,)]
        case "large":
            return [numbers.LARGE, numbers.LARGE[1:]]
        case "images":
            sizes = (1, 2, 3), (1, 2, 3, 4, 8, 16), (1, 2, 5, 7, 8, 9, 16), (1, 3, 5, 6, 8, 17)
            n, c, h, w = (int(rng.choice(k)) for k in sizes)
            return [(n, c, h, w), (c, 1, 1), (n, c, h, w), (n, c, 3, h, w), (n, c, h)]
        case _:
            full = tuple(int(n) for n in rng.choice(numbers.TINY, int(rng.integers(1, 4))))
            return [full, full, full[1:], tuple(1 if rng.random() < 0.5 else n for n in full), (full[-1], full[-1]), ()]


def random_program(seed: int, features: frozenset[str] = FEATURES) -> Program:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    large = "large" in features and rng.random() < 0.02
    size = "large" if large else str(rng.choice(["tiny"] * 10 + ["edges"] * 5 + ["images"] * 3))
    gradient = "gradient" in features and size != "large" and rng.random() < 0.35
    main = str(rng.choice(MAIN if not gradient else MAIN[:14]))
    special = float(rng.choice([0, 0, 0.02, 0.2])) if "special" in features and not gradient else 0.0
    halves = "half" in features
    main = main if halves or main not in ("float16", "bfloat16") else "float32"
    dtypes = [main, main, *(d for d in map(str, DTYPES) if halves or d not in ("float16", "bfloat16"))]
    opened = "open" in features and size in ("tiny", "images") and rng.random() < 0.25
    chosen = shapes(rng, size)
    at = int(rng.integers(len(chosen[0]))) if rng.random() < 0.3 else 0        # which axis is open
    counts = [chosen[0][at], *(int(n) for n in rng.choice([1, 2, 3, 5, 9, 16], 2))] if opened else [None]
    growth = Growth(rng, features, [{} for _ in counts], set(), dtypes, gradient)
    growth.most = 1_100_000 if size == "large" else numbers.MOST
    growth.special = special
    for k in range(int(rng.integers(1, 4)) if size != "large" else 1):
        shape = chosen[0] if k == 0 else chosen[int(rng.integers(len(chosen)))]
        of = type_named(main if k == 0 or rng.random() < 0.7 else str(rng.choice(dtypes[:-2] if gradient else dtypes)))
        full = len(shape) == len(chosen[0]) and shape[at:at + 1] == chosen[0][at:at + 1]
        sized = [(*shape[:at], n, *shape[at + 1:]) if n is not None and full and shape else shape for n in counts]
        if "empty" not in features and any(0 in s for s in sized):
            sized = [tuple(max(n, 1) for n in s) for s in sized]
        growth.added("x", [numbers.draw(rng, of, s, special, gradient) for s in sized])
    growth.grow(int(rng.integers(1, 4) if size == "large" else rng.integers(3, 16)))
    return finished(growth, gradient)


def finished(growth: Growth, gradient: bool) -> Program:
    """The program that a growth is, with one to four results."""
    names = [t for s in growth.steps for t in s.targets]
    written = [s.args[0] for s in growth.steps if s.kind in WRITES]
    pool = [*names, *written] or growth.inputs
    results = [growth.choose(pool[-8:]) for _ in range(growth.integer(1, 4))]
    if gradient:
        floats = [n for n in pool if growth.dtype(n).kind == "f"]
        results = list(dict.fromkeys([n for n in results if n in floats] or floats[-1:])) or results
        gradient = all(growth.dtype(n).kind == "f" for n in results)
    made = Program(tuple(growth.inputs), tuple(growth.steps), tuple(results), gradient,
                   tuple(tuple(a) for a in growth.arguments)).pruned()
    return replace(made, gradient=gradient and any(type_named(a.dtype).is_float for a in made.arguments[0]))
