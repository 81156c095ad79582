"""Complex numbers: what the array API standard says of them, NumPy's arithmetic as the law, PyTorch's gradients."""
from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import CASES, Case
from peer import torch_gives

import stele as st
from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.errors import DTypeError, SteleError
from stele.ir.graph import Graph, parameter
from stele.ir.types import DTYPES, Type, complex64, float32
from stele.kernel.fuse import fuse
from stele.ops import ALL, factors, lapack
from stele.ops.reduction import Prod
from stele.pipeline import Options, build
from stele.transform.autodiff import jvp, vjp
from stele.transform.expand import expand
from stele.transform.pairs import TABLE, pairs
from stele.transform.retype import changed

Z = np.array([1 + 2j, 3 - 1j, -2 + 0.5j, 0.25 - 4j], np.complex64)


def given(x: Any) -> Any:
    """The numbers of a tensor with its dtype."""
    return x.numpy(), x.dtype.name


@pytest.mark.parametrize(("a", "b", "both"), [
    ("float32", "complex64", "complex64"), ("float64", "complex64", "complex128"), ("bool", "complex64", "complex64"),
    ("int64", "complex64", "complex64"), ("float16", "complex64", "complex64"), ("float32", "complex128", "complex128"),
    ("complex64", "complex128", "complex128")])
def test_a_complex_dtype_meets_others_in_its_parts(a: str, b: str, both: str) -> None:
    assert (st.ones(2, dtype=a) + st.ones(2, dtype=b)).dtype == both
    assert (st.ones(2, dtype=b) * st.ones(2, dtype=a)).dtype == both


def test_python_numbers_are_weak() -> None:
    assert (st.ones(2) * 1j).dtype == "complex64" and (st.ones(2, dtype="float64") + 1j).dtype == "complex128"
    assert (st.ones(2, dtype="complex64") * 2.0).dtype == "complex64"
    assert (st.ones(2, dtype="int64") + 1j).dtype == "complex64"
    assert st.tensor(1 + 2j).dtype == "complex64" and st.tensor(np.array([1j])).dtype == "complex128"


def test_creation_parts_and_looking() -> None:
    z = st.tensor([1 + 2j, complex(-0.0, float("inf"))])
    assert z.dtype == "complex64" and repr(z[:1]) == "tensor([1.+2.j], dtype=complex64)" and complex(z[0]) == 1 + 2j
    assert z.tolist() == [1 + 2j, complex(0, float("inf"))] and z.real.dtype == z.imag.dtype == "float32"
    assert np.signbit(z.real.numpy()).tolist() == [False, True]
    for made, wanted in ((st.zeros(2, dtype="complex64"), [0j, 0j]), (st.ones(1, dtype="complex128"), [1 + 0j]),
                         (st.full((2,), 1j), [1j, 1j]), (st.full_like(z, 2), [2 + 0j] * 2),
                         (st.eye(1, dtype="complex64"), [[1 + 0j]])):
        assert made.tolist() == wanted and made.dtype.is_complex
    np.testing.assert_array_equal(np.from_dlpack(st.tensor(Z)), Z)
    np.testing.assert_array_equal(st.from_dlpack(Z).numpy(), Z)


@pytest.mark.parametrize("ask", [
    lambda z: z < z, lambda z: st.maximum(z, 1), lambda z: z.max(), lambda z: st.argmin(z), lambda z: st.floor(z),
    lambda z: z.astype("float32"), lambda z: float(z[0]), lambda z: int(z[0]), lambda z: z // 2, lambda z: z % 2,
    lambda z: st.clip(z, 0, 1), lambda z: st.softmax(z), lambda z: z & z, lambda z: st.complex(z, z),
    lambda z: st.tensor([1j], dtype="float32"), lambda z: st.ones(2).__iadd__(z[:2]), lambda z: st.erf(z)])
