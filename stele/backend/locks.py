"""The locks of a process, in the order of taking them; a fork waits for both, so that its child finds them free."""
from __future__ import annotations

import os
import threading

RUNNING = threading.RLock()
"""One program at a time: what is updated in place is seen whole by every thread, before and after a fork."""
COMPILING = threading.RLock()
"""LLVM runs one thing at a time: a child never inherits a compile cut in half."""

for lock in (COMPILING, RUNNING):   # the one that is registered last is taken first
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
