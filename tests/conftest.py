"""What all tests share: compiled objects in a folder of the session's own, and Hypothesis without deadlines."""
from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading

import pytest
from hypothesis import settings

settings.register_profile("stele", deadline=None)
settings.load_profile("stele")

MADE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """A fresh cache, unless STELE_CACHE names one; workers of pytest-xdist inherit that of the process they serve.

    Ctrl-C works in tests and their processes also where a shell has started pytest in the background, without it.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "STELE_CACHE" not in os.environ:
        config.stash[MADE] = os.environ["STELE_CACHE"] = tempfile.mkdtemp(prefix="stele-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(MADE, ""):
        del os.environ["STELE_CACHE"]
        shutil.rmtree(folder, ignore_errors=True)
