"""The syntax of a function that runs, and code of syntax that was changed."""
from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Iterable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from stele.errors import ArgumentError

FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def source(f: FunctionType) -> tuple[Function, list[str]]:
    """The syntax of f, and the names of the classes around it, outermost first.

    Raises ArgumentError where there is no source.
    """
    code = f.__code__
    text = "".join(linecache.getlines(code.co_filename, f.__globals__))
    found = [pair for pair in functions(ast.parse(text).body, []) if is_source(pair[0], code)]
    if len(found) != 1:
        raise ArgumentError(f"control='python' needs the source of {f.__qualname__}, which is "
                            f"{'not the only one in its place' if found else 'not there'}",
                            hint="Write it in a file or in a cell of a notebook, a lambda in a line of its own.")
    return found[0]


def functions(nodes: Iterable[ast.AST], classes: list[str]) -> Iterator[tuple[Function, list[str]]]:
    """All functions with the classes around them."""
    for node in nodes:
        if isinstance(node, Function):
            yield node, classes
        inside = [*classes, node.name] if isinstance(node, ast.ClassDef) else classes
        yield from functions(ast.iter_child_nodes(node), inside)


def is_source(node: Function, code: CodeType) -> bool:
    """Whether code was made of this function: both begin in one line, with a decorator, and a lambda in one column."""
    if isinstance(node, ast.Lambda):
        body = node.body.lineno, node.body.col_offset
        places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and body == min(places, default=body)
    first = min(part.lineno for part in (node, *node.decorator_list))
    return (node.name, first) == (code.co_name, code.co_firstlineno)


def remade(f: FunctionType, node: Function, classes: Sequence[str], more: dict[str, Any]) -> FunctionType:
    """f with the code of changed syntax, which may also close over what `more` names."""
    inside: ast.stmt = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    for name in reversed(classes):      # for the names that begin with two underscores, and for `super`
        inside = ast.ClassDef(name, [], [], [inside], [])
    taken = [ast.arg(name) for name in (*f.__code__.co_freevars, *more) if name != "__class__" or not classes]
    outer = ast.FunctionDef("outer", ast.arguments([], taken, None, [], [], None, []), [inside], [])
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, node)], []))
    code = compile(module, f.__code__.co_filename, "exec", f.__code__.co_flags & FUTURE, True)
    for name in ("outer", *classes, f.__code__.co_name):
        code = next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ())) | {name: CellType(x) for name, x in more.items()}
    made = FunctionType(code.replace(co_qualname=f.__code__.co_qualname, co_firstlineno=f.__code__.co_firstlineno),
                        f.__globals__, f.__name__, f.__defaults__, tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__ = f.__kwdefaults__
    return made
