"""The week itself: which sessions run, which caps hold, who answers and what goes wrong."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User

from budgets.services.audit import Author
from budgets.services.caps import CapTerms, create_cap
from budgets.services.profiles import add_revision, copy_profile, publish
from budgets.services.scopes import model_scope_id
from ctxbudget_site.demo.listening import listen
from ctxbudget_site.demo.playing import Part, Stage, at_moment, do_due_jobs
from kernel.jobs import queue
from sessions.models import AgentSession, Approval
from sessions.services import approvals, by_hand, lifecycle, memory
from sessions.services.approvals import Approver
from sessions.services.compaction_requests import enqueue_compaction
from sessions.services.frames import frame_of
from teams.administration import change_project
from teams.models import Project, Role
from teams.services import create_api_key, set_member

NANO = 10**9
MOST_APPROVALS = 3
PEOPLE = (("rita", Role.APPROVER), ("sam", Role.ANALYST), ("vic", Role.VIEWER))

QUIET_WEEK = tuple(
    Part(
        external_id=f"ticket-{4100 + number}",
        task=task,
        model=model,
        profile=profile,
        turns=turns,
        hours_ago=hours,
        step_tokens=2_500,
        hidden_tokens=48_000 if script == "coding" else 16_000,
        script=script,
    )
    for number, (task, model, profile, turns, hours, script) in enumerate(
        (
            ("answer a refund question", "claude-haiku-4-5", "compact-chat", 9, 166, "chat"),
            ("triage overnight failures", "gpt-5-mini", "ratio-default", 12, 150, "coding"),
            ("update the price table", "gpt-5", "ratio-code-focused", 8, 141, "coding"),
            ("explain a chargeback", "claude-haiku-4-5", "compact-chat", 6, 127, "chat"),
            ("port the invoice mailer", "claude-sonnet-4-5", "ratio-default", 16, 118, "coding"),
            ("review the webhook handler", "gpt-5", "ratio-default", 10, 99, "coding"),
            ("write onboarding notes", "gpt-5-mini", "ratio-session-focused", 7, 92, "chat"),
            ("tidy the ledger tests", "claude-sonnet-4-5", "ratio-code-focused", 14, 74, "coding"),
            ("answer a tax question", "claude-haiku-4-5", "compact-chat", 8, 52, "chat"),
            ("bump the gateway client", "gpt-5-mini", "ratio-default", 9, 47, "coding"),
            ("draft the incident report", "claude-sonnet-4-5", "ratio-preference-focused", 11, 29, "chat"),
            ("check the nightly export", "deepseek-chat", "ratio-default", 13, 23, "coding"),
        )
    )
)

STAR = Part(
    external_id="refund-flow",
    task="fix partial refunds that book the tax twice",
    goal="A partial refund books its tax exactly once, and the ledger stays balanced.",
    model="claude-sonnet-4-5",
    profile="refunds-team",
    turns=110,
    hours_ago=5,
    minutes_apart=5,
    step_tokens=6_500,
    hidden_tokens=9_000,
)
TODAY = (
    Part(
        external_id="gateway-timeouts",
        task="retry the gateway safely",
        model="gpt-5",
        profile="ratio-code-focused",
        turns=9,
        hours_ago=3,
        script="stuck",
    ),
    Part(
        external_id="release-2.4",
        task="prepare release 2.4",
        model="claude-opus-4-5",
        profile="stream-coding-agent",
        turns=26,
        hours_ago=4,
        step_tokens=7_000,
        hidden_tokens=39_000,
    ),
    Part(
        external_id="billing-migration",
        task="move billing to the new ledger",
        model="claude-sonnet-4-5",
        profile="checkpoint-protocol",
        turns=26,
        hours_ago=8,
        script="staged",
    ),
    Part(
        external_id="night-train",
        task="a long story about a night train",
        model="gpt-5-mini",
        profile="long-story",
        turns=24,
        hours_ago=20,
        script="story",
    ),
    Part(
        external_id="nightly-batch",
        task="classify 4,000 comments with the in-house model",
        model="acme/in-house-8b",
        profile="ratio-default",
        turns=15,
        hours_ago=6,
    ),
    Part(
        external_id="docs-bot",
        task="answer questions about the manual",
        model="deepseek-chat",
        profile="ratio-preference-focused",
        turns=22,
        hours_ago=2,
        step_tokens=2_600,
    ),
)
AUTHOR = Author(actor="user:admin")
REMEMBERED = (
    ("preference", "Amounts are integer cents everywhere; no floats near money."),
    ("decision", "The idempotency key belongs to the refund, because a payment may have many refunds."),
    ("fact", "The tax line is written by book_refund; the after_refund hook wrote it a second time."),
)


def live_through(project: Project) -> int:
    """Plays everything once; returns the number of sessions."""
    approver = _people(project)
    # A question that is asked today is still open when somebody looks.
    change_project(project=project, changes={"approval_minutes": 24 * 60}, actor="system")
    key = create_api_key(project=project, scopes=["agent"], name="demo agents").key
    stage = Stage(project_id=project.pk, key_id=key.pk)
    _profiles(project)
    _caps(project)
    for part in QUIET_WEEK:
        session = stage.play(part)
        if session.state == AgentSession.State.ACTIVE:
            by_hand.change(
                project_id=project.pk,
                session_id=session.pk,
                change=lifecycle.Change(state="ended"),
                author=AUTHOR,
            )
    for part in TODAY:
        stage.play(part)
    _star(stage, project, approver)
    _family(stage)
    _failure(project)
    listen(project)
    return AgentSession.objects.of_project(project.pk).count()


def _people(project: Project) -> Approver:
    """Colleagues without a password: they are there to be seen."""
    for name, role in PEOPLE:
        user, created = User.objects.get_or_create(username=name)
        if created:
            user.set_unusable_password()
            user.save()
        set_member(team=project.team, user=user, role=role, actor="system")
    rita = User.objects.get(username="rita")
    return Approver(author=Author(actor="user:rita"), user_id=rita.pk)


def _profiles(project: Project) -> None:
    profile = copy_profile(
        project_id=project.pk,
        name="refunds-team",
        copy_of="ratio-default",
        author=AUTHOR,
        title="Refunds team",
    )
    assert profile.current is not None
    document = dict(profile.current.policy)
    shares = {
        "system_prompt": 500,
        "goal": 300,
        "memory": 1500,
        "working_state": 300,
        "conversation_summary": 1000,
        "retrieved_context": 400,
        "recent_messages": 5500,
    }
    document["sections"] = [
        {**section, "size": {"share_bp": shares[section["name"]]}} if section["name"] in shares else section
        for section in document["sections"]
    ]
    add_revision(
        profile=profile,
        policy=document,
        author=AUTHOR,
        note="More memory: agents forgot the integer-cents rule.",
    )
    publish(profile=profile, author=AUTHOR)


def _caps(project: Project) -> None:
    for scope, scope_id, period, dollars in (
        ("project", project.pk, "month", 80),
        ("project", project.pk, "day", 25),
        ("model", model_scope_id(project.pk, "claude-opus-4-5"), "week", 8),
    ):
        terms = CapTerms(scope=scope, scope_id=scope_id, period=period, limit_nano=dollars * NANO)
        create_cap(team_id=project.team_id, project_id=project.pk, terms=terms, author=AUTHOR)


def _star(stage: Stage, project: Project, approver: Approver) -> None:
    """Reaches its cap, gets a little more from a person, and so on; the last question is still open."""
    session = stage.open(STAR)
    terms = CapTerms(scope="session", scope_id=session.pk, period="total", limit_nano=3 * NANO)
    create_cap(team_id=project.team_id, project_id=project.pk, terms=terms, author=AUTHOR)
    for kind, text in REMEMBERED:
        memory.add_entry(
            project_id=project.pk,
            ref=session.pk,
            kind=kind,
            text=text,
            priority=5,
            pinned=kind == "preference",
            source=AUTHOR.actor,
            key="",
        )
    session.refresh_from_db()
    for answered in range(MOST_APPROVALS + 1):
        stage.go_on(session, STAR)
        pending = Approval.objects.of_project(project.pk).pending().filter(session=session).first()
        is_full = session.used_tokens * 100 >= frame_of(session).total * 80
        if pending is None or is_full or answered == MOST_APPROVALS:
            return
        with at_moment(pending.created_at + timedelta(minutes=11)):
            approvals.approve(approval=pending, amount_nano=NANO // 2, approver=approver)
        session.refresh_from_db()


def _family(stage: Stage) -> None:
    parent = stage.play(
        Part(
            external_id="audit-of-q3",
            task="audit the third quarter, one subagent per account",
            model="claude-sonnet-4-5",
            profile="ratio-default",
            turns=4,
            hours_ago=2,
        )
    )
    for name in ("receivables", "payables", "cash"):
        stage.play(
            Part(
                external_id=f"audit-of-q3-{name}",
                task=f"audit {name}",
                model="gpt-5-mini",
                profile="ratio-default",
                turns=3,
                hours_ago=2,
                parent=parent.pk,
            )
        )


def _failure(project: Project) -> None:
    """A compaction whose worker gave up, as it looks when a summariser stays away."""
    session = AgentSession.objects.of_project(project.pk).get(external_id="docs-bot")
    job, _ = enqueue_compaction(session, reason="by hand")
    claimed = queue.claim(job.pk)
    if claimed is not None:
        queue.fail(claimed, "The summariser did not answer within 30 seconds.", final=True)
    do_due_jobs()
