"""What NumPy says of a program, in wider floats; and, run again with every rounding at random, how sure that is."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.ir.types import DType
from stele.ir.types import dtype as type_named
from tests.programs.complexes import BY_PARTS
from tests.programs.kinds import KINDS, WRITES, Kind, promoted, writes
from tests.programs.numbers import COARSE, F32, I64, Array, epsilon, joined, largest, smallest, wide
from tests.programs.program import VIEWS, Program, Step


class Cell:
    """What a name stands for: wide numbers, and the dtype they are of. What is written in place is written here.

    `logarithm` is its logarithm, where that is known though this may vanish.
    """

    def __init__(self, array: Array, dtype: DType) -> None:
        self.array, self.dtype, self.is_writable = array, dtype, True
        self.logarithm: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]: return self.array.shape
    @property
    def whole(self) -> Cell: return self

    def places(self) -> Array:
        """Where its elements lie in the whole, as an array whose memory lies as theirs."""
        return np.arange(self.array.size).reshape(self.shape)


class View(Cell):
    """A name for elements of another, or for one of their two parts."""

    def __init__(self, whole: Cell, at: Array, dtype: DType, part: str) -> None:
        self.of, self.at, self.dtype, self.part, self.logarithm = whole, at, dtype, part, None

    @property
    def shape(self) -> tuple[int, ...]: return self.at.shape
    @property
    def whole(self) -> Cell: return self.of
    def places(self) -> Array: return self.at

    @property
    def array(self) -> Array:
        found = self.of.array.reshape(-1)[self.at]
        return getattr(found, self.part) if self.part else found

    @array.setter
    def array(self, new: Array) -> None:
        made = np.array(self.of.array)
        x = getattr(made, self.part) if self.part else made
        x.flat[self.at.ravel()] = new.ravel()
        self.of.array = made


def views(kind: Kind, x: Cell, made: Sequence[Cell], attributes: dict[str, Any]) -> list[Cell]:
    """The results that in NumPy share memory with their operand, which lies row behind row, as its views."""
    at, parts = x.places(), kind.name in ("real", "imag") and x.dtype.is_complex
    found = at if parts else kind.numpy(at, **attributes)
    results: list[Cell] = []
    for y, c in zip(found if isinstance(found, list) else [found], made, strict=True):
        if kind.name == "diagonal":
            y.setflags(write=at.flags.writeable)    # NumPy means to allow that, and PyTorch does
        part = kind.name if parts else x.part if isinstance(x, View) else ""
        results.append(View(x.whole, y, c.dtype, part) if np.shares_memory(at, y) else c)
        results[-1].is_writable = y.flags.writeable and (x.is_writable or results[-1] is c)
    return results


Env = dict[str, Cell]
VANISHING_BELOW = 1.5   # of the least normal number: `exp` and `sigmoid` give zero there
PRODUCTS = ("matmul", "einsum", "conv2d", "convolution", "conv_transpose")
"""For programs with these, subnormal numbers are zero (docs/convolution.md)."""
VANISHING = ("exp", "sigmoid", "softmax")


class Oracle:
    """Runs programs in NumPy.

    Without a generator nothing is rounded; with one, every result is off by a few roundings at random, zeros
    have random signs, and what is subnormal or nearly so may be zero. `limits`: what a dtype cannot hold is infinite.
    `held`: every result is rounded as its dtype does. What arithmetic makes of complex numbers with a part that is not
    finite, or nearly too large, may be anything: NumPy says little of it.
    `shares`: parts share the numbers of the whole, which only programs that write see.
    """

    def __init__(self, rng: np.random.Generator | None = None, limits: bool = True, held: bool = False) -> None:
        self.rng, self.limits, self.held, self.shares = rng, limits, held, True

    def run(self, program: Program, arrays: Sequence[Array]) -> tuple[list[Cell], list[Cell]]:
        """The results, and the inputs as they are afterwards."""
        env = {n: held(a) for n, a in zip(program.inputs, arrays)}
        self.shares = writes(program)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            if self.rng is not None and any(s.law in PRODUCTS for s in program.steps):
                env = {n: self.settled(c.array, c.dtype, False) for n, c in env.items()}
            given = list(env.values())
            return self.steps(program, env), given

    def steps(self, program: Program, env: Env) -> list[Cell]:
        for step in program.steps:
            env.update(zip(step.targets, self.apply(step, env), strict=True))
        return [env[n] for n in program.results]

    def apply(self, step: Step, env: Env) -> list[Cell]:
        """One step's results; what a step writes in place is written."""
        if step.kind == "scan":
            return self.scan(step, env)
        if step.kind in ("branch", "repeat_while"):
            return self.chosen(step, env)
        if step.kind == "alias":
            return [env[step.args[0]]]
        kind = KINDS[step.law]
        cells = [env[a] if isinstance(a, str) else held(a) if isinstance(a, np.ndarray) else a for a in step.args]
        made = self.call(kind, cells, step.attributes)
        if step.law in VIEWS and self.shares:
            return views(kind, cells[0], made, step.attributes)
        if step.law in WRITES:
            (target,), cell = made, cells[0]
            if not cell.is_writable:
                raise ValueError("written in place, but read-only")
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
        noise = "rounded" if kind.name == "abs" and dtypes[0].is_complex else kind.noise
        if noise != "exact" and kind.name not in BY_PARTS:
            numbers = [self.unsure(x, d) for x, d in zip(numbers, dtypes)]
        numbers[:1] = [kind.prepare(x) for x in numbers[:1]]
        if self.rng is not None and noise in ("sum", "coarse"):
            numbers = [self.noisy(x, d, noise == "coarse", x.size ** 0.25) for x, d in zip(numbers, dtypes)]
        y = kind.numpy(*numbers, **attributes)
        is_lost = noise in ("sum", "coarse") and overflows(kind, numbers, dtypes, attributes)
        if self.rng is not None and is_lost:
            y = self.anything(np.shape(y)).astype(np.asarray(y).dtype)
        if self.rng is not None and kind.name == "fourier" and np.iscomplexobj(y):  # of real numbers too in both parts
            top = epsilon(dtypes[0]) * np.max(np.abs(y), initial=0, where=np.isfinite(y))
            y = y + top * (self.rng.uniform(-1, 1, y.shape) + 1j * self.rng.uniform(-1, 1, y.shape))
        if self.rng is not None and kind.name == "einsum":      # which sum of infinities, or of nothing, comes first
            sure = np.isfinite(y) & (all(x.size for x in numbers) or all(np.isfinite(x).all() for x in numbers))
            y = np.where(sure, y, self.anything(np.shape(y)).astype(np.asarray(y).dtype))
        if self.rng is not None and kind.name in ("equal", "not_equal") and dtypes[0].is_float:
            a, b = numbers
            least = smallest(dtypes[0])
            room = 4 * epsilon(dtypes[0]) * np.maximum(np.maximum(np.abs(a), np.abs(b)), least)
            near = (a != b) & (np.abs(a - b) <= room + least * (dtypes[0].name != "float16"))
            y = np.where(near, self.rng.random(y.shape) < 0.5, y)
        if self.rng is not None and kind.name in ("unique", "unique_parts") and dtypes[0].is_float:
            y = kind.numpy(self.coarser(numbers[0], dtypes[0]), **attributes)
        is_real = dtypes[0].kind == "f" and not isinstance(y, list) and not np.iscomplexobj(y)
        if not self.limits and is_real and np.shape(y) == numbers[0].shape:
            y = unlimited(kind, numbers[0], y)
            known = cells[0].logarithm if isinstance(cells[0], Cell) else None
            if known is not None and (kind.name == "log" or (kind.name == "subtract" and cells[1:] == [1])):
                y = known if kind.name == "log" else np.expm1(known)
            y = over_own_root(*numbers, y) if kind.name == "divide" or attributes.get("symbol") == "/" else y
        several = isinstance(y, list)
        made = y if several else [y]
        results = kind.result(dtypes, attributes) * (len(made) if several else 1)
        if self.rng is not None and not is_lost and dtypes[0].is_float and \
                (shift := shifts(kind, numbers, attributes, y, dtypes[0])) is not None:
            made = [self.shifted(y, shift * epsilon(dtypes[0]))]
        by_parts = kind.name in BY_PARTS
        found = [self.settled(np.asarray(a), d, noise != "exact", by_parts) for a, d in zip(made, results)]
        if kind.name in ("exp", "sigmoid") and is_real:
            found[0].logarithm = numbers[0] if kind.name == "exp" else -np.logaddexp(0, -numbers[0])
        return found

    def converted(self, c: Any, d: DType) -> Array:
        """An operand in the dtype in which it meets others."""
        if not isinstance(c, Cell):
            return np.asarray(np.asarray(c, d.numpy), wide(d))
        if c.dtype == d:
            return c.array
        return self.settled(c.array.astype(wide(d)), d, c.dtype.kind in "iu" and d.is_float, True).array

    def settled(self, y: Array, d: DType, inexact: bool, by_parts: bool = False) -> Cell:
        """A result of a dtype; the parts of complex numbers are off by as much as the whole unless rounded apart."""
        y = np.asarray(y).astype(wide(d))
        if not d.is_float:
            return Cell(y, d)
        if d.is_complex:
            y = self.noisy(self.unsure(y, d), d, False, 1.0) if inexact and not by_parts else y
            return Cell(joined(*(self.settled(p, d.real, inexact).array for p in (y.real, y.imag))), d)
        if self.rng is not None:
            y = self.noisy(y, d, False, 1.0) if inexact or COARSE else y     # what is moved may be rounded, too
            may_vanish = (np.abs(y) < VANISHING_BELOW * smallest(d)) & (d.name != "float16")
            none = (y == 0) | (may_vanish & (self.rng.random(y.shape) < 0.5))
            y = np.where(none, np.copysign(0.0, self.rng.uniform(-1, 1, y.shape)), y)
        if self.held:
            y = y.astype(d.numpy).astype(wide(d))
        if self.limits:
            y = np.where(np.abs(y) > largest(d), np.copysign(np.inf, y), y)
        return Cell(y, d)

    def noisy(self, x: Array, d: DType, coarse: bool, times: float) -> Array:
        """Numbers a few roundings away: of their own size, and where `coarse` of the largest."""
        if not d.is_float or self.rng is None:
            return x
        amount = (self.rng.uniform(-2, 2, x.shape) if self.held else away(self.rng, x.shape)) * epsilon(d) * times
        if d.is_complex:
            amount = amount * np.exp(2j * np.pi * self.rng.random(x.shape))
        size = np.where(x == 0, 0, np.maximum(np.abs(x), smallest(d)))
        if coarse:
            size = np.maximum(size, 4 * np.max(np.abs(x), initial=0, where=np.isfinite(x)))
        return np.where(np.isfinite(x), x + size * amount, x)

    def unsure(self, x: Array, d: DType) -> Array:
        """Complex numbers of which NumPy says little are anything."""
        if not d.is_complex or self.rng is None:
            return x
        lost = ~np.isfinite(x) | (np.abs(x) > largest(d) / 4)
        return np.where(lost, joined(self.anything(x.shape), self.anything(x.shape)), x) if lost.any() else x

    def coarser(self, x: Array, d: DType) -> Array:
        """Numbers that were rounded, on a grid of one to eight units in the last place: how many of them are the same
        depends on which numbers of their dtype a function reaches.
        """
        assert self.rng is not None
        part, power = np.frexp(x)
        step = epsilon(d) * self.rng.uniform(0.5, 4)
        return np.where(np.isfinite(x) & (x != x.astype(d.numpy)), np.ldexp(np.rint(part / step) * step, power), x)

    def anything(self, shape: tuple[int, ...]) -> Array:
        """What a sum may be whose terms are too large: of any kind, or of any order, since a stable sort by kinds alone
        always begins and ends alike.
        """
        assert self.rng is not None
        if self.rng.random() < 0.5:
            return self.rng.choice([np.nan, np.inf, -np.inf, 0], shape)
        return self.rng.standard_normal(shape) * 10 ** self.rng.uniform(-30, 30)

    def shifted(self, y: Array, by: Array) -> Array:
        """Results off by up to two roundings of the given size; multiples of one where they are held, half of those
        that may vanish zero.
        """
        assert self.rng is not None
        if not self.held:
            return y + by * self.rng.uniform(-2, 2, np.shape(y))
        by = np.where(by == 0, 1, by)
        moved = by * (np.rint(y / by) + self.rng.integers(-2, 3, np.shape(y)))
        return np.where((np.abs(y) < 2 * np.abs(by)) & (self.rng.random(np.shape(y)) < 0.5), 0.0, moved)

    def scan(self, step: Step, env: Env) -> list[Cell]:
        """The loop written out."""
        body, count = step.attributes["body"], step.attributes["carries"]
        carry = [env[a] for a in step.args[:count]]
        stacks = [Cell(env[a].array.copy(), env[a].dtype) for a in step.args[count:]]   # as they are when it begins
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
            made = [Cell(c.array.copy(), c.dtype) for c in made]    # what later steps write does not reach them
            carry = made[:count]
            rows.append(made[count:])
        rows = rows[::-1] if step.attributes["reverse"] else rows
        if not rows and len(body.results) > count:
            raise ValueError("a loop of no steps has outputs of no known shape")
        last = [Cell(c.array, c.dtype) for c in carry]
        return [*last, *(Cell(np.stack([r.array for r in ys]), ys[0].dtype) for ys in zip(*rows))]


    def chosen(self, step: Step, env: Env) -> list[Cell]:
        """The branch that an operand names, or the body as often as it says."""
        first, *operands = [env[a] for a in step.args]
        state = [Cell(c.array, c.dtype) for c in operands]
        body, count = step.attributes["body"], int(first.array)
        if step.kind == "branch":
            body, count = step.attributes["body" if count > 0 else "other"], 1
        for _ in range(count):
            made = self.steps(body, {**env, **dict(zip(body.inputs, state))})
            if [(c.shape, c.dtype) for c in made] != [(c.shape, c.dtype) for c in operands]:
                raise ValueError("what is carried changes its type")
            state = [Cell(c.array.copy(), c.dtype) for c in made]
        return state


