"""What is new and small needs no program of its own: interpreted, copied, or computed in one axis, to the same bits."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
import stele.nn.functional as F
from stele.eager.evaluate import EVALUATOR, TRIALS

SHAPES = [(3, 5), (2, 1, 7), (0, 4), (33,), (1,), (6, 1)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    real = rng.uniform(-3, 3, shape)
    return (real + 1j * rng.uniform(-3, 3, shape) if dtype[0] == "c" else real).astype(dtype)


def again(f: Any, *arrays: Any) -> list[bytes]:
    """The bits of f of arrays, each time it is computed until it has a program of its own."""
    found: list[bytes] = []
    for _ in range(TRIALS + 2):
        y = f(*map(st.tensor, arrays)).numpy()
        found.append(repr((y.shape, y.dtype)).encode() + y.tobytes())
    return found


@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "lgamma", "erf", "log1p", "cbrt", "sigmoid", "sqrt"])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_axis_gives_the_same_bits(name: str, shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "float64"):
        assert len(set(again(getattr(st, name), numbers(shape, dtype)))) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_what_moves_numbers_is_done_before(dtype: str) -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return st.exp(x * 0.5) * y + st.sqrt(z[:, None] * 2) / 3

    given = numbers((4, 3), dtype), numbers((1, 3), dtype, 1), np.abs(numbers((4,), dtype, 2))
    assert len(set(again(f, *given))) == 1


@pytest.mark.parametrize("f", [
    lambda x: st.sort(x, axis=0), lambda x: st.cumulative_sum(x, axis=1), lambda x: x.sum(axis=0), lambda x: x @ x,
    lambda x: st.argmax(x), lambda x: x[st.tensor([2, 0])], lambda x: st.unique_values(x), lambda x: x // 3 + x % 2])
def test_whole_numbers_have_one_result(f: Any) -> None:
    assert len(set(again(f, np.array([[8, 1, 6], [3, 5, 7], [4, 9, 2]])))) == 1


def test_new_shapes_compile_nothing_new() -> None:
    st.exp(st.tensor(numbers((2, 9), "float32"))).numpy()
    st.tensor([0.5]).exp().numpy()
    before = EVALUATOR.compiles
    for shape in ((3, 4), (7,), (2, 2, 2), (5, 0), (1, 11)):
        x = numbers(shape, "float32")
        np.testing.assert_allclose(st.exp(st.tensor(x)).numpy(), np.exp(x), rtol=1e-6)
        assert np.array_equal(st.sort(st.tensor(x)).numpy(), np.sort(x))
    assert EVALUATOR.compiles == before


def test_elements_are_read_without_a_program() -> None:
    x = st.arange(60).reshape(6, 10) + 0
    x.numpy()
    before = EVALUATOR.compiles
    for _ in range(TRIALS + 2):
        assert [int(x[i, j]) for i in range(6) for j in range(10)] == list(range(60))
        assert [row.tolist() for row in x] == x.tolist()
    assert EVALUATOR.compiles == before


def test_a_part_follows_the_whole_and_a_number_stays() -> None:
    x = st.tensor([[1.0, 2.0], [3.0, 4.0]]) + 0
    x.numpy()
    row, one = x[0], x[1, 1]
    x += 1
    x[0] = 9.0
    assert (row.tolist(), float(one), x.tolist()) == ([9, 9], 4, [[9, 9], [4, 5]])
    w = st.tensor([1.0, 2.0], requires_grad=True)
    (w[0] * 3).backward()
    assert w.grad is not None and w.grad.tolist() == [3, 0]


MADE = np.random.default_rng(3).normal(size=(12, 12)).astype("float32")
GROWING: list[tuple[Any, Any]] = [
    (lambda x: x.sum(), lambda x: x.sum()), (lambda x: x.mean(axis=0), lambda x: x.mean(0)),
    (lambda x: x.max(axis=1, keepdims=True) - 1, lambda x: x.max(1, keepdims=True) - 1),
    (lambda x: x.std(), lambda x: x.std()), (lambda x: st.cumulative_sum(x, axis=1), lambda x: x.cumsum(1)),
    (lambda x: st.softmax(x, axis=0), lambda x: np.exp(x) / np.exp(x).sum(0)), (lambda x: x @ x.T, lambda x: x @ x.T),
    (lambda x: st.median(x), np.median), (lambda x: st.diff(x * x).sum(axis=0), lambda x: np.diff(x * x).sum(0)),
    (lambda x: st.flip(x.reshape(-1) * 2).reshape(x.shape).sum(0), lambda x: (x * 2)[::-1, ::-1].sum(0)),
    (lambda x: st.exp(st.pad(x, ((0, 1), (2, 0)))).sum(), lambda x: np.exp(np.pad(x, ((0, 1), (2, 0)))).sum()),
    (lambda x: st.concatenate([x, x * 2]).mean(), lambda x: np.concatenate([x, x * 2]).mean())]


@pytest.mark.parametrize("f, law", GROWING, ids=[str(k) for k in range(len(GROWING))])
def test_from_the_second_shape_on_one_program_does_for_all(f: Any, law: Any) -> None:
    compiled: list[int] = []
    for shape in ((5, 9), (7, 12), (4, 6), (11, 8)):
        x, before = MADE[:shape[0], :shape[1]], EVALUATOR.compiles
        for _ in range(TRIALS + 1):
            np.testing.assert_allclose(f(st.tensor(x)).numpy(), law(x), rtol=2e-5, atol=2e-6)
        compiled.append(EVALUATOR.compiles - before)
    assert compiled[2:] == [0, 0]


def test_a_size_that_stays_is_no_open_one_and_sizes_that_meet_have_a_program_of_their_own() -> None:
    def f(x: Any) -> Any:
        return st.exp(x).sum(axis=1)

    seen: list[int] = []
    for shape in ((5, 3), (6, 3), (9, 3), (6, 7), (8, 12), (7, 7), (9, 9), (12, 12)):
        before = EVALUATOR.compiles
        np.testing.assert_allclose(f(st.tensor(MADE[:shape[0], :shape[1]])).numpy(),
                                   np.exp(MADE[:shape[0], :shape[1]]).sum(1), rtol=1e-5)
        seen.append(EVALUATOR.compiles - before)
    assert seen == [1, 1, 0, 1, 0, 1, 1, 0]


def test_gradients_of_further_shapes_need_no_program() -> None:
    for k, n in enumerate((3, 5, 8, 11)):
        x = st.tensor(MADE[:n], requires_grad=True)
        before = EVALUATOR.compiles
        ((x - x.mean()) ** 3).sum().backward()
        rest = MADE[:n].astype("f8") - MADE[:n].mean(dtype="f8")
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), 3 * rest ** 2 - 3 * (rest ** 2).mean(), rtol=1e-3, atol=1e-4)
        assert k < 2 or EVALUATOR.compiles == before


@pytest.mark.parametrize("k, sizes", [(3, [(4, 8, 8), (6, 8, 8), (5, 8, 8), (9, 8, 8)]),
                                      (2, [(4, 8, 12), (4, 20, 30), (4, 24, 13), (4, 40, 17)])],
                         ids=["batches", "images"])
def test_gradients_of_convolutions_need_one_program_for_sizes_that_differ(k: int, sizes: list[tuple[int, ...]]) -> None:
    random = np.random.default_rng(0)
    w = st.tensor(random.normal(size=(2, 3, k, k)).astype("f4"), requires_grad=True)
    compiled: list[int] = []
    for n, *image in sizes:
        x = st.tensor(random.normal(size=(n, 3, *image)).astype("f4"), requires_grad=True)
        before = EVALUATOR.compiles
        for _ in range(TRIALS + 1):
            x.grad = w.grad = None
            (F.conv2d(x, w, padding=1).relu() ** 2).mean().backward()
            found = [g.numpy() for g in (x.grad, w.grad) if g is not None]
        compiled.append(EVALUATOR.compiles - before)
        wanted = st.compile(st.grad(lambda x, w: (F.conv2d(x, w, padding=1).relu() ** 2).mean(), (0, 1)),
                            backend="reference")(x, w)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-6)
    assert compiled[0] and compiled[2:] == [0, 0]


def test_kernels_of_other_sizes_have_programs_of_their_own() -> None:
    x = st.tensor(np.random.default_rng(0).normal(size=(2, 2, 9)).astype("f4"))
    for k in (4, 3, 5, 2, 6):
        w = st.tensor(np.ones((2, 1, k), "f4"), requires_grad=True)
        y = F.conv1d(F.pad(x, (k - 1, 0)), w, groups=2)
        (y ** 2).mean().backward()
        padded = np.pad(x.numpy(), ((0, 0), (0, 0), (k - 1, 0)))
        wanted = np.lib.stride_tricks.sliding_window_view(padded, k, -1)
        np.testing.assert_allclose(y.detach().numpy(), wanted.sum(-1), rtol=1e-5, atol=1e-5)
        assert w.grad is not None
        own = np.einsum("bcn,bcnk->ck", wanted.sum(-1), wanted) * 2 / y.numel()
        np.testing.assert_allclose(w.grad.numpy()[:, 0], own, rtol=1e-4, atol=1e-5)
