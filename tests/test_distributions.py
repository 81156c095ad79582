"""The distributions of NumPy's Generator: their laws, in every style, on any number of threads."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DataError, DTypeError, ShapeError, TraceError

COUNT = 4000
# By its name: the arguments of a draw.
FLOATS: dict[str, tuple[Any, ...]] = {
    "random": (), "uniform": (-1.0, 3.0), "standard_normal": (), "normal": (2.0, 3.0), "lognormal": (0.5, 0.75),
    "standard_exponential": (), "exponential": (2.5,), "standard_gamma": (0.7,), "gamma": (3.0, 2.0),
    "chisquare": (5.0,), "noncentral_chisquare": (3.0, 2.0), "f": (6.0, 12.0), "noncentral_f": (6.0, 12.0, 2.0),
    "standard_t": (5.0,), "beta": (0.5, 2.0), "gumbel": (1.0, 2.0), "laplace": (1.0, 2.0), "logistic": (1.0, 2.0),
    "pareto": (3.0,), "power": (2.5,), "weibull": (1.7,), "rayleigh": (2.0,), "standard_cauchy": (),
    "triangular": (-1.0, 0.5, 4.0), "vonmises": (0.5, 2.0), "wald": (2.0, 3.0)}
WHOLES: dict[str, tuple[Any, ...]] = {
    "integers": (3, 40), "poisson": (6.5,), "binomial": (20, 0.3), "negative_binomial": (4.0, 0.4),
    "geometric": (0.2,), "hypergeometric": (15, 25, 10), "logseries": (0.8,), "zipf": (2.5,)}
MANY = FLOATS | WHOLES
ROWS: dict[str, tuple[Any, ...]] = {"dirichlet": ([0.5, 2.0, 3.0],), "multinomial": (12, [0.2, 0.3, 0.5]),
                                    "multivariate_normal": ([1.0, -1.0], [[2.0, 1.0], [1.0, 1.0]])}


def drawn(name: str, *args: Any, **kwargs: Any) -> Any:
    """Numbers of a new generator."""
    return getattr(st.random.default_rng(11), name)(*args, **kwargs).numpy()


def distance(x: Any, z: Any) -> float:
    """How far two empirical distributions are apart at most (Kolmogorov and Smirnov)."""
    every = np.concatenate([x, z])
    sides = (np.searchsorted(np.sort(v), every, side="right") / len(v) for v in (x, z))
    a, b = sides
    return float(np.abs(a - b).max())


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_follow_the_law_of_numpys(name: str, dtype: str) -> None:
    if name in WHOLES and dtype == "float64":
        return
    given: dict[str, Any] = {"dtype": dtype} if name in FLOATS else {}
    made = drawn(name, *MANY[name], size=COUNT, **given)
    law = getattr(np.random.default_rng(5), name)(*MANY[name], size=8 * COUNT)
    assert made.dtype == (dtype if name in FLOATS else "int64") and made.shape == (COUNT,)
    # beyond 1.95 * sqrt(1 / n + 1 / m) once in a thousand
    assert distance(made.astype(float), law) < 1.95 * math.sqrt(1 / COUNT + 1 / (8 * COUNT))
    inside = [np.clip(v, *np.quantile(law, [0.001, 0.999])) for v in (made.astype(float), law)]
    assert abs(inside[0].mean() - inside[1].mean()) < 4.5 * inside[1].std() / math.sqrt(COUNT)
    assert abs(inside[0].std() / inside[1].std() - 1) < 0.15


@pytest.mark.parametrize("name", ROWS)
def test_vectors_have_the_means_and_covariances_of_numpys(name: str) -> None:
    made = drawn(name, *ROWS[name], size=COUNT)
    law = getattr(np.random.default_rng(5), name)(*ROWS[name], size=8 * COUNT)
    assert made.shape == (COUNT, len(law[0]))
    np.testing.assert_allclose(made.mean(0), law.mean(0), atol=5 * float(law.std()) / math.sqrt(COUNT))
    np.testing.assert_allclose(np.cov(made.T), np.cov(law.T), atol=0.1 * np.cov(law.T).max())


def every(rng: Any, size: tuple[int, ...] = (2, 5)) -> list[Any]:
    """Numbers of all distributions, one after the other."""
    return [getattr(rng, name)(*args, size=size) for name, args in (MANY | ROWS).items()]


def said(made: Any) -> list[Any]:
    """The numbers themselves."""
    return [y.tolist() for y in made]


def test_the_three_styles_draw_the_same_and_go_on() -> None:
    plain, traced, written = (st.random.default_rng(3) for _ in range(3))
    law = [said(every(plain)) for _ in range(3)]
    assert all(a != b for a, b in zip(law[0], law[1]))
    compiled = st.compile(lambda: every(traced))
    assert said(compiled()) == law[0] and said(compiled()) == law[1] and compiled.compiles == 1
    f = st.function([], every(written))     # writing them down was the first time
    assert said(f()) == law[1] and said(f()) == law[2]
    assert plain.state.tolist() == written.state.tolist()


def test_two_generators_in_one_function_and_a_loop_keep_their_streams() -> None:
    def draws(a: Any, b: Any) -> Any:
        _, rows = st.scan(lambda c, _: (c, a.normal(size=3)), st.zeros(()), None, length=4)
        return rows, b.poisson(4.0, size=3), a.random(2), b.random(2)

    one, two, three = (tuple(map(st.random.default_rng, (1, 2))) for _ in range(3))
    law = [said(draws(*one)) for _ in range(3)]
    compiled = st.compile(lambda: draws(*two))
    assert [said(compiled()) for _ in range(3)] == law
    written = st.function([], draws(*three))
    assert [said(written()) for _ in range(2)] == law[1:]
    assert [g.state.tolist() for g in one] == [g.state.tolist() for g in two] == [g.state.tolist() for g in three]


def test_threads_change_nothing() -> None:
    threads = st.get_threads()
    found: list[Any] = []
    try:
        for n in (1, 3):
            st.set_threads(n)
            found.append(said(st.eval(*every(st.random.default_rng(1), (70, 50)))))
    finally:
        st.set_threads(threads)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [n for n in FLOATS if FLOATS[n] and n != "random"] + list(WHOLES)[1:])
def test_parameters_broadcast(name: str) -> None:
    first, *rest = MANY[name]
    wide = np.array([[first], [first]])
    made = drawn(name, wide, *rest, size=(2, 3))
    assert made.shape == (2, 3) and drawn(name, wide, *rest).shape == (2, 1)
    assert drawn(name, *MANY[name], size=()).shape == () == drawn(name, *MANY[name]).shape
    assert drawn(name, *MANY[name], size=(0, 3)).shape == (0, 3)
    with pytest.raises(ShapeError, match="make no numbers of the size"):
        drawn(name, wide, *rest, size=3)
    law = drawn(name, *MANY[name], size=(2, 3))
    np.testing.assert_allclose(made, law, rtol=1e-5)    # arrays of one number are that number
    assert name in WHOLES or made.dtype == "float64"


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_reach_both_ends_of_every_dtype(dtype: str) -> None:
    info = np.iinfo(dtype) if dtype != "bool" else None
    low, high = (int(info.min), int(info.max)) if info else (0, 1)
    x = drawn("integers", low, high, size=20000, dtype=dtype, endpoint=True)
    assert x.dtype == dtype
    middle = x.astype(float).mean()
    assert abs(middle - (low + high) / 2) < 0.02 * (high - low)
    quarters = np.array([low + (high - low) * k // 4 for k in range(1, 4)], object)
    shares = [float(np.mean([int(v) <= q for v in x[:4000]])) for q in quarters]
    assert dtype == "bool" or np.allclose(shares, [0.25, 0.5, 0.75], atol=0.04)
    if dtype in ("bool", "int8", "uint8"):
        assert x.min() == low and x.max() == high
    assert (drawn("integers", high, high, size=4, dtype=dtype, endpoint=True) == high).all()
    assert (st.randint(low, low + 1, (4,), dtype=dtype).numpy() == low).all()


def test_integers_of_arrays_and_wrong_bounds() -> None:
    x = drawn("integers", np.array([0, 10]), np.array([3, 11]), size=(500, 2))
    assert set(x[:, 0].tolist()) == {0, 1, 2} and set(x[:, 1].tolist()) == {10}
    for args, kwargs in (((3, 3), {}), ((-1, 3), {"dtype": "uint8"}), ((0, 257), {"dtype": "uint8"})):
        with pytest.raises(ShapeError, match="low < high"):
            drawn("integers", *args, **kwargs)
    with pytest.raises(DTypeError, match="integer dtype"):
        drawn("integers", 3, dtype="float32")
    with pytest.raises(ArgumentError):
        drawn("integers", 1.5)


def test_choices_and_permutations() -> None:
    rng: Any = st.random.default_rng(0)
    x = st.arange(12).reshape(4, 3)
    assert sorted(rng.choice(6, size=6, replace=False).tolist()) == list(range(6))
    assert rng.choice(x, size=(2, 2), axis=1).shape == (4, 2, 2)
    heavy = rng.choice(3, size=4000, p=[0.7, 0.2, 0.1]).numpy()
    assert np.allclose(np.bincount(heavy) / 4000, [0.7, 0.2, 0.1], atol=0.03)
    pairs: Any = np.stack([rng.choice(3, size=2, replace=False, p=[0.6, 0.3, 0.1]).numpy() for _ in range(400)])
    assert (pairs[:, 0] != pairs[:, 1]).all() and abs((pairs[:, 0] == 0).mean() - 0.6) < 0.1
    assert sorted(map(str, rng.permutation(x).tolist())) == sorted(map(str, x.tolist()))
    each = rng.permuted(st.broadcast_to(st.arange(50), (20, 50)), axis=1).numpy()
    assert (np.sort(each) == np.arange(50)).all() and len({str(row) for row in each}) == 20
    first = np.stack([rng.permutation(4).numpy() for _ in range(600)])[:, 0]
    assert np.allclose(np.bincount(first) / 600, 0.25, atol=0.06)
    assert sorted(rng.permuted(x).flatten().tolist()) == list(range(12))
    y = st.arange(20)
    rng.shuffle(y)
    assert sorted(y.tolist()) == list(range(20)) != y.tolist()
    assert len(rng.bytes(13)) == 13 and rng.bytes(0) == b""
    with pytest.raises(ShapeError, match="without replacement"):
        rng.choice(3, size=4, replace=False)
    with pytest.raises(ShapeError, match="one chance for each"):
        rng.choice(3, p=[0.5, 0.5])
    with pytest.raises(ArgumentError, match="a tensor"):
        rng.shuffle([1, 2])
    with pytest.raises(TraceError):
        st.compile(lambda: st.tensor(len(rng.bytes(3))))()


def test_pytorchs_functions() -> None:
    st.manual_seed(1)
    p = st.tensor([[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]])
    rows = st.multinomial(p, 4000, replacement=True).numpy()
    assert abs((rows[0] == 2).mean() - 0.75) < 0.03 and (rows[1] == 1).all()
    with pytest.raises(ShapeError, match="replacement=True"):
        st.multinomial(p, 4)
    there: Any = st
    assert there.randperm(5).dtype == "int64"
    assert st.bernoulli(st.full((4000,), 0.3)).float().mean() < 0.35
    assert st.poisson(st.full((4000,), 3.0)).dtype == "float32"
    assert st.normal(st.tensor([1.0, 2.0]), 0.0).tolist() == [1.0, 2.0]
    assert st.randint(5, (3,)).shape == (3,) and st.randint(0, 3, (2,), dtype="int8").dtype == "int8"
    assert st.rand_like(st.zeros(3, dtype="float16")).dtype == "float16"
    assert st.randint_like(st.zeros(3), 5).dtype == "float32"
    with pytest.raises(DTypeError):
        st.rand_like(st.arange(3))


def test_both_factors_of_covariances_make_normal_vectors() -> None:
    c = np.array([[2.0, 1.0], [1.0, 1.0]])
    for method in ("eigh", "cholesky"):
        x = drawn("multivariate_normal", [1.0, 2.0], c, size=COUNT, method=method)
        np.testing.assert_allclose(np.cov(x.T), c, atol=0.2)


def test_seeds() -> None:
    rng = st.default_rng(5)
    assert st.default_rng(rng) is rng and rng.manual_seed(5) is rng
    assert st.random.default_rng().random(4).tolist() != st.random.default_rng().random(4).tolist()
    assert st.default_rng(2**64 - 1).random(4).tolist() != st.default_rng(2**63 - 1).random(4).tolist()
    with pytest.raises(ShapeError, match=r"seed must be from 0 to"):
        st.default_rng(2**64)
    st.random.seed(3)
    first = st.random.normal(size=3).tolist()
    st.manual_seed(3)
    assert st.random.standard_normal(3).tolist() == first


BAD: list[Callable[[Any], Any]] = [
    lambda r: r.normal(0, -1), lambda r: r.poisson(-1), lambda r: r.binomial(5, 1.5), lambda r: r.gamma(-1.0),
    lambda r: r.dirichlet(2.0), lambda r: r.multinomial(3, 0.5), lambda r: r.multivariate_normal([0.0], [[1.0, 0.0]]),
    lambda r: r.geometric(0), lambda r: r.logseries(1.0), lambda r: r.negative_binomial(0, 0.5), lambda r: r.zipf(1),
    lambda r: r.negative_binomial(3, 0.0), lambda r: r.wald(-1, 1), lambda r: r.wald(1, 0), lambda r: r.beta(0, 1),
    lambda r: r.beta(1, 0), lambda r: r.pareto(0), lambda r: r.power(0), lambda r: r.chisquare(0), lambda r: r.f(0, 1),
    lambda r: r.f(1, 0), lambda r: r.noncentral_f(0, 1, 1), lambda r: r.noncentral_chisquare(0, 1),
    lambda r: r.standard_t(0), lambda r: r.triangular(1, 0, 2), lambda r: r.triangular(0, 3, 2),
    lambda r: r.triangular(1, 1, 1), lambda r: r.triangular(st.tensor(0.0), 3, 2)]


@pytest.mark.parametrize("wrong", BAD)
def test_parameters_out_of_range_are_refused(wrong: Any) -> None:
    with pytest.raises(ShapeError):
        wrong(st.default_rng(0))


@pytest.mark.parametrize("name", [n for n in MANY if MANY[n] and n != "integers"])
def test_ends_of_a_range_are_refused_where_numpy_refuses_them(name: str) -> None:
    for k, _ in enumerate(MANY[name]):
        for end in (0, 1, -1):
            args = (*MANY[name][:k], end, *MANY[name][k + 1:])
            try:
                getattr(np.random.default_rng(0), name)(*args)
            except (ValueError, OverflowError):
                with pytest.raises((ShapeError, DataError, ArgumentError)):
                    drawn(name, *args)
            else:
                drawn(name, *args)


SHARED: dict[str, tuple[Any, ...]] = {
    "uniform": (0.0, 1.0), "normal": (0.0, 1.0), "bernoulli": (0.5,), "poisson": (2.0,), "multinomial": ([1.0, 2.0], 1),
    "randint": (1, 5, (1,))}
COUNTED = {("integers", 0), ("integers", 1), ("binomial", 0), ("hypergeometric", 0), ("hypergeometric", 1),
           ("hypergeometric", 2), ("multinomial", 0), ("shared randint", 0), ("shared randint", 1)}
PARAMETERS = [(name, k) for name, args in (MANY | ROWS).items() for k in range(len(args))] + [
    (f"shared {name}", k) for name, args in SHARED.items() for k in range(len(args))
    if (name, k) not in (("multinomial", 1), ("randint", 2))]


@pytest.mark.parametrize("name, k", PARAMETERS, ids=lambda x: str(x))
def test_parameters_of_wrong_dtypes_are_refused(name: str, k: int) -> None:
    owner, method = (st, name.split()[1]) if name.startswith("shared") else (st.default_rng(0), name)
    args = SHARED[method] if owner is st else (MANY | ROWS)[method]

    def made(x: Any) -> Any:
        return getattr(owner, method)(*args[:k], x, *args[k + 1:])

    array = np.atleast_1d(args[k])
    for x in (st.tensor(array + 0j), array + 0j, (array + 0j).tolist()):
        with pytest.raises(DTypeError, match=r"must be (real|whole numbers), got complex"):
            made(x)
    with pytest.raises((ArgumentError, DTypeError)):
        made(complex(1.0))
    if (name, k) in COUNTED:
        with pytest.raises(DTypeError, match=r"must be whole numbers, got float64.*astype"):
            made(array + 0.5)
        with pytest.raises(ArgumentError, match="a whole number"):
            made(2.5)
    for x in ("2", ["2"], None, object()):
        if not (x is None and method in ("integers", "randint", "normal", "uniform")):
            with pytest.raises((ArgumentError, DTypeError)):
                made(x)


def test_gradients_reach_the_parameters_of_formulas() -> None:
    def mean(scale: Any) -> Any:
        return st.default_rng(1).exponential(scale, size=4000).mean()

    assert abs(float(st.grad(mean)(st.tensor(2.0))) - 1) < 0.1


@pytest.mark.parametrize("draw", [
    lambda r: r.zipf(st.tensor([1.0])), lambda r: r.negative_binomial(1, [1.0, 2.0]), lambda r: r.poisson(1e30),
    lambda r: r.poisson([-1.0]), lambda r: r.gamma((2, -1)), lambda r: r.multinomial(st.tensor([-1]), [0.5, 0.5]),
    lambda r: r.hypergeometric(st.tensor([-1]), 1, 1), lambda r: r.vonmises(0.0, st.tensor([-1.0])),
    lambda r: st.poisson(-0.5), lambda r: r.dirichlet([-0.5, 1.0]), lambda r: r.beta(st.tensor(-0.5), 1.0),
], ids=lambda f: str(f.__code__.co_firstlineno))
@pytest.mark.parametrize("style", [lambda f: f, st.compile], ids=["imperative", "compiled"])
def test_parameters_that_a_distribution_may_not_have_teach_when_run(draw: Any, style: Any) -> None:
    with pytest.raises(DataError, match=r"has no numbers of these parameters: .*at test_distributions\.py:\d+"):
        style(lambda: draw(st.random.default_rng(0)) if style is not st.compile else draw(st.random))().numpy()
