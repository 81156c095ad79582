"""Libraries that ask no array what it can do are told of tensors when they are loaded, whoever loads them."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

BESIDE = {"einops": "stele.interop.einops"}
"""What is loaded behind a library."""


class Introduction:
    """Finds a library as all others do, and loads what stands beside it once it is there.

    It is a finder by its method alone: `importlib.abc` loads sixteen modules, a tenth of the time of `import stele`.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a library is, with a loader that goes on to what is beside it; None for all others."""
        if name not in BESIDE:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1:]
        spec = next((s for f in behind if (s := f.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def both(module: ModuleType) -> None:
                execute(module)
                import_module(BESIDE[name])
            spec.loader.exec_module = both
        return spec


def introduce() -> None:
    """Tells the libraries that are loaded already, and waits for the others."""
    for name in BESIDE.keys() & sys.modules.keys():
        import_module(BESIDE[name])
    sys.meta_path.insert(0, Introduction())
