"""What everyday code and other libraries do with arrays, each as a line that runs with NumPy's and with tensors."""
from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st

# Lines by the library that they need. x, y: four floats, m: (2, 3), d: float64, q: (20, 3), lab: 20 classes, i: three
# integers, b: bools, z: a float, k: an integer, a: an array of NumPy, T: makes one of the kind under test.
LINES = {
    "numpy": """
np.mean(x); np.sum(m, axis=0); np.concatenate([x, y]); np.stack([x, y]); np.where(b, x, y); np.where(x > 1, x, [0.0])
np.where(b)[0]; np.add(x, y); np.add(x, [1.0, 2.0, 3.0, 4.0]); np.exp(x); np.clip(x, 1, 2); np.linalg.norm(x)
np.dot(x, y); np.dot(m, m.T)
np.dot(m, [1.0, 0.0, 2.0]); np.dot(x, 2.0); np.einsum("ij,kj->ik", m, m); np.sort(x); np.argmax(x); np.argsort(x)
np.allclose(x, x); np.array(x); np.asarray(x, dtype="f8"); np.array([x, y]); np.array([z, z]); np.array_equal(x, x)
np.isnan(x); np.add.reduce(x); np.multiply.outer(x, y); np.shape(m); np.ndim(m); np.size(m); np.transpose(m)
np.reshape(m, (3, 2)); np.percentile(x, 50); np.histogram(x, bins=3)[0]; np.cumsum(x); np.diff(x); np.unique(x)
np.unique(i, return_inverse=True)[1]; np.round(x); np.vstack([x, y]); np.tile(x, 2); a[i]; a[b]; a + x; a * x; a @ y
np.float32(2) * x; 2.0 ** x; np.random.default_rng(0).choice(x, 2); np.random.default_rng(0).permutation(x)
np.full_like(a, z); np.median(x); np.std(x); np.std(x, ddof=1); np.prod(x); np.max(m, axis=1); np.maximum(x, y)
np.logical_and(b, b); np.outer(x, y); np.inner(x, y); np.matmul(m, m.T); np.linalg.det(T(np.eye(3))); np.fft.fft(d)
np.broadcast_to(x, (2, 4)); np.flip(x); np.roll(x, 1); np.expand_dims(x, 0); np.squeeze(m[:1]); np.meshgrid(x, y)[0]
np.count_nonzero(b); np.all(b); np.nan_to_num(x); np.nanmean(x, dtype=None); np.gradient(x); np.ptp(x); np.average(x)
np.partition(x, 1)[1]; np.digitize(x, [1.0, 2.0]); np.pad(x, 1); np.append(x, 1.0); np.insert(x, 1, 5.0)
np.delete(x, 1)
np.atleast_2d(x); np.array_split(x, 2)[1]; np.repeat(x, 2); np.broadcast_arrays((x[0], x[1]), x[2])[0]; np.ravel(m)
np.testing.assert_allclose(x, x); np.testing.assert_array_equal(x, x); np.from_dlpack(x); np.isin(i, [0, 2])
np.linalg.lstsq(q, q[:, 0], rcond=None)[0]; np.linalg.pinv(q, rcond=-1); np.unstack(q)[0]; np.vecdot(d, d)
np.select([d > 1, d > 2], [d, d * 2], 0.0); np.block([[m, m], [m, m]]); np.linalg.multi_dot([q, q.T, q])
np.matvec(q.T, q[:, 0]); np.frexp(d)[0]; np.modf(d)[1]; np.quantile(d, [0.1, 0.5]); np.average(d, weights=d)
x.conjugate(); (x * 1j).conjugate()
x.view("i4"); x.view(np.uint8); d.view("c16"); b.view("u1"); x[:0].view("i4"); np.mean(m, 0, None, None, True)
np.std(m, 0, None, None, 1); np.max(m, 0, None, True); np.cumsum(m); np.ravel(m, "F"); np.cov(x, y)
m.take([0, 1], axis=1); np.histogram(x, 3, (0, 5))[0]; np.emath.sqrt(-x); np.polyval([1, 2, 3], x)
np.take(m, [0, 7], 1, mode="clip"); x.nbytes
np.interp(1.5, np.array([1.0, 2.0]), x[:2]); np.linspace(x[0], x[1], 3); np.arange(x[2], x[3]); np.r_[x, y]; np.c_[x, y]
""",
    "python": """
sum([x, y]); sum(x); max(x); min(x); sorted(x); list(zip(x, y))[0]; [n for n, _ in enumerate(x)]; list(x); tuple(m)[0]
len(m); list(reversed(x)); 1.5 in x; bool(z); int(k); float(z); complex(z); round(float(z), 1); abs(-x); pow(x, 2)
divmod(T([7, 8]), 2); divmod(7, T([2, 3])); f"{z:.2f}"; "%.2f" % z; "{:5.1f}".format(z); math.sqrt(z); math.floor(z)
math.isnan(z); math.fsum(x); math.prod(x); statistics.mean(x.tolist()); json.dumps(x.tolist()); copy.copy(x)
copy.deepcopy({"w": [x, m]})["w"][1]; pickle.loads(pickle.dumps(x)); pickle.loads(pickle.dumps(m.T, 5))
functools.reduce(operator.add, [x, y]); list(itertools.accumulate(x))[-1]; operator.index(k); list(range(k))
[10, 20, 30][k]; x[k]; x[k:]; x[:k]; m[:, None].shape; m[..., 0]; x[[0, 2]]; x[x > 1]; x[i]; m[[0, 1], [1, 2]]
m[T([True, False])]; x[::-1]; x[-1]; x @ y; m @ m.T; -x; ~b; b & b; x > y; (x > 1) & (x < 3); k << 2; 7 // T([2, 3])
x % 1; x.shape; m.T.shape; x.tolist(); z.item(); x.sum(); m.mean(axis=0); m.reshape(3, 2); x.astype("f8")
any(v > 3 for v in x)
all(v > 0 for v in x); [v for v in x if v > 1]; dict(zip("abcd", x))["b"]
isinstance(x, collections.abc.Iterable) and isinstance(x, collections.abc.Sized); array.array("f", x).tolist()
struct.pack("f", z); collections.Counter(i.tolist())[2]; random.Random(0).choice(x)
len(random.Random(0).sample(list(x), 2))
""",
    "array_api_compat": """
array_api_compat.array_namespace(x, y, None, 1.0).sum(x); array_api_compat.is_array_api_obj(x); array_api_compat.size(m)
array_api_compat.to_device(x, array_api_compat.device(x)); array_api_compat.is_lazy_array(x)
array_api_compat.array_namespace(m).concat([m, m], axis=0); array_api_compat.array_namespace(x).unique_all(x).values
array_api_compat.array_namespace(x).cumulative_sum(x, include_initial=True)
""",
    "array_api_extra": """
array_api_extra.at(x, 0).set(9.0, copy=True); array_api_extra.at(x)[1:].add(1.0, copy=True)
array_api_extra.at(x, x > 1.0).multiply(2.0, copy=True); array_api_extra.at(x, b).set(0.0, copy=True)
array_api_extra.atleast_nd(x, ndim=3).shape; array_api_extra.cov(m); array_api_extra.create_diagonal(x, offset=1)
array_api_extra.kron(m, m); array_api_extra.nunique(i); array_api_extra.pad(x, (1, 2), constant_values=7.0)
array_api_extra.setdiff1d(T([3, 1, 2]), T([2])); array_api_extra.sinc(x); array_api_extra.isclose(x, y)
array_api_extra.one_hot(i, 3); array_api_extra.apply_where(x > 1.0, x, lambda v: v * 2, lambda v: -v)
""",
    "scipy": """
scipy.special.expit(x); scipy.special.softmax(d); scipy.special.gammaln(d); scipy.special.ndtr(d)
scipy.special.xlogy(d, d); scipy.special.log_softmax(q, axis=1); scipy.special.betaln(d, d); scipy.special.entr(d)
scipy.stats.kurtosis(q, axis=0); scipy.stats.iqr(d); scipy.stats.ttest_ind(q[:, 0], q[:, 1]).pvalue
scipy.stats.directional_stats(q).mean_direction; scipy.stats.spearmanr(q[:, 0], q[:, 1]).statistic
scipy.stats.combine_pvalues(d / 5).pvalue; scipy.signal.savgol_filter(q[:, 0], 5, 2);
scipy.signal.hilbert(q[:, 0]).imag; scipy.signal.fftconvolve(q[:, 0], d); scipy.fft.dct(d)
scipy.integrate.cumulative_simpson(d); scipy.differentiate.derivative(lambda t: t ** 3, d).df
scipy.optimize.rosen_der(d); scipy.cluster.vq.vq(q, q[:3])[0]; scipy.linalg.expm(np.eye(2) * z)
scipy.stats.zscore(d); scipy.stats.skew(d); scipy.stats.gmean(d); scipy.stats.sem(d); scipy.stats.describe(d).mean
scipy.stats.ttest_1samp(d, 1.0).pvalue; scipy.stats.pearsonr(d, d * d).statistic; scipy.stats.rankdata(d)
scipy.fft.rfft(d); scipy.integrate.trapezoid(d); scipy.integrate.simpson(d); scipy.optimize.rosen(d)
scipy.signal.detrend(d); scipy.cluster.vq.whiten(q); scipy.ndimage.gaussian_filter(np.asarray(d), 1.0)
""",
    "sklearn": """
sklearn.preprocessing.StandardScaler().fit_transform(q); sklearn.preprocessing.MaxAbsScaler().fit_transform(q)
sklearn.preprocessing.Normalizer().fit_transform(q); sklearn.preprocessing.LabelEncoder().fit_transform(lab)
sklearn.decomposition.PCA(2, svd_solver="full").fit(q).explained_variance_
sklearn.linear_model.Ridge(solver="svd").fit(q, q[:, 0]).coef_
sklearn.linear_model.RidgeCV().fit(q, q[:, 0]).predict(q)
sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver="svd").fit(q, lab).predict(q)
sklearn.naive_bayes.GaussianNB().fit(q, lab).predict(q); sklearn.metrics.accuracy_score(lab, lab)
sklearn.metrics.mean_squared_error(d, d * 2); sklearn.metrics.r2_score(d, d * 1.1); sklearn.metrics.f1_score(lab, lab)
sklearn.metrics.roc_auc_score(lab, q[:, 0]); sklearn.metrics.confusion_matrix(lab, 1 - lab)
sklearn.preprocessing.MinMaxScaler().fit_transform(q); sklearn.preprocessing.PolynomialFeatures(2).fit_transform(q)
sklearn.decomposition.PCA(2, svd_solver="covariance_eigh").fit_transform(q)
sklearn.metrics.log_loss(lab, lab / 2 + 0.25)
sklearn.linear_model.RidgeClassifier(solver="svd").fit(q, lab).predict(q); sklearn.metrics.jaccard_score(lab, lab)
sklearn.metrics.pairwise.rbf_kernel(q, q); sklearn.metrics.pairwise.cosine_similarity(q, q)
sklearn.metrics.pairwise.euclidean_distances(q, q)
sklearn.model_selection.train_test_split(q, lab, random_state=0)[0].shape
""",
    "pandas": """
pandas.Series(x).sum(); pandas.DataFrame(m).shape; pandas.DataFrame({"a": x, "b": y}).mean().tolist()
pandas.Series(np.arange(4.0)).iloc[i].tolist(); pandas.Index(i).tolist(); pandas.to_numeric(pandas.Series(x)).max()
""",
    "xarray": """
float(xarray.DataArray(x).mean()); xarray.DataArray(m, dims=("a", "b")).sum("a").values
(xarray.DataArray(x) + 1).values
xarray.Dataset({"v": ("t", x)})["v"].max().item()
""",
    "matplotlib": """
matplotlib.pyplot.plot(x, y)[0].get_xdata(); matplotlib.pyplot.imshow(m).get_array().shape
matplotlib.pyplot.scatter(x, y).get_offsets().shape; matplotlib.pyplot.hist(x, bins=2)[0]
len(matplotlib.pyplot.bar(x, y))
""",
}
MODULES = ["array", "collections", "collections.abc", "copy", "functools", "itertools", "json", "math", "operator",
           "pickle", "random", "statistics", "struct"]
