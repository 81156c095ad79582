"""The native half of the thread pool, as LLVM IR.

How a run works. The owner cuts the tasks into one contiguous range per thread and each range into a few chunks; a
range's slot counts the chunks that are left. Everybody takes chunks off its own range first, so that a thread meets the
same data kernel after kernel, then off the others', so that a thread that lost its core holds up nobody. Who takes a
chunk of a positive count keeps the job alive until it has reported it done, so a late worker can never see a stale job,
and the owner waits for chunks, never for workers: a pool without workers (after fork, after set_threads, at exit)
still runs everything.
"""

from __future__ import annotations

import sys
from string import Template

from stele.backend.cpu import events, invoke, stop_code

MAX_CHUNKS = 8          # of one range: a thread that loses its core delays at most this part of its range
CANCELLED = -1          # the code of a program that was asked to stop
RAISED = -2             # that of one that called Python, which raised
POLL_NS = 50_000_000    # how often a program on Python's main thread lets Python look for signals

# Byte offsets in a pool; words that different threads write lie 128 bytes apart, those that one reads or writes after
# the other lie together: a line that was written elsewhere takes some 100 ns to come.
OFFSET = {
    "owner":      0,                                                # 1 while a caller has the workers
    "start":    128,                                                # { i32 event, i32 sleepers }: a job is there,
    "kernel":   136, "ctx": 144, "tasks": 152, "parts": 160,        # and what it is,
    "mode":     168, "places": 176, "most": 184,                    # how its caller computes, on what, chunks each
    "finish":   256,                                                # { i32 event, i32 sleepers }: the job is done,
    "pending":  264,                                                # for no chunk is left that is not reported
    "threads":  384, "spin": 392, "crowded": 400, "stop": 408,      # set by Python
    "closing":  416, "main": 424, "on_poll": 432,
    "polled":   512, "next_poll": 520,                              # status and time of the main thread's program
    "calls":    640,                                                # programs running
    "mutex":    768, "cond": 896,                                   # where there is no futex
    "slots":   1024,                                                # one per thread: chunks left
}
SLOT = 128
FINISHED, FLUSHES = 64, 72      # behind the status of a call: 1 if the program ran to its end; 1 to flush subnormals
POOL = 40                       # in a context: the pool, where the program may be stopped
CONTEXT = 64                    # bytes of a context; behind it lies one like it for what nothing stops


def size(threads: int) -> int:
    """Bytes of a pool."""
    return OFFSET["slots"] + SLOT * threads


def source(triple: str, *, futex: bool = sys.platform == "linux") -> str:
    """The pool as LLVM IR text; without `futex` it waits on a condition variable."""
    return Template(events.template(triple, futex=futex) + stop_code.CODE + _CODE + SERIES + invoke.CODE).substitute(
        OFFSET | events.constants(triple),
        slot=SLOT, max_chunks=MAX_CHUNKS, cancelled=CANCELLED, raised=RAISED, poll_ns=POLL_NS, finished=FINISHED,
        flushes=FLUSHES, in_ctx=POOL,
    )


SERIES = """
; Kernels one after the other, until one leaves a code or, if nothing may stop them, all. Each has a row: its number
; among the functions, its tasks, how many buffers it has, how many tasks are best run together, and two words for the
; place of each buffer.
define void @pool_series(ptr %pool, ptr %ctx, ptr %functions, ptr %rows, i64 %count, i1 %final) {
entry:
  %run = select i1 %final, ptr @pool_finish, ptr @pool_run
  %status.at = getelementptr i8, ptr %ctx, i64 16
  %status = load ptr, ptr %status.at
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %row = phi ptr [ %rows, %entry ], [ %next, %loop ]
  %number = load i64, ptr %row
  %kernel.at = getelementptr ptr, ptr %functions, i64 %number
  %kernel = load ptr, ptr %kernel.at
  %tasks.at = getelementptr i64, ptr %row, i64 1
  %tasks = load i64, ptr %tasks.at
  %buffers.at = getelementptr i64, ptr %row, i64 2
  %buffers = load i64, ptr %buffers.at
  %places = getelementptr i64, ptr %row, i64 4
  call void %run(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places)
  %next = getelementptr { i64, i64 }, ptr %places, i64 %buffers
  %k1 = add i64 %k, 1
  %code = load i64, ptr %status
  %fine = icmp eq i64 %code, 0
  %on = or i1 %fine, %final
  %left = icmp slt i64 %k1, %count
  %more = and i1 %on, %left
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

_CODE = """
declare i64 @pthread_self()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)

