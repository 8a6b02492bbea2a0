"""What can go wrong on the way to a model.

ProblemError (kernel.errors)
├── UpstreamUnreachable  502  nothing was sent, nothing is paid
├── UpstreamLost         502  gone before its answer was complete
├── UpstreamSilent       504  no byte for too long
└── NotConfigured        503  no upstream for this vendor
Exception
└── ClientGone                the caller hung up
"""

from __future__ import annotations

from kernel.errors import ProblemError, Unavailable


class UpstreamUnreachable(ProblemError):
    status, title, code = 502, "Upstream unreachable", "upstream_unreachable"


class UpstreamLost(ProblemError):
    status, title, code = 502, "Upstream gone", "upstream_lost"


class UpstreamSilent(ProblemError):
    status, title, code = 504, "Upstream silent", "upstream_timeout"


class NotConfigured(Unavailable):
    code = "gateway_not_configured"


class ClientGone(Exception):
    """The caller hung up before its answer was complete."""
