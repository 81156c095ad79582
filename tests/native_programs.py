"""Small native programs that the tests of the runtime call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stele.backend.cpu import image, jit, pool
from stele.backend.cpu.call import Frame
from stele.backend.cpu.target import detect

SOURCE = """
declare void @pool_run(ptr, ptr, ptr, i64, ptr)
@alone = private constant [1 x i64] [i64 1]
@threes = private constant [1 x i64] [i64 3]

; buffers[0][i] += 1 for each task, buffers[1][thread] += tasks
define void @count(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
entry:
  %bufs = load ptr, ptr %ctx
  %seen = load ptr, ptr %bufs
  %share.at = getelementptr ptr, ptr %bufs, i64 1
  %share = load ptr, ptr %share.at
  %mine = getelementptr i64, ptr %share, i64 %thread
  %tasks = sub i64 %end, %begin
  %old = load i64, ptr %mine
  %new = add i64 %old, %tasks
  store i64 %new, ptr %mine
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %i1, %loop ]
  %at = getelementptr i64, ptr %seen, i64 %i
  %x = load i64, ptr %at
  %y = add i64 %x, 1
  store i64 %y, ptr %at
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}

; busy for sizes[2] turns
define void @work(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
entry:
  %sizes.at = getelementptr ptr, ptr %ctx, i64 1
  %sizes = load ptr, ptr %sizes.at
  %turns.at = getelementptr i64, ptr %sizes, i64 2
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %turns = load volatile i64, ptr %turns.at
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %turns
  br i1 %more, label %loop, label %out
out:
  ret void
}

; every task runs `count` over buffers[2], a ctx of its own, as a nested caller
define void @nest(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
entry:
  %bufs = load ptr, ptr %ctx
  %pool.at = getelementptr ptr, ptr %bufs, i64 2
  %pool = load ptr, ptr %pool.at
  %first = getelementptr ptr, ptr %bufs, i64 3
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %i1, %loop ]
  %inner.at = getelementptr ptr, ptr %first, i64 %i
  %inner = load ptr, ptr %inner.at
  call void @pool_run(ptr %pool, ptr @count, ptr %inner, i64 20, ptr getelementptr (i64, ptr @alone, i64 1))
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}

; buffers[0][begin] += how many tasks there are from there on
define void @begins(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
  %bufs = load ptr, ptr %ctx
  %seen = load ptr, ptr %bufs
  %at = getelementptr i64, ptr %seen, i64 %begin
  %tasks = sub i64 %end, %begin
  %old = load i64, ptr %at
  %new = add i64 %old, %tasks
  store i64 %new, ptr %at
  ret void
}

define void @nothing(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
  ret void
}

define i32 @empty(ptr %ctx, ptr %pool) {
  ret i32 0
}
"""

# sizes[1] runs of a kernel over sizes[0] tasks, left when the status has a code
_REPEAT = """
define i32 @repeat_{kernel}(ptr %ctx, ptr %pool) {{
entry:
  %sizes.at = getelementptr ptr, ptr %ctx, i64 1
  %sizes = load ptr, ptr %sizes.at
  %tasks = load i64, ptr %sizes
  %runs.at = getelementptr i64, ptr %sizes, i64 1
  %runs = load i64, ptr %runs.at
  %status.at = getelementptr ptr, ptr %ctx, i64 2
  %status = load ptr, ptr %status.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  call void @pool_run(ptr %pool, ptr @{kernel}, ptr %ctx, i64 %tasks, ptr getelementptr (i64, ptr @{together}, i64 1))
  %code = load i64, ptr %status
  %fine = icmp eq i64 %code, 0
  %i1 = add i64 %i, 1
  %left = icmp slt i64 %i1, %runs
  %more = and i1 %fine, %left
  br i1 %more, label %loop, label %out
out:
  %r = trunc i64 %code to i32
  ret i32 %r
}}
"""

KERNELS = {"count": "alone", "work": "alone", "nest": "alone", "nothing": "alone", "begins": "threes"}


def load() -> image.Loaded:
    """All programs: `empty` and `repeat_<kernel>`."""
    text = SOURCE + "".join(_REPEAT.format(kernel=name, together=word) for name, word in KERNELS.items())
    return image.load(jit.compile_module(text, detect()), pool.imports())


class Counting:
    """A frame for `count`: how often each task ran, and how many each thread did."""

    def __init__(self, tasks: int, runs: int) -> None:
        self.seen: npt.NDArray[np.int64] = np.zeros(tasks, np.int64)
        self.share: npt.NDArray[np.int64] = np.zeros(64, np.int64)
        self.runs = runs
        self.frame = Frame(buffers=2, sizes=3)
        self.frame.buffers[:] = self.seen.ctypes.data, self.share.ctypes.data
        self.frame.sizes[:] = tasks, runs, 0

    def is_exact(self) -> bool:
        return bool((self.seen == self.runs).all()) and int(self.share.sum()) == self.seen.size * self.runs
