"""Tensors that share memory and are written to where they come from outside: compiled, in loops, as arguments."""
from __future__ import annotations

import gc

import numpy as np
import pytest

import stele as st

VIEWS = {
    "head": lambda x: x[:5],
    "middle": lambda x: x[2:7],
    "tail": lambda x: x[4:],
    "steps": lambda x: x[1::2],
    "back": lambda x: x[::-1],
    "rows": lambda x: x.reshape(4, 2),
    "turned": lambda x: x.reshape(2, 4).T,
    "square": lambda x: x[:4].reshape(2, 2)[:, 1:],
    "same": lambda x: x[:],
}
PLACES = ["captured", "arguments", "one of each"]


def action(rng):
    """A write to one of three tensors, or a read of one: which, and what is written."""
    kind, at, number = rng.integers(5), rng.integers(3), float(rng.integers(1, 9))

    def act(xs, module):
        x = xs[at]
        if kind == 0:
            x += number
        elif kind == 1:
            x[:1] = number
        elif kind == 2:
            part = x[::2]
            part *= number
        elif kind == 3:
            x *= x.max() % 3 - 1
        return [] if kind < 4 else [x * number]

    return act


def made(rng, module):
    """A whole and two of its parts, or of parts of it; the whole may be gone."""
    names = rng.choice(sorted(VIEWS), 2)
    through, is_gone = rng.integers(2), rng.integers(2)
    x = np.arange(8.0)
    x = x if module is np else st.tensor(x)
    first = VIEWS[names[0]](x)
    second = VIEWS[names[1]](first if through and first.ndim == 1 and first.shape[0] == 8 else x)
    return [first, second, x.reshape(2, 4)] if is_gone else [x, first, second]


def program(seed, module, place):
    """The tensors of a program and the function that computes with them."""
    rng = np.random.default_rng(seed)
    xs = made(rng, module)
    acts = [action(rng) for _ in range(6)]

    def run(*given):
        ys = [*given, *xs[len(given):]]
        return [y for act in acts for y in act(ys, module)] + [y * 1 for y in ys]

    count = {"captured": 0, "arguments": 3, "one of each": 1}[place]
    return xs, run, xs[:count]


def numbers(xs):
    return [np.asarray(x).tolist() for x in xs]


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("place", PLACES)
def test_what_shares_memory_is_one_thing_in_every_style(seed, place):
    expected = program(seed, np, place)
    wanted = [numbers(expected[1](*expected[2])), numbers(expected[0])]
    wanted += [numbers(expected[1](*expected[2])), numbers(expected[0])]
    for style in (lambda f: f, st.compile):
        xs, run, given = program(seed, st, place)
        gc.collect()
        f = style(run)
        found = [numbers(f(*given)), numbers(xs)]
        assert [*found, numbers(f(*given)), numbers(xs)] == wanted


@pytest.mark.parametrize("seed", range(24))
def test_loops_carry_what_shares_memory(seed):
    xs, run, _ = program(seed, np, "captured")
    for _ in range(3):
        wanted = run()
    for style in (lambda f: f, st.compile):
        ys, body, _ = program(seed, st, "captured")

        def looped(ys=ys, body=body):
            _, made = st.scan(lambda c, x: (c, body()), st.zeros(()), length=3)
            return [y[-1] for y in made]

        assert numbers(style(looped)()) == numbers(wanted)
        assert numbers(ys) == numbers(xs)


def test_other_arguments_share_other_elements():
    @st.compile
    def f(x, y):
        x += 1
        return y * 1

    def pairs(module):
        w = module.arange(6.0)
        yield w[:4], module.ones(4)
        yield w[:4], w[2:]
        yield w[:4], w[1:5]
        yield module.zeros(4), w[:4]
        yield w[2:], w[:4]
        yield w[:4], w[:4]

    for given, (x, y) in zip(pairs(st), pairs(np), strict=True):
        x += 1
        assert f(*given).tolist() == y.tolist()


def test_parts_that_have_nothing_in_common_are_no_reason_to_trace_again():
    @st.compile
    def step(x, y):
        x -= x.mean()
        return (x * y[:, None]).sum()

    data = st.arange(60.0).reshape(12, 5)
    for k in range(0, 12, 4):
        step(data[k:k + 4, :4], data[k:k + 4, 4])
    assert step.traces == 1


def test_parts_of_open_sizes_that_are_written_to():
    @st.compile
    def f(x, y):
        x += 1
        return y.sum()

    for n in range(3, 7):
        w = st.zeros(n)
        assert f(w, w[1:]).item() == n - 1 and w.tolist() == [1.0] * n
        assert f(st.zeros(n), st.ones(n - 1)).item() == n - 1


def test_what_a_whole_left_behind_is_shared_without_it():
    x = st.zeros(3, 4)
    turned, x = x.T, x.reshape(12)
    repeated = st.broadcast_to(x[:1], (3, 1))
    x[0] = 5
    assert turned[0, 0].item() == 5 and repeated.tolist() == [[5.0]] * 3
    turned[1] = 7
    assert x.tolist() == [5, 7, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0] and repeated.tolist() == [[5.0]] * 3


@pytest.mark.filterwarnings("ignore:f is compiled for each size")
def test_a_trace_that_failed_leaves_no_part_behind():
    def f(x, k, z):
        v = x[:round(len(x) * 0.7)]
        v[k] = 3
        return st.maximum(v, z)     # whose lengths meet at some sizes only

    g = st.compile(f)
    for n, k, m in ((4, [2, 1, 1], 3), (11, [7], 1), (4, [0], 3), (7, [1, 2], 1)):
        x, z = np.arange(n) % 5, np.full(m, 2)
        found, x = st.tensor(x), x.copy()
        y = g(found, st.tensor(k), st.tensor(z))
        v = x[:round(n * 0.7)]
        v[k] = 3
        np.testing.assert_array_equal(y.numpy(), np.maximum(v, z))
        np.testing.assert_array_equal(found.numpy(), x)


def test_a_part_that_a_failed_call_left_is_none_of_the_next():
    @st.compile
    def f(x, bad):
        v = x[:2]
        v += 1
        if bad:
            raise ValueError("not now")
        return x.sum()

    x = st.zeros(4)
    with pytest.raises(ValueError, match="not now") as error:      # whose frames keep the part
        f(x, True)
    assert f(x, False).item() == 2 and x.tolist() == [1.0, 1.0, 0.0, 0.0] and error.tb is not None
