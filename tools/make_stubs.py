"""Writes what type checkers and editors read of the modules whose functions are made of functions of values.

    python tools/make_stubs.py      # writes the .pyi beside the modules below

What a `def` says is copied; what `lift` makes says its signature itself. A test holds the files current.
"""
from __future__ import annotations

import ast
import copy
import importlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import stele
from stele.arrays.familiar import WRITING
from stele.arrays.spellings import ALIASES, BORROWED
from stele.arrays.spoken import is_lifted

HOUSE = Path(__file__).resolve().parents[1] / "stele"
MODULES = ("arrays.functions", "arrays.families", "arrays.everyday", "linalg", "fft", "nn.functional", "arrays.tensor")
ALIASED = ("arrays.functions", "arrays.families")       # whose functions have other names too
WIDTH = 120
INHERITED = {"__hash__": "def __hash__(self) -> int:"}
NEEDED = {"Any": "from typing import Any", "builtins": "import builtins",
          "Sequence": "from collections.abc import Sequence",
          "Literal": "from typing import Literal", "overload": "from typing import overload",
          "TopK": "from stele.ops.sorting import TopK",
          "DTypeLike": "from stele.arrays.tensor import DTypeLike", "Tensor": "from stele.arrays.tensor import Tensor",
          "TensorLike": "from stele.arrays.tensor import TensorLike"}
PAIRS = "return_indices", "returned"     # arguments under which a function gives a pair
UNSAID = {"public", "checked"}     # decorators that change no signature
CHANGED = {"__eq__", "__ne__"}      # methods that answer otherwise than those of `object`


def file(name: str, suffix: str) -> Path:
    """The file of a module, or its stub."""
    path = HOUSE / name.replace(".", "/")
    return (path / "__init__" if path.is_dir() else path).with_suffix(suffix)


def stub(name: str) -> str:
    """The text of a module's stub."""
    tree = ast.parse(file(name, ".py").read_text())
    room = dict(vars(importlib.import_module(f"stele.{name}")))
    other = {alias: own for alias, own in ALIASES.items() if name in ALIASED and own in room}
    room["__all__"] = [*room.get("__all__", ()), *other]
    body = [*declarations(tree.body, room), *(f"{alias} = {own}" for alias, own in other.items())]
    used = {node.id for line in body for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}
    needed = {name: line for name, line in NEEDED.items() if name in used and name not in room}
    head = [f'"""{ast.get_docstring(tree)}"""', "# Written by tools/make_stubs.py.", *needed.values(),
            *imports(tree.body, {*used, *room["__all__"]} - needed.keys())]
    return "\n".join([*head, "", *body]) + "\n"


