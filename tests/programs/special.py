"""Special functions, what is beside the elementary ones, and numbers at random: arguments, and what NumPy says."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stele as st
from stele.ir.types import DType
from stele.ir.types import dtype as type_named
from stele.ops.elementwise import references
from stele.ops.random import RandomBits
from tests.programs.kind import INT, Kind, Made, alone, floats, inside, named, paired, place
from tests.programs.numbers import Array
from tests.programs.program import Step

if TYPE_CHECKING:
    from tests.programs.grammar import Growth

FEW = 600       # elements that the references, which know one number at a time, are asked for


def few(make: Callable[[Growth, str], Made]) -> Callable[[Growth, str], Made]:
    """The same arguments, of arrays that are not large."""
    def made(g: Growth, x: str) -> Made:
        args, attributes = make(g, x)
        g.need(np.broadcast(*(np.empty(g.shape(a)) for a in args if isinstance(a, str))).size <= FEW)
        return args, attributes
    return made


def ordered(g: Growth, x: str) -> Made:
    """The number of a derivative."""
    return (x,), {"n": g.integer(1, 3)}


def scaled(g: Growth, x: str) -> Made:
    return (x,), {"power": g.integer(-6, 6)}


def above_one(g: Growth, x: str) -> Made:
    """Two operands, where they are large enough for a sum to converge."""
    (x, z), _ = paired(g, x)
    made = tuple(g.take(Step((), "exp", (a,))) if isinstance(a, str) else abs(a) + 0.5 for a in (x, z))
    return (g.take(Step((), "add", (made[0], 1.0))) if isinstance(made[0], str) else made[0] + 1, made[1]), {}


def entr(x: Array) -> Array:
    return np.where(x == 0, 0, np.where(x < 0, -np.inf, -x * np.log(np.abs(x))))


def times(f: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """x f(z), and 0 where x is, unless z is not a number."""
    return lambda x, z: np.where((x == 0) & ~np.isnan(z), 0, x * f(z))


def exponent(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0)


def whole32(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return type_named("int32"),


def one(name: str, **changes: Any) -> Kind:
    """A function of one number, in the words of `references`."""
    return floats(name, getattr(references, name), **{"make": few(alone), "weight": 0.3, **changes})


def two(name: str, numpy: Callable[..., Array], **changes: Any) -> Kind:
    return Kind(name, getattr(st, name), numpy, **{"make": paired, "domain": "f", "noise": "rounded", "weight": 0.4,
                                                   **changes})


def signed(x: Any) -> Any:
    """x, and 1 for what is not a number, whose sign no law says."""
    if isinstance(x, np.generic):       # which stays a number, of no dtype beside tensors
        return x if x == x else type(x)(1)
    f = np if isinstance(x, np.ndarray) else st
    return f.where(x == x, x, f.ones_like(x)) if hasattr(x, "shape") else x


SPECIAL = (
    *map(one, ("lgamma", "digamma", "erfcx", "ndtr", "log_ndtr", "sinc")),
    one("erfinv", make=few(inside("tanh"))), one("ndtri", make=few(inside("sigmoid"))),
    *(floats(name, lambda x, order=order, is_scaled=is_scaled: references.bessel(x, order, is_scaled), make=few(alone),
             weight=0.3) for name, order, is_scaled in (("i0", 0, False), ("i0e", 0, True), ("i1", 1, False),
                                                        ("i1e", 1, True))),
    Kind("polygamma", lambda x, n: st.polygamma(n, x), references.polygamma, few(ordered), "f", noise="rounded",
         weight=0.4),
    two("zeta", references.zeta, make=few(above_one)),
    floats("logit", lambda x: np.log(x / (1 - x)), make=inside("sigmoid"), weight=0.3),
    floats("entr", entr, weight=0.5),
    two("xlogy", times(np.log)), two("xlog1py", times(np.log1p)), two("atan2", np.arctan2),
    Kind("copysign", lambda x, z: st.copysign(x, signed(z)), lambda x, z: np.copysign(x, signed(z)), paired, "f",
         weight=0.4),
    two("nextafter", np.nextafter),
    two("heaviside", np.heaviside, noise="exact", smooth=False),
    Kind("mantissa", lambda x: st.frexp(x)[0], lambda x: np.frexp(x)[0], alone, "f", weight=0.3),
    Kind("exponent", lambda x: st.frexp(x)[1], exponent, alone, "f", result=whole32, smooth=False, weight=0.3),
    Kind("ldexp", lambda x, power: st.ldexp(x, power), lambda x, power: np.ldexp(x, power), scaled, "f", weight=0.3),
    two("gcd", np.gcd, domain=INT, noise="exact", smooth=False),
    two("lcm", np.lcm, domain=INT, noise="exact", smooth=False),
)


# Numbers at random, by counters: functions of a seed and a shape

def seeded(g: Growth, x: str) -> Made:
    """A seed, and numbers whose shape is drawn: exact ones, since what is drawn depends on every bit of them. The dtype
    is where a draw is converted to: in the law of gradients a wider one, of the same numbers."""
    g.need(g.cell(x).array.size <= FEW)
    return (x,), {"seed": g.integer(0, 2**40), "dtype": "float32"}


def rates(x: Any) -> Any:
    """From 0 to 12 in half steps, as many as x has elements."""
    return np.remainder(x, 25) / 2 if isinstance(x, np.ndarray) else st.remainder(x.astype("int64"), 25) / 2


def stream(seed: int) -> list[Any]:
    """The first key of a seed, in words."""
    return [np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32), np.uint32(0), np.uint32(0)]


def drawn(x: Array, seed: int, dtype: str) -> Array:
    """Numbers uniform in [0, 1), of 24 bits."""
    return (RandomBits(x.shape).reference(*stream(seed)) >> np.uint32(8)) * 2.0**-24


def by_tries(distribution: str) -> Callable[[Array, int, str], Array]:
    """What NumPy draws on a Philox counter of its own."""
    def numpy(x: Array, seed: int, dtype: str) -> Array:
        rng = np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, 0, 0]))     # type: ignore[arg-type]
        return np.asarray(getattr(rng, distribution)(rates(x.astype(np.int64))))
    return numpy


STARTED: list[tuple[st.random.Generator, int]] = []     # by one function, with their seeds


def started(seed: int) -> st.random.Generator:
    """A generator at the beginning of the stream of a seed."""
    STARTED.append((st.random.default_rng(seed), seed))
    return STARTED[-1][0]


DRAWS = (
    Kind("random", lambda x, seed, dtype: started(seed).random(x.shape).astype(dtype), drawn, seeded, "biuf",
         result=named, operands="own", smooth=False),
    Kind("poisson", lambda x, seed, dtype: started(seed).poisson(rates(x)), by_tries("poisson"), seeded, "biu",
         result=place, operands="own", smooth=False, weight=0.5),
    Kind("gamma", lambda x, seed, dtype: started(seed).standard_gamma(rates(x)).astype(dtype),
         by_tries("standard_gamma"), seeded, "biu", result=named, operands="own", noise="rounded", smooth=False,
         weight=0.5),
)


# Functions of functions

SQUARED = st.custom_gradient(lambda x: (x * x, lambda g: g * x * 2))


def seen(x: st.Tensor) -> st.Tensor:
    """The square of x, whose gradient a hook sees, and leaves as it is."""
    y = x * x
    if y.requires_grad:
        y.register_hook(lambda g: g * 1)
    return y


def rows(g: Growth, x: str) -> Made:
    """A seed, and as many places as x has rows."""
    g.need(len(g.shape(x)) > 0)
    return seeded(g, x)


def by_row(rng: st.random.Generator, x: st.Tensor) -> st.Tensor:
    """Numbers for each row of x, drawn where the row is all there is."""
    return st.vmap(lambda row: rng.random(row.shape))(x)


def drawn_apart(x: Array, seed: int, dtype: str) -> Array:
    """Numbers uniform in [0, 1) in each row, by a key of its own, which the first draw makes."""
    keys = RandomBits((len(x), 4)).reference(*stream(seed))
    bits = [RandomBits(x.shape[1:]).reference(*key) for key in keys]
    return np.reshape(bits, x.shape).astype(np.uint32) // 256 * 2.0**-24


def settled(x: Array) -> Array:
    """The y that is tanh(y) / 4 + x."""
    y = x
    for _ in range(40):
        y = np.tanh(y) / 4 + x
    return y


HIGHER = (
    Kind("squared_by_hand", lambda x: SQUARED(x), lambda x: x * x, alone, "f", noise="rounded", weight=0.5),
    Kind("seen", seen, lambda x: x * x, alone, "f", noise="rounded", weight=0.5),
    Kind("fixed_point", lambda x: st.fixed_point(lambda y: st.tanh(y) / 4 + x, x, tol=0, max_steps=40), settled, alone,
         "f", noise="coarse", weight=0.3),
    Kind("drawn_apart", lambda x, seed, dtype: by_row(started(seed), x).astype(dtype), drawn_apart, rows, "biuf",
         result=named, operands="own", smooth=False, weight=0.5),
)
