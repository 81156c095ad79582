"""How threads of the pool wait for one another and compute, as LLVM IR: the one place that knows systems and CPUs.

An event is `{ i32 count, i32 sleepers }`. `@announce` bumps the count; `@await` returns when the count is no longer the
one that the thread has seen: it looks for a while, then sleeps in the kernel.
"""

from __future__ import annotations

import sys


def template(triple: str, *, futex: bool) -> str:
    """LLVM IR with `$names` of `constants` and of the pool's layout; without `futex` on a condition variable."""
    return _DECLARATIONS + mode(triple) + (_FUTEX if futex else _CONDITION) + _EVENTS


def mode(triple: str) -> str:
    """LLVM IR of `@mode` and `@set_mode`: whether subnormal numbers count as zero, of the thread that asks."""
    return _ARM_MODE if _is_arm(triple) else _X86_MODE


def constants(triple: str) -> dict[str, int | str]:
    """What differs between machines: system call and clock numbers, the instruction that relaxes a spinning core."""
    arm = _is_arm(triple)
    return {
        "futex": 98 if arm else 202,
        "monotonic": 1 if sys.platform == "linux" else 6,
        "coarse": 6,
        "relax": "llvm.aarch64.isb(i32 15)" if arm else "llvm.x86.sse2.pause()",
        "relax_type": "llvm.aarch64.isb(i32)" if arm else "llvm.x86.sse2.pause()",
    }


def _is_arm(triple: str) -> bool:
    return triple.startswith(("aarch64", "arm64"))


_DECLARATIONS = """
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare void @$relax_type
declare i64 @llvm.smin.i64(i64, i64)
"""

# How a thread computes: MXCSR with its bits FTZ and DAZ, FPCR with its bit FZ.
_X86_MODE = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
@flush = internal constant i64 32832

define internal i64 @mode() {
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %now = load i32, ptr %at
  %mode = zext i32 %now to i64
  ret i64 %mode
}

