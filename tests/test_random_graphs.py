"""Random programs mean what NumPy says in every style; those that once failed stay as files and are run again.

`python -m tests.long_random_graphs 50000` tries many more, and writes down what fails.
"""
from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import stele as st
from stele import ops
from tests.programs.alone import Seen, programs_of
from tests.programs.check import Failure, close
from tests.programs.grammar import FEATURES, random_program
from tests.programs.kinds import ALL
from tests.programs.oracle import Oracle, held
from tests.programs.program import Program, parse, show
from tests.programs.shrink import shrink, whole
from tests.programs.styles import STYLES, called, function_of
from tests.programs.worker import checked, styles_of

COUNTEREXAMPLES = sorted((Path(__file__).resolve().parent / "counterexamples").glob("*.txt"))
PROGRAMS, PARTS = 300, 6


def failures(tasks: list[dict[str, object]]) -> str:
    """What fails, in words; checked by one child process, which a crash or an endless compile ends alone."""
    return "\n".join(f"{task}: {failure}" for task, failure in checked(tasks, 1) if failure)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int) -> None:
    features = sorted(FEATURES)
    assert not failures([{"seed": seed, "features": features, "styles": styles_of(seed, 3)}
                         for seed in range(part, PROGRAMS, PARTS)])


def test_counterexamples() -> None:
    assert not failures([{"text": path.read_text(), "styles": [*STYLES, "passes"], "name": path.name}
                         for path in COUNTEREXAMPLES])


def test_programs_read_back() -> None:
    for seed in range(20):
        text = show(random_program(seed))
        assert show(parse(text)) == text


def test_kinds_of_programs_are_all_there() -> None:
    """All dtypes, loops in loops, gradients, open sizes, updates, aliases, the large and the empty,
    functions of NumPy on tensors, and its arrays beside them."""
    made = [random_program(seed) for seed in range(900)]
    arrays = [a for p in made for args in p.arguments for a in args]
    assert len({a.dtype.name for a in arrays}) == 15
    assert any(a.size > 10**6 for a in arrays) and any(a.size == 0 for a in arrays)
    assert any(np.isnan(a).any() for a in arrays if a.dtype == np.float32)
    assert sum(p.gradient for p in made) > 20 and sum(p.is_open for p in made) > 10
    assert sum(len(p.results) > 1 for p in made) > 50
    kinds = {s.kind for p in made for s in p.steps}
    assert kinds >= {"scan", "branch", "repeat_while", "setitem", "update", "alias"}
    assert kinds >= {"np.add", "np.concatenate", "operator.add"}
    assert any(isinstance(a, np.ndarray) for p in made for s in p.steps for a in s.args), "arrays beside tensors"
    held = [(s.kind, t.kind) for p in made for s in p.steps for b in s.bodies.values() for t in b.steps if t.bodies]
    assert len(set(held)) == 9, "each of loops and branches within each other"


UNDRAWN = {
    "Transfer": "numbers on another device: the style `away` moves them",
    "Watched": "what requires no gradients is not watched: the kind `seen` comes to it in the style `imperative`",
    **dict.fromkeys(("AllSum", "AllMax", "AllGather"), "what is mapped over them ends them: no graph holds one"),
}
"""Ops that no kind comes to, and why."""


RARE = {"topk": 20, "solve": 20, "convolution": 12, "conv2d": 6, "scatter": 20}
"""Kinds that come to some op in few of their programs."""


def test_every_kind_and_every_op_can_be_drawn() -> None:
    """Arguments for each kind are found, and what kinds and their gradients come to, before and after every pass, is
    every op there is: a new one wants a kind that draws it."""
    with Seen() as seen:
        for seed in range(30):
            called(st.compile(function_of(program := random_program(seed)), backend="reference"), program)
        for kind in ALL:
            programs = [*islice(programs_of(kind), RARE.get(kind.name, 3))]
            assert programs, f"{kind.name}: no arguments fit"
            for program in programs:
                called(st.compile(function_of(program), backend="reference"), program)
    assert sorted(set(ops.ALL) - seen.names) == sorted(UNDRAWN)


def test_wrong_numbers_are_found() -> None:
    """An array that is off in one element, in one bit of an integer, in its dtype, or in what is not finite."""
    x = np.array([1.0, 2.0, np.inf], np.float32)
    exact = held(x)
    close("same", exact, [exact.array], x, loose=False)
    for wrong in (x * np.float32(1 + 1e-6), np.array([1, 2, np.nan], "f4"), x.astype("f8"), x[:2]):
        with pytest.raises(AssertionError):
            close("wrong", exact, [exact.array], wrong, loose=False)
    whole = held(np.array([2**31, 1], np.int64))
    with pytest.raises(AssertionError):
        close("wrong", whole, [whole.array], np.array([2**31 + 1, 1]), loose=False)


def test_what_is_ill_conditioned_is_left_alone() -> None:
    text = "def program(x0):\n    v0 = subtract(x0, 1.0)\n    v1 = sqrt(x0)\n    v2 = subtract(v1, 1.0)\n" \
           "    v3 = divide(v0, v2)\n    v4 = floor(v3)\n    return (v4,)\ncall(array(float32, (1,), [1.0000001]))\n"
    program = parse(text)
    exact = Oracle().run(program, program.arguments[0])[0][0]
    others = [Oracle(np.random.default_rng(k)).run(program, program.arguments[0])[0][0].array for k in range(8)]
    assert len({float(o[0]) for o in others}) > 1
    close("any", exact, others, np.array([17.0], np.float32), loose=False)


def test_complex_numbers_become_plainer() -> None:
    assert whole(np.array([1.5 - 2.5j], np.complex64)).tolist() == [1 - 2j]


def test_failures_shrink() -> None:
    """A program of many steps becomes the one that matters, on as few elements as show it."""
    def fails(p: Program) -> bool: return any(s.kind == "softmax" for s in p.steps)

    program = next(p for p in map(random_program, range(1000)) if fails(p) and len(p.steps) > 4)
    small = shrink(program, fails)
    assert len(small.steps) == 1 and len(small.results) == 1 and small.arguments[0][0].size <= 2


def test_a_child_that_dies_is_a_failure() -> None:
    """A process that ends ends one check and no more."""
    good, bad = "def program(x0):\n    return (x0,)\ncall(array(float32, (1,), [1.0]))\n", "no program"
    found = {task["text"]: failure for task, failure in checked(
        [{"text": t, "styles": ["reference"]} for t in (good, bad, good)], 1)}
    assert isinstance(found[bad], Failure) and "exit status 1" in found[bad].sort and found[good] is None