def test_what_complex_numbers_have_not_is_refused_and_said(ask: Any) -> None:
    with pytest.raises(SteleError, match=r"real|keeps the dtype|integer") as error:
        ask(st.tensor(Z))
    assert error.value.hint


def test_a_gradient_starts_from_a_real_number() -> None:
    z = st.tensor(Z, requires_grad=True)
    for ask in (lambda: st.grad(lambda z: z.sum())(st.tensor(Z)), lambda: (z * z).sum().backward()):
        with pytest.raises(DTypeError, match="starts from a real number"):
            ask()


def test_the_gradient_is_the_direction_of_steepest_ascent() -> None:
    """Of |z|^2 it is 2z, as in PyTorch; JAX gives its conjugate."""
    for f in (lambda z: (st.abs(z) ** 2).sum(), lambda z: (z * z.conj()).real.sum(),
              lambda z: (z.real ** 2 + z.imag ** 2).sum()):
        np.testing.assert_allclose(st.grad(f)(st.tensor(Z)).numpy(), 2 * Z, rtol=1e-6)
    z = st.tensor(Z, requires_grad=True)
    (st.abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * Z, rtol=1e-6)


# Every op that takes complex numbers

def turned(case: Case, kind: str) -> Case | None:
    """The case with complex numbers for its floats; None where its op refuses them."""
    rng = np.random.default_rng(len(case.operands))
    operands = tuple(
        (a + 1j * rng.uniform(-1, 1, a.shape)).astype(kind) if a.dtype.kind in "fc" else a for a in case.operands)
    try:
        made = Case(changed(case.op, lambda a: DTYPES[kind] if a == float32 else a), operands)
        made.graph()
    except DTypeError:
        return None
    return made


def complex_cases(kind: str) -> list[Any]:
    """The cases whose ops take complex numbers, of a dtype."""
    own = {op.__name__ for op in (*lapack.ALL, *factors.ALL)}       # have tests of their own
    made = [(p, turned(p.values[0], kind)) for p in CASES if p.values[0].op.name not in own]
    return [pytest.param(case, id=p.id) for p, case in made
            if case is not None and any(a.dtype.kind == "c" for a in case.operands)]


COMPLEX = complex_cases("complex128")
TAKEN = {p.values[0].op.name for p in COMPLEX}


def test_which_ops_take_complex_numbers() -> None:
    """Those that the table has, host ops, which have them whole, and composite ones, by their expansion."""
    assert {"Add", "Div", "Exp", "Pow", "MatMul", "Sum", "Prod", "Gather", "Scan", "Conv2d", "Angle", "Select"} <= TAKEN
    for name in TAKEN:
        assert ALL[name] in TABLE or ALL[name].family in ("host", "composite", "matrices"), name
    assert not {"Max", "Less", "Floor", "Softmax", "ArgMax", "Remainder"} & TAKEN


@pytest.mark.parametrize("case", [*COMPLEX, *complex_cases("complex64")])
def test_native_code_computes_what_numpy_does(case: Case) -> None:
    graph = case.graph()
    program = build(graph, options=Options(backend="cpu"))
    for y, want in zip(program.run([Buffer.of(a) for a in case.operands], {}), run(graph, case.operands), strict=True):
        assert y.array.dtype == want.dtype and y.array.shape == want.shape
        eps = 4e-6 if any(a.dtype == np.complex64 for a in case.operands) else 1e-13
        np.testing.assert_allclose(y.array, want, rtol=eps, atol=eps)


def moved(graph: Graph, args: Sequence[Any], dx: Sequence[Any]) -> list[Any]:
    """The change of the float results along complex tangents, by central differences."""
    step, floats = 1e-6, [k for k, a in enumerate(args) if a.dtype.kind in "fc"]
    ends: list[list[Any]] = []
    for sign in (1, -1):
        at = list(args)
        for k, t in zip(floats, dx):
            at[k] = (at[k] + sign * step * t).astype(at[k].dtype)
        ends.append(run(graph, at))
    return [(a - b) / (2 * step) for a, b in zip(*ends) if a.dtype.kind in "fc"]


