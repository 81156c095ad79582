"""The examples in docstrings of ops and of transforms run."""
from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "stele.ir.graph", "stele.ir.sizes", "stele.ir.types", "stele.ops.composite",
    "stele.ops.functional", "stele.ops.generate", "stele.ops.indexing", "stele.ops.random", "stele.transform.autodiff", "stele.transform.retype",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"__package__": module.__package__}).failed == 0
