"""The external symbols that compiled code may refer to."""
from __future__ import annotations

from stele.backend.cpu.invoke import PYTHON

# Of the C library: LLVM turns copies and fills into calls of these.
C = frozenset({"memcpy", "memmove", "memset"})

# What any program may use besides: the pool (pool.py), and a BLAS (blas.py).
KERNEL = C | frozenset({"pool_run", "pool_finish", "pool_series", "pool_poll", "pool_watch", "pool_cross", "pool_time",
                        "sgemm", "dgemm"})

# What the pool itself uses: of the C library of the process, and of Python where it is called from there.
POOL = PYTHON | frozenset({"syscall", "clock_gettime", "sched_yield", "pthread_self",
                  "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_timedwait",
                  "pthread_cond_broadcast"})
