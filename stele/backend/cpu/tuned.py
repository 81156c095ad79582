"""The machine that programs are made for, with choices measured on it: on disk, a set for each version of Stele."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from stele import config
from stele.backend.base import Precision
from stele.backend.cpu import cache
from stele.backend.cpu.target import Target, detect
from stele.errors import DeviceError
from stele.kernel.choice import Choices


def this_machine(precision: Precision) -> Target:
    """The target that programs are made for. Raises DeviceError where it has no such precision."""
    target = tuned(detect())
    if precision == "bf16" and not target.bf16:
        raise DeviceError(f"precision='bf16' needs a CPU with AVX512-BF16, got {target.cpu} as {target.name}",
                          hint="Leave it out: where bfloat16 has to be imitated, float32 is faster and more exact.")
    return target


def tuned(target: Target) -> Target:
    """The target with what was measured on it; programs that are compiled from now on go by that."""
    store, key = place(target)
    return target if (content := store.get(key)) is None else replace(target, choices=Choices(json.loads(content)))


def remember(target: Target, answers: Mapping[str, str]) -> None:
    """Adds answers to those on disk."""
    store, key = place(target)
    store.put(key, json.dumps({**tuned(target).choices.answers, **answers}, sort_keys=True).encode())


def place(target: Target) -> tuple[cache.Cache, str]:
    """Where answers for a target are kept, and under which key."""
    key = cache.digest("tuned", replace(target, choices=Choices()).key, config.BLAS(), cache.fingerprint())
    return cache.Cache(config.CACHE() / "tuned", config.CACHE_SIZE() << 20), key
