"""The worker's side of `workloads.py`: makes a step, times it when asked."""
from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

Step = Callable[[], object]


def serve(make: Callable[[str, str, int], Step]) -> None:
    """Reads commands from standard input: `first`, `run N`, `memory`; each answer is one line of JSON."""
    workload, mode, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    out, sys.stdout = sys.stdout, sys.stderr
    step = make(workload, mode, threads)
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "first":
            answer: dict[str, object] = {"seconds": timed(step)}
        elif command == "run":
            answer = {"ms": [timed(step) * 1e3 for _ in range(int(rest[0]))]}
        else:
            answer = {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        print(json.dumps(answer), file=out, flush=True)


def timed(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
