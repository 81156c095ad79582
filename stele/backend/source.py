"""Calls as straight-line Python, written for what is known of them: the one place where text becomes a function."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stele.ir.origin import HOUSE
from stele.ir.stages import show


def written(name: str, lines: Sequence[str], known: dict[str, Any]) -> Callable[..., Any]:
    """The function `call` that these lines define; `known` holds the objects that they name. STELE_SHOW=call prints
    them; tracebacks show them under this name.

    >>> written("sum", ["def call(x):", "    return x + one"], {"one": 1})(2)
    3
    """
    source = "\n".join(lines)
    show("call", lambda: source, name)
    exec(compile(source, f"{HOUSE}{name}", "exec"), known)
    return known.pop("call")    # whose globals that is: no circle
