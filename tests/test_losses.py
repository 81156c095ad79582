"""Losses that PyTorch lacks, against their formulas in NumPy: numbers and gradients, in every style."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import IndexOutOfRange, ShapeError
from tests.styles import styles

F = nn.functional
RNG = np.random.default_rng(0)
LOGITS, ROWS = RNG.normal(size=(6, 5)) * 3, RNG.normal(size=(4, 3, 2, 5))
LABELS, MARKS = RNG.integers(0, 5, 6), RNG.integers(0, 3, (4, 2, 5))
GAPS = np.where(np.arange(6) % 3 == 1, -100, LABELS)
HOLES = np.where(RNG.random((4, 2, 5)) < 0.3, -100, MARKS)
YES = (RNG.random((4, 3, 2, 5)) < 0.4).astype("f8")
WEIGHT = RNG.random(5) + 0.5
A, B, OTHERS, OWN = (RNG.normal(size=shape) for shape in ((4, 3), (4, 3), (7, 3), (4, 2, 3)))
Array = np.ndarray[Any, np.dtype[Any]]


def softmax(x: Array, axis: int = 1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def focal(x: Array, t: Array, gamma: float = 2.0, weight: Array | None = None) -> Array:
    p = np.take_along_axis(softmax(x), np.where(t < 0, 0, t)[:, None], 1)[:, 0]
    loss = -np.log(p) * (1 - p) ** gamma * (1 if weight is None else weight[t])
    return np.where(t < 0, 0, loss)


def binary_focal(x: Array, t: Array, gamma: float = 2.0, alpha: float | None = None) -> Array:
    p = sigmoid(x) * t + (1 - sigmoid(x)) * (1 - t)
    return -np.log(p) * (1 - p) ** gamma * (1 if alpha is None else alpha * t + (1 - alpha) * (1 - t))


def dice(p: Array, t: Array, smooth: float = 1.0) -> Array:
    axes = tuple(range(2, p.ndim))
    return 1 - (2 * (p * t).sum(axes) + smooth) / (p.sum(axes) + t.sum(axes) + smooth)


def marked(labels: Array) -> Array:
    return np.moveaxis(np.eye(3)[np.where(labels < 0, 0, labels)] * (labels >= 0)[..., None], -1, 1)


def unit(x: Array) -> Array:
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def found(logits: Array, at: Any) -> Array:
    return -np.log(softmax(logits))[np.arange(len(logits)), at]


class Loss(NamedTuple):
    """A loss in both languages; gradients are asked for in the first `moving` arrays."""

    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    arrays: tuple[Array, ...]
    moving: int = 1


CASES: dict[str, Loss] = {
    "focal": Loss(F.focal_loss, lambda x, t: focal(x, t).mean(), (LOGITS, LABELS)),
    "focal 0 is cross-entropy": Loss(lambda x, t: F.focal_loss(x, t, gamma=0.0), lambda x, t: found(x, t).mean(),
                                     (LOGITS, LABELS)),
    "focal some ignored": Loss(nn.FocalLoss(0.5), lambda x, t: focal(x, t, 0.5).sum() / (t >= 0).sum(), (LOGITS, GAPS)),
    "focal weight": Loss(lambda x, t, w: F.focal_loss(x, t, 1.5, weight=w, reduction="none").sum(),
                         lambda x, t, w: focal(x, t, 1.5, w).sum(), (LOGITS, LABELS, WEIGHT)),
    "focal of pixels": Loss(nn.FocalLoss(reduction="sum"), lambda x, t: focal(x, t).sum(), (ROWS, MARKS)),
    "focal yes or no": Loss(nn.FocalLoss(alpha=0.25), lambda x, t: binary_focal(x, t, 2.0, 0.25).mean(), (ROWS, YES)),
    "focal of shares": Loss(nn.FocalLoss(3.0), lambda x, t: ((np.log1p(np.exp(x)) - x * t) * (
        sigmoid(x) * (1 - t) + sigmoid(-x) * t) ** 3).mean(), (ROWS, YES * 0.7 + 0.1)),
    "dice": Loss(F.dice_loss, lambda x, t: dice(softmax(x), marked(t)).mean(), (ROWS, MARKS)),
    "dice some ignored": Loss(nn.DiceLoss(0.1), lambda x, t: dice(
        softmax(x) * (t >= 0)[:, None], marked(t), 0.1).mean(), (ROWS, HOLES)),
    "dice of masks": Loss(nn.DiceLoss(reduction="sum"), lambda x, t: dice(sigmoid(x), t).sum(), (ROWS, YES)),
    "info_nce": Loss(F.info_nce, lambda a, b: found(unit(a) @ unit(b).T / 0.1, np.arange(4)).mean(), (A, B), 2),
    "info_nce others": Loss(nn.InfoNCELoss(0.5), lambda a, b, c: found(np.concatenate(
        [(unit(a) * unit(b)).sum(1)[:, None], unit(a) @ unit(c).T], 1) / 0.5, 0).mean(), (A, B, OTHERS), 3),
    "info_nce own others": Loss(nn.InfoNCELoss(1.0, "sum"), lambda a, b, c: found(np.concatenate(
        [(unit(a) * unit(b)).sum(1)[:, None], np.einsum("nd,nmd->nm", unit(a), unit(c))], 1), 0).sum(), (A, B, OWN), 3),
}


def slopes(f: Callable[..., Any], arrays: tuple[Array, ...], k: int) -> Array:
    """Central differences of a formula in one of its arrays."""
    made, h = np.zeros_like(arrays[k]), 1e-6
    for i in np.ndindex(made.shape):
        up, down = (f(*(np.where(at(made.shape, i), a + s, a) if j == k else a for j, a in enumerate(arrays)))
                    for s in (h, -h))
        made[i] = (up - down) / (2 * h)
    return made


def at(shape: tuple[int, ...], i: tuple[int, ...]) -> Array:
    """True at one place of an array, False elsewhere."""
    mask = np.zeros(shape, bool)
    mask[i] = True
    return mask


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_gradients_are_those_of_the_formula(name: str) -> None:
    ours, formula, arrays, moving = CASES[name]
    wrt = tuple(range(moving))

    def both(*args: Any) -> list[Any]:
        loss, found = st.value_and_grad(ours, argnums=wrt)(*args)
        return [loss, *found]

    right = [formula(*arrays), *(slopes(formula, arrays, k) for k in wrt)]
    for style, got in styles(both, *arrays):
        for y, expected in zip(got, right, strict=True):
            np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-8, err_msg=style)
    small = [st.tensor(a.astype("f4") if a.dtype.kind == "f" else a) for a in arrays]
    np.testing.assert_allclose(ours(*small).numpy(), right[0], rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_and_forward_mode_agree_with_the_gradient(name: str) -> None:
    ours, _, arrays, _ = CASES[name]
    x, *rest = map(st.tensor, arrays)
    v = st.tensor(np.cos(np.arange(x.size)).reshape(x.shape))
    slope = st.grad(ours)
    h = 1e-5
    near = (slope(x + h * v, *rest) - slope(x - h * v, *rest)) / (2 * h)
    np.testing.assert_allclose(st.jvp(lambda x: slope(x, *rest), (x,), (v,))[1].numpy(), near.numpy(), atol=1e-6)
    np.testing.assert_allclose(st.grad(lambda x: (slope(x, *rest) * v).sum())(x).numpy(), near.numpy(), atol=1e-6)


def test_one_program_of_every_batch() -> None:
    f = st.compile(lambda x, t, a: F.focal_loss(x, t) + F.dice_loss(x, t) + F.info_nce(a, a),
                   dims={"x": {0: "n"}, "t": {0: "n"}, "a": {0: "n"}})
    for n in (2, 3, 4):
        right = F.focal_loss(ROWS[:n], MARKS[:n]) + F.dice_loss(ROWS[:n], MARKS[:n]) + F.info_nce(A[:n], A[:n])
        assert float(f(ROWS[:n], MARKS[:n], A[:n])) == pytest.approx(float(right))
    assert f.compiles == 1


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_what_is_certain_has_a_finite_gradient(gamma: float) -> None:
    x = st.tensor([[300.0, -300.0], [-300.0, 300.0], [0.0, 1e4]])
    for f, t in ((F.focal_loss, st.tensor([0, 0, 1])), (F.focal_loss, st.tensor([[1.0, 0.0]] * 3))):
        loss, slope = st.value_and_grad(lambda x, f=f, t=t: f(x, t, gamma))(x)
        assert np.isfinite(float(loss)) and np.isfinite(slope.numpy()).all()


def test_what_does_not_fit_is_refused() -> None:
    for call, text in ((lambda: F.focal_loss(LOGITS, LABELS[:3]), "needs an input (N, C) and a target (N,)"),
                       (lambda: F.focal_loss(LOGITS, LABELS, -1.0), "must not be negative"),
                       (lambda: F.dice_loss(LOGITS[0], LOGITS[0]), "takes logits (N, C, ...)"),
                       (lambda: F.dice_loss(ROWS, YES[:, 0]), "equal shapes"),
                       (lambda: F.info_nce(A, B[:2]), "takes (N, D), (N, D)"),
                       (lambda: F.info_nce(A, B, OTHERS[:, :2]), "(7, 2)"),
                       (lambda: F.info_nce(A, B, temperature=0.0), "above 0")):
        with pytest.raises(ShapeError) as error:
            call()
        assert text in str(error.value)
    with pytest.raises(IndexOutOfRange):
        F.dice_loss(ROWS, MARKS + 2).item()


SPOKEN = np.log(np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 4)))
WORDS = np.array([[1, 2], [3, 3], [1, 1], [2, 1]])


def test_no_steps_hold_no_labels() -> None:
    """The loss of no labels is 0 then, of others infinite, and of the rest what it is alone."""
    heard, many = np.array([5, 0, 0, 1]), np.array([2, 0, 1, 0])

    def loss(x: Any, heard: Any, many: Any) -> Any:
        return F.ctc_loss(x, st.tensor(WORDS), heard, many, reduction="none")

    alone = [float(F.ctc_loss(SPOKEN[:heard[k], k], WORDS[k, :many[k]], heard[k:k + 1], many[k:k + 1], reduction="sum"))
             for k in (0, 3)]
    for style, (found,) in styles(loss, SPOKEN, heard, many):
        np.testing.assert_allclose(found, [alone[0], 0, np.inf, alone[1]], rtol=1e-9, err_msg=style)
    x = st.tensor(SPOKEN, requires_grad=True)
    F.ctc_loss(x, WORDS, heard, many, zero_infinity=True).backward()
    assert x.grad is not None and not x.grad.numpy()[:, 1:3].any() and x.grad.numpy()[0, [0, 3]].any()


@pytest.mark.parametrize("heard, many, words", [
    ([6, 5, 5, 5], [2, 2, 2, 2], WORDS), ([5, 5, 5, 5], [2, 3, 2, 2], WORDS),
    ([5, 5, 5, 5], [2, 2, 0, 0], WORDS.reshape(-1)[:3])])
def test_lengths_of_more_than_there_is_are_refused(heard: list[int], many: list[int], words: Array) -> None:
    with pytest.raises(IndexOutOfRange):
        F.ctc_loss(SPOKEN, words, heard, many).item()
    with pytest.raises(IndexOutOfRange):
        st.compile(lambda heard, many: F.ctc_loss(SPOKEN, words, heard, many))(np.array(heard), np.array(many)).item()
