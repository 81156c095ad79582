"""Calls of the public functions with arguments nobody should give, and what may come of one: a result or a lesson."""
from __future__ import annotations

import inspect
import math
import random
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele import data, metrics, nn, optim
from stele.arrays.rebinding import Rebinding
from stele.backend.reference import run
from stele.eager.live import is_symbolic, is_there
from stele.errors import SteleError
from stele.ir.graph import Value, closed, walk
from stele.ir.types import REAL

LEFT_OUT = {"Options", "Tensor", "load", "save", "lint", "set_threads", "manual_seed", "summary", "enable_grad",
            "no_grad"}
RECORDS = {"Module", "Sequential", "Summary", "Group", "Metric", "Transform", "RandomTransform", "Moving"}
"""Bases, and what is read and made by nobody else."""
UNSEEN = {"backward", "rebind", "numpy", "tolist", "item", "to", "requires_grad_"}
OPERATORS = ("__add__", "__matmul__", "__getitem__", "__pow__", "__mod__", "__lt__", "__floordiv__", "__and__")
CALLED = "Callable", "Step"     # annotations of functions
LARGE = 1 << 16         # elements of a value up to which a result is computed
ROUGH = {"float16": 2e-2, "bfloat16": 2e-2, "float32": 1e-3, "complex64": 1e-3, "float64": 1e-6, "complex128": 1e-6}
SIGNATURE = ("positional argument", "unexpected keyword", "multiple values", "required keyword", "takes no",
             "expected at most", "missing a required argument")


class Call(NamedTuple):
    """A function by name, and what it is called with."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        given = [shown(a) for a in self.args] + [f"{k}={shown(a)}" for k, a in self.kwargs.items()]
        return f"{self.name}({', '.join(given)})"


def shown(x: Any) -> str:
    """An argument as a line of a report says it."""
    if isinstance(x, st.Tensor):
        return f"tensor<{x.dtype}{list(x.shape)}>"
    if isinstance(x, list | tuple):
        return f"{'[' if isinstance(x, list) else '('}{', '.join(map(shown, x))}{']' if isinstance(x, list) else ',)'}"
    return f"array<{x.dtype}{list(x.shape)}>" if isinstance(x, np.ndarray) else f"{x!r:.60}"


def functions() -> dict[str, Callable[..., Any]]:
    """Everything public that can be called: functions, methods of a tensor, layers, optimisers and schedules."""
    found = {f"st.{name}": getattr(st, name) for name in sorted(st.__all__)
             if name not in LEFT_OUT and callable(getattr(st, name)) and not inspect.ismodule(getattr(st, name))}
    found |= {f"Tensor.{name}": f for name, f in sorted({**vars(Rebinding), **vars(st.Tensor)}.items())
              if callable(f) and not name.startswith("_") and name not in UNSEEN}
    found |= {f"Tensor.{name}": getattr(st.Tensor, name) for name in OPERATORS}
    found |= {f"nn.{name}": built(getattr(nn, name)) for name in sorted(nn.__all__)
              if inspect.isclass(getattr(nn, name)) and name not in RECORDS}
    for room in (st.linalg, st.fft, st.random, nn.functional):
        said = room.__name__.removeprefix("stele.")
        found |= {f"{said}.{name}": f for name in sorted(room.__all__)
                  if inspect.isroutine(f := getattr(room, name)) and name not in LEFT_OUT}
    found |= {f"metrics.{name}": counted(getattr(metrics, name)) for name in sorted(metrics.__all__)
              if name not in RECORDS}
    found |= {f"transforms.{name}": changing(f) for name in sorted(data.transforms.__all__)
              if inspect.isclass(f := getattr(data.transforms, name)) and name not in RECORDS}
    found |= {f"Generator.{name}": drawing(name) for name in ("load_state_dict", "manual_seed")}
    return found | {f"optim.{name}": moved(f) if inspect.isclass(f := getattr(optim, name)) else f
                    for name in sorted(optim.__all__) if name not in RECORDS}


def speaking(f: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the signature of another one, which it calls."""
    f.__signature__ = inspect.signature(of)     # type: ignore[attr-defined]
    return f


