"""The machine that code is generated for: instruction set, vector width, caches, cores."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import itertools
import json
import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypedDict, Unpack

from stele import config
from stele.backend.cpu import cache
from stele.errors import DeviceError
from stele.kernel.machine import Machine

# What a level adds to the one before it; the names are LLVM's.
_LEVELS = {
    "x86-64-v2": ("sse4.2", "ssse3", "popcnt", "cx16"),
    "x86-64-v3": ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}

_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True, kw_only=True)
class Target(Machine):
    """One CPU as the code generator sees it; sizes in bytes, `cores` as this process may use them.

    Kernels need no width attribute on any target: a vector type of `vector_bytes` stays one register
    even where LLVM's own vectoriser would prefer narrower ones.
    """

    name: str
    triple: str
    cpu: str
    features: str
    cores: int

    @property
    def key(self) -> str:
        """What compiled code depends on, as text: part of a cache key."""
        code = hashlib.sha256(self.features.encode()).hexdigest()[:16]
        facts = " ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(Machine) if f.compare)
        return f"{self.name} {self.triple} {self.cpu} {code} {facts} {sorted(self.choices.answers.items())}"


def detect() -> Target:
    """The target that STELE_TARGET asks for; DeviceError if this machine cannot run its code.

    >>> detect().vector_bytes in (16, 32, 64)
    True
    """
    return _detect(config.TARGET())


@functools.cache
def _detect(wanted: str) -> Target:
    machine = os.uname().machine
    if (architecture := _ARCHITECTURES.get(machine)) is None:
        raise DeviceError(f"Stele generates code for x86-64 and 64-bit ARM, this machine is {machine}")
    triple = f"{architecture}-unknown-linux-gnu"    # on every system: we link ELF objects ourselves
    host, have = _host()
    return _x86(wanted, triple, host, have) if architecture == "x86_64" else _arm(wanted, triple, have)


def _host() -> tuple[str, dict[str, bool]]:
    """This CPU's name and features as LLVM has them, from the disk where the same CPU was asked for before: LLVM takes
    60 ms to load, and a program that is on the disk does without."""
    cpu = _cpuinfo()
    key = cache.digest("host", cpu, cache.fingerprint())
    if found := cache.objects().get(key) if cpu else None:
        name, features = json.loads(found)
        return name, features
    llvm = importlib.import_module("llvmlite.binding")
    name, features = llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())
    if cpu:
        cache.objects().put(key, json.dumps([name, features]).encode())
    return name, features


def _cpuinfo() -> str:
    """What Linux says of the first CPU, without what changes while it runs; "" on other systems."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return ""
    return "\n".join(line for line in first.splitlines() if not line.lower().startswith(("cpu mhz", "bogomips")))


def _flat(features: dict[str, bool]) -> str:
    """Features as LLVM takes them: `+avx,-avx512f`."""
    return ",".join(f"{'+' if have else '-'}{name}" for name, have in sorted(features.items()))


def _x86(wanted: str, triple: str, host: str, have: dict[str, bool]) -> Target:
    lacks = {level: [name for name in features if not have.get(name)] for level, features in _LEVELS.items()}
    levels = [*itertools.takewhile(lambda level: not lacks[level], _LEVELS)]
    if not levels:
        raise DeviceError(f"Stele needs an x86-64-v2 CPU (SSE4.2), {host} is older")
    level = levels[-1] if wanted == "native" else wanted
    if level not in levels:
        raise DeviceError(f"STELE_TARGET={level} needs a CPU with {', '.join(_LEVELS[level])}, "
                          f"got {host}", hint=f"The widest level here is {levels[-1]}.")
    native, wide = wanted == "native", level == "x86-64-v4"
    return Target(
        name=level, triple=triple, cpu=host if native else level, features=_flat(have) if native else "",
        vector_bytes={"x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}[level],
        registers=32 if wide else 16, fma=level != "x86-64-v2",
        amx=native and wide and bool(have.get("amx-bf16")) and _may_use_tiles(),
        bf16=native and wide and bool(have.get("avx512bf16")),
        cores=config.CPUS, **_cache_bytes(l1=32 << 10, l2=512 << 10, l3=16 << 20),
    )


def _may_use_tiles() -> bool:
    """Asks Linux for the tile registers of AMX, for all threads of this process: they are large, so nobody has them
    unasked (arch_prctl, ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA)."""
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0


def _arm(wanted: str, triple: str, have: dict[str, bool]) -> Target:
    if wanted != "native":
        raise DeviceError(f"STELE_TARGET={wanted} is an x86 level, this machine is {triple}", hint="Use native.")
    features = {"neon": True, "reserve-x18": True, **({"lse": True} if have.get("lse") else {})}    # x18 is macOS's
    return Target(name="neon", triple=triple, cpu="generic", features=_flat(features),
                  vector_bytes=16, registers=32, fma=True,
                  cores=config.CPUS, **_cache_bytes(l1=64 << 10, l2=1 << 20, l3=16 << 20))


class _Caches(TypedDict):
    l1: int
    l2: int
    l3: int


def _cache_bytes(**found: Unpack[_Caches]) -> _Caches:
    """Sizes of the data caches, as sysfs says them (`48K`, `2M`), the given ones where it does not."""
    for index in map("/sys/devices/system/cpu/cpu0/cache/index{}".format, range(8)):
        try:
            level, kind, size = (Path(index, name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind in ("Data", "Unified") and size[:-1].isdigit() and (name := f"l{level}") in found:
            found[name] = int(size[:-1]) * {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)
    return found
