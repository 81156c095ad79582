"""The memory of one native call: ctx, buffer table, sizes, status, scratch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stele.backend.cpu.pool import Pool, current
from stele.backend.cpu.pool_code import CONTEXT, FINISHED, FLUSHES, POOL

_LINE = 64
_WORDS = _LINE // 8


class Frame:
    """What a program is called with: fill `buffers` (addresses) and `sizes`, then `run`.

    `status` holds code, site, payload and cancel of the last run. A frame serves one call at a time. With `flushes`,
    subnormal numbers count as zero, on all threads.

    >>> from stele.backend.cpu import image, jit, target
    >>> text = "define i32 @program(ptr %ctx, ptr %pool) { ret i32 0 }"
    >>> loaded = image.load(jit.compile_module(text, target.detect()))
    >>> x, frame = np.ones(3), Frame(buffers=1, sizes=1)
    >>> frame.buffers[0], frame.sizes[0] = x.ctypes.data, x.size
    >>> frame.run(loaded["program"])
    0
    """

    def __init__(self, buffers: int, sizes: int, scratch_bytes: int = 0, flushes: bool = False) -> None:
        self.buffers: np.ndarray[Any, np.dtype[np.uint64]] = _lines(max(buffers, 1)).view(np.uint64)
        self.sizes: np.ndarray[Any, np.dtype[np.int64]] = _lines(max(sizes, 1))
        self.status: np.ndarray[Any, np.dtype[np.int64]] = _lines(FLUSHES // 8 + 1)
        self.status[FLUSHES // 8] = flushes
        self.scratch_bytes = -(-scratch_bytes // _LINE) * _LINE
        self.bound: object = None       # whose sizes are in the table
        self.arena = self.kept = 0      # where its temporaries lie, and what is kept from call to call
        self.threads: Pool | None = None    # who ran it last
        self.crossings: list[Callable[[], None]] = []   # what the program calls in Python,
        self.memory: list[object] = []                  # and what keeps its memory while it runs
        self._slots = 0
        self._ctx = _lines(2 * _WORDS).view(np.uint64).reshape(2, CONTEXT // 8)   # to be stopped; not to be stopped
        self._ctx[:, :3] = self.buffers.ctypes.data, self.sizes.ctypes.data, self.status.ctypes.data
        self._ctx[:, 4] = self.scratch_bytes
        self.address = self._ctx.ctypes.data

    @property
    def finished(self) -> bool:
        """Whether the last run came to its end, whatever was raised behind it."""
        return bool(self.status[FINISHED // 8])

    def run(self, program: int, *addresses: int) -> int:
        """Call the program at this address on the pool of this process and return its code (0: all is well); the
        addresses are written to the head of `buffers`.

        Raises what a signal handler raised meanwhile, such as KeyboardInterrupt.
        """
        return self.pool().call(program, self.address, *addresses)

    def pool(self) -> Pool:
        """The pool of this process, for whose threads there is scratch now."""
        pool = current()
        if pool.threads > self._slots:
            self._give_scratch(pool)
        self._ctx[0, POOL // 8] = pool.address
        self.threads = pool
        return pool

    def _give_scratch(self, pool: Pool) -> None:
        self._scratch = np.empty(pool.threads * self.scratch_bytes + _LINE, np.uint8)
        self._ctx[:, 3] = -(-self._scratch.ctypes.data // _LINE) * _LINE
        self._slots = pool.threads


def _lines(words: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Zeros that share no cache line with anything else, so that threads which read them are not disturbed."""
    room = np.zeros((-(-words // _WORDS) + 1) * _WORDS, np.int64)
    return room[-room.ctypes.data % _LINE // 8:][:words]
