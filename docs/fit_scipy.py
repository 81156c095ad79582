"""A curve fitted by SciPy's `minimize`, which gets the numbers and the gradients of a function written in Stele.

    python docs/fit_scipy.py
"""
from typing import Any

import numpy as np

import stele as st

try:
    from scipy.optimize import minimize
except ImportError:
    minimize = None

x = st.linspace(0, 6, 80)
truth = np.array([2.0, 0.4, 3.0, 0.5])     # height, decay, frequency, phase
rng = st.random.default_rng(1)


def curve(p: Any, x: st.Tensor) -> st.Tensor:
    """A wave that dies away."""
    return p[0] * st.exp(-p[1] * x) * st.cos(p[2] * x + p[3])


y = curve(truth.tolist(), x) + 0.02 * rng.normal(size=80)


@st.compile
def loss_and_slope(p: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    """The mean squared error of parameters, and its gradient, in one native call."""
    return st.value_and_grad(lambda p: ((curve(p, x) - y) ** 2).mean())(p)


def both(p: Any) -> tuple[float, Any]:
    """What SciPy asks for: a float and an array of float64."""
    value, slope = loss_and_slope(st.asarray(p, dtype="float64"))
    return float(value), np.asarray(slope, np.float64)


if minimize is None:
    print("skipped: SciPy is not installed")
else:
    found = minimize(both, np.array([1.0, 0.1, 2.7, 0.0]), jac=True, method="L-BFGS-B")
    print("parameters:", np.round(found.x, 2).tolist(), "after", found.nfev, "calls of one compiled function")
    print("near the truth:", bool(np.allclose(found.x, truth, atol=0.05)))