def imports(body: list[ast.stmt], used: set[str]) -> Iterator[str]:
    """The imports of what is used."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
            node.names = [a for a in node.names if (a.asname or a.name) in used]
            if node.names:
                yield ast.unparse(node)


def declarations(body: list[ast.stmt], room: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """What stands in a module or a class, one declaration after the other."""
    for node in body:
        match node:
            case ast.ClassDef():
                bases = ", ".join(map(ast.unparse, node.bases))
                yield "\n".join([f"class {node.name}" + (f"({bases}):" if bases else ":"),
                                 *said(ast.get_docstring(node), "    "),
                                 *declarations(node.body, vars(room[node.name]), "    "),
                                 *(borrowed() if node.name == "Tensor" else ())])
            case ast.FunctionDef():
                yield written(node, indent)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                yield f"{indent}{name}: {ast.unparse(annotation)}"
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]):
                for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                    yield from assigned(name, node, room[name], indent)


def assigned(name: str, node: ast.Assign, value: Any, indent: str) -> Iterator[str]:
    """What is bound to a name: a lifted function, a property of one, another name for what there is, or a constant."""
    f = value.fget if isinstance(value, property) else value
    if is_lifted(f):
        made = ast.parse(f"def {name}{inspect.signature(f)}: ...").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args.defaults = [ast.Constant(...) if isinstance(d, ast.Name) else d for d in made.args.defaults]
        words = inspect.getdoc(f) or ""
        words = words.partition("\n")[0] if name.startswith("__") else words   # an operator's are those of its function
        made.body = [*map(ast.Expr, map(ast.Constant, filter(None, [words]))), *made.body]
        if isinstance(value, property):
            made.decorator_list = [ast.Name("property")]
        yield from both(made, indent) if any(a.arg in PAIRS for a in made.args.args) else [written(made, indent)]
    elif isinstance(value, list):       # __all__, which type checkers have to read
        yield textwrap.fill(f"{name} = {value!r}", WIDTH, subsequent_indent="    ")
    elif name in INHERITED:
        yield f"{indent}{INHERITED[name]} ..."
    elif isinstance(value, int | str):
        yield f"{indent}{name}: {type(value).__name__}"
    elif name != "__slots__":
        yield f"{indent}{ast.unparse(node)}"


def borrowed() -> Iterator[str]:
    """The methods that are functions of the namespace."""
    for name in BORROWED.split():
        f = getattr(stele, name)
        made = ast.parse(f"def {name}{inspect.signature(f)}: ...").body[0]
        assert isinstance(made, ast.FunctionDef)
        made = Unquoted().visit(made)
        made.args.args[0] = ast.arg("self")
        made.body = [ast.Expr(ast.Constant((inspect.getdoc(f) or "").partition("\n")[0])), *made.body]
        yield from both(made, "    ") if any(a.arg in PAIRS for a in made.args.args) else [written(made, "    ")]
    for name in WRITING.split():
        f = getattr(stele.Tensor, name)
        made = Unquoted().visit(ast.parse(f"def {name}_{inspect.signature(f)}: ...").body[0])
        assert isinstance(made, ast.FunctionDef)
        made.args.args[0], made.returns = ast.arg("self"), ast.Name("Tensor")
        made.body = [ast.Expr(ast.Constant(getattr(stele.Tensor, f"{name}_").__doc__)), *made.body]
        yield written(made, "    ")


def both(node: ast.FunctionDef, indent: str) -> Iterator[str]:
    """A function of one result, and the same as one of a pair, where one of its arguments asks for that."""
    for asked, returns in ((False, "Tensor"), (True, "tuple[Tensor, Tensor]")):
        made = copy.deepcopy(node)
        made.decorator_list, made.returns = [ast.Name("overload")], ast.parse(returns, mode="eval").body
        args = made.args
        place = next(k for k, a in enumerate(args.args) if a.arg in PAIRS)
        args.args[place].annotation = ast.parse(f"Literal[{asked}]", mode="eval").body
        if asked:
            args.kwonlyargs, args.kw_defaults = [args.args.pop(place)], [None]
            args.defaults.pop(place - len(args.args) - 1)
            made.body = [ast.Expr(ast.Constant(...))]
        yield written(made, indent)


def written(node: ast.FunctionDef, indent: str) -> str:
    """A function without its body, but with its words."""
    words = ast.get_docstring(node)
    node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) not in UNSAID]
    node.body = []
    if indent:
        node = Outside().visit(node)
    *decorators, head = ast.unparse(ast.fix_missing_locations(node)).splitlines()
    ignored = "  # type: ignore[override]" if node.name in CHANGED else ""
    lines = [indent + d for d in decorators]
    front, arrow, result = head.partition(") -> ")
    kept = front + (arrow + result).replace(" ", "\u00a0")      # what a line may not begin with
    lines += (line.replace("\u00a0", " ") for line in textwrap.wrap(
        indent + kept + ("" if words else " ..." + ignored), WIDTH, subsequent_indent=indent + " " * 8,
        break_long_words=False))
    if words and ignored:
        lines[-1] += ignored
    return "\n".join([*lines, *said(words, indent + "    ")])


class Unquoted(ast.NodeTransformer):
    """Annotations that are strings become what they say."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = self.said(node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = self.said(node.returns)
        return node

    def said(self, node: ast.expr | None) -> ast.expr | None:
        """What an annotation says."""
        return ast.parse(str(node.value), mode="eval").body if isinstance(node, ast.Constant) and node.value else node


class Outside(ast.NodeTransformer):
    """In a class with methods `int`, `float` and `bool` the types of these names are those of `builtins`."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(f"builtins.{node.id}", mode="eval").body if node.id in ("int", "float", "bool") else node


def said(words: str | None, indent: str) -> Iterator[str]:
    """A docstring as it stands in the source."""
    if words:
        yield textwrap.indent(f'"""{words}' + ('\n"""' if "\n" in words else '"""'), indent,
                              lambda line: bool(line.strip()))


def main() -> None:
    """Writes all stubs."""
    for name in MODULES:
        file(name, ".pyi").write_text(stub(name))


if __name__ == "__main__":
    main()