ROOMS = {"scipy": "special stats fft integrate optimize signal cluster.vq ndimage linalg differentiate",
         "matplotlib": "pyplot",
         "sklearn": "preprocessing decomposition linear_model discriminant_analysis naive_bayes metrics "
                    "metrics.pairwise model_selection"}


def cases(library: str) -> list[str]:
    """The statements of a library's lines."""
    return [ast.unparse(node) for node in ast.parse(LINES[library]).body]


def space(make: Any, library: str) -> dict[str, Any]:
    """What a line sees."""
    rng = np.random.default_rng(0)
    four, other = np.array([1.5, 2.5, 0.5, 4.0], "f4"), np.array([2.0, 1.0, 3.0, 5.0], "f4")
    names = [*MODULES, *(f"{library}.{room}" for room in ROOMS.get(library, "").split())]
    names += [] if library == "python" else [library]
    found: dict[str, Any] = {name.partition(".")[0]: __import__(name) for name in names}
    return found | {
        "np": np, "T": lambda v: make(np.array(v)), "x": make(four), "y": make(other), "d": make(four.astype("f8")),
        "m": make(np.arange(1, 7, dtype="f4").reshape(2, 3)), "q": make(rng.normal(size=(20, 3))),
        "lab": make(rng.integers(0, 2, 20)), "i": make(np.array([2, 0, 1])), "b": make(four > 1), "z": make(four[1]),
        "k": make(np.int64(2)), "a": np.arange(4.0)}


