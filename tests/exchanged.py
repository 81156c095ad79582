"""Examples of docstrings and guides, one argument of one call of which is another: what may come of it."""
from __future__ import annotations

import ast
import collections
import contextlib
import doctest
import inspect
import io
import operator
import os
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele import data, metrics, nn, optim, train
from stele.errors import SteleError
from stele.interop import caffe, flax, huggingface, keras, onnx

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (st, nn, nn.init, nn.functional, nn.utils.rnn, nn.utils.parametrize, nn.utils.parametrizations, optim,
         optim.lr_scheduler, metrics, data, data.transforms, st.io, train, st.linalg, st.fft, st.random, st.debug,
         huggingface, onnx, keras, flax, caffe)
NAMES = {"st": st, "np": np, "nn": nn, "F": nn.functional, "optim": optim, "metrics": metrics, "data": data,
         "train": train}
SAME = 16               # seeds one after the other that share an example
SMALL = 1 << 20         # elements of a result that is looked at
WORKERS = "num_workers", "workers", "processes"     # of which as many are made as are asked for
MARK, EXAMPLE = "_heard", "<example>"
OPERATORS = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "MatMult": operator.matmul,
             "Pow": operator.pow, "Div": operator.truediv}


class Elsewhere:
    """A tensor of another framework that nobody can read here."""

    shape, ndim, dtype, device = (2, 3), 2, "torch.float32", "cuda:0"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert a tensor of cuda:0 to numpy")

    def __dlpack__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no dlpack")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __len__(self) -> int:
        return 2


class NoIndex:
    """A number that fails where it is asked for."""

    def __index__(self) -> int:
        raise ZeroDivisionError("an error of the user's")


class NoArray:
    """What says it is an array, and is none."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        return "no array"


class Whole(int):
    """A number of the user's own kind."""


def nested(depth: int) -> list[Any]:
    """Lists in lists."""
    x: list[Any] = []
    for _ in range(depth):
        x = [x]
    return x


def itself() -> list[Any]:
    """A list in itself."""
    x: list[Any] = [1]
    x.append(x)
    return x


VALUES: dict[str, Callable[[], Any]] = {
    **{repr(x): partial(lambda x: x, x) for x in (
        None, "", "abc", "a\0b", b"x", float("nan"), float("inf"), float("-inf"), 2**31, 2**63, -2**63 - 1, -1, 0, 1,
        -3, 99, 1.5, -0.5, True, 1j, (-1, -1), (0, 0), (1,), (), ..., int, NotImplemented, "float32", Fraction(1, 3),
        Decimal("1.5"), Decimal("sNaN"), range(3), frozenset("a"), nn.Linear, np.dtype("M8[s]"), slice(0, 2))},
    "10**400": lambda: 10**400, "object": object, "set": lambda: {1, 2}, "generator": lambda: (k for k in range(2)),
    "iterator": lambda: iter([]), "[]": list, "{}": dict, "dict": lambda: {"a": 1}, "ragged": lambda: [[1], [2, 3]],
    "[None]": lambda: [None], "['a']": lambda: ["a"], "[[]]": lambda: [[]], "deep": lambda: nested(900),
    "itself": itself,
    "[2**62]*2": lambda: [2**62] * 2, "[1.5]": lambda: [1.5], "[True]": lambda: [True], "[nan]": lambda: [float("nan")],
    "dates": lambda: np.array(["2020-01-01"], "datetime64[D]"), "time": lambda: np.timedelta64(3, "s"),
    "objects": lambda: np.array([1, None], object), "an object": lambda: np.array(None, object),
    "texts": lambda: np.array(["a", "b"]), "records": lambda: np.zeros(2, [("a", "i4")]),
    "void": lambda: np.zeros(2, "V3"), "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "matrix": lambda: np.asmatrix([[1.0, 2.0]]), "big-endian": lambda: np.arange(6, dtype=">f4").reshape(2, 3),
    "backwards": lambda: np.arange(6.0)[::-1], "long double": lambda: np.zeros(2, np.longdouble),
    "NumPy's float": lambda: np.float64(0.5), "NumPy's int": lambda: np.int8(-1), "NumPy's bool": lambda: np.True_,
    "NumPy's text": lambda: np.str_("a"), "0-d array": lambda: np.array(2), "uint64": lambda: np.uint64(2**64 - 1),
    "elsewhere": Elsewhere, "[elsewhere]": lambda: [Elsewhere()], "no index": NoIndex, "no array": NoArray,
    "own int": lambda: Whole(2), "0-d": lambda: st.tensor(2.0), "empty": lambda: st.zeros(0),
    "rows of none": lambda: st.zeros(2, 0), "complex": lambda: st.zeros(2, 3, dtype="complex64"),
    "bools": lambda: st.zeros(2, 3, dtype="bool"), "uint8": lambda: st.zeros(3, dtype="uint8"),
    "float64": lambda: st.zeros(2, 3, dtype="float64"), "NaN": lambda: st.tensor([float("nan")] * 3),
    "with gradients": lambda: st.ones(2, 3).requires_grad_(), "far": lambda: st.tensor([-1, 2**40]),
    "five axes": lambda: st.zeros(1, 2, 1, 2, 1), "float16": lambda: st.zeros(2, 3, dtype="float16"),
    "placeholder": lambda: st.placeholder((2, 3)), "layer": lambda: nn.Linear(2, 3), "module": lambda: np,
    "nothing of all": lambda: lambda *_, **__: None, "the first": lambda: lambda *a, **_: a[0] if a else 0,
    "dtype": lambda: st.float32, "path": lambda: Path("nowhere/x"), "stream": lambda: io.BytesIO(b"abc"),
    "error": lambda: ValueError("v"), "bytearray": lambda: bytearray(b"ab"), "memory": lambda: memoryview(b"ab"),
    "deque": lambda: collections.deque([1, 2]), "optimiser": lambda: optim.SGD([st.ones(2).requires_grad_()], lr=0.1)}


