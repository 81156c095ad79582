"""Every STELE_* environment variable in one typed table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stele.errors import ConfigError, nearest

if TYPE_CHECKING:
    from pathlib import Path

T_co = TypeVar("T_co", covariant=True)
ENVIRONMENT: dict[Any, Any] = vars(os.environ)["_data"]     # whose own `get` takes 0.6 us where a name is not there
key_of = cache(os.environ.encodekey)


@dataclass(frozen=True)
class Form(Generic[T_co]):
    """What the text of a flag may be: in words, as a parser that raises ValueError, and the names it knows."""

    says: str
    parse: Callable[[str], T_co]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flag(Generic[T_co]):
    """One variable; calling it reads and parses the environment, so that a later change is seen.

    >>> THREADS.name, SPIN()
    ('STELE_THREADS', 200)
    """

    name: str
    default: str
    form: Form[T_co]
    doc: str

    def text(self) -> str | None:
        """What the environment says now, unread."""
        raw = ENVIRONMENT.get(key_of(self.name))
        return None if raw is None else os.environ.decodevalue(raw)

    def __call__(self) -> T_co:
        """The value now; raises ConfigError if the text has not the form that the table asks for."""
        text = os.environ.get(self.name, "").strip() or self.default
        try:
            return self.form.parse(text)
        except ValueError as error:
            reason = f" ({error})" if str(error) else ""
            raise ConfigError(f"{self.name} must be {self.form.says}, got {text!r}{reason}",
                              hint=self.meant(text) + f"Unset it for the default ({self.default or 'empty'})."
                              ) from None

    def meant(self, text: str) -> str:
        """A question for the name that was probably meant by what is none."""
        parts = [part.strip() for part in text.split(",")]
        near = [nearest(part, self.form.names, 0.5) for part in parts if part not in self.form.names]
        return f"Did you mean {near[0]!r}? " if near and near[0] else ""


_ANSWERS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _boolean(text: str) -> bool:
    if text.lower() not in _ANSWERS:
        raise ValueError
    return _ANSWERS[text.lower()]


def _integer(low: int, high: int, unit: str) -> Form[int]:
    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not low <= value <= high:
            raise ValueError
        return value
    return Form(f"{unit} from {low} to {high}", parse)


def _choice(*choices: str) -> Form[str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError
        return text
    return Form("one of " + ", ".join(choices), parse, choices)


def _names(*choices: str) -> Form[frozenset[str]]:
    def parse(text: str) -> frozenset[str]:
        names = frozenset(part.strip() for part in text.split(",") if part.strip())
        if unknown := sorted(names - {*choices, "all"}):
            raise ValueError(f"{unknown[0]!r} is none of them")
        return frozenset(choices) if "all" in names else names
    return Form("'all' or names from " + ", ".join(choices), parse, choices)


def _path(text: str) -> Path:
    found = _kept(text)
    if not found.is_absolute():
        raise ValueError(f"nobody says which folder {found.parts[0]} is, as HOME is not set")
    return found


def _kept(text: str) -> Path:
    """A folder; below a home that nobody knows it stays as it is written, which is no absolute path."""
    from pathlib import Path  # a twentieth of what `import stele` takes, and only what touches a disk needs it
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:
        return Path(text)


def _checks(*choices: str) -> Form[frozenset[str]]:
    names = _names(*choices)

    def parse(text: str) -> frozenset[str]:
        if text.lower() not in _ANSWERS:
            return names.parse(text)
        return frozenset(choices[:1]) if _boolean(text) else frozenset()
    return Form(f"0, 1 (which is {choices[0]}), {names.says}", parse, choices)


def _numbers(*names: str) -> Form[dict[str, float] | None]:
    """Numbers by name; none of them for "common", None for "measured"."""
    def parse(text: str) -> dict[str, float] | None:
        if text in ("measured", "common"):
            return None if text == "measured" else {}
        found = {name.strip(): float(x) for name, _, x in (part.partition("=") for part in text.split(","))}
        if unknown := sorted(found.keys() - set(names)):
            raise ValueError(f"{unknown[0]!r} is none of them")
        if not all(0 < x < float("inf") for x in found.values()):
            raise ValueError("they have to be positive")
        return found
    return Form(f"measured, common, or numbers for {', '.join(names)} such as {names[0]}=0.5", parse)


UNITS = {"": 1, "b": 1} | {f"{name}{'ib' if power == 1024 else 'b'}": power ** (k + 1)
                            for power in (1000, 1024) for k, name in enumerate("kmgt")}


def amount(text: str) -> int:
    """Bytes of a number with a unit; raises ValueError for what is none, and for less than one byte.

    >>> amount("1.5 GiB"), amount("20MB"), amount("4096")
    (1610612736, 20000000, 4096)
    """
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text.strip()[len(number):].lower()
    if unit not in UNITS or "_" in number:
        raise ValueError
    bytes_ = float(number) * UNITS[unit]
    if not 1 <= bytes_ < 1 << 63:
        raise ValueError
    return int(bytes_)


def _amount(text: str) -> int | None:
    return amount(text) if text else None


MAX_THREADS = 64
CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_yes_no = Form("0 or 1", _boolean)
_folder = Form("a folder", _path)
_stored = Form("a folder", _kept)
_library = Form("openblas, mkl, none or a library's path", str)
_target = _choice("native", "x86-64-v2", "x86-64-v3", "x86-64-v4")
_backend = _choice("cpu", "reference")
_checked = _checks("graph", "nan")
_frames = _choice("short", "full")
_stages = _names("graph", "pairs", "simplify", "stabilize", "expand", "share", "segments", "merge", "recompute",
                 "inline", "fuse", "loops", "llvm", "asm", "memory", "cache", "time", "call", "compiles", "evaluations")
_carried = _numbers("pace", "far", "shared", "memory")
_threads = _integer(1, MAX_THREADS, "a number")
_spin = _integer(0, 100_000, "microseconds")
_bytes = Form("bytes, such as 500MB or 1.5GiB", _amount)
_megabytes = _integer(0, 1_000_000, "megabytes")

# fmt: off
TARGET     = Flag("STELE_TARGET",     "native",                     _target,    "The instruction set that code is for.")
MACHINE    = Flag("STELE_MACHINE",    "measured",                   _carried,   "What a core carries, for prices.")
THREADS    = Flag("STELE_THREADS",    str(min(CPUS, MAX_THREADS)),  _threads,   "Threads of the pool, caller included.")
MEMORY     = Flag("STELE_MEMORY",     "",                           _bytes,     "What a program may take of memory.")
SPIN       = Flag("STELE_SPIN",       "200",                        _spin,      "How long an idle thread stays awake.")
BACKEND    = Flag("STELE_BACKEND",    "cpu",                        _backend,   "Run native code, or NumPy.")
BLAS       = Flag("STELE_BLAS",       "openblas",                   _library,   "The BLAS that contractions may call.")
CACHE      = Flag("STELE_CACHE",      "~/.cache/stele",             _stored,    "Where compiled objects are kept.")
CACHE_SIZE = Flag("STELE_CACHE_SIZE", "512",                        _megabytes, "Bound on the cache; 0 keeps nothing.")
DATA       = Flag("STELE_DATA",       "~/.cache/stele/data",        _folder,    "Where data sets are kept.")
OFFLINE    = Flag("STELE_OFFLINE",    "0",                          _yes_no,    "Never open a network connection.")
SHOW       = Flag("STELE_SHOW",       "",                           _stages,    "Print these stages of every compile.")
TRACEBACK  = Flag("STELE_TRACEBACK",  "short",                      _frames,    "Frames in errors: yours, or all.")
CHECK      = Flag("STELE_CHECK",      "0",                          _checked,   "Verify all passes; find NaN.")
# fmt: on

ALL: tuple[Flag[object], ...] = (TARGET, MACHINE, THREADS, MEMORY, SPIN, BACKEND, BLAS, CACHE, CACHE_SIZE, DATA,
                                OFFLINE, SHOW, TRACEBACK, CHECK)


def unknown() -> dict[str, str | None]:
    """The STELE_* variables that are set but stand in no table, each with the flag that was probably meant.

    >>> os.environ["STELE_THREAD"] = "2"; unknown()["STELE_THREAD"]; del os.environ["STELE_THREAD"]
    'STELE_THREADS'
    """
    known = [flag.name for flag in ALL]
    strangers = sorted(name for name in os.environ if name.startswith("STELE_") and name not in known)
    return {name: nearest(name, known) for name in strangers}
