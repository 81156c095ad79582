"""When nobody looks for garbage."""
from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def kept() -> Generator[None]:
    """While a program is made: there is little garbage before the end, and looking for it goes through all there is."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