def built(layer: Callable[..., Any]) -> Callable[..., Any]:
    """A layer that is made, and called on images and on rows."""
    def made(*args: Any, **kwargs: Any) -> Any:
        module = layer(*args, **kwargs)
        if not isinstance(module, nn.Module) or type(module).forward is nn.Module.forward:
            return None     # a parameter, or a base of layers
        if max((math.prod(p.shape) for p in module.parameters()), default=0) <= LARGE:
            for x in (st.zeros(2, 3, 4, 4), st.zeros(2, 3)):
                try:
                    return module(x)
                except SteleError:
                    continue
        return None

    return speaking(made, layer)


def moved(kind: Callable[..., Any]) -> Callable[..., Any]:
    """An optimiser, a mean or a schedule that is made, and makes two steps: what it moved, and the rates."""
    def made(*args: Any, **kwargs: Any) -> Any:
        x = kind(*args, **kwargs)
        if isinstance(x, optim.LossScaler):
            return x.scale(st.ones(2)), x.factor
        if isinstance(x, optim.ReduceLROnPlateau):
            for measure in (1.0, 2.0):
                x.step(measure)
            return x.optimizer.lr
        if type(x) in (optim.Optimizer, optim.Schedule):
            return None
        for p in getattr(x, "parameters", []):
            p.grad = st.ones_like(p)
        for _ in range(2):
            x.update() if isinstance(x, optim.EMA | optim.SWA) else x.step()
        return list(getattr(x, "means", getattr(x, "parameters", ()))) or x.optimizer.lr

    return speaking(made, kind)


def counted(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A metric that is made with keywords, and counts one batch."""
    own = inspect.signature(kind).parameters
    given = list(inspect.signature(kind.update).parameters.values())[1:]    # type: ignore[attr-defined]

    def made(*args: Any, **kwargs: Any) -> Any:
        metric = kind(**{name: x for name, x in kwargs.items() if name in own})
        metric.update(*args, **{name: x for name, x in kwargs.items() if name not in own})
        return metric.compute()

    made.__signature__ = inspect.Signature([    # type: ignore[attr-defined]
        *given, *(p.replace(kind=p.KEYWORD_ONLY) for p in own.values())])
    return made


def changing(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A transform that is made, and changes an image, a batch of them, one with labels, and a sound."""
    def made(*args: Any, **kwargs: Any) -> Any:
        found, transform = [], kind(*args, **kwargs)
        image, batch = np.arange(90, dtype=np.uint8).reshape(3, 6, 5), st.ones(2, 3, 6, 5)
        for x in (image, batch, (batch, st.tensor([0, 1])), np.ones(900, np.float32), st.ones(2, 900)):
            random = isinstance(transform, data.transforms.RandomTransform) and isinstance(x, np.ndarray)
            try:
                found.append(transform(x, np.random.default_rng(0)) if random else transform(x))
            except SteleError:
                continue
        return found

    return speaking(made, kind)


def drawing(name: str) -> Callable[..., Any]:
    """A method of a generator, on one of its own."""
    def drawn(*args: Any, **kwargs: Any) -> Any:
        return getattr(st.default_rng(0), name)(*args, **kwargs)

    return speaking(drawn, getattr(st.default_rng(0), name))


FUNCTIONS = functions()


def tensors(rng: random.Random) -> Any:
    """A small tensor or array, of any dtype."""
    shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (3, 3), (0, 3), (2, 0), (2, 3, 4), (1, 3, 4, 4), (3, 3, 2, 2)])
    kind = rng.choice(["float32"] * 5 + [d.name for d in REAL])
    x = st.tensor(np.asarray(np.random.default_rng(rng.randrange(99)).integers(0, 4, shape))).astype(kind)
    return x if rng.random() < 0.85 or kind == "bfloat16" else x.numpy()


