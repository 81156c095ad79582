"""The real libraries on tensors, where they are installed: `pip install -e '.[interop]'`."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st

X = np.arange(24.0, dtype="f4").reshape(2, 3, 4)


def installed(name: str) -> Any:
    """A library, or the reason why its tests are skipped."""
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install -e '.[interop]'")


def test_array_api_compat() -> None:
    compat = installed("array_api_compat")
    x = st.tensor(X)
    assert compat.array_namespace(x, st.ones(2), 1.0) is st and compat.is_array_api_obj(x)
    assert compat.device(x) == "cpu" and compat.size(x) == 24 and compat.to_device(x, "cpu:1").device == "cpu:1"
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, X)


def test_array_api_extra() -> None:
    extra = installed("array_api_extra")
    x = st.tensor([3.0, 1.0, 2.0])
    assert extra.at(x, 0).set(9.0, copy=True).tolist() == [9, 1, 2] and x.tolist() == [3, 1, 2]
    assert extra.at(x)[1:].add(1.0, copy=True).tolist() == [3, 2, 3]
    assert extra.at(x, x > 1.5).set(0.0, copy=True).tolist() == [0, 1, 0]
    assert extra.pad(x, 1).tolist() == [0, 3, 1, 2, 0] and extra.default_dtype(st) == "float32"
    np.testing.assert_allclose(extra.create_diagonal(x).numpy(), np.diag([3, 1, 2]))
    pairs = np.array([[1.0, 2, 3], [3, 1, 2]])
    np.testing.assert_allclose(extra.cov(st.tensor(pairs)).numpy(), np.cov(pairs), rtol=1e-6)


PATTERNS = ["a b c -> c a b", "a b c -> (a b) c", "a b (c d) -> d b a c", "a b c -> b (c a)"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_einops_rearranges(pattern: str) -> None:
    einops = installed("einops")
    sizes = {"d": 2} if "d" in pattern else {}
    want = einops.rearrange(X, pattern, **sizes)
    def f(x: st.Tensor) -> Any: return einops.rearrange(x, pattern, **sizes)
    for call in (f, st.compile(f)):
        assert np.array_equal(call(st.tensor(X)).numpy(), want)


def test_einops_reduces_repeats_and_packs() -> None:
    einops = installed("einops")
    x = st.tensor(X)
    for how in ("mean", "sum", "max", "min", "prod"):
        want = einops.reduce(X, "a b (c d) -> a c", how, d=2)
        np.testing.assert_allclose(einops.reduce(x, "a b (c d) -> a c", how, d=2).numpy(), want, rtol=1e-5)
    assert np.array_equal(einops.repeat(x, "a b c -> a n b (c m)", n=2, m=3).numpy(),
                          einops.repeat(X, "a b c -> a n b (c m)", n=2, m=3))
    packed, shapes = einops.pack([x, x[:, 0]], "a * c")
    assert packed.shape == (2, 4, 4)
    assert [p.shape for p in einops.unpack(packed, shapes, "a * c")] == [(2, 3, 4), (2, 4)]
    g = st.grad(lambda x: einops.reduce(x, "a b c -> a", "sum")[1])(x)
    assert g.tolist() == np.stack([np.zeros((3, 4)), np.ones((3, 4))]).tolist()


@pytest.mark.parametrize("first", ["stele", "neighbour"])
def test_a_library_is_told_of_tensors_whoever_comes_first(first: str, tmp_path: Path) -> None:
    """Of a library that is made here, in a process of its own."""
    (tmp_path / "neighbour.py").write_text("known = []")
    (tmp_path / "beside.py").write_text("import neighbour; neighbour.known.append(1)")
    second = {"stele": "neighbour", "neighbour": "stele"}[first]
    program = f"""
import importlib.util, sys
sys.path.insert(0, {str(tmp_path)!r})
from stele.interop import introduce
introduce.BESIDE["neighbour"] = "beside"
for name in ("stele", "neighbour"):
    sys.modules.pop(name, None)
assert importlib.util.find_spec("neighbour") and "beside" not in sys.modules
import {first}
import {second}
import neighbour
print(neighbour.known)
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert made.stdout == "[1]\n", made.stdout + made.stderr


def test_opt_einsum() -> None:
    opt_einsum = installed("opt_einsum")
    a, b, c = (np.random.default_rng(k).normal(size=s).astype("f4") for k, s in enumerate(((4, 5), (5, 6), (6, 3))))
    found = opt_einsum.contract("ij,jk,kl->il", st.tensor(a), st.tensor(b), st.tensor(c))
    assert isinstance(found, st.Tensor)
    np.testing.assert_allclose(found.numpy(), a @ b @ c, rtol=1e-4, atol=1e-5)


SCIPY = """
import numpy as np, stele as st
from scipy import special, stats
x = np.linspace(0.1, 3, 20)
for name in ("expit", "erf", "logit"):
    y = getattr(special, name)(st.tensor(x / 4))
    assert isinstance(y, st.Tensor), name
    np.testing.assert_allclose(y.numpy(), getattr(special, name)(x / 4), rtol=1e-6, err_msg=name)
y = special.logsumexp(st.tensor(x))
assert isinstance(y, st.Tensor)
np.testing.assert_allclose(float(y), special.logsumexp(x), rtol=1e-6)
"""

SKLEARN = """
import numpy as np, stele as st, sklearn
from sklearn.preprocessing import MinMaxScaler
x = np.random.default_rng(0).normal(size=(20, 3))
with sklearn.config_context(array_api_dispatch=True):
    y = MinMaxScaler().fit_transform(st.tensor(x))
assert isinstance(y, st.Tensor)
np.testing.assert_allclose(y.numpy(), MinMaxScaler().fit_transform(x), rtol=1e-6, atol=1e-9)
"""


@pytest.mark.parametrize(("library", "program"), [("scipy", SCIPY), ("sklearn", SKLEARN)])
def test_dispatch_by_namespace(library: str, program: str) -> None:
    """In a process of its own, for SciPy asks its environment when it is imported."""
    installed(library)
    made = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SCIPY_ARRAY_API": "1"},
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
