"""The BLAS that contractions may call, single-threaded, since it runs inside our own pool."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from _cffi_backend import FFI

from stele import config
from stele.errors import DeviceError
from stele.ir.record import Record

ffi = FFI()       # as modules use it that cffi wrote: it parses without pycparser, whose import takes long

_ROUTINES = "sgemm", "dgemm"
_PREFIXES = ("scipy_cblas_", "cblas_")
_THREADS = ("scipy_openblas_set_num_threads", "openblas_set_num_threads", "MKL_Set_Num_Threads",
            "bli_thread_set_num_threads")
_CONFIGS = ("scipy_openblas_get_config", "openblas_get_config")
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


class Blas(Record):
    """A loaded library with 32-bit integers; `addresses` gives its C routines (`cblas_` interface) by name."""

    name: str
    path: str
    config: str
    addresses: dict[str, int]


def library() -> Blas | None:
    """The library that STELE_BLAS names, loaded on first use; None for `none`, DeviceError if it cannot be had."""
    return _load(config.BLAS())


def address(name: str) -> int:
    """Where native code finds `sgemm` or `dgemm` (cblas calling convention), 0 if there is no BLAS.

    `void gemm(int order, int ta, int tb, int m, int n, int k,
               T alpha, T *a, int lda, T *b, int ldb, T beta, T *c, int ldc)`
    """
    if name not in _ROUTINES:
        raise DeviceError(f"the BLAS table has {', '.join(_ROUTINES)}, got {name}")
    blas = library()
    return blas.addresses[name] if blas else 0


def describe() -> dict[str, str]:
    """What `stele doctor` prints."""
    blas = library()
    if blas is None:
        return {"library": "none"}
    return {"library": blas.name, "path": blas.path, "config": blas.config, "threads": "1"}


@functools.cache
def _load(wanted: str) -> Blas | None:
    if wanted == "none":
        return None
    path = _find(wanted)
    try:
        with _one_thread():
            native = ctypes.CDLL(path)
    except OSError as error:
        raise DeviceError(f"STELE_BLAS={wanted}: cannot load {path} ({error})",
                          hint="Use openblas, mkl, none or a library's path.") from None
    prefix = next((prefix for prefix in _PREFIXES if _symbol(native, prefix + "sgemm")), None)
    if prefix is None:
        raise DeviceError(f"STELE_BLAS={wanted}: {path} has no cblas_sgemm",
                          hint="Name a library with the cblas interface and 32-bit integers.")
    for name in _THREADS:
        if where := _symbol(native, name):
            ffi.cast("void(*)(int)", where)(1)
    return Blas(wanted if wanted in ("openblas", "mkl") else Path(path).name, path, _config_text(native),
                {name: _symbol(native, prefix + name) for name in _ROUTINES})


def _find(wanted: str) -> str:
    if wanted == "mkl":
        return importlib.import_module("ctypes.util").find_library("mkl_rt") or "libmkl_rt.so.2"
    if wanted != "openblas":
        return wanted
    # The wheel is found, not imported: importing it takes 70 ms.
    wheel = importlib.util.find_spec("scipy_openblas32")
    found = [file for folder in (wheel and wheel.submodule_search_locations) or ()
             for file in Path(folder, "lib").glob("libscipy_openblas*")]
    if not found:
        raise DeviceError("STELE_BLAS=openblas needs the package scipy-openblas32, which is not installed",
                          hint="pip install scipy-openblas32, or set STELE_BLAS=none.")
    return str(found[0])


def _symbol(native: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(native, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def _config_text(native: ctypes.CDLL) -> str:
    where = next(filter(None, (_symbol(native, name) for name in _CONFIGS)), None)
    text = ctypes.CFUNCTYPE(ctypes.c_char_p)(where)() if where else b""
    return text.decode()


@contextmanager
def _one_thread() -> Generator[None]:
    """Libraries start their threads when they are loaded; this keeps them from it."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
