"""Many drawn calls beside NumPy in child processes: `python -m tests.long_numpy_calls 20000 --seed 0`.

A seed that is at fault makes the same call again; what is refused, and why, is counted in the end.
"""
from __future__ import annotations

from tests.children import Trials
from tests.numpy_calls import NOTED, call, fault


def named(seed: int) -> str:
    """The call of this number, in words."""
    return str(call(seed))


NUMPY_CALLS = Trials("tests.long_numpy_calls", "calls", call, fault, named, 1000, 8 << 30, 0.5, noted=NOTED)

if __name__ == "__main__":
    raise SystemExit(NUMPY_CALLS.main(__doc__, 20_000, "--seed"))
