"""The webhooks of a project."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Router
from pydantic import Field

from kernel.errors import NotFound
from kernel.http.idempotency import idempotent
from kernel.http.replies import decode_cursor, page_of, reply, reply_cached
from kernel.http.requests import require_match
from kernel.http.schemas import Cursor, Flag, Limit, Name, StrictSchema, Text
from teams import webhooks
from teams.auth import ApiRequest
from teams.models import Project, Webhook, WebhookDelivery

router = Router(tags=["Webhooks"])


class WebhookIn(StrictSchema):
    url: Text
    events: list[Name] = Field([], max_length=50, description="Kinds of signals; empty means all.")


class WebhookPatch(StrictSchema):
    url: Text | None = None
    events: list[Name] | None = Field(None, max_length=50)
    active: Flag | None = None


@router.get("/webhooks", response=dict[str, Any])
def list_webhooks(request: ApiRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    request.auth.require("manage")
    rows = Webhook.objects.of_project(request.auth.project_id).order_by("id")
    after = decode_cursor(cursor)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=webhook_json)
    return reply_cached(request, page)


@router.post("/webhooks", response={201: dict[str, Any]})
@idempotent
def create_webhook(request: ApiRequest, payload: WebhookIn) -> HttpResponse:
    """Registers an address; the signing secret is in this answer."""
    request.auth.require("manage")
    webhook = webhooks.register_webhook(
        project=Project.objects.get(pk=request.auth.project_id),
        url=payload.url,
        events=payload.events,
        actor=request.auth.actor,
    )
    shown = {**webhook_json(webhook), "secret": webhooks.secret_of(webhook)}
    return reply(shown, status=201, etag=webhook.etag)


@router.get("/webhooks/{webhook_id}", response=dict[str, Any])
def get_webhook(request: ApiRequest, webhook_id: str) -> HttpResponse:
    webhook = _find(request, webhook_id)
    return reply(webhook_json(webhook), etag=webhook.etag)


@router.patch("/webhooks/{webhook_id}", response=dict[str, Any])
@idempotent
def change_webhook(request: ApiRequest, webhook_id: str, payload: WebhookPatch) -> HttpResponse:
    webhook = _find(request, webhook_id)
    require_match(request, webhook.etag)
    changes = {name: value for name, value in payload.dict().items() if value is not None}
    webhooks.change_webhook(webhook=webhook, changes=changes, actor=request.auth.actor)
    return reply(webhook_json(webhook), etag=webhook.etag)


@router.delete("/webhooks/{webhook_id}", response={204: None})
@idempotent
def remove_webhook(request: ApiRequest, webhook_id: str) -> HttpResponse:
    webhooks.remove_webhook(webhook=_find(request, webhook_id), actor=request.auth.actor)
    return HttpResponse(status=204)


@router.post("/webhooks/{webhook_id}/test", response={202: dict[str, Any]})
@idempotent
def test_webhook(request: ApiRequest, webhook_id: str) -> HttpResponse:
    """Sends a signed test message through the same path as every other."""
    return reply(delivery_json(webhooks.send_test(_find(request, webhook_id))), status=202)


@router.get("/webhooks/{webhook_id}/deliveries", response=dict[str, Any])
def list_deliveries(request: ApiRequest, webhook_id: str, limit: Limit, cursor: Cursor) -> HttpResponse:
    rows = WebhookDelivery.objects.filter(webhook=_find(request, webhook_id)).order_by("-id")
    after = decode_cursor(cursor)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    page = page_of(list(rows[: limit + 1]), limit=limit, key=lambda row: row.pk, shape=delivery_json)
    return reply_cached(request, page)


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    return {"id": webhook.pk, **webhooks.webhook_terms(webhook)}


def delivery_json(delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": delivery.pk,
        "kind": delivery.kind,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "status_code": delivery.status_code,
        "error": delivery.error or None,
        "created_at": delivery.created_at.isoformat().replace("+00:00", "Z"),
    }


def _find(request: ApiRequest, webhook_id: str) -> Webhook:
    request.auth.require("manage")
    webhook = Webhook.objects.of_project(request.auth.project_id).filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound()
    return webhook
