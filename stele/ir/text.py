"""Graphs as text: one form that prints and parses back."""
from __future__ import annotations

import ast
import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from stele.errors import GraphError
from stele.ir.graph import Array, Graph, Item, Op, Parameter, Value, parameter
from stele.ir.origin import NOWHERE, Origin, Where, lines
from stele.ir.record import Aside
from stele.ir.sizes import Dim, Size, evaluate
from stele.ir.sizes import parse as parse_size
from stele.ir.types import DTYPES, HOME, DType, Guard, TupleType, Type, dtype

INLINE = 16
LONGEST = 500       # letters of a size
NUMBERS = {"inf": float("inf"), "nan": float("nan")}


def show(graph: Graph) -> str:
    """The graph as text that `parse` reads back: one line per value, operands first, inner graphs indented.

    >>> from stele.ops.elementwise.unary import exp
    >>> x = parameter("x", Type(dtype("float32"), (2, 3)))
    >>> print(show(Graph((x,), (exp(x) + 1,))))  # doctest: +ELLIPSIS +NORMALIZE_WHITESPACE
    graph(x: float32[2,3]):
      v0 = Exp()(x) : float32[2,3]...
      v1 = Literal(value=1, dtype=float32)() : float32[]...
      v2 = Broadcast(shape=(2, 3))(v1) : float32[2,3]...
      v3 = Add()(v0, v2) : float32[2,3]...
      return v3
    """
    return "\n".join(shown(graph, "", "graph")) + "\n"


def shown(graph: Graph, indent: str, head: str) -> Iterator[str]:
    """The lines of one graph."""
    name: dict[Value, str] = {}
    for k, p in enumerate(graph.parameters):
        name[p] = label(p, k, set(name.values()))
    inputs = ", ".join(f"{name[p]}: {p.type}" for p in graph.parameters)
    guards = f" if {' and '.join(map(str, graph.guards))}" if graph.guards else ""
    yield f"{indent}{head}({inputs}){guards}:"
    count = 0
    for v in graph.values:
        if v in name:
            continue
        name[v], count = f"v{count}", count + 1
        origins = f"  # {', '.join(lines(v.where))}" if v.where else ""
        inner: list[Graph] = []
        operands = ", ".join(name[a] for a in v.args)
        yield f"{indent}  {name[v]} = {literal_of(v.op, inner)}({operands}) : {v.type}{origins}"
        for k, g in enumerate(inner):
            yield from shown(g, indent + "    ", f"graph{k}")
    yield f"{indent}  return {', '.join(name[v] for v in graph.results)}".rstrip()


def label(p: Value, k: int, taken: set[str]) -> str:
    """A parameter's name: its label where that reads as one and is free."""
    wanted = p.op.label if isinstance(p.op, Parameter) else ""
    clean = re.sub(r"[^\w.]", "_", wanted)
    usable = re.fullmatch(r"[A-Za-z_][\w.]*", clean) and not re.fullmatch(r"v\d+", clean) and clean not in taken
    return clean if usable else f"p{k}_{clean}"


def literal_of(x: object, graphs: list[Graph]) -> str:
    """An attribute as a Python literal; a graph is named by its position among the op's graphs. Flags that
    are what they are by default are left out.
    """
    match x:
        case Graph():
            graphs.append(x)
            return f"graph({len(graphs) - 1})"
        case Op():
            said = (f.name for f in fields(x) if not isinstance(f.default, bool) or getattr(x, f.name) is not f.default)
            attributes = ", ".join(f"{name}={literal_of(getattr(x, name), graphs)}" for name in said)
            return f"{type(x).__name__}({attributes})"
        case complex():
            return f"complex({str(x)!r})"
        case bool() | int() | float() | None | Size() | DType() | Aside():
            return repr(x)
        case str():
            return repr(x).replace("#", "\\x23")
        case Type():
            return f"type({str(x)!r})"
        case tuple():
            inside = ", ".join(literal_of(e, graphs) for e in x)  # type: ignore[reportUnknownVariableType]
            return f"({inside},)" if len(x) == 1 else f"({inside})"  # type: ignore[reportUnknownArgumentType]
        case np.ndarray():
            return array_text(x)  # type: ignore[reportUnknownArgumentType]
        case _:
            raise GraphError(f"an attribute of type {type(x).__name__} has no text: {x!r:.80}; "
                             f"make it a number, a string, a dtype, a size, a graph or a tuple of those")


