"""What NumPy's views share: numbers written to a part are those of the whole, and those of the whole are the part's."""
from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.arrays import exchange
from stele.arrays.spellings import ALIASES
from stele.errors import ArgumentError, GraphError

X = np.arange(24.0, dtype="f4").reshape(2, 3, 4)
M = X[0]
C = (M + 1j * M[::-1]).astype("c8")

# What each gives of x, in NumPy (with the namespace np) and here (st); where NumPy's name is another one, both.
Case = Callable[[Any, Any], Any]
VIEWS: dict[str, tuple[Any, Case] | tuple[Any, Case, Case]] = {
    "row":              (X, lambda xp, x: x[1]),
    "rows":             (X, lambda xp, x: x[:, 1:]),
    "every second":     (X, lambda xp, x: x[:, ::-2, 1::2]),
    "element":          (X, lambda xp, x: x[0, 1, ..., 2]),
    "new axis":         (X, lambda xp, x: x[:, None, 1]),
    "by a whole number": (X, lambda xp, x: x[np.int64(1), np.int32(0)]),
    "row of a row":     (X, lambda xp, x: x[1][2]),
    "rows of columns":  (X, lambda xp, x: x.T[1:][0]),
    "all":              (X, lambda xp, x: x[...]),
    "iteration":        (X, lambda xp, x: [*x][1]),
    "list":             (M, lambda xp, x: x[[0, 2]]),
    "number":           (M[0], lambda xp, x: +x[1:2]),
    "reshape":          (X, lambda xp, x: xp.reshape(x, (4, 6))),
    "method reshape":   (X, lambda xp, x: x.reshape(-1)),
    "reshape of a cut": (X, lambda xp, x: x[:, 1:].reshape(2, 2, 2, 2)),
    "reshaped copy":    (X, lambda xp, x: x[:, 1:].reshape(-1)),
    "reshaped turn":    (M, lambda xp, x: x.T.reshape(2, 2, 3)),
    "turn copied":      (M, lambda xp, x: x.T.reshape(-1)),
    "cut of a copy":    (M, lambda xp, x: x.T.reshape(-1)[2:5]),
    "ravel":            (X, lambda xp, x: xp.ravel(x)),
    "method ravel":     (X, lambda xp, x: x.ravel()),
    "ravelled copy":    (X, lambda xp, x: x.T.ravel()),
    "flatten":          (X, lambda xp, x: x.flatten()),
    "T":                (X, lambda xp, x: x.T),
    "mT":               (X, lambda xp, x: x.mT),
    "transpose":        (X, lambda xp, x: xp.transpose(x, (1, 2, 0)), lambda xp, x: xp.permute(x, (1, 2, 0))),
    "method transpose": (X, lambda xp, x: x.transpose(1, 2, 0)),
    "permute_dims":     (X, lambda xp, x: xp.permute_dims(x, (2, 0, 1))),
    "matrix_transpose": (X, lambda xp, x: xp.matrix_transpose(x)),
    "linalg's":         (X, lambda xp, x: xp.linalg.matrix_transpose(x)),
    "swapaxes":         (X, lambda xp, x: xp.swapaxes(x, 0, -1)),
    "method swapaxes":  (X, lambda xp, x: x.swapaxes(0, 1)),
    "moveaxis":         (X, lambda xp, x: xp.moveaxis(x, 0, -1)),
    "rollaxis":         (X, lambda xp, x: xp.rollaxis(x, 2)),
    "squeeze":          (X[:1], lambda xp, x: xp.squeeze(x, axis=0)),
    "method squeeze":   (X[:1], lambda xp, x: x.squeeze()),
    "expand_dims":      (X, lambda xp, x: xp.expand_dims(x, 1), lambda xp, x: xp.expand_dims(x, axis=1)),
    "flip":             (X, lambda xp, x: xp.flip(x, axis=1)),
    "fliplr":           (X, lambda xp, x: xp.fliplr(x)),
    "flipud":           (X, lambda xp, x: xp.flipud(x)),
    "rot90":            (M, lambda xp, x: xp.rot90(x)),
    "atleast_1d":       (M[0], lambda xp, x: xp.atleast_1d(x)),
    "atleast_2d":       (M[0], lambda xp, x: xp.atleast_2d(x, x)[1]),
    "atleast_3d":       (M, lambda xp, x: xp.atleast_3d(x)),
    "unstack":          (X, lambda xp, x: xp.unstack(x, axis=1)[1]),
    "numbers":          (M[0], lambda xp, x: xp.stack(xp.unstack(x))),
    "split":            (X, lambda xp, x: xp.split(x, [1, 3], axis=2)[1], lambda xp, x: x.split([1, 2, 1], axis=2)[1]),
    "array_split":      (X, lambda xp, x: xp.array_split(x, 2, axis=1)[0]),
    "hsplit":           (X, lambda xp, x: xp.hsplit(x, 3)[2]),
    "vsplit":           (X, lambda xp, x: xp.vsplit(x, 2)[1]),
    "dsplit":           (X, lambda xp, x: xp.dsplit(x, 2)[0]),
    "split of a split": (X, lambda xp, x: xp.hsplit(xp.vsplit(x, 2)[1], 3)[1]),
    "real":             (C, lambda xp, x: x.real),
    "imag":             (C, lambda xp, x: xp.imag(x)),
    "real of a row":    (C, lambda xp, x: xp.real(x[1])),
    "real of reals":    (M, lambda xp, x: xp.real(x)),
    "bits":             (M, lambda xp, x: x.view("f2")[:, 1:2]),
    "bits of a width":  (M.astype("i4"), lambda xp, x: x.view("u4")),
    "astype":           (M, lambda xp, x: x.astype("f8")),
    "copy":             (M, lambda xp, x: x.copy()),
    "asarray":          (M, lambda xp, x: xp.asarray(x)),
    "roll":             (M, lambda xp, x: xp.roll(x, 1)),
    "take":             (M, lambda xp, x: xp.take(x, np.array([0, 1]), axis=0)),
    "tile":             (M, lambda xp, x: xp.tile(x, (2, 1))),
    "repeat":           (M, lambda xp, x: xp.repeat(x, 2, axis=0)),
    "tril":             (M, lambda xp, x: xp.tril(x)),
    "where":            (M, lambda xp, x: xp.where(x > 0, x, x)),
    "conj":             (C, lambda xp, x: xp.conj(x)),
    "meshgrid":         (M[0], lambda xp, x: xp.meshgrid(x, x)[0]),
    "diag of a line":   (M[0], lambda xp, x: xp.diag(x)),
    "concatenate":      (M, lambda xp, x: xp.concatenate([x])),
    "positive":         (M, lambda xp, x: +x),
    "permute":          (X, lambda xp, x: x.transpose(1, 2, 0), lambda xp, x: x.permute(1, 2, 0)),
    "unsqueeze":        (X, lambda xp, x: x[:, None], lambda xp, x: x.unsqueeze(1)),
    "view":             (X, lambda xp, x: x.reshape(6, 4), lambda xp, x: x.view(6, 4)),
    "st.flatten":       (X, lambda xp, x: x.reshape(2, 12), lambda xp, x: xp.flatten(x, 1)),
    "chunk":            (X, lambda xp, x: x[:, :2], lambda xp, x: x.chunk(2, axis=1)[0]),
    "unbind":           (X, lambda xp, x: x[1], lambda xp, x: x.unbind()[1]),
    "narrow":           (X, lambda xp, x: x[:, 1:3], lambda xp, x: x.narrow(1, 1, 2)),
    "unflatten":        (X, lambda xp, x: x.reshape(2, 3, 2, 2), lambda xp, x: x.unflatten(2, (2, -1))),
    "diagonal":         (M, lambda xp, x: x.reshape(-1)[::5], lambda xp, x: x.diagonal()),
    "diagonal of axes": (X, lambda xp, x: x.reshape(2, -1)[:, 1::5][:, :2].T, lambda xp, x: x.diagonal(1, 1, 2).T[:2]),
    "turned diagonal":  (M, lambda xp, x: x.reshape(-1)[4::5], lambda xp, x: x.diagonal(1, axis1=1, axis2=0)),
    "cut diagonal":     (M, lambda xp, x: x.reshape(-1)[1::5], lambda xp, x: x[:, 1:].diagonal()),
    "st.diag":          (M, lambda xp, x: x.reshape(-1)[1::5], lambda xp, x: xp.diag(x, 1)),
    "linalg.diagonal":  (X, lambda xp, x: x.reshape(2, -1)[:, ::5], lambda xp, x: xp.linalg.diagonal(x)),
    "empty":            (X, lambda xp, x: x[:, 3:].reshape(0, 7)),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "an operator":  lambda r: r.__iadd__(1),
    "a key":        lambda r: r.__setitem__(..., 7),
    "a part":       lambda r: r.__setitem__((slice(None), slice(1, None)) if r.ndim > 1 else ..., 7),
}


