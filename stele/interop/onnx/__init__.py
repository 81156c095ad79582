"""Models in ONNX's format as modules: loaded, run, trained; and programs of Stele written as such models."""
from __future__ import annotations

from stele.interop.onnx.module import OnnxModule, load
from stele.interop.onnx.out.export import export
from stele.interop.onnx.prepared import Prepared, is_compatible, prepare, run_model, run_node, supports_device

__all__ = ("OnnxModule", "Prepared", "export", "is_compatible", "load", "prepare", "run_model", "run_node",
           "supports_device")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
