"""State that is written at each step and looked at by nobody: its numbers are computed before expressions grow."""
from __future__ import annotations

from weakref import ref

from stele.eager.evaluate import EVALUATOR, evaluate, is_cheap
from stele.eager.handle import TRACING, Handle
from stele.eager.live import is_pending, is_symbolic, is_there
from stele.errors import TraceError
from stele.ir.graph import walk

# Whose last value waits for numbers, and how many programs had run when it was written.
WRITTEN: dict[int, tuple[ref[Handle], int]] = {}


def about_to_write(h: Handle) -> None:
    """Computes what state waits for, if programs have run since this one was written and it has no numbers yet.

    Means of parameters, running statistics and sums are such: each step would make an expression of all steps before,
    which would keep alive what these were made of.
    """
    if h._value.data is not None or (entry := WRITTEN.get(id(h))) is None or entry[1] == EVALUATOR.runs:
        return
    if TRACING.get() is not None:
        return
    held = [of() for of, _ in [*WRITTEN.values()]]
    WRITTEN.clear()
    waiting = [x._value for x in held if x is not None and is_pending(x._value) and not is_cheap(x._value)]
    try:
        evaluate(waiting)
    except TraceError:      # some are of what gets its numbers later
        evaluate([v for v in waiting if not any(map(is_symbolic, walk([v], stop=is_there)))])


def is_written(h: Handle) -> None:
    """Notes that a handle has a new value."""
    if h._value.data is None and (h.leaf or not h.requires_grad) and TRACING.get() is None:
        entry = WRITTEN.get(key := id(h))
        of = entry[0] if entry is not None and entry[0]() is h else ref(h, lambda _: WRITTEN.pop(key, None))
        WRITTEN[key] = of, EVALUATOR.runs