def array_text(x: Array) -> str:
    """An array: its numbers where they are few and print exactly, else its bytes in base64."""
    if x.size <= INLINE and x.dtype.kind != "c" and not np.isnan(x.astype(np.float64)).any():
        numbers = [e.item() if x.dtype.kind in "biuf" else float(e) for e in x.ravel()]
        return f"array({x.dtype.name}, {x.shape}, {numbers})"
    return f"array({x.dtype.name}, {x.shape}, '{base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()}')"


def parse(text: str, ops: Mapping[str, type[Op]]) -> Graph:
    """The graph that `show` printed; `ops` are the classes by name (`stele.ops.ALL`).

    Raises GraphError naming the line that cannot be read.
    """
    reader = Reader([line for line in text.splitlines() if line.strip()], {**ops, "Item": Item})
    graph = reader.graph("")
    if reader.at < len(reader.lines):
        raise reader.wrong("text after the end of the graph")
    return graph


# Each of these takes time in proportion to its text, whatever stands there.
HEAD = re.compile(r"( *)graph\d*\((.*):$")
INPUT = re.compile(r"([\w.]+): (\w+\[[^\]]*\](?:@[\w:]+)?)(?:, |$)")
ITEM = re.compile(r"(\w+\[[^\]]*\](?:@[\w:]+)?)(?:, |$)")
LINE = re.compile(r" *(v\d+) = (.*)\(([^()]*)\) : (.+)$")


@dataclass
class Reader:
    """Reads the lines of a printed graph one after the other."""

    lines: list[str]
    ops: Mapping[str, type[Op]]
    at: int = field(default=0)

    def wrong(self, what: str) -> GraphError:
        line = self.lines[self.at - 1] if self.at else ""
        return GraphError(f"line {self.at} of the graph: {what}: {line.strip()!r:.120}")

    def next(self) -> str:
        if self.at == len(self.lines):
            raise self.wrong("the text ends before the graph does")
        self.at += 1
        return self.lines[self.at - 1]

    def graph(self, indent: str) -> Graph:
        if not (head := HEAD.match(self.next())) or head[1] != indent:
            raise self.wrong(f"expected 'graph(...):' indented by {len(indent)} spaces")
        inputs, condition, said = head[2].partition(") if ")
        if not condition and not inputs.endswith(")"):
            raise self.wrong("the inputs of a graph end with a bracket")
        value = {found[1]: parameter(found[1], parse_type(found[2]))
                 for found in listed(INPUT, inputs if condition else inputs[:-1])}
        guards = tuple(parse_guard(g) for g in said.split(" and ")) if said else ()
        parameters = tuple(value.values())
        while not (line := self.next()).startswith(f"{indent}  return"):
            self.line(line, indent, value)
        names = [name for name in line.strip().removeprefix("return").strip().split(", ") if name]
        return Graph(parameters, tuple(self.found(n, value) for n in names), guards)

    def line(self, line: str, indent: str, value: dict[str, Value]) -> None:
        """Reads one value, with the inner graphs that follow it."""
        code, _, origins = line.partition("  # ")
        if not (parts := LINE.match(code)):
            raise self.wrong("expected 'name = Op(attributes)(operands) : type'")
        here, inner = self.at, list[Graph]()
        while self.at < len(self.lines) and (head := HEAD.match(self.lines[self.at])) and head[1] == f"{indent}    ":
            inner.append(self.graph(f"{indent}    "))
        after, self.at = self.at, here
        args = tuple(self.found(n, value) for n in parts[3].split(", ") if n)
        value[parts[1]] = Value(self.op(parts[2], inner), args, parse_type(parts[4]), parse_where(origins))  # type: ignore[arg-type]
        self.at = after

    def found(self, name: str, value: Mapping[str, Value]) -> Value:
        if name not in value:
            raise self.wrong(f"no value is named {name!r}")
        return value[name]

    def op(self, text: str, graphs: list[Graph]) -> Op:
        try:
            call = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise self.wrong(f"cannot read the op {text!r:.80}") from error
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise self.wrong(f"expected Op(name=value, ...), got {text!r:.80}")
        if call.func.id not in self.ops:
            raise self.wrong(f"no op is named {call.func.id!r}")
        return self.made(call, call.func.id, graphs)

    def made(self, call: ast.Call, name: str, graphs: list[Graph]) -> Op:
        """The op that a call with attributes makes; one of them may be an op."""
        def read(node: ast.expr) -> Any:
            match node:
                case ast.Call(ast.Name(inner)) if inner in self.ops: return self.made(node, inner, graphs)
                case _: return attribute(node, graphs)

        return self.ops[name](**{str(k.arg): read(k.value) for k in call.keywords})


