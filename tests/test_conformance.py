"""PyTorch's samples of the ops that Stele spells: the first of each here, all in `python -m tests.long_conformance`."""
from __future__ import annotations

from itertools import groupby

import pytest

from tests.conformance.samples import find, run, samples

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