def directions(arrays: Sequence[Any], seed: int) -> list[Any]:
    """Random numbers of the dtypes and shapes of the float ones."""
    rng = np.random.default_rng(seed)
    wide = [rng.normal(size=a.shape) + 1j * rng.normal(size=a.shape) for a in arrays if a.dtype.kind in "fc"]
    return [w if a.dtype.kind == "c" else w.real for w, a in zip(wide, (a for a in arrays if a.dtype.kind in "fc"))]


SMOOTH = [p for p in COMPLEX if p.values[0].op.name not in ("StopGradient", "Round") and all(
    y.dtype.is_float and y.dtype.bits > 16 for y in p.values[0].graph().results)]


@pytest.mark.parametrize("case", SMOOTH)
def test_derivatives_of_both_modes(case: Case) -> None:
    """Tangents are differences; cotangents their transpose: the real part of sum(g * dy) is that of sum(dx' * dx)."""
    graph, args = case.graph(), case.operands
    dx = directions(args, 1)
    tangents = run(jvp(graph), [*args, *dx])
    for t, d in zip(tangents, moved(graph, args, dx), strict=True):
        np.testing.assert_allclose(t, d, rtol=1e-5, atol=1e-6)
    g = directions(tangents, 2)
    back = run(vjp(graph), [*args, *g])
    left = sum(float(np.real(a * b).sum()) for a, b in zip(g, tangents, strict=True))
    right = sum(float(np.real(a * b).sum()) for a, b in zip(back, dx, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


# Special values, as the standard writes them: z, f(z); the sign of what it leaves open is not compared

INF, NAN, PI, C = float("inf"), float("nan"), np.pi, complex
TABLES: dict[str, list[tuple[complex, complex]]] = {
    "exp": [(C(0, 0), 1), (C(-0.0, 0), 1), (C(2, INF), C(NAN, NAN)),
            (C(2, NAN), C(NAN, NAN)), (C(INF, 0), C(INF, 0)), (C(-INF, 1), 0),
            (C(INF, 2), C(-INF, INF)), (C(-INF, INF), 0), (C(INF, INF), C(INF, NAN)),
            (C(-INF, NAN), 0), (C(INF, NAN), C(INF, NAN)), (C(NAN, 0), C(NAN, 0)),
            (C(NAN, 1), C(NAN, NAN)), (C(NAN, NAN), C(NAN, NAN))],
    "expm1": [(0, 0), (C(-0.0, 0), 0), (C(1, INF), C(NAN, NAN)), (C(1, NAN), C(NAN, NAN)),
              (C(INF, 0), C(INF, 0)), (C(-INF, 1), -1), (C(-INF, INF), -1),
              (C(INF, 2), C(-INF, INF)), (C(INF, INF), C(INF, NAN)), (C(-INF, NAN), -1),
              (C(INF, NAN), C(INF, NAN)), (C(NAN, 0), C(NAN, 0)),
              (C(NAN, 1), C(NAN, NAN))],
    "log": [(C(-0.0, 0), C(-INF, PI)), (0, C(-INF, 0)), (C(1, INF), C(INF, PI / 2)),
            (C(1, NAN), C(NAN, NAN)), (C(-INF, 1), C(INF, PI)), (C(INF, 1), INF),
            (C(-INF, INF), C(INF, 3 * PI / 4)), (C(INF, INF), C(INF, PI / 4)),
            (C(INF, NAN), C(INF, NAN)), (C(NAN, 1), C(NAN, NAN)),
            (C(NAN, INF), C(INF, NAN)), (C(NAN, NAN), C(NAN, NAN))],
    "log1p": [(C(-1, 0), C(-INF, 0)), (C(1, INF), C(INF, PI / 2)),
              (C(1, NAN), C(NAN, NAN)), (C(-INF, 1), C(INF, PI)), (C(INF, 1), INF),
              (C(-INF, INF), C(INF, 3 * PI / 4)), (C(INF, INF), C(INF, PI / 4)),
              (C(INF, NAN), C(INF, NAN)), (C(NAN, 1), C(NAN, NAN)),
              (C(NAN, INF), C(INF, NAN))],
    "sqrt": [(0, 0), (C(-0.0, 0), 0), (C(1, INF), C(INF, INF)), (C(NAN, INF), C(INF, INF)),
             (C(1, NAN), C(NAN, NAN)), (C(-INF, 1), C(0, INF)), (C(INF, 1), INF),
             (C(-INF, NAN), C(NAN, INF)), (C(INF, NAN), C(INF, NAN)),
             (C(NAN, 1), C(NAN, NAN))],
    "sinh": [(0, 0), (C(0, INF), C(0, NAN)), (C(0, NAN), C(0, NAN)),
             (C(1, INF), C(NAN, NAN)), (C(1, NAN), C(NAN, NAN)), (INF, INF),
             (C(INF, 2), C(-INF, INF)), (C(INF, INF), C(INF, NAN)),
             (C(INF, NAN), C(INF, NAN)), (C(NAN, 0), C(NAN, 0)),
             (C(NAN, 1), C(NAN, NAN))],
    "cosh": [(0, 1), (C(0, INF), C(NAN, 0)), (C(0, NAN), C(NAN, 0)),
             (C(1, INF), C(NAN, NAN)), (C(1, NAN), C(NAN, NAN)), (INF, INF),
             (C(INF, 2), C(-INF, INF)), (C(INF, INF), C(INF, NAN)),
             (C(INF, NAN), C(INF, NAN)), (C(NAN, 0), C(NAN, 0)),
             (C(NAN, 1), C(NAN, NAN))],
    "tanh": [(0, 0), (C(1, INF), C(NAN, NAN)), (C(0, INF), C(0, NAN)),
             (C(1, NAN), C(NAN, NAN)), (C(0, NAN), C(0, NAN)), (C(INF, 1), 1),
             (C(INF, INF), 1), (C(INF, NAN), 1), (C(NAN, 0), C(NAN, 0)),
             (C(NAN, 1), C(NAN, NAN)), (C(30, INF), C(NAN, NAN)), (C(-INF, 2.5), -1)],
    "asinh": [(0, 0), (C(1, INF), C(INF, PI / 2)), (C(1, NAN), C(NAN, NAN)),
              (C(INF, 1), INF), (C(INF, INF), C(INF, PI / 4)), (C(INF, NAN), C(INF, NAN)),
              (C(NAN, 0), C(NAN, 0)), (C(NAN, 1), C(NAN, NAN)),
              (C(NAN, INF), C(INF, NAN))],
    "acos": [(0, C(PI / 2, -0.0)), (C(0, NAN), C(PI / 2, NAN)), (C(1, INF), C(PI / 2, -INF)),
             (C(1, NAN), C(NAN, NAN)), (C(-INF, 1), C(PI, -INF)), (C(INF, 1), C(0, -INF)),
             (C(-INF, INF), C(3 * PI / 4, -INF)), (C(INF, INF), C(PI / 4, -INF)),
             (C(INF, NAN), C(NAN, INF)), (C(NAN, 1), C(NAN, NAN)),
             (C(NAN, INF), C(NAN, -INF))],
    "acosh": [(0, C(0, PI / 2)), (C(1, INF), C(INF, PI / 2)), (C(0, NAN), C(NAN, PI / 2)),
              (C(1, NAN), C(NAN, NAN)), (C(-INF, 1), C(INF, PI)), (C(INF, 1), INF),
              (C(-INF, INF), C(INF, 3 * PI / 4)), (C(INF, INF), C(INF, PI / 4)),
              (C(INF, NAN), C(INF, NAN)), (C(NAN, 1), C(NAN, NAN)),
              (C(NAN, INF), C(INF, NAN))],
    "atanh": [(0, 0), (C(0, NAN), C(0, NAN)), (1, INF), (C(1, INF), C(0, PI / 2)),
              (C(1, NAN), C(NAN, NAN)), (C(INF, 1), C(0, PI / 2)),
              (C(INF, INF), C(0, PI / 2)), (C(INF, NAN), C(0, NAN)),
              (C(NAN, 1), C(NAN, NAN)), (C(NAN, INF), C(0, PI / 2))],
    "abs": [(C(INF, NAN), INF), (C(NAN, -INF), INF), (C(1, NAN), NAN), (C(-0.0, -0.0), 0)],
    "sign": [(C(NAN, 1), C(NAN, NAN)), (C(3, -4), C(0.6, -0.8))],
}
OPEN = {("exp", -INF), ("expm1", -INF), ("sinh", INF), ("sinh", 0), ("cosh", 0), ("cosh", NAN), ("tanh", INF),
        ("acos", INF), ("acosh", 0), ("asinh", NAN), ("atanh", NAN), ("sqrt", -INF), ("exp", INF), ("expm1", INF),
        ("cosh", INF)}
"""Where the standard leaves the sign of a part open, by the real part of z."""


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", TABLES)
def test_special_values_are_the_standard_s(name: str, kind: str) -> None:
    """At z, and by symmetry at conj(z): f(conj(z)) = conj(f(z))."""
    z, want = (np.array(column, "c16") for column in zip(*TABLES[name]))
    for backend in ("cpu", "reference"):
        f = st.compile(getattr(st, name), backend=backend)
        both = f(st.tensor(np.concatenate([z, z.conj()]).astype(kind)))
        for got, expected in zip(np.split(both.numpy(), 2), (want, want.conj())):
            for at, a, b in zip(z, np.atleast_1d(got), np.asarray(expected, "c16")):
                for p, q in ((a.real, b.real), (a.imag, b.imag)):
                    assert np.isclose(abs(p), abs(q), rtol=1e-6, atol=0, equal_nan=True), (backend, at, a, b)
                    is_open = any(name == f and str(at.real) == str(float(r)) for f, r in OPEN) or np.isnan(q)
                    assert is_open or np.signbit(p) == np.signbit(q) or not np.iscomplexobj(got), (backend, at, a, b)


EDGES = [C(a, b) for a in (0.0, -0.0, 0.3, -0.7, 1.0, 2.5, INF, -INF, NAN)
         for b in (0.0, -0.0, 0.2, -1.3, 2.9, INF, -INF, NAN)]
ODD = ("asin", "asinh", "atan", "atanh", "sin", "sinh", "tan", "tanh")
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}


def apart(found: Any, want: Any, signs: bool = True) -> list[Any]:
    """Where two arrays of complex numbers differ, in signs of zeros and of infinities too."""
    wrong = np.zeros(found.shape, bool)
    for a, b in ((found.real, want.real), (found.imag, want.imag)):
        wrong |= ~np.isclose(a, b, rtol=1e-5, atol=0, equal_nan=True)
        wrong |= (np.signbit(a) != np.signbit(b)) & ~np.isnan(b) & signs
    return [(EDGES[k], found[k], want[k]) for k in np.flatnonzero(wrong)]


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_symmetries_hold_at_every_edge(kind: str) -> None:
    """f(conj(z)) = conj(f(z)), odd functions of -z, functions of i z that stand for others, as the standard says."""
    z = np.array(EDGES, kind)
    turned = np.array([C(-v.imag, v.real) for v in EDGES], kind)        # i z, whose product would make NaN of inf * 0
    names = [*{*TABLES, *TURNED, *TURNED.values(), "log2", "log10"} - {"abs", "sign"}]

    def every(x: Any) -> dict[str, Any]:
        return {name: getattr(st, name)(x) for name in names}

    given = st.tensor(np.stack([z, z.conj(), -z, turned]))
    for made in (every(given), st.compile(every)(given)):
        found = {name: rows.numpy() for name, rows in made.items()}
        for name, (y, mirrored, negated, _) in found.items():
            is_open = name in ("exp", "expm1")      # as the standard leaves the signs of zeros at -inf + inf i
            assert not apart(mirrored, y.conj(), not is_open), name
            if name in (*ODD, "cos", "cosh"):
                assert not apart(negated, -y if name in ODD else y), name
        for name, other in TURNED.items():
            y = found[other][3]
            back = y if name == "cos" else np.array([C(v.imag, -v.real) for v in y], kind)
            assert not apart(found[name][0], back), name
        for name, by in (("log2", np.log(2)), ("log10", np.log(10))):
            assert not apart(found[name][0], np.array([C(v.real / by, v.imag / by) for v in found["log"][0]], kind))


LAWS = {"sign": lambda v: v / abs(v), "log1p": lambda v: mpmath.log(1 + v), "reciprocal": lambda v: 1 / v}


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_the_largest_and_the_smallest_parts_keep_their_digits(kind: str) -> None:
    """Sizes that are no number, and parts that have few digits, do not reach the result where it is a number."""
    limits = np.finfo(kind)
    sizes = [float(v) for v in (limits.smallest_subnormal, limits.tiny, 0.3, limits.max / 2, limits.max)]
    z = np.array([C(a, s * b) for a in sizes for b in sizes for s in (1, -1)], kind)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "log1p", "sqrt", "sign", "reciprocal"):
        for at, y in zip(z, getattr(st, name)(st.tensor(z)).numpy()):
            with mpmath.workprec(2300):
                exact = mpmath.mpc(complex(at))
                want = (LAWS.get(name) or getattr(mpmath, name))(exact)
                error, size = float(abs(mpmath.mpc(complex(y)) - want)), float(abs(want))
            most = max(40 * float(limits.eps) * size, 4 * float(limits.tiny))
            assert size > float(limits.max) or error <= most, (name, at, y, want)
    assert np.allclose((st.tensor(z) / st.tensor(z)).numpy(), 1, rtol=1e-6)


