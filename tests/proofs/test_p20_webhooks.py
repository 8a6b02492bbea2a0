"""P20: webhooks reach public addresses only, by the resolved address; signed, retried, not redirected."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from kernel.models import Job
from kernel.tasks import run_job
from teams import webhooks
from teams.models import Project, Webhook, WebhookDelivery
from tests.conftest import Clock

pytestmark = pytest.mark.django_db


@dataclass
class Receiver:
    """A real HTTP server that remembers what it got and answers as it is told."""

    url: str
    statuses: list[int]
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = made.statuses.pop(0) if made.statuses else 200
            self.send_response(status)
            if status == 302:
                self.send_header("Location", made.url)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Receiver(url=f"http://127.0.0.1:{server.server_port}/hook", statuses=[])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def hook(project: Project, receiver: Receiver, settings: Settings) -> Webhook:
    settings.ALLOW_PRIVATE_ADDRESSES = True
    return webhooks.register_webhook(project=project, url=receiver.url, events=[], actor="system")


def run_open_jobs() -> None:
    for job_id in Job.objects.filter(state=Job.State.QUEUED).values_list("pk", flat=True):
        run_job(job_id)


def test_a_delivery_is_signed_as_standard_webhooks_say(hook: Webhook, receiver: Receiver) -> None:
    webhooks.publish(project_id=hook.project_id, kind="COMPACTED", payload={"session": "sess_1"})
    run_open_jobs()
    headers, body = receiver.got[0]
    key = base64.b64decode(webhooks.secret_of(hook).removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert WebhookDelivery.objects.get().state == "delivered"


def test_a_failed_delivery_is_retried_with_the_same_id(
    hook: Webhook, receiver: Receiver, clock: Clock
) -> None:
    receiver.statuses[:] = [500, 503]
    webhooks.send_test(hook)
    for _ in range(3):
        run_open_jobs()
        clock.advance(minutes=1)
    ids = {headers["webhook-id"] for headers, _ in receiver.got}
    assert (len(receiver.got), len(ids)) == (3, 1)
    assert WebhookDelivery.objects.get().state == "delivered"


def test_it_gives_up_after_five_attempts(hook: Webhook, receiver: Receiver, clock: Clock) -> None:
    receiver.statuses[:] = [500] * 9
    webhooks.send_test(hook)
    for _ in range(8):
        run_open_jobs()
        clock.advance(minutes=5)
    assert len(receiver.got) == 5
    assert WebhookDelivery.objects.get().state == "failed"
    assert Job.objects.get().state == Job.State.DEAD


def test_a_redirect_is_not_followed(hook: Webhook, receiver: Receiver) -> None:
    receiver.statuses[:] = [302]
    webhooks.send_test(hook)
    run_open_jobs()
    assert len(receiver.got) == 1
    assert WebhookDelivery.objects.get().status_code == 302


def test_a_receiver_that_is_gone_switches_the_webhook_off(hook: Webhook, receiver: Receiver) -> None:
    receiver.statuses[:] = [410]
    webhooks.send_test(hook)
    run_open_jobs()
    hook.refresh_from_db()
    assert not hook.active


def test_a_name_that_turns_private_later_is_not_called(
    hook: Webhook, receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: registered while public, resolved to loopback when the message goes out."""
    settings.ALLOW_PRIVATE_ADDRESSES = False
    port = int(receiver.url.rpartition(":")[2].partition("/")[0])
    Webhook.objects.filter(pk=hook.pk).update(url=f"https://hooks.example.org:{port}/hook")
    here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: here)
    hook.refresh_from_db()
    webhooks.send_test(hook)
    run_open_jobs()
    assert receiver.got == []
    assert "not a public address" in WebhookDelivery.objects.get().error
    assert Job.objects.get().state == Job.State.DEAD


def test_only_the_chosen_kinds_are_told(hook: Webhook, receiver: Receiver) -> None:
    webhooks.change_webhook(webhook=hook, changes={"events": ["COST_LIMIT"]}, actor="system")
    webhooks.publish(project_id=hook.project_id, kind="COMPACTED", payload={})
    webhooks.publish(project_id=hook.project_id, kind="COST_LIMIT", payload={})
    assert [row.kind for row in WebhookDelivery.objects.all()] == ["COST_LIMIT"]
