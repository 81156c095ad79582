"""Functions of C in programs: of elements and of arrays, in every style, with derivatives, and what is refused."""
from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DataError, DTypeError, GraphError, ShapeError
from stele.ir.graph import Graph
from stele.ir.text import parse, show
from stele.ops import ALL
from stele.ops.foreign import prototype_of

C = ctypes.CDLL(None)
MIXED = "void(int64_t n, const float x[n][m], double a, const int32_t k[m], uint8_t lead, float y[n], int64_t z[m+1])"
CALLS: list[tuple[Any, ...]] = []


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_float), ctypes.c_double,
                  ctypes.POINTER(ctypes.c_int32), ctypes.c_uint8, ctypes.POINTER(ctypes.c_float),
                  ctypes.POINTER(ctypes.c_int64))
def mixed(n: int, x: Any, a: float, k: Any, lead: int, y: Any, z: Any) -> None:
    """y = a * x @ k, z = how often lead was given, behind k."""
    CALLS.append((n, a, lead))
    for i in range(n):
        y[i] = a * sum(x[3 * i + j] * k[j] for j in range(3))
    for j in range(3):
        z[j] = k[j] + 1
    z[3] = lead


hypot = st.foreign(C.hypot, "double(double, double)", vjp=lambda g, y, x, w: (g * x / y, g * w / y))
sine = st.foreign(C.sin, "double(double)", jvp=lambda dx, y, x: st.cos(x) * dx[0])
swap = st.foreign(C.swab, "void(const uint8_t x[n], uint8_t y[n], long n)")
both = st.foreign(mixed, MIXED)
X = np.array([[3.0, -4.0, 0.5], [1.0, 2.0, 8.0]], np.float32)
K = np.array([1, 0, -2], np.int32)


def program(x: Any) -> Any:
    """Calls of all kinds, amid other ops."""
    y, z = both(x, 2.0, K, 7)
    return hypot(x * 2, 1.0) + sine(x.sum()), y, z


def law(x: Any) -> list[Any]:
    """The same in NumPy."""
    return [np.hypot(x.astype(float) * 2, 1) + np.sin(float(x.sum())), 2 * x @ K, np.array([2, 1, -1, 7])]


