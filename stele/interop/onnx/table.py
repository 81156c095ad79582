"""Which function stands for a node: the tables of all families, by domain, op, and the version of the op from which on
it holds.
"""
from __future__ import annotations

from bisect import bisect_right

from stele.interop.onnx import (
    attention,
    classical,
    contractions,
    control,
    elementwise,
    fused,
    images,
    movement,
    normalization,
    quantised,
    recurrent,
    reductions,
    runtime,
    signals,
    texts,
    training,
    trees,
    windows,
)
from stele.interop.onnx.values import Rule

FAMILIES = (elementwise, reductions, movement, contractions, windows, normalization, quantised, recurrent, control,
            texts, images, signals, training, classical, trees, runtime, fused,
            attention)


def entered() -> dict[tuple[str, str], list[tuple[int, Rule]]]:
    """All rules by domain and op, in the order of their versions: a key is "Op", "Op@version" or "domain:Op"."""
    found: dict[tuple[str, str], list[tuple[int, Rule]]] = {}
    for family in FAMILIES:
        for key, f in family.RULES.items():
            name, _, since = key.partition("@")
            domain, _, name = name.rpartition(":")
            found.setdefault((domain, name), []).append((int(since or 1), f))
    return {key: sorted(rows, key=lambda row: row[0]) for key, rows in found.items()}


RULES = entered()


def rule(domain: str, name: str, version: int) -> Rule | None:
    """The rule for an op at a version, None where there is none."""
    rows = RULES.get((domain, name), [])
    at = bisect_right([since for since, _ in rows], version)
    return rows[at - 1][1] if at else None
