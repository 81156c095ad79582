"""Samples of an installed PyTorch, as records of the form of `opinfo.pkl`: other seeds, dtypes, and reference inputs.

An op's calls depend on the seed and the op alone.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

UNMARKED = ("clamp", "where")       # PyTorch fails where it is to mark what these differentiate of reference inputs
PLACES = ("device", "layout", "memory_format", "pin_memory")        # words for where results lie


@dataclass(frozen=True)
class Source:
    """What PyTorch is asked for: "sample" or "reference" inputs, their dtype, a seed, how many of a variant at most."""

    kind: str
    dtype: str
    seed: int
    most: int | None = None

    @property
    def label(self) -> str:
        return f"{self.kind} inputs, {self.dtype}, seed {self.seed}"


def live(source: Source, ops: Collection[str]) -> Iterator[dict[str, Any]]:
    """The records of these ops, in PyTorch's order. Raises ImportError without PyTorch and its `expecttest`."""
    torch = import_module("torch")
    warnings.simplefilter("ignore")
    dtype = getattr(torch, source.dtype)
    for info in import_module("torch.testing._internal.common_methods_invocations").op_db:
        if info.name not in ops or not info.supports_dtype(dtype, "cpu"):
            continue
        torch.manual_seed(source.seed)
        np.random.seed(source.seed)         # PyTorch draws some of its inputs there
        random = np.random.default_rng(source.seed)
        is_marked = source.kind == "sample" or info.name not in UNMARKED
        calls = getattr(info, f"{source.kind}_inputs")("cpu", dtype, requires_grad=is_marked and info.supports_autograd)
        for i, sample in spread(list(calls), source.most):
            if (found := answered(torch, info.op, sample, is_marked, random)) is not None:
                yield {"op": info.name, "variant": info.variant_test_name, "i": i, **found}


def spread(calls: list[Any], most: int | None) -> list[tuple[int, Any]]:
    """So many of the calls, evenly among all, with their numbers."""
    count = len(calls) if most is None else min(most, len(calls))
    return [(k * len(calls) // count, calls[k * len(calls) // count]) for k in range(count)]


def answered(torch: Any, op: Callable[..., Any], sample: Any, is_marked: bool, random: Any) -> dict[str, Any] | None:
    """A call, PyTorch's results, and their products with the Jacobian for normal cotangents; of floats narrower than
    float64 also what it gives for the same numbers in float64, as `wide`. None of operators that are not for these."""
    call = ((sample.input, *sample.args), {k: v for k, v in sample.kwargs.items() if k not in PLACES})

    def marked(x: Any) -> bool:
        return x.requires_grad if is_marked else x.is_floating_point()

    args, kwargs = mapped(torch, call, array)
    y, ct, diff, slopes = computed(torch, op, call, marked, random)
    if y is None:
        return None
    wide: dict[str, Any] = {}
    if any(x.dtype == torch.float32 for x in y):
        large = mapped(torch, call, lambda x: widened(torch, x), is_plain=False)
        z, _, _, steep = computed(torch, op, large, marked, ct)
        wide = {"out": tuple(map(array, z)), "grads": steep}
    return {"args": args, "kwargs": kwargs, "out": tuple(map(array, y)), "diff": diff, "ct": ct, "grads": slopes,
            "wide": wide}


def computed(torch: Any, op: Callable[..., Any], call: Any, marked: Callable[[Any], bool], ct: Any) -> Any:
    """What a call gives: results, cotangents (those given, else drawn of a generator), which arrays are
    differentiated, and the gradients."""
    given: list[Any] = []

    def leaf(x: Any) -> Any:
        given.append(x.detach().clone().requires_grad_(marked(x)))
        return given[-1]

    args, kwargs = mapped(torch, call, leaf, is_plain=False)
    y = op(*args, **kwargs)
    if y is NotImplemented:
        return None, None, None, None
    made: list[Any] = []
    mapped(torch, y if isinstance(y, torch.Tensor) else tuple(y), made.append)
    diff = [k for k, x in enumerate(given) if x.requires_grad]
    found = [z for z in made if z.requires_grad]
    if not found or ct is None:
        return made, None, None, None
    ct = [cotangent(z, ct) for z in found] if isinstance(ct, np.random.Generator) else ct
    try:
        slopes = torch.autograd.grad(found, [given[k] for k in diff],
                                     [torch.from_numpy(c).to(z.dtype) for z, c in zip(found, ct)], allow_unused=True)
    except RuntimeError as error:       # a derivative that PyTorch does not have, or fails at
        print(f"PyTorch has no gradient: {str(error)[:120]}")
        return made, None, None, None
    return made, ct, diff, [None if g is None else array(g) for g in slopes]


def widened(torch: Any, x: Any) -> Any:
    """The same numbers in float64."""
    return x.detach().double().requires_grad_(x.requires_grad) if x.dtype == torch.float32 else x


def mapped(torch: Any, x: Any, f: Callable[[Any], Any], is_plain: bool = True) -> Any:
    """The same containers with `f` of their tensors; dtypes as names where the record is to be plain."""
    if isinstance(x, torch.Tensor):
        return f(x)
    if isinstance(x, dict):
        return {k: mapped(torch, v, f, is_plain) for k, v in x.items()}
    if isinstance(x, list | tuple):
        parts = [mapped(torch, v, f, is_plain) for v in x]
        return parts if isinstance(x, list) else tuple(parts)
    if is_plain and isinstance(x, torch.dtype):
        return "dtype", str(x).removeprefix("torch.")
    return x


def array(x: Any) -> Any:
    return x.detach().resolve_conj().resolve_neg().numpy().copy()


def cotangent(y: Any, random: np.random.Generator) -> Any:
    parts = random.normal(size=(2, *y.shape))
    return np.asarray(parts[0] + 1j * parts[1] if y.is_complex() else parts[0]).astype(array(y).dtype)
