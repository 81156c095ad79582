"""Models that Keras saved as sources."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stele.errors import DataError
from stele.interop.convert.source import Argument, Source, arrays_of, cleaned, installed
from stele.interop.keras.module import load
from stele.interop.keras.run import order
from stele.ir.graph import Array


def opened(path: Path) -> Source:
    """The model of a file. Raises DataError for what is none, and for inputs whose count of axes is open."""
    module = load(path)
    names = cleaned(module.names)
    module.name_inputs(names)
    inputs = [module.graph.known[key] for key in order(module.graph)]
    if strange := [i.name for i in inputs if i.shape is None]:
        raise DataError(f"input {strange[0]!r} has no shape, so no numbers can be drawn for it")
    arguments = tuple(Argument(name, i.dtype, tuple(
        ("batch" if k == 0 else f"{name}_{k}") if n is None else n for k, n in enumerate(i.shape or ())))
        for name, i in zip(names, inputs))

    def original(arrays: Sequence[Array]) -> Any:
        models: Any = import_module("keras").models
        made = models.load_model(path, compile=False)(arrays[0] if len(arrays) == 1 else list(arrays))
        return answers(made, module.graph.outputs)

    def answers(x: Any, like: Any) -> Any:
        """Arrays in the order of the file, which is not Keras's."""
        if isinstance(like, dict | list):
            keys = [*like] if isinstance(like, dict) else range(len(like))
            return [answers(x[key], like[key]) for key in keys]
        x = x[0] if isinstance(x, list) and len(x) == 1 else x      # of files of Keras 2, which had no list there
        return np.asarray(import_module("keras").ops.convert_to_numpy(x))

    return Source("Keras", module, arguments, arrays_of(module.weights.items()), module.state_dict(),
                  tuple(layer.kind for layer in module.graph.layers), "Keras", original if installed("keras") else None)
