"""What calls of a C function cost: in programs of Stele, in loops of C, by JAX's FFI and as an op of PyTorch's.

    python benchmarks/foreign.py [--jax PATH] [--pytorch PATH]

PATH is an interpreter that has the framework. Nanoseconds of CPU time of one thread, median (least to most).
"""
from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

CODE = r"""#include <stdint.h>
double tiny(double x) { return x * 0.999 + 0.1; }
void small(int64_t n, const double *x, double *y) { for (int64_t i = 0; i < n; i++) y[i] = x[i] * 0.999 + 0.1; }
double numbers(double (*volatile f)(double), double x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x = f(x);
    return x;
}
void elements(double (*volatile f)(double), const double *x, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = f(x[i]);
}
void arrays(void (*volatile f)(int64_t, const double *, double *), double *x, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) { f(4, x, y); double *z = x; x = y; y = z; }
}
"""
HANDLER = r"""#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static ffi::Error run(ffi::Buffer<ffi::F64> x, ffi::ResultBuffer<ffi::F64> y) {
    const double *a = x.typed_data();
    double *b = y->typed_data();
    for (size_t i = 0; i < x.element_count(); i++) b[i] = a[i] * 0.999 + 0.1;
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Small, run,
                              ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F64>>().Ret<ffi::Buffer<ffi::F64>>());
"""
JAX = r"""
import ctypes, subprocess, sys, time
import jax
jax.config.update("jax_enable_x64", True)
subprocess.run(["c++", "-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-I" + jax.ffi.include_dir(),
                "-o", sys.argv[1] + ".so", sys.argv[1]], check=True)
jax.ffi.register_ffi_target("small", jax.ffi.pycapsule(ctypes.CDLL(sys.argv[1] + ".so").Small), platform="cpu")
call, n, x = lambda x: jax.ffi.ffi_call("small", jax.ShapeDtypeStruct(x.shape, x.dtype))(x), 20_000, jax.numpy.ones(4)
loop = jax.jit(lambda x: jax.lax.fori_loop(0, n, lambda i, c: call(c), x))
bare = jax.jit(lambda x: jax.lax.fori_loop(0, n, lambda i, c: c * 0.999 + 0.1, x))
one = jax.jit(call)
def spent(f, times):
    f(x).block_until_ready()
    begin = time.process_time()
    for _ in range(times): f(x).block_until_ready()
    return (time.process_time() - begin) / times * 1e9
print("JAX, arrays in a loop: more", [round((spent(loop, 3) - spent(bare, 3)) / n) for _ in range(5)])
print("JAX, called from Python", [round(spent(one, 5000)) for _ in range(5)])
"""
TORCH = r"""
import ctypes, sys, time
import torch
torch.set_num_threads(1)
lib = ctypes.CDLL(sys.argv[1])
def direct(x):
    y = torch.empty_like(x)
    lib.small(ctypes.c_int64(4), ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()))
    return y
def small(x: torch.Tensor) -> torch.Tensor: return direct(x)
op, x = torch.library.custom_op("own::small", small, mutates_args=()), torch.ones(4, dtype=torch.float64)
def spent(f):
    f(x)
    begin = time.process_time()
    for _ in range(3000): f(x)
    return (time.process_time() - begin) / 3000 * 1e9
print("PyTorch, called from Python", [round(spent(op)) for _ in range(5)], "through ctypes alone",
      [round(spent(direct)) for _ in range(5)])
"""
STEPS, ELEMENTS, CALLS, RUNS = 200_000, 1_000_000, 20_000, 7


def spent(f: Callable[[], object]) -> float:
    """Seconds of CPU."""
    begin = time.process_time()
    f()
    return time.process_time() - begin


def again(f: Callable[[], object]) -> Callable[[], None]:
    """So many calls."""
    def run() -> None:
        for _ in range(CALLS):
            f()
    return run


def measure(lib: ctypes.CDLL) -> None:
    """Prints what calls cost beside those of C."""
    import stele as st

    pointer = lambda x: ctypes.c_void_p(x.ctypes.data)
    tiny = st.foreign(lib.tiny, "double(double)")
    small = st.foreign(lib.small, "void(int64_t n, const double x[n], double y[n])")
    numbers = st.compile(lambda x: st.fori_loop(0, STEPS, lambda i, c: tiny(c), x))
    arrays = st.compile(lambda x: st.fori_loop(0, STEPS, lambda i, c: small(c), x))
    elements, one = st.compile(lambda x: tiny(x)), st.compile(lambda x: small(x))
    a, b, c = (st.tensor(x) for x in (np.float64(1), np.ones(4), np.ones(ELEMENTS)))
    x, y, many, out = np.ones(4), np.ones(4), np.ones(ELEMENTS), np.ones(ELEMENTS)
    rows = {
        "a number in a loop": (lambda: numbers(a).numpy(), lambda: lib.numbers(
            lib.tiny, ctypes.c_double(1), ctypes.c_int64(STEPS)), STEPS),
        "an array of 4 in a loop": (lambda: arrays(b).numpy(), lambda: lib.arrays(
            lib.small, pointer(x), pointer(y), ctypes.c_int64(STEPS)), STEPS),
        "each of a million": (lambda: elements(c).numpy(), lambda: lib.elements(
            lib.tiny, pointer(many), pointer(out), ctypes.c_int64(ELEMENTS)), ELEMENTS),
        "an array of 4, from Python": (again(lambda: one(b)), again(
            lambda: lib.small(ctypes.c_int64(4), pointer(x), pointer(y))), CALLS)}
    for name, (ours, direct, count) in rows.items():
        ours(), direct()
        found = [(spent(ours) / count * 1e9, spent(direct) / count * 1e9) for _ in range(RUNS)]
        more = sorted(p - q for p, q in found)
        print(f"{name}: Stele {statistics.median(p for p, _ in found):.1f}, direct "
              f"{statistics.median(q for _, q in found):.1f}, more {statistics.median(more):.1f} "
              f"({more[0]:.1f} to {more[-1]:.1f})")


def main() -> None:
    """Builds the functions and measures."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--jax", help="an interpreter that has JAX")
    asked.add_argument("--pytorch", help="an interpreter that has PyTorch")
    options = asked.parse_args()
    os.environ.setdefault("STELE_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        source, handler, built = (Path(folder) / name for name in ("f.c", "f.cc", "f.so"))
        source.write_text(CODE)
        handler.write_text(HANDLER)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", built, source], check=True)
        measure(ctypes.CDLL(str(built)))
        for python, program, file in ((options.jax, JAX, handler), (options.pytorch, TORCH, built)):
            if python:
                sys.stdout.flush()
                subprocess.run([python, "-c", program, str(file)], check=True)


if __name__ == "__main__":
    main()
