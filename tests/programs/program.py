"""A program as data: named inputs, steps and results, with a text form that reads back."""
from __future__ import annotations

import ast
import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stele.ir.types import DTYPES, dtype

Array = np.ndarray[Any, Any]
INLINE = 64
NUMBERS = {"inf": float("inf"), "nan": float("nan")}


def law_of(kind: str) -> str:
    """A kind in whichever words."""
    return kind.rpartition(".")[2]


@dataclass(frozen=True)
class Step:
    """targets = kind(*args, **attributes); an argument is a name, a number, or an array or a number of NumPy's.

    A kind with a dot is the one behind it in the words of another: `np.add` is NumPy's function, `operator.add` is +.
    """

    targets: tuple[str, ...]
    kind: str
    args: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def law(self) -> str:
        """The kind whose law it follows."""
        return law_of(self.kind)

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that are names, those that a loop reads from outside included."""
        outside = (n for body in self.bodies.values() for n in body.free)
        return (*(a for a in self.args if isinstance(a, str)), *outside)

    @property
    def bodies(self) -> dict[str, Program]:
        """What a loop or a branch holds, by attribute."""
        return {name: a for name, a in self.attributes.items() if isinstance(a, Program)}


@dataclass(frozen=True)
class Program:
    """What is computed, with `gradient` also the gradients of all float inputs; `arguments`: arrays for each call."""

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    results: tuple[str, ...]
    gradient: bool = False
    arguments: tuple[tuple[Array, ...], ...] = ()
    note: str = ""

    @property
    def free(self) -> tuple[str, ...]:
        """Names that are read but neither inputs nor computed."""
        made = {*self.inputs, *(t for s in self.steps for t in s.targets)}
        read = [n for s in self.steps for n in s.names] + list(self.results)
        return tuple(dict.fromkeys(n for n in read if n not in made))

    @property
    def is_open(self) -> bool:
        """Whether calls differ in shapes."""
        return len({tuple(a.shape for a in args) for args in self.arguments}) > 1

    def pruned(self, inputs: bool = False) -> Program:
        """Without steps, and but for `inputs` without inputs, that no result needs; what is written in place is needed
        where its name is."""
        needed, kept = set(self.results), list[Step]()
        shared = {n for s in self.steps if s.law in VIEWS | {"alias"} for n in (*s.targets, *s.names)}
        for step in reversed(self.steps):
            written = set(step.targets) if step.targets else {step.args[0]}
            if written & needed or (written & shared and not step.targets):
                needed |= set(step.names)
                kept.append(step)
        at = [k for k, n in enumerate(self.inputs) if inputs or n in needed] or [0]
        return replace(self, inputs=tuple(self.inputs[k] for k in at), steps=tuple(reversed(kept)),
                       arguments=tuple(tuple(args[k] for k in at) for args in self.arguments))


def show(program: Program) -> str:
    """The program as Python-like text."""
    notes = [f"# {line}" for line in program.note.splitlines()]
    calls = [f"call({', '.join(map(array_text, args))})" for args in program.arguments]
    return "\n".join([*notes, *lines(program, "program", ""), *calls]) + "\n"


def lines(program: Program, name: str, indent: str) -> Iterator[str]:
    yield f"{indent}def {name}({', '.join(program.inputs)}):"
    for k, step in enumerate(program.steps):
        attributes = dict(step.attributes)
        for attribute, body in step.bodies.items():
            yield from lines(body, f"{attribute}{k}", indent + "    ")
            attributes[attribute] = Name(f"{attribute}{k}")
        written = [*(a if isinstance(a, str) else array_text(a) if isinstance(a, np.ndarray) else repr(a)
                     for a in step.args),
                   *(f"{n}={a!r}" for n, a in attributes.items())]
        head = f"{', '.join(step.targets)}{',' if len(step.targets) == 1 and step.law in SEVERAL else ''} = "
        yield f"{indent}    {head if step.targets else ''}{step.kind}({', '.join(written)})"
    results = ", ".join(program.results)
    yield f"{indent}    return {f'differentiated({results})' if program.gradient else f'({results},)'}"


VIEWS = frozenset(("reshape", "permute", "flip", "rot90", "split", "unsqueeze", "squeeze", "broadcast_to", "getitem",
                   "share", "rows", "diagonal", "real", "imag"))
"""What gives parts of its operand, or that one seen otherwise: what is written to one is written to both."""
SEVERAL = ("split", "scan", "branch", "repeat_while")


class Name(str):
    """A name, printed as it is."""

    __repr__ = str.__str__


def array_text(x: Array) -> str:
    """An array: its numbers where they are few, else its bytes, packed."""
    if x.size <= INLINE and x.dtype.name != "bfloat16" and x.dtype.kind != "c":
        return f"array({x.dtype.name}, {x.shape}, {x.ravel().tolist()})"
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
    return f"array({x.dtype.name}, {x.shape}, {packed!r})"


def array_of(name: str, shape: tuple[int, ...], numbers: Any) -> Array:
    """The array that `array_text` wrote."""
    of = dtype(name).numpy
    made = np.frombuffer(zlib.decompress(base64.b64decode(numbers)), of) if isinstance(numbers, str) else \
        np.array(numbers, of)
    return made.reshape(shape).copy()


def parse(text: str) -> Program:
    """The program that `show` printed."""
    note = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    function, *calls = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    arguments = tuple(tuple(value(a, {}) for a in c.value.args) for c in calls)  # type: ignore[attr-defined]
    return replace(read(function), arguments=arguments, note=note)


def read(function: ast.FunctionDef) -> Program:
    """A program from its definition."""
    steps, inner = list[Step](), dict[str, Program]()
    for node in function.body[:-1]:
        if isinstance(node, ast.FunctionDef):
            inner[node.name] = read(node)
            continue
        assert isinstance(node, ast.Assign | ast.Expr) and isinstance(node.value, ast.Call)
        target = node.targets[0] if isinstance(node, ast.Assign) else ast.Tuple([])
        targets = tuple(n.id for n in (target.elts if isinstance(target, ast.Tuple) else [target]))  # type: ignore[attr-defined]
        args = tuple(a.id if isinstance(a, ast.Name) and a.id not in NUMBERS else value(a, inner)
                     for a in node.value.args)
        attributes = {str(k.arg): value(k.value, inner) for k in node.value.keywords}
        steps.append(Step(targets, ast.unparse(node.value.func), args, attributes))
    end = function.body[-1]
    assert isinstance(end, ast.Return) and isinstance(end.value, ast.Call | ast.Tuple)
    results = end.value.args if isinstance(end.value, ast.Call) else end.value.elts
    return Program(tuple(a.arg for a in function.args.args), tuple(steps), tuple(r.id for r in results),  # type: ignore[attr-defined]
                   isinstance(end.value, ast.Call))


def value(node: ast.expr, inner: dict[str, Program]) -> Any:
    """A literal, a slice, an array or a body."""
    match node:
        case ast.Name(name) if name in inner: return inner[name]
        case ast.Name(name) if name in NUMBERS: return NUMBERS[name]
        case ast.Constant(): return node.value
        case ast.UnaryOp(ast.USub(), x): return -value(x, inner)
        case ast.Tuple(parts): return tuple(value(p, inner) for p in parts)
        case ast.List(parts): return [value(p, inner) for p in parts]
        case ast.Name("Ellipsis"): return ...
        case ast.Call(ast.Name("slice"), parts): return slice(*(value(p, inner) for p in parts))
        case ast.Call(ast.Name("array"), [ast.Name(name), shape, data]) if name in DTYPES:
            return array_of(name, value(shape, inner), value(data, inner))
        case ast.Call(ast.Attribute(ast.Name("np"), name), [number]):
            return getattr(np, name)(value(number, inner))
        case _: raise ValueError(f"cannot read {ast.unparse(node)!r}")


def substituted(program: Program, old: str, new: str) -> Program:
    """The program with one name read in place of another."""
    def name(a: Any) -> Any: return new if isinstance(a, str) and a == old else a
    def step(s: Step) -> Step:
        attributes = {k: substituted(a, old, new) if isinstance(a, Program) else a for k, a in s.attributes.items()}
        return Step(s.targets, s.kind, tuple(map(name, s.args)), attributes)
    return replace(program, steps=tuple(map(step, program.steps)), results=tuple(map(name, program.results)))


def fresh(names: Sequence[str], prefix: str) -> str:
    """A name of that prefix that is not taken."""
    return next(n for k in range(len(names) + 1) if (n := f"{prefix}{k}") not in names)
