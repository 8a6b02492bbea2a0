"""What the frame shows on every page: navigation, projects, theme and what waits for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from sessions.models import Approval
from teams.pages import Visitor

THEMES = ("system", "light", "dark")
THEME_COOKIE = "theme"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    title: str
    path: str
    keys: str
    group: int = 0


LINKS = (
    Link(title="Overview", path="/", keys="g o"),
    Link(title="Sessions", path="/sessions", keys="g s"),
    Link(title="Profiles", path="/profiles", keys="g p"),
    Link(title="Models", path="/models", keys="g m"),
    Link(title="Caps", path="/caps", keys="g c"),
    Link(title="Approvals", path="/approvals", keys="g a"),
    Link(title="Analytics", path="/analytics", keys="g y"),
    Link(title="Jobs", path="/jobs", keys="g j"),
    Link(title="API keys", path="/keys", keys="g k", group=1),
    Link(title="Webhooks", path="/webhooks", keys="g w", group=1),
    Link(title="Members", path="/members", keys="g e", group=1),
    Link(title="Audit log", path="/audit", keys="g l", group=1),
    Link(title="Settings", path="/settings", keys="g t", group=1),
    Link(title="Help", path="/help", keys="g h", group=1),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    shown = {"theme": theme_of(request), "themes": THEMES}
    visitor: Visitor | None = getattr(request, "visitor", None)
    if visitor is None:
        return shown
    # With one project there is nothing to tell apart, and addresses stay short.
    query = f"?project={visitor.project.pk}" if len(visitor.projects) > 1 else ""
    return {
        **shown,
        "visitor": visitor,
        "project": visitor.project,
        "project_query": query,
        "nav": [_item(link, request.path) for link in LINKS],
        "waiting_approvals": Approval.objects.of_project(visitor.project.pk).pending().count(),
    }


def theme_of(request: HttpRequest) -> str:
    chosen = request.COOKIES.get(THEME_COOKIE, "system")
    return chosen if chosen in THEMES else "system"


def _item(link: Link, path: str) -> dict[str, Any]:
    here = path == link.path or (link.path != "/" and path.startswith(f"{link.path}/"))
    return {"title": link.title, "path": link.path, "keys": link.keys, "group": link.group, "is_here": here}