def holds(made: Any, x: Any) -> None:
    """What was made of x is what NumPy makes of it."""
    for a, b in zip(made, law(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("style", ["imperative", "compiled", "symbolic", "open", "eager", "reference"])
def test_in_every_style(style: str) -> None:
    x = st.tensor(X)
    match style:
        case "compiled":
            f = st.compile(program)
            holds(f(x), X)
            holds(f(x + 1), X + 1)
        case "reference": holds(st.compile(program, backend="reference")(x), X)
        case "open":
            f = st.compile(program, dims={"x": {0: "n"}})
            for n in (2, 5, 0, 1):
                holds(f(st.ones(n, 3)), np.ones((n, 3), np.float32))
            assert int(f.compiles) == 1
        case "symbolic":
            p = st.placeholder((2, 3))
            holds(st.function([p], list(program(p)))(x), X)
        case "eager":
            with st.eager():
                holds(program(x), X)
        case _: holds(program(x), X)


@pytest.mark.parametrize("shapes", [((), ()), ((0,), ()), ((3, 1), (2,)), ((600,), (600,)), ((1,), (300, 4))])
def test_operands_broadcast(shapes: Any) -> None:
    x, w = (np.random.default_rng(k).normal(size=s) for k, s in enumerate(shapes))
    for f in (hypot, st.foreign(C.hypot, "double(double x, double y)", threads=False)):
        made = f(st.tensor(x), w)
        assert made.dtype == st.float64 and made.shape == np.broadcast_shapes(*shapes)
        np.testing.assert_allclose(made, np.hypot(x, w), rtol=1e-15)


@pytest.mark.parametrize(("kind", "name"), [
    ("int8_t", "int8"), ("int16_t", "int16"), ("int", "int32"), ("long", "int64"), ("uint8_t", "uint8"),
    ("unsigned short", "uint16"), ("uint32_t", "uint32"), ("size_t", "uint64"), ("float", "float32"),
    ("double", "float64"), ("bool", "bool")])
def test_every_type_of_c(kind: str, name: str) -> None:
    c = np.ctypeslib.as_ctypes_type(np.dtype(name))
    second = ctypes.CFUNCTYPE(c, c, c)(lambda x, w: w)
    whole = ctypes.CFUNCTYPE(None, c, ctypes.POINTER(c), ctypes.POINTER(c))(lambda a, x, y: y.__setitem__(0, a))
    w = np.array([0, 1, 5, -3, 100]).astype(name)
    x = st.tensor(np.zeros_like(w))
    assert st.foreign(second, f"{kind}({kind}, {kind})")(x, w).tolist() == w.tolist()
    made = st.foreign(whole, f"void({kind} a, const {kind} x[n], {kind} y[1])")(w[3], x)
    assert made.tolist() == [w[3]] and made.dtype == x.dtype


SPELLINGS = {
    "double": "double", "float": "float", "_Bool": "bool", "bool": "bool", "signed char": "byte",
    "unsigned char": "ubyte", "short": "short", "signed short": "short", "short int": "short",
    "signed short int": "short", "unsigned short": "ushort", "unsigned short int": "ushort", "int": "int",
    "signed": "int", "signed int": "int", "unsigned": "uint", "unsigned int": "uint", "long": "long",
    "long int": "long", "signed long": "long", "signed long int": "long", "unsigned long": "ulong",
    "unsigned long int": "ulong", "long long": "longlong", "long long int": "longlong",
    "signed long long": "longlong", "signed long long int": "longlong", "unsigned long long": "ulonglong",
    "unsigned long long int": "ulonglong", "size_t": "size_t", "ssize_t": "ssize_t"}


@pytest.mark.parametrize(("spelling", "kind"), SPELLINGS.items())
def test_every_spelling_of_a_type_in_any_order(spelling: str, kind: str) -> None:
    c = getattr(ctypes, f"c_{kind}")
    for words in {*permutations(spelling.split())}:
        text = " ".join(words)
        p = prototype_of(f"{text}({text}, {text} const x, const {text} unsignedly)")
        for dtype in (p.returns, *(part.dtype for part in p.parts)):
            assert dtype is not None and np.ctypeslib.as_ctypes_type(dtype.numpy)(-1).value == c(-1).value
            assert dtype.bytes == ctypes.sizeof(c)
        assert [part.name for part in p.parts] == ["x0", "x", "unsignedly"]
        assert [part.is_result for part in prototype_of(f"void({text} const x[n], {text} y[n])").parts] == [False, True]


@pytest.mark.parametrize("words", [
    "long double", "double long", "double complex", "double _Complex", "_Complex double", "float complex", "char",
    "double int", "int double", "int int", "long long long", "long short", "signed unsigned", "signed double",
    "unsigned size_t", "double for", "double 3x", "void", "const", "int _Bool", "long size_t"])
def test_types_that_are_none(words: str) -> None:
    for text in (f"double({words})", f"double({words} x)", f"void(const {words} x[n], double y[n])",
                 *([f"{words}(double)", f"{words} f(double)"] if words != "void" else [])):
        with pytest.raises(ArgumentError, match="is no type of a number"):
            prototype_of(text)


cosine = st.foreign(C.cos, "double(double)", vjp=lambda g, y, x: -g * own_sine(x))
own_sine = st.foreign(C.sin, "double(double)", jvp=lambda dx, y, x: cosine(x) * dx[0])


def test_derivatives_that_call_functions_of_c() -> None:
    x = st.tensor([0.5, 1.0, 2.0], dtype="float64")
    n = x.numpy()
    total = lambda x: cosine(x).sum()
    np.testing.assert_allclose(st.grad(total)(x), -np.sin(n))
    np.testing.assert_allclose(st.compile(st.grad(total), dims={"x": {0: "n"}})(x), -np.sin(n))
    np.testing.assert_allclose(st.compile(st.vmap(st.grad(cosine)))(x), -np.sin(n))
    np.testing.assert_allclose(st.jvp(own_sine, (x,), (x,))[1], n * np.cos(n))
    np.testing.assert_allclose(st.hessian(total)(x), np.diag(-np.cos(n)), atol=1e-12)
    twice = lambda x: st.scan(lambda c, _: (cosine(c), None), x, st.arange(2))[0].sum()
    np.testing.assert_allclose(st.compile(st.grad(twice))(x), np.sin(np.cos(n)) * np.sin(n))
    p = x.detach().requires_grad_()
    cosine(p).sum().backward()
    np.testing.assert_allclose(p.grad, -np.sin(n))


def test_derivatives() -> None:
    x, w = st.tensor(np.array([3.0, 1.0])), st.tensor(np.array([4.0, 1.0]))
    for f in (lambda x: hypot(x, w).sum(), lambda x: sine(x).sum(), lambda x: (sine(x) * hypot(x, 2.0)).sum()):
        slope = st.compile(st.grad(f))(x).numpy()
        step = 1e-6
        want = [(float(f(x + step * e)) - float(f(x - step * e))) / (2 * step) for e in map(st.tensor, np.eye(2))]
        np.testing.assert_allclose(slope, want, rtol=1e-7)
        np.testing.assert_allclose([float(st.jvp(f, (x,), (st.tensor(e),))[1]) for e in np.eye(2)], want, rtol=1e-7)
    np.testing.assert_allclose(st.hessian(lambda x: sine(x).sum())(x), -np.diag(np.sin(x.numpy())), atol=1e-12)
    grown = st.foreign(C.exp, "double(double)", vjp=lambda g, y, x: g * y)
    for run in (lambda f: f, st.compile):
        np.testing.assert_allclose(run(st.hessian(lambda x: grown(x).sum()))(x), np.diag(np.exp(x.numpy())))
    rows = lambda x: both(x.reshape(1, 2)[:, [0, 0, 1]].astype("float32"), 1.0, K, 0)[0]
    for f in (st.foreign(C.sin, "double(double)"), rows):
        with pytest.raises(GraphError, match=r"no derivative by itself.*vjp="):
            st.grad(lambda x, f=f: f(x).sum())(x)


def test_in_loops_and_branches() -> None:
    @st.compile
    def f(x: Any) -> Any:
        last, _ = st.scan(lambda c, _: (sine(c), None), x, length=5)
        return st.cond(x > 0, lambda: hypot(x, last), lambda: last), st.while_loop(
            lambda c: c > 0.5, sine, st.ones((), dtype="float64"))

    x = 1.3
    for _ in range(5):
        x = np.sin(x)
    low = 1.0
    while low > 0.5:
        low = np.sin(low)
    np.testing.assert_allclose(f(st.tensor(1.3, dtype="float64")), (np.hypot(1.3, x), low), rtol=1e-14)


def test_many_places() -> None:
    x = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
    pairs = x.reshape(3, 2, 2, 2)[..., ::-1].reshape(x.shape)
    np.testing.assert_array_equal(st.vmap(st.vmap(swap))(st.tensor(x)), pairs)
    y, z = st.vmap(lambda x, a: both(x, a, K, 3))(st.tensor(np.stack([X, X + 1])), st.tensor(np.array([1.0, 2.0])))
    np.testing.assert_allclose(y, [X @ K, 2 * (X + 1) @ K], rtol=1e-6)
    assert z.tolist() == [[2, 1, -1, 3]] * 2
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4))
    one = st.vmap(lambda x, w: hypot(x, w[0]))(st.tensor(a), st.tensor(b))
    np.testing.assert_allclose(one, np.hypot(a, b[:, :1]), rtol=1e-15)


