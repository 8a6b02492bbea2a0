"""P22: secrets in messages are masked in pages, exports, logs and in what a summariser is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from kernel.jobs import queue
from kernel.models import Job
from teams.models import Project, Role
from teams.services import set_member
from tests.api.client import Api, LiveApi
from tests.core.providers.model_server import Answer, Asked, ModelServer, openai_answer
from tests.core.providers.test_secrets import SECRETS
from tests.product_processes import start_web, start_worker
from tests.proofs.crashes import sweep_until_finished
from tests.session_calls import compacted, opened, profiled, record, row_of, say, tool_turn, turns, user

TABS = ("composition", "timeline", "messages", "checkpoints", "turns", "scratch", "signals", "jobs")
# What gives a find away; of a private key its base64, of the others all of it.
CANARIES = [
    "MIIEowIBAAKCAQEA" if kind == "private_key" and "MIIE" in secret else secret.rpartition(" = ")[2]
    for kind, secret in SECRETS
]


def spoken(kind: str, secret: str) -> str:
    return f"postgres://{secret}@db/x" if kind == "url_password" else f'The value is: "{secret}", keep it.'


def leaks(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def session_with_secrets(api: Api, **fields: str) -> str:
    """Every secret once in a message of its own, some in texts that are shown elsewhere."""
    session = opened(api, task=spoken(*SECRETS[3]), goal=spoken(*SECRETS[0]), **fields)
    say(api, session, *(user(spoken(kind, secret)) for kind, secret in SECRETS))
    arguments = (
        '{"command": "export AWS_SECRET_ACCESS_KEY=\\\\"' + SECRETS[2][1].rpartition(" = ")[2] + '\\\\""}'
    )
    say(api, session, *tool_turn("c1", spoken(*SECRETS[4]), arguments=arguments))
    record(api, session, {"type": "dead_end", "description": spoken(*SECRETS[5])})
    api.post(f"{session}/memory", {"text": spoken(*SECRETS[6])})
    say(api, session, *turns(25))
    return session


@pytest.fixture
def model(settings: LazySettings, manage_key: str) -> Iterator[ModelServer]:
    server = ModelServer(lambda asked: openai_answer("They exchanged values and went on."))
    settings.SUMMARISER_URL, settings.SUMMARISER_MODEL = server.url, "gpt-4-32k"
    profiled(Api(key=manage_key), "by-model", "ratio-default", compaction={"summariser": "openai"})
    yield server
    server.stop()


@pytest.mark.django_db
def test_p22_a_summariser_is_sent_no_secret(api: Api, model: ModelServer) -> None:
    session = session_with_secrets(api, profile="by-model")
    compacted(api, session)
    say(api, session, *turns(30, first=30))
    compacted(api, session)
    sent = "\n".join(message["content"] for asked in model.asked for message in asked.body["messages"])
    assert leaks(sent) == []
    for kind in {kind for kind, _ in SECRETS}:
        assert f"[masked {kind}]" in sent


@pytest.mark.django_db
def test_p22_no_page_and_no_export_shows_a_secret(api: Api, project: Project) -> None:
    session = session_with_secrets(api)
    compacted(api, session)
    owner = User.objects.create_user(username="owner")
    set_member(team=project.team, user=owner, role=Role.OWNER, actor="test")
    browser = Client()
    browser.force_login(owner)
    addresses = [f"{session}?tab={tab}" for tab in TABS]
    addresses += [
        f"{session}?tab=composition&section={name}" for name in ("memory", "goal", "recent_messages")
    ]
    addresses += [f"{session}?tab=messages&before={seq}" for seq in (60, 40, 20)]
    addresses += [f"{session}?tab=checkpoints&checkpoint=1", f"{session}/diff?from=1&to=1"]
    addresses += [f"{session}/export", f"{session}/live", "/sessions", "/sessions?format=csv", "/jobs", "/"]
    shown = ""
    for address in addresses:
        answer = browser.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        text = (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()
        assert leaks(text) == [], address
        shown += text
    assert "[masked github_token]" in shown and "[masked card_number]" in shown


@pytest.mark.django_db(transaction=True)
def test_p22_logs_hold_no_secret_whatever_fails(
    api: Api, agent_key: str, manage_key: str, tmp_path: Path
) -> None:
    """The endpoint answers with the key that it was given, and with the text that it was sent."""

    def repeat(asked: Asked) -> Answer:
        said = asked.body["messages"][1]["content"][:5000]
        return Answer(status=401, body={"error": {"message": f"bad {asked.headers['authorization']} {said}"}})

    server = ModelServer(repeat)
    profiled(Api(key=manage_key), "by-model", "ratio-default", compaction={"summariser": "openai"})
    environment = {
        "CTXBUDGET_SUMMARISER_URL": server.url,
        "CTXBUDGET_SUMMARISER_MODEL": "gpt-4-32k",
        "CTXBUDGET_SUMMARISER_API_KEY": SECRETS[7][1],
        "CTXBUDGET_LOG_LEVEL": "DEBUG",
    }
    web, url = start_web(log=tmp_path / "web.log", **environment)
    worker = start_worker(log=tmp_path / "worker.log", fault="compact.commit.before:raise", **environment)
    try:
        session = session_with_secrets(LiveApi(url=url, key=agent_key), profile="by-model")
        LiveApi(url=url, key=agent_key).post(f"{session}/compact", {})
        jobs = Job.objects.filter(subject_id=row_of(session).pk, kind="compact_session")
        job = sweep_until_finished(str(jobs.get().pk))
    finally:
        web.kill()
        worker.kill()
        server.stop()
    assert (job.state, job.result["fallback"]) == (Job.State.DONE, "refused_request")
    assert queue.MAX_ATTEMPTS > job.attempt > 1
    for log in tmp_path.glob("*.log"):
        text = log.read_text(errors="replace")
        assert text
        assert leaks(text) == []
        assert agent_key not in text
    assert leaks(f"{job.error} {job.result} {job.progress}") == []
