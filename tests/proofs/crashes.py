"""What crash proofs share: a session to compact, a model that counts its calls, and the check for tears."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from budgets.models import LedgerEntry
from kernel.jobs import queue
from kernel.models import Job
from sessions.models import AgentSession, Checkpoint, Manifest, MemoryEntry, Message, Signal, Summary
from tests.api.client import Api
from tests.core.providers.model_server import ModelServer, openai_answer
from tests.product_processes import ProductProcess
from tests.session_calls import opened, profiled, row_of, say, turns

LEASE_SECONDS = "2"
PATIENCE_SECONDS = 60
SUMMARY = "They went through the modules and kept their formats."


@contextmanager
def counting_model() -> Iterator[ModelServer]:
    server = ModelServer(lambda asked: openai_answer(SUMMARY))
    yield server
    server.stop()


def model_environment(model: ModelServer) -> dict[str, str]:
    return {
        "CTXBUDGET_SUMMARISER_URL": model.url,
        "CTXBUDGET_SUMMARISER_MODEL": "gpt-4-32k",
        "CTXBUDGET_SUMMARISER_API_KEY": "test",
        "LEASE_SECONDS": LEASE_SECONDS,
    }


def session_to_compact(api: Api, manager: Api) -> str:
    profiled(manager, "by-model", "ratio-default", compaction={"summariser": "openai"})
    session = opened(api, profile="by-model")
    say(api, session, *turns(30))
    Job.objects.all().delete()
    return session


def wait_until(is_there: Callable[[], bool], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < deadline, f"waited {seconds} seconds for {what}"
        time.sleep(0.05)


def sweep_until_finished(job_id: str) -> Job:
    """What the sweeper does, over and over, until the job has ended."""

    def finished() -> bool:
        queue.send_due()
        return Job.objects.filter(pk=job_id).exclude(state__in=Job.OPEN).exists()

    wait_until(finished, f"the end of {job_id}")
    return Job.objects.get(pk=job_id)


def wait_for_fault(worker: ProductProcess, job_id: str, kind: str) -> None:
    """The fault has happened: the process is gone, stands still, or its job went back to the queue."""
    if kind == "kill":
        assert worker.process.wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL
    elif kind == "freeze":
        wait_until(lambda: _state_of(worker.pid) == "T", "the worker to freeze")
    else:
        wait_until(lambda: "InjectedFault" in worker.output(), "the worker to raise")


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]


def unfreeze(worker: ProductProcess) -> None:
    os.kill(worker.pid, signal.SIGCONT)


def tears(session: str) -> list[str]:
    """What is neither fully before nor fully after the one compaction; an empty list is a pass."""
    row = row_of(session)
    after = row.epoch == 1
    counts = {
        "summaries": Summary.objects.filter(session=row).count(),
        "manifests": Manifest.objects.filter(session=row).count(),
        "checkpoints": Checkpoint.objects.filter(session=row, reason="before compaction").count(),
        "signals": Signal.objects.filter(session=row, kind="COMPACTED").count(),
        "compactions": row.compactions,
        "finished jobs": Job.objects.filter(subject_id=row.pk, state=Job.State.DONE).count(),
    }
    found = [f"{count} {name} in epoch {row.epoch}" for name, count in counts.items() if count != int(after)]
    if row.epoch not in (0, 1):
        found.append(f"epoch {row.epoch}")
    if not after and MemoryEntry.objects.filter(session=row).exists():
        found.append("memory before the commit")
    if after != (row.manifest_id is not None) or after != (row.base_seq > 0):
        found.append("the session row does not match its epoch")
    if after and row.counted_tokens != _weight(row):
        found.append("the live view is weighed wrongly")
    return found


def _weight(row: AgentSession) -> int:
    """The live view, added up again from the rows themselves."""
    kept = Message.objects.filter(session=row, seq__gt=row.base_seq)
    anchors = Message.objects.filter(session=row, seq__in={row.first_user_seq, row.last_user_seq})
    seqs = {m.seq: m.counts[row.tokenizer] for m in (*kept, *anchors)}
    memory = MemoryEntry.objects.filter(session=row, superseded_at=None)
    texts = [*Summary.objects.filter(session=row), *memory]
    return sum(seqs.values()) + sum(text.counts[row.tokenizer] for text in texts)


def paid_calls(session: str) -> int:
    return LedgerEntry.objects.filter(session_id=row_of(session).pk, kind="summariser").count()
