"""Small pages of the frame itself: the theme, and what to do when something is wrong."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from budgets.core.presets import PRESETS
from budgets.core.presets.preset import PURPOSES
from budgets.core.remedies import TROUBLES
from ctxbudget_site.console.context import THEME_COOKIE, THEMES
from teams.pages import PageRequest, page

_YEAR = 365 * 24 * 3600


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """A cookie, so that the server paints the right colours at once."""
    response = HttpResponseRedirect(_back(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=_YEAR, samesite="Lax", secure=request.is_secure())
    return response


def _back(request: HttpRequest) -> str:
    came_from = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure())
    return came_from if ours else "/"


@page
def manual(request: PageRequest) -> HttpResponse:
    """What each section is for, and the remedies for the four known troubles."""
    context = {"purposes": PURPOSES, "troubles": TROUBLES, "presets": PRESETS.values()}
    return render(request, "console/help.html", context)