; Run what is left of the job, own range first; true if this thread reported the job's last chunk.
define internal i1 @participate(ptr %pool, i64 %thread) {
entry:
  %threads.at = getelementptr i8, ptr %pool, i64 $threads
  %threads = load i64, ptr %threads.at
  %slots = getelementptr i8, ptr %pool, i64 $slots
  %closing.at = getelementptr i8, ptr %pool, i64 $closing
  br label %range
range:
  %step = phi i64 [ 0, %entry ], [ %step1, %empty ]
  %done = phi i64 [ 0, %entry ], [ %done2, %empty ]
  %ahead = add i64 %thread, %step
  %past = icmp sge i64 %ahead, %threads
  %back = select i1 %past, i64 %threads, i64 0
  %v = sub i64 %ahead, %back
  %skip = mul i64 %v, $slot
  %left = getelementptr i8, ptr %slots, i64 %skip
  %own = icmp eq i64 %step, 0
  br i1 %own, label %claim, label %peek
peek:
  %done1 = phi i64 [ %done, %range ], [ %more, %ran ]
  %seen = load atomic i64, ptr %left monotonic, align 8
  %some = icmp sgt i64 %seen, 0
  br i1 %some, label %claim, label %empty
claim:
  %done3 = phi i64 [ %done, %range ], [ %done1, %peek ]
  %old = atomicrmw sub ptr %left, i64 1 acq_rel
  %mine = icmp sgt i64 %old, 0
  br i1 %mine, label %chunk, label %empty
chunk:
  %kernel.at = getelementptr i8, ptr %pool, i64 $kernel
  %kernel = load ptr, ptr %kernel.at
  %ctx.at = getelementptr i8, ptr %pool, i64 $ctx
  %ctx = load ptr, ptr %ctx.at
  %tasks.at = getelementptr i8, ptr %pool, i64 $tasks
  %tasks = load i64, ptr %tasks.at
  %parts.at = getelementptr i8, ptr %pool, i64 $parts
  %parts = load i64, ptr %parts.at
  %mode.at = getelementptr i8, ptr %pool, i64 $mode
  %mode = load i64, ptr %mode.at
  call void @set_mode(i64 %mode)
  %places.at = getelementptr i8, ptr %pool, i64 $places
  %places = load ptr, ptr %places.at
  %closing = load atomic i64, ptr %closing.at monotonic, align 8
  %leave = icmp ne i64 %closing, 0
  br i1 %leave, label %give_up, label %alive
give_up:
  call void @cancel(ptr %ctx)
  br label %ran
alive:
  %word = call ptr @cancel_word(ptr %ctx)
  %cancelled = load atomic i64, ptr %word monotonic, align 8
  %go = icmp eq i64 %cancelled, 0
  br i1 %go, label %run, label %ran
run:
  %low.n = mul i64 %v, %tasks
  %low = udiv i64 %low.n, %parts
  %v1 = add i64 %v, 1
  %high.n = mul i64 %v1, %tasks
  %high = udiv i64 %high.n, %parts
  %span = sub i64 %high, %low
  %most.at = getelementptr i8, ptr %pool, i64 $most
  %most = load i64, ptr %most.at
  %chunks = call i64 @llvm.smin.i64(i64 %span, i64 %most)
  %k = sub i64 %chunks, %old
  %b.n = mul i64 %k, %span
  %b = udiv i64 %b.n, %chunks
  %k1 = add i64 %k, 1
  %e.n = mul i64 %k1, %span
  %e = udiv i64 %e.n, %chunks
  %begin = add i64 %low, %b
  %end = add i64 %low, %e
  call void %kernel(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places)
  br label %ran
ran:
  %more = add i64 %done3, 1
  br label %peek
empty:
  %done2 = phi i64 [ %done1, %peek ], [ %done3, %claim ]
  %step1 = add i64 %step, 1
  %round = icmp eq i64 %step1, %threads
  br i1 %round, label %report, label %range
report:
  %none = icmp eq i64 %done2, 0
  br i1 %none, label %idle, label %count
count:
  %pending = getelementptr i8, ptr %pool, i64 $pending
  %before = atomicrmw sub ptr %pending, i64 %done2 seq_cst
  %last = icmp eq i64 %before, %done2
  ret i1 %last
idle:
  ret i1 false
}

