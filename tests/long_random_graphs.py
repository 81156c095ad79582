"""Many random graphs through every pass, or with `--backend cpu` as programs: `python -m tests.long_random_graphs`."""
from __future__ import annotations

import argparse
import time
import traceback

from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.pipeline import Options, build
from tests.random_graphs import random_graph
from tests.test_random_graphs import assert_close, check


def check_program(seed: int, backend: str) -> None:
    """One random graph: its program gives what the reference gives."""
    graph, args = random_graph(seed, reference.run)
    program = build(graph, options=Options(backend=backend))
    results = program([Buffer.of(a) for a in args], {})
    for y, expected in zip(results, reference.run(graph, args), strict=True):
        assert_close(y.array, expected, seed)


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