def test_sums_of_parts_keep_their_signs() -> None:
    z, w = (np.array(column) for column in zip(*((a, b) for a in EDGES for b in EDGES)))
    with np.errstate(all="ignore"):
        for f, law in ((st.add, z + w), (st.subtract, z - w)):
            y = f(st.tensor(z), st.tensor(w)).numpy()
            for a, b in ((y.real, law.real), (y.imag, law.imag)):
                np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


def test_a_zero_of_any_sign_has_the_sign_zero() -> None:
    zeros = np.array([0, C(0, -0.0), C(-0.0, 0), C(-0.0, -0.0)])
    for backend in ("cpu", "reference"):
        found = st.compile(st.sign, backend=backend)(st.tensor(zeros)).numpy()
        assert not np.signbit([found.real, found.imag]).any()


# Gradients as PyTorch's

LOSSES: dict[str, Any] = {
    "abs":     lambda f, z, w: f.abs(z * w).sum(),
    "angle":   lambda f, z, w: (f.angle(z) * f.abs(w)).sum(),
    "real":    lambda f, z, w: f.real(z * z * w).sum(),
    "conj":    lambda f, z, w: f.imag(f.conj(z) * w / z).sum(),
    "exp":     lambda f, z, w: f.abs(f.exp(z) - f.sin(w)).sum(),
    "log":     lambda f, z, w: f.real(f.log(z) * f.sqrt(w)).sum(),
    "tanh":    lambda f, z, w: f.imag(f.tanh(z) + f.tan(w)).sum(),
    "inverse": lambda f, z, w: f.real(f.asinh(z) * f.acos(w) + f.atan(z)).sum(),
    "power":   lambda f, z, w: f.abs(z ** w).sum(),
    "matmul":  lambda f, z, w: f.abs(z.reshape(2, 2) @ w.reshape(2, 2)).sum(),
    "sign":    lambda f, z, w: f.real(f.sgn(z) * w if hasattr(f, "sgn") else f.sign(z) * w).sum(),
    "prod":    lambda f, z, w: f.imag(f.prod(z) * f.sum(w)),
}
W = np.array([0.5 - 1j, 2 + 0.25j, 1j, -1.5 + 1j])


