"""Threads that work for us: begun, or refused in words."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from stele.errors import OutOfMemory


def begun(work: Callable[..., Any], name: str, *args: Any) -> threading.Thread:
    """A thread that does this work, and keeps no process alive. Raises OutOfMemory where the system gives none."""
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise OutOfMemory(f"the system gives no thread {name!r} beside {threading.active_count()}: {error}",
                          hint="Ask for fewer workers, or for fewer threads by STELE_THREADS.") from None
    return thread
