"""Whole rows with prepared SQL, for hot paths: the ORM's query building costs more than the statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import (
    BinaryField,
    BooleanField,
    CharField,
    DateTimeField,
    Field,
    ForeignKey,
    IntegerField,
    Model,
    TextField,
)

from kernel.fields import CanonicalJSONField, canonical_json

M = TypeVar("M", bound=Model)
T = TypeVar("T")
# Rows per INSERT: few enough to remember the statement for every number of them.
_BATCH = 32
# Where an instance keeps the columns that it was made from.
_FETCHED = "_fetched_columns"


def insert_rows(instances: Sequence[Model]) -> None:
    """Inserts new rows of one model; ids that the database assigns are not read back."""
    if not instances:
        return
    model = type(instances[0])
    with connection.cursor() as cursor:
        for batch in batched(instances, _BATCH):
            fields, sql = _insert(model, len(batch))
            cursor.execute(sql, [value for row in batch for value in column_values(fields, row)])


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def update_row(instance: Model) -> None:
    """Writes what differs from the row as it was fetched; the indexes of all else are left alone."""
    fetched, values = instance.__dict__[_FETCHED], column_values(instance._meta.concrete_fields, instance)
    changed = [place for place, value in enumerate(values) if value != fetched[place]]
    if not changed:
        return
    instance.__dict__[_FETCHED] = values
    sql = _update(type(instance), tuple(changed))
    with connection.cursor() as cursor:
        cursor.execute(sql, [*(values[place] for place in changed), instance.pk])


def fetch_row(model: type[M], values: dict[str, Any], *, lock: bool) -> M | None:
    """The one row whose columns have these values; `lock` keeps it for the rest of the transaction."""
    names, sql, converters = _select(model, tuple(values), lock and connection.vendor == "postgresql")
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values.values()))
        row = cursor.fetchone()
    if row is None:
        return None
    instance = model.from_db(DEFAULT_DB_ALIAS, names, _converted(row, converters))
    instance.__dict__[_FETCHED] = row
    return instance


def fetch_rows(model: type[M], where: str, params: Sequence[Any]) -> list[M]:
    """Rows by a hand-written condition; everything variable goes through `params`."""
    names, sql, converters = _select(model, (), False)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} WHERE {where}", list(params))
        rows = cursor.fetchall()
    return [model.from_db(DEFAULT_DB_ALIAS, names, _converted(row, converters)) for row in rows]


def column_values(fields: Sequence[Field[Any, Any]], instance: Model) -> list[Any]:
    """What these columns of a row are written as."""
    kinds = _column_kinds(type(instance))
    values = []
    for field in fields:
        value = getattr(instance, field.attname)
        plain_type, prepare = kinds[field.attname]
        values.append(value if value is None or type(value) is plain_type else prepare(value))
    return values


@cache
def _column_kinds(model: type[Model]) -> dict[str, tuple[type | None, Callable[[Any], Any]]]:
    """Which type of value a column takes as it is, and how it prepares all others."""
    return {field.attname: (_plain_type(field), _preparation(field)) for field in model._meta.concrete_fields}


def _plain_type(field: Field[Any, Any]) -> type | None:
    if isinstance(field, ForeignKey):
        return _plain_type(field.target_field)
    if type(field).get_prep_value in (CharField.get_prep_value, TextField.get_prep_value):
        return str
    if isinstance(field, BinaryField):
        return bytes
    if isinstance(field, BooleanField):
        return bool
    if isinstance(field, IntegerField):
        return int
    return None


def _preparation(field: Field[Any, Any]) -> Callable[[Any], Any]:
    """Without the checks that Django's own fields make of a form's values."""
    if isinstance(field, CanonicalJSONField):
        return canonical_json
    if isinstance(field, DateTimeField):
        return lambda moment: connection.ops.adapt_datetimefield_value(moment)
    return lambda value: field.get_db_prep_save(value, connection)


@lru_cache(maxsize=1024)
def _insert(model: type[Model], count: int) -> tuple[list[Field[Any, Any]], str]:
    fields = [field for field in model._meta.concrete_fields if not field.db_returning]
    columns = ", ".join(_quoted(field) for field in fields)
    marks = f"({', '.join(['%s'] * len(fields))})"
    return fields, f"INSERT INTO {model._meta.db_table} ({columns}) VALUES {', '.join([marks] * count)}"


@lru_cache(maxsize=1024)
def _update(model: type[Model], places: tuple[int, ...]) -> str:
    fields = model._meta.concrete_fields
    changes = ", ".join(f"{_quoted(fields[place])} = %s" for place in places)
    return f"UPDATE {model._meta.db_table} SET {changes} WHERE {_primary(model)} = %s"


@cache
def _select(
    model: type[Model], columns: tuple[str, ...], lock: bool
) -> tuple[list[str], str, list[tuple[int, Any, list[Any]]]]:
    fields = model._meta.concrete_fields
    sql = f"SELECT {', '.join(map(_quoted, fields))} FROM {model._meta.db_table}"
    if columns:
        sql += " WHERE " + " AND ".join(f'"{column}" = %s' for column in columns)
    converters = []
    for position, field in enumerate(fields):
        expression = field.cached_col
        found = [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]
        if found:
            converters.append((position, expression, found))
    return [field.attname for field in fields], sql + (" FOR UPDATE" if lock else ""), converters


def _converted(row: Sequence[Any], converters: list[tuple[int, Any, list[Any]]]) -> list[Any]:
    values = list(row)
    for position, expression, functions in converters:
        for function in functions:
            values[position] = function(values[position], expression, connection)
    return values


def _quoted(field: Field[Any, Any]) -> str:
    return f'"{field.column}"'


def _primary(model: type[Model]) -> str:
    assert model._meta.pk is not None
    return _quoted(model._meta.pk)
