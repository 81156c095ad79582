"""Random numbers: a counter that every style carries along."""
from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest

import stele as st
from stele.arrays.random import GENERATOR


def test_a_seed_starts_the_same_stream() -> None:
    st.manual_seed(7)
    first = [st.rand(5).tolist(), st.randn(5).tolist(), st.randint(0, 9, (5,)).tolist()]
    st.manual_seed(7)
    assert first == [st.rand(5).tolist(), st.randn(5).tolist(), st.randint(0, 9, (5,)).tolist()]
    st.manual_seed(8)
    assert first[0] != st.rand(5).tolist()


def test_the_first_draw_of_a_process_may_be_traced() -> None:
    """What a module makes as it is loaded belongs to no trace."""
    text = """
import stele as st
f = st.compile(lambda: st.rand(3))
print([f().tolist(), f().tolist(), st.rand(3).tolist()])"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert not said.stderr
    st.manual_seed(0)
    assert ast.literal_eval(said.stdout) == [st.rand(3).tolist() for _ in range(3)]


def test_a_state_goes_back_to_where_it_was_taken() -> None:
    for g in (st.default_generator, st.default_rng(3)):
        draw = st.compile(lambda g=g: g.normal(size=2))
        for f in (lambda g=g: g.normal(size=2), draw):
            g.random()
            state = g.state_dict()
            first = f().tolist(), f().tolist()
            g.load_state_dict(state)
            assert (f().tolist(), f().tolist()) == first
            g.load_state_dict(state)
            assert f().tolist() == first[0]


def test_every_draw_moves_the_counter_by_one() -> None:
    st.manual_seed((3 << 32) + 5)
    st.rand(2)
    st.rand(1000)
    assert GENERATOR.state.tolist() == [5, 3, 2, 0]


def test_a_tensor_drawn_first_may_be_looked_at_last() -> None:
    st.manual_seed(1)
    a, b = st.rand(3), st.rand(3)
    late = b.tolist(), a.tolist()
    st.manual_seed(1)
    a, b = st.rand(3).tolist(), st.rand(3).tolist()
    assert late == (b, a)


def test_distributions() -> None:
    st.manual_seed(0)
    u, n = st.rand(20000).numpy(), st.randn(20000).numpy()
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    assert abs(n.mean()) < 0.03 and abs(n.std() - 1) < 0.03
    assert set(np.unique(st.randint(2, 5, (1000,)).numpy())) == {2, 3, 4}
    assert abs(st.bernoulli(0.3, (20000,)).float().numpy().mean() - 0.3) < 0.02


@pytest.mark.parametrize("name, digits", [("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)])
def test_no_uniform_number_is_rounded_to_1(name: str, digits: int) -> None:
    for draw in (st.rand, st.compile(st.rand)):
        st.manual_seed(0)
        x = draw(200_000, dtype=name).numpy().astype(np.float64)
        assert x.min() >= 0 and x.max() < 1 and abs(x.mean() - 0.5) < 0.01
        assert (x * 2**digits == np.floor(x * 2**digits)).all() and len(np.unique(x)) > min(2**digits, 100_000) * 0.99


def test_masks_of_compiled_steps_differ_and_equal_the_imperative_ones() -> None:
    draw = lambda: st.dropout(st.ones(100), 0.5)
    compiled = st.compile(draw)
    st.manual_seed(4)
    plain = [draw().tolist() for _ in range(3)]
    st.manual_seed(4)
    assert [compiled().tolist() for _ in range(3)] == plain
    assert plain[0] != plain[1]
    assert compiled.compiles == 1


def test_dropout_scales_what_it_keeps() -> None:
    st.manual_seed(0)
    y = st.dropout(st.ones(10000), 0.25).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    assert abs(y.mean() - 1) < 0.03
    assert st.dropout(st.ones(3), 0.5, training=False).tolist() == [1, 1, 1]


def test_a_seed_has_64_bits() -> None:
    with pytest.raises(ValueError, match="seed"):
        st.manual_seed(-1)
