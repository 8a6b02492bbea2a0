"""Schemas of agents are programs of strangers: they are run within bounds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kernel.errors import Invalid
from sessions.services.result_schemas import check_schema, validate_result

# Every definition asks for the next one twice: 2³⁰ visits for thirty lines.
DOUBLING = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)} | {"d30": {}}


def refusal(result: Any, schema: dict[str, Any]) -> str:
    started = time.process_time()
    with pytest.raises(Invalid) as caught:
        check_schema(schema)
        validate_result(result, schema)
    # Exponential is minutes; a busy machine may take twice its usual CPU time.
    assert time.process_time() - started < 3
    return caught.value.code


@pytest.mark.parametrize(
    ("result", "schema"),
    [
        ("x", {"type": "text"}),
        ("x", {"pattern": "("}),
        ("x", {"pattern": "(?=x)x"}),  # look-around can go exponential
        ("x", {"pattern": r"(x)\1"}),
        ({"a": 1}, {"patternProperties": {"^(a+)+$": {}}}),
        ("x", {"$ref": "http://127.0.0.1:1/schema"}),  # nothing is fetched
        ("x", {"$ref": "#/$defs/nowhere"}),
        ("x", {"$ref": "#"}),
        ("x", {"$defs": DOUBLING, "$ref": "#/$defs/d0"}),
        ([0] * 200_000, {"items": {"type": "integer"}}),
        ("x", {"enum": ["y" * 70_000]}),
    ],
)
def test_it_refuses_what_cannot_be_checked_within_bounds(result: Any, schema: dict[str, Any]) -> None:
    assert refusal(result, schema) == "invalid_schema"


@pytest.mark.parametrize(
    ("result", "schema"),
    [
        ("a" * 100_000 + "!", {"pattern": "^(a+)+$"}),
        ([{"a": n} for n in range(50_000)] + [{"a": 1}], {"uniqueItems": True}),
        ({"commit": "xyz"}, {"properties": {"commit": {"pattern": "^[0-9a-f]{40}$"}}}),
    ],
)
def test_a_hostile_pair_is_told_apart_in_time(result: Any, schema: dict[str, Any]) -> None:
    assert refusal(result, schema) == "invalid_result"


def test_an_ordinary_schema_works_with_references_and_patterns() -> None:
    schema = {
        "type": "object",
        "required": ["files_changed"],
        "properties": {
            "files_changed": {"type": "array", "items": {"$ref": "#/$defs/path"}, "uniqueItems": True},
            "tests_passed": {"type": "boolean"},
        },
        "$defs": {"path": {"type": "string", "pattern": r"\.py$"}},
    }
    check_schema(schema)
    validate_result({"files_changed": ["a.py", "b.py"], "tests_passed": True}, schema)
    with pytest.raises(Invalid) as caught:
        validate_result({"files_changed": ["a.py", "b.txt"]}, schema)
    assert caught.value.errors[0].pointer == "/result/files_changed/1"
