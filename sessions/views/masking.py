"""Nothing that looks like a key, an address or a card number reaches a page or an export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any, cast

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from providers.secrets import mask_secrets
from teams.pages import PageView


def masks_secrets(view: PageView) -> PageView:
    """Looks at the finished answer: whatever a template shows has passed through here."""

    @wraps(view)
    def answer(*args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(*args, **kwargs)
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _masked_lines(cast("Iterable[bytes]", response.streaming_content))
        elif isinstance(response, HttpResponse) and response.content:
            response.content = masked(response.content.decode())
        return response

    return answer


def masked(text: str) -> str:
    """For texts that are cut before they are shown: half a key is no longer recognised as one."""
    return mask_secrets(text)[0]


def _masked_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (masked(line.decode()).encode() for line in lines)
