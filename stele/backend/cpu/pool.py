"""The thread pool that programs run on: Python threads that live in native code, without the GIL."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from _cffi_backend import FFI

from stele import config
from stele.backend.buffers import map_pages
from stele.backend.cpu import cache, invoke, pool_code, symbols
from stele.backend.cpu.image import Image, Loaded, load
from stele.backend.cpu.target import detect
from stele.backend.workers import begun
from stele.errors import Cancelled, ConfigError
from stele.ops.foreign import address_in

ffi = FFI()

_FOR_PROGRAMS = ("pool_run", "pool_finish", "pool_series", "pool_poll", "pool_watch", "pool_cross", "pool_time")
_EXIT_SECONDS = 2.0     # how long the interpreter's exit waits for running programs and for workers

_change = threading.RLock()
_wanted: int | None = None
_leaving = False
_raised: list[BaseException] = []       # by signal handlers, on the main thread


class Pool:
    """`threads` threads, the caller included; its native half stands at `address` and is never freed.

    A closed pool still runs programs, on the caller's thread alone, so closing never has to wait for one.
    """

    def __init__(self, threads: int, *, futex: bool | None = None) -> None:
        self.threads = threads
        self.address = _forever(pool_code.size(threads))
        native = _native(futex)
        self._stop = ffi.cast("void(*)(uintptr_t)", native["pool_stop"])
        self.invoke = _function(futex)
        self._words = (ctypes.c_int64 * (pool_code.size(threads) // 8)).from_address(self.address)
        self._set("threads", threads)
        self._set("spin", config.SPIN() * 1000)
        self._set("crowded", threads > detect().cores)
        self._set("main", threading.main_thread().ident or 0)
        self._set("on_poll", int(ffi.cast("uintptr_t", _on_poll)))
        self._worker = ffi.cast("void(*)(uintptr_t, int64_t)", native["pool_worker"])
        self._workers: list[threading.Thread] = []
        self.open()

    def call(self, program: int, ctx: int, *addresses: int) -> int:
        """Run `i32 program(ctx*, pool*)` without the GIL and return its code; the status is cleared before, and the
        addresses are written to the head of the table of buffers.

        What a signal handler raised meanwhile (KeyboardInterrupt) is raised here.
        """
        code = self.invoke(self.address, program, ctx, *addresses)
        return code and interrupted(code)

    def open(self) -> bool:
        """Start the workers, again after `close`; False while one of those before is still there."""
        if any(thread.is_alive() for thread in self._workers):
            return False
        self._set("stop", 0)
        self._workers = []
        try:
            for index in range(1, self.threads):
                self._workers.append(begun(self._worker, f"stele-{index}", self.address, index))
        except BaseException:
            self.close()
            raise
        return True

    def close(self, seconds: float = _EXIT_SECONDS) -> bool:
        """Send the workers home; whether all of them left in time."""
        self._stop(self.address)
        until = time.monotonic() + seconds
        for thread in self._workers:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._workers)

    def cancel(self, seconds: float = _EXIT_SECONDS) -> bool:
        """Ask the programs that run on this pool to stop; whether all of them did in time."""
        self._set("closing", 1)
        until = time.monotonic() + seconds
        while self._get("calls") > 0 and time.monotonic() < until:
            time.sleep(0.001)
        return self._get("calls") <= 0

    def _set(self, name: str, value: int) -> None:
        self._words[pool_code.OFFSET[name] // 8] = value

    def _get(self, name: str) -> int:
        return self._words[pool_code.OFFSET[name] // 8]


now: Pool | None = None                 # the pool of this process, once somebody asked for it
_ready: dict[str, bytes] = {}           # the native half, by key, from when it is made until it is loaded
_made: list[Pool] = []                  # every pool of this process: programs may still run on those that were replaced


def current() -> Pool:
    """The pool of this process, made on first use and again after fork; keep it for the length of a call.

    Ends other threads than the main one, as `sys.exit` does, while the interpreter goes down.
    """
    return now or _start()


def imports() -> dict[str, int]:
    """The pool's symbols that a program may refer to, for `load(image, imports())`.

    `void pool_run(pool*, kernel*, ctx*, i64 tasks, places*)` runs all tasks of a kernel and polls before;
    `void pool_poll(pool*, ctx*)` only polls: for loops that run no kernel. `i64 pool_watch(ctx*, i64 thread)` says
    inside of kernels that take long whether to leave. `void pool_cross(ctx*, PyObject*)` calls an object of Python.
    `i64 pool_time()` is the system's monotonic clock in nanoseconds.
    """
    native = _native(None)
    return {name: native[name] for name in _FOR_PROGRAMS}


def set_threads(threads: int) -> None:
    """Run with this many threads from the next call on (1 to 64); running programs finish with what they have.

    >>> set_threads(2); current().threads
    2
    """
    global _wanted, now
    if not 1 <= threads <= config.MAX_THREADS:
        raise ConfigError(f"set_threads needs a number from 1 to {config.MAX_THREADS}, got {threads}")
    with _change:
        _wanted = threads
        retired, now = now, None
        if retired:
            retired.close()


def _start() -> Pool:
    global now
    if _leaving and threading.current_thread() is not threading.main_thread():
        raise stopped()
    with _change:
        if _leaving:
            return Pool(1)
        threads = _wanted or config.THREADS()
        if now is None:     # one that was replaced comes back
            now = next((pool for pool in _made if pool.threads == threads and pool.open()), None)
        if now is None:
            now = Pool(threads)
            _made.append(now)
        return now


def stopped() -> BaseException:
    """What a program raises that was asked to stop: in a thread that the interpreter leaves behind, what ends it in
    silence."""
    if _leaving and threading.current_thread() is not threading.main_thread():
        return SystemExit()
    return Cancelled("the program was asked to stop; no state was changed")


@contextmanager
def prepared() -> Generator[None]:
    """Around the making of a program: LLVM makes the native half of the pool meanwhile, where it is not there yet."""
    if _native.cache_info().currsize:
        yield
        return
    key = _key("pool", text := _source(None))
    if image := cache.objects().get(key):
        yield
    else:
        jit = _compiler()
        with jit.busy(), jit.Modules(detect(), symbols.POOL) as modules:
            modules.add(text)
            yield
        image = modules.image.pack()
        cache.objects().put(key, image)
    _ready[key] = image


def _compiler() -> Any:
    """What makes machine code; it brings LLVM along, of which a warm start needs nothing."""
    return importlib.import_module("stele.backend.cpu.jit")


def written(kind: str, text: str, places: Mapping[str, int]) -> Loaded:
    """Code that is written as LLVM IR and refers to `places` by name; kept on the disk under its kind and text."""
    key = _key(kind, text)
    image = _ready.pop(key, None) or cache.objects().get(key)
    if image is None:
        image = _compiler().compile_module(text, detect(), allowed=symbols.C | places.keys()).pack()
        cache.objects().put(key, image)
    return load(Image.unpack(image), places)


def _key(kind: str, text: str) -> str:
    return cache.digest(kind, text, detect().key, cache.fingerprint())


def _source(futex: bool | None) -> str:
    """The native half."""
    triple = detect().triple
    return pool_code.source(triple) if futex is None else pool_code.source(triple, futex=futex)


@functools.cache
def _native(futex: bool | None) -> Loaded:
    return written("pool", _source(futex), {name: address_in(name) for name in symbols.POOL})


@functools.cache
def _function(futex: bool | None) -> Callable[..., int]:
    return invoke.function(_native(futex)[invoke.NAME])


def _forever(size: int) -> int:
    """Zeroed memory of this process alone that is never given back: native threads may still look at it while the
    interpreter goes down."""
    address, pages = map_pages(size)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pages))
    return address


def interrupted(code: int) -> int:
    """The code of a program that did not come to its end, unless a signal handler raised: then that is raised here."""
    if _raised and threading.current_thread() is threading.main_thread():
        error = _raised[0]
        _raised.clear()
        raise error
    return code


def _remember(_kind: object, error: BaseException, _trace: object) -> None:
    _raised.append(error)


def _look_for_signals() -> int:
    """Called every 50 ms by a program on Python's main thread: run the handlers of signals that came meanwhile."""
    ctypes.pythonapi.PyErr_CheckSignals()
    return 0


_on_poll: Any = ffi.callback("int64_t()", _look_for_signals, error=1, onerror=_remember)


def _forget() -> None:
    """In the child of a fork: no worker came along, and whoever held the lock is gone."""
    global _change, now
    _change, now = threading.RLock(), None
    _made.clear()


def leave() -> None:
    """At exit: stop what runs in other threads, then the workers; never for longer than a few seconds."""
    global _leaving, now
    with _change:
        now, _leaving = None, True
    until = time.monotonic() + _EXIT_SECONDS
    for stop in (Pool.cancel, Pool.close):
        for pool in _made:
            stop(pool, max(0.0, until - time.monotonic()))


os.register_at_fork(after_in_child=_forget)
atexit.register(leave)
