"""A compiled function runs its Python once: what it reads is watched, and what calls would not do again is refused."""
from __future__ import annotations

import array
import io
import itertools
import queue
import subprocess
import sys
from collections import deque
from types import ModuleType

import pytest

import stele as st
from stele.errors import TraceError


def counting():
    k = 0.0
    while True:
        k += 1
        yield k


def filled(count):
    q = queue.Queue()
    for k in range(count):
        q.put(float(k))
    return q


def letters():
    file = io.StringIO()
    file.write("1\n2\n3\n")
    file.seek(0)
    return file


ONCE = {
    "an iterator of a list": (lambda: iter([1.0, 2.0]), lambda x, s: x * next(s)),
    "an iterator of a dict": (lambda: iter({"a": 1}), lambda x, s: x * len(next(s))),
    "a range": (lambda: iter(range(3)), lambda x, s: x * next(s)),
    "a generator": (counting, lambda x, s: x * next(s)),
    "a generator of an expression": (lambda: (k for k in (1.0, 2.0)), lambda x, s: x * next(s)),
    "the last of a generator": (lambda: (k for k in (1.0,)), lambda x, s: x * sum(s)),
    "count": (lambda: itertools.count(1), lambda x, s: x * next(s)),
    "zip": (lambda: zip([1.0], [2.0]), lambda x, s: x * next(s)[0]),
    "enumerate": (lambda: enumerate([1.0]), lambda x, s: x * next(s)[1]),
    "chain": (lambda: itertools.chain([1.0], [2.0]), lambda x, s: x * next(s)),
    "a queue": (lambda: filled(2), lambda x, s: x * s.get()),
    "a file": (letters, lambda x, s: x * float(s.readline())),
    "a file that is written": (io.StringIO, lambda x, s: x * s.write("a")),
    "a set": (lambda: {1}, lambda x, s: (s.add(2), x)[1]),
    "a long set": (lambda: {*range(1000)}, lambda x, s: (s.discard(5), x)[1]),
    "a bytearray": (lambda: bytearray(2), lambda x, s: (s.append(1), x)[1]),
    "an array": (lambda: array.array("d", [1.0]), lambda x, s: (s.append(2.0), x)[1]),
    "a long list": (lambda: [0.0] * 1000, lambda x, s: (s.__setitem__(3, 1.0), x)[1]),
    "a long list that grows": (lambda: [0.0] * 1000, lambda x, s: (s.append(1.0), x)[1]),
    "a long dict": (lambda: dict.fromkeys(range(1000), 0.0), lambda x, s: (s.update({3: 1.0}), x)[1]),
    "a long deque": (lambda: deque([0.0] * 999 + [1.0]), lambda x, s: (s.rotate(1), x)[1]),
}


def content(s):
    """What is left in a container, in words; of what moves on nothing can be put back."""
    return repr(s) if isinstance(s, set | bytearray | array.array | list | dict | deque) else ""


@pytest.mark.parametrize("name", ONCE)
def test_what_later_calls_would_not_do_is_refused_and_undone(name):
    make, f = ONCE[name]
    s, before = make(), content(make())
    with pytest.raises(TraceError, match=r"s was (changed|moved on) inside of a compiled function"):
        st.compile(lambda x: f(x, s))(st.ones(()))
    assert content(s) == before


def test_an_iterator_among_the_arguments_is_refused_too():
    with pytest.raises(TraceError, match="moved on"):
        st.compile(lambda x, batches: x * next(batches))(st.ones(()), iter([1.0, 2.0]))


def test_iterators_of_its_own_and_those_that_it_leaves_alone_are_the_functions_business():
    waiting = iter([st.ones(2), st.zeros(2)])
    values = [1.0, 2.0]

    @st.compile
    def f(x):
        first = next(iter(values))
        return sum(x * k for k, _ in zip(values, itertools.count())) * first + (waiting is None)

    assert f(st.ones(2)).tolist() == [3.0, 3.0]
    assert len([*waiting]) == 2


def changed_function():
    def f():
        return None
    f.scale = 1
    return f


WATCHED = {
    "a set's length": (lambda: {1}, lambda x, s: x * len(s), lambda s: s.add(len(s) + 5)),
    "what a set has": (lambda: {1}, lambda x, s: x * (2 if 6 in s else 1), lambda s: s.add(len(s) + 5)),
    "pairs in a set": (lambda: {(1, 2)}, lambda x, s: x * sum(a for a, _ in s), lambda s: s.add((len(s), 3))),
    "a bytearray": (lambda: bytearray(2), lambda x, s: x * s[0], lambda s: s.__setitem__(0, s[0] + 1)),
    "an array": (lambda: array.array("d", [1.0]), lambda x, s: x * s[0], lambda s: s.__setitem__(0, s[0] + 1)),
    "all of a long list": (lambda: [1.0] * 500, lambda x, s: x * s[7],
                           lambda s: s.__setitem__(slice(None), [k + 1 for k in s])),
    "a long list's length": (lambda: [1.0] * 500, lambda x, s: x * len(s), lambda s: s.append(1.0)),
    "a function's attribute": (changed_function, lambda x, s: x * s.scale, lambda s: setattr(s, "scale", s.scale + 1)),
}


@pytest.mark.parametrize("name", WATCHED)
def test_what_is_read_is_read_as_it_is_at_each_call(name):
    make, f, change = WATCHED[name]
    s, other = make(), make()
    g = st.compile(lambda x: f(x, s))
    for _ in range(3):
        assert g(st.ones(())).item() == f(1.0, other)
        change(s)
        change(other)


def test_tensors_in_a_set_are_inputs():
    w = st.ones(2)
    held = {w}
    f = st.compile(lambda x: sum(x * v for v in held))
    first = f(st.ones(2)).tolist()
    w += 1
    assert (first, f(st.ones(2)).tolist(), f.traces) == ([1.0, 1.0], [2.0, 2.0], 1)


def test_an_attribute_of_the_function_itself_is_counted_up():
    def f(x):
        f.calls += 1
        return x * f.calls

    f.calls = 0
    g = st.compile(f)
    assert [g(st.ones(())).item() for _ in range(3)] == [1.0, 2.0, 3.0] and f.calls == 3


@pytest.mark.parametrize("is_module", [False, True])
def test_a_text_that_is_run_is_watched_as_a_module_is(is_module, monkeypatch):
    names = {"__name__": "a text", "st": st}
    if is_module:
        module = ModuleType("a text")
        monkeypatch.setitem(sys.modules, "a text", module)
        names = vars(module)
        names["st"] = st
    exec("scale = 1\nf = st.compile(lambda x: x * scale)\n"
         "held = iter([1.0])\ng = st.compile(lambda x: x * next(held))\n"
         "class Model:\n    scale = 1\n    def __call__(self, x):\n        return x * self.scale\n"
         "model = Model()\nh = st.compile(lambda x: model(x))", names)
    for k in range(1, 4):
        names["scale"] = names["model"].scale = k
        assert names["f"](st.ones(())).item() == names["h"](st.ones(())).item() == k
    with pytest.raises(TraceError, match="moved on"):
        names["g"](st.ones(()))


LOADS = """
import sys
import stele as st
assert "numpy.random" not in sys.modules, "else nothing is loaded amid the trace"
@st.compile
def f(x):
    import numpy.random
    import random
    return x * 2
assert f(st.ones(2)).tolist() == f(st.ones(2)).tolist() == [2, 2] and f.traces == 1
"""


def test_generators_that_are_loaded_amid_a_trace_were_drawn_from_by_nobody() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
