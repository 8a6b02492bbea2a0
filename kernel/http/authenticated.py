"""The request type of every API operation."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


class ApiRequest(HttpRequest):
    """A request that passed authentication: `auth` is the Caller (teams.auth)."""

    auth: Any
