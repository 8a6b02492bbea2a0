"""Is this process up, and can it do its work?"""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from kernel.jobs import liveness


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 while requests can be served; missing workers are said but do not take the web process out."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        workers, depth = liveness.alive("worker"), liveness.queue_depth()
        sweepers = liveness.alive("sweeper")
    except DatabaseError:
        return JsonResponse({"status": "unavailable", "database": "no answer"}, status=503)
    return JsonResponse(
        {
            "status": "ready",
            "database": connection.vendor,
            "workers": workers,
            "sweepers": sweepers,
            "queue_depth": depth,
        }
    )
