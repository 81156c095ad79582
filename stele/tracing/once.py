"""What a function that runs once must leave alone: random numbers, arrays, sets, iterators and files from outside."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import io
import pickle
import queue
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from operator import is_, length_hint
from types import GeneratorType
from typing import Any

import numpy as np

from stele.errors import TraceError
from stele.ir.graph import Array
from stele.ir.origin import note
from stele.tracing.arrays import reading
from stele.tracing.names import UNSEEDED
from stele.tracing.state import SCALARS, Content, Slot, State

LONGEST = 1 << 20       # bytes of an array that are looked at again once a function was traced
MOST = 1 << 26          # bytes of all of them: what lies in lists of many is not looked at beyond that
BUILTIN = "builtins", "itertools"       # whose iterators say where they are
MOVING = Iterator, io.IOBase, queue.Queue, queue.SimpleQueue
OUTSIDE = "which runs its Python only once"


class Alone:
    """What a function can reach that no call could do again, as it is before the function is traced."""

    def __init__(self, state: State, leaves: Sequence[Any]) -> None:
        self.state, self.draws = state, draws(state)
        self.arrays: list[tuple[str, Array, Array]] = []
        room = MOST
        for slot in state.arrays.values():
            part = shortened(slot.get())
            if not part.dtype.hasobject and part.nbytes <= room:
                self.arrays.append((slot.path, part, part.copy()))
                room -= part.nbytes
        self.contents = [(slot, slot.base.whole()) for slot, _ in state.numbers if isinstance(slot.base, Content)]
        paths = {id(x): slot.path for slot, x in state.objects}
        moving = [x for x in (*state.seen.values(), *leaves) if isinstance(x, MOVING) and not isinstance(x, list)]
        self.places = [(paths.get(id(x), f"a {type(x).__name__}"), x, place(x)) for x in moving]

    @contextmanager
    def left(self) -> Generator[dict[int, Slot]]:
        """The run of the function; gives the slots of arrays by what stands in them, by id. What NumPy reads of these
        is read by every call. Raises as `compare` does.
        """
        if UNSEEDED in self.state.lookups.called:
            note("a generator of random numbers is made inside of a compiled function, without a seed: its numbers are "
                 "drawn once, and every call repeats them. Draw with st.rand, st.randn or st.dropout, or pass the "
                 "numbers.")
        read: dict[int, Array] = {}
        with reading(self.state.arrays.values(), lambda array: read.update({id(array): array})) as standing:
            yield standing
        self.compare()
        for key, array in read.items():
            slot = Slot(Content(array), None, self.state.arrays[key].path)
            self.state.numbers.append((slot, slot.get()))

    def compare(self) -> None:
        """Raises TraceError where the function has changed any of these, which its calls would not: iterators are
        further then, all else is as it was.
        """
        for name, now in draws(self.state).items():
            if self.draws.get(name, now) != now:    # what another module has loaded meanwhile was drawn from by nobody
                raise TraceError(f"{name} was used inside of a compiled function, and later calls would repeat its "
                                 "numbers", hint="Draw with st.rand, st.randn or st.dropout, or pass the numbers as an "
                                                 "argument.")
        for path, now, before in self.arrays:
            if now.tobytes() != before.tobytes():
                now[...] = before
                raise TraceError(f"the array {path} was written to inside of a compiled function, {OUTSIDE}",
                                 hint=f"Make it a tensor before, st.tensor({path}), for every call to write to.")
        for slot, before in self.contents:
            if not alike(slot.base.whole(), before):
                slot.base.restore(before)
                raise TraceError(f"{slot.path} was changed inside of a compiled function, {OUTSIDE}",
                                 hint="Return what is new, and change it outside.")
        for path, x, before in self.places:
            if place(x) != before:
                raise TraceError(f"{path} was moved on inside of a compiled function, {OUTSIDE}",
                                 hint="Take the next one outside, and pass it as an argument.")


def draws(state: State) -> dict[str, object]:
    """The states of the random numbers of NumPy and Python that a function may reach, by name. NumPy loads its own when
    they are first named: they are loaded here where code names them, so that the first use is seen as any other is.
    """
    if "random" in state.lookups.looked:
        import_module("numpy.random")
        import_module("random")
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    found: dict[str, object] = {}
    if python is not None:
        found["random"] = hash(python.getstate())
        found |= {slot.path: hash(x.getstate()) for slot, x in state.objects if type(x) is python.Random}
    if numpy is not None:
        found["np.random"] = pickle.dumps(numpy.get_state(legacy=False))
        found |= {slot.path: repr(x.bit_generator.state) for slot, x in state.objects if isinstance(x, numpy.Generator)}
        found |= {slot.path: pickle.dumps(x.get_state(legacy=False)) for slot, x in state.objects
                  if isinstance(x, numpy.RandomState)}
    return found


def shortened(part: Array) -> Array:
    """An array, or some rows of one that is long."""
    while part.nbytes > LONGEST and max(part.shape, default=1) > 1:
        axis = int(np.argmax(part.shape))
        part = part[(slice(None),) * axis + (slice(None, None, -(-part.nbytes // LONGEST)),)]
    return part


def alike(a: Any, b: Any) -> bool:
    """Whether two copies of a container hold the same."""
    if isinstance(a, set | bytes):
        return bool(a == b)
    if isinstance(a, dict):
        return [*a] == [*b] and all(map(is_, a.values(), b.values()))
    return len(a) == len(b) and all(map(is_, a, b))


def place(x: Any) -> Any:
    """Where an iterator, a file or a queue stands, as far as it says so."""
    if isinstance(x, GeneratorType):
        if (frame := x.gi_frame) is None:
            return None
        return frame.f_lasti, {name: y if isinstance(y, SCALARS) else id(y) for name, y in frame.f_locals.items()}
    if isinstance(x, queue.Queue | queue.SimpleQueue):
        return x.qsize()
    if isinstance(x, io.IOBase):
        try:
            return x.tell()
        except (OSError, ValueError):   # of a pipe, or one that is closed
            return None
    if type(x).__module__ not in BUILTIN:
        return None
    try:
        said = x.__reduce__()
    except TypeError:
        return length_hint(x, 0)
    parts = [part for group in said[1:] for part in (group if isinstance(group, tuple) else (group,))]
    return [place(p) if isinstance(p, Iterator) else p if isinstance(p, SCALARS) else length_hint(p, 0) for p in parts]
