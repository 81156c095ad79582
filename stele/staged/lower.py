"""Early ways out of blocks as flags: `return`, `break` and `continue` set one, and what follows asks for it."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

from stele.staged.scopes import SCOPES, jumps

N = TypeVar("N", bound=ast.AST)
RESULT, RETURNED = "_st_result", "_st_returned"


class Ways(NamedTuple):
    """The flags that jumps set in the block at hand, "" where there is none; and of each loop those that end it."""

    stops: dict[ast.stmt, list[str]]
    returned: str = ""
    broken: str = ""
    skipped: str = ""

    def flags(self, statement: ast.stmt) -> list[str]:
        """Those that a statement may set to leave the block it stands in."""
        named = {ast.Return: self.returned, ast.Break: self.broken, ast.Continue: self.skipped}
        found = jumps([statement])
        return [flag for kind, flag in named.items() if kind in found and flag]


def lowered(body: Sequence[ast.stmt]) -> tuple[list[ast.stmt], dict[ast.stmt, list[str]]]:
    """The statements of a function with no jump out of any block, and the flags that end each of its loops."""
    ways = Ways({})
    if not any(ast.Return in jumps([s]) for s in body if not isinstance(s, ast.Return)):
        return block(body, ways), ways.stops
    made = block(body, ways._replace(returned=RETURNED))
    end = load(RESULT) if leaves(body) else operator("returned", load(RETURNED), thunk(load(RESULT)))
    return [flag(RETURNED, False, body[0]), *made, at(ast.Return(end), body[-1])], ways.stops


def block(body: Sequence[ast.stmt], ways: Ways) -> list[ast.stmt]:
    """Statements in order; behind one that may jump the others run where it did not."""
    made: list[ast.stmt] = []
    for k, statement in enumerate(body):
        flags, rest = ways.flags(statement), body[k + 1:]
        made += plain(statement, ways)
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            break
        if rest and flags:
            return [*made, unless(flags, block(rest, ways), rest[0])]
    return made


def plain(statement: ast.stmt, ways: Ways) -> list[ast.stmt]:
    """One statement, with flags for the jumps inside of it."""
    match statement:
        case ast.Return(value) if ways.returned:
            result = at(ast.Assign([ast.Name(RESULT, ast.Store())], value or ast.Constant(None)), statement)
            return [result, flag(ways.returned, True, statement)]
        case ast.Break():
            return [flag(ways.broken, True, statement)]
        case ast.Continue():
            return [flag(ways.skipped, True, statement)]
        case ast.For() | ast.While():
            return loop(statement, ways)
        case _ if isinstance(statement, SCOPES):
            return [statement]
        case ast.Try(body=body, orelse=[first, *_]) | ast.TryStar(body=body, orelse=[first, *_]):
            flags = [flag for s in body for flag in ways.flags(s)]
            inner(statement, ways)
            statement.orelse = [unless(flags, statement.orelse, first)] if flags else statement.orelse
            return [statement]
        case _:
            inner(statement, ways)
            return [statement]


def inner(statement: Any, ways: Ways) -> None:
    """Lowers the blocks of a statement where they stand."""
    for name in ("body", "orelse", "finalbody"):
        if statements := cast("list[ast.stmt]", getattr(statement, name, [])):
            setattr(statement, name, block(statements, ways))
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        inner(part, ways)


def loop(statement: ast.For | ast.While, ways: Ways) -> list[ast.stmt]:
    """A loop that flags end; its `else` runs where none did."""
    found = jumps(statement.body)
    place = f"{statement.lineno}_{statement.col_offset}"
    inside = ways._replace(broken=f"_st_broken_{place}", skipped=f"_st_skipped_{place}")
    stops = [name for kind, name in ((ast.Break, inside.broken), (ast.Return, inside.returned)) if kind in found]
    otherwise = block(statement.orelse, ways)
    statement.body, statement.orelse = block(statement.body, inside), []
    if ast.Continue in found:
        statement.body.insert(0, flag(inside.skipped, False, statement))
    ways.stops[statement] = stops
    before = [flag(inside.broken, False, statement)] if ast.Break in found else []
    after = [unless(stops, otherwise, otherwise[0])] if otherwise and stops else otherwise
    return [*before, statement, *after]


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through these statements ends in a return or an error."""
    for statement in body:
        match statement:
            case ast.Return() | ast.Raise():
                return True
            case ast.If(_, one, other) if leaves(one) and leaves(other):
                return True
            case ast.With(body=inside) | ast.Try(finalbody=inside) if leaves(inside):
                return True
            case ast.Try(inside, handlers, orelse) if leaves([*inside, *orelse]) and all(
                    leaves(h.body) for h in handlers):
                return True
            case ast.While(ast.Constant(True), inside) if ast.Break not in jumps(inside):
                return True
            case _:
                pass
    return False


def unless(flags: Sequence[str], body: Sequence[ast.stmt], like: ast.stmt) -> ast.stmt:
    """The statements where none of these flags is set."""
    return at(ast.If(ast.UnaryOp(ast.Not(), any_of(flags)), list(body), []), like)


def any_of(flags: Sequence[str]) -> ast.expr:
    """Whether one of these flags is set."""
    names = [load(name) for name in flags]
    return names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), list(names))


def flag(name: str, on: bool, like: ast.stmt) -> ast.stmt:
    """A flag is set, or taken back."""
    return at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(on)), like)


def load(name: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(name, ast.Load())


def operator(name: str, *args: ast.expr) -> ast.Call:
    """A call of a function of `operators.py`."""
    return ast.Call(ast.Attribute(load("_st"), name, ast.Load()), list(args), [])


def thunk(x: ast.expr) -> ast.Lambda:
    """An expression that is computed when it is asked for."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), x)


def at(node: N, like: ast.AST) -> N:
    """A new node, and what is new inside of it, at the place of another."""
    for inside in ast.walk(node):
        if isinstance(inside, ast.expr | ast.stmt) and not hasattr(inside, "lineno"):
            ast.copy_location(inside, like)
    return node
