"""`x.view(dtype)`: the bits of elements as those of another dtype, bit for bit what NumPy sees in the same memory."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.ir.types import DTYPES, REAL
from tests.styles import all_give

SHAPES = [(), (1,), (16,), (2, 0), (0, 16), (2, 3, 16)]
ALIKE = [(a.name, b.name) for a in REAL for b in REAL if a.bits == b.bits and a is not b]
WIDER = [("uint8", "complex128"), ("complex64", "bfloat16"), ("complex128", "complex64"), ("float16", "float64"),
         ("bool", "int32"), ("int64", "bool"), ("complex64", "int64"), ("float64", "complex64")]


def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
    """Any bits, so NaN of every kind too; of bools the two that there are."""
    size = int(np.prod(shape)) * DTYPES[dtype].bytes
    bits = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 256, size, dtype=np.uint8)
    return bits.view(DTYPES[dtype].numpy).reshape(shape)


def seen(x: Any, dtype: str) -> Any:
    """What NumPy sees, of which a bool is one of two; None where it refuses."""
    try:
        return np.asarray(x.view(np.uint8) != 0) if dtype == "bool" else x.view(DTYPES[dtype].numpy)
    except ValueError:
        return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_dtypes_are_seen_as_all_others(dtype: str, shape: tuple[int, ...]) -> None:
    x = drawn(dtype, shape)
    for other in DTYPES:
        if (want := seen(x, other)) is None:
            with pytest.raises(ShapeError, match="are seen as"):
                st.asarray(x).view(other)
            continue
        got = st.asarray(x).view(other).numpy()
        assert (got.dtype, got.shape) == (want.dtype, want.shape) and got.tobytes() == want.tobytes(), other


@pytest.mark.parametrize(("dtype", "other"), ALIKE[::4] + WIDER)
def test_programs_see_the_same_bits(dtype: str, other: str) -> None:
    """In every style, and behind and before other ops of the kernel; what is wide is seen again as what it was."""
    x = drawn(dtype, (3, 16))
    def bits(y: Any) -> Any: return y.view("uint8").astype("int32")
    all_give(seen(x, other).view(np.uint8).astype("i4"), lambda x: bits(x.view(other)), x)
    all_give(x.view(np.uint8).astype("i4"), lambda x: bits(x.view(other).view(dtype)), x) if other != "bool" else None


def test_shapes_and_dtypes_are_told_apart() -> None:
    x = st.tensor([[1.0, -2.0], [0.5, 4.0]])
    assert x.view(4).shape == x.view(-1).shape == x.view((4,)).shape == (4,) and x.view().shape == (2, 2)
    for name in ("int32", "i4", np.int32, np.dtype("i4"), st.int32, int):
        assert x.view(name).tolist() == x.numpy().view("i4").tolist()
    assert x.view(dtype=st.uint8).shape == (2, 8) and x.view(x.dtype).tolist() == x.tolist()
    assert (x * 1j).view(float).shape == (2, 4) and x.astype("float64").view(complex).dtype == "complex128"
    with pytest.raises(ArgumentError, match=r"got both: \(4,\) and int32"):
        x.view(4, dtype="int32")
    with pytest.raises(DTypeError, match="no dtype 'int33'"):
        x.view("int33")
    with pytest.raises(ShapeError, match=r"the last axis of \(2, 2\) is no multiple of 4.*Pad it"):
        x.view("complex128")
    with pytest.raises(ShapeError, match=r"a number has no axis.*x\.reshape\(1\)"):
        x.sum().view("int64")


def test_bits_at_many_places_of_any_size_and_without_gradients() -> None:
    x = drawn("float32", (5, 3, 8))
    at_all = st.vmap(lambda x: x.view("uint16"))
    assert at_all(st.tensor(x)).numpy().tobytes() == x.tobytes()
    slot = st.placeholder(("n", "k"))
    f = st.function([slot], (slot.view("uint16"), slot.view("int32")))
    for n, k in ((3, 4), (0, 2), (5, 1)):
        for got, dtype in zip(f(st.tensor(x[0, :n, :k])), ("u2", "i4")):
            assert got.numpy().tobytes() == x[0, :n, :k].tobytes() and got.dtype == np.dtype(dtype)
    halves = st.compile(lambda x: x.view("float64"), dims={"x": {0: "n", 1: "k"}})
    for k in (2, 8, 4):
        assert halves(st.tensor(x[0, :, :k])).shape == (3, k // 2)
    g = st.grad(lambda x: (x * x.view("int32").view("float32")).sum())(st.tensor([3.0, -2.0]))
    assert g.tolist() == [3, -2]        # no gradient passes through bits


def test_a_root_by_its_bits() -> None:
    """What such code is for: a first guess of 1 / sqrt(x) from the bits, and steps of Newton's method."""
    def inverse_root(x: Any) -> Any:
        y = (0x5F3759DF - (x.view("int32") >> 1)).view("float32")
        for _ in range(4):
            y = y * (1.5 - 0.5 * x * y * y)
        return y

    x = np.array([0.25, 2.0, 9.0, 1e10], "f4")
    all_give(1 / np.sqrt(x), inverse_root, x, rtol=1e-6)
