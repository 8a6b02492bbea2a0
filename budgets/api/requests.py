"""What the operations of budgets read from a request besides its body."""

from __future__ import annotations

from typing import Annotated

from ninja import Path

from budgets.services.audit import Author
from kernel.http.requests import request_id_of
from teams.auth import ApiRequest

Ref = Annotated[str, Path(description="An id or a name.")]


def author_of(request: ApiRequest) -> Author:
    return Author(actor=request.auth.actor, request_id=request_id_of(request))
