"""What a program needs around it where there is no Python: its memory in the caller's, threads of the caller's, and the
machine it runs on looked at, as LLVM IR."""
from __future__ import annotations

from string import Template

from stele.backend.cpu import events
from stele.backend.cpu.pool_code import SERIES

OK, INDEX, MANY, REFUSED, SIZES, SMALL, NULL, UNPREPARED, MACHINE = range(9)
MESSAGES = ("all is well", "an index is out of range", "there are more elements than the program has room for",
            "a matrix has no such factor", "sizes are not what the program was made for",
            "the arena is smaller than the program's bytes", "an address is null",
            "the arena was not prepared, or by another program", "this CPU lacks instructions that the program uses")
MAGIC = 0x656C657473    # in an arena that is prepared, with where the weights of its program lie
CONTEXT, STATUS, POOL, JOB, TABLES = 0, 128, 256, 320, 512      # where in an arena what is told of a call stands
LEVELS = {      # what LLVM takes a level for: bits of leaf 1 ecx, of leaf 7 ebx, and of the state that a system saves
    "x86-64-v2": (0x982201, 0, 0), "x86-64-v3": (0x38D83201, 0x128, 0x6), "x86-64-v4": (0x38D83201, 0xD0030128, 0xE6)}


def source(triple: str, level: str) -> str:
    """The IR that a library has beside its program: `pool_run` and the like by the caller's threads, `fits`."""
    first, seventh, saved = LEVELS.get(level, (0, 0, 0))
    mode = events.mode(triple)
    return mode + SERIES + Template(_CODE + (_X86 if level in LEVELS else _ANY)).substitute(
        first=first, seventh=seventh, saved=saved, user=8, threads=16, job=JOB - POOL)


_CODE = """
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define void @pool_poll(ptr %pool, ptr %ctx) {
  ret void
}

define i64 @pool_watch(ptr %ctx, i64 %thread) {
  ret i64 0
}

define void @pool_run(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places) {
  call void @pool_finish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places)
  ret void
}

; A job is { kernel, ctx, tasks, places, tasks at once, mode } and, on the next line, the first task that nobody has.
define void @pool_finish(ptr %pool, ptr %kernel, ptr %ctx, i64 %tasks, ptr %places) {
  %parallel = load ptr, ptr %pool
  %alone = icmp eq ptr %parallel, null
  %few = icmp slt i64 %tasks, 2
  %serial = or i1 %alone, %few
  br i1 %serial, label %here, label %share
here:
  %some = icmp sgt i64 %tasks, 0
  br i1 %some, label %run, label %done
run:
  call void %kernel(ptr %ctx, i64 0, i64 0, i64 %tasks, ptr %places)
  ret void
share:
  %job = getelementptr i8, ptr %pool, i64 $job
  store ptr %kernel, ptr %job
  %ctx.at = getelementptr i8, ptr %job, i64 8
  store ptr %ctx, ptr %ctx.at
  %tasks.at = getelementptr i8, ptr %job, i64 16
  store i64 %tasks, ptr %tasks.at
  %places.at = getelementptr i8, ptr %job, i64 24
  store ptr %places, ptr %places.at
  %threads.at = getelementptr i8, ptr %pool, i64 $threads
  %threads = load i64, ptr %threads.at
  %pieces = mul i64 %threads, 4
  %share.n = udiv i64 %tasks, %pieces
  %together.at = getelementptr i64, ptr %places, i64 -1
  %together = load i64, ptr %together.at
  %width = call i64 @llvm.smin.i64(i64 %threads, i64 %tasks)
  %share.t = udiv i64 %tasks, %width
  %share.m = call i64 @llvm.smin.i64(i64 %share.t, i64 %together)
  %grain = call i64 @llvm.smax.i64(i64 %share.n, i64 %share.m)
  %grain.at = getelementptr i8, ptr %job, i64 32
  store i64 %grain, ptr %grain.at
  %mode = call i64 @mode()
  %mode.at = getelementptr i8, ptr %job, i64 40
  store i64 %mode, ptr %mode.at
  %next = getelementptr i8, ptr %job, i64 64
  store atomic i64 0, ptr %next release, align 8
  %user.at = getelementptr i8, ptr %pool, i64 $user
  %user = load ptr, ptr %user.at
  call void %parallel(ptr %user, ptr @work, ptr %job, i64 %width)
  ret void
done:
  ret void
}

; Takes tasks of a job as long as there are some.
define internal void @work(ptr %job, i64 %thread) {
entry:
  %kernel = load ptr, ptr %job
  %ctx.at = getelementptr i8, ptr %job, i64 8
  %ctx = load ptr, ptr %ctx.at
  %tasks.at = getelementptr i8, ptr %job, i64 16
  %tasks = load i64, ptr %tasks.at
  %places.at = getelementptr i8, ptr %job, i64 24
  %places = load ptr, ptr %places.at
  %grain.at = getelementptr i8, ptr %job, i64 32
  %grain = load i64, ptr %grain.at
  %mode.at = getelementptr i8, ptr %job, i64 40
  %mode = load i64, ptr %mode.at
  %next = getelementptr i8, ptr %job, i64 64
  %own = call i64 @mode()
  call void @set_mode(i64 %mode)
  br label %take
take:
  %begin = atomicrmw add ptr %next, i64 %grain acq_rel
  %some = icmp slt i64 %begin, %tasks
  br i1 %some, label %run, label %done
run:
  %after = add i64 %begin, %grain
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %tasks)
  call void %kernel(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places)
  br label %take
done:
  call void @set_mode(i64 %own)
  ret void
}
"""
_ANY = """
define internal i1 @fits() {
  ret i1 true
}
"""
_X86 = """
define internal i1 @fits() {
entry:
  %one = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 1, i32 0)
  %first = extractvalue { i32, i32, i32, i32 } %one, 2
  %first.has = and i32 %first, $first
  %first.fits = icmp eq i32 %first.has, $first
  br i1 %first.fits, label %more, label %no
more:
  %seven = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 7, i32 0)
  %seventh = extractvalue { i32, i32, i32, i32 } %seven, 1
  %seventh.has = and i32 %seventh, $seventh
  %seventh.wanted = trunc i64 $seventh to i32
  %seventh.fits = icmp eq i32 %seventh.has, %seventh.wanted
  br i1 %seventh.fits, label %state, label %no
state:
  %needs = icmp ne i32 $saved, 0
  br i1 %needs, label %ask, label %yes
ask:
  %saved = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %low = extractvalue { i32, i32 } %saved, 0
  %low.has = and i32 %low, $saved
  %low.fits = icmp eq i32 %low.has, $saved
  br i1 %low.fits, label %yes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