def attribute(node: ast.expr, graphs: list[Graph]) -> Any:
    """The attribute that `literal_of` printed."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(parts) | ast.List(parts):
            return tuple(attribute(p, graphs) for p in parts)
        case ast.Name(name) if name in DTYPES:
            return DTYPES[name]
        case ast.Name(name) if name in NUMBERS:
            return NUMBERS[name]
        case ast.UnaryOp(ast.USub(), ast.Name("inf") | ast.Constant(float()) as x):
            return -attribute(x, graphs)
        case ast.Call(ast.Name("graph"), [ast.Constant(int(k))]) if k < len(graphs):
            return graphs[k]
        case ast.Call(ast.Name("complex"), [ast.Constant(str(text))]):
            return complex(text)
        case ast.Call(ast.Name("type"), [ast.Constant(str(text))]):
            return parse_type(text)
        case ast.Call(ast.Name("array"), [ast.Name(name), shape, data]):
            return parse_array(dtype(name), attribute(shape, graphs), attribute(data, graphs))
        case _:
            return evaluate(node, ast.unparse(node))


def parse_array(of: DType, shape: tuple[int, ...], data: str | tuple[float, ...]) -> Array:
    """The array of an `array(...)` attribute."""
    if isinstance(data, str):
        return np.frombuffer(base64.b64decode(data), of.numpy).reshape(shape)
    return np.array(data, dtype=np.float64 if of.is_float else of.numpy).astype(of.numpy).reshape(shape)


def parse_type(text: str) -> Any:
    """The type that `str` printed: `float32[n,3]`, or a tuple of those in parentheses."""
    if text.startswith("("):
        return TupleType(tuple(parse_type(found[1]) for found in listed(ITEM, text[1:].removesuffix(")"))))
    parts = re.fullmatch(r"(\w+)\[(.*)\](?:@([\w:]+))?", text)
    if not parts:
        raise GraphError(f"cannot read the type {text!r}; write for example 'float32[n,3]'")
    shape = tuple(map(parse_dim, parts[2].split(","))) if parts[2] else ()
    return Type(dtype(parts[1]), shape, parts[3] or HOME)


def listed(form: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """What stands in a list, one of a form behind the other; GraphError where anything else does."""
    found, at = list[re.Match[str]](), 0
    while at < len(text):
        if not (match := form.match(text, at)):
            raise GraphError(f"cannot read {text[at:]!r:.60}; write for example 'x: float32[n,3], y: float32[3]'")
        found.append(match)
        at = match.end()
    return found


def parse_dim(text: str) -> Dim:
    """The size that `str` printed, which takes a time that grows with the square of its terms."""
    if len(text) > LONGEST:
        raise GraphError(f"a size of a graph has at most {LONGEST} letters, got {len(text)}: {text!r:.60}")
    return parse_size(text)


def parse_guard(text: str) -> Guard:
    """The guard that `str` printed."""
    parts = re.fullmatch(r"(.+) (==|!=|<|>=) (.+)", text)
    if not parts:
        raise GraphError(f"cannot read the guard {text!r}; write for example 'n == 2*m'")
    return Guard(parse_dim(parts[1]), parse_dim(parts[3]), parts[2])


def parse_where(text: str) -> Where:
    """The origins of a trailing comment."""
    if not text:
        return NOWHERE
    found = [t[:-1].partition(" (") if t.endswith(")") else (t, "", "") for t in text.split(", ") if t]
    return frozenset(Origin(line, 0, path) for line, _, path in found)
