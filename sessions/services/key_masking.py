"""Keys leave messages before anything is made of them: a piece of a key is no longer found as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from providers.secrets import mask_secrets
from sessions.core.message import StoredMessage

# Work goes on with these, and as a whole they are still masked wherever they are shown or sent.
KEPT_KINDS = frozenset({"email", "card_number"})


def without_keys(messages: Iterable[StoredMessage]) -> list[StoredMessage]:
    return [replace(message, body=_masked(message.body)) for message in messages]


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _masked_text(value)
    if isinstance(value, dict):
        return {name: _masked(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_masked(child) for child in value]
    return value


def _masked_text(text: str) -> str:
    _, findings = mask_secrets(text)
    pieces: list[str] = []
    at = 0
    for found in findings:
        if found.kind not in KEPT_KINDS:
            pieces += (text[at : found.start], f"[masked {found.kind}]")
            at = found.end
    return "".join([*pieces, text[at:]]) if pieces else text
