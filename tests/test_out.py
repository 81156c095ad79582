"""`out=` of functions, and `where=` of those that are ufuncs, as NumPy's scripts write them."""
from __future__ import annotations

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DTypeError, GraphError, ShapeError

X, Y = np.array([[1.0, -2.0, 3.0], [4.0, 0.0, 6.0]], "float32"), np.array([2.0, 0.0, -1.0], "float32")


def full(m, *shape, dtype="float32"):
    return m.full(shape, 9, dtype=dtype)


CASES = {
    "add": lambda m, x, y: (out := full(m, 2, 3), m.add(x, y, out=out)),
    "into itself": lambda m, x, y: (x, m.multiply(x, y, out=x)),
    "into a part": lambda m, x, y: (x, m.add(x[0], x[1], out=x[0])),
    "into what is turned": lambda m, x, y: (out := full(m, 3, 2), m.exp(x, out=out.T)),
    "one tuple": lambda m, x, y: (out := full(m, 2, 3), m.sqrt(m.abs(x), out=(out,))),
    "repeated": lambda m, x, y: (out := full(m, 4, 3), m.negative(y, out=out)),
    "safe division": lambda m, x, y: (out := m.zeros_like(x), m.divide(x, y, out=out, where=y != 0)),
    "where alone": lambda m, x, y: (out := full(m, 2, 3), m.log(m.abs(x), out=out, where=x > 0)),
    "a flag": lambda m, x, y: (out := full(m, 2, 3), m.add(x, y, out=out, where=True)),
    "clip": lambda m, x, y: (x, m.clip(x, 0, 2, out=x)),
    "sum": lambda m, x, y: (out := full(m, 3), m.sum(x, axis=0, out=out)),
    "method": lambda m, x, y: (out := full(m, 2), x.sum(axis=1, out=out)),
    "cumsum": lambda m, x, y: (out := full(m, 2, 3), m.cumsum(x, axis=1, out=out)),
    "matmul": lambda m, x, y: (out := full(m, 2), m.matmul(x, y, out=out)),
    "dot": lambda m, x, y: (out := full(m, 2, 2), m.dot(x, x.T, out=out)),
    "concatenate": lambda m, x, y: (out := full(m, 4, 3), m.concatenate([x, x], axis=0, out=out)),
    "stack": lambda m, x, y: (out := full(m, 2, 2, 3), m.stack([x, x], out=out)),
    "maximum": lambda m, x, y: (out := full(m, 2, 3), m.maximum(x, 0, out=out)),
    "integers": lambda m, x, y: (out := full(m, 2, 3, dtype="int64"), m.add(x.astype("int32"), 1, out=out)),
    "narrower": lambda m, x, y: (out := full(m, 2, 3, dtype="float16"), m.add(x, y, out=out)),
    "several": lambda m, x, y: (a := full(m, 2, 3), b := full(m, 2, 3), *m.modf(x / 4, out=(a, b))),
    "none": lambda m, x, y: (m.add(x, y, out=None),),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_written_where_numpy_writes_them(name):
    case = CASES[name]
    wanted = [np.asarray(a) for a in case(np, X.copy(), Y.copy())]
    for style in (lambda f: f, st.compile):
        found = style(lambda x, y: case(st, x, y))(st.tensor(X), st.tensor(Y))
        for y, w in zip(found, wanted, strict=True):
            assert y.dtype.name == w.dtype.name
            np.testing.assert_allclose(y.numpy(), w, rtol=1e-3 if w.dtype == "float16" else 1e-6)


def test_the_tensor_itself_is_returned():
    out = st.zeros(3)
    assert st.add(1.0, st.ones(3), out=out) is out and out.tolist() == [2.0] * 3


def test_gradients_go_through_what_is_written():
    def f(x):
        out = st.zeros(3)
        st.multiply(x, x, out=out, where=x > 1)
        return out.sum()

    assert st.grad(f)(st.tensor([1.0, 2.0, 3.0])).tolist() == [0.0, 4.0, 6.0]


@pytest.mark.parametrize("call, error, said", [
    (lambda: st.add(st.ones(3), 1, out=np.zeros(3)), ArgumentError, "out of add needs a tensor, got .*ndarray"),
    (lambda: st.add(st.ones(3), 1, out=(st.ones(3), st.ones(3))), ArgumentError, "out of add needs a tensor"),
    (lambda: st.modf(st.ones(3), out=st.ones(3)), ArgumentError, "out of modf needs 2 tensors"),
    (lambda: st.add(st.ones(3), 1, out=st.ones(2)), ShapeError, "broadcast"),
    (lambda: st.add(st.ones(3), 0.5, out=st.ones(3, dtype="int32")), DTypeError, "keeps the dtype"),
    (lambda: st.sort(st.ones(3), out=st.ones(3), where=True), ArgumentError, "where"),
    (lambda: st.add(st.ones(3), 1, out=st.ones(3).requires_grad_()), GraphError, "rebound in place"),
    (lambda: st.add(st.ones(3), 1, where=st.ones(3) > 0), ArgumentError, "takes no where="),
])
def test_what_takes_no_result_says_so(call, error, said):
    with pytest.raises(error, match=said):
        call()
