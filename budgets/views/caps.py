"""Caps: what may be spent where, what is spent, held and left, when it resets, and how long it will last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_POST

from budgets.core.caps import default_reserve
from budgets.core.pace import Pace, pace_of
from budgets.models import Balance, Cap, LedgerEntry, Scope
from budgets.services import caps
from budgets.services.cap_trials import try_cap
from budgets.services.cap_windows import window_views
from budgets.services.caps import CapChange, CapTerms, WindowView
from budgets.services.in_use import users
from budgets.services.scopes import resolve_scope_id, shown_scope_id
from budgets.views.money import nano_from
from budgets.views.profiles import author_of
from kernel.clock import read_now
from kernel.errors import Invalid, NotFound
from teams.models import ApiKey, Project
from teams.pages import PageRequest, page, visible_row

ORDER = (Scope.TEAM, Scope.PROJECT, Scope.MODEL, Scope.KEY, Scope.SESSION)
# A cap on the whole team is the operator's to set: it binds projects that a visitor may not see.
SCOPES = [scope.value for scope in ORDER if scope != Scope.TEAM]
PAST_WINDOWS = 12
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRow:
    cap: Cap
    name: str
    window: WindowView
    history: tuple[Balance, ...]
    now: datetime

    @property
    def pace(self) -> Pace:
        """Of the running window, which is there as soon as something was spent in it."""
        running = next((one for one in self.history if one.window_key == self.window.key), None)
        return pace_of(
            settled_nano=self.window.settled_nano,
            remaining_nano=self.window.remaining_nano,
            starts_at=running.starts_at if running else None,
            ends_at=self.window.resets_at,
            now=self.now,
        )

    @property
    def is_warning(self) -> bool:
        return self.window.settled_nano * 10_000 >= self.window.limit_nano * self.cap.warn_bp

    @property
    def is_spent(self) -> bool:
        return self.window.remaining_nano <= 0

    @property
    def bars(self) -> list[tuple[int, int, int]]:
        """x, y and height of a bar per past window, in a picture of 12 × 20."""
        most = max((balance.settled_nano for balance in self.history), default=0) or 1
        heights = [max(1, balance.settled_nano * 20 // most) for balance in self.history]
        return [(place * 10, 20 - height, height) for place, height in enumerate(heights)]

    @property
    def level(self) -> str:
        return "critical" if self.is_spent else "warning" if self.is_warning else "normal"


@page
def listing(request: PageRequest) -> HttpResponse:
    project = request.visitor.project
    rows = cap_rows(project)
    week = _spent_since(project.pk, read_now() - timedelta(days=7))
    context = {"rows": rows, "weekly_nano": week, "scopes": SCOPES}
    return render(request, "budgets/caps.html", context)


def cap_rows(project: Project) -> list[CapRow]:
    """The tree from the project down, in a fixed number of queries."""
    found = list(Cap.objects.of_project(project.pk).active().order_by("-id")[:MAX_SHOWN])
    found.sort(key=lambda cap: (ORDER.index(Scope(cap.scope)), cap.scope_id, cap.period))
    views = window_views(found, {project.pk: project.time_zone})
    history: dict[str, list[Balance]] = {}
    for balance in Balance.objects.filter(cap__in=found).order_by("-starts_at", "-id")[:2000]:
        history.setdefault(balance.cap_id, []).append(balance)
    names, now = _names(project.pk, found), read_now()
    return [
        CapRow(
            cap=cap,
            name=names.get(cap.scope_id) or shown_scope_id(cap.scope, cap.scope_id),
            window=views[cap.pk],
            history=tuple(reversed(history.get(cap.pk, [])[:PAST_WINDOWS])),
            now=now,
        )
        for cap in found
    ]


def _names(project_id: str, found: list[Cap]) -> dict[str, str]:
    keys = ApiKey.objects.of_project(project_id).filter(
        pk__in=[c.scope_id for c in found if c.scope == "key"]
    )
    return {key.pk: f"{key.name or 'key'} ({key.prefix}…)" for key in keys}


def _spent_since(project_id: str, moment: Any) -> int:
    rows = LedgerEntry.objects.of_project(project_id).filter(counted_at__gte=moment)
    return rows.aggregate(spent=Sum("cost_nano"))["spent"] or 0


@page
def new(request: PageRequest) -> HttpResponse:
    project = request.visitor.project
    if request.method == "POST":
        request.visitor.require("manage")
        cap = _create(request)
        messages.success(request, "The cap holds from now on; what was spent in its window counts already.")
        return HttpResponseRedirect(f"/caps/{cap.pk}")
    context = {
        "scopes": SCOPES,
        "periods": Cap.Period.values,
        "models": users().models(project.pk),
        "keys": ApiKey.objects.of_project(project.pk).filter(revoked_at=None).order_by("name"),
        "session": request.GET.get("session", ""),
    }
    return render(request, "budgets/cap_new.html", context)


def _create(request: PageRequest) -> Cap:
    project, scope = request.visitor.project, request.POST.get("scope", "project")
    period = request.POST.get("period", "month")
    if scope not in SCOPES or period not in Cap.Period.values:
        raise Invalid("Choose a scope and a period of the list.", code="invalid_cap")
    given = request.POST.get(f"{scope}_id", "").strip() or None
    terms = CapTerms(
        scope=scope,
        scope_id=resolve_scope_id(project_id=project.pk, scope=scope, given=given),
        period=period,
        limit_nano=nano_from(request.POST.get("limit", ""), field="limit"),
    )
    return caps.create_cap(
        team_id=project.team_id, project_id=project.pk, terms=terms, author=author_of(request)
    )


@page
def detail(request: PageRequest, cap_id: str) -> HttpResponse:
    cap = visible_cap(request, cap_id)
    if request.method == "POST":
        return _change(request, cap)
    row = next((row for row in cap_rows(request.visitor.project) if row.cap.pk == cap.pk), None)
    if row is None:
        raise NotFound("This cap holds no longer.")
    wanted = request.GET.get("limit", "")
    limit = nano_from(wanted) if wanted else None
    context = {
        "row": row,
        "wanted": wanted,
        "simulated": _simulated(row, limit) if limit is not None else None,
        "running": users().running_under(cap.project_id, cap.scope, cap.scope_id),
    }
    return render(request, "budgets/cap.html", context)


def _simulated(row: CapRow, limit_nano: int) -> dict[str, Any]:
    """The past windows under another limit, and whether the running one would be spent at once."""
    ceiling = limit_nano - default_reserve(limit_nano)
    reached = [balance for balance in row.history if balance.settled_nano >= ceiling]
    return {
        "limit_nano": limit_nano,
        "reached": len(reached),
        "windows": len(row.history),
        "stops_now": row.window.settled_nano >= ceiling,
    }


def _change(request: PageRequest, cap: Cap) -> HttpResponse:
    request.visitor.require("manage")
    if request.POST.get("action") == "remove":
        caps.deactivate_cap(cap=cap, author=author_of(request))
        messages.success(request, "The cap holds no longer; its history stays.")
        return HttpResponseRedirect("/caps")
    change = CapChange(limit_nano=nano_from(request.POST.get("limit", ""), field="limit"))
    caps.change_cap(cap=cap, change=change, author=author_of(request))
    messages.success(request, "The cap is changed, and with it the running window.")
    return HttpResponseRedirect(f"/caps/{cap.pk}")


@require_POST
@page
def raise_once(request: PageRequest, cap_id: str) -> HttpResponse:
    """More for the running window only."""
    cap = visible_cap(request, cap_id)
    request.visitor.require("manage")
    caps.raise_cap(
        cap=cap,
        amount_nano=nano_from(request.POST.get("amount", "")),
        author=author_of(request),
    )
    messages.success(request, "The running window has more now.")
    return HttpResponseRedirect(f"/caps/{cap.pk}")


@require_POST
@page
def verify(request: PageRequest, cap_id: str) -> HttpResponse:
    """Shows that the cap really holds: a hold for more than is left, through the path that agents use."""
    cap = visible_cap(request, cap_id)
    request.visitor.require("manage")
    trial = try_cap(cap)
    if trial.is_this_cap:
        messages.success(request, "It holds: a hold for more than is left was refused by this cap.")
    elif trial.refused_by:
        messages.success(request, f"A hold for that much was refused by a stricter cap, {trial.refused_by}.")
    else:
        messages.error(request, "The hold was admitted: this cap does not hold. Tell your operator.")
    return HttpResponseRedirect(f"/caps/{cap.pk}")


def visible_cap(request: PageRequest, cap_id: str) -> Cap:
    return visible_row(request, Cap.objects.all(), cap_id)