def test_many_functions() -> None:
    one = st.foreign(C.sin, "double(double)"), st.foreign(C.cos, "double(double)")
    x = np.random.default_rng(0).normal(size=4)
    pick = lambda k, x: st.switch(k, one, x)
    np.testing.assert_allclose([st.compile(pick)(st.tensor(k), st.tensor(x)) for k in (0, 1)], [np.sin(x), np.cos(x)])
    graph = [st.compile(f) for f in one]
    made = [f(st.tensor(x)) for f in graph]
    np.testing.assert_allclose(made, [np.sin(x), np.cos(x)], rtol=1e-14)
    assert graph[0].graphs[0].digest == graph[1].graphs[0].digest       # one program serves both


def test_a_formula_fuses() -> None:
    bell = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: float(np.exp(-x * x)))
    f = st.foreign(bell, formula=lambda x: st.exp(-x * x))
    compiled = st.compile(lambda x: f(x) * 2 + 1)
    x = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(compiled(st.tensor(x)), 2 * np.exp(-x * x) + 1, rtol=1e-12)
    assert len(compiled.programs[0].report().kernels) == 1
    np.testing.assert_allclose(st.grad(lambda x: f(x).sum())(st.tensor(x)), -2 * x * np.exp(-x * x), rtol=1e-12)
    with pytest.raises(ArgumentError, match=r"formula of foreign gives .* at 0.25, the function"):
        st.foreign(bell, formula=lambda x: st.exp(x))
    for f, signature, formula in ((C.atan2, "double(double, double)", lambda y, x: st.atan2(x, y)),
                                  (C.fabs, "double(double)", lambda x: x), (C.abs, "int(int)", lambda x: x)):
        with pytest.raises(ArgumentError, match="formula of foreign gives"):
            st.foreign(f, signature, formula=formula)
    assert st.foreign(C.abs, "int(int)", formula=st.abs)(-3).item() == 3
    assert st.foreign(C.fmax, "double(double, double)", formula=st.maximum)(2.0, [1.0, 3.0]).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(("formula", "says"), [
    (lambda x: st.sqrt((x * x).sum()), r"gives the shape \(\) for operands of \(4,\).*function of an element"),
    (lambda x: 1.0, r"gives the shape \(\)"), (lambda x: st.abs(x)[None], r"gives the shape \(1, 4\)"),
    (lambda x: st.abs(st.sort(x)), r"gives 1.5 at 0.25, the function 0.25"),
    (lambda x: st.abs(st.cumsum(x, 0)), r"gives 1.25 at -1.5, the function 1.5.*of each element"),
    (lambda x: st.sqrt((x * x).mean()) + 0 * x, "of each element")])
