"""Model fields that behave alike on SQLite and Postgres."""

from __future__ import annotations

import json
from typing import Any

from django.db import models


def canonical_json(value: Any) -> str:
    """One text for one value: ASCII only, so that NUL and lone surrogates survive as escapes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


class CanonicalJSONField(models.TextField):  # type: ignore[type-arg]
    """JSON kept as text: jsonb reorders keys and refuses lone surrogates."""

    # What django-stubs reads: such a field takes and gives any JSON value.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else canonical_json(value)

    def value_to_string(self, obj: models.Model) -> str:
        return canonical_json(self.value_from_object(obj))


class IdField(models.CharField):  # type: ignore[type-arg]
    """A prefixed id as primary key or reference; sorted by bytes on both databases."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 40)
        super().__init__(*args, **kwargs)
