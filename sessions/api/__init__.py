"""The REST surface of sessions, one module per noun."""

from __future__ import annotations

from ninja import Router

from sessions.api.approvals import router as approvals_router
from sessions.api.checkpoints import router as checkpoints_router
from sessions.api.children import router as children_router
from sessions.api.compaction import router as compaction_router
from sessions.api.contexts import router as contexts_router
from sessions.api.erasure import router as erasure_router
from sessions.api.events import router as events_router
from sessions.api.happenings import router as happenings_router
from sessions.api.holds import router as holds_router
from sessions.api.jobs import router as jobs_router
from sessions.api.memory import router as memory_router
from sessions.api.protocols import router as protocols_router
from sessions.api.scratch import router as scratch_router
from sessions.api.sessions import router as sessions_router

PARTS = (
    sessions_router,
    events_router,
    contexts_router,
    happenings_router,
    memory_router,
    compaction_router,
    checkpoints_router,
    scratch_router,
    protocols_router,
    children_router,
    holds_router,
    approvals_router,
    jobs_router,
    erasure_router,
)

router = Router()
for part in PARTS:
    router.add_router("", part)
