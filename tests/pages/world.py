"""Two tenants with something on every page: sessions, checkpoints, caps, approvals, jobs, keys and people."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.test import Client

from budgets.models import Cap, Profile
from budgets.services.audit import Author
from budgets.services.caps import CapTerms, create_cap
from ctxbudget_site.demo.playing import Part, Stage
from kernel.clock import read_now
from kernel.ids import new_id
from kernel.models import Job
from sessions.models import AgentSession, Approval
from sessions.services import by_hand
from sessions.services.compaction_requests import enqueue_compaction
from sessions.services.scratch import add_dead_end
from sessions.services.store import lock_session
from teams.models import ApiKey, Membership, Project, Role, Webhook
from teams.services import create_api_key, ensure_project, set_member
from teams.webhooks import send_test

PASSWORD = "a long enough password"
AUTHOR = Author(actor="user:somebody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One team's project and one of everything in it."""

    project: Project
    session: AgentSession
    profile: Profile
    cap: Cap
    approval: Approval
    job: Job
    key: ApiKey
    owner: User
    webhook: Webhook

    def member(self, role: str) -> Client:
        """A signed-in browser of somebody with that role in this team."""
        user, _ = User.objects.get_or_create(username=f"{role}-{self.project.name}")
        set_member(team=self.project.team, user=user, role=role, actor="test")
        client = Client()
        client.force_login(user)
        return client

    @property
    def membership(self) -> Membership:
        return Membership.objects.get(team=self.project.team, user=self.owner)


def settle(team: str, project_name: str, *, turns: int = 4) -> Tenant:
    project = ensure_project(team_name=team, project_name=project_name)
    owner = User.objects.create_user(username=f"owner-of-{team}", password=PASSWORD)
    set_member(team=project.team, user=owner, role=Role.OWNER, actor="test")
    key = create_api_key(project=project, scopes=["agent"], name=f"{team} agents").key
    stage = Stage(project_id=project.pk, key_id=key.pk)
    session = stage.play(part(f"{team}-main", turns=turns))
    by_hand.checkpoint(project_id=project.pk, session_id=session.pk, author=AUTHOR)
    by_hand.checkpoint(project_id=project.pk, session_id=session.pk, author=AUTHOR)
    locked = lock_session_for_note(project.pk, session.pk)
    job, _ = enqueue_compaction(locked, reason="by hand")
    cap, approval = _reach_a_cap(stage, project)
    return Tenant(
        project=project,
        session=AgentSession.objects.get(pk=session.pk),
        profile=session.profile,
        cap=cap,
        approval=approval,
        job=Job.objects.get(pk=job.pk),
        key=key,
        owner=owner,
        webhook=_listening(project),
    )


def _listening(project: Project) -> Webhook:
    """Registered last and with a message in its log; its name is never looked up."""
    webhook = Webhook.objects.create(
        id=new_id("hook"), project=project, url="https://hooks.example/secret-path", created_at=read_now()
    )
    send_test(webhook)
    return webhook


def part(external_id: str, *, turns: int = 3, model: str = "gpt-5-mini") -> Part:
    return Part(
        external_id=external_id,
        task=f"task of {external_id}",
        goal="A goal.",
        model=model,
        profile="ratio-default",
        turns=turns,
        hours_ago=0,
        step_tokens=200,
    )


def lock_session_for_note(project_id: str, session_id: str) -> AgentSession:
    from django.db import transaction

    with transaction.atomic():
        session = lock_session(project_id=project_id, ref=session_id)
        add_dead_end(session, "The gateway refuses the third retry.")
        session.save()
    return session


def _reach_a_cap(stage: Stage, project: Project) -> tuple[Cap, Approval]:
    """A session whose cap is smaller than its first call."""
    poor = stage.open(part(f"{project.team.name}-poor", model="claude-sonnet-4-5"))
    terms = CapTerms(scope="session", scope_id=poor.pk, period="total", limit_nano=1_000_000)
    cap = create_cap(team_id=project.team_id, project_id=project.pk, terms=terms, author=AUTHOR)
    stage.go_on(poor, part(f"{project.team.name}-poor", model="claude-sonnet-4-5"))
    return cap, Approval.objects.get(session=poor)
