"""Random numbers under the names of NumPy's random: the distributions of the generator that `st.manual_seed` starts."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.generator import GENERATOR, Generator, default_rng
from stele.arrays.random import rand, randn
from stele.arrays.spellings import unknown
from stele.ir.door import public

# fmt: off
random, uniform                      = GENERATOR.random, GENERATOR.uniform
integers, randint                    = GENERATOR.integers, GENERATOR.integers
choice, permutation, permuted        = GENERATOR.choice, GENERATOR.permutation, GENERATOR.permuted
shuffle, bytes                       = GENERATOR.shuffle, GENERATOR.bytes
normal, standard_normal, lognormal   = GENERATOR.normal, GENERATOR.standard_normal, GENERATOR.lognormal
multivariate_normal, wald            = GENERATOR.multivariate_normal, GENERATOR.wald
exponential, standard_exponential    = GENERATOR.exponential, GENERATOR.standard_exponential
gamma, standard_gamma, beta          = GENERATOR.gamma, GENERATOR.standard_gamma, GENERATOR.beta
chisquare, noncentral_chisquare      = GENERATOR.chisquare, GENERATOR.noncentral_chisquare
f, noncentral_f, standard_t          = GENERATOR.f, GENERATOR.noncentral_f, GENERATOR.standard_t
dirichlet, multinomial, binomial     = GENERATOR.dirichlet, GENERATOR.multinomial, GENERATOR.binomial
geometric, negative_binomial         = GENERATOR.geometric, GENERATOR.negative_binomial
hypergeometric, logseries, poisson   = GENERATOR.hypergeometric, GENERATOR.logseries, GENERATOR.poisson
zipf, power, pareto, weibull         = GENERATOR.zipf, GENERATOR.power, GENERATOR.pareto, GENERATOR.weibull
gumbel, laplace, logistic            = GENERATOR.gumbel, GENERATOR.laplace, GENERATOR.logistic
rayleigh, standard_cauchy            = GENERATOR.rayleigh, GENERATOR.standard_cauchy
triangular, vonmises                 = GENERATOR.triangular, GENERATOR.vonmises
# fmt: on


@public
def seed(seed: int) -> None:
    """Starts the random numbers of the whole program from a `seed`, as `st.manual_seed`.

    Raises ShapeError for a seed outside of 0 to 2**64 - 1.

    >>> st.random.seed(7)
    >>> st.default_generator.state.tolist()
    [7, 0, 0, 0]
    """
    GENERATOR.seed(seed)


__all__ = ["Generator", "beta", "binomial", "bytes", "chisquare", "choice", "default_rng", "dirichlet", "exponential",
           "f", "gamma", "geometric", "gumbel", "hypergeometric", "integers", "laplace", "logistic", "lognormal",
           "logseries", "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare",
           "noncentral_f", "normal", "pareto", "permutation", "permuted", "poisson", "power", "rand", "randint",
           "randn", "random",
           "rayleigh", "seed", "shuffle", "standard_cauchy", "standard_exponential", "standard_gamma",
           "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf"]

ELSEWHERE = {"random_sample": "st.random.random(size)",
             "RandomState": "st.random.default_rng(seed)", "random_integers": "st.random.integers(low, high, size)",
             "ranf": "st.random.random(size)", "get_state": "st.default_generator.state_dict()",
             "set_state": "st.default_generator.load_state_dict(state)", "manual_seed": "st.manual_seed(seed)",
             "get_rng_state": "st.default_generator.state_dict()", "initial_seed": "st.default_generator.state",
             "set_rng_state": "st.default_generator.load_state_dict(state)",
             **dict.fromkeys(("PRNGKey", "key"), "st.default_rng(seed), which draws numbers of its own"),
             **dict.fromkeys(("split", "fold_in"), "st.default_rng(seed), one with a seed of its own for each")}

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.random", name, __all__, ELSEWHERE)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
