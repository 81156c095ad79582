"""`stele convert IN OUT`: a model in another form, with what became of it, compared."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stele.commands.models import kind_of, writer
from stele.commands.options import ConvertOptions
from stele.errors import ShapeError, SteleError
from stele.inspect.view.drawing import bytes_in_words
from stele.interop.convert.compare import difference, moves
from stele.interop.convert.exact import exact
from stele.interop.convert.source import Source, flat
from stele.interop.convert.target import Run, Target
from stele.ir.graph import Array
from stele.pipeline import set_threads

RIGHT, WRONG = 0, 1
TOLERANCE = 1e-5        # over 1 or the number itself
ROOM = 4                # times Stele's own distance from float64: how far another order of the same sums may be
INPUTS = 2              # of each argument that are drawn, at two batches where that is open
SHOWN = 5               # names of a line


def convert(options: ConvertOptions) -> int:
    """Writes a model, and says what became of it; 1 where what was written does not compute the same, else 0.

    Raises DataError for what is no model, or is damaged, GraphError for what the other form cannot say.
    """
    if options.threads is not None:
        set_threads(options.threads)
    source = kind_of(options.file).source(options.file, options.trust)
    sizes = source.sizes(options.dims)
    inputs = [source.drawn({n: m if n in options.dims else m + k for n, m in sizes.items()}, k) for k in range(INPUTS)]
    try:
        target = writer(options.out, options.opset)(source, options.out, inputs[0], [*options.dims], source.run)
        for name, text in report(source, target, options.out):
            print(f"{name:12} {text}")
        found = [*checked(source, target, inputs)]
    except ShapeError as error:
        if chosen := [f"{name}={n}" for name, n in sizes.items() if name not in options.dims]:
            error.add_note(f"Open sizes were tried as {', '.join(chosen)}: --dim closes one that is one number only.")
        raise
    for check in found:
        print(f"{check.verdict:12} {check.name}: {check.said}")
    if source.by and source.original is None:
        print(f"{'not asked':12} {source.by}, which is not installed, about {options.file}")
    return WRONG if any(check.verdict == "differs" for check in found) else RIGHT


def report(source: Source, target: Target, out: Path) -> Iterator[tuple[str, str]]:
    """What was mapped, and where weights went."""
    counts = Counter(source.steps)
    steps = listed([f"{name} {n}" for name, n in counts.most_common()])
    yield "mapped", f"{len(source.steps):,} of {source.kind}: {steps}"
    yield "weights", sized(source.weights)
    if target.weights is not None:
        found = moves(source.weights, target.weights)
        yield "kept", f"{len(found.kept):,} under their names"
        yield from told("renamed", [f"{old} is {new}" for old, new in found.renamed])
        yield from told("transposed", [f"{old} is {new}, axes {[*axes]}" for old, new, axes in found.transposed])
        yield from told("left out", [*found.left])
        yield from told("new", [*found.new])
    files = [out] if out.is_file() else [path for path in sorted(out.iterdir()) if path.is_file()]
    yield "written", f"{out}, {bytes_in_words(sum(path.stat().st_size for path in files))}"


def told(name: str, rows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A line of so many, where there are any."""
    if rows:
        yield name, f"{len(rows):,}: {listed(rows)}"


def listed(rows: Sequence[str]) -> str:
    """The first of several."""
    return ", ".join(rows[:SHOWN]) + (", ..." if len(rows) > SHOWN else "")


def sized(weights: Mapping[str, Array]) -> str:
    """How many numbers weights are."""
    arrays = [*weights.values()]
    return (f"{len(arrays):,}: {sum(x.size for x in arrays):,} numbers, "
            f"{bytes_in_words(sum(x.nbytes for x in arrays))}")


class Check(NamedTuple):
    """What one comparison has found."""

    name: str
    verdict: str
    said: str


def checked(source: Source, target: Target, inputs: Sequence[Sequence[Array]]) -> Iterator[Check]:
    """How far what was written, and the framework that the model is of, are from the model as Stele runs it."""
    wanted = [source.run(x) for x in inputs]
    for name, run in target.runs.items():
        yield compared(f"{name} on what was written", run, source, inputs, wanted, "differs")
    if source.original:
        yield compared(f"{source.by} on what came in", source.original, source, inputs, wanted, "not asked")


def compared(name: str, run: Run, source: Source, inputs: Sequence[Sequence[Array]], wanted: Sequence[list[Array]],
             failed: str) -> Check:
    """One comparison, of which `failed` says what an error of another framework is."""
    try:
        made = [[*flat(run(x))] for x in inputs]
    except SteleError:
        raise
    except Exception as error:      # of any kind
        return Check(name, failed, f"it fails, {' '.join(str(error).split()):.200}")
    apart = furthest(made, wanted)
    said = f"by {apart:.1e} at most, on {INPUTS} random inputs"
    if apart <= TOLERANCE:
        return Check(name, "equal", said)
    return Check(name, *explained(source, inputs, wanted, made, said)) if apart < np.inf else \
        Check(name, "differs", f"{said}: results of other dtypes or shapes, or numbers that are none")


def explained(source: Source, inputs: Sequence[Sequence[Array]], wanted: Sequence[list[Array]],
              made: Sequence[list[Array]], said: str) -> tuple[str, str]:
    """Whether two results that are further apart than they may be are so by rounding: both as near to float64."""
    try:
        law = [exact(source, x) for x in inputs]
    except SteleError as error:
        return "differs", f"{said}; what rounding does cannot be told, for float64 cannot compute it: {error!s:.200}"
    own, other = furthest(wanted, law), furthest(made, law)
    return ("rounds" if other <= ROOM * max(own, TOLERANCE / ROOM) else "differs",
            f"{said}; from float64 Stele is {own:.1e} away, it {other:.1e}")


def furthest(made: Sequence[list[Array]], wanted: Sequence[list[Array]]) -> float:
    """The largest difference of several results."""
    return max(map(difference, made, wanted))
