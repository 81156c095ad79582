"""Nets of Caffe as sources: a `.prototxt`, with the `.caffemodel` beside it."""
from __future__ import annotations

from pathlib import Path

from stele.errors import DataError
from stele.interop.caffe.module import load
from stele.interop.convert.source import Argument, Source, arrays_of, cleaned


def opened(path: Path) -> Source:
    """The net of a file, whose weights are the file of the same name beside it, or the only `.caffemodel` there.

    Raises DataError for what is damaged, and for inputs whose shape the net does not say.
    """
    beside = path.with_suffix(".caffemodel")
    found = [beside] if beside.is_file() else sorted(path.parent.glob("*.caffemodel"))
    if len(found) != 1:
        raise DataError(f"the weights of {path} are to lie beside it as {beside.name}, and do not")
    module = load(path, found[0])
    if strange := [i.name for i in module.net.inputs if not i.shape]:
        raise DataError(f"the net does not say the shape of its input {strange[0]!r}",
                        hint="Write it as an Input layer: input_param { shape { dim: 1 dim: 3 dim: 224 dim: 224 } }")
    names = cleaned(i.name for i in module.net.inputs)
    module.name_inputs(names)
    arguments = tuple(Argument(name, "float32", ("batch", *(i.shape or ())[1:]))
                      for name, i in zip(names, module.net.inputs))
    return Source("Caffe", module, arguments, arrays_of(module.weights.items()), module.state_dict(),
                  tuple(n.type for n in module.net.layers))
