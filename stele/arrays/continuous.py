"""Random floats of the continuous distributions that NumPy's Generator has, by its names."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.arrays.draws import Draw, Numbers, listed, normal, real, uniform
from stele.arrays.functions import exp, expm1, log, log1p, sigmoid, sign, softmax, sqrt, square, tan
from stele.arrays.shapes import shape_of
from stele.arrays.sized import where
from stele.arrays.streams import Stream
from stele.arrays.tensor import DTypeLike, Tensor, constant
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ir.types import float64

Length = int | Sequence[int] | None


def log_gamma(d: Draw, a: Any, part: int = 0) -> Tensor:
    """Logarithms of gamma numbers, which do not vanish for a small `a`: Marsaglia and Tsang (2000), section 6."""
    above = where(a < 0, a, a + 1) if isinstance(a, Tensor) else a + 1      # no numbers of a negative one
    return log(d.gamma(above, part)) + log(d.inner(part, float64)) / a


class Continuous(Stream):
    """What all of them take and give:

    `size` is the shape of the result, the one that the parameters broadcast to where none is given. They are numbers,
    or tensors of them, that gradients reach where a formula has a derivative. float32 comes out, float64 of parameters
    in float64, or the `dtype` named. Raises ShapeError for numbers that a parameter may not be, and for a size that
    the parameters do not broadcast to; of tensors out of range NaN comes, or DataError when run.
    """

    @public
    def random(self, size: Length = None, dtype: DTypeLike = "float32") -> Tensor:
        """Random numbers uniform in [0, 1), of the shape `size`: with 24 digits, 53 in float64.

        Raises ShapeError for a negative size, DTypeError for a `dtype` that is no float.

        >>> rng = st.random.default_rng(0)
        >>> rng.random(3).shape, rng.random((2, 3), dtype="float64").dtype
        ((3,), float64)
        """
        d = Draw(self, size, dtype)
        return d.of(uniform, 0, d.dtype)

    @public
    def uniform(self, low: Numbers = 0.0, high: Numbers = 1.0, size: Length = None, dtype: DTypeLike | None = None
                ) -> Tensor:
        """Random numbers uniform between `low` and `high`, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> x = st.random.default_rng(0).uniform(-1, st.tensor([1.0, 100.0]), size=(1000, 2))
        >>> bool((x[:, 0] < 1).all()), float(x[:, 1].max()) > 50
        (True, True)
        """
        d = Draw(self, size, dtype, low=low, high=high)
        ends = d.given["low"], d.given["high"]
        if not any(isinstance(x, Tensor) for x in ends) and not 0 <= ends[1] - ends[0] < math.inf:
            raise ShapeError(f"uniform needs finite numbers low <= high, got {low} and {high}")
        return d.made(d["low"] + (d["high"] - d["low"]) * d.of(uniform, 0, d.wide))

    @public
    def standard_normal(self, size: Length = None, dtype: DTypeLike = "float32") -> Tensor:
        """Random numbers of the standard normal distribution, of the shape `size`, by Box and Muller (1958).

        Raises ShapeError for a negative size, DTypeError for a `dtype` that is no float.

        >>> x = st.random.default_rng(0).standard_normal(10000)
        >>> abs(float(x.mean())) < 0.05, abs(float(x.std()) - 1) < 0.05
        (True, True)
        """
        d = Draw(self, size, dtype)
        return d.of(normal, 0, d.dtype)

    @public
    def normal(self, loc: Numbers = 0.0, scale: Numbers = 1.0, size: Length = None, dtype: DTypeLike | None = None
               ) -> Tensor:
        """Random numbers of the normal distribution with mean `loc` and standard deviation `scale`, of shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> x = st.random.default_rng(0).normal(st.tensor([0.0, 100.0]), 2.0, size=(1000, 2))
        >>> [round(mean) for mean in x.mean(axis=0).tolist()]
        [0, 100]
        """
        d = Draw(self, size, dtype, loc=loc, scale=scale)
        return d.made(d["loc"] + d["scale"] * d.normal())

    @public
    def lognormal(self, mean: Numbers = 0.0, sigma: Numbers = 1.0, size: Length = None,
                  dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers whose logarithm is normal with a `mean` and the deviation `sigma`, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> bool((st.random.default_rng(0).lognormal(1.0, 2.0, size=100) > 0).all())
        True
        """
        d = Draw(self, size, dtype, mean=mean, sigma=sigma)
        return d.made(exp(d["mean"] + d["sigma"] * d.normal()))

    @public
    def standard_exponential(self, size: Length = None, dtype: DTypeLike = "float32") -> Tensor:
        """Random numbers of the exponential distribution with mean 1, of the shape `size`, by inversion.

        Raises ShapeError for a negative size, DTypeError for a `dtype` that is no float.

        >>> abs(float(st.random.default_rng(0).standard_exponential(10000).mean()) - 1) < 0.05
        True
        """
        d = Draw(self, size, dtype)
        return d.made(-log(d.inner()))

    @public
    def exponential(self, scale: Numbers = 1.0, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the exponential distribution with mean `scale`, of the shape `size`, by inversion.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).exponential(5.0, size=10000).mean()) - 5) < 0.2
        True
        """
        d = Draw(self, size, dtype, scale=scale)
        return d.made(-log(d.inner()) * d["scale"])

    @public
    def standard_gamma(self, shape: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the gamma distribution with a `shape` and the scale 1, of the shape `size`.

        By NumPy, on a counter of its own; gradients do not reach the shape. float32 without a `dtype`. Raises
        ShapeError where a parameter does not broadcast to the size, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).standard_gamma(3.0, size=10000).mean()) - 3) < 0.1
        True
        """
        d = Draw(self, size, dtype, shape=shape)
        return d.made(d.gamma(d.given["shape"]))

    @public
    def gamma(self, shape: Numbers, scale: Numbers = 1.0, size: Length = None, dtype: DTypeLike | None = None
              ) -> Tensor:
        """Random numbers of the gamma distribution with a `shape` and a `scale`, of the shape `size`.

        By NumPy, on a counter of its own; gradients do not reach the shape. float32 without a `dtype`. Raises
        ShapeError where a parameter does not broadcast to the size, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).gamma(3.0, 2.0, size=10000).mean()) - 6) < 0.2
        True
        """
        d = Draw(self, size, dtype, shape=shape, scale=scale)
        return d.made(d.gamma(d.given["shape"]) * d["scale"])

    @public
    def chisquare(self, df: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers like the sum of `df` squares of standard normal ones, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).chisquare(4, size=10000).mean()) - 4) < 0.2
        True
        """
        d = Draw(self, size, dtype, df=df, apart={"df": 0})
        return d.made(d.gamma(d["df"] / 2) * 2)

    @public
    def noncentral_chisquare(self, df: Numbers, nonc: Numbers, size: Length = None, dtype: DTypeLike | None = None
                             ) -> Tensor:
        """Random numbers like a sum of `df` squares of normal numbers whose squared means add up to `nonc`.

        Of the shape `size`. Drawn as chi-square numbers with df + 2 k, k of the Poisson distribution of nonc / 2.
        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).noncentral_chisquare(3, 2, size=10000).mean()) - 5) < 0.2
        True
        """
        d = Draw(self, size, dtype, df=df, nonc=nonc, apart={"df": 0})
        k = d.sample("poisson", d["nonc"] / 2, part=2)
        return d.made(d.gamma(k.astype(float64) + d["df"] / 2) * 2)

    @public
    def f(self, dfnum: Numbers, dfden: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of Fisher's F: two chi-squares by their degrees of freedom `dfnum` and `dfden`, divided.

        Of the shape `size`. float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the
        size, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).f(5, 20, size=10000).mean()) - 20 / 18) < 0.1
        True
        """
        d = Draw(self, size, dtype, dfnum=dfnum, dfden=dfden, apart={"dfnum": 0, "dfden": 0})
        above, below = d.gamma(d["dfnum"] / 2) / d["dfnum"], d.gamma(d["dfden"] / 2, part=2) / d["dfden"]
        return d.made(above / below)

    @public
    def noncentral_f(self, dfnum: Numbers, dfden: Numbers, nonc: Numbers, size: Length = None,
                     dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the F distribution of `dfnum` and `dfden` whose first chi-square is not central by `nonc`.

        Of the shape `size`; see `noncentral_chisquare`. float32 without a `dtype`. Raises ShapeError where a parameter
        does not broadcast to the size, DTypeError for complex ones.

        >>> bool((st.random.default_rng(0).noncentral_f(3, 20, 3, size=100) > 0).all())
        True
        """
        d = Draw(self, size, dtype, dfnum=dfnum, dfden=dfden, nonc=nonc, apart={"dfnum": 0, "dfden": 0})
        k = d.sample("poisson", d["nonc"] / 2, part=4).astype(float64)
        above, below = d.gamma(k + d["dfnum"] / 2) / d["dfnum"], d.gamma(d["dfden"] / 2, part=2) / d["dfden"]
        return d.made(above / below)

    @public
    def standard_t(self, df: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of Student's t distribution with `df` degrees of freedom, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).standard_t(10, size=10000).mean())) < 0.1
        True
        """
        d = Draw(self, size, dtype, df=df, apart={"df": 0})
        return d.made(d.normal() / sqrt(d.gamma(d["df"] / 2, part=2) / (d["df"] / 2)))

    @public
    def beta(self, a: Numbers, b: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the beta distribution of `a` and `b`, from 0 to 1, of the shape `size`.

        A gamma number by the sum of two, computed of their logarithms. float32 without a `dtype`. Raises ShapeError
        where a parameter does not broadcast to the size, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).beta(2, 6, size=10000).mean()) - 0.25) < 0.02
        True
        """
        d = Draw(self, size, dtype, a=a, b=b, apart={"a": 0, "b": 0})
        return d.made(sigmoid(log_gamma(d, d["a"]) - log_gamma(d, d["b"], part=2)))

    @public
    def dirichlet(self, alpha: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random vectors of the Dirichlet distribution of `alpha` (..., k), which add up to 1: (*`size`, ..., k).

        Gamma numbers by their sum, computed of their logarithms. float32 without a `dtype`. Raises ShapeError for an
        alpha of no axes, DTypeError for a complex one.

        >>> x = st.random.default_rng(0).dirichlet([1.0, 2.0, 5.0], size=4)
        >>> x.shape, st.allclose(x.sum(axis=1), 1, rtol=1e-5).tolist()
        ((4, 3), True)
        """
        alpha = real(constant(listed(alpha)), "alpha")
        if not alpha.ndim:
            raise ShapeError(f"dirichlet needs a vector of parameters, got {alpha.shape}")
        d = Draw(self, None if size is None else (*shape_of((size,)), *alpha.shape), dtype, alpha=alpha)
        return d.made(softmax(log_gamma(d, d["alpha"].astype(float64))))

    @public
    def gumbel(self, loc: Numbers = 0.0, scale: Numbers = 1.0, size: Length = None,
               dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the Gumbel distribution about `loc` with a `scale`, of the shape `size`, by inversion.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).gumbel(1, 2, size=10000).mean()) - 2.154) < 0.1
        True
        """
        d = Draw(self, size, dtype, loc=loc, scale=scale)
        return d.made(d["loc"] - d["scale"] * log(-log(d.inner())))

    @public
    def laplace(self, loc: Numbers = 0.0, scale: Numbers = 1.0, size: Length = None,
                dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the double exponential distribution about `loc`, with a `scale`, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).laplace(3, 1, size=10000).mean()) - 3) < 0.1
        True
        """
        d = Draw(self, size, dtype, loc=loc, scale=scale)
        u = d.inner() - 0.5
        return d.made(d["loc"] - d["scale"] * sign(u) * log1p(abs(u) * -2))

    @public
    def logistic(self, loc: Numbers = 0.0, scale: Numbers = 1.0, size: Length = None,
                 dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the logistic distribution about `loc` with a `scale`, of the shape `size`, by inversion.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).logistic(3, 1, size=10000).mean()) - 3) < 0.1
        True
        """
        d = Draw(self, size, dtype, loc=loc, scale=scale)
        u = d.inner()
        return d.made(d["loc"] + d["scale"] * (log(u) - log1p(-u)))

    @public
    def pareto(self, a: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the Lomax distribution of `a`, Pareto's less 1 as in NumPy, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).pareto(5, size=10000).mean()) - 0.25) < 0.02
        True
        """
        d = Draw(self, size, dtype, a=a, apart={"a": 0})
        return d.made(expm1(-log(d.inner()) / d["a"]))

    @public
    def power(self, a: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers from 0 to 1 whose density is `a` * x ** (a - 1), of the shape `size`, by inversion.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).power(3, size=10000).mean()) - 0.75) < 0.02
        True
        """
        d = Draw(self, size, dtype, a=a, apart={"a": 0})
        return d.made(exp(log(d.inner()) / d["a"]))

    @public
    def weibull(self, a: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the Weibull distribution of the shape `a` and the scale 1, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).weibull(2, size=10000).mean()) - 0.886) < 0.02
        True
        """
        d = Draw(self, size, dtype, a=a)
        return d.made(where(constant(d["a"]) == 0, 0.0, exp(log(-log(d.inner())) / d["a"])))

    @public
    def rayleigh(self, scale: Numbers = 1.0, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers like the length of a vector of two normal ones of deviation `scale`, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).rayleigh(2, size=10000).mean()) - 2.507) < 0.1
        True
        """
        d = Draw(self, size, dtype, scale=scale)
        return d.made(d["scale"] * sqrt(log(d.inner()) * -2))

    @public
    def standard_cauchy(self, size: Length = None, dtype: DTypeLike = "float32") -> Tensor:
        """Random numbers of the standard Cauchy distribution, of the shape `size`, by inversion.

        Raises ShapeError for a negative size, DTypeError for a `dtype` that is no float.

        >>> abs(float(st.median(st.random.default_rng(0).standard_cauchy(10000)))) < 0.1
        True
        """
        d = Draw(self, size, dtype)
        return d.made(tan((d.inner() - 0.5) * math.pi))

    @public
    def triangular(self, left: Numbers, mode: Numbers, right: Numbers, size: Length = None,
                   dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers whose density rises from `left` to `mode` and falls to `right`, of the shape `size`.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).triangular(0, 1, 5, size=10000).mean()) - 2) < 0.1
        True
        """
        d = Draw(self, size, dtype, left=left, mode=mode, right=right)
        ends = [x for x in d.given.values() if not isinstance(x, Tensor)]
        if ends != sorted(ends) or (len(ends) == 3 and ends[0] == ends[2]):
            raise ShapeError(f"triangular needs left <= mode <= right and left < right, got {left}, {mode} and {right}")
        low, top, high = (constant(d[name]).astype(d.wide) for name in ("left", "mode", "right"))
        u, wide = d.inner(), high - low
        rising = low + sqrt(u * wide * (top - low))
        return d.made(where(u * wide <= top - low, rising, high - sqrt((1 - u) * wide * (high - top))))

    @public
    def vonmises(self, mu: Numbers, kappa: Numbers, size: Length = None, dtype: DTypeLike | None = None
                 ) -> Tensor:
        """Random angles about `mu` of the circular normal distribution of `kappa`, of the shape `size`, by NumPy.

        float32 without a `dtype`. Raises ShapeError where a parameter does not broadcast to the size, DTypeError for
        complex ones.

        >>> abs(float(st.random.default_rng(0).vonmises(0.5, 4, size=10000).mean()) - 0.5) < 0.05
        True
        """
        d = Draw(self, size, dtype, mu=mu, kappa=kappa)
        mu, kappa = (x if isinstance(x, Tensor) else float(x) for x in (d.given["mu"], d.given["kappa"]))
        return d.made(d.sample("vonmises", mu, kappa))

    @public
    def wald(self, mean: Numbers, scale: Numbers, size: Length = None, dtype: DTypeLike | None = None) -> Tensor:
        """Random numbers of the inverse Gaussian distribution with a `mean` and a `scale`, of the shape `size`.

        By Michael, Schucany and Haas (1976), the smaller root computed without a difference. float32 without a `dtype`.
        Raises ShapeError where a parameter does not broadcast to the size, DTypeError for complex ones.

        >>> abs(float(st.random.default_rng(0).wald(3, 2, size=20000).mean()) - 3) < 0.2
        True
        """
        d = Draw(self, size, dtype, mean=mean, scale=scale, apart={"mean": 0, "scale": 0})
        y = square(d.normal()) * (d["mean"] / d["scale"])
        root = 2 / (y + 2 + sqrt(y * (y + 4)))
        return d.made(d["mean"] * where(d.inner(part=2) * (root + 1) <= 1, root, 1 / root))


