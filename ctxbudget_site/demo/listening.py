"""A webhook with a short history, so that its page has something to show."""

from __future__ import annotations

from datetime import timedelta

from kernel.clock import read_now
from kernel.ids import new_id
from teams.models import Project, Webhook, WebhookDelivery


def listen(project: Project) -> None:
    """Written as rows and switched off: nobody listens at that address, and nothing is to be sent there."""
    webhook = Webhook.objects.create(
        id=new_id("hook"),
        project=project,
        url="https://hooks.example/budget-alerts",
        events=["INPUT_REQUESTED", "COMPACTION_FAILED"],
        active=False,
        created_at=read_now() - timedelta(days=6),
    )
    for kind, hours, status in (("INPUT_REQUESTED", 3, 200), ("INPUT_REQUESTED", 2, 204), ("TEST", 1, 410)):
        sent_at = read_now() - timedelta(hours=hours)
        is_gone = status == 410
        WebhookDelivery.objects.create(
            id=new_id("msg"),
            webhook=webhook,
            kind=kind,
            body=b"{}",
            state=WebhookDelivery.State.FAILED if is_gone else WebhookDelivery.State.DELIVERED,
            attempts=1,
            status_code=status,
            error="The receiver is gone; the webhook was switched off." if is_gone else "",
            created_at=sent_at,
            finished_at=sent_at,
        )