def numbers(rng: random.Random) -> Any:
    """A number: mostly small, sometimes absurd."""
    return rng.choice([
        0, 1, 2, 3, 4, 1, 2, -1, -2, 0.5, 1.0, 2.5, -0.5, True, np.int64(2), np.float32(0.5), 7, 100, 1e30,
        float("nan"), float("inf"), -3, 2**31, -2**31 - 1, 2**40, 2**62, 2**63, -2**63 - 1, 2**64, 10**30, 10**400])


def oddities(rng: random.Random) -> Any:
    """What hardly anything takes."""
    return rng.choice([
        None, "a", "mean", "float32", "same", "", b"x", {}, {"x": 1}, {0}, [], (), [[]], object(), len, int,
        lambda *x: x[0] if x else None, lambda x: x.sum(), ..., slice(None), slice(1, -1, 0), slice("a", 2), 1j,
        float, np.float64, st.float16, "float33", [1, "a"], [None], (1, 2), (0, 1), [2, 3], (-1,), (2, -1), (1, 1,
        1), ((1, 1), (0, 0)), [(1, 2)], [1.5], range(3), np.array(["a"]), np.array([None]), np.ones((2, 2),
        np.complex64), iter([1]), type, NotImplemented, Exception("x")])


def argument(rng: random.Random, depth: int = 0) -> Any:
    """Anything at all."""
    kind = rng.random()
    if kind < 0.05 and depth < 2:
        return [argument(rng, depth + 1) for _ in range(rng.randrange(4))]
    return tensors(rng) if kind < 0.45 else numbers(rng) if kind < 0.75 else oddities(rng)


def parameters(rng: random.Random) -> list[st.Tensor]:
    """What an optimiser may well move."""
    shapes = rng.choice([[(2,)], [(2, 2)], [(3, 2), (2,)], [(0,)], [()]])
    return [st.ones(shape).requires_grad_() for shape in shapes]


# What an argument may well be, by the annotation of its parameter: the longest that is part of it.
PLAUSIBLE: dict[str, Callable[[random.Random], Any]] = {
    "TensorLike":           lambda rng: rng.choice([1, 0.5]) if rng.random() < 0.1 else tensors(rng),
    "Tensor":               lambda rng: st.tensor(tensors(rng)),
    "Any":                  tensors,
    "Sequence[TensorLike]": lambda rng: [x := tensors(rng), x],
    "Sequence[Tensor]":     parameters,
    "Iterable[Tensor]":     parameters,
    "list[Tensor]":         parameters,
    "Parameters":           parameters,
    "Optimizer":            lambda rng: optim.SGD(parameters(rng), lr=0.5),
    "Sequence[Schedule]":   lambda rng: [optim.StepLR(optim.SGD(parameters(rng), lr=0.5), 1)],
    "Numbers":              lambda rng: rng.choice([0.5, 1, 2.5, [1.0, 2.0]]) if rng.random() < 0.7 else tensors(rng),
    "Length":               lambda rng: rng.choice([None, 3, (2, 3), (), 0]),
    "Index":                lambda rng: rng.choice([0, -1, slice(1), (0, 1), ..., None, [0, 1]]),
    "int":                  lambda rng: rng.choice([0, 1, 2, -1]),
    "int | Sequence[int]":  lambda rng: rng.choice([(2, 3), (3,), 3, (), 1, 2, (1, 2)]),
    "int | Sequence[int] | None": lambda rng: rng.choice([None, 0, 1, -1, (0, 1)]),
    "Sequence[int]":        lambda rng: rng.choice([(2, 3), (3,), (), (1, 2), (0, 1)]),
    "float":                lambda rng: rng.choice([0.5, 1e-5, 0.0, 2]),
    "complex":              lambda rng: rng.choice([0.5, 1j, 2]),
    "tuple[float, float]":  lambda rng: rng.choice([(0.5, 0.75), (0.5, 1.5), (0.0, 0.0)]),
    "bool":                 lambda rng: rng.random() < 0.5,
    "DType":                lambda rng: rng.choice(["float32", "int64", "float64", "uint8", "bool", "complex64"]),
    "Sequence[Callable[..., Any]]": lambda rng: [lambda x, *_: x] * rng.randrange(3),
    "Callable":             lambda rng: rng.choice([lambda *x: (x[0] * x[0]).sum(), lambda c, x: (c, x)]),
    "str":                  lambda rng: rng.choice(["mean", "sum", "none", "tanh"]),
}


