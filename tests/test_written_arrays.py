"""Arrays of NumPy that a compiled function writes to: arguments take it at every call, others are refused."""
from __future__ import annotations

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, GraphError, TraceError

COUNTS = np.zeros(3, "float32")
TABLE = np.zeros((3000, 200), "float32")


def centred(x):
    x -= x.mean(0)
    return (x * x).sum()


def entries(x):
    x[0] = 5
    part = x[1:]
    part *= 2
    return x * 1


def overwritten(x):
    x[...] = 3
    return x.sum()


def twice(x):
    y = x
    y += 1
    x *= y
    return y


@pytest.mark.parametrize("f", [centred, entries, overwritten, twice])
@pytest.mark.parametrize("make", [
    lambda: np.arange(12, dtype="float32").reshape(4, 3), lambda: np.arange(24, dtype="float32").reshape(4, 6)[:, ::2],
    lambda: np.asfortranarray(np.arange(12, dtype="float64").reshape(4, 3)),
    lambda: np.arange(12, dtype="int64").reshape(4, 3),
], ids=["rows", "steps", "columns", "integers"])
def test_arguments_are_written_to_at_every_call(f, make):
    if f is centred and make().dtype.kind == "i":
        make = lambda: np.zeros((4, 3), "float32")     # a mean is no integer
    x, y = make(), make()
    call = st.compile(f)
    for _ in range(3):
        found, wanted = call(y), f(x)
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6)
        np.testing.assert_allclose(y, x, rtol=1e-6)


def test_at_other_sizes_and_in_containers():
    @st.compile
    def f(batch):
        batch["x"] /= 2
        return batch["x"].sum()

    for n in (2, 3, 5, 8):
        batch = {"x": np.full(n, 8, "float32")}
        array = batch["x"]
        assert f(batch).item() == 4 * n and batch["x"] is array and array.tolist() == [4] * n


def test_a_training_step_that_scales_its_batch():
    net = nn.Linear(3, 1)

    @st.compile
    def step(x):
        x /= 2
        loss = net(x).square().mean()
        net.zero_grad()
        loss.backward()
        return loss

    x = np.full((4, 3), 8, "float32")
    first, second = step(x).item(), step(x).item()
    assert x.tolist() == [[2] * 3] * 4 and net.weight.grad is not None and first != second


def test_memory_that_two_arguments_share_is_refused():
    f = st.compile(lambda x, y: (x.__iadd__(1), y * 1)[1])
    x = np.zeros(4, "float32")
    assert f(x[:2], np.ones(2, "float32")).tolist() == [1, 1] and x.tolist() == [1, 1, 0, 0]
    for y in (x[:2], x[1:3]):
        with pytest.raises(ArgumentError, match="shares memory with another argument"):
            f(x[:2], y)
    assert x.tolist() == [1, 1, 0, 0]


def test_an_array_that_is_read_only_is_refused_before_anything_runs():
    x = np.zeros(2, "float32")
    x.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        st.compile(overwritten)(x)


def test_a_program_that_fills_its_arguments_is_no_library():
    f = st.compile(overwritten)
    f(np.zeros(2, "float32"))
    with pytest.raises(GraphError, match="rebinds what lies outside"):
        f.export_library("filled")


def counted(x):
    COUNTS[0] += 1
    return x * 1


def tabled(x):
    TABLE[:] = 1
    return x * 1


@pytest.mark.parametrize("f, array", [(counted, COUNTS), (tabled, TABLE)])
def test_arrays_from_outside_are_refused_and_stay_as_they_were(f, array):
    with pytest.raises(TraceError, match="was written to inside of a compiled function"):
        st.compile(f)(st.ones(2))
    assert array.flat[0] == 0


def test_arrays_that_are_read_and_arrays_made_inside_are_not():
    held = np.ones(3, "float32")

    @st.compile
    def f(x):
        own = np.zeros(3, "float32")
        own[1] = 2
        return x + own + held

    assert f(st.zeros(3)).tolist() == [1, 3, 1]
    held[:] = 5
    assert f(st.zeros(3)).tolist() == [5, 7, 5]
