"""Labels and other positions: every integer dtype names an element, in every style, with gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import IndexOutOfRange
from stele.ir.types import DTYPES

X = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)
PLACES = np.array([3, 0, 2, 3])
INTEGERS = [n for n, d in DTYPES.items() if d.kind in "iu"]
FORMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "pick": (st.pick, lambda x, i: x[np.arange(4), i]),
    "cross_entropy": (lambda x, i: st.cross_entropy(x, i, reduction="none"),
                      lambda x, i: np.log(np.exp(x).sum(1)) - x[np.arange(4), i]),
    "nn.cross_entropy": (nn.cross_entropy, lambda x, i: (np.log(np.exp(x).sum(1)) - x[np.arange(4), i]).mean()),
    "one_hot": (lambda x, i: st.one_hot(i, classes=5) * x, lambda x, i: np.eye(5)[i] * x),
    "take": (st.take, lambda x, i: x.ravel()[i]),
    "take along rows": (lambda x, i: st.take(x, i, axis=0), lambda x, i: x[i]),
    "embedding": (st.embedding, lambda x, i: x[i]),
    "x[i]": (lambda x, i: x[i], lambda x, i: x[i]),
    "x[:, i]": (lambda x, i: x[:, i], lambda x, i: x[:, i]),
    "x[i, i]": (lambda x, i: x[i, i], lambda x, i: x[i, i]),
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_integer_dtype_names_an_element(form: str, dtype: str) -> None:
    f, expected = FORMS[form]
    x, i = st.tensor(X, requires_grad=True), st.tensor(PLACES.astype(dtype))
    y = f(x, i)
    compiled, symbols = st.compile(f), (st.placeholder((4, 5), name="x"), st.placeholder((4,), dtype=dtype, name="i"))
    symbolic = st.function(list(symbols), f(*symbols))
    for found in (y, compiled(x, i), symbolic(st.tensor(X), i)):
        np.testing.assert_allclose(found.numpy(), expected(X.astype(np.float64), PLACES), rtol=1e-5, atol=1e-6)
    y.sum().backward()
    reference = st.tensor(X, requires_grad=True)
    f(reference, st.tensor(PLACES)).sum().backward()
    assert np.array_equal(x.grad.numpy(), reference.grad.numpy())


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "one_hot"])
def test_a_position_outside_is_named_whatever_its_dtype(form: str, dtype: str) -> None:
    f, _ = FORMS[form]
    for outside in (77, 100 if dtype == "int8" else 200):
        with pytest.raises(IndexOutOfRange, match=str(outside)):
            f(st.tensor(X), st.tensor(np.array([0, outside, 1, 2]).astype(dtype))).numpy()
