"""The REST surface of sessions, one module per noun."""

from __future__ import annotations

from ninja import Router

from sessions.api.compaction import router as compaction_router
from sessions.api.contexts import router as contexts_router
from sessions.api.events import router as events_router
from sessions.api.happenings import router as happenings_router
from sessions.api.jobs import router as jobs_router
from sessions.api.sessions import router as sessions_router

router = Router()
for part in (
    sessions_router,
    events_router,
    contexts_router,
    happenings_router,
    compaction_router,
    jobs_router,
):
    router.add_router("", part)
