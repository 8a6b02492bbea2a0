"""P18: no stored text runs script or loads anything on any page."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import models
from django.db.models import CharField, TextField

from budgets.models import ModelOverride, Profile, ProfileRevision
from ctxbudget_site.demo.playing import Stage, do_due_jobs
from kernel.fields import CanonicalJSONField, IdField
from kernel.models import Job
from sessions.models import (
    AgentSession,
    Approval,
    Checkpoint,
    Intervention,
    MemoryEntry,
    Message,
    ScratchNote,
    SectionContent,
    Signal,
    Summary,
    UsageBucket,
)
from sessions.services import by_hand
from sessions.services.compaction_requests import enqueue_compaction
from sessions.services.ingest import record_events
from sessions.services.memory import add_entry
from sessions.services.store import to_bytes
from teams.models import ApiKey, AuditEvent, Project, Team, Webhook, WebhookDelivery
from teams.services import set_member
from tests.browser.conftest import Visit
from tests.pages.routes import SESSION_TABS, pages_of
from tests.pages.world import AUTHOR, Tenant, part

pytestmark = pytest.mark.browser

PAYLOAD = (
    "</script><script>window.hacked=1</script>\"'><img src=//evil.example/x onerror=window.hacked=1>"
    "<svg onload=window.hacked=1>{{7*7}}javascript:window.hacked=1"
)
# Fields whose value means something to the product; other words would only break the page under test.
KEPT = {"state", "role", "kind", "scope", "period", "default", "level", "tokenizer", "model", "time_zone",
        "headline_unit", "content_policy", "approval_default", "unpriced_policy", "external_id",
        "paused_by_cap", "sha256", "secret_sha256", "prefix", "dedupe_key"}  # fmt: skip
TABLES = (Team, Project, ApiKey, AuditEvent, Profile, ProfileRevision, AgentSession, Signal, Intervention,
          ScratchNote, Approval, Job, Webhook, WebhookDelivery)  # fmt: skip


def poisoned_fields(table: type[models.Model]) -> list[str]:
    """Every text that people or agents can write, by the shape of the table: a new field is taken too."""
    return [
        field.name
        for field in table._meta.concrete_fields
        if isinstance(field, CharField | TextField)
        and not isinstance(field, IdField | CanonicalJSONField)
        and not field.is_relation
        and field.name not in KEPT
    ]


def poison(tenant: Tenant) -> None:
    message = {"type": "message", "message": {"role": "user", "content": PAYLOAD}}
    record_events(project_id=tenant.project.pk, ref=tenant.session.pk, format="native", events=[message])
    add_entry(
        project_id=tenant.project.pk,
        ref=tenant.session.pk,
        kind="fact",
        text=PAYLOAD,
        priority=1,
        pinned=True,
        source="agent",
        key="",
    )
    Intervention.objects.create(
        id="intv_1", session=tenant.session, kind="note", text="x", created_at=tenant.session.created_at
    )
    for table in TABLES:
        for field in poisoned_fields(table):
            longest = table._meta.get_field(field).max_length
            table._default_manager.update(**{field: PAYLOAD[:longest]})
    Signal.objects.update(payload={PAYLOAD: PAYLOAD})
    AuditEvent.objects.update(before={PAYLOAD: PAYLOAD}, after=[PAYLOAD])
    WebhookDelivery.objects.update(kind=PAYLOAD[:40])
    Webhook.objects.update(events=[PAYLOAD])
    Job.objects.update(result={PAYLOAD: PAYLOAD})
    dead_ends = ScratchNote.objects.filter(kind=ScratchNote.Kind.DEAD_END)
    dead_ends.update(body={"description": PAYLOAD, "evidence": [1], "found_by": PAYLOAD})
    AgentSession.objects.update(position={PAYLOAD: PAYLOAD}, metadata={PAYLOAD: PAYLOAD}, external_id=None)
    for body in (Message, MemoryEntry, SectionContent):
        assert body.objects.exists()
    SectionContent.objects.update(body=to_bytes(PAYLOAD))
    MemoryEntry.objects.update(body=to_bytes(PAYLOAD))


def poison_names(tenant: Tenant) -> AgentSession:
    """What would break other rows when all had it: a session, a model, a section, a signal and a person."""
    stage = Stage(project_id=tenant.project.pk, key_id=tenant.key.pk)
    long = replace(part(PAYLOAD[:128], turns=16, model=PAYLOAD[:200]), step_tokens=2_000)
    session = stage.play(long)
    AgentSession.objects.filter(pk=session.pk).update(position={"task": PAYLOAD, "commit": PAYLOAD})
    enqueue_compaction(session, reason="by hand")
    do_due_jobs()
    for _ in range(2):
        by_hand.checkpoint(project_id=tenant.project.pk, session_id=session.pk, author=AUTHOR)
    override = {"name": session.model, "action": "override", "context_window": "9000"}
    assert tenant.member("owner").post("/models", override).status_code == 302
    bucket = UsageBucket.objects.exclude(section="").first()
    assert bucket is not None
    bucket.pk, bucket.section = None, PAYLOAD[:64]
    bucket.save()
    Signal.objects.filter(pk=Signal.objects.filter(session=session).first().pk).update(kind=PAYLOAD[:30])
    person = User.objects.create(username=PAYLOAD[:150])
    set_member(team=tenant.project.team, user=person, role="viewer", actor=PAYLOAD[:100])
    assert Summary.objects.filter(session=session).update(body=to_bytes(PAYLOAD))
    Checkpoint.objects.update(reason=PAYLOAD[:30])
    ModelOverride.objects.update(actor=PAYLOAD[:100])
    return session


def test_no_stored_text_runs_on_any_page(visit: Visit, acme: Tenant) -> None:
    """The visit itself fails on any script error, dialog, console message or request to another host."""
    poison(acme)
    hostile = poison_names(acme)
    acme.session.refresh_from_db()
    named = [f"/sessions/{hostile.pk}?tab={tab}" for tab in SESSION_TABS]
    named += [
        f"/sessions/{hostile.pk}/{page}" for page in ("compact", "model", "restore/1", "diff?from=1&to=2")
    ]
    for page in [*pages_of(acme), *named, f"/models?name={quote(hostile.model)}"]:
        if page.endswith("/export"):
            continue
        visit.go(page)
        assert visit.page.evaluate("window.hacked === undefined"), page
    visit.go(f"/sessions/{acme.session.pk}?tab=messages")
    assert "window.hacked=1" in visit.page.inner_text("main")


def test_the_page_that_would_run_it_is_caught(visit: Visit) -> None:
    """The mutant: the same text put into a page as markup is seen by what the test above looks at."""
    visit.go("/help")
    visit.page.evaluate("html => { document.querySelector('main').innerHTML = html }", PAYLOAD)
    visit.page.wait_for_timeout(300)
    caught = [trouble for trouble in visit.troubles if "evil.example" in trouble or "violates" in trouble]
    assert caught
    visit.troubles.clear()
