"""A Python function anew, whose if, while, for, and, or and not ask `operators.py`; its lines stay where they are."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import FunctionType, MethodType
from typing import Any, cast

from stele.errors import ArgumentError, kind
from stele.staged import operators
from stele.staged.expressions import BUILTINS
from stele.staged.lower import any_of, at, load, lowered, operator, thunk
from stele.staged.scopes import bound, own
from stele.staged.syntax import Function, remade, source

SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
# What stands in the place of a statement: `_st_if`, `_st_body` and `_st_else` are its parts.
FORM = """
def _st_get():
    return [{gets}]
def _st_put(_st_new):
    {declares}
    {puts}
def _st_test():
    {declares}
    return _st_if
def _st_one(_st_item=None):
    {declares}
    _st_body
def _st_other():
    {declares}
    _st_else
_st.{operator}({arguments}, _st.Scope(_st_get, _st_put, {names}, {changed}, {line}))
"""
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}


def converted(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with control of its tensors in the graph. Raises ArgumentError for what is no Python function with a source."""
    if isinstance(f, MethodType):
        return MethodType(converted(f.__func__), f.__self__)
    if not isinstance(f, FunctionType):
        raise ArgumentError(f"control='python' rewrites a function written in Python, got {kind(f)}",
                            hint="Decorate the function that holds the if or the loop, such as the method of a class.")
    node, classes = source(f)
    if is_suspended(node):
        raise ArgumentError(f"control='python' rewrites no generator and no coroutine, such as {f.__qualname__}")
    return update_wrapper(remade(f, Converter().function(node), classes, {"_st": operators}), f)


def is_suspended(node: Function) -> bool:
    """Whether a function is a generator or a coroutine."""
    return isinstance(node, ast.AsyncFunctionDef) or any(
        isinstance(part, SUSPENDING) for part in own(ast.iter_child_nodes(node)))


class Converter(ast.NodeTransformer):
    """Rewrites one function: `stops` are the flags that end its loops, `outer` the names that are not its own,
    `moved` those that statements bind which stand in functions of their own now."""

    def __init__(self) -> None:
        self.stops: dict[ast.stmt, list[str]] = {}
        self.outer: dict[str, str] = {}
        self.moved: dict[str, None] = {}
        self.first = ""

    def function(self, node: Function) -> Function:
        """The whole function, without its decorators."""
        arguments = node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.first = names[0] if names else ""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        self.outer = {name: type(s).__name__.lower() for s in own(node.body) if isinstance(s, ast.Global | ast.Nonlocal)
                      for name in s.names}
        body, self.stops = lowered(node.body)
        node.body, node.decorator_list = self.block(body), []
        names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
        mine = [ast.Name(name, ast.Store()) for name in self.moved if name not in names and name not in self.outer]
        if mine:    # they are names of this function, although nothing binds them here
            never = ast.If(ast.Constant(False), [ast.Assign(cast("list[ast.expr]", mine), ast.Constant(None))], [])
            node.body.insert(0, at(never, node.body[0]))
        return node

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements, each of which may become several."""
        made: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        if is_suspended(node):
            return node
        decorators = node.decorator_list
        made = cast(ast.FunctionDef, Converter().function(node))
        made.decorator_list = decorators
        return made

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        return self.form("if_", "_st_test(), _st_one, _st_other", node, node.body, node.orelse, node.test)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self.form("while_", f"_st_test, _st_one, {self.stop(node)}", node, node.body, [], node.test)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        target = at(ast.Assign([node.target], load("_st_item")), node)
        return self.form("for_", f"_st_test(), _st_one, {self.stop(node)}", node, [target, *node.body], [], node.iter)

    def stop(self, node: ast.stmt) -> str:
        """The text of what says whether a loop was left."""
        flags = self.stops.get(node, [])
        return "None" if not flags else "lambda: " + ast.unparse(self.visit(any_of(flags)))

    def form(self, operator: str, arguments: str, node: ast.stmt, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt],
             test: ast.expr) -> list[ast.stmt]:
        """What stands for a statement: functions of its parts, and a call of an operator with them."""
        binds = bound([test, *body, *orelse])
        self.moved |= dict.fromkeys(binds.names)
        declared = [f"{self.outer.get(name, 'nonlocal')} {name}" for name in binds.names]
        places = (*binds.names, *binds.places)
        puts = [f"{name} = _st_new[{k}]\n    if {name} is _st.UNSET: del {name}" for k, name in enumerate(binds.names)]
        puts += [f"if not isinstance(_st_new[{k}], _st.Unset): {place} = _st_new[{k}]"
                 for k, place in enumerate(binds.places, len(binds.names))]
        text = FORM.format(
            operator=operator, arguments=arguments, line=node.lineno, names=places,
            declares="; ".join(declared) or "pass",
            gets=", ".join(f"_st.held(lambda: {place})" for place in places), puts="\n    ".join(puts) or "pass",
            changed=f"lambda: [{', '.join(f'_st.held(lambda: {place})' for place in binds.changed)}]")
        parts = {"_st_if": [self.visit(test)], "_st_body": self.block(body), "_st_else": self.block(orelse)}
        return fill(ast.parse(text).body, parts, node)

    # Expressions

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        parts = [cast(ast.expr, self.visit(x)) for x in node.values]
        if any(binds_names(x) for x in parts):
            node.values = parts
            return node
        return at(operator("and_" if isinstance(node.op, ast.And) else "or_", *map(thunk, parts)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return at(operator("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test, one, other = (self.visit(x) for x in (node.test, node.body, node.orelse))
        if binds_names(one) or binds_names(other):
            node.test, node.body, node.orelse = test, one, other
            return node
        return at(operator("choose", test, thunk(one), thunk(other), ast.Constant(node.lineno)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 or any(map(binds_names, node.comparators)):
            return node
        signs = [ast.Constant(COMPARISONS[type(op)]) for op in node.ops]
        return at(operator("compare", node.left, ast.Tuple(cast("list[ast.expr]", signs), ast.Load()),
                           *map(thunk, node.comparators)), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("super"), [], []) if self.first:
                node.args = [at(load("__class__"), node), at(load(self.first), node)]
            case ast.Call(ast.Name(id) as name) if id in BUILTINS:
                node.func = at(operator("builtin", ast.Constant(id), name), name)
            case _:
                pass
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return cast(ast.Lambda, Converter().function(node)) if not is_suspended(node) else node


def binds_names(x: ast.AST) -> bool:
    """Whether an expression binds names where it stands, or waits."""
    return any(isinstance(part, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for part in own([x]))


def fill(form: Sequence[ast.stmt], parts: dict[str, list[Any]], like: ast.stmt) -> list[ast.stmt]:
    """The statements of a form with parts in the places that their names hold, all at the lines they come from."""

    class Fill(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> Any:
            if isinstance(node.value, ast.Name) and node.value.id in parts:
                return parts[node.value.id] or ast.copy_location(ast.Pass(), like)
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> Any:
            return parts[node.id][0] if node.id in parts else node

    for statement in form:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
                ast.copy_location(node, like)
    return [Fill().visit(statement) for statement in form]