def asked_of_torch(torch: Any, loss: Any) -> list[Any]:
    """Gradients in z and w, and of the size of the first in z again."""
    z, w = (torch.tensor(a.astype("c16"), requires_grad=True) for a in (Z, W))
    first = torch.autograd.grad(loss(torch, z, w), (z, w), create_graph=True)
    second = torch.autograd.grad((torch.abs(first[0]) ** 2).sum(), z, allow_unused=True)[0]
    return [*(g.detach().resolve_conj().numpy() for g in first),
            np.zeros(4, "c16") if second is None else second.resolve_conj().numpy()]


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_pytorch_s(name: str) -> None:
    """Of first and second order, imperatively and compiled."""
    loss = LOSSES[name]
    want = torch_gives(f"gradient_complex_{name}", lambda torch: asked_of_torch(torch, loss))
    first = st.grad(lambda z, w: loss(st, z, w), argnums=(0, 1))
    second = st.grad(lambda z, w: (st.abs(first(z, w)[0]) ** 2).sum())
    z, w = st.tensor(Z.astype("c16")), st.tensor(W)
    for f in (first, st.compile(first)):
        for g, expected in zip(f(z, w), want[:2], strict=True):
            np.testing.assert_allclose(g.numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(st.compile(second)(z, w).numpy(), want[2], rtol=1e-9, atol=1e-12)


def test_forward_mode_is_the_change() -> None:
    """The change of a real result is the real part of the conjugate gradient times that of its argument."""
    z, dz = st.tensor(Z.astype("c16")), st.tensor(W)
    f = lambda z: st.abs(st.exp(z) * z.conj()).sum()
    change = st.jvp(f, (z,), (dz,))[1]
    np.testing.assert_allclose(float(change), float((st.grad(f)(z).conj() * dz).real.sum()), rtol=1e-12)


def test_descent_along_the_gradient_finds_the_least() -> None:
    z = st.tensor([3 + 4j, -1j], requires_grad=True)
    step = st.optim.SGD([z], lr=0.25)
    for _ in range(40):
        step.zero_grad()
        (st.abs(z - (1 - 2j)) ** 2).sum().backward()
        step.step()
    np.testing.assert_allclose(z.numpy(), 1 - 2j, rtol=1e-5)


# Every style

def fused(z: Any, w: Any) -> Any:
    """Elementwise functions, sums and products of complex numbers, and parts of them."""
    y = st.exp(z * 1j) * w + st.conj(z) / 2
    return y, st.abs(y).sum(axis=0), (y @ w.mT).real, st.where(st.abs(y) > 1, y, 0), y.mean(axis=1)


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_styles_agree(kind: str) -> None:
    rng = np.random.default_rng(3)
    z, w = ((rng.normal(size=(5, 7)) + 1j * rng.normal(size=(5, 7))).astype(kind) for _ in range(2))
    law = st.compile(fused, backend="reference")(z, w)
    a, b = (st.placeholder((5, 7), kind) for _ in range(2))
    for made in (fused(st.tensor(z), st.tensor(w)), st.compile(fused)(z, w), st.function([a, b], fused(a, b))(z, w)):
        for y, want in zip(made, law, strict=True):
            assert y.dtype == want.dtype
            np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=3e-5, atol=3e-5 if kind == "complex64" else 1e-12)


