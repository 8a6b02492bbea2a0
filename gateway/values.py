"""A call before and after its money is set aside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from budgets.services.models import ResolvedModel
from gateway.core.protocols import Protocol
from gateway.core.requests import ModelRequest
from gateway.measuring import Measured
from teams.auth import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A call as its caller asks for it."""

    key: str = field(repr=False)
    protocol: Protocol
    request: ModelRequest
    session_ref: str
    beta: str = ""
    asked: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call whose money is set aside; `used` and `total` are its session's tokens before it."""

    wanted: Wanted
    caller: Caller
    session_id: str
    session_source: str
    keeps_content: bool
    hold_id: str
    held_nano: int
    remaining_nano: int | None
    expires_at: float
    job_id: str
    model: ResolvedModel
    measured: Measured
    level: str
    used: int
    total: int
    body: bytes | None = None  # what is sent in place of the caller's bytes
