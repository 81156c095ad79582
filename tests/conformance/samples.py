"""Runs PyTorch's samples through Stele: forward and gradients, each within what rounding explains."""
from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele.errors import GraphError, SteleError
from tests.conformance.spelling import CONVENTIONS, SPELLED, VARIANTS
from tests.conformance.words import NoSpelling

HERE = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4        # of the largest element
FLOOR = 1e-5            # of the largest cotangent: gradients that cancel to less are roundings


@dataclass(frozen=True)
class Outcome:
    """What became of a sample: passed, wrong, refused (an error that says what to write) or no spelling; why; and
    whether its results were PyTorch's, whatever its gradients were, and its gradients."""

    op: str
    verdict: str
    reason: str = ""
    forward: bool = False
    backward: bool = False


def find() -> Path | None:
    """The samples: STELE_SHARED_CONFORMANCE names their folder, else ../shared/conformance."""
    folder = os.environ.get("STELE_SHARED_CONFORMANCE")
    path = (Path(folder) if folder else HERE.parent / "shared" / "conformance") / "opinfo.pkl"
    return path if path.is_file() else None


def samples(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return pickle.load(file)["recs"]


def arrays(x: Any) -> Iterator[Any]:
    """The arrays of nested containers, left to right."""
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, dict):
        for part in x.values():
            yield from arrays(part)
    elif isinstance(x, list | tuple):
        for part in x:
            yield from arrays(part)


def mapped(x: Any, given: Iterator[Any]) -> Any:
    """The same containers with tensors in place of arrays."""
    if isinstance(x, np.ndarray):
        return next(given)
    if isinstance(x, dict):
        return {k: mapped(v, given) for k, v in x.items()}
    if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str):     # ("dtype", "float32")
        return x[1]
    if isinstance(x, list | tuple):
        return type(x)(mapped(v, given) for v in x)
    return x


def flat(y: Any) -> list[Any]:
    return [z for part in y for z in flat(part)] if isinstance(y, list | tuple) else [y]


def run(sample: dict[str, Any]) -> Outcome:
    """One sample: what Stele makes of it."""
    op = sample["op"]
    if op not in SPELLED:
        return Outcome(op, "no spelling", "no such function")
    try:
        results, gradients = computed(sample)
    except NoSpelling as reason:
        return Outcome(op, "no spelling", str(reason))
    except SteleError as error:
        return Outcome(op, "refused", str(error).partition("\n")[0][:160])
    except Exception as error:
        return Outcome(op, "wrong", f"{type(error).__name__}: {error}"[:160])
    expected = list(arrays(sample["out"]))
    floor = FLOOR * max((float(np.abs(c).max(initial=0)) for c in sample["ct"] or ()), default=0.0)
    wide = sample.get("wide", {})
    leaves = list(arrays((sample["args"], sample["kwargs"])))
    at = [leaves[k] for k in sample["diff"] or ()]
    is_other, why = CONVENTIONS.get(op, (lambda *_, **__: False, ""))
    other = np.asarray(is_other(*sample["args"], **sample["kwargs"]))

    def compared(other: Any) -> tuple[str, str]:
        """How results and gradients differ, but where there are others by convention."""
        slopes = [[None if g is None else without(g, other | meaningless(x, leaves)) for x, g in zip(at, found or [])]
                  for found in (gradients, sample["grads"], wide.get("grads"))]
        values = [[without(y, other) for y in found or []] for found in (results, expected, wide.get("out"))]
        return differ("result", *values), differ("gradient", *slopes, floor)

    forward, backward = compared(np.asarray(False))
    if (forward or backward) and other.any() and compared(other) == ("", ""):
        return Outcome(op, "passed", why, not forward, not backward)
    return Outcome(op, "wrong" if forward or backward else "passed", forward or backward, not forward, not backward)


def meaningless(x: Any, leaves: Sequence[Any]) -> Any:
    """Where a derivative means nothing: at what is not a number, in x or beside it."""
    return np.any([np.isnan(z) for z in leaves if z.shape == x.shape and z.dtype.kind in "fc"], axis=0)


def without(y: Any, other: Any) -> Any:
    """y with 0 at places of a call, in what shape they are broadcast from or to; all places where there is one."""
    lead = max(other.ndim - y.ndim, 0)
    other = other.any(tuple(range(lead))) if lead else other
    long = tuple(k - y.ndim for k in range(y.ndim) if -other.ndim <= k - y.ndim and y.shape[k] == 1)
    other = other.any(long, keepdims=True) if long else other
    return np.where(other, y.dtype.type(0), y)


