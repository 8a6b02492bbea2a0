"""How benchmarks measure: CPU time of the best of several runs, because wall time here is noisy."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], *, times: int, runs: int = 5) -> float:
    """CPU seconds of one call, from the best of `runs` runs of `times` calls each."""
    best = float("inf")
    for _ in range(runs):
        started = time.process_time()
        for _ in range(times):
            work()
        best = min(best, time.process_time() - started)
    return best / times
