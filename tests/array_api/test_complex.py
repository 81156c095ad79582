"""Complex numbers: what the array API standard says of them, NumPy's arithmetic as the law, PyTorch's gradients."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import stele as st
from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.errors import DTypeError, SteleError
from stele.ir.graph import Graph
from stele.ir.types import DTYPES, float32
from stele.ops import ALL
from stele.pipeline import Options, build
from stele.transform.autodiff import jvp, vjp
from stele.transform.pairs import TABLE
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
    change = lambda a: DTYPES[kind] if a == float32 else a      # noqa: E731
    made = Case(changed(case.op, change), operands)
    try:
        made.graph()
    except DTypeError:
        return None
    return made


def complex_cases(kind: str) -> list[Any]:
    """The cases whose ops take complex numbers, of a dtype."""
    made = [(p, turned(p.values[0], kind)) for p in CASES]
    return [pytest.param(case, id=p.id) for p, case in made
            if case is not None and any(a.dtype.kind == "c" for a in case.operands)]


COMPLEX = complex_cases("complex128")
TAKEN = {p.values[0].op.name for p in COMPLEX}


def test_which_ops_take_complex_numbers() -> None:
    """Those that the table has, host ops, which have them whole, and composite ones, by their expansion."""
    assert TAKEN >= {"Add", "Div", "Exp", "Pow", "MatMul", "Sum", "Prod", "Gather", "Scan", "Conv2d", "Angle", "Select"}
    for name in TAKEN:
        assert ALL[name] in TABLE or ALL[name].family in ("host", "composite"), name
    assert not {"Max", "Less", "Floor", "Softmax", "ArgMax", "Remainder"} & TAKEN


@pytest.mark.parametrize("case", [*COMPLEX, *complex_cases("complex64")])
def test_native_code_computes_what_numpy_does(case: Case) -> None:
    graph = case.graph()
    program = build(graph, options=Options(backend="cpu"))
    for y, want in zip(program.run([Buffer.of(a) for a in case.operands], {}), run(graph, case.operands), strict=True):
        assert y.array.dtype == want.dtype and y.array.shape == want.shape
        eps = 4e-6 if case.operands[0].dtype.itemsize == 8 else 1e-13
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

INF, NAN, PI = float("inf"), float("nan"), np.pi
TABLES: dict[str, list[tuple[complex, complex]]] = {
    "exp": [(complex(0, 0), 1), (complex(-0.0, 0), 1), (complex(2, INF), complex(NAN, NAN)),
            (complex(2, NAN), complex(NAN, NAN)), (complex(INF, 0), complex(INF, 0)), (complex(-INF, 1), 0),
            (complex(INF, 2), complex(-INF, INF)), (complex(-INF, INF), 0), (complex(INF, INF), complex(INF, NAN)),
            (complex(-INF, NAN), 0), (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 0), complex(NAN, 0)),
            (complex(NAN, 1), complex(NAN, NAN)), (complex(NAN, NAN), complex(NAN, NAN))],
    "expm1": [(0, 0), (complex(-0.0, 0), 0), (complex(1, INF), complex(NAN, NAN)), (complex(1, NAN), complex(NAN, NAN)),
              (complex(INF, 0), complex(INF, 0)), (complex(-INF, 1), -1), (complex(-INF, INF), -1),
              (complex(INF, 2), complex(-INF, INF)), (complex(INF, INF), complex(INF, NAN)), (complex(-INF, NAN), -1),
              (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 0), complex(NAN, 0)),
              (complex(NAN, 1), complex(NAN, NAN))],
    "log": [(complex(-0.0, 0), complex(-INF, PI)), (0, complex(-INF, 0)), (complex(1, INF), complex(INF, PI / 2)),
            (complex(1, NAN), complex(NAN, NAN)), (complex(-INF, 1), complex(INF, PI)), (complex(INF, 1), INF),
            (complex(-INF, INF), complex(INF, 3 * PI / 4)), (complex(INF, INF), complex(INF, PI / 4)),
            (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 1), complex(NAN, NAN)),
            (complex(NAN, INF), complex(INF, NAN)), (complex(NAN, NAN), complex(NAN, NAN))],
    "log1p": [(complex(-1, 0), complex(-INF, 0)), (complex(1, INF), complex(INF, PI / 2)),
              (complex(1, NAN), complex(NAN, NAN)), (complex(-INF, 1), complex(INF, PI)), (complex(INF, 1), INF),
              (complex(-INF, INF), complex(INF, 3 * PI / 4)), (complex(INF, INF), complex(INF, PI / 4)),
              (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 1), complex(NAN, NAN)),
              (complex(NAN, INF), complex(INF, NAN))],
    "sqrt": [(0, 0), (complex(-0.0, 0), 0), (complex(1, INF), complex(INF, INF)), (complex(NAN, INF), complex(INF, INF)),
             (complex(1, NAN), complex(NAN, NAN)), (complex(-INF, 1), complex(0, INF)), (complex(INF, 1), INF),
             (complex(-INF, NAN), complex(NAN, INF)), (complex(INF, NAN), complex(INF, NAN)),
             (complex(NAN, 1), complex(NAN, NAN))],
    "sinh": [(0, 0), (complex(0, INF), complex(0, NAN)), (complex(0, NAN), complex(0, NAN)),
             (complex(1, INF), complex(NAN, NAN)), (complex(1, NAN), complex(NAN, NAN)), (INF, INF),
             (complex(INF, 2), complex(-INF, INF)), (complex(INF, INF), complex(INF, NAN)),
             (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 0), complex(NAN, 0)),
             (complex(NAN, 1), complex(NAN, NAN))],
    "cosh": [(0, 1), (complex(0, INF), complex(NAN, 0)), (complex(0, NAN), complex(NAN, 0)),
             (complex(1, INF), complex(NAN, NAN)), (complex(1, NAN), complex(NAN, NAN)), (INF, INF),
             (complex(INF, 2), complex(-INF, INF)), (complex(INF, INF), complex(INF, NAN)),
             (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 0), complex(NAN, 0)),
             (complex(NAN, 1), complex(NAN, NAN))],
    "tanh": [(0, 0), (complex(1, INF), complex(NAN, NAN)), (complex(0, INF), complex(0, NAN)),
             (complex(1, NAN), complex(NAN, NAN)), (complex(0, NAN), complex(0, NAN)), (complex(INF, 1), 1),
             (complex(INF, INF), 1), (complex(INF, NAN), 1), (complex(NAN, 0), complex(NAN, 0)),
             (complex(NAN, 1), complex(NAN, NAN)), (complex(30, INF), complex(NAN, NAN))],
    "asinh": [(0, 0), (complex(1, INF), complex(INF, PI / 2)), (complex(1, NAN), complex(NAN, NAN)),
              (complex(INF, 1), INF), (complex(INF, INF), complex(INF, PI / 4)), (complex(INF, NAN), complex(INF, NAN)),
              (complex(NAN, 0), complex(NAN, 0)), (complex(NAN, 1), complex(NAN, NAN)),
              (complex(NAN, INF), complex(INF, NAN))],
    "acos": [(0, complex(PI / 2, -0.0)), (complex(0, NAN), complex(PI / 2, NAN)), (complex(1, INF), complex(PI / 2, -INF)),
             (complex(1, NAN), complex(NAN, NAN)), (complex(-INF, 1), complex(PI, -INF)), (complex(INF, 1), complex(0, -INF)),
             (complex(-INF, INF), complex(3 * PI / 4, -INF)), (complex(INF, INF), complex(PI / 4, -INF)),
             (complex(INF, NAN), complex(NAN, INF)), (complex(NAN, 1), complex(NAN, NAN)),
             (complex(NAN, INF), complex(NAN, -INF))],
    "acosh": [(0, complex(0, PI / 2)), (complex(1, INF), complex(INF, PI / 2)), (complex(0, NAN), complex(NAN, PI / 2)),
              (complex(1, NAN), complex(NAN, NAN)), (complex(-INF, 1), complex(INF, PI)), (complex(INF, 1), INF),
              (complex(-INF, INF), complex(INF, 3 * PI / 4)), (complex(INF, INF), complex(INF, PI / 4)),
              (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 1), complex(NAN, NAN)),
              (complex(NAN, INF), complex(INF, NAN))],
    "atanh": [(0, 0), (complex(0, NAN), complex(0, NAN)), (1, INF), (complex(1, INF), complex(0, PI / 2)),
              (complex(1, NAN), complex(NAN, NAN)), (complex(INF, 1), complex(0, PI / 2)),
              (complex(INF, INF), complex(0, PI / 2)), (complex(INF, NAN), complex(0, NAN)),
              (complex(NAN, 1), complex(NAN, NAN)), (complex(NAN, INF), complex(0, PI / 2))],
    "abs": [(complex(INF, NAN), INF), (complex(NAN, -INF), INF), (complex(1, NAN), NAN), (complex(-0.0, -0.0), 0)],
    "sign": [(0, 0), (complex(NAN, 1), complex(NAN, NAN)), (complex(3, -4), complex(0.6, -0.8))],
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
        both = st.compile(getattr(st, name), backend=backend)(st.tensor(np.concatenate([z, z.conj()]).astype(kind)))
        for got, expected in zip(np.split(both.numpy(), 2), (want, want.conj())):
            for at, a, b in zip(z, np.atleast_1d(got), np.asarray(expected, "c16")):
                for p, q in ((a.real, b.real), (a.imag, b.imag)):
                    assert np.isclose(abs(p), abs(q), rtol=1e-6, atol=0, equal_nan=True), (backend, at, a, b)
                    is_open = any(name == f and str(at.real) == str(float(r)) for f, r in OPEN) or np.isnan(q)
                    assert is_open or np.signbit(p) == np.signbit(q) or not np.iscomplexobj(got), (backend, at, a, b)
