"""Webhooks: what happened is told to a project's own servers, signed as Standard Webhooks, by jobs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from django.conf import settings
from django.db import transaction

from kernel.clock import read_now
from kernel.errors import FieldProblem, Invalid
from kernel.ids import new_id
from kernel.jobs import queue as jobs
from kernel.jobs.registry import ClaimedJob, DeadJob, JobFailed
from teams.addresses import AddressRefused, Target, public_target
from teams.models import Project, Webhook, WebhookDelivery
from teams.services import record_audit

DELIVER_JOB = "deliver_webhook"
JOB_DEAD = "JOB_DEAD"
TIMEOUT_SECONDS = 10.0
GONE = 410


def secret_of(webhook: Webhook) -> str:
    """Derived, not stored: nobody can read it out of the database."""
    subject = f"webhook:{webhook.pk}:{webhook.secret_version}".encode()
    digest = hmac.new(settings.SECRET_KEY.encode(), subject, hashlib.sha256).digest()
    return "whsec_" + base64.b64encode(digest).decode()


def signature(webhook: Webhook, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret_of(webhook).removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


@transaction.atomic
def register_webhook(*, project: Project, url: str, events: list[str], actor: str) -> Webhook:
    _refuse_bad_url(url)
    webhook = Webhook.objects.create(
        id=new_id("hook"), project=project, url=url, events=sorted(set(events)), created_at=read_now()
    )
    _audit(webhook, actor, "webhook.created", after=webhook_terms(webhook))
    return webhook


@transaction.atomic
def change_webhook(*, webhook: Webhook, changes: dict[str, Any], actor: str) -> Webhook:
    before = webhook_terms(webhook)
    if "url" in changes:
        _refuse_bad_url(changes["url"])
    for name, value in changes.items():
        setattr(webhook, name, value)
    webhook.version += 1
    webhook.save()
    _audit(webhook, actor, "webhook.changed", before=before, after=webhook_terms(webhook))
    return webhook


@transaction.atomic
def remove_webhook(*, webhook: Webhook, actor: str) -> None:
    _audit(webhook, actor, "webhook.removed", before=webhook_terms(webhook))
    webhook.delete()


def publish(*, project_id: str, kind: str, payload: dict[str, Any]) -> None:
    """Joins the caller's transaction: a message exists exactly when what it tells of was committed."""
    for webhook in Webhook.objects.of_project(project_id).filter(active=True):
        if not webhook.events or kind in webhook.events:
            _enqueue(webhook, kind, payload)


def publish_death(job: DeadJob) -> None:
    """A delivery that nobody takes is in the delivery log; telling of it would be one more."""
    if job.kind == DELIVER_JOB or not job.project_id:
        return
    told = {"job": job.id, "kind": job.kind, "subject": job.subject_id, "reason": job.reason}
    publish(project_id=job.project_id, kind=JOB_DEAD, payload=told)


@transaction.atomic
def send_test(webhook: Webhook) -> WebhookDelivery:
    return _enqueue(webhook, "TEST", {"message": "A test from ctxbudget."})


def _enqueue(webhook: Webhook, kind: str, payload: dict[str, Any]) -> WebhookDelivery:
    now = read_now()
    body = {"type": kind, "timestamp": now.isoformat().replace("+00:00", "Z"), "data": payload}
    delivery = WebhookDelivery.objects.create(
        id=new_id("msg"), webhook=webhook, kind=kind, body=json.dumps(body).encode(), created_at=now
    )
    jobs.enqueue(
        kind=DELIVER_JOB,
        dedupe_key=f"{DELIVER_JOB}:{delivery.pk}",
        project_id=webhook.project_id,
        subject_id=delivery.pk,
    )
    return delivery


def deliver(job: ClaimedJob) -> dict[str, Any]:
    """At least once, with one message id, so that receivers can drop repeats."""
    delivery = WebhookDelivery.objects.select_related("webhook").filter(pk=job.subject_id).first()
    if delivery is None or delivery.state == WebhookDelivery.State.DELIVERED:
        return {"delivered": delivery is not None}
    delivery.attempts += 1
    try:
        target = public_target(delivery.webhook.url)
        status = _post(target, delivery)
    except AddressRefused as refusal:
        _note(delivery, WebhookDelivery.State.FAILED, None, str(refusal))
        raise JobFailed(str(refusal), final=True) from None
    except httpx2.HTTPError as error:
        _retry(job, delivery, None, f"{type(error).__name__}: {error}")
    if status == GONE:
        Webhook.objects.filter(pk=delivery.webhook_id).update(active=False)
        _note(
            delivery,
            WebhookDelivery.State.FAILED,
            status,
            "The receiver is gone; the webhook was switched off.",
        )
        return {"delivered": False, "status": status}
    if not 200 <= status < 300:
        _retry(job, delivery, status, f"The receiver answered {status}.")
    _note(delivery, WebhookDelivery.State.DELIVERED, status, "")
    return {"delivered": True, "status": status}


def _post(target: Target, delivery: WebhookDelivery) -> int:
    """To the address that was checked, under the name that was given; redirects are not followed."""
    body = bytes(delivery.body)
    timestamp = int(read_now().timestamp())
    parts = urlsplit(target.url)
    address = f"[{target.address}]" if ":" in target.address else target.address
    url = urlunsplit((parts.scheme, f"{address}:{target.port}", parts.path or "/", parts.query, ""))
    headers = {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "User-Agent": "ctxbudget-webhooks/1",
        "webhook-id": delivery.pk,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(delivery.webhook, delivery.pk, timestamp, body),
    }
    with httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
        request = client.build_request(
            "POST", url, content=body, headers=headers, extensions={"sni_hostname": target.host}
        )
        with_stream = client.send(request, stream=True)
        with_stream.close()
    return int(with_stream.status_code)


def _retry(job: ClaimedJob, delivery: WebhookDelivery, status: int | None, reason: str) -> None:
    last = job.attempt % jobs.MAX_ATTEMPTS == 0
    _note(delivery, WebhookDelivery.State.FAILED if last else WebhookDelivery.State.WAITING, status, reason)
    raise JobFailed(reason)


def _note(delivery: WebhookDelivery, state: str, status: int | None, error: str) -> None:
    delivery.state, delivery.status_code, delivery.error = state, status, error[:500]
    delivery.finished_at = read_now() if state != WebhookDelivery.State.WAITING else None
    delivery.save()


def _refuse_bad_url(url: str) -> None:
    try:
        public_target(url)
    except AddressRefused as refusal:
        problem = FieldProblem(pointer="/url", detail=str(refusal))
        raise Invalid(str(refusal), code="address_refused", errors=(problem,)) from None


def webhook_terms(webhook: Webhook) -> dict[str, Any]:
    return {"url": webhook.url, "events": webhook.events, "active": webhook.active}


def _audit(webhook: Webhook, actor: str, action: str, *, before: Any = None, after: Any = None) -> None:
    record_audit(
        team_id=webhook.project.team_id,
        project_id=webhook.project_id,
        actor=actor,
        action=action,
        subject_id=webhook.pk,
        before=before,
        after=after,
    )
