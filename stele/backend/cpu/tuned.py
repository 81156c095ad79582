"""Measured choices on disk: one set for each target and version of Stele."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from stele import config
from stele.backend.cpu import cache
from stele.backend.cpu.target import Target
from stele.backend.llvm.choice import Choices


def tuned(target: Target) -> Target:
    """The target with what was measured on it; programs that are compiled from now on go by that."""
    store, key = place(target)
    return target if (content := store.get(key)) is None else replace(target, choices=Choices(json.loads(content)))


def remember(target: Target, answers: Mapping[str, int]) -> None:
    """Adds answers to those on disk."""
    store, key = place(target)
    store.put(key, json.dumps({**tuned(target).choices.answers, **answers}, sort_keys=True).encode())


def place(target: Target) -> tuple[cache.Cache, str]:
    """Where answers for a target are kept, and under which key."""
    key = cache.digest("tuned", replace(target, choices=Choices()).key, config.BLAS(), cache.fingerprint())
    return cache.Cache(config.CACHE() / "tuned", config.CACHE_SIZE() << 20), key
