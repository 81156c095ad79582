"""Derivatives of functions are the same where nothing is recorded for `backward`: in every style, all of them."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st


def cube(x: st.Tensor) -> st.Tensor:
    return (x ** 3).sum()


def pulled(x: st.Tensor) -> Any:
    y, pull = st.vjp(st.sin, x)
    return y, pull(st.ones_like(x))


def rows(x: st.Tensor) -> Any:
    return st.vmap(st.grad(lambda a: a ** 2 * a))(x)


DERIVATIVES: dict[str, Callable[[st.Tensor], Any]] = {
    "grad": st.grad(cube), "grad of grad": st.grad(lambda x: st.grad(cube)(x).sum()),
    "value_and_grad": st.value_and_grad(cube),
    "vjp": pulled, "jvp": lambda x: st.jvp(st.sin, (x,), (2 * x,)),
    "jacobian": st.jacobian(st.sin), "jacobian forward": st.jacobian(st.sin, mode="forward"),
    "jacobian of grad": st.jacobian(st.grad(cube)), "hessian": st.hessian(cube),
    "hvp": lambda x: st.hvp(cube, x, 2 * x),
    "vmap of grad": rows, "grad of vmap": st.grad(lambda x: st.vmap(lambda a: a ** 3)(x).sum()),
    "grad through scan": st.grad(lambda x: st.scan(lambda s, a: (s * a, s), st.ones(()), x)[0]),
    "grad through cond": st.grad(lambda x: st.cond(x.sum() > 0, cube, st.sum, x)),
    "grad of checkpoint": st.grad(st.checkpoint(cube)),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["imperative", "compiled"])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_no_grad_changes_no_derivative(name: str, compiled: bool) -> None:
    x, f = st.tensor([1.0, 2.0, 3.0]), DERIVATIVES[name]
    expected = leaves(f(x))
    assert any(np.abs(e).max() > 0 for e in expected)
    with st.no_grad():
        found = leaves((st.compile(f) if compiled else f)(x))
    for e, g in zip(expected, found, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6)


def leaves(y: Any) -> list[Any]:
    """The numbers of a result."""
    return [a for part in y for a in leaves(part)] if isinstance(y, tuple) else [y.numpy()]
