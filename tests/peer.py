"""What PyTorch gives: asked where it is installed, as it was kept in `tests/recorded/` where it is not.

`STELE_RECORD=1 pytest -k pytorch`, with PyTorch installed, asks and keeps anew.
"""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).resolve().parent / "recorded"


def torch_gives(name: str, ask: Callable[[Any], Sequence[Array]]) -> list[Array]:
    """The arrays that `ask(torch)` returns; it may depend on nothing but fixed numbers.

    Raises FileNotFoundError where neither PyTorch nor its answer is there, AssertionError where the two differ.
    """
    path = KEPT / f"{name}.npz"
    if "STELE_RECORD" in os.environ:
        KEPT.mkdir(exist_ok=True)
        np.savez_compressed(path, *ask(import_module("torch")))
    with np.load(path) as arrays:
        kept = [arrays[f"arr_{k}"] for k in range(len(arrays.files))]
    if find_spec("torch"):
        for a, b in zip(kept, ask(import_module("torch")), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6 * np.nanmax(np.abs(b), initial=0))
    return kept


def torch_says(name: str, ask: Callable[[Any], Any]) -> Any:
    """What `ask(torch)` returns, made of lists, dicts, text and numbers; kept and compared as by `torch_gives`."""
    path = KEPT / f"{name}.json"
    if "STELE_RECORD" in os.environ:
        path.write_text(json.dumps(ask(import_module("torch")), indent=0, sort_keys=True) + "\n")
    kept = json.loads(path.read_text())
    if find_spec("torch"):
        assert kept == json.loads(json.dumps(ask(import_module("torch"))))
    return kept
