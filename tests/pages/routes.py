"""Every route of the console with an address for a tenant; a route that is missing here fails a test."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver

from ctxbudget_site.console import urls as console_urls
from tests.pages.world import Tenant

# What needs nobody to be signed in, or belongs to no project.
OPEN = {"favicon.ico", "login", "logout", "theme", "set-password/<uidb64>/<token>"}
# Only by POST: they change something.
POSTED = {
    "sessions/bulk",
    "sessions/<str:session_id>/checkpoint",
    "sessions/<str:session_id>/state",
    "sessions/<str:session_id>/pin",
    "sessions/<str:session_id>/dead-ends/<str:note_id>/dismiss",
    "approvals/decide",
    "approvals/<str:approval_id>/approve",
    "approvals/<str:approval_id>/decline",
    "jobs/<str:job_id>",
    "profiles/new",
    "profiles/<str:profile_id>/preview",
    "profiles/<str:profile_id>/publish",
    "caps/<str:cap_id>/raise",
    "caps/<str:cap_id>/verify",
    "keys/<str:key_id>/rotate",
    "keys/<str:key_id>/revoke",
    "members/<int:member_id>",
    "projects/new",
}
SESSION_TABS = ("composition", "timeline", "messages", "checkpoints", "turns", "scratch", "signals")
ANALYTICS_TABS = ("usage", "models", "sections", "over-budget", "compaction", "forecast")


def all_routes(patterns: list[URLPattern | URLResolver] | None = None) -> Iterator[str]:
    for pattern in patterns if patterns is not None else console_urls.urlpatterns:
        if isinstance(pattern, URLResolver):
            yield from all_routes(pattern.url_patterns)
        else:
            yield str(pattern.pattern)


def address(route: str, tenant: Tenant) -> str:
    """The route with the tenant's own ids; KeyError for a parameter that nobody thought of."""
    note = tenant.session.scratch_notes.first()
    known = {
        "<str:session_id>": tenant.session.pk,
        "<str:number>": "1",
        "<str:note_id>": note.pk if note else "note_none",
        "<str:approval_id>": tenant.approval.pk,
        "<str:job_id>": tenant.job.pk,
        "<str:profile_id>": tenant.profile.pk,
        "<str:cap_id>": tenant.cap.pk,
        "<str:key_id>": tenant.key.pk,
        "<str:webhook_id>": tenant.webhook.pk,
        "<int:member_id>": str(tenant.membership.pk),
    }
    parts = [known[part] if part.startswith("<") else part for part in route.split("/")]
    query = "?from=1&to=2" if route == "sessions/<str:session_id>/diff" else ""
    return "/" + "/".join(parts) + query


def pages_of(tenant: Tenant) -> list[str]:
    """Everything that can be looked at, tabs included."""
    routes = [route for route in all_routes() if route not in OPEN | POSTED]
    pages = [address(route, tenant) for route in routes]
    pages += [f"/sessions/{tenant.session.pk}?tab={tab}" for tab in SESSION_TABS]
    pages += [f"/analytics?tab={tab}" for tab in ANALYTICS_TABS]
    pages += [f"/sessions/{tenant.session.pk}/model?model=gpt-4"]
    pages += [
        f"/sessions/{tenant.session.pk}/model?profile={tenant.profile.name}",
        "/models?name=gpt-5",
        "/models?q=sonnet",
    ]
    pages += [f"/sessions/{tenant.session.pk}?tab=composition&section=recent_messages"]
    pages += [f"/sessions/{tenant.session.pk}?tab=composition&at=1"]
    pages += [f"/sessions/{tenant.session.pk}?tab=checkpoints&checkpoint=1"]
    pages += [f"/caps/{tenant.cap.pk}?limit=3"]
    return pages
