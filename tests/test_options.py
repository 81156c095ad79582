"""What is asked for and cannot be had, or happens without a word, is said: options, random numbers, float64."""
from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DTypeError, OptionError, TraceError


@pytest.mark.parametrize("option, value, meant", [
    ("precision", "BF16", "'bf16'"), ("precision", "fp16", "'bf16'"), ("precision", "strickt", "'strict'"),
    ("precision", "blah", None), ("precision", None, None), ("without", "typo", None),
    ("without", {"simplfy"}, "'simplify'"), ("without", ["share", "stabelize"], "'stabilize'"),
    ("backend", "cuda", None), ("backend", "refrence", "'reference'"),
])
def test_options_that_there_are_not_are_refused(option: str, value: Any, meant: str | None) -> None:
    x = st.placeholder((2,))
    for make in (lambda: st.compile(lambda x: x, **{option: value}), lambda: st.function([x], x, **{option: value})):
        with pytest.raises(OptionError, match=f"Did you mean {meant}" if meant else option):
            make()


def test_names_of_options_are_checked() -> None:
    x = st.placeholder((2,))
    for make in (lambda: st.compile(precison="bf16"), lambda: st.function([x], x, precison="bf16")):
        with pytest.raises(ArgumentError, match="Did you mean 'precision'"):
            make()
    with pytest.raises(OptionError, match="Did you mean 'host-sync'"):
        st.lint(lambda x: x, st.zeros(2), without=["hostsync"])


@pytest.mark.parametrize("dims", [3, "x", {"x": 0}, {"x": {0: 3}}, {"x": {"a": "n"}}, {3: {0: "n"}}], ids=str)
def test_dims_are_checked(dims: Any) -> None:
    with pytest.raises(ArgumentError, match="dims"):
        st.compile(lambda x: x, dims=dims)


def test_compile_takes_functions_and_leaves_out_one_pass_or_several() -> None:
    with pytest.raises(ArgumentError, match="a function"):
        st.compile(3)
    for without in ("simplify", {"simplify", "merge"}, ()):
        assert st.compile(lambda x: x + 1, without=without)(st.ones(2)).tolist() == [2, 2]


def run(code: str) -> str:
    """What a program prints."""
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.mark.parametrize("draw", ["np.random.rand()", "np.random.randn(312)[0]", "random.random()"])
def test_the_first_use_of_random_numbers_is_refused_as_any_other(draw: str) -> None:
    shown = run(f"""
        import sys, numpy as np, stele as st
        @st.compile
        def f(x):
            import random
            return x * float({draw})
        for k in range(2):
            try: f(st.ones(3)); print("frozen")
            except st.errors.TraceError as error: print("refused:", error)
        print(st.compile(lambda x: x * 2)(st.ones(1)).tolist(), np.random.rand(2).shape)
    """)
    assert shown.count("refused:") == 2 and "frozen" not in shown and "[2.0] (2,)" in shown


def test_a_generator_made_inside_is_noted() -> None:
    with pytest.warns(UserWarning, match="drawn once, and every call repeats them"):
        st.compile(lambda x: x * np.random.default_rng().random())(st.ones(3))


def test_a_float64_batch_in_a_float32_network_is_said_once_at_the_line() -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), np.ones((2, 3))
    step = st.compile(model)
    for call in (lambda x: model(x), lambda x: step(x)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            made = [call(x) for _ in range(3)]
        assert all(y.dtype == st.float64 for y in made)
        assert {w.filename for w in caught} == {__file__} and len(caught) == 1
        assert "float32 meets float64" in str(caught[0].message) and ".astype('float32')" in str(caught[0].message)


def test_what_is_meant_is_not_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (st.ones(2, 3) @ st.ones(3, dtype="float16").float()).dtype == st.float32
        assert (st.ones(2, 3).double() @ np.ones(3)).dtype == st.float64
        assert st.grad(lambda w: (np.ones((2, 3)) @ w.double()).sum())(st.ones(3)).dtype == st.float32


OWN = {"a RandomState": (np.random.RandomState(0), "random_sample"), "a Random": (random.Random(0), "random"),
       "a Generator": (np.random.default_rng(0), "random")}


@pytest.mark.parametrize("name", OWN)
def test_random_numbers_of_ones_own_generator_are_refused(name: str) -> None:
    generator, method = OWN[name]
    with pytest.raises(TraceError, match="generator was used inside of a compiled function"):
        st.compile(lambda x: x * getattr(generator, method)())(st.ones(3))
    with pytest.raises(TraceError, match=r"st\.rand"):
        st.compile(lambda x: x * (generator.random_sample() if "State" in name else generator.random()))(st.ones(3))


@pytest.mark.parametrize("ends, dtype, number", [
    ((-3, 3), "uint8", "-3"), ((250, 300), "uint8", "299"), ((200,), "int8", "199"), ((-3.0, 3.0), "uint16", "-3"),
    ((3, -3, -1), "uint64", "-2")])
def test_lines_that_a_dtype_does_not_hold_are_refused(ends: tuple[float, ...], dtype: str, number: str) -> None:
    with pytest.raises(DTypeError, match=rf"{number}(\.0)? does not fit in {dtype}"):
        st.arange(*ends, dtype=dtype)
    assert st.arange(250, 256, dtype="uint8").tolist() == [*range(250, 256)]
    assert st.arange(3, 0, dtype="uint8").shape == (0,)
