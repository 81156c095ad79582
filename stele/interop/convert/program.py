"""Programs that `st.save` wrote as sources."""
from __future__ import annotations

from pathlib import Path

import stele as st
from stele.call.loaded import Loaded
from stele.errors import DataError
from stele.interop.convert.source import Argument, Source, arrays_of, cleaned
from stele.ir.sizes import Size


def opened(path: Path) -> Source:
    """The program of a file. Raises DataError for what holds none, or one that takes more than arrays."""
    found = st.load(path)
    if not isinstance(found, Loaded):
        raise DataError(f"{path} holds {'weights' if isinstance(found, dict) else 'no program'} and not how to compute",
                        hint="Save a compiled function: st.save(st.compile(model), path).")
    first = found.variants[0]
    if any(kind != "array" for kind, _ in first.leaves):
        raise DataError(f"{found.name} takes more than arrays, for which no numbers can be drawn")
    types = [first.types.get(k) for k in range(len(first.names))]
    arguments = tuple(Argument(name, str(t.dtype), tuple(str(n) if isinstance(n, Size) else n for n in t.shape))
                      for name, t in zip(cleaned(first.names), types) if t is not None)
    if len(arguments) != len(types):
        raise DataError(f"{found.name} takes an array that it does not use, of which the file says no type")
    return Source("Stele", found, arguments, arrays_of(found.state.items()), found.state,
                  tuple(v.op.name for v in first.graph.values if v.args))
