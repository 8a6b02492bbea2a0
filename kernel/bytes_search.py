"""Finds rows by bytes inside a binary column, on both databases."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import F, Func, IntegerField, Model, QuerySet, Value
from django.db.models.lookups import GreaterThan

M = TypeVar("M", bound=Model)


class _Position(Func):
    """1-based place of the second argument in the first; 0 where it does not occur."""

    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        return super().as_sql(compiler, connection, function="instr")

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        template = "position(%(expressions)s)"
        self.source_expressions.reverse()
        try:
            return super().as_sql(compiler, connection, template=template, arg_joiner=" IN ")
        finally:
            self.source_expressions.reverse()


def rows_holding(rows: QuerySet[M], column: str, wanted: bytes) -> QuerySet[M]:
    return rows.filter(GreaterThan(_Position(F(column), Value(wanted)), 0))
