"""A finding of the linter: what is wrong, where, and what to write instead."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from stele.ir.origin import Origin, Where, is_gradient, line_of


@dataclass(frozen=True, order=True)
class Finding:
    """One lesson at one line.

    >>> print(Finding("model.py", 12, "float64", "float32 meets float64."))
    model.py:12: float64: float32 meets float64.
    """

    file: str
    line: int
    check: str
    message: str
    layer: str = ""
    also: tuple[int, ...] = ()      # further lines of the file where the same is found

    def __str__(self) -> str:
        layer = f" (layer {self.layer})" if self.layer else ""
        lines = ", ".join(map(str, dict.fromkeys((self.line, *self.also))))
        times = f" ({1 + len(self.also)} times, at {lines})" if self.also else ""
        return f"{self.file}:{self.line}: {self.check}: {self.message}{layer}{times}"


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """The same lesson in the same file as one finding, at its first line, which knows the others.

    >>> one = Finding("model.py", 12, "float64", "float32 meets float64.")
    >>> print(*grouped([one, replace(one, line=20)]))
    model.py:12: float64: float32 meets float64. (2 times, at 12, 20)
    """
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(findings):
        groups.setdefault((finding.file, finding.check, finding.message), []).append(finding)
    return [replace(first, layer=first.layer if all(f.layer == first.layer for f in rest) else "",
                    also=tuple(f.line for f in rest)) for first, *rest in groups.values()]


def asked(where: Where) -> Where:
    """The origins of a value; of a gradient, those where it was asked for."""
    return frozenset(o for o in where if o.gradient) if is_gradient(where) else where


def found(check: str, where: Where, message: str) -> Finding:
    """A finding at the first of these origins; of a gradient, where it was asked for."""
    file, line, layer = min((*place(origin), origin.layer) for origin in asked(where))
    return Finding(file, line, check, message, layer)


def place(origin: Origin) -> tuple[str, int]:
    """File, as it is called from the working folder, and line."""
    if isinstance(origin.code, str):
        file, _, line = origin.code.rpartition(":")
        return file, int(line)
    path = Path(origin.code.co_filename)
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path), line_of(origin.code, origin.offset)


def spelled(where: Where) -> str:
    """The places of other values, for a message: `model.py:12`."""
    return ", ".join(sorted({f"{Path(file).name}:{line}" for file, line in map(place, where)}))
