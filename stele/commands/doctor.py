"""`stele doctor`: versions, CPU, threads, cache folder and BLAS, as this process finds them."""

import os
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import llvmlite.binding as llvm

from stele import __version__, config
from stele.backend.cpu import blas, cache
from stele.backend.cpu.tuned import here
from stele.errors import SteleError

PACKAGES = ("numpy", "llvmlite", "cffi", "scipy-openblas32", "ml_dtypes", "rich", "pillow")


def doctor() -> str:
    """One fact a line, its name in front; what cannot be had is said in place, so the rest is still printed.

    >>> doctor().splitlines()[0].split()[0]
    'stele'
    """
    rows = [*_versions(), *_or_error("cpu", _cpu), *_or_error("cache", _cache), *_or_error("blas", _blas), *_flags()]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def show(_: object) -> None:
    """What `stele doctor` prints."""
    print(doctor())


def _versions() -> Iterator[tuple[str, str]]:
    yield "stele", __version__
    for name in PACKAGES:
        missing = "not installed" + (": pip install 'stele-dl[images]'" if name == "pillow" else "")
        yield name, _version(name) or missing
    yield "llvm", ".".join(map(str, llvm.llvm_version_info))
    yield "python", f"{platform.python_version()} {platform.python_implementation()}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> Iterator[tuple[str, str]]:
    target = here()
    yield "cpu", f"{target.cpu}, compiled for {target.name}"
    yield "vectors", f"{target.vector_bytes} bytes, {target.registers} registers, {'with' if target.fma else 'no'} fma"
    yield "tiles", "registers of AMX, for products of float32 in three pieces" if target.amx else "no registers of AMX"
    yield "caches", f"L1 {target.l1 >> 10} KiB, L2 {target.l2 >> 10} KiB"
    carried = ", ".join(f"{name} {getattr(target, name):g}" for name in ("pace", "far", "shared", "memory"))
    yield "core", f"{carried} (multiplications, docs/runtime.md)"
    yield "threads", f"{config.THREADS()} of {target.cores} usable cores"


def _cache() -> Iterator[tuple[str, str]]:
    objects = cache.objects()
    yield "cache", f"{objects.folder}, {objects.size() / 1e6:.1f} of {config.CACHE_SIZE()} MB used"
    yield "data", str(config.DATA())


def _blas() -> Iterator[tuple[str, str]]:
    found = blas.describe()
    yield "blas", ", ".join(value if name == "library" else f"{name} {value}" for name, value in found.items())


def _flags() -> Iterator[tuple[str, str]]:
    """Every STELE_ variable that is set, and those that no table knows."""
    for flag in config.ALL:
        if flag.name in os.environ:
            yield flag.name, os.environ[flag.name]
    for name, nearest in config.unknown().items():
        yield name, "is not known" + (f"; did you mean {nearest}?" if nearest else "")


def _or_error(name: str, facts: Callable[[], Iterator[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """The facts, or the error in their place."""
    try:
        yield from facts()
    except SteleError as error:
        yield name, f"{type(error).__name__}: {error}"