; Fill the job and the slots of its ranges.
define internal void @publish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places) {
entry:
  %threads.at = getelementptr i8, ptr %pool, i64 $threads
  %threads = load i64, ptr %threads.at
  %parts = call i64 @llvm.smin.i64(i64 %threads, i64 %tasks)
  %kernel.at = getelementptr i8, ptr %pool, i64 $kernel
  store ptr %kernel, ptr %kernel.at
  %ctx.at = getelementptr i8, ptr %pool, i64 $ctx
  store ptr %ctx, ptr %ctx.at
  %tasks.at = getelementptr i8, ptr %pool, i64 $tasks
  store i64 %tasks, ptr %tasks.at
  %parts.at = getelementptr i8, ptr %pool, i64 $parts
  store i64 %parts, ptr %parts.at
  %places.at = getelementptr i8, ptr %pool, i64 $places
  store ptr %places, ptr %places.at
  %mode.at = getelementptr i8, ptr %pool, i64 $mode
  %mode = call i64 @mode()
  store i64 %mode, ptr %mode.at
  %slots = getelementptr i8, ptr %pool, i64 $slots
  %pending = getelementptr i8, ptr %pool, i64 $pending
  %most = call i64 @most_chunks(ptr %places, i64 %tasks, i64 %parts)
  %most.at = getelementptr i8, ptr %pool, i64 $most
  store i64 %most, ptr %most.at
  %all = call i64 @chunks_before(i64 %parts, i64 %tasks, i64 %parts, i64 %most)
  store atomic i64 %all, ptr %pending release, align 8
  br label %fill
fill:
  %v = phi i64 [ 0, %entry ], [ %v1, %fill ]
  %v1 = add i64 %v, 1
  %low = call i64 @chunks_before(i64 %v, i64 %tasks, i64 %parts, i64 %most)
  %high = call i64 @chunks_before(i64 %v1, i64 %tasks, i64 %parts, i64 %most)
  %chunks = sub i64 %high, %low
  %skip = mul i64 %v, $slot
  %left = getelementptr i8, ptr %slots, i64 %skip
  store atomic i64 %chunks, ptr %left release, align 8
  %end = icmp eq i64 %v1, %parts
  br i1 %end, label %done, label %fill
done:
  ret void
}

; Chunks of a range at most: as many tasks stay together as the word in front of the places says.
define internal i64 @most_chunks(ptr %places, i64 %tasks, i64 %parts) {
  %together.at = getelementptr i64, ptr %places, i64 -1
  %together = load i64, ptr %together.at
  %alone = icmp eq i64 %together, 1
  %size = udiv i64 %tasks, %parts
  %groups = udiv i64 %size, %together
  %some = call i64 @llvm.smax.i64(i64 %groups, i64 1)
  %few = call i64 @llvm.smin.i64(i64 %some, i64 $max_chunks)
  %most = select i1 %alone, i64 $max_chunks, i64 %few
  ret i64 %most
}

; Chunks of the ranges before range v: each has min(its tasks, most), and all ranges differ by one task at most.
define internal i64 @chunks_before(i64 %v, i64 %tasks, i64 %parts, i64 %most) {
  %size = udiv i64 %tasks, %parts
  %small = icmp slt i64 %size, %most
  br i1 %small, label %counted, label %full
counted:
  %n = mul i64 %v, %tasks
  %c = udiv i64 %n, %parts
  ret i64 %c
full:
  %m = mul i64 %v, %most
  ret i64 %m
}

; All tasks of a kernel, unless the program is to stop.
define void @pool_run(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places) {
  call void @pool_poll(ptr %pool, ptr %ctx)
  %word = call ptr @cancel_word(ptr %ctx)
  %cancelled = load atomic i64, ptr %word monotonic, align 8
  %go = icmp eq i64 %cancelled, 0
  br i1 %go, label %run, label %done
run:
  call void @pool_finish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places)
  br label %done
done:
  ret void
}

; All tasks of a kernel come what may, on all threads if the pool is free, else here.
define void @pool_finish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places) {
  %some = icmp sgt i64 %tasks, 0
  br i1 %some, label %alone, label %done
alone:
  %threads.at = getelementptr i8, ptr %pool, i64 $threads
  %threads = load i64, ptr %threads.at
  %width = call i64 @llvm.smin.i64(i64 %threads, i64 %tasks)
  %one = icmp eq i64 %width, 1
  br i1 %one, label %serial, label %acquire
acquire:
  %owner = getelementptr i8, ptr %pool, i64 $owner
  %got = cmpxchg ptr %owner, i64 0, i64 1 seq_cst seq_cst
  %free = extractvalue { i64, i1 } %got, 1
  br i1 %free, label %parallel, label %serial
serial:
  call void %kernel(ptr %ctx, i64 0, i64 0, i64 %tasks, ptr %places)
  ret void
parallel:
  %finish = getelementptr i8, ptr %pool, i64 $finish
  %seen = load atomic i32, ptr %finish seq_cst, align 4
  call void @publish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places)
  %start = getelementptr i8, ptr %pool, i64 $start
  %others = sub i64 %width, 1
  call void @announce(ptr %pool, ptr %start, i64 %others)
  %last = call i1 @participate(ptr %pool, i64 0)
  br i1 %last, label %release, label %join
join:
  %spin.at = getelementptr i8, ptr %pool, i64 $spin
  %spin = load i64, ptr %spin.at
  %watched.at = getelementptr i8, ptr %ctx, i64 $in_ctx
  %watched = load ptr, ptr %watched.at
  %stoppable = icmp ne ptr %watched, null
  br label %wait