def plausible(rng: random.Random, parameter: inspect.Parameter) -> Any:
    """An argument of the kind that a parameter asks for, as far as its annotation says, or the one that it has."""
    text = str(parameter.annotation)
    kind = next((k for k in sorted(PLAUSIBLE, key=len, reverse=True) if k in text), None)
    if parameter.default is not parameter.empty and rng.random() < 0.3:
        return parameter.default
    return argument(rng) if kind is None else PLAUSIBLE[kind](rng)


def own(f: Any) -> Any:
    """A function given to another one as a user's own, so that it can be told who raised."""
    return (lambda *args, **kwargs: f(*args, **kwargs)) if callable(f) else f


def call(seed: int) -> Call:
    """The call of this number: of a function with arguments it asks for, one of which is another, or with any."""
    rng = random.Random(seed)
    name = rng.choice(list(FUNCTIONS))
    f = FUNCTIONS[name]
    taken = [p for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_KEYWORD]
    several = any(p.kind is p.VAR_POSITIONAL for p in taken)
    places = [p for p in taken if p.kind is not p.KEYWORD_ONLY]
    needed = sum(p.default is p.empty for p in places) if rng.random() < 0.7 else 1
    places = places * rng.randrange(1, 4) if several else places[:max(rng.randrange(1, 5), needed)]
    keywords = [p for p in taken if p not in places and p.kind is not p.POSITIONAL_ONLY and rng.random() < 0.4]
    if rng.random() < 0.3:
        args, kwargs = [argument(rng) for _ in places], {p.name: argument(rng) for p in keywords}
    else:
        args, kwargs = [plausible(rng, p) for p in places], {p.name: plausible(rng, p) for p in keywords}
        odd = rng.randrange(2 * len(args) + 2)
        if odd < len(args):
            args[odd] = argument(rng)
        elif keywords and odd < len(args) + 2:
            kwargs[rng.choice(keywords).name] = argument(rng)
    args = [own(a) if any(kind in str(p.annotation) for kind in CALLED) else a for a, p in zip(args, places)]
    if name.startswith("Tensor."):
        args[:1] = [st.tensor(tensors(rng))]
    return Call(name, f, tuple(args), kwargs)


def of_singular_values(u: st.Tensor, s: st.Tensor, v: st.Tensor) -> Any:
    """What all singular value decompositions of a matrix have alike."""
    k = s.shape[-1]
    return s, u[..., :k] * s[..., None, :].astype(u.dtype) @ v[..., :k, :]


def of_triangles(x: st.Tensor, _: st.Tensor) -> Any:
    """What the triangular factors of a matrix have alike, whichever of its rows rounding says is the larger one."""
    m, n = x.shape[-2:]
    lower = st.tril(x[..., :min(m, n)], -1) + st.eye(m, min(m, n), dtype=x.dtype)
    y = lower @ st.triu(x[..., :min(m, n), :])
    return y.mT.conj() @ y


def of_inverses(y: st.Tensor) -> st.Tensor:
    """Solutions of systems, but of matrices that are singular up to rounding: those are any large numbers."""
    return st.where(st.amax(st.abs(y), (-2, -1), keepdims=True) < 1e6, y, 0) if y.size and y.ndim > 1 else y


