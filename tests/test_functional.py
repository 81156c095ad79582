"""Every function of `nn.functional` against PyTorch: forward and gradients, in every style, at every size."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from peer import torch_gives

import stele as st
from stele import nn
from tests.functional.cases import CALLS, STILL, Array, drawn, named
from tests.styles import styles

F = nn.functional
ROWS = [(name, k) for name, calls in CALLS.items() for k in range(len(calls))]
ASKED = [call for calls in CALLS.values() for call in calls]
CLOSE = 1e-5        # of the largest element
OWN = {"dice_loss", "focal_loss", "info_nce"}       # what PyTorch lacks: tests/test_losses.py has the formulas


def flat(y: Any) -> list[Any]:
    return [v for part in y for v in flat(part)] if isinstance(y, list | tuple) else [y]


def weight(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """What results are multiplied with before they are summed up."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape).astype(dtype)


def moving(call: str) -> list[int]:
    """Which of the arrays that a call names have gradients."""
    arrays = drawn(1)
    return [k for k, name in enumerate(named(call)) if arrays[name].dtype.kind == "f" and name not in STILL]


def asked(call: str, torch: Any) -> list[Array]:
    """The results of a call of PyTorch's, and the gradients."""
    names = named(call)
    leaves = {name: torch.tensor(drawn(2)[name]) for name in names}
    wrt = [leaves[names[k]].requires_grad_() for k in moving(call)]
    results = flat(eval(call, {"F": torch.nn.functional, "nn": torch.nn, **leaves}))
    loss = sum((y * torch.tensor(weight(y.shape))).sum() for y in results if y.dtype.is_floating_point)
    slopes = torch.autograd.grad(loss, wrt, allow_unused=True) if wrt else ()
    zeros = [torch.zeros_like(x) if g is None else g for x, g in zip(wrt, slopes)]
    return [v.detach().numpy() for v in (*results, *zeros)]


def called(call: str) -> Any:
    """A call of ours as a function of the arrays that it names."""
    names = named(call)
    return lambda *arrays: eval(call, {"F": F, "nn": nn, **dict(zip(names, arrays))})


def with_gradients(call: str, dtype: Any = np.float32) -> Any:
    """The results of a call and its gradients, as one function, of floats of a dtype."""
    f, wrt = called(call), moving(call)

    def loss(*arrays: Any) -> Any:
        results = flat(f(*arrays))
        return sum((y * weight(y.shape, dtype)).sum() for y in results if y.dtype.is_float), results

    def both(*arrays: Any) -> list[Any]:
        if not wrt:
            return flat(f(*arrays))
        (_, results), slopes = st.value_and_grad(loss, argnums=tuple(wrt), has_aux=True)(*arrays)
        return [*results, *slopes]

    return both


@cache
def recorded() -> dict[str, list[Array]]:
    """What PyTorch gives for each call: one file for all of them, whose first array counts those of each."""
    def ask(torch: Any) -> list[Array]:
        found = [asked(call, torch) for call in ASKED]
        return [np.array([len(part) for part in found]), *(a for part in found for a in part)]

    counts, *rest = torch_gives("functional", ask)
    ends = np.cumsum(counts).tolist()
    return {call: rest[end - n:end] for call, n, end in zip(ASKED, counts.tolist(), ends, strict=True)}


def arrays(call: str, n: int) -> list[Array]:
    found = drawn(n)
    return [found[name] for name in named(call)]


def close(found: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Asserts equal dtypes and shapes, and numbers as near as rounding explains."""
    assert len(found) == len(expected), what
    for k, (y, x) in enumerate(zip(found, expected)):
        assert (y.shape, y.dtype) == (x.shape, x.dtype), f"{what}, array {k}"
        scale = np.max(np.abs(x), initial=0, where=np.isfinite(x)) if x.dtype.kind == "f" else 0
        np.testing.assert_allclose(y, x, rtol=CLOSE, atol=CLOSE * scale, err_msg=f"{what}, array {k}")


def test_every_function_has_a_row() -> None:
    assert set(CALLS) | OWN == set(F.__all__)
    assert all(f"F.{name}(" in call for name, calls in CALLS.items() for call in calls)


@pytest.mark.parametrize("call", ASKED)
def test_pytorch_agrees(call: str) -> None:
    found = with_gradients(call)(*map(st.tensor, arrays(call, 2)))
    st.eval(*found)
    close([y.numpy() for y in found], recorded()[call], call)


@pytest.mark.filterwarnings("error")      # of sizes that cannot stay open
@pytest.mark.parametrize(("name", "k"), ROWS)
def test_one_program_of_every_size(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled function at a size, at another, and at the first again: as without a compiler."""
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code is compared below
    call = CALLS[name][k]
    compiled = st.compile(called(call))
    for n in (2, 3, 1, 2):
        given = [st.tensor(a) for a in arrays(call, n)]
        found, expected = flat(compiled(*given)), flat(called(call)(*given))
        st.eval(*expected)
        close([y.numpy() for y in found], [y.numpy() for y in expected], f"{call} of {n}")


@pytest.mark.parametrize("name", CALLS)
def test_all_styles_agree(name: str) -> None:
    call = CALLS[name][-1]
    given = arrays(call, 2)
    _, expected = next(found := styles(lambda *xs: flat(called(call)(*xs)), *given))
    for style, y in found:
        close(y, expected, f"{call}, {style}")


@pytest.mark.parametrize(("name", "k"), ROWS)
def test_a_batch_of_nothing(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has results of no elements, or, summed up, a zero or what 0 / 0 is."""
    monkeypatch.setenv("STELE_BACKEND", "reference")    # every op has empty operands in native code elsewhere
    call = CALLS[name][k]
    f = called(call)
    some, more = ([y.shape for y in flat(f(*map(st.tensor, arrays(call, n))))] for n in (2, 3))
    expected = [tuple(0 if a != b else a for a, b in zip(*shapes)) for shapes in zip(some, more)]
    found = flat(f(*map(st.tensor, arrays(call, 0))))
    st.eval(*found)
    assert [y.shape for y in found] == expected
    assert all(np.isnan(y.numpy()) or y.numpy() == 0 for y in found if y.shape == () and call.count("loss"))


def test_what_is_random_has_the_distribution_that_it_says() -> None:
    st.manual_seed(5)
    x = st.randn(200, 50, 4)
    for y in (F.alpha_dropout(x, 0.3, training=True), F.feature_alpha_dropout(x, 0.3, training=True)):
        assert abs(float(y.mean())) < 0.05 and abs(float(y.std()) - 1) < 0.05
    dropped = F.dropout1d(st.ones(200, 50, 4), 0.25).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert (dropped == dropped[..., :1]).all() and abs((dropped == 0).mean() - 0.25) < 0.03
    slopes = -F.rrelu(-st.ones(10000), 0.2, 0.6, training=True).numpy()
    assert slopes.min() >= 0.2 and slopes.max() <= 0.6 and abs(slopes.mean() - 0.4) < 0.01
    logits = st.log(st.tensor([0.1, 0.2, 0.7])) * st.ones((10000, 1))
    np.testing.assert_allclose(F.gumbel_softmax(logits, hard=True).numpy().mean(0), [0.1, 0.2, 0.7], atol=0.02)
    assert not F.dropout(st.ones(3), 1.0).numpy().any()