def test_formulas_are_of_an_element(formula: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=f"formula of foreign .*{says}"):
        st.foreign(C.fabs, "double(double)", formula=formula)


def test_functions_of_others() -> None:
    ffi = cffi.FFI()
    ffi.cdef("double cbrt(double);")
    x = np.array([8.0, 27.0])
    for f in (ffi.addressof(ffi.dlopen(None), "cbrt"), ffi.callback("double(double)", lambda x: x ** (1 / 3)),
              ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x ** (1 / 3))):
        np.testing.assert_allclose(st.foreign(f)(x), [2, 3], rtol=1e-12)
        with pytest.raises(ArgumentError, match=r"is 'double\(.*double\)', which 'float\(float\)' is not"):
            st.foreign(f, "float(float)")
    place = ctypes.cast(C.cbrt, ctypes.c_void_p).value
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"double (double)"       # as Cython has it
    np.testing.assert_allclose(st.foreign(new(place, name, None))(x), [2, 3], rtol=1e-12)

    class Numba:
        address = place
        ctypes = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(place)

    np.testing.assert_allclose(st.foreign(Numba())(x), [2, 3], rtol=1e-12)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_library_of_c(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text("""#include <stdint.h>
        void rows(int64_t n, int64_t m, const double x[n][m], double y[n], int32_t most[1]) {
            most[0] = 0;
            for (int64_t i = 0; i < n; i++) { y[i] = 0; for (int64_t j = 0; j < m; j++) y[i] += x[i][j]; }
            for (int64_t i = 0; i < n; i++) if (y[i] > y[most[0]]) most[0] = i;
        }
        float half(float x) { return x / 2; }
        unsigned char wraps(unsigned char x, int8_t y) { return x + y; }""")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "f.so", tmp_path / "f.c"], check=True)
    lib = ctypes.CDLL(str(tmp_path / "f.so"))
    rows = st.foreign(lib.rows, "void(int64_t n, int64_t m, const double x[n][m], double y[n], int32_t most[1])")
    x = np.random.default_rng(0).normal(size=(5, 7))
    y, most = st.compile(lambda x: rows(x * 2))(st.tensor(x))
    np.testing.assert_allclose(y, 2 * x.sum(1), rtol=1e-12)
    assert most.tolist() == [x.sum(1).argmax()]
    assert st.foreign(lib.half, "float(float)")(st.tensor([3.0, 5.0])).tolist() == [1.5, 2.5]
    bytes_ = st.tensor(np.array([200, 250], np.uint8))
    assert st.foreign(lib.wraps, "uint8_t(uint8_t, int8_t)")(bytes_, np.array([100, -1], np.int8)).tolist() == [44, 249]


def test_calls_come_in_order_where_they_have_to() -> None:
    seen: list[float] = []
    note = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: seen.append(x) or x)
    x = np.arange(2000.0)
    assert st.foreign(note, threads=False)(st.tensor(x)).tolist() == x.tolist() == seen
    seen.clear()
    st.compile(st.foreign(note))(st.tensor(x)).numpy()
    assert sorted(seen) == x.tolist()


