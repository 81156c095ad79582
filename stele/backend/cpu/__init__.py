"""The native runtime of the CPU: target, compiler, thread pool, object cache, BLAS."""