def away(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random numbers from 1 to 2, of either sign."""
    u = rng.uniform(-1, 1, shape)
    return u + np.copysign(1.0, u)


def shifts(kind: Kind, x: Sequence[Array], attributes: dict[str, Any], y: Array, d: DType) -> Any:
    """What a result's roundings are relative to where that is neither the result nor an operand's element: None
    elsewhere.
    """
    if kind.noise == "tail":
        return x[0]
    if kind.name in ("log_softmax", "cross_entropy", "logsumexp"):      # the logarithm of a sum near one
        return np.asarray(1.0)
    if kind.name == "logaddexp":                            # the larger operand, to which up to log(2) is added
        return np.maximum(np.abs(y), np.abs(np.maximum(x[0], x[1])))
    if kind.name == "slogdet":                              # the logarithms of as many numbers near one
        return np.asarray(float(x[0].shape[-1]))
    if kind.name in ("lgamma", "digamma") and d.bits == 64:     # the reference's terms, which cancel where it vanishes
        a = 2 + np.abs(x[0])
        return np.maximum(np.abs(y), np.log(a) * (a if kind.name == "lgamma" else 1))
    if kind.name == "polygamma" and d.bits == 64:               # below zero two such terms
        return np.where(x[0] < 0, np.maximum(np.abs(y), np.abs(kind.numpy(1 - x[0], **attributes))), np.abs(y))
    if kind.name == "silu":                                 # x times a sigmoid that may vanish
        vanishing = (np.abs(y) < VANISHING_BELOW * smallest(d) * np.abs(x[0])) & (d.name != "float16")
        return np.abs(y) / np.where(vanishing, epsilon(d), 1)
    if kind.name == "softmax":                              # all are divided by one sum, with the roundings that it has
        return np.abs(y) * max(1, x[0].shape[attributes["axis"]] / 16) ** 0.5
    if kind.name in ("normalize", "layer_norm"):            # what is subtracted is a mean
        axis = attributes.get("axis", -1)
        spread = np.sqrt(x[0].var(axis=axis, keepdims=True) + 1e-5)
        return np.abs(x[0]).max(axis=axis, keepdims=True, initial=0) / spread * (np.abs(x[1]) if len(x) > 1 else 1)
    if kind.noise == "sum" and x[0].size > 4096 and isinstance(y, np.ndarray | np.generic):
        return np.abs(y) * x[0].size ** 0.25                # the same number, added ever so often, is rounded alike
    return None


def unlimited(kind: Kind, x: Array, y: Array) -> Array:
    """Results of finite numbers, those too large for wide floats as well, and those too small of what is never zero."""
    far, ends = np.isfinite(x) & (np.abs(x) > 700), np.finfo(np.float64)
    y = np.where(far & np.isinf(y), np.copysign(ends.max, y), y)
    return np.where((far | (kind.name == "softmax")) & (kind.name in VANISHING) & (y == 0), ends.tiny, y)


def over_own_root(x: Array, z: Array, y: Array) -> Array:
    """x / sqrt(x) is sqrt(x), which is defined at zero and at infinity too."""
    is_root = x.shape == z.shape and np.allclose((z * z)[x >= 0], x[x >= 0], rtol=1e-3, atol=0)
    return np.where((x == z) & np.isnan(y), z, y) if is_root else y


def overflows(kind: Kind, numbers: Sequence[Array], dtypes: Sequence[DType], attributes: dict[str, Any]) -> bool:
    """Whether sums of squares or products of operands may be infinite on the way to a finite result, or vanish."""
    if kind.name in ("prod", "cumulative_prod") and dtypes[0].is_float:
        x, d = numbers[0], F32 if dtypes[0].bits == 16 else dtypes[0]
        powers = np.log(np.abs(x), out=np.zeros(x.shape), where=np.isfinite(x) & (x != 0))
        up, down = (side.sum(axis=attributes["axis"]) for side in (np.maximum(powers, 0), np.minimum(powers, 0)))
        return bool((up > np.log(largest(d))).any() or (down < np.log(smallest(d))).any())
    for x, d in zip(numbers, dtypes):
        if d.is_float and x.size:
            size = np.abs(x[np.isfinite(x) & (x != 0)])
            limits = F32 if d.bits == 16 else d
            if size.size and (size.max() > (largest(limits) / x.size) ** 0.5 or size.min() < smallest(limits) ** 0.5):
                return True
    return False


def weak(number: Any, beside: DType) -> DType:
    """The dtype of a number beside an array: the array's, unless it is of a lower kind. Numbers of NumPy's are numbers,
    but that among bools they keep their dtype."""
    own = np.asarray(number).dtype.kind
    if own in "fc":
        return beside if beside.is_float else F32
    if own == "b" or beside.kind != "b":
        return beside
    return type_named(number.dtype) if isinstance(number, np.generic) else I64


def held(a: Array) -> Cell:
    d = type_named(a.dtype)
    return Cell(a.astype(wide(d)), d)