def test_a_function_lives_as_long_as_what_calls_it() -> None:
    def make() -> Any:
        f = st.foreign(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 2 * x))
        return f(st.ones(3)), st.compile(lambda x: f(x) + 1)

    pending, compiled = make()
    for _ in range(50):
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 0.0)       # takes the place of what is gone
    assert pending.tolist() == [2.0] * 3 and compiled(st.ones(2)).tolist() == [3.0] * 2


def test_text() -> None:
    x = st.placeholder((2, 3))
    graph = st.compile(program)
    graph(st.tensor(X))
    text = show(graph.graphs[0])
    assert "Foreign(prototype='double(double, double)', levels=0" in text
    assert isinstance(again := parse(text, ALL), Graph) and again.digest == graph.graphs[0].digest and x.ndim == 2


def test_what_is_of_this_process_alone_is_not_saved(tmp_path: Path) -> None:
    f = st.compile(lambda x: st.scan(lambda c, _: (sine(c), None), x, length=2)[0])
    f(st.tensor(1.0, dtype="float64"))
    with pytest.raises(DataError, match="calls a function of C, whose address is this process's own"):
        st.save(f, tmp_path / "f.safetensors")
    with pytest.raises(GraphError, match="calls a function of C, whose address is this process's own"):
        f.export_library(tmp_path / "lib", "f")


@pytest.mark.parametrize(("signature", "says"), [
    ("double", "is no signature"), (" (double)", "is no signature"), ("double(double", "is no signature"),
    ("double(complex)", "'complex' is no type"),
    ("void(double)", "has no result"), ("double(const double x[n])", "has no result"),
    ("double(double *x)", "how many numbers"), ("void(double y[n])", "what n is"),
    ("double(const double x[n], double y[n])", "returns a number and writes arrays"),
    ("void(const double x[n+1], double y[n])", "what n is"), ("void(const double x[n!], double y[n])", "as a size"),
    ("double(double, )", "is no parameter"), ("void(const float x[n], float y[m])", "what m is")])
def test_signatures_that_are_none(signature: str, says: str) -> None:
    with pytest.raises((ArgumentError, ShapeError), match=says):
        st.foreign(C.cos, signature)


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: st.foreign(len, "double(double)"), ArgumentError, r"cffi, ctypes, Cython or Numba.*@st\.op"),
    (lambda: st.foreign(1 << 20, "double(double)"), ArgumentError, r"got a number.*CFUNCTYPE|got an? .*CFUNCTYPE"),
    (lambda: st.foreign(ctypes.CFUNCTYPE(None)(0), "double(double)"), ArgumentError, "no function at the address 0"),
    (lambda: st.foreign(C.cos), ArgumentError, "signature of foreign is a text"),
    (lambda: st.foreign(C.cos, "double(double)", vjp=sine, jvp=sine), ArgumentError, "one of vjp, jvp and formula"),
    (lambda: st.foreign(C.swab, "void(const uint8_t x[n], uint8_t y[n], long n)", formula=abs), ArgumentError,
     "stands for a function of numbers"),
    (lambda: hypot(1.0), ArgumentError, r"takes 2 operands \(x0, x1\), got 1"),
    (lambda: swap(st.ones(4)), DTypeError, r"x is uint8 in the signature, got float32.*astype\('uint8'\)"),
    (lambda: sine(st.tensor(1j)), DTypeError, "got complex"),
    (lambda: st.foreign(C.abs, "int(int)")(1.5), DTypeError, "x0 is int32 in the signature, got float32"),
    (lambda: sine(x0=1.0), ArgumentError, "sin cannot be called so: got an unexpected keyword argument 'x0'"),
    (lambda: swap(st.ones((2, 2), dtype="uint8")), ShapeError, r"x has 1 axes in the signature, got \(2, 2\)"),
    (lambda: both(st.ones(2, 3), 1.0, np.ones(4, np.int32), 0), ShapeError, "k has an axis of m = 3"),
    (lambda: hypot(st.ones(2), st.ones(3)), ShapeError, "broadcast")])
def test_what_does_not_fit_is_refused(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_prototypes_read_names_and_forms() -> None:
    p = prototype_of("unsigned int f(unsigned int count, const  unsigned char flag)")
    assert [(part.name, part.dtype.name) for part in p.parts] == [("count", "uint32"), ("flag", "uint8")]
    assert p.returns == st.uint32 and prototype_of("double(*)(double)") == prototype_of("double (*name)(double);")
