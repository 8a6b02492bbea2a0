"""P28: Redis may be flushed, killed or cut off: answers come later, and nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from kernel.models import Job
from tests import services_processes
from tests.api.client import LiveApi
from tests.product_processes import ProductProcess, child_environment, start_web, start_worker
from tests.proofs.crashes import tears, wait_until
from tests.services_processes import Service, start_redis
from tests.session_calls import opened, record, row_of, say, turns, user

# What a request may take while Redis is silent: one attempt to send, at its time-outs.
SLOW_SECONDS = 8
pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(slots=True)
class Cluster:
    """Web server, worker and sweeper with a Redis of their own."""

    folder: Path
    port: int
    redis: Service
    api: LiveApi
    runs: int = 0

    def flush(self) -> None:
        redis.Redis(port=self.port).flushall()

    def kill(self) -> None:
        self.redis.process.kill()
        self.redis.process.wait()

    def start_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs += 1
        monkeypatch.setattr(services_processes, "free_port", lambda: self.port)
        self.redis = start_redis(self.folder / str(self.runs))

    def cut_off(self) -> None:
        os.kill(self.redis.process.pid, signal.SIGSTOP)

    def reconnect(self) -> None:
        os.kill(self.redis.process.pid, signal.SIGCONT)


@pytest.fixture
def cluster(agent_key: str, tmp_path: Path, transactional_db: None) -> Iterator[Cluster]:
    server = start_redis(tmp_path / "redis")
    environment = {"CTXBUDGET_REDIS_URL": f"{server.url}/0", "LEASE_SECONDS": "2"}
    web, url = start_web(log=tmp_path / "web.log", **environment)
    worker = start_worker(log=tmp_path / "worker.log", **environment)
    sweeper = ProductProcess(
        [sys.executable, "manage.py", "sweeper", "--interval", "0.5"],
        log=tmp_path / "sweeper.log",
        env=child_environment(**environment),
    )
    found = Cluster(
        folder=tmp_path / "again",
        port=int(server.url.rpartition(":")[2]),
        redis=server,
        api=LiveApi(url=url, key=agent_key),
    )
    found.folder.mkdir()
    yield found
    for process in (sweeper, worker, web):
        process.kill()
    found.redis.process.send_signal(signal.SIGCONT)
    found.redis.process.kill()
    found.redis.process.wait()


def compacting(cluster: Cluster) -> tuple[str, float]:
    """A session whose compaction is asked for now, and how long the asking took."""
    session = opened(cluster.api)
    say(cluster.api, session, *turns(20))
    started = time.monotonic()
    answer = cluster.api.post(f"{session}/compact", {})
    assert answer.status_code == 202, answer.content
    return session, time.monotonic() - started


def wait_for_end(session: str) -> None:
    jobs = Job.objects.filter(subject_id=row_of(session).pk, kind="compact_session")
    wait_until(lambda: not jobs.filter(state__in=Job.OPEN).exists(), "the compaction to end")
    assert [job.state for job in jobs] == [Job.State.DONE]
    assert tears(session) == []


def test_p28_redis_may_be_flushed_killed_or_cut_off(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other on one installation: starting it takes longer than the proof."""
    flushed = []
    for _ in range(3):
        flushed.append(compacting(cluster)[0])
        cluster.flush()
    for session in flushed:
        wait_for_end(session)

    cluster.kill()
    session, seconds = compacting(cluster)
    assert seconds < SLOW_SECONDS
    record(cluster.api, session, {"event_id": "e1", "type": "message", "message": user("still here")})
    assert row_of(session).head_seq == 41
    cluster.start_again(monkeypatch)
    wait_for_end(session)

    cluster.cut_off()
    session, seconds = compacting(cluster)
    assert seconds < SLOW_SECONDS
    assert cluster.api.get(f"{session}/budget").status_code == 200
    cluster.reconnect()
    wait_for_end(session)
