"""Counting tokens for callers without a session."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from ninja import Router
from pydantic import Field

from budgets.api.answers import CountOut, ProblemOut
from budgets.services.counting import Count, count_request, count_text
from budgets.services.models import ResolvedModel, resolve_model
from kernel.errors import FieldProblem, Invalid, TooLarge
from kernel.http.replies import reply
from kernel.http.schemas import Name, StrictSchema
from teams.auth import READERS, ApiRequest

router = Router(tags=["Pure calculations"])

MAX_MESSAGES = 10_000


class CountIn(StrictSchema):
    """Content is any text, NUL and lone surrogates included, which pydantic's own strings refuse."""

    model: Name
    text: Any = Field(None, description="A string.")
    messages: Any = Field(None, description="Chat messages, each with role and content.")
    tools: Any = Field(None, description="Tool definitions, as the provider takes them.")


@router.post(
    "/tokens/count",
    response={200: CountOut, 422: ProblemOut},
    summary="Tokens of a text, of messages or of tool definitions",
)
def count_tokens(request: ApiRequest, body: CountIn) -> HttpResponse:
    request.auth.require(*READERS)
    model = resolve_model(project_id=request.auth.project_id, name=body.model)
    return reply({"model": model.canonical_name, **asdict(_count(model, body))})


def _count(model: ResolvedModel, body: CountIn) -> Count:
    asked_for_text = body.text is not None
    if asked_for_text == (body.messages is not None or body.tools is not None):
        raise Invalid("Give a text, or messages and tools.", code="invalid")
    if asked_for_text:
        return count_text(model, _text(body.text))
    return count_request(model, _objects(body.messages, "/messages"), _objects(body.tools, "/tools"))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong("/text", "must be a string")
    _refuse_long(value, "/text")
    return value


def _objects(value: object, pointer: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_MESSAGES:
        raise _wrong(pointer, f"must be a list of at most {MAX_MESSAGES:,} objects")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise _wrong(f"{pointer}/{index}", "must be an object")
        _refuse_long(item.get("content"), f"{pointer}/{index}/content")
    return value


def _refuse_long(content: object, pointer: str) -> None:
    longest = settings.MAX_MESSAGE_CHARACTERS
    if isinstance(content, str) and len(content) > longest:
        detail = f"has more than {longest:,} characters"
        raise TooLarge(
            f"{pointer} {detail}.",
            code="message_too_long",
            errors=(FieldProblem(pointer=pointer, detail=detail),),
        )


def _wrong(pointer: str, detail: str) -> Invalid:
    return Invalid(f"{pointer}: {detail}", errors=(FieldProblem(pointer=pointer, detail=detail),))
