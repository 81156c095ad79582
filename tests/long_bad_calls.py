"""Many bad calls in child processes under limits of memory and time: `python -m tests.long_bad_calls 100000`."""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # as the unit tests see their neighbours

from bad_calls import call, fault

from tests.children import Trials

BAD_CALLS = Trials("tests.long_bad_calls", "calls", call, fault, lambda seed: f"{call(seed)}", 2500, 8 << 30, 0.5)

if __name__ == "__main__":
    raise SystemExit(BAD_CALLS.main(__doc__, 100_000, "--start"))
