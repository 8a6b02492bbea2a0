"""P1 through the gateway: the upstream's own bill never passes a cap, not even when the gateway is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import openai
import pytest
import tiktoken
from django.db.models import F
from openai import OpenAI

from budgets.models import Balance, Hold, LedgerEntry
from budgets.tokens.vocabularies import encoding
from kernel.models import Job
from kernel.tasks import run_job
from teams.models import ApiKey, Project
from tests.conftest import Clock
from tests.gateway.fixtures import (
    gateway,
    gateway_process,
    upstream,
    upstream_server,
    wait_for,
)
from tests.gateway.processes import RunningGateway, start_gateway
from tests.gateway.upstream import Manner, Upstream
from tests.money import CENT, books_balance, cap_on, spender_of
from tests.proofs.racing import FULL, race

__all__ = ["books_balance", "gateway", "gateway_process", "upstream", "upstream_server"]

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = 50
RUNS = 5 if FULL else 1
LIMIT = 5 * CENT
MODEL, INPUT_NANO, OUTPUT_NANO = "gpt-4o", 2_500, 10_000
# One stream costs 0.4 cents with its prompt: a dozen of fifty fit under five cents.
MAX_TOKENS = 400
PROMPT = "Tell me about the weather in Bern. " * 5


def prompt_tokens(body: dict[str, Any]) -> int:
    """As OpenAI documents it: three tokens a message, one for its role, three for the reply."""
    vocabulary: tiktoken.Encoding = encoding("o200k_base")
    words = sum(len(vocabulary.encode_ordinary(message["content"])) for message in body["messages"])
    return 3 + sum(4 for _ in body["messages"]) + words


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A session with a cap of five cents behind a gateway, before an upstream that bills by itself."""

    client: OpenAI
    session_id: str
    upstream: Upstream

    def stream(self, number: int) -> int:
        """The status that the caller sees: 0 when the connection broke."""
        try:
            list(
                self.client.chat.completions.create(
                    model=MODEL,
                    messages=[{"role": "user", "content": f"{number}: {PROMPT}"}],
                    max_tokens=MAX_TOKENS,
                    stream=True,
                    extra_headers={"X-Ctxbudget-Session": self.session_id},
                )
            )
        except openai.APIStatusError as refused:
            return refused.status_code
        except Exception:
            return 0
        return 200

    def stream_until_refused(self, number: int) -> int:
        """As an agent that comes back when it is told to."""
        deadline = time.monotonic() + 60
        while (status := self.stream(number)) not in (200, 402):
            assert time.monotonic() < deadline, f"still {status}"
            time.sleep(0.05)
        return status

    @property
    def bill_nano(self) -> int:
        return sum(
            tokens_in * INPUT_NANO + tokens_out * OUTPUT_NANO
            for tokens_in, tokens_out in self.upstream.billed
        )


def scene_of(gateway: RunningGateway, upstream: Upstream, project: Project, key: str) -> Scene:
    upstream.manner = Manner(words=[" word"] * 1000)
    upstream.input_tokens = prompt_tokens
    client = OpenAI(base_url=f"{gateway.url}/gateway/openai/v1", api_key=key, max_retries=0)
    name = {"X-Ctxbudget-Session": "ext:capped"}
    # The session must be there to be capped; a refused model opens it and costs nothing.
    upstream.manner.status, upstream.manner.error = 404, {"error": {"message": "no such model"}}
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Hi"}], extra_headers=name
        )
    upstream.manner.status = 200
    hold = wait_for(lambda: Hold.objects.filter(state=Hold.State.VOIDED).first())
    key_id = ApiKey.objects.get(prefix=key[:13]).pk
    cap_on(spender_of(project, session=hold.session_id, key=key_id, model=MODEL), "session", LIMIT)
    return Scene(client=client, session_id=hold.session_id, upstream=upstream)


@pytest.fixture
def scene(gateway: RunningGateway, upstream: Upstream, project: Project, agent_key: str) -> Scene:
    return scene_of(gateway, upstream, project, agent_key)


