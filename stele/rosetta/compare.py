"""Whether frameworks computed the same: relative differences of results, and who stands with whom."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

Numbers = Mapping[str, np.ndarray[Any, Any]]
BOUNDS = {"float32": 1e-3, "tf32": 3e-3, "bf16": 3e-2}       # relative, in the Euclidean norm of each result
WIDER = 10      # times that for gradients, whose sums cancel: of a bias, over all pixels of all images


@dataclass(frozen=True)
class Verdict:
    """Whether numbers agree with those of other frameworks (None: there were none), how far off they are, and where.

    Numbers that are not `far` from the reference do not agree where no other framework confirms the reference.
    """

    agrees: bool | None
    difference: float | None = None
    where: str = ""
    far: bool = False


def difference(a: Numbers, b: Numbers) -> tuple[float, str]:
    """The largest relative difference of results of the same name, |a - b| / |b|, and that name; a gradient's counts
    for less.

    A training that was cut short is compared as far as both go. Names that one side lacks, and shapes that differ,
    are an infinite difference.

    >>> difference({"y": np.array([1.0, 2.0])}, {"y": np.array([1.0, 2.0])})
    (0.0, 'y')
    """
    partial = {"losses", "norm of losses", "loss after training", "norm of loss after training"}
    names = sorted((a.keys() | b.keys()) - partial) + sorted(a.keys() & b.keys() & partial)
    if np.size(a.get("losses", 0)) != np.size(b.get("losses", 0)):
        names = [name for name in names if name != "norm of losses"]
    return max(((distance(a, b, name), name) for name in names), key=weight)


def weight(found: tuple[float, str]) -> float:
    """What a difference counts: one of a gradient may be wider."""
    off, name = found
    return off / WIDER if "gradient" in name else off


def distance(a: Numbers, b: Numbers, name: str) -> float:
    """The relative difference of one result."""
    if name not in a or name not in b:
        return float("inf")
    x, y = (side[name].astype(np.float64).reshape(-1) for side in (a, b))
    if name == "losses":
        x, y = x[:y.size], y[:x.size]
    if x.shape != y.shape:
        return float("inf")
    off = float(np.linalg.norm(x - y) / max(np.linalg.norm(y), 1e-30)) if np.any(x != y) else 0.0
    return off if np.isfinite(off) else float("inf")


def verdicts(found: Mapping[tuple[str, str], Numbers], precisions: Mapping[tuple[str, str], str], rounds: float = 1.0
             ) -> dict[tuple[str, str], Verdict]:
    """Who agrees, by (framework, mode): the reference is the float32 result closest to the other frameworks.

    A result agrees when it lies within the bound of its precision, so many `rounds` of it, from the reference, and the
    reference itself is confirmed by another framework; the reference is judged by the framework closest to it.
    """
    full = [key for key in found if precisions[key] == "float32"]
    far = {(a, b): difference(found[a], found[b]) for a in full for b in full if a[0] != b[0]}
    others = {a: sorted({b[0] for b in full} - {a[0]}) for a in full}
    nearest = {a: [min((far[a, b] for b in full if b[0] == name), key=weight) for name in others[a]] for a in full}
    judged = [a for a in full if nearest[a]]
    if not judged:
        return dict.fromkeys(found, Verdict(None))
    reference = min(judged, key=lambda a: (median(map(weight, nearest[a])), a))
    confirmed = min(nearest[reference], key=weight)
    answer: dict[tuple[str, str], Verdict] = {}
    for key, numbers in found.items():
        off, where = confirmed if key == reference else difference(numbers, found[reference])
        far = weight((off, where)) > rounds * BOUNDS[precisions[key]]
        answer[key] = Verdict(not far and weight(confirmed) <= rounds * BOUNDS["float32"], off, where, far)
    return answer
