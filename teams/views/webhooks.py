"""Webhooks: addresses that are told what happens, their test message, and how deliveries went."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from kernel.errors import Invalid
from teams import webhooks as service
from teams.models import Webhook, WebhookDelivery
from teams.pages import PageRequest, page, visible_row

MAX_SHOWN = 200
PAGE = 50
# What people ask to be told about; a profile adds names for its thresholds, and "everything" has those too.
KINDS = {
    "INPUT_REQUESTED": "a cap was reached and somebody has to answer",
    "COST_WARNING": "most of a cap is spent",
    "COST_LIMIT": "a cap was reached",
    "APPROVED": "somebody let a session go on",
    "DECLINED": "somebody let a session wrap up",
    "COMPACTED": "a session was compacted",
    "COMPACTION_FAILED": "a compaction was given up",
    "CONTEXT_EXHAUSTED": "nothing fits any more",
    "CONTEXT_CLEARED": "a session starts again from a checkpoint",
    "CHECKPOINT_WRITE": "a checkpoint was written because of pressure",
    "DEAD_END": "an agent goes in circles",
    "MODEL_SWITCHED": "a session has another model",
    "PROFILE_CHANGED": "a session has another profile",
    "JOB_DEAD": "workers gave a job up",
    "SUBAGENT_COMPLETE": "a child session handed back its result",
}


@page
def webhooks(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        return _list(request)
    request.visitor.require("manage")
    url = request.POST.get("url", "").strip()
    try:
        created = service.register_webhook(
            project=request.visitor.project,
            url=url,
            events=[kind for kind in request.POST.getlist("event") if kind in KINDS],
            actor=request.visitor.actor,
        )
    except Invalid as problem:
        return _list(request, given=url, problem=problem.detail)
    return _list(request, created=created)


def _list(
    request: PageRequest, *, created: Webhook | None = None, given: str = "", problem: str = ""
) -> HttpResponse:
    """The signing secret is in the answer to its making only, and that page is not to be kept."""
    rows = Webhook.objects.of_project(request.visitor.project.pk).order_by("-id")[:MAX_SHOWN]
    context = {
        "webhooks": [{"row": row, "shown": shown_url(request, row)} for row in rows],
        "created": created,
        "secret": service.secret_of(created) if created else "",
        "kinds": KINDS,
        "given": given,
        "problem": problem,
    }
    response = render(request, "teams/webhooks.html", context, status=422 if problem else 200)
    response["Cache-Control"] = "no-store"
    return response


@page
def webhook(request: PageRequest, webhook_id: str) -> HttpResponse:
    found = _visible(request, webhook_id)
    if request.method != "POST":
        return _log(request, found)
    request.visitor.require("manage")
    action, actor = request.POST.get("action", ""), request.visitor.actor
    if action == "remove":
        service.remove_webhook(webhook=found, actor=actor)
        messages.success(request, "The webhook is removed, and its log with it.")
        return HttpResponseRedirect(f"/webhooks?project={found.project_id}")
    if action == "test":
        service.send_test(found)
        messages.success(request, "A test is on its way; the log below says how it went.")
    elif action in ("on", "off"):
        service.change_webhook(webhook=found, changes={"active": action == "on"}, actor=actor)
        messages.success(request, f"The webhook is switched {action}.")
    return HttpResponseRedirect(f"/webhooks/{found.pk}")


def _log(request: PageRequest, found: Webhook) -> HttpResponse:
    rows = WebhookDelivery.objects.filter(webhook=found).order_by("-id").defer("body")
    before = request.GET.get("before", "").replace("\x00", "")[:40]
    deliveries = list((rows.filter(pk__lt=before) if before else rows)[: PAGE + 1])
    context = {
        "webhook": found,
        "shown": shown_url(request, found),
        "deliveries": deliveries[:PAGE],
        "older": deliveries[PAGE - 1].pk if len(deliveries) > PAGE else None,
    }
    part = "deliveries" if request.headers.get("HX-Request") else "webhook"
    return render(request, f"teams/{part}.html", context)


def shown_url(request: PageRequest, row: Webhook) -> str:
    """Receivers put secrets into their paths: who may not manage sees the host alone."""
    if request.visitor.may("manage"):
        return row.url
    parts = urlsplit(row.url)
    return f"{parts.scheme}://{parts.hostname}/…"


def _visible(request: PageRequest, webhook_id: str) -> Webhook:
    return visible_row(request, Webhook.objects.select_related("project"), webhook_id)