def both(x: Any, r: Any) -> tuple[Any, Any]:
    return np.asarray(x), np.asarray(r)


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_written_to_a_view_is_in_the_whole_and_back(name: str) -> None:
    base, *cases = VIEWS[name]
    theirs, ours = cases[0], cases[-1]

    def run(xp: Any, case: Case, x: Any, write: Callable[[Any], Any]) -> Any:
        r = case(xp, x)
        write(r)
        x[1:2] += 2
        return x, r

    for write in WRITES.values():
        x, r = run(np, theirs, base.copy(), write)
        want = np.array(x), np.array(r)
        t = st.tensor(base)
        for got in (run(st, ours, st.tensor(base), write), (t, st.compile(lambda t: run(st, ours, t, write)[1])(t))):   # noqa: B023
            for one, other in zip(both(*got), want):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [n for n, case in VIEWS.items() if len(case) == 2 and n != "asarray"])
def test_functions_of_numpy_give_the_same_on_tensors(name: str) -> None:
    base, case = VIEWS[name]    # type: ignore[misc]
    x, t = base.copy(), st.tensor(base)
    for y in (x, t):
        r = case(np, y)
        r += 1
    np.testing.assert_array_equal(t.numpy(), x)


FROZEN: dict[str, Callable[[Any], Any]] = {
    "broadcast_to":     lambda x: st.broadcast_to(x, (2, 3, 4)),
    "of NumPy":         lambda x: np.broadcast_to(x, (2, 3, 4)),
    "expand":           lambda x: x.expand(2, -1, -1),
    "broadcast_arrays": lambda x: st.broadcast_arrays(x, st.zeros((2, 1, 1)))[0],
    "unfold":           lambda x: x.unfold(1, 2),
    "imag of reals":    lambda x: st.imag(x),
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_repeats_elements_takes_none_while_its_operand_is_seen(name: str) -> None:
    def write(x: Any) -> Any:
        r = FROZEN[name](x)
        r += 1
        return r

    x = st.tensor(M)
    for call in (write, st.compile(write)):
        with pytest.raises(ArgumentError, match=r"read-only.*x = x\.copy"):
            call(x)
    y = FROZEN[name](x)
    x += 1
    assert np.array_equal(y.numpy(), FROZEN[name](st.tensor(M + 1)).numpy())
    del x
    y += 1
    assert np.array_equal(y.numpy(), FROZEN[name](st.tensor(M + 1)).numpy() + 1)


def test_every_function_of_numpy_whose_results_share_memory_is_in_the_table() -> None:
    """Asked of NumPy itself: what it gives for one array shares its memory."""
    shares = set()
    made = {"asanyarray", "ascontiguousarray", "from_dlpack", "float32", "single"}     # of arrays, which are copied
    for name in ({n for n in dir(np) if n in st.__all__ or n in ALIASES} | exchange.ADAPTED.keys()) - made:
        f = getattr(np, name, None)
        for args in ((), (0,), (1,), (0, 1), ((2, 12),), (2, 0), ([1],)):
            x = X.copy()
            try:
                found = f(x, *args)     # type: ignore[misc]
            except Exception:
                continue
            parts = found if isinstance(found, list | tuple) else [found]
            if any(isinstance(part, np.ndarray) and np.shares_memory(part, x) for part in parts):
                shares.add(name)
    shares -= {"diff", "polyder", "polyint", "nan_to_num"}      # of no differences; where it writes into its argument
    x = st.tensor([0.0, 1, 2, 0])
    y = st.trim_zeros(x)        # which is not compiled
    x[1] = 9
    assert y.tolist() == [9, 2]
    known = {"linalg's": "matrix_transpose"}
    tested = {known.get(name, name) for name in VIEWS} | set(FROZEN) | {"trim_zeros"}
    assert shares - tested == set()


def test_parts_of_parts_follow_whoever_is_written() -> None:
    x = st.zeros((4, 6))
    a, b, c = x[1:], x[:, 2:4], x.T
    d = a[:, 1:]
    d += 1
    assert [float(v.sum()) for v in (x, a, b, c, d)] == [15, 15, 6, 15, 15]
    c[2] = 5
    assert [float(v.sum()) for v in (x, a, b, c, d)] == [32, 27, 23, 32, 27]
    x.assign(1)
    assert [float(v.sum()) for v in (x, a, b, c, d)] == [24, 18, 8, 24, 15]
    np.add(d, 1, out=d)
    assert float(c.sum()) == 39
    del x, a
    gc.collect()
    d[0] = 0
    assert float(d.sum()) == 20 and float(c.sum()) == 29      # what they share nobody else holds


def test_a_loop_over_rows_writes_them() -> None:
    x = st.zeros((3, 2))
    for k, row in enumerate(x):
        row += k
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]
    line = st.arange(3.0)
    for v in line:
        v += 1
    assert line.tolist() == [0, 1, 2]       # numbers, as NumPy has them


