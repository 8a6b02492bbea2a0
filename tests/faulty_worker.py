"""A Celery worker that may die, raise or freeze at a named fault point, once.

FAULT is `<point>:<kill|raise|freeze>`; empty gives an ordinary worker. LEASE_SECONDS shortens the lease, so
that proofs do not wait a minute for it. MUTANT breaks the product on purpose, for proofs to catch. The solo
pool runs jobs in the worker's own process, so that killing it is killing the worker.
"""

from __future__ import annotations

import os
import signal
from datetime import timedelta

import django

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


def shorten_lease(seconds: float) -> None:
    from kernel import tasks
    from kernel.jobs import queue

    queue.LEASE = timedelta(seconds=seconds)
    tasks._HEARTBEAT_SECONDS = seconds / 4


def commit_without_a_transaction() -> None:
    from sessions.services import compaction

    compaction._commit = compaction._commit.__wrapped__  # type: ignore[attr-defined]


def forget_the_fence() -> None:
    from kernel.jobs import queue
    from kernel.models import Job

    queue.held = lambda job: Job.objects.filter(pk=job.id)


MUTANTS = {"no-transaction": commit_without_a_transaction, "no-fence": forget_the_fence}


def main() -> None:
    django.setup()
    if os.environ.get("FAULT"):
        install_fault(os.environ["FAULT"])
    if os.environ.get("LEASE_SECONDS"):
        shorten_lease(float(os.environ["LEASE_SECONDS"]))
    if os.environ.get("MUTANT"):
        MUTANTS[os.environ["MUTANT"]]()
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
