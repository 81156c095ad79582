"""Random integers of the discrete distributions that NumPy's Generator has, by its names."""
from __future__ import annotations

from collections.abc import Callable

from stele.arrays.continuous import Length
from stele.arrays.draws import Draw, Numbers, counts, listed, real
from stele.arrays.functions import ceil, clip, expm1, floor, log, log1p, maximum
from stele.arrays.rebinding import record
from stele.arrays.shapes import shape_of
from stele.arrays.streams import Stream
from stele.arrays.tensor import Tensor, constant
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ir.types import float64, highest, int64
from stele.ops import random
from stele.ops.arguments import is_array, is_series, number, refuse


class Discrete(Stream):
    """They are int64; parameters, `size` and errors as of the continuous ones. No gradients reach the parameters.

    DTypeError is raised for parameters that are complex, or not whole where they count.
    """

    @public
    def poisson(self, lam: Numbers = 1.0, size: Length = None) -> Tensor:
        """Random counts of events of which `lam` are expected, of the shape `size`: the Poisson distribution, by NumPy.

        int64. Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no
        number, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).poisson(4.5, size=10000).mean()) - 4.5) < 0.1
        True
        """
        d = Draw(self, size, lam=lam)
        return d.sample("poisson", d.given["lam"])

    @public
    def binomial(self, n: Numbers, p: Numbers, size: Length = None) -> Tensor:
        """Random numbers of successes in `n` trials, each with the chance `p`, of the shape `size`, by NumPy.

        int64. Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no
        number, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).binomial(10, 0.3, size=10000).mean()) - 3) < 0.1
        True
        """
        d = Draw(self, size, n=n, p=p)
        return d.sample("binomial", whole(d.given["n"], "n"), d.given["p"])

    @public
    def negative_binomial(self, n: Numbers, p: Numbers, size: Length = None) -> Tensor:
        """Random numbers of failures before `n` successes, each of the chance `p`, of the shape `size`.

        Poisson counts of gamma numbers. int64. Raises ShapeError where a parameter does not broadcast to the size,
        ArgumentError for what is no number, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).negative_binomial(3, 0.5, size=10000).mean()) - 3) < 0.2
        True
        """
        d = Draw(self, size, n=n, p=p, apart={"n": 0, "p": 0})
        p = constant(d.given["p"]).astype(float64)
        return d.sample("poisson", d.gamma(d.given["n"]) * ((1 - p) / p), part=2)

    @public
    def geometric(self, p: Numbers, size: Length = None) -> Tensor:
        """Random numbers of trials up to the first success, each of the chance `p`, of the shape `size`, by inversion.

        int64. Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no
        number, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).geometric(0.25, size=10000).mean()) - 4) < 0.2
        True
        """
        d = Draw(self, size, p=p, apart={"p": 0})
        return counted(log(d.inner(dtype=float64)) / log1p(-constant(d.given["p"]).astype(float64)))

    @public
    def hypergeometric(self, ngood: Numbers, nbad: Numbers, nsample: Numbers, size: Length = None) -> Tensor:
        """Random numbers of good ones among `nsample` drawn of `ngood` and `nbad`, of the shape `size`, by NumPy.

        int64. Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no
        number, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).hypergeometric(10, 30, 8, size=10000).mean()) - 2) < 0.1
        True
        """
        d = Draw(self, size, ngood=ngood, nbad=nbad, nsample=nsample)
        return d.sample("hypergeometric", *(whole(x, name) for name, x in d.given.items()))

    @public
    def logseries(self, p: Numbers, size: Length = None) -> Tensor:
        """Random numbers of the logarithmic series distribution of `p`, of the shape `size`.

        By Kemp, "Efficient generation of logarithmically distributed pseudo-random variables" (1981). int64. Raises
        ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no number, DTypeError
        for complex ones.

        >>> abs(float(st.random.default_rng(0).logseries(0.6, size=10000).mean()) - 1.637) < 0.05
        True
        """
        d = Draw(self, size, p=p, apart={"p": 1})
        r = log1p(-constant(d.given["p"]).astype(float64))
        u, q = d.inner(dtype=float64), -expm1(r * d.inner(part=2, dtype=float64))
        return counted(log(u) / log(q) + 1, floor)

    @public
    def zipf(self, a: Numbers, size: Length = None) -> Tensor:
        """Random numbers k of 1 or more with chances like k ** -`a`, of the shape `size`, by NumPy; a is above 1.

        int64. Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no
        number, DTypeError for complex ones.

        >>> abs(float((st.random.default_rng(0).zipf(2.0, size=10000) == 1).mean()) - 0.608) < 0.02
        True
        """
        d = Draw(self, size, a=a)
        if not isinstance(own := d.given["a"], Tensor) and not (own := float(own)) > 1:
            raise ShapeError(f"a of zipf must be above 1, got {own}")
        return d.sample("zipf", own)

    @public
    def multinomial(self, n: Numbers, pvals: Numbers, size: Length = None) -> Tensor:
        """How often each of k outcomes of the chances `pvals` (..., k) comes in `n` trials: (*`size`, k), by NumPy.

        Chances that add up to more than 1 are divided by their sum; what is missing to 1 falls to the last. int64.
        Raises ShapeError where a parameter does not broadcast to the size, ArgumentError for what is no number,
        DTypeError for complex ones.

        >>> st.random.default_rng(0).multinomial(20, [0.25, 0.25, 0.5], size=4).sum(axis=1).tolist()
        [20, 20, 20, 20]
        """
        chances = real(constant(listed(pvals)), "pvals").astype(float64)
        if not chances.ndim:
            raise ShapeError("multinomial needs a vector of chances, got a number")
        chances = chances / maximum(chances.sum(axis=-1, keepdims=True), 1)
        trials = whole(n, "n")
        d = Draw(self, None if size is None else (*shape_of((size,)), chances.shape[-1]),
                 n=trials if isinstance(trials, int) else trials[..., None], pvals=chances)
        many = d.spread(trials, d.shape[:-1])
        return record(Tensor(random.Sample("multinomial")(d.key.value, many, d.spread(chances))))


def whole(x: Numbers, name: str) -> Tensor | int:
    """A parameter that is a whole number, 0 or more, or a tensor of them."""
    if isinstance(x, Tensor) or is_array(x) or is_series(x):
        return counts(x, name)
    n = number(x, name, 0, highest(int64))
    return int(n) if n == int(n) else refuse(name, "a whole number", x)


def counted(x: Tensor, rounded: Callable[[Tensor], Tensor] = ceil) -> Tensor:
    """A count of 1 or more."""
    return clip(rounded(x), 1, 2.0**62).astype(int64)
