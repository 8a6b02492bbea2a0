"""Content fields: any text, NUL and lone surrogates included, which pydantic's str would refuse."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from kernel.errors import FieldProblem, Invalid, TooLarge
from kernel.http.schemas import UNSTORABLE


def content_text(value: Any, pointer: str) -> str:
    if not isinstance(value, str):
        problem = FieldProblem(pointer=pointer, detail="must be a string")
        raise Invalid(f"{pointer} must be a string.", code="invalid", errors=(problem,))
    if len(value) > settings.MAX_MESSAGE_CHARACTERS:
        limit = f"{settings.MAX_MESSAGE_CHARACTERS:,}"
        raise TooLarge(f"{pointer} is longer than {limit} characters.", code="content_too_large")
    return value


def clean_text(value: Any, pointer: str) -> str:
    """Long text that is no content: it also names things, and names hold no NUL and no lone surrogates."""
    text = content_text(value, pointer)
    if UNSTORABLE.search(text):
        problem = FieldProblem(pointer=pointer, detail="must not contain NUL or lone surrogates")
        raise Invalid(f"{pointer} contains NUL or a lone surrogate.", code="invalid_text", errors=(problem,))
    return text


def optional_text(value: Any, pointer: str) -> str | None:
    return None if value is None else content_text(value, pointer)


def section_text(content: Any, pointer: str) -> str:
    """Text as it is; structured content as indented JSON."""
    if isinstance(content, (dict, list)):
        content = json.dumps(content, indent=1, ensure_ascii=False)
    return content_text(content, pointer)
