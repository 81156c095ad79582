"""Many random graphs through every pass: `python -m tests.long_random_graphs --n 50000 --start 0`."""
from __future__ import annotations

import argparse
import time
import traceback

from tests.test_random_graphs import check


def main() -> int:
    """Checks seeds start..start+n; prints the seeds that fail and returns how many did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50_000, help="how many graphs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    failed, begin = 0, time.perf_counter()
    for seed in range(options.start, options.start + options.n):
        try:
            check(seed)
        except Exception:
            failed += 1
            print(f"seed {seed} fails:\n{traceback.format_exc(limit=-3)}")
    print(f"{options.n} graphs from seed {options.start}: {failed} failed, {time.perf_counter() - begin:.0f} s")
    return failed


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
