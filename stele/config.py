"""Every STELE_* environment variable in one typed table."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from stele.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Flag(Generic[T]):
    """One variable; calling it reads and parses the environment, so that a later change is seen.

    >>> THREADS.name, SPIN()
    ('STELE_THREADS', 50)
    """

    name: str
    parse: Callable[[str], T]
    default: str
    form: str
    doc: str

    def __call__(self) -> T:
        """The value now; raises ConfigError if the text has not the form that the table asks for."""
        text = os.environ.get(self.name, "").strip() or self.default
        try:
            return self.parse(text)
        except ValueError as error:
            reason = f" ({error})" if str(error) else ""
            raise ConfigError(f"{self.name} must be {self.form}, got {text!r}{reason}",
                              hint=f"Unset it for the default ({self.default or 'empty'}).") from None


def _boolean(text: str) -> bool:
    answers = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in answers:
        raise ValueError
    return answers[text.lower()]


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not low <= value <= high:
            raise ValueError
        return value
    return parse


def _choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError
        return text
    return parse


def _names(*choices: str) -> Callable[[str], frozenset[str]]:
    def parse(text: str) -> frozenset[str]:
        names = frozenset(part.strip() for part in text.split(",") if part.strip())
        if unknown := sorted(names - {*choices, "all"}):
            raise ValueError(f"{unknown[0]!r} is none of them")
        return frozenset(choices) if "all" in names else names
    return parse


def _folder(text: str) -> Path:
    return Path(text).expanduser().absolute()


MAX_THREADS = 64
_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_targets = ("native", "x86-64-v2", "x86-64-v3", "x86-64-v4")
_stages = ("graph", "simplify", "stabilize", "share", "merge", "fuse", "loops", "memory", "llvm", "asm", "cache", "time")

# fmt: off
TARGET     = Flag("STELE_TARGET",     _choice(*_targets),         "native",               "one of " + ", ".join(_targets),
                  "The instruction set kernels are compiled for; a narrower one than the machine has is allowed.")
THREADS    = Flag("STELE_THREADS",    _integer(1, MAX_THREADS),   str(min(_cpus, MAX_THREADS)), f"a number from 1 to {MAX_THREADS}",
                  "Threads of the pool, the caller included; results do not depend on it.")
SPIN       = Flag("STELE_SPIN",       _integer(0, 100_000),       "50",                   "microseconds from 0 to 100000",
                  "How long an idle thread of the pool looks for work before it sleeps.")
BACKEND    = Flag("STELE_BACKEND",    _choice("cpu", "reference"), "reference",           "cpu or reference",
                  "What programs run on: native code, or NumPy op by op.")
BLAS       = Flag("STELE_BLAS",       str,                        "openblas",             "openblas, mkl, none or a library's path",
                  "The BLAS that contractions may call.")
CACHE      = Flag("STELE_CACHE",      _folder,                    "~/.cache/stele",       "a folder",
                  "Where compiled objects are kept.")
CACHE_SIZE = Flag("STELE_CACHE_SIZE", _integer(0, 1_000_000),     "512",                  "megabytes from 0 (keep nothing) to 1000000",
                  "The bound on the cache; the oldest entries leave first.")
DATA       = Flag("STELE_DATA",       _folder,                    "~/.cache/stele/data",  "a folder",
                  "Where data sets are looked for and kept.")
OFFLINE    = Flag("STELE_OFFLINE",    _boolean,                   "0",                    "0 or 1",
                  "Never open a network connection.")
SHOW       = Flag("STELE_SHOW",       _names(*_stages),           "",                     "'all' or names from " + ", ".join(_stages),
                  "Print these stages of every compile.")
CHECK      = Flag("STELE_CHECK",      _boolean,                   "0",                    "0 or 1",
                  "Verify every invariant of the graph after every pass.")
# fmt: on

ALL: tuple[Flag[object], ...] = (TARGET, THREADS, SPIN, BACKEND, BLAS, CACHE, CACHE_SIZE, DATA, OFFLINE, SHOW, CHECK)


def unknown() -> dict[str, str | None]:
    """The STELE_* variables that are set but stand in no table, each with the flag that was probably meant.

    >>> os.environ["STELE_THREAD"] = "2"; unknown()["STELE_THREAD"]; del os.environ["STELE_THREAD"]
    'STELE_THREADS'
    """
    known = [flag.name for flag in ALL]
    strangers = sorted(name for name in os.environ if name.startswith("STELE_") and name not in known)
    return {name: next(iter(difflib.get_close_matches(name, known, 1)), None) for name in strangers}
