"""The machine that programs are made for, with what was measured of it and on it, which is kept on the disk."""
from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stele import config
from stele.backend.cpu import cache
from stele.backend.cpu.target import Target, detect
from stele.kernel.choice import Choices


def this_machine() -> Target:
    """The target that programs are made for."""
    return tuned(here())


def here() -> Target:
    """The target that STELE_TARGET asks for, with what this machine carries: as STELE_MACHINE says, or as measured."""
    target, given = detect(), config.MACHINE()
    return replace(target, **(_measured(target, *place("measured")) if given is None else given))


@functools.cache
def _measured(target: Target, folder: Path, limit: int) -> Mapping[str, float]:
    """What was measured of a machine: once, so that all programs are made for the same; nothing of it where that cannot
    be kept."""
    def measure() -> bytes:
        found = importlib.import_module("stele.backend.cpu.measure").measure(target)
        return json.dumps(found, sort_keys=True).encode()

    found = cache.Cache(folder, limit).once(cache.digest("carried", target.key), measure)
    return {} if found is None else json.loads(found)


def tuned(target: Target) -> Target:
    """The target with what was measured on it; programs that are compiled from now on go by that."""
    store, key = answers(target)
    return target if (content := store.get(key)) is None else replace(target, choices=Choices(json.loads(content)))


def remember(target: Target, found: Mapping[str, str]) -> None:
    """Adds answers to those on disk."""
    store, key = answers(target)
    store.put(key, json.dumps({**tuned(target).choices.answers, **found}, sort_keys=True).encode())


def answers(target: Target) -> tuple[cache.Cache, str]:
    """Where answers for a target are kept, and under which key."""
    key = cache.digest("tuned", replace(target, choices=Choices()).key, config.BLAS(), cache.fingerprint())
    return cache.Cache(*place("tuned")), key


def place(name: str) -> tuple[Path, int]:
    """A folder of the cache, and the bytes that it may take."""
    return config.CACHE() / name, config.CACHE_SIZE() << 20
