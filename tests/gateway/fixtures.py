"""One gateway process for all tests of a run, a healthy upstream before each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from budgets.models import Hold, LedgerEntry
from kernel.models import Job
from kernel.tasks import run_job
from tests.gateway.processes import RunningGateway, start_gateway
from tests.gateway.upstream import Manner, Upstream


@pytest.fixture(scope="session")
def upstream_server() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def gateway_process(
    upstream_server: Upstream, django_db_setup: None, django_db_blocker: Any
) -> Iterator[RunningGateway]:
    with django_db_blocker.unblock():
        gateway = start_gateway(upstream_server.url)
    yield gateway
    gateway.process.stop()


@pytest.fixture
def upstream(upstream_server: Upstream) -> Upstream:
    """Healthy, and without memory of the tests before."""
    upstream_server.manner = Manner()
    upstream_server.input_tokens = lambda body: 25
    upstream_server.asked.clear()
    upstream_server.billed.clear()
    return upstream_server


@pytest.fixture
def gateway(
    gateway_process: RunningGateway, upstream: Upstream, transactional_db: None
) -> Iterator[RunningGateway]:
    yield gateway_process
    wait_for(lambda: not Hold.objects.filter(state=Hold.State.OPEN).exists())


@pytest.fixture
def openai_client(gateway: RunningGateway, agent_key: str) -> OpenAI:
    return OpenAI(base_url=f"{gateway.url}/gateway/openai/v1", api_key=agent_key, max_retries=0)


@pytest.fixture
def anthropic_client(gateway: RunningGateway, agent_key: str) -> Anthropic:
    return Anthropic(base_url=f"{gateway.url}/gateway/anthropic", api_key=agent_key, max_retries=0)


def wait_for(found: Callable[[], Any], seconds: float = 15) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def settled_holds(count: int = 1) -> list[Hold]:
    """All holds, once none is open; calls are settled just after their answer."""

    def found() -> list[Hold]:
        rows = list(Hold.objects.order_by("id"))
        done = len(rows) == count and all(hold.state != Hold.State.OPEN for hold in rows)
        return rows if done else []

    rows: list[Hold] = wait_for(found)
    return rows


def entry_of(hold: Hold) -> LedgerEntry:
    return LedgerEntry.objects.get(hold_id=hold.pk)


def run_recording() -> None:
    """Does the gateway's jobs here, as a worker would."""
    for job in Job.objects.filter(kind="gateway.call", state=Job.State.QUEUED).order_by("id"):
        run_job(job.pk)
        job.refresh_from_db()
        assert job.state == Job.State.DONE, job.error
