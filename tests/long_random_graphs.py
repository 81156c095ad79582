"""Many random graphs through every pass, or with `--backend cpu` as programs: `python -m tests.long_random_graphs`."""
from __future__ import annotations

import argparse
import time
import traceback

from tests.test_random_graphs import check, check_program


def main() -> int:
    """Checks seeds start..start+n; prints the seeds that fail and returns how many did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50_000, help="how many graphs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--backend", help="compile each graph for this backend; without it only the passes are checked")
    options = parser.parse_args()
    failed, begin = 0, time.perf_counter()
    for seed in range(options.start, options.start + options.n):
        try:
            check_program(seed, options.backend) if options.backend else check(seed)
        except Exception:
            failed += 1
            print(f"seed {seed} fails:\n{traceback.format_exc(limit=-3)}")
    print(f"{options.n} graphs from seed {options.start}: {failed} failed, {time.perf_counter() - begin:.0f} s")
    return failed


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
