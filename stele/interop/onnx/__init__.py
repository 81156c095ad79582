"""Models in ONNX's format as modules: loaded, run, trained; and programs of Stele written as such models."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ("OnnxModule", "Prepared", "export", "is_compatible", "load", "prepare", "run_model", "run_node",
           "supports_device")

if TYPE_CHECKING:
    from stele.interop.onnx.backend import is_compatible, run_model, run_node
    from stele.interop.onnx.module import OnnxModule, load
    from stele.interop.onnx.out.export import export
    from stele.interop.onnx.prepared import Prepared, prepare, supports_device
else:
    FILES = {"backend": ("is_compatible", "run_model", "run_node"), "module": ("OnnxModule", "load"),
             "out.export": ("export",), "prepared": ("Prepared", "prepare", "supports_device")}

    def __getattr__(name: str) -> Any:
        """A public name, whose file is loaded now: to run a file that was run before takes few of them."""
        for file, names in FILES.items():
            if name in names:
                globals()[name] = found = getattr(importlib.import_module(f"stele.interop.onnx.{file}"), name)
                return found
        raise AttributeError(f"module 'stele.interop.onnx' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