def computed(sample: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Results and gradients, in one program."""
    leaves = [st.tensor(a) for a in arrays((sample["args"], sample["kwargs"]))]
    wrt = [leaves[k] for k in sample["diff"] or []]
    for x in wrt:
        x.requires_grad_()
    args, kwargs = mapped((sample["args"], sample["kwargs"]), iter(leaves))
    spelling = VARIANTS.get((sample["op"], sample["variant"]), SPELLED[sample["op"]])
    results = turned(sample["op"], flat(spelling(*args, **kwargs)), sample["out"])
    floats = [y for y in results if y.dtype.is_float]
    if not wrt or sample["ct"] is None:
        return [y.numpy() for y in results], []
    assert len(floats) >= len(sample["ct"])     # what PyTorch does not differentiate stands last
    loss = sum(st.real(y * st.tensor(c.conj())).sum() for y, c in zip(floats, sample["ct"]))
    slopes = [slope(loss, x) for x in wrt]
    made = [y for y in (*results, *slopes) if y is not None]
    st.eval(*made)
    return [y.numpy() for y in results], [None if g is None else g.numpy() for g in slopes]


def turned(op: str, results: list[Any], theirs: Any) -> list[Any]:
    """Eigenvectors and singular vectors, which have either sign, with the signs of PyTorch's."""
    if op == "linalg.eigh":
        results[1] = results[1] * signs(results[1], theirs[1], -2)
    if op == "linalg.svd":
        left, right = results[0], results[2]
        sign = signs(right, theirs[2], -1)
        k = min(left.shape[-1], right.shape[-2])
        results[0] = left * extended(sign[..., :k, 0][..., None, :], left.shape[-1], signs(left, theirs[0], -2))
        results[2] = right * sign
    return results


def signs(ours: Any, theirs: Any, axis: int) -> Any:
    """The sign of each vector along an axis beside PyTorch's."""
    product = (ours.numpy() * theirs).sum(axis, keepdims=True)
    return np.where(product < 0, -1, 1).astype(theirs.dtype)


def extended(sign: Any, n: int, own: Any) -> Any:
    """Signs of the first vectors, and those of the others, up to n."""
    return np.concatenate([sign, own[..., sign.shape[-1]:n]], axis=-1)


def slope(loss: Any, x: Any) -> Any:
    """The gradient; None where the loss does not depend on x."""
    try:
        return st.gradients(loss, x)
    except GraphError:
        return None


def differ(what: str, found: list[Any], expected: list[Any], wide: Sequence[Any] | None, floor: float = 0.0) -> str:
    """How results differ from what they should be, and from the same in float64 where that is known; '' where they do
    not."""
    if len(found) != len(expected):
        return f"{len(found)} {what}s, expected {len(expected)}"
    for k, (y, x) in enumerate(zip(found, expected)):
        if y is None or x is None:
            other = x if y is None else y
            if other is not None and np.any(other != 0):
                return f"{what} {k}: {'none' if y is None else 'some'}, expected {'none' if x is None else 'some'}"
        elif y.shape != x.shape:
            return f"{what} {k}: shape {list(y.shape)}, expected {list(x.shape)}"
        elif y.dtype != x.dtype:
            return f"{what} {k}: {y.dtype}, expected {x.dtype}"
        elif not (is_close(y, x, floor) or (wide and is_close(y, wide[k], floor))):
            return f"{what} {k}: {numbers_of(y, x)}"
    return ""


def is_close(y: Any, x: Any, floor: float) -> bool:
    if y.dtype.kind not in "fc":
        return bool((y == x).all())
    same = (y == x) | (np.isnan(y) & np.isnan(x))
    scale = np.max(np.abs(x), initial=0, where=np.isfinite(x))
    return bool((same | (np.isfinite(x) & (np.abs(y - x) <= max(TOLERANCE * scale, floor)))).all())


def numbers_of(y: Any, x: Any) -> str:
    """Where they are furthest apart."""
    with np.errstate(all="ignore"):
        apart = np.where((y == x) | (np.isnan(y) & np.isnan(x)), 0, np.nan_to_num(np.abs(
            y.astype("c16") - x.astype("c16")), nan=np.inf))
    at = np.unravel_index(np.argmax(apart), apart.shape) if apart.shape else ()
    return f"{y[at]:.6g}, expected {x[at]:.6g}"