@cache
def examples() -> Mapping[str, str]:
    """The docstrings of public names that have examples, and the programs of the guides."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for name in getattr(room, "__all__", [n for n in dir(room) if not n.startswith("_")]):
            x = getattr(room, name)
            for part, f in {"": x, **(vars(x) if inspect.isclass(x) else {})}.items():
                said = getattr(f, "__doc__", None) if callable(f) else None
                if isinstance(said, str) and ">>>" in said and said not in found.values():
                    found[f"{room.__name__}.{name}{'.' * bool(part)}{part}"] = said
    for path in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]):
        for k, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)):
            found[f"{path.stem}#{k}"] = block
    return found


class Hearing(ast.NodeTransformer):
    """Every call, x[...] and operator becomes a call of `_heard(number, function, ...)`."""

    def __init__(self) -> None:
        self.count = 0

    def heard(self, node: ast.expr, f: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        self.count += 1
        made = ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(self.count), f, *args], keywords)
        return ast.copy_location(made, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return self.heard(node, node.func, node.args, node.keywords)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        parts = list(ast.walk(node.slice))
        if not isinstance(node.ctx, ast.Load) or any(isinstance(n, ast.Slice | ast.Starred) for n in parts):
            return node
        return self.heard(node, ast.Name("_item", ast.Load()), [node.value, node.slice], [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = type(node.op).__name__
        if name not in OPERATORS:
            return node
        return self.heard(node, ast.Name(f"_{name}", ast.Load()), [node.left, node.right], [])


@cache
def programs(name: str) -> tuple[CodeType, ...]:
    """The statements of an example, of which calls are heard."""
    said, hearing, made = examples()[name], Hearing(), list[CodeType]()
    for text in [e.source for e in doctest.DocTestParser().get_examples(said)] if ">>>" in said else [said]:
        with contextlib.suppress(SyntaxError):      # what is no program on its own
            made.append(compile(ast.fix_missing_locations(hearing.visit(ast.parse(text))), EXAMPLE, "exec"))
    return tuple(made)


Hook = Callable[[int, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def is_ours(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call reaches Stele."""
    owner = getattr(f, "__self__", None)
    rooms = (getattr(f, "__module__", None) or "", type(f).__module__, type(owner).__module__)
    return any(room.startswith("stele") for room in rooms) or (
        getattr(f, "__module__", "") == "_operator" and any(isinstance(x, st.Tensor) for x in args))


