"""Random numbers in PyTorch's ops, from Stele's own generator: the same distributions, not the same numbers."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules


def drawn(f: Callable[..., Any]) -> Callable[..., Any]:
    """Random numbers of a shape."""
    return lambda shape, dtype: f(tuple(shape), dtype=dtype or "float32")


def like(f: Callable[..., Any]) -> Callable[..., Any]:
    """Random numbers in the shape of x."""
    return lambda x, dtype: drawn(f)(x.shape, dtype or x.dtype)


def randint(low: Any, high: Any, shape: Any) -> Any:
    """Random integers."""
    return st.randint(low, high, tuple(shape), dtype="int64")


def bernoulli(x: Any, p: Any) -> Any:
    """Ones by chance, in the shape of x."""
    return st.bernoulli(p, tuple(x.shape)).astype(x.dtype)


def normal(shape: Any, mean: Any, std: Any, dtype: Any, *_: Any) -> Any:
    """Random numbers around a mean."""
    return mean + std * st.randn(tuple(shape), dtype=dtype)


def uniform(shape: Any, low: Any, high: Any, dtype: Any, *_: Any) -> Any:
    """Random numbers between two bounds."""
    return low + (high - low) * st.rand(tuple(shape), dtype=dtype)


def leaky_at_random(x: Any, noise: Any, low: float, high: float, training: bool) -> Any:
    """x, negative numbers times a slope: drawn for each in training, else the mean; and the slopes."""
    slope = low + (high - low) * st.rand(x.shape) if training else (low + high) / 2
    slopes = st.where(x < 0, slope, 1.0).astype(x.dtype)
    return x * slopes, slopes if training else noise


RULES: Rules = {
    "rand rand.generator": drawn(st.rand), "randn randn.generator": drawn(st.randn),
    "rand_like rand_like.generator": like(st.rand), "randn_like randn_like.generator": like(st.randn),
    "randint randint.generator": lambda high, shape, _: randint(0, high, shape),
    "randint.low randint.low_generator": lambda low, high, shape, _: randint(low, high, shape),
    "randint_like randint_like.generator randint_like.Tensor randint_like.Tensor_generator":
        lambda x, high, _: randint(0, high, x.shape),
    "randint_like.low_dtype randint_like.low_generator_dtype": lambda x, low, high, _: randint(low, high, x.shape),
    "randperm randperm.generator": lambda n, _: st.permutation(st.arange(n, dtype="int64")),
    "bernoulli": lambda p: bernoulli(p, p), "bernoulli.p bernoulli.Tensor": bernoulli,
    "prims::normal": normal, "prims::uniform": uniform,
    "multinomial": st.multinomial, "poisson": st.poisson,
    "binomial": lambda n, p: st.random.binomial(n.astype("int64"), p),
    "rrelu_with_noise_functional": leaky_at_random,
}