def test_sizes_stay_open() -> None:
    f = st.compile(lambda z: (z * z.conj() + st.sqrt(z)).sum(axis=0) + st.concatenate([z, z])[-1],
                   dims={"z": {0: "n"}})
    for n in (1, 2, 3, 17, 100):
        z = (np.arange(n * 3).reshape(n, 3) * (1 + 0.5j)).astype("c8")
        np.testing.assert_allclose(f(z).numpy(), (z * z.conj() + np.sqrt(z)).sum(0) + z[-1], rtol=1e-4)


def test_loops_carry_and_stack_them() -> None:
    z = st.tensor(Z)
    total, sums = st.scan(lambda c, x: (c * x, c + x.real), st.tensor(1j), z)
    np.testing.assert_allclose(complex(total), 1j * np.prod(Z), rtol=1e-5)
    np.testing.assert_allclose(sums.numpy(), np.cumprod(np.r_[1j, Z[:-1]]) + Z.real, rtol=1e-5)
    g = st.grad(lambda z: st.abs(st.scan(lambda c, x: (c * x, c), st.tensor(1j), z)[0]))(z)
    np.testing.assert_allclose(g.numpy(), np.abs(np.prod(Z)) / np.abs(Z) * Z / np.abs(Z), rtol=1e-5)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_spreads_are_of_distances(name: str) -> None:
    for axis in (None, 0):
        y, expected = getattr(st, name)(st.tensor(Z.reshape(2, 2)), axis=axis), getattr(np, name)(Z.reshape(2, 2), axis)
        assert y.dtype == float32
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)


