"""The OpenAPI document tells the truth about what is answered."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.api.client import Api

BUDGET = {"total": 1000, "memory": 100}
CALLS: list[tuple[str, dict[str, Any], int]] = [
    ("/budgets/calculate", {"total": 6400}, 200),
    ("/budgets/calculate", {"model": "nobody-knows-it", "profile": "compact-chat"}, 200),
    ("/budgets/calculate", {"total": -1}, 422),
    ("/budgets/adjust", {"budget": BUDGET, "new_total": 5}, 200),
    ("/budgets/adjust", {"budget": {}, "new_total": 5}, 422),
    ("/budgets/available", {"budget": BUDGET, "used": {"memory": 500}}, 200),
    ("/budgets/compare", {"models": ["gpt-4", "nobody-knows-it"]}, 200),
    ("/budgets/compare", {"models": []}, 422),
    ("/tokens/count", {"model": "gpt-4", "text": "hello"}, 200),
    ("/tokens/count", {"model": "claude-3-opus", "messages": [{"role": "user", "content": "hi"}]}, 200),
]


@pytest.mark.parametrize(("path", "body", "status"), CALLS)
def test_an_answer_has_the_shape_that_the_document_says(
    api: Api, path: str, body: dict[str, Any], status: int
) -> None:
    document = api.get("/openapi.json").json()
    said = document["paths"][f"/api/v1{path}"]["post"]["responses"][str(status)]
    schema = {**said["content"]["application/json"]["schema"], "components": document["components"]}
    answer = api.post(path, body)
    assert answer.status_code == status
    jsonschema.validate(answer.json(), schema)
    # The document names every field that is answered.
    named = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]["properties"]
    assert set(answer.json()) <= set(named)


def test_every_operation_says_what_it_does(db: None) -> None:
    paths = Api().get("/openapi.json").json()["paths"]
    operations = [operation for methods in paths.values() for operation in methods.values()]
    assert all(operation["summary"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
