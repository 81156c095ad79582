"""Calls as straight-line Python, written for what is known of them: the one place where text becomes a function."""
from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from stele.ir.origin import HOUSE
from stele.ir.stages import show

LONG = 1000     # letters of a text that takes longer to compile than to find on the disk: a quarter of a millisecond


def written(name: str, lines: Sequence[str], known: dict[str, Any]) -> Callable[..., Any]:
    """The function `call` that these lines define; `known` holds the objects that they name. STELE_SHOW=call prints
    them; tracebacks show them under this name.

    >>> written("sum", ["def call(x):", "    return x + one"], {"one": 1})(2)
    3
    """
    source = "\n".join(lines)
    show("call", lambda: source, name)
    exec(code_of(source, f"{HOUSE}{name}"), known)
    return known.pop("call")    # whose globals that is: no circle


def code_of(source: str, file: str) -> CodeType:
    """The text as Python's own code, a long one from the disk where any process compiled the same before."""
    if len(source) < LONG:
        return compile(source, file, "exec")
    from stele.backend.cpu import cache  # imported late: with what programs alone need

    key = cache.digest("python", sys.version, file, source)
    if (found := cache.objects().get(key)) is not None:
        return marshal.loads(found)
    code = compile(source, file, "exec")
    cache.objects().put(key, marshal.dumps(code))
    return code
