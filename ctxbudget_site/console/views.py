"""Small pages of the frame itself: theme, project switcher."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from ctxbudget_site.console.context import THEME_COOKIE, THEMES

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