# What is the same of all results that a function may give, where it may give several: singular matrices have no inverse
# that rounding leaves alone, vectors of equal singular values and eigenvalues are any basis, of equal rows either comes
# first, eigenvalues of a matrix that is not symmetric stand in no order, one that equals the tolerance counts or not.
LAWS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("st.bucketize", "st.digitize", "st.searchsorted"), lambda at: at * 0),     # of edges in no order
    "linalg.cond":        lambda x: 1 / x,
    "linalg.svd":         of_singular_values,
    "linalg.eigh":        lambda w, v: (w, v * w[..., None, :].astype(v.dtype) @ v.mT.conj()),
    "linalg.eig":         lambda w, v: w.sum(axis=-1),
    "linalg.eigvals":     lambda w: w.sum(axis=-1),
    "linalg.qr":          lambda *x: x[-2] @ x[-1] if x[-2].shape[-1] else st.abs(x[-1].mT.conj() @ x[-1]),
    "linalg.lu":          lambda p, low, up: p @ low @ up,
    "linalg.lu_factor":   of_triangles,
    "linalg.inv":         of_inverses,
    "linalg.solve":       of_inverses,
    "linalg.matrix_rank": lambda n: n * 0,
    "linalg.slogdet":     lambda sign, log: sign * st.exp(log),
}


def fault(made: Call, native: bool = True) -> str | None:
    """What is wrong with what came of a call, in words; None for a result or a lesson."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        st.manual_seed(0)
        try:
            result = made.function(*made.args, **made.kwargs)
            law = LAWS.get(made.name)
            faults = [wrong_value(y, native and law is None) for y in found(result)]
            faults += [wrong_value(y, native) for y in found(law(*found(result)))] if law else []
            return "; ".join(filter(None, faults)) or None
        except (SteleError, MemoryError, np.linalg.LinAlgError):
            return None
        except Exception as error:
            is_lesson = isinstance(error, TypeError) and any(words in str(error) for words in SIGNATURE)
            return None if is_lesson or raised_by_user(error) else said(error)


def raised_by_user(error: Exception) -> bool:
    """Whether it is a function given as an argument that does not take what it is called with."""
    place = last(error)
    return place is not None and place.tb_frame.f_code.co_name == "<lambda>" and \
        place.tb_frame.f_code.co_filename == __file__


def last(error: Exception) -> TracebackType | None:
    """The place that raised."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place


def said(error: Exception) -> str:
    """An error of no kind that teaches, with the place it comes from."""
    place = last(error)
    where = "" if place is None else f" at {place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}"
    return f"{type(error).__name__}: {error}{where}"


def found(result: Any) -> Iterator[st.Tensor]:
    """The tensors of a result."""
    if isinstance(result, st.Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for part in result:
            yield from found(part)


def wrong_value(y: st.Tensor, native: bool) -> str | None:
    """How the numbers of a tensor differ from the reference's, if they are few enough to compute."""
    order: list[Value] = walk([y.value], stop=is_there)
    sizes = [v.type.size for v in order if hasattr(v.type, "size")]
    if any(map(is_symbolic, order)) or not all(isinstance(n, int) and n <= LARGE for n in sizes):
        return None
    leaves = [v for v in order if is_there(v)]
    (expected,) = run(closed(leaves, [y.value]), [v.data.array for v in leaves])
    if expected.shape != y.shape or expected.dtype != y.dtype.numpy:
        return f"a value {y.value.type} is {expected.dtype}{list(expected.shape)}"
    if not native:
        return None
    got, wide = (x.astype("c16" if x.dtype.kind == "c" else "f8") for x in (y.numpy(), expected))
    rough = max(ROUGH.get(v.type.dtype.name, 0.0) for v in order if hasattr(v.type, "dtype"))
    same = np.isclose(got, wide, rtol=rough, atol=rough, equal_nan=True)
    return None if same.all() else f"{y.value.type}: {got[~same].flat[0]} for {wide[~same].flat[0]}"