def test_many_writes_keep_no_history() -> None:
    x = st.zeros((2, 3))
    y = x[0]
    for _ in range(1100):       # Python's stack is 1,000 calls deep
        y += 1
    assert x.tolist() == [[1100] * 3, [0] * 3]
    for _ in range(1100):
        x[1][1:] += 1
    assert x.tolist() == [[1100] * 3, [0, 1100, 1100]]
    parts = [x[0] for _ in range(100)]
    del parts
    views = [x[1] for _ in range(50)]
    assert len(x.parts) < 128 and len(views) == 50


def test_parts_that_are_parameters_and_gradients() -> None:
    w = st.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    row = w[0]
    with pytest.raises(GraphError, match="no_grad"):
        row *= 2
    with st.no_grad():
        row *= 2
    assert w.tolist() == [[2, 4], [3, 4]] and w.requires_grad and w.leaf
    (w * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [[4, 8], [6, 8]]

    def f(x: st.Tensor) -> st.Tensor:
        y = x * 1
        y[0] *= 3
        y.T[1] = y.T[0] * x[1, 1]
        return (y * y).sum()

    x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    want = st.grad(lambda x: ((3 * x[0, 0]) ** 2 + x[1, 0] ** 2) * (1 + x[1, 1] ** 2))(x)
    for g in (st.grad(f)(x), st.compile(st.grad(f))(x)):
        np.testing.assert_allclose(g.numpy(), want.numpy(), rtol=1e-6)


def test_parts_made_outside_follow_what_a_program_has_written() -> None:
    x = st.zeros((2, 3))
    row, turned = x[0], x.T

    @st.compile
    def step(x: st.Tensor) -> None:
        x += 1

    for n in (1, 2):
        step(x)
        assert row.tolist() == [n] * 3 and turned.tolist() == [[n, n]] * 3
    step(row)
    assert x.tolist() == [[3] * 3, [2] * 3] and turned.tolist() == [[3, 2]] * 3


def test_open_sizes_and_loops() -> None:
    @st.compile(dims={"x": {0: "n"}})
    def f(x: st.Tensor) -> st.Tensor:
        y = x * 1
        y[1:] += 10
        y.T[0] *= 2
        y.reshape(-1)[::2] -= 1
        return y

    def law(x: Any) -> Any:
        y = x * 1
        y[1:] += 10
        y.T[0] *= 2
        y.reshape(-1)[::2] -= 1
        return y

    for n in (2, 3, 5):
        x = np.arange(3.0 * n, dtype="f4").reshape(n, 3)
        np.testing.assert_array_equal(f(st.tensor(x)).numpy(), law(x))

    @st.compile(dims={"x": {0: "n", 1: "m"}})
    def g(x: st.Tensor) -> st.Tensor:
        y = x * 1
        y.unsqueeze(1)[x.unsqueeze(1) > 3] = -1
        y.diagonal(1).add_(10)
        y.reshape(-1)[1:].mul_(2)
        y.T.unsqueeze(0).squeeze()[0] += 5
        return y

    def law_of_g(x: Any) -> Any:
        y = x * 1
        y[x > 3] = -1
        y.reshape(-1)[1:y.shape[1] * max(min(y.shape[0], y.shape[1] - 1), 0):y.shape[1] + 1] += 10
        y.reshape(-1)[1:] *= 2
        y.T[0] += 5
        return y

    for shape in ((2, 3), (3, 2), (4, 4), (5, 3)):
        x = np.arange(float(math.prod(shape)), dtype="f4").reshape(shape)
        np.testing.assert_array_equal(g(st.tensor(x)).numpy(), law_of_g(x))

    def body(c: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        c = c * 1
        c[0] += x
        c.T[1] *= 2
        return c, c.sum()

    last, _ = st.scan(body, st.ones((2, 2)), st.arange(3.0))
    want = np.ones((2, 2))
    for k in range(3):
        want[0] += k
        want.T[1] *= 2
    assert last.tolist() == want.tolist()


def test_a_part_may_be_written_to_places_of_any_kind() -> None:
    a = np.arange(12.0, dtype="f4").reshape(4, 3)
    t = st.tensor(a)
    for x, i, mask in ((a, np.array([2, 0]), a[:, 0] > 5), (t, st.tensor([2, 0]), st.tensor(a)[:, 0] > 5)):
        x[i] = x[:2]
        x[mask] = x[1]
        x[[3, 1]] = x[1:3]
        x[np.int64(0)] = x[1]
    np.testing.assert_array_equal(t.numpy(), a)


def test_what_is_written_to_data_is_written_to_the_tensor() -> None:
    """PyTorch's way around gradients: by methods that write, by keys, by operators, by parts, and in compiled steps."""
    w = st.tensor([1.0, 2.0, 3.0], requires_grad=True)
    held = w.data
    w.data.mul_(2)
    w.data[0] = 7
    w.data += 1
    w.data[1:].copy_(st.tensor([0.5, 0.25]))
    assert w.tolist() == held.tolist() == [8.0, 0.5, 0.25] and w.requires_grad and w.leaf
    w.assign([1, 2, 3])
    assert held.tolist() == [1, 2, 3] and not held.requires_grad
    (w * held).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1, 2, 3]
    for write in (lambda: w.mul_(2), lambda: w[:1].mul_(2), lambda: w.data.requires_grad_().mul_(2)):
        with pytest.raises(GraphError, match="gradient would be lost"):
            write()
    assert w.tolist() == [1, 2, 3]

    @st.compile
    def step(x: st.Tensor) -> st.Tensor:
        w.grad = None
        loss = (w * x).sum()
        loss.backward()
        w.data.sub_(w.grad * 0.5)
        return loss

    assert [step(st.ones(3)).item() for _ in range(3)] == [6, 4.5, 3] and w.tolist() == [-0.5, 0.5, 1.5]
    assert held.tolist() == w.tolist() and w.requires_grad
    y = w * 2
    y.data.add_(1)
    assert y.tolist() == [0, 2, 4]
    whole = st.arange(3)
    whole.data[1] = 9
    assert whole.tolist() == [0, 9, 2] and st.zeros(()).data.fill_(4).item() == 4


REPEATED: dict[str, Callable[[Any, Any], Any]] = {      # of rows (2, n): what repeats elements of it
    "rows":       lambda m, x: m.broadcast_to(x, (2, *x.shape)),
    "one row":    lambda m, x: m.broadcast_to(x[:1], (2, 2, x.shape[1])),
    "turned":     lambda m, x: m.broadcast_to(x.T, (2, x.shape[1], 2)),
    "in between": lambda m, x: m.broadcast_to(x[:, None], (2, 4, x.shape[1])),
    "a column":   lambda m, x: m.broadcast_to(x[:, :1], (2, 5)),
}
SEEN: dict[str, Callable[[Any], Any]] = {               # and how that is seen
    "as it is":   lambda v: v,
    "as rows":    lambda v: v.reshape(len(v), -1),
    "in a row":   lambda v: v.reshape(-1),
    "turned":     lambda v: v.T,
    "rows of it": lambda v: v.T.reshape(v.shape[-1], -1),
    "the first":  lambda v: v[0],
    "the last":   lambda v: v[..., 0],
    "some":       lambda v: v[::1, 1:],
    "in more":    lambda v: v[None],
    "in steps":   lambda v: v.reshape(v.shape[0], -1)[:, ::2].reshape(-1),
}


@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize("seen", SEEN)
def test_what_is_written_is_seen_in_what_repeats_it(repeated: str, seen: str) -> None:
    """Or is not, where NumPy has copied: elements that repeat are no steps apart."""
    def written(m: Any, x: Any) -> tuple[Any, Any]:
        v = REPEATED[repeated](m, x)
        w = SEEN[seen](v)
        x[0, 1] = 7
        x[1] += 1
        return v * 1, w * 1

    compiled = st.compile(lambda x: written(st, x))
    for n in (3, 5, 6):
        x = np.arange(2.0 * n).reshape(2, n)
        law = written(np, x.copy())
        for f in (lambda x: written(st, x), compiled):
            for got, want in zip(f(st.tensor(x)), law, strict=True):
                np.testing.assert_array_equal(got, want)