wait:
  %budget = phi i64 [ %spin, %join ], [ 0, %unfinished ], [ 0, %ask ]
  %soon = call i1 @await(ptr %pool, ptr %finish, i32 %seen, i64 %budget, i64 $poll_ns)
  %now = load atomic i32, ptr %finish seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %unfinished, label %release
unfinished:
  br i1 %stoppable, label %ask, label %wait
ask:
  call void @pool_poll(ptr %pool, ptr %ctx)
  br label %wait
release:
  store atomic i64 0, ptr %owner seq_cst, align 8
  ret void
done:
  ret void
}

; The life of a worker: run, look for work for a while, sleep. The while halves when it was in vain, and doubles again.
define void @pool_worker(ptr %pool, i64 %index) {
entry:
  %start = getelementptr i8, ptr %pool, i64 $start
  %finish = getelementptr i8, ptr %pool, i64 $finish
  %stop.at = getelementptr i8, ptr %pool, i64 $stop
  %spin.at = getelementptr i8, ptr %pool, i64 $spin
  %most = load i64, ptr %spin.at
  %least = udiv i64 %most, 8
  br label %loop
loop:
  %budget = phi i64 [ %most, %entry ], [ %adapted, %rest ]
  %seen = load atomic i32, ptr %start acquire, align 4
  %last = call i1 @participate(ptr %pool, i64 %index)
  br i1 %last, label %tell, label %quit
tell:
  call void @announce(ptr %pool, ptr %finish, i64 1)
  br label %quit
quit:
  %stop = load atomic i64, ptr %stop.at seq_cst, align 8
  %leave = icmp ne i64 %stop, 0
  br i1 %leave, label %exit, label %rest
rest:
  %soon = call i1 @await(ptr %pool, ptr %start, i32 %seen, i64 %budget, i64 0)
  %half = udiv i64 %budget, 2
  %twice = mul i64 %budget, 2
  %less = call i64 @llvm.smax.i64(i64 %half, i64 %least)
  %more = call i64 @llvm.smin.i64(i64 %twice, i64 %most)
  %adapted = select i1 %soon, i64 %more, i64 %less
  br label %loop
exit:
  ret void
}

define void @pool_stop(ptr %pool) {
  %stop = getelementptr i8, ptr %pool, i64 $stop
  store atomic i64 1, ptr %stop seq_cst, align 8
  %start = getelementptr i8, ptr %pool, i64 $start
  call void @announce(ptr %pool, ptr %start, i64 1024)
  ret void
}

; Run a program with a clean status, which is not written where it is clean: workers have seen it; on Python's main
; thread it will be polled for signals.
define i64 @pool_call(ptr %pool, ptr %program, ptr %ctx) {
  %calls = getelementptr i8, ptr %pool, i64 $calls
  %c0 = atomicrmw add ptr %calls, i64 1 seq_cst
  %at = getelementptr i8, ptr %ctx, i64 16
  %status = load ptr, ptr %at
  %old = load <4 x i64>, ptr %status, align 8
  %any = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %old)
  %clean = icmp eq i64 %any, 0
  br i1 %clean, label %begin, label %clear
clear:
  store <4 x i64> zeroinitializer, ptr %status, align 8
  br label %begin
begin:
  %finished = getelementptr i8, ptr %status, i64 $finished
  store i64 0, ptr %finished
  %flushes.at = getelementptr i8, ptr %status, i64 $flushes
  %flushes = load i64, ptr %flushes.at
  %mode = call i64 @mode()
  %bits = load i64, ptr @flush
  %wanted = mul i64 %flushes, %bits
  %set = or i64 %mode, %wanted
  call void @set_mode(i64 %set)
  %main.at = getelementptr i8, ptr %pool, i64 $main
  %main = load i64, ptr %main.at
  %self = call i64 @pthread_self()
  %is_main = icmp eq i64 %self, %main
  br i1 %is_main, label %watched, label %plain
watched:
  %polled.at = getelementptr i8, ptr %pool, i64 $polled
  %outer = load atomic i64, ptr %polled.at monotonic, align 8
  %inner = ptrtoint ptr %status to i64
  store atomic i64 %inner, ptr %polled.at monotonic, align 8
  %r0 = call i32 %program(ptr %ctx, ptr %pool)
  store atomic i64 %outer, ptr %polled.at monotonic, align 8
  br label %done
plain:
  %r1 = call i32 %program(ptr %ctx, ptr %pool)
  br label %done
done:
  %r = phi i32 [ %r0, %watched ], [ %r1, %plain ]
  call void @set_mode(i64 %mode)
  %fine = icmp eq i32 %r, 0
  %flag = zext i1 %fine to i64
  store i64 %flag, ptr %finished
  %c1 = atomicrmw sub ptr %calls, i64 1 seq_cst
  %code = sext i32 %r to i64
  ret i64 %code
}
"""