def test_float_powers_stay_complex() -> None:
    y = st.float_power(st.tensor(Z), 2)
    assert y.dtype == "complex128"
    np.testing.assert_allclose(y.numpy(), np.float_power(Z, 2), rtol=1e-12)


def test_parts_of_joined_numbers_are_stored_before_they_are_read() -> None:
    assert st.setxor1d(np.ones((2, 2), np.complex64), -3).tolist() == [-3, 1]


def test_they_are_saved_drawn_and_moved(tmp_path: Any) -> None:
    state = {"c8": st.tensor(Z), "c16": st.tensor(Z.astype("c16"))}
    st.save(state, tmp_path / "z.safetensors")
    for name, x in st.load(tmp_path / "z.safetensors").items():
        assert x.dtype == state[name].dtype and x.tolist() == state[name].tolist()
    st.manual_seed(0)
    x = st.randn(20000, dtype="complex64")
    assert x.dtype == "complex64" and abs(float((st.abs(x) ** 2).mean()) - 1) < 0.05
    assert abs(float(x.real.var()) - 0.5) < 0.05 and st.rand(3, dtype="complex128").dtype == "complex128"
    away = st.tensor(Z, device="cpu:1")
    np.testing.assert_allclose((away * away).numpy(), Z * Z, rtol=1e-6)


def test_the_mandelbrot_set_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "docs" / "mandelbrot.py"), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 28 and rows == rows[::-1] and sum(row.count("@") for row in rows) > 250


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (7,), (8,), (3, 5), (2, 3, 4), (0, 3), (3, 0)])
def test_products_are_computed_by_kernels(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    for axis in (None, 0, -1, tuple(range(len(shape)))):
        f = st.compile(lambda x, axis=axis: st.prod(x, axis=axis))
        np.testing.assert_allclose(f(st.tensor(z)).numpy(), np.prod(z, axis=axis), rtol=1e-12)
        g = st.compile(st.grad(lambda x, axis=axis: st.sum(st.real(st.prod(x, axis=axis)))))(st.tensor(z)).numpy()
        np.testing.assert_allclose(g, np.conj(np.prod(z, axis=axis, keepdims=True) / z), rtol=1e-9)


def test_a_product_calls_no_python() -> None:
    x = parameter("x", Type(complex64, (4, 7)))
    kinds = [type(k).__name__ for k in fuse(expand(pairs(Graph((x,), (Prod((1,))(x),))))).kernels]
    assert kinds and "Host" not in kinds
