"""What can go wrong with a session.

ProblemError (kernel.errors)
├── SessionErased     409
├── SessionEnded      409
├── SessionPaused     409  paused for another reason than a cap
├── ContentNotKept    409  the project keeps numbers only
├── ContextTooLarge   413  with the numbers and what to do
├── ContextExhausted  409  with the checkpoint to resume from
└── MessageTooLarge   413
"""

from __future__ import annotations

from kernel.errors import Conflict, TooLarge


class SessionErased(Conflict):
    code = "session_erased"


class SessionEnded(Conflict):
    code = "session_ended"


class SessionPaused(Conflict):
    code = "session_paused"


class ContentNotKept(Conflict):
    code = "content_not_kept"


class ContextExhausted(Conflict):
    code = "context_exhausted"


class ContextTooLarge(TooLarge):
    code = "context_too_large"


class MessageTooLarge(TooLarge):
    code = "message_too_large"
