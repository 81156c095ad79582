"""How a running program is told to stop, as LLVM IR: since a signal handler raised, or the interpreter leaves."""

from __future__ import annotations

CODE = """
define internal ptr @cancel_word(ptr %ctx) alwaysinline {
  %at = getelementptr i8, ptr %ctx, i64 16
  %status = load ptr, ptr %at
  %cancel = getelementptr i8, ptr %status, i64 24
  ret ptr %cancel
}

define internal void @cancel(ptr %ctx) noinline {
  %at = getelementptr i8, ptr %ctx, i64 16
  %status = load ptr, ptr %at
  %word = getelementptr i8, ptr %status, i64 24
  store atomic i64 1, ptr %word seq_cst, align 8
  %old = cmpxchg ptr %status, i64 0, i64 $cancelled seq_cst seq_cst
  ret void
}

; Python computes with subnormal numbers: sets that mode, and returns the one before.
define internal i64 @plain() {
  %mode = call i64 @mode()
  %bits = load i64, ptr @flush
  %others = xor i64 %bits, -1
  %plain = and i64 %mode, %others
  call void @set_mode(i64 %plain)
  ret i64 %mode
}

; Between kernels: stop when the interpreter goes down, and let Python's main thread look for signals now and then.
define void @pool_poll(ptr %pool, ptr %ctx) {
  %closing.at = getelementptr i8, ptr %pool, i64 $closing
  %closing = load atomic i64, ptr %closing.at monotonic, align 8
  %leave = icmp ne i64 %closing, 0
  br i1 %leave, label %stop, label %whose
whose:
  %polled.at = getelementptr i8, ptr %pool, i64 $polled
  %polled = load atomic i64, ptr %polled.at monotonic, align 8
  %at = getelementptr i8, ptr %ctx, i64 16
  %status = load i64, ptr %at
  %main = icmp eq i64 %polled, %status
  br i1 %main, label %when, label %done
when:
  %now = call i64 @time_now(i32 $coarse)
  %next.at = getelementptr i8, ptr %pool, i64 $next_poll
  %next = load i64, ptr %next.at
  %due = icmp sge i64 %now, %next
  br i1 %due, label %ask, label %done
ask:
  %later = add i64 %now, $poll_ns
  store i64 %later, ptr %next.at
  %on_poll.at = getelementptr i8, ptr %pool, i64 $on_poll
  %on_poll = load ptr, ptr %on_poll.at
  %mode = call i64 @plain()
  %raised = call i64 %on_poll()
  call void @set_mode(i64 %mode)
  %quiet = icmp eq i64 %raised, 0
  br i1 %quiet, label %done, label %stop
stop:
  call void @cancel(ptr %ctx)
  ret void
done:
  ret void
}

; Inside of a kernel that takes long: other than 0 if it is to leave. The caller's thread polls, the others are told.
define i64 @pool_watch(ptr %ctx, i64 %thread) {
  %at = getelementptr i8, ptr %ctx, i64 $in_ctx
  %pool = load ptr, ptr %at
  %final = icmp eq ptr %pool, null
  br i1 %final, label %go, label %stoppable
stoppable:
  %caller = icmp eq i64 %thread, 0
  br i1 %caller, label %ask, label %look
ask:
  call void @pool_poll(ptr %pool, ptr %ctx)
  br label %look
look:
  %word = call ptr @cancel_word(ptr %ctx)
  %cancelled = load atomic i64, ptr %word monotonic, align 8
  ret i64 %cancelled
go:
  ret i64 0
}
"""
