"""Which kind of model a file or a folder is, and the module that reads it, which is loaded when it is needed."""
from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from stele.errors import DataError
from stele.ir.record import Record


class Kind(Record):
    """A kind of model: what it is called, the endings of its files, the module that draws it, and what that needs."""

    name: str
    endings: tuple[str, ...]
    draws: str
    needs: str = ""     # a package, and how it is installed

    def loaded(self, module: str) -> Any:
        """A module for this kind. Raises DataError where a package that it needs is not installed."""
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("stele"):
                raise
            raise DataError(f"{error.name} is not installed, which {self.name} needs", hint=self.needs) from None


KINDS = (
    Kind("a model of ONNX", (".onnx",), "stele.inspect.view.onnx", "pip install 'stele-dl[onnx]'"),
)


def kind_of(path: Path) -> Kind:
    """The kind of a file or folder. Raises DataError for what is none of them."""
    for kind in KINDS:
        if path.suffix in kind.endings:
            return kind
    known = ", ".join(f"{kind.name} ({' '.join(kind.endings)})" for kind in KINDS)
    raise DataError(f"{path} is no model that is known by its name: {known}")
