"""What statements bind and change, and how they may leave, in the scope of one function."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
          ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
JUMPS = (ast.Return, ast.Break, ast.Continue)
CHANGING = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard", "setdefault",
                      "popitem", "sort", "reverse", "appendleft", "popleft"))


class Bound(NamedTuple):
    """What statements may rebind: names, attributes and entries at constant keys, as they are written; and what they
    may change in place, as it is written."""

    names: tuple[str, ...]
    places: tuple[str, ...]
    changed: tuple[str, ...]


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements or expressions in their own scope, in order; of an inner scope its head alone."""
    for node in nodes:
        yield node
        if not isinstance(node, SCOPES):
            yield from own(ast.iter_child_nodes(node))


def bound(nodes: Iterable[ast.AST]) -> Bound:
    """What these statements or expressions bind.

    >>> bound(ast.parse("x, self.h = 1, 2; d['k'] += y[i]; rows.append(x)").body)
    Bound(names=('x',), places=('self.h', "d['k']"), changed=('rows',))
    """
    names, places, changed = dict[str, None](), dict[str, None](), dict[str, None]()
    for node in own(nodes):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.FunctionDef(name) | ast.ClassDef(name) \
                    | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) \
                    | ast.MatchMapping(rest=str(name)):
                names[name] = None
            case ast.alias(name, alias):
                names[alias or name.partition(".")[0]] = None
            case ast.Attribute(base, ctx=ast.Store()) if is_plain(base):
                places[ast.unparse(node)] = None
            case ast.Subscript(base, ast.Constant(), ast.Store()) if is_plain(base):
                places[ast.unparse(node)] = None
            case ast.Subscript(base, ctx=ast.Store() | ast.Del()) if is_plain(base):
                changed[ast.unparse(base)] = None
            case ast.Call(ast.Attribute(base, name)) if name in CHANGING and is_plain(base):
                changed[ast.unparse(base)] = None
            case _:
                pass
    return Bound(tuple(names), tuple(places), tuple(changed))


def is_plain(node: ast.expr) -> bool:
    """Whether an expression is a name, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_plain(node.value))


def jumps(nodes: Iterable[ast.AST], inside: bool = False) -> set[type[ast.AST]]:
    """How statements may leave the block that they stand in: of a loop inside of it, by `return` alone."""
    found: set[type[ast.AST]] = set()
    for node in nodes:
        if isinstance(node, JUMPS):
            found |= {type(node)} if not inside or isinstance(node, ast.Return) else set()
        elif isinstance(node, LOOPS):
            found |= jumps(node.body, True) | jumps(node.orelse, inside)
        elif not isinstance(node, SCOPES):
            found |= jumps(ast.iter_child_nodes(node), inside)
    return found
