"""Arrays of NumPy from outside that a compiled function computes with in NumPy: read as they are at each call."""
from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest

import stele as st

READS = {
    "a view": lambda x, g: (x * st.tensor(g[:, :2])).sum(),
    "an element": lambda x, g: x * g[1, 2],
    "a sum": lambda x, g: x * g.sum(),
    "a method": lambda x, g: x * float(g.mean(0).max()),
    "a function": lambda x, g: x * np.linalg.norm(g),
    "a ufunc": lambda x, g: (x * np.exp(-g)).sum(),
    "an operator": lambda x, g: (x * (1 - g)).sum(),
    "turned": lambda x, g: (x * g.T[0]).sum(),
    "another dtype": lambda x, g: (x * g.astype("float64")).sum(),
    "rows": lambda x, g: sum(x * float(row[0]) for row in g),
    "a question": lambda x, g: x * (2 if 7.0 in g else 1),
    "a choice": lambda x, g: x * (2 if (g > 3).any() else 1),
    "several": lambda x, g: (x * np.concatenate([g, g * 2])).sum(),
    "a list": lambda x, g: x * sum(g.tolist()[0]),
    "a whole": lambda x, g: (x * g).sum(),
    "both": lambda x, g: (x * g).sum() + g.sum(),
}


def made():
    return np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("held", ["captured", "attribute", "entry"])
def test_what_numpy_read_is_read_again_when_it_has_changed(name, held):
    f, g, other = READS[name], made(), made()

    class Holder:
        scale = None

    holder, entries = Holder(), {"g": g}
    holder.scale = g
    call = st.compile({"captured": lambda x: f(x, g), "attribute": lambda x: f(x, holder.scale),
                       "entry": lambda x: f(x, entries["g"])}[held])
    for k in range(3):
        wanted = f(1.0, other) if name != "a view" else other[:, :2].sum()
        assert call(st.ones(())).item() == pytest.approx(float(wanted), rel=1e-6)
        g[...] += k + 1
        other[...] += k + 1
    assert type(holder.scale) is type(entries["g"]) is np.ndarray and holder.scale is g and entries["g"] is g


def test_what_has_not_changed_is_no_reason_to_trace_again():
    g, shown, whole = made(), made(), made()

    @st.compile
    def f(x):
        return x * g.sum() + whole + len(shown) + shown.shape[1]

    for k in range(4):
        f(st.ones(()))
        shown[...], whole[...] = k, k
    assert f.traces == 1


def test_arrays_are_what_they_were_after_an_error_and_in_what_is_returned_or_kept():
    g = made()
    kept = {"g": g, "last": None}

    @st.compile
    def fails(x):
        raise KeyError(kept["g"].sum())

    with pytest.raises(KeyError):
        fails(st.ones(()))
    assert kept["g"] is g

    @st.compile
    def f(x):
        kept["last"] = kept["g"]
        return x, kept["g"], [kept["g"][0]]

    for _ in range(2):
        _, same, (row,) = f(st.ones(()))
        assert same is g and kept["last"] is g and kept["g"] is g and type(row) is np.ndarray


def test_long_arrays_are_looked_at_in_places():
    g = np.zeros(100_000, "float32")
    f = st.compile(lambda x: x * float(g.max()))
    assert f(st.ones(())).item() == 0
    g[:] = 3
    assert f(st.ones(())).item() == 3


def test_other_threads_may_use_the_arrays_meanwhile():
    g, found = made(), []
    entered, done = threading.Event(), threading.Event()
    holder = {"g": g}

    def other():
        entered.wait(10)
        found.append(float((holder["g"] * 2).sum()))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    @st.compile
    def f(x):
        y = x * holder["g"][0, 1]
        entered.set()
        done.wait(10)
        return y

    assert f(st.ones(())).item() == 1 and found == [30.0]
    thread.join()


def test_what_takes_no_other_array_is_left_alone():
    @dataclass(frozen=True, slots=True)
    class Frozen:
        scale: np.ndarray

    class Checked(dict):
        def __setitem__(self, key, x):
            raise ValueError("nothing is set here")

    held, checked, pair = Frozen(made()), Checked(scale=made()), (made(), 2)
    f = st.compile(lambda x: x * held.scale.sum() + checked["scale"].sum() + pair[0].sum())
    assert f(st.ones(())).item() == 45
