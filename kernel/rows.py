"""Whole rows with prepared SQL, for hot paths: the ORM's query building costs more than the statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import CharField, Field, ForeignKey, IntegerField, Model, TextField

M = TypeVar("M", bound=Model)


def insert_rows(instances: Sequence[Model]) -> None:
    """Inserts new rows of one model; ids that the database assigns are not read back."""
    if not instances:
        return
    fields, sql = _insert(type(instances[0]))
    with connection.cursor() as cursor:
        cursor.executemany(sql, [column_values(fields, instance) for instance in instances])


def update_row(instance: Model) -> None:
    """Writes every column of an existing row."""
    fields, sql = _update(type(instance))
    with connection.cursor() as cursor:
        cursor.execute(sql, [*column_values(fields, instance), instance.pk])


def fetch_row(model: type[M], values: dict[str, Any], *, lock: bool) -> M | None:
    """The one row whose columns have these values; `lock` keeps it for the rest of the transaction."""
    names, sql, converters = _select(model, tuple(values), lock and connection.vendor == "postgresql")
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values.values()))
        row = cursor.fetchone()
    if row is None:
        return None
    return model.from_db(DEFAULT_DB_ALIAS, names, _converted(row, converters))


def fetch_rows(model: type[M], where: str, params: Sequence[Any]) -> list[M]:
    """Rows by a hand-written condition; everything variable goes through `params`."""
    names, sql, converters = _select(model, (), False)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} WHERE {where}", list(params))
        rows = cursor.fetchall()
    return [model.from_db(DEFAULT_DB_ALIAS, names, _converted(row, converters)) for row in rows]


def column_values(fields: Sequence[Field[Any, Any]], instance: Model) -> list[Any]:
    """What these columns of a row are written as."""
    plain = _plain_types(type(instance), connection.vendor)
    return [
        value
        if type(value := getattr(instance, field.attname)) is plain[field.attname]
        else field.get_db_prep_save(value, connection)
        for field in fields
    ]


@cache
def _plain_types(model: type[Model], vendor: str) -> dict[str, type | None]:
    """Which type of value a column takes as it is; a field of any other kind prepares its values itself."""
    return {field.attname: _plain_type(field, vendor) for field in model._meta.concrete_fields}


def _plain_type(field: Field[Any, Any], vendor: str) -> type | None:
    if isinstance(field, ForeignKey):
        return _plain_type(field.target_field, vendor)
    if type(field).get_prep_value in (CharField.get_prep_value, TextField.get_prep_value):
        return str
    # Postgres wants every integer in the type of its column.
    if isinstance(field, IntegerField) and vendor == "sqlite":
        return int
    return None


@cache
def _insert(model: type[Model]) -> tuple[list[Field[Any, Any]], str]:
    fields = [field for field in model._meta.concrete_fields if not field.db_returning]
    columns = ", ".join(_quoted(field) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    return fields, f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({marks})"


@cache
def _update(model: type[Model]) -> tuple[list[Field[Any, Any]], str]:
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    changes = ", ".join(f"{_quoted(field)} = %s" for field in fields)
    return fields, f"UPDATE {model._meta.db_table} SET {changes} WHERE {_primary(model)} = %s"


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
