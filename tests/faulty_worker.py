"""A Celery worker that may die, raise or freeze at a named fault point, once.

FAULT is `<point>:<kill|raise|freeze>`; empty gives an ordinary worker. The solo pool runs jobs in the
worker's own process, so that killing it is killing the worker.
"""

from __future__ import annotations

import os
import signal

from ctxbudget_site.celery import app
from kernel.faults import FAULT_POINTS, set_fault_hook


class InjectedFault(Exception):
    """What a `raise` fault raises."""


def install_fault(described: str) -> None:
    point, _, kind = described.partition(":")
    if point not in FAULT_POINTS or kind not in ("kill", "raise", "freeze"):
        raise SystemExit(f"FAULT is <point>:<kill|raise|freeze>, not {described!r}.")

    def hook(reached: str) -> None:
        if reached != point:
            return
        set_fault_hook(None)
        if kind == "raise":
            raise InjectedFault(point)
        os.kill(os.getpid(), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)

    set_fault_hook(hook)


def main() -> None:
    if os.environ.get("FAULT"):
        install_fault(os.environ["FAULT"])
    options = [
        "--pool",
        "solo",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        "--loglevel",
        "INFO",
    ]
    app.worker_main(["worker", *options])


if __name__ == "__main__":
    main()
