"""Pure rules decide, services write, edges translate: what import-linter cannot see of that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EDGES = sorted(
    path
    for room in ("budgets", "sessions", "analytics")
    for layer in ("api", "views")
    for path in (ROOT / room / layer).rglob("*.py")
)
WRITES = {"save", "create", "bulk_create", "update_or_create", "get_or_create", "delete", "select_for_update"}


def writes_in(source: str) -> Iterator[str]:
    """Calls of a model's or a query's writing methods; a router's `delete` registers a path."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = ast.unparse(node.func.value)
        is_query_update = node.func.attr == "update" and ".filter(" in owner
        if (node.func.attr in WRITES or is_query_update) and owner != "router":
            yield f"line {node.lineno}: {owner}.{node.func.attr}"


@pytest.mark.parametrize("path", EDGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_edges_leave_writing_to_services(path: Path) -> None:
    assert list(writes_in(path.read_text())) == []


def test_a_write_in_an_edge_is_seen() -> None:
    assert list(writes_in("session.save()")) == ["line 1: session.save"]
    assert list(writes_in("Cap.objects.filter(pk=1).update(active=False)")) != []
    assert list(writes_in("router.delete('/caps')\nshown.update({})")) == []
