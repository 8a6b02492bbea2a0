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

from kernel.clock import read_now, shifted
from kernel.fields import CanonicalJSONField, canonical_json

M = TypeVar("M", bound=Model)
T = TypeVar("T")
Statement = tuple[str, list[Any]]
# Rows per INSERT: few enough to remember the statement for every number of them.
_BATCH = 32
# Where an instance keeps the columns that it was made from.
_FETCHED = "_fetched_columns"


def insert_rows(instances: Sequence[Model]) -> None:
    """Inserts new rows of one model; ids that the database assigns are not read back."""
    _execute(list(_inserts(instances)))


def update_row(instance: Model) -> None:
    """Writes what differs from the row as it was fetched; the indexes of all else are left alone."""
    _execute(list(_updates(instance)))


def insert_rows_and_update(instances: Sequence[Model], changed: Model) -> None:
    """Both of the above, in one round trip where the database lives elsewhere."""
    _execute([*_inserts(instances), *_updates(changed)])


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _inserts(instances: Sequence[Model]) -> Iterator[Statement]:
    for batch in batched(instances, _BATCH):
        fields, sql = _insert(type(batch[0]), len(batch))
        yield sql, [value for row in batch for value in column_values(fields, row)]


def _updates(instance: Model) -> Iterator[Statement]:
    fetched, values = instance.__dict__[_FETCHED], column_values(instance._meta.concrete_fields, instance)
    changed = [place for place, value in enumerate(values) if value != fetched[place]]
    if changed:
        instance.__dict__[_FETCHED] = values
        sql = _update(type(instance), tuple(changed))
        yield sql, [*(values[place] for place in changed), instance.pk]


def _execute(statements: Sequence[Statement]) -> None:
    """In order. Postgres takes them as one text, SQLite one by one."""
    if connection.vendor == "postgresql" and len(statements) > 1:
        texts, params = zip(*statements, strict=True)
        statements = [("; ".join(texts), [value for values in params for value in values])]
    with connection.cursor() as cursor:
        for sql, values in statements:
            cursor.execute(sql, values)


def fetch_row(model: type[M], values: dict[str, Any], *, lock: bool, joined: str = "") -> M | None:
    """The one row whose columns have these values, with the row that its foreign key `joined` points to.

    `lock` keeps the row for the rest of the transaction. The instance's `read_at` is the database's time
    when the row was had, after whatever was waited for.
    """
    sql = _select_one(model, tuple(values), lock, joined, connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values.values()))
        row = cursor.fetchone()
    if row is None:
        return None
    own, rest = row[: len(_columns(model))], row[len(_columns(model)) :]
    instance = _built(model, own)
    instance.__dict__[_FETCHED] = own
    instance.__dict__["read_at"] = shifted(rest[-1]) if connection.vendor == "postgresql" else read_now()
    if joined:
        target = _target(model, joined)
        setattr(instance, joined, _built(target, rest[: len(_columns(target))]))
    return instance


def fetch_rows(model: type[M], where: str, params: Sequence[Any]) -> list[M]:
    """Rows by a hand-written condition; everything variable goes through `params`."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(_columns(model))} FROM {model._meta.db_table} WHERE {where}", list(params)
        )
        rows = cursor.fetchall()
    return [_built(model, row) for row in rows]


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
def _select_one(model: type[Model], conditions: tuple[str, ...], lock: bool, joined: str, vendor: str) -> str:
    """The row is found, and locked, by the inner query; the clock is read outside it, and so after it."""
    where = " AND ".join(f'"{column}" = %s' for column in conditions)
    found = f"SELECT * FROM {model._meta.db_table} WHERE {where}"
    if lock and vendor == "postgresql":
        found += " FOR UPDATE"
    shown = [f"own.{column}" for column in _columns(model)]
    source = f"({found}) own"
    if joined:
        target = _target(model, joined)
        shown += [f"other.{column}" for column in _columns(target)]
        source += f" JOIN {target._meta.db_table} other ON other.{_primary(target)} = own.{joined}_id"
    if vendor == "postgresql":
        shown.append("clock_timestamp()")
    return f"SELECT {', '.join(shown)} FROM {source}"


def _target(model: type[Model], name: str) -> type[Model]:
    found = model._meta.get_field(name).related_model
    assert isinstance(found, type)
    return found


@cache
def _columns(model: type[Model]) -> list[str]:
    return [_quoted(field) for field in model._meta.concrete_fields]


@cache
def _converters(model: type[Model]) -> list[tuple[int, Any, list[Any]]]:
    """Which columns of a row Django or a field reads in its own way, and how."""
    converters = []
    for position, field in enumerate(model._meta.concrete_fields):
        expression = field.cached_col
        found = [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]
        if found:
            converters.append((position, expression, found))
    return converters


def _built(model: type[M], row: Sequence[Any]) -> M:
    values = list(row)
    for position, expression, functions in _converters(model):
        for function in functions:
            values[position] = function(values[position], expression, connection)
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in model._meta.concrete_fields], values)


def _quoted(field: Field[Any, Any]) -> str:
    return f'"{field.column}"'


def _primary(model: type[Model]) -> str:
    assert model._meta.pk is not None
    return _quoted(model._meta.pk)
