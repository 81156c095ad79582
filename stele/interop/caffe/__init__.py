"""Nets of Caffe as modules: a `.prototxt` with a `.caffemodel`, without Caffe."""
from __future__ import annotations

from stele.interop.caffe.module import CaffeModule, load

__all__ = ("CaffeModule", "load")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