def run(name: str, hook: Hook) -> dict[str, Any]:
    """Runs an example in a folder of its own, its calls of Stele by way of the hook; gives its names."""
    def heard(k: int, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return hook(k, f, args, kwargs) if is_ours(f, args) else f(*args, **kwargs)

    space = {**NAMES, MARK: heard, "_item": operator.getitem, "__name__": "example",
             **{f"_{op}": f for op, f in OPERATORS.items()}}
    st.manual_seed(0)
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"), \
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for program in programs(name):
                exec(program, space)
        finally:
            os.chdir(home)
    return space


@cache
def places(name: str) -> tuple[tuple[int, str, int | str], ...]:
    """The arguments of an example that may be others: the number of the call, what it calls, and the place or name."""
    found: dict[int, list[tuple[int, str, int | str]]] = {}

    def note(k: int, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if k not in found:
            said = getattr(f, "__qualname__", type(f).__name__)
            found[k] = [(k, said, slot) for slot in slots(f, args, kwargs)]
        return f(*args, **kwargs)

    with contextlib.suppress(Exception):    # what needs a file or package that is not there: as far as it goes
        run(name, note)
    return tuple(place for call in found.values() for place in call)


def slots(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[int | str]:
    """The places and names of arguments, given or not."""
    if f is operator.getitem:
        yield 1
        return
    yield from range(len(args))
    yield from kwargs
    with contextlib.suppress(TypeError, ValueError):    # no signature
        for p in [*inspect.signature(f).parameters.values()][len(args):]:
            if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in kwargs:
                yield p.name


class Exchange(NamedTuple):
    """An argument of a call in an example, and what stands there instead, or as its first part."""

    example: str
    call: int
    function: str
    slot: int | str
    value: str
    is_part: bool

    def __str__(self) -> str:
        return f"{self.example}: {self.function} (call {self.call}) with {'a part of ' * self.is_part}" \
               f"{self.slot!r} as {self.value}"

    def exchanged(self, old: Any) -> Any:
        """What stands for an argument."""
        new = VALUES[self.value]()
        if self.is_part and type(old) in (list, tuple) and old:
            return type(old)([new, *old[1:]])
        return {**old, next(iter(old)): new} if self.is_part and type(old) is dict and old else new

    def fault(self) -> str | None:
        """What is wrong with what comes of it; None where that is a result, a lesson, or an error of the example's."""
        waits = True

        def hook(k: int, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal waits
            if k == self.call and waits:
                waits = False
                if isinstance(self.slot, str):
                    kwargs = {**kwargs, self.slot: self.exchanged(kwargs.get(self.slot))}
                elif self.slot < len(args):
                    args = (*args[:self.slot], self.exchanged(args[self.slot]), *args[self.slot + 1:])
            return f(*args, **kwargs)

        try:
            for x in run(self.example, hook).values():
                if isinstance(x, st.Tensor) and x.size <= SMALL:
                    x.numpy()
        except (SteleError, MemoryError, np.linalg.LinAlgError):
            return None
        except Exception as error:
            return raised(error)
        return None


def raised(error: Exception) -> str | None:
    """Where an error was raised in code of Stele's; None where code of others raised it."""
    frames = list[tuple[str, int, str]]()
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    inside = [f for f in frames if f"{os.sep}stele{os.sep}" in f[0] or f[0].startswith("<stele")]
    if frames[-1][0] in (EXAMPLE, __file__) or not inside:
        return None
    path, line, name = inside[-1]
    return f"{type(error).__name__} in {path.rpartition(f'{os.sep}stele{os.sep}')[2]}:{line}, {name}: {error!s:.200}"


def exchange(seed: int) -> Exchange | None:
    """An exchange drawn by a seed; None for an example without arguments."""
    name = random.Random(seed // SAME).choice([*examples()])
    rng = random.Random(f"{name} {seed}")
    if not (found := places(name)):
        return None
    call, function, slot = rng.choice(found)
    known = [v for v in VALUES if slot not in WORKERS or not isinstance(VALUES[v](), int | np.integer)]
    return Exchange(name, call, function, slot, rng.choice(known), rng.random() < 0.25)
