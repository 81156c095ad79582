"""Which kind of model a file or a folder is, and the module that reads it, which is loaded when it is needed."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from stele.errors import DataError
from stele.interop.convert.source import Source
from stele.interop.convert.target import WRITERS, Target
from stele.ir.record import Record


class Kind(Record):
    """A kind of model: what it is called, the endings of its files (none for folders), the module that opens it, what
    is installed for that, the module that draws it where the graph that Stele runs is not what the file says, and who
    reads it where that is somebody who runs what the file tells him to.
    """

    name: str
    endings: tuple[str, ...]
    opens: str
    needs: str = ""
    draws: str = ""
    reader: str = ""

    def source(self, path: Path, trusted: bool) -> Source:
        """A model of this kind. Raises DataError for what is none, and for one that may run code, unless `trusted`."""
        if self.reader and not trusted:
            raise DataError(f"{path} is read by {self.reader} itself, which may run code that the file holds",
                            hint="Give --trust with a file of your own, or of somebody you trust.")
        return self.loaded(self.opens).opened(path)

    def loaded(self, module: str) -> Any:
        """A module for this kind. Raises DataError where a package that it needs is not installed."""
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("stele"):
                raise
            raise DataError(f"{error.name} is not installed, which {self.name} needs", hint=self.needs) from None


KINDS = (
    Kind("a model of ONNX", (".onnx",), "stele.interop.convert.onnx", "pip install 'stele-dl[onnx]'",
         "stele.inspect.view.onnx"),
    Kind("a program of PyTorch's exporter", (".pt2",), "stele.interop.convert.torch", "pip install torch",
         reader="PyTorch"),
    Kind("a model of Keras", (".keras", ".h5", ".hdf5"), "stele.interop.convert.keras",
         "pip install 'stele-dl[keras]'"),
    Kind("a net of Caffe", (".prototxt",), "stele.interop.convert.caffe"),
    Kind("a program of st.save", (".stele", ".safetensors"), "stele.interop.convert.program"),
    Kind("a model of llama2.c", (".bin",), "stele.interop.convert.huggingface"),
    Kind("a folder with config.json", (), "stele.interop.convert.huggingface"),
)


def writer(path: Path, opset: int | None) -> Callable[..., Target]:
    """What writes a model under a name, as one of ONNX of an opset. Raises DataError where a package that is needed is
    not installed.
    """
    if path.suffix in WRITERS:
        return WRITERS[path.suffix]
    written = KINDS[0].loaded("stele.interop.convert.onnx_out").written
    return written if opset is None else partial(written, opset=opset)


def kind_of(path: Path) -> Kind:
    """The kind of a file or folder. Raises DataError for what is none of them."""
    for kind in KINDS:
        if (path.is_dir() and not kind.endings) or (path.is_file() and path.suffix in kind.endings):
            return kind
    known = ", ".join(" ".join([*kind.endings, f"({kind.name})"]) for kind in KINDS)
    raise DataError(f"{path} is no model that is known by its name: {known}")