define internal void @set_mode(i64 %mode) {
  %at = alloca i32
  %now = trunc i64 %mode to i32
  store i32 %now, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
"""
_ARM_MODE = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
@flush = internal constant i64 16777216

define internal i64 @mode() {
  %mode = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %mode
}

define internal void @set_mode(i64 %mode) {
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}
"""

_FUTEX = """
; sleep while *event == seen, for some nanoseconds at most (0: for as long as it takes)
define internal void @doze(ptr %pool, ptr %event, i32 %seen, i64 %patience) noinline {
  %span = alloca { i64, i64 }
  %s = udiv i64 %patience, 1000000000
  %ns = urem i64 %patience, 1000000000
  store i64 %s, ptr %span
  %at = getelementptr i8, ptr %span, i64 8
  store i64 %ns, ptr %at
  %ever = icmp eq i64 %patience, 0
  %limit = select i1 %ever, ptr null, ptr %span
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %event, i32 128, i32 %seen, ptr %limit)
  ret void
}

define internal void @rouse(ptr %pool, ptr %event, i32 %count) noinline {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %event, i32 129, i32 %count)
  ret void
}
"""

_CONDITION = """
; sleep while *event == seen, for some nanoseconds at most (0: for as long as it takes)
define internal void @doze(ptr %pool, ptr %event, i32 %seen, i64 %patience) noinline {
  %until = alloca { i64, i64 }
  %from = call i64 @time_now(i32 0)
  %then = add i64 %from, %patience
  %s = udiv i64 %then, 1000000000
  %ns = urem i64 %then, 1000000000
  store i64 %s, ptr %until
  %at = getelementptr i8, ptr %until, i64 8
  store i64 %ns, ptr %at
  %ever = icmp eq i64 %patience, 0
  %mutex = getelementptr i8, ptr %pool, i64 $mutex
  %cond = getelementptr i8, ptr %pool, i64 $cond
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %check
check:
  %now = load atomic i32, ptr %event seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %wait, label %done
wait:
  br i1 %ever, label %long, label %short
long:
  %w = call i32 @pthread_cond_wait(ptr %cond, ptr %mutex)
  br label %check
short:
  %t = call i32 @pthread_cond_timedwait(ptr %cond, ptr %mutex, ptr %until)
  br label %done
done:
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

define internal void @rouse(ptr %pool, ptr %event, i32 %count) noinline {
  %mutex = getelementptr i8, ptr %pool, i64 $mutex
  %cond = getelementptr i8, ptr %pool, i64 $cond
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = call i32 @pthread_cond_broadcast(ptr %cond)
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}
"""

_EVENTS = """
define internal i64 @time_now(i32 %id) {
  %time = alloca { i64, i64 }
  %r = call i32 @clock_gettime(i32 %id, ptr %time)
  %s = load i64, ptr %time
  %at = getelementptr i8, ptr %time, i64 8
  %ns = load i64, ptr %at
  %whole = mul i64 %s, 1000000000
  %now = add i64 %whole, %ns
  ret i64 %now
}

define i64 @pool_time() {
  %now = call i64 @time_now(i32 $monotonic)
  ret i64 %now
}

define internal void @relax(i64 %crowded) alwaysinline {
  %spin = icmp eq i64 %crowded, 0
  br i1 %spin, label %pause, label %yield
pause:
  call void @$relax
  ret void
yield:
  %r = call i32 @sched_yield()
  ret void
}

; Bump the event and wake at most `count` of its sleepers.
define internal void @announce(ptr %pool, ptr %event, i64 %count) {
  %old = atomicrmw add ptr %event, i32 1 seq_cst
  %at = getelementptr i8, ptr %event, i64 4
  %sleepers = load atomic i32, ptr %at seq_cst, align 4
  %idle = icmp eq i32 %sleepers, 0
  br i1 %idle, label %done, label %wake
wake:
  %few = call i64 @llvm.smin.i64(i64 %count, i64 1024)
  %n = trunc i64 %few to i32
  call void @rouse(ptr %pool, ptr %event, i32 %n)
  br label %done
done:
  ret void
}

; Return when *event != seen: true if that came within `budget` nanoseconds, before the thread slept. With `patience` it
; sleeps once, for so many nanoseconds at most, and returns whatever the event is then.
define internal i1 @await(ptr %pool, ptr %event, i32 %seen, i64 %budget, i64 %patience) {
entry:
  %crowded.at = getelementptr i8, ptr %pool, i64 $crowded
  %crowded = load i64, ptr %crowded.at
  %asleep = icmp eq i64 %budget, 0
  br i1 %asleep, label %settle, label %begin
begin:
  %from = call i64 @time_now(i32 $monotonic)
  %until = add i64 %from, %budget
  br label %look
look:
  %k = phi i64 [ 0, %begin ], [ %k1, %next ], [ 0, %late ]
  %now = load atomic i32, ptr %event acquire, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %next, label %soon
next:
  call void @relax(i64 %crowded)
  %k1 = add i64 %k, 1
  %tick = icmp eq i64 %k1, 32
  br i1 %tick, label %late, label %look
late:
  %time = call i64 @time_now(i32 $monotonic)
  %over = icmp sgt i64 %time, %until
  br i1 %over, label %settle, label %look
soon:
  ret i1 true
settle:
  %sleepers = getelementptr i8, ptr %event, i64 4
  %s0 = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %check
check:
  %then = load atomic i32, ptr %event seq_cst, align 4
  %still = icmp eq i32 %then, %seen
  br i1 %still, label %sleep, label %rise
sleep:
  call void @doze(ptr %pool, ptr %event, i32 %seen, i64 %patience)
  %ever = icmp eq i64 %patience, 0
  br i1 %ever, label %check, label %rise
rise:
  %s1 = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  ret i1 false
}
"""
