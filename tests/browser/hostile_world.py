"""A team in which every table has rows, and some rows are hostile by their very names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from budgets.models import Cap, Hold, LedgerEntry, ModelCalibration, ModelPrice, Profile
from budgets.services.caps import CapTerms, create_cap
from budgets.services.profiles import add_revision, copy_profile, current_revision, publish
from ctxbudget_site.demo.playing import Stage, do_due_jobs
from kernel.clock import read_now
from kernel.ids import new_id
from kernel.models import IdempotencyRecord, ProcessHeartbeat
from sessions.models import AgentSession, Approval, Intervention, UsageBucket
from sessions.services import by_hand
from sessions.services.compaction_requests import enqueue_compaction
from sessions.services.ingest import record_events
from sessions.services.memory import add_entry
from sessions.services.protocols import register_protocol
from teams.models import Project
from teams.services import ensure_project, set_member
from tests.browser.hostile import PAYLOAD, text_for
from tests.pages.world import AUTHOR, Tenant, part


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    session: AgentSession
    project: Project
    profile: Profile
    cap: Cap


def settle_hostile(tenant: Tenant) -> Hostile:
    """Beside the tenant's own rows, so that those still mean something."""
    profile = _profile(tenant)
    session = _session(tenant, profile)
    _money(tenant, session)
    _people(tenant)
    _of_the_installation(tenant)
    terms = CapTerms(scope="model", scope_id=session.model, period="day", limit_nano=10**9)
    cap = create_cap(team_id=tenant.project.team_id, project_id=tenant.project.pk, terms=terms, author=AUTHOR)
    project = ensure_project(team_name=tenant.project.team.name, project_name="second")
    return Hostile(session=session, project=project, profile=profile, cap=cap)


def _profile(tenant: Tenant) -> Profile:
    """Two revisions to compare; what a section is for is free text."""
    where = {"project_id": tenant.project.pk, "author": AUTHOR}
    profile = copy_profile(name="hostile", copy_of="ratio-default", title=PAYLOAD[:200], **where)
    policy: dict[str, Any] = current_revision(profile).policy
    for section in policy["sections"]:
        section["purpose"] = PAYLOAD
    add_revision(profile=profile, policy=policy, author=AUTHOR, note=PAYLOAD)
    return publish(profile=profile, author=AUTHOR, number=2)


def _session(tenant: Tenant, profile: Profile) -> AgentSession:
    project_id = tenant.project.pk
    stage = Stage(project_id=project_id, key_id=tenant.key.pk)
    long = part(PAYLOAD[:128], turns=16, model=PAYLOAD[:200])
    session = stage.play(replace(long, step_tokens=2_000, profile=profile.name, goal=PAYLOAD))
    events = [
        {"type": "message", "message": {"role": "user", "content": PAYLOAD}},
        {"type": PAYLOAD[:30], "id": PAYLOAD[:200]},
    ]
    record_events(project_id=project_id, ref=session.pk, format="native", events=events)
    for kind in ("fact", "decision"):
        add_entry(
            project_id=project_id, ref=session.pk, kind=kind, text=PAYLOAD, priority=1, pinned=True,
            source="agent", key=PAYLOAD[:300],
        )  # fmt: skip
    enqueue_compaction(session, reason="by hand")
    do_due_jobs()
    AgentSession.objects.filter(pk=session.pk).update(position={"task": PAYLOAD, PAYLOAD: PAYLOAD})
    for _ in range(2):
        by_hand.checkpoint(project_id=project_id, session_id=session.pk, author=AUTHOR)
    for kind in ("note", "wrap_up"):
        Intervention.objects.create(
            id=new_id("intv"), session=session, kind=kind, text="x", created_at=read_now()
        )
    _rename_sections(session)
    session.refresh_from_db()
    return session


def _rename_sections(session: AgentSession) -> None:
    """As if the profile had called them so when the last context was made."""
    assembly = session.assemblies.order_by("-number").first()
    assert assembly is not None
    for section in assembly.report["sections"]:
        section["name"] = PAYLOAD[:64]
    assembly.report["source"] = PAYLOAD
    assembly.save()


def _money(tenant: Tenant, session: AgentSession) -> None:
    """Prices, a hold, an answered question and a rollup of a section nobody knows."""
    now, project = read_now(), tenant.project
    known = {"project_id": project.pk, "name": session.model, "created_at": now}
    ModelPrice.objects.create(
        id=new_id("price"), input_pico=1, output_pico=1, actor="x", valid_from=now, **known
    )
    ModelCalibration.objects.create(
        id=new_id("calib"), ratio_bp=10_000, margin_bp=0, drift_bp=0, pairs=1, **known
    )
    form = {"name": session.model, "action": "override", "context_window": "90000"}
    assert tenant.member("owner").post("/models", form).status_code == 302
    Hold.objects.create(
        id=new_id("hold"), team_id=project.team_id, project_id=project.pk, session_id=session.pk,
        model=session.model, requested_model=session.model, amount_nano=1, wrap_up=False,
        created_at=now, expires_at=now,
    )  # fmt: skip
    answered = {"id": new_id("appr"), "state": "declined", "decided_at": now}
    _copied(Approval.objects.get(pk=tenant.approval.pk), **answered)
    bucket = UsageBucket.objects.exclude(section="").first()
    assert bucket is not None
    _copied(bucket, section=PAYLOAD[:64])
    entry = LedgerEntry.objects.first()
    assert entry is not None
    texts = ("model", "kind", "price_id", "source", "response_id")
    _copied(entry, **{name: text_for(LedgerEntry._meta.get_field(name)) for name in texts})


def _copied(row: Any, **changes: Any) -> None:
    row.pk = None
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(force_insert=True)


def _people(tenant: Tenant) -> None:
    person = User.objects.create(username="last")
    set_member(team=tenant.project.team, user=person, role="viewer", actor="x")
    LogEntry.objects.create(
        user=tenant.owner, content_type=ContentType.objects.get_for_model(Project), object_id="x",
        object_repr="x", action_flag=ADDITION,
    )  # fmt: skip


def _of_the_installation(tenant: Tenant) -> None:
    now = read_now()
    for name in ("worker", "sweeper"):
        ProcessHeartbeat.objects.create(name=name, kind=name, seen_at=now)
    IdempotencyRecord.objects.create(
        project_id=tenant.project.pk, key="k", fingerprint="f", status=200, body=b"{}", created_at=now
    )
    register_protocol(
        project_id=tenant.project.pk, team_id=tenant.project.team_id, actor="x", name=PAYLOAD[:200],
        text=PAYLOAD, action=PAYLOAD[:200], size=None,
    )  # fmt: skip