def plain(v: Any) -> Any:
    """A result as arrays of NumPy and containers of them."""
    if isinstance(v, list | tuple):
        return [plain(part) for part in v]
    return np.asarray(v) if hasattr(v, "__array__") else v


def agree(found: Any, want: Any) -> None:
    """Raises unless two results have the same shapes and numbers."""
    if isinstance(want, list):
        assert len(found) == len(want)
        for one, other in zip(found, want):
            agree(one, other)
    elif isinstance(want, str | bytes):
        assert found == want
    elif want is not None:
        assert np.shape(found) == np.shape(want)
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def disagreements(library: str) -> list[str]:
    """What of a library's lines fails, or gives something else than with arrays of NumPy."""
    wrong = []
    for line in cases(library):
        want = plain(eval(line, space(np.asarray, library)))
        try:
            agree(plain(eval(line, space(st.asarray, library))), want)
        except Exception as error:
            wrong.append(f"{line}: {type(error).__name__}: {error}")
    return wrong


@pytest.mark.parametrize("library", ["numpy", "python"])
def test_what_arrays_do_tensors_do(library: str) -> None:
    assert not disagreements(library) and len(cases(library)) >= 80


PROGRAM = """
import sys
sys.path[:0] = {path!r}
import {library}
if {library!r} == "sklearn":
    {library}.set_config(array_api_dispatch=True)
from test_clients import disagreements
print(*disagreements({library!r}), sep="\\n")
"""


@pytest.mark.parametrize("library", [name for name in LINES if name not in ("numpy", "python")])
def test_real_libraries_take_tensors(library: str) -> None:
    """In a process of its own, for SciPy asks its environment when it is imported."""
    pytest.importorskip(library, reason=f"{library} is not installed: pip install {library}")
    here = Path(__file__).parent
    program = PROGRAM.format(library=library, path=[str(here), str(here.parents[1])])
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          env={**os.environ, "SCIPY_ARRAY_API": "1", "MPLBACKEND": "Agg"})
    assert made.returncode == 0 and not made.stdout.strip(), made.stdout + made.stderr


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LINES, "python", "x + 1; len(x); x.sum()")
    monkeypatch.setattr(st.Tensor, "__len__", lambda _: 3)
    monkeypatch.setattr(st.Tensor, "sum", lambda _: None)
    assert [w.partition(":")[0] for w in disagreements("python")] == ["len(x)", "x.sum()"]
