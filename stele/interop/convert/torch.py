"""Exported programs of PyTorch (`.pt2`) as sources."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stele.errors import DataError
from stele.interop.convert.source import Argument, Source, arrays_of, cleaned
from stele.interop.torch.export import torch
from stele.interop.torch.module import from_torch
from stele.ir.graph import Array


def opened(path: Path) -> Source:
    """The program of a file that `torch.export.save` wrote. Raises DataError for another, and without PyTorch."""
    kinds = torch()
    try:
        program = kinds.export.load(path)
    except Exception as error:      # of many kinds
        raise DataError(f"{path} is no exported program: {' '.join(str(error).split()) or type(error).__name__:.200}",
                        hint="Write it with torch.export.save(torch.export.export(module, args), path).") from None
    module = from_torch(program)
    made = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and "val" in n.meta}
    names = cleaned(i.name for i in module.program.inputs)
    module.name_inputs(names)
    arguments = tuple(Argument(name, str(made[i.name].dtype).removeprefix("torch."), i.shape)
                      for name, i in zip(names, module.program.inputs) if i.shape is not None)
    if len(arguments) != len(module.program.inputs) or [*module.program.args] != [*range(len(arguments))]:
        raise DataError(f"{path} takes more than tensors one behind the other, for which no numbers can be drawn")

    def original(arrays: Sequence[Array]) -> Any:
        with kinds.no_grad():
            return plain(program.module()(*map(kinds.from_numpy, arrays)))

    def plain(x: Any) -> Any:
        if isinstance(x, kinds.Tensor):
            return x.numpy()
        return [plain(part) for part in (x.values() if isinstance(x, dict) else x)]

    return Source("PyTorch", module, arguments, arrays_of(module.weights.items()),
                  module.state_dict(), tuple(n.op for n in module.program.graph.nodes), "PyTorch", original)