def overshoot_nano() -> int:
    rows = Balance.objects.annotate(over=F("settled_nano") + F("reserved_nano") - F("limit_nano"))
    return sum(rows.filter(over__gt=0).values_list("over", flat=True))


def nothing_is_open() -> bool:
    reserved = Balance.objects.filter(reserved_nano__gt=0).exists()
    return not reserved and not Hold.objects.filter(state=Hold.State.OPEN).exists()


@pytest.mark.parametrize("run", range(RUNS))
def test_fifty_streams_stay_under_a_cap_of_five_cents(scene: Scene, run: int) -> None:
    statuses = race(STREAMS, scene.stream_until_refused)
    wait_for(nothing_is_open)
    assert overshoot_nano() == 0
    assert scene.bill_nano <= LIMIT
    assert set(statuses) == {200, 402}
    # The cap is used, not merely kept: no further stream would have fitted.
    assert LIMIT - scene.bill_nano < MAX_TOKENS * OUTPUT_NANO + 100 * INPUT_NANO
    entries = LedgerEntry.objects.filter(session_id=scene.session_id)
    assert sum(entry.cost_nano or 0 for entry in entries) == scene.bill_nano


@pytest.fixture
def doomed_gateway(upstream: Upstream, transactional_db: None) -> Iterator[RunningGateway]:
    """A gateway of its own, to be killed."""
    running = start_gateway(upstream.url)
    yield running
    running.process.kill()


@pytest.mark.parametrize("run", range(RUNS))
def test_the_same_while_the_gateway_is_killed_and_restarted(
    doomed_gateway: RunningGateway,
    upstream: Upstream,
    project: Project,
    agent_key: str,
    clock: Clock,
    run: int,
) -> None:
    scene = scene_of(doomed_gateway, upstream, project, agent_key)
    upstream.manner.piece_s = 0.005
    upstream.manner.words = upstream.manner.words[:200]

    def stream_and_be_cut_off(number: int) -> int:
        if number == STREAMS:
            wait_for(lambda: len(upstream.billed) >= 8)
            doomed_gateway.process.kill()
            return -1
        return scene.stream(number)

    statuses = race(STREAMS + 1, stream_and_be_cut_off)
    assert 0 in statuses
    assert Hold.objects.filter(state=Hold.State.OPEN).exists()
    doomed_gateway.restart()
    # What the dead gateway holds is still reserved: newcomers are told to wait, or find room beside it.
    assert set(race(STREAMS, scene.stream)) <= {200, 402, 429}
    assert overshoot_nano() == 0
    _close_orphans(clock)
    race(STREAMS, scene.stream_until_refused)
    wait_for(nothing_is_open)
    assert overshoot_nano() == 0
    assert scene.bill_nano <= LIMIT
    assert LedgerEntry.objects.filter(source="estimated").exists()


def _close_orphans(clock: Clock) -> None:
    """The leases of the dead gateway end, and a worker takes its calls over."""
    wait_for(lambda: Hold.objects.filter(state=Hold.State.OPEN).count() == len(_orphans()))
    clock.advance(seconds=60)
    for job_id in _orphans():
        run_job(job_id)
    clock.advance(seconds=-60)
    assert nothing_is_open()


def _orphans() -> list[str]:
    return list(Job.objects.filter(kind="gateway.call", state=Job.State.RUNNING).values_list("pk", flat=True))


def test_the_proof_catches_a_gateway_that_forgets_the_output(
    upstream: Upstream, project: Project, agent_key: str, transactional_db: None
) -> None:
    mutant = start_gateway(upstream.url, application="tests.gateway.mutants:forgets_the_output")
    try:
        scene = scene_of(mutant, upstream, project, agent_key)
        race(STREAMS, scene.stream)
        wait_for(nothing_is_open)
        assert scene.bill_nano > LIMIT
        assert overshoot_nano() > 0
    finally:
        mutant.process.stop()
