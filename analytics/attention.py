"""What a person should look at first: paused sessions, caps, prices, jobs and workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from budgets.models import Cap
from budgets.services.cap_windows import window_views
from budgets.services.in_use import users
from budgets.services.models import model_cards
from budgets.services.scopes import shown_scope_id
from kernel.clock import read_now
from kernel.jobs import liveness
from kernel.models import Job
from sessions.models import AgentSession, Approval
from teams.models import Project

START_WORKER = "celery -A ctxbudget_site worker"
LATELY = timedelta(days=7)
MAX_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """`tone` is bad, warn or info; `path` leads to where it can be dealt with."""

    tone: str
    title: str
    detail: str
    path: str
    command: str = ""


def attention(project: Project) -> list[Item]:
    """What stands still before what will."""
    found = [
        *_questions(project),
        *_workers(),
        *_paused(project),
        *_full(project),
        *_caps(project),
        *_unpriced(project),
        *_failed_jobs(project),
    ]
    return sorted(found, key=lambda item: item.tone != "bad")


def _questions(project: Project) -> list[Item]:
    pending = Approval.objects.of_project(project.pk).pending().count()
    if not pending:
        return []
    title = f"{pending} question{'s' if pending > 1 else ''} about money wait{'' if pending > 1 else 's'}"
    return [
        Item(tone="bad", title=title, detail="Agents stand still until somebody answers.", path="/approvals")
    ]


def _paused(project: Project) -> list[Item]:
    rows = AgentSession.objects.of_project(project.pk).filter(state=AgentSession.State.PAUSED)
    by_hand = rows.filter(paused_by_cap="").count()
    if not by_hand:
        return []
    return [
        Item(
            tone="warn",
            title=f"{by_hand} session{'s' if by_hand > 1 else ''} paused by hand",
            detail="They go on when somebody resumes them.",
            path="/sessions?state=paused",
        )
    ]


def _full(project: Project) -> list[Item]:
    rows = AgentSession.objects.of_project(project.pk).filter(
        state=AgentSession.State.ACTIVE, level="critical", last_activity_at__gte=read_now() - LATELY
    )
    return [
        Item(
            tone="warn",
            title=f"{session} is almost out of context",
            detail="Its budget is critical; compaction is due or could not free enough.",
            path=f"/sessions/{session.pk}",
        )
        for session in rows.order_by("-last_activity_at")[:MAX_NAMED]
    ]


def _caps(project: Project) -> list[Item]:
    found = list(Cap.objects.of_project(project.pk).active().exclude(scope="session").order_by("-id")[:200])
    views = window_views(found, {project.pk: project.time_zone})
    items = []
    for cap in found:
        window = views[cap.pk]
        if window.limit_nano and window.settled_nano * 10_000 >= window.limit_nano * cap.warn_bp:
            percent = window.settled_nano * 100 // window.limit_nano
            name = "" if cap.scope == "project" else f" {shown_scope_id(cap.scope, cap.scope_id)}"
            items.append(
                Item(
                    tone="bad" if window.remaining_nano <= 0 else "warn",
                    title=f"{percent} % of the {cap.period} cap of the {cap.scope}{name} is spent",
                    detail="At 100 % its sessions pause and ask.",
                    path=f"/caps/{cap.pk}",
                )
            )
    return items


def _unpriced(project: Project) -> list[Item]:
    cards = model_cards(project_id=project.pk, names=users().models(project.pk))
    names = [card.name for card in cards if card.price is None]
    if not names:
        return []
    return [
        Item(
            tone="warn",
            title=f"{name} has no price",
            detail="Its tokens are counted, its money is not: no cap can hold it.",
            path=f"/models?name={name}",
        )
        for name in names[:MAX_NAMED]
    ]


def _failed_jobs(project: Project) -> list[Item]:
    rows = Job.objects.filter(
        project_id=project.pk, state=Job.State.DEAD, finished_at__gte=read_now() - LATELY
    )
    count = rows.count()
    if not count:
        return []
    newest = rows.order_by("-id").values_list("error", flat=True).first() or ""
    title = f"{count} job{'s' if count > 1 else ''} failed in the last week"
    return [Item(tone="warn", title=title, detail=newest[:200], path="/jobs?state=dead")]


def _workers() -> list[Item]:
    if liveness.alive("worker"):
        return []
    detail = "Compactions and exports wait until one runs. make run starts one; beside a web server use:"
    return [Item(tone="bad", title="No worker answers", detail=detail, path="/jobs", command=START_WORKER)]
