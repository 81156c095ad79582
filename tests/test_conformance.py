"""PyTorch's samples of the ops that Stele spells: the first of each here, all in `python -m tests.long_conformance`."""
from __future__ import annotations

from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from tests.conformance.live import Source, live, spread
from tests.conformance.samples import Outcome, find, run, samples

FIRST = 2


def test_first_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of each variant of each op, in NumPy's hands: no wrong number, forward or gradient."""
    path = find()
    if path is None:
        pytest.skip("no opinfo.pkl; set STELE_SHARED_CONFORMANCE to the folder that holds it")
    monkeypatch.setenv("STELE_BACKEND", "reference")
    chosen = [s for _, group in groupby(samples(path), lambda s: (s["op"], s["variant"])) for s in list(group)[:FIRST]]
    outcomes = [(s["op"], s["variant"], s["i"], run(s)) for s in chosen]
    assert not [o for o in outcomes if o[3].verdict == "wrong"]
    assert sum(o[3].verdict == "passed" for o in outcomes) > 200


def test_live_samples_are_those_that_are_kept() -> None:
    """An installed PyTorch gives the kept samples again under their seed, and Stele is right about others."""
    if find_spec("torch") is None or find_spec("expecttest") is None:
        pytest.skip("no torch and expecttest; install both beside the project")
    for kind in ("sample", "reference"):
        made = [*live(Source(kind, "float64", 3, 4), ["add", "sum"])]
        assert len(made) == 8 and all(run(s).verdict == "passed" for s in made)
    if (path := find()) is not None:
        kept = [s for s in samples(path) if s["op"] == "add"]
        for own, other in zip(live(Source("sample", "float32", 0), ["add"]), kept, strict=True):
            assert own["out"][0].tobytes() == other["out"].tobytes()


def sample(op: str, *args: Any, out: Any, grads: Any = None, **more: Any) -> dict[str, Any]:
    ct = None if grads is None else [np.ones_like(out)]
    return {"op": op, "variant": "", "args": args, "kwargs": {}, "out": out, "ct": ct, "grads": grads,
            "diff": None if grads is None else [0], **more}


def verdict(op: str, *args: Any, out: Any, grads: Any = None, **more: Any) -> str:
    def array(x: Any) -> Any: return np.array(x, "f4")
    made = run(sample(op, *map(array, args), out=array(out), grads=grads and [array(g) for g in grads], **more))
    return f"{made.verdict} by convention" if made.verdict == "passed" and made.reason else made.verdict


def test_conventions_excuse_their_places_alone() -> None:
    nan, inf = np.nan, np.inf
    assert verdict("sign", [nan, -2.0], out=[0.0, -1.0]) == "passed by convention"
    assert verdict("sign", [nan, -2.0], out=[0.0, 1.0]) == "wrong"
    assert verdict("sinc", [inf, 0.0], out=[nan, 1.0]) == "passed by convention"
    assert verdict("sinc", [inf, 0.0], out=[nan, 2.0]) == "wrong"
    assert verdict("hypot", [0.0, 3.0], [0.0, 4.0], out=[0.0, 5.0], grads=[[nan, 0.6]]) == "passed by convention"
    assert verdict("hypot", [0.0, 3.0], [0.0, 4.0], out=[0.0, 5.0], grads=[[nan, 0.8]]) == "wrong"


def test_derivatives_at_what_is_no_number_are_left_out() -> None:
    assert verdict("abs", [np.nan, -2.0], out=[np.nan, 2.0], grads=[[0.0, -1.0]]) == "passed"
    assert verdict("abs", [np.nan, -2.0], out=[np.nan, 2.0], grads=[[0.0, 1.0]]) == "wrong"


def test_float64_of_pytorch_counts_where_its_float32_is_off() -> None:
    assert verdict("square", [3.0], out=[9.1]) == "wrong"
    assert verdict("square", [3.0], out=[9.1], wide={"out": (np.array([9.0]),), "grads": None}) == "passed"
    assert verdict("square", [3.0], out=[9.1], wide={"out": (np.array([8.0]),), "grads": None}) == "wrong"
    assert verdict("square", [3.0], out=[9.0], grads=[[5.0]],
                   wide={"out": (np.array([9.0]),), "grads": [np.array([6.0])]}) == "passed"


def test_samples_are_spread_over_all() -> None:
    assert [i for i, _ in spread([*range(10)], 4)] == [0, 2, 5, 7]
    assert [i for i, _ in spread([*range(3)], 4)] == [i for i, _ in spread([*range(3)], None)] == [0, 1, 2]
    assert spread([], 4) == [] and isinstance(run({"op": "no_such_op"}), Outcome)
