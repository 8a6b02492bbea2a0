"""The first page: what needs attention, then how each project stands."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from analytics.attention import attention
from analytics.standings import SPARK_HEIGHT, SPARK_WIDTH, standings
from teams.models import ApiKey
from teams.pages import PageRequest, page


@page
def overview(request: PageRequest) -> HttpResponse:
    visitor = request.visitor
    rows = standings(visitor.projects)
    here = next(row for row in rows if row.project.pk == visitor.project.pk)
    is_new = not (here.active or here.paused or here.spent_week_nano or here.profile)
    keys = ApiKey.objects.of_project(visitor.project.pk).filter(revoked_at=None)
    context = {
        "items": attention(visitor.project),
        "rows": rows,
        "is_new": is_new,
        "key_prefix": keys.values_list("prefix", flat=True).first() if is_new else None,
        "spark_width": SPARK_WIDTH,
        "spark_height": SPARK_HEIGHT,
    }
    return render(request, "analytics/overview.html", context)
