"""Hostile text in every stored field, by the shape of the tables: a new field without it fails a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models

from kernel.fields import CanonicalJSONField, IdField
from sessions.services.store import to_bytes

# An element of its own name: wherever it is found in a page, text has become markup.
MARK = "<x-h>"
PAYLOAD = (
    f"\"'>{MARK}</script><script>window.hacked=1</script><img src=//evil.example/x onerror=window.hacked=1>"
    "<svg onload=window.hacked=1>{{7*7}}javascript:window.hacked=1"
)
SHORTEST = PAYLOAD.index(MARK) + len(MARK)

# Tables of Django itself that nobody but Django writes.
FRAMEWORK = {"auth.Permission", "auth.Group", "contenttypes.ContentType", "sessions.Session"}

_NUMBERS = "numbers by names of our own"
_HASH = "a hash that we made"
CANNOT_CARRY = {
    "auth.User.password": _HASH,
    "kernel.IdempotencyRecord.fingerprint": _HASH,
    "teams.ApiKey.secret_sha256": _HASH,
    "teams.ApiKey.prefix": "drawn by us; a request finds its key by it",
    "teams.Membership.role": "decides what a person may do; unknown roles are refused",
    "teams.Project.time_zone": "the name of a zone, or no page could say what time it is",
    "budgets.ModelOverride.tokenizer": "chooses a counter by name; unknown names are refused",
    "budgets.ModelPrice.tiers": "integers by the names of PriceTier; other names are refused",
    "budgets.Cap.scope": "decides what is bound; unknown scopes are refused",
    "budgets.Cap.period": "decides when a window ends; unknown periods are refused",
    "budgets.Hold.balance_ids": "row numbers",
    "agent_sessions.AgentSession.tokenizer": "chooses a counter by name; unknown names are refused",
    "agent_sessions.AgentSession.hidden": "ranges of message numbers",
    "agent_sessions.AgentSession.parts": _NUMBERS,
    "agent_sessions.AgentSession.pressure": _NUMBERS,
    "agent_sessions.AgentSession.last_prefix": _HASH,
    "agent_sessions.AgentSession.last_compaction": _NUMBERS,
    "agent_sessions.Approval.paused_sessions": "ids that we made",
    "agent_sessions.ArchiveTerm.seqs": "message numbers",
    "agent_sessions.Checkpoint.sha256": _HASH,
    "agent_sessions.Manifest.items": "ranges of message numbers and ids that we made",
    "agent_sessions.Manifest.sha256": _HASH,
    "agent_sessions.MemoryEntry.counts": _NUMBERS,
    "agent_sessions.Message.counts": _NUMBERS,
    "agent_sessions.Summary.counts": _NUMBERS,
    "agent_sessions.Turn.usage": _NUMBERS,
}

# Words that choose what a page does: one row gets the text, so that the others still mean something.
WORDS = {
    "agent_sessions.AgentSession.external_id", "agent_sessions.AgentSession.level",
    "agent_sessions.AgentSession.model", "agent_sessions.AgentSession.state",
    "agent_sessions.Approval.default", "agent_sessions.Approval.period",
    "agent_sessions.Approval.scope", "agent_sessions.Approval.state", "agent_sessions.ArchiveTerm.term",
    "agent_sessions.Intervention.kind", "agent_sessions.Intervention.state",
    "agent_sessions.MemoryEntry.kind", "agent_sessions.Message.role", "agent_sessions.Protocol.name",
    "agent_sessions.ReportedEvent.event_id", "agent_sessions.ScratchNote.key",
    "agent_sessions.ScratchNote.kind", "agent_sessions.SectionContent.name",
    "agent_sessions.Signal.kind", "agent_sessions.Turn.response_id", "agent_sessions.UsageBucket.model",
    "agent_sessions.UsageBucket.section", "auth.User.username", "budgets.Cap.scope_id",
    "budgets.Hold.state", "budgets.Profile.name", "kernel.Job.dedupe_key", "kernel.Job.kind",
    "kernel.Job.state", "teams.Project.approval_default", "teams.Project.content_policy",
    "teams.Project.headline_unit", "teams.Project.name", "teams.Project.unpriced_policy",
    "teams.WebhookDelivery.state",
}  # fmt: skip
# Written hostile from the start: a page checks them or reads their shape, or they can never be changed.
MADE = {
    "agent_sessions.Assembly.report", "agent_sessions.Checkpoint.content",
    "agent_sessions.Checkpoint.position", "agent_sessions.Message.body", "budgets.LedgerEntry.kind",
    "budgets.LedgerEntry.model", "budgets.LedgerEntry.price_id", "budgets.LedgerEntry.response_id",
    "budgets.LedgerEntry.source", "budgets.ProfileRevision.policy",
}  # fmt: skip


# JSON whose shape a page reads: its words become hostile, its names and numbers stay.
SHAPED = {"agent_sessions.ScratchNote.body"}


def stored_texts() -> Iterator[tuple[str, models.Field[Any, Any]]]:
    """Every column that holds words, as app.Model.field."""
    for table in apps.get_models():
        if table._meta.label in FRAMEWORK:
            continue
        for field in table._meta.concrete_fields:
            is_text = isinstance(field, models.CharField | models.TextField | models.BinaryField)
            # An IdField holds an id that we drew.
            if is_text and not field.is_relation and not isinstance(field, IdField):
                yield f"{table._meta.label}.{field.name}", field


def unpoisoned() -> set[str]:
    """Fields of which no row carries the mark."""
    return {label for label, field in stored_texts() if not _carries(field)}


def _carries(field: models.Field[Any, Any]) -> bool:
    rows = field.model._default_manager.values_list(field.name, flat=True)
    if isinstance(field, models.BinaryField):
        return any(MARK.encode() in bytes(value) for value in rows)
    return any(MARK in str(value) for value in rows)


def text_for(field: models.Field[Any, Any]) -> Any:
    if isinstance(field, models.BinaryField):
        return to_bytes(PAYLOAD)
    if isinstance(field, CanonicalJSONField):
        return [PAYLOAD] if field.default is list else {PAYLOAD: PAYLOAD}
    longest = getattr(field, "max_length", None)
    return MARK if longest and longest < SHORTEST else PAYLOAD[:longest]


def poison() -> None:
    """Every field of the rows that are there; a table without a row is a gap of the test."""
    for label, field in stored_texts():
        if label not in CANNOT_CARRY and label not in MADE:
            _write(label, field)


def _write(label: str, field: models.Field[Any, Any]) -> None:
    rows = field.model._default_manager.all()
    if label in WORDS or field.unique:
        newest = rows.order_by("-pk").first()
        assert newest is not None, f"Nothing is in {label}."
        rows = rows.filter(pk=newest.pk)
    if label in SHAPED:
        for row in rows:
            rows.filter(pk=row.pk).update(**{field.name: _with_hostile_words(getattr(row, field.name))})
        return
    assert rows.update(**{field.name: text_for(field)}), f"Nothing is in {label}."


def _with_hostile_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_hostile_words(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_hostile_words(one) for one in value]
    return PAYLOAD if isinstance(value, str) else value
