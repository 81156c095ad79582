"""How launches are started: alone, or many in order, as rows of a table."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from stele.backend.llvm.launch import LAUNCHED, Builder, Launch, pointer, word_at
from stele.backend.llvm.nest import table


def function(module: ir.Module, name: str) -> ir.Value:
    """A function that is started, of this module or another one."""
    found: Any = module.globals.get(name)
    return found or ir.Function(module, LAUNCHED, name)


def places(b: Builder, module: ir.Module, launch: Launch) -> ir.Value:
    """Where the places of a launch's buffers lie; in front of them, how many of its tasks are best run together."""
    return word_at(b, table(module, module.get_unique_name(f"{launch.function}.places"), told(launch)), 1)


def told(launch: Launch) -> list[int]:
    """How many tasks of a launch are best run together, and the places of its buffers."""
    return [launch.together, *(x for place in launch.places for x in place)]


def series(module: ir.Module, launches: Sequence[Launch]) -> tuple[ir.Value, ir.Value]:
    """Tables of functions and of launches as `pool_series` reads them: a number among the functions, tasks, how many
    buffers there are, how many tasks are best run together, and the places of the buffers."""
    numbers = {name: k for k, name in enumerate(dict.fromkeys(launch.function for launch in launches))}
    rows = [x for a in launches for x in (numbers[a.function], int(a.tasks), len(a.places), *told(a))]
    functions = ir.GlobalVariable(module, kind := ir.ArrayType(pointer, len(numbers)),
                                  module.get_unique_name("functions"))
    functions.global_constant, functions.linkage = True, "internal"
    functions.initializer = ir.Constant(kind, [function(module, name) for name in numbers])
    return functions, table(module, module.get_unique_name("rows"), rows)
